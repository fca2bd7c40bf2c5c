"""A real browser for the tests of this folder; where there is none they are skipped, and say so."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from waiting import PATIENCE

SCREENSHOTS = "SCREENSHOTS"  # set it in the environment: painting whole pages takes minutes
FOLDER = Path(__file__).resolve().parents[2] / "runs" / "screenshots"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser():
    """Chromium, driven by playwright; ended with the module, for its event loop is in the way of others."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no chromium on this machine")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        new_context = browser.new_context

        def patient(**options):
            context = new_context(**options)
            context.set_default_timeout(1000 * PATIENCE)
            return context

        browser.new_context = patient
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def keep() -> Callable[..., None]:
    """Keep a picture of a page to be looked at, in runs/screenshots, where pictures are asked for."""

    def keep(page, name: str, **options) -> None:
        if SCREENSHOTS in os.environ:
            FOLDER.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=FOLDER / f"{name}.png", **options)

    return keep


def pytest_terminal_summary(terminalreporter) -> None:
    """At the end, what the tests have to tell: one of several processes cannot print it."""
    for report in terminalreporter.getreports("passed"):
        for name, told in report.user_properties:
            if name == "told":
                terminalreporter.write_line(told)
