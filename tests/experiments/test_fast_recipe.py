"""The study behind the fast recipe: it trains what it says, and the recipe has the rates that it found."""

from dataclasses import replace

import pytest

from fdiv.experiments import fast_recipe
from fdiv.experiments.recipes import LAPTOP_CIFAR_CE, LAPTOP_CIFAR_DF, QUICK


def test_a_candidate_is_trained_once_and_only_noisy_labels_judge(runs):
    base = replace(QUICK, ramp="triangle")
    for case in (("ce", 2, 1e-3), ("tv", 2, 1e-3)):
        row, again = (fast_recipe.validated("digits", "uniform-high", *case, base) for _ in range(2))
        assert row == again
        assert list(row) == ["noisy_validation_accuracy"]
        assert 0 < row["noisy_validation_accuracy"] < 1
    assert sorted(path.name for path in (runs / "fast-recipe").iterdir()) == ["ce-0.001", "tv-0.001"]


@pytest.mark.parametrize(("method", "recipe"), [("ce", LAPTOP_CIFAR_CE), ("tv", LAPTOP_CIFAR_DF)])
def test_the_recipe_has_the_rate_that_the_study_found(method, recipe):
    rows = fast_recipe.measured().query("method == @method")
    assert tuple(rows["peak_rate"]) == fast_recipe.CANDIDATES[method]
    best = rows.loc[rows["noisy_validation_accuracy"].idxmax(), "peak_rate"]
    assert recipe.schedule[0][1] == best
