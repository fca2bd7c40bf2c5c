"""Estimates of the transition matrix from a model trained on noisy labels, with error bars.

Under class-conditional noise the noisy posterior is a mixture of the rows of T, P(y~ = j | x) =
sum_i P(y = i | x) T_ij. An anchor of class i is a sample that is of class i for sure, and there the noisy
posterior is row i itself (Liu & Tao 2016; Patrini et al. 2017, Theorem 3). The methods look for anchors among
the samples:

* ``anchor``: one sample for each class, the largest posterior of class i after outliers are set aside, and
  row i is its posterior (Patrini et al. 2017, after Theorem 3).
* ``anchor-count``: many samples for each class, ranked by the posterior of class i without the very first,
  and row i is the share of each noisy label among them. A sample is ranked high because it is of class i or
  because the model errs towards class i; a posterior repeats that error, the labels do not. As in the second
  factor of Dual-T (Yao et al. 2020).
* ``confident-joint``: cleanlab's (Northcutt et al. 2021, Section 3.1).

Conditions:

* Every class has anchors: with the default band, three tenths of an average class (n / K samples) must be
  (nearly) certain. A rarer class, or one that is never certain, gets a row mixed with other classes.
* The class of an anchor is read off its posterior, which needs T_ii to be the largest entry of *column* i.
  It need not be the largest of row i. Uniform noise has it if and only if sum_j e_j < 1 and sparse noise if
  and only if e1 + e2 < 1, as the paper assumes, so that sparse-high, where five classes of ten keep a
  minority of their labels, can be estimated. Where another class k has T_ki > T_ii, the ranking of class i
  finds samples of class k, and row i becomes row k. A class that the model never predicts has no samples at
  all to read its row off, and a warning names it.
* The model has learnt the noisy posterior but not the single labels: a few epochs of cross-entropy, or
  out-of-sample predictions. Counting takes memorised labels for the truth.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from fdiv.arrays import Labels, as_labels, as_probabilities
from fdiv.names import choose
from fdiv.noise.corrupt import Seed

ESTIMATORS = ("anchor", "anchor-count", "confident-joint")
Found = tuple[np.ndarray, np.ndarray | None]  # the rows of T, and the anchors that they come from


@dataclass(frozen=True, eq=False)
class TransitionEstimate:
    """An estimate of T, which can be passed wherever a T can.

    T: T_ij = P(noisy label j | clean label i), float64, each row sums to 1.
    standard_error: one for each entry, or ``None`` without bootstrap. See ``estimate_transition``.
    method: the method of the estimate.
    anchors: the indices of the samples behind row i, in row i; ``None`` for the confident joint.

    >>> import numpy as np
    >>> np.asarray(TransitionEstimate(np.eye(2), None, "anchor", None))
    array([[1., 0.],
           [0., 1.]])
    """

    T: np.ndarray
    standard_error: np.ndarray | None
    method: str
    anchors: np.ndarray | None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return a copy of T for NumPy."""
        return np.array(self.T, dtype=dtype)


def estimate_transition(
    probabilities: Any,
    labels: Labels | None = None,
    *,
    method: str = "anchor",
    percentile: float | None = 97,
    band: tuple[float, float] = (0.1, 0.3),
    bootstrap: int = 50,
    seed: Seed = 0,
) -> TransitionEstimate:
    """Return T, estimated from noisy posteriors; the top of this module has the conditions of each method.

    The standard errors are over samples: how much the estimate would vary if the n samples (with their
    labels) were drawn again and the model stayed. They leave out the errors of the model, and anchors that
    are none. ``anchor-count`` measures by labels, so that for true anchors its errors are honest. Those of
    ``anchor`` are a lower limit.

    probabilities: P(noisy label | x) of shape (n, K), an array or a tensor.
    labels: the noisy labels of the samples, for ``anchor-count`` and ``confident-joint``.
    percentile: ``anchor`` takes the largest posterior strictly below this percentile of its class; ``None``
        or 100 stands for the largest of all, as Patrini et al. do for 100 classes.
    band: for ``anchor-count``, the first and last rank of the samples of a class, in units of n / K.
    bootstrap: the number of times that the samples are drawn again for the standard errors, 0 for none.
    seed: draws these samples.

    >>> posteriors = [[0.8, 0.2]] * 50 + [[0.3, 0.7]] * 50
    >>> estimate_transition(posteriors, percentile=None).T
    array([[0.8, 0.2],
           [0.3, 0.7]])
    """
    P = as_probabilities(probabilities)
    P /= P.sum(axis=1, keepdims=True)
    method = choose("method", method, ESTIMATORS)
    if bootstrap < 0 or bootstrap == 1:
        raise ValueError(f"bootstrap is {bootstrap}, but a standard error needs 2 or more draws, 0 for none")
    if labels is None and method != "anchor":
        raise ValueError(f"method {method!r} needs the noisy labels of the samples")
    y = np.zeros(len(P), dtype=int) if labels is None else as_labels(labels, P.shape[1])
    if len(y) != len(P):
        raise ValueError(f"there are {len(y)} labels for {len(P)} samples, but must be one for each")

    def estimate(P: np.ndarray, y: np.ndarray) -> Found:
        if method == "anchor":
            return _anchor(P, percentile)
        return _confident_joint(P, y) if method == "confident-joint" else _anchor_count(P, y, band)

    _warn_of_classes_never_predicted(P, None if labels is None else y)
    T, anchors = estimate(P, y)
    if bootstrap == 0:
        return TransitionEstimate(T, None, method, anchors)
    rng = np.random.default_rng(seed)
    draws = [rng.integers(len(P), size=len(P)) for _ in range(bootstrap)]
    error = np.std([estimate(P[drawn], y[drawn])[0] for drawn in draws], axis=0, ddof=1)
    if method == "anchor-count" and anchors is not None:
        # A label that was not seen in m trials may still have a chance of 3 / m (with 95 % confidence). No
        # bar is shorter than 1 / m, so that three standard errors reach that far.
        error = np.maximum(error, 1 / anchors.shape[1])
    return TransitionEstimate(T, error, method, anchors)


