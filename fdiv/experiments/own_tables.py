"""Which loss for a table? ``loss="auto"`` against always the same one, on tables with known flips.

``python -m fdiv.experiments.own_tables`` takes each table of ``fdiv.datasets.tables``, sets 30 % of the rows
aside as a clean test set, flips labels of the others in four ways, trains every candidate with three seeds,
and writes accuracies to data/results/own_tables.csv with their provenance. A cell that is finished is kept in
runs/own-tables, so that a run goes on where it stopped, and several may share the work. With ``--only auto``
or ``--tables`` nothing else is trained anew: the other rows stay, each with the commit it is of.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from fdiv import noise
from fdiv.datasets.tables import TABLES
from fdiv.experiments.results import provenance
from fdiv.files import RESULTS, runs_folder, write_text
from fdiv.learning.columns import Columns
from fdiv.learning.estimator import RobustClassifier
from fdiv.learning.recommend import CANDIDATES

__all__ = ["NOISES", "measured", "one_way", "run", "summary"]

FILE = RESULTS / "own_tables.csv"
SEEDS = (0, 1, 2)
ROWS = 1000  # training rows at most
Noise = Callable[[np.ndarray, np.ndarray, int, int], np.ndarray]


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


NOISES: dict[str, Noise] = {
    "symmetric 40 %": lambda X, y, K, seed: noise.corrupt(y, noise.symmetric(0.4, K), seed),
    "pair 35 %": lambda X, y, K, seed: noise.corrupt(y, noise.pair(0.35, K), seed),
    "instance 35 %": lambda X, y, K, seed: noise.corrupt_by_instance(X, y, 0.35, K, seed),
    "one-way 40 %": lambda X, y, K, seed: noise.corrupt(y, one_way(0.4, K), seed),
}


def cell(table: str, kind: str, seed: int, only: str | None = None) -> list[dict[str, object]]:
    """Train every candidate, or only one, on a noisy table; a row for each."""
    from sklearn.model_selection import train_test_split

    X, y = TABLES[table].load()
    size = min(ROWS, int(0.7 * len(y)))
    X, X_test, y, y_test = train_test_split(X, y, train_size=size, random_state=seed, stratify=y)
    noisy = NOISES[kind](Columns().fit(X).transform(X), y, int(y.max()) + 1, seed)
    rows: list[dict[str, object]] = []
    for name, options in ({"auto": {"loss": "auto"}} | CANDIDATES).items():
        if only not in (None, name):
            continue
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # collapses are counted below
            model = RobustClassifier(random_state=seed, **options).fit(X, noisy)
        predicted = model.predict(X_test)
        lost = sum((predicted == k).sum() < (y_test == k).sum() / 10 for k in np.unique(y_test))
        rows.append(
            {"table": table, "noise": kind, "seed": seed, "method": name, "chosen": model.chosen_,
             "accuracy": (predicted == y_test).mean(), "lost_classes": int(lost),
             "wrong_labels": (noisy != y).mean(), "rows": size, "seconds": time.perf_counter() - started}
        )  # fmt: skip
    return rows


def run(
    tables: Sequence[str],
    kinds: Sequence[str] = tuple(NOISES),
    seeds: Sequence[int] = SEEDS,
    only: str | None = None,
) -> None:
    """Train the cells that are not yet there; each is written when it is finished."""
    now = provenance()
    (runs_folder() / "own-tables").mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        for table in tables:
            for kind in kinds:
                path = _place(str(now["commit"]), table, kind, seed, only)
                if not path.exists():
                    rows = cell(table, kind, seed, only)
                    write_text(json.dumps([row | now for row in rows], default=float), path)
                    shown = {row["method"]: f"{row['accuracy']:.1%}" for row in rows}
                    print(table, kind, seed, f"({rows[0]['chosen']})", shown, flush=True)


def gather() -> pd.DataFrame:
    """Return the results with cells of this commit in place of older ones; write them if none is missing."""
    commit, columns = str(provenance()["commit"]), ["table", "noise", "seed", "method"]
    paths = sorted((runs_folder() / "own-tables").glob(f"{commit}-*.json"))
    new = pd.DataFrame([row for path in paths for row in json.loads(path.read_text(encoding="utf-8"))])
    table = pd.concat([measured(), new] if FILE.exists() else [new], ignore_index=True)
    table = table.drop_duplicates(columns, keep="last").sort_values(columns, ignore_index=True)
    if len(table) == len(TABLES) * len(NOISES) * len(SEEDS) * (1 + len(CANDIDATES)):
        write_text(table.to_csv(index=False, float_format="%.5g"), FILE)
    return table


def measured() -> pd.DataFrame:
    """Return what ``gather`` wrote when the tables were run for this repository."""
    return pd.read_csv(FILE)


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


def _place(commit: str, table: str, kind: str, seed: int, only: str | None = None) -> Path:
    words = [word for word in kind.split() if word != "%"]
    name = "-".join([commit, table, *words, str(seed), *([only] if only else [])])
    return runs_folder() / "own-tables" / f"{name}.json"


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--tables", nargs="+", default=list(TABLES), help="which tables to run; all by default"
    )
    parser.add_argument("--only", choices=["auto", *CANDIDATES], help="train only this one anew")
    asked = parser.parse_args()
    run([TABLES.name_of(name) for name in asked.tables], only=asked.only)
    print(summary(gather()).to_string())


if __name__ == "__main__":
    main()
