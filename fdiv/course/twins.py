"""The web twin of a control: a figure at every position, small enough to be stored in a notebook.

``explore`` puts a twin into ``layout.meta`` of the figure it stores; ``assets/plots.js`` reads it in a page.
What does not change between positions is in the figure itself. What does is a list of *paths*, a *pool* of
the distinct values found there, each once, and for each position the numbers of its values in the pool.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import plotly.graph_objects as go

TWIN = "twin"  # its key in layout.meta
DIGITS = 4  # of every number that changes: as many as a screen can show
ABSENT = -1
Json = Any


def store(figures: Sequence[Json | None], controls: Sequence[Mapping[str, Json]]) -> Json:
    """Return the twin of several figures: the controls, and how the figures differ, packed.

    figures: one for each combination of positions, as ``as_json`` gives it, the last control moving fastest;
        None where there is none.
    controls: of each, its ``label``, its ``kind`` ("menu", "range" or "box"), its ``options`` as texts, and
        the number of the one it starts at.
    """
    drawn = [figure for figure in figures if figure is not None]
    pool: dict[str, int] = {}
    paths, columns = [], []
    for path, values in _changes(drawn, ()):
        paths.append(list(path))
        texts = [None if value is _NOTHING else json.dumps(value) for value in values]
        columns.append([ABSENT if text is None else pool.setdefault(text, len(pool)) for text in texts])
    rows = iter(zip(*columns, strict=True) if columns else [()] * len(drawn))
    frames = [None if figure is None else list(next(rows)) for figure in figures]
    changes = {"paths": paths, "pool": [json.loads(text) for text in pool], "frames": frames}
    packed = base64.b64encode(zlib.compress(json.dumps(changes).encode())).decode()
    return {"controls": [dict(one) for one in controls], "packed": packed}


def frames(stored: Mapping[str, Json]) -> Iterator[tuple[tuple[str, ...], dict[str, Json] | None]]:
    """Yield the options chosen and the figure, for every combination in a stored figure's twin.

    stored: a figure as a notebook keeps it, with ``data`` and ``layout``.
    """
    twin = stored["layout"]["meta"][TWIN]
    changes = json.loads(zlib.decompress(base64.b64decode(twin["packed"])))
    chosen = product(*(control["options"] for control in twin["controls"]))
    for options, numbers in zip(chosen, changes["frames"], strict=True):
        if numbers is None:
            yield options, None
            continue
        figure = deepcopy({"data": stored["data"], "layout": stored["layout"]})
        for path, number in zip(changes["paths"], numbers, strict=True):
            _put(figure, path, changes["pool"], number)
        yield options, figure


def as_json(figure: go.Figure) -> dict[str, Json]:
    """Return data and layout of ``figure`` as lists, dicts and rounded numbers; its template is left out."""
    plain = figure.to_plotly_json()
    layout = {key: value for key, value in plain["layout"].items() if key != "template"}
    return _rounded({"data": plain["data"], "layout": layout})


def numbers(array: Mapping[str, str]) -> np.ndarray:
    """Return the numbers of an array as plotly stores it: little-endian bytes in base64.

    >>> numbers({"dtype": "i1", "bdata": "AQID"}).tolist()
    [1, 2, 3]
    """
    flat = np.frombuffer(base64.b64decode(array["bdata"]), dtype=f"<{array['dtype']}")
    return flat.reshape([int(part) for part in array["shape"].split(",")]) if "shape" in array else flat


class _Nothing:
    """Stands for the value at a path where a figure has no such part."""


_NOTHING = _Nothing()


def _changes(values: Sequence[Json], path: tuple) -> Iterator[tuple[tuple, Sequence[Json]]]:
    """Where values differ: the path, and the value of each figure there."""
    if all(value == values[0] for value in values[1:]):
        return
    if all(isinstance(value, dict) for value in values):
        for key in dict.fromkeys(key for value in values for key in value):
            yield from _changes([value.get(key, _NOTHING) for value in values], (*path, key))
    elif _are_rows_of_parts(values):
        for index in range(len(values[0])):
            yield from _changes([value[index] for value in values], (*path, index))
    else:
        yield path, values


def _are_rows_of_parts(values: Sequence[Json]) -> bool:
    """Whether these are lists of as many traces, shapes or notes each, which change one by one."""
    lists = all(isinstance(value, list) and len(value) == len(values[0]) for value in values)
    return lists and all(isinstance(part, dict) for value in values for part in value)


def _put(figure: dict, path: Sequence, pool: Sequence[Json], number: int) -> None:
    *outer, last = path
    place = figure
    for key in outer:
        place = place.setdefault(key, {}) if isinstance(place, dict) else place[key]
    if number == ABSENT:
        place.pop(last, None)
    else:
        place[last] = pool[number]


def _rounded(value: Json) -> Json:
    """Plain Python: numbers with few digits, null for what is no number."""
    if isinstance(value, dict) and "bdata" in value:
        return _rounded(numbers(value))
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [_rounded(part) for part in (value.tolist() if isinstance(value, np.ndarray) else value)]
    if isinstance(value, np.generic):
        return _rounded(value.item())
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    return value
