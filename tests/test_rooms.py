"""The six rooms: nobody imports to the right, and a lesson imports no scheduler."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import fdiv

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("theory", "noise", "datasets", "learning", "experiments", "course")
FOUNDATION = ("names", "arrays", "device", "files")
MODULE = re.compile(r"\.*fdiv(\.\w+)+|\.+\w+(\.\w+)*")


def imported(path: Path) -> list[tuple[int, str]]:
    """Every name of fdiv that a file takes, with the line: at the top, in a function, for types alone.

    An import may also be relative, be spelt as the name of a module in a string (for ``import_module`` or
    ``lazily``), be an attribute (``fdiv.course``), or take what ``fdiv`` itself passes on.
    """
    inside = path.relative_to(ROOT).parent.parts if path.is_relative_to(ROOT) else ()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return sorted({(line, home(name)) for line, name in named(tree, inside) if name.startswith("fdiv.")})


def named(tree: ast.Module, package: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Every module or name that a file of ``package`` might import."""
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from ((node.lineno, alias.name) for alias in node.names)
            case ast.ImportFrom():
                above = package[: len(package) + 1 - node.level] if node.level else ()
                start = ".".join([*above, *filter(None, [node.module])])
                yield from ((node.lineno, f"{start}.{alias.name}") for alias in node.names)
            case ast.Constant(value=str(text)) if id(node) not in prose and MODULE.fullmatch(text):
                dots = len(text) - len(text.lstrip("."))
                above = package[: len(package) + 1 - dots] if dots else ()
                yield node.lineno, ".".join([*above, text.lstrip(".")])
            case ast.Attribute(value=ast.Name(id="fdiv")):
                yield node.lineno, f"fdiv.{node.attr}"


def home(name: str) -> str:
    """Where a name really lies that ``fdiv`` passes on: fdiv.claim is fdiv.course.claim."""
    return PASSED_ON.get(name, name)


PUBLIC = {room: import_module(f"fdiv.{room}").__all__ for room in ROOMS}
PASSED_ON = {f"fdiv.{name}": f"fdiv.{room}.{name}" for room in ROOMS for name in PUBLIC[room]}


def to_the_right(path: Path, room: str) -> list[str]:
    """What ``path``, a file of ``room``, imports from a room on its right."""
    later = ROOMS[ROOMS.index(room) + 1 :] if room in ROOMS else ROOMS
    return [
        f"{path.name}:{line} ({room}) imports {name}"
        for line, name in imported(path)
        if name.split(".")[1] in later
    ]


@pytest.mark.parametrize("room", ROOMS)
def test_nobody_imports_to_the_right(room):
    files = sorted((ROOT / "fdiv" / room).rglob("*.py"))
    assert files
    assert [fault for path in files for fault in to_the_right(path, room)] == []


@pytest.mark.parametrize("name", FOUNDATION)
def test_the_foundation_imports_no_room(name):
    assert to_the_right(ROOT / "fdiv" / f"{name}.py", "foundation") == []


def test_a_public_name_means_one_thing():
    """Also for who writes ``from fdiv import name``: no two rooms make the same name public."""
    names = [name for room in ROOMS for name in PUBLIC[room]]
    assert [name for name, count in Counter(names).items() if count > 1] == []
    assert [name for name in names if find_spec(f"fdiv.{name}")] == []
    for room in ROOMS:
        for name in PUBLIC[room]:
            assert getattr(fdiv, name) is getattr(import_module(f"fdiv.{room}"), name)


def test_every_module_lies_in_a_room_or_is_foundation():
    top = {path.stem for path in (ROOT / "fdiv").glob("*.py")}
    assert top == {"__init__", "__main__", *FOUNDATION}
    assert {path.parent.name for path in (ROOT / "fdiv").glob("*/__init__.py")} == set(ROOMS)


@pytest.mark.parametrize(
    "line",
    [
        "from fdiv.course.lesson import claim",
        "from fdiv import claim",
        "import fdiv; fdiv.claim",
        "import fdiv.course.lesson.claim as c",
        "from ..course.lesson import claim",
        "from .. import claim",
        "importlib.import_module('fdiv.course.lesson.claim')",
        "__import__(name='fdiv.claim')",
        "importlib.import_module('..course.lesson.claim', __package__)",
        "if TYPE_CHECKING: from fdiv.course.lesson import claim",
    ],
)
def test_an_import_to_the_right_is_named(tmp_path, monkeypatch, line):
    wrong = tmp_path / "fdiv" / "noise" / "wrong.py"
    wrong.parent.mkdir(parents=True)
    wrong.write_text(f'def f():\n    {line}\n    "fdiv.course.claim is only named here"')
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    named = [fault.replace(".lesson", "") for fault in to_the_right(wrong, "noise")]
    assert "wrong.py:2 (noise) imports fdiv.course.claim" in named
    assert to_the_right(wrong, "course") == []


@pytest.mark.parametrize("source", sorted((ROOT / "notebooks").glob("[0-9]*.py")), ids=lambda path: path.stem)
def test_a_lesson_imports_no_scheduler(source):
    names = [name for _, name in named(ast.parse(source.read_text(encoding="utf-8")), ())]
    words = ("grid", "distributed", "dask", "notebooks", "papermill")
    assert [name for name in names if any(word in name for word in words)] == []
