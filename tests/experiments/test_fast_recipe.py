"""The study behind the fast recipe: it trains what it says, and the recipe has the rates that it found."""

from dataclasses import replace

import pytest

from fdiv.experiments import fast_recipe
from fdiv.experiments.recipes import LAPTOP_CIFAR_CE, LAPTOP_CIFAR_DF, QUICK


def test_every_candidate_is_trained_once_and_only_noisy_labels_judge(tmp_path, monkeypatch):
    monkeypatch.setenv("FDIV_RUNS", str(tmp_path))
    candidates = {"ce": (1e-3,), "tv": (1e-3, 2e-3)}
    base = replace(QUICK, ramp="triangle")
    rows = list(fast_recipe.study("digits", base, candidates))
    assert [(row["method"], row["peak_rate"]) for row in rows] == [("ce", 1e-3), ("tv", 1e-3), ("tv", 2e-3)]
    assert all(0 < row["noisy_validation_accuracy"] < 1 for row in rows)
    assert not any("test" in name for row in rows for name in row)
    again = list(fast_recipe.study("digits", base, candidates))
    assert [row["noisy_validation_accuracy"] for row in again] == [
        row["noisy_validation_accuracy"] for row in rows
    ]


@pytest.mark.parametrize(("method", "recipe"), [("ce", LAPTOP_CIFAR_CE), ("tv", LAPTOP_CIFAR_DF)])
def test_the_recipe_has_the_rate_that_the_study_found(method, recipe):
    rows = fast_recipe.measured().query("method == @method")
    assert tuple(rows["peak_rate"]) == fast_recipe.CANDIDATES[method]
    best = rows.loc[rows["noisy_validation_accuracy"].idxmax(), "peak_rate"]
    assert recipe.schedule[0][1] == best
