"""JupyterLab, as a reader meets it: a notebook run and saved, and every kind of control and figure moved.

nbval executes all the notebooks; here one stands for them, and a small one has each kind of control once.
"""

import contextlib
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import urllib.request
from functools import partial
from types import SimpleNamespace

import nbformat
import pytest
from waiting import PATIENCE, wait_for

from fdiv.course.notebooks import FOLDER, pair_differences
from fdiv.course.site.lessons import PLOTLY

pytestmark = pytest.mark.browser
NAME = "00_start_here"
KINDS = "every_kind"  # of control, of growing figure, and of figure to play with
KINDS_CODE = """import json
from pathlib import Path
import plotly.graph_objects as go
from fdiv.course import LiveFigure, explore
from fdiv.course.widgets import classifier_plane, memorisation_machine, t_editor

def draw(whole=5, part=0.5, stop=2, menu="a", box=True):
    title = f"{whole} {part:g} {stop} {menu} {box}"
    return go.Figure(go.Bar(y=[whole, part, stop]), {"title": {"text": title}})

explore(draw, whole=(0, 10, 1), part=(0.0, 1.0, 0.25), stop=[1, 2, 8], menu=["a", "b"], box=True)
#---
values = []
with LiveFigure(lambda: go.Figure(go.Scatter(y=values)), pause=0) as growing:
    for step in range(5):
        values.append(step)
        growing.update()
#---
figure = t_editor()
figure.observe(lambda change: Path("told.json").write_text(json.dumps(figure.state)), "state")
display(figure, classifier_plane(), memorisation_machine())"""
NEWS = "@jupyterlab/apputils-extension/notification.jupyterlab-settings"  # a question over the notebook
TOKEN = "reader"
PANEL = ".jp-NotebookPanel .jp-WindowedPanel-outer"
BUSY = "() => [...document.querySelectorAll('.jp-InputPrompt')].some(one => one.textContent.includes('[*]'))"
# JupyterLab draws a figure a second time and makes a picture of it; a hand moves again when that is done.
REST = "() => new Promise(rested => setTimeout(() => requestIdleCallback(rested), 100))"
# What the figure of a cell shows, null while it is replaced; and the ms from a key press to another figure.
SHOWN = """cell => {
    const figures = cell.querySelectorAll('.js-plotly-plot');
    if (figures.length !== 1 || !figures[0].querySelector('.main-svg')) return null;
    return JSON.stringify([figures[0].data, figures[0].layout.title]);
}"""
WATCH = (
    f"(cell, limit) => {{ const shown = {SHOWN};"
    """
    const before = shown(cell);
    cell.answer = new Promise(resolve => {
        const start = () => {
            const pressed = performance.now();
            const look = () => {
                const now = shown(cell), waited = performance.now() - pressed;
                if (now !== null && now !== before) resolve(waited);
                else if (waited > limit) resolve(null);
                else requestAnimationFrame(look);
            };
            look();
        };
        for (const event of ['keydown', 'change'])
            cell.addEventListener(event, start, {once: true, capture: true});
    });
}"""
)


@pytest.fixture(scope="module")
def server(browser, tmp_path_factory):
    """JupyterLab on a copy of the notebooks, with nobody's settings (and only where there is a browser)."""
    home = tmp_path_factory.mktemp("lab")
    shutil.copytree(
        FOLDER, home / "notebooks", ignore=shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
    )
    for text in (home / "notebooks").glob("*.py"):
        os.utime(text, (0, 0))  # as after a refresh, which writes the .ipynb alone
    nbformat.write(
        nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(code.strip()) for code in KINDS_CODE.split("#---")],
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        ),
        home / "notebooks" / f"{KINDS}.ipynb",
    )
    path = home / "jupyterlab_settings_dir" / NEWS
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"fetchNews": "false"}))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {name: value for name, value in os.environ.items() if name != "FDIV_STATIC"}
    for name in (
        "JUPYTER_CONFIG_DIR",
        "JUPYTER_RUNTIME_DIR",
        "JUPYTERLAB_SETTINGS_DIR",
        "JUPYTERLAB_WORKSPACES_DIR",
    ):
        environment[name] = str(home / name.lower())
    log = (home / "log").open("w")
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "notebooks",
        "--no-browser",
        "--allow-root",
        "--ip=127.0.0.1",
    ]
    process = subprocess.Popen(
        [*command, f"--port={port}", "--ServerApp.port_retries=0", f"--IdentityProvider.token={TOKEN}"],
        cwd=home, env=environment, stdout=log, stderr=subprocess.STDOUT,
    )  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    try:
        wait_for(lambda: answers(f"{address}/api?token={TOKEN}"), f"see {home / 'log'}")
        yield SimpleNamespace(address=address, folder=home / "notebooks")
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE)
        log.close()


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:
        return False


