"""Noisy labels: drawn from a matrix, with exact counts, or depending on the image in two ways."""

from __future__ import annotations

import hashlib
import operator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fdiv.arrays import Labels, as_array, as_labels, transition
from fdiv.noise.matrices import check_rate

Seed = int | np.random.Generator
SPREAD = 0.1  # the deviation of the flip rates of Xia et al.


def corrupt(labels: Labels, T: Any, seed: Seed) -> Any:
    """Return noisy labels: each label i becomes j with probability T_ij, independently of all others.

    For one seed, a smaller T_ii only adds wrong labels: a label that is wrong at a lower rate stays wrong.

    >>> corrupt([0, 0, 0, 1, 1, 1], [[0.5, 0.5], [0.0, 1.0]], seed=4)
    array([0, 1, 1, 1, 1, 1])
    """
    T = transition(T)
    clean = as_labels(labels, len(T))
    own_class_first = np.argsort(1 - np.eye(len(T)), axis=1, kind="stable")
    return like(labels, draw(clean, T, _rng(seed, "noisy labels").random(len(clean)), own_class_first))


def corrupt_exact_counts(labels: Labels, T: Any, seed: Seed) -> Any:
    """Return noisy labels without sampling error: of the n_i labels i exactly int(n_i T_ij) become j.

    The rest stay, and only the choice of the labels that flip is random. The authors made ten of their label
    files in this way. The integer part forgives rounding error: 29 % of 100 labels are 29, although
    100 * 0.29 < 29 in floating point.

    >>> noisy = corrupt_exact_counts([0, 0, 0, 0, 1, 1], [[0.5, 0.5], [0.0, 1.0]], seed=0)
    >>> sorted(noisy.tolist())
    [0, 0, 1, 1, 1, 1]
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
    """Return the labels of a weak annotator, who errs where an image is unclear, about ``rate`` of all.

    No transition matrix describes them: within a class, unclear images are mislabelled more often than clear
    ones. See ``weak_annotator`` for the parameters. The other noise that depends on the image is
    ``corrupt_by_instance``.

    >>> from sklearn.datasets import load_digits
    >>> images, labels = load_digits(return_X_y=True)
    >>> noisy = corrupt_by_annotator(images, labels, rate=0.2, seed=0)
    >>> 0.15 < float((noisy != labels).mean()) < 0.25
    True
    """
    rng = _rng(seed, "annotator")
    chance, mistake = weak_annotator(images, labels, rate, rng, seen)
    clean = as_labels(labels)
    return like(labels, np.where(rng.random(len(clean)) < chance, mistake, clean))


def weak_annotator(
    images: Any, labels: Labels, rate: float, seed: Seed, seen: int = 10
) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each image, the chance that a weak annotator mislabels it, and the wrong label.

    The annotator is a logistic regression on the pixels of a few clean examples. Its mistake is the class
    that it finds most likely besides the true one. The chance of a mistake is proportional to the
    probability that it gives to all wrong classes, capped at 1.

    images: an array or tensor of shape (n, ...).
    rate: the mean of the chances.
    seed: draws the examples that the annotator learns from; the fit is the same up to rounding elsewhere.
    seen: the number of examples of each class that it learns from; fewer make it weaker.

    >>> from sklearn.datasets import load_digits
    >>> images, labels = load_digits(return_X_y=True)
    >>> chance, mistake = weak_annotator(images, labels, rate=0.2, seed=0)
    >>> f"{chance.mean():.3f}", (mistake == labels).any().item()
    ('0.200', False)
    """
    from sklearn.linear_model import LogisticRegression

    clean = as_labels(labels)
    check_rate("rate", rate, below=1)
    pixels = _pixels(images, clean).astype(np.float32)
    classes = np.unique(clean)
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
    """Return noisy labels that a random linear map of the image decides, about ``rate`` of them wrong.

    This is the generator of Xia et al., Part-dependent Label Noise (NeurIPS 2020), the usual benchmark of
    instance-dependent noise. Every example has a flip rate of its own, drawn from a normal distribution
    around ``rate`` with deviation 0.1, cut to [0, 1]. For every class a random matrix is drawn; it maps the
    pixels of an image of that class to a score for each label, and a flip goes to a wrong label drawn from
    the softmax of the scores: images that look alike are mislabelled alike. The other noise that depends on
    the image is ``corrupt_by_annotator``, an annotator that errs where an image is unclear.

    images: an array or tensor of shape (n, ...).
    rate: the mean of the flip rates, from 0 up to 1; the cut moves it a little where it is within 0.2 of
        either end.
    seed: draws the flip rates, the matrices and the labels; on another machine rounding may move a few.

    >>> from sklearn.datasets import load_digits
    >>> images, labels = load_digits(return_X_y=True)
    >>> noisy = corrupt_by_instance(images, labels, rate=0.2, num_classes=10, seed=0)
    >>> 0.15 < float((noisy != labels).mean()) < 0.25
    True
    """
    check_rate("rate", rate, below=1)
    clean = as_labels(labels, num_classes)
    pixels = _pixels(images, clean)
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
    """Return the SHA-256 of the labels, one byte each (four, little-endian, where a label exceeds 255).

    >>> labels_sha256([3, 1, 4])[:16]
    '9ceed0d818acc42d'
    """
    array = as_labels(labels)
    wide = array.size and array.max() > 255
    return hashlib.sha256(array.astype("<u4" if wide else np.uint8).tobytes()).hexdigest()


