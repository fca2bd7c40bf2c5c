"""Results as tidy data: the paper's tables, and what our runs measured with where and how."""

from __future__ import annotations

import csv
import datetime
import hashlib
import io
import json
import math
import os
import platform
import re
import subprocess
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from filelock import FileLock

import fdiv
from fdiv.device import has_bfloat16, pick_device
from fdiv.files import PAPER, RESULTS, ROOT, write_text
from fdiv.learning.methods import method_title, needs_transition, paper_methods
from fdiv.learning.runs import ORACLE, RULES
from fdiv.names import choose

ROW = ["dataset", "noise", "method"]
PAPER_TABLES = {
    "clean": "the paper's table on clean labels: 4 datasets, 4 methods",
    "main": "the paper's main table: 22 noise settings, 5 baselines and 3 divergences",
    "main-full": "the appendix's second half of it: the baselines, Pearson and Jeffrey",
    "bias-mnist": "the bias correction on MNIST, with the true T as the authors have it",
    "bias-fashion-mnist": "the same on Fashion-MNIST",
    "bias-cifar10": "the same on CIFAR-10",
    "clothing1m": "ten methods on Clothing1M",
    "all-methods": "all thirteen methods under every noise setting of the main table",
}
FIELDS = ("dataset", "noise", "method", "mode", "seed", "correction", "transition", "variant")
KEY = ["run"]  # the digest of what was trained, and on what: a row of our results has one of its own


def accuracy_column(rule: str) -> str:
    """Return what a result calls the accuracy at the epoch that ``rule`` chooses.

    >>> accuracy_column("noisy-objective")
    'accuracy_noisy_objective'
    """
    return f"accuracy_{rule}".replace("-", "_")


LARGEST = 2**63  # pandas reads whole numbers below it only
# What a result holds: for each column the type of its values, and what they must be.
Check = tuple[type, Callable[[Any], bool], str]
TEXT: Check = (str, lambda text: text.isprintable(), "one line of text")
NAME: Check = (str, lambda text: text.isprintable() and text != "", "a word")
SHARE: Check = (float, lambda x: 0 <= x <= 1, "a number from 0 to 1")
COLUMNS: dict[str, Check] = {
    "run": (str, lambda text: re.fullmatch("[0-9a-f]{64}", text) is not None, "64 hexadecimal digits"),
    **dict.fromkeys(FIELDS, NAME),
    "seed": (int, lambda seed: 0 <= seed < LARGEST, "a whole number from 0 up"),
    "labels": TEXT,
    **{accuracy_column(rule): SHARE for rule in (*RULES, ORACLE)},
    "memorised_last": (float, lambda x: math.isnan(x) or 0 <= x <= 1, "a number from 0 to 1, or none"),
    "product": NAME,
    "epochs": (int, lambda n: 1 <= n < LARGEST, "a whole number from 1 up"),
    "recipe": TEXT,
    "seconds": (float, lambda s: 0 <= s < math.inf, "a number from 0 up"),
    **dict.fromkeys(("commit", "fdiv", "torch", "python", "device"), NAME),
    "threads": (int, lambda n: 1 <= n < LARGEST, "a whole number from 1 up"),
    "date": (str, lambda day: _is_day(day), "a day such as 2026-01-31"),
    "diagnosis": TEXT,
}
MAY_BE_EMPTY = {"memorised_last": "nan"}  # in a CSV file, where nothing stands for nan


def paper_accuracies() -> pd.DataFrame:
    """The accuracies of all result tables, in percent: a row per table, dataset, noise and method.

    Baselines have a best accuracy (``max``) only; f-divergences have mean and standard deviation as well.
    ``gap`` is the printed difference to cross-entropy (table clean) or to no correction (tables bias-...).

    >>> float(paper_accuracies().query("dataset == 'mnist' and noise == 'sparse-high'")["max"].max())
    60.27
    """
    return pd.read_csv(PAPER / "accuracies.csv")


