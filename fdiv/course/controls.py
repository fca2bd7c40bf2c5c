"""Sliders and menus around a function that draws a figure, and figures that grow while something runs."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from fdiv.course.axes import FixedAxes
from fdiv.course.twins import TWIN, as_json, store
from fdiv.device import is_static
from fdiv.names import notebook_tools

if TYPE_CHECKING:
    import ipywidgets
    import plotly.graph_objects as go

Control = tuple | list | dict | bool
FIGURES = 250  # a page has at most so many of one function, unless the lesson names the positions itself
BYTES = 300_000  # and takes at most so much room for them
LOOKS = 40  # at figures, before a live one is shown, to see how wide the axes must be


def explore(
    figure_function: Callable[..., go.Figure],
    *,
    page: Mapping[str, Sequence[object]] | None = None,
    **controls: Control,
) -> None:
    """Draw ``figure_function`` with a control for each keyword, on axes that stay where they are.

    In JupyterLab a control asks the kernel for the figure. When static, the figure is stored at its defaults
    with a twin for the page: the same function drawn at every combination of positions (see
    ``fdiv.course.twins``). Sliders have fewer positions there, so that there are at most 250 figures.
    An axis whose range the function sets is left as it is.

    controls: ``(low, high, step)`` is a slider (of whole numbers when all three are), a list of three or more
        numbers a slider with those stops, any other list, or a dict of ``label: value``, a menu, a bool a
        check box. Each starts at the function's own default.
    page: the positions on a page for some of the sliders, where the lesson wants to choose them.

    The function may return None for values that do not go together.

    >>> explore(lambda n: None, n=(1, 9, 1))
    Traceback (most recent call last):
        ...
    ValueError: <lambda> has no argument 'n' with a default; it has n
    """
    start = _defaults(figure_function, controls)
    choices = [_choice(name, control, start[name]) for name, control in controls.items()]
    if is_static():
        _show_twin(figure_function, [_on_page(choice, page or {}) for choice in choices])
    else:
        _show_live(figure_function, choices, controls, start)


def _show_live(
    figure_function: Callable[..., go.Figure],
    choices: Sequence[_Choice],
    controls: Mapping[str, Control],
    start: Mapping[str, object],
) -> None:
    """Widgets above an output that is drawn again whenever one of them moves."""
    with notebook_tools("explore"):
        import ipywidgets
        from IPython.display import display

    axes = FixedAxes()
    for figure in _drawn(figure_function, _few(choices, LOOKS)).values():
        if figure is not None:
            axes.widen(as_json(figure))

    def show(**values: object) -> None:
        figure = figure_function(**values)
        display("These values do not go together." if figure is None else _on_axes(figure, axes))

    widgets = {name: _widget(name, control, start[name]) for name, control in controls.items()}
    output = ipywidgets.interactive_output(show, widgets)
    box = ipywidgets.HBox(list(widgets.values()), layout={"flex_flow": "row wrap"})
    display(ipywidgets.VBox([box, output]))


def _show_twin(figure_function: Callable[..., go.Figure], choices: Sequence[_Choice]) -> None:
    """The figure at its defaults, with all the others in its ``layout.meta``."""
    with notebook_tools("explore"):
        from IPython.display import display

    choices = _few(choices, FIGURES)
    figures = _drawn(figure_function, choices)
    start = figures[tuple(choice.values[choice.start] for choice in choices)]
    if start is None:
        raise ValueError(f"{figure_function.__name__} draws nothing at its defaults")
    axes = FixedAxes()
    plain = {values: None if figure is None else as_json(figure) for values, figure in figures.items()}
    for figure in filter(None, plain.values()):
        axes.widen(figure)
    for figure in filter(None, plain.values()):
        for axis, ends in axes.ranges(figure).items():
            figure["layout"].setdefault(axis, {})["range"] = list(ends)
    twin = _twin(plain, choices)
    while len(twin["packed"]) > BYTES and (thin := _thinner(choices)) is not None:
        choices = thin
        twin = _twin(plain, choices)
    display(_on_axes(start, axes).update_layout(meta={TWIN: twin}))


def _twin(figures: Mapping[tuple, dict | None], choices: Sequence[_Choice]) -> dict[str, Any]:
    """The figures at every combination of positions, packed."""
    combinations = product(*(choice.values for choice in choices))
    return store([figures[values] for values in combinations], [choice.told() for choice in choices])


def _on_axes(figure: go.Figure, axes: FixedAxes) -> go.Figure:
    """The figure with the ranges of all of them."""
    for axis, ends in axes.ranges(as_json(figure)).items():
        figure.layout[axis].range = ends
    return figure


@dataclass(frozen=True)
class _Choice:
    """A control as a list of positions.

    kind: "menu", "range" or "box".
    options: what the reader sees for each of ``values``.
    start: the number of the position it starts at.
    free: whether positions may be left out on a page.
    """

    name: str
    kind: str
    values: tuple
    options: tuple[str, ...]
    start: int
    free: bool = False

    def told(self) -> dict[str, Any]:
        """Return what the page needs to know."""
        label = self.name.replace("_", " ")
        return {"label": label, "kind": self.kind, "options": list(self.options), "start": self.start}

    def only(self, kept: Sequence[int]) -> _Choice:
        """Return this with some of its positions, the start among them."""
        values, options = ([part[k] for k in kept] for part in (self.values, self.options))
        return replace(self, values=tuple(values), options=tuple(options), start=kept.index(self.start))

    def thinner(self) -> _Choice:
        """Return this with every second position, counted from the start, and both ends."""
        last = len(self.values) - 1
        return self.only([k for k in range(last + 1) if (k - self.start) % 2 == 0 or k in (0, last)])


def _choice(name: str, control: Control, start: object) -> _Choice:
    match control:
        case bool():
            return _Choice(name, "box", (False, True), ("no", "yes"), int(bool(start)))
        case dict():
            values = list(control.values())
            return _Choice(name, "menu", tuple(control.values()), tuple(control), values.index(start))
        case list():
            kind = "range" if _is_scale(control) else "menu"
            return _Choice(name, kind, tuple(control), tuple(map(_label, control)), control.index(start))
    low, high, step = control
    values = [low + k * step for k in range(math.floor((high - low) / step + 1e-9) + 1)]
    values = values if _whole(control) else [round(value, 10) for value in values]
    nearest = min(range(len(values)), key=lambda k: abs(values[k] - start))
    values[nearest] = start
    return _Choice(name, "range", tuple(values), tuple(map(_label, values)), nearest, free=True)


def _label(value: object) -> str:
    """What stands beside a control at this value.

    >>> _label(0.30000000000000004), _label("tv")
    ('0.3', 'tv')
    """
    return f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _is_scale(values: Sequence[object]) -> bool:
    """Whether a list is the stops of a slider rather than the entries of a menu."""
    return len(values) > 2 and all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in values
    )


def _on_page(choice: _Choice, page: Mapping[str, Sequence[object]]) -> _Choice:
    """The positions that the lesson chose for the page, where it did."""
    if choice.name not in page:
        return choice
    start, values = choice.values[choice.start], list(page[choice.name])
    if start not in values:
        raise ValueError(f"{choice.name} starts at {start!r}, which is not among its positions {values}")
    options = tuple(map(_label, values))
    return _Choice(choice.name, choice.kind, tuple(values), options, values.index(start))


def _few(choices: Sequence[_Choice], most: int) -> Sequence[_Choice]:
    """Sliders with so few positions that there are at most ``most`` combinations, if that can be had."""
    while math.prod(len(choice.values) for choice in choices) > most:
        thin = _thinner(choices)
        if thin is None:
            break
        choices = thin
    return choices


def _thinner(choices: Sequence[_Choice]) -> Sequence[_Choice] | None:
    """The same with fewer positions of the slider that has most; None where all have three or fewer."""
    free = [choice for choice in choices if choice.free and len(choice.values) > 3]
    if not free:
        return None
    longest = max(free, key=lambda choice: len(choice.values))
    return [choice.thinner() if choice is longest else choice for choice in choices]


def _drawn(
    figure_function: Callable[..., go.Figure], choices: Sequence[_Choice]
) -> dict[tuple, go.Figure | None]:
    """The figure at every combination of positions."""
    names = [choice.name for choice in choices]
    combinations = product(*(choice.values for choice in choices))
    return {values: figure_function(**dict(zip(names, values, strict=True))) for values in combinations}


def _defaults(figure_function: Callable[..., go.Figure], controls: dict[str, Control]) -> dict[str, object]:
    """Where each control starts; a ``ValueError`` where the function has no such argument or default."""
    signature = inspect.signature(figure_function).parameters
    for name, control in controls.items():
        if name not in signature or signature[name].default is inspect.Parameter.empty:
            raise ValueError(
                f"{figure_function.__name__} has no argument {name!r} with a default;"
                f" it has {', '.join(signature) or 'none'}"
            )
        _check_start(name, control, signature[name].default)
    return {name: signature[name].default for name in controls}


def _check_start(name: str, control: Control, start: object) -> None:
    """The default must be a value the control can show."""
    match control:
        case bool():
            good = isinstance(start, bool)
        case list():
            good = start in control
        case (low, high, _):
            good = low <= start <= high
        case dict():
            good = start in control.values()
        case _:
            raise ValueError(
                f"control {name!r} is {control!r}: give (low, high, step), a list, a dict or a bool"
            )
    if not good:
        raise ValueError(f"{name} starts at {start!r}, which its control {control!r} cannot show")


def _widget(name: str, control: Control, start: object) -> ipywidgets.Widget:
    """The widget for one control."""
    import ipywidgets

    label = name.replace("_", " ")
    wide = {"style": {"description_width": "initial"}, "layout": {"width": "320px"}}
    match control:
        case bool():
            return ipywidgets.Checkbox(value=start, description=label, indent=False)
        case (low, high, step) if isinstance(control, tuple):
            kind = ipywidgets.IntSlider if _whole(control) else ipywidgets.FloatSlider
            return kind(value=start, min=low, max=high, step=step, description=label, **wide)
        case list() if _is_scale(control):
            stops = [(_label(value), value) for value in control]
            return ipywidgets.SelectionSlider(options=stops, value=start, description=label, **wide)
        case _:
            options = list(control.items()) if isinstance(control, dict) else control
            return ipywidgets.Dropdown(options=options, value=start, description=label, **wide)


def _whole(control: tuple) -> bool:
    return all(isinstance(part, int) for part in control)


class LiveFigure:
    """A figure that is drawn again while something runs, and a last time when the ``with`` block ends.

    draw: returns the figure as it is now.
    pause: seconds that must pass between two drawings. When static there is only the last one.

    >>> import plotly.graph_objects as go
    >>> seen = []
    >>> with LiveFigure(lambda: go.Figure(go.Scatter(y=seen))) as figure:  # doctest: +SKIP
    ...     for value in range(100):
    ...         seen.append(value)
    ...         figure.update()
    """

    def __init__(self, draw: Callable[[], go.Figure], pause: float = 0.5) -> None:
        self.draw, self.pause = draw, pause
        self.output, self.drawn = None, -pause

    def __enter__(self) -> LiveFigure:
        return self

    def update(self, *_: object) -> None:
        """Draw again if ``pause`` has passed since the last time; the arguments of a callback are ignored."""
        if not is_static() and time.monotonic() - self.drawn >= self.pause:
            self._show()

    def __exit__(self, *error: object) -> None:
        if error[0] is None:
            self._show()

    def _show(self) -> None:
        """Into an output widget, since plotly answers an update of a display with a second figure below."""
        from IPython.display import clear_output, display

        self.drawn = time.monotonic()
        if is_static():
            display(self.draw())
            return

        import ipywidgets

        if self.output is None:
            self.output = ipywidgets.Output()
            display(self.output)
        with self.output:
            clear_output(wait=True)
            display(self.draw())
