"""The folders of a clone and of an installed package, and files that are whole or not there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fdiv import files

CLONE = Path(__file__).resolve().parents[1]
SHOW = """
import os, runpy, sys
found = runpy.run_path(sys.argv[1])
print(found["PAPER"], found["RESULTS"], found["runs_folder"](), found["cache_folder"](), sep="\\n")
print(os.environ.get("FDIV_RUNS"))
"""


def folders(root: Path, working: Path, **environment: str) -> list[str]:
    """PAPER, RESULTS, runs, cache and FDIV_RUNS, as a process in the folder ``working`` sees them."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("FDIV_", "XDG_"))}
    done = subprocess.run(
        [sys.executable, "-c", SHOW, str(root / "fdiv" / "files.py")],
        cwd=working,
        env=clean | {"HOME": str(working)} | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_in_a_clone_everything_is_in_the_clone(tmp_path):
    found = folders(CLONE, tmp_path)
    assert found[:4] == [str(CLONE / name) for name in ("data/paper", "data/results", "runs", "data/cache")]


@pytest.fixture
def installed(tmp_path) -> Path:
    """The foundation of the package outside a clone, with the paper's tables where the wheel has them."""
    package = tmp_path / "site" / "fdiv"
    (package / "data").mkdir(parents=True)
    (package / "files.py").write_bytes((CLONE / "fdiv" / "files.py").read_bytes())
    (package / "data" / "paper").symlink_to(CLONE / "data" / "paper")
    return package.parent


def test_outside_a_clone_runs_are_here_and_downloads_in_the_cache_of_the_user(installed, tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    paper, *rest, _ = folders(installed, work)
    assert paper == str(installed / "fdiv" / "data" / "paper")
    assert rest == [str(work / name) for name in ("results", "runs", ".cache/fdiv")]
    assert folders(installed, work, XDG_CACHE_HOME=str(tmp_path / "xdg"))[3] == str(tmp_path / "xdg" / "fdiv")


def test_folders_in_the_environment_are_absolute_also_for_children(tmp_path):
    *_, runs, cache, inherited = folders(CLONE, tmp_path, FDIV_RUNS="~/x", FDIV_DATA="here")
    assert (runs, cache, inherited) == (str(tmp_path / "x"), str(tmp_path / "here"), str(tmp_path / "x"))


@pytest.mark.parametrize("variable", ["FDIV_RUNS", "FDIV_DATA"])
def test_a_home_that_nobody_has_is_said_when_the_folder_is_needed(tmp_path, monkeypatch, variable):
    found = folders(CLONE, tmp_path, FDIV_CLOTHING1M="~nobody-of-this-name/x")
    assert found[2] == str(CLONE / "runs")
    monkeypatch.setenv(variable, "~nobody-of-this-name/x")
    needed = {"FDIV_RUNS": files.runs_folder, "FDIV_DATA": files.cache_folder}
    with pytest.raises(ValueError, match=f"^~nobody.* has no place on this machine.*let {variable} name"):
        needed[variable]()


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "note.txt"
    files.write_text("old", path)
    names = []

    def half():
        with files.replacing(path) as temporary:
            temporary.write_text("half")
            names.append(temporary.name)
            raise KeyError

    with pytest.raises(KeyError):
        half()
    assert re.fullmatch(rf"\.note\.txt\.{os.getpid()}-[0-9a-f]{{16}}\.tmp", names[0])
    assert [(child.name, child.read_text()) for child in tmp_path.iterdir()] == [("note.txt", "old")]


@pytest.mark.skipif(os.name != "posix", reason="this system has no umask")
def test_the_umask_decides_who_may_read(tmp_path):
    before = os.umask(0o077)
    try:
        files.write_text("mine", tmp_path / "note.txt")
    finally:
        os.umask(before)
    assert (tmp_path / "note.txt").stat().st_mode & 0o777 == 0o600


def test_a_file_reaches_the_disk_before_its_name(tmp_path, monkeypatch):
    order, fsync, replace = [], os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (order.append("fsync"), fsync(handle)))
    monkeypatch.setattr(os, "replace", lambda *paths: (order.append("replace"), replace(*paths)))
    files.write_text("text", tmp_path / "note.txt")
    assert order == ["fsync", "replace"]
