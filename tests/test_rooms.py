"""The six rooms: nobody imports to the right, and a lesson imports no scheduler."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("theory", "noise", "datasets", "learning", "experiments", "course")
FOUNDATION = ("names", "arrays", "device", "files")


def imported(path: Path) -> list[tuple[int, str]]:
    """Every module of fdiv that a file imports, at the top or inside a function, with the line."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found += [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
    return [(line, name) for line, name in found if name.split(".")[0] == "fdiv"]


def to_the_right(path: Path, room: str) -> list[str]:
    """The imports of ``path``, a file of ``room``, that lead to a room on its right."""
    later = ROOMS[ROOMS.index(room) + 1 :] if room in ROOMS else ROOMS
    return [
        f"{path.name}:{line} ({room}) imports {name}"
        for line, name in imported(path)
        if name.split(".")[1:2] and name.split(".")[1] in later
    ]


@pytest.mark.parametrize("room", ROOMS)
def test_nobody_imports_to_the_right(room):
    files = sorted((ROOT / "fdiv" / room).rglob("*.py"))
    assert files
    assert [fault for path in files for fault in to_the_right(path, room)] == []


@pytest.mark.parametrize("name", FOUNDATION)
def test_the_foundation_imports_no_room(name):
    assert to_the_right(ROOT / "fdiv" / f"{name}.py", "foundation") == []


def test_every_module_lies_in_a_room_or_is_foundation():
    top = {path.stem for path in (ROOT / "fdiv").glob("*.py")}
    assert top == {"__init__", "__main__", *FOUNDATION}
    assert {path.parent.name for path in (ROOT / "fdiv").glob("*/__init__.py")} == set(ROOMS)


def test_an_import_to_the_right_is_named(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text("def f():\n    from fdiv.course import claim\n")
    assert to_the_right(wrong, "noise") == ["wrong.py:2 (noise) imports fdiv.course.claim"]
    assert to_the_right(wrong, "course") == []


@pytest.mark.parametrize("source", sorted((ROOT / "notebooks").glob("[0-9]*.py")), ids=lambda path: path.stem)
def test_a_lesson_imports_no_scheduler(source):
    names = [name for _, name in imported(source)]
    assert [name for name in names if "grid" in name or "distributed" in name or "notebooks" in name] == []
