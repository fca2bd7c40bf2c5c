"""Notebooks in JupyterLab, as a reader meets them: run everything, move every slider, save."""

import contextlib
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from functools import partial
from types import SimpleNamespace

import nbformat
import pytest

from fdiv.course.notebooks import FOLDER, pair_differences
from fdiv.course.pages import PLOTLY

pytestmark = pytest.mark.browser
NAMES = (
    "00_start_here",
    "01_divergences_and_conjugates",
    "02_noise_models",
    "03_decoupling_theorem",
    "04_mnist",  # a figure that grows while a network trains
    "09_bias_correction",
)
SCRATCH = "empty_callback"  # a slider whose figure is empty, against which the others are timed
SCRATCH_CODE = """import plotly.graph_objects as go
from fdiv.course.controls import explore
explore(lambda n=5: go.Figure(layout={"title": {"text": str(n)}}), n=(0, 10, 1))"""
NEWS = "@jupyterlab/apputils-extension/notification.jupyterlab-settings"  # a question over the notebook
TOKEN = "reader"
PANEL = ".jp-NotebookPanel .jp-WindowedPanel-outer"
BUSY = "() => [...document.querySelectorAll('.jp-InputPrompt')].some(one => one.textContent.includes('[*]'))"
START, RUN, MOVE = 60, 240, 10  # seconds at most
TOOK: dict[str, float] = {}  # seconds from the address to the last cell
PRESSES = 6  # to and fro, so that a control ends where it began
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
            cells=[nbformat.v4.new_code_cell(SCRATCH_CODE)],
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        ),
        home / "notebooks" / f"{SCRATCH}.ipynb",
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
        wait_until(lambda: answers(f"{address}/api?token={TOKEN}"), START, f"see {home / 'log'}")
        yield SimpleNamespace(address=address, folder=home / "notebooks")
    finally:
        process.terminate()
        process.wait(timeout=30)
        log.close()


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:
        return False


def wait_until(condition, seconds: float, what: str) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.2)


@pytest.fixture(scope="module", params=NAMES)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def lab(browser, server, screenshots, name):
    """The notebook, opened and run to its end."""
    start = time.monotonic()
    with opened(browser, server, name) as page:
        page.wait_for_selector(".jp-NotebookPanel .jp-RenderedMarkdown h1", timeout=START * 1000)
        page.screenshot(path=screenshots / f"lab_{name[:2]}_opened.png")
        run_all(page)
        TOOK[name] = time.monotonic() - start
        for button in page.get_by_role("button", name="show me").all():  # what a prediction hides
            button.click()
        yield page


