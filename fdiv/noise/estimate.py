"""Estimating the transition matrix from a model trained on noisy labels, with error bars.

Under class-conditional noise the noisy posterior is a mixture of the rows of T, P(y~ = j | x) =
sum_i P(y = i | x) T_ij, so at an anchor of class i, a sample that is of class i for sure, it is row i itself
(Liu & Tao 2016; Patrini et al. 2017, Theorem 3). All methods below look for anchors among the samples:

* ``anchor``: one sample for each class, the largest posterior of class i after outliers are set aside, and
  row i is its posterior (Patrini et al. 2017, after Theorem 3).
* ``anchor-band``: many samples for each class, ranked by the posterior of class i without the very first,
  and row i is their mean posterior. Less scatter, and the same bias: a sample is ranked first because it is
  of class i or because the model errs towards class i, and the row repeats that error.
* ``anchor-count``: the same samples, but row i is the share of each noisy label among them. The labels do not
  know the error of the model, so they do not repeat it. As in the second factor of Dual-T (Yao et al. 2020).
* ``vertex``: counts too, but finds the samples of all classes jointly, as the vertices of the simplex that
  the posteriors fill, by successive projections (Araújo et al. 2001; Gillis & Vavasis 2014).
* ``confident-joint``: cleanlab's (Northcutt et al. 2021, Section 3.1).

When they work:

* Every class has anchors: with the default band, three tenths of an average class (n / K samples) must be
  (nearly) certain. A rarer class, or one that is never certain, gets a row mixed with other classes.
* The class of an anchor is read off its posterior, which needs T_ii to be the largest entry of *column* i.
  It need not be the largest of row i. Uniform noise has it if and only if sum_j e_j < 1 and sparse noise if
  and only if e1 + e2 < 1, as the paper assumes, so that sparse-high, where five classes of ten keep a
  minority of their labels, can be estimated. Where another class k has T_ki > T_ii, the ranking of class i
  finds samples of class k, and row i becomes row k. ``vertex`` needs less: that T has an inverse and that
  no other order of its rows has a larger trace. It pays with more scatter when rows are nearly alike.
* The model has learnt the noisy posterior but not the single labels: a few epochs of cross-entropy, or
  out-of-sample predictions. The counting methods take memorised labels for the truth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fdiv.arrays import Labels, as_array, as_labels
from fdiv.noise.corrupt import Seed

Found = tuple[np.ndarray, np.ndarray | None]  # the rows of T, and the anchors that they come from


@dataclass(frozen=True, eq=False)
class TransitionEstimate:
    """An estimate of T.

    T: T_ij = P(noisy label j | clean label i), float64, each row sums to 1.
    standard_error: one for each entry, or ``None`` without bootstrap. See ``estimate_transition``.
    method: how it was estimated.
    anchors: the indices of the samples behind row i, in row i; ``None`` for the confident joint.
    """

    T: np.ndarray
    standard_error: np.ndarray | None
    method: str
    anchors: np.ndarray | None


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
    """T from noisy posteriors. Which method works when is said at the top of this module.

    The standard errors are over samples: how much the estimate would vary if the n samples (with their
    labels) were drawn again and the model stayed. They leave out what the model gets wrong and anchors that
    are none. The counting methods measure by labels, so that for true anchors their errors are honest. Those
    of ``anchor`` and ``anchor-band`` are a lower limit.

    probabilities: P(noisy label | x) of shape (n, K), an array or a tensor.
    labels: the noisy labels of the samples, for ``anchor-count``, ``vertex`` and ``confident-joint``.
    percentile: ``anchor`` takes the largest posterior strictly below this percentile of its class; ``None``
        or 100 stands for the largest of all, as Patrini et al. do for 100 classes.
    band: first and last rank of the samples used for a class, in units of n / K; not for ``anchor``.
    bootstrap: how many times the samples are drawn again for the standard errors, 0 for none.
    """
    P = _posteriors(probabilities)
    if method not in _METHODS:
        raise ValueError(f"no method is called {method!r}; choose from {', '.join(_METHODS)}")
    if bootstrap < 0 or bootstrap == 1:
        raise ValueError(f"bootstrap is {bootstrap}, but a standard error needs 2 or more draws, 0 for none")
    y = _noisy_labels(labels, P, method)
    ranks = _ranks(band, *P.shape)

    def estimate(samples: Any = slice(None)) -> Found:
        return _METHODS[method](P[samples], None if y is None else y[samples], percentile, ranks)

    T, anchors = estimate()
    if bootstrap == 0:
        return TransitionEstimate(T, None, method, anchors)
    rng = np.random.default_rng(seed)
    draws = [estimate(rng.integers(len(P), size=len(P)))[0] for _ in range(bootstrap)]
    error = np.std(draws, axis=0, ddof=1)
    if method in _COUNTING:  # what was not seen in m trials still has a chance of up to 3 / m
        error = np.maximum(error, 1 / anchors.shape[1])
    return TransitionEstimate(T, error, method, anchors)


def _anchor(P: np.ndarray, y: Any, percentile: float | None, ranks: slice) -> Found:
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


def _anchor_band(P: np.ndarray, y: Any, percentile: float | None, ranks: slice) -> Found:
    anchors = _ranked(P.T, ranks)
    return np.stack([P[samples].mean(axis=0) for samples in anchors]), anchors


def _anchor_count(P: np.ndarray, y: Any, percentile: float | None, ranks: slice) -> Found:
    anchors = _ranked(P.T, ranks)
    return _label_shares(y, anchors, P.shape[1]), anchors


def _vertex(P: np.ndarray, y: Any, percentile: float | None, ranks: slice) -> Found:
    """Successive projections, with a band of samples for each vertex in place of a single one.

    The farthest samples from the span of the vertices found so far are at a new vertex. Which class it is
    follows last, from the order of the rows that has the largest trace.
    """
    from scipy.optimize import linear_sum_assignment

    rest, anchors = P.copy(), []
    for _ in range(P.shape[1]):
        far = np.argpartition(-np.einsum("nk,nk->n", rest, rest), ranks.start)[ranks.start]
        samples = _ranked((rest @ rest[far])[None], ranks)[0]
        vertex = rest[samples].mean(axis=0)
        rest -= np.outer(rest @ vertex, vertex / max(vertex @ vertex, 1e-300))
        anchors.append(samples)
    shares = _label_shares(y, np.stack(anchors), P.shape[1])
    _, row_of_class = linear_sum_assignment(-shares.T)
    return shares[row_of_class], np.stack(anchors)[row_of_class]


def _confident_joint(P: np.ndarray, y: Any, percentile: float | None, ranks: slice) -> Found:
    try:
        from cleanlab.count import compute_confident_joint, estimate_latent
    except ImportError:
        raise ImportError("method 'confident-joint' needs cleanlab: pip install cleanlab") from None
    _, given_if_true, _ = estimate_latent(compute_confident_joint(y, P), y)
    for i in np.flatnonzero(given_if_true.sum(axis=0) == 0):
        raise ValueError(
            f"no sample is of class {i} with confidence, so the confident joint has no row for it"
        )
    return given_if_true.T, None


_METHODS: dict[str, Callable[..., Found]] = {
    "anchor": _anchor,
    "anchor-band": _anchor_band,
    "anchor-count": _anchor_count,
    "vertex": _vertex,
    "confident-joint": _confident_joint,
}
_COUNTING = ("anchor-count", "vertex")


def _ranked(scores: np.ndarray, ranks: slice) -> np.ndarray:
    """In each row, where the scores of these ranks are; rank 0 is the largest."""
    first, last = ranks.start, ranks.stop - 1
    return np.sort(np.argpartition(-scores, (first, last), axis=1)[:, ranks], axis=1)


def _label_shares(y: np.ndarray, anchors: np.ndarray, K: int) -> np.ndarray:
    return np.stack([np.bincount(y[samples], minlength=K) for samples in anchors]) / anchors.shape[1]


def _ranks(band: tuple[float, float], n: int, K: int) -> slice:
    """The ranks of the band among n samples; at least one."""
    first, last = band
    if not 0 <= first < last <= 1:
        raise ValueError(f"band is {band}, but must be two increasing ranks from 0 to 1, in units of n / K")
    start = int(first * n / K)
    return slice(start, max(start + 1, round(last * n / K)))


def _posteriors(probabilities: Any) -> np.ndarray:
    """Float64 rows that sum to 1, where rounding up to half precision is forgiven."""
    P = as_array(probabilities).astype(np.float64)
    if P.ndim != 2 or P.shape[0] < 1 or P.shape[1] < 2:
        raise ValueError(f"probabilities have shape (n, K) with 2 classes or more, not {P.shape}")
    sums = P.sum(axis=1)
    bad = np.flatnonzero(~((P >= 0).all(axis=1) & (np.abs(sums - 1) <= 2e-3)))
    if bad.size:
        found = f"its smallest entry is {P[bad[0]].min():g} and it sums to {sums[bad[0]]:g}"
        raise ValueError(
            f"row {bad[0]} of the probabilities is no distribution ({found}): pass softmax(logits)"
        )
    return P / sums[:, None]


def _noisy_labels(labels: Labels | None, P: np.ndarray, method: str) -> np.ndarray | None:
    if labels is None:
        if method in (*_COUNTING, "confident-joint"):
            raise ValueError(f"method {method!r} needs the noisy labels of the samples")
        return None
    y = as_labels(labels, P.shape[1])
    if len(y) != len(P):
        raise ValueError(f"there are {len(y)} labels for {len(P)} samples, but must be one for each")
    return y
