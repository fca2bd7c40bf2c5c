"""How many labels are wrong: the count with an interval, T, and the chance of each label.

Given are, for each example, the probabilities h_k(x) of the clean classes by a model that has *not* seen the
example's label (out-of-sample), and the noisy label y~. If labels err by class and not by example,

    P(y~ | x) = sum_k h_k(x)^b T_ky~ / sum_k h_k(x)^b

where the exponent b makes a model surer or less sure of itself: networks seldom know how sure they may be.
Both b and T maximise the likelihood of the labels, by expectation-maximisation (Dempster et al. 1977): from b
and T follows the chance of each clean class given x and y~, by Bayes' rule; from these chances follow a
better T (its rows are the shares of the labels) and a better b (one Newton step, the likelihood is concave in
b).

A model errs where it is unsure and says so by b; noise by class strikes anywhere. That is how the two are
told apart, and where it fails:

* Errors on the examples that are hard for the model too, as people make them, are taken for its uncertainty:
  the count is too low. ``disagreements`` counts all labels that the model would change, and is nearer to the
  truth then.
* Examples on which the model is wrong and sure look like wrong labels: the count is too high.
* In-sample probabilities have learnt some of the wrong labels: the count is too low, its interval too short.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_softmax, logsumexp, ndtri

from fdiv.arrays import Labels, as_labels, as_probabilities, log
from fdiv.noise.corrupt import Seed

FLOOR = -60.0  # the least log-probability: anything rarer counts as this rare
LARGEST_FIT, LARGEST_DRAW = 50_000, 5_000  # beyond so many rows, a random part of them is enough
STEPS, TOLERANCE = 200, 1e-6
MODEL_ERROR = 0.4  # as a share of the labels that the model would change and the likelihood forgives


@dataclass(frozen=True, eq=False)
class WrongLabels:
    """How many labels are wrong, and which, if labels err by class.

    count: the expected number of wrong labels.
    low, high: its interval, for the chosen confidence.
    disagreements: the number of labels that the model would change, as if it were always right.
    T: the transition matrix, T_ij = P(noisy label j | clean label i).
    standard_error: one for each entry of T.
    exponent: b; below 1 the model was surer than it should be.
    wrong: for each example, the probability that its label is wrong.
    posterior: for each example, the probability of each clean class, given its features and its label.

    >>> h = np.repeat([[0.9999, 0.0001], [0.0001, 0.9999]], 50, axis=0)
    >>> print(count_wrong_labels(h, np.repeat([0, 1, 0, 1], [45, 5, 5, 45])))
    about 10 of 100 labels are wrong (10 to 10)
    """

    count: float
    low: float
    high: float
    disagreements: int
    T: np.ndarray
    standard_error: np.ndarray
    exponent: float
    wrong: np.ndarray
    posterior: np.ndarray

    def __str__(self) -> str:
        n = len(self.wrong)
        text = f"about {self.count:.0f} of {n} labels are wrong ({self.low:.0f} to {self.high:.0f})"
        if self.disagreements > self.high:
            text += f"; the model would change {self.disagreements}"
        return text


def count_wrong_labels(
    probabilities: Any, labels: Labels, *, confidence: float = 0.95, draws: int = 40, seed: Seed = 0
) -> WrongLabels:
    """Return how many labels are wrong; the top of this module has the model and where it fails.

    The interval has three parts: examples drawn again (bootstrap), labels that are wrong by chance with the
    given probabilities, and the model's own errors. Of the labels that the model would change and the
    likelihood forgives, nobody knows how many it forgives rightly: ``MODEL_ERROR`` of their number is one
    standard error. Without that part, 95 % intervals held the truth of four tables with known flips half of
    the time, and with it nine times in ten; the share was chosen on them, and served as well on three others
    (data/results/label_counts.csv).

    probabilities: P(clean class | x) of shape (n, K) by a model that has not seen the label of x.
    labels: the noisy labels, 0 .. K - 1.
    confidence: of the interval.
    draws: how often the examples are drawn again.

    >>> h = np.repeat([[0.9999, 0.0001], [0.0001, 0.9999]], 50, axis=0)
    >>> found = count_wrong_labels(h, np.repeat([0, 1, 0, 1], [45, 5, 5, 45]))
    >>> round(found.count), found.disagreements, bool(found.low <= 10 <= found.high)
    (10, 10, True)
    """
    logits = log(as_probabilities(probabilities))
    return from_logits(logits, labels, confidence=confidence, draws=draws, seed=seed)


def from_logits(
    logits: np.ndarray, labels: Labels, *, confidence: float = 0.95, draws: int = 40, seed: Seed = 0
) -> WrongLabels:
    """Return what ``count_wrong_labels`` does, for logits, which tell a very sure model from a sure one.

    >>> sure = np.repeat([[9.0, 0.0], [0.0, 9.0]], 50, axis=0)
    >>> found = from_logits(sure, np.repeat([0, 1, 0, 1], [45, 5, 5, 45]))
    >>> round(found.count), found.T.round(1).tolist()
    (10, [[0.9, 0.1], [0.1, 0.9]])
    """
    z = np.asarray(logits, dtype=np.float64)
    if z.ndim != 2 or z.shape[1] < 2 or not len(z) or np.isposinf(z).any() or np.isnan(z).any():
        raise ValueError(f"logits must be numbers of shape (n, K), no nan and no inf, not of shape {z.shape}")
    z = np.maximum(log_softmax(z, axis=1), FLOOR)
    n, K = z.shape
    y = as_labels(labels, K)
    if len(y) != n:
        raise ValueError(f"there are {len(y)} labels for {n} examples, but must be one for each")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}, but must be between 0 and 1")
    rng = np.random.default_rng(seed)
    some = slice(None) if n <= LARGEST_FIT else rng.choice(n, LARGEST_FIT, replace=False)
    T, b = _maximise(z[some], y[some], None, None, 1.0)
    posterior = _posterior(z, y, T, b)
    wrong = 1 - posterior[np.arange(n), y]

    m = min(n, LARGEST_DRAW)
    shrink = (m / n) ** 0.5  # the spread of m rows drawn again, brought to that of n
    Ts, counts = [], []
    part = slice(None) if m == n else rng.choice(n, m, replace=False)
    zm, ym = z[part], y[part]
    centre = wrong[part].sum() * n / m
    for _ in range(draws):
        weight = np.bincount(rng.integers(m, size=m), minlength=m).astype(np.float64)
        T_drawn, b_drawn = _maximise(zm, ym, weight, T, b, steps=20)
        chance = 1 - _posterior(zm, ym, T_drawn, b_drawn)[np.arange(m), ym]
        by_chance = rng.standard_normal() * (n / m * (chance * (1 - chance)).sum()) ** 0.5
        counts.append(wrong.sum() + shrink * (chance.sum() * n / m - centre) + by_chance)
        Ts.append(T_drawn)
    tail = (1 - confidence) / 2
    count, disagreements = wrong.sum(), int((z.argmax(axis=1) != y).sum())
    low, high = np.quantile(counts, (tail, 1 - tail)) if draws else (count, count)
    by_model = ndtri(1 - tail) * MODEL_ERROR * max(disagreements - count, 0)
    error = shrink * np.std(Ts, axis=0, ddof=1) if draws > 1 else np.full((K, K), np.nan)
    return WrongLabels(
        count=float(count),
        low=float(max(count - np.hypot(max(count - low, 0), by_model), 0)),
        high=float(min(count + np.hypot(max(high - count, 0), by_model), n)),
        disagreements=disagreements,
        T=T,
        standard_error=error,
        exponent=b,
        wrong=wrong,
        posterior=posterior,
    )


def _posterior(z: np.ndarray, y: np.ndarray, T: np.ndarray, b: float) -> np.ndarray:
    """P(clean class | x, noisy label), by Bayes' rule."""
    log_joint = log_softmax(b * z, axis=1) + log(T).T[y]
    return np.exp(log_joint - logsumexp(log_joint, axis=1, keepdims=True))


