"""Then and now: the paper's methods and what came after it, under one budget, one network, one regulariser.

Published tables of these losses differ in network, epochs, decay and in how the epoch was chosen. Here all
methods share everything but the loss, and the regulariser is crossed with it. A network is small, one hidden
layer, on the embedded digits or on frozen features of CIFAR-10, so that hundreds of runs fit an hour of one
core: the networks of all seeds are trained side by side as one stack of matrices.

``python -m fdiv.experiments.then_and_now PART ...`` with names of ``PARTS`` trains what is still missing and
adds it to data/results/then_and_now.csv with its provenance, all seeds of a method together, noise by noise.
``measured()`` reads the file, ``table()`` averages it.

Every update is that of Adam, which does not see the scale of a loss; decay is applied to the weights by
itself and not through Adam, so that it is as strong for a loss of large values as for one of small values.
"""

from __future__ import annotations

import copy
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from filelock import FileLock
from torch import Tensor

from fdiv.datasets import NoisySplit, noisy_data
from fdiv.experiments.results import provenance
from fdiv.files import RESULTS, write_text
from fdiv.learning.methods import METHODS, build_loss, needs_transition, paper_methods
from fdiv.learning.modern import label_wave
from fdiv.learning.training import label_shares
from fdiv.names import choose
from fdiv.noise.estimate import estimate_transition

__all__ = [
    "BUDGETS",
    "DECAYS",
    "FIELD_NOISES",
    "HUMAN_NOISES",
    "NOW",
    "OURS",
    "PAPER_NOISES",
    "PARTS",
    "RULES",
    "THEN",
    "Budget",
    "Cell",
    "chosen",
    "compare",
    "measured",
    "run",
    "table",
]

