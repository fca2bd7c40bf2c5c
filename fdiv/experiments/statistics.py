"""Is one method ahead of another, or lucky? Paired intervals, average ranks and their critical difference.

Two methods that were trained with the same seeds on the same labels are compared run by run, so that what is
common to both cancels. Many methods over many settings are compared by their ranks, as Demšar (*Statistical
Comparisons of Classifiers over Multiple Data Sets*, JMLR 2006) proposes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd


class Difference(NamedTuple):
    """The mean of paired differences with its confidence interval.

    mean: first minus second.
    low, high: the interval; both nan where there are fewer than two pairs.
    pairs: how many pairs there were.
    """

    mean: float
    low: float
    high: float
    pairs: int

    @property
    def verdict(self) -> str:
        """Return "ahead", "behind" or "tied": on which side of zero the whole interval lies, if on one."""
        if self.low > 0:
            return "ahead"
        return "behind" if self.high < 0 else "tied"


def paired_difference(
    first: Sequence[float], second: Sequence[float], *, confidence: float = 0.95
) -> Difference:
    """Return the mean difference of two methods over pairs of runs, with Student's confidence interval.

    first, second: what each method reached, in the same order of seeds or settings. A pair in which a number
        is missing (nan) is left out; one pair alone has no interval.
    confidence: of the interval, between 0 and 1.

    >>> difference = paired_difference([0.91, 0.84, 0.88, 0.93], [0.89, 0.83, 0.85, 0.92])
    >>> f"{difference.mean:.4f} from {difference.low:.4f} to {difference.high:.4f}: {difference.verdict}"
    '0.0175 from 0.0023 to 0.0327: ahead'
    """
    from scipy import stats  # slow to import

    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"pairs need two lists of one length, but their shapes are {a.shape} and {b.shape}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence!r}, but must lie between 0 and 1, such as 0.95")
    gaps = (a - b)[~np.isnan(a - b)]
    if not len(gaps):
        raise ValueError("there is no pair: the two methods share no run")
    mean = float(gaps.mean())
    if len(gaps) == 1:
        return Difference(mean, float("nan"), float("nan"), 1)
    half = float(stats.t.ppf((1 + confidence) / 2, len(gaps) - 1) * stats.sem(gaps))
    return Difference(mean, mean - half, mean + half, len(gaps))


def on_shared_seeds(runs: pd.DataFrame, methods: Sequence[str], column: str) -> pd.DataFrame:
    """Return the mean of each method in each setting, over the seeds that all of ``methods`` were run with.

    runs: a row per run, with columns ``dataset``, ``noise``, ``method``, ``seed``. Means over different seeds
        are no pairs: a lucky seed would count for the one method that had it.
    column: which number to average.

    >>> cell = {"dataset": "digits", "noise": "uniform-low"}
    >>> reached = [("ce", 0, 0.7), ("tv", 0, 0.8), ("tv", 1, 0.6)]
    >>> runs = pd.DataFrame([cell | {"method": m, "seed": s, "accuracy": a} for m, s, a in reached])
    >>> on_shared_seeds(runs, ["ce", "tv"], "accuracy").loc[("digits", "uniform-low")].to_dict()
    {'ce': 0.7, 'tv': 0.8}
    """
    wide = runs.pivot_table(column, ["dataset", "noise", "seed"], "method", observed=True)
    return wide.reindex(columns=list(methods)).dropna().groupby(level=["dataset", "noise"]).mean()


def average_ranks(table: pd.DataFrame) -> pd.Series:
    """Return the mean rank of each method, the best first; 1 is best, and equals share a rank.

    table: a row per setting, a column per method, larger is better. A setting in which a method is missing is
        left out, since the ranks of the others would shift.

    >>> table = pd.DataFrame({"ce": [0.7, 0.8], "tv": [0.9, 0.8], "kl": [0.8, 0.7]})
    >>> average_ranks(table).to_dict()
    {'tv': 1.25, 'ce': 2.25, 'kl': 2.5}
    """
    return _whole(table).rank(axis=1, ascending=False).mean().sort_values(kind="stable")


def friedman(table: pd.DataFrame) -> float:
    """Return the p-value of Friedman's test: how often equal methods would have ranks that differ so much.

    table: as for ``average_ranks``, with three methods or more.

    >>> round(friedman(pd.DataFrame({"a": range(9), "b": range(1, 10), "c": range(2, 11)})), 6)
    0.000123
    """
    from scipy import stats  # slow to import

    whole = _whole(table)
    if whole.shape[1] < 3:
        raise ValueError(
            f"Friedman's test compares three methods or more, not {whole.shape[1]}: use paired_difference"
        )
    return float(stats.friedmanchisquare(*(whole[method] for method in whole)).pvalue)


def critical_difference(methods: int, settings: int, *, alpha: float = 0.05) -> float:
    """Return by how much two average ranks must differ to be told apart (the test of Nemenyi).

    methods: how many methods are compared, two or more.
    settings: over how many settings their ranks were averaged.
    alpha: the chance of an error that is allowed, over all pairs together.

    >>> round(critical_difference(4, 14), 2)  # the example of Demšar (2006)
    1.25
    """
    from scipy import stats  # slow to import

    if methods < 2 or settings < 1:
        raise ValueError(f"{methods} methods in {settings} settings cannot be compared: 2 and 1 at least")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is {alpha!r}, but must lie between 0 and 1, such as 0.05")
    q = stats.studentized_range.ppf(1 - alpha, methods, np.inf) / 2**0.5
    return float(q * (methods * (methods + 1) / (6 * settings)) ** 0.5)


def _whole(table: pd.DataFrame) -> pd.DataFrame:
    """Return the settings in which every method has a number."""
    whole = table.dropna()
    if whole.empty:
        raise ValueError("there is no setting in which every method has a number: compare fewer methods")
    return whole