def _maximise(
    z: np.ndarray, y: np.ndarray, weight: np.ndarray | None, T: Any, b: float, steps: int = STEPS
) -> tuple[np.ndarray, float]:
    """Return the T and the exponent b that maximise the likelihood of the labels."""
    n, K = z.shape
    weight = np.ones(n) if weight is None else weight
    share = np.bincount(y, weight, minlength=K) / weight.sum()
    # As if one more example of each class had been seen: half right, half a label drawn at random. Without it
    # a class that nobody is sure of would have no row.
    one_more = 0.25 * np.eye(K) + 0.25 * share
    T = 0.8 * np.eye(K) + 0.2 * share if T is None else T
    given = np.zeros((n, K))
    given[np.arange(n), y] = weight
    last = -np.inf
    for _ in range(steps):
        log_h = log_softmax(b * z, axis=1)
        log_joint = log_h + np.log(np.maximum(T, 1e-300)).T[y]
        log_likelihood = logsumexp(log_joint, axis=1)
        chance = np.exp(log_joint - log_likelihood[:, None])
        counts = chance.T @ given + one_more
        T = counts / counts.sum(axis=1, keepdims=True)
        # d/db of sum_k chance_k log softmax(b z)_k, and minus its second derivative, the variance of z.
        h = np.exp(log_h)
        mean = (h * z).sum(axis=1)
        slope = weight @ ((chance * z).sum(axis=1) - mean)
        curvature = weight @ ((h * z * z).sum(axis=1) - mean**2) + 1e-12
        b = float(np.clip(b + np.clip(slope / curvature, -0.5 * b, b), 1e-3, 20.0))
        total = weight @ log_likelihood
        if abs(total - last) < TOLERANCE * n:
            break
        last = total
    return T, b
