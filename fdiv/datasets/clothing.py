"""Clothing1M: a million photographs of clothes, labelled by a program from the words around them.

Xiao et al., Learning from Massive Noisy Labeled Data for Image Classification (CVPR 2015). The dataset is
given out by its authors on request, so nothing is downloaded here: the folder is read as they distribute it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from fdiv.datasets.dataset import NoisySplit
from fdiv.datasets.images import ImageFiles
from fdiv.datasets.mirrors import DatasetMissing
from fdiv.files import cache_folder, folder_named_by
from fdiv.names import choose

CLOTHING1M_CLASSES = (
    "T-Shirt", "Shirt", "Knitwear", "Chiffon", "Sweater", "Hoodie", "Windbreaker", "Jacket", "Downcoat",
    "Suit", "Shawl", "Dress", "Vest", "Underwear",
)  # fmt: skip
SUBSETS = ("balanced", "all")
NOISY, CLEAN = "noisy_label_kv.txt", "clean_label_kv.txt"
KEYS = {
    "noisy_train": NOISY,
    "clean_train": CLEAN,  # distributed, and not used by the paper
    "clean_val": CLEAN,
    "clean_test": CLEAN,
}
LOOKED_AT = 3
SIZE = 256


def clothing1m(folder: str | Path | None = None, subset: str = "balanced", seed: int = 0) -> NoisySplit:
    """Return the split of the paper: noisy labels to train on, clean ones to validate and to test with.

    folder: the folder of the dataset; by default ``FDIV_CLOTHING1M``, or clothing1m in the cache.
    subset: "balanced" draws as many noisy training images of every class as the smallest class has (the
        subset that the authors of the paper released has 14 x 18 976); "all" takes the whole million.
    seed: draws the images of the balanced subset.

    >>> clothing1m().train_images  # doctest: +SKIP
    ImageFiles(265664 images of 256 x 256)
    """
    subset = choose("subset of Clothing1M", subset, SUBSETS)
    root = _dataset_folder(folder)
    labels = {name: _read_labels(root / name) for name in (NOISY, CLEAN)}
    parts = {
        part: _read_part(root, part, labels[KEYS[part]])
        for part in ("noisy_train", "clean_val", "clean_test")
    }
    if subset == "balanced":
        images, given = parts["noisy_train"]
        chosen = _balanced(given, seed)
        parts["noisy_train"] = images[chosen], given[chosen]
    (train, train_labels), (validation, validation_labels), (test, test_labels) = parts.values()
    return NoisySplit(
        name="clothing1m",
        num_classes=len(CLOTHING1M_CLASSES),
        train_images=train,
        train_labels=train_labels,
        train_clean_labels=None,
        validation_images=validation,
        validation_labels=validation_labels,
        test_images=test,
        test_labels=test_labels,
    )


def _dataset_folder(folder: str | Path | None) -> Path:
    """Return the folder of the dataset, which must have everything that is distributed."""
    default = folder_named_by("FDIV_CLOTHING1M", cache_folder() / "clothing1m")
    root = Path(folder or default).expanduser().absolute()
    wanted = ("images", *(f"{part}_key_list.txt" for part in KEYS), NOISY, CLEAN)
    lacking = [name for name in wanted if not (root / name).exists()]
    if lacking:
        raise DatasetMissing(
            f"Clothing1M is not complete in {root} (no {', no '.join(lacking)}): ask its authors for it, as "
            "https://github.com/Cysu/noisy_label says, and name with FDIV_CLOTHING1M the folder that has "
            f"{', '.join(wanted)}"
        )
    return root


def _read_labels(path: Path) -> dict[str, int]:
    """Return the label of each key, from lines of a key and a number."""
    labels: dict[str, int] = {}
    valid = {str(label): label for label in range(len(CLOTHING1M_CLASSES))}
    for number, line in _lines(path):
        key, _, label = line.rpartition(" ")
        if not key.strip():
            raise ValueError(f"{path}, line {number}: {line!r} is not a path and a label")
        if label not in valid:
            raise ValueError(
                f"{path}, line {number}: the label {label!r} is not a number from 0 to {len(valid) - 1}"
            )
        if labels.setdefault(key.rstrip(), valid[label]) != valid[label]:
            raise ValueError(
                f"{path}, line {number}: {key.rstrip()} has label {label} here and "
                f"{labels[key.rstrip()]} before: a key has one label"
            )
    return labels


def _read_part(root: Path, part: str, labels: dict[str, int]) -> tuple[ImageFiles, Tensor]:
    """Return the images and labels that a key list names, in its order.

    Of a million files only the first few are looked for, to see that the folder is the right one.
    """
    path, keys, values = root / f"{part}_key_list.txt", [], []
    for number, key in _lines(path):
        if key not in labels:
            raise ValueError(f"{path}, line {number}: {key!r} has no label in {KEYS[part]}")
        keys.append(key)
        values.append(labels[key])
    if not keys:
        raise ValueError(f"{path} names no images")
    for key in keys[:LOOKED_AT]:
        if not (root / key).is_file():
            raise DatasetMissing(
                f"Clothing1M is not complete in {root}: {path.name} names {key}, which is not there"
            )
    return ImageFiles([f"{root}{os.sep}{key}" for key in keys], SIZE), torch.tensor(values)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text file that are not empty, stripped, with their numbers."""
    with open(path, encoding="utf-8") as file:
        try:
            for number, line in enumerate(file, start=1):
                if line := line.strip():
                    yield number, line
        except UnicodeDecodeError as error:
            raise ValueError(f"{path} is no text: {error}") from None


def _balanced(labels: Tensor, seed: int) -> Tensor:
    """Return the indices of as many examples of every class as the smallest class has, in their order."""
    members = [np.flatnonzero(labels == label) for label in range(len(CLOTHING1M_CLASSES))]
    count = min(map(len, members))
    if not count:
        empty = CLOTHING1M_CLASSES[min(range(len(CLOTHING1M_CLASSES)), key=lambda label: len(members[label]))]
        raise ValueError(
            f"no noisy training label is {empty}, so there is no balanced subset: choose subset='all'"
        )
    rng = np.random.default_rng(seed)
    chosen = np.concatenate([rng.choice(group, count, replace=False) for group in members])
    return torch.from_numpy(np.sort(chosen))
