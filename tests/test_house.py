"""The house stays in order: one set of versions, a README that lists what there is, nothing left about."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

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
    assert (str(PINS["torch"]), str(PINS["torchvision"])) == ("2.14.1", "0.29.1")


def test_environment_yml_installs_what_make_installs():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    python, pip_name, pip = environment["dependencies"]
    assert environment["name"] == PROJECT["name"]
    assert python == f"python{PROJECT['requires-python']}"
    assert pip_name == "pip"
    assert pip["pip"] == ["-c constraints.txt", "-e .[dev]"]
    assert "-c constraints.txt -e '.[dev]'" in (ROOT / "Makefile").read_text()


def test_the_packages_the_project_was_asked_to_use_are_there():
    asked = {"jupyterlab", "jupytext", "torch", "torchvision", "ipywidgets", "plotly", "nbval", "papermill"}
    assert asked <= {requirement.name for requirement in DIRECT}


def test_nothing_names_a_machine_or_a_registry():
    """No absolute path of somebody's home, no package index, in any file of ours."""
    bad = re.compile(
        r"/(?:root|home|Users)/\w+/|/work/(?:main|shared)|pypi\.org|pythonhosted|index-url", re.I
    )
    here = Path(__file__)
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in tracked()
        if path != here and path.suffix not in {".png"}
        for match in bad.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_the_top_level_holds_only_what_was_agreed():
    asked = {"notebooks", "fdiv", "data", "tests", "environment.yml", "README.md"}
    for_tools = {"pyproject.toml", "constraints.txt", "Makefile", "LICENSE", "CONTRIBUTING.md"}
    hidden = {".ci", ".gitignore", ".gitattributes", ".pre-commit-config.yaml"}
    assert {path.relative_to(ROOT).parts[0] for path in tracked()} <= asked | for_tools | hidden


def test_readme_lists_every_notebook_and_the_two_commands():
    readme = (ROOT / "README.md").read_text()
    for source in sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.py")):
        assert f"notebooks/{source.stem}.ipynb" in readme
    assert "make run" in readme
    assert "make test" in readme


def test_readme_links_lead_somewhere():
    readme = (ROOT / "README.md").read_text()
    links = re.findall(r"\]\(([^)#:]+)\)", readme)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_code_of_the_readme_runs():
    import torch

    namespace = {"labels": torch.arange(1000) % 10}
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert blocks
    for code in blocks:
        exec(code, namespace)


def test_the_picture_was_drawn_from_the_stored_outputs():
    from PIL import Image

    from fdiv.picture import PICTURE, fingerprint, stored_curves

    assert Image.open(PICTURE).text["Description"] == fingerprint(stored_curves()), (
        "run  python -m fdiv.picture"
    )


def test_ci_runs_the_test_command_of_the_readme():
    assert (ROOT / ".ci" / "run").read_text().rstrip().endswith("\nmake test")


def test_every_measured_number_of_the_readme_stands_in_the_results():
    """Means over seeds of our runs, at the chosen or the last epoch, or what the paper prints."""
    from fdiv.results import KEY, our_accuracies, paper_accuracies

    section = (ROOT / "README.md").read_text().split("### What has been run")[1].split("\nA step with")[0]
    runs = our_accuracies().groupby([name for name in KEY if name != "seed"])
    ours = 100 * runs[["accuracy_noisy_objective", "accuracy_last"]].mean()
    paper = paper_accuracies()[["max", "mean", "std"]]
    known = [*ours.to_numpy().ravel(), *paper.to_numpy().ravel()]
    written = re.findall(r"(?<![-\w])\d+\.\d+(?!\w)", section)
    assert len(written) > 15
    for number in written:
        decimals = len(number.split(".")[1])
        assert number in {f"{value:.{decimals}f}" for value in known}, number
