"""Every estimator is its formula, recovers a known T where it should, and its error bars are honest."""

from __future__ import annotations

import math
import sys
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fdiv.noise import corrupt, paper_noise, sparse, symmetric, transition, uniform
from fdiv.noise.estimate import ESTIMATORS, TransitionEstimate, estimate_transition

SPARSE_HIGH = paper_noise("mnist", "sparse-high")
UNIFORM_HIGH = paper_noise("mnist", "uniform-high")

each_method = pytest.mark.parametrize("method", ESTIMATORS)


def softmax(logits: np.ndarray) -> np.ndarray:
    return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)


def world(T: np.ndarray, n: int, seed: int, model_error: float, anchors: float = 0.6):
    """Noisy posteriors and labels of n samples, of which the share ``anchors`` is of its class for sure.

    The others are mixtures of two classes. Labels are drawn from the true noisy posterior; the model has it
    up to independent errors in the logits.
    """
    rng, K = np.random.default_rng(seed), len(T)
    doubt = rng.uniform(0.05, 0.7, size=(n, 1)) * (rng.random((n, 1)) > anchors)
    clean = (1 - doubt) * np.eye(K)[rng.integers(K, size=n)] + doubt * np.eye(K)[rng.integers(K, size=n)]
    noisy = clean @ T
    labels = np.minimum((noisy.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1), K - 1)
    model = softmax(np.log(noisy + 1e-6) + model_error * rng.standard_normal((n, K)))
    return model, labels


def random_posteriors(n: int, K: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(K, 0.7), size=n)


