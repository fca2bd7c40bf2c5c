"""A prediction in JupyterLab: buttons, and the next cell's output out of sight until one is pressed."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell
from test_lab import opened, run_all, server  # noqa: F401 (a fixture among them)

pytestmark = pytest.mark.browser
ASK = """from fdiv.course import predict
predict("Is $1 < 2$?", ["no", "yes"], answer=1, why=["Count again.", "Two is one more."])"""
HEIGHT = """word => [...document.querySelectorAll('.jp-Cell-outputWrapper')]
    .find(one => one.textContent.includes(word)).clientHeight"""


def test_the_next_output_is_hidden_until_a_button_is_pressed(browser, server, screenshots):  # noqa: F811
    notebook = nbformat.v4.new_notebook(
        cells=[
            new_code_cell(ASK),
            new_markdown_cell("Now look."),
            new_code_cell('print("sur" + "prise")'),
            new_markdown_cell("You saw it.\n\n## 2 What follows\n\nStays."),
            new_code_cell('print("after" + "wards")'),
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
        page.screenshot(path=screenshots / "lab_prediction_open.png")
        page.get_by_role("button", name="a", exact=True).press("Enter")
        page.wait_for_selector("text=Not a: it is b.")
        assert page.locator("li", has_text="Count again.").is_visible()
        assert page.evaluate(HEIGHT, "surprise") > 0
        assert page.locator("p", has_text="You saw it.").is_visible()
        page.screenshot(path=screenshots / "lab_prediction_answered.png")
