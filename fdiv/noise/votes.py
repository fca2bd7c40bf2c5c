"""Several annotators: a matrix of votes, one row per example and one column per annotator."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from fdiv.arrays import as_array, class_count

MISSING = -1


def votes_to_soft(votes: Any, num_classes: int) -> Tensor:
    """Return the share of votes that each class has, a row per example: soft labels for any loss.

    A loss of these is its mean over the votes of each example, and then over the examples.

    votes: integers, one row per example and one column per annotator; -1 where an annotator did not vote.
    num_classes: K.

    >>> votes_to_soft([[0, 0, 1], [2, -1, -1]], 3)
    tensor([[0.6667, 0.3333, 0.0000],
            [0.0000, 0.0000, 1.0000]])
    """
    V, K = checked_votes(votes, num_classes)
    row, column = np.nonzero(V != MISSING)
    counts = np.bincount(row * K + V[row, column], minlength=len(V) * K).reshape(len(V), K)
    return torch.as_tensor(counts / counts.sum(1, keepdims=True), dtype=torch.float32)


def checked_votes(votes: Any, num_classes: int | None = None) -> tuple[np.ndarray, int]:
    """Return votes as an array (examples, annotators), and K, or raise a ``ValueError``.

    num_classes: K; by default the largest vote plus 1.

    >>> checked_votes([[0, 2, -1]])
    (array([[ 0,  2, -1]]), 3)
    """
    V = as_array(votes)
    if V.ndim != 2 or not V.size or V.dtype.kind not in "iu":
        raise ValueError(
            f"votes must be whole numbers of shape (examples, annotators), not {V.dtype} of shape {V.shape}"
        )
    K = int(V.max()) + 1 if num_classes is None else class_count(num_classes)
    bad = np.argwhere((V < MISSING) | (V >= K))
    if len(bad):
        i, a = bad[0]
        raise ValueError(f"votes[{i}, {a}] is {V[i, a]}, but a vote is 0 to {K - 1}, or -1 for none")
    V = V.astype(np.int64)  # after the look at its values: a huge unsigned one would become a small one
    silent = np.flatnonzero((V == MISSING).all(axis=1))
    if silent.size:
        raise ValueError(
            f"nobody voted for example {silent[0]} ({silent.size} in all): leave these examples out"
        )
    return V, K
