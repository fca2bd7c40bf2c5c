"""Axes that stay where they are while a control moves: as wide as the widest of all its figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

Figure = dict[str, Any]
ROOM = 0.06  # of the range, beyond the outermost mark
TEXT_ROOM = 0.16  # where numbers stand beside bars


class FixedAxes:
    """The ranges of axes over several figures; an axis with a range of its own keeps it.

    Figures are dicts of ``data`` and ``layout``, as ``fdiv.course.twins.as_json`` gives them.

    >>> axes = FixedAxes()
    >>> low, high = ({"data": [{"type": "bar", "y": [top]}], "layout": {}} for top in (1, 4))
    >>> axes.widen(low), axes.widen(high)
    (None, None)
    >>> axes.ranges(low)["yaxis"]
    (0.0, 4.24)
    """

    def __init__(self) -> None:
        self.ends: dict[str, tuple[float, float]] = {}

    def widen(self, figure: Figure) -> None:
        """Take a figure into account."""
        for axis, (low, high) in extents(figure).items():
            was = self.ends.get(axis, (low, high))
            self.ends[axis] = (min(low, was[0]), max(high, was[1]))

    def ranges(self, figure: Figure) -> dict[str, tuple[float, float]]:
        """Return the range of each axis of ``figure`` that has none of its own, wide enough for it, too."""
        self.widen(figure)
        return {axis: self.ends[axis] for axis in extents(figure)}


def extents(figure: Figure) -> dict[str, tuple[float, float]]:
    """Return the range that each axis of numbers needs, for lines, markers, bars, waterfalls and shapes.

    Left out are axes with a range of their own, of words, and of images, matrices, boxes and histograms.
    """
    layout, traces = figure["layout"], figure["data"]
    found = {}
    for letter in "xy":
        for axis in sorted({trace.get(f"{letter}axis", letter) for trace in traces}):
            name = axis.replace(letter, f"{letter}axis")
            ours = [trace for trace in traces if trace.get(f"{letter}axis", letter) == axis]
            ends = _needs(letter, axis, ours, layout) if _is_free(layout.get(name, {}), ours) else None
            if ends:
                found[name] = ends
    return found


def _is_free(axis: dict[str, Any], traces: Sequence[dict[str, Any]]) -> bool:
    kinds = {trace.get("type", "scatter") for trace in traces}
    return "range" not in axis and "autorange" not in axis and kinds <= {"scatter", "bar", "waterfall"}


def _needs(letter: str, axis: str, traces: Sequence[dict], layout: dict) -> tuple[float, float] | None:
    """The ends of all marks on an axis, with room; None where it shows words or nothing."""
    settings = layout.get(axis.replace(letter, f"{letter}axis"), {})
    if any(_has_words(trace.get(letter)) for trace in traces) or settings.get("type") == "category":
        return None
    marks = [part for trace in traces for part in _marks(letter, trace)]
    marks += [_stacked(letter, traces)] if layout.get("barmode") in ("stack", "relative") else []
    for shape in layout.get("shapes", ()):
        if shape.get(f"{letter}ref", letter) == axis and f"{letter}0" in shape:
            marks.append(np.array([shape[f"{letter}0"], shape[f"{letter}1"]], dtype=float))
    values = np.concatenate([np.ravel(mark) for mark in marks]) if marks else np.empty(0)
    logarithmic = settings.get("type") == "log"
    values = values[np.isfinite(values) & ((values > 0) | (not logarithmic))]
    if not len(values):
        return None
    ends = np.log10(values) if logarithmic else values
    low, high = float(ends.min()), float(ends.max())
    return _with_room(low, high, letter, traces, settings)


def _with_room(low: float, high: float, letter: str, traces: Sequence[dict], settings: dict) -> tuple:
    """Bars and "tozero" begin at zero; lines reach the sides; numbers outside bars need more room."""
    bars = any(_is_length(letter, trace) for trace in traces)
    if settings.get("rangemode") == "tozero" and settings.get("type") != "log":
        low, high = min(low, 0.0), max(high, 0.0)
    lines = letter == "x" and all(trace.get("mode") == "lines" for trace in traces)
    text = any(_is_length(letter, t) and t.get("textposition") == "outside" for t in traces)
    room = (0 if lines else TEXT_ROOM if text else ROOM) * ((high - low) or 1.0)
    at_zero = bars or settings.get("rangemode") == "tozero"
    return (low if at_zero and low == 0 else low - room), (high if at_zero and high == 0 else high + room)


def _is_length(letter: str, trace: dict) -> bool:
    """Whether the bars of a trace are as long as its numbers on this axis say."""
    along = "x" if trace.get("orientation") == "h" else "y"
    return trace.get("type") in ("bar", "waterfall") and letter == along


def _marks(letter: str, trace: dict) -> Iterator[np.ndarray]:
    """Every number of a trace on one axis: ends of bars, points, and what errors add."""
    values = trace.get(letter)
    if values is None:
        return
    values = np.asarray(values, dtype=float)
    if trace.get("type") == "waterfall" and _is_length(letter, trace):
        measures = trace.get("measure", ["relative"] * len(values))
        total = [0.0]
        for value, measure in zip(values, measures, strict=True):
            total.append(total[-1] + value if measure == "relative" else total[-1])
        yield np.array(total)
        return
    yield values
    if trace.get("type") == "bar":
        half = 0 if _is_length(letter, trace) else 0.5
        yield np.concatenate([values - half, values + half]) if half else np.zeros(1)
    error = trace.get(f"error_{letter}", {}).get("array")
    if error is not None:
        spread = np.nan_to_num(np.asarray(error, dtype=float))
        yield np.concatenate([values - spread, values + spread])


def _stacked(letter: str, traces: Sequence[dict]) -> np.ndarray:
    """The heights of stacked bars."""
    bars = [np.asarray(t[letter], dtype=float) for t in traces if _is_length(letter, t)]
    return np.sum(bars, axis=0) if bars else np.zeros(0)


def _has_words(values: Any) -> bool:
    return values is not None and any(
        isinstance(value, str) for value in np.ravel(np.asarray(values)).tolist()
    )
