"""Experiments: the recipes, one run of the paper, grids of them, and results with their provenance."""

import importlib
from typing import TYPE_CHECKING, Any

from fdiv.experiments.experiment import Experiment, Plan, plan, run_experiment, stored_result
from fdiv.experiments.recipes import MODES, ROBUSTNESS_RATES, check_mode, recipe
from fdiv.experiments.results import (
    accuracy_column,
    beside,
    errata,
    our_accuracies,
    our_robustness,
    paper_accuracies,
    paper_robustness,
    paper_table,
    titled,
)
from fdiv.experiments.shortfall import REASONS, shortfalls
from fdiv.experiments.statistics import (
    average_ranks,
    critical_difference,
    friedman,
    on_shared_seeds,
    paired_difference,
)

if TYPE_CHECKING:
    from fdiv.experiments import human_noise, label_counts, own_data, report, then_and_now

__all__ = [
    "MODES", "REASONS", "ROBUSTNESS_RATES", "Experiment", "Plan", "accuracy_column", "average_ranks",
    "beside", "check_mode", "critical_difference", "errata", "friedman", "human_noise", "label_counts",
    "on_shared_seeds", "our_accuracies", "our_robustness", "own_data", "paired_difference",
    "paper_accuracies", "paper_robustness", "paper_table", "plan", "recipe", "report", "run_experiment",
    "shortfalls", "stored_result", "then_and_now", "titled",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a study: some need scikit-learn, which takes a moment."""
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
