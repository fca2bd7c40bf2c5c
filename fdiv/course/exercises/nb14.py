"""Checkers of notebook 14, the puzzle of section 1, and the data of the submission."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from fdiv import noise
from fdiv.course.exercises import Wrong, exercise, returned
from fdiv.datasets import digits
from fdiv.noise import votes_to_soft

PUZZLE, FLIPS = 24, 6
ROWS, RATE = 600, 0.35
PASS = 0.77  # cross-entropy, stopped early or not, stays below three quarters here


def puzzle() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return images of digits, their labels, and which of these are wrong: six of twenty-four."""
    data = digits()
    rng = np.random.default_rng(14)
    some = rng.choice(len(data.train_labels), PUZZLE, replace=False)
    labels = data.train_labels.numpy()[some]
    wrong = np.isin(np.arange(PUZZLE), rng.choice(PUZZLE, FLIPS, replace=False))
    return data.train_images[some, 0].numpy(), np.where(wrong, (labels + 1) % 10, labels), wrong


@cache
def task() -> tuple[np.ndarray, ...]:
    """Return rows and noisy labels to train on, and the rows and clean labels that are held back."""
    data = digits()
    X, clean = data.train_images.flatten(1).numpy()[-ROWS:], data.train_labels.numpy()[-ROWS:]
    held = data.test_images.flatten(1).numpy(), data.test_labels.numpy()
    return X, noise.corrupt(clean, noise.pair(RATE, 10), 1), *held


def clean_labels() -> np.ndarray:
    """Return the clean labels of the rows to train on, which only the lesson may look at."""
    return digits().train_labels.numpy()[-ROWS:]


@exercise(
    "1 you against the machine",
    because="You needed no other picture to see them, because you have seen digits before; the machine has"
    " only these, and has to find out what a digit is from labels that may be wrong.",
)
def my_flags(answer: Callable[[], Any]) -> None:
    """The six wrong labels among twenty-four, one mistake allowed either way."""
    given = returned(answer())
    if not isinstance(given, list | tuple | set | np.ndarray):
        raise Wrong("return the numbers of the suspicious pictures as a list, such as [3, 17]")
    try:
        flags = {int(str(i).lstrip("#")) for i in given}
    except ValueError:
        raise Wrong("name a picture by its number alone, such as 3") from None
    if flags - set(range(PUZZLE)):
        raise Wrong(f"the pictures are numbered 0 to {PUZZLE - 1}")
    truth = set(np.flatnonzero(puzzle()[2]).tolist())
    hit = len(flags & truth)
    if len(flags) > FLIPS + 2:
        raise Wrong(f"you flag {len(flags)} pictures, but {hit} of them are wrong: flag less")
    if len(truth - flags) > 1 or len(flags - truth) > 1:
        raise Wrong(
            f"{hit} of your {len(flags)} flags are wrong labels, and {len(truth - flags)} are missing"
        )


@exercise(
    "2 the vote of the many",
    because="Three raters who are right four times in five have a majority that is right nine times in ten,"
    " if they err independently; people who look at the same unclear picture do not, and gain less.",
)
def majority(answer: Callable[[np.ndarray, int], Any]) -> None:
    """The class of most votes, -1 not counted, the first of several."""
    votes = np.array([[0, 1, 1], [2, -1, -1], [-1, 0, 2], [1, 1, 1], [-1, 2, 2]])
    given = np.asarray(returned(answer(votes, 3)))
    if given.shape != (5,):
        raise Wrong(f"return one class for each of the 5 examples, not an array of shape {given.shape}")
    if (given == -1).any():
        raise Wrong("-1 is no class: it says that somebody did not vote")
    if given[4] == 1 and given[1] == 0:
        raise Wrong("that looks like a mean of the votes: classes are names, count them")
    right = votes_to_soft(votes, 3).numpy().argmax(axis=1)
    if not (given == right).all():
        bad = int(np.flatnonzero(given != right)[0])
        raise Wrong(f"of the votes {votes[bad].tolist()} the majority is {right[bad]}, not {given[bad]}")


@exercise(
    "3 your submission",
    because="You chose without a clean label and were scored with clean ones: this is the only honest order,"
    " and the reason why a small clean set that is held back is worth the trouble of making it.",
)
def submission(answer: Callable[[np.ndarray, np.ndarray], Any]) -> None:
    """A fitted classifier whose accuracy on held-back clean labels beats cross-entropy with room."""
    X, noisy, X_test, y_test = task()
    model = answer(X, noisy)
    if not hasattr(model, "predict"):
        raise Wrong(
            "return a fitted classifier, something with predict: return RobustClassifier(...).fit(X, noisy)"
        )
    given = np.asarray(model.predict(X_test))
    if given.shape != y_test.shape:
        raise Wrong(f"predict gives {given.shape} for {len(y_test)} rows, but must give one class for each")
    score = float((given == y_test).mean())
    if score < PASS:
        raise Wrong(
            f"{score:.0%} of the held-back digits are right, and {PASS:.0%} is asked for: a third of the"
            " labels moved"
            " to the next class, and cross-entropy follows them"
        )