def _anchor(P: np.ndarray, percentile: float | None) -> Found:
    """Patrini et al. (2017), after Theorem 3, with the outliers of each class set aside.

    Their code sets the outliers of class i to 0 in the posteriors themselves, so that the rows of later
    classes can lose an entry before they are normalised. Here every row is a posterior as the model gave it.
    Equal posteriors are set aside together, so that this is no method for a model that is saturated.
    """
    K = P.shape[1]
    candidates, percentile = P, 100 if percentile is None else percentile
    if not 1 - 1 / K < percentile / 100 <= 1:
        valid = (
            f"above {100 - 100 / K:g}, to set aside less than a class of {K} has, and at most 100, or None"
        )
        raise ValueError(f"percentile is {percentile:g}, but must be {valid}")
    if percentile < 100:
        threshold = np.percentile(P, percentile, axis=0, method="higher")
        candidates = np.where(threshold > P, P, -1.0)
    anchors = candidates.argmax(axis=0)
    for i in np.flatnonzero(candidates.max(axis=0) < 0):
        raise ValueError(f"no posterior of class {i} is below its percentile {percentile:g}: try None")
    return P[anchors], anchors[:, None]


def _anchor_count(P: np.ndarray, y: np.ndarray, band: tuple[float, float]) -> Found:
    """Return the shares of the noisy labels among the samples in the band of each class's ranking."""
    n, K = P.shape
    first, last = band
    if not 0 <= first < last <= 1:
        raise ValueError(f"band is {band}, but must be two increasing ranks from 0 to 1, in units of n / K")
    start = int(first * n / K)
    stop = max(start + 1, round(last * n / K))  # at least one sample
    ranked = np.argpartition(-P.T, (start, stop - 1), axis=1)  # rank 0 is the largest posterior
    anchors = np.sort(ranked[:, start:stop], axis=1)
    return np.stack([np.bincount(y[row], minlength=K) for row in anchors]) / (stop - start), anchors


def _confident_joint(P: np.ndarray, y: np.ndarray) -> Found:
    try:
        from cleanlab.count import compute_confident_joint, estimate_latent
    except ImportError:
        raise ImportError("method 'confident-joint' needs cleanlab: pip install cleanlab") from None
    # cleanlab counts at least one sample of every class, so that a class without any has a row of its own.
    for i in np.flatnonzero(compute_confident_joint(y, P, calibrate=False).sum(axis=0) <= 1):
        raise ValueError(
            f"no sample is of class {i} with confidence, or only one, so the confident joint lacks its row"
        )
    _, given_if_true, _ = estimate_latent(compute_confident_joint(y, P), y)
    return given_if_true.T, None


def _warn_of_classes_never_predicted(P: np.ndarray, y: np.ndarray | None) -> None:
    """Warn of classes whose rows of T would be read off samples of other classes.

    At samples of class i the posterior of the label i is high. So where the posterior at rank 0.2 n / K is
    next to nothing, or no higher than the share of the label among all samples, the model finds none of them.
    """
    K = P.shape[1]
    high, share = np.quantile(P, 1 - 0.2 / K, axis=0), P.mean(axis=0)
    if y is not None:
        share = np.maximum(share, np.bincount(y, minlength=K) / len(y))
    bad = np.flatnonzero((high < 0.1 / K) | (high - share < 0.01 * (1 - share)))
    if bad.size:
        warnings.warn(
            f"the model never predicts class {', '.join(map(str, bad))}, so that these rows of T come from"
            " samples of other classes: train the model longer, or leave these classes out",
            stacklevel=3,
        )
