"""Bad luck and bad input, in thousands: every case ends well, or is refused by one sentence of ours.

``make torture`` runs every kind of fault some hundred times and prints a table: cases, good, refused, bad.
``make test`` runs each kind a few times, see test_torture.py. A case is

* good, if the call returned and what it returned is right, which the case itself checks;
* refused, if our own code raised one sentence, or the command ended with one on stderr and exit code 2;
* bad otherwise: a traceback from elsewhere, a sentence of many lines, a wrong value taken for a right one.

    python tests/slow/torture.py [--cases 200] [--seed 0] [--only checkpoint]
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import csv
import functools
import gzip
import importlib
import io
import json
import math
import os
import pickle
import random
import signal
import string
import subprocess
import sys
import tarfile
import tempfile
import time
import traceback
import unittest.mock
import warnings
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pandas as pd
import torch
import yaml

import fdiv
from fdiv import RobustClassifier, noise
from fdiv.course import exercises, lesson, notebooks, prediction
from fdiv.course.exercises import Exercise
from fdiv.course.site import search
from fdiv.course.site.outline import Section
from fdiv.datasets import ImageFiles, clothing, features, mirrors, noisy_data, own
from fdiv.experiments import grid, results
from fdiv.experiments.experiment import Experiment, plan
from fdiv.files import RESULTS, keep_array, kept_array, offline, write_state, write_text
from fdiv.learning import cleaning
from fdiv.learning.losses import DMI, FDivLoss
from fdiv.learning.methods import METHODS, build_loss
from fdiv.learning.runs import read_state
from fdiv.learning.training import fit
from fdiv.names import choose
from fdiv.noise import annotators, how_many
from fdiv.noise.estimate import estimate_transition
from fdiv.theory.divergences import DIVERGENCES

GOOD, REFUSED = "good", "refused"
OURS = (str(Path(fdiv.__file__).parent), str(Path(__file__).parents[1]))
LONGEST = 1500  # characters of a sentence that names many choices
TOYS = Path(__file__).parents[1] / "toys"


class Bad(AssertionError):
    """A fault that was neither survived nor refused."""


@dataclass(frozen=True)
class Kind:
    """One kind of fault: ``case`` makes one with random numbers and a fresh folder, and says how it ended.

    share: how many cases there are for one of another kind; below 1 for what starts processes.
    """

    name: str
    case: Callable[[random.Random, Path], str]
    share: float = 1.0


KINDS: dict[str, Kind] = {}


def kind(name: str, share: float = 1.0) -> Callable[[Callable], Callable]:
    """Register a case."""

    def add(case: Callable[[random.Random, Path], str]) -> Callable:
        KINDS[name] = Kind(name, case, share)
        return case

    return add


def refused(error: BaseException, *mentions: str) -> str:
    """``REFUSED`` if ``error`` is one sentence raised by our own code that names ``mentions``."""
    said = str(error)
    place = traceback.extract_tb(error.__traceback__)[-1].filename
    if not isinstance(error, ValueError | TypeError | OSError | RuntimeError | ImportError):
        raise Bad(f"{type(error).__name__}: {said}") from error
    if not place.startswith(OURS):
        raise Bad(f"raised in {place}: {type(error).__name__}: {said}") from error
    if not said.strip() or "\n" in said.strip() or len(said) > LONGEST:
        raise Bad(f"not one sentence: {said[:200]!r}") from error
    for word in mentions:
        if word not in said:
            raise Bad(f"does not name {word}: {said}") from error
    return REFUSED


def ends(call: Callable[[], Any], right: Callable[[Any], bool] = lambda _: True, *mentions: str) -> str:
    """How ``call`` ends: good where its value is ``right``, refused where it says why not."""
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        try:
            value = call()
        except Exception as error:
            return refused(error, *mentions)
    if not right(value):
        raise Bad(f"accepted, and wrong: {str(value)[:200]}")
    return GOOD


def command(*arguments: str) -> str:
    """How the command ends in this process: exit code 0, or 2 with one sentence on stderr."""
    from fdiv.__main__ import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(arguments)
        except SystemExit as stop:
            code = int(stop.code or 0)
    said = err.getvalue()
    if "Traceback" in said:
        raise Bad(f"{arguments}: {said[-300:]}")
    if code == 0:
        return GOOD
    if code != 2 or not said.strip():
        raise Bad(f"{arguments}: exit code {code}, stderr {said[:200]!r}")
    usage = "usage:" in said
    if not usage and len(said.strip().splitlines()) != 1:
        raise Bad(f"{arguments}: not one sentence: {said[:300]!r}")
    return REFUSED


def flip(data: bytes, rng: random.Random) -> bytes:
    """``data`` with one bit turned."""
    changed = bytearray(data)
    changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def cut(data: bytes, rng: random.Random) -> bytes:
    """``data`` without its end."""
    return data[: rng.randrange(len(data))]


def junk(rng: random.Random, length: int = 200) -> bytes:
    return rng.randbytes(rng.randrange(length))


def word(rng: random.Random) -> str:
    letters = string.ascii_letters + string.digits + "-_=.,:/\\ äß🙂{}[]()'\"%$#@!*&\t"
    return "".join(rng.choices(letters, k=rng.randrange(12)))


def value(rng: random.Random, depth: int = 0) -> Any:
    """Anything that a person, a file or a program might hand over."""
    numbers = [0, rng.randrange(-5, 12), rng.uniform(-3, 3), 10 ** rng.randrange(40), 1j]
    odd = [math.nan, math.inf, -math.inf, np.float32(0.5), torch.tensor(0.3), np.array([0.2, math.nan])]
    plain = [*numbers, *odd, None, True, "", "tv", "mnist", "uniform-high", word(rng), b"bytes"]
    nested = [
        lambda: [value(rng, depth + 1) for _ in range(rng.randrange(4))],
        lambda: {word(rng): value(rng, depth + 1) for _ in range(rng.randrange(3))},
        lambda: tuple(value(rng, depth + 1) for _ in range(rng.randrange(3))),
    ]
    chosen = rng.choice(plain if depth > 1 else plain + nested)
    return chosen() if callable(chosen) else chosen


# ------------------------------------------------------------------ checkpoints and results on the disk


@functools.cache
def checkpoint() -> tuple[bytes, dict[str, Any]]:
    state = {"epoch": 3, "weights": {"a": torch.arange(50.0), "b": torch.ones(4, 4)}, "note": "kept"}
    with tempfile.TemporaryDirectory() as folder:
        write_state(state, Path(folder, "a.pt"))
        return Path(folder, "a.pt").read_bytes(), state


def same_state(read: dict[str, Any]) -> bool:
    _, state = checkpoint()
    weights = {name: tensor.tolist() for name, tensor in read.get("weights", {}).items()}
    return (
        weights == {name: tensor.tolist() for name, tensor in state["weights"].items()}
        and read["epoch"] == state["epoch"]
        and read["note"] == state["note"]
    )


def damaged_checkpoint(damage: Callable[[bytes, random.Random], bytes]) -> Callable:
    def case(rng: random.Random, folder: Path) -> str:
        path = folder / "tv.pt"
        path.write_bytes(damage(checkpoint()[0], rng))
        return ends(lambda: read_state(path), same_state, str(path))

    return case


kind("checkpoint: a flipped bit")(damaged_checkpoint(flip))
kind("checkpoint: cut off")(damaged_checkpoint(cut))
kind("checkpoint: empty", 0.05)(damaged_checkpoint(lambda data, rng: b""))
kind("checkpoint: junk")(damaged_checkpoint(lambda data, rng: junk(rng)))
kind("checkpoint: two bits")(damaged_checkpoint(lambda data, rng: flip(flip(data, rng), rng)))
kind("checkpoint: a byte doubled")(
    damaged_checkpoint(
        lambda data, rng: (lambda n: data[:n] + data[n : n + 1] + data[n:])(rng.randrange(len(data)))
    )
)


@kind("checkpoint: another program's", 0.3)
def _(rng: random.Random, folder: Path) -> str:
    path = folder / "tv.pt"
    torch.save({word(rng): value(rng)} if rng.random() < 0.5 else torch.ones(2), path)
    split = noisy_data("digits", "uniform-low").split
    short = plan(Experiment(dataset="digits", noise="uniform-low", method="tv")).recipe
    return ends(lambda: fit(split, "tv", short, folder=folder, progress=False), lambda _: False, str(path))


class Planted:
    """Runs a command when it is unpickled by somebody careless."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple:
        return (os.mkdir, (str(self.mark),))


