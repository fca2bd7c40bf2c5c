"""One run of a grid: which notebook, with which parameters, what it leaves and where."""

from __future__ import annotations

import shutil
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from fdiv.course import notebooks
from fdiv.course.notebooks import NotebookError
from fdiv.experiments.experiment import Experiment, experiment_folder, stored_result
from fdiv.experiments.grids.lesson import IN_GRID
from fdiv.files import replacing, write_text
from fdiv.names import choose

NOTEBOOKS = {
    "mnist": "04_mnist",
    "fashion-mnist": "05_fashion_mnist",
    "cifar-10": "06_cifar10",
    "cifar-100": "07_cifar100",
    "clothing1m": "08_clothing1m",
}
TAG = "grid"  # on the cells of a lesson that train one method and show what came out
ONE_AT_A_TIME = threading.Lock()  # a worker with several threads has one environment, and most often one GPU
# Dask has its workers give freed memory back at once; to ask for it anew at every step doubles its time.
MEMORY = {"MALLOC_TRIM_THRESHOLD_": None}
LOG, RESULT, ERROR = "log.txt", "result.json", "error.txt"


class KernelDied(RuntimeError):
    """The process that trained is gone; another attempt goes on from the checkpoint."""


@dataclass(frozen=True)
class Outcome:
    """How an execution ended, in one line where it failed."""

    seconds: float
    error: str | None = None


def parameters(experiment: Experiment, known: Mapping[str, object]) -> dict[str, object]:
    """What papermill gives the notebook, whose parameters are ``known``.

    A notebook that compares methods is given one. A variant is passed on where it is not the default, so that
    a notebook without that parameter refuses it.
    """
    given = {
        "MODE": experiment.mode,
        "NOISE": experiment.noise,
        "SEED": experiment.seed,
        "CORRECTION": experiment.correction,
        "TRANSITION": experiment.transition,
    }
    if experiment.variant != "paper":
        given["VARIANT"] = experiment.variant
    if "METHODS" in known:
        return given | {"METHODS": experiment.method, "SEEDS": 1}
    return given | {"METHOD": experiment.method}


def source_of(experiment: Experiment) -> Path:
    """The notebook that trains the experiment."""
    dataset = choose("dataset with a notebook", experiment.dataset, tuple(NOTEBOOKS))
    (source,) = notebooks.find([NOTEBOOKS[dataset]])
    return source


def is_finished(experiment: Experiment) -> bool:
    """Whether there is nothing left to do but to copy: a whole result, and the notebook that shows it."""
    executed = experiment_folder(experiment) / f"{NOTEBOOKS.get(experiment.dataset)}.ipynb"
    return executed.exists() and stored_result(experiment) is not None


def is_delivered(experiment: Experiment, grid: Path) -> bool:
    """Whether the grid's folder holds the whole result of the run."""
    return stored_result(experiment, grid / experiment.name) is not None


def execute(experiment: Experiment, runs: str) -> Outcome:
    """Train in ``runs/train/<run>`` by executing the notebook's cells of a grid; called on a worker.

    A run that another process is working on is waited for, and then found finished. What goes wrong is an
    ``Outcome`` with an error, which trying again would not change; only a kernel that died raises.
    """
    start, error = time.perf_counter(), None
    with ONE_AT_A_TIME, notebooks.environment({"FDIV_RUNS": runs, IN_GRID: "1", **MEMORY}):
        try:
            folder = experiment_folder(experiment)
            folder.mkdir(parents=True, exist_ok=True)
            with FileLock(folder / "notebook.lock"):
                if not is_finished(experiment):
                    error = _execute(experiment, folder)
        except (NotebookError, ValueError, OSError) as problem:
            error = " ".join(str(problem).split())
    return Outcome(time.perf_counter() - start, error)


def _execute(experiment: Experiment, folder: Path) -> str | None:
    """Run the notebook, with a log; the caller holds the lock of the folder."""
    for left in folder.glob(".running-*"):  # by a worker that was killed
        shutil.rmtree(left, ignore_errors=True)
    source = source_of(experiment)
    given = parameters(experiment, notebooks.parameters(notebooks.read(source)))
    with open(folder / LOG, "a", encoding="utf-8") as log:
        began = time.strftime("%Y-%m-%d %H:%M:%S %z")
        print(f"# {began}  {socket.gethostname()}  {source.stem}  {given}", file=log, flush=True)
        done = notebooks.run(source, folder / f"{source.stem}.ipynb", given, only=TAG, log=log)
        error = done.error
        if error is None and stored_result(experiment) is None:
            error = f"{source.stem} left no result: do its cells tagged {TAG!r} train into kept_folder?"
        print(f"# {error or 'finished'} after {done.seconds:.0f} s", file=log)
    if error and error.startswith("DeadKernelError"):
        raise KernelDied(error)
    return error


def deliver(experiment: Experiment, grid: Path, outcome: Outcome) -> None:
    """Copy what the run left to ``grid/<run>``: notebook, log and, last, the result; or the error."""
    there, here = experiment_folder(experiment), grid / experiment.name
    here.mkdir(parents=True, exist_ok=True)
    failed = outcome.error is not None
    with FileLock(grid / ".lock"):
        stale = (
            [here / RESULT, *here.glob("*.ipynb")] if failed else [here / ERROR, *here.glob("*.failed.ipynb")]
        )
        for path in stale:
            path.unlink(missing_ok=True)
        left = [*there.glob("*.failed.ipynb" if failed else "*.ipynb"), there / LOG]
        for path in left if failed else [*left, there / RESULT]:
            if path.exists():
                with replacing(here / path.name) as temporary:
                    shutil.copyfile(path, temporary)
        if failed:
            write_text(f"{outcome.error}\n", here / ERROR)
