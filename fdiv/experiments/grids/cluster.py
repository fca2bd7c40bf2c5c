"""Handing the runs of a grid to Dask: on this machine by default, or to a scheduler somebody else started.

Dask only decides what runs where. What is finished is known from the files alone, so a worker, the scheduler
or the command itself may be killed at any time: called again, it does what is left, from the checkpoints.
"""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from fdiv.device import usable_cores
from fdiv.experiments.experiment import Experiment
from fdiv.experiments.grids.progress import Progress, duration
from fdiv.experiments.grids.runs import Outcome, deliver, execute, is_delivered, is_finished
from fdiv.files import runs_folder

if TYPE_CHECKING:
    from distributed import Client, Future

STOPPED = "stopped"
RETRIES = 2  # of a run whose kernel died
SETTINGS = {
    "distributed.scheduler.allowed-failures": 20,  # workers that may die under a run before it has failed
    "distributed.deploy.lost-worker-timeout": "1 hour",  # 15 s are few for a busy machine to start another
}
LOOK, COUNT = 0.2, 5.0  # seconds between two looks at what has ended, and at how many workers there are
ALONE = 600.0  # seconds without any worker of our own, after which none will come
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def run_grid(
    name: str, runs: Sequence[Experiment], scheduler: str | None = None, workers: int | None = None
) -> Progress:
    """Do what is not finished of ``runs``, and leave copies in ``runs/<name>/<run>``.

    scheduler: the address of a Dask scheduler whose workers have this repository and see the same folder.
    workers: how many of our own there are, without a scheduler; one per GPU or per two cores by default.
    """
    folder, progress = runs_folder() / name, Progress(runs)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for run in runs:
            if is_delivered(run, folder):
                progress.skip(run.name)
            elif is_finished(run):
                _deliver(run, folder, Outcome(0.0), progress)
        waiting = [run for run in runs if progress.is_open(run.name)]
        if waiting:
            with connect(scheduler, min(workers or local_workers(), len(waiting))) as client:
                _work(client, waiting, folder, progress, math.inf if scheduler else ALONE)
    except KeyboardInterrupt:
        progress.stopped = STOPPED
    except OSError as error:  # of Dask's connections; what concerns the files is the failure of a run
        progress.stopped = f"the connection to the scheduler was lost ({error})"
    return progress


def _work(
    client: Client, runs: Sequence[Experiment], folder: Path, progress: Progress, patience: float
) -> None:
    """Submit every run, and deliver each as it ends.

    The key of a run is its name: two commands that ask one scheduler for the same run share it.

    patience: how many seconds there may be no worker at all.
    """
    shared = str(runs_folder().resolve())
    futures = {
        run: client.submit(
            execute, run, shared, key=(f"fdiv-{shared}", run.name), pure=False, retries=RETRIES
        )
        for run in runs
    }
    progress.workers = len(client.nthreads())
    counted = served = time.monotonic()
    while futures:
        progress.tick()
        time.sleep(LOOK)
        for run in [run for run, future in futures.items() if future.done()]:
            _deliver(run, folder, _outcome(futures.pop(run)), progress)
        if futures and time.monotonic() > counted + COUNT:
            counted, progress.workers = time.monotonic(), len(client.nthreads())
            served = counted if progress.workers else served
            if counted > served + patience:
                progress.stopped = f"for {duration(patience)} no worker process could be started"
                return


def _outcome(future: Future) -> Outcome:
    """What the worker returned, or why it could not."""
    if future.cancelled():
        raise ConnectionError("the scheduler forgot the run")
    error = future.exception()
    if error is None:
        return future.result()
    return Outcome(0.0, " ".join(f"{type(error).__name__}: {error}".split()))


def _deliver(run: Experiment, folder: Path, outcome: Outcome, progress: Progress) -> None:
    """Copy, and count; a disk that is full is this run's failure, not the end of the others."""
    try:
        deliver(run, folder, outcome)
    except OSError as error:
        outcome = Outcome(outcome.seconds, outcome.error or f"could not be copied: {error}")
    progress.end(run.name, outcome.seconds, outcome.error)


@contextmanager
def connect(scheduler: str | None, workers: int) -> Iterator[Client]:
    """A client of the scheduler at that address, or of ``workers`` processes of our own."""
    try:
        import dask
        from distributed import Client
        from distributed.comm import get_address_host_port
    except ImportError:
        raise ValueError("fdiv grid needs Dask: run  python -m pip install distributed") from None
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
    with (
        dask.config.set(SETTINGS),
        _local_cluster(workers) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def _local_cluster(workers: int) -> Any:
    """A scheduler in this process, and worker processes with a share of the cores and one GPU each."""
    from distributed import Nanny, Scheduler, SpecCluster

    local = {"host": "127.0.0.1", "port": 0}
    return SpecCluster(
        scheduler={
            "cls": Scheduler,
            "options": {**local, "dashboard": False, "dashboard_address": "127.0.0.1:0"},
        },
        workers={
            number: {
                "cls": Nanny,
                "options": {
                    "host": "127.0.0.1",
                    "nthreads": 1,
                    "memory_limit": None,
                    "dashboard": False,
                    "silence_logs": logging.CRITICAL,
                    "env": variables,
                    "preload": ["fdiv.experiments.grids.worker"],
                },
            }
            for number, variables in enumerate(_variables(workers))
        },
        silence_logs=logging.CRITICAL,
    )


def local_workers() -> int:
    """How many of our own there are by default: one per GPU, or one per two cores."""
    return len(_gpus()) or max(1, usable_cores() // 2)


def threads_each(workers: int) -> int:
    """The threads of each of so many workers: its share of the cores, unless the user chose."""
    chosen = "OMP_NUM_THREADS" in os.environ
    return torch.get_num_threads() if chosen else max(1, usable_cores() // workers)


def _variables(workers: int) -> list[dict[str, str]]:
    """The environment of each worker: its threads and its GPU."""
    threads, gpus = os.environ.get("OMP_NUM_THREADS", str(threads_each(workers))), _gpus()
    return [
        dict.fromkeys(THREADS, threads) | ({"CUDA_VISIBLE_DEVICES": gpus[n % len(gpus)]} if gpus else {})
        for n in range(workers)
    ]


def _gpus() -> list[str]:
    """The CUDA devices this process may use, as CUDA_VISIBLE_DEVICES names them."""
    count = torch.cuda.device_count()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return visible.split(",")[:count] if visible else [str(number) for number in range(count)]
