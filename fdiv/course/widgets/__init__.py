"""Three figures to play with: one JavaScript module each, the same in JupyterLab and in a page.

A module is a plain ES module, ``NAME.js`` beside this file, that exports ``default`` with anywidget's
``render({model, el})`` and ``core``, its mathematics, which the browser tests compare with the package's. It
imports ``common.js``, whose text ``source`` puts in the import's place, so that it works from a file, too.

``memorisation_machine()``, ``classifier_plane()`` and ``t_editor()`` return a widget where there is a kernel:
its ``params`` lead to the figure, its ``state`` tells what the reader has made of it. When static (see
``fdiv.device.is_static``) they return the parameters and a sentence that states the finding; the page
builder turns these into the figure, with each module once in a page.
"""

from __future__ import annotations

import functools
import html
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fdiv.device import is_static
from fdiv.learning.checks import between
from fdiv.names import choose, notebook_tools
from fdiv.noise import paper_noise, transition
from fdiv.theory.divergences import DIVERGENCES

__all__ = ["FIGURE", "Figure", "classifier_plane", "memorisation_machine", "source", "t_editor"]

FIGURE = "application/vnd.fdiv.figure+json"
FOLDER = Path(__file__).parent
LOSSES = ("cross-entropy", "tv", "js", "kl", "pearson", "gce")
PAPER_SETTINGS = tuple(
    (dataset, setting)
    for dataset in ("mnist", "cifar-10")
    for setting in ("uniform-low", "uniform-high", "sparse-low", "sparse-high")
)


@dataclass(frozen=True)
class Figure:
    """A figure where nobody can move it yet: what a notebook stores, and a page brings to life.

    name: the module's name.
    params: what the module is given.
    finding: what a reader finds with it, for those who cannot see it.

    >>> Figure("t_editor", {"select": [0, 1]}, "As more ...").html().startswith("<figure><div data-figure=")
    True
    """

    name: str
    params: Mapping[str, Any]
    finding: str

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        stored = {"name": self.name, "params": self.params, "finding": self.finding}
        run = "A figure to play with: run this cell, or open the page."
        told = f"<details><summary>What happens</summary>{html.escape(self.finding)}</details>"
        return {FIGURE: stored, "text/html": f"<p>{run}</p>{told}", "text/plain": f"[{run}] {self.finding}"}

    def html(self) -> str:
        """Return the place in a page where ``scripts`` builds the figure; below it, folded, the finding."""
        params = html.escape(json.dumps(self.params), quote=True)
        place = f'<div data-figure="{self.name}" data-params="{params}"></div>'
        told = f"<details><summary>What happens</summary>{html.escape(self.finding)}</details>"
        return f"<figure>{place}<figcaption>{told}</figcaption></figure>"


def source(name: str) -> str:
    """Return the whole text of a module: ``common.js`` stands where the module imports it.

    >>> 'from "./common.js"' in source("t_editor")
    False
    """
    common = re.sub(r"^export ", "", _text("common.js"), flags=re.MULTILINE)
    return re.sub(
        r'^import .* from "./common.js";\n', lambda _: common, _text(f"{name}.js"), flags=re.MULTILINE
    )


def scripts(names: Iterable[str]) -> str:
    """Return what a page needs to bring its figures to life: the style, and each module once.

    >>> scripts([])
    ''
    """
    names = sorted(set(names))
    modules = [
        f'<script type="module">{source(name)}\nmountFigure("{name}", widget, core);</script>'
        for name in names
    ]
    return "\n".join([f"<style>{_text('figure.css')}</style>", *modules]) if names else ""


def memorisation_machine(
    *,
    data: str = "blobs",
    classes: int = 3,
    noise: str = "symmetric",
    rate: float = 0.4,
    left: str = "cross-entropy",
    right: str = "tv",
    width: int = 32,
    points: int = 150,
    steps: int = 600,
    seed: int = 0,
    finding: str | None = None,
) -> Any:
    """Return the memorisation machine: two networks learn the same partly wrong labels, each with its loss.

    data: "blobs", "moons" or "spirals", in the plane.
    classes: 2 to 4.
    noise: where wrong labels go and sit: "symmetric", "pair" (to the next class) or "border" (near it).
    rate: the share of wrong labels, from 0 to 0.5.
    left, right: the two losses, out of cross-entropy, tv, js, kl, pearson and gce.
    width: of both hidden layers, 4 to 64.
    points: how many are trained on; the accuracy is that on 600 others.
    steps: of Adam, on all points at once; about 40 a second.
    seed: of points, flips and first weights, 0 to 20.
    finding: what a reader finds with these settings, where it is not what the defaults show.

    >>> figure = memorisation_machine(right="js")
    """
    params = {
        "data": choose("data", data, ("blobs", "moons", "spirals")),
        "classes": _whole("classes", classes, 2, 4),
        "noise": choose("noise", noise, ("symmetric", "pair", "border")),
        "rate": between("rate", rate, 0, 0.5),
        "left": choose("loss", left, LOSSES),
        "right": choose("loss", right, LOSSES),
        "width": _whole("width", width, 4, 64),
        "points": _whole("points", points, 20, 400),
        "steps": _whole("steps", steps, 10, 5000),
        "seed": _whole("seed", seed, 0, 20),
    }
    return _figure(
        "memorisation_machine",
        params,
        finding
        or "Two equal networks learn the same points, a share of whose labels is wrong. The one trained with"
        " cross-entropy soon learns most wrong labels by heart, and gets worse on new points while it does;"
        " the one trained with total variation leaves most of them alone and stays right.",
    )


