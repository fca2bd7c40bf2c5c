"""Functions that return a ``plotly.graph_objects.Figure``. Nothing is displayed in here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import plotly.io as pio
import torch
from torch import Tensor

from fdiv.datasets import CATALOGUE
from fdiv.experiments.results import paper_robustness
from fdiv.learning.methods import METHODS
from fdiv.theory.divergences import DIVERGENCES, divergence

# One objective under different labels, where no methods are compared.
LABELLINGS = {
    "clean labels": ("#0072B2", "solid"),
    "noisy labels": ("#D55E00", "solid"),
    "paper's correction": ("#E69F00", "dash"),
    "exact correction": ("#009E73", "dot"),
}
OTHER = ("#999999", "longdash")
GREY = "#C3CAD1"  # a line that is there for comparison
INK = "#222B36"  # on light cells
BOTH = "#66717D"  # to be read on white and on black: JupyterLab has both, and a page puts its own in place
TOP = 3**0.5 / 2  # the height of a triangle of side 1

_AXIS = {
    "gridcolor": "rgba(128,140,152,0.22)",
    "zerolinecolor": "rgba(128,140,152,0.6)",
    "linecolor": "rgba(128,140,152,0.6)",
    "ticks": "outside",
    "title": {"standoff": 8},
}

# No paper, so that a figure is at home on a dark page too; small, because every stored figure carries it.
pio.templates["fdiv"] = go.layout.Template(
    layout={
        "font": {"family": "system-ui, sans-serif", "size": 13, "color": BOTH},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "xaxis": _AXIS,
        "yaxis": _AXIS,
        "margin": {"l": 60, "r": 20, "t": 56, "b": 50},
        "height": 380,
        "title": {"x": 0.02, "xanchor": "left", "font": {"size": 15}},
        "hovermode": "closest",
        "colorway": [METHODS[method].colour for method in METHODS],
    }
)
pio.templates.default = "fdiv"


def line_style(method: str) -> dict[str, object]:
    """Colour, dash and width of ``method``, the same in every notebook.

    >>> line_style("tv")
    {'color': '#0072B2', 'dash': 'solid', 'width': 2.5}
    """
    if method in METHODS:
        colour, dash = METHODS[method].colour, METHODS[method].dash
    else:
        colour, dash = LABELLINGS.get(method, OTHER)
    return {"color": colour, "dash": dash, "width": 2.5}


def curves_figure(
    curves: Mapping[str, Sequence[float]],
    x: Sequence[float],
    *,
    names: Mapping[str, str] | None = None,
    title: str,
    x_title: str,
    y_title: str,
    y_range: tuple[float, float] | None = None,
    story: Sequence[str] | None = None,
) -> go.Figure:
    """One line per method over a shared x.

    curves: method to its y values; the key picks the colour.
    names: what the legend says for a key, where it is not the key itself.
    story: the two or three lines that the text is about: in colour, with their names at their ends. The
        others are thin and grey, and say their names when pointed at. All in colour with a legend when None.

    >>> lines = {"ce": [0.5, 0.4], "tv": [0.5, 0.8]}
    >>> figure = curves_figure(lines, [1, 2], title="Two epochs", x_title="epoch", y_title="accuracy")
    >>> [line.name for line in figure.data]
    ['ce', 'tv']
    """
    figure = go.Figure()
    names = dict(names or {})
    for method in sorted(curves, key=lambda method: method in (story or ())):
        grey = story is not None and method not in story
        figure.add_scatter(
            x=_compact(x),
            y=_compact(curves[method]),
            name=names.get(method, method),
            mode="lines",
            line={"color": GREY, "width": 1.5} if grey else line_style(method),
        )
    figure.update_layout(title=title, xaxis_title=x_title, yaxis_title=y_title, showlegend=story is None)
    if y_range:
        figure.update_yaxes(range=y_range)
    if story is not None:
        _name_lines(figure, {names.get(method, method): curves[method] for method in story}, y_range)
    return figure


def _name_lines(
    figure: go.Figure, lines: Mapping[str, Sequence[float]], y_range: tuple[float, float] | None
) -> None:
    """Write the name of each line at its right end, moved apart where two would touch."""
    shown = np.concatenate([np.asarray(trace.y, dtype=float) for trace in figure.data])
    low, high = y_range or (np.nanmin(shown), np.nanmax(shown))
    apart = 0.065 * (high - low)  # the height of a word
    ends = sorted((float(np.clip(np.asarray(y)[-1], low, high)), name) for name, y in lines.items())
    at = -np.inf
    for end, name in ends:
        at = max(end, at + apart)
        (colour,) = [trace.line.color for trace in figure.data if trace.name == name]
        place = {"x": 1.01, "xref": "x domain", "xanchor": "left", "y": at, "showarrow": False}
        figure.add_annotation(text=name, font={"color": colour}, **place)
    figure.update_layout(margin_r=20 + round(7.4 * max(map(len, lines))))


def panels_figure(
    panels: Sequence[tuple[str, str, Sequence[float], Mapping[str, Sequence[float]]]],
    *,
    title: str,
    y_range: tuple[float, float] | None = None,
    highlight: str | None = None,
) -> go.Figure:
    """Panels side by side with one legend, a line per divergence in each.

    panels: (heading, title of the x axis, x, divergence to its y values).
    highlight: the divergence to draw in its colour while the others are grey; all in colour when None.

    >>> panel = ("The generator", "ratio", [0.5, 1.0], {"tv": [0.25, 0.0]})
    >>> panels_figure([panel], title="One panel").data[0].name
    'Total variation'
    """
    from plotly.subplots import make_subplots

    figure = make_subplots(
        1, len(panels), subplot_titles=[panel[0] for panel in panels], horizontal_spacing=0.09
    )
    for column, (_, x_title, x, lines) in enumerate(panels, 1):
        for name in sorted(lines, key=lambda name: name == highlight):
            grey = highlight is not None and name != highlight
            figure.add_scatter(
                x=_compact(x),
                y=_compact(lines[name]),
                name=divergence(name).title,
                legendgroup=name,
                showlegend=column == 1 and highlight is None,
                line={"color": GREY, "width": 1.5} if grey else line_style(name),
                row=1,
                col=column,
            )
        figure.update_xaxes(title=x_title, row=1, col=column)
    below = {"orientation": "h", "y": -0.22, "x": 0.5, "xanchor": "center"}
    figure.update_layout(title=title, height=440, margin={"t": 86, "b": 110}, legend=below)
    if y_range:
        figure.update_yaxes(range=y_range)
    return figure


def bars_figure(values: Mapping[str, float], *, title: str, x_title: str) -> go.Figure:
    """One bar per divergence, in its colour, with its value.

    >>> bars_figure({"tv": 0.2, "js": 0.1}, title="Two divergences", x_title="D").data[0].text
    ('0.100', '0.200')
    """
    names = list(values)[::-1]
    figure = go.Figure(
        go.Bar(
            x=[values[name] for name in names],
            y=[divergence(name).title for name in names],
            text=[f"{values[name]:.3f}" for name in names],
            textposition="outside",
            cliponaxis=False,
            marker_color=[line_style(name)["color"] for name in names],
            orientation="h",
        )
    )
    figure.update_layout(title=title, xaxis_title=x_title, margin={"l": 130, "r": 60}, showlegend=False)
    figure.update_xaxes(rangemode="tozero")
    return figure


def ranges_figure(ranges: Mapping[str, tuple[float, float]], *, title: str) -> go.Figure:
    """A horizontal bar from the smallest to the largest noisy D / clean D, a stroke where these agree.

    ranges: title of a divergence to the two ends.

    >>> ranges = {"Total variation": (0.5, 0.5), "KL": (0.2, 0.4)}
    >>> [bar.text for bar in ranges_figure(ranges, title="Two ranges").data]
    ['one number', '0.20 to 0.40']
    """
    figure = go.Figure()
    for name, (low, high) in ranges.items():
        style = line_style(next((key for key in DIVERGENCES if divergence(key).title == name), name))
        figure.add_bar(
            y=[name],
            x=[max(high - low, 0.005)],
            base=[low],
            text="one number" if high - low < 1e-6 else f"{low:.2f} to {high:.2f}",
            textposition="outside",
            cliponaxis=False,
            orientation="h",
            marker_color=style["color"],
        )
    figure.update_xaxes(range=(0, 1.2), title="noisy D / clean D")
    figure.update_yaxes(autorange="reversed")
    figure.update_layout(title=title, showlegend=False, margin={"l": 140}, height=60 + 40 * len(ranges))
    return figure


def simplex_figure(
    values: Callable[[Tensor], Tensor], mark: Sequence[float], *, title: str, log: bool | None = None
) -> go.Figure:
    """Contours of a function of three probabilities, over the triangle of all such distributions.

    values: maps rows of probabilities, shape (n, 3), to n numbers.
    mark: the distribution to mark with a cross.
    log: whether colours go by the logarithm; by default where the function grows without end at the border.

    >>> uniform = [1 / 3, 1 / 3, 1 / 3]
    >>> figure = simplex_figure(lambda p: (p - 1 / 3).abs().sum(-1) / 2, uniform, title="From uniform")
    >>> figure.data[0].type
    'contour'
    """
    side = 41
    x, y = torch.meshgrid(_unit(side), _unit(side) * TOP, indexing="xy")
    third = y / TOP
    second = x - third / 2
    p = torch.stack([1 - second - third, second, third], -1)
    inside = (p > -1.5 / side).all(-1)  # and one more beyond the border, under the white
    p = p.clamp(min=1e-3).reshape(-1, 3)
    z = values(p / p.sum(-1, keepdim=True)).reshape(side, side)
    log = _is_unbounded(values) if log is None else log
    scale: dict[str, object] = {"ncontours": 14, "colorbar": {"title": "D"}}
    if log:
        z = z.clamp(min=1e-3).log10()
        ticks = {"tickvals": [-3, -2, -1, 0, 1, 2], "ticktext": ["0.001", "0.01", "0.1", "1", "10", "100"]}
        scale = {"contours": {"start": -3, "end": 2, "size": 0.25}, "zmin": -2, "zmax": 1.5}
        scale["colorbar"] = {"title": "D", **ticks}
    z = torch.where(inside, z, torch.nan)
    across = {"x": _compact(x[0]), "y": _compact(y[:, 0])}
    figure = go.Figure(go.Contour(z=_compact(z), **across, colorscale="Viridis", **scale))
    for outside in (0, 1):
        edge, far = (-0.05, -0.1) if outside == 0 else (1.05, 1.1)
        path = f"M {outside} 0 L 0.5 {TOP} L 0.5 1 L {far} 1 L {far} -0.04 L {edge} -0.04 Z"
        figure.add_shape(type="path", path=path, fillcolor="white", line_width=0)
    _, q2, q3 = mark
    figure.add_scatter(
        x=[q2 + q3 / 2], y=[q3 * TOP], mode="markers+text", text=["Q"], textposition="top right"
    )
    figure.update_traces(
        marker={"symbol": "x", "size": 11, "color": "white"}, textfont_color="white", selector=1
    )
    for corner, (cx, cy) in {
        "always 1": (0, -0.05),
        "always 2": (1, -0.05),
        "always 3": (0.5, TOP + 0.05),
    }.items():
        figure.add_annotation(x=cx, y=cy, text=corner, showarrow=False)
    figure.update_xaxes(visible=False, range=(-0.1, 1.1))
    figure.update_yaxes(visible=False, scaleanchor="x", range=(-0.1, 0.98))
    figure.update_layout(title=title, height=460, showlegend=False)
    return figure


def _is_unbounded(values: Callable[[Tensor], Tensor]) -> bool:
    """Whether a function of three probabilities still grows when one of them is next to nothing."""
    near, nearer = (
        torch.tensor([[e, 0.5, 0.5 - e], [0.5 - e, e, 0.5], [0.5, 0.5 - e, e]], dtype=torch.float64)
        for e in (1e-6, 1e-12)
    )
    return bool((values(nearer) > 1.2 * values(near)).any())


def _unit(steps: int) -> Tensor:
    return torch.linspace(0, 1, steps, dtype=torch.float64)


def _compact(values: Sequence[float] | Sequence[Sequence[float]] | Tensor) -> np.ndarray:
    """float32 draws the same line as float64, and plotly stores an array in few bytes; inf leaves a gap."""
    array = np.asarray(values, dtype=np.float32)
    return np.where(np.isfinite(array), array, np.float32("nan"))


def matrix_figure(
    T: Sequence[Sequence[float]], *, title: str, names: Sequence[str] | None = None
) -> go.Figure:
    """A transition matrix as a heatmap with its numbers; a row is a clean class, a column a noisy label.

    >>> [list(row) for row in matrix_figure([[0.8, 0.2], [0.2, 0.8]], title="T").data[0].text]
    [['.80', '.20'], ['.20', '.80']]
    """
    figure = go.Figure(_matrix_trace(T, names))
    figure.update_xaxes(title="noisy label j", dtick=1)
    figure.update_yaxes(title="clean class i", dtick=1, autorange="reversed")
    figure.update_layout(title=title, height=340 if len(T) < 5 else 460)
    return figure


def noise_figure(
    T: Sequence[Sequence[float]],
    images: Sequence[Sequence[Sequence[float]]],
    captions: Sequence[str],
    *,
    title: str,
) -> go.Figure:
    """A transition matrix, and beside it images with the labels it gave them.

    Built in one piece, as a slider has to wait for it: ``make_subplots`` takes twice as long.

    >>> T, images = [[0.8, 0.2], [0.2, 0.8]], [[[0, 1], [1, 0]]]
    >>> [part.type for part in noise_figure(T, images, ["0 becomes 1"], title="Noise").data]
    ['heatmap', 'heatmap']
    """
    pixels, layout = _images(images, captions, columns=4, axes=("x2", "y2"))
    layout["xaxis2"] |= {"domain": (0.52, 1)}
    layout |= {
        "title": {"text": title},
        "xaxis": {"title": {"text": "noisy label"}, "dtick": 1, "domain": (0, 0.48)},
        "yaxis": {"title": {"text": "clean class"}, "dtick": 1, "autorange": "reversed"},
        "height": 440,
        "margin": {"l": 50, "r": 10, "t": 80, "b": 50},
    }
    return go.Figure([_matrix_trace(T), pixels], layout)


def _matrix_trace(T: Sequence[Sequence[float]], names: Sequence[str] | None = None) -> go.Heatmap:
    """Darker is more probable; the scale ends at 1, so that two matrices compare."""
    numbers = [["" if entry < 5e-4 else f"{entry:.2f}".lstrip("0") for entry in row] for row in T]
    return go.Heatmap(
        z=_compact(T),
        x=names,
        y=names,
        zmin=0,
        zmax=1,
        text=numbers,
        texttemplate="%{text}",
        textfont_size=10 if len(T) > 5 else 14,
        colorscale="Blues",
        showscale=False,
        hovertemplate="%{y} becomes %{x} with probability %{z:.4f}<extra></extra>",
    )


def images_figure(
    images: Sequence[Sequence[Sequence[float]]], captions: Sequence[str], *, title: str, columns: int = 6
) -> go.Figure:
    """Small grey images in a grid, each with its caption above.

    >>> figure = images_figure([[[0, 1], [1, 0]]], ["a cross"], title="One image")
    >>> figure.layout.annotations[0].text
    'a cross'
    """
    pixels, layout = _images(images, captions, columns=columns, axes=("x", "y"))
    (_, high, wide), lines = np.shape(images), _lines(captions)
    above, between = _spaces(high, wide, lines)
    grid = {"count": len(images), "columns": columns, "above": above}
    pixels.meta = {"grid": grid | {"high": high + above, "wide": wide + between}}  # for a narrow page
    room = -(-len(images) // columns) * (115 + 18 * lines)
    margin = {"l": 10, "r": 10, "t": 60, "b": 10}
    return go.Figure(pixels, layout | {"title": {"text": title}, "height": 70 + room, "margin": margin})


def _images(
    images: Sequence[Sequence[Sequence[float]]],
    captions: Sequence[str],
    *,
    columns: int,
    axes: tuple[str, str],
) -> tuple[go.Heatmap, dict[str, object]]:
    """Images in a grid, and the layout of their axes and captions.

    They are drawn as one: a browser takes ten times as long for a pair of axes for each.
    """
    pixels = np.asarray(images, dtype=np.float32)
    count, high, wide = pixels.shape
    darkest = pixels.max(axis=(1, 2), keepdims=True)
    pixels = pixels / np.where(darkest > 0, darkest, 1)
    above, between = _spaces(high, wide, _lines(captions))
    rows = -(-count // columns)
    canvas = np.full((rows * (high + above), columns * (wide + between)), np.nan)
    x, y = axes
    notes = []
    for index, (image, caption) in enumerate(zip(pixels, captions, strict=True)):
        top = index // columns * (high + above) + above
        left = index % columns * (wide + between) + between // 2
        canvas[top : top + high, left : left + wide] = image
        place = {"x": left + (wide - 1) / 2, "y": top - 0.5, "xref": x, "yref": y, "yanchor": "bottom"}
        notes.append({"text": caption, "font": {"size": 12}, "showarrow": False, **place})
    fitted = {"visible": False, "constrain": "domain"}
    reversed_ = {"autorange": "reversed", "scaleanchor": x, "constraintoward": "top"}
    layout = {
        x.replace("x", "xaxis"): fitted | {"anchor": y},
        y.replace("y", "yaxis"): fitted | reversed_ | {"anchor": x},
        "annotations": notes,
    }
    grey = {"colorscale": "gray_r", "zmin": 0, "zmax": 1, "showscale": False, "hoverinfo": "skip"}
    return go.Heatmap(z=_compact(canvas), xaxis=x, yaxis=y, **grey), layout


def _spaces(high: int, wide: int, lines: int) -> tuple[int, int]:
    """The pixels above an image, for a caption of so many lines, and those between two."""
    return round(high * (0.1 + 0.18 * lines)) + 1, round(0.15 * wide) + 1


def _lines(captions: Sequence[str]) -> int:
    return 1 + max(caption.count("<br>") for caption in captions)


def shares_figure(shares: Mapping[str, Mapping[str, float]], *, title: str) -> go.Figure:
    """One bar per name, cut into shares that add up to one.

    >>> shares = {"ce": {"memorised": 0.7, "seen through": 0.3}}
    >>> [part.name for part in shares_figure(shares, title="Flipped examples").data]
    ['memorised', 'seen through']
    """
    colours = dict(zip(next(iter(shares.values())), ("#0072B2", "#E69F00", "#B8BFC8"), strict=False))
    figure = go.Figure()
    for part, colour in colours.items():
        heights = [one[part] for one in shares.values()]
        text = [f"{height:.0%}" if height > 0.04 else "" for height in heights]
        figure.add_bar(x=list(shares), y=heights, name=part, marker_color=colour, text=text)
    figure.update_layout(title=title, barmode="stack", bargap=0.5, yaxis_title="share of flipped examples")
    figure.update_yaxes(range=(0, 1.02), tickformat=".0%")
    figure.update_layout(uniformtext={"minsize": 12, "mode": "hide"})
    return figure


def with_slider(figure_function: Callable[..., go.Figure], **values: Sequence[object]) -> None:
    """``explore`` with one control, whose positions are listed: ``with_slider(draw, q=[0.1, 0.5, 0.9])``.

    >>> draw = lambda q: bars_figure({"tv": q}, title="Moved", x_title="D")
    >>> with_slider(draw, q=[0.1, 0.5, 0.9])  # doctest: +SKIP
    """
    from fdiv.course.controls import explore

    if len(values) != 1:
        raise ValueError(f"with_slider moves one argument, not {len(values)}: {', '.join(values) or 'none'}")
    explore(figure_function, **{name: list(steps) for name, steps in values.items()})


def robustness_figure(runs: pd.DataFrame) -> go.Figure:
    """Accuracy against the rate of symmetric noise: lines are ours, the mean over seeds, crosses the paper's.

    CIFAR-10, which the paper draws, has whole lines, and other datasets have dotted ones.

    runs: rows of ``fdiv.experiments.our_robustness``.

    >>> from fdiv.experiments import our_robustness
    >>> figure = robustness_figure(our_robustness().query("method == 'tv'"))
    >>> figure.data[0].name, figure.data[0].line.dash
    ('Total variation, ours, CIFAR-10', 'solid')
    """
    figure = go.Figure()
    means = runs.groupby(["dataset", "method", "rate"])["accuracy_noisy_objective"].mean().reset_index()
    for (dataset, method), part in means.groupby(["dataset", "method"]):
        figure.add_scatter(
            x=part["rate"],
            y=part["accuracy_noisy_objective"],
            name=f"{METHODS[method].title}, ours, {CATALOGUE[dataset].title}",
            line=line_style(method) | {"dash": "solid" if dataset == "cifar-10" else "dot"},
        )
    for method, part in paper_robustness().dropna().groupby("method"):
        figure.add_scatter(
            x=part["rate"],
            y=part["accuracy"],
            name=f"{METHODS[method].title}, paper, CIFAR-10",
            mode="markers",
            marker={"color": line_style(method)["color"], "symbol": "x", "size": 8},
        )
    return figure.update_layout(
        title="Accuracy on clean test data under symmetric noise",
        xaxis={"title": "noise rate", "tickformat": ".0%"},
        yaxis={"title": "accuracy", "tickformat": ".0%", "range": (0, 1.02)},
    )


def beside_figure(
    rows: Sequence[str],
    columns: Sequence[str],
    ours: Sequence[Sequence[float]],
    theirs: Sequence[Sequence[float]],
    *,
    title: str,
    seeds: Sequence[Sequence[float]] | None = None,
    spread: Sequence[Sequence[float]] | None = None,
    scale: float = 5.0,
) -> go.Figure:
    """A table of two numbers per cell, ours above theirs, coloured by the difference.

    Blue is ours higher, red is ours lower, white no difference, and full colour ``scale`` points apart. A
    number that is nan is written as a dash; a cell where one of the two is missing stays grey.

    seeds: how many runs each of our numbers is the mean of. More than one are printed bold.
    spread: their standard deviations, which are shown with the seeds where the pointer rests.

    >>> figure = beside_figure(["mnist"], ["tv"], [[97.3]], [[98.0]], title="Ours above theirs", seeds=[[3]])
    >>> figure.layout.annotations[0].text
    '<b>97.3</b><br>98.0'
    """
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    runs = np.full(ours.shape, np.nan) if seeds is None else np.asarray(seeds, dtype=float)
    scatter = np.full(ours.shape, np.nan) if spread is None else np.asarray(spread, dtype=float)
    difference = ours - theirs
    bar = {"title": "ours − paper,<br>points"}
    heat = go.Heatmap(
        z=_compact(difference), colorscale="RdBu", zmin=-scale, zmax=scale, xgap=2, ygap=2, colorbar=bar
    )
    told = [[_told(runs[i, j], scatter[i, j]) for j in range(len(columns))] for i in range(len(rows))]
    heat.update(hovertemplate="%{z:+.2f} points%{text}<extra></extra>", text=told)
    missing = np.where(np.isnan(difference), 1.0, np.nan)
    grey = {"colorscale": [(0, "#E9ECEF"), (1, "#E9ECEF")], "showscale": False, "hoverinfo": "skip"}
    figure = go.Figure([go.Heatmap(z=_compact(missing), xgap=2, ygap=2, **grey), heat])
    for i, j in np.ndindex(*difference.shape):
        mark = "{}" if runs[i, j] <= 1 else "<b>{}</b>"
        text = f"{mark.format(_number(ours[i, j]))}<br>{_number(theirs[i, j])}"
        dark = abs(difference[i, j]) > 0.6 * scale
        font = {"size": 11, "color": "white" if dark else INK}
        figure.add_annotation(x=j, y=i, text=text, showarrow=False, font=font)
    ends = {"showgrid": False, "zeroline": False, "ticks": "", "type": "linear"}
    names = {"tickvals": list(range(len(columns))), "ticktext": list(columns)}
    figure.update_xaxes(**ends, **names, range=(-0.5, len(columns) - 0.5), side="top", tickangle=-35)
    names = {"tickvals": list(range(len(rows))), "ticktext": list(rows)}
    figure.update_yaxes(**ends, **names, range=(len(rows) - 0.5, -0.5), automargin=True)
    figure.update_layout(height=210 + 44 * len(rows), margin_t=150)
    return figure.update_layout(title={"text": title, "y": 0.97, "yanchor": "top"})


def _number(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.1f}"


def _told(seeds: float, spread: float) -> str:
    """Return how many seeds a number is from, and how far they scatter, for the pointer to show."""
    if np.isnan(seeds):
        return ""
    scatter = "" if np.isnan(spread) else f", which scatter by {spread:.1f}"
    return f"<br>{seeds:.0f} {'seed' if seeds == 1 else 'seeds'}{scatter}"
