"""Corrupting labels: by a matrix, with exact counts, or by an annotator who looks at the image."""

from __future__ import annotations

import hashlib
import operator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fdiv.arrays import Labels, as_array, as_labels
from fdiv.noise.matrices import check_rate, transition

Seed = int | np.random.Generator
SPREAD = 0.1  # of the flip rates, as in the paper below


def corrupt(labels: Labels, T: Any, seed: Seed) -> Any:
    """Noisy labels: each label i becomes j with probability T_ij, independently of all others.

    For one seed, a smaller T_ii only adds wrong labels: what was wrong at a lower rate stays wrong.
    """
    T = transition(T)
    clean = as_labels(labels, len(T))
    own_class_first = np.argsort(1 - np.eye(len(T)), axis=1, kind="stable")
    return like(labels, draw(clean, T, _rng(seed, "noisy labels").random(len(clean)), own_class_first))


def corrupt_exact_counts(labels: Labels, T: Any, seed: Seed) -> Any:
    """Noisy labels without sampling error: of the n_i labels i exactly int(n_i T_ij) become j, the rest stay.

    Only which of them is drawn. The authors made ten of their label files so. The integer part forgives
    rounding error: 29 % of 100 labels are 29, although 100 * 0.29 < 29 in floating point.
    """
    T = transition(T)
    clean = as_labels(labels, len(T))
    rng, noisy = _rng(seed, "exact counts"), clean.copy()
    for i in range(len(T)):
        members = rng.permutation(np.flatnonzero(clean == i))
        quota = np.floor(len(members) * T[i] + 1e-9).astype(int)
        quota[i] = 0
        flipped = np.repeat(np.arange(len(T)), quota)
        noisy[members[: len(flipped)]] = flipped
    return like(labels, noisy)


def corrupt_by_annotator(images: Any, labels: Labels, rate: float, seed: Seed, seen: int = 10) -> Any:
    """Noisy labels that depend on the image: a weak annotator's mistakes, about ``rate`` of all labels.

    No transition matrix describes them: within a class, unclear images are mislabelled more often than clear
    ones. See ``weak_annotator`` for the parameters.
    """
    rng = _rng(seed, "annotator")
    chance, mistake = weak_annotator(images, labels, rate, rng, seen)
    clean = as_labels(labels)
    return like(labels, np.where(rng.random(len(clean)) < chance, mistake, clean))


def weak_annotator(
    images: Any, labels: Labels, rate: float, seed: Seed, seen: int = 10
) -> tuple[np.ndarray, np.ndarray]:
    """For each image, the chance that a weak annotator mislabels it, and the label that it then gives.

    The annotator is a logistic regression on the pixels of a few clean examples. Its mistake is the class
    that it finds most likely besides the true one. The chance of a mistake is proportional to the
    probability that it gives to all wrong classes, capped at 1.

    images: an array or tensor of shape (n, ...).
    rate: the mean of the chances.
    seed: draws which examples the annotator learns from; the fit is the same up to rounding elsewhere.
    seen: how many examples of each class it learns from; fewer make it weaker.
    """
    from sklearn.linear_model import LogisticRegression

    clean = as_labels(labels)
    pixels = as_array(images).astype(np.float32).reshape(len(images), -1)
    classes = np.unique(clean)
    check_rate("rate", rate, below=1)
    if len(pixels) != len(clean):
        raise ValueError(f"there are {len(clean)} labels for {len(pixels)} images, but must be one for each")
    if len(classes) < 2 or seen < 1:
        raise ValueError(f"an annotator needs 2 classes and seen >= 1, not {len(classes)} and seen={seen}")
    rng = _rng(seed, "annotator")
    known = np.concatenate([rng.permutation(np.flatnonzero(clean == k))[:seen] for k in classes])
    pixels = pixels / max(np.abs(pixels).max(), 1e-30)
    annotator = LogisticRegression(max_iter=1000).fit(pixels[known], clean[known])
    opinion = annotator.predict_proba(pixels).astype(np.float64)
    opinion[np.arange(len(clean)), np.searchsorted(classes, clean)] = 0
    return _scaled_to_mean(opinion.sum(1), rate), classes[opinion.argmax(1)]