def paper_table(table: str) -> pd.DataFrame:
    """One table of the paper: the columns of ``paper_accuracies`` without its name.

    table: a name of ``PAPER_TABLES``. "all-methods" has all thirteen methods under every noise setting of the
        main table: the numbers printed there and in the appendix, and nan for the three methods crossed out.

    >>> len(paper_table("all-methods")["method"].unique())
    13
    """
    table, paper = choose("table", table, tuple(PAPER_TABLES)), paper_accuracies()
    if table != "all-methods":
        return paper[paper["table"] == table].drop(columns="table").reset_index(drop=True)
    printed = paper[paper["table"].isin(["main", "main-full"])].drop_duplicates(ROW)
    settings = printed[["dataset", "noise"]].drop_duplicates()
    rows = settings.merge(pd.DataFrame({"method": paper_methods()}), how="cross")
    return rows.merge(printed.drop(columns="table"), on=ROW, how="left")


def beside(
    table: str, *, mode: str, dataset: str | None = None, rule: str = "noisy-objective"
) -> pd.DataFrame:
    """A table of the paper with our runs beside it: a row per dataset, noise and method, in percent.

    ``paper`` is the paper's mean where it prints one, else its best. ``ours`` is the mean over our seeds at
    the epoch that ``rule`` chooses, with ``std`` and ``seeds``; nan where nothing has been run. Where a cell
    was run with two recipes, such as two networks, the newer one counts: their means do not mix.

    table: a name of ``PAPER_TABLES``; "bias-..." are runs with the paper's correction and the true T.

    >>> rows = beside("main", mode="laptop", dataset="mnist").set_index(["noise", "method"])
    >>> float(rows.loc[("uniform-high", "tv"), "paper"])
    97.96
    """
    theirs = paper_table(table)
    theirs["paper"] = theirs["mean"].fillna(theirs["max"])
    if dataset is not None:
        theirs = theirs[theirs["dataset"] == choose("dataset", dataset, tuple(theirs["dataset"].unique()))]
    corrected = table.startswith("bias")
    wanted = {
        "mode": mode,
        "variant": "paper",
        "correction": "paper" if corrected else "none",
        "transition": "true" if corrected else "estimated",
    }
    runs = our_accuracies()
    runs = runs[(runs[list(wanted)] == pd.Series(wanted)).all(axis=1)]
    runs, column = runs.sort_values("date", kind="stable"), accuracy_column(rule)
    runs = runs[runs["recipe"] == runs.groupby(ROW)["recipe"].transform("last")]
    ours = runs.groupby(ROW)[column].agg(ours="mean", std="std", seeds="count").reset_index()
    ours[["ours", "std"]] *= 100
    return theirs[[*ROW, "paper"]].merge(ours, on=ROW, how="left").fillna({"seeds": 0})


def paper_robustness() -> pd.DataFrame:
    """The paper's figure as read off its lines: ten noise rates for each of three divergences on CIFAR-10.

    ``value`` is the drawn D_f and ``accuracy`` the drawn accuracy, here a share; JS has no such curve. The
    paper prints no numbers for it: trust the second digit, not the third.

    >>> len(paper_robustness())
    30
    """
    return pd.read_csv(PAPER / "robustness.csv")


def errata() -> pd.DataFrame:
    """Every statement, table and matrix of the paper with our verdict, the correction, and what shows it.

    >>> sorted(errata()["verdict"].unique())
    ['fails', 'holds', 'holds with correction']
    """
    return pd.read_csv(PAPER / "errata.csv", keep_default_na=False)


def our_accuracies() -> pd.DataFrame:
    """Return what ``fdiv results`` collected from real runs: a row per run, with its provenance.

    >>> our_accuracies()["run"].is_unique
    True
    """
    return read_accuracies(RESULTS / "accuracies.csv")


def our_robustness(mode: str = "laptop") -> pd.DataFrame:
    """Return our runs under symmetric noise with a rate, as in the paper's figure: ``rate`` is a column.

    >>> float(our_robustness()["rate"].max())
    0.81
    """
    runs = with_rates(our_accuracies())
    wanted = (runs["mode"] == mode) & (runs["correction"] == "none") & (runs["variant"] == "paper")
    return runs[wanted & runs["rate"].notna()]


