"""The study behind MODE laptop on CIFAR-10: which learning rates, judged on noisy validation labels only.

``python -m fdiv.experiments.fast_recipe`` downloads CIFAR-10, trains the fast net for two epochs at each rate
of ``CANDIDATES`` under uniform-high noise, and writes data/results/fast_recipe.csv with its provenance. No
clean label is looked at: half of the validation labels are wrong, and still they rank the candidates. Called
again after a stop, it goes on where it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from fdiv.datasets import noisy_data
from fdiv.experiments.recipes import LAPTOP_CIFAR_CE
from fdiv.experiments.results import provenance
from fdiv.files import RESULTS, runs_folder, write_text
from fdiv.learning.training import fit

__all__ = ["CANDIDATES", "measured", "study"]

FILE = RESULTS / "fast_recipe.csv"
NOISE, EPOCHS, WARM_UP_RATE = "uniform-high", 2, 0.2
# The method and its peak rates. Total variation starts from two epochs of cross-entropy at WARM_UP_RATE.
CANDIDATES = {"ce": (0.1, 0.2, 0.4, 0.8), "tv": (0.025, 0.05, 0.1, 0.2, 0.4)}


def study(dataset: str = "cifar-10", base=LAPTOP_CIFAR_CE, candidates=CANDIDATES) -> Iterator[dict]:
    """Train every candidate and yield a row for each.

    dataset: a name of ``fdiv.datasets.CATALOGUE``.
    base: the recipe of which only epochs and rate change.
    """
    split, origin = noisy_data(dataset, NOISE).split, provenance()
    warm_up = replace(base, schedule=((EPOCHS, WARM_UP_RATE),))
    for method, rates in candidates.items():
        for rate in rates:
            recipe = replace(
                base, schedule=((EPOCHS, rate),), warm_up=None if method == "ce" else warm_up, source="study"
            )
            folder = runs_folder() / "fast-recipe" / f"{method}-{rate:g}"
            last = fit(split, method, recipe, folder=folder).history.iloc[-1]
            yield {
                "dataset": dataset,
                "noise": NOISE,
                "method": method,
                "epochs": EPOCHS,
                "peak_rate": rate,
                "noisy_validation_accuracy": last["validation_accuracy"],
            } | origin


def measured() -> pd.DataFrame:
    """Return what the study found when it was run for this repository."""
    return pd.read_csv(FILE)


if __name__ == "__main__":
    rows: list[dict] = []
    for row in study():
        rows.append(row)
        print(row["method"], row["peak_rate"], f"{row['noisy_validation_accuracy']:.4f}", flush=True)
    write_text(pd.DataFrame(rows).to_csv(index=False, float_format="%.6g"), FILE)
