"""Instance-dependent noise after Xia et al. (2020): its rate, what it depends on, and that it repeats."""

import numpy as np
import pytest
import torch
from scipy.stats import truncnorm

from fdiv.datasets import digits
from fdiv.noise.corrupt import _drawn, _flip_rates, corrupt_by_instance


@pytest.fixture(scope="module")
def data():
    return digits()


def noisy(data, rate, seed=0):
    return corrupt_by_instance(data.train_images, data.train_labels, rate, 10, seed)


@pytest.mark.parametrize("rate", [0.2, 0.4, 0.6])
def test_the_rate_is_met_within_sampling_error(data, rate):
    shares = [(noisy(data, rate, seed) != data.train_labels).float().mean().item() for seed in range(8)]
    error = np.sqrt(rate * (1 - rate) / (8 * len(data.train_labels)))
    assert abs(np.mean(shares) - rate) < 4 * error


def test_flip_rates_are_normal_and_cut():
    points = (np.arange(20000) + 0.5) / 20000
    rates = _flip_rates(0.1, points)
    assert ((rates >= 0) & (rates <= 1)).all()
    expected = truncnorm(-1, 9, loc=0.1, scale=0.1)
    assert rates.mean() == pytest.approx(expected.mean(), abs=1e-3)
    assert rates.std() == pytest.approx(expected.std(), abs=1e-3)
    assert (_flip_rates(0.0, points) == 0).all()


def test_no_noise_and_no_change_of_the_argument(data):
    before = data.train_labels.clone()
    assert torch.equal(noisy(data, 0.0), before)
    noisy(data, 0.5)
    assert torch.equal(data.train_labels, before)


def test_seeds(data):
    assert torch.equal(noisy(data, 0.4, 1), noisy(data, 0.4, 1))
    assert not torch.equal(noisy(data, 0.4, 1), noisy(data, 0.4, 2))


def test_arrays_and_bytes_give_the_same_labels(data):
    """Scale and offset of the pixels do not matter."""
    bytes_ = (data.train_images * 16).to(torch.uint8).numpy()
    labels = data.train_labels.numpy().astype(np.int32)
    other = corrupt_by_instance(bytes_, labels, 0.4, 10, 0)
    assert other.dtype == np.int32
    assert (other == noisy(data, 0.4).numpy()).mean() > 0.999


def test_where_a_flip_goes_depends_on_the_image():
    """Copies of one image are mislabelled alike, others of the same class differently; a matrix cannot."""
    one = np.random.default_rng(0).standard_normal(64)
    two = np.array([one, -one])
    images, labels = two[np.arange(2000) % 2], np.zeros(2000, dtype=int)
    wrong = corrupt_by_instance(images, labels, 0.5, 10, seed=3)
    targets = [np.bincount(wrong[which::2], minlength=10)[1:] for which in (0, 1)]
    assert min(counts.sum() for counts in targets) > 400
    one, other = (counts / counts.sum() for counts in targets)
    assert abs(one - other).sum() / 2 > 0.9  # two coins of one distribution would come to about 0.06


def test_draws_follow_the_softmax_and_never_the_own_class():
    scores = np.log(np.tile([0.5, 0.2, 0.3], (10000, 1)))
    scores[:, 1] = -np.inf
    drawn = _drawn(scores, (np.arange(10000) + 0.5) / 10000)
    assert (np.bincount(drawn, minlength=3) == [6250, 0, 3750]).all()
    assert _drawn(scores[:1], np.array([0.0]))[0] == 0


@pytest.mark.parametrize("rate", [-0.1, 1.0])
def test_bad_rates(data, rate):
    with pytest.raises(ValueError, match=r"rate is .*, but must be at least 0 and below 1"):
        noisy(data, rate)


def test_one_image_per_label(data):
    with pytest.raises(ValueError, match="1297 labels for 5 images"):
        corrupt_by_instance(data.train_images[:5], data.train_labels, 0.2, 10, 0)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_pixel_that_is_no_number_is_named(data, bad):
    """One of them would make the mean nan, and send every flip to class 0."""
    images = data.train_images.clone()
    images[7, 0, 3, 3] = bad
    with pytest.raises(ValueError, match="image 7 has a pixel that is no finite number"):
        corrupt_by_instance(images, data.train_labels, 0.2, 10, 0)
