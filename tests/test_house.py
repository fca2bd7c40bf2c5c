"""The house stays in order: one set of versions, one version of ours, nothing left about."""

import importlib.metadata
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import fdiv

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PINS = {
    canonicalize_name(name): Version(version)
    for name, version in re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.M)
}
DIRECT = [
    Requirement(line)
    for group in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    for line in group
    if not line.startswith("fdiv[")
]


def tracked() -> list[Path]:
    """Files git knows or would add; everything below the root where there is no git."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if listing.returncode:
        pytest.skip("this copy is not a git checkout")
    return [ROOT / name for name in listing.stdout.splitlines() if (ROOT / name).is_file()]


@pytest.mark.parametrize("requirement", DIRECT, ids=lambda r: r.name)
def test_every_floor_has_a_tested_version_above_it(requirement):
    pin = PINS.get(canonicalize_name(requirement.name))
    assert pin is not None, f"{requirement.name} has no pin in constraints.txt"
    assert pin in requirement.specifier
    assert str(requirement.specifier).startswith(">="), (
        "pyproject.toml states floors; pins go to constraints.txt"
    )


def test_the_lock_holds_nothing_but_pins():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.!+]+", line)] == []


def test_torch_and_torchvision_are_the_pair_that_works():
    needs = map(Requirement, importlib.metadata.requires("torchvision") or ())
    (torch,) = (requirement for requirement in needs if requirement.name == "torch")
    assert PINS["torch"] in torch.specifier


def test_the_version_stands_once():
    assert "version" in PROJECT["dynamic"]
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == fdiv.__version__


def test_environment_yml_installs_what_make_installs():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    python, pip_name, pip = environment["dependencies"]
    assert environment["name"] == PROJECT["name"]
    assert python == f"python{PROJECT['requires-python']}"
    assert pip_name == "pip"
    assert pip["pip"] == ["-c constraints.txt", "-e .[dev]"]
    assert "-c constraints.txt -e '.[dev]'" in (ROOT / "Makefile").read_text()


def test_nothing_names_a_machine_or_a_registry():
    """No absolute path of somebody's home, no package index, in any file of ours."""
    bad = re.compile(
        r"/(?:root|home|Users)/\w+/|/work/(?:main|shared)|pypi\.org|pythonhosted|index-url", re.I
    )
    here = Path(__file__)
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in tracked()
        if path != here and path.suffix not in {".png", ".npz"}
        for match in bad.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_the_top_level_holds_only_what_was_agreed():
    asked = {"notebooks", "fdiv", "data", "tests", "environment.yml", "README.md"}
    for_tools = {
        "pyproject.toml",
        "constraints.txt",
        "Makefile",
        "LICENSE",
        "CONTRIBUTING.md",
        "CITATION.cff",
    }
    hidden = {".ci", ".gitignore", ".gitattributes", ".pre-commit-config.yaml"}
    assert {path.relative_to(ROOT).parts[0] for path in tracked()} <= asked | for_tools | hidden


def test_the_picture_was_drawn_from_the_stored_outputs():
    from PIL import Image

    from fdiv.course.picture import PICTURE, fingerprint, stored_curves

    assert Image.open(PICTURE).text["Description"] == fingerprint(stored_curves()), (
        "run  python -m fdiv.course.picture"
    )


def test_ci_runs_the_test_command_of_the_readme():
    assert (ROOT / ".ci" / "run").read_text().rstrip().endswith("\nmake test")
