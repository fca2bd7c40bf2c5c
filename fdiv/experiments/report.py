"""The result tables as pages: data/results/README.md, and the headline table of the README.

Both are made from ``data/results/accuracies.csv`` and from nothing else, so that no number is copied by hand.
``fdiv results`` writes them again after it has collected new runs, and so does
``python -m fdiv.experiments.report``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from fdiv.datasets import CATALOGUE
from fdiv.experiments import results
from fdiv.experiments.recipes import MODES
from fdiv.experiments.results import accuracy_column, our_accuracies, paper_accuracies, titled, with_rates
from fdiv.files import ROOT, write_text
from fdiv.learning.methods import CORRECTIONS, METHODS, method_title

ACCURACY = accuracy_column("noisy-objective")
NOTHING = "–"
MARKS = "<!-- headline: python -m fdiv.experiments.report -->", "<!-- end of the headline -->"
KEYS = ["method", "correction", "transition", "variant"]
TOLD = {"nothing": "", "T": "T known", "T estimated": "T estimated"}
HEADLINE = ("uniform-high", "sparse-high")
HEADLINE_WAYS = {"ce": "none", "pl": "none", "tv": "none", "ratio": "none", "plugin": "none", "kl": "forward"}
INTRODUCTION = """# What has been run

Made by `fdiv results` from [`accuracies.csv`](accuracies.csv), where every run stands with its seed, recipe,
commit, versions and seconds: do not edit this page. [Notebook 10](../../notebooks/10_paper_tables.ipynb)
draws the same numbers and shows what has not been run.

A cell is the accuracy on clean test data in percent, at the epoch chosen on noisy validation data: the mean ±
the standard deviation over seeds, and the number of seeds in round brackets. In square brackets stands the
paper's mean, or its best run where it prints only that. A dash means "not run".
"""


def cell(shares: Iterable[float]) -> str:
    """Return the mean of accuracies in percent, with the spread and the number of seeds.

    >>> cell([0.98, 0.99, 0.985]), cell([0.9]), cell([])
    ('98.5 ± 0.5 (3)', '90.0 (1)', '–')
    """
    values = 100 * pd.Series(list(shares), dtype=float)
    if values.empty:
        return NOTHING
    spread = "" if len(values) == 1 else f" ± {values.std():.1f}"
    return f"{values.mean():.1f}{spread} ({len(values)})"


def markdown(corner: str, columns: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Return a table in Markdown.

    >>> print(markdown("noise", ["TV"], [("uniform", ["97.1"])]), end="")
    | noise | TV |
    |---|---|
    | uniform | 97.1 |
    """
    head, *body = (f"| {' | '.join(line)} |\n" for line in ([corner, *columns], *([n, *c] for n, c in rows)))
    return "".join([head, "|---" * (len(columns) + 1) + "|\n", *body])


def report(runs: pd.DataFrame | None = None) -> str:
    """Return the page of all result tables.

    runs: rows as ``our_accuracies`` returns them, which is the default.
    """
    runs = our_accuracies() if runs is None else runs
    runs = with_rates(titled(runs))
    parts = [INTRODUCTION]
    for mode in (mode for mode in reversed(list(MODES)) if mode in set(runs["mode"])):
        parts.append(f"## MODE {mode}: {MODES[mode]}\n")
        here = runs[runs["mode"] == mode]
        for dataset in (name for name in CATALOGUE if name in set(here["dataset"])):
            of_dataset, title = here[here["dataset"] == dataset], CATALOGUE[dataset].title
            settings, curve = of_dataset[of_dataset["rate"].isna()], of_dataset[of_dataset["rate"].notna()]
            parts.append(f"### {title}\n")
            parts += _settings_tables(settings, dataset)
            if len(curve):
                parts.append(f"Symmetric noise, by the share of wrong labels:\n\n{_curve_table(curve)}")
    return "\n".join(parts)


