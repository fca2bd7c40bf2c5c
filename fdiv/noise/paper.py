"""The paper's noise settings by name: the matrices printed in its appendix, and those of its released labels.

Their repository holds one fixed label file per dataset and setting, 22 in all, and no program that writes
them. Twelve follow exactly from three seeds of NumPy's legacy generator, whose streams never change. Ten were
made with exact counts under a seed nobody knows; for them the same number of labels goes each way, but not
the same ones. data/paper/released_labels.csv lists the files with their recipes and fingerprints.

The authors train on the first 50 000 labels of MNIST and Fashion-MNIST (40 000 of CIFAR) and keep the others,
noisy too, for validation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState

from fdiv.arrays import Labels, as_labels
from fdiv.files import csv_rows
from fdiv.names import choose
from fdiv.noise.corrupt import Seed, corrupt_exact_counts, draw, labels_sha256, like
from fdiv.noise.matrices import random_flip, sparse, uniform

DATASETS = ("mnist", "fashion-mnist", "cifar-10", "cifar-100")
FIGURE_STEPS = tuple(f"figure-{e / 100:.2f}" for e in range(10))
MASK_SEED, VALUE_SEED, STREAM_SEED = 12419, 20172, 10086


def paper_settings(dataset: str) -> tuple[str, ...]:
    """Return the names of a dataset's noise settings in the paper; for CIFAR-10 with the steps of the figure.

    >>> paper_settings("cifar-100")
    ('uniform', 'sparse', 'random-0.2', 'random-0.5')
    """
    dataset = choose("dataset", dataset, DATASETS)
    names = tuple(row["setting"] for row in csv_rows("released_labels.csv", dataset=dataset))
    return names + FIGURE_STEPS if dataset == "cifar-10" else names


def paper_noise(dataset: str, setting: str, source: str = "released") -> np.ndarray:
    """Return the transition matrix of one of the paper's noise settings.

    dataset: mnist, fashion-mnist, cifar-10 or cifar-100.
    setting: one of ``paper_settings(dataset)``. "figure-0.03" is the step e = 0.03 of the robustness figure
        (Section 5.2), uniform with every e_j = e; the appendix gives this formula and no labels exist.
    source: "released" for the matrix that generated the labels the authors published; "printed" for the one
        under that heading in the appendix, as it stands: some of its entries are misprinted and some rows
        rounded, so that it is *not* always a transition matrix and is not validated.

    >>> paper_noise("mnist", "random-0.2")[0, :2].round(3)
    array([0.82, 0.02])
    """
    dataset, setting = paper_name(dataset, setting)
    source = choose("source", source, ("released", "printed"))
    family, _, level = setting.partition("-")
    if family == "figure":
        return uniform(float(level), 10)
    appendix = "mnist" if dataset == "fashion-mnist" else dataset  # one set of matrices serves both
    if source == "printed":
        if dataset == "cifar-100":
            raise ValueError("the appendix prints no matrix for cifar-100, it only describes them in words")
        lines = csv_rows(f"noise/printed_{appendix}_{setting}.csv")
        return np.array([[float(line[str(j)]) for j in range(len(lines))] for line in lines])
    num_classes = 100 if dataset == "cifar-100" else 10
    if family == "random":
        return random_flip(float(level), num_classes)
    lines = csv_rows(f"noise/released_{family}.csv", dataset=appendix, setting=setting)
    if family == "uniform":
        return uniform([float(line["e"]) for line in lines], num_classes)
    pairs = [(int(line["i"]), int(line["j"])) for line in lines]
    return sparse(num_classes, pairs, *([float(line[e]) for line in lines] for e in ("e1", "e2")))


def paper_name(dataset: str, setting: str) -> tuple[str, str]:
    """Return both names as ``paper_settings`` spells them.

    >>> paper_name("MNIST", "Uniform Low")
    ('mnist', 'uniform-low')
    """
    dataset = choose("dataset", dataset, DATASETS)
    return dataset, choose(f"{dataset} noise setting", setting, paper_settings(dataset))


@dataclass(frozen=True, eq=False)
class ReleasedLabels:
    """A vector of noisy labels and whether it is the authors'.

    labels: the noisy labels, of the kind and dtype of the clean ones.
    exact: whether they equal the released file, label by label.
    note: the same in a sentence.

    >>> ReleasedLabels([3, 1], exact=False, note="drawn with seed 0").exact
    False
    """

    labels: Any
    exact: bool
    note: str


def released_labels(dataset: str, setting: str, clean_labels: Labels, seed: Seed = 0) -> ReleasedLabels:
    """Return the noisy training labels of the paper's experiments.

    dataset, setting: as in ``paper_noise``.
    clean_labels: all training labels in the order of the original files; any others are refused.
    seed: for the ten files whose own seed is unknown; the other twelve do not use it.

    >>> released_labels("mnist", "random-0.2", [0, 1, 2])
    Traceback (most recent call last):
    ValueError: clean_labels has 3 labels, but mnist has 60000 to train on
    """
    dataset, setting = paper_name(dataset, setting)
    rows = csv_rows("released_labels.csv", dataset=dataset, setting=setting)
    if not rows:
        raise ValueError(f"no labels were released for {dataset} {setting}: draw your own with corrupt")
    (row,) = rows
    clean = as_labels(clean_labels, what="clean_labels")
    if len(clean) != int(row["n"]):
        raise ValueError(f"clean_labels has {len(clean)} labels, but {dataset} has {row['n']} to train on")
    if labels_sha256(clean) != row["clean_sha256"]:
        raise ValueError(f"clean_labels are not the training labels of {dataset} in the order of its files")
    T = paper_noise(dataset, setting)
    if row["recipe"] == "counts":
        note = f"as many labels flip each way as in the released file, but others: drawn with seed {seed}"
        return ReleasedLabels(corrupt_exact_counts(clean_labels, T, seed), False, note)
    noisy = regenerate(row, clean, T)
    if labels_sha256(noisy) != row["noisy_sha256"]:
        raise RuntimeError(f"the labels regenerated for {dataset} {setting} are not the released ones")
    return ReleasedLabels(like(clean_labels, noisy), True, "equal to the released file, label by label")


def regenerate(row: Mapping[str, str], clean: np.ndarray, T: np.ndarray) -> np.ndarray:
    """Return the noisy labels of a file that is not made with exact counts, from any clean labels.

    row: its line of released_labels.csv, whose ``recipe`` is one of

    * "random": two streams, one says which labels are replaced and the other by what;
    * "choice": one number per label picks the class from the row of T, in the order of the classes;
    * "pair": the same, but the class of the pair that loses more labels comes first.
    """
    if row["recipe"] == "random":
        replaced = RandomState(MASK_SEED).rand(len(clean)) < float(row["setting"].removeprefix("random-"))
        noisy = clean.copy()
        noisy[replaced] = RandomState(VALUE_SEED).randint(0, len(T), replaced.sum(), dtype=np.int64)
        return noisy
    order = np.arange(len(T)) if row["recipe"] == "choice" else np.argsort(np.diag(T), kind="stable")
    return draw(clean, T, RandomState(STREAM_SEED).random_sample(len(clean)), np.tile(order, (len(T), 1)))
