"""Sliders and menus around a function that draws a figure, and figures that grow while something runs."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from fdiv.device import is_static

if TYPE_CHECKING:
    import ipywidgets
    import plotly.graph_objects as go

Control = tuple | list | dict | bool


def explore(figure_function: Callable[..., go.Figure], **controls: Control) -> None:
    """Draw ``figure_function`` with a control for each keyword; drawn once at its defaults when static.

    controls: ``(low, high, step)`` is a slider (of whole numbers when all three are), a list or a dict of
    ``label: value`` a menu, a bool a check box. Each starts at the function's own default.

    >>> explore(lambda n: None, n=(1, 9, 1))
    Traceback (most recent call last):
        ...
    ValueError: <lambda> has no argument 'n' with a default; it has n
    """
    from IPython.display import display

    start = _defaults(figure_function, controls)
    if is_static():
        display(figure_function(**start))
        return

    import ipywidgets

    widgets = {name: _widget(name, control, start[name]) for name, control in controls.items()}
    output = ipywidgets.interactive_output(lambda **values: display(figure_function(**values)), widgets)
    box = ipywidgets.HBox(list(widgets.values()), layout={"flex_flow": "row wrap"})
    display(ipywidgets.VBox([box, output]))


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
        case _:
            options = list(control.items()) if isinstance(control, dict) else control
            return ipywidgets.Dropdown(options=options, value=start, description=label, **wide)


def _whole(control: tuple) -> bool:
    return all(isinstance(part, int) for part in control)


class LiveFigure:
    """A figure that is drawn again while something runs, and a last time when the ``with`` block ends.

    draw: returns the figure as it is now.
    pause: seconds that must pass between two drawings. When static there is only the last one.
    """

    def __init__(self, draw: Callable[[], go.Figure], pause: float = 0.5) -> None:
        self.draw, self.pause = draw, pause
        self.output, self.drawn = None, -pause

    def __enter__(self) -> LiveFigure:
        return self

    def update(self, *_: object) -> None:
        """Draw again if the last time is long enough ago; takes and ignores what a callback is given."""
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
