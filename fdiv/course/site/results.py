"""Every number that was measured, from data/results: a table to filter, each cell with its runs on demand."""

from __future__ import annotations

import html
from pathlib import Path

import pandas as pd
from scipy import stats

from fdiv.datasets import CATALOGUE
from fdiv.experiments.report import TOLD, cell
from fdiv.experiments.results import ROW, accuracy_column, paper_accuracies, titled
from fdiv.files import RESULTS
from fdiv.learning.methods import METHODS, method_title

RUNS = "accuracies.csv"
FILTERS = ("dataset", "noise", "method", "mode")
NOT_RUN = "not run"
NOTHING = "–"  # where there is no number
WAY = ["correction", "transition", "variant"]
ACCURACY = accuracy_column("noisy-objective")
# Of each run: what is shown on demand, and what it is called there.
PROVENANCE = {
    "seed": "seed", ACCURACY: "accuracy", "accuracy_last": "at the last epoch", "epochs": "epochs",
    "recipe": "recipe", "seconds": "seconds", "commit": "commit", "torch": "torch", "device": "device",
    "date": "date",
}  # fmt: skip
MOST = 600  # rows of another file that a page shows


def results(folder: Path = RESULTS) -> str:
    """Return the body of the page of results, made from the files in ``folder``."""
    path = folder / RUNS
    head = "<h1>Results</h1>"
    if not path.is_file():
        return (
            f"{head}<p>There are no results here yet: <code>fdiv results</code> collects finished runs.</p>"
        )
    runs = pd.read_csv(path, dtype={"commit": str})
    groups = list(runs.groupby([*FILTERS, *WAY], sort=False, dropna=False))
    printed = _printed()
    there = {key[:3] + key[4:6] for key, _ in groups if key[-1] == "paper"}
    missing = {way: text for way, text in printed.items() if way not in there}
    lacking = pd.DataFrame([(*way[:3], NOT_RUN) for way in missing], columns=list(FILTERS))
    filters = _filters(pd.concat([runs, lacking]))
    others = [one for one in sorted(folder.glob("*.csv")) if one.name != RUNS]
    return (
        f"{head}<p>Accuracy on clean test data in percent, at the epoch chosen on noisy validation data: "
        "mean ± standard deviation (number of seeds). Open a number to see its runs, each with the commit "
        "that made it, and the 95 % interval of the mean where there are several. Beside it the "
        "paper's mean, or its best run where it prints no mean. The mode is the budget: <i>laptop</i> a "
        f"dozen epochs, <i>paper</i> the paper's own. Here are {len(runs)} runs in {len(groups)} rows. Of "
        f"the {len(printed)} cells that the paper prints, {len(printed) - len(missing)} have been run; the "
        f"others stand at the end, and the mode <i>{NOT_RUN}</i> shows them alone.</p>"
        f'<form class="filters" role="group" aria-label="Filters">{filters}</form>'
        '<p class="shown" role="status"></p>'
        '<table class="results"><thead><tr><th>dataset</th><th>noise</th><th>method</th><th>mode</th>'
        "<th>ours</th><th>paper</th></tr></thead>"
        f"<tbody>{''.join(_row(*group, printed) for group in groups)}"
        f"{''.join(_missing(*one) for one in missing.items())}</tbody></table>"
        f'<h2 id="other-files">Other files</h2>{"".join(_other(one) for one in others)}'
    )


def _filters(runs: pd.DataFrame) -> str:
    return "".join(
        f'<label>{name} <select name="{name}"><option value="">all</option>{_options(runs[name])}'
        "</select></label>"
        for name in FILTERS
    )


def _options(values: pd.Series) -> str:
    counts = values.astype(str).value_counts(sort=False)
    order = [name for name in METHODS if name in counts.index] if values.name == "method" else counts.index
    rest = [name for name in counts.index if name not in order]
    return "".join(
        f'<option value="{html.escape(one)}">{html.escape(_title(str(values.name), one))}</option>'
        for one in [*order, *rest]
    )


