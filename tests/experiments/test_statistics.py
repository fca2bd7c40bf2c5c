"""Comparisons against a published example, SciPy, and what they must do when nothing differs."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from fdiv.experiments.statistics import (
    average_ranks,
    critical_difference,
    friedman,
    paired_difference,
)

# The ranks of four variants of C4.5 on 14 datasets, in table 6 of Demšar, JMLR 7 (2006), 1-30.
DEMSAR = pd.DataFrame(
    {
        "C4.5": [4, 1, 4, 4, 4, 1, 3, 2.5, 4, 2.5, 4, 3, 4, 3],
        "C4.5+m": [3, 2, 1, 1, 2, 2.5, 2, 2.5, 3, 2.5, 2.5, 2, 1, 1],
        "C4.5+cf": [2, 3, 2, 3, 3, 4, 4, 4, 2, 2.5, 1, 4, 2, 4],
        "C4.5+m+cf": [1, 4, 3, 2, 1, 2.5, 1, 1, 1, 2.5, 2.5, 1, 3, 2],
    }
)


def test_the_published_ranks_come_out():
    ranks = average_ranks(-DEMSAR)
    assert ranks.round(3).to_dict() == {"C4.5+m+cf": 1.964, "C4.5+m": 2.0, "C4.5+cf": 2.893, "C4.5": 3.143}
    assert list(ranks.index) == ["C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5"]


def test_the_published_critical_differences_come_out():
    """q is 2.569 for four methods at 0.05 and 2.291 at 0.10 in Demšar's table 5 (a)."""
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)
    for methods, alpha, q in ((2, 0.05, 1.960), (4, 0.05, 2.569), (10, 0.05, 3.164), (4, 0.10, 2.291)):
        got = critical_difference(methods, 1, alpha=alpha) / math.sqrt(methods * (methods + 1) / 6)
        assert got == pytest.approx(q, abs=0.001)


def test_friedman_is_the_published_test_corrected_for_ties():
    """The published statistic is 9.28; three pairs and one row of four equals divide it by 1 - 78/840."""
    ranks = average_ranks(-DEMSAR)
    assert 12 * 14 / 20 * ((ranks**2).sum() - 25) == pytest.approx(9.28, abs=0.005)
    assert friedman(-DEMSAR) == pytest.approx(stats.chi2.sf(9.28 / (1 - 78 / 840), 3), rel=0.01)
    assert friedman(DEMSAR) == pytest.approx(friedman(-DEMSAR))


def test_the_paired_interval_is_that_of_the_one_sample_t_test():
    rng = np.random.default_rng(0)
    first = rng.normal(0.9, 0.05, 7)
    second = first - rng.normal(0.01, 0.01, 7)
    got = paired_difference(first, second, confidence=0.9)
    low, high = stats.ttest_rel(first, second).confidence_interval(0.9)
    assert (got.low, got.high) == pytest.approx((low, high))
    assert got.mean == pytest.approx((first - second).mean())
    assert got.pairs == 7


def test_the_interval_covers_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(2000):
        common = rng.normal(size=5)
        got = paired_difference(common + rng.normal(0.3, 1, 5), common)
        hits += got.low <= 0.3 <= got.high
    assert 0.935 < hits / 2000 < 0.965


def test_verdicts():
    assert paired_difference([2, 2.1, 1.9], [1, 1.0, 1.0]).verdict == "ahead"
    assert paired_difference([1, 1.0, 1.0], [2, 2.1, 1.9]).verdict == "behind"
    assert paired_difference([1, 2, 3], [2, 1, 3]).verdict == "tied"


def test_one_pair_is_tied_and_a_missing_number_is_no_pair():
    one = paired_difference([0.9, float("nan")], [0.1, 0.2])
    assert (one.pairs, one.verdict) == (1, "tied")
    assert math.isnan(one.low)
    assert math.isnan(one.high)


def test_equal_runs_have_no_interval_to_speak_of():
    assert paired_difference([0.5, 0.6], [0.5, 0.6]) == (0.0, 0.0, 0.0, 2)


def test_a_setting_with_a_missing_method_is_left_out_of_the_ranks():
    table = pd.DataFrame({"a": [1, 1, 9.0], "b": [2, 2, float("nan")]})
    assert average_ranks(table).to_dict() == {"b": 1.0, "a": 2.0}


def test_equal_methods_are_told_apart_no_more_often_than_alpha_says():
    rng = np.random.default_rng(2)
    wrong = 0
    for _ in range(300):
        ranks = average_ranks(pd.DataFrame(rng.normal(size=(20, 5))))
        wrong += ranks.max() - ranks.min() > critical_difference(5, 20)
    assert wrong / 300 < 0.09


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: paired_difference([1, 2], [1]), r"pairs need two lists of one length.*\(2,\) and \(1,\)"),
        (lambda: paired_difference([], []), "there is no pair"),
        (
            lambda: paired_difference([1], [2], confidence=95),
            "confidence is 95, but must lie",
        ),
        (lambda: friedman(pd.DataFrame({"a": [1], "b": [2]})), "three methods or more, not 2"),
        (lambda: average_ranks(pd.DataFrame({"a": [float("nan")]})), "no setting in which every method"),
        (lambda: critical_difference(1, 5), "1 methods in 5 settings cannot be compared"),
        (lambda: critical_difference(3, 5, alpha=5), "alpha is 5, but must lie between 0 and 1"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
