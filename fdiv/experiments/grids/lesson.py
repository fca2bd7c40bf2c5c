"""What a lesson needs in order to be executed by a grid as well."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fdiv.experiments.experiment import Experiment, experiment_folder, run_experiment
from fdiv.experiments.recipes import CORRECTIONS, OURS, method_title, methods
from fdiv.learning.training import Run

if TYPE_CHECKING:
    import plotly.graph_objects as go

CHOICES = {  # of the parameters that name a run
    "METHOD": (*methods(), *OURS),
    "CORRECTION": CORRECTIONS,
    "TRANSITION": ("estimated", "true"),
}
IN_GRID = "FDIV_GRID"  # set while a grid executes the cells tagged for it


def kept_folder(experiment: Experiment) -> Path | None:
    """Where a lesson keeps the run: a quick one nowhere, so that it trains each time, unless a grid asked."""
    return experiment_folder(experiment) if experiment.mode != "quick" or IN_GRID in os.environ else None


def watched(experiment: Experiment) -> Run:
    """Run an experiment in a lesson: the curve of its accuracy on clean test data grows while it trains."""
    from fdiv.course.explore import LiveFigure
    from fdiv.course.figures import curves_figure

    curve: list[float] = []

    def draw() -> go.Figure:
        return curves_figure(
            {experiment.method: curve},
            range(1, len(curve) + 1),
            names={experiment.method: method_title(experiment.method)},
            title=f"Accuracy on clean test data, {experiment.noise} noise, MODE {experiment.mode}",
            x_title="epoch",
            y_title="accuracy",
        )

    with LiveFigure(draw) as figure:

        def on_epoch(row: Mapping[str, Any]) -> None:
            curve.append(row["test_accuracy"])
            figure.update()
            log_epoch(row)

        run, _ = run_experiment(experiment, kept_folder(experiment), on_epoch)
        curve[:] = run.history["test_accuracy"]  # all of it, also where the run went on from a checkpoint
    return run


def log_epoch(row: Mapping[str, Any]) -> None:
    """In a grid, where nobody sees the curve grow, print the new row of the history."""
    if IN_GRID in os.environ:
        print(epoch_line(row), flush=True)


def epoch_line(row: Mapping[str, Any]) -> str:
    """A row of a run's history on one line."""
    names = ("validation_accuracy", "test_accuracy", "memorised")
    values = "  ".join(f"{name} {row[name]:.4f}" for name in names)
    return f"epoch {row['epoch']:>3}  {values}  {row['seconds']:.0f} s"
