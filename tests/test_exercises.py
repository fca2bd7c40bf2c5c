"""Every solution in a notebook passes its own checker; the stub it ships with and wrong answers do not."""

import importlib
import re

import pytest
import torch

from fdiv.exercises import Exercise, Wrong, exercise, start_here
from fdiv.notebooks import find, read

SOLUTION = re.compile(r"<summary>Solution</summary>\s*```python\n(.*?)```", re.DOTALL)


def exercises_of(source):
    """(id, the exercise cell, its solution), in the order of the notebook."""
    cells = read(source).cells
    stubs = [cell.source for cell in cells if "exercise" in cell.metadata.get("tags", [])]
    prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    solutions = SOLUTION.findall(prose)
    assert len(stubs) == len(solutions), source.stem
    imports = "\n".join(line for cell in cells if cell.cell_type == "code" for line in _imports(cell.source))
    return [
        (f"{source.stem}-{i}", imports, a, b)
        for i, (a, b) in enumerate(zip(stubs, solutions, strict=True), 1)
    ]


def _imports(code):
    import ast

    return [
        ast.unparse(node) for node in ast.parse(code).body if isinstance(node, ast.Import | ast.ImportFrom)
    ]


ALL = [one for source in find() for one in exercises_of(source)]


@pytest.mark.parametrize(
    ("imports", "stub", "solution"), [one[1:] for one in ALL], ids=[one[0] for one in ALL]
)
def test_the_solution_is_right_and_the_stub_is_not(imports, stub, solution, capsys):
    namespace = {}
    exec(imports, namespace)
    exec(stub, namespace)
    assert capsys.readouterr().out.startswith("your turn")
    exec(solution, namespace)
    exec(stub.rstrip().splitlines()[-1], namespace)
    assert capsys.readouterr().out.startswith("right")


def test_every_checker_is_used_by_a_notebook():
    text = "\n".join(source.read_text(encoding="utf-8") for source in find())
    package = importlib.import_module("fdiv.exercises").__path__[0]
    for path in importlib.import_module("pathlib").Path(package).glob("[a-z]*.py"):
        module = importlib.import_module(f"fdiv.exercises.{path.stem}")
        for name, value in vars(module).items():
            if isinstance(value, Exercise):
                assert f"{path.stem}.{name}(" in text, f"{path.stem}.{name}"


WRONG = [
    (start_here.noise_rate, lambda c, n: (c == n).double().mean(), "share of labels that are right"),
    (start_here.noise_rate, lambda c, n: (c != n).sum(), "how many labels are wrong"),
    (start_here.noise_rate, lambda c, n: None, "returned None"),
    (start_here.noise_rate, lambda c, n: c != n, "one value per example"),
    (start_here.noise_rate, lambda c, n: 0.375, "not touched must give 0"),
    (start_here.noise_rate, lambda c, n: 1 / 0, "raised ZeroDivisionError"),
    (start_here.memorised_share, lambda p, n, c: (p == n).double().mean(), "counts all examples"),
    (
        start_here.memorised_share,
        lambda p, n, c: ((p == n) & (n != c)).double().mean(),
        "divide by the number",
    ),
    (start_here.memorised_share, lambda p, n, c: (p == c)[n != c].double().mean(), "resisted"),
    (start_here.memorised_share, lambda p, n, c: torch.tensor(0.5), "0.667; yours is 0.500"),
]


@pytest.mark.parametrize(("checker", "answer", "reason"), WRONG)
def test_a_wrong_answer_is_told_why(checker, answer, reason):
    verdict = checker.verdict(answer)
    assert verdict.startswith("not yet")
    assert reason in verdict


def test_a_verdict_has_three_forms():
    @exercise("t")
    def check(answer):
        if answer() != 1:
            raise Wrong("one is wanted")

    def stub():
        raise NotImplementedError

    assert check.verdict(lambda: 1) == "right  t"
    assert check.verdict(lambda: 2) == "not yet  t: one is wanted"
    assert check.verdict(stub) == "your turn  t"
