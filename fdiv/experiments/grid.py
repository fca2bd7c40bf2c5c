"""Whole tables of runs: which runs a grid has, and how Dask executes them on this machine or on a cluster.

A run is trained once, in ``runs/train/<name>``, whichever grid asks for it, and is finished when its
``result.json`` is there. ``runs/<grid>/grid.csv`` lists the runs of a grid with their state. Dask
decides only what runs where: a worker, the scheduler or the command may be killed at any time, and the
grid called again does what is left, from the checkpoints.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import platform
import re
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import pandas as pd
import torch
from tqdm import tqdm

from fdiv.datasets import CATALOGUE
from fdiv.device import usable_cores
from fdiv.experiments.experiment import Experiment, Plan, plan, run_experiment, stored_result
from fdiv.experiments.recipes import MODES
from fdiv.experiments.results import FIELDS, PAPER_TABLES, ROW, our_accuracies, paper_robustness, paper_table
from fdiv.files import RESULTS, runs_folder, write_text
from fdiv.learning.methods import needs_transition
from fdiv.learning.recipe import STAGES, stages_before
from fdiv.learning.training import TrainingFailed
from fdiv.names import choose

if TYPE_CHECKING:
    from distributed import Client, Future

# Tables of ours, in the form of a YAML file: every combination of the values of a block is a run.
_HARD = {"dataset": ["mnist", "fashion-mnist", "cifar-10"], "noise": ["sparse-high"]}
_HUMAN = {"dataset": ["cifar-10"], "noise": ["human-aggregate", "human-random-1", "human-worse"]}
OUR_TABLES: dict[str, list[dict[str, list[Any]]]] = {
    "sparse-high": [
        _HARD | {"method": ["ratio", "pearson-logit", "plugin"]},
        _HARD | {"method": ["flc"], "transition": ["true"]},
        _HARD | {"method": ["kl"], "correction": ["forward"], "transition": ["true", "estimated"]},
    ],
    "cifar-10n": [
        _HUMAN | {"method": ["ce"], "variant": ["paper", "strong"]},
        _HUMAN | {"method": ["tv", "kl", "pl", "flc", "plugin"]},
    ],
}
GRIDS = PAPER_TABLES | {
    "robustness-figure": "the paper's figure: 3 divergences under ten rates of uniform noise",
    "sparse-high": "what the paper's methods lack there: three ways without T and three with it",
    "cifar-10n": "the labels that people gave CIFAR-10: three kinds, seven ways",
}
LARGEST = 20_000  # runs in a grid
FINISHED, SKIPPED, FAILED, OPEN = STATES = "finished", "skipped", "failed", "not finished"
STOPPED = "stopped"
NOT_KNOWN = "not known"  # how long a run takes
LOG = "log.txt"
RETRIES = 2  # of a run that ended with an unforeseen exception, such as a kernel that died
ALONE = 600.0  # seconds without any worker of our own, after which none will come
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
ONE_AT_A_TIME = threading.Lock()  # a worker with several threads has one environment, and most often one GPU
SETTINGS = {
    "distributed.scheduler.allowed-failures": 20,  # workers that may die under a run before it has failed
    "distributed.deploy.lost-worker-timeout": "1 hour",  # 15 s are few for a busy machine to start another
    "distributed.scheduler.http.routes": [],  # no page of ours has to be read by other users of the machine
}


# ------------------------------------------------------------------ which runs


def expand(table: str, mode: str | None = None, seeds: int | None = None) -> list[Experiment]:
    """Return the runs of a grid, each once.

    table: a name of ``GRIDS``, or a YAML file, see ``read_file``.
    mode, seeds: the MODE of all runs, and how many seeds from 0 up; "paper" and 1 where a file says nothing.

    >>> len(expand("clean")), len(expand("clean", seeds=3))
    (16, 48)
    """
    if seeds is not None and seeds < 1:
        raise ValueError(f"--seeds is {seeds}, but a grid has at least one seed")
    given = {} if mode is None else {"mode": mode}
    if table.endswith((".yml", ".yaml")):
        try:
            return _expanded(read_file(Path(table)), given, seeds)
        except ValueError as error:
            raise ValueError(str(error) if table in str(error) else f"{table}: {error}") from None
    if (table := choose("grid", table, tuple(GRIDS))) in OUR_TABLES:
        rows = [row for block in OUR_TABLES[table] for row in _combinations(block)]
    elif table == "robustness-figure":
        rows = paper_robustness()[ROW].to_dict("records")
    else:
        oracle = {"correction": "paper", "transition": "true"} if table.startswith("bias") else {}
        rows = [row | oracle for row in paper_table(table)[ROW].to_dict("records")]
    return _expanded(rows, given, seeds)


def _expanded(
    rows: Sequence[Mapping[str, Any]], given: Mapping[str, Any], seeds: int | None
) -> list[Experiment]:
    _check_size(len(rows) * (seeds or 1))
    numbers: list[dict[str, Any]] = [{}] if seeds is None else [{"seed": seed} for seed in range(seeds)]
    return _unique(
        Experiment(**{"mode": "paper", **row, **given, **seed}) for row in rows for seed in numbers
    )


def _check_size(count: int) -> None:
    if count > LARGEST:
        raise ValueError(f"a grid has at most {LARGEST} runs, not {count}: split it")


def _unique(runs: Iterable[Experiment]) -> list[Experiment]:
    """Return each run once, by its digest, in canonical names and with the dataset that was asked for."""
    unique: dict[str, Experiment] = {}
    for run in runs:
        unique.setdefault(plan(run).digest, run.canonical())
    return list(unique.values())


def read_file(path: Path) -> list[dict[str, Any]]:
    """Return the runs of a YAML file: a mapping from fields of ``Experiment`` to values, or a list of such.

    Where a field has several values, every combination is a run. A ``ValueError`` names the file.
    """
    import yaml

    class Loader(yaml.SafeLoader):
        """Without duplicate keys, of which YAML would take the last."""

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
            names = [name.value for name, _ in node.value if isinstance(name, yaml.ScalarNode)]
            for name in names:
                if names.count(name) > 1:
                    raise ValueError(f"{path} gives {name!r} twice{name_line(node)}")
            return super().construct_mapping(node, deep)

    def name_line(node: yaml.Node) -> str:
        return f", in the block that starts in line {node.start_mark.line + 1}"

    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise ValueError(f"{path} is nested too deeply: a list holds values, and no lists") from None
    rows: list[dict[str, Any]] = []
    for block in content if isinstance(content, list) else [content]:
        if not isinstance(block, dict):
            raise ValueError(f"{path} must give dataset, noise and method, each a value or a list of values")
        values: dict[str, list[Any]] = {}
        for spelt, value in block.items():
            name = choose(f"field of a run in {path}", spelt, FIELDS)
            if name in values:
                raise ValueError(f"{path} gives {name!r} twice")
            values[name] = value if isinstance(value, list) else [value]
            if not all(isinstance(one, str | int | float) for one in values[name]):
                raise ValueError(f"{path}: {name} must be a word, a number or a list of these")
        if not values.keys() >= set(ROW):
            raise ValueError(f"{path} must give dataset, noise and method, each a value or a list of values")
        _check_size(len(rows) + math.prod(map(len, values.values())))
        rows += _combinations(values)
    if not rows:
        raise ValueError(f"{path} lists no run: a field has no value")
    return rows


def _combinations(values: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(values, row, strict=True)) for row in product(*values.values())]


def fields_of(
    texts: Sequence[str], fields: Sequence[str] = FIELDS, what: str = "field of a run"
) -> dict[str, list[str]]:
    """Return ``field=a,b`` as a mapping from fields to their values; of a field given twice, to all of them.

    fields: those there are.
    what: the noun for one of them in an error message.

    >>> fields_of(["method=tv", "seed=1,2", "Method=js"])
    {'method': ['tv', 'js'], 'seed': ['1', '2']}
    """
    values: dict[str, list[str]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"{text!r} is not of the form field=value, such as method=tv,js")
        values.setdefault(choose(what, name, fields), []).extend(value.split(","))
    return values


def change(runs: Sequence[Experiment], changes: Mapping[str, Sequence[str]]) -> list[Experiment]:
    """Return the runs with some fields replaced, as by ``--set dataset=mnist``."""
    for name, values in changes.items():
        if len(values) != 1:
            raise ValueError(f"--set {name} takes one value, not {len(values)}: {', '.join(values)}")
        value: Any = int(values[0]) if name == "seed" and values[0].isdecimal() else values[0]
        runs = [replace(run, **{name: value}) for run in runs]
    return _unique(runs)


def select(runs: Sequence[Experiment], only: Mapping[str, Sequence[str]]) -> list[Experiment]:
    """Return the runs whose fields have one of the given values, as by ``--only method=tv,js seed=0``."""
    for name, values in only.items():
        present = tuple(dict.fromkeys(str(getattr(run, name)) for run in runs))
        chosen = {choose(f"{name} among the runs of this grid", value, present) for value in values}
        runs = [run for run in runs if str(getattr(run, name)) in chosen]
    return list(runs)


def grid_name(table: str) -> str:
    """Return the name of a grid, that of its folder; a ``ValueError`` where it cannot be one."""
    name = Path(table).stem
    if not re.fullmatch(r"\w[\w.-]*", name):
        raise ValueError(f"a grid cannot be called {name!r}: use letters, digits, - and _ ({table})")
    if name in (*MODES, "train", "lessons", *STAGES):
        raise ValueError(f"a grid cannot be called {name!r}, since runs/{name} holds something else")
    return name


# ------------------------------------------------------------------ one run


@dataclass(frozen=True)
class Outcome:
    """How an execution ended, with its error in one line where it failed."""

    seconds: float
    error: str | None = None


def train_here(experiment: Experiment, runs: str) -> Outcome:
    """Train one run in this process, with its files below the folder ``runs``; called on a worker.

    A run that another process is working on is waited for, and then found finished. What goes wrong is an
    ``Outcome`` with an error, since another attempt would not change it.
    """
    start, error = time.perf_counter(), None
    with ONE_AT_A_TIME, environment({"FDIV_RUNS": runs}):
        try:
            folder = plan(experiment).folder
            folder.mkdir(parents=True, exist_ok=True)
            with open(folder / LOG, "a", encoding="utf-8") as log:
                print(log_head(experiment), file=log, flush=True)

                def on_epoch(row: Mapping[str, Any]) -> None:
                    print(epoch_line(row), file=log, flush=True)

                run_experiment(experiment, folder, on_epoch, progress=False)
        except (ValueError, OSError, TrainingFailed) as problem:
            error = " ".join(str(problem).split())
    return Outcome(time.perf_counter() - start, error)


def log_head(experiment: Experiment) -> str:
    """Return the line with which an attempt begins in the log of a run."""
    return f"# {time.strftime('%Y-%m-%d %H:%M:%S %z')}  {platform.node()}  {experiment}"


def epoch_line(row: Mapping[str, Any]) -> str:
    """Return a row of a run's history on one line."""
    names = ("validation_accuracy", "test_accuracy", "memorised")
    values = "  ".join(f"{name} {row[name]:.4f}" for name in names)
    return f"epoch {row['epoch']:>3}  {values}  {row['seconds']:.0f} s"


