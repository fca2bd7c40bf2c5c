"""What is recommended follows from evidence that can be made, and ``auto`` follows the recommendation."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, make_classification

import fdiv
from fdiv import RobustClassifier, noise, recommend
from fdiv.learning import METHODS
from fdiv.learning.estimator import FLOOR, raised
from fdiv.learning.recommendation import CANDIDATES, Evidence, choose_loss
from fdiv.noise import TransitionEstimate


def evidence(T, prior=None, rows=1000, anchors=50, error=0.03, **more):
    """Evidence as if T had been estimated, ``anchors`` samples a row."""
    T = np.asarray(T, dtype=float)
    K = len(T)
    estimate = TransitionEstimate(
        T, np.full((K, K), error), "anchor-count", np.zeros((K, anchors), dtype=int)
    )
    prior = np.full(K, 1 / K) if prior is None else np.asarray(prior)
    return Evidence(rows, prior, estimate, **{"foretold": 0.6} | more)


@pytest.mark.parametrize(
    ("T", "prior", "name"),
    [
        (noise.symmetric(0.4, 5), None, "kl"),
        (noise.pair(0.35, 5), None, "plugin"),
        (noise.symmetric(0.4, 3), [0.5, 0.3, 0.2], "kl"),
        (noise.pair(0.35, 3), [0.5, 0.3, 0.2], "plugin"),
        ([[0.6, 0.4], [0.0, 1.0]], None, "plugin"),
        ([[0.6, 0.4], [0.4, 0.6]], None, "kl"),
    ],
)
def test_the_rule(T, prior, name):
    chosen, why = choose_loss(evidence(T, prior))
    assert chosen == name
    assert len(why) > 20
    assert ("certain other" in why) == (len(T) > 2)  # of two classes there is only one other


def test_flips_are_believed_to_be_uneven_only_where_labels_can_be_foretold():
    overlapping = evidence(noise.pair(0.35, 5), foretold=0.3)
    assert not overlapping.uneven
    name, why = choose_loss(overlapping)
    assert name == "kl"
    assert "30% of the labels can be foretold" in why


def test_what_the_evidence_says_of_a_matrix():
    assert evidence(noise.pair(0.4, 10), anchors=10**5).concentration == pytest.approx(
        0.4 * np.sqrt(8 / 9), rel=1e-3
    )
    assert evidence(noise.symmetric(0.4, 10)).concentration == pytest.approx(0, abs=1e-9)
    assert evidence(noise.symmetric(0.3, 4)).wrong[0] == pytest.approx(0.3)
    worse = np.eye(3)
    worse[0] = 0.2, 0.0, 0.8
    worse[2] = 0.9, 0.0, 0.1
    assert evidence(worse).led_by_another == [0, 2]
    assert evidence(noise.symmetric(0.3, 4)).led_by_another == []
    assert evidence(np.eye(2), flip_auroc=(0.7, 0.02)).looks_at_rows
    assert not evidence(np.eye(2), flip_auroc=(0.54, 0.001)).looks_at_rows


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


@pytest.mark.slow
@pytest.mark.parametrize(("T", "name"), [(noise.symmetric(0.4, 10), "kl"), (noise.pair(0.35, 10), "plugin")])
def test_noise_that_is_known_is_recognised(digits, T, name):
    X, y = digits
    advice = recommend(X, noise.corrupt(y, T, seed=0))
    assert advice.name == name
    rate, error = advice.evidence.wrong
    assert abs(rate - (1 - T[0, 0])) < 3 * error
    assert "every label is given most often to its own class" in str(advice)


@pytest.mark.slow
def test_flips_that_follow_the_row_are_foreseen():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1500, 3)), rng.integers(0, 2, 1500)
    X[:, 0] += np.where(y, 3, -3)
    by_row = np.where((X[:, 1] > 0.3) & (rng.random(1500) < 0.45), 1 - y, y)
    by_class = np.where(rng.random(1500) < 0.3, 1 - y, y)
    assert recommend(X, by_row).evidence.looks_at_rows
    assert not recommend(X, by_class).evidence.looks_at_rows


@pytest.mark.slow
def test_auto_is_what_is_recommended_and_the_same_training(digits):
    X, y = digits[0][:500], noise.corrupt(digits[1][:500], noise.symmetric(0.3, 10), seed=0)
    auto = RobustClassifier(random_state=0).fit(X, y)
    assert set(auto.diagnosis_) >= set(recommend(X, y, random_state=0).reasons)
    again = RobustClassifier(**CANDIDATES[auto.chosen_], random_state=0).fit(X, y)
    assert np.array_equal(auto.logits(X), again.logits(X))


def test_few_rows_texts_and_one_class():
    frame = pd.DataFrame({"a": [0.0, 1.0, 2.0], "b": ["x", "y", "x"]})
    advice = recommend(frame, ["ja", "nein", "ja"])
    assert advice.options == {"loss": "tv"}
    assert "fewer than 100 rows" in advice.reasons[-1]
    with pytest.raises(ValueError, match="one class only"):
        recommend(frame, ["ja"] * 3)


def test_a_class_that_what_was_recommended_gives_up_is_answered_all_the_same(monkeypatch):
    X, y = make_classification(
        400, 6, n_informative=4, n_redundant=0, weights=[0.8], class_sep=2, flip_y=0, random_state=0
    )
    losing = fdiv.FDivLoss("squared-hellinger", 2, label_prior=[0.999, 0.001])
    monkeypatch.setitem(CANDIDATES, "tv", {"loss": losing})
    monkeypatch.setattr("fdiv.learning.recommendation.choose_loss", lambda evidence: ("tv", "to be lost"))
    model = RobustClassifier(random_state=0).fit(X, y)
    assert any("its logit was raised" in sentence for sentence in model.diagnosis_)
    assert (model.predict(X) == 0).sum() >= FLOOR * (y == 0).sum()
    assert (model.predict(X) == 1).sum() >= FLOOR * (y == 1).sum()


def test_rows_that_are_all_alike_are_not_raised_in_vain():
    assert not raised(np.tile([2.0, 0.0, 1.0], (6, 1)), np.arange(6) % 3, FLOOR).any()


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5))
def test_raised_classes_are_answered_often_enough(seed, K):
    rng = np.random.default_rng(seed)
    z, labels = rng.normal(size=(300, K)), rng.integers(0, K, 300)
    z[:, 0] += 10
    answered = np.bincount((z + raised(z, labels, FLOOR)).argmax(1), minlength=K)
    assert (answered >= FLOOR * np.bincount(labels, minlength=K) - K).all()  # rows they compete for


def test_every_candidate_is_a_method():
    assert {options["loss"] for options in CANDIDATES.values()} <= set(METHODS)