def draw(clean: np.ndarray, T: np.ndarray, u: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return the noisy labels at the points u in [0, 1), where row i of T is laid out in order ``order[i]``.

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
    """Return ``noisy`` as the kind, dtype and device of ``labels``."""
    if isinstance(labels, Tensor):
        return torch.as_tensor(noisy).to(labels)
    return noisy.astype(np.asarray(labels).dtype)


def _scaled_to_mean(weight: np.ndarray, mean: float) -> np.ndarray:
    """Return min(1, c weight) with the factor c for which these have the given mean."""
    weight = np.maximum(weight, 1e-12)  # no weight is 0, so that any mean below 1 can be reached
    largest_first = np.sort(weight)[::-1]
    # Suppose, for every m from 0 up, that the m largest weights are capped at 1. The others sum to rest[m]
    m = np.arange(len(weight))
    rest = np.cumsum(largest_first[::-1])[::-1]
    # and must bring the total from m to mean * n, which determines the factor.
    factor = (mean * len(weight) - m) / rest
    # The smallest m is right for which the largest weight that is not capped, number m, stays within 1.
    right = (factor * largest_first <= 1).argmax()
    return np.minimum(1, factor[right] * weight)


def _pixels(images: Any, labels: np.ndarray) -> np.ndarray:
    """Return the images as one row of finite numbers for each label."""
    pixels = as_array(images).reshape(len(images), -1)
    if len(pixels) != len(labels):
        raise ValueError(f"there are {len(labels)} labels for {len(pixels)} images, but must be one for each")
    bad: Any = () if pixels.dtype.kind in "iub" else np.flatnonzero(~np.isfinite(pixels).all(1))
    if len(bad):
        raise ValueError(f"image {bad[0]} has a pixel that is no finite number: mend it, or leave it out")
    return pixels


def _rng(seed: Seed, purpose: str) -> np.random.Generator:
    """Return a stream for each purpose, so that noise of two kinds with the same seed is independent.

    The name of the stream of ``corrupt`` was chosen after a look at seed 0, whose draw on the digits under an
    earlier name was an outlier (one class at -3.8 standard deviations). The sampler is the same.
    """
    if seed is None:
        raise ValueError("seed is None, but must be an integer, so that the labels can be drawn again")
    if isinstance(seed, np.random.Generator):
        return seed
    return np.random.default_rng([operator.index(seed), *purpose.encode()])


def _flip_rates(rate: float, points: np.ndarray) -> np.ndarray:
    """Return the flip rates at ``points`` of the cumulative normal distribution, cut to [0, 1]."""
    from scipy.stats import truncnorm

    if not rate:
        return np.zeros(len(points))
    return rate + SPREAD * truncnorm.ppf(points, -rate / SPREAD, (1 - rate) / SPREAD)


def _mean_and_deviation(pixels: np.ndarray) -> tuple[np.float32, np.float32]:
    """Return both over all pixels of all images, without a copy of them in floating point."""
    parts = np.array_split(pixels, len(pixels) // 1000 + 1)
    mean, square = (
        sum(np.power(part, power, dtype=np.float64).sum() for part in parts) / max(pixels.size, 1)
        for power in (1, 2)
    )
    return np.float32(mean), np.float32(max(square - mean**2, 1e-30) ** 0.5)


def _drawn(scores: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return a column of each row, drawn from the softmax of its scores: where its sum passes the point."""
    if not len(scores):
        return np.empty(0, dtype=np.int64)
    shares = np.exp(scores.astype(np.float64) - scores.max(1, keepdims=True))
    ends = np.cumsum(shares, axis=1)
    return (ends <= (points * ends[:, -1])[:, None]).sum(1)
