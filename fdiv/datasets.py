"""The datasets, as tensors."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Dataset:
    """Images and clean labels, split into what is trained on and what is only looked at.

    name: how the notebooks call it.
    train_images, test_images: float32 in [0, 1], shape (n, channels, height, width).
    train_labels, test_labels: int64 in 0 .. num_classes - 1.
    """

    name: str
    train_images: Tensor
    train_labels: Tensor
    test_images: Tensor
    test_labels: Tensor
    num_classes: int


def digits() -> Dataset:
    """scikit-learn's 1797 handwritten digits of 8 x 8 pixels: real, embedded, nothing to download.

    The split is always the same: 1297 to train on and 500 to test on, each class in proportion.
    """
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    bunch = load_digits()
    images = torch.as_tensor(bunch.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.as_tensor(bunch.target, dtype=torch.int64)
    train, test = train_test_split(range(len(labels)), test_size=500, random_state=0, stratify=labels)
    return Dataset("digits", images[train], labels[train], images[test], labels[test], num_classes=10)
