"""The study behind MODE laptop on CIFAR-10: which learning rates, judged on noisy validation labels only.

``python -m fdiv.experiments.fast_recipe`` downloads CIFAR-10, trains the fast net for two epochs at each rate
of ``CANDIDATES`` under uniform-high noise, and writes data/results/fast_recipe.csv with its provenance. No
clean label is looked at: half of the validation labels are wrong, and still they rank the candidates.
"""

from __future__ import annotations

from dataclasses import replace

from fdiv.datasets import noisy_data
from fdiv.experiments.recipes import LAPTOP_CIFAR_CE
from fdiv.experiments.study import Study
from fdiv.files import runs_folder
from fdiv.learning.recipe import Recipe
from fdiv.learning.training import fit

WARM_UP_RATE = 0.2
# The method and its peak rates. Total variation starts from two epochs of cross-entropy at WARM_UP_RATE.
CANDIDATES = {"ce": (0.1, 0.2, 0.4, 0.8), "tv": (0.025, 0.05, 0.1, 0.2, 0.4)}


def validated(
    dataset: str, noise: str, method: str, epochs: int, rate: float, base: Recipe = LAPTOP_CIFAR_CE
) -> dict[str, float]:
    """Train a method at a peak rate; return its accuracy on noisy validation labels after the last epoch.

    base: the recipe of which only epochs and rate change.
    """
    warm_up = None if method == "ce" else replace(base, schedule=((epochs, WARM_UP_RATE),))
    recipe = replace(base, schedule=((epochs, rate),), warm_up=warm_up, source="study")
    folder = runs_folder() / "fast-recipe" / f"{method}-{rate:g}"
    run = fit(noisy_data(dataset, noise).split, method, recipe, folder=folder)
    return {"noisy_validation_accuracy": run.history["validation_accuracy"].iloc[-1]}


STUDY = Study(
    "fast_recipe",
    [
        {"dataset": "cifar-10", "noise": "uniform-high", "method": method, "epochs": 2, "peak_rate": rate}
        for method, rates in CANDIDATES.items()
        for rate in rates
    ],
    validated,
)
measured = STUDY.measured

if __name__ == "__main__":
    STUDY.command(__doc__)
