"""One run of the paper, from the dataset's name to a result with its provenance.

An ``Experiment`` says what is wanted. Its ``Plan`` says what that means: the data that is really read, the
recipe, and one digest of both, which is the identity of the run wherever it is kept, found or compared.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import Any

from fdiv.datasets import CATALOGUE, check_noise, noisy_data
from fdiv.experiments.recipes import VARIANTS, check_mode, recipe
from fdiv.experiments.results import accuracy_column, provenance, read_result, write_result
from fdiv.files import runs_folder, write_text
from fdiv.learning.distributed import locked, world
from fdiv.learning.methods import METHODS, check_correction, needs_transition
from fdiv.learning.recipe import Recipe
from fdiv.learning.runs import ORACLE, RULES, Run, load_run, save_run, stored_digest
from fdiv.learning.training import fit
from fdiv.names import choose
from fdiv.noise.settings import CLEAN

RESULT, WEIGHTS, HISTORY = "result.json", "run.pt", "history.csv"


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """What has to be said to repeat a run.

    dataset: a name of ``fdiv.datasets.CATALOGUE``; MODE quick reads its stand-in.
    noise: a setting of the dataset, see ``fdiv.datasets.noise_settings``, or a pattern with a rate.
    method: a name of ``fdiv.learning.methods.METHODS``.
    correction: for a divergence, "paper", "exact" or "forward", see ``FDivLoss``.
    transition: where T is needed, "estimated" or "true".
    variant: a name of ``fdiv.experiments.recipes.VARIANTS``.

    >>> Experiment(dataset="MNIST", noise="Sparse High", method="TV").canonical().noise
    'sparse-high'
    """

    dataset: str
    noise: str
    method: str
    mode: str = "quick"
    seed: int = 0
    correction: str = "none"
    transition: str = "estimated"
    variant: str = "paper"

    def canonical(self) -> Experiment:
        """Return the experiment as we spell it, or raise a ``ValueError`` that names the valid choices."""
        dataset, method = CATALOGUE.name_of(self.dataset), METHODS.name_of(self.method)
        correction = check_correction(method, self.correction)
        transition = choose("transition", self.transition, ("estimated", "true"))
        if isinstance(self.seed, bool) or not isinstance(self.seed, Integral) or self.seed < 0:
            raise ValueError(f"seed {self.seed!r} is not a whole number from 0 up")
        return Experiment(
            dataset=dataset,
            noise=check_noise(dataset, self.noise),
            method=method,
            mode=check_mode(self.mode),
            seed=int(self.seed),
            correction=correction,
            # where no T is needed, it is the same run whatever was asked for
            transition=transition if needs_transition(method, correction) else "estimated",
            variant=choose("variant", self.variant, tuple(VARIANTS)),
        )


@dataclass(frozen=True)
class Plan:
    """An experiment as it is really run.

    experiment: in canonical names, with the data that is really read.
    recipe: how it is trained.

    >>> quick = {"noise": "uniform-low", "method": "tv", "mode": "quick"}
    >>> one, other = (plan(Experiment(dataset=name, **quick)) for name in ("mnist", "fashion-mnist"))
    >>> one.digest == other.digest
    True
    """

    experiment: Experiment
    recipe: Recipe

    @cached_property
    def digest(self) -> str:
        """The identity of the run: a hash of what is trained on and with."""
        fields = asdict(self.experiment)
        for name in ("mode", "variant"):  # these only say where the recipe came from
            del fields[name]
        if not needs_transition(self.experiment.method, self.experiment.correction):
            del fields["transition"]
        version = CATALOGUE[self.experiment.dataset].version
        told = json.dumps([fields, version, self.recipe.values()], sort_keys=True)
        return hashlib.sha256(told.encode()).hexdigest()

    @property
    def name(self) -> str:
        """A folder's name that people can read, different for every run."""
        one = self.experiment
        parts = [one.dataset, one.noise, one.method, one.mode, f"seed{one.seed}"]
        if one.correction != "none":
            parts.append(one.correction)
        if needs_transition(one.method, one.correction):
            parts.append(f"T-{one.transition}")
        return "_".join([*parts, self.digest[:8]])

    @property
    def folder(self) -> Path:
        """Where the run keeps its files unless told otherwise."""
        return runs_folder() / "train" / self.name