def separable(T: np.ndarray, n: int = 600, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The exact noisy posterior of samples whose class is certain, in turn, and labels drawn from it."""
    clean = np.arange(n) % len(T)
    return T[clean], corrupt(clean, T, seed)


# --- the formulas ------------------------------------------------------------------------------------------


def slow_anchor(P, percentile) -> list[int]:
    """Patrini et al. (2017) in words, without touching the posteriors."""
    chosen = []
    for i in range(len(P[0])):
        column = sorted(row[i] for row in P)
        threshold = column[math.ceil(round(percentile / 100 * (len(column) - 1), 9))]  # "higher"
        best = None
        for n, row in enumerate(P):
            if (row[i] < threshold or percentile == 100) and (best is None or row[i] > P[best][i]):
                best = n
        chosen.append(best)
    return chosen


def slow_band(P, first, last) -> list[list[int]]:
    n, K = len(P), len(P[0])
    start = math.floor(first * n / K)
    stop = max(start + 1, round(last * n / K))
    return [sorted(sorted(range(n), key=lambda s: -P[s][i])[start:stop]) for i in range(K)]


@pytest.mark.parametrize("percentile", [97, 90, 99.99, 100])
@pytest.mark.parametrize(("n", "K"), [(2, 2), (101, 3), (400, 9)])
def test_anchor_is_the_largest_posterior_below_the_percentile(n, K, percentile):
    P = random_posteriors(n, K, seed=n)
    anchors = slow_anchor(P.tolist(), percentile)
    found = estimate_transition(P, percentile=percentile, bootstrap=0)
    assert found.anchors.tolist() == [[sample] for sample in anchors]
    np.testing.assert_allclose(found.T, P[anchors], rtol=1e-12)


def test_the_percentile_is_97_and_strict():
    P = random_posteriors(500, 4, seed=1)
    assert estimate_transition(P).anchors[:, 0].tolist() == slow_anchor(P.tolist(), 97)
    tied = np.array([[0.9, 0.1]] * 10 + [[0.6, 0.4]] + [[0.2, 0.8]] * 10)
    assert estimate_transition(tied, percentile=60, bootstrap=0).anchors.tolist() == [[10], [10]]


@pytest.mark.parametrize("percentile", [None, 100])
def test_without_percentile_it_is_the_largest_of_all(percentile):
    P = random_posteriors(3000, 100, seed=2)
    found = estimate_transition(P, percentile=percentile, bootstrap=0)
    assert found.anchors[:, 0].tolist() == P.argmax(axis=0).tolist()


def test_rows_do_not_lose_the_entries_that_the_original_code_sets_to_zero():
    """Their in-place change: outliers of class i become 0 before the rows of classes after i are read."""
    P = random_posteriors(200, 3, seed=3)
    theirs, rows = P.copy(), []
    for i in range(3):
        theirs[theirs[:, i] >= np.percentile(theirs[:, i], 70, method="higher"), i] = 0
        rows.append(theirs[theirs[:, i].argmax()].copy())
    theirs = np.array(rows) / np.sum(rows, axis=1, keepdims=True)
    ours = estimate_transition(P, percentile=70, bootstrap=0)
    np.testing.assert_allclose(ours.T, P[ours.anchors[:, 0]], rtol=1e-12)
    assert (theirs == 0).any()
    assert (ours.T > 0).all()


@pytest.mark.parametrize("band", [(0.1, 0.3), (0, 1), (0.5, 0.55), (0, 1e-6), (0.999, 1)])
@pytest.mark.parametrize(("n", "K"), [(500, 2), (701, 7), (5, 3)])
def test_bands_are_the_samples_of_these_ranks(n, K, band):
    P, y = random_posteriors(n, K, seed=4), np.random.default_rng(5).integers(K, size=n)
    anchors = slow_band(P.tolist(), *band)
    count = estimate_transition(P, y, method="anchor-count", band=band, bootstrap=0)
    assert count.anchors.tolist() == anchors
    shares = [[sum(y[s] == j for s in samples) / len(samples) for j in range(K)] for samples in anchors]
    np.testing.assert_allclose(count.T, shares, rtol=1e-12)


def test_the_band_is_a_tenth_to_three_tenths_of_a_class():
    P, y = world(symmetric(0.3, 5), 1000, seed=6, model_error=0.1)
    anchors = estimate_transition(P, y, method="anchor-count", bootstrap=0).anchors
    assert anchors.shape == (5, 40)
    assert anchors.tolist() == slow_band(P.tolist(), 0.1, 0.3)


def test_the_confident_joint_is_cleanlabs():
    """Northcutt et al. (2021), Section 3.1: count, then calibrate."""
    P, y = world(UNIFORM_HIGH, 3000, seed=1, model_error=0.1)
    thresholds = [P[y == k, k].mean() for k in range(10)]
    joint = np.zeros((10, 10))  # true class by noisy label
    for row, label in zip(P, y, strict=True):
        confident = [k for k in range(10) if row[k] >= thresholds[k] - 1e-6]
        if confident:
            joint[confident[0] if len(confident) == 1 else row.argmax(), label] += 1
    joint *= np.bincount(y) / joint.sum(axis=0)  # calibrated: as many of each label as there are
    found = estimate_transition(P, y, method="confident-joint", bootstrap=0)
    np.testing.assert_allclose(found.T, joint / joint.sum(axis=1, keepdims=True), atol=2e-3)
    assert found.anchors is None


def test_the_confident_joint_needs_every_class():
    labels = np.arange(60) % 3
    with (
        pytest.raises(ValueError, match="no sample is of class 3 with confidence"),
        pytest.warns(UserWarning, match="never predicts class 3"),
    ):
        estimate_transition(0.8 * np.eye(4)[labels] + 0.05, labels, method="confident-joint")


def test_the_confident_joint_says_when_cleanlab_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "cleanlab.count", None)
    with pytest.raises(ImportError, match="'confident-joint' needs cleanlab: pip install cleanlab"):
        estimate_transition(*separable(SPARSE_HIGH), method="confident-joint")


# --- known matrices ----------------------------------------------------------------------------------------


@given(e=st.lists(st.floats(0, 1), min_size=2, max_size=6), total=st.floats(0, 0.95))
def test_uniform_noise_is_recovered_exactly_whenever_its_rates_sum_to_less_than_one(e, total):
    T = uniform(np.array(e) * total / max(sum(e), 1e-9))
    P, _ = separable(T)
    found = estimate_transition(P, percentile=None, bootstrap=0)
    np.testing.assert_allclose(found.T, T, atol=1e-12)


@given(e1=st.floats(0, 0.95), share=st.floats(0, 0.95))
def test_sparse_noise_is_recovered_exactly_whenever_both_rates_sum_to_less_than_one(e1, share):
    T = sparse(6, [(0, 5), (4, 1), (2, 3)], e1, (1 - e1) * share)
    P, _ = separable(T)
    found = estimate_transition(P, percentile=None, bootstrap=0)
    np.testing.assert_allclose(found.T, T, atol=1e-12)


@pytest.mark.parametrize(
    "T", [SPARSE_HIGH, UNIFORM_HIGH, symmetric(0.6, 4)], ids=["sparse", "uniform", "sym"]
)
def test_counting_finds_samples_of_each_class_only(T):
    P, y = separable(T, n=5000)
    found = estimate_transition(P, y, method="anchor-count", bootstrap=0)
    assert (found.anchors % len(T) == np.arange(len(T))[:, None]).all()
    np.testing.assert_allclose(found.T.sum(axis=1), 1, atol=1e-12)
    for i, samples in enumerate(found.anchors):
        np.testing.assert_allclose(found.T[i], np.bincount(y[samples], minlength=len(T)) / len(samples))


def test_a_class_may_keep_a_minority_of_its_labels():
    P, y = world(SPARSE_HIGH, 50_000, seed=1, model_error=0.1)
    assert (SPARSE_HIGH.max(axis=1) > SPARSE_HIGH.diagonal()).sum() == 5
    for method in ("anchor", "anchor-count"):
        found = estimate_transition(P, y, method=method, bootstrap=0)
        assert np.abs(found.T - SPARSE_HIGH).mean() < 0.005, method
        assert np.abs(found.T - SPARSE_HIGH).max() < 0.08, method


def test_where_a_column_belongs_to_another_class_its_row_becomes_that_of_the_other():
    """T_00 = 0.2 < T_10 = 0.5: the samples with the largest posterior of class 0 are of class 1."""
    T = np.array([[0.2, 0.4, 0.4], [0.5, 0.5, 0.0], [0.0, 0.2, 0.8]])
    P, y = world(T, 30_000, 0, model_error=0.1)
    row = estimate_transition(P, y, method="anchor-count", bootstrap=0).T[0]
    assert np.abs(row - T[1]).max() < np.abs(row - T[0]).max() / 3


def never_predicted(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A model of four classes that gives nothing to class 3, though a twentieth of the labels are 3."""
    P, y = world(symmetric(0.3, 3), 2000, seed, model_error=0.1)
    P = np.column_stack([P * (1 - 1e-6), np.full(2000, 1e-6)])
    return P, np.where(np.random.default_rng(seed).random(2000) < 0.05, 3, y)


@each_method
def test_a_class_that_is_never_predicted_is_named(method):
    P, y = never_predicted()
    with pytest.warns(UserWarning, match=r"never predicts class 3, so .* train the model longer") as caught:
        estimate_transition(P, y, method=method, percentile=None, bootstrap=0)
    assert caught[0].filename == __file__


def test_a_class_without_labels_or_predictions_is_named_or_refused():
    P, y = never_predicted()
    y = np.minimum(y, 2)
    for labels, method in ((None, "anchor"), (y, "anchor-count")):
        with pytest.warns(UserWarning, match="never predicts class 3, "):
            estimate_transition(P, labels, method=method, percentile=None, bootstrap=2)
    with (
        pytest.raises(ValueError, match="class 3 with confidence"),
        pytest.warns(UserWarning, match="class 3"),
    ):
        estimate_transition(P, y, method="confident-joint", bootstrap=0)


@pytest.mark.parametrize(
    "T", [SPARSE_HIGH, UNIFORM_HIGH, symmetric(0.4, 2), paper_noise("cifar-100", "random-0.5")]
)
def test_a_class_that_is_predicted_has_no_warning(T):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        P, y = world(T, 10_000, 0, model_error=0.1)
        estimate_transition(P, y, method="anchor-count", bootstrap=0)
        estimate_transition(P, percentile=None, bootstrap=0)


def test_counting_does_not_repeat_the_errors_of_the_model():
    T = UNIFORM_HIGH
    P, y = world(T, 50_000, seed=3, model_error=0.5, anchors=1)
    error = {m: estimate_transition(P, y, method=m, bootstrap=0).T - T for m in ("anchor", "anchor-count")}
    assert error["anchor"].diagonal().mean() > 0.01, "ranked by the model, so its diagonals are too large"
    assert abs(error["anchor-count"].diagonal().mean()) < error["anchor"].diagonal().mean() / 4


# --- error bars --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("T", "n", "worlds", "model_error"),
    [
        (SPARSE_HIGH, 20_000, 2, 0),
        (SPARSE_HIGH, 20_000, 2, 0.3),
        (UNIFORM_HIGH, 20_000, 2, 0),
        (UNIFORM_HIGH, 20_000, 2, 0.3),
        (np.array([[0.8, 0.2], [0.4, 0.6]]), 5_000, 10, 0.3),
        (paper_noise("cifar-100", "uniform"), 10_000, 1, 0.3),
        (paper_noise("cifar-100", "sparse"), 10_000, 1, 0.3),
    ],
)
def test_a_known_matrix_lies_within_three_standard_errors(T, n, worlds, model_error):
    z = []
    for seed in range(worlds):
        P, y = world(T, n, seed, model_error)
        found = estimate_transition(P, y, method="anchor-count", bootstrap=20)
        z.append((found.T - T) / found.standard_error)
    large = np.array(z)[:, T > 0.05]
    assert np.mean(np.abs(z) <= 3) >= 0.95
    assert np.mean(np.abs(large) <= 3) >= 0.95
    assert 0.75 < large.std() < 1.5, "neither too long nor far too short"


