"""One run of the paper, from the dataset's name to a result with its provenance."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fdiv import datasets, noise
from fdiv.datasets import NoisySplit
from fdiv.files import write_text
from fdiv.names import choose
from fdiv.recipes import check_correction, check_method, needs_transition, recipe
from fdiv.results import provenance
from fdiv.training import ORACLE, RULES, Run, fit

__all__ = ["CLEAN", "Experiment", "NoisyData", "noise_settings", "noisy_data", "run_experiment"]

CLEAN = "clean"
LABEL_SEED = 0  # the paper has one vector of noisy labels per setting, whatever the seed of the training


@dataclass(frozen=True, eq=False)
class NoisyData:
    """A dataset with the labels of one noise setting.

    T: the matrix the labels were drawn with.
    note: whether they are the labels the authors released.
    """

    split: NoisySplit
    T: np.ndarray
    note: str


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """What has to be said to repeat a run.

    dataset: digits, mnist or fashion-mnist; MODE quick replaces it by the digits.
    noise: a setting of the paper for that dataset (MNIST's for the digits), or "clean".
    method: a baseline, a divergence, or one of ours ("ratio", "plugin").
    correction: for a divergence, "paper" or "exact", see ``FDivLoss``.
    transition: where T is needed, "estimated" or "true".
    variant: see ``fdiv.recipes.VARIANTS``.
    """

    dataset: str
    noise: str
    method: str
    mode: str = "quick"
    seed: int = 0
    correction: str = "none"
    transition: str = "estimated"
    variant: str = "paper"

    @property
    def name(self) -> str:
        """A folder's name, different for every experiment."""
        parts = [self.dataset, self.noise, self.method, self.mode, f"seed{self.seed}"]
        if self.correction != "none":
            parts.append(self.correction)
        if needs_transition(self.method, self.correction):
            parts.append(f"T-{self.transition}")
        return "_".join(parts if self.variant == "paper" else [*parts, self.variant])


def noise_settings(dataset: str) -> tuple[str, ...]:
    """The names of the noise settings that ``noisy_data`` knows for a dataset."""
    return (CLEAN, *noise.paper_settings("mnist" if dataset == "digits" else dataset))


def noisy_data(dataset: str, setting: str, validation: int | None = None) -> NoisyData:
    """A dataset with its labels corrupted as in the paper, and split as its authors did.

    The downloaded sets get the labels the authors released, or, where these cannot be made again, others with
    the same counts. The embedded digits get MNIST's noise, with exact counts as well.
    """
    setting = choose(f"{dataset} noise setting", setting, noise_settings(dataset))
    data = datasets.load(dataset)
    if setting == CLEAN:
        labels, T, note = data.train_labels, np.eye(data.num_classes), "no noise"
    elif dataset == "digits":
        T = noise.paper_noise("mnist", setting)
        labels = noise.corrupt_exact_counts(data.train_labels, T, LABEL_SEED)
        note = "MNIST's noise on the embedded digits, exact counts"
    else:
        T = noise.paper_noise(dataset, setting)
        released = noise.released_labels(dataset, setting, data.train_labels, LABEL_SEED)
        labels, note = released.labels, released.note
    return NoisyData(datasets.noisy_split(data, labels, validation), T, note)


def run_experiment(
    experiment: Experiment,
    folder: str | os.PathLike | None = None,
    on_epoch: Callable[[Mapping[str, Any]], None] | None = None,
    **options: Any,
) -> tuple[Run, dict[str, Any]]:
    """Train, and return the run with its result: what was run, the accuracy of every rule, and where it ran.

    folder: with it, checkpoints are kept there and the result is written to ``folder/result.json`` with the
        history beside it, each file whole or not at all. A run found finished there is not trained again.
    options: passed on to ``fdiv.training.train``.
    """
    method, origin = check_method(experiment.method), provenance()
    dataset = "digits" if experiment.mode == "quick" else experiment.dataset
    correction = check_correction(method, experiment.correction)
    settings = recipe(dataset, method, experiment.mode, correction=correction, variant=experiment.variant)
    data = noisy_data(dataset, experiment.noise)
    known = choose("transition", experiment.transition, ("estimated", "true")) == "true"
    run = fit(
        data.split,
        method,
        settings,
        seed=experiment.seed,
        T=data.T if known and needs_transition(method, correction) else None,
        correction=correction,
        folder=folder,
        on_epoch=on_epoch,
        **options,
    )
    result = vars(experiment) | {"method": method, "dataset": dataset, "labels": data.note}
    result |= {f"accuracy_{rule}".replace("-", "_"): run.accuracy(rule) for rule in (*RULES, ORACLE)}
    result |= {"memorised_last": float(run.history["memorised"].iloc[-1])}
    result |= {"diagnosis": " | ".join(run.diagnosis)}
    result |= {"product": settings.product, "epochs": settings.epochs, "recipe": settings.source}
    result |= {"seconds": round(float(run.history["seconds"].sum()), 1)} | origin
    if folder is not None:
        write_text(run.history.to_csv(index=False), Path(folder) / "history.csv")
        write_text(json.dumps(result, indent=1, allow_nan=True), Path(folder) / "result.json")
    return run, result
