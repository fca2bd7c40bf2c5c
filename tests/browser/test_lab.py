"""Notebooks in JupyterLab, as a reader meets them: run everything, move the slider, save."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from types import SimpleNamespace

import nbformat
import pytest

from fdiv.notebooks import FOLDER, pair_differences
from fdiv.pages import PLOTLY

pytestmark = pytest.mark.browser
NAMES = ("00_start_here", "04_mnist")  # a slider, and a figure that grows while a network trains
TOKEN = "reader"
SHOWN = "figure => JSON.stringify([figure.data, figure.layout.title])"
PANEL = ".jp-NotebookPanel .jp-WindowedPanel-outer"
BUSY = "() => [...document.querySelectorAll('.jp-InputPrompt')].some(one => one.textContent.includes('[*]'))"
START, RUN, MOVE = 60, 240, 10  # seconds at most


@pytest.fixture(scope="module")
def server(browser, tmp_path_factory):
    """JupyterLab on a copy of the notebooks, with nobody's settings (and only where there is a browser)."""
    home = tmp_path_factory.mktemp("lab")
    shutil.copytree(
        FOLDER, home / "notebooks", ignore=shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {name: value for name, value in os.environ.items() if name != "FDIV_STATIC"}
    environment.setdefault("OMP_NUM_THREADS", "1")
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
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    page = context.new_page()
    page.goto(f"{server.address}/lab/workspaces/{name}/tree/{name}.ipynb?token={TOKEN}")  # no other tab
    page.wait_for_selector("#jp-main-statusbar >> text=/\\| Idle$/", timeout=START * 1000)
    page.wait_for_selector(".jp-NotebookPanel .jp-RenderedMarkdown h1", timeout=START * 1000)
    refuse_news(page)
    page.screenshot(path=screenshots / f"lab_{name[:2]}_opened.png")
    page.click(".lm-MenuBar-itemLabel >> text=Run")
    page.click("li[data-command='runmenu:run-all']")
    page.wait_for_function(BUSY, timeout=START * 1000)
    page.wait_for_function(f"() => !({BUSY})()", timeout=RUN * 1000)
    yield page
    context.close()


def is_whole(path) -> bool:
    """Whether JupyterLab has written the file to its end."""
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return False
    return True


def refuse_news(page) -> None:
    """JupyterLab asks once whether to fetch news, in a box that lies over the notebook."""
    from playwright.sync_api import TimeoutError as Patience

    with contextlib.suppress(Patience):
        page.click(".jp-toast-button >> text=No", timeout=MOVE * 1000)


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


def test_the_slider_moves_the_figure(lab, screenshots, name):
    if name != NAMES[0]:
        pytest.skip(f"{name} has no slider")
    cell = lab.locator(".jp-CodeCell", has=lab.locator(".noUi-handle"))
    handle = cell.locator(".noUi-handle").first
    handle.scroll_into_view_if_needed()
    figure = cell.locator(".js-plotly-plot").first
    figure.wait_for(timeout=MOVE * 1000)
    lab.screenshot(path=screenshots / "lab_slider_before.png")
    before = figure.evaluate(SHOWN)
    handle.focus()
    for _ in range(5):
        lab.keyboard.press("ArrowLeft")
    wait_until(lambda: figure.count() and figure.evaluate(SHOWN) != before, MOVE, "the figure changed")
    lab.wait_for_timeout(1500)
    assert "epoch 95" in figure.evaluate("figure => figure.layout.title.text")
    assert cell.locator(".js-plotly-plot").count() == 1, "the old figure is gone"
    lab.screenshot(path=screenshots / "lab_slider_after.png")


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
