"""The datasets of the paper and the embedded digits, as tensors, and noisy labels for them.

``CATALOGUE`` has one row per dataset. ``load("mnist")`` reads it from the cache, a folder that ``FDIV_DATA``
names (see ``cache_folder``), or downloads it once, see ``fdiv.datasets.mirrors``. ``noisy_data("mnist",
"uniform-0.45")`` gives it noisy labels and splits it as the paper does. ``human_labels`` are the answers of
people for the images of CIFAR. ``clothing1m()`` is noisy by nature, a split and not a dataset, and its images
stay on the disk.
"""

from fdiv.datasets.catalogue import (
    CATALOGUE,
    Entry,
    cifar10,
    cifar10_features,
    cifar100,
    digits,
    fashion_mnist,
    load,
    mnist,
    paired_digits,
)
from fdiv.datasets.clothing import CLOTHING1M_CLASSES, clothing1m
from fdiv.datasets.dataset import Dataset, NoisySplit
from fdiv.datasets.features import image_features
from fdiv.datasets.human import HUMAN, human_labels
from fdiv.datasets.images import BrokenImage, ImageFiles, default_workers
from fdiv.datasets.mirrors import DatasetMissing
from fdiv.datasets.noisy import NoisyData, check_noise, noise_settings, noisy_data, noisy_split
from fdiv.datasets.tweets import Tweets, tweets
from fdiv.files import cache_folder

__all__ = [
    "CATALOGUE", "CLOTHING1M_CLASSES", "HUMAN", "BrokenImage", "Dataset", "DatasetMissing", "Entry",
    "ImageFiles", "NoisyData", "NoisySplit", "Tweets", "cache_folder", "check_noise", "cifar10",
    "cifar10_features", "cifar100", "clothing1m", "default_workers", "digits", "fashion_mnist",
    "human_labels", "image_features", "load", "mnist", "noise_settings", "noisy_data", "noisy_split",
    "paired_digits", "tweets",
]  # fmt: skip
