"""Tweets with the votes of everybody who rated them: noise that people made, and nearly the truth beside it.

Hutto & Gilbert, VADER: A Parsimonious Rule-based Model for Sentiment Analysis of Social Media Text (ICWSM
2014). Twenty people or more rated how positive or negative each of 4200 tweets is, from -4 to 4. Here a
rating is its sign: negative, neutral or positive. One rater is a noisy label; the majority of all is nearly
the truth. The data come with the source of the PyPI package ``vaderSentiment`` 3.3.2 (MIT licence).
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from fdiv.datasets import mirrors


@dataclass(frozen=True, eq=False)
class Tweets:
    """Texts and votes.

    texts: the tweets.
    votes: (tweets, raters), 0 negative, 1 neutral, 2 positive, -1 for none. The raters are anonymous: a
        column is a place in the list of ratings, not one person.
    majority: for each tweet the sentiment of most raters, the first of several: the clean label.

    >>> Tweets(["Great!"], np.array([[2, -1]]), np.array([2])).one_rater(seed=0)
    array([2])
    """

    texts: list[str]
    votes: np.ndarray
    majority: np.ndarray

    def one_rater(self, seed: int) -> np.ndarray:
        """Return for each tweet the vote of one rater, drawn at random: a noisy label."""
        cast = (self.votes >= 0).sum(axis=1)  # votes stand first in their row
        drawn = np.random.default_rng(seed).integers(cast)
        return self.votes[np.arange(len(cast)), drawn]


def tweets() -> Tweets:
    """Return the 4001 tweets whose mean rating is the same in both files, downloaded if they have to be.

    >>> tweets().votes.shape  # doctest: +SKIP
    (4001, 99)
    """
    files = mirrors.obtain("VADER's tweets", (mirrors.TWEETS,))
    return parse(files["tweets_GroundTruth.txt"], files["tweets_anonDataRatings.txt"])


def parse(texts: str, ratings: str) -> Tweets:
    """Return the tweets in the two files: id, mean, text; and id, mean, deviation, list of ratings.

    >>> texts = "1\\t2.0\\tGood.\\n2\\t9.9\\tBad."
    >>> parse(texts, "1\\t2.0\\t0\\t[2, 2, 0]\\n2\\t-1\\t0\\t[-1, -1]").votes
    array([[2, 2, 1]])
    """
    said = {key: (float(mean), text) for key, mean, text in _lines(texts, 3)}
    rated = {key: (float(mean), json.loads(votes)) for key, mean, _, votes in _lines(ratings, 4)}
    # 199 tweets have another mean in the one file than in the other: texts and ratings were mixed up.
    keys = [key for key in said if key in rated and abs(said[key][0] - rated[key][0]) < 1e-6]
    signs = [np.sign(rated[key][1]).astype(np.int64) + 1 for key in keys]
    votes = np.full((len(keys), max(map(len, signs))), -1)
    for row, one in zip(votes, signs, strict=True):
        row[: len(one)] = one
    counts = np.stack([(votes == k).sum(axis=1) for k in range(3)], axis=1)
    return Tweets([said[key][1] for key in keys], votes, counts.argmax(axis=1))


def _lines(text: str, fields: int) -> list[list[str]]:
    return [line.split("\t", fields - 1) for line in text.splitlines() if line.strip()]
