"""The wheel works anywhere: installed without extras into a fresh environment, used from an empty folder.

The environment sees the core dependencies that the wheel declares, as links to the ones installed here, and
nothing else: what belongs to an extra is really absent.
"""

import importlib.metadata
import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from importlib.metadata import Distribution, PathDistribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from waiting import PATIENCE

ROOT = Path(__file__).resolve().parents[1]
HERE = Path(sysconfig.get_path("purelib"))
README_BLOCKS = re.findall(
    r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL
)
HELP_OF_ALL = """
import contextlib, io, re, sys
from fdiv.__main__ import main

def help_of(*command):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main([*command, "--help"])
    return out.getvalue()

names = re.findall("^    ([a-z]+) ", help_of(), re.M)
print(" ".join(name for name in names if f"usage: fdiv {name}" in help_of(name)))
print(" ".join(sorted(set(sys.modules) & {"torch", "pandas", "sklearn"})))
"""


def needed_by(requirements: list[str]) -> dict[str, Distribution]:
    """Return the installed distributions that the requirements lead to, step by step, without extras."""
    found, waiting = {}, [(Requirement(line), ()) for line in requirements]
    while waiting:
        requirement, extras = waiting.pop()
        marker, name = requirement.marker, canonicalize_name(requirement.name)
        if marker and not any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            continue
        if name not in found:
            found[name] = distribution(requirement.name)
        waiting += [(Requirement(line), tuple(requirement.extras)) for line in found[name].requires or ()]
    return found


def top_level(one: Distribution) -> set[str]:
    """Return the files and folders of a distribution that lie directly in site-packages."""
    parts = {path.parts[0] for path in one.files or ()}
    return {part for part in parts if part not in ("..", "__pycache__", "bin") and not part.endswith(".pth")}