FILE = RESULTS / "then_and_now.csv"
SEEDS = 5
RULES = {
    "last": "the last epoch",
    "noisy-accuracy": "best accuracy on noisy validation labels",
    "label-wave": "the first valley of changed predictions on the training set, no label looked at",
    "oracle": "best accuracy on clean test labels: nobody could choose so",
}
# The losses that came after the paper, beside what they are compared with.
STRONG = "strong-ce"
THEN = ("ce", STRONG, "ratio", "pl", "tv", "kl")
NOW = tuple(name for name, row in METHODS.items() if row.group == "modern")
OURS = ("ratio", "pearson-logit", "plugin")
CROSSED = ("ce", "tv", "gce", "nce-rce", "anl-ce", "jal-ce", "elr")
PAPER_NOISES = ("uniform-low", "uniform-high", "sparse-low", "sparse-high", "random-0.5", "random-0.7")
FIELD_NOISES = (
    *(f"uniform-{rate}" for rate in (0.2, 0.4, 0.6, 0.8)),
    "asymmetric-0.4",
    "sparse-high",
    "instance-0.4",
)
HUMAN_NOISES = ("human-aggregate", "human-random-1", "human-worse")
CROSSED_NOISES = ("uniform-0.4", "uniform-0.6", "asymmetric-0.4", "human-worse")
AVERAGE = 0.99  # of the running mean of the weights that a strong cross-entropy is judged by
START = 0.25  # share of the epochs for which DMI and the plug-in are preceded by another method
SEED_BY_SEED = ("blc", "flc", "dmi", "plugin")
WARMED = {"dmi": "ce", "plugin": "ratio"}


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What all methods share.

    dataset: a name of ``fdiv.datasets.CATALOGUE``.
    train, validation: how many of its training and validation examples are used, the first ones.
    hidden: the width of the hidden layer.
    epochs, batch, rate: of Adam; the rate falls evenly to zero.

    >>> BUDGETS["digits"].epochs
    40
    """

    dataset: str
    train: int
    validation: int
    hidden: int
    epochs: int
    batch: int
    rate: float


BUDGETS = {
    "digits": Budget(
        dataset="digits", train=1000, validation=297, hidden=128, epochs=40, batch=100, rate=3e-3
    ),
    "features": Budget(
        dataset="cifar-10-features", train=5000, validation=1250, hidden=64, epochs=16, batch=200, rate=3e-3
    ),
}


@dataclass(frozen=True)
class Decay:
    """A pull of every weight towards zero, per unit of learning rate.

    l2: times the weight.
    l1: towards zero whatever the size of the weight, which stops there.
    says: in words.
    """

    l2: float
    l1: float
    says: str


DECAYS = {
    "none": Decay(0.0, 0.0, "no decay"),
    "l2": Decay(0.1, 0.0, "L2"),
    "l1": Decay(0.0, 0.05, "L1"),
}


@dataclass(frozen=True)
class Cell:
    """One cell of the tables: a method under a noise, with all its seeds.

    budget: a name of ``BUDGETS``.
    method: a name of ``METHODS``, or "strong-ce": cross-entropy with L2 whose weights are averaged.
    decay: a name of ``DECAYS``.
    """

    budget: str
    noise: str
    method: str
    decay: str = "l2"


def _cells(budget: str, noises: Sequence[str], methods: Sequence[str], decays=("l2",)) -> list[Cell]:
    return [Cell(budget, *rest) for rest in product(noises, methods, decays)]


PARTS: dict[str, list[Cell]] = {
    "digits": _cells("digits", FIELD_NOISES, (*THEN, *NOW)),
    "features": _cells("features", (*FIELD_NOISES, *HUMAN_NOISES), (*THEN, *NOW)),
    "decay": _cells("features", CROSSED_NOISES, CROSSED, ("none", "l1")),
    "paper": _cells("features", PAPER_NOISES, (*paper_methods(), *OURS)),
}


class Stack:
    """Networks of one hidden layer, one for each seed, as a stack of matrices."""

    def __init__(self, seeds: Sequence[int], inputs: int, hidden: int, outputs: int) -> None:
        self.seeds = list(seeds)
        self.draws = [torch.Generator().manual_seed(1000 + seed) for seed in seeds]
        shapes = ((inputs, hidden), (1, hidden), (hidden, outputs), (1, outputs))
        reach = (inputs**-0.5, inputs**-0.5, hidden**-0.5, hidden**-0.5)  # as torch's nn.Linear draws them
        self.weights = [
            torch.stack([torch.rand(shape, generator=draw) * 2 * r - r for draw in self.draws])
            for shape, r in zip(shapes, reach, strict=True)
        ]
        for weight in self.weights:
            weight.requires_grad_(True)

    def logits(self, x: Tensor) -> Tensor:
        """Return logits (seeds, n, K) for inputs (seeds, n, d)."""
        first, shift, second, bias = self.weights
        return torch.baddbmm(bias, torch.baddbmm(shift, x, first).relu(), second)

    @torch.no_grad()
    def predictions(self, x: Tensor) -> Tensor:
        """Return logits (seeds, n, K) for inputs (n, d) that all networks share."""
        first, shift, second, bias = self.weights
        seeds, inputs, hidden = first.shape
        wide = first.transpose(0, 1).reshape(inputs, seeds * hidden)
        parts = []
        for part in x.split(1000):
            inner = torch.addmm(shift.reshape(1, -1), part, wide).relu_()
            parts.append(torch.baddbmm(bias, inner.view(len(part), seeds, hidden).transpose(0, 1), second))
        return torch.cat(parts, dim=1)

    @torch.no_grad()
    def averaged(self, mean: Stack | None) -> Stack:
        """Return the running mean of the weights, a stack itself, after one more step."""
        if mean is None:
            mean = copy.copy(self)
            mean.weights = [weight.detach().clone() for weight in self.weights]
        for old, new in zip(mean.weights, self.weights, strict=True):
            old.lerp_(new, 1 - AVERAGE)
        return mean

    def shuffled(self, count: int) -> Tensor:
        """Return 0 .. count - 1 in an order of its own for each seed."""
        return torch.stack([torch.randperm(count, generator=draw) for draw in self.draws])

    @torch.no_grad()
    def shrink(self, decay: Decay, rate: float) -> None:
        """Pull the matrices, not the shifts, towards zero."""
        for weight in self.weights[::2]:
            if decay.l2:
                weight.mul_(1 - rate * decay.l2)
            if decay.l1:
                weight.copy_(torch.nn.functional.softshrink(weight, rate * decay.l1))


def compare(
    split: NoisySplit,
    method: str,
    budget: Budget,
    *,
    decay: str = "none",
    seeds: Sequence[int] = tuple(range(SEEDS)),
    T: Sequence[Any] | None = None,
) -> tuple[pd.DataFrame, Tensor]:
    """Train one method with several seeds; return a row per seed and epoch, and the last training logits.

    The rows hold ``validation_accuracy`` (noisy labels), ``test_accuracy`` (clean), ``changes`` (the share of
    training predictions that are others than an epoch before) and ``memorised``.

    method: a name of ``METHODS``; ``WARMED`` ones start from another method, within the same epochs.
    decay: a name of ``DECAYS``.
    T: a transition matrix per seed, for a method that needs one.

    >>> tiny = Budget(dataset="digits", train=200, validation=50, hidden=16, epochs=2, batch=50, rate=1e-2)
    >>> rows, logits = compare(noisy_data("digits", "uniform-low").split, "gce", tiny, seeds=(0, 1))
    >>> len(rows), tuple(logits.shape)
    (4, (2, 200, 10))
    """
    pull, strong = DECAYS[choose("decay", decay, tuple(DECAYS))], method == STRONG
    method = "ce" if strong else METHODS.name_of(method)
    x, labels = _part(split.train_images, budget.train), split.train_labels[: budget.train]
    validation, test = _part(split.validation_images, budget.validation), _part(split.test_images, None)
    stack = Stack(seeds, x.shape[1], budget.hidden, split.num_classes)
    losses = _Losses(method, split, len(labels), len(stack.seeds), T)
    warm = losses
    if method in WARMED:
        warm = _Losses(WARMED[method], split, len(labels), len(stack.seeds), None)
    optimiser = torch.optim.Adam(stack.weights, lr=budget.rate, fused=True)
    count, steps = len(labels), max(1, len(labels) // budget.batch)
    flipped = None if split.train_clean_labels is None else labels != split.train_clean_labels[:count]
    before, mean, rows = None, None, []
    for epoch in range(budget.epochs):
        present = warm if epoch < START * budget.epochs else losses
        present.set_epoch(epoch, budget.epochs)
        order = stack.shuffled(count)
        for step in range(steps):
            rate = budget.rate * (1 - (epoch + step / steps) / budget.epochs)
            optimiser.param_groups[0]["lr"] = rate
            index = order[:, step * budget.batch : (step + 1) * budget.batch]
            value = present(stack.logits(x[index]), labels[index], index)
            optimiser.zero_grad(set_to_none=True)
            value.backward()
            optimiser.step()
            stack.shrink(pull, rate)
            if strong:
                mean = stack.averaged(mean)
        judged = mean or stack
        logits = judged.predictions(x)
        answers = logits.argmax(2)
        changes = np.full(len(answers), math.nan) if before is None else _share(answers != before)
        before = answers
        rows.append(
            {
                "seed": stack.seeds,
                "epoch": epoch + 1,
                "validation_accuracy": _share(
                    judged.predictions(validation).argmax(2) == split.validation_labels[: len(validation)]
                ),
                "test_accuracy": _share(judged.predictions(test).argmax(2) == split.test_labels),
                "changes": changes,
                "memorised": _share((answers == labels)[:, flipped]) if flipped is not None else math.nan,
            }
        )
    return pd.concat(map(pd.DataFrame, rows), ignore_index=True).sort_values(["seed", "epoch"]), logits


def chosen(history: pd.DataFrame) -> dict[str, float]:
    """Return the clean test accuracy of one run at the epoch of each of ``RULES``.

    history: the rows of ``compare`` for one seed.

    >>> wave = {"epoch": [1, 2, 3, 4], "changes": [float("nan"), 0.3, 0.1, 0.2]}
    >>> both = {"validation_accuracy": [0.5, 0.6, 0.7, 0.8], "test_accuracy": [0.6, 0.7, 0.9, 0.5]}
    >>> chosen(pd.DataFrame(wave | both))["oracle"]
    0.9
    """
    rows = history.set_index("epoch")
    epochs = {
        "last": rows.index[-1],
        "noisy-accuracy": rows["validation_accuracy"].idxmax(),
        "label-wave": label_wave(rows["changes"].tolist(), window=min(3, len(rows) - 1)),
        "oracle": rows["test_accuracy"].idxmax(),
    }
    return {rule: float(rows["test_accuracy"][epoch]) for rule, epoch in epochs.items()}


def _part(images: Any, count: int | None) -> Tensor:
    return images[:count].flatten(1).float()


class _Losses:
    """The loss of a method for a stack of networks.

    Most losses are a mean over examples, so that one call does for all seeds. DMI and the plug-in look at a
    batch as a whole, and the corrections have a T for each seed: these are called seed by seed.
    """

    def __init__(self, method: str, split: NoisySplit, examples: int, seeds: int, T: Sequence[Any] | None):
        prior, K = label_shares(split), split.num_classes
        self.examples, self.seeds = examples, seeds
        self.alone = method in SEED_BY_SEED
        matrices = ([None] * seeds if T is None else T) if self.alone else [None]
        self.losses = [
            build_loss(method, K, label_prior=prior, T=matrix, examples=seeds * examples)
            for matrix in matrices
        ]
        for loss in self.losses:
            loss.check = False  # the split has checked its labels

    def set_epoch(self, epoch: int, epochs: int) -> None:
        for loss in self.losses:
            loss.set_epoch(epoch, epochs)
            loss.train()

    def __call__(self, logits: Tensor, labels: Tensor, index: Tensor) -> Tensor:
        """Return the sum over the seeds, each of which has weights of its own and so its own gradient."""
        if self.alone:
            return torch.stack([f(z, y) for f, z, y in zip(self.losses, logits, labels, strict=True)]).sum()
        more = {}
        if getattr(self.losses[0], "needs_index", False):
            more = {"index": (index + self.examples * torch.arange(self.seeds)[:, None]).flatten()}
        return self.seeds * self.losses[0](logits.flatten(0, 1), labels.flatten(), **more)


def _share(hits: Tensor) -> np.ndarray:
    return hits.float().mean(1).numpy()


# ---------------------------------------------------------------------- the study


def run(cells: Sequence[Cell], path: Path = FILE, seeds: Sequence[int] = tuple(range(SEEDS))) -> None:
    """Train the cells that ``path`` does not have yet, and add a row per seed to it after each.

    Several processes may add to one file. One that was stopped goes on with the next cell that is missing.

    path: a CSV file, made if it is not there.
    """
    for number, cell in enumerate(cells, 1):
        known = measured(path)
        if not known.empty and (known[list(vars(cell))] == pd.Series(vars(cell))).all(axis=1).any():
            continue
        rows = _trained(cell, seeds)
        with FileLock(f"{path}.lock"):
            everything = pd.concat([measured(path), rows], ignore_index=True)
            write_text(everything.to_csv(index=False, float_format="%.5g"), path)
        best = rows["accuracy_noisy_accuracy"]
        print(f"{number}/{len(cells)} {cell} {best.mean():.3f} in {rows['seconds'].sum():.1f} s", flush=True)


def _trained(cell: Cell, seeds: Sequence[int]) -> pd.DataFrame:
    """Return a row per seed: the cell, the accuracy of each rule, and where it ran."""
    budget, started = BUDGETS[cell.budget], time.perf_counter()
    split = _split(budget.dataset, cell.noise)
    T = None
    if cell.method in METHODS and needs_transition(cell.method):
        T = _estimates(cell.budget, cell.noise, cell.decay, tuple(seeds), METHODS[cell.method].estimate)
    history, _ = compare(split, cell.method, budget, decay=cell.decay, seeds=seeds, T=T)
    rows = []
    for seed, one in history.groupby("seed"):
        accuracies = {f"accuracy_{rule.replace('-', '_')}": value for rule, value in chosen(one).items()}
        rows.append(vars(cell) | {"seed": seed} | accuracies | {"memorised": one["memorised"].iloc[-1]})
    seconds = round((time.perf_counter() - started) / len(rows), 2)
    return pd.DataFrame(rows).assign(seconds=seconds, **provenance())


@lru_cache(2)
def _split(dataset: str, noise: str) -> NoisySplit:
    return noisy_data(dataset, noise).split


@lru_cache(2)
def _estimates(budget: str, noise: str, decay: str, seeds: tuple[int, ...], how: str) -> list[np.ndarray]:
    """Return T for each seed, estimated from a network trained with cross-entropy."""
    split = _split(BUDGETS[budget].dataset, noise)
    _, logits = compare(split, "ce", BUDGETS[budget], decay=decay, seeds=seeds)
    labels = None if how == "anchor" else split.train_labels[: BUDGETS[budget].train]
    return [
        estimate_transition(one, labels, method=how, percentile=97, bootstrap=0).T
        for one in logits.softmax(2)
    ]


def measured(path: Path = FILE) -> pd.DataFrame:
    """Return what the study found, a row per cell and seed; empty where it was never run.

    >>> measured(Path("nowhere.csv")).empty
    True
    """
    try:
        return pd.read_csv(path)
    except FileNotFoundError:
        return pd.DataFrame()


def table(
    part: str, rule: str = "noisy-accuracy", *, decay: str = "l2", statistic: str = "mean"
) -> pd.DataFrame:
    """Return accuracies in percent over the seeds: a row per noise, a column per method.

    part: a name of ``PARTS``.
    rule: a name of ``RULES``.
    statistic: "mean", "std" or "count".

    >>> table("digits").shape  # doctest: +SKIP
    (7, 20)
    """
    cells = PARTS[choose("part", part, tuple(PARTS))]
    column = f"accuracy_{choose('rule', rule, tuple(RULES))}".replace("-", "_")
    wanted = pd.DataFrame([vars(cell) for cell in cells]).assign(decay=decay).drop_duplicates()
    rows = measured().merge(wanted, on=list(wanted)).assign(percent=lambda t: 100 * t[column])
    cells_in_order = rows.pivot_table("percent", "noise", "method", aggfunc=statistic, sort=False)
    return cells_in_order[[m for m in dict.fromkeys(wanted["method"]) if m in cells_in_order]]


if __name__ == "__main__":
    torch.set_num_threads(1)
    for name in sys.argv[1:] or PARTS:
        run(PARTS[choose("part", name, tuple(PARTS))])
