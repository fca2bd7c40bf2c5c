"""Killed, stopped, started again, with real processes: a grid loses nothing and does nothing twice."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import nbformat
import psutil
import pytest
from waiting import PATIENCE, wait_for

from fdiv.course.notebooks import execute_notebook
from fdiv.experiments import grid
from fdiv.experiments.experiment import Experiment, plan, run_experiment, stored_result
from fdiv.experiments.grid import run_grid

pytestmark = [pytest.mark.slow, pytest.mark.kernel]
NEW = ("seconds", "date")  # what may differ between two times of the same run


def quick(method="tv", noise="uniform-high", dataset="mnist", **fields):
    return Experiment(dataset=dataset, noise=noise, method=method, mode="quick", **fields)


def assert_is_the_experiment(run):
    _, expected = run_experiment(run)
    result = stored_result(run)
    assert {n: str(v) for n, v in result.items() if n not in NEW} == {
        n: str(v) for n, v in expected.items() if n not in NEW
    }


@pytest.mark.parametrize(
    "run",
    [
        quick("js", "sparse-high", "fashion-mnist", correction="paper", transition="true"),
        quick("ratio", "human-worse", "cifar-10"),
        quick("kl", "sparse", "cifar-100", correction="forward", transition="true"),
        quick("js", "human", "clothing1m"),
    ],
    ids=lambda run: run.dataset,
)
def test_the_notebook_of_a_dataset_trains_the_experiment(run, runs, short):
    """With a log, and the executed cells beside the result; called again, it is finished (MNIST below)."""
    assert execute_notebook(run, str(runs)).error is None
    folder = plan(run).folder
    assert_is_the_experiment(run)
    (executed,) = folder.glob("*.ipynb")
    code = [c for c in nbformat.read(executed, as_version=4).cells if c.cell_type == "code"]
    assert 3 <= len(code) < 12, "the cells of the grid, and not the lesson"
    log = (folder / "log.txt").read_text()
    assert re.findall(r"^epoch +(\d+) ", log, re.M)[-3:] == ["1", "2", "3"], "after its warm-up, if any"
    assert execute_notebook(run, str(runs)).error is None
    assert (folder / "log.txt").read_text() == log
    assert not list(folder.glob(".running-*"))


# Processes.


def epochs(folder: Path) -> list[list[int]]:
    """The epochs in the log, for each attempt."""
    text = (folder / "log.txt").read_text() if (folder / "log.txt").exists() else ""
    return [
        [int(n) for n in re.findall(r"^epoch +(\d+) ", part, re.M)]
        for part in re.split(r"^# 20", text, flags=re.M)[1:]
    ]


def started(parent: psutil.Process, program: str) -> list[psutil.Process]:
    """The processes below ``parent`` whose command names ``program``."""
    found = []
    with contextlib.suppress(psutil.NoSuchProcess):
        for child in parent.children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                if any(program in part for part in child.cmdline()):
                    found.append(child)
    return found


def alive(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def wait_for_an_epoch(folder: Path) -> None:
    wait_for(lambda: any(epochs(folder)), "an epoch")


@pytest.mark.skipif(os.name == "nt", reason="Windows ends the kernels of a dead process otherwise")
@pytest.mark.parametrize("execute", [grid.train_here, execute_notebook], ids=["plain", "notebook"])
def test_a_worker_killed_in_the_middle_of_a_run_loses_nothing(hold, execute):
    run, held, killed = quick("blc", seed=1), hold("blc"), []

    def kill():
        wait_for_an_epoch(plan(run).folder)
        if execute is grid.train_here:
            (worker,) = [
                child
                for child in started(psutil.Process(), "multiprocessing.spawn")
                if child.num_threads() > 1
            ]
            killed.append(worker)
        else:
            (kernel,) = started(psutil.Process(), "ipykernel_launcher")
            killed.extend([kernel.parent(), kernel])
        killed[0].kill()
        wait_for(lambda: not any(map(alive, killed)), "a kernel ends with the process that started it")
        held.unlink()

    killer = threading.Thread(target=kill)
    killer.start()
    ended = run_grid("killed", [run], workers=1, execute=execute)
    killer.join()
    assert killed
    assert (ended.errors(), ended.stopped) == ({}, None)
    first, second = epochs(plan(run).folder)
    assert first == [1]
    assert second == [2, 3, 1, 2, 3], "the estimate of T from its checkpoint, and the run"
    assert_is_the_experiment(run)
    assert not list(plan(run).folder.glob(".running-*"))


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_control_c_says_what_is_finished_and_leaves_no_process(runs, tmp_path, hold):
    hold("blc")
    table = tmp_path / "stopped.yml"
    table.write_text("{dataset: mnist, noise: uniform-high, method: blc, mode: quick, seed: [0, 1]}")
    command = subprocess.Popen(
        [sys.executable, "-m", "fdiv", "grid", str(table), "--workers", "1"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored in the background
    )  # fmt: skip
    try:
        wait_for_an_epoch(plan(quick("blc")).folder)
        family = psutil.Process(command.pid).children(recursive=True)
        os.killpg(command.pid, signal.SIGINT)  # as a terminal does: to the command and its workers
        out, err = command.communicate(timeout=PATIENCE)
    finally:
        command.kill()
    assert command.returncode == 130
    assert re.search(r"^all +0 +0 +0 +2$", out, re.M), out
    assert err == "fdiv: stopped; call again to go on from the checkpoints\n"
    wait_for(lambda: not any(map(alive, family)), "workers and kernels are gone")
    assert not list(runs.rglob("result.json"))
    assert (runs / "stopped" / "grid.csv").read_text().count("not finished") == 2


class Cluster:
    """A Dask scheduler and one worker, as somebody with a cluster would start them."""

    def __init__(self, port: int) -> None:
        self.address = f"tcp://127.0.0.1:{port}"
        place = ["--host", "127.0.0.1", "--no-dashboard"]
        self.scheduler = self._start("dask_scheduler", "--port", str(port), *place)
        self.worker = self._start("dask_worker", self.address, "--nthreads", "1", *place)

    def _start(self, program: str, *options: str) -> subprocess.Popen:
        command = [sys.executable, "-m", f"distributed.cli.{program}", *options]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def stop(self) -> None:
        for process in (self.scheduler, self.worker):
            below = []
            with contextlib.suppress(psutil.NoSuchProcess):
                below = psutil.Process(process.pid).children(recursive=True)
            process.kill()
            process.wait()
            for child in below:
                with contextlib.suppress(psutil.NoSuchProcess):
                    child.kill()


def test_a_scheduler_started_again_goes_on_and_two_grids_do_a_shared_run_once(hold):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    first, second, held = quick("tv"), quick("blc"), hold("blc")
    one = Cluster(port)
    try:

        def kill():
            wait_for_an_epoch(plan(second).folder)
            one.stop()
            held.unlink()

        killer = threading.Thread(target=kill)
        killer.start()
        ended = run_grid("a", [first, second], scheduler=one.address)
        killer.join()
    finally:
        one.stop()
    assert ended.stopped.startswith("the connection to the scheduler was lost")
    assert [entry.state for entry in ended.entries] == ["finished", "not finished"]

    two = Cluster(port)
    try:
        grids = {}

        def work(name):
            grids[name] = run_grid(name, [first, second], scheduler=two.address)

        threads = [threading.Thread(target=work, args=name) for name in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        two.stop()
    for ended in grids.values():
        assert [entry.state for entry in ended.entries] == ["skipped", "finished"]
    assert len(epochs(plan(first).folder)) == 1, "not run again"
    assert epochs(plan(second).folder) == [[1], [2, 3, 1, 2, 3]], "from the checkpoint, once for both grids"
    assert_is_the_experiment(second)