class Installed:
    """A fresh environment with the wheel in it, and an empty folder to work in."""

    def __init__(self, folder: Path) -> None:
        build = [sys.executable, "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*build, "--no-build-isolation", "-w", str(folder), str(ROOT)], check=True)
        (self.wheel,) = folder.glob("*.whl")
        self.python = folder / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "env")], check=True)
        pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", "--python", str(self.python)]
        subprocess.run([*pip, "install", "--no-deps", "--no-index", str(self.wheel)], check=True)
        self.work, self.home = folder / "work", folder / "home"
        self.work.mkdir()
        self.home.mkdir()
        self.site = Path(self.run("-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
        (own,) = (PathDistribution(path) for path in self.site.glob("fdiv-*.dist-info"))
        self.requires = own.requires or []
        self.version = own.version
        core = folder / "core"
        core.mkdir()
        self.core = needed_by([line for line in self.requires if "extra ==" not in line])
        for name in set().union(*map(top_level, self.core.values())):
            (core / name).symlink_to(HERE / name)
        (self.site / "core.pth").write_text(f"{core}\n")

    def call(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("FDIV_", "PYTHON", "PYTEST"))}
        environment = kept | {"FDIV_OFFLINE": "1", "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(self.home)}
        return subprocess.run(
            [str(word) for word in command], cwd=self.work, env=environment,
            capture_output=True, text=True, check=False, timeout=5 * PATIENCE,
        )  # fmt: skip

    def run(self, *arguments: str) -> str:
        """Return what the environment's Python prints; its errors are the test's."""
        done = self.call(self.python, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def fdiv(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.call(self.python.with_name("fdiv"), *arguments)

    def files(self) -> set[Path]:
        return {path for path in self.site.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    one = Installed(tmp_path_factory.mktemp("wheel"))
    before = one.files()
    yield one
    assert one.files() == before, "something was written into site-packages"


def test_what_belongs_to_an_extra_is_really_absent(installed):
    extras = {Requirement(line).name for line in installed.requires if "extra ==" in line} - {"fdiv"}
    optional = {canonicalize_name(name) for name in extras} - installed.core.keys()
    assert {"torchvision", "jupytext", "plotly", "pyyaml", "distributed", "papermill"} <= optional
    names = {
        module
        for module, owners in importlib.metadata.packages_distributions().items()
        if optional & {canonicalize_name(owner) for owner in owners}
    }
    code = "import importlib.util as u, sys; print([name for name in sys.argv[1:] if u.find_spec(name)])"
    assert installed.run("-c", code, *sorted(names)).strip() == "[]"


def test_the_wheel_holds_the_papers_tables_and_every_file_of_the_package(installed):
    with zipfile.ZipFile(installed.wheel) as wheel:
        packed = {name for name in wheel.namelist() if name.startswith("fdiv/")}
    code = {"fdiv": ROOT / "fdiv", "fdiv/data/paper": ROOT / "data" / "paper"}
    files = {
        f"{place}/{path.relative_to(folder).as_posix()}"
        for place, folder in code.items()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert packed == files
    assert {"fdiv/py.typed", "fdiv/course/guides/set_up.md"} <= packed


def test_every_python_block_of_the_readme_runs(installed):
    assert README_BLOCKS
    code = "import sys\nspace = {}\nfor block in sys.argv[1:]:\n    exec(block, space)"
    installed.run("-c", code, *README_BLOCKS)


def test_every_sub_command_has_help_that_imports_no_heavy_library(installed):
    names, heavy = installed.run("-c", HELP_OF_ALL).split("\n")[:2]
    assert {"run", "refresh", "check", "train", "grid", "results"} <= set(names.split())
    assert heavy == ""


def test_the_command_is_installed_and_knows_its_version(installed):
    assert "usage: fdiv" in installed.fdiv("--help").stdout
    assert installed.fdiv("--version").stdout == f"fdiv {installed.version}\n"


def test_the_version_is_that_of_the_package(installed):
    assert installed.run("-c", "import fdiv; print(fdiv.__version__)").strip() == installed.version


def test_a_run_writes_to_the_working_folder(installed):
    done = installed.fdiv("train", "digits", "--mode", "quick", "--method", "tv")
    assert done.returncode == 0, done.stderr
    (result,) = installed.work.glob("runs/train/*/result.json")
    assert "accuracy_last" in result.read_text()


NAMES = """
import importlib
import fdiv
for room in ("", ".theory", ".noise", ".datasets", ".learning", ".experiments", ".course"):
    package = importlib.import_module(f"fdiv{room}")
    for name in package.__all__:
        try:
            getattr(package, name)
        except ImportError as error:
            print(error)
print("---")
from fdiv.course import predict
from fdiv.course.widgets import t_editor
for call in (
    lambda: fdiv.explore(lambda n=1: None, n=(1, 9, 1)),
    lambda: predict("Heads?", ["yes", "no"], 0, ["It is.", "It is not."]),
    t_editor,
):
    try:
        call()
    except ImportError as error:
        print(error)
"""
TOOLS = r"([\w.]+) needs the notebook tools \(No module named '\w+'\): run  python -m pip install .*"


def test_every_public_name_is_there_or_says_that_it_needs_the_notebook_tools(installed):
    names, calls = (part.splitlines() for part in installed.run("-c", NAMES).split("---\n"))
    said = [re.fullmatch(TOOLS, line) for line in names]
    assert said
    assert {found and found[1].rpartition(".")[0] for found in said} == {"fdiv.course"}
    assert [re.fullmatch(TOOLS, line)[1] for line in calls] == ["explore", "predict", "t_editor"]


@pytest.mark.parametrize("arguments", [("run", "00"), ("check",), ("grid", "main", "--mode", "quick")])
def test_a_command_that_needs_the_notebook_tools_says_so_in_one_sentence(installed, arguments):
    done = installed.fdiv(*arguments)
    assert done.returncode == 2
    (sentence,) = done.stderr.splitlines()
    assert "No module named" in sentence
    assert "fdiv[notebooks]" in sentence


def test_a_network_of_torchvision_says_so_in_one_sentence(monkeypatch):
    from fdiv.learning.models import resnet50

    monkeypatch.setitem(sys.modules, "torchvision.models", None)
    with pytest.raises(ImportError, match=r"^ResNet-50 is torchvision's: run .* 'fdiv\[images\]'$"):
        resnet50()
