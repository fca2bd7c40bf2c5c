"""Noisy labels for a dataset by the name of a noise setting, and the splits of the paper.

A noise setting is "clean", one of the paper's ("uniform-low"), a set of labels that people gave
("human-worse"), or a pattern with a rate ("pair-0.4", see ``fdiv.noise.settings``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fdiv import noise
from fdiv.arrays import as_labels
from fdiv.datasets.catalogue import CATALOGUE, Entry, load
from fdiv.datasets.dataset import Dataset, NoisySplit
from fdiv.datasets.human import human_labels
from fdiv.names import choose
from fdiv.noise.settings import CLEAN, PATTERNS, Pattern, parse

HUMAN_LABELS = "human"
LABEL_SEED = 0  # the paper has one vector of noisy labels per setting, whatever the seed of the training
FEW = 20
Drawn = tuple[Any, np.ndarray, str]  # noisy labels of all training examples, their T, their origin


@dataclass(frozen=True, eq=False)
class NoisyData:
    """A dataset with the labels of one noise setting.

    split: the data to train, to validate and to test with.
    T: the matrix that the labels were drawn with, or the counted one where people or images decided; None
        where no clean labels are known.
    note: the origin of the labels, such as whether the authors released them.

    >>> noisy_data("digits", "sparse-low").note
    'the noise of MNIST, exact counts'
    """

    split: NoisySplit
    T: np.ndarray | None
    note: str


def noise_settings(dataset: str) -> tuple[str, ...]:
    """Return the names of a dataset's noise settings; the patterns with a rate come on top.

    They are "clean", the settings of the paper, and the labels that people gave.

    >>> noise_settings("paired-digits")
    ('clean', 'uniform', 'sparse', 'random-0.2', 'random-0.5')
    """
    entry = CATALOGUE[dataset]
    if entry.load is None:
        return (HUMAN_LABELS,)
    paper = noise.paper_settings(entry.paper) if entry.paper else ()
    human = (f"{HUMAN_LABELS}-{kind}" for kind in entry.human)
    return (CLEAN, *(name for name in paper if name not in noise.FIGURE_STEPS), *human)


def check_noise(dataset: str, setting: str) -> str:
    """Return the canonical name of a dataset's noise setting, or raise a ``ValueError`` with the valid ones.

    >>> check_noise("mnist", "Sparse High"), check_noise("digits", "uniform-.450")
    ('sparse-high', 'uniform-0.45')
    """
    entry = CATALOGUE[dataset]
    patterns = {f"{pattern.name}-R": pattern for pattern in PATTERNS.values() if _applies(pattern, entry)}
    found = parse(setting)
    if found is None or f"{found[0].name}-R" not in patterns:
        name = choose(f"{entry.name} noise setting", setting, (*noise_settings(dataset), *patterns))
        if name in patterns:
            raise ValueError(f"noise setting {name!r} needs a number for R, such as {name[:-1]}0.45")
        return name
    pattern, rate = found
    largest = pattern.below(entry.num_classes)
    if not rate < largest:
        raise ValueError(f"noise setting {setting!r} must have a rate of at least 0 and below {largest:g}")
    return f"{pattern.name}-{np.format_float_positional(rate, trim='-')}"


def noisy_data(dataset: str, setting: str, validation: int | None = None) -> NoisyData:
    """Return a dataset with noisy labels, split as the authors of the paper did.

    The settings of the paper give the downloaded datasets the labels that the authors released, or, where
    these cannot be made again, others with the same counts. The embedded digits get the noise of MNIST.

    dataset, setting: see ``CATALOGUE``, ``noise_settings`` and ``fdiv.noise.PATTERNS``.
    validation: the number of examples to validate with, see ``noisy_split``.

    >>> data = noisy_data("digits", "pair-0.3")
    >>> data.T[0, :3]
    array([0.7, 0.3, 0. ])
    """
    entry, setting = CATALOGUE[dataset], check_noise(dataset, setting)
    if entry.load is None:
        assert entry.split is not None  # a row has one of the two
        return NoisyData(entry.split(), None, f"the labels that {entry.title} comes with")
    data = entry.load()
    labels, T, note = _noisy_labels(entry, data, setting)
    return NoisyData(noisy_split(data, labels, validation), T, note)


def noisy_split(dataset: Dataset, noisy_labels: Any, validation: int | None = None) -> NoisySplit:
    """Return the training examples split in two, the last ones for validation, as the paper's authors do.

    noisy_labels: one for each training example, an array, a tensor or a list of integers.
    validation: the number of examples to validate with; by default that of the dataset's row in the
        catalogue.

    >>> from fdiv.datasets import digits
    >>> noisy_split(digits(), digits().train_labels, validation=97).train_images.shape
    torch.Size([1200, 1, 8, 8])
    """
    labels = as_labels(noisy_labels, dataset.num_classes, "noisy_labels")
    count = len(dataset.train_labels)
    if len(labels) != count:
        raise ValueError(f"there are {len(labels)} noisy_labels for {count} training examples")
    if validation is None:
        if dataset.name not in CATALOGUE:
            raise ValueError(f"say how many examples of {dataset.name} to validate with: validation=...")
        validation = CATALOGUE[dataset.name].validation
    if not (isinstance(validation, int | np.integer) and 1 <= validation < count):
        raise ValueError(f"validation is {validation}, but must be a whole number from 1 to {count - 1}")
    labels, train = torch.from_numpy(labels.astype(np.int64)), count - int(validation)
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


def _applies(pattern: Pattern, entry: Entry) -> bool:
    """Return whether a dataset has a pattern: all do, except where it is about certain classes.

    A pattern about the classes of CIFAR-10 is for CIFAR-10 and for its stand-in.
    """
    about = [CATALOGUE[name] for name in pattern.datasets]
    named = {name for row in about for name in (row.name, row.stand_in)}
    return entry.load is not None and (not about or (entry.labels_of or entry.name) in named)


def _noisy_labels(entry: Entry, data: Dataset, setting: str) -> Drawn:
    clean = data.train_labels
    if setting == CLEAN:
        return clean, np.eye(data.num_classes), "no noise"
    if setting in (f"{HUMAN_LABELS}-{kind}" for kind in entry.human):
        labels = human_labels(entry.labels_of or entry.name, setting.removeprefix(f"{HUMAN_LABELS}-"), clean)
        return labels, _counted(clean, labels), "what people answered, T counted"
    if setting in noise_settings(entry.name):
        return _as_in_the_paper(entry, clean, setting)
    found = parse(setting)
    assert found is not None  # check_noise has seen to it
    pattern, rate = found
    if pattern.corrupt is not None:
        pictures = load(entry.labels_of) if entry.labels_of else data
        labels = pattern.corrupt(pictures.train_images, clean, rate, data.num_classes, LABEL_SEED)
        return labels, _counted(clean, labels), f"{pattern.says}, rate {rate:g}, T counted"
    assert pattern.matrix is not None  # a row has one of the two
    T = pattern.matrix(rate, data.num_classes)
    # Exact counts round down: they are used only if about FEW labels or more flip in each direction.
    flips = T[(T > 0) & ~np.eye(len(T), dtype=bool)] * len(clean) / len(T)
    if (flips < FEW - 1e-6).any():
        return noise.corrupt(clean, T, LABEL_SEED), T, f"{pattern.says}, rate {rate:g}, drawn one by one"
    return noise.corrupt_exact_counts(clean, T, LABEL_SEED), T, f"{pattern.says}, rate {rate:g}, exact counts"


def _as_in_the_paper(entry: Entry, clean: Tensor, setting: str) -> Drawn:
    assert entry.paper is not None  # settings of the paper are those of rows that have one
    T = noise.paper_noise(entry.paper, setting)
    if entry.drawn == "released":
        released = noise.released_labels(entry.paper, setting, clean, LABEL_SEED)
        return released.labels, T, released.note
    title = CATALOGUE[entry.paper].title
    if entry.drawn == "counts":
        return noise.corrupt_exact_counts(clean, T, LABEL_SEED), T, f"the noise of {title}, exact counts"
    return noise.corrupt(clean, T, LABEL_SEED), T, f"the noise of {title}, drawn one by one"


def _counted(clean: Tensor, labels: Tensor) -> np.ndarray:
    """Return the share of each noisy label among the examples of each class."""
    return noise.noise_card(clean, labels).realised_T
