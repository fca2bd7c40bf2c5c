"""The figures to play with in JupyterLab: shown by anywidget, in its theme, and heard by the kernel."""

import nbformat
import pytest
from test_lab import MOVE, opened, run_all, server, wait_until  # noqa: F401 (a fixture among them)

pytestmark = pytest.mark.browser
CODE = """import json
from pathlib import Path
from fdiv.course.widgets import classifier_plane, memorisation_machine, t_editor
figure = t_editor()
figure.observe(lambda change: Path("told.json").write_text(json.dumps(figure.state)), "state")
display(figure, classifier_plane(), memorisation_machine())"""


def test_the_kernel_hears_what_the_reader_does(browser, server, screenshots):  # noqa: F811
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(CODE)],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    nbformat.write(notebook, server.folder / "figures.ipynb")
    told = server.folder / "told.json"
    with opened(browser, server, "figures") as page:
        complaints = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        run_all(page)
        page.wait_for_function(
            "() => document.querySelectorAll('.fdiv-fig canvas').length >= 11", timeout=30_000
        )
        wait_until(told.exists, MOVE, "the kernel has heard of the first state")
        entry = page.get_by_role("slider", name="Selected entry")
        entry.scroll_into_view_if_needed()
        entry.focus()
        for _ in range(3):
            entry.press("ArrowRight")
        wait_until(lambda: ", 0.43, 0]" in told.read_text(), MOVE, "three steps of a hundredth each")
        page.screenshot(path=screenshots / "lab_figures_light.png")
        page.evaluate("document.body.dataset.jpThemeLight = 'false'")
        page.wait_for_function(
            "() => [...document.querySelectorAll('.fdiv-fig')].every(one => one.dataset.theme === 'dark')"
        )
        page.screenshot(path=screenshots / "lab_figures_dark.png")
        assert complaints == []
