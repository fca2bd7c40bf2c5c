"""Experiments: the recipes, one run of the paper, grids of them, and results with their provenance."""

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

__all__ = [
    "MODES",
    "REASONS",
    "ROBUSTNESS_RATES",
    "Experiment",
    "Plan",
    "accuracy_column",
    "average_ranks",
    "beside",
    "check_mode",
    "critical_difference",
    "errata",
    "friedman",
    "on_shared_seeds",
    "our_accuracies",
    "our_robustness",
    "paired_difference",
    "paper_accuracies",
    "paper_robustness",
    "paper_table",
    "plan",
    "recipe",
    "run_experiment",
    "shortfalls",
    "stored_result",
    "titled",
]
