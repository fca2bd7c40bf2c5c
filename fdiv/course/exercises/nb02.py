"""Checkers of notebook 02."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fdiv import noise
from fdiv.course.exercises import Wrong, exercise, near, number, returned

CLEAN = np.array([0, 0, 0, 0, 1, 1, 2, 2, 2, 2])
NOISY = np.array([0, 0, 0, 1, 1, 2, 2, 2, 0, 0])


def _matrix(value: object, num_classes: int) -> np.ndarray:
    """The answer as a matrix of the right shape."""
    try:
        T = np.asarray(returned(value), dtype=float)
    except (TypeError, ValueError):
        raise Wrong(
            f"return a matrix of shape {(num_classes, num_classes)}, with a number in each place"
        ) from None
    if T.shape != (num_classes, num_classes):
        raise Wrong(f"return a matrix of shape {(num_classes, num_classes)}, not {T.shape}")
    return T


@exercise(
    "2 pair flips",
    because="This is the noise of two classes that people confuse: all wrong labels of a class agree with"
    " each other, and beyond one half they win.",
)
def pair_flips(answer: Callable[[int, float], np.ndarray]) -> None:
    """Against the package, with the common slips named."""
    for num_classes, e in ((4, 0.3), (10, 0.1)):
        T, right = _matrix(answer(num_classes, e), num_classes), noise.sparse(num_classes, None, e, e)
        sums = T.sum(axis=1)
        if not np.allclose(sums, 1):
            row = int(np.argmax(abs(sums - 1)))
            raise Wrong(f"row {row} sums to {sums[row]:.3g}, but must sum to 1")
        if not np.allclose(np.diag(T), 1 - e):
            raise Wrong(f"the diagonal must be 1 - e = {1 - e:g}")
        if not np.allclose(T, right):
            i, j = np.argwhere(~np.isclose(T, right))[0]
            raise Wrong(
                f"T[{i}, {j}] must be {right[i, j]:g}, yours is {T[i, j]:g}: who is the partner of {i}?"
            )


@exercise(
    "3 the largest symmetric rate",
    because="With a hundred classes 99 % of the labels may be wrong and the right one still leads: spread"
    " errors are harmless in principle, however many they are.",
)
def largest_symmetric_rate(answer: Callable[[int], float]) -> None:
    """(K - 1) / K; one half is right for two classes only."""
    for num_classes in (2, 3, 10, 100):
        got, right = number(answer(num_classes)), (num_classes - 1) / num_classes
        if near(got, 0.5) and num_classes > 2:
            raise Wrong("one half holds for two classes; with more, the wrong labels share their half")
        if near(got, 1 / num_classes) and num_classes > 2:
            raise Wrong("that is what remains on the diagonal; the rate is one minus it")
        if near(got, 100 * right):
            raise Wrong("that is percent: a rate is between 0 and 1")
        if not near(got, right):
            raise Wrong(f"for {num_classes} classes it is {right:.4g}, yours is {got:.4g}")


@exercise(
    "1 T from labels",
    because="Whoever publishes clean and noisy labels publishes T along with them, and a printed matrix can"
    " be checked against it. Notebook 11 does.",
)
def estimate_T(answer: Callable[[np.ndarray, np.ndarray, int], np.ndarray]) -> None:
    """Rows are clean classes, and sum to 1."""
    T, right = _matrix(answer(CLEAN, NOISY, 3), 3), noise.noise_card(CLEAN, NOISY).realised_T
    if np.allclose(T, right.T) or np.allclose(T, noise.noise_card(NOISY, CLEAN).realised_T):
        raise Wrong("rows and columns are exchanged: a row is a clean class")
    if np.allclose(T, right * 10 * np.array([[0.4], [0.2], [0.4]])):
        raise Wrong("these are counts: divide each row by its sum")
    if np.allclose(T, right * np.array([[0.4], [0.2], [0.4]])):
        raise Wrong("you divided by all labels: divide each row by the number of labels of its class")
    if not np.allclose(T, right):
        i, j = np.argwhere(~np.isclose(T, right))[0]
        raise Wrong(f"T[{i}, {j}] must be {right[i, j]:.3g}, yours is {T[i, j]:.3g}")


@exercise(
    "4 the worst noise for its rate",
    because="A little more than half of the labels misleads plain fitting about every class, so a rate"
    " alone never tells whether a dataset can be learned.",
)
def worst_noise(answer: Callable[[int], np.ndarray]) -> None:
    """No diagonal leads, and at most 51 % of the labels are wrong."""
    for num_classes in (2, 3, 10):
        T = _matrix(answer(num_classes), num_classes)
        sums = T.sum(axis=1)
        if (T < 0).any() or not np.allclose(sums, 1):
            row = int(np.argmax(abs(sums - 1)))
            what = "an entry is negative" if (T < 0).any() else f"row {row} sums to {sums[row]:.3g}"
            raise Wrong(f"that is no transition matrix: {what}")
        wrong = np.where(np.eye(num_classes, dtype=bool), 0, T).max(axis=1)
        leads = np.flatnonzero(np.diag(T) >= wrong - 1e-12)
        if len(leads):
            raise Wrong(f"with {num_classes} classes the right label is not beaten in class {leads[0]}")
        rate = 1 - np.diag(T).mean()
        if rate > 0.51 + 1e-6:
            raise Wrong(
                f"plain fitting is never right, but {rate:.0%} of the labels are wrong: fewer will do"
            )
