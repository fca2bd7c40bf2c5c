"""Which loss for a table? ``loss="auto"`` against always the same one, on tables with known flips.

``python -m fdiv.experiments.own_tables`` takes each table of ``fdiv.datasets.tables``, sets 30 % of the rows
aside as a clean test set, flips labels of the others in four ways, trains every candidate with three seeds,
and writes accuracies to data/results/own_tables.csv with their provenance. With ``--anew method=auto`` only
``auto`` is trained again: the other rows stay, each with the commit it is of.
"""

from __future__ import annotations

import time
import warnings
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

from fdiv.datasets.tables import TABLES, Table
from fdiv.experiments.study import Study
from fdiv.learning.columns import Columns
from fdiv.learning.estimator import RobustClassifier
from fdiv.learning.recommendation import CANDIDATES
from fdiv.noise import PATTERNS, Pattern

SEEDS = (0, 1, 2)
ROWS = 1000  # training rows at most


def one_way(rate: float, num_classes: int) -> np.ndarray:
    """Return T of flips in one direction: class 0 to 1, 2 to 3, and so on; the others keep their labels.

    >>> one_way(0.4, 3)
    array([[0.6, 0.4, 0. ],
           [0. , 1. , 0. ],
           [0. , 0. , 1. ]])
    """
    T = np.eye(num_classes)
    for i in range(0, num_classes - 1, 2):
        T[i, i : i + 2] = 1 - rate, rate
    return T


ONE_WAY = Pattern(name="one-way", says="in one direction", below=lambda K: 1, matrix=one_way)
NOISES: dict[str, tuple[Pattern, float]] = {
    "symmetric 40 %": (PATTERNS["symmetric"], 0.4),
    "pair 35 %": (PATTERNS["pair"], 0.35),
    "instance 35 %": (PATTERNS["instance"], 0.35),
    "one-way 40 %": (ONE_WAY, 0.4),
}


class NoisyTable(NamedTuple):
    """A table with noisy labels, and rows that were set aside with their clean ones.

    numbers: the columns of ``X`` as a network takes them.
    """

    X: pd.DataFrame
    noisy: np.ndarray
    clean: np.ndarray
    X_test: pd.DataFrame
    y_test: np.ndarray
    numbers: np.ndarray

    def lost(self, predicted: np.ndarray) -> int:
        """Return how many classes are predicted less than a tenth as often as they occur in the test."""
        classes = range(max(self.clean.max(), self.y_test.max()) + 1)
        return sum(int((predicted == k).sum() < (self.y_test == k).sum() / 10) for k in classes)


@lru_cache(1)
def noisy_table(table: Table, kind: str, seed: int, rows: int = ROWS) -> NoisyTable:
    """Return a table under a kind of noise.

    rows: how many there are to train on, at most; three tenths of all are set aside.
    """
    from sklearn.model_selection import train_test_split

    X, y = table.load()
    size = min(rows, int(0.7 * len(y)))
    X, X_test, y, y_test = train_test_split(X, y, train_size=size, random_state=seed, stratify=y)
    numbers = Columns().fit(X).transform(X)
    pattern, rate = NOISES[kind]
    noisy = pattern.flip(numbers, y, rate, int(y.max()) + 1, seed)
    return NoisyTable(X, noisy, y, X_test, y_test, numbers)


def train(table: str, kind: str, seed: int, method: str) -> dict[str, object]:
    """Train a candidate, or what "auto" chooses, on a noisy table."""
    data = noisy_table(TABLES[table], kind, seed)
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # collapses are counted below
        options = {"loss": "auto"} if method == "auto" else CANDIDATES[method]
        model = RobustClassifier(random_state=seed, **options).fit(data.X, data.noisy)
    predicted = model.predict(data.X_test)
    return {
        "chosen": model.chosen_,
        "accuracy": (predicted == data.y_test).mean(),
        "lost_classes": data.lost(predicted),
        "wrong_labels": (data.noisy != data.clean).mean(),
        "rows": len(data.X),
        "seconds": time.perf_counter() - started,
    }


STUDY = Study(
    "own_tables",
    [
        {"table": table, "noise": kind, "seed": seed, "method": method}
        for seed, table, kind, method in product(SEEDS, TABLES, NOISES, ("auto", *CANDIDATES))
    ],
    train,
)
measured = STUDY.measured


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Return the mean accuracy in percent by noise, with "oracle", the best candidate of each cell.

    table: rows as ``measured`` returns them.
    """
    wide = table.pivot_table("accuracy", ["table", "noise", "seed"], "method")
    wide["oracle"] = wide.drop(columns="auto").max(axis=1)
    means = 100 * wide.groupby("noise", sort=False).mean().T
    means["all"] = 100 * wide.mean()
    lost = table.groupby("method")["lost_classes"].agg(lambda counts: (counts > 0).mean())
    return (
        means.assign(**{"cells with a lost class, %": 100 * lost})
        .sort_values("all", ascending=False)
        .round(1)
    )


if __name__ == "__main__":
    STUDY.command(__doc__, lambda: summary(measured()).to_string())
