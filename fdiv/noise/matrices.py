"""Transition matrices: the paper's three families, and two of the field's."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from fdiv.arrays import class_count, transition
from fdiv.names import choose

# The classes that look alike, as the field takes them since Patrini et al. (2017): where each is mislabelled.
ALIKE = {
    # truck -> automobile, bird -> airplane, deer -> horse, cat <-> dog
    "cifar-10": {9: 1, 2: 0, 4: 7, 3: 5, 5: 3}
}


def uniform(e: float | Sequence[float] | np.ndarray, num_classes: int | None = None) -> np.ndarray:
    """Return uniform off-diagonal noise (Section 3): T_ij = e_j for i != j, so T = (1 - sum_j e_j) I + 1 e'.

    e: the chance of landing on class j from any other class, one number per class, or one number that holds
        for all ``num_classes`` classes (the noise rate is then (K - 1) e). They sum to less than 1.

    >>> uniform([0.1, 0.3])
    array([[0.7, 0.3],
           [0.1, 0.9]])
    """
    e = np.array(e, dtype=np.float64)
    if e.ndim == 0:
        if num_classes is None:
            raise ValueError(f"e = {e:g} is one number for all classes: say how many with num_classes")
        e = np.full(class_count(num_classes), e)
    if e.ndim != 1 or num_classes not in (None, len(e)):
        raise ValueError(f"e has shape {e.shape}, but must be one number per class or one for all classes")
    for j, rate in enumerate(e):
        check_rate(f"e_{j}", rate)
    total = math.fsum(e)
    if total > 1 - 1e-12:
        raise ValueError(f"the e_j sum to {total:g}, but uniform noise needs a sum below 1")
    T = np.tile(e, (len(e), 1))
    np.fill_diagonal(T, 1 - e.sum() + e)
    return transition(T)


def symmetric(rate: float, num_classes: int) -> np.ndarray:
    """Return the T of labels that are wrong with probability ``rate``, and then any other class alike.

    >>> symmetric(0.2, 3)[0]
    array([0.8, 0.1, 0.1])
    """
    num_classes = class_count(num_classes)
    check_rate("rate", rate, below=(num_classes - 1) / num_classes)
    return uniform(rate / (num_classes - 1), num_classes)


def random_flip(p: float, num_classes: int) -> np.ndarray:
    """Return the paper's "Random p" (Section 5): with probability p the label is drawn from all K classes.

    The true class is among them, so the noise rate is p (K - 1) / K, not p.

    >>> random_flip(0.5, 2)[0]
    array([0.75, 0.25])
    """
    num_classes = class_count(num_classes)
    check_rate("p", p, below=1)
    return uniform(p / num_classes, num_classes)


def sparse(
    num_classes: int,
    pairs: Iterable[tuple[int, int]] | None,
    e1: float | Sequence[float],
    e2: float | Sequence[float],
) -> np.ndarray:
    """Return sparse noise (Appendix, "Multi-class extension II"): labels flip only within pairs of classes.

    pairs: the (i, j); every class is in exactly one. ``None`` stands for (0, 1), (2, 3), ...
    e1, e2: the chances of i -> j and of j -> i, one for all pairs or one per pair; e1 + e2 < 1 in each.

    >>> sparse(2, [(0, 1)], 0.25, 0.5)
    array([[0.75, 0.25],
           [0.5 , 0.5 ]])
    """
    num_classes = class_count(num_classes)
    if num_classes % 2:
        raise ValueError(f"sparse noise pairs the classes up, which {num_classes} classes do not allow")
    taken: Any = np.arange(num_classes).reshape(-1, 2) if pairs is None else pairs
    pairs = [(operator.index(i), operator.index(j)) for i, j in taken]
    first, second = (_per_pair(name, e, len(pairs)) for name, e in (("e1", e1), ("e2", e2)))
    T = np.eye(num_classes)
    seen: set[int] = set()
    for c, (i, j) in enumerate(pairs):
        if not (0 <= i < num_classes and 0 <= j < num_classes):
            raise ValueError(f"the pair ({i}, {j}) is not between classes 0 and {num_classes - 1}")
        if repeated := seen & {i, j} or {i} & {j}:
            raise ValueError(f"pair {c} is ({i}, {j}), but class {min(repeated)} must be in one pair only")
        if first[c] + second[c] > 1 - 1e-12:
            raise ValueError(f"pair {c} has e1 + e2 = {first[c] + second[c]:g}, but needs a sum below 1")
        seen |= {i, j}
        T[i, [i, j]] = 1 - first[c], first[c]
        T[j, [i, j]] = second[c], 1 - second[c]
    if missing := set(range(num_classes)) - seen:
        raise ValueError(f"class {min(missing)} is in no pair, but sparse noise needs every class in one")
    return transition(T)


def pair(rate: float, num_classes: int) -> np.ndarray:
    """Return the field's pair flips (Han et al., 2018): class i becomes i + 1, and the last class the first.

    rate: the chance of a flip, below one half, where right and wrong labels would be as frequent.

    >>> pair(0.25, 3)
    array([[0.75, 0.25, 0.  ],
           [0.  , 0.75, 0.25],
           [0.25, 0.  , 0.75]])
    """
    num_classes = class_count(num_classes)
    check_rate("rate", rate, below=0.5)
    return transition((1 - rate) * np.eye(num_classes) + rate * np.roll(np.eye(num_classes), 1, axis=1))


def asymmetric(dataset: str, rate: float) -> np.ndarray:
    """Return the field's asymmetric noise (Patrini et al., 2017): some classes become one that looks alike.

    dataset: "cifar-10", where trucks become automobiles, birds airplanes, deer horses, and cats and dogs one
        another. The other five classes keep their labels, so the noise rate is half of ``rate``.
    rate: the chance of a flip in the classes that flip, below one half.

    >>> asymmetric("cifar-10", 0.25)[9, [1, 9]]
    array([0.25, 0.75])
    """
    flips = ALIKE[choose("dataset with asymmetric noise", dataset, tuple(ALIKE))]
    check_rate("rate", rate, below=0.5)
    T = np.eye(10)
    for i, j in flips.items():
        T[i, [i, j]] = 1 - rate, rate
    return transition(T)


def _per_pair(name: str, e: float | Sequence[float], count: int) -> np.ndarray:
    e = np.array(e, dtype=np.float64)
    if e.ndim and e.shape != (count,):
        raise ValueError(f"{name} has shape {e.shape} for {count} pairs, but is one number or one per pair")
    return np.array([check_rate(f"{name} of pair {c}", x) for c, x in enumerate(np.broadcast_to(e, count))])


def check_rate(name: str, value: float, below: float = math.inf) -> float:
    """Return ``value``, or raise a ``ValueError`` where it is not in [0, below).

    >>> check_rate("rate", 0.2, below=1)
    0.2
    """
    if not 0 <= value < below:
        valid = "at least 0" if below == math.inf else f"at least 0 and below {below:.4g}"
        raise ValueError(f"{name} is {value:g}, but must be {valid}")
    return value
