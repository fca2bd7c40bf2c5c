"""Every notebook keeps the shape the course promises. Execution and outputs are nbval's business."""

import ast
import re
import sys
from statistics import quantiles

import nbformat
import pytest
from lessons import SOURCES, executed, written

from fdiv.course import notebooks
from fdiv.course.lesson import CLAIM_OK
from fdiv.course.notebooks import FOLDER, NotebookError, find, parameters
from fdiv.course.prediction import PREDICTION
from fdiv.course.site.lessons import PLOTLY

QUESTION = "**The question.**"
OPENING = (QUESTION, "Paper: ", "Needs: ", "**Contents**")
CLOSING = ("## Claims checked", "## Summary", "## Further reading", "## To be continued")
TIME = re.compile(r"Time: \d+ min to read, \d+ s to run \(quick\)")
EXERCISE = re.compile(r"^### Exercise (\d+) (★{1,3}): \S.*$", re.MULTILINE)
HINT, SOLUTION = r"<summary>Hint(?: \d)?</summary>", r"<summary>Solution</summary>"
ROOM = 1_500_000
LONGEST_CELL, P90_CELL, MOST_IMPORTS = 40, 20, 8


@pytest.fixture(params=SOURCES, ids=lambda path: path.stem)
def source(request):
    return request.param


@pytest.fixture
def stored(source):
    return executed(source)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def tags(cell):
    return set(cell.metadata.get("tags", []))


def prose_of(notebook):
    return "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def words_of(output):
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
    prose = prose_of(stored)
    places = [prose.find(part) for part in CLOSING]
    assert -1 not in places, dict(zip(CLOSING, places, strict=True))
    assert places == sorted(places)


def test_a_story_says_what_was_so_far_how_long_it_takes_and_where_it_goes_on(source, stored):
    opening = stored.cells[0].source
    assert ("**So far.**" in opening) == (source.stem[:2] != "00")
    assert opening.find("**So far.**") < opening.find(QUESTION)
    assert TIME.search(opening), "Time: N min to read, M s to run (quick)"
    end = prose_of(stored).split("## To be continued")[1]
    later = [one.stem for one in SOURCES if one.stem > source.stem]
    if later:
        assert f"({later[0]}.ipynb)" in end, "the end leads to the next notebook"


def test_a_lesson_speaks_of_what_was_run(stored):
    shown = prose_of(stored) + "".join(words_of(o) for cell in code_cells(stored) for o in cell.outputs)
    assert re.findall(r"\b0 runs\b|not run here yet|\bNaN\b|\bnan\b", shown) == []


def test_no_table_cuts_its_words(stored):
    """As pandas does after fifty letters, without being asked."""
    tables = [o.get("data", {}).get("text/html", "") for cell in code_cells(stored) for o in cell.outputs]
    assert [cut for table in tables for cut in re.findall(r"[^<>]*\.\.\.</t[dh]>", table)] == []


def test_the_rows_of_a_table_have_as_many_columns_as_its_head(stored):
    """A formula with a bare ``|`` would add one, and the page shows the whole table as one line of text."""
    tables = re.findall(r"(?:^\|.*\|$\n?)+", prose_of(stored), re.MULTILINE)
    bars = [{len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()} for table in tables]
    assert [table for table, counts in zip(tables, bars, strict=True) if len(counts) > 1] == []


def test_contents_are_the_headings(stored):
    """The line of contents names each numbered section, in order."""
    listed = re.search(r"\*\*Contents\*\*: (.+)", stored.cells[0].source)[1]
    prose = "\n".join(cell.source for cell in stored.cells if cell.cell_type == "markdown")
    headings = re.findall(r"^## (\d+ .+)$", prose, re.MULTILINE)
    assert headings
    assert [part for part in listed.split(" · ") if part[0].isdigit()] == headings


def test_parameters_are_literals_validated_in_the_next_cell(source):
    notebook = written(source)
    known = parameters(notebook)
    assert known["MODE"] == "quick"
    assert isinstance(known["SEED"], int)
    code = code_cells(notebook)
    assert "parameters" in tags(code[0])
    calls = [n for n in ast.walk(ast.parse(code[1].source)) if isinstance(n, ast.Call)]
    (check,) = [c for c in calls if getattr(c.func, "id", "") == "check_parameters"]
    assert {keyword.arg for keyword in check.keywords} - {"choices"} == known.keys()


def test_a_kernel_without_the_package_says_what_to_type(source, monkeypatch):
    monkeypatch.setitem(sys.modules, "fdiv", None)  # as if it were not installed
    with pytest.raises(ModuleNotFoundError, match=r"no fdiv: run  %pip install .* make lab"):
        exec(code_cells(written(source))[1].source, {})