def _title(column: str, value: str) -> str:
    if column == "method":
        return METHODS[value].title if value in METHODS else value
    return CATALOGUE[value].title if column == "dataset" and value in CATALOGUE else value


def _printed() -> dict[tuple, str]:
    """What the paper prints, by dataset, noise, method, correction and T."""
    found = {}
    for one in paper_accuracies().itertuples():
        way = ("paper", "true") if str(one.table).startswith("bias") else ("none", "estimated")
        text = f"{one.max:.1f}, best" if pd.isna(one.mean) else f"{one.mean:.1f}"
        text = (
            "NaN" if pd.isna(one.max) and pd.isna(one.mean) else text
        )  # as it stands there: training failed
        found.setdefault((*(getattr(one, name) for name in ROW), *way), text)
    return found


def _interval(shares: pd.Series) -> str:
    """The 95 % interval of a mean, by Student's t; nothing for one seed."""
    if len(shares) < 2:
        return ""
    half = stats.t.ppf(0.975, len(shares) - 1) * shares.sem()
    return f"<p>95 % interval {100 * (shares.mean() - half):.1f} to {100 * (shares.mean() + half):.1f}</p>"


def _row(key: tuple, runs: pd.DataFrame, printed: dict[tuple, str]) -> str:
    values = dict(zip([*FILTERS, *WAY], key, strict=True))
    data = " ".join(f'data-{name}="{html.escape(str(values[name]))}"' for name in FILTERS)
    cells = [
        _title("dataset", values["dataset"]),
        values["noise"],
        _way(runs, values["variant"]),
        values["mode"],
    ]
    way = (values[name] for name in (*ROW, "correction", "transition"))
    theirs = printed.get(tuple(way), NOTHING) if values["variant"] == "paper" else NOTHING
    beside = '<td class="none">–</td>' if theirs == NOTHING else f"<td>{theirs}</td>"
    shown = runs[[name for name in PROVENANCE if name in runs]].rename(columns=PROVENANCE)
    table = shown.to_html(index=False, border=0, na_rep="", float_format=lambda x: f"{x:.4g}", classes="runs")
    return (
        f"<tr {data}>{''.join(f'<td>{html.escape(str(one))}</td>' for one in cells)}"
        f"<td><details><summary>{cell(runs[ACCURACY])}</summary>{_interval(runs[ACCURACY])}{table}</details></td>"
        f"{beside}</tr>"
    )


def _missing(way: tuple, printed: str) -> str:
    """A cell that the paper prints and that nobody has run here."""
    dataset, noise, method, correction, _ = way
    data = f'data-dataset="{dataset}" data-noise="{noise}" data-method="{method}" data-mode="{NOT_RUN}"'
    cells = (_title("dataset", dataset), noise, method_title(method, correction), NOT_RUN, NOTHING, printed)
    return f"<tr {data}>{''.join(f'<td>{html.escape(one)}</td>' for one in cells)}</tr>"


def _way(runs: pd.DataFrame, variant: str) -> str:
    """Return the method with its correction and its knowledge of T, as the tables name it."""
    known = runs[runs["method"].isin(list(METHODS))]
    if known.empty:
        return str(runs["method"].iloc[0])
    one = titled(known.head(1)).iloc[0]
    return ", ".join(filter(None, [one["way"], TOLD[one["told"]], "" if variant == "paper" else variant]))


def _other(path: Path) -> str:
    table = pd.read_csv(path)
    shown = table.head(MOST).to_html(index=False, border=0, na_rep="", float_format=lambda x: f"{x:.4g}")
    more = "" if len(table) <= MOST else f"<p>The first {MOST} of {len(table)} rows.</p>"
    return f"<details><summary>{path.name} ({len(table)} rows)</summary>{more}{shown}</details>"