def test_bars_of_the_posteriors_leave_out_what_the_model_gets_wrong():
    """As the docstring warns: samples drawn again, the same model, whose diagonal is too large."""
    P, y = world(UNIFORM_HIGH, 20_000, seed=6, model_error=0.3)
    found = estimate_transition(P, y, method="anchor", bootstrap=20)
    bias = np.diag((found.T - UNIFORM_HIGH) / found.standard_error)
    assert bias.mean() > 3


def test_bars_of_counts_are_binomial_and_never_below_one_count():
    T = UNIFORM_HIGH
    P, y = world(T, 20_000, seed=7, model_error=0.2, anchors=1)
    found = estimate_transition(P, y, method="anchor-count", bootstrap=40)
    m = found.anchors.shape[1]
    binomial = np.sqrt(found.T * (1 - found.T) / m)
    assert np.mean(found.standard_error / binomial) == pytest.approx(1, abs=0.05)
    never = estimate_transition(*separable(np.eye(4)), method="anchor-count")
    assert never.T.tolist() == np.eye(4).tolist()
    assert (never.standard_error == 1 / never.anchors.shape[1]).all()


@each_method
def test_bars_are_the_spread_over_samples_drawn_again(method):
    P, y = world(UNIFORM_HIGH, 500, seed=8, model_error=0.2)
    rng, draws = np.random.default_rng(11), []
    for _ in range(7):
        again = rng.integers(500, size=500)
        draws.append(estimate_transition(P[again], y[again], method=method, bootstrap=0).T)
    expected = np.sqrt(np.var(draws, axis=0) * 7 / 6)
    if method == "anchor-count":
        expected = np.maximum(expected, 1 / 10)
    found = estimate_transition(P, y, method=method, bootstrap=7, seed=11)
    np.testing.assert_allclose(found.standard_error, expected, atol=1e-12)


