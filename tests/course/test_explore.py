"""Sliders: live with ipywidgets, and when static one figure with a twin that needs no kernel."""

import json

import ipywidgets
import numpy as np
import plotly.graph_objects as go
import pytest
import torch
from IPython.core import display_functions

from fdiv.course import controls
from fdiv.course.axes import extents
from fdiv.course.controls import LiveFigure, explore
from fdiv.course.figures import curves_figure, images_figure, line_style, simplex_figure, with_slider
from fdiv.course.twins import as_json, frames
from fdiv.learning import METHODS
from fdiv.theory.divergences import DIVERGENCES


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


def twin(figure) -> dict:
    """Options chosen to figure, for each position of a figure's controls, as a page reads them."""
    return dict(frames(json.loads(figure.to_json())))


def test_static_shows_the_defaults_and_stores_every_other_position(shown, monkeypatch):
    monkeypatch.setenv("FDIV_STATIC", "1")
    explore(parabola, **CONTROLS)
    (figure,) = shown
    assert list(figure.data[0].y) == [0, 1, 4]
    stored = twin(figure)
    assert len(stored) == 5 * 9 * 2 * 2
    for (a, n, kind, _), one in stored.items():
        (trace,) = one["data"]
        assert trace["y"] == [float(a) * k * k for k in range(int(n))]
        assert trace["mode"] == f"{kind}s"
        assert one["layout"]["title"]["text"] == f"a = {float(a)}"
    assert [one["kind"] for one in figure.layout.meta["twin"]["controls"]] == [
        "range",
        "range",
        "menu",
        "box",
    ]


def test_axes_stay_where_they_are(shown, monkeypatch):
    monkeypatch.setenv("FDIV_STATIC", "1")
    explore(parabola, **CONTROLS)
    ranges = {tuple(one["layout"]["yaxis"]["range"]) for one in twin(shown[0]).values()}
    assert len(ranges) == 1
    low, high = ranges.pop()
    assert low < 0
    assert 128 < high < 140


def test_a_range_of_the_function_stays(shown, monkeypatch):
    monkeypatch.setenv("FDIV_STATIC", "1")
    explore(lambda a=1: parabola(a).update_yaxes(range=(0, 2 * a)), a=[1, 2, 3])
    assert [one["layout"]["yaxis"]["range"] for one in twin(shown[0]).values()] == [[0, 2], [0, 4], [0, 6]]


def test_a_slider_has_fewer_positions_on_a_page_with_its_ends_and_its_start(shown, monkeypatch):
    monkeypatch.setenv("FDIV_STATIC", "1")
    monkeypatch.setattr(controls, "FIGURES", 20)
    explore(parabola, a=(0.0, 2.0, 0.05), kind=["line", "marker"])
    slider, menu = shown[0].layout.meta["twin"]["controls"]
    assert {"0", "1", "2"} <= set(slider["options"])
    assert len(slider["options"]) <= 10
    assert slider["options"][slider["start"]] == "1"
    assert menu["options"] == ["line", "marker"]


def test_a_twin_that_is_too_large_has_fewer_positions(shown, monkeypatch):
    monkeypatch.setenv("FDIV_STATIC", "1")
    noise = np.random.default_rng(0).normal(size=(41, 100))
    monkeypatch.setattr(controls, "BYTES", 6_000)
    explore(lambda n=20: go.Figure(go.Scatter(y=noise[n])), n=(0, 40, 1))
    stored = shown[0].layout.meta["twin"]
    assert len(stored["packed"]) <= 6_000
    assert 5 < len(stored["controls"][0]["options"]) < 41
    for (n,), one in twin(shown[0]).items():
        np.testing.assert_allclose(one["data"][0]["y"], noise[int(n)], rtol=6e-4)


def test_a_lesson_may_choose_the_positions(shown, monkeypatch):
    monkeypatch.setenv("FDIV_STATIC", "1")
    explore(parabola, page={"a": [0.0, 0.1, 1.0]}, a=(0.0, 2.0, 0.5))
    assert list(twin(shown[0])) == [("0",), ("0.1",), ("1",)]
    with pytest.raises(ValueError, match=r"a starts at 1\.0, which is not among its positions \[0\]"):
        explore(parabola, page={"a": [0]}, a=(0.0, 2.0, 0.5))


def test_values_that_do_not_go_together_have_no_figure(shown, monkeypatch):
    monkeypatch.setenv("FDIV_STATIC", "1")
    explore(lambda a=1, n=1: None if a + n > 4 else parabola(a, n), a=[1, 2, 3], n=[1, 2, 3])
    assert [key for key, one in twin(shown[0]).items() if one is None] == [("2", "3"), ("3", "2"), ("3", "3")]
    with pytest.raises(ValueError, match="draws nothing at its defaults"):
        explore(lambda a=1: None, a=[1, 2])


def test_traces_and_parts_may_come_and_go(shown, monkeypatch):
    def growing(n=2):
        figure = go.Figure([go.Scatter(y=[k]) for k in range(n)])
        return figure.add_hline(y=1) if n == 3 else figure

    monkeypatch.setenv("FDIV_STATIC", "1")
    explore(growing, n=[1, 2, 3])
    drawn = twin(shown[0])
    assert [len(one["data"]) for one in drawn.values()] == [1, 2, 3]
    assert ["shapes" in one["layout"] for one in drawn.values()] == [False, False, True]