def classifier_plane(
    *,
    divergence: str = "kl",
    a: float = 0.85,
    b: float = 0.1,
    e_plus: float = 0.3,
    e_minus: float = 0.05,
    prior: float = 0.5,
    curve: str = "bend",
    finding: str | None = None,
) -> Any:
    """Return the classifier plane: every binary classifier as a point, with D_f under clean and noisy labels.

    divergence: any of the eight.
    a, b: P(h = + | Y = +) and P(h = + | Y = -) of the classifier that is shown.
    e_plus, e_minus: P(Y~ = - | Y = +) and P(Y~ = + | Y = -), each from 0 to 0.45.
    prior: P(Y = +), from 0.1 to 0.9.
    curve: the allowed classifiers at first: "bend", "roc" or "none".
    finding: what a reader finds with these settings, where it is not what the defaults show.

    >>> figure = classifier_plane(divergence="tv")
    """
    params = {
        "divergence": DIVERGENCES.name_of(divergence),
        "a": between("a", a, 0, 1),
        "b": between("b", b, 0, 1),
        "e_plus": between("e_plus", e_plus, 0, 0.45),
        "e_minus": between("e_minus", e_minus, 0, 0.45),
        "prior": between("prior", prior, 0.1, 0.9),
        "curve": choose("curve", curve, ("bend", "roc", "none")),
    }
    return _figure(
        "classifier_plane",
        params,
        finding
        or "Every binary classifier is a point in a square, and D_f draws contours over it, with clean and"
        " with noisy labels. Label noise only rescales the contours of total variation and of Pearson"
        " chi-squared, so the best allowed classifier stays the best. It bends those of the other six, and"
        " the best allowed classifier can jump. A classifier and its opposite always tie.",
    )


def t_editor(
    T: Any = None,
    *,
    prior: Any = None,
    select: tuple[int, int] = (0, 1),
    rule: str = "cross-entropy",
    repair: str = "none",
    mend: bool = True,
    settings: Mapping[str, Any] | None = None,
    finding: str | None = None,
) -> Any:
    """Return the T editor: change a transition matrix by hand, and see what every method can still learn.

    T: the matrix it starts with, of 2 to 10 classes; by default three classes, the first two confused.
    prior: P(Y); balanced by default.
    select: the entry (i, j) that is selected first.
    rule: whose objective the triangle shows: "cross-entropy" or a divergence.
    repair: what is done about the noise there: "none", "ratio" (divide by prior), "forward" or "backward".
    mend: whether it offers what mends the noise, and shows what survives of it.
    settings: matrices by title for the menu; by default eight of the paper's.
    finding: what a reader finds with these settings, where it is not what the defaults show.

    >>> figure = t_editor([[0.6, 0.4], [0.2, 0.8]], rule="tv")
    """
    T = transition([[0.6, 0.4, 0.0], [0.1, 0.9, 0.0], [0.0, 0.1, 0.9]] if T is None else T)
    if len(T) > 10:
        raise ValueError(f"T has {len(T)} classes, but the editor shows at most 10: take a part of it")
    prior = np.full(len(T), 1 / len(T)) if prior is None else np.asarray(prior, dtype=float)
    if prior.shape != (len(T),) or not (prior > 0).all() or not math.isclose(prior.sum(), 1, abs_tol=1e-8):
        raise ValueError(f"prior must be {len(T)} positive probabilities that sum to 1, not {prior.tolist()}")
    if settings is None:
        settings = {f"{d.upper()} {s}": paper_noise(d, s) for d, s in PAPER_SETTINGS}
    params = {
        "T": T.round(9).tolist(),
        "prior": prior.round(9).tolist(),
        "select": [_whole("select", k, 0, len(T) - 1) for k in select],
        "rule": rule if rule == "cross-entropy" else DIVERGENCES.name_of(rule),
        "repair": choose("repair", repair, ("none", "ratio", "forward", "backward") if mend else ("none",)),
        "mend": bool(mend),
        "settings": {title: transition(matrix).round(6).tolist() for title, matrix in settings.items()},
    }
    return _figure(
        "t_editor",
        params,
        finding
        or "As more than half of a class gets the label of another, the best answer of cross-entropy jumps to"
        " the wrong class, and no amount of data brings it back. Each divergence has a breaking point of its"
        " own, if it has one."
        + " Dividing by the label prior, or putting T into the model (forward correction), brings the right"
        " answer back."
        * mend,
    )


def _figure(name: str, params: dict[str, Any], finding: str) -> Any:
    return Figure(name, params, finding) if is_static() else _widget_class(name)(params=params)


@functools.cache
def _widget_class(name: str) -> type:
    """The widget of a module: parameters go to it, and its state comes back."""
    with notebook_tools(name):
        import anywidget
        import traitlets

    class Widget(anywidget.AnyWidget):
        _esm = source(name)
        _css = _text("figure.css")
        params = traitlets.Dict().tag(sync=True)
        state = traitlets.Dict().tag(sync=True)

    return Widget


def _text(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _whole(name: str, value: int, low: int, high: int) -> int:
    if int(value) != value or not low <= value <= high:
        raise ValueError(f"{name} is {value!r}, but must be a whole number between {low} and {high}")
    return int(value)
