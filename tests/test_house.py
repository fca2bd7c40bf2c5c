"""The house stays in order: one set of versions, a README that lists what there is, nothing left about."""

import re
import subprocess
import tomllib
from pathlib import Path

import pandas as pd
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

    from fdiv.course.picture import PICTURE, fingerprint, stored_curves

    assert Image.open(PICTURE).text["Description"] == fingerprint(stored_curves()), (
        "run  python -m fdiv.course.picture"
    )


def test_ci_runs_the_test_command_of_the_readme():
    assert (ROOT / ".ci" / "run").read_text().rstrip().endswith("\nmake test")


def test_every_measured_number_of_the_readme_stands_in_the_results():
    """Means over seeds of our runs, at the chosen or the last epoch, or what the paper prints."""
    from fdiv.experiments.results import KEY, our_accuracies, paper_accuracies

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


def tables_of_the_readme() -> list[pd.DataFrame]:
    """The tables of the README, each with the first column as its index."""
    found = re.findall(r"((?:^\|.*\|\n)+)", (ROOT / "README.md").read_text(), re.M)
    cells = [[[c.strip() for c in line[1:-1].split("|")] for line in table.splitlines()] for table in found]
    return [pd.DataFrame(rows[2:], columns=rows[0]).set_index(rows[0][0]) for rows in cells]


METHODS = {
    "CE": "ce", "FLC": "flc", "DMI": "dmi", "peer loss": "pl", "TV": "tv", "JS": "js", "KL": "kl",
    "squared Hellinger": "squared-hellinger", "Pearson": "pearson", "Neyman": "neyman",
    "reverse KL": "reverse-kl", "Jeffrey": "jeffrey",
}  # fmt: skip


@pytest.mark.parametrize(("title", "dataset"), [("MNIST", "mnist"), ("Fashion-MNIST", "fashion-mnist")])
def test_every_cell_of_the_readmes_main_tables_is_that_of_its_noise_and_method(title, dataset):
    from fdiv.experiments.results import beside

    rows = beside("all-methods", mode="laptop", dataset=dataset).set_index(["noise", "method"])
    written = [t for t in tables_of_the_readme() if t.index.name == f"{title}, noise" and "ours" not in t]
    written = pd.concat(written, axis=1).rename(columns=METHODS)
    assert set(written.columns) == set(METHODS.values())
    assert set(written.index) == set(rows.index.unique("noise"))
    for (noise, method), cell in written.stack().items():
        one = rows.loc[(noise, method)]
        paper = "" if pd.isna(one["paper"]) else f" ({one['paper']:.1f})"
        assert cell == f"{one['ours']:.1f}{paper}", (noise, method)


def test_every_cell_of_the_readmes_robustness_table_is_that_of_its_rate_and_method():
    from fdiv.experiments.results import our_accuracies

    runs = our_accuracies().query("dataset == 'mnist' and mode == 'laptop'").set_index(["noise", "method"])
    (written,) = (t for t in tables_of_the_readme() if t.index.name == "MNIST, symmetric noise")
    for (method, share), cell in written.stack().items():
        noise = f"uniform-{int(share.split()[0]) / 100:g}"
        assert cell == f"{100 * runs.loc[(noise, METHODS[method]), 'accuracy_noisy_objective']:.1f}"


WAYS = {
    "KL, forward correction": ("kl", "forward"), "plug-in Pearson": ("plugin", "none"),
    "Pearson on logits": ("pearson-logit", "none"), "TV, correction by the inverse": ("tv", "exact"),
    "ratio rule": ("ratio", "none"), "forward loss correction (FLC)": ("flc", "none"),
    "DMI": ("dmi", "none"), "peer loss": ("pl", "none"), "KL, no correction": ("kl", "none"),
}  # fmt: skip


def test_every_cell_of_the_readmes_sparse_high_table_is_a_mean_over_its_seeds():
    from fdiv.experiments.results import our_accuracies, paper_accuracies

    runs = our_accuracies().query("noise == 'sparse-high' and mode == 'laptop'")
    key = ["dataset", "method", "correction", "transition"]
    means = 100 * runs.groupby(key)["accuracy_noisy_objective"].mean()
    best = paper_accuracies().query("noise == 'sparse-high'").groupby("dataset")["max"].max()
    (written,) = (t for t in tables_of_the_readme() if t.index.name == "sparse-high")
    for way, row in written.iterrows():
        for title, dataset in (("MNIST", "mnist"), ("Fashion-MNIST", "fashion-mnist")):
            if way == "best of the paper":
                assert row[title] == f"{best[dataset]:.2f}"
            else:
                transition = "true" if row["told"] == "T" else "estimated"
                assert row[title] == f"{means[(dataset, *WAYS[way], transition)]:.1f}", (way, dataset)


def test_every_cell_of_the_table_with_the_papers_recipe_is_there():
    from fdiv.experiments.results import beside, paper_table

    rows = beside("main", mode="paper", dataset="mnist").set_index(["noise", "method"])["ours"]
    paper = paper_table("main").query("dataset == 'mnist' and method == 'tv'").set_index("noise")
    (written,) = (t for t in tables_of_the_readme() if t.index.name == "MNIST, noise" and "ours" in t)
    for noise, row in written.iterrows():
        assert row["ours"] == f"{rows[(noise, 'tv')]:.2f}"
        one = paper.loc[noise]
        assert row["paper, mean of its runs"] == f"{one['mean']:.2f} ± {one['std']:.2f}"