def test_a_lesson_has_few_imports(source):
    """What it teaches with stands in two of them: the subject, from ``fdiv``, and the course."""
    trees = [ast.parse(cell.source) for cell in code_cells(written(source))]
    imports = [n for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)]
    ours = [n.module for n in imports if isinstance(n, ast.ImportFrom) and n.module.startswith("fdiv")]
    assert sorted(ours) == ["fdiv", "fdiv.course"]
    assert len(imports) <= MOST_IMPORTS


def lines_of_code(source):
    """The lines of a cell that a reader has to follow: neither empty nor part of an import."""
    imports = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Import | ast.ImportFrom)]
    skipped = {line for node in imports for line in range(node.lineno, node.end_lineno + 1)}
    return [line for n, line in enumerate(source.splitlines(), 1) if line.strip() and n not in skipped]


def test_cells_are_short(stored):
    """What is folded may be longer than what a reader is asked to follow."""
    cells = [cell for cell in code_cells(stored) if "predict" not in tags(cell)]
    lengths = [len(lines_of_code(cell.source)) for cell in cells]
    followed = [n for n, cell in zip(lengths, cells, strict=True) if "fold" not in tags(cell)]
    assert max(lengths) <= LONGEST_CELL
    assert quantiles(followed, n=10)[-1] <= P90_CELL


def test_no_two_code_cells_without_a_word_between(stored):
    """A cell that only defines what the next one uses may stand directly before it; a question is words."""
    pairs = zip(stored.cells, stored.cells[1:], strict=False)
    silent = [
        a.source[:60]
        for a, b in pairs
        if a.cell_type == b.cell_type == "code"
        and "predict" not in tags(a) | tags(b)
        and ast.parse(a.source).body[-1:][0].__class__ is not ast.FunctionDef
    ]
    assert silent == []


def test_claims_are_stored_and_compared(stored):
    cells = [cell for cell in code_cells(stored) if re.search(r"\bclaim\(", cell.source)]
    assert cells, "a notebook states at least one claim"
    for cell in cells:
        assert {"claim", "nbval-check-output"} <= tags(cell)
        printed = "".join(words_of(output) for output in cell.outputs)
        stated = len(re.findall(r"\bclaim\(", cell.source))
        assert printed.count(CLAIM_OK) >= stated, cell.source[:80]


def test_after_training_every_printed_cell_says_how_it_is_compared(stored):
    """Numbers that an optimiser touched differ from machine to machine: ignore them, or print none."""
    trained = False
    for cell in code_cells(stored):
        trained = trained or "training" in tags(cell)
        if trained and "predict" not in tags(cell) and any(words_of(output) for output in cell.outputs):
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
    assert not re.search(r";\s*$", "\n".join(c.source for c in code_cells(written(source))), re.MULTILINE)


def test_links_between_notebooks_lead_somewhere(stored):
    prose = "\n".join(cell.source for cell in stored.cells if cell.cell_type == "markdown")
    targets = re.findall(r"\]\(([\w./-]+\.ipynb)\)", prose)
    assert [target for target in targets if not (FOLDER / target).exists()] == []


def title_of(source):
    """The opening line, as lists of notebooks write it: ``04 The algorithm, line by line: MNIST``."""
    return written(source).cells[0].source.splitlines()[0].removeprefix("# ").replace(" · ", " ", 1)


TITLES = {source.stem: title_of(source) for source in SOURCES}
NAMED = re.compile(r"\[(\d\d [^\]]+)\]\((?:notebooks/)?(\w+)\.ipynb\)")


def test_a_link_calls_a_notebook_by_its_title(stored):
    """A number alone may stand for it, or words of the sentence; a number with words is its title."""
    assert [said for said, stem in NAMED.findall(prose_of(stored)) if said != TITLES[stem]] == []


def test_the_readme_and_the_first_notebook_list_the_whole_course():
    """By the same titles and with the same questions."""
    readme = (FOLDER.parent / "README.md").read_text(encoding="utf-8")
    first = (
        prose_of(written(SOURCES[0]))
        .replace("**00", "[00")
        .replace("labels** |", "labels](00_start_here.ipynb) |")
    )
    row = re.compile(r"^\| \[(\d\d [^\]]+)\]\((?:notebooks/)?(\w+)\.ipynb\) \| (.+) \|$", re.MULTILINE)
    lists = [
        [(stem, said, asked.replace("$", "")) for said, stem, asked in row.findall(t)]
        for t in (readme, first)
    ]
    assert lists[0] == lists[1]
    assert {stem: said for stem, said, _ in lists[0]} == TITLES


def test_a_lesson_does_not_deny_what_its_page_can_do(stored):
    """Every control has a twin on the page, so none is for JupyterLab alone."""
    denied = re.compile(
        r"[Ii]n JupyterLab,? (?:pick|choose|drag|move|the (?:menus?|sliders?|next))|on a web page", re.I
    )
    assert denied.findall(prose_of(stored)) == []


