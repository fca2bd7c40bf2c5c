"""The datasets: one row per dataset, and their loaders.

A new dataset is one row and its loader. The row holds every fact about it that other rooms need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from fdiv.datasets import mirrors
from fdiv.datasets.clothing import clothing1m
from fdiv.datasets.dataset import Dataset, NoisySplit
from fdiv.datasets.features import image_features, principal
from fdiv.datasets.human import HUMAN
from fdiv.names import Registry


@dataclass(frozen=True, eq=False, kw_only=True)
class Entry:
    """One row of the catalogue.

    name, aliases: under which the dataset is found.
    title: its name in tables and figures.
    shape: channels, height and width of an image.
    num_classes: the number of classes.
    train: the number of examples for training, validation not counted.
    validation: the number of examples for validation, the last ones.
    load: returns the dataset; None where only ``split`` exists.
    split: returns the split of a dataset that is noisy by nature, and has no clean training labels.
    paper: the dataset of the paper whose noise settings it has.
    drawn: how a setting of the paper becomes labels: "released", the authors' own; "counts", exactly as many
        labels each way as the matrix says; "draws", every label drawn by itself.
    human: the kinds of labels that people gave.
    labels_of: the dataset whose labels, and noise, it has; None: its own. Features have those of the pictures
        that they were computed from.
    stand_in: the dataset that MODE quick reads in its place; None: itself.
    stand_in_noise: settings that the stand-in lacks, and those that are drawn in their place.
    recipes: the family of recipes, a key of ``fdiv.experiments.recipes``.
    model: the network in place of the recipes' own, a name that ``fdiv.learning.build_model`` takes.
    notebook: the notebook that is about it.
    version: changes when the data do; part of a run's identity.

    >>> CATALOGUE["CIFAR 10"].title, CATALOGUE["cifar-10"].stand_in
    ('CIFAR-10', 'digits')
    """

    name: str
    title: str
    shape: tuple[int, int, int]
    num_classes: int
    train: int
    validation: int
    load: Callable[[], Dataset] | None = None
    split: Callable[[], NoisySplit] | None = None
    paper: str | None = None
    drawn: Literal["released", "counts", "draws"] = "counts"
    human: tuple[str, ...] = ()
    labels_of: str | None = None
    stand_in: str | None = None
    stand_in_noise: Mapping[str, str] = field(default_factory=dict)
    recipes: str
    model: str | None = None
    notebook: str | None = None
    version: str = ""
    aliases: tuple[str, ...] = ()


def load(name: str) -> Dataset:
    """Return the dataset of that name, downloaded if it has to be.

    >>> load("digits").train_images.shape
    torch.Size([1297, 1, 8, 8])
    """
    entry = CATALOGUE[name]
    if entry.load is None:
        assert entry.split is not None  # a row has one of the two
        raise ValueError(
            f"{entry.title} has no clean training labels to load: "
            f"fdiv.datasets.{entry.split.__name__}() is its split"
        )
    return entry.load()


def digits() -> Dataset:
    """Return scikit-learn's 1797 handwritten digits of 8 x 8 pixels: real, embedded, nothing to download.

    The split is always the same: 1297 digits to train on and 500 to test on, each class in proportion.

    >>> digits().train_labels[:5]
    tensor([2, 1, 2, 5, 1])
    """
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    bunch = load_digits()
    images = torch.as_tensor(bunch.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.as_tensor(bunch.target, dtype=torch.int64)
    train, test = train_test_split(range(len(labels)), test_size=500, random_state=0, stratify=labels)
    return Dataset("digits", images[train], labels[train], images[test], labels[test], num_classes=10)


def paired_digits(seed: int = 0) -> Dataset:
    """Return a hundred classes without a download: two of the embedded digits side by side, 00 to 99.

    The label is 10 * left + right. The pair is 8 x 16 pixels, with four empty rows above and below. Training
    pairs are made of the training digits and test pairs of the test digits, 60 and 20 of each class, none
    twice. Every block of a hundred consecutive pairs has each class once.

    seed: draws the digits that become pairs.

    >>> paired_digits().train_images.shape
    torch.Size([6000, 1, 16, 16])
    """
    source, rng = digits(), np.random.default_rng(seed)
    train = _pairs(source.train_images, source.train_labels, 60, rng)
    test = _pairs(source.test_images, source.test_labels, 20, rng)
    return Dataset("paired-digits", *train, *test, num_classes=100)


def _pairs(images: Tensor, labels: Tensor, count: int, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Return ``count`` pairs of each class, as images of 16 x 16, and their labels."""
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
    """Return MNIST: 60 000 handwritten digits of 28 x 28 pixels to train on and 10 000 to test on.

    >>> mnist().train_images.shape  # doctest: +SKIP
    torch.Size([60000, 1, 28, 28])
    """
    return _downloaded("mnist", mirrors.MNIST)


def fashion_mnist() -> Dataset:
    """Return Fashion-MNIST: ten kinds of clothes, as many pictures as MNIST has and of the same size.

    >>> fashion_mnist().train_images.shape  # doctest: +SKIP
    torch.Size([60000, 1, 28, 28])
    """
    return _downloaded("fashion-mnist", mirrors.FASHION_MNIST)


