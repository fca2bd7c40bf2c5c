"""Sliders: live with ipywidgets, one figure when static, and a twin that needs no kernel."""

import ipywidgets
import numpy as np
import plotly.graph_objects as go
import pytest
from IPython.core import display_functions

from fdiv.course.controls import LiveFigure, explore
from fdiv.course.figures import curves_figure, images_figure, line_style, with_slider
from fdiv.learning import METHODS


def parabola(a=1.0, n=3, kind="line", grid=True):
    return go.Figure(
        go.Scatter(y=[a * k * k for k in range(n)], mode=f"{kind}s"), {"title": {"text": f"a = {a}"}}
    )


CONTROLS = {"a": (0.0, 2.0, 0.5), "n": (1, 9, 1), "kind": ["line", "marker"], "grid": True}


@pytest.fixture
def shown(monkeypatch):
    """What was displayed."""
    objects = []
    monkeypatch.setattr(display_functions, "display", lambda *what, **_: objects.extend(what))
    monkeypatch.setattr("IPython.display.display", lambda *what, **_: objects.extend(what))
    return objects


def test_static_draws_once_at_the_defaults(shown, monkeypatch):
    monkeypatch.setenv("FDIV_STATIC", "1")
    explore(parabola, **CONTROLS)
    (figure,) = shown
    assert list(figure.data[0].y) == [0, 1, 4]


def test_live_has_a_widget_per_control_and_moves_the_figure(shown, monkeypatch):
    monkeypatch.setenv("FDIV_STATIC", "0")
    explore(parabola, **CONTROLS)
    (box,) = [one for one in shown if isinstance(one, ipywidgets.VBox)]
    widgets = {w.description: w for w in box.children[0].children}
    assert {k: type(w).__name__ for k, w in widgets.items()} == {
        "a": "FloatSlider", "n": "IntSlider", "kind": "Dropdown", "grid": "Checkbox",
    }  # fmt: skip
    widgets["a"].value = 2.0
    assert list(shown[-1].data[0].y) == [0, 2, 8]
    widgets["n"].value = 2
    assert list(shown[-1].data[0].y) == [0, 2]


def test_colab_is_static(shown, monkeypatch):
    monkeypatch.delenv("FDIV_STATIC", raising=False)
    monkeypatch.setenv("COLAB_RELEASE_TAG", "x")
    explore(parabola, a=(0.0, 2.0, 0.5))
    assert isinstance(shown[0], go.Figure)


@pytest.mark.parametrize(
    ("controls", "message"),
    [
        ({"b": (0, 1, 1)}, "parabola has no argument 'b' with a default; it has a, n, kind, grid"),
        ({"a": (2.0, 3.0, 0.5)}, "a starts at 1.0, which its control"),
        ({"kind": ["dot"]}, "kind starts at 'line'"),
        ({"a": 3}, "give .low, high, step., a list, a dict or a bool"),
    ],
)
def test_a_control_that_cannot_work_is_refused(controls, message, monkeypatch):
    monkeypatch.setenv("FDIV_STATIC", "1")
    with pytest.raises(ValueError, match=message):
        explore(parabola, **controls)


def test_a_slider_twin_has_a_frame_per_step_and_starts_at_the_default():
    figure = with_slider(parabola, a=[0.5, 1.0, 2.0])
    assert [frame.name for frame in figure.frames] == ["0.5", "1", "2"]
    assert figure.layout.sliders[0].active == 1
    assert list(figure.data[0].y) == [0, 1, 4]
    assert list(figure.frames[2].data[0].y) == [0, 2, 8]
    assert figure.frames[2].layout.title.text == "a = 2.0"
    for step, frame in zip(figure.layout.sliders[0].steps, figure.frames, strict=True):
        assert list(step.args[0]) == [frame.name]


def test_a_slider_twin_moves_one_argument_through_its_default():
    with pytest.raises(ValueError, match="moves one argument, not 2"):
        with_slider(parabola, a=[1.0], n=[3])
    with pytest.raises(ValueError, match=r"a starts at 1\.0, which is not among the steps"):
        with_slider(parabola, a=[0.0, 2.0])


def test_every_method_has_a_style_of_its_own():
    styles = {(METHODS[method].colour, METHODS[method].dash) for method in METHODS}
    assert len(styles) == len(METHODS)
    assert line_style("tv") == {"color": METHODS["tv"].colour, "dash": "solid", "width": 2.5}
    assert line_style("tv") != line_style("ce")
    assert line_style("mine")["dash"] == "longdash"


def test_curves_keep_their_order_and_their_names():
    figure = curves_figure(
        {"tv": [1, 2], "ce": [2, 1]}, [0, 1], names={"ce": "CE"}, title="t", x_title="x", y_title="y"
    )
    assert [line.name for line in figure.data] == ["tv", "CE"]
    assert figure.layout.xaxis.title.text == "x"


def test_images_fill_a_grid_that_is_drawn_as_one():
    one, other = [[0, 2], [2, 0]], [[5, 5], [0, 0]]
    figure = images_figure([one] * 4 + [other], list("abcde"), title="t", columns=3)
    (canvas,) = (np.asarray(trace.z) for trace in figure.data)
    assert [note.text for note in figure.layout.annotations] == list("abcde")
    for note, image in zip(figure.layout.annotations, [one] * 4 + [other], strict=True):
        top, left = int(note.y + 0.5), int(note.x - 0.5)
        tile = canvas[top : top + 2, left : left + 2]
        np.testing.assert_array_equal(tile, np.array(image) / np.max(image))  # each as dark as it gets
        assert np.isnan(canvas[top - 1]).all(), "room for the caption"
    assert np.isfinite(canvas).sum() == 5 * 4
    assert figure.layout.yaxis.scaleanchor == "x", "pixels are square"


def test_an_image_without_ink_is_drawn_white():
    figure = images_figure([[[0, 0], [0, 0]]], ["blank"], title="t")
    assert np.nanmax(np.asarray(figure.data[0].z)) == 0


@pytest.fixture
def screen(monkeypatch):
    """What was drawn, in order; "clear" where the old drawing was taken away first."""
    drawings = []
    monkeypatch.setattr("IPython.display.display", lambda what: drawings.append(what))
    monkeypatch.setattr("IPython.display.clear_output", lambda wait: drawings.append("clear"))
    return drawings


def grow(pause, steps=5):
    values = []
    with LiveFigure(lambda: list(values), pause=pause) as figure:
        for step in range(steps):
            values.append(step)
            figure.update({"epoch": step})


def test_a_live_figure_is_drawn_while_it_grows(screen, monkeypatch):
    monkeypatch.setenv("FDIV_STATIC", "0")
    grow(pause=0)
    assert isinstance(screen[0], ipywidgets.Output)
    assert screen[1::2] == ["clear"] * 6
    assert [len(figure) for figure in screen[2::2]] == [1, 2, 3, 4, 5, 5]


def test_a_live_figure_rests_between_drawings(screen, monkeypatch):
    monkeypatch.setenv("FDIV_STATIC", "0")
    grow(pause=100)
    assert [len(figure) for figure in screen[2::2]] == [1, 5]


def test_a_static_live_figure_is_drawn_once_and_whole(screen, monkeypatch):
    monkeypatch.setenv("FDIV_STATIC", "1")
    grow(pause=0)
    assert screen == [[0, 1, 2, 3, 4]]


def test_a_live_figure_leaves_an_error_alone(screen, monkeypatch):
    monkeypatch.setenv("FDIV_STATIC", "1")
    with pytest.raises(ZeroDivisionError), LiveFigure(list):
        raise ZeroDivisionError
    assert not screen