def test_bars_follow_from_the_seed():
    P, y = world(UNIFORM_HIGH, 3000, seed=9, model_error=0.2)
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    one, same, other = (
        estimate_transition(P, y, method="anchor-count", bootstrap=50, seed=seed).standard_error
        for seed in (0, 0, 1)
    )
    assert (one == same).all()
    assert (one != other).any()
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002
    default = estimate_transition(P, y, method="anchor-count")
    assert (default.standard_error == one).all(), "50 draws from seed 0 by default"


# --- what goes in and out ----------------------------------------------------------------------------------


@each_method
def test_every_estimate_is_a_transition_matrix(method):
    P, y = world(SPARSE_HIGH, 2000, seed=10, model_error=0.3)
    found = estimate_transition(P, y, method=method, bootstrap=3)
    assert isinstance(found, TransitionEstimate)
    assert found.method == method
    assert found.T.dtype == np.float64
    assert found.T.shape == found.standard_error.shape == (10, 10)
    assert (found.T >= 0).all()
    np.testing.assert_allclose(found.T.sum(axis=1), 1, atol=1e-12)
    assert estimate_transition(P, y, method=method, bootstrap=0).standard_error is None
    assert (transition(found) == found.T).all()  # it can be passed wherever a T can
    assert np.asarray(found) is not found.T


