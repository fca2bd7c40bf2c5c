"""One run of the paper, from the dataset's name to a result with its provenance."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from fdiv import datasets, noise
from fdiv.datasets import HUMAN, Dataset, NoisySplit
from fdiv.experiments.recipes import (
    DATASETS,
    QUICK_DATA,
    VARIANTS,
    Recipe,
    check_correction,
    check_method,
    needs_transition,
    quick_dataset,
    recipe,
)
from fdiv.experiments.results import accuracy_column, provenance
from fdiv.files import runs_folder, write_text
from fdiv.learning.distributed import locked, world
from fdiv.learning.runs import load_run, save_run
from fdiv.learning.training import ORACLE, RULES, Run, fit
from fdiv.modes import check_mode
from fdiv.names import choose
from fdiv.noise.corrupt import corrupt_by_instance

__all__ = [
    "CLEAN",
    "NOISE_PATTERNS",
    "QUICK_DATA",
    "QUICK_NOISE",
    "ROBUSTNESS_RATES",
    "Experiment",
    "NoisyData",
    "canonical",
    "check_noise",
    "experiment_folder",
    "noise_settings",
    "noisy_data",
    "quick_dataset",
    "run_experiment",
    "stored_result",
]

CLEAN = "clean"
HUMAN_LABELS = "human"
NOISE_PATTERNS = {
    "uniform-R": "a label is wrong with probability R, and then any other alike",
    "instance-R": "about R of the labels are wrong, and how depends on the image",
}
ROBUSTNESS_RATES = tuple(round(0.09 * step, 2) for step in range(10))  # of the paper's robustness figure
QUICK_NOISE = {  # what MODE quick draws for the digits where they have no such setting; rates are alike
    "cifar-10": {
        "random-0.5": "uniform-0.45",  # the same matrix
        "human-aggregate": "instance-0.09",
        "human-random-1": "instance-0.17",
        "human-random-2": "instance-0.18",
        "human-random-3": "instance-0.18",
        "human-worse": "instance-0.4",
    },
    "cifar-100": {"human-fine": "instance-0.4"},
    "clothing1m": {HUMAN_LABELS: "instance-0.4"},
}
LABEL_SEED = 0  # the paper has one vector of noisy labels per setting, whatever the seed of the training
FEW = 20  # so many labels at least must go each way for whole numbers to be near enough


@dataclass(frozen=True, eq=False)
class NoisyData:
    """A dataset with the labels of one noise setting.

    T: the matrix the labels were drawn with, or counted where people or images decided; None where no clean
        labels are known.
    note: where they come from, such as whether they are the labels the authors released.
    """

    split: NoisySplit
    T: np.ndarray | None
    note: str


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """What has to be said to repeat a run.

    dataset: a name of ``DATASETS``; MODE quick replaces it by that of ``QUICK_DATA``.
    noise: see ``noise_settings`` and ``NOISE_PATTERNS``.
    method: a baseline, a divergence, or one of ours ("ratio", "pearson-logit", "plugin").
    correction: for a divergence, "paper", "exact" or "forward", see ``FDivLoss``.
    transition: where T is needed, "estimated" or "true".
    variant: see ``fdiv.experiments.recipes.VARIANTS``.
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


def experiment_folder(experiment: Experiment) -> Path:
    """Where a run of ``experiment`` keeps its files unless told otherwise, however its names are spelt."""
    return runs_folder() / "train" / canonical(experiment).name


# ------------------------------------------------------------------ the data


def noise_settings(dataset: str) -> tuple[str, ...]:
    """The noise settings of a dataset that have a name; those with a rate to choose are ``NOISE_PATTERNS``.

    "clean", the paper's own (MNIST's for the digits, those of CIFAR-100 for their pairs), and what people
    answered: "human" for Clothing1M, "human-..." for CIFAR.
    """
    dataset = choose("dataset", dataset, DATASETS)
    if dataset == "clothing1m":
        return (HUMAN_LABELS,)
    source = _noise_source(dataset)
    paper = [name for name in noise.paper_settings(source) if name not in noise.FIGURE_STEPS]
    people = [f"{HUMAN_LABELS}-{which}" for which in HUMAN.get(dataset, ())]
    return (CLEAN, *paper, *people)


def check_noise(dataset: str, setting: str) -> str:
    """The canonical name of a noise setting, or a ``ValueError`` that names the valid ones."""
    names = noise_settings(dataset)
    patterns = () if dataset == "clothing1m" else tuple(NOISE_PATTERNS)
    found = _with_rate(setting)
    if found is None or not patterns:
        name = choose(f"{dataset} noise setting", setting, (*names, *patterns))
        if name in patterns:
            raise ValueError(f"noise setting {name!r} needs a number for R, such as {name[:-1]}0.45")
        return name
    family, rate = found
    largest = 1 - 1 / _num_classes(dataset) if family == "uniform" else 1
    if not rate < largest:
        raise ValueError(f"noise setting {setting!r} must have a rate of at least 0 and below {largest:g}")
    return f"{family}-{rate:g}"