def with_rates(runs: pd.DataFrame) -> pd.DataFrame:
    """Return ``runs`` with a column ``rate``, nan where the noise is not symmetric with a rate.

    >>> with_rates(pd.DataFrame({"noise": ["uniform-0.27", "uniform-high"]}))["rate"].tolist()
    [0.27, nan]
    """
    return runs.assign(rate=runs["noise"].str.extract(r"^uniform-([\d.]+)$", expand=False).astype(float))


def titled(runs: pd.DataFrame) -> pd.DataFrame:
    """``runs`` with two columns to read: ``way``, method and correction, and ``told``, what it knew of T.

    >>> runs = our_accuracies().query("method == 'flc' and transition == 'estimated'")
    >>> titled(runs)["told"].iloc[0]
    'T estimated'
    """
    known = {"true": "T", "estimated": "T estimated"}
    each = list(zip(runs["method"], runs["correction"], runs["transition"], strict=True))
    return runs.assign(
        way=[method_title(method, correction) for method, correction, _ in each],
        told=[known[t] if needs_transition(m, correction) else "nothing" for m, correction, t in each],
    )


def provenance() -> dict[str, Any]:
    """What a number needs beside it: the commit, the versions, the machine and the day."""
    device = pick_device()
    name = (
        torch.cuda.get_device_name(device) if device.type == "cuda" else f"{device.type} {platform.machine()}"
    )
    return {
        "commit": _commit(),
        "fdiv": fdiv.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "device": f"{name} with bfloat16" if has_bfloat16(device) else name,
        "threads": torch.get_num_threads(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }


def collect(folder: str | os.PathLike) -> pd.DataFrame:
    """Put every ``result.json`` below ``folder`` into data/results, in place of an older row of the same run.

    All or nothing: a file that is not whole, a value that cannot be, and two files that disagree about a run
    are each a ``ValueError`` that names the file. Two calls at the same time wait for one another.
    """
    found: dict[str, tuple[Path, dict[str, Any]]] = {}
    for path in sorted(Path(folder).rglob("result.json")):
        result = read_result(path)
        check_row(result, str(path))
        other, before = found.setdefault(result["run"], (path, result))
        differ = [column for column in before if str(before[column]) != str(result[column])]
        if differ:
            raise ValueError(
                f"{other} and {path} are the same run with another {differ[0]}: delete one of them"
            )
    if not found:
        raise ValueError(f"no result.json lies below {folder}")
    path = RESULTS / "accuracies.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_name(f".{path.name}.lock")):
        before = [read_accuracies(path)] if path.exists() else []
        new = pd.DataFrame([result for _, result in found.values()], columns=list(COLUMNS))
        table = pd.concat([*before, new]).drop_duplicates(KEY, keep="last").sort_values([*FIELDS, *KEY])
        write_text(table.to_csv(index=False, float_format="%.6g"), path)
    return read_accuracies(path)


def read_accuracies(path: Path) -> pd.DataFrame:
    """Return a table of results, or raise a ``ValueError`` that names the file and the line which is wrong.

    Wrong are a line that was cut off, the marks of a merge, columns that are unknown or missing, values that
    cannot be, and a second row of the same run.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")  # a spreadsheet begins it with a mark
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no text: {error}") from None
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if line.startswith(("<<<<<<<", "=======", ">>>>>>>", "|||||||")):
            raise ValueError(f"{path}, line {number}: {line[:30]!r} is the mark of a merge: settle it first")
    if not lines:
        raise ValueError(f"{path}, line 1: the file is empty: restore it from git")
    if not text.endswith("\n"):
        raise ValueError(
            f"{path}, line {len(lines)}: the file was cut off here: restore it with  git checkout"
        )
    rows = csv.reader(io.StringIO(text), strict=True)
    try:
        columns = next(rows)
        _check_columns(columns, f"{path}, line 1")
        seen: dict[str, int] = {}
        for cells in rows:
            where = f"{path}, line {rows.line_num}"
            if len(cells) != len(columns):
                raise ValueError(f"{where}: {len(cells)} values for {len(columns)} columns")
            row = {
                name: _read(cell or MAY_BE_EMPTY.get(name, ""), COLUMNS[name][0])
                for name, cell in zip(columns, cells, strict=True)
            }
            check_row(row, where)
            if (first := seen.setdefault(row["run"], rows.line_num)) != rows.line_num:
                raise ValueError(f"{where}: the same run as in line {first}: delete one of them")
    except csv.Error as error:
        raise ValueError(f"{path}, line {rows.line_num}: {error}") from None
    types = {name: str for name, (kind, _, _) in COLUMNS.items() if kind is str}
    return pd.read_csv(path, dtype=types)  # a commit of digits alone is no number


def check_row(row: Mapping[str, Any], where: str) -> None:
    """Raise a ``ValueError`` that begins with ``where`` unless ``row`` has every column, with fitting values.

    What was run must be an ``Experiment`` that is known here, spelled as we spell it.

    >>> check_row({"run": "banana"}, "a.json")
    Traceback (most recent call last):
        ...
    ValueError: a.json lacks dataset, noise, method, mode, seed and 21 more columns
    """
    _check_columns(row, where)
    for name, (kind, fits, what) in COLUMNS.items():
        value = row[name]
        typed = isinstance(value, int | float if kind is float else kind) and not isinstance(value, bool)
        if not (typed and fits(value)):
            raise ValueError(f"{where}: {name} is {str(value)[:60]!r}, which is not {what}")
    for name, ours in _spelled(*(row[name] for name in FIELDS), where=where).items():
        if row[name] != ours:
            raise ValueError(f"{where}: {name} is {row[name]!r}, which is spelled {ours!r} here")


def _spelled(*fields: Any, where: str) -> dict[str, Any]:
    """An experiment's fields as we spell them."""
    from fdiv.experiments.experiment import Experiment  # which writes results, and so imports this module

    try:
        return asdict(Experiment(**dict(zip(FIELDS, fields, strict=True))).canonical())
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _is_day(text: str) -> bool:
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _read(cell: str, kind: type) -> Any:
    """Return a cell of a CSV file as a value of its kind, or as it is for ``check_row`` to refuse."""
    try:
        return kind(cell)
    except ValueError:
        return cell


def _check_columns(names: Collection[str], where: str) -> None:
    missing, unknown = [c for c in COLUMNS if c not in names], [str(c) for c in names if c not in COLUMNS]
    if len(set(names)) != len(names):
        raise ValueError(f"{where} has a column twice")
    for what, wrong in (("lacks", missing), ("has unknown", unknown)):
        if wrong:
            more = f" and {len(wrong) - 5} more columns" if len(wrong) > 5 else ""
            raise ValueError(f"{where} {what} {', '.join(wrong[:5])}{more}")


def write_result(result: Mapping[str, Any], path: Path) -> None:
    """Write ``result`` as JSON with a digest over it, whole or not at all.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_result({"run": "ab", "seconds": 1.5}, Path(folder, "result.json"))
    ...     read_result(Path(folder, "result.json"))
    {'run': 'ab', 'seconds': 1.5}
    """
    write_text(json.dumps(dict(result) | {"sha256": _digest(result)}, indent=1), path)


def read_result(path: Path) -> dict[str, Any]:
    """Return what ``write_result`` wrote, or raise a ``ValueError`` naming the file if it is not whole."""
    cure = "delete it and run that experiment again"
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise ValueError(f"{path} is not whole: {cure}") from None
    if not isinstance(result, dict) or "run" not in result:
        raise ValueError(f"{path} is not the result of a run: {cure}")
    if result.pop("sha256", None) != _digest(result):
        raise ValueError(f"{path} was changed after it was written, or comes from an older version: {cure}")
    return result


def _digest(result: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(result, sort_keys=True).encode()).hexdigest()


@cache
def _commit() -> str:
    """The commit the package was run from; "unknown" without git.

    A + says that files differ from it. Results do not count, as a study that goes on has already added some.
    """

    def git(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, timeout=20)

    try:
        found = git("describe", "--always", "--abbrev=12")
        found.check_returncode()
        changed = git("diff", "--quiet", "HEAD", "--", ".", ":(exclude)data/results").returncode
        return found.stdout.strip() + ("+" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return "unknown"
