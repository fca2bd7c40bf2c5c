"""The paper's noise settings by name, as printed in its appendix and as behind the released labels."""

from __future__ import annotations

import numpy as np

from fdiv.files import csv_rows
from fdiv.names import choose
from fdiv.noise.matrices import random_flip, sparse, uniform

DATASETS = ("mnist", "fashion-mnist", "cifar-10", "cifar-100")
FIGURE_STEPS = tuple(f"figure-{e / 100:.2f}" for e in range(10))


def paper_settings(dataset: str) -> tuple[str, ...]:
    """The names of a dataset's noise settings in the paper; for CIFAR-10 with the steps of the figure."""
    dataset = choose("dataset", dataset, DATASETS)
    names = tuple(row["setting"] for row in csv_rows("released_labels.csv", dataset=dataset))
    return names + FIGURE_STEPS if dataset == "cifar-10" else names


def paper_noise(dataset: str, setting: str, source: str = "released") -> np.ndarray:
    """The transition matrix of one of the paper's noise settings.

    dataset: mnist, fashion-mnist, cifar-10 or cifar-100.
    setting: one of ``paper_settings(dataset)``. "figure-0.03" is the step e = 0.03 of the robustness figure
        (Section 5.2), uniform with every e_j = e; the appendix gives this formula and no labels exist.
    source: "released" for the matrix that generated the labels the authors published; "printed" for the one
        under that heading in the appendix, as it stands: some of its entries are misprinted and some rows
        rounded, so that it is *not* always a transition matrix and is not validated.
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
    """Both names as ``paper_settings`` spells them."""
    dataset = choose("dataset", dataset, DATASETS)
    return dataset, choose(f"{dataset} noise setting", setting, paper_settings(dataset))
