"""Dawid and Skene against a brute-force likelihood and known annotators, and into forward correction."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from fdiv.learning.losses import ForwardCorrection
from fdiv.noise import corrupt, dawid_skene, pair, symmetric
from fdiv.noise.annotators import _checked


def crowd(n: int, matrices: list[np.ndarray], seed: int = 0, missing: float = 0.0):
    rng = np.random.default_rng(seed)
    clean = rng.integers(len(matrices[0]), size=n)
    votes = np.stack([corrupt(clean, T, seed + 100 * a) for a, T in enumerate(matrices)], axis=1)
    gone = rng.random(votes.shape) < missing
    gone[np.arange(n), rng.integers(len(matrices), size=n)] = False
    return np.where(gone, -1, votes), clean


def log_likelihood(V, prior, T) -> float:
    """In plain words, one example and one class at a time."""
    total = 0.0
    for votes in V:
        p = 0.0
        for k in range(len(prior)):
            product = prior[k]
            for a, vote in enumerate(votes):
                if vote != -1:
                    product *= T[a][k][vote]
            p += product
        total += np.log(p)
    return total


def test_the_likelihood_is_the_brute_force_one_and_no_neighbour_is_better():
    V, _ = crowd(60, [symmetric(0.2, 2), symmetric(0.3, 2), pair(0.1, 2)], missing=0.2)
    found = dawid_skene(V, smoothing=0)
    best = log_likelihood(V, found.prior, found.transitions)
    assert found.log_likelihood == pytest.approx(best, abs=1e-3)
    rng = np.random.default_rng(0)
    for _ in range(200):
        T = np.abs(found.transitions + 0.03 * rng.standard_normal(found.transitions.shape)) + 1e-9
        prior = np.abs(found.prior + 0.03 * rng.standard_normal(2))
        assert log_likelihood(V, prior / prior.sum(), T / T.sum(2, keepdims=True)) <= best + 1e-4


def test_a_grid_over_all_parameters_of_a_tiny_crowd_finds_nothing_better():
    V = np.array([[0, 0, 0]] * 4 + [[0, 0, 1]] * 3 + [[1, 1, 1]] * 3 + [[1, 1, 0]] * 2)
    best = dawid_skene(V, smoothing=0).log_likelihood
    grid = (0.02, 0.35, 0.65, 0.98)
    for p, a0, a1, c0, c1 in itertools.product((0.3, 0.5, 0.7), grid, grid, grid, grid):
        first, third = [[1 - a0, a0], [a1, 1 - a1]], [[1 - c0, c0], [c1, 1 - c1]]
        assert log_likelihood(V, [1 - p, p], [first, first, third]) <= best + 1e-6


def test_each_annotator_is_recognised_and_the_labels_beat_the_majority():
    matrices = [symmetric(0.1, 4), symmetric(0.2, 4), pair(0.45, 4), symmetric(0.6, 4), symmetric(0.6, 4)]
    V, clean = crowd(4000, matrices, missing=0.3)
    found = dawid_skene(V)
    np.testing.assert_allclose(found.transitions, matrices, atol=0.06)
    np.testing.assert_allclose(found.accuracies, [0.9, 0.8, 0.55, 0.4, 0.4], atol=0.04)
    counts = np.stack([(k == V).sum(1) for k in range(4)], axis=1)
    majority = (counts.argmax(1) == clean).mean()
    assert (found.labels == clean).mean() > majority + 0.03
    np.testing.assert_allclose(found.probabilities.sum(1), 1)
    np.testing.assert_allclose(found.prior, 0.25, atol=0.03)


def test_the_mean_matrix_goes_into_forward_correction():
    V, _ = crowd(500, [symmetric(0.1, 3), symmetric(0.3, 3), symmetric(0.2, 3)])
    T = dawid_skene(V).transition_of(V)
    assert T.diagonal().mean() == pytest.approx(0.8, abs=0.05)
    loss = ForwardCorrection(T)
    assert loss(torch.randn(4, 3), torch.tensor([0, 1, 2, 0])).isfinite()


def test_an_annotator_of_few_votes_has_no_zeros_but_weighs_little():
    V, _ = crowd(300, [symmetric(0.1, 3)] * 3)
    V = np.column_stack([V, np.full(300, -1)])
    V[0, 3] = 2
    found = dawid_skene(V)
    assert (found.transitions > 0).all()
    assert np.isfinite(found.log_likelihood)


@pytest.mark.parametrize(
    ("votes", "options", "message"),
    [
        ([0, 1], {}, r"\(examples, annotators\)"),
        ([[0.5, 1.0]], {}, "whole numbers"),
        ([[0, 3]], {"num_classes": 2}, r"votes\[0, 1\] is 3, but a vote is 0 to 1, or -1"),
        ([[0, -2]], {"num_classes": 2}, r"votes\[0, 1\] is -2"),
        ([[0, 1], [-1, -1]], {}, r"nobody voted for example 1 \(1 in all\)"),
        ([[0, 0], [0, 0]], {}, "all votes are for one class"),
        ([[0, 1]], {"smoothing": -1}, "smoothing is -1"),
        ([[0, 1]], {"num_classes": "2"}, "num_classes is '2', but must be a whole number"),
        (np.array([[2**64 - 1, 0]], dtype=np.uint64), {"num_classes": 2}, "a vote is 0 to 1"),
        (np.ma.masked_less([[0, -1], [1, 1]], 0), {}, "lose its mask"),
    ],
)
def test_bad_votes_are_refused(votes, options, message):
    with pytest.raises(ValueError, match=message):
        dawid_skene(votes, **options)


def test_votes_of_small_types_keep_their_minus_one():
    V, K = _checked(np.array([[0, 1, -1]], dtype=np.int8))
    assert V.tolist() == [[0, 1, -1]]
    assert K == 2


def test_votes_for_more_classes_than_fit_the_memory_and_of_other_people():
    with pytest.raises(ValueError, match="1000000000001 classes are too many"):
        dawid_skene([[0, 10**12]])
    found = dawid_skene([[0, 0, 1], [1, 1, 1]])
    for votes, said in (
        ([[0, 1]], "of the 3 annotators"),
        ([0, 1, 1], "of shape"),
        ([[-1, -1, -1]], "nobody voted for example 0"),
        ([[0, 1, 9]], "a vote is 0 to 1"),
        ([[0, 1, np.nan]], "votes must be whole numbers"),
    ):
        with pytest.raises(ValueError, match=said):
            found.transition_of(votes)
