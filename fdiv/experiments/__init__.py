"""Experiments: the recipes, one run of the paper, grids of them, and results with their provenance."""

from fdiv.experiments.experiment import Experiment, Plan, plan, run_experiment, stored_result
from fdiv.experiments.recipes import MODES, ROBUSTNESS_RATES, check_mode, recipe
from fdiv.experiments.results import (
    accuracy_column,
    beside,
    errata,
    our_accuracies,
    paper_accuracies,
    paper_robustness,
    paper_table,
    titled,
)

__all__ = [
    "MODES",
    "ROBUSTNESS_RATES",
    "Experiment",
    "Plan",
    "accuracy_column",
    "beside",
    "check_mode",
    "errata",
    "our_accuracies",
    "paper_accuracies",
    "paper_robustness",
    "paper_table",
    "plan",
    "recipe",
    "run_experiment",
    "stored_result",
    "titled",
]
