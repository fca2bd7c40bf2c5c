"""Checkers of notebook 07."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb

import numpy as np

from fdiv.course.exercises import Wrong, exercise, indices, near, number


def all_present(num_classes: int, batch: int) -> float:
    """The chance that ``batch`` balanced labels hold every class, by inclusion and exclusion."""
    terms = ((-1) ** m * comb(num_classes, m) * (num_classes - m) ** batch for m in range(num_classes + 1))
    return sum(terms) / num_classes**batch  # whole numbers of any size, so nothing cancels


@exercise(
    "1 counting something rare",
    because="With a hundred classes a batch of 128 counts the accident once or twice, or not at all.",
)
def relative_scatter(answer: Callable[[int, int], float]) -> None:
    """sqrt((K - 1) / B), the standard deviation of a share over its mean."""
    for num_classes, batch in ((10, 128), (100, 128), (2, 50)):
        got, right = number(answer(num_classes, batch)), ((num_classes - 1) / batch) ** 0.5
        if abs(got - right**2) < 1e-6:
            raise Wrong("that is the variance over the squared mean: take its root")
        if abs(got - (num_classes - 1) ** 0.5) < 1e-6:
            raise Wrong("that is for a single draw: the mean of B draws scatters by a root of B less")
        if abs(got - ((num_classes - 1) / batch) ** 0.5 / num_classes) < 1e-6:
            raise Wrong("that is the standard deviation itself: divide it by the mean, 1/K")
        if abs(got - right) > 1e-6:
            raise Wrong(f"for {num_classes} classes and batch {batch} it is {right:.4g}, yours is {got:.4g}")


@exercise(
    "2 how many classes a batch holds",
    because="Of a hundred classes some 28 are missing from a batch of 128: no batch shows the whole problem.",
)
def classes_in_a_batch(answer: Callable[[int, int], float]) -> None:
    """K (1 - (1 - 1/K)^B)."""
    for num_classes, batch in ((10, 128), (100, 128), (14, 20)):
        got = number(answer(num_classes, batch))
        right = num_classes * (1 - (1 - 1 / num_classes) ** batch)
        if abs(got - num_classes * (1 - 1 / num_classes) ** batch) < 1e-6:
            raise Wrong("that is how many are absent")
        if abs(got - (1 - (1 - 1 / num_classes) ** batch)) < 1e-6:
            raise Wrong("that is the chance of one class: there are K")
        if abs(got - min(num_classes, batch)) < 1e-6:
            raise Wrong("some class is met twice before another is met at all")
        if not near(got, right):
            raise Wrong(f"for {num_classes} classes and batch {batch} it is {right:.4g}, yours is {got:.4g}")


@exercise(
    "3 misled classes",
    because="These rows, and not the noise rate, decide what a method that fits labels can reach.",
)
def misled_classes(answer: Callable[[Sequence[Sequence[float]]], Sequence[int]]) -> None:
    """The rows whose diagonal is not their largest entry."""
    T = np.array([[0.3, 0.7, 0, 0], [0.2, 0.8, 0, 0], [0, 0, 0.6, 0.4], [0, 0, 0.55, 0.45]])
    got = indices(answer(T), len(T))
    if got == [int(i) for i in range(4) if T[:, i].argmax() != i]:
        raise Wrong("those are columns: fix the class i, and look where its labels go")
    if got == [1, 2]:
        raise Wrong("those are the classes that are named rightly")
    if got != [0, 3]:
        raise Wrong(f"for the matrix {T.tolist()} the classes are [0, 3], yours are {got}")


@exercise(
    "4 the batch that DMI needs",
    because="Multiplying the classes by ten multiplies the batch by fifteen: memory pays for a determinant.",
)
def smallest_batch(answer: Callable[[int], int]) -> None:
    """The first batch whose chance to be complete is 95 %."""
    for num_classes in (2, 10, 30):
        got = number(answer(num_classes))
        if got != int(got):
            raise Wrong(f"a batch is a whole number, yours is {got:g}")
        batch = int(got)
        plenty = 100 * num_classes  # of which the power has few enough digits
        if batch < num_classes or all_present(num_classes, min(batch, plenty)) < 0.95:
            chance = all_present(num_classes, max(batch, 1))
            raise Wrong(f"{batch} labels hold all {num_classes} classes with a chance of {chance:.1%} only")
        if all_present(num_classes, min(batch - 1, plenty)) >= 0.95:
            fewer = min(batch - 1, plenty)
            raise Wrong(f"{got:g} labels are enough for {num_classes} classes, but so are {fewer}")
