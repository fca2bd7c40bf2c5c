"""What the losses ask of their input, in one sentence each, and the constants they keep.

Shapes and dtypes cost nothing and are always looked at. Values are looked at where a loss has ``check`` on,
since that waits for the device.
"""

from __future__ import annotations

import math
import warnings
import zlib
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fdiv.arrays import as_array, as_labels

# ---------------------------------------------------------------------- batches


def check_logits(logits: Any, name: str, num_classes: int | None) -> None:
    """Refuse what is not a tensor of floats with one entry per class in dimension 1."""
    kind = logits.dtype if isinstance(logits, Tensor) else type(logits).__name__
    if isinstance(kind, str) or not kind.is_floating_point:
        raise TypeError(f"{name} must be a tensor of floats, the scores before softmax, not {kind}")
    if logits.ndim < 2 or logits.shape[1] < 2:
        raise ValueError(
            f"{name} must have a row per input and a column per class, not {tuple(logits.shape)}"
        )
    if num_classes not in (None, logits.shape[1]):
        raise ValueError(f"{name} must have {num_classes} columns, one per class, not {logits.shape[1]}")
    if not logits.numel():
        raise ValueError(f"{name} is an empty batch, which has no mean: skip it")


def labels_are_floats(labels: Any) -> bool:
    """Return whether labels are meant as probabilities."""
    return isinstance(labels, Tensor) and labels.is_floating_point()


def check_labels(labels: Any, name: str, shape: tuple[int, ...]) -> None:
    """Refuse what is not a tensor of integers of ``shape``."""
    kind = labels.dtype if isinstance(labels, Tensor) else type(labels).__name__
    if isinstance(kind, str) or kind.is_floating_point or kind.is_complex or kind == torch.bool:
        soft = "; soft ones are a row of probabilities for each input" if labels_are_floats(labels) else ""
        raise TypeError(f"{name} must be a tensor of integers, the class of each input, not {kind}{soft}")
    if labels.shape != shape:
        wanted = f"a vector of {shape[0]}" if len(shape) == 1 else f"of shape {tuple(shape)}"
        raise ValueError(f"{name} must be {wanted}, one class per input, not {tuple(labels.shape)}")


def check_soft_labels(labels: Tensor, name: str, shape: tuple[int, ...]) -> None:
    """Refuse what is not a probability for each logit."""
    if labels.shape != shape:
        raise ValueError(
            f"soft {name} must be of shape {shape}, a probability for each logit, not {tuple(labels.shape)}"
        )


def check_values(z: Tensor, y: Tensor, prefix: str, ignore_index: int | None) -> None:
    """Refuse logits that are not finite, labels that are no class, and a batch that is ignored as a whole."""
    if not math.isfinite(z.detach().sum().item()) and not z.isfinite().all():  # the sum is ten times faster
        raise ValueError(f"{prefix}logits hold nan or inf: check the inputs, or lower the learning rate")
    if y.is_floating_point():
        short = (y.sum(1) - 1).abs().max().item()
        if not y.min().item() >= 0 or not short < 1e-2:
            raise ValueError(f"soft {prefix}labels must be probabilities from 0 up, whose rows sum to 1")
        return
    if ignore_index is not None:
        y = y[y != ignore_index]
        if not len(y):
            raise ValueError(f"{prefix}labels are all {ignore_index}, which is ignored: skip this batch")
    low, high = (int(end) for end in y.aminmax())
    bad = low if low < 0 else high
    if not 0 <= bad < z.shape[1]:
        raise ValueError(f"{prefix}labels hold {bad}, but must lie between 0 and {z.shape[1] - 1}")


def check_sample_weight(weight: Any, count: int, look: bool) -> None:
    """Refuse what is not a number for each of ``count`` labels; with ``look`` also values below 0 and inf."""
    if not isinstance(weight, Tensor):
        raise TypeError(f"sample_weight must be a tensor of numbers, not {type(weight).__name__}")
    if weight.numel() != count:
        raise ValueError(
            f"sample_weight has {weight.numel()} numbers for {count} labels: give one for each, also where"
            " labels are soft"
        )
    if look:
        low, high = (end.item() for end in weight.detach().aminmax())
        if not 0 <= low <= high < math.inf:
            bad = low if not low >= 0 else high
            raise ValueError(f"sample_weight holds {bad:g}, but must be finite numbers from 0 up")


def warn_of_probabilities(z: Tensor) -> None:
    """Warn where every row is a distribution: then softmax was taken already."""
    z = z.detach()
    if ((z >= 0).all() & ((z.sum(1) - 1).abs() < 1e-3).all()).item():
        warnings.warn(
            "the logits look like probabilities (no entry is negative and every row sums to 1), of which"
            " softmax is taken once more: pass the scores before softmax, or their logarithm",
            UserWarning,
            stacklevel=4,
        )