def cifar10() -> Dataset:
    """Return CIFAR-10: 50 000 photographs of 32 x 32 pixels in ten classes to train on, 10 000 to test on.

    >>> cifar10().train_images.shape  # doctest: +SKIP
    torch.Size([50000, 3, 32, 32])
    """
    return _downloaded("cifar-10", mirrors.CIFAR10, mirrors.CIFAR10_RECORDS)


def cifar10_features() -> Dataset:
    """Return CIFAR-10 as frozen features: 256 principal components of what MobileNetV2 says of each picture.

    "Images" are vectors, float32 of shape (n, 256, 1, 1). They are computed once, in some minutes, and kept
    in the cache, see ``fdiv.datasets.features``.

    >>> cifar10_features().train_images.shape  # doctest: +SKIP
    torch.Size([50000, 256, 1, 1])
    """
    data, entry = cifar10(), CATALOGUE["cifar-10-features"]
    parts = (image_features(part) for part in (data.train_images, data.test_images))
    train, test = (part.view(-1, *entry.shape) for part in principal(*parts, components=entry.shape[0]))
    return Dataset(entry.name, train, data.train_labels, test, data.test_labels, data.num_classes)


def cifar100() -> Dataset:
    """Return CIFAR-100: as many photographs as CIFAR-10 has, in a hundred classes.

    >>> cifar100().train_images.shape  # doctest: +SKIP
    torch.Size([50000, 3, 32, 32])
    """
    return _downloaded("cifar-100", mirrors.CIFAR100)


def _downloaded(name: str, *forms: mirrors.Form) -> Dataset:
    """Return the dataset that is distributed in these forms."""
    entry = CATALOGUE[name]
    train, test = (
        (
            torch.from_numpy(np.require(images, requirements=["C", "W"])),
            torch.from_numpy(labels.astype(np.int64)),
        )
        for images, labels in mirrors.obtain(entry.title, forms)
    )
    return Dataset(name, *train, *test, entry.num_classes)


# What the digits draw in the place of a setting of CIFAR-10 that they lack.
CIFAR10_STAND_INS = {
    "random-0.5": "uniform-0.45",  # the same matrix
    "human-aggregate": "instance-0.09",
    "human-random-1": "instance-0.17",
    "human-random-2": "instance-0.18",
    "human-random-3": "instance-0.18",
    "human-worse": "instance-0.4",
}

CATALOGUE: Registry[Entry] = Registry(
    "dataset",
    [
        Entry(
            name="digits", title="Digits", shape=(1, 8, 8), num_classes=10, train=1000, validation=297,
            load=digits, paper="mnist", recipes="digits",
        ),
        Entry(
            name="paired-digits", title="Paired digits", shape=(1, 16, 16), num_classes=100, train=5000,
            validation=1000, load=paired_digits, paper="cifar-100", drawn="draws", recipes="paired-digits",
        ),
        Entry(
            name="mnist", title="MNIST", shape=(1, 28, 28), num_classes=10, train=50_000, validation=10_000,
            load=mnist, paper="mnist", drawn="released", stand_in="digits", recipes="mnist",
            notebook="04_mnist",
        ),
        Entry(
            name="fashion-mnist", title="Fashion-MNIST", shape=(1, 28, 28), num_classes=10, train=50_000,
            validation=10_000, load=fashion_mnist, paper="fashion-mnist", drawn="released", stand_in="digits",
            recipes="mnist", notebook="05_fashion_mnist",
        ),
        Entry(
            name="cifar-10", title="CIFAR-10", shape=(3, 32, 32), num_classes=10, train=40_000,
            validation=10_000, load=cifar10, paper="cifar-10", drawn="released", human=HUMAN["cifar-10"],
            stand_in="digits", stand_in_noise=CIFAR10_STAND_INS, recipes="cifar-10", notebook="06_cifar10",
        ),
        Entry(
            name="cifar-10-features", title="CIFAR-10 features", shape=(256, 1, 1), num_classes=10,
            train=40_000, validation=10_000, load=cifar10_features, paper="cifar-10", drawn="released",
            human=HUMAN["cifar-10"], labels_of="cifar-10", stand_in="digits",
            stand_in_noise=CIFAR10_STAND_INS, recipes="features", version="mobilenet-v2-128",
        ),
        Entry(
            name="cifar-100", title="CIFAR-100", shape=(3, 32, 32), num_classes=100, train=40_000,
            validation=10_000, load=cifar100, paper="cifar-100", drawn="released", human=HUMAN["cifar-100"],
            stand_in="paired-digits", stand_in_noise={"human-fine": "instance-0.4"}, recipes="cifar-100",
            notebook="07_cifar100",
        ),
        Entry(
            name="clothing1m", title="Clothing1M", shape=(3, 256, 256), num_classes=14, train=14 * 18_976,
            validation=14_313, split=clothing1m, stand_in="digits", stand_in_noise={"human": "instance-0.4"},
            recipes="clothing1m", notebook="08_clothing1m",
        ),
    ],
)  # fmt: skip