@contextlib.contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set ``variables`` inside a ``with`` block, for this process and those it starts.

    >>> with environment({"FDIV_RUNS": "elsewhere"}):
    ...     runs_folder().name
    'elsewhere'
    """
    before = {name: os.environ.get(name) for name in variables}
    try:
        os.environ.update(variables)
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


# ------------------------------------------------------------------ all of them


@dataclass
class Job:
    """One run of a grid."""

    experiment: Experiment
    plan: Plan
    state: str
    seconds: float = 0.0
    error: str = ""


class Grid:
    """The runs of a grid and how they ended, also in the file ``runs/<name>/grid.csv``.

    stopped: why it ended before all runs had, where it did.
    """

    def __init__(self, name: str, runs: Sequence[Experiment]) -> None:
        self.file = runs_folder() / name / "grid.csv"
        self.entries = []
        for run in runs:
            result = stored_result(run)
            state, seconds = (OPEN, 0.0) if result is None else (SKIPPED, result["seconds"])
            self.entries.append(Job(run, plan(run), state, seconds))
        self.stopped: str | None = None
        self.began = time.monotonic()

    def open(self) -> list[Job]:
        """Return the runs that are neither finished nor failed."""
        return [entry for entry in self.entries if entry.state == OPEN]

    def errors(self) -> dict[str, str]:
        """Return the errors of the runs that failed, by their names."""
        return {entry.plan.name: entry.error for entry in self.entries if entry.error}

    def end(self, entry: Job, outcome: Outcome) -> str:
        """Note how a run ended, in the file too, and return the line that says so."""
        entry.state = FAILED if outcome.error else FINISHED
        entry.seconds, entry.error = round(outcome.seconds, 1), outcome.error or ""
        left, now = len(self.open()), sum(one.state in (FINISHED, FAILED) for one in self.entries)
        try:
            self.write()
        except OSError as error:  # a full disk: the run has its own files, and this one is written again
            print(f"fdiv: {error}", file=sys.stderr, flush=True)
        total = len(self.entries)
        line = f"[{total - left:>{len(str(total))}}/{total}] {entry.state:<8}  {entry.plan.name}"
        line += f"  {outcome.seconds:.1f} s"
        if left:
            line += f"  about {duration((time.monotonic() - self.began) / now * left)} left"
        return line + (f"\n    {entry.error}" if entry.error else "")

    def look_again(self) -> None:
        """Note the runs that have finished although nobody said so: the connection was lost before."""
        for entry in self.open():
            if (result := stored_result(entry.experiment)) is not None:
                self.end(entry, Outcome(result["seconds"]))

    def write(self) -> None:
        """Write the file, whole or not at all."""
        rows = [
            {"name": entry.plan.name, "run": entry.plan.digest}
            | vars(entry.experiment)
            | {"state": entry.state, "seconds": entry.seconds, "error": entry.error}
            | {"folder": str(entry.plan.folder)}
            for entry in self.entries
        ]
        self.file.parent.mkdir(parents=True, exist_ok=True)
        write_text(pd.DataFrame(rows).to_csv(index=False), self.file)

    def table(self) -> str:
        """Return per dataset how many runs ended how; then each failure with its error."""
        lines = [f"{'dataset':<14}" + "".join(f"{state:>14}" for state in STATES)]
        for dataset in (*dict.fromkeys(entry.experiment.dataset for entry in self.entries), "all"):
            here = [e.state for e in self.entries if dataset in (e.experiment.dataset, "all")]
            lines.append(f"{dataset:<14}" + "".join(f"{here.count(state):>14}" for state in STATES))
        return "\n".join([*lines, *(f"{name} failed: {error}" for name, error in self.errors().items())])


def duration(seconds: float) -> str:
    """Return a time in the unit people would use.

    >>> duration(12), duration(600), duration(1e6)
    ('12 s', '10.0 min', '11.6 days')
    """
    for unit, length in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 1.5 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} s"


def run_grid(
    name: str,
    runs: Sequence[Experiment],
    *,
    scheduler: str | None = None,
    workers: int | None = None,
    execute: Callable[[Experiment, str], Outcome] = train_here,
) -> Grid:
    """Do what is not finished of ``runs``.

    scheduler: the address of a Dask scheduler whose workers have this package and see the same folder.
    workers: how many of our own there are, without a scheduler; one per GPU or per two cores by default.
    execute: what a worker does for one run; an exception it raises is worth another attempt.
    """
    grid = Grid(name, runs)
    grid.write()
    try:
        if waiting := len(grid.open()):
            with connect(scheduler, min(workers or local_workers(), waiting)) as client:
                _work(client, grid, execute, math.inf if scheduler else ALONE)
    except KeyboardInterrupt:
        grid.stopped = STOPPED
    except OSError as error:  # of Dask's connections: errors of files are failures of a run
        grid.stopped = f"the connection to the scheduler was lost ({error})"
    if grid.stopped is not None:
        grid.look_again()
    return grid


def _work(client: Client, grid: Grid, execute: Callable[..., Outcome], patience: float) -> None:
    """Submit every run, and note each as it ends.

    The key of a run is its digest: two commands that ask one scheduler for the same run share it.

    patience: how many seconds there may be no worker at all.
    """
    from distributed import wait

    shared = str(runs_folder().resolve())
    futures = {}
    for entry in grid.open():
        name = (f"fdiv-{shared}", entry.plan.digest)
        future = client.submit(execute, entry.experiment, shared, key=name, pure=False, retries=RETRIES)
        futures[future] = entry
    served = time.monotonic()
    done = len(grid.entries) - len(futures)
    bar = tqdm(total=len(grid.entries), initial=done, unit="run", leave=False, disable=None)
    with bar, client.as_current():
        while futures:
            with contextlib.suppress(TimeoutError, CancelledError):
                wait(list(futures), timeout=1, return_when="FIRST_COMPLETED")
            for future in [future for future in futures if future.done()]:
                bar.write(grid.end(futures.pop(future), _outcome(future)))
                bar.update()
            bar.refresh()
            if patience < math.inf and futures:
                served = time.monotonic() if client.nthreads() else served
                if time.monotonic() > served + patience:
                    grid.stopped = f"for {duration(patience)} no worker process could be started"
                    return


def _outcome(future: Future) -> Outcome:
    """Return the outcome of the run, or why there is none."""
    if future.cancelled():
        raise ConnectionError("the scheduler forgot the run")
    error = future.exception()
    if error is None:
        return future.result()
    return Outcome(0.0, " ".join(f"{type(error).__name__}: {error}".split()))


@contextlib.contextmanager
def connect(scheduler: str | None, workers: int) -> Iterator[Client]:
    """Connect to the scheduler at that address, or to ``workers`` processes of our own, encrypted."""
    import dask
    from distributed import Client, LocalCluster
    from distributed.comm import get_address_host_port

    for part in ("client", "batched", "core"):  # tell of a lost scheduler in tracebacks, we in a sentence
        logging.getLogger(f"distributed.{part}").setLevel(logging.CRITICAL)
    if scheduler is not None:
        try:
            get_address_host_port(scheduler, strict=True)
            client = Client(scheduler, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ValueError(f"no Dask scheduler answers at {scheduler!r}: {error}") from None
        with client:
            yield client
        return
    gpus, threads = _gpus(), os.environ.get("OMP_NUM_THREADS", str(threads_each(workers)))
    with (
        environment(dict.fromkeys(THREADS, threads)),
        dask.config.set(SETTINGS),
        LocalCluster(
            n_workers=0,
            threads_per_worker=1,
            security=True,  # a key for this cluster alone: other users of the machine stay outside
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,
            memory_limit=None,
            preload=[__name__],
        ) as cluster,
    ):
        for number in range(workers):  # each with a GPU of its own where there are some
            worker = dict(cluster.new_spec)
            if gpus:
                variables = {"CUDA_VISIBLE_DEVICES": gpus[number % len(gpus)]}
                worker["options"] = worker["options"] | {"env": variables}
            cluster.worker_spec[number] = worker
        cluster.scale(workers)
        with Client(cluster, set_as_default=False) as client:
            yield client


def dask_setup(_: object) -> None:
    """Leave Ctrl-C to the command, which ends its workers: on a terminal everybody gets it at once."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def local_workers() -> int:
    """Return how many workers of our own there are by default: one per GPU, or one per two cores."""
    return len(_gpus()) or max(1, usable_cores() // 2)


def threads_each(workers: int) -> int:
    """Return the threads of each of so many workers: its share of the cores, unless the user chose."""
    chosen = "OMP_NUM_THREADS" in os.environ
    return torch.get_num_threads() if chosen else max(1, usable_cores() // workers)


def _gpus() -> list[str]:
    """Return the CUDA devices this process may use, as CUDA_VISIBLE_DEVICES names them."""
    count, visible = torch.cuda.device_count(), os.environ.get("CUDA_VISIBLE_DEVICES")
    return visible.split(",")[:count] if visible else [str(number) for number in range(count)]


# ------------------------------------------------------------------ how long they take


def forecast(runs: Sequence[Experiment], workers: int) -> str:
    """Return what a grid would do: every run, then per dataset their number and how long they would take.

    A stage that runs share, such as a warm-up, is counted for the first of them. Nothing is timed for it:
    where no run was stored and no step of its network, it says that the time is not known.
    """
    seconds: dict[str, float] = {}
    counted: set[tuple] = set()
    for run in runs:
        planned = plan(run)
        if stored_result(run) is None:
            it, names = planned.recipe, planned.experiment
            estimate_T = names.transition == "estimated" and needs_transition(names.method, names.correction)
            stages = {
                (names.dataset, names.noise, names.seed, *s): s[1]
                for s in stages_before(it, estimate_T).values()
            }
            new = [it, *(stage for name, stage in stages.items() if name not in counted)]
            counted |= stages.keys()
            seconds[planned.name] = sum(one.epochs * epoch_seconds(names.dataset, one.model) for one in new)
    names = [plan(run).name for run in runs]
    widest = max(map(len, names))
    lines = [f"{name:<{widest}}  {_said(seconds[name]) if name in seconds else FINISHED}" for name in names]
    together = f" with {workers} workers" if workers > 1 else ""
    lines.append(f"\n{'dataset':<14}{'runs':>6}{'to do':>7}  time, as measured in earlier runs{together}")
    for dataset in (*dict.fromkeys(run.dataset for run in runs), "all"):
        here = [name for name, run in zip(names, runs, strict=True) if dataset in (run.dataset, "all")]
        todo = [seconds[name] for name in here if name in seconds]
        known = [time for time in todo if not math.isnan(time)]
        said = f"about {duration(sum(known) / workers)}" if known or not todo else NOT_KNOWN
        rest = len(todo) - len(known) if known else 0
        said += f", {rest} more {NOT_KNOWN}" if rest else ""
        lines.append(f"{dataset:<14}{len(here):>6}{len(todo):>7}  {said}")
    return "\n".join(lines)


def _said(seconds: float) -> str:
    return NOT_KNOWN if math.isnan(seconds) else duration(seconds)


def epoch_seconds(dataset: str, model: str) -> float:
    """Return the seconds of an epoch: of stored runs of the same network, else of timed steps, else nan."""
    return _of_runs().get((dataset, model), CATALOGUE[dataset].train / _per_second().get(model, math.nan))


@cache
def _of_runs() -> dict[tuple[str, str], float]:
    times = defaultdict(list)
    with contextlib.suppress(FileNotFoundError):
        for row in our_accuracies().to_dict("records"):
            with contextlib.suppress(ValueError):  # of a method or dataset that is registered elsewhere
                planned = plan(Experiment(**{name: row[name] for name in FIELDS}))
                place = planned.experiment.dataset, planned.recipe.model
                times[place].append(row["seconds"] / row["epochs"])
    return {place: median(seconds) for place, seconds in times.items()}


@cache
def _per_second() -> dict[str, float]:
    """Return how many images a second some networks take, as ``make bench`` has timed a step of each."""
    with contextlib.suppress(FileNotFoundError):
        steps = pd.read_csv(RESULTS / "benchmarks.csv").dropna(subset="images_per_second")
        return dict(zip(steps["variant"], steps["images_per_second"], strict=True))
    return {}
