"""What a lesson needs in order to be executed by a grid as well."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fdiv.experiments import Experiment, experiment_folder

IN_GRID = "FDIV_GRID"  # set while a grid executes the cells tagged for it


def kept_folder(experiment: Experiment) -> Path | None:
    """Where a lesson keeps the run: a quick one nowhere, so that it trains each time, unless a grid asked."""
    return experiment_folder(experiment) if experiment.mode != "quick" or IN_GRID in os.environ else None


def log_epoch(row: Mapping[str, Any]) -> None:
    """In a grid, where nobody sees the curve grow, print the new row of the history."""
    if IN_GRID in os.environ:
        print(epoch_line(row), flush=True)


def epoch_line(row: Mapping[str, Any]) -> str:
    """A row of a run's history on one line."""
    names = ("validation_accuracy", "test_accuracy", "memorised")
    values = "  ".join(f"{name} {row[name]:.4f}" for name in names)
    return f"epoch {row['epoch']:>3}  {values}  {row['seconds']:.0f} s"
