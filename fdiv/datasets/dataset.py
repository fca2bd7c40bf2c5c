"""The two kinds of data: a dataset with clean labels, and a split of it with noisy ones."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from fdiv.datasets.images import ImageFiles


@dataclass(frozen=True, eq=False)
class Dataset:
    """Images with clean labels, a part for training and a part for testing.

    name: the dataset's name in the catalogue.
    train_images, test_images: shape (n, channels, height, width); float32 in [0, 1] for the digits and their
        pairs, uint8 in 0 .. 255 for the downloaded datasets, which would be four times as large in float32.
    train_labels, test_labels: int64 in 0 .. num_classes - 1.

    >>> images, labels = torch.zeros(6, 1, 8, 8), torch.arange(6) % 2
    >>> Dataset("toy", images, labels, images[:2], labels[:2], num_classes=2).train_images.shape
    torch.Size([6, 1, 8, 8])
    """

    name: str
    train_images: Tensor
    train_labels: Tensor
    test_images: Tensor
    test_labels: Tensor
    num_classes: int


@dataclass(frozen=True, eq=False)
class NoisySplit:
    """The data of one experiment.

    train_images, train_labels: for training; the labels are noisy.
    train_clean_labels: the labels before the noise, only to report the memorised share; None where nobody
        knows them, as for Clothing1M.
    validation_images, validation_labels: for choosing a model; the labels are noisy too, except those of
        Clothing1M, which are clean, as the paper uses them.
    test_images, test_labels: for the final accuracy; the labels are clean.

    Images and labels are as in ``Dataset``, and the images share its memory; or the images are
    ``ImageFiles``, which stay on the disk.

    >>> from fdiv.datasets import digits, noisy_split
    >>> split = noisy_split(digits(), digits().train_labels)
    >>> len(split.train_labels), len(split.validation_labels), len(split.test_labels)
    (1000, 297, 500)
    """

    name: str
    num_classes: int
    train_images: Tensor | ImageFiles
    train_labels: Tensor
    train_clean_labels: Tensor | None
    validation_images: Tensor | ImageFiles
    validation_labels: Tensor
    test_images: Tensor | ImageFiles
    test_labels: Tensor

    def to(self, device: torch.device | str) -> NoisySplit:
        """Return the same split with all its tensors on ``device``."""
        tensors: dict[str, Any] = {n: v.to(device) for n, v in vars(self).items() if isinstance(v, Tensor)}
        return dataclasses.replace(self, **tensors)
