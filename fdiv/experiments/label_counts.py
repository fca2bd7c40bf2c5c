"""How good is the answer to "how many labels are wrong?": tables with known flips, noise of four kinds.

``python -m fdiv.experiments.label_counts`` cleans each table, compares, and writes to
data/results/label_counts.csv with its provenance. The notebooks read that file.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.metrics import roc_auc_score

from fdiv.datasets import tables
from fdiv.experiments.study import Study
from fdiv.learning.cleaning import CleaningReport, clean
from fdiv.learning.estimator import RobustClassifier
from fdiv.learning.label_errors import rank_label_errors
from fdiv.noise import PATTERNS

SOURCES = ("wine", "breast-cancer", "synthetic", "digits")  # on which how_many.MODEL_ERROR was chosen
HELD_OUT = ("iris", "imbalanced", "shells")  # and on which it was not
NOISES = ("symmetric", "pair", "instance", "annotator")
RATES, SEEDS = (0.05, 0.2, 0.35), (0, 1, 2)


def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and the clean labels: of ``fdiv.datasets.tables``, or made with some imbalance."""
    if name == "synthetic":
        return make_classification(
            1000, 20, n_informative=8, n_classes=4, weights=[0.4, 0.3, 0.2, 0.1], class_sep=1.5, flip_y=0,
            random_state=0,
        )  # fmt: skip
    X, y = tables.TABLES[name].load()
    return X.to_numpy(), y


def compared(report: CleaningReport, wrong: np.ndarray) -> dict[str, float]:
    """Return how many labels a report calls wrong, beside the truth, and how good its flags are."""
    found, flagged = report.wrong, report.issues()["row"].to_numpy()
    return {
        "truth": int(wrong.sum()),
        "count": found.count,
        "low": found.low,
        "high": found.high,
        "disagreements": found.disagreements,
        "precision": float(wrong[flagged].mean()) if len(flagged) else np.nan,
        "recall": float(wrong[flagged].sum() / wrong.sum()),
    }


def judge(name: str, kind: str, rate: float, seed: int) -> dict[str, float]:
    """Return how well ``clean`` finds known flips, and how well a model does that was trained on them."""
    X, y = table(name)
    scaled = (X - X.mean(0)) / np.maximum(X.std(0), 1e-9)
    noisy = PATTERNS[kind].flip(scaled, y, rate, int(y.max()) + 1, seed)
    wrong = noisy != y
    report = clean(X, noisy, seed=seed, progress=False, resume=False)
    model = RobustClassifier("tv", random_state=seed).fit(X, noisy)
    seen = rank_label_errors(model, X, noisy, flipped=wrong, out_of_sample=None)
    return {
        "labels": len(y),
        **compared(report, wrong),
        "auroc": roc_auc_score(wrong, report.wrong.wrong),
        "in_sample_count": seen.wrong.count,
        "in_sample_disagreements": seen.wrong.disagreements,
        "in_sample_auroc": seen.auroc or np.nan,
    }


STUDY = Study(
    "label_counts",
    [
        {"table": name, "noise": kind, "rate": rate, "seed": seed}
        for seed, name, kind, rate in product(SEEDS, (*SOURCES, *HELD_OUT), NOISES, RATES)
    ],
    judge,
)
measured = STUDY.measured


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
    STUDY.command(__doc__, lambda: pd.concat([coverage(SOURCES), coverage(HELD_OUT)]).round(3))