def noisy_data(dataset: str, setting: str, validation: int | None = None) -> NoisyData:
    """A dataset with noisy labels, split as the authors of the paper did.

    The paper's settings give the downloaded sets the labels the authors released, or, where these cannot be
    made again, others with the same counts. The embedded digits get MNIST's noise, with exact counts as well.
    """
    dataset = choose("dataset", dataset, DATASETS)
    setting = check_noise(dataset, setting)
    if dataset == "clothing1m":
        return NoisyData(datasets.clothing1m(), None, "Clothing1M's own, from the words around the images")
    data = datasets.load(dataset)
    labels, T, note = _noisy_labels(data, setting)
    return NoisyData(datasets.noisy_split(data, labels, validation), T, note)


Drawn = tuple[Tensor, np.ndarray, str]  # noisy labels of all training examples, their T, where they are from


def _noisy_labels(data: Dataset, setting: str) -> Drawn:
    if setting == CLEAN:
        return data.train_labels, np.eye(data.num_classes), "no noise"
    if setting.startswith(f"{HUMAN_LABELS}-"):
        return _human(data, setting.removeprefix(f"{HUMAN_LABELS}-"))
    if setting in noise_settings(data.name):
        return _as_in_the_paper(data, setting)
    family, rate = _with_rate(setting)
    return _uniform(data, rate) if family == "uniform" else _by_instance(data, rate)


def _human(data: Dataset, which: str) -> Drawn:
    labels = datasets.human_labels(data.name, which, data.train_labels)
    return labels, _counted(data, labels), "what people answered, T counted"


def _as_in_the_paper(data: Dataset, setting: str) -> Drawn:
    clean = data.train_labels
    T = noise.paper_noise(_noise_source(data.name), setting)
    if data.name == "digits":
        note = "MNIST's noise on the embedded digits, exact counts"
        return noise.corrupt_exact_counts(clean, T, LABEL_SEED), T, note
    if data.name == "paired-digits":
        return (
            noise.corrupt(clean, T, LABEL_SEED),
            T,
            "the noise of CIFAR-100 on pairs of the embedded digits",
        )
    released = noise.released_labels(data.name, setting, clean, LABEL_SEED)
    return released.labels, T, released.note


def _uniform(data: Dataset, rate: float) -> Drawn:
    """With exact counts, unless so few labels go each way that leaving off their fractions would show."""
    T = noise.symmetric(rate, data.num_classes)
    if rate * len(data.train_labels) < FEW * data.num_classes * (data.num_classes - 1):
        return noise.corrupt(data.train_labels, T, LABEL_SEED), T, f"uniform, rate {rate:g}, drawn one by one"
    labels = noise.corrupt_exact_counts(data.train_labels, T, LABEL_SEED)
    return labels, T, f"uniform, rate {rate:g}, exact counts"


def _by_instance(data: Dataset, rate: float) -> Drawn:
    labels = corrupt_by_instance(data.train_images, data.train_labels, rate, data.num_classes, LABEL_SEED)
    return labels, _counted(data, labels), f"depending on the image, rate {rate:g}, T counted"


def _counted(data: Dataset, labels: Tensor) -> np.ndarray:
    """The share of each noisy label among the examples of each class."""
    return noise.noise_card(data.train_labels, labels).realised_T


def _with_rate(setting: str) -> tuple[str, float] | None:
    """The family and the rate of a setting that is one of ``NOISE_PATTERNS``."""
    families = "|".join(name.removesuffix("-R") for name in NOISE_PATTERNS)
    match = re.fullmatch(rf"({families})-(\d*\.?\d+)", str(setting).casefold())
    return match and (match[1], float(match[2]))


def _noise_source(dataset: str) -> str:
    """Whose settings of the paper a dataset has."""
    return {"digits": "mnist", "paired-digits": "cifar-100"}.get(dataset, dataset)


def _num_classes(dataset: str) -> int:
    return 100 if _noise_source(dataset) == "cifar-100" else 10


# ------------------------------------------------------------------ the run


def run_experiment(
    experiment: Experiment,
    folder: str | os.PathLike | None = None,
    on_epoch: Callable[[Mapping[str, Any]], None] | None = None,
    **options: Any,
) -> tuple[Run, dict[str, Any]]:
    """Train, and return the run with its result: what was run, the accuracy of every rule, and where it ran.

    folder: with it, checkpoints are kept there, and in the end ``result.json``, ``history.csv`` and
        ``run.pt`` with the weights, each file whole or not at all. A run found finished there is returned as
        it is, with the provenance of the process that trained it. Only one process at a time works there.
    options: passed on to ``fdiv.learning.training.train``.
    """
    names, settings = plan(experiment)
    if folder is None:
        return _trained(names, settings, None, on_epoch=on_epoch, **options)
    folder = Path(folder)
    with locked(folder):
        result = _whole_result(folder)
        _check_place(names, folder, result)
        finished = _is_of(result, names, settings)
        run = load_run(folder / "run.pt", _about(names, settings)) if finished else None
        if run is not None:
            return run, result
        return _trained(names, settings, folder, on_epoch=on_epoch, **options)