@contextlib.contextmanager
def opened(browser, server, name):
    """A notebook in a browser of its own, its kernel ready."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    page = context.new_page()
    page.goto(f"{server.address}/lab/workspaces/{name}/tree/{name}.ipynb?token={TOKEN}")  # no other tab
    page.wait_for_selector("#jp-main-statusbar >> text=/\\| Idle$/", timeout=START * 1000)
    yield page
    context.close()


def run_all(page) -> None:
    """Run > Run All Cells, and wait for the last."""
    page.click(".lm-MenuBar-itemLabel >> text=Run")
    page.click("li[data-command='runmenu:run-all']")
    page.wait_for_function(BUSY, timeout=START * 1000)
    page.wait_for_function(f"() => !({BUSY})()", timeout=RUN * 1000)


@pytest.fixture(scope="module")
def empty_callback(browser, server):
    """How long a slider takes to show a figure with nothing in it, in ms."""
    with opened(browser, server, SCRATCH) as page:
        run_all(page)
        return statistics.median(moved(page, controls(interactive_cells(page).first)[0]))


def is_whole(path) -> bool:
    """Whether JupyterLab has written the file to its end."""
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return False
    return True


def test_every_cell_ran_without_an_error(lab, server, name):
    """Saved as a reader would: both files of the pair are written, and still agree."""
    twin = server.folder / f"{name}.ipynb"
    before = twin.stat().st_mtime_ns
    lab.keyboard.press("Control+s")
    wait_until(lambda: twin.stat().st_mtime_ns > before and is_whole(twin), MOVE, "saved")
    source = server.folder / f"{name}.py"
    wait_until(lambda: pair_differences(source) == [], MOVE, "the text written too, and equal")
    notebook = nbformat.read(twin, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell.outputs]
    assert [o for o in outputs if o.output_type == "error" or o.get("name") == "stderr"] == []


def test_saving_leaves_the_text_as_it_was(lab, server, name):
    """Or whoever only ran the notebook would have changes to commit."""
    saved, committed = (
        (folder / f"{name}.py").read_text(encoding="utf-8") for folder in (server.folder, FOLDER)
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
    cell.locator(".js-plotly-plot .main-svg").first.wait_for(timeout=MOVE * 1000)
    return cell.locator(".noUi-handle, .widget-dropdown select, .widget-checkbox input").all()


def moved(page, control) -> list[float | None]:
    """Move a control to and fro: the ms until another figure was seen, None where it stayed as it was."""
    cell = control.locator("xpath=ancestor::*[contains(@class, 'jp-CodeCell')]").element_handle()
    waits, moves = [], there_and_back(page, control)
    for number in range(PRESSES):
        page.evaluate(REST)
        cell.evaluate(WATCH, 1000 * MOVE)
        moves[number % 2]()
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


def test_every_control_moves_its_figure(lab, name, empty_callback, screenshots, record_property):
    """The waits are told as multiples of an empty figure's, since times here and there differ."""
    source = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    cells = interactive_cells(lab)
    assert cells.count() == source.count("\nexplore(")
    waits = {}
    for number in range(cells.count()):
        for control in controls(cells.nth(number)):
            label = control.locator("xpath=ancestor::*[contains(@class, 'widget-inline-hbox')]")
            said = f"cell {number + 1}, {label.locator('label, .widget-label').first.text_content()}"
            waits[said] = moved(lab, control)
        lab.screenshot(path=screenshots / f"lab_{name[:2]}_moved_{number + 1}.png")
    assert [said for said, each in waits.items() if None in each] == []
    medians = {said: statistics.median(each) / empty_callback for said, each in waits.items()}
    lines = [f"{name}: opened and run in {TOOK[name]:.0f} s; an empty figure takes {empty_callback:.0f} ms"]
    lines += [f"  {said}: {ratio:.1f} times that" for said, ratio in medians.items()]
    record_property("told", "\n".join(lines))


def test_the_figure_shows_what_the_slider_says(lab, name):
    if name != NAMES[0]:
        pytest.skip("the slider of the first notebook stands for all")
    cell = interactive_cells(lab).first
    handle = controls(cell)[0]
    handle.focus()
    for _ in range(5):
        lab.keyboard.press("ArrowLeft")
    title = "cell => cell.querySelector('.js-plotly-plot')?.layout.title.text ?? ''"
    wait_until(lambda: "epoch 95" in cell.evaluate(title), MOVE, "the epoch of the slider")
    lab.wait_for_timeout(1500)
    assert "epoch 95" in cell.evaluate(title)
    assert cell.locator(".js-plotly-plot").count() == 1, "the old figure is gone"


def test_every_figure_is_drawn(lab, screenshots, name):
    """JupyterLab draws what is in sight: go from top to bottom, and look."""
    stored = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    wanted = sum(PLOTLY in o.get("data", {}) for cell in stored.cells for o in cell.get("outputs", []))
    scroll = f"top => document.querySelector('{PANEL}').scrollTop = top"
    for number, top in enumerate(
        range(0, lab.evaluate(f"document.querySelector('{PANEL}').scrollHeight"), 850)
    ):
        lab.evaluate(scroll, top)
        lab.wait_for_timeout(200)
        lab.screenshot(path=screenshots / f"lab_{name[:2]}_{number:02d}.png")
    drawn = lab.locator(".js-plotly-plot", has=lab.locator(".mlayer :is(path, image)"))
    assert drawn.count() == wanted
