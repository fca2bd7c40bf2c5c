"""Figures of notebook 14: a threshold over suspicions, and answers side by side with their spread."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import wrap

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from fdiv.course.figures import line_style

RIGHT, WRONG, INK = "#0072B2", "#D55E00", "#5b6570"
COLOURS = {"ce-last": "#B8BFC8", "ce-stopped": line_style("ce")["color"], "tv": line_style("tv")["color"]}


def precision_and_recall(suspicion: np.ndarray, wrong: np.ndarray, threshold: float) -> tuple[float, float]:
    """Return both for the labels whose suspicion is above the threshold; a precision of 1 where there are
    none.

    >>> precision_and_recall(np.array([0.9, 0.8, 0.1]), np.array([True, False, True]), 0.5)
    (0.5, 0.5)
    """
    flagged = suspicion > threshold
    precision = float(wrong[flagged].mean()) if flagged.any() else 1.0
    return precision, float(wrong[flagged].sum() / max(wrong.sum(), 1))


def threshold_figure(suspicion: np.ndarray, wrong: np.ndarray, threshold: float) -> go.Figure:
    """Return the suspicions of right and of wrong labels, cut by a threshold, with precision and recall.

    >>> threshold_figure(np.array([0.9, 0.8, 0.1]), np.array([True, False, True]), 0.5).layout.title.text
    '2 flagged: precision 50%, recall 50%'
    """
    parts = {"right": (suspicion[~wrong], RIGHT), "wrong": (suspicion[wrong], WRONG)}
    figure, tallest = go.Figure(), 1
    for name, (part, colour) in parts.items():
        heights, edges = np.histogram(part, np.linspace(0, 1, 21))
        tallest = max(tallest, heights.max())
        bars = np.where(heights, heights, np.nan)  # a log scale has no place for none
        middles = ((edges[:-1] + edges[1:]) / 2).round(3)
        figure.add_bar(x=middles, y=bars, name=f"label is {name}", marker_color=colour)
    figure.add_vline(x=threshold, line={"color": INK, "width": 2, "dash": "dash"})
    precision, recall = precision_and_recall(suspicion, wrong, threshold)
    title = f"{(suspicion > threshold).sum()} flagged: precision {precision:.0%}, recall {recall:.0%}"
    figure.update_layout(
        title=title,
        barmode="group",
        bargap=0.05,
        xaxis_title="how wrong the machine thinks the label is",
        yaxis_title="labels (log scale)",
    )
    figure.update_xaxes(range=[-0.02, 1.02])
    return figure.update_yaxes(type="log", range=[np.log10(0.7), np.log10(1.5 * tallest)], dtick=1)


def answers_figure(scores: pd.DataFrame, names: Mapping[str, str], *, title: str) -> go.Figure:
    """Return one group of bars per case, one bar per answer, with the spread over seeds.

    scores: columns ``case``, ``method`` and ``accuracy``, a row for each run.

    >>> scores = pd.DataFrame({"case": ["wine", "wine"], "method": ["tv", "tv"], "accuracy": [0.9, 0.8]})
    >>> answers_figure(scores, {"tv": "total variation"}, title="Wine").data[0].text
    ('85%',)
    """
    figure = go.Figure()
    for method, label in names.items():
        part = scores[scores["method"] == method].groupby("case", sort=False)["accuracy"]
        mean, spread = part.mean(), part.std(ddof=1).fillna(0)
        figure.add_bar(
            x=["<br>".join(wrap(case, 12)) for case in mean.index],
            y=mean,
            name=label,
            marker_color=COLOURS[method],
            error_y={"type": "data", "array": spread},
            text=[f"{value:.0%}" for value in mean],
            textposition="inside",
            insidetextanchor="start",
        )
    figure.update_layout(title=title, barmode="group", yaxis_title="accuracy on clean labels")
    figure.update_xaxes(tickangle=0, tickfont_size=10, automargin=True)
    return figure.update_yaxes(range=(0, 1), tickformat=".0%")
