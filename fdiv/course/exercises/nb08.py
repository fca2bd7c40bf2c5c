"""Checkers of notebook 08."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fdiv.course.exercises import Wrong, exercise, number
from fdiv.experiments.human_noise import majority_wrong


@exercise(
    "1 agreement with noisy labels",
    because="Averages of products are not products of averages: that is the whole of section 3.",
)
def noisy_agreement(answer: Callable[[np.ndarray, np.ndarray, int], float]) -> None:
    """Mean over the kinds of images of a (1 - r) + (1 - a) r / (K - 1)."""
    for accuracy, rate, num_classes in (((1.0, 0.5), (0.1, 0.5), 10), ((0.9, 0.2, 0.4), (0.3, 0.1, 0.2), 4)):
        a, r = np.asarray(accuracy), np.asarray(rate)
        right = float((a * (1 - r) + (1 - a) * r / (num_classes - 1)).mean())
        got = number(answer(a, r, num_classes))
        averaged = a.mean() * (1 - r.mean()) + (1 - a.mean()) * r.mean() / (num_classes - 1)
        if abs(got - averaged) < 1e-6:
            raise Wrong("average after multiplying: a kind with many wrong labels has its own accuracy")
        if abs(got - (a * (1 - r)).mean()) < 1e-6:
            raise Wrong("a wrong answer meets a wrong label now and then: add (1 - a) r / (K - 1)")
        if abs(got - (a * (1 - r) + (1 - a) * r).mean()) < 1e-6:
            raise Wrong("the wrong label is one of K - 1, the wrong answer is one of them")
        if abs(got - (a * (1 - r) + (1 - a) * r / num_classes).mean()) < 1e-6:
            raise Wrong("a label that went wrong is one of the K - 1 others, not of all K")
        if abs(got - right) > 1e-6:
            raise Wrong(
                f"for a = {accuracy}, r = {rate}, K = {num_classes} it is {right:.4g}, yours {got:.4g}"
            )


@exercise(
    "2 the missing term",
    because="It is all that separates the theory from people, and zero for a perfect model.",
)
def missing_term(answer: Callable[[np.ndarray, np.ndarray, int], float]) -> None:
    """-K / (K - 1) times the covariance of accuracy and rate, with the divisor n."""
    for accuracy, rate, num_classes in (((1.0, 0.5), (0.1, 0.5), 10), ((0.9, 0.2, 0.4), (0.3, 0.1, 0.2), 4)):
        a, r, n = np.asarray(accuracy), np.asarray(rate), len(accuracy)
        covariance = float((a * r).mean() - a.mean() * r.mean())
        right = -num_classes / (num_classes - 1) * covariance
        got = number(answer(a, r, num_classes))
        if abs(got + right) < 1e-6:
            raise Wrong("the sign is exchanged: erring where the labels err adds agreement")
        if abs(got + covariance) < 1e-6:
            raise Wrong("wrong answers meet wrong labels, too: the factor is K / (K - 1)")
        if abs(got - right * n / (n - 1)) < 1e-6:
            raise Wrong("average over the kinds with the divisor n: np.cov uses n - 1")
        if abs(got - right) > 1e-6:
            raise Wrong(
                f"for a = {accuracy}, r = {rate}, K = {num_classes} it is {right:.4g}, yours {got:.4g}"
            )


@exercise(
    "3 three annotators",
    because="A vote squares the error only if the voters are strangers to each other's mistakes.",
)
def vote_of_three(answer: Callable[[float, int], float]) -> None:
    """Symmetric and independent mistakes, a draw where all three differ."""
    for rate, num_classes in ((0.1, 10), (0.3, 10), (0.2, 2)):
        off = rate / (num_classes - 1)
        T = np.full((num_classes, num_classes), off) + (1 - rate - off) * np.eye(num_classes)
        right, got = majority_wrong(T), number(answer(rate, num_classes))
        if abs(got - (1 - right)) < 1e-6:
            raise Wrong("that is how often the vote is right")
        if abs(got - (3 * rate**2 * (1 - rate) + rate**3)) < 1e-6 and num_classes > 2:
            raise Wrong("two wrong votes win only if they are for the same label, or by the draw")
        if abs(got - right) > 1e-6:
            raise Wrong(f"for r = {rate:g} and {num_classes} classes it is {right:.4f}, yours is {got:.4f}")
