"""Every notebook keeps the shape the course promises. Execution and outputs are nbval's business."""

import ast
import re
from statistics import quantiles

import nbformat
import pytest

from fdiv.course import notebooks
from fdiv.course.lesson import CLAIM_OK
from fdiv.course.notebooks import FOLDER, NotebookError, find, parameters, read
from fdiv.course.pages import PLOTLY

SOURCES = find()
OPENING = ("**Why.**", "Paper: ", "Time: ", "**You will be able to**", "**Contents**")
CLOSING = ("## Claims checked", "## Summary", "## Exercises", "## Further reading", "**Next**")
ROOM = 1_500_000
LONGEST_CELL, P90_CELL = 40, 20


@pytest.fixture(params=SOURCES, ids=lambda path: path.stem)
def source(request):
    return request.param


@pytest.fixture
def stored(source):
    return nbformat.read(source.with_suffix(".ipynb"), as_version=4)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def tags(cell):
    return set(cell.metadata.get("tags", []))


def text_of(output):
    return output.get("text", "") or "".join(output.get("data", {}).get("text/plain", ""))


def test_there_is_no_executed_notebook_without_its_text():
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == {path.stem for path in SOURCES}


def test_pair_is_equal(source):
    assert notebooks.pair_differences(source) == []


def test_cells_were_executed_in_order(stored):
    counts = [cell.execution_count for cell in code_cells(stored)]
    assert counts == list(range(1, len(counts) + 1))


def test_nothing_stored_that_differs_from_run_to_run(stored):
    again = notebooks.tidy(nbformat.from_dict(stored.copy()))
    assert stored.metadata.keys() == {"kernelspec", "language_info"}
    assert [cell.id for cell in stored.cells] == [cell.id for cell in again.cells]
    assert all(cell.metadata.keys() <= {"tags", "jupyter"} for cell in stored.cells)


def test_no_error_is_stored(stored):
    errors = [o.ename for cell in code_cells(stored) for o in cell.outputs if o.output_type == "error"]
    assert errors == []


def test_fits_the_room(source):
    assert source.with_suffix(".ipynb").stat().st_size < ROOM


def test_opens_and_closes_like_the_others(source, stored):
    opening = stored.cells[0].source
    assert opening.startswith(f"# {source.stem[:2]} · ")
    assert [part for part in OPENING if part not in opening] == []
    prose = "\n".join(cell.source for cell in stored.cells if cell.cell_type == "markdown")
    places = [prose.find(part) for part in CLOSING]
    assert -1 not in places, dict(zip(CLOSING, places, strict=True))
    assert places == sorted(places)


def test_contents_are_the_headings(stored):
    """The line of contents names each numbered section, in order."""
    listed = re.search(r"\*\*Contents\*\*: (.+)", stored.cells[0].source)[1]
    prose = "\n".join(cell.source for cell in stored.cells if cell.cell_type == "markdown")
    headings = re.findall(r"^## (\d+ .+)$", prose, re.MULTILINE)
    assert headings
    assert [part for part in listed.split(" · ") if part[0].isdigit()] == headings


def test_parameters_are_literals_validated_in_the_next_cell(source):
    notebook = read(source)
    known = parameters(notebook)
    assert known["MODE"] == "quick"
    assert isinstance(known["SEED"], int)
    code = code_cells(notebook)
    assert "parameters" in tags(code[0])
    calls = [n for n in ast.walk(ast.parse(code[1].source)) if isinstance(n, ast.Call)]
    (check,) = [c for c in calls if getattr(c.func, "id", "") == "check_parameters"]
    assert {keyword.arg for keyword in check.keywords} - {"choices"} == known.keys()


def lines_of_code(source):
    """The lines of a cell that a reader has to follow: neither empty nor part of an import."""
    imports = [n for n in ast.parse(source).body if isinstance(n, ast.Import | ast.ImportFrom)]
    skipped = {line for node in imports for line in range(node.lineno, node.end_lineno + 1)}
    return [line for n, line in enumerate(source.splitlines(), 1) if line.strip() and n not in skipped]


def test_cells_are_short(stored):
    lengths = [len(lines_of_code(cell.source)) for cell in code_cells(stored)]
    assert max(lengths) <= LONGEST_CELL
    assert quantiles(lengths, n=10)[-1] <= P90_CELL


def test_no_two_code_cells_without_a_word_between(stored):
    """A cell that only defines what the next one uses may stand directly before it."""
    pairs = zip(stored.cells, stored.cells[1:], strict=False)
    silent = [
        a.source[:60]
        for a, b in pairs
        if a.cell_type == b.cell_type == "code"
        and ast.parse(a.source).body[-1:][0].__class__ is not ast.FunctionDef
    ]
    assert silent == []


def test_claims_are_stored_and_compared(stored):
    cells = [cell for cell in code_cells(stored) if re.search(r"\bclaim\(", cell.source)]
    assert cells, "a notebook states at least one claim"
    for cell in cells:
        assert {"claim", "nbval-check-output"} <= tags(cell)
        printed = "".join(text_of(output) for output in cell.outputs)
        stated = len(re.findall(r"\bclaim\(", cell.source))
        assert printed.count(CLAIM_OK) >= stated, cell.source[:80]


def test_after_training_every_printed_cell_says_how_it_is_compared(stored):
    """Numbers that an optimiser touched differ from machine to machine: ignore them, or print none."""
    trained = False
    for cell in code_cells(stored):
        trained = trained or "training" in tags(cell)
        if trained and any(text_of(output) for output in cell.outputs):
            assert tags(cell) & {"nbval-ignore-output", "nbval-check-output"}, cell.source[:80]


def test_interactive_cells_have_drawn_a_figure(stored):
    for cell in code_cells(stored):
        if "explore(" in cell.source:
            assert "interactive" in tags(cell)
        if "interactive" in tags(cell):
            assert any(PLOTLY in output.get("data", {}) for output in cell.outputs), cell.source[:80]


def test_no_habit_that_breaks_elsewhere(source):
    text = source.read_text(encoding="utf-8")
    assert "FigureWidget" not in text
    assert not re.search(r"""["'](?:/[a-z]+/|\.\./|[A-Z]:\\\\)""", text), "no absolute or climbing path"
    assert not re.search(r";\s*$", "\n".join(c.source for c in code_cells(read(source))), re.MULTILINE)


def test_links_between_notebooks_lead_somewhere(stored):
    prose = "\n".join(cell.source for cell in stored.cells if cell.cell_type == "markdown")
    targets = re.findall(r"\]\(([\w./-]+\.ipynb)\)", prose)
    assert [target for target in targets if not (FOLDER / target).exists()] == []


def test_every_exercise_has_a_hint_and_a_solution(stored):
    prose = "\n".join(cell.source for cell in stored.cells if cell.cell_type == "markdown")
    exercises = [cell for cell in code_cells(stored) if "exercise" in tags(cell)]
    assert 2 <= len(exercises) <= 4
    for summary in ("Hint", "Solution"):
        assert prose.count(f"<summary>{summary}</summary>") == len(exercises)


@pytest.mark.parametrize("name", ["00", "00_start_here", "notebooks/00_start_here.ipynb", "00_start_here.py"])
def test_a_notebook_answers_to_its_number_its_name_and_its_path(name):
    assert [path.stem for path in find([name])] == ["00_start_here"]


def test_an_unknown_notebook_is_named_with_the_ones_there_are():
    with pytest.raises(NotebookError, match="no notebook called '99'; there are 00_start_here"):
        find(["99"])