def stored_result(experiment: Experiment, folder: str | os.PathLike | None = None) -> dict[str, Any] | None:
    """The result of a finished run; None where there is none, half of one, or one of another plan or recipe.

    folder: by default that of ``experiment_folder``.
    """
    names, settings = plan(experiment)
    result = _whole_result(experiment_folder(experiment) if folder is None else Path(folder))
    return result if _is_of(result, names, settings) else None


def _is_of(result: dict[str, Any] | None, names: Mapping[str, Any], settings: Recipe) -> bool:
    """Whether there is a result, and of this plan and recipe."""
    expected = dict(names) | _said_of(settings)
    return result is not None and all(result.get(name) == value for name, value in expected.items())


def _whole_result(folder: Path) -> dict[str, Any] | None:
    """What ``result.json`` in ``folder`` says; None where there is none, or half of one."""
    try:
        result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return result if isinstance(result, dict) else None


def _check_place(names: Mapping[str, Any], folder: Path, there: dict[str, Any] | None) -> None:
    """A ``ValueError`` where the result ``there`` is of another experiment, and would be lost."""
    there = there or {}
    others = [f"{name} {there[name]!r}" for name, value in names.items() if there.get(name, value) != value]
    if others:
        raise ValueError(
            f"{folder} holds a run with {', '.join(others)}: choose another folder, or delete it"
        )


def canonical(experiment: Experiment) -> Experiment:
    """The experiment with every name as we spell it, or a ``ValueError`` that names the valid choices."""
    dataset, method = choose("dataset", experiment.dataset, DATASETS), check_method(experiment.method)
    correction = check_correction(method, experiment.correction)
    transition = choose("transition", experiment.transition, ("estimated", "true"))
    seed = experiment.seed
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise ValueError(f"seed {seed!r} is not a whole number from 0 up")
    return Experiment(
        dataset=dataset,
        noise=check_noise(dataset, experiment.noise),
        method=method,
        mode=check_mode(experiment.mode),
        seed=int(seed),
        correction=correction,
        # where none is needed, it is the same run whatever was asked for
        transition=transition if needs_transition(method, correction) else "estimated",
        variant=choose("variant", experiment.variant, tuple(VARIANTS)),
    )


def plan(experiment: Experiment) -> tuple[dict[str, Any], Recipe]:
    """The experiment in canonical names and with the data that is really read, and its recipe."""
    experiment = canonical(experiment)
    dataset, setting = experiment.dataset, experiment.noise
    if experiment.mode == "quick":
        setting = QUICK_NOISE.get(dataset, {}).get(setting, setting)
        dataset = quick_dataset(dataset)
    if experiment.transition == "true" and dataset == "clothing1m":
        raise ValueError("nobody knows the true T of clothing1m: choose transition 'estimated'")
    settings = recipe(
        dataset,
        experiment.method,
        experiment.mode,
        correction=experiment.correction,
        variant=experiment.variant,
        clean=setting == CLEAN,
    )
    return vars(experiment) | {"dataset": dataset, "noise": setting}, settings


def _trained(
    names: Mapping[str, Any], settings: Recipe, folder: Path | None, **options: Any
) -> tuple[Run, dict[str, Any]]:
    origin = provenance()
    data = noisy_data(names["dataset"], names["noise"])
    method = names["method"]
    run = fit(
        data.split,
        method,
        settings,
        seed=names["seed"],
        T=data.T if names["transition"] == "true" else None,
        correction=names["correction"],
        folder=folder,
        **options,
    )
    result = dict(names) | {"labels": data.note}
    result |= {accuracy_column(rule): run.accuracy(rule) for rule in (*RULES, ORACLE)}
    result |= {"memorised_last": float(run.history["memorised"].iloc[-1])}
    result |= {"diagnosis": " | ".join(run.diagnosis)} | _said_of(settings)
    result |= {"seconds": round(float(run.history["seconds"].sum()), 1)} | origin
    if folder is not None and world().is_main:
        save_run(run, folder / "run.pt", settings.model, data.split, _about(names, settings))
        write_text(run.history.to_csv(index=False), folder / "history.csv")
        write_text(json.dumps(result, indent=1, allow_nan=True), folder / "result.json")
        (folder / f"{method}.pt").unlink(missing_ok=True)  # the optimiser's state is of no use any more
    return run, result


def _said_of(settings: Recipe) -> dict[str, Any]:
    """What a result says of its recipe."""
    return {"product": settings.product, "epochs": settings.epochs, "recipe": settings.source}


def _about(names: Mapping[str, Any], settings: Recipe) -> str:
    """All that decides what a run is."""
    return repr((dict(names), settings))
