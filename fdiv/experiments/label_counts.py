"""How good is the answer to "how many labels are wrong?": tables with known flips, noise of four kinds.

``python -m fdiv.experiments.label_counts`` cleans each table, compares, and writes to
data/results/label_counts.csv with its provenance, a row at a time: called again, it does what is left. The
notebooks read that file.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.metrics import roc_auc_score

from fdiv import noise
from fdiv.datasets import tables
from fdiv.experiments.results import provenance
from fdiv.files import RESULTS, write_text
from fdiv.learning.cleaning import clean
from fdiv.learning.estimator import RobustClassifier
from fdiv.learning.label_errors import rank_label_errors

__all__ = ["corrupted", "coverage", "judge", "measured", "table"]

FILE = RESULTS / "label_counts.csv"
SOURCES = ("wine", "breast-cancer", "synthetic", "digits")  # on which how_many.MODEL_ERROR was chosen
HELD_OUT = ("iris", "imbalanced", "shells")  # and on which it was not
NOISES = ("symmetric", "pair", "instance", "annotator")
RATES, SEEDS = (0.05, 0.2, 0.35), (0, 1, 2)
KEYS = ["table", "noise", "rate", "seed"]


def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and the clean labels: of ``fdiv.datasets.tables``, or made with some imbalance."""
    if name == "synthetic":
        return make_classification(
            1000, 20, n_informative=8, n_classes=4, weights=[0.4, 0.3, 0.2, 0.1], class_sep=1.5, flip_y=0,
            random_state=0,
        )  # fmt: skip
    X, y = tables.TABLES[name].load()
    return X.to_numpy(), y


def corrupted(X: np.ndarray, y: np.ndarray, kind: str, rate: float, seed: int) -> np.ndarray:
    """Return noisy labels: by class (symmetric, pair), by a random map of the row (instance), or by a weak
    annotator, who errs where the row is unclear (annotator).
    """
    K = int(y.max()) + 1
    scaled = (X - X.mean(0)) / np.maximum(X.std(0), 1e-9)
    if kind == "instance":
        return noise.corrupt_by_instance(scaled, y, rate, K, seed)
    if kind == "annotator":
        return noise.corrupt_by_annotator(scaled, y, rate, seed)
    T = noise.symmetric(rate, K) if kind == "symmetric" else noise.pair(rate, K)
    return noise.corrupt(y, T, seed)


def judge(name: str, kind: str, rate: float, seed: int) -> dict[str, float]:
    """Return how well ``clean`` finds known flips, and how well a model does that was trained on them."""
    X, y = table(name)
    noisy = corrupted(X, y, kind, rate, seed)
    wrong = noisy != y
    report = clean(X, noisy, seed=seed, progress=False, resume=False)
    found, flagged = report.wrong, report.issues()["row"].to_numpy()
    model = RobustClassifier("tv", random_state=seed).fit(X, noisy)
    seen = rank_label_errors(model, X, noisy, flipped=wrong, out_of_sample=None)
    return {
        "labels": len(y),
        "truth": int(wrong.sum()),
        "count": found.count,
        "low": found.low,
        "high": found.high,
        "disagreements": found.disagreements,
        "precision": float(wrong[flagged].mean()) if len(flagged) else np.nan,
        "recall": float(wrong[flagged].sum() / wrong.sum()),
        "auroc": roc_auc_score(wrong, found.wrong),
        "in_sample_count": seen.wrong.count,
        "in_sample_disagreements": seen.wrong.disagreements,
        "in_sample_auroc": seen.auroc or np.nan,
    }


def left() -> Iterator[tuple[str, str, float, int]]:
    """The cases that the file lacks, seed by seed."""
    done = set(measured()[KEYS].itertuples(index=False, name=None)) if FILE.exists() else set()
    for seed, name, kind, rate in product(SEEDS, (*SOURCES, *HELD_OUT), NOISES, RATES):
        if (name, kind, rate, seed) not in done:
            yield name, kind, rate, seed


def measured() -> pd.DataFrame:
    """What was measured for this repository."""
    return pd.read_csv(FILE)


def coverage(sources: Sequence[str] = (*SOURCES, *HELD_OUT)) -> pd.DataFrame:
    """For each noise, how often the interval held the truth, and how good the flags were (means over all)."""
    rows = measured()
    rows = rows[rows["table"].isin(list(sources))]
    rows["covered"] = rows["truth"].between(rows["low"], rows["high"])
    rows["ratio"] = rows["count"] / rows["truth"]
    rows["disagreement_ratio"] = rows["disagreements"] / rows["truth"]
    wanted = ["covered", "ratio", "disagreement_ratio", "precision", "recall", "auroc", "in_sample_auroc"]
    return rows.groupby("noise", sort=False)[wanted].mean().assign(runs=rows.groupby("noise").size())


if __name__ == "__main__":
    for case in left():
        row = dict(zip(KEYS, case, strict=True)) | judge(*case) | provenance()
        before = [measured()] if FILE.exists() else []
        write_text(pd.concat([*before, pd.DataFrame([row])]).to_csv(index=False, float_format="%.6g"), FILE)
        print(*case, row["truth"], f"{row['count']:.0f}", file=sys.stderr, flush=True)
    for sources in (SOURCES, HELD_OUT):
        print(coverage(sources).round(3))
