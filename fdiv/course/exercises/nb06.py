"""Checkers of notebook 06."""

from __future__ import annotations

from collections.abc import Callable

import torch

from fdiv.course.exercises import Wrong, exercise, number
from fdiv.theory.divergences import divergence


def ends(name: str) -> tuple[list[float], list[float]]:
    """g_f and f*(g_f) at 0 and at 1."""
    d, v = divergence(name), torch.tensor([0.0, 1.0], dtype=torch.float64)
    return d.activation(v).tolist(), d.conjugate_of_activation(v).tolist()


def confident_value(name: str, accuracy: float, num_classes: int) -> float:
    """The objective of a classifier that is always sure, on balanced classes: affine in its accuracy."""
    (g0, g1), (s0, s1) = ends(name)
    return accuracy * g1 + (1 - accuracy) * g0 - (s1 + (num_classes - 1) * s0) / num_classes


@exercise(
    "2 the objective of a sure network",
    because="One straight line for every f: a figure of such values shows accuracies, and nothing else.",
)
def value_of_certain(answer: Callable[[str, float, int], float]) -> None:
    """Right on the share ``a``; under the product distribution it meets the label once in K."""
    for name, accuracy, num_classes in (("tv", 0.9, 10), ("kl", 0.3, 10), ("pearson", 0.75, 100)):
        got = number(answer(name, accuracy, num_classes))
        right = confident_value(name, accuracy, num_classes)
        (g0, g1), (s0, s1) = ends(name)
        joint = accuracy * g1 + (1 - accuracy) * g0
        if abs(got - joint) < 1e-6 and abs(got - right) > 1e-6:
            raise Wrong("that is the joint term alone: subtract the expectation of f*(g) under the product")
        if abs(got - (joint - accuracy * s1 - (1 - accuracy) * s0)) < 1e-6:
            raise Wrong("under the product the label is independent of the answer: they agree once in K")
        if abs(got - right) > 1e-6:
            raise Wrong(
                f"for {name}, accuracy {accuracy:g}, {num_classes} classes it is {right:.4f}, not {got:.4f}"
            )


@exercise(
    "3 accuracy from the objective",
    because="A curve that can be computed from another is no second piece of evidence.",
)
def accuracy_of(answer: Callable[[str, float, int], float]) -> None:
    """The inverse of exercise 2."""
    for name, accuracy, num_classes in (("js", 0.8, 10), ("tv", 0.25, 4), ("reverse-kl", 0.6, 10)):
        value = confident_value(name, accuracy, num_classes)
        got = number(answer(name, value, num_classes))
        perfect = confident_value(name, 1.0, num_classes)
        if abs(got - value / perfect) < 1e-6:
            raise Wrong("the objective is affine, not proportional: at accuracy 0 it is not 0")
        if abs(got - accuracy) > 1e-6:
            raise Wrong(f"{name} with the value {value:.4f} has accuracy {accuracy:g}, yours is {got:.4f}")


@exercise(
    "1 the first step",
    because="It grows like 2K: what protects from wrong labels also holds back the first steps.",
)
def pull_ratio(answer: Callable[[int], float]) -> None:
    """Cross-entropy pulls with 1 - 1/K, total variation with g'(1/K) (1/K) (1 - 1/K)."""
    for num_classes in (2, 10, 100):
        v = torch.tensor(1 / num_classes, dtype=torch.float64)
        right = float(2 * num_classes * torch.cosh(v) ** 2)
        got = number(answer(num_classes))
        if abs(got * right - 1) < 1e-6:
            raise Wrong("upside down: how many times stronger is cross-entropy?")
        if abs(got - num_classes) < 1e-6:
            raise Wrong("that forgets the slope of g: it is 1/2 sech(v)^2, not 1")
        if abs(got - 2 * num_classes) < 1e-6:
            raise Wrong("close: the slope of tanh(v)/2 at v = 1/K is not quite 1/2")
        if abs(got - right) > 1e-6 * right:
            raise Wrong(f"for {num_classes} classes it is {right:.4g}, yours is {got:.4g}")