@pytest.fixture(scope="module")
def lab(browser, server, keep):
    """The notebook, opened and run to its end."""
    with opened(browser, server, NAME) as page:
        page.wait_for_selector(".jp-NotebookPanel .jp-RenderedMarkdown h1")
        keep(page, "lab_opened")
        run_all(page)
        for question in page.get_by_role("button", name="show me").all():
            question.press("Enter")  # or the answers are out of sight
        yield page


@pytest.fixture(scope="module")
def kinds(browser, server):
    """The small notebook, run, and what its page complained of."""
    with opened(browser, server, KINDS) as page:
        page.complaints = []
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        run_all(page)
        yield page


@contextlib.contextmanager
def opened(browser, server, name):
    """A notebook in a browser of its own, its kernel ready."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    page = context.new_page()
    page.goto(f"{server.address}/lab/workspaces/{name}/tree/{name}.ipynb?token={TOKEN}")  # no other tab
    page.wait_for_selector("#jp-main-statusbar >> text=/\\| Idle$/")
    yield page
    context.close()


def run_all(page) -> None:
    """Run > Run All Cells, and wait for the last."""
    page.click(".lm-MenuBar-itemLabel >> text=Run")
    page.click("li[data-command='runmenu:run-all']")
    page.wait_for_function(BUSY)
    page.wait_for_function(f"() => !({BUSY})()")


def is_whole(path) -> bool:
    """Whether JupyterLab has written the file to its end."""
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return False
    return True


def test_every_cell_ran_without_an_error(lab, server):
    """Saved as a reader would: both files of the pair are written, and still agree."""
    twin = server.folder / f"{NAME}.ipynb"
    before = twin.stat().st_mtime_ns
    lab.keyboard.press("Control+s")
    wait_for(lambda: twin.stat().st_mtime_ns > before and is_whole(twin), "saved")
    source = server.folder / f"{NAME}.py"
    wait_for(lambda: pair_differences(source) == [], "the text written too, and equal")
    notebook = nbformat.read(twin, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell.outputs]
    assert [o for o in outputs if o.output_type == "error" or o.get("name") == "stderr"] == []


def test_saving_leaves_the_text_as_it_was(lab, server):
    """Or whoever only ran the notebook would have changes to commit."""
    saved, committed = (
        (folder / f"{NAME}.py").read_text(encoding="utf-8") for folder in (server.folder, FOLDER)
    )
    assert saved == committed


def test_mathematics_is_set_and_links_are_live(lab):
    assert lab.query_selector_all("mjx-container")
    assert lab.query_selector_all("mjx-merror, merror") == []
    assert lab.query_selector_all(".jp-RenderedMarkdown a[href*='.ipynb']")


def interactive_cells(page):
    """The cells with controls of ipywidgets."""
    return page.locator(
        ".jp-CodeCell", has=page.locator(".widget-slider, .widget-dropdown, .widget-checkbox")
    )


def controls(cell) -> list:
    """What a hand can move in a cell: the handle of a slider, a menu, a check box."""
    cell.scroll_into_view_if_needed()
    cell.locator(".js-plotly-plot .main-svg").first.wait_for()
    return cell.locator(".noUi-handle, .widget-dropdown select, .widget-checkbox input").all()


def moved(page, control) -> list[float | None]:
    """Move a control there and back: the ms until another figure was seen, None where it stayed as it was."""
    cell = control.locator("xpath=ancestor::*[contains(@class, 'jp-CodeCell')]").element_handle()
    waits = []
    for move in there_and_back(page, control):
        page.evaluate(REST)
        cell.evaluate(WATCH, 1000 * PATIENCE)
        move()
        waits.append(cell.evaluate("cell => cell.answer"))
    return waits


def there_and_back(page, control) -> tuple:
    """Two moves of a hand, of which the second undoes the first."""
    match control.evaluate("one => one.tagName"):
        case "SELECT":
            start = control.evaluate("one => one.selectedIndex")
            return tuple(
                partial(control.select_option, index=to) for to in (start - 1 if start else 1, start)
            )
        case "INPUT":
            return control.click, control.click
    control.focus()
    now, top = (float(control.get_attribute(f"aria-value{end}")) for end in ("now", "max"))
    keys = ("ArrowLeft", "ArrowRight") if now >= top else ("ArrowRight", "ArrowLeft")
    return tuple(partial(page.keyboard.press, key) for key in keys)


RANGE = "cell => JSON.stringify(cell.querySelector('.js-plotly-plot').layout.yaxis.range)"


def test_every_kind_of_control_moves_its_figure_on_axes_that_stay(kinds, keep, record_property):
    cell = interactive_cells(kinds).first
    range_ = cell.evaluate(RANGE)
    assert json.loads(range_)[1] > 10, "as wide as the largest needs"
    found = controls(cell)
    assert len(found) == 5
    waits = [wait for control in found for wait in moved(kinds, control)]
    assert None not in waits
    assert cell.evaluate(RANGE) == range_
    keep(kinds, "lab_kinds")
    median = statistics.median(waits)
    record_property("told", f"JupyterLab: another figure {median:.0f} ms after a key, in the median")


def test_a_figure_that_grew_is_shown_once_and_whole(kinds):
    cell = kinds.locator(".jp-CodeCell").nth(1)
    cell.scroll_into_view_if_needed()
    cell.locator(".js-plotly-plot .main-svg").first.wait_for()
    shown = "cell => [...cell.querySelectorAll('.js-plotly-plot')].map(one => one._fullData[0].y.length)"
    wait_for(lambda: cell.evaluate(shown) == [5], "one figure with five points")


def test_the_kernel_hears_what_the_reader_does(kinds, server, keep):
    told = server.folder / "told.json"
    entry = kinds.get_by_role("slider", name="Selected entry")
    entry.scroll_into_view_if_needed()
    kinds.wait_for_function("() => document.querySelectorAll('.fdiv-fig canvas').length >= 11")
    wait_for(told.exists, "the kernel has heard of the first state")
    entry.focus()
    for _ in range(3):
        entry.press("ArrowRight")
    wait_for(lambda: ", 0.43, 0]" in told.read_text(), "three steps of a hundredth each")
    keep(kinds, "lab_figures_light")
    kinds.evaluate("document.body.dataset.jpThemeLight = 'false'")
    kinds.wait_for_function(
        "() => [...document.querySelectorAll('.fdiv-fig')].every(one => one.dataset.theme === 'dark')"
    )
    keep(kinds, "lab_figures_dark")
    assert kinds.complaints == []


def test_the_figure_shows_what_the_slider_says(lab):
    cell = interactive_cells(lab).first
    handle = controls(cell)[0]
    handle.focus()
    for _ in range(5):
        lab.keyboard.press("ArrowLeft")
    title = "cell => cell.querySelector('.js-plotly-plot')?.layout.title.text ?? ''"
    wait_for(lambda: "epoch 95" in cell.evaluate(title), "the epoch of the slider")
    lab.wait_for_timeout(1500)
    assert "epoch 95" in cell.evaluate(title)
    assert cell.locator(".js-plotly-plot").count() == 1, "the old figure is gone"


def test_every_figure_is_drawn(lab, keep):
    """JupyterLab draws what is in sight: go from top to bottom, and look."""
    stored = nbformat.read(FOLDER / f"{NAME}.ipynb", as_version=4)
    wanted = sum(PLOTLY in o.get("data", {}) for cell in stored.cells for o in cell.get("outputs", []))
    scroll = f"top => document.querySelector('{PANEL}').scrollTop = top"
    drawn = lab.locator(".js-plotly-plot", has=lab.locator(".mlayer :is(path, image)"))

    def go_through():
        for number, top in enumerate(
            range(0, lab.evaluate(f"document.querySelector('{PANEL}').scrollHeight"), 850)
        ):
            lab.evaluate(scroll, top)
            lab.wait_for_timeout(200)
            keep(lab, f"lab_00_{number:02d}")
        return drawn.count() == wanted

    wait_for(go_through, f"{wanted} figures")


ASK = """from fdiv.course import predict
predict("Is $1 < 2$?", ["no", "yes"], answer=1, why=["Count again.", "Two is one more."])"""
HEIGHT = """word => [...document.querySelectorAll('.jp-Cell-outputWrapper')]
    .find(one => one.textContent.includes(word)).clientHeight"""


def test_the_next_output_is_hidden_until_a_button_is_pressed(browser, server, keep):
    notebook = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_code_cell(ASK),
            nbformat.v4.new_markdown_cell("Now look."),
            nbformat.v4.new_code_cell('print("sur" + "prise")'),
            nbformat.v4.new_markdown_cell("You saw it.\n\n## 2 What follows\n\nStays."),
            nbformat.v4.new_code_cell('print("after" + "wards")'),
        ],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    nbformat.write(notebook, server.folder / "question.ipynb")
    with opened(browser, server, "question") as page:
        run_all(page)
        page.wait_for_selector("text=show me")
        page.wait_for_selector(".fdiv-predict mjx-container, .fdiv-predict .MathJax")
        assert page.evaluate(HEIGHT, "surprise") == 0
        assert page.evaluate(HEIGHT, "afterwards") > 0
        assert not page.locator("p", has_text="You saw it.").is_visible()
        assert page.locator("p", has_text="Stays.").is_visible()
        keep(page, "lab_prediction_open")
        page.get_by_role("button", name="a", exact=True).press("Enter")
        page.wait_for_selector("text=Not a: it is b.")
        assert page.get_by_text("a. Count again.").is_visible()
        assert page.evaluate(HEIGHT, "surprise") > 0
        assert page.locator("p", has_text="You saw it.").is_visible()
        keep(page, "lab_prediction_answered")
