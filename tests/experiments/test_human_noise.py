"""The test for noise that looks at the image, and the file of what it found in CIFAR-10N."""

import dataclasses

import numpy as np
import pytest
import torch

from fdiv import noise
from fdiv.experiments import human_noise
from fdiv.experiments.human_noise import majority_wrong
from fdiv.theory.robustness import instance_noise


def bright_and_dark(n=600, seed=0):
    """Two classes of small images, half of each bright and half dark."""
    rng = torch.Generator().manual_seed(seed)
    clean = torch.arange(n) % 2
    bright = (torch.arange(n) // 2) % 2
    images = (torch.rand(n, 1, 8, 8, generator=rng) * 100 + 100 * bright[:, None, None, None]).to(torch.uint8)
    return images, clean, bright.bool(), rng


def test_flips_of_bright_images_are_foreseen_and_those_at_random_are_not():
    images, clean, bright, rng = bright_and_dark()
    chance = torch.rand(len(clean), generator=rng)
    by_image = torch.where(bright & (chance < 0.8), 1 - clean, clean)
    by_class = torch.where(chance < 0.4, 1 - clean, clean)
    assert human_noise.flip_auroc(images, clean, by_image) > 0.8
    assert abs(human_noise.flip_auroc(images, clean, by_class) - 0.5) < 0.08


def test_the_class_itself_tells_nothing():
    """Only one class is flipped, and the classes look different: within a class there is nothing to see."""
    images, clean, _, rng = bright_and_dark()
    images = images // 2 + 100 * clean[:, None, None, None].to(torch.uint8)
    noisy = torch.where((clean == 1) & (torch.rand(len(clean), generator=rng) < 0.5), 0, clean)
    assert abs(human_noise.flip_auroc(images, clean, noisy) - 0.5) < 0.1


def test_what_cannot_be_tested_is_refused():
    images, clean, _, _ = bright_and_dark(100)
    with pytest.raises(ValueError, match="nothing to test"):
        human_noise.flip_auroc(images, clean, clean)
    with pytest.raises(ValueError, match="100 images, 100 clean and 99 noisy labels"):
        human_noise.flip_auroc(images, clean, clean[1:])


def test_coarse_pixels_are_averages_in_the_unit_interval():
    images = torch.zeros(1, 3, 32, 32, dtype=torch.uint8)
    images[0, 1, :4, :4] = 255
    row = human_noise.coarse(images).reshape(3, 8, 8)
    assert row[1, 0, 0] == 1
    assert row.sum() == 1
    assert human_noise.coarse(torch.ones(1, 1, 8, 8)).max() == 1


def test_realised_T_is_counted():
    clean, noisy = torch.tensor([0, 0, 0, 1, 1, 2]), torch.tensor([0, 0, 1, 1, 1, 0])
    assert noise.noise_card(clean, noisy).realised_T == pytest.approx(
        np.array([[2 / 3, 1 / 3, 0], [0, 1, 0], [1, 0, 0]])
    )


def three_answers(rates, seed=0):
    """Three answers for each image: wrong with its own probability, and then class 1 or 2 at random."""
    rng = torch.Generator().manual_seed(seed)
    wrong = torch.rand(3, len(rates), generator=rng) < rates
    return torch.where(wrong, torch.randint(1, 3, wrong.shape, generator=rng), 0)


@pytest.mark.parametrize(("easy", "hard"), [(0.1, 0.5), (0.0, 0.6), (0.05, 0.95)])
def test_the_least_delta_is_below_the_true_one_and_far_above_zero(easy, hard):
    """Half of the images are easy: delta is half of the distance between the two rates."""
    rates = torch.where(torch.arange(20_000) % 2 == 0, easy, hard)
    answers, clean = three_answers(rates), torch.zeros(20_000, dtype=torch.int64)
    T = np.stack([np.eye(3), np.eye(3)])
    T[:, 0] = [[1 - rate, rate / 2, rate / 2] for rate in (easy, hard)]
    true = instance_noise([[0.5, 1e-9, 1e-9], [0.5, 1e-9, 1e-9]], T).delta
    assert true == pytest.approx((hard - easy) / 2)
    assert 0.3 * true < human_noise.least_delta(answers, answers[0], clean) <= true


def test_where_noise_looks_at_the_class_alone_the_least_delta_is_about_zero():
    clean = torch.arange(20_000) % 2
    answers = torch.where(clean == 0, three_answers(torch.full((20_000,), 0.4)), 1)
    majority = torch.where((answers != clean).sum(0) > 1, 2, clean)
    for labels in (answers[1], majority):
        assert human_noise.least_delta(answers, labels, clean) < 0.01


def test_answers_of_people_who_err_in_turns_have_no_least_delta():
    """Exactly one of three is wrong, always: of independent people it would sometimes be none or two."""
    answers = torch.eye(3, dtype=torch.int64).repeat(1, 300)
    with pytest.raises(ValueError, match="answer independently would not have the wrong answers of class 0"):
        human_noise.least_delta(answers, answers[0], torch.zeros(900, dtype=torch.int64))


@pytest.mark.parametrize("delta", [0.0, 0.05, 0.4])
def test_the_promise_is_the_floor_of_instance_noise(delta):
    T = noise.symmetric(0.3, 4)
    floor = dataclasses.replace(instance_noise(np.eye(4) / 4, np.stack([T] * 4)), delta=delta).floor(0.75)
    assert human_noise.promised(T, delta) == pytest.approx(floor / 0.75)


def test_labels_that_say_nothing_promise_nothing():
    assert human_noise.promised(np.full((4, 4), 0.25), 0.0) == 0


def test_the_committed_measurements_are_those_of_matrices():
    for which, rows in human_noise.measured().groupby("labels"):
        T = human_noise.measured_T(which)
        assert T.shape == (10, 10)
        assert T.sum(1) == pytest.approx(np.ones(10), abs=1e-4)
        assert 1 - T.diagonal().mean() == pytest.approx(rows["wrong"].iloc[0], abs=1e-4)
        assert rows[list(human_noise.TESTS)].nunique().max() == 1


def test_three_independent_votes_by_simulation():
    T = np.array([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.1, 0.1, 0.8]])
    rng = np.random.default_rng(0)
    clean = np.repeat(np.arange(3), 100_000)
    votes = np.stack([noise.corrupt(clean, T, seed) for seed in range(3)])
    counts = (votes[:, :, None] == np.arange(3)).sum(0) + rng.random((len(clean), 3)) * 0.5
    assert majority_wrong(T) == pytest.approx((counts.argmax(1) != clean).mean(), abs=0.003)
