"""The Python side of the figures: what a notebook stores, what a page holds, what a kernel shows."""

import json
import re

import nbformat
import pytest

from fdiv.course import widgets
from fdiv.course.pages import build
from fdiv.course.widgets import FIGURE, FOLDER

NAMES = sorted(path.stem for path in FOLDER.glob("*.js") if path.stem != "common")
LIMIT = 40_000  # of readable source, as sent to a browser


def stored(name: str, **defaults):
    """What a notebook stores for a figure."""
    return json.loads(json.dumps(getattr(widgets, name)(**defaults)._repr_mimebundle_()))


@pytest.fixture
def static(monkeypatch):
    monkeypatch.setenv("FDIV_STATIC", "1")


def test_every_module_has_its_door_in_python():
    assert set(NAMES) <= set(widgets.__all__)


@pytest.mark.parametrize("name", NAMES)
def test_a_module_is_small_and_stands_alone(name):
    text = widgets.source(name)
    assert len(text.encode()) < LIMIT
    assert re.findall(r"^import|\bimport\(|fetch\(|https?://(?!www\.w3)", text, re.MULTILINE) == []
    assert "</script" not in text


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_stores_parameters_and_the_finding_only(static, name):
    bundle = stored(name)
    assert bundle == stored(name), "nbval compares outputs"
    assert set(bundle) == {FIGURE, "text/html", "text/plain"}
    assert bundle[FIGURE]["finding"] in bundle["text/plain"]
    assert bundle[FIGURE]["finding"] in bundle["text/html"].partition("<details>")[2], (
        "folded: it is an answer"
    )
    assert len(json.dumps(bundle)) < 12_000


@pytest.mark.parametrize("name", NAMES)
def test_other_settings_may_have_a_finding_of_their_own(static, name):
    assert stored(name, finding="Nothing moves.")[FIGURE]["finding"] == "Nothing moves."


@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_shows_a_widget_with_the_same_parameters(monkeypatch, name):
    monkeypatch.delenv("FDIV_STATIC", raising=False)
    anywidget = pytest.importorskip("anywidget")
    live = getattr(widgets, name)()
    assert isinstance(live, anywidget.AnyWidget)
    monkeypatch.setenv("FDIV_STATIC", "1")
    assert live.params == stored(name)[FIGURE]["params"]
    live.close()


def test_a_page_holds_each_module_once(static, tmp_path):
    outputs = [nbformat.v4.new_output("display_data", data=stored(name)) for name in [*NAMES, *NAMES]]
    cells = [nbformat.v4.new_markdown_cell("# Figures"), nbformat.v4.new_code_cell("", outputs=outputs)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "00_figures.ipynb")
    build(tmp_path, ["00_figures"])
    page = (tmp_path / "00_figures.html").read_text(encoding="utf-8")
    assert page.count(", widget, core);</script>") == len(NAMES)
    assert page.count("<figcaption>") == len(outputs)
    assert "mountFigure(" not in (tmp_path / "index.html").read_text(encoding="utf-8").split("</script>")[-1]


@pytest.mark.parametrize(
    ("name", "wrong", "cure"),
    [
        ("memorisation_machine", {"left": "hinge"}, "cross-entropy, tv, js"),
        ("memorisation_machine", {"rate": 0.9}, "from 0 to 0.5"),
        ("memorisation_machine", {"classes": 2.5}, "whole number between 2 and 4"),
        ("classifier_plane", {"curve": "line"}, "bend, roc, none"),
        ("t_editor", {"T": [[0.5, 0.6], [0, 1]]}, "sums to"),
        ("t_editor", {"prior": [0.5, 0.5]}, "3 positive probabilities"),
        ("t_editor", {"repair": "magic"}, "none, ratio, forward, backward"),
    ],
)
def test_a_wrong_default_is_refused_with_the_choices(name, wrong, cure):
    with pytest.raises(ValueError, match=cure):
        getattr(widgets, name)(**wrong)
