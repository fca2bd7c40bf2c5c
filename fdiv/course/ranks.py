"""Methods on a line each: their accuracies, and the diagram of average ranks that says who is ahead."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from fdiv.course.figures import GREY


def accuracies_figure(
    values: Mapping[str, float], *, title: str, highlight: Mapping[str, str] | None = None
) -> go.Figure:
    """Return a bar per method, the largest at the top, with its value in percent.

    values: the accuracy of each method, by its title.
    highlight: a colour for some of the titles; the others are grey.

    >>> accuracies_figure({"TV": 85.4, "CE": 80.2}, title="Accuracy").data[0].y
    ('CE', 'TV')
    """
    ordered, colours = sorted(values.items(), key=lambda item: item[1]), highlight or {}
    bars = go.Bar(
        x=[value for _, value in ordered],
        y=[name for name, _ in ordered],
        text=[f"{value:.1f}" for _, value in ordered],
        textposition="outside",
        cliponaxis=False,
        marker_color=[colours.get(name, GREY) for name, _ in ordered],
        orientation="h",
    )
    return go.Figure(bars).update_layout(
        title=title,
        xaxis={"title": "accuracy in percent", "rangemode": "tozero"},
        height=110 + 22 * len(ordered),
        margin={"l": 150, "r": 50},
        showlegend=False,
    )


def ranks_figure(
    ranks: Mapping[str, float], critical: float, *, title: str, highlight: Mapping[str, str] | None = None
) -> go.Figure:
    """Return average ranks as points on a line each, the best at the top, with the critical difference.

    Methods whose point lies in the band cannot be told from the best one (Demšar, 2006).

    ranks: the average rank of each method, by its title.
    critical: by how much two average ranks must differ.
    highlight: a colour for some of the titles.

    >>> ranks_figure({"CE": 1.9, "TV": 1.1}, 0.5, title="Ranks").data[0].y
    ('TV', 'CE')
    """
    ordered = sorted(ranks.items(), key=lambda item: item[1])
    best, colours = ordered[0][1], highlight or {}
    figure = go.Figure(
        go.Scatter(
            x=[rank for _, rank in ordered],
            y=[name for name, _ in ordered],
            mode="markers+text",
            text=[f"{rank:.1f}" for _, rank in ordered],
            textposition="middle right",
            cliponaxis=False,
            marker={"size": 11, "color": [colours.get(name, "#7A8793") for name, _ in ordered]},
            hovertemplate="%{y}: average rank %{x:.2f}<extra></extra>",
        )
    )
    figure.add_vrect(x0=best, x1=best + critical, fillcolor="#0072B2", opacity=0.12, line_width=0)
    figure.add_annotation(
        x=best + critical / 2,
        y=1.0,
        yref="paper",
        yanchor="bottom",
        text=f"critical difference {critical:.1f}",
        showarrow=False,
    )
    return figure.update_layout(
        title=title,
        xaxis_title="average rank, 1 is best",
        yaxis={"autorange": "reversed"},
        height=110 + 22 * len(ordered),
        margin={"l": 150, "r": 45, "t": 80},
        showlegend=False,
    )
