"""Checkers of notebook 05."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from fdiv.course.exercises import Wrong, exercise, number, returned, several
from fdiv.experiments.statistics import average_ranks, critical_difference


@exercise(
    "1 the regret of a rule",
    because="Regret is the price of not having clean labels, and every honest table pays it.",
)
def regret_of(answer: Callable[[np.ndarray, np.ndarray], float]) -> None:
    """The oracle's accuracy minus the chosen one; ties go to the first epoch."""
    accuracy = np.array([0.5, 0.7, 0.9, 0.6, 0.8])
    for scores, right in (([1, 2, 3, 2, 1], 0.0), ([5, 1, 1, 1, 1], 0.4), ([0, 2, 1, 2, 0], 0.2)):
        got = number(answer(np.array(scores), accuracy))
        if abs(got + right) < 1e-6 and right:
            raise Wrong("the sign is exchanged: regret is what is lost, so it is never negative")
        if right == 0.2 and abs(got - 0.3) < 1e-6:
            raise Wrong("two epochs score alike: take the first of them")
        if abs(got - right) > 1e-6:
            raise Wrong(
                f"for the scores {scores} and accuracies {accuracy.tolist()} it is {right:g},"
                f" yours is {got:.3g}"
            )


@exercise(
    "2 noisy accuracy",
    because="It rises with the clean accuracy: under uniform noise, wrong labels can still choose a model.",
)
def noisy_accuracy(answer: Callable[[float, np.ndarray, np.ndarray], float]) -> None:
    """Against a table of all images: the class, the prediction, the label."""
    e = np.array([0.1, 0.2, 0.05])
    T = (1 - e.sum()) * np.eye(3) + e
    for joint in (np.diag([0.5, 0.3, 0.2]), np.array([[0.3, 0.1, 0.1], [0.0, 0.2, 0.1], [0.1, 0.0, 0.1]])):
        a, q = float(np.trace(joint)), joint.sum(0)  # joint[class, prediction]
        right = float(np.trace(T.T @ joint))
        got = number(answer(a, e, q))
        if abs(got - (1 - e.sum()) * a) < 1e-6:
            raise Wrong("a label drawn from e also agrees with the prediction now and then: add that")
        if abs(got - right) > 1e-6:
            raise Wrong(
                f"for a = {a:g}, e = {e.tolist()} and q = {q.round(2).tolist()} it is {right:.4g},"
                f" yours is {got:.4g}"
            )


@exercise(
    "3 paired differences",
    because="What both methods share, an easy or a hard draw, cancels; only the difference is left.",
)
def paired_difference(answer: Callable[[np.ndarray, np.ndarray], tuple[float, float]]) -> None:
    """Mean and standard error of the differences, not of the methods."""
    first, second = np.array([[0.91, 0.84, 0.88, 0.93], [0.89, 0.83, 0.85, 0.92]])
    gaps = first - second
    wanted = "return two numbers: the mean difference, then its standard error"
    mean, error = (number(value) for value in several(answer(first, second), wanted))
    if abs(mean + gaps.mean()) < 1e-6:
        raise Wrong("the sign is exchanged: first minus second")
    if abs(mean - gaps.mean()) > 1e-6:
        raise Wrong(f"the mean difference is {gaps.mean():.4f}, yours is {mean:.4f}")
    unpaired = float(np.sqrt((np.var(first, ddof=1) + np.var(second, ddof=1)) / 4))
    if abs(error - unpaired) < 1e-6:
        raise Wrong("that error ignores the pairing: subtract seed by seed first")
    if abs(error - gaps.std(ddof=1)) < 1e-6:
        raise Wrong("that is the standard deviation: divide it by the square root of the number of seeds")
    if abs(error - gaps.std() / 2) < 1e-6:
        raise Wrong("use the divisor n - 1: pandas does, np.std needs ddof=1")
    if abs(error - gaps.std(ddof=1) / 2) > 1e-6:
        raise Wrong(f"the standard error is {gaps.std(ddof=1) / 2:.5f}, yours is {error:.5f}")


@exercise(
    "4 who is told apart",
    because="Ranks need no units, so MNIST and photographs can vote together; the price is a high bar.",
)
def told_apart(answer: Callable[[np.ndarray], Sequence[tuple[int, int]]]) -> None:
    """The pairs whose average ranks differ by more than the critical difference; ties share a rank."""
    rows = np.random.default_rng(0).normal(size=(12, 5)) + np.array([3.0, 0, 0.5, -2, 0])
    rows[:, 4] = rows[:, 1]  # a tie in every row
    for table in (rows, rows[:3]):
        ranks = average_ranks(pd.DataFrame(table)).sort_index()
        critical = critical_difference(5, len(table))
        right = _pairs(ranks, critical)
        found = returned(answer(table))
        if isinstance(found, str) or not hasattr(found, "__iter__"):
            raise Wrong("return a list of pairs (i, j)")
        pairs = [several(pair, "return a list of pairs (i, j)") for pair in found]
        got = sorted((int(min(pair)), int(max(pair))) for pair in pairs)
        if got == _pairs(ranks, critical * 2**0.5) != right:
            raise Wrong("q is the studentised range over the root of 2: yours lacks the division")
        if got == _pairs(ranks, 0.0) != right:
            raise Wrong("every difference counts in yours: compare it with the critical difference")
        if got != right:
            raise Wrong(f"for {len(table)} settings the pairs are {right}, yours are {got}")


def _pairs(ranks: Sequence[float], apart: float) -> list[tuple[int, int]]:
    return [(i, j) for i in range(5) for j in range(i + 1, 5) if abs(ranks[i] - ranks[j]) > apart]