def headline() -> str:
    """Return the one table of the README: the two strongest noises of the paper, in MODE laptop."""
    runs = our_accuracies()
    runs = titled(runs[(runs["mode"] == "laptop") & (runs["variant"] == "paper")])
    pairs = [
        (noise, dataset)
        for noise in HEADLINE
        for dataset in CATALOGUE
        if len(runs[(runs["noise"] == noise) & (runs["dataset"] == dataset)]) > 1
    ]
    rows = []
    for method, correction in HEADLINE_WAYS.items():
        way = runs[
            (runs["method"] == method)
            & (runs["correction"] == correction)
            & (runs["transition"] == "estimated")
        ]
        told = "" if way.empty else TOLD[way["told"].iloc[0]]
        cells = [
            cell(way[(way["noise"] == noise) & (way["dataset"] == data)][ACCURACY]) for noise, data in pairs
        ]
        rows.append((", ".join(filter(None, [method_title(method, correction), told])), cells))
    best = paper_accuracies().groupby(["noise", "dataset"])["max"].max()
    rows.append(("best of the paper", [f"{best[pair]:.1f}" if pair in best else NOTHING for pair in pairs]))
    return markdown("method", [f"{CATALOGUE[dataset].title}, {noise}" for noise, dataset in pairs], rows)


def write(root: Path = ROOT) -> None:
    """Write the page of all tables, and the headline table into the README of a clone."""
    write_text(report(), results.RESULTS / "README.md")
    readme = root / "README.md"
    if readme.is_file() and results.RESULTS.is_relative_to(root):
        write_text(with_headline(readme.read_text(encoding="utf-8")), readme)


def with_headline(text: str) -> str:
    """Return ``text`` with the headline table of now between its marks, or as it is where it has none."""
    before, mark, rest = text.partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    return f"{before}{mark}\n{headline()}{end}{after}" if mark and end else text


def _ways(runs: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return the runs of each way to train, in the order of ``METHODS``, with the name of its row."""
    methods, corrections = list(METHODS), list(CORRECTIONS)
    named = []
    for (method, correction, transition, variant), way in runs.groupby(KEYS):
        notes = [TOLD[way["told"].iloc[0]], "" if variant == "paper" else variant]
        name = ", ".join([way["way"].iloc[0], *filter(None, notes)])
        place = methods.index(method), corrections.index(correction), transition, variant
        named.append((place, name, way))
    return [(name, way) for _, name, way in sorted(named, key=lambda row: row[0])]


def _settings_tables(runs: pd.DataFrame, dataset: str) -> list[str]:
    """Return methods by noise settings, and below it the methods that were run under one setting only."""
    printed = paper_accuracies()
    printed = printed[printed["table"].isin(["clean", "main", "main-full", "clothing1m"])]
    printed = printed[printed["dataset"] == dataset].drop_duplicates(["noise", "method"])
    paper = printed.set_index(["noise", "method"])
    paper = paper["mean"].fillna(paper["max"])
    order = {noise: number for number, noise in enumerate(printed["noise"].unique())}
    noises = sorted(runs["noise"].unique(), key=lambda noise: (order.get(noise, len(order)), noise))
    tables: dict[tuple[str, ...], list[tuple[str, list[str]]]] = {}
    for name, way in _ways(runs):
        method = way["method"].iloc[0]
        as_there = way["correction"].iloc[0] == "none" and way["transition"].iloc[0] == "estimated"
        under = set(way["noise"])
        columns = tuple(noise for noise in noises if len(under) > 1 or noise in under)
        cells = []
        for noise in columns:
            known = as_there and (noise, method) in paper.index and noise in under
            theirs = f" [{paper[noise, method]:.1f}]" if known else ""
            cells.append(cell(way[way["noise"] == noise][ACCURACY]) + theirs)
        tables.setdefault(columns, []).append((name, cells))
    widest_first = sorted(tables.items(), key=lambda item: -len(item[0]))
    return [markdown("method", columns, rows) for columns, rows in widest_first]


def _curve_table(runs: pd.DataFrame) -> str:
    """Return methods by the rate of symmetric noise."""
    rates = sorted(runs["rate"].unique())
    rows = [(name, [cell(way[way["rate"] == rate][ACCURACY]) for rate in rates]) for name, way in _ways(runs)]
    return markdown("method", [f"{100 * rate:.0f} %" for rate in rates], rows)


if __name__ == "__main__":
    write()