@each_method
def test_tensors_in_single_or_half_precision_do_as_well(method):
    P, y = world(UNIFORM_HIGH, 2000, seed=12, model_error=0.3)
    logits = torch.log(torch.as_tensor(P)).requires_grad_()
    exact = estimate_transition(P, y, method=method, bootstrap=0).T
    single = torch.softmax(logits.float(), dim=1)
    half = single.to(torch.float16)
    found = estimate_transition(single, torch.as_tensor(y), method=method, bootstrap=0).T
    np.testing.assert_allclose(found, exact, atol=1e-6)
    found = estimate_transition(half, torch.as_tensor(y), method=method, bootstrap=0).T
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)


@each_method
def test_nothing_passed_in_is_changed(method):
    P, y = world(UNIFORM_HIGH, 400, seed=13, model_error=0.3)
    before = P.tolist(), y.tolist()
    estimate_transition(P, y, method=method, bootstrap=2)
    assert (P.tolist(), y.tolist()) == before


def one_bad_row(row) -> np.ndarray:
    return np.vstack([np.full((3, 2), 0.5), [row]])


@pytest.mark.parametrize(
    ("P", "message"),
    [
        (np.full(3, 1 / 3), r"shape \(n, K\) with 2 classes or more, not \(3,\)"),
        (np.ones((5, 1)), "2 classes or more"),
        (np.ones((0, 3)), "2 classes or more"),
        (one_bad_row([1.2, -0.2]), r"row 3 .* smallest entry is -0.2 and it sums to 1\): pass softmax"),
        (one_bad_row([0.5, 0.6]), "row 3 .* sums to 1.1"),
        (one_bad_row([np.nan, 1.0]), "row 3 .* sums to nan"),
        (one_bad_row([np.inf, 0.0]), "row 3 .* sums to inf"),
        (torch.randn(20, 3, generator=torch.Generator().manual_seed(0)), "pass softmax"),
    ],
)
def test_what_is_no_posterior_is_refused(P, message):
    with pytest.raises(ValueError, match=message):
        estimate_transition(P)


GOOD = random_posteriors(200, 4, seed=14)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"method": "anker"},
            "no method is called 'anker'; choose from anchor, anchor-count, confident-joint",
        ),
        ({"method": "anchor-count"}, "'anchor-count' needs the noisy labels"),
        ({"method": "confident-joint"}, "'confident-joint' needs the noisy labels"),
        ({"labels": [0, 1]}, "2 labels for 200 samples"),
        ({"labels": [0] * 199 + [4]}, r"labels\[199\] is 4, but a label is 0 to 3"),
        ({"percentile": 0}, "percentile is 0, but must be above 75, to set aside less than a class of 4 has"),
        ({"percentile": 101}, "percentile is 101"),
        ({"percentile": 75}, "percentile is 75, but must be above 75"),
        ({"band": (0.3, 0.3), "method": "anchor-count", "labels": [0] * 200}, r"band is \(0.3, 0.3\)"),
        ({"band": (-0.1, 0.3), "method": "anchor-count", "labels": [0] * 200}, "band is"),
        ({"band": (0.1, 1.1), "method": "anchor-count", "labels": [0] * 200}, "band is"),
        ({"bootstrap": 1}, "bootstrap is 1, but a standard error needs 2 or more draws"),
        ({"bootstrap": -2}, "bootstrap is -2"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        estimate_transition(GOOD, **arguments)


def test_a_hundred_classes_need_no_percentile():
    with pytest.raises(ValueError, match=r"percentile is 97, but must be above 99, .* at most 100, or None"):
        estimate_transition(random_posteriors(500, 100, seed=0))


def test_a_class_without_any_candidate_is_named():
    P = np.array([[0.5, 0.5, 0.0], [0.3, 0.7, 0.0], [0.2, 0.8, 0.0]])
    with pytest.raises(ValueError, match="no posterior of class 2 is below its percentile 97"):
        estimate_transition(P)