@kind("checkpoint: a planted program", 0.3)
def _(rng: random.Random, folder: Path) -> str:
    path, mark = folder / "tv.pt", folder / "hacked"
    torch.save({"epoch": Planted(mark)}, path)
    ended = ends(lambda: read_state(path), lambda _: False, str(path))
    if mark.exists():
        raise Bad("a checkpoint ran a program")
    return ended


@functools.cache
def result() -> dict[str, Any]:
    row = results.our_accuracies().iloc[0].to_dict()
    return {
        name: kind_(row[name]) for name, (kind_, _, _) in results.COLUMNS.items() if row[name] == row[name]
    } | {
        "diagnosis": "",
        "labels": "ours",
        "memorised_last": 0.5,
    }


def damaged_result(damage: Callable[[bytes, random.Random], bytes]) -> Callable:
    def case(rng: random.Random, folder: Path) -> str:
        path = folder / "result.json"
        results.write_result(result(), path)
        path.write_bytes(damage(path.read_bytes(), rng))
        return ends(lambda: results.read_result(path), lambda read: read == result(), str(path))

    return case


kind("result: a flipped bit")(damaged_result(flip))
kind("result: cut off")(damaged_result(cut))
kind("result: junk")(damaged_result(lambda data, rng: junk(rng)))
kind("result: other JSON")(damaged_result(lambda data, rng: json.dumps(value(rng), default=str).encode()))
kind("result: nested deeply", 0.05)(damaged_result(lambda data, rng: b"[" * rng.randrange(1, 200_000)))


@kind("result: a value changed by hand")
def _(rng: random.Random, folder: Path) -> str:
    path = folder / "result.json"
    results.write_result(result(), path)
    text = json.loads(path.read_text())
    name = rng.choice(list(text))
    text[name] = value(rng)
    path.write_text(json.dumps(text, default=str))
    return ends(lambda: results.read_result(path), lambda read: read == result(), str(path))


@kind("result: a field that cannot be, collected")
def _(rng: random.Random, folder: Path) -> str:
    changed = result() | {
        rng.choice([*results.COLUMNS, "banana"]): json.loads(json.dumps(value(rng), default=str))
    }
    path = folder / "result.json"
    try:
        results.write_result(changed, path)
    except (TypeError, ValueError):
        return REFUSED
    return ends(lambda: results.check_row(results.read_result(path), str(path)), lambda _: True, str(path))


@functools.cache
def table() -> str:
    lines = (RESULTS / "accuracies.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    return "".join(lines[:12])


def read_table(folder: Path, data: bytes, right: Callable[[Any], bool] = lambda _: True) -> str:
    path = folder / "accuracies.csv"
    path.write_bytes(data)
    return ends(lambda: results.read_accuracies(path), right, str(path))


@kind("table: cut off")
def _(rng: random.Random, folder: Path) -> str:
    data = table().encode()
    kept = cut(data, rng)
    return read_table(folder, kept, lambda _: kept.endswith(b"\n"))


@kind("table: the marks of a merge")
def _(rng: random.Random, folder: Path) -> str:
    lines = table().splitlines(keepends=True)
    lines.insert(rng.randrange(len(lines)), rng.choice(["<<<<<<< HEAD\n", "=======\n", ">>>>>>> main\n"]))
    return read_table(folder, "".join(lines).encode(), lambda _: False)


def changed_cell(rng: random.Random, new: Callable[[str], str]) -> bytes:
    rows = list(csv.reader(io.StringIO(table())))
    row = rows[rng.randrange(1, len(rows))]
    column = rng.randrange(len(row))
    row[column] = new(rows[0][column])
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue().encode("utf-8", "surrogatepass")


@kind("table: a value that cannot be")
def _(rng: random.Random, folder: Path) -> str:
    wrong = {
        "seed": "-1",
        "epochs": "0",
        "run": "banana",
        "date": "today",
        "seconds": "-2",
        "threads": "half",
    }
    shares = rng.choice(["7.5", "banana", "-0.1", "inf", "nan"])

    def new(column: str) -> str:
        if column == "memorised_last" and shares == "nan":
            return "2"
        return wrong.get(column, shares if column.startswith(("accuracy", "memorised")) else "two\nlines")

    return read_table(folder, changed_cell(rng, new), lambda _: False)


@kind("table: any value")
def _(rng: random.Random, folder: Path) -> str:
    return read_table(folder, changed_cell(rng, lambda column: str(value(rng))))


@kind("table: a row twice")
def _(rng: random.Random, folder: Path) -> str:
    lines = table().splitlines(keepends=True)
    lines.insert(rng.randrange(1, len(lines)), rng.choice(lines[1:]))
    return read_table(folder, "".join(lines).encode(), lambda _: False)


@kind("table: another column")
def _(rng: random.Random, folder: Path) -> str:
    lines = table().splitlines()
    if rng.random() < 0.5:
        lines = [f"{line},{extra}" for line, extra in zip(lines, ["banana", *"1" * 20], strict=False)]
    else:
        lines = [line.rpartition(",")[0] for line in lines]
    return read_table(folder, ("\n".join(lines) + "\n").encode(), lambda _: False)


@kind("table: junk")
def _(rng: random.Random, folder: Path) -> str:
    return read_table(folder, junk(rng, 2000), lambda _: False)


@kind("files: a write that fails half-way")
def _(rng: random.Random, folder: Path) -> str:
    path = folder / "note.txt"
    write_text("the old one", path)
    try:
        with fdiv.files.replacing(path) as temporary:
            temporary.write_text("the new" * rng.randrange(1000))
            raise rng.choice([OSError(28, "No space left on device"), KeyboardInterrupt(), MemoryError()])
    except BaseException:
        pass
    if path.read_text() != "the old one" or len(list(folder.iterdir())) != 1:
        raise Bad(f"{path} is {path.read_text()[:40]!r} beside {sorted(os.listdir(folder))}")
    return GOOD


@kind("files: two that write at once", 0.3)
def _(rng: random.Random, folder: Path) -> str:
    path, texts = folder / "note.txt", [letter * rng.randrange(1, 100_000) for letter in "abcd"]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda text: write_text(text, path), texts))
    if path.read_text() not in texts or len(list(folder.iterdir())) != 1:
        raise Bad("a file of two halves")
    return GOOD


# ------------------------------------------------------------------ grids, command lines, names, environment


def yaml_case(rng: random.Random, folder: Path, text: str) -> str:
    path = folder / "mine.yml"
    path.write_text(text, encoding="utf-8")
    return ends(lambda: grid.expand(str(path), "quick"), lambda runs: len(runs) > 0, str(path))


@kind("grid file: any values")
def _(rng: random.Random, folder: Path) -> str:
    fields = {
        name: json.loads(json.dumps(value(rng), default=str))
        for name in rng.sample(results.FIELDS, rng.randrange(1, 8))
    }
    good = {"dataset": "mnist", "noise": "uniform-high", "method": "tv"}
    return yaml_case(rng, folder, yaml.safe_dump(good | fields if rng.random() < 0.7 else fields))


@kind("grid file: any structure")
def _(rng: random.Random, folder: Path) -> str:
    return yaml_case(rng, folder, yaml.safe_dump(json.loads(json.dumps(value(rng), default=str))))


@kind("grid file: any letters")
def _(rng: random.Random, folder: Path) -> str:
    return yaml_case(
        rng,
        folder,
        "".join(word(rng) + rng.choice([":", "\n", "- ", " ", "&a", "*a", "{"]) for _ in range(9)),
    )


@kind("grid file: a key twice")
def _(rng: random.Random, folder: Path) -> str:
    name, again = rng.choice(["method", "noise", "dataset"]), rng.choice([str.upper, str, str.title])
    lines = [
        "dataset: mnist",
        "noise: uniform-high",
        "method: tv",
        f"{again(name)}: {rng.choice(['kl', 'ce', 'mnist'])}",
    ]
    rng.shuffle(lines)
    path = folder / "mine.yml"
    path.write_text("\n".join(lines))
    return ends(lambda: grid.expand(str(path), "quick"), lambda _: False, str(path))


