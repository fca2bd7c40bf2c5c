"""``make`` sets up the environment once, says what is wrong with a Python, and repairs what was cut short.

A stand-in for Python records what it is asked to do, so that nothing is downloaded.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from waiting import PATIENCE

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="there is no make on this machine")

PYTHON = """#!/bin/sh
echo "$*" >> "{calls}"
case "$1 $2" in
  "-c "*)
    version="{version}"
    case "$0" in *.venv/*) [ ! -e old-environment ] || version="3, 9, 1" ;; esac
    exec "{python}" -c "import sys; sys.version_info = ($version); exec(sys.argv[1])" "$2" ;;
  "-m venv")
    mkdir -p "$3/bin" && touch "$3/made" && cp "$0" "$3/bin/python" ;;
  "-m pip")
    touch .venv/half-installed
    [ ! -e pip-fails ] || {{ echo "pip was interrupted" >&2; exit 1; }} ;;
esac
"""


class Clone:
    """A folder with what ``make`` reads, and a Python that only pretends."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.record = folder / "calls"
        for name in ("Makefile", "pyproject.toml", "constraints.txt"):
            shutil.copy(ROOT / name, folder / name)
            os.utime(folder / name, (0, 0))
        self.python = self.pretend("3, 11, 0")

    def pretend(self, version: str) -> Path:
        python = self.folder / "python"
        python.write_text(PYTHON.format(calls=self.record, python=sys.executable, version=version))
        python.chmod(0o755)
        return python

    def make(self, *targets: str) -> subprocess.CompletedProcess[str]:
        self.record.write_text("")
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
        return subprocess.run(
            ["make", *targets, f"PYTHON={self.python}"],
            cwd=self.folder, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE,
        )  # fmt: skip

    def calls(self) -> list[str]:
        """What Python was asked to do, in two words each, without the question for its version."""
        lines = self.record.read_text().splitlines()
        return [" ".join(line.split()[1:3]) for line in lines if not line.startswith("-c")]

    def change(self, name: str) -> None:
        """Make ``name`` newer than the set-up, whatever the grain of the file system's clock."""
        now = time.time()
        os.utime(self.venv / "ready", (now - 20, now - 20))
        os.utime(self.folder / name, (now - 10, now - 10))

    @property
    def venv(self) -> Path:
        return self.folder / ".venv"


@pytest.fixture
def clone(tmp_path):
    return Clone(tmp_path)


SET_UP = ["venv .venv", "pip install"]


def test_the_first_make_sets_up_and_runs(clone):
    done = clone.make("run")
    assert done.returncode == 0, done.stderr
    assert clone.calls() == [*SET_UP, "fdiv run"]
    assert (clone.venv / "ready").exists()


def test_the_versions_are_the_tested_ones_and_the_package_is_ours(clone):
    clone.make("run")
    (line,) = [line for line in clone.record.read_text().splitlines() if "pip install" in line]
    assert line.endswith("-c constraints.txt -e .[dev]")


@pytest.mark.parametrize(
    ("target", "calls"),
    [
        ("run", ["fdiv run"]),
        ("check", ["ruff check", "ruff format", "mypy", "fdiv check", "pytest -q"]),
        ("test", ["ruff check", "ruff format", "mypy", "pytest -q"]),
        ("lab", ["jupyterlab notebooks"]),
        ("refresh", ["fdiv refresh"]),
    ],
)
def test_a_finished_set_up_is_not_redone(clone, target, calls):
    clone.make("run")
    assert clone.make(target).returncode == 0
    assert clone.calls() == calls


@pytest.mark.parametrize("version", ["2, 7, 18", "3, 6, 9", "3, 10, 14"])
def test_an_old_python_gets_one_sentence(clone, version):
    clone.python = clone.pretend(version)
    done = clone.make("run")
    assert done.returncode != 0
    major, minor, _ = version.split(", ")
    sentence, *rest = done.stderr.splitlines()
    assert sentence == (
        f"fdiv needs Python 3.11 or newer, and {clone.python} is {major}.{minor}: try  make PYTHON=python3.12"
    )
    assert [line for line in rest if not line.startswith("make")] == []
    assert clone.calls() == []
    assert not clone.venv.exists()


def test_an_old_python_does_not_harm_an_environment_that_is_there(clone):
    clone.make("run")
    clone.python = clone.pretend("3, 9, 1")
    clone.change("constraints.txt")
    assert clone.make("run").returncode != 0
    assert (clone.venv / "made").exists()


def test_a_set_up_cut_short_is_not_ready_and_the_next_starts_from_nothing(clone):
    fails = clone.folder / "pip-fails"
    fails.touch()
    done = clone.make("run")
    assert done.returncode != 0
    assert "pip was interrupted" in done.stderr
    assert clone.calls() == SET_UP
    assert not (clone.venv / "ready").exists()
    fails.unlink()
    (clone.venv / "from-before").touch()
    assert clone.make("run").returncode == 0
    assert clone.calls() == [*SET_UP, "fdiv run"]
    assert (clone.venv / "ready").exists()
    assert not (clone.venv / "from-before").exists()


@pytest.mark.parametrize("changed", ["constraints.txt", "pyproject.toml"])
def test_new_versions_update_the_environment_in_place(clone, changed):
    clone.make("run")
    (clone.venv / "from-before").touch()
    clone.change(changed)
    assert clone.make("run").returncode == 0
    assert clone.calls() == [*SET_UP, "fdiv run"]
    assert (clone.venv / "from-before").exists()
    clone.make("run")
    assert clone.calls() == ["fdiv run"], "and only once"


def test_an_update_cut_short_starts_from_nothing_too(clone):
    clone.make("run")
    clone.change("constraints.txt")
    fails = clone.folder / "pip-fails"
    fails.touch()
    assert clone.make("run").returncode != 0
    assert not (clone.venv / "ready").exists()
    (clone.venv / "from-before").touch()
    fails.unlink()
    assert clone.make("run").returncode == 0
    assert not (clone.venv / "from-before").exists()


SOMEBODYS = ".venv was not made by make and is left alone"


def test_an_environment_that_make_did_not_make_is_left_alone(clone):
    (clone.venv / "bin").mkdir(parents=True)
    (clone.venv / "mine").touch()
    done = clone.make("run")
    assert done.returncode != 0
    sentence, *rest = done.stderr.splitlines()
    assert sentence.startswith(SOMEBODYS)
    assert [line for line in rest if not line.startswith("make")] == []
    assert clone.calls() == []
    assert (clone.venv / "mine").exists()


def test_another_folder_can_be_chosen_beside_it(clone):
    (clone.venv / "bin").mkdir(parents=True)
    assert clone.make("run", "VENV=.venv-make").returncode == 0
    assert clone.calls() == ["venv .venv-make", "pip install", "fdiv run"]


def test_a_complete_environment_can_be_handed_to_make_which_never_empties_it(clone):
    clone.make("run")
    (clone.venv / "made-by-make").unlink()
    (clone.venv / "mine").touch()
    clone.change("constraints.txt")
    assert clone.make("run").returncode == 0
    assert (clone.venv / "mine").exists(), "updated in place"
    (clone.venv / "ready").unlink()
    done = clone.make("run")
    assert done.returncode != 0
    assert SOMEBODYS in done.stderr
    assert (clone.venv / "mine").exists()


@pytest.mark.parametrize("trouble", ["an old Python", "no Python"])
def test_the_python_of_the_environment_is_looked_at_each_time(clone, trouble):
    clone.make("run")
    if trouble == "no Python":
        (clone.venv / "bin" / "python").unlink()
    else:
        (clone.folder / "old-environment").touch()
    done = clone.make("run")
    assert done.returncode != 0
    sentence, *rest = done.stderr.splitlines()
    assert sentence.startswith(".venv holds a Python that is older than 3.11 or does not start: delete")
    assert [line for line in rest if not line.startswith("make")] == []
    assert clone.calls() == []


def test_clean_removes_the_environment_alone_and_clean_runs_the_runs(clone):
    clone.make("run")
    for folder in ("runs/quick", "data/cache"):
        (clone.folder / folder).mkdir(parents=True)
    assert clone.make("clean").returncode == 0
    assert not clone.venv.exists()
    assert (clone.folder / "runs" / "quick").exists()
    assert clone.make("clean-runs").returncode == 0
    assert not (clone.folder / "runs").exists()
    assert (clone.folder / "data" / "cache").exists()


@pytest.mark.parametrize("kind", ["folder", "file", "link to nothing"])
def test_clean_leaves_an_environment_that_make_did_not_make(clone, kind):
    {
        "folder": clone.venv.mkdir,
        "file": clone.venv.touch,
        "link to nothing": lambda: clone.venv.symlink_to("elsewhere"),
    }[kind]()
    done = clone.make("clean")
    assert done.returncode == 0
    assert done.stderr.startswith(".venv was not made by make and stays")
    assert SOMEBODYS in clone.make("run").stderr
    assert os.path.lexists(clone.venv)


@pytest.mark.parametrize("name", ["my env", "", "*", "m?", "[m]y"])
def test_a_folder_with_a_space_or_without_a_name_is_refused_before_anything_is_deleted(clone, name):
    (clone.folder / "my").mkdir()
    (clone.folder / "my" / "work").touch()
    for target in ("run", "clean"):
        done = clone.make(target, f"VENV={name}")
        assert done.returncode == 2
        assert f"VENV is '{name}', but must name one folder" in done.stderr
    assert (clone.folder / "my" / "work").exists()
