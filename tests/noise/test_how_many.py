"""How many labels are wrong: against a brute-force likelihood, and the coverage of the interval."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp

from fdiv.noise import corrupt, count_wrong_labels, pair, symmetric
from fdiv.noise.how_many import _maximise, from_logits


def exact_world(n: int, K: int, T: np.ndarray, seed: int, sharpness: float = 4.0):
    """Logits of a model that knows P(y | x) exactly, clean labels drawn from it, and noisy ones."""
    rng = np.random.default_rng(seed)
    logits = sharpness * rng.standard_normal((n, K))
    P = np.exp(log_softmax(logits, axis=1))
    clean = (P.cumsum(1) < rng.random((n, 1))).sum(1)
    return logits, clean, corrupt(clean, T, seed)


def minus_log_likelihood(parameters: np.ndarray, z: np.ndarray, y: np.ndarray) -> float:
    """In plain words: b and the free logits of T's rows, one extra example of each class as a prior."""
    K = z.shape[1]
    b, log_T = np.exp(parameters[0]), log_softmax(parameters[1:].reshape(K, K), axis=1)
    share = np.bincount(y, minlength=K) / len(y)
    prior = ((0.25 * np.eye(K) + 0.25 * share) * log_T).sum()
    h = log_softmax(b * z, axis=1)
    return -sum(logsumexp(h[i] + log_T[:, y[i]]) for i in range(len(y))) - prior


@pytest.mark.slow
@pytest.mark.parametrize("T", [symmetric(0.2, 3), pair(0.3, 3)], ids=["symmetric", "pair"])
def test_expectation_maximisation_finds_the_maximum_of_the_likelihood(T):
    logits, _, noisy = exact_world(150, 3, T, seed=1)
    z = np.maximum(log_softmax(0.5 * logits, axis=1), -60)
    found_T, b = _maximise(z, noisy, None, None, 1.0, steps=3000)
    at = np.concatenate([[np.log(b)], np.log(found_T).ravel()])
    best = minimize(minus_log_likelihood, at + 0.1, args=(z, noisy), method="L-BFGS-B")
    assert minus_log_likelihood(at, z, noisy) <= best.fun + 0.02


def test_a_model_that_is_too_sure_is_seen_through():
    T = symmetric(0.2, 4)
    logits, _, noisy = exact_world(3000, 4, T, seed=0)
    right, sure = from_logits(logits, noisy), from_logits(5 * logits, noisy)
    assert right.exponent == pytest.approx(1, abs=0.25)
    assert sure.exponent == pytest.approx(0.2, abs=0.05)
    assert sure.count == pytest.approx(right.count, rel=0.02)
    np.testing.assert_allclose(right.T, T, atol=5 * right.standard_error.max())


@pytest.mark.slow
@pytest.mark.parametrize("T", [symmetric(0.1, 4), symmetric(0.4, 4), pair(0.3, 4)])
def test_where_its_assumption_holds_the_interval_covers_the_truth(T):
    inside = []
    for seed in range(20):
        logits, clean, noisy = exact_world(600, 4, T, seed)
        found = from_logits(logits, noisy, draws=25, seed=seed)
        inside.append(found.low <= (clean != noisy).sum() <= found.high)
    assert sum(inside) >= 16  # of 20 intervals of 95 %: fewer has a chance below one in four hundred


def test_the_interval_knows_that_the_model_may_err():
    """The labels it would change and the likelihood forgives widen it, by what docstring and table say."""
    logits, _, noisy = exact_world(600, 4, symmetric(0.2, 4), seed=0)
    found = from_logits(logits, noisy, draws=0)
    forgiven = found.disagreements - found.count
    assert forgiven > 20
    half = 1.96 * 0.4 * forgiven
    assert (found.low, found.high) == pytest.approx((found.count - half, found.count + half), rel=1e-3)
    sure = np.repeat([[30.0, 0.0], [0.0, 30.0]], 50, axis=0)
    certain = from_logits(sure, np.repeat([0, 1, 0, 1], [45, 5, 5, 45]))
    assert certain.high - certain.low < 1


def test_on_tables_with_known_flips_most_intervals_hold_the_truth():
    """As measured: four in five or more, whatever the noise, also on tables that chose nothing."""
    from fdiv.experiments import label_counts

    chosen, held_out = (label_counts.coverage(part) for part in (label_counts.SOURCES, label_counts.HELD_OUT))
    assert (chosen["runs"] == 36).all()
    assert (held_out["runs"] == 27).all()
    assert (chosen["covered"] > 0.8).all()
    assert (held_out["covered"] > 0.8).all()


def test_errors_on_hard_examples_are_missed():
    """What the module says about people: an honest failure."""
    short = 0
    for seed in range(5):
        logits, clean, _ = exact_world(1000, 3, np.eye(3), seed)
        P = np.exp(log_softmax(logits, axis=1))
        unsure = 1 - P[np.arange(1000), clean]
        flip = unsure > np.quantile(unsure, 0.8)
        second = np.argsort(-np.where(np.eye(3)[clean] > 0, -1, P), axis=1)[:, 0]
        noisy = np.where(flip, second, clean)
        found = from_logits(logits, noisy, draws=10)
        short += found.high < flip.sum()
    assert short >= 4


def test_many_rows_take_a_part_of_them(monkeypatch):
    from fdiv.noise import how_many

    logits, _, noisy = exact_world(4000, 3, symmetric(0.2, 3), seed=3)
    whole = from_logits(logits, noisy)
    monkeypatch.setattr(how_many, "LARGEST_FIT", 2000)
    monkeypatch.setattr(how_many, "LARGEST_DRAW", 500)
    part = from_logits(logits, noisy)
    assert part.count == pytest.approx(whole.count, rel=0.1)
    assert (part.high - part.low) == pytest.approx(whole.high - whole.low, rel=0.6)
    assert part.wrong.shape == (4000,)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((np.ones((3, 2)), [0, 1, 0]), {}, "row 0 of the probabilities is no distribution"),
        ((np.ones(3), [0, 1, 0]), {}, r"shape \(n, K\)"),
        ((np.full((3, 2), 0.5), [0, 1]), {}, "2 labels for 3 examples"),
        ((np.full((3, 2), 0.5), [0, 1, 2]), {}, r"labels\[2\] is 2"),
        ((np.full((3, 2), 0.5), [0, 1, 1]), {"confidence": 1.5}, "between 0 and 1"),
    ],
)
def test_bad_input_is_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        count_wrong_labels(*arguments, **options)


def test_it_says_the_answer_in_a_sentence():
    logits, _, noisy = exact_world(500, 3, symmetric(0.2, 3), seed=0)
    assert "of 500 labels are wrong (" in str(from_logits(logits, noisy))


@pytest.mark.parametrize(
    "logits",
    [np.zeros((0, 2)), np.zeros(4), np.full((4, 2), np.nan), np.zeros((4, 1)), np.full((4, 2), np.inf)],
)
def test_logits_that_say_nothing_are_refused(logits):
    with pytest.raises(ValueError, match="logits must be numbers of shape"):
        from_logits(logits, np.zeros(len(logits), dtype=int))