def plan(experiment: Experiment) -> Plan:
    """Return what ``experiment`` means, or raise a ``ValueError`` that names the valid choices.

    >>> plan(Experiment(dataset="mnist", noise="uniform-low", method="tv")).experiment.dataset
    'digits'
    """
    one = experiment.canonical()
    entry = CATALOGUE[one.dataset]
    settings = recipe(
        one.dataset,
        one.method,
        one.mode,
        correction=one.correction,
        variant=one.variant,
        clean=one.noise == CLEAN,
    )
    if one.mode == "quick" or entry.stand_in is None:
        noise = entry.stand_in_noise.get(one.noise, one.noise) if entry.stand_in else one.noise
        entry = CATALOGUE[entry.stand_in or entry.name]
        one = replace(one, dataset=entry.name, noise=noise, mode="quick")
    if one.transition == "true" and entry.load is None:
        raise ValueError(f"nobody knows the true T of {entry.name}: choose transition 'estimated'")
    return Plan(one, settings)


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

    >>> what = Experiment(dataset="digits", noise="uniform-low", method="tv")
    >>> run, result = run_experiment(what, progress=False)
    >>> result["accuracy_noisy_objective"] > 0.85
    True
    """
    planned = plan(experiment)
    if folder is None:
        return _trained(planned, None, on_epoch=on_epoch, **options)
    folder = Path(folder)
    with locked(folder):
        result = _result_there(planned, folder)
        run = None if result is None else load_run(folder / WEIGHTS, planned.digest)
        if result is not None and run is not None:
            return run, result
        return _trained(planned, folder, on_epoch=on_epoch, **options)


def stored_result(experiment: Experiment, folder: str | os.PathLike | None = None) -> dict[str, Any] | None:
    """Return the result of a finished run; None where there is none, half of one, or that of another run.

    folder: by default that of the run's ``Plan``.

    >>> stored_result(Experiment(dataset="digits", noise="clean", method="ce"), "no such folder") is None
    True
    """
    planned = plan(experiment)
    try:
        result = read_result(Path(folder or planned.folder) / RESULT)
    except (OSError, ValueError):
        return None
    return result if result["run"] == planned.digest else None


def _result_there(planned: Plan, folder: Path) -> dict[str, Any] | None:
    """Return the result in ``folder`` if it is of this run; refuse a folder with another run's files."""
    try:
        result = read_result(folder / RESULT)
    except FileNotFoundError:
        result = None
    except ValueError as error:  # half of a result: then the weights tell whose it is
        warnings.warn(f"{error}; it is being run again now", stacklevel=4)
        result = None
    there = stored_digest(folder / WEIGHTS) if result is None else result["run"]
    if there not in (None, planned.digest):
        wanted, result = asdict(planned.experiment), result or {}
        others = [
            f"{name} {result[name]!r}" for name in wanted if result.get(name, wanted[name]) != wanted[name]
        ]
        what = f"a run with {', '.join(others)}" if others else "another run"
        raise ValueError(f"{folder} holds {what}: choose another folder, or delete it")
    strangers = sorted({path.stem for path in folder.glob("*.pt")} - {"run", planned.experiment.method})
    if strangers:
        raise ValueError(
            f"{folder} holds an unfinished run of {strangers[0]!r}: choose another folder, or delete it"
        )
    return result


def _trained(planned: Plan, folder: Path | None, **options: Any) -> tuple[Run, dict[str, Any]]:
    """Train, and write what came out to ``folder``, the result last."""
    one, settings, origin = planned.experiment, planned.recipe, provenance()
    data = noisy_data(one.dataset, one.noise)
    run = fit(
        data.split,
        one.method,
        settings,
        seed=one.seed,
        T=data.T if one.transition == "true" else None,
        correction=one.correction,
        folder=folder,
        **options,
    )
    result = asdict(one) | {"run": planned.digest, "labels": data.note}
    result |= {accuracy_column(rule): run.accuracy(rule) for rule in (*RULES, ORACLE)}
    result |= {"memorised_last": float(run.history["memorised"].iloc[-1])}
    result |= {"diagnosis": " | ".join(run.diagnosis)}
    result |= {"product": settings.product, "epochs": settings.epochs, "recipe": settings.source}
    result |= {"seconds": round(float(run.history["seconds"].sum()), 1)} | origin
    if folder is not None and world().is_main:
        save_run(run, folder / WEIGHTS, settings.model, data.split, planned.digest)
        write_text(run.history.to_csv(index=False), folder / HISTORY)
        write_result(result, folder / RESULT)
        (folder / f"{one.method}.pt").unlink(missing_ok=True)  # the optimiser's state is of no use any more
    return run, result