@kind("grid file: nested deeply", 0.05)
def _(rng: random.Random, folder: Path) -> str:
    return yaml_case(rng, folder, "[" * rng.randrange(1000, 20_000))


@kind("grid: --only and --set")
def _(rng: random.Random, folder: Path) -> str:
    texts = [
        rng.choice(
            ["method=tv", "method=kl", "seed=0", "dataset=mnist", f"{word(rng)}={word(rng)}", word(rng)]
        )
        for _ in range(rng.randrange(1, 4))
    ]
    runs = expanded()

    def right(chosen: list[Experiment]) -> bool:
        for name, values in grid.fields_of(texts).items():
            known = [str(getattr(run, name)) for run in runs]
            allowed = {choose(name, one, known) for one in values}
            if not {str(getattr(run, name)) for run in chosen} <= allowed:
                return False
        return True

    return ends(lambda: grid.select(runs, grid.fields_of(texts)), right)


@functools.cache
def expanded() -> list[Experiment]:
    return grid.expand("clean", "quick")


@kind("grid: any number of seeds")
def _(rng: random.Random, folder: Path) -> str:
    seeds = rng.choice([-1, 0, 1, 2, 10**8, 10**12])
    return ends(lambda: grid.expand("clean", "quick", seeds), lambda runs: 0 < len(runs) <= 96)


@kind("grid: any name of a file")
def _(rng: random.Random, folder: Path) -> str:
    name = word(rng) + rng.choice([".yml", ".yaml", "", "/../..", "\0"])
    return ends(lambda: grid.grid_name(name), lambda stem: "/" not in stem and not stem.startswith("."))


@kind("command: any words")
def _(rng: random.Random, folder: Path) -> str:
    words = (
        "run refresh grid train results --mode --noise --method -p --only --dry-run --seeds --workers --out"
    )
    words = [*words.split(), "quick", "99", "nope", "--help", "--version", word(rng), word(rng)]
    arguments = [rng.choice(words) for _ in range(rng.randrange(5))]
    if arguments[:1] in (["run"], ["refresh"], ["check"], ["results"]):
        arguments.insert(1, "99_no_such_notebook")
    return command(*arguments)


@kind("command: train, one word wrong")
def _(rng: random.Random, folder: Path) -> str:
    options = {"--noise": "uniform-low", "--method": "tv", "--mode": "quick", "--seed": "0"}
    options |= {"--correction": "none", "--transition": "estimated", "--variant": "paper"}
    wrong = rng.choice(list(options))
    options[wrong] = "?" + word(rng)
    return command("train", "digits", *(part for pair in options.items() for part in pair))


@kind("command: train, any dataset")
def _(rng: random.Random, folder: Path) -> str:
    return command("train", "?" + word(rng))


@kind("command: a parameter of a notebook")
def _(rng: random.Random, folder: Path) -> str:
    name = rng.choice(["MODE", "SEED", "NOISE", word(rng) or "X"])
    return command(
        "run",
        "04",
        "-p",
        name,
        rng.choice(["{[]:1}", "?" + word(rng), "-3.5j", "[" * 5000]) if name in ("MODE", "SEED") else "?",
        "-p",
        "NO_SUCH",
        "1",
    )


@kind("command: results of an empty or odd folder")
def _(rng: random.Random, folder: Path) -> str:
    if rng.random() < 0.7:
        (folder / "a").mkdir()
        (folder / "a" / "result.json").write_bytes(rng.choice([b"[]", b"null", b"5", b"{}", junk(rng)]))
    return command("results", str(folder))


@kind("names: any")
def _(rng: random.Random, folder: Path) -> str:
    return ends(lambda: METHODS.name_of(value(rng)), lambda name: name in METHODS)


@kind("environment: FDIV_OFFLINE")
def _(rng: random.Random, folder: Path) -> str:
    text = rng.choice(["1", "0", "true", "False", " yes ", "off", word(rng).replace("\0", "")])
    with grid.environment({"FDIV_OFFLINE": text}):
        truth = text.strip().lower() in ("1", "true", "yes", "on")
        return ends(offline, lambda answer: answer is truth)


@kind("environment: any folder")
def _(rng: random.Random, folder: Path) -> str:
    variable, needed = rng.choice(
        [("FDIV_RUNS", fdiv.files.runs_folder), ("FDIV_DATA", fdiv.files.cache_folder)]
    )
    text = rng.choice(["~", "~nobody-of-this-name/x", "~/ä b", "x\ny", ".", word(rng), "/" + word(rng)])
    with grid.environment({variable: text}):
        return ends(needed, Path.is_absolute)


@kind("experiment: any fields")
def _(rng: random.Random, folder: Path) -> str:
    fields: dict[str, Any] = {"dataset": "mnist", "noise": "uniform-high", "method": "tv"}
    fields |= {name: value(rng) for name in rng.sample(results.FIELDS, rng.randrange(1, 4))}
    return ends(lambda: plan(Experiment(**fields)).digest, lambda digest: len(digest) == 64)


@kind("noise setting: any rate")
def _(rng: random.Random, folder: Path) -> str:
    setting = rng.choice(["uniform-", "instance-", "sparse-", "human-"]) + rng.choice(
        [str(rng.uniform(-1, 2)), "1e-05", "0.00001", "nan", "inf", "0x1", word(rng), str(rng.random())]
    )
    return ends(lambda: fdiv.datasets.check_noise("mnist", setting), lambda name: isinstance(name, str))


# ------------------------------------------------------------------ matrices, labels, estimates


def matrix(rng: random.Random) -> Any:
    K = rng.randrange(1, 6)
    T = np.random.default_rng(rng.randrange(2**32)).dirichlet(np.ones(K), K)
    spoilt = rng.randrange(8)
    if spoilt == 0:
        T[rng.randrange(K), rng.randrange(K)] = rng.choice([math.nan, math.inf, -0.1, 2])
    elif spoilt == 1:
        return value(rng)
    elif spoilt == 2:
        return [[word(rng)] * K] * K
    elif spoilt == 3:
        return T[: K - 1]
    elif spoilt == 4:
        return T.astype(np.float32)
    elif spoilt == 5:
        return T.tolist()
    return T


def is_transition(T: Any) -> bool:
    T = np.asarray(T)
    return T.ndim == 2 and bool((T >= 0).all() and np.allclose(T.sum(1), 1, atol=1e-7))


@kind("T: any matrix")
def _(rng: random.Random, folder: Path) -> str:
    given = matrix(rng)
    return ends(lambda: noise.transition(given), is_transition)


@kind("T: built from any rates")
def _(rng: random.Random, folder: Path) -> str:
    rate, K = (
        rng.choice([rng.uniform(-0.5, 1.5), value(rng)]),
        rng.choice([2, 3, 10, 0, -1, 1, 2.5, None, "3"]),
    )
    build = rng.choice([noise.symmetric, noise.uniform, noise.pair, noise.random_flip])
    return ends(lambda: build(rate, K), is_transition)


def labels(rng: random.Random, K: int = 3) -> Any:
    good = [rng.randrange(K) for _ in range(rng.randrange(1, 30))]
    numbers = [good, np.array(good), torch.tensor(good), torch.tensor(good).byte(), np.array(good) + 0.5]
    masked = np.ma.masked_array(good, [1] + [0] * (len(good) - 1))
    return rng.choice(
        [*numbers, masked, [*good, K], [*good, -1], [*good, math.nan], [], ["cat"], None, [good], 5]
    )


def are_labels(given: Any, K: int = 3) -> Callable[[Any], bool]:
    def right(noisy: Any) -> bool:
        noisy = np.asarray(noisy)
        return len(noisy) == len(given) and bool(((noisy >= 0) & (noisy < K)).all())

    return right


@kind("labels: corrupted by T")
def _(rng: random.Random, folder: Path) -> str:
    given, draw = labels(rng), rng.choice([noise.corrupt, noise.corrupt_exact_counts])
    return ends(lambda: draw(given, noise.symmetric(0.4, 3), rng.randrange(99)), are_labels(given))


