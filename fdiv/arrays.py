"""Labels and numbers as callers have them, tensors or arrays or lists, brought to NumPy and checked."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

MOST_CLASSES = 100_000
Labels = np.ndarray | Tensor | Sequence[int]


def as_array(x: Any) -> np.ndarray:
    """``x``, a tensor on any device or anything NumPy takes, as an array; one that loses no mask."""
    refuse_mask(x)
    if not isinstance(x, Tensor):
        return np.asarray(x)
    x = x.detach().cpu()
    return (x.float() if x.dtype == torch.bfloat16 else x).numpy()  # NumPy has no bfloat16


def refuse_mask(x: Any) -> None:
    """Refuse an array of which some entries are masked, since an array of NumPy has no mask."""
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        raise ValueError("a masked array would lose its mask: leave out the masked rows, or .filled() them")


def as_labels(labels: Labels, num_classes: int | None = None, what: str = "labels") -> np.ndarray:
    """``labels`` as an integer vector in 0 .. num_classes - 1, not a copy."""
    if np.ma.isMaskedArray(labels):
        raise ValueError(f"{what} are a masked array, whose mask would be lost: pass {what}.compressed()")
    array = as_array(labels)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(f"{what} must be a vector of integers, not {array.dtype} of shape {array.shape}")
    bad = np.flatnonzero((array < 0) | (array >= (num_classes or math.inf)))
    if bad.size:
        valid = "0 or more" if num_classes is None else f"0 to {num_classes - 1}"
        raise ValueError(f"{what}[{bad[0]}] is {array[bad[0]]}, but a label is {valid}")
    if num_classes and num_classes - 1 > np.iinfo(array.dtype).max:
        raise ValueError(f"{what} are {array.dtype}, which cannot hold class {num_classes - 1}")
    return array


def whole(name: str, value: Any, least: int) -> int:
    """Return ``value`` as an int, or raise a ``ValueError`` if it is no whole number of at least ``least``.

    >>> whole("n", 3, 0)
    3
    """
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
        raise ValueError(f"{name} is {value!r}, but must be a whole number of at least {least}")
    return operator.index(value)


def class_count(num_classes: Any) -> int:
    """Return ``num_classes`` as an int from 2 to ``MOST_CLASSES``, or raise a ``ValueError``.

    >>> class_count(10)
    10
    """
    count = whole("num_classes", num_classes, 2)
    if count > MOST_CLASSES:
        raise ValueError(f"num_classes is {num_classes!r}, but at most {MOST_CLASSES} are possible")
    return count


def transition(matrix: Any, num_classes: int | None = None) -> np.ndarray:
    """Return a transition matrix as a new float64 array, or raise a ``ValueError`` about its first bad row.

    This is the only check of a T. Rows that sum to 1 but for the rounding of float32 are made to sum to 1.

    matrix: an array, a tensor, nested lists, or an estimate of T.
    num_classes: how many classes T must have, if that is known.

    >>> transition([[0.9, 0.1], [0.3, 0.7]])
    array([[0.9, 0.1],
           [0.3, 0.7]])
    """
    try:
        T = as_array(matrix)
    except ValueError:
        raise ValueError("the rows of a transition matrix must have one length") from None
    if T.dtype.kind not in "buif":
        raise ValueError(f"a transition matrix holds numbers, not {T.dtype}")
    if T.ndim != 2 or T.shape[0] != T.shape[1] or len(T) < 2:
        raise ValueError(f"a transition matrix is square with at least 2 classes, not of shape {T.shape}")
    if num_classes not in (None, len(T)):
        raise ValueError(f"T is for {len(T)} classes, but num_classes is {num_classes}")
    single, T = T.dtype == np.float32, T.astype(np.float64)
    if single:
        sums = T.sum(1, keepdims=True)
        T /= np.where(abs(sums - 1) < 1e-5, sums, 1)
    for row, entries in enumerate(T):
        bad = entries[~(entries >= 0)]
        if bad.size:
            raise ValueError(f"row {row} holds {bad[0]:g}, but every entry of T is a probability")
        if not abs(entries.sum() - 1) <= 1e-8:
            raise ValueError(f"row {row} sums to {entries.sum():.10g}, but every row of T sums to 1")
    return T


def as_probabilities(P: Any, cure: str = "pass softmax(logits)") -> np.ndarray:
    """Return a distribution over classes in each row, float64 of shape (n, K), or raise a ``ValueError``.

    Sums are forgiven what half precision rounds away.

    cure: what to do about a row that is no distribution.

    >>> as_probabilities([[0.25, 0.75]]).sum()
    np.float64(1.0)
    """
    P = as_array(P).astype(np.float64)
    if P.ndim != 2 or P.shape[1] < 2 or not len(P):
        raise ValueError(f"probabilities have shape (n, K) with 2 classes or more, not {P.shape}")
    sums = P.sum(axis=1)
    bad = np.flatnonzero(~((P >= 0).all(axis=1) & (np.abs(sums - 1) <= 2e-3)))
    if bad.size:
        found = f"its smallest entry is {P[bad[0]].min():g} and it sums to {sums[bad[0]]:g}"
        raise ValueError(f"row {bad[0]} of the probabilities is no distribution ({found}): {cure}")
    return P


def log(x: Any) -> np.ndarray:
    """Return natural logarithms in float64; that of 0 is -inf, and nobody is warned.

    >>> log([0, 1])
    array([-inf,   0.])
    """
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(x, dtype=np.float64))
