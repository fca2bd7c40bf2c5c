"""What is written for people is true: links, code, commands, and every number of the tables."""

import re
from pathlib import Path

import pandas as pd
import pytest

from fdiv.experiments import report
from fdiv.experiments.grid import GRIDS
from fdiv.files import PAPER, RESULTS

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
GUIDES = sorted((ROOT / "fdiv" / "course" / "guides").glob("*.md"))
PAGES = [README, ROOT / "CONTRIBUTING.md", RESULTS / "README.md", *GUIDES]


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_readme_is_short_and_lists_every_notebook_every_guide_and_the_two_commands():
    readme = text_of("README.md")
    assert len(readme.encode()) <= 10_000
    for notebook in (ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"):
        assert f"notebooks/{notebook.name}" in readme
    for guide in GUIDES:
        assert str(guide.relative_to(ROOT)) in readme
    assert {"make run", "make test"} <= set(re.findall(r"^make \w+", readme, re.M))


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", GUIDES, ids=lambda path: path.stem)
def test_the_code_of_the_guides_runs(page):
    """That of the README is run where the wheel is tested."""
    namespace: dict = {}
    for code in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        exec(code, namespace)


def test_the_plain_commands_are_those_of_make():
    guide = text_of("fdiv/course/guides/set_up.md")
    recipes = re.findall(r"^\t(\$\(BIN\)/python .*)$", text_of("Makefile").split("# The set-up")[0], re.M)
    plain = {
        command.strip()
        for line in re.findall(r"^\.venv/bin/python .*$", guide, re.M)
        for command in line.split("#")[0].split("&&")
    }
    made = {one.strip() for line in recipes for one in line.replace("$(BIN)", ".venv/bin").split("&&")}
    assert len(plain) == 8
    assert {line for line in plain if "pip install" not in line} <= made


def test_every_target_of_make_is_explained():
    targets = re.findall(r"^([a-z-]+):.*## ", text_of("Makefile"), re.M)
    assert "check" in targets
    assert [name for name in targets if f"`make {name}`" not in text_of("fdiv/course/guides/set_up.md")] == []


def test_every_grid_and_every_environment_variable_is_explained():
    guide = text_of("fdiv/course/guides/full_runs.md")
    assert [name for name in GRIDS if f"`{name}`" not in guide] == []
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "fdiv").rglob("*.py"))
    own = {"FDIV_GRID", "FDIV_NO_SUCH_VARIABLE"}  # which a grid sets for its kernels; of an example
    variables = set(re.findall(r"\"(FDIV_[A-Z0-9_]+)\"", sources)) - own
    assert {"FDIV_OFFLINE", "FDIV_RUNS"} <= variables
    assert [name for name in sorted(variables) if f"| `{name}` |" not in guide] == []


# ------------------------------------------------------------------ the result tables


def test_the_page_of_results_is_the_one_that_the_results_make():
    assert (RESULTS / "README.md").read_text(encoding="utf-8") == report.report(), "run  fdiv results"


def test_the_headline_of_the_readme_is_the_one_that_the_results_make():
    assert report.with_headline(text_of("README.md")) == text_of("README.md"), "run  fdiv results"


def tables(text: str) -> list[pd.DataFrame]:
    """Return the Markdown tables of a page, each with its first column as the index."""
    found = re.findall(r"((?:^\|.*\|\n)+)", text, re.M)
    cells = [[[c.strip() for c in line[1:-1].split("|")] for line in table.splitlines()] for table in found]
    return [pd.DataFrame(rows[2:], columns=rows[0]).set_index(rows[0][0]) for rows in cells]


WAYS = {
    "Cross-entropy": ("ce", "none"), "Peer loss": ("pl", "none"), "Total variation": ("tv", "none"),
    "Ratio rule": ("ratio", "none"),
    "Plug-in Pearson χ²": ("plugin", "none"), "KL, forward correction, T estimated": ("kl", "forward"),
}  # fmt: skip


def test_every_cell_of_the_headline_is_that_of_its_dataset_noise_and_method():
    """Read from the CSV files by hand, without the functions that made the table."""
    runs = pd.read_csv(RESULTS / "accuracies.csv")
    runs = runs.query("mode == 'laptop' and transition == 'estimated' and variant == 'paper'")
    paper = pd.read_csv(PAPER / "accuracies.csv")
    (written,) = tables(text_of("README.md").split(report.MARKS[0])[1].split(report.MARKS[1])[0])
    assert set(written.index) == {*WAYS, "best of the paper"}
    for (way, column), text in written.stack().items():
        title, noise = column.split(", ")
        here = f"dataset == '{title.lower()}' and noise == '{noise}'"
        if way == "best of the paper":
            assert text == f"{paper.query(here)['max'].max():.1f}"
            continue
        method, correction = WAYS[way]
        one = runs.query(f"{here} and method == '{method}' and correction == '{correction}'")
        seeds = 100 * one["accuracy_noisy_objective"]
        spread = f" ± {seeds.std():.1f}" if len(seeds) > 1 else ""
        assert text == (f"{seeds.mean():.1f}{spread} ({len(seeds)})" if len(seeds) else "–"), (way, column)


def test_a_new_run_moves_its_cell_and_no_other():
    runs = pd.read_csv(RESULTS / "accuracies.csv")
    one = runs.query("dataset == 'mnist' and noise == 'uniform-low' and method == 'js' and mode == 'laptop'")
    more = one.iloc[:1].assign(seed=99, accuracy_noisy_objective=0.5)
    before, after = (report.report(rows).splitlines() for rows in (runs, pd.concat([runs, more])))
    ((old, new),) = ((a, b) for a, b in zip(before, after, strict=True) if a != b)
    changed = [(a, b) for a, b in zip(old.split("|"), new.split("|"), strict=True) if a != b]
    assert len(changed) == 1
    assert f"({len(one) + 1})" in changed[0][1]