@kind("labels: corrupted by the image")
def _(rng: random.Random, folder: Path) -> str:
    given = labels(rng)
    images = np.random.default_rng(0).random(
        (20 if rng.random() < 0.3 else len(given) if hasattr(given, "__len__") else 3, 4)
    )
    if len(images) and rng.random() < 0.4:
        images[0, 0] = rng.choice([math.nan, math.inf])
    finite = bool(np.isfinite(images).all())
    return ends(
        lambda: noise.corrupt_by_instance(images, given, rng.choice([0.2, 0.9, -1, 2]), 3, 0),
        lambda noisy: finite and are_labels(given)(noisy),
    )


def posteriors(rng: random.Random) -> Any:
    n, K = rng.randrange(1, 60), rng.randrange(2, 6)
    P = np.random.default_rng(rng.randrange(2**32)).dirichlet(np.ones(K) * rng.choice([0.05, 1, 10]), n)
    spoilt = rng.randrange(8)
    if spoilt == 0:
        P[0, 0] = rng.choice([math.nan, 2, -1])
    elif spoilt == 1:
        P[:, 0], P = 0, P  # a class that is never predicted
        P /= P.sum(1, keepdims=True)
    elif spoilt == 2:
        return value(rng)
    return P


@kind("estimate of T: any posteriors")
def _(rng: random.Random, folder: Path) -> str:
    P = posteriors(rng)
    how = rng.choice(["anchor", "anchor-count", "confident-joint", word(rng)])
    y = [rng.randrange(4) for _ in range(len(P))] if isinstance(P, np.ndarray) and P.ndim else None
    return ends(lambda: estimate_transition(P, y, method=how, bootstrap=rng.choice([0, 2])).T, is_transition)


@kind("label errors: any logits and labels")
def _(rng: random.Random, folder: Path) -> str:
    n = rng.randrange(1, 20)
    logits = torch.randn(n, 3) * rng.choice([1, 100, 1e30])
    if rng.random() < 0.2:
        logits[0, 0] = rng.choice([math.nan, math.inf])
    given = labels(rng) if rng.random() < 0.5 else [rng.randrange(3) for _ in range(n)]
    return ends(
        lambda: fdiv.rank_label_errors(torch.nn.Identity(), logits, given),
        lambda found: sorted(found.order.tolist()) == list(range(n)) and bool(np.isfinite(found.score).all()),
    )


# ------------------------------------------------------------------ losses: one kind for each method


