"""A run inside a lesson: a curve that grows while it trains, and files where a longer run is kept."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

import fdiv
from fdiv.experiments.experiment import Experiment, plan, run_experiment
from fdiv.experiments.grid import epoch_line
from fdiv.files import runs_folder
from fdiv.learning.methods import method_title
from fdiv.learning.runs import Run

if TYPE_CHECKING:
    import plotly.graph_objects as go

IN_GRID = "FDIV_GRID"  # set while a grid executes the cells tagged for it


def kept_folder(experiment: Experiment) -> Path:
    """Return where a lesson keeps the run, so that two lessons that need one run train it once.

    The place of a quick run changes with the code: whoever edits a loss sees what the edit did.

    >>> quick = Experiment(dataset="digits", noise="clean", method="ce")
    >>> kept_folder(quick).parents[1].name
    'lessons'
    """
    planned = plan(experiment)
    if planned.experiment.mode != "quick" or IN_GRID in os.environ:
        return planned.folder
    return runs_folder() / "lessons" / code_digest()[:8] / planned.name


@cache
def code_digest() -> str:
    """Return a hash of what a quick run depends on: the code of every room but the course, and torch."""
    package = Path(fdiv.__file__).parent
    sources = sorted(path for path in package.rglob("*.py") if path.relative_to(package).parts[0] != "course")
    digest = hashlib.sha256(torch.__version__.encode())
    for path in sources:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def trained(experiment: Experiment) -> Run:
    """Return the run of an experiment, trained now unless a lesson has trained it before.

    >>> trained(Experiment(dataset="digits", noise="uniform-low", method="tv")).epoch("last")
    40
    """
    return run_experiment(experiment, kept_folder(experiment), log_epoch)[0]


def watched(experiment: Experiment) -> Run:
    """Run an experiment in a lesson: the curve of its accuracy on clean test data grows while it trains.

    >>> run = watched(Experiment(dataset="digits", noise="uniform-low", method="tv"))  # doctest: +SKIP
    """
    return watched_together([experiment])[experiment.method]


def watched_together(experiments: Iterable[Experiment]) -> dict[str, Run]:
    """Run experiments that differ in their method, one after the other: their curves grow in one figure.

    Returns the run of each method. A run that goes on from a checkpoint has only its later epochs to show
    meanwhile; in the end the whole history is drawn.

    >>> both = [Experiment(dataset="digits", noise="uniform-low", method=name) for name in ("ce", "tv")]
    >>> list(watched_together(both))  # doctest: +SKIP
    ['ce', 'tv']
    """
    from fdiv.course.controls import LiveFigure
    from fdiv.course.figures import curves_figure

    wanted = list(experiments)
    curves: dict[str, list[float]] = {one.method: [] for one in wanted}
    runs: dict[str, Run] = {}

    def draw() -> go.Figure:
        return curves_figure(
            {method: curve for method, curve in curves.items() if curve},
            range(1, 1 + max(map(len, curves.values()))),
            names={method: method_title(method) for method in curves},
            title=f"Accuracy on clean test data, {wanted[0].noise} noise, MODE {wanted[0].mode}",
            x_title="epoch",
            y_title="accuracy",
        )

    with LiveFigure(draw) as figure:
        for one in wanted:

            def on_epoch(row: Mapping[str, Any], curve: list[float] = curves[one.method]) -> None:
                curve.append(row["test_accuracy"])
                figure.update()
                log_epoch(row)

            runs[one.method], _ = run_experiment(one, kept_folder(one), on_epoch)
            curves[one.method] = list(runs[one.method].history["test_accuracy"])
    return runs


def log_epoch(row: Mapping[str, Any]) -> None:
    """Print the new row of the history in a grid, where nobody sees the curve grow.

    >>> row = {"epoch": 1, "validation_accuracy": 0.5, "test_accuracy": 0.9, "memorised": 0.1, "seconds": 2}
    >>> from fdiv.experiments.grid import environment
    >>> with environment({IN_GRID: "1"}):
    ...     log_epoch(row)
    epoch   1  validation_accuracy 0.5000  test_accuracy 0.9000  memorised 0.1000  2 s
    """
    if IN_GRID in os.environ:
        print(epoch_line(row), flush=True)
