"""A run inside a lesson: a curve that grows while it trains, and files where a longer run is kept."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fdiv.experiments.experiment import Experiment, plan, run_experiment
from fdiv.learning.methods import method_title
from fdiv.learning.runs import Run

if TYPE_CHECKING:
    import plotly.graph_objects as go

IN_GRID = "FDIV_GRID"  # set while a grid executes the cells tagged for it


def kept_folder(experiment: Experiment) -> Path | None:
    """Return where a lesson keeps a run; a quick one nowhere outside a grid, so that it trains each time."""
    return plan(experiment).folder if experiment.mode != "quick" or IN_GRID in os.environ else None


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
    """Print the new row of the history in a grid, where nobody sees the curve grow."""
    if IN_GRID in os.environ:
        print(epoch_line(row), flush=True)


def epoch_line(row: Mapping[str, Any]) -> str:
    """Return a row of a run's history on one line.

    >>> epoch_line(dict(epoch=3, validation_accuracy=0.5, test_accuracy=0.75, memorised=0.1, seconds=2))
    'epoch   3  validation_accuracy 0.5000  test_accuracy 0.7500  memorised 0.1000  2 s'
    """
    names = ("validation_accuracy", "test_accuracy", "memorised")
    values = "  ".join(f"{name} {row[name]:.4f}" for name in names)
    return f"epoch {row['epoch']:>3}  {values}  {row['seconds']:.0f} s"