def batch(rng: random.Random, K: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(rng.randrange(2**31))
    rows = rng.choice([1, 2, 7, 64])
    dtype = rng.choice([torch.float32, torch.float64, torch.bfloat16, torch.float16])
    size = rng.choice([0, 1, 20, 100, 1e4])
    logits = (
        (torch.randn(rows, K, generator=generator, dtype=torch.float64) * size).clamp(-6e4, 6e4).to(dtype)
    )
    return logits.requires_grad_(), torch.randint(K, (rows,), generator=generator)


def finite_loss(loss: torch.nn.Module, rng: random.Random, K: int) -> str:
    logits, y = batch(rng, K)

    def call() -> tuple[torch.Tensor, torch.Tensor]:
        extra = {"index": torch.arange(len(y))} if getattr(loss, "needs_index", False) else {}
        if getattr(loss, "needs_view", False):
            extra = {"view_logits": logits.flip(0)}
        if loss.needs_peers:
            extra = {"peer_logits": logits, "peer_labels": y.flip(0)}
        loss.set_epoch(rng.randrange(3), 3)
        result_ = loss(logits, y, **extra)
        (gradient,) = torch.autograd.grad(result_, logits)
        return result_, gradient

    return ends(call, lambda pair: all(bool(part.isfinite().all()) for part in pair))


def of_method(name: str) -> Callable[[random.Random, Path], str]:
    def case(rng: random.Random, folder: Path) -> str:
        K = rng.choice([2, 3, 10])
        T = noise.symmetric(0.3, K) if METHODS[name].estimate else None
        prior = None
        if rng.random() < 0.5:
            prior = torch.tensor(np.random.default_rng(rng.randrange(2**32)).dirichlet(np.ones(K)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loss = build_loss(name, K, label_prior=prior, T=T, examples=64)
        return finite_loss(loss, rng, K)

    return case


for _name in METHODS:
    kind(f"loss: {_name}, extreme logits")(of_method(_name))


@kind("loss: every option of FDivLoss", 3)
def _(rng: random.Random, folder: Path) -> str:
    K = rng.choice([2, 3, 10])
    options: dict[str, Any] = {}
    for name, choices in {
        "score": ["logit"],
        "variational": ["plugin"],
        "product": ["sampled", "shuffled"],
        "label_prior": ["balanced", [0.9] + [0.1 / (K - 1)] * (K - 1)],
        "barrier": [1.0],
        "correction": ["paper", "exact", "forward"],
    }.items():
        if rng.random() < 0.25:
            options[name] = rng.choice(choices)
    if "correction" in options or rng.random() < 0.05:
        nearly, no_inverse = noise.symmetric((K - 1) / K - 1e-9, K), np.full((K, K), 1 / K)
        options["transition"] = rng.choice([noise.symmetric(0.3, K), nearly, no_inverse])
    built: list[FDivLoss] = []
    ended = ends(lambda: built.append(FDivLoss(rng.choice(list(DIVERGENCES)), K, **options)))
    return finite_loss(built[0], rng, K) if built else ended


@kind("loss: any input")
def _(rng: random.Random, folder: Path) -> str:
    K, rows = rng.choice([1, 2, 3]), rng.choice([0, 1, 5])
    logits = rng.choice(
        [
            torch.randn(rows, K),
            torch.full((rows, K), math.nan),
            value(rng),
            torch.zeros(rows, K, dtype=torch.long),
            torch.zeros(rows),
        ]
    )
    y = rng.choice(
        [
            torch.zeros(rows, dtype=torch.long),
            torch.full((rows,), 9),
            torch.zeros(rows),
            value(rng),
            torch.zeros(rows + 1, dtype=torch.long),
        ]
    )
    loss = FDivLoss(rng.choice(list(DIVERGENCES)), rng.choice([2, 3]))
    return ends(lambda: loss(logits, y), lambda x: bool(x.isfinite()))


@kind("loss: any option")
def _(rng: random.Random, folder: Path) -> str:
    name = rng.choice(
        [
            "score",
            "variational",
            "correction",
            "product",
            "label_prior",
            "barrier",
            "momentum",
            "transition",
            "weight",
            "reduction",
            "num_classes",
        ]
    )
    given = value(rng)
    options = {"num_classes": 3} | {name: given}
    return ends(lambda: FDivLoss("tv", **options), lambda loss: isinstance(loss, FDivLoss))


@kind("loss: a plug-in with few examples", 0.2)
def _(rng: random.Random, folder: Path) -> str:
    K, rows = rng.choice([50, 200]), rng.choice([8, 32])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        loss = FDivLoss("pearson", K, variational="plugin")
        loss(torch.randn(rows, K), torch.randint(K, (rows,)))
    if not said:
        raise Bad(f"{K} classes in a batch of {rows}, and not a word")
    return GOOD


@kind("loss: DMI without every class", 0.2)
def _(rng: random.Random, folder: Path) -> str:
    loss, logits = DMI(5), torch.randn(8, 5, requires_grad=True)
    return ends(lambda: loss(logits, torch.zeros(8, dtype=torch.long)), lambda x: bool(x.isfinite()))


# ------------------------------------------------------------------ exercises, claims, notebooks


def checkers() -> Iterator[tuple[str, Exercise]]:
    for path in sorted(Path(exercises.__file__).parent.glob("nb*.py")):
        module = importlib.import_module(f"fdiv.course.exercises.{path.stem}")
        for name, one in list(vars(module).items()):
            if isinstance(one, Exercise):
                yield f"{path.stem}.{name}", one


def wrong_answer(rng: random.Random) -> Any:
    """A function or a value that is no solution of anything."""
    fixed = rng.choice(
        [
            math.nan,
            math.inf,
            None,
            "right",
            [],
            [math.nan] * 3,
            {},
            -1e9,
            torch.full((3,), math.nan),
            True,
            np.array(math.nan),
        ]
    )
    return rng.choice(
        [
            fixed,
            lambda *_, **__: fixed,
            lambda *_, **__: (fixed, fixed),
            lambda x, *_: repr(x),
            lambda *_: 1 / 0,
        ]
    )


def of_exercises(notebook: str) -> Callable[[random.Random, Path], str]:
    def case(rng: random.Random, folder: Path) -> str:
        name, checker = rng.choice([pair for pair in checkers() if pair[0].startswith(notebook)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            said = checker.verdict(wrong_answer(rng))
        if said.startswith("right"):
            raise Bad(f"{name} is content with it: {said}")
        return REFUSED

    return case


for _notebook in sorted({name.split(".")[0] for name, _ in checkers()}):
    kind(f"exercise: {_notebook}, a wrong answer", 0.3)(of_exercises(_notebook))


@kind("claim: any condition")
def _(rng: random.Random, folder: Path) -> str:
    condition = value(rng)
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            lesson.claim("a sentence", condition)
        except (TypeError, lesson.ClaimError) as error:
            return refused(error) if isinstance(error, TypeError) else REFUSED
    if not (
        condition is True or (getattr(condition, "dtype", None) in (bool, torch.bool) and bool(condition))
    ):
        raise Bad(f"{condition!r} passed as true")
    return GOOD


@kind("notebook: a damaged twin")
def _(rng: random.Random, folder: Path) -> str:
    source = folder / "00_a.py"
    source.write_text("# %% [markdown]\n# # 00 · A\n\n# %% tags=[\"parameters\"]\nMODE = 'quick'\n")
    notebooks.write(notebooks.read(source), source.with_suffix(".ipynb"))
    twin = source.with_suffix(".ipynb")
    data = twin.read_bytes()
    twin.write_bytes(
        rng.choice(
            [flip, cut, lambda d, r: junk(r), lambda d, r: json.dumps(value(r), default=str).encode()]
        )(data, rng)
    )
    said = notebooks.pair_differences(source)
    if twin.read_bytes() != data and not said:
        try:
            same = nbformat.read(twin, as_version=4).cells
        except Exception as error:
            raise Bad(f"not read, and called equal: {error}") from error
        if [c.source for c in same] != [c.source for c in notebooks.read(source).cells]:
            raise Bad("another text, and called equal")
    return REFUSED if said else GOOD


@kind("notebook: a cell of parameters")
def _(rng: random.Random, folder: Path) -> str:
    source = folder / "00_a.py"
    source.write_text(f'# %% tags=["parameters"]\nMODE = {value(rng)!r}\n{word(rng)}\n', encoding="utf-8")
    return ends(lambda: notebooks.parameters(notebooks.read(source)), lambda known: "MODE" in known)


@kind("notebook: any value of a parameter")
def _(rng: random.Random, folder: Path) -> str:
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("MODE = 'quick'\nSEED = 0", metadata={"tags": ["parameters"]})]
    )
    given = {rng.choice(["MODE", "SEED", word(rng)]): notebooks.parse_value(str(value(rng)))}
    return ends(lambda: notebooks.check_given(notebook, given))


# ------------------------------------------------------------------ downloaded files, images, folders


@functools.cache
def archive(kind_: str) -> bytes:
    out = io.BytesIO()
    if kind_ == "zip":
        with zipfile.ZipFile(out, "w") as packed:
            packed.writestr("a/labels.bin", b"0123456789" * 20)
    else:
        with tarfile.open(fileobj=out, mode="w:gz") as packed:
            info = tarfile.TarInfo("a/labels.bin")
            info.size = 200
            packed.addfile(info, io.BytesIO(b"0123456789" * 20))
    return out.getvalue()


@kind("download: a file that is not the published one")
def _(rng: random.Random, folder: Path) -> str:
    data = archive(rng.choice(["zip", "tar"]))
    wrong = rng.choice([flip, cut, lambda d, r: junk(r)])(data, rng)
    right = mirrors.sha256(b"0123456789" * 20)
    source = mirrors.Source("a mirror", lambda *_: mirrors.unpack(wrong, ["labels.bin"]))
    form = mirrors.Form("toy", {"labels.bin": right}, lambda files: files["labels.bin"], (source,))
    with (
        grid.environment({"FDIV_DATA": str(folder), "FDIV_OFFLINE": "0"}),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        return ends(lambda: mirrors.obtain("Toy", (form,)), lambda got: got == b"0123456789" * 20, "Toy")


@kind("download: a planted pickle")
def _(rng: random.Random, folder: Path) -> str:
    mark = folder / "hacked"
    with contextlib.suppress(pickle.UnpicklingError):
        mirrors.unpickle(pickle.dumps({"data": Planted(mark)}, protocol=rng.randrange(2, 6)))
    if mark.exists():
        raise Bad("a pickle ran a program")
    return REFUSED


@kind("image: broken")
def _(rng: random.Random, folder: Path) -> str:
    from PIL import Image

    path = folder / f"{word(rng).replace('/', '').replace(chr(0), '')}ä.png"
    out = io.BytesIO()
    Image.new("RGB", (9, 7), (10, 20, 30)).save(out, rng.choice(["PNG", "JPEG", "GIF"]))
    path.write_bytes(rng.choice([flip, cut, lambda d, r: junk(r), lambda d, r: d])(out.getvalue(), rng))
    return ends(lambda: ImageFiles([path], size=8)[0], lambda x: tuple(x.shape) == (3, 8, 8), str(path))


@kind("Clothing1M: a list of labels")
def _(rng: random.Random, folder: Path) -> str:
    path = folder / "noisy_label_kv.txt"
    lines = [
        f"images/{rng.randrange(9)}.jpg {rng.choice([0, 13, 14, -1, 'x', 3.5])}"
        for _ in range(rng.randrange(5))
    ]
    path.write_bytes("\n".join([*lines, word(rng)]).encode() if rng.random() < 0.8 else junk(rng))
    return ends(
        lambda: clothing._read_labels(path),
        lambda found: all(0 <= label < 14 for label in found.values()),
        str(path),
    )


@kind("idx file: damaged")
def _(rng: random.Random, folder: Path) -> str:
    data = bytes([0, 0, 8, 1, 0, 0, 0, 20, *range(20)])
    return ends(lambda: mirrors.read_idx(rng.choice([flip, cut])(data, rng)), lambda a: a.dtype == np.uint8)


@kind("gzip: a bomb or junk", 0.1)
def _(rng: random.Random, folder: Path) -> str:
    data = gzip.compress(b"\0" * rng.randrange(1, 10**6)) if rng.random() < 0.5 else junk(rng)
    form = mirrors.Form(
        "toy",
        {"x": "0" * 64},
        lambda files: files,
        (mirrors.Source("a mirror", lambda *_: {"x": gzip.decompress(data)}),),
    )
    with (
        grid.environment({"FDIV_DATA": str(folder), "FDIV_OFFLINE": "0"}),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        return ends(lambda: mirrors.obtain("Toy", (form,)), lambda _: False, "Toy")


# ------------------------------------------------------------------ one's own data, as it lies on the disk

HOSTILE = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "=HYPERLINK(1)",
    "$headline",
    "@SUM(1)",
    "-2+3",
    "\x1b[31m",
    "a\u2028b",
    "\udcff",
    "'",
    "&lt;",
)


def are_own(read: own.OwnData) -> bool:
    """Whether what was read can be trained on and written down."""
    n = len(read.labels)
    "".join([*map(str, read.labels), *read.notes]).encode()
    same = n == len(read.rows) == len(read.shown) == len(read.features)
    finite = not isinstance(read.features, np.ndarray) or bool(np.isfinite(read.features).all())
    return same and finite and len(set(read.labels)) >= 2


@functools.cache
def own_table() -> bytes:
    rng = random.Random(5)
    lines = [f"{rng.random():.3f},{rng.choice(['red', 'blue'])},{'ab'[i % 2]}" for i in range(40)]
    return ("size,colour,kind\n" + "\n".join(lines) + "\n").encode()


@kind("own data: a damaged table")
def _(rng: random.Random, folder: Path) -> str:
    path = folder / "table.csv"
    damage = rng.choice([flip, cut, lambda d, r: junk(r, 3000), lambda d, r: d.replace(b"\n", b"\r")])
    path.write_bytes(rng.choice([b"", b"", b"\xff\xfe", b"\xef\xbb\xbf"]) + damage(own_table(), rng))
    return ends(lambda: own.read(path, label="kind"), are_own)


@kind("own data: a table of odd cells")
def _(rng: random.Random, folder: Path) -> str:
    cells = ["1e300", "inf", "nan", "9999-12-31", "9" * 30, "long " * 30_000, "", "\0", "1,5", *HOSTILE]
    rows = [
        [rng.choice(cells), str(rng.random()), rng.choice(cells) if i < 6 else "ab"[i % 2]] for i in range(30)
    ]
    path, out = folder / "table.csv", io.StringIO()
    csv.writer(out, delimiter=rng.choice(",;\t|")).writerows([["t", "x", "y"], *rows])
    path.write_text(out.getvalue(), encoding="utf-8", errors="replace")
    return ends(lambda: own.read(path, label="y"), are_own)


@kind("own data: any frame")
def _(rng: random.Random, folder: Path) -> str:
    frame = pd.DataFrame({name: [value(rng) for _ in range(20)] for name in ("a", "b")}).assign(x=range(20))
    return ends(lambda: own.from_table(frame.assign(y=["p", "q"] * 10), "y"), are_own)


@kind("own data: any labels")
def _(rng: random.Random, folder: Path) -> str:
    few = [value(rng, 2) for _ in range(2)]
    given = rng.choice(
        [few * 10, labels(rng), value(rng), [value(rng) for _ in range(20)], list(HOSTILE[:2]) * 10]
    )
    return ends(lambda: own.from_arrays(np.random.default_rng(0).random((20, 3)), given), are_own)


@kind("own data: damaged embeddings")
def _(rng: random.Random, folder: Path) -> str:
    path, out = folder / "e.npy", io.BytesIO()
    np.save(out, np.random.default_rng(0).random((20, 3)))
    path.write_bytes(
        rng.choice([flip, cut, lambda d, r: junk(r), lambda d, r: flip(d[:80], r) + d[80:]])(
            out.getvalue(), rng
        )
    )
    (folder / "y.csv").write_text("y\n" + "a\nb\n" * 10)
    return ends(lambda: own.read(path, folder / "y.csv"), are_own)


@kind("own data: pictures", 0.3)
def _(rng: random.Random, folder: Path) -> str:
    from PIL import Image

    names = [text.replace("/", "") for text in HOSTILE if "/" not in text] + ["cat", "dog"]
    for label in rng.sample(names, 2):
        (folder / label).mkdir()
        for number in range(6):
            picture = Image.new(rng.choice(["1", "L", "P", "LA", "RGBA", "RGB", "I;16"]), (5, 4))
            picture.save(folder / label / f"{number}{rng.choice(names)}.png")
        damaged = folder / label / "6.png"
        damaged.write_bytes(
            rng.choice([flip, cut, lambda d, r: junk(r)])(
                (folder / label).joinpath(sorted(os.listdir(folder / label))[0]).read_bytes(), rng
            )
        )
    return ends(lambda: own.read(folder), are_own)


def report(rng: random.Random) -> cleaning.CleaningReport:
    """A report on made-up findings about data that mean no good."""
    n, names = 15, rng.sample(HOSTILE, 3)
    frame = pd.DataFrame({rng.choice(HOSTILE): [rng.choice(HOSTILE) for _ in range(n)], "x": range(n)})
    frame = frame.assign(z=np.arange(n) % 4, y=[names[i % 3] for i in range(n)])
    read = own.from_table(frame, "y", [HOSTILE[0]])
    classes, y = np.unique(read.labels, return_inverse=True)
    posterior = np.random.default_rng(rng.randrange(99)).dirichlet(np.ones(len(classes)), len(y))
    wrong = how_many.from_logits(np.log(posterior), y, draws=2)
    table, per_class = cleaning._table(wrong, classes, y, read), cleaning._per_class(wrong, classes, y)
    return cleaning.CleaningReport(wrong, classes, table, per_class, read.notes, read)


@kind("clean: a report on hostile texts")
def _(rng: random.Random, folder: Path) -> str:
    made = report(rng)
    try:
        table, page = made.write(folder)
    except UnicodeEncodeError as error:
        raise Bad(str(error)) from error
    text = page.read_text(encoding="utf-8")
    if text.count("<script") != 2 or text.count("</script>") != 2 or "<img" in text.split("<script")[0]:
        raise Bad("a text of the data became a part of the page")
    with open(table, encoding="utf-8", newline="") as file:
        cells = [cell for line in csv.reader(file) for cell in line]
    if any(cell[:1] in "=@" and cell for cell in cells):
        raise Bad("a cell of the table is a formula")
    str(made).encode()
    return GOOD


class Judge:
    """A classifier that gives whatever it was given, for any rows."""

    def __init__(self, given: Any = None, classes: Any = (0, 1)) -> None:
        self.given, self.classes_ = given, np.asarray(classes)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"given": self.given, "classes": self.classes_}

    def fit(self, X: Any, y: Any) -> Judge:
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.given[: len(X)] if isinstance(self.given, np.ndarray) and self.given.ndim else self.given


def answers(rng: random.Random) -> Any:
    P = np.random.default_rng(rng.randrange(99)).dirichlet(np.ones(2), 60)
    return rng.choice([P, P, P - 1, P * math.nan, P[:3], P[:, :1], P.astype(object), P.tolist(), value(rng)])


@kind("clean: a judge of one's own", 0.5)
def _(rng: random.Random, folder: Path) -> str:
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    judge = Judge(answers(rng), rng.choice([(0, 1), (0, 1), (0,), (1, 0), ("a", "b")]))
    return ends(
        lambda: fdiv.clean(X, y, estimator=judge, folds=2, progress=False, resume=False),
        lambda made: bool(np.isfinite(made.labels["wrong"]).all()),
    )


@kind("label errors: any answers and how many")
def _(rng: random.Random, folder: Path) -> str:
    n = rng.choice([None, 0, 5, 10**9, value(rng)])
    return ends(
        lambda: fdiv.rank_label_errors(answers(rng), np.arange(60) % 2).issues(n),
        lambda table: bool(table["wrong"].between(0, 1).all()) and (n is None or len(table) == min(n, 60)),
    )


@kind("clean: a place that cannot be written to", 0.3)
def _(rng: random.Random, folder: Path) -> str:
    (folder / "file").touch()
    place = rng.choice(["file", "file/below", "\0", "n" * 300, "/proc/none", "/dev/null"])
    before = sorted(os.listdir(folder))
    ended = ends(lambda: report(rng).write(folder / place), lambda _: False)
    if sorted(os.listdir(folder)) != before:
        raise Bad("something was left behind")
    return ended


@kind("clean: a disk that is full half-way")
def _(rng: random.Random, folder: Path) -> str:
    made, writes, fails_at = report(rng), [], rng.randrange(2)
    ordinary = Path.write_text

    def full(path: Path, *texts: Any, **options: Any) -> int:
        writes.append(path)
        if len(writes) > fails_at:
            raise OSError(28, "No space left on device")
        return ordinary(path, *texts, **options)

    try:
        with unittest.mock.patch.object(Path, "write_text", full):
            made.write(folder)
    except OSError:
        if os.listdir(folder):
            raise Bad(f"half of a report: {os.listdir(folder)}") from None
        return REFUSED
    raise Bad("a full disk went unnoticed")


@kind("clean: a finished fold, damaged in the cache")
def _(rng: random.Random, folder: Path) -> str:
    logits = np.random.default_rng(0).random((6, 3))
    keep_array(logits, folder / "0.npz")
    (folder / "0.npz").write_bytes(
        rng.choice([flip, cut, lambda d, r: junk(r)])((folder / "0.npz").read_bytes(), rng)
    )
    found = kept_array(folder / "0.npz", (6, 3))
    if found is not None and not np.array_equal(found, logits):
        raise Bad("other numbers than were kept")
    return REFUSED if found is None else GOOD


@kind("clean: the command, any words", 0.3)
def _(rng: random.Random, folder: Path) -> str:
    path = folder / "table.csv"
    path.write_bytes(own_table())
    words = [
        str(path),
        str(folder),
        str(folder / "none"),
        "--label",
        "--labels",
        "--folds",
        "--seed",
        "--out",
        "kind",
        "-1",
        "0",
        "/dev/zero",
        "9" * 30,
        word(rng) or "x",
    ]
    given = [rng.choice(words) for _ in range(rng.randrange(5))]
    return command("clean", *given, "--folds", "0")


@kind("features: damaged in the cache", 0.5)
def _(rng: random.Random, folder: Path) -> str:
    right = torch.arange(2 * 1280.0).reshape(2, 1280)
    with (
        grid.environment({"FDIV_DATA": str(folder)}),
        unittest.mock.patch.object(features, "_computed", return_value=right),
    ):
        images = torch.zeros(2, 3, 4, 4, dtype=torch.uint8)
        features.image_features(images)
        for path in (folder / "features").iterdir():
            path.write_bytes(rng.choice([flip, cut, lambda d, r: junk(r)])(path.read_bytes(), rng))
        return ends(lambda: features.image_features(images), right.equal)


@kind("features: any pictures")
def _(rng: random.Random, folder: Path) -> str:
    shape = [rng.choice([0, 1, 2, 3, 8]) for _ in range(rng.randrange(1, 5))]
    images = rng.choice(
        [
            np.random.default_rng(0).random(shape),
            np.zeros(shape, np.uint8),
            np.full(shape, math.nan),
            np.zeros(shape, int),
            value(rng),
            [str(folder / "none.png")],
            [],
        ]
    )
    with unittest.mock.patch.object(features, "_computed", return_value=torch.zeros(0, 1280)):
        return ends(lambda: features.image_features(images, keep=False))


# ------------------------------------------------------------------ estimators, votes, plug-ins, questions

SMALL_X = np.random.default_rng(0).normal(size=(30, 2)) + np.arange(30)[:, None] % 2 * 2


@kind("estimator: any option", 0.3)
def _(rng: random.Random, folder: Path) -> str:
    name = rng.choice(
        [
            "loss",
            "correction",
            "transition",
            "hidden",
            "epochs",
            "batch_size",
            "learning_rate",
            "weight_decay",
            "warm_up",
            "validation",
            "patience",
            "random_state",
            "device",
            "module",
        ]
    )
    given = value(rng)
    if name in ("hidden", "epochs", "warm_up", "random_state") and isinstance(given, int) and given > 50:
        given = -given  # a hundred million epochs are no fault
    options = {"loss": "tv", "epochs": 1, "random_state": 0} | {name: given}
    return with_sklearn(
        lambda: RobustClassifier(**options).fit(SMALL_X, np.arange(30) % 2).predict_proba(SMALL_X),
        lambda p: bool(np.isfinite(p).all()),
    )


class Odd(torch.nn.Module):
    """A loss, or a network, that gives whatever it was given."""

    def __init__(self, given: Any) -> None:
        super().__init__()
        self.given = given
        self.weight = torch.nn.Parameter(torch.ones(()))

    def forward(self, *_: Any) -> Any:
        return self.given * self.weight if isinstance(self.given, torch.Tensor) else self.given


@kind("estimator: a loss or a network of one's own", 0.3)
def _(rng: random.Random, folder: Path) -> str:
    odd = [torch.ones(2), torch.ones(2, 2), torch.tensor(math.nan), value(rng)]
    losses = [torch.nn.MSELoss(), torch.nn.CrossEntropyLoss(reduction="none"), torch.nn.Linear(2, 2)]
    option = rng.choice(
        [
            {"loss": rng.choice([Odd(rng.choice(odd)), *losses, value(rng), math.fsum])},
            {"module": rng.choice([Odd(rng.choice(odd)), *losses, value(rng), lambda *_: rng.choice(odd)])},
            {"hidden": rng.choice([10**9, (10**9,), (), (0,), [3, -1], "ab", None, value(rng, 2)])},
        ]
    )
    given = RobustClassifier(**{"loss": "tv", "epochs": 1, "random_state": 0} | option)
    return ends(
        lambda: given.fit(SMALL_X, np.arange(30) % 2).predict_proba(SMALL_X),
        lambda p: bool(np.isfinite(p).all()),
    )


@kind("estimator: any table and labels", 0.3)
def _(rng: random.Random, folder: Path) -> str:
    X = rng.choice(
        [
            value(rng),
            SMALL_X * rng.choice([0, 1, 1e160]),
            pd.DataFrame({"a": [value(rng) for _ in range(30)]}),
        ]
    )
    y = rng.choice([value(rng), labels(rng), [value(rng, 2) for _ in range(30)], ["a", "b"] * 15])
    fit_ = rng.choice(
        [lambda: RobustClassifier("tv", epochs=1).fit(X, y).predict(X), lambda: fdiv.recommend(X, y)]
    )
    return with_sklearn(fit_)


@functools.cache
def trained() -> tuple[RobustClassifier, pd.DataFrame]:
    frame = pd.DataFrame(SMALL_X, columns=["a", "b"]).assign(red=[True, False] * 15)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes that one epoch cannot tell apart
        return RobustClassifier("tv", epochs=1, random_state=0).fit(frame, np.arange(30) % 2), frame


@kind("estimator: asked about another table", 0.3)
def _(rng: random.Random, folder: Path) -> str:
    model, frame = trained()
    column = [value(rng) for _ in range(30)]
    odd = [
        frame.assign(**{rng.choice(["a", "red"]): column}),
        frame[["b", "a", "red"]],
        frame.drop(columns="a"),
    ]
    odd += [frame[:0], frame.to_numpy(), frame.assign(a=math.inf), value(rng)]
    return with_sklearn(
        lambda: model.predict_proba(rng.choice(odd)), lambda p: bool(np.isfinite(p).all()) and p.shape[1] == 2
    )


@kind("estimator: a training that fails", 0.3)
def _(rng: random.Random, folder: Path) -> str:
    model, frame = trained()
    before = model.logits(frame)
    wrong = rng.choice([{"epochs": -1}, {"hidden": "x"}, {"loss": "?"}, {"batch_size": 0}])
    again = copy.copy(model).set_params(**wrong)
    ended = ends(lambda: again.fit(SMALL_X[:, :1], np.arange(30) % 2), lambda _: False)
    if not np.array_equal(again.logits(frame), before):
        raise Bad("it answers otherwise than before")
    return ended


def with_sklearn(call: Callable[[], Any], right: Callable[[Any], bool] = lambda _: True) -> str:
    """As ``ends``, but what scikit-learn, pandas or NumPy says about the input of an estimator will do."""
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        try:
            got = call()
        except (ValueError, TypeError) as error:
            if not str(error).strip():
                raise Bad("no word about it") from error
            return REFUSED
    if not right(got):
        raise Bad(f"accepted, and wrong: {str(got)[:200]}")
    return GOOD


def votes(rng: random.Random) -> Any:
    V = np.random.default_rng(rng.randrange(2**32)).integers(
        -1, 3, (rng.randrange(1, 30), rng.randrange(1, 5))
    )
    odd = [
        V + 0.5,
        V * 10**12,
        V[0],
        V.astype(str),
        np.ma.masked_array(V, V < 0),
        value(rng),
        [[0], [1, 2]],
        V[:0],
    ]
    return rng.choice([V, V.tolist(), torch.tensor(V), rng.choice(odd)])


@kind("votes: any, as soft labels")
def _(rng: random.Random, folder: Path) -> str:
    V, K = votes(rng), rng.choice([3, 3, value(rng)])
    return ends(
        lambda: fdiv.votes_to_soft(V, K),
        lambda soft: bool(torch.allclose(soft.sum(1), torch.ones(len(soft)))),
    )


@kind("votes: any, of annotators")
def _(rng: random.Random, folder: Path) -> str:
    V, options = votes(rng), rng.choice([{}, {}, {"num_classes": value(rng)}, {"smoothing": value(rng)}])
    return ends(
        lambda: annotators.dawid_skene(V, **options),
        lambda found: all(is_transition(T) for T in found.transitions) and is_transition(found.probabilities),
    )


@kind("loss: any soft labels")
def _(rng: random.Random, folder: Path) -> str:
    soft = torch.rand(4, rng.choice([2, 3])) ** rng.choice([0, 1, 9])
    soft = rng.choice(
        [soft / soft.sum(1, keepdim=True), soft, -soft, soft * math.nan, soft.long(), value(rng)]
    )
    logits = torch.randn(4, 3, requires_grad=True)
    loss = FDivLoss(rng.choice(list(DIVERGENCES)), 3, label_prior=[0.5, 0.3, 0.2])
    return ends(lambda: loss(logits, soft), lambda x: bool(x.isfinite()))


@kind("count of wrong labels: any logits")
def _(rng: random.Random, folder: Path) -> str:
    z = np.random.default_rng(rng.randrange(2**32)).normal(size=(rng.randrange(20), 3)) * rng.choice(
        [0, 1, 1e300]
    )
    if z.size and rng.random() < 0.3:
        z[0, 0] = rng.choice([math.nan, math.inf, -math.inf])
    y = rng.choice([np.arange(len(z)) % 3, labels(rng)])
    return ends(lambda: how_many.from_logits(z, y, draws=2), lambda found: math.isfinite(found.count))


@kind("plug-in: any file", 0.5)
def _(rng: random.Random, folder: Path) -> str:
    text = rng.choice(
        ["x = 1", "1 / 0", "def", "raise SystemExit", "import no_such", "\0", word(rng), "x = 1\n" * 9]
    )
    path = folder / f"{rng.choice(['plug_in', 'json', 'fdiv', 'a b', '.hidden'])}.py"
    path.write_text(text, encoding="utf-8")
    name = rng.choice([str(path), str(path), str(folder / "none.py"), "no_such_module", str(folder)])
    before = dict(sys.modules)
    try:
        with grid.environment({"FDIV_PLUGINS": name}):
            fdiv.names.load_plugins()
        if str(path) != name or path.stem not in sys.modules or sys.modules[path.stem].__file__ != str(path):
            raise Bad(f"{name} was passed over in silence")
        return GOOD
    except ImportError as error:
        return refused(error, "FDIV_PLUGINS")
    finally:
        for stem in set(sys.modules) - set(before):
            del sys.modules[stem]


@kind("question: any words")
def _(rng: random.Random, folder: Path) -> str:
    options = rng.choice([list(rng.sample(HOSTILE, 3)), value(rng), [value(rng) for _ in range(3)]])
    why, question = rng.choice([["why"] * 3, value(rng)]), rng.choice([HOSTILE[0], value(rng)])
    return ends(
        lambda: prediction._checked(question, options, rng.choice([0, 1, value(rng)]), why).html(),
        lambda page: "<script" not in page and "<img" not in page,
    )


@kind("search: pages of hostile texts")
def _(rng: random.Random, folder: Path) -> str:
    texts = [" ".join(rng.choices([*HOSTILE, "__proto__", "constructor", word(rng)], k=5)) for _ in range(3)]
    found = search.index([("a", texts[0], [Section("a", texts[1], 2, [texts[2]])])])
    if any("_" in known or "<" in known for known in found["words"]):
        raise Bad(f"a word that is none: {list(found['words'])}")
    return GOOD


# ------------------------------------------------------------------ processes: kills, a full disk, two

TRAIN = ["train", "digits", "--mode", "quick", "--noise", "uniform-low", "--method", "tv", "--seed", "7"]


def start(folder: Path, *, limit: int | None = None) -> subprocess.Popen:
    """One short training in a process of its own."""
    environment = os.environ | {
        "FDIV_PLUGINS": str(TOYS / "three_epochs.py"),
        "FDIV_RUNS": str(folder / "runs"),
    }
    environment |= {"OMP_NUM_THREADS": "1"}

    def limited() -> None:
        import resource

        if limit is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.Popen(
        [sys.executable, "-m", "fdiv", *TRAIN, "--out", str(folder / "one")],
        env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=limited,
    )  # fmt: skip


@functools.cache
def undisturbed() -> dict[str, torch.Tensor]:
    with tempfile.TemporaryDirectory() as name:
        assert start(Path(name)).wait() == 0
        return read_state(Path(name, "one", "run.pt"))["weights"]["last"]


def same_weights(folder: Path) -> None:
    weights = read_state(folder / "one" / "run.pt")["weights"]["last"]
    if any(not torch.equal(weights[name], tensor) for name, tensor in undisturbed().items()):
        raise Bad("other weights than those of an undisturbed run")


@kind("process: killed and started again", 0.05)
def _(rng: random.Random, folder: Path) -> str:
    undisturbed()
    for _ in range(rng.randrange(1, 3)):
        process = start(folder)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=rng.uniform(1.5, 5))
        process.kill()
        process.wait()
    if start(folder).wait() != 0:
        raise Bad("it did not go on")
    same_weights(folder)
    if leftovers := [path.name for path in folder.rglob(".*.tmp")]:
        raise Bad(f"left behind: {leftovers}")
    return GOOD


@kind("process: stopped for a while", 0.02)
def _(rng: random.Random, folder: Path) -> str:
    process = start(folder)
    time.sleep(rng.uniform(1, 3))
    process.send_signal(signal.SIGSTOP)
    time.sleep(0.5)
    process.send_signal(signal.SIGCONT)
    if process.wait() != 0:
        raise Bad(process.stderr.read()[-300:])
    same_weights(folder)
    return GOOD


@kind("process: a full disk", 0.05)
def _(rng: random.Random, folder: Path) -> str:
    process = start(folder, limit=rng.choice([100, 1000, 20_000]))
    _, said = process.communicate()
    if process.returncode != 2 or len(said.strip().splitlines()) != 1 or "Traceback" in said:
        raise Bad(f"exit code {process.returncode}: {said[-300:]}")
    if start(folder).wait() != 0:
        raise Bad("it did not go on when there was room again")
    same_weights(folder)
    return REFUSED


@kind("process: two on one folder", 0.02)
def _(rng: random.Random, folder: Path) -> str:
    both = [start(folder), start(folder)]
    if [process.wait() for process in both] != [0, 0]:
        raise Bad("one of them failed")
    same_weights(folder)
    return GOOD


# ------------------------------------------------------------------ the table


def run_kind(one: Kind, cases: int, seed: int) -> tuple[dict[str, int], list[str]]:
    """Count how ``cases`` cases of a kind ended, and keep what the bad ones said, with their numbers."""
    counts, said = {GOOD: 0, REFUSED: 0, "bad": 0}, []
    for number in range(max(1, round(cases * one.share))):
        rng = random.Random(f"{seed} {one.name} {number}")
        torch.manual_seed(rng.randrange(2**31))
        try:
            with tempfile.TemporaryDirectory(prefix="torture-") as folder:
                counts[one.case(rng, Path(folder))] += 1
        except Exception as error:
            counts["bad"] += 1
            said.append(f"case {number}: {type(error).__name__}: {str(error)[:400]}")
    return counts, said


def row(name: str, counts: dict[str, int]) -> str:
    """Return one line of the table."""
    good, no, bad = (counts[how] for how in (GOOD, REFUSED, "bad"))
    return f"{name:<48}{good + no + bad:>7}{good:>7}{no:>9}{bad:>5}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=170, help="of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="kinds whose name contains this")
    parser.add_argument("--minutes", type=float, default=math.inf, help="after which no further kind begins")
    options = parser.parse_args()
    chosen = [one for one in KINDS.values() if options.only in one.name]
    total, bad = dict.fromkeys((GOOD, REFUSED, "bad"), 0), []
    print(f"{'kind':<48}{'cases':>7}{'good':>7}{'refused':>9}{'bad':>5}")
    began = time.monotonic()
    for number, one in enumerate(chosen):
        if time.monotonic() > began + 60 * options.minutes:
            print(f"the time is up: {len(chosen) - number} kinds are left out, from {one.name!r} on")
            chosen = chosen[:number]
            break
        counts, said = run_kind(one, options.cases, options.seed)
        print(row(one.name, counts), flush=True)
        total = {name: total[name] + counts[name] for name in total}
        bad += [f"{one.name}, {line}" for line in said]
    print(row(f"{len(chosen)} kinds", total))
    for line in bad:
        print(line, file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(main())
