"""Noise that depends on the instance, with a rate to choose: no transition matrix describes it."""

from __future__ import annotations

from typing import Any

import numpy as np

from fdiv.arrays import Labels, as_array, as_labels
from fdiv.noise.labels import Seed, _rng, like
from fdiv.noise.matrices import check_rate

SPREAD = 0.1  # of the flip rates, as in the paper below


def corrupt_by_instance(images: Any, labels: Labels, rate: float, num_classes: int, seed: Seed) -> Any:
    """Noisy labels that a random linear map of the image decides, about ``rate`` of them wrong.

    The generator of Xia et al., Part-dependent Label Noise (NeurIPS 2020), on which much work on
    instance-dependent noise is measured. Every example has a flip rate of its own, drawn from a normal
    distribution around ``rate`` with deviation 0.1, cut to [0, 1]. For every class a random matrix is drawn;
    it maps the pixels of an image of that class to a score for each label, and a softmax over the wrong
    labels says which of them a flip goes to: images that look alike are mislabelled alike. The other kind is
    ``instance_dependent``, an annotator that errs where an image is unclear.

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
