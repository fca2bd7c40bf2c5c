"""Where our number is below the paper's, and why: only what committed runs and T itself can show.

A divergence's cell of the main tables falls short if our mean lies more than ``MARGIN`` points below the
paper's. What may explain it is asked one after another, the surest first; ``REASONS`` names them.
"""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from fdiv.experiments.results import ROW, accuracy_column, our_accuracies, paper_table
from fdiv.learning.runs import ORACLE
from fdiv.noise.paper import paper_noise
from fdiv.theory import DIVERGENCES, exact

MARGIN = 0.3  # points
REASONS = {
    "budget": "the same cell, trained longer, reaches the paper's mean",
    "program": "the same cell, trained as the authors' program does, with a sampled second term, reaches it",
    "epoch": "another epoch of the same runs reaches it, which only clean test labels could have chosen",
    "ceiling": "the paper's mean lies above what the objective is largest for, which follows from T alone",
    "budget, as elsewhere": "not trained longer, but every cell of the dataset that was reaches its mean",
    "open": "none of these",
}
RELEASED = "equal to the released file"  # how a run says that it had the authors' own labels
HARD = "sparse-high"  # where the right label is not the most frequent one: its cells say nothing of others


def shortfalls(mode: str = "laptop", runs: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return the divergences' cells that fall short of the paper's mean, a row each, in percent.

    ``ours``, ``std`` and ``seeds`` are of the epoch that the paper's rule chooses, ``oracle`` of the best
    epoch on test labels. ``longer`` is the best longer training of the cell, of ``epochs`` epochs; both are
    nan where there was none. ``released`` says whether the labels were the authors' own, ``why`` is a key of
    ``REASONS``.

    mode: "laptop" or "paper".
    runs: rows as ``our_accuracies`` returns them, which is the default.

    >>> set(shortfalls("paper")["why"]) <= set(REASONS)
    True
    """
    cells = _cells(our_accuracies() if runs is None else runs)
    base = cells.query("mode == @mode and variant == 'paper' and ours < paper - @MARGIN")
    columns = [*ROW, "ours", "std", "seeds", "paper", "oracle", "released", "longer", "epochs", "why"]
    return pd.DataFrame([one.to_dict() | _why(one, cells) for _, one in base.iterrows()], columns=columns)


def _cells(runs: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each divergence's cell of the paper's tables and each way in which it was trained."""
    printed = paper_table("all-methods").dropna(subset="mean").rename(columns={"mean": "paper"})
    printed = printed[printed["method"].isin(list(DIVERGENCES))]
    runs = runs[runs["correction"] == "none"].assign(
        ours=100 * runs[accuracy_column("noisy-objective")],
        oracle=100 * runs[accuracy_column(ORACLE)],
        released=runs["labels"].str.startswith(RELEASED),
    )
    cells = runs.groupby([*ROW, "mode", "variant", "epochs"], as_index=False).agg(
        ours=("ours", "mean"),
        std=("ours", "std"),
        seeds=("seed", "nunique"),
        oracle=("oracle", "mean"),
        released=("released", "all"),
    )
    return cells.merge(printed[[*ROW, "paper"]], on=ROW)


def _why(one: pd.Series, cells: pd.DataFrame) -> dict[str, Any]:
    """Return the best longer training of a cell that falls short, and the first reason that explains it."""
    theirs = cells["variant"] == "authors-code"
    longer = cells[~theirs & (cells["dataset"] == one["dataset"]) & (cells["epochs"] > one["epochs"])]
    same = longer[(longer["noise"] == one["noise"]) & (longer["method"] == one["method"])]
    found = (
        same.loc[same["ours"].idxmax(), ["ours", "epochs"]].tolist() if len(same) else [math.nan, math.nan]
    )
    program = cells[theirs & (cells[ROW] == one[ROW]).all(axis=1)]
    enough, elsewhere = one["paper"] - MARGIN, longer[longer["noise"] != HARD]
    reached = len(elsewhere) > 0 and (elsewhere["ours"] >= elsewhere["paper"] - MARGIN).all()
    if len(same) and found[0] >= enough:
        why = "budget"
    elif (program["ours"] >= enough).any():
        why = "program"
    elif one["oracle"] >= enough:
        why = "epoch"
    elif one["paper"] > 100 * exact.ceiling(one["method"], paper_noise(one["dataset"], one["noise"])):
        why = "ceiling"
    elif one["noise"] != HARD and not len(same) and reached:
        why = "budget, as elsewhere"
    else:
        why = "open"
    return {"longer": found[0], "epochs": found[1], "why": why}
