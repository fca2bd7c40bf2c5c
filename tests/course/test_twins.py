"""Every position of every control in the committed notebooks, read from what they store."""

import numpy as np
import pytest
from lessons import executed

from fdiv.course.notebooks import FOLDER
from fdiv.course.site.lessons import PLOTLY
from fdiv.course.twins import frames, numbers

LIMIT = 1_500_000
NOTEBOOKS = sorted(FOLDER.glob("[0-9][0-9]_*.ipynb"))


def with_controls(path) -> list[dict]:
    """The figures with a twin that a notebook stores."""
    outputs = [o for cell in executed(path).cells for o in cell.get("outputs", [])]
    figures = [output.data[PLOTLY] for output in outputs if PLOTLY in output.get("data", {})]
    return [figure for figure in figures if "twin" in figure["layout"].get("meta", {})]


def ends(layout: dict, axis: str) -> tuple[float, float] | None:
    """The range of an axis of numbers, lower end first; None where it has none."""
    settings = layout.get(axis.replace("x", "xaxis").replace("y", "yaxis"), {})
    if "range" not in settings:
        return None
    low, high = sorted(settings["range"])
    return (10**low, 10**high) if settings.get("type") == "log" else (low, high)


def values(part) -> np.ndarray:
    """Numbers, whether a list or as plotly packs them; an empty array for words."""
    array = numbers(part) if isinstance(part, dict) else np.array(part if part is not None else [])
    if array.dtype.kind not in "OifuSU":
        return np.empty(0)
    try:
        return array.astype(float)
    except ValueError:
        return np.empty(0)


def lengths(trace: dict) -> tuple[str, np.ndarray]:
    """The axis along which the bars of a trace lie, and where they end."""
    letter = "x" if trace.get("orientation") == "h" else "y"
    tops = values(trace.get(letter))
    if trace["type"] == "waterfall":
        steps = [0 if kind == "total" else top for top, kind in zip(tops, trace["measure"], strict=True)]
        tops = np.cumsum(steps)
    return letter, tops


def outside(array: np.ndarray, limits: tuple[float, float] | None) -> bool:
    """Whether a number lies outside, by more than rounding."""
    if limits is None or not len(array):
        return False
    low, high = limits
    slack = 1e-3 * (high - low)
    return bool((array < low - slack).any() or (array > high + slack).any())


def faults(figure: dict) -> list[str]:
    """What cannot be seen: bars, markers and lines across that leave the axes, curves wholly outside them.

    A curve may run out of a range that the figure sets on purpose; it must have a part within.
    """
    layout, found = figure["layout"], []
    stacks: dict[str, np.ndarray] = {}
    for trace in figure["data"]:
        kind, name = trace.get("type", "scatter"), trace.get("name", "")
        axes = {letter: trace.get(f"{letter}axis", letter) for letter in "xy"}
        if kind in ("bar", "waterfall"):
            letter, tops = lengths(trace)
            if layout.get("barmode") == "stack":
                tops = stacks[axes[letter]] = tops + stacks.get(axes[letter], 0)
            if outside(tops[np.isfinite(tops)], ends(layout, axes[letter])):
                found.append(f"{kind} {name}")
        elif kind == "scatter":
            inside = None
            for letter, axis in axes.items():
                array, limits = values(trace.get(letter)), ends(layout, axis)
                if limits is None or not len(array):
                    continue
                good = np.isfinite(array) & (array >= limits[0] - 1e-9) & (array <= limits[1] + 1e-9)
                shared = len(good) if inside is None else min(len(good), len(inside))  # plotly draws no more
                inside = good if inside is None else inside[:shared] & good[:shared]
                if "markers" in trace.get("mode", "lines") and outside(array[np.isfinite(array)], limits):
                    found.append(f"markers {name}")
            if inside is not None and not inside.any():
                found.append(f"line {name}")
    for shape in layout.get("shapes", []):
        for letter in "xy":
            across = shape.get(f"{letter}ref", letter)
            if shape.get("type") != "line" or "domain" in across or across == "paper":
                continue
            spots = [shape[f"{letter}0"], shape[f"{letter}1"]]
            if outside(values(spots), ends(layout, across)):
                found.append(f"line across at {letter} = {spots[0]}")
    return found


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_nothing_leaves_its_axes_at_any_position(path):
    wrong = [
        f"{figure['layout'].get('title', {}).get('text')!r} at {chosen}: {fault}"
        for figure in with_controls(path)
        for chosen, drawn in frames(figure)
        if drawn is not None
        for fault in faults(drawn)
    ]
    assert wrong == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_control_of_a_lesson_has_its_twin(path):
    notebook = executed(path)
    for cell in notebook.cells:
        if cell.cell_type == "code" and (
            "\nexplore(" in f"\n{cell.source}" or "\nwith_slider(" in f"\n{cell.source}"
        ):
            stored = [o.data[PLOTLY] for o in cell.outputs if PLOTLY in o.get("data", {})]
            assert stored, cell.source
            for figure in stored:
                assert len([one for _, one in frames(figure) if one is not None]) > 1, cell.source


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_stays_small(path):
    assert path.stat().st_size < LIMIT


@pytest.mark.parametrize(
    "figure",
    [
        {"data": [{"type": "bar", "y": [1, 5]}], "layout": {"yaxis": {"range": [0, 4]}}},
        {"data": [{"y": [9, 8]}], "layout": {"yaxis": {"range": [0, 4]}}},
        {"data": [{"y": [1, 8], "mode": "markers"}], "layout": {"yaxis": {"range": [0, 4]}}},
        {
            "data": [{"y": [1]}],
            "layout": {
                "yaxis": {"range": [0, 4]},
                "shapes": [
                    {"type": "line", "yref": "y", "y0": 6, "y1": 6, "xref": "paper", "x0": 0, "x1": 1}
                ],
            },
        },
        {
            "data": [{"type": "waterfall", "y": [3, 2, 0], "measure": ["relative", "relative", "total"]}],
            "layout": {"yaxis": {"range": [0, 4]}},
        },
    ],
)
def test_what_leaves_its_axes_is_seen(figure):
    assert faults(figure)
    figure["layout"]["yaxis"]["range"] = [0, 10]
    assert faults(figure) == []