def test_hints_in_stages_are_numbered(stored):
    """One hint is called Hint, several are Hint 1, Hint 2 and so on."""
    for cell in stored.cells:
        if cell.cell_type == "markdown" and (
            hints := re.findall(r"<summary>(Hint[^<]*)</summary>", cell.source)
        ):
            numbered = [f"Hint {k}" for k in range(1, len(hints) + 1)]
            assert hints == (["Hint"] if len(hints) == 1 else numbered)


def test_every_exercise_has_a_hint_and_a_solution(stored):
    prose = prose_of(stored)
    exercises = [cell for cell in code_cells(stored) if "exercise" in tags(cell)]
    assert 2 <= len(exercises) <= 5
    assert len(re.findall(SOLUTION, prose)) == len(exercises)
    assert len(re.findall(HINT, prose)) >= len(exercises)


def test_exercises_stand_where_their_idea_is(stored):
    """Numbered and starred, each a heading, a stub, and its hints and solution folded in the cell below."""
    prose = prose_of(stored)
    marks = EXERCISE.findall(prose)
    stubs = [n for n, cell in enumerate(stored.cells) if "exercise" in tags(cell)]
    assert [int(number) for number, _ in marks] == list(range(1, len(stubs) + 1))
    assert any(stars == "★★★" for _, stars in marks[-2:]), "one harder near the end"
    ideas, end = prose.rfind("\n## ", 0, prose.find("## Claims checked")), prose.find("## Claims checked")
    first, *_, last = [match.start() for match in EXERCISE.finditer(prose)]
    assert first < ideas, "the first stands before the last section"
    assert last < end
    for number, stub in enumerate(stubs, 1):
        above = [cell.source for cell in stored.cells[:stub] if cell.cell_type == "markdown"][-1]
        assert EXERCISE.findall(above)[-1:], f"exercise {number} has its heading right above it"
        assert EXERCISE.findall(above)[-1][0] == str(number)
        below = stored.cells[stub + 1]
        assert below.cell_type == "markdown"
        assert re.search(HINT, below.source)
        assert re.search(SOLUTION, below.source), f"exercise {number}: its solution is in the cell below it"
        assert below.source.find("Hint") < below.source.find("Solution")


def test_predictions_stand_before_what_they_hide(stored):
    cells = stored.cells
    places = [n for n, cell in enumerate(cells) if "predict" in tags(cell)]
    assert 3 <= len(places) <= 5, "three or four a notebook"
    calls = [n for n, cell in enumerate(cells) if cell.cell_type == "code" and "predict(" in cell.source]
    assert calls == places, "a cell that calls predict is tagged so, and the other way round"
    for place in places:
        (output,) = [o for o in cells[place].outputs if PREDICTION in o.get("data", {})]
        assert PREDICTION in output.data, "it is what the cell shows"
        assert cells[place].metadata.jupyter.source_hidden, "its code would tell the answer"
        after = next(n for n in range(place + 1, len(cells)) if cells[n].cell_type == "code")
        assert after - place <= 3, "at most two cells of text stand between"
        assert cells[after].outputs, f"nothing is hidden by {cells[place].source[:80]}"
        assert after not in places


def test_the_right_option_is_not_known_by_its_place_or_length():
    """Over the whole course; in one notebook chance may do as it likes."""
    cells = [cell for source in SOURCES for cell in code_cells(executed(source))]
    outputs = [o.get("data", {}) for cell in cells for o in cell.outputs]
    asked = [(o[PREDICTION]["options"], o[PREDICTION]["answer"]) for o in outputs if PREDICTION in o]
    places = [answer for _, answer in asked]
    lengths = [[len(option) for option in options] for options, _ in asked]
    longest, shortest = (
        sum(n[answer] == end(n) and n.count(end(n)) == 1 for n, answer in zip(lengths, places, strict=True))
        for end in (max, min)
    )
    assert min(places.count(place) for place in range(3)) > 0.2 * len(asked)
    assert max(longest, shortest) < 0.45 * len(asked)


def test_what_does_not_teach_is_folded(stored):
    assert "fold" in tags(code_cells(stored)[1]), "imports and the check of the parameters"
    imports = [
        cell.source[:60]
        for cell in code_cells(stored)
        if "fold" not in tags(cell)
        and len(ast.parse(cell.source).body) > 0
        and all(isinstance(n, ast.Import | ast.ImportFrom) for n in ast.parse(cell.source).body)
    ]
    assert imports == []


@pytest.mark.parametrize("name", ["00", "00_start_here", "notebooks/00_start_here.ipynb", "00_start_here.py"])
def test_a_notebook_answers_to_its_number_its_name_and_its_path(name):
    assert [path.stem for path in find([name])] == ["00_start_here"]


def test_an_unknown_notebook_is_named_with_the_ones_there_are():
    with pytest.raises(NotebookError, match="no notebook called '99'; there are 00_start_here"):
        find(["99"])
