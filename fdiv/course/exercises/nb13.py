"""Checkers of notebook 13."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection

import numpy as np
import pandas as pd

from fdiv.course.exercises import Wrong, exercise, indices, number, returned
from fdiv.experiments.statistics import average_ranks
from fdiv.learning.modern import tolerates


@exercise(
    "1 the bridge",
    because="One number leads from a loss that memorises to one that ignores what it finds unlikely.",
)
def bridge(answer: Callable[[float, float], float]) -> None:
    """Generalised cross-entropy of one probability, its limit at q = 0 included."""
    for p, q in ((0.5, 1.0), (0.25, 0.5), (0.9, 0.7), (0.2, 0.0)):
        right = (1 - p**q) / q if q else -math.log(p)
        try:
            got = number(answer(p, q))
        except ZeroDivisionError:
            raise Wrong("at q = 0 the formula divides by zero: return its limit, -log p") from None
        if abs(got - q * right) < 1e-6 and q not in (0.0, 1.0):
            raise Wrong("divide by q, or nothing is left of the loss as q goes to 0")
        if abs(got + right) < 1e-6:
            raise Wrong("the sign is exchanged: a loss is small where p is large")
        if abs(got - right) > 1e-6:
            raise Wrong(f"for p = {p:g} and q = {q:g} it is {right:.4f}, yours is {got:.4f}")


@exercise(
    "2 which classes survive",
    because="With this one line you know before training which noise a loss cannot bear, whoever wrote it.",
)
def survivors(answer: Callable[[np.ndarray], Collection[int]]) -> None:
    """The classes i whose row of T has its largest entry on the diagonal."""
    for T in (
        np.array([[0.6, 0.4], [0.3, 0.7]]),
        np.array([[0.4, 0.6, 0.0], [0.45, 0.55, 0.0], [0.0, 0.1, 0.9]]),
        np.array([[0.4, 0.3, 0.3], [0.5, 0.4, 0.1], [0.2, 0.2, 0.6]]),
    ):
        got, right = answer(T), np.flatnonzero(tolerates("posterior", T)).tolist()
        got = indices(got, len(T))
        columns = [int(j) for j in range(len(T)) if T[:, j].argmax() == j]
        if got != right and got == columns:
            raise Wrong("you looked down a column: an example of class i has the labels of row i")
        if got != right and got == [int(i) for i in range(len(T)) if T[i, i] > 0.5]:
            raise Wrong("more than one half is not needed: the right label must only be the most frequent")
        if got != right:
            raise Wrong(f"for T = {T.tolist()} these are {right}, yours are {got}")


@exercise(
    "3 tied with the winner",
    because="A bold number in a table is a claim; a critical difference says whether it is one.",
)
def tied(answer: Callable[[pd.DataFrame, float], Collection[str]]) -> None:
    """Names whose average rank lies within the critical difference of the best."""
    table = pd.DataFrame(
        {
            "old": [0.70, 0.72, 0.60, 0.81],
            "new": [0.80, 0.79, 0.66, 0.80],
            "newer": [0.81, 0.70, 0.67, 0.79],
            "newest": [0.60, 0.61, 0.50, 0.99],
        }
    )
    ranks = average_ranks(table)
    for critical in (0.1, 0.6, 3.0):
        got = returned(answer(table, critical))
        if isinstance(got, pd.Series) and got.dtype == bool:
            raise Wrong("that says yes or no for each: return the names of those with yes")
        got = set(got.index if isinstance(got, pd.Series) else got)
        right = {name for name, rank in ranks.items() if rank - ranks.min() <= critical}
        upside_down = (5 - ranks).sort_values()
        if got != right and got == {
            n for n, rank in upside_down.items() if rank - upside_down.min() <= critical
        }:
            raise Wrong("the ranks are upside down: the largest accuracy has rank 1 (ascending=False)")
        means = table.mean()
        by_means = {n for n, mean in means.items() if means.max() - mean <= critical}
        if got != right and got == by_means != set(table):
            raise Wrong("that compares mean accuracies: rank the methods within each row first")
        if got != right:
            raise Wrong(
                f"with a critical difference of {critical:g} these are {sorted(right)}, "
                f"yours are {sorted(got)}"
            )
