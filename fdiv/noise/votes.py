"""Several annotators: a matrix of votes, one row per example and one column per annotator."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from fdiv.arrays import as_array, class_count


def votes_to_soft(votes: Any, num_classes: int) -> Tensor:
    """Return the share of votes that each class has, a row per example: soft labels for any loss.

    A loss of these is its mean over the votes of each example, and then over the examples.

    votes: integers, one row per example and one column per annotator; -1 where an annotator did not vote.
    num_classes: K.

    >>> votes_to_soft([[0, 0, 1], [2, -1, -1]], 3)
    tensor([[0.6667, 0.3333, 0.0000],
            [0.0000, 0.0000, 1.0000]])
    """
    votes, K = as_array(votes), class_count(num_classes)
    if votes.ndim != 2 or votes.dtype.kind not in "iu":
        raise ValueError(
            "votes must be a matrix of integers, a row per example and a column per annotator,"
            f" not {votes.dtype} of shape {votes.shape}"
        )
    if ((votes < -1) | (votes >= K)).any():
        bad = votes[(votes < -1) | (votes >= K)][0]
        raise ValueError(f"votes hold {bad}, but a vote is 0 to {K - 1}, or -1 where there is none")
    votes = votes.astype(np.int64)
    row, column = np.nonzero(votes >= 0)
    counts = np.bincount(row * K + votes[row, column], minlength=len(votes) * K).reshape(len(votes), K)
    empty = np.flatnonzero(counts.sum(1) == 0)
    if empty.size:
        raise ValueError(f"votes[{empty[0]}] holds no vote: leave out the {empty.size} such examples")
    return torch.as_tensor(counts / counts.sum(1, keepdims=True), dtype=torch.float32)