@pytest.mark.parametrize(
    ("figure", "axis", "least"),
    [
        (go.Figure(go.Scatter(y=[0, 3], mode="lines")).add_hline(y=5), "yaxis", (0, 5)),
        (go.Figure([go.Bar(y=[1, 2]), go.Bar(y=[3, 4])], {"barmode": "stack"}), "yaxis", (0, 6)),
        (go.Figure(go.Waterfall(y=[2, -3, 0], measure=["relative"] * 2 + ["total"])), "yaxis", (-1, 2)),
        (go.Figure(go.Bar(x=[1.0], y=["a"], error_x={"array": [2.0]}, orientation="h")), "xaxis", (-1, 3)),
        (go.Figure(go.Scatter(x=[1, 100], y=[1, 1])).update_xaxes(type="log"), "xaxis", (0, 2)),
        (go.Figure(go.Scatter(y=np.array([1.0, np.nan, np.inf]))), "yaxis", (1, 1)),
    ],
)
def test_every_kind_of_mark_has_room(figure, axis, least):
    low, high = extents(as_json(figure))[axis]
    assert low <= least[0] <= least[1] <= high
    assert high - low < 1.5 * max(least[1] - least[0], 2)


def test_axes_of_words_and_of_matrices_are_left_alone():
    assert "xaxis" not in extents(as_json(go.Figure(go.Bar(x=["a", "b"], y=[1, 2]))))
    assert extents(as_json(go.Figure(go.Heatmap(z=[[1, 2]])))) == {}


def test_live_axes_stay_too(shown, monkeypatch):
    monkeypatch.setenv("FDIV_STATIC", "0")
    explore(parabola, a=(0.0, 2.0, 0.5))
    (box,) = [one for one in shown if isinstance(one, ipywidgets.VBox)]
    (slider,) = box.children[0].children
    slider.value = 2.0
    drawn = [one for one in shown if isinstance(one, go.Figure)]
    assert drawn[0].layout.yaxis.range == drawn[-1].layout.yaxis.range
    assert drawn[0].layout.yaxis.range[1] > 8


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


def test_a_list_of_numbers_is_a_slider_with_those_stops(shown, monkeypatch):
    monkeypatch.setenv("FDIV_STATIC", "1")
    with_slider(parabola, a=[0.5, 1.0, 2.0])
    (control,) = shown[0].layout.meta["twin"]["controls"]
    assert control == {"label": "a", "kind": "range", "options": ["0.5", "1", "2"], "start": 1}
    monkeypatch.setenv("FDIV_STATIC", "0")
    with_slider(parabola, a=[0.5, 1.0, 2.0])
    (box,) = [one for one in shown if isinstance(one, ipywidgets.VBox)]
    assert isinstance(box.children[0].children[0], ipywidgets.SelectionSlider)


def test_with_slider_moves_one_argument_through_its_default():
    with pytest.raises(ValueError, match="moves one argument, not 2"):
        with_slider(parabola, a=[1.0], n=[3])
    with pytest.raises(ValueError, match=r"a starts at 1\.0, which its control"):
        with_slider(parabola, a=[0.0, 2.0])


def test_a_divergence_without_bound_has_colours_by_the_logarithm():
    centre = torch.full((3,), 1 / 3, dtype=torch.float64)
    for name, d in DIVERGENCES.items():
        figure = simplex_figure(lambda p, d=d: d(p, centre.expand_as(p), dim=1), centre.tolist(), title=name)
        by_log = figure.data[0].colorbar.ticktext is not None
        assert by_log == (name in ("neyman", "reverse-kl", "jeffrey")), name
        shades = np.asarray(figure.data[0].z)
        assert np.nanmax(shades) - np.nanmin(shades) < 6


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


def test_a_story_has_its_lines_in_colour_with_their_names_and_the_rest_grey():
    curves = {"ce": [0, 1.0], "tv": [0, 0.99], "js": [0, 0.2], "kl": [0, 0.5]}
    figure = curves_figure(
        curves, [0, 1], names={"tv": "TV"}, title="", x_title="", y_title="", story=["tv", "ce"]
    )
    colours = {line.name: line.line.color for line in figure.data}
    assert colours["TV"] == METHODS["tv"].colour
    assert len({colours["js"], colours["kl"]}) == 1
    assert [line.name for line in figure.data][-2:] == ["ce", "TV"], "in front of the others"
    low, high = sorted(figure.layout.annotations, key=lambda note: note.y)
    assert {low.text, high.text} == {"TV", "ce"}
    assert high.y - low.y > 0.05, "names do not touch"
    assert not figure.layout.showlegend


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
    grid = figure.data[0].meta["grid"]  # by which a narrow page cuts it into tiles
    assert canvas.shape == (2 * grid["high"], 3 * grid["wide"])
    assert (grid["count"], grid["columns"], grid["high"] - grid["above"]) == (5, 3, 2)


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
