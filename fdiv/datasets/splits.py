"""The splits of the paper: noisy labels to train on and to choose by, clean ones only to look at."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fdiv.arrays import as_labels
from fdiv.datasets.catalogue import Dataset
from fdiv.datasets.images import ImageFiles

VALIDATION = {
    "digits": 297,
    "paired-digits": 1000,
    "mnist": 10_000,
    "fashion-mnist": 10_000,
    "cifar-10": 10_000,
    "cifar-100": 10_000,
}


@dataclass(frozen=True, eq=False)
class NoisySplit:
    """What one experiment reads.

    train_images, train_labels: to train on; the labels are noisy.
    train_clean_labels: what these labels were before the noise, only to report what was memorised; None where
        nobody knows, as for Clothing1M.
    validation_images, validation_labels: to choose by; the labels are noisy too, but for Clothing1M clean, as
        the paper uses them.
    test_images, test_labels: to look at; the labels are clean.

    Images and labels are as in ``Dataset``, and the images share its memory; or the images are
    ``ImageFiles``, which stay on the disk.
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
        """The same split with all its tensors on ``device``."""
        tensors = {name: value for name, value in vars(self).items() if isinstance(value, Tensor)}
        return dataclasses.replace(self, **{name: tensor.to(device) for name, tensor in tensors.items()})


def noisy_split(dataset: Dataset, noisy_labels: Any, validation: int | None = None) -> NoisySplit:
    """Split the training examples in two, the last ones for validation, as the authors of the paper do.

    noisy_labels: one for each training example, an array, a tensor or a list of integers.
    validation: how many examples to validate with; by default 10 000, which leaves 50 000 to train on for
        MNIST and Fashion-MNIST and 40 000 for CIFAR; 297 of the digits, which leaves 1000; 1000 of their
        pairs, which leaves 5000.
    """
    labels = checked_labels(noisy_labels, len(dataset.train_labels), dataset.num_classes)
    train = len(labels) - validation_count(dataset, validation)
    return NoisySplit(
        name=dataset.name,
        num_classes=dataset.num_classes,
        train_images=dataset.train_images[:train],
        train_labels=labels[:train],
        train_clean_labels=dataset.train_labels[:train],
        validation_images=dataset.train_images[train:],
        validation_labels=labels[train:],
        test_images=dataset.test_images,
        test_labels=dataset.test_labels,
    )


def checked_labels(noisy_labels: Any, count: int, num_classes: int) -> Tensor:
    """``noisy_labels`` as a new int64 tensor, or a ``ValueError`` about what is wrong with them."""
    array = as_labels(noisy_labels, num_classes, "noisy_labels")
    if len(array) != count:
        raise ValueError(f"there are {len(array)} noisy_labels for {count} training examples")
    return torch.from_numpy(array.astype(np.int64))


def validation_count(dataset: Dataset, wanted: int | None) -> int:
    """How many examples to validate with: ``wanted``, or what the paper takes."""
    count = VALIDATION.get(dataset.name) if wanted is None else wanted
    if count is None:
        raise ValueError(f"say how many examples of {dataset.name} to validate with: validation=...")
    largest = len(dataset.train_labels) - 1
    if not (isinstance(count, int | np.integer) and 1 <= count <= largest):
        raise ValueError(f"validation is {count}, but must be a whole number from 1 to {largest}")
    return int(count)