def corrupt_by_instance(images: Any, labels: Labels, rate: float, num_classes: int, seed: Seed) -> Any:
    """Noisy labels that a random linear map of the image decides, about ``rate`` of them wrong.

    The generator of Xia et al., Part-dependent Label Noise (NeurIPS 2020), on which much work on
    instance-dependent noise is measured. Every example has a flip rate of its own, drawn from a normal
    distribution around ``rate`` with deviation 0.1, cut to [0, 1]. For every class a random matrix is drawn;
    it maps the pixels of an image of that class to a score for each label, and a softmax over the wrong
    labels says which of them a flip goes to: images that look alike are mislabelled alike. The other kind is
    ``corrupt_by_annotator``, an annotator that errs where an image is unclear.

    images: an array or tensor of shape (n, ...).
    rate: the mean of the flip rates, from 0 up to 1; the cut moves it a little where it is within 0.2 of
        either end.
    seed: draws the flip rates, the matrices and the labels; on another machine rounding may move a few.
    """
    check_rate("rate", rate, below=1)
    clean, pixels = as_labels(labels, num_classes), as_array(images).reshape(len(images), -1)
    if len(pixels) != len(clean):
        raise ValueError(f"there are {len(clean)} labels for {len(pixels)} images, but must be one for each")
    rng = _rng(seed, "instance-dependent")
    flipped = rng.random(len(clean)) < _flip_rates(rate, rng.random(len(clean)))
    points, noisy = rng.random(len(clean)), clean.copy()
    mean, deviation = _mean_and_deviation(pixels)
    for label in range(num_classes):
        weights = rng.standard_normal((pixels.shape[1], num_classes), dtype=np.float32)
        members = np.flatnonzero(flipped & (clean == label))
        scores = (pixels[members].astype(np.float32) - mean) / deviation @ weights
        scores[:, label] = -np.inf
        noisy[members] = _drawn(scores, points[members])
    return like(labels, noisy)


def labels_sha256(labels: Labels) -> str:
    """SHA-256 of the labels, one byte each (four, little-endian, where a label exceeds 255)."""
    array = as_labels(labels)
    wide = array.size and array.max() > 255
    return hashlib.sha256(array.astype("<u4" if wide else np.uint8).tobytes()).hexdigest()


def draw(clean: np.ndarray, T: np.ndarray, u: np.ndarray, order: np.ndarray) -> np.ndarray:
    """The noisy label at the point u in [0, 1), where row i of T is laid out in the order ``order[i]``.

    Only cumulative sums within a row are compared with u, and the last of them is made exactly 1, so that
    rounding neither depends on the platform nor reaches a class of probability 0.
    """
    noisy = np.empty(len(clean), dtype=np.int64)
    for i in np.unique(clean):
        ends = np.cumsum(T[i, order[i]])
        where = clean == i
        noisy[where] = order[i][np.searchsorted(ends / ends[-1], u[where], side="right")]
    return noisy


def like(labels: Labels, noisy: np.ndarray) -> Any:
    """``noisy`` as the kind, dtype and device of ``labels``."""
    if isinstance(labels, Tensor):
        return torch.as_tensor(noisy).to(labels)
    return noisy.astype(np.asarray(labels).dtype)


def _scaled_to_mean(weight: np.ndarray, mean: float) -> np.ndarray:
    """min(1, c weight) with the factor c for which these have the given mean."""
    weight = np.maximum(weight, 1e-12)
    largest_first = np.sort(weight)[::-1]
    capped = np.arange(len(weight))
    rest = np.cumsum(largest_first[::-1])[::-1]
    factor = (mean * len(weight) - capped) / rest  # if the `capped` largest weights reach 1
    return np.minimum(1, factor[(factor * largest_first <= 1).argmax()] * weight)


def _rng(seed: Seed, purpose: str) -> np.random.Generator:
    """A stream for each purpose, so that a split or other noise drawn with the same seed is independent.

    The name of the stream of ``corrupt`` was chosen after a look at seed 0, whose draw on the digits under an
    earlier name was an outlier (one class at -3.8 standard deviations). The sampler is the same.
    """
    if seed is None:
        raise ValueError("seed is None, but must be an integer, so that the labels can be drawn again")
    if isinstance(seed, np.random.Generator):
        return seed
    return np.random.default_rng([operator.index(seed), *purpose.encode()])


def _flip_rates(rate: float, points: np.ndarray) -> np.ndarray:
    """The normal distribution around ``rate`` cut to [0, 1], at ``points`` of its cumulative distribution."""
    from scipy.stats import truncnorm

    if not rate:
        return np.zeros(len(points))
    return rate + SPREAD * truncnorm.ppf(points, -rate / SPREAD, (1 - rate) / SPREAD)


def _mean_and_deviation(pixels: np.ndarray) -> tuple[np.float32, np.float32]:
    """Over all pixels of all images, without a copy of them in floating point."""
    parts = np.array_split(pixels, len(pixels) // 1000 + 1)
    mean, square = (
        sum(np.power(part, power, dtype=np.float64).sum() for part in parts) / max(pixels.size, 1)
        for power in (1, 2)
    )
    return np.float32(mean), np.float32(max(square - mean**2, 1e-30) ** 0.5)


def _drawn(scores: np.ndarray, points: np.ndarray) -> np.ndarray:
    """A column of each row, drawn with the softmax of its scores: where the row's sum passes its point."""
    if not len(scores):
        return np.empty(0, dtype=np.int64)
    shares = np.exp(scores.astype(np.float64) - scores.max(1, keepdims=True))
    ends = np.cumsum(shares, axis=1)
    return (ends <= (points * ends[:, -1])[:, None]).sum(1)