# ---------------------------------------------------------------------- options


def between(name: str, value: float, low: float, high: float) -> float:
    """Return ``value``, or raise a ``ValueError`` if it is no finite number from ``low`` to ``high``."""
    if not (low <= value <= high and math.isfinite(value)):
        raise ValueError(f"{name} is {value!r}, but must be a number from {low:g} to {high:g}")
    return float(value)


def checked_weight(weight: Any, num_classes: int | None) -> np.ndarray:
    """Return ``weight``, one number per class, as an array."""
    weight = np.asarray(as_array(weight), dtype=np.float64)
    K = len(weight) if num_classes is None and weight.ndim == 1 else num_classes
    if weight.shape != (K,) or not (np.isfinite(weight) & (weight >= 0)).all() or not weight.any():
        raise ValueError(f"weight must be {K} finite numbers from 0 up, not all 0, not {weight.tolist()}")
    return weight


def distribution(p: Any, num_classes: int) -> np.ndarray:
    """Return ``p`` as the probabilities of ``num_classes`` classes; "balanced" are equal ones."""
    if isinstance(p, str):
        if p != "balanced":
            raise ValueError(f"label_prior is {p!r}, but must be 'balanced', probabilities or None")
        return np.full(num_classes, 1 / num_classes)
    p = np.asarray(as_array(p), dtype=np.float64)
    if p.shape != (num_classes,) or not (p >= 0).all() or not abs(p.sum() - 1) < 1e-5:
        raise ValueError(f"label_prior must be {num_classes} probabilities that sum to 1, not {p.tolist()}")
    return p / p.sum()


def prior_of_labels(
    labels: Any, num_classes: int | None = None, ignore_index: int | None = None
) -> np.ndarray:
    """Return the share of each class among ``labels``, for the ``label_prior`` of a loss.

    labels: the noisy labels of the whole training set, or soft ones, a row of probabilities for each input.
    num_classes: K; by default one more than the largest label.
    ignore_index: a label that does not count.

    >>> prior_of_labels([0, 0, 2, 1], num_classes=4).tolist()
    [0.5, 0.25, 0.25, 0.0]
    >>> prior_of_labels([[0.5, 0.5], [1.0, 0.0]]).tolist()
    [0.75, 0.25]
    """
    y = as_array(labels)
    if y.ndim == 2 and y.dtype.kind == "f" and len(y):
        return distribution(y.mean(0, dtype=np.float64), num_classes or y.shape[1])
    y = y.reshape(-1)
    y = as_labels(y if ignore_index is None else y[y != ignore_index], num_classes)
    if not len(y):
        raise ValueError("labels are empty, so that no prior can be counted: pass those of the training set")
    counts = np.bincount(y, minlength=num_classes or 2)
    return counts / counts.sum()


def rank(T: np.ndarray) -> int:
    """Return the rank of T as single precision sees it, in which networks are trained."""
    return int(np.linalg.matrix_rank(T, tol=np.linalg.norm(T, 2) * np.finfo(np.float32).eps))


def is_singular(T: np.ndarray) -> bool:
    """Return whether T has no inverse worth the name."""
    return rank(T) < len(T)


def inverse(T: np.ndarray) -> np.ndarray:
    """Return T^-1, with a warning where it magnifies errors, and a ``ValueError`` where there is none."""
    if is_singular(T):
        raise ValueError(
            f"T must be invertible, but has rank {rank(T)} of {len(T)}: use a loss that needs no T"
        )
    condition = np.linalg.cond(T)
    if condition > 1e3:
        text = f"T has condition number {condition:.3g}: its inverse magnifies errors of T and of sampling"
        warnings.warn(text, RuntimeWarning, stacklevel=4)
    return np.linalg.inv(T)


# ---------------------------------------------------------------------- constants


class Constant:
    """A float64 array, handed out in the dtype and on the device of a tensor (MPS has no float64)."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = torch.as_tensor(values, dtype=torch.float64)
        self.made: dict[tuple[torch.dtype, torch.device], Tensor] = {}

    def like(self, x: Tensor) -> Tensor:
        """Return the array as a tensor that goes with ``x``; made once, unless a graph is being traced."""
        made = self.made.get((x.dtype, x.device))
        if made is None:
            with torch.inference_mode(False):
                made = self.values.to(x.dtype).to(x.device)
            if type(made) is Tensor and not torch.compiler.is_compiling():
                self.made[x.dtype, x.device] = made
        return made

    def __repr__(self) -> str:
        size = "x".join(map(str, self.values.shape))
        return f"<{size} #{zlib.crc32(self.values.numpy().tobytes()):08x}>"
