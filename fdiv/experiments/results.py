"""Results as tidy data: the paper's tables, and what our runs measured with where and how."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from fdiv.device import pick_device
from fdiv.experiments.recipes import method_title, methods, needs_transition
from fdiv.files import PAPER, RESULTS, ROOT, write_text
from fdiv.names import choose

ROW = ["dataset", "noise", "method"]
TABLES = {
    "clean": "the paper's table on clean labels: 4 datasets, 4 methods",
    "main": "the paper's main table: 22 noise settings, 5 baselines and 3 divergences",
    "main-full": "the appendix's second half of it: the baselines, Pearson and Jeffrey",
    "bias-mnist": "the bias correction on MNIST, with the true T as the authors have it",
    "bias-fashion-mnist": "the same on Fashion-MNIST",
    "bias-cifar10": "the same on CIFAR-10",
    "clothing1m": "ten methods on Clothing1M",
    "all-methods": "all thirteen methods under every noise setting of the main table",
}
KEY = ["dataset", "noise", "method", "mode", "seed", "correction", "transition", "variant"]
ADDED_LATER = {"correction": "none"}  # what a result from before there was such a column means


def paper_accuracies() -> pd.DataFrame:
    """The accuracies of all result tables, in percent: a row per table, dataset, noise and method.

    Baselines have a best accuracy (``max``) only; f-divergences have mean and standard deviation as well.
    ``gap`` is the printed difference to cross-entropy (table clean) or to no correction (tables bias-...).
    """
    return pd.read_csv(PAPER / "accuracies.csv")


def paper_table(table: str) -> pd.DataFrame:
    """One table of the paper: the columns of ``paper_accuracies`` without its name.

    table: a name of ``TABLES``. "all-methods" has all thirteen methods under every noise setting of the main
        table: what the paper prints in it and in the appendix, and nan for the three that it crosses out.
    """
    table, paper = choose("table", table, tuple(TABLES)), paper_accuracies()
    if table != "all-methods":
        return paper[paper["table"] == table].drop(columns="table").reset_index(drop=True)
    printed = paper[paper["table"].isin(["main", "main-full"])].drop_duplicates(ROW)
    settings = printed[["dataset", "noise"]].drop_duplicates()
    rows = settings.merge(pd.DataFrame({"method": methods()}), how="cross")
    return rows.merge(printed.drop(columns="table"), on=ROW, how="left")


def accuracy_column(rule: str) -> str:
    """What a result calls the accuracy at the epoch that ``rule`` chooses."""
    return f"accuracy_{rule}".replace("-", "_")


def beside(
    table: str, *, mode: str, dataset: str | None = None, rule: str = "noisy-objective"
) -> pd.DataFrame:
    """A table of the paper with our runs beside it: a row per dataset, noise and method, in percent.

    ``paper`` is the paper's mean where it prints one, else its best. ``ours`` is the mean over our seeds at
    the epoch that ``rule`` chooses, with ``std`` and ``seeds``; nan where nothing has been run.

    table: a name of ``TABLES``; "bias-..." are runs with the paper's correction and the true T.
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
    column = accuracy_column(rule)
    ours = runs.groupby(ROW)[column].agg(ours="mean", std="std", seeds="count").reset_index()
    ours[["ours", "std"]] *= 100
    return theirs[[*ROW, "paper"]].merge(ours, on=ROW, how="left").fillna({"seeds": 0})


def paper_robustness() -> pd.DataFrame:
    """The paper's figure as read off its lines: ten noise rates for each of three divergences on CIFAR-10.

    ``value`` is the drawn D_f and ``accuracy`` the drawn accuracy, here a share; JS has no such curve. The
    paper prints no numbers for it: trust the second digit, not the third.
    """
    return pd.read_csv(PAPER / "robustness.csv")


def errata() -> pd.DataFrame:
    """Every statement, table and matrix of the paper with our verdict, the correction, and what shows it."""
    return pd.read_csv(PAPER / "errata.csv", keep_default_na=False)


def our_accuracies() -> pd.DataFrame:
    """What ``fdiv results`` collected from real runs: a row per experiment, with its provenance."""
    return pd.read_csv(RESULTS / "accuracies.csv")


def titled(runs: pd.DataFrame) -> pd.DataFrame:
    """``runs`` with two columns to read: ``way``, method and correction, and ``told``, what it knew of T."""
    known = {"true": "T", "estimated": "T estimated"}
    each = list(zip(runs["method"], runs["correction"], runs["transition"], strict=True))
    return runs.assign(
        way=[method_title(method, correction) for method, correction, _ in each],
        told=[known[t] if needs_transition(m, correction) else "nothing" for m, correction, t in each],
    )


def provenance() -> dict[str, Any]:
    """What a number needs beside it: the commit, the versions, the machine and the day."""
    return {
        "commit": _commit(),
        "fdiv": importlib.metadata.version("fdiv"),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "device": _device_name(),
        "threads": torch.get_num_threads(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }


def collect(folder: str | os.PathLike, name: str = "accuracies") -> pd.DataFrame:
    """Put every ``result.json`` below ``folder`` into data/results, over an older row of the same experiment.

    Where a grid's folder holds a copy, the run's own folder counts. A file that is not whole is refused by
    name, and nothing is written.
    """
    paths = sorted(
        Path(folder).rglob("result.json"), key=lambda path: (path.parts[-3:-2] == ("train",), path)
    )
    found = [read_result(path) for path in paths]
    if not found:
        raise ValueError(f"no result.json lies below {folder}")
    path = RESULTS / f"{name}.csv"
    before = [pd.read_csv(path)] if path.exists() else []
    table = pd.concat([*before, pd.DataFrame(found)]).drop_duplicates(KEY, keep="last").sort_values(KEY)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(table.to_csv(index=False, float_format="%.6g"), path)
    return table


def read_result(path: Path) -> Mapping[str, Any]:
    """The result of one run, or a ``ValueError`` that names the file where it is not whole."""
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise ValueError(f"{path} is not whole: delete it and run that experiment again") from None
    missing = [name for name in KEY if name not in ADDED_LATER | result]
    if missing:
        raise ValueError(f"{path} lacks {', '.join(missing)}: delete it and run that experiment again")
    return ADDED_LATER | result


@cache
def _commit() -> str:
    """The commit the package was run from, with a + where files differ from it; "unknown" without git."""
    try:
        command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty=+", "--abbrev=12"]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def _device_name() -> str:
    device = pick_device()
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{device.type} {platform.machine()}"
