"""Grids: the runs they hold, what a run leaves, and that nothing is lost or done twice whoever is killed."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import nbformat
import psutil
import pytest
from command import fdiv

from fdiv.course import notebooks
from fdiv.experiments.experiment import Experiment, experiment_folder, noisy_data, run_experiment
from fdiv.experiments.grids import cluster, estimates, kept_folder, log_epoch, tables
from fdiv.experiments.grids import runs as grid_runs
from fdiv.experiments.grids.progress import Progress
from fdiv.experiments.grids.runs import Outcome, deliver, execute, is_delivered
from fdiv.experiments.recipes import methods
from fdiv.experiments.results import KEY, paper_accuracies, paper_robustness

ACCURACIES = ["accuracy_last", "accuracy_noisy_accuracy", "accuracy_noisy_objective", "accuracy_oracle"]


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """A folder of runs of its own."""
    monkeypatch.setenv("FDIV_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


def quick(method="tv", noise="uniform-high", dataset="mnist", mode="quick", **fields):
    return Experiment(dataset=dataset, noise=noise, method=method, mode=mode, **fields)


def rows_of(experiments):
    return Counter((run.dataset, run.noise, run.method) for run in experiments)


# Which runs.


@pytest.mark.parametrize("table", sorted(set(paper_accuracies().table)))
def test_a_grid_has_exactly_the_rows_of_its_table(table):
    rows = paper_accuracies().query("table == @table")[["dataset", "noise", "method"]]
    grid = tables.expand(table)
    assert rows_of(grid) == Counter(rows.itertuples(index=False, name=None))
    corrected = ("paper", "true") if table.startswith("bias") else ("none", "estimated")
    assert {(run.correction, run.transition, run.mode, run.seed) for run in grid} == {
        (*corrected, "paper", 0)
    }


def test_the_dry_run_lists_every_row_of_the_main_table(runs):
    said = fdiv("grid", "main", "--mode", "laptop", "--seeds", "3", "--dry-run")
    listed = re.findall(
        r"^([\w.-]+)_([\w.-]+)_(\w+)_laptop_seed([012])(?:_T-estimated)?  +\S", said.out, re.M
    )
    rows = paper_accuracies().query("table == 'main'")[["dataset", "noise", "method"]]
    expected = {(*row, seed) for row in rows.itertuples(index=False, name=None) for seed in "012"}
    assert set(listed) == expected
    assert len(listed) == len(expected) == 22 * 8 * 3
    assert re.search(r"^mnist +144 +144  about [\d.]+ (h|min|days)$", said.out, re.M)
    assert re.search(r"^all +528 +528  about [\d.]+ (h|min|days)$", said.out, re.M)
    assert (said.code, said.err) == (0, "")
    assert not runs.exists()


def test_an_estimate_is_images_times_epochs_and_counts_what_runs_share_once(monkeypatch):
    monkeypatch.setattr(estimates, "_seconds_per_image", lambda *_: 1e-3)

    def seconds(*runs):
        return [s - estimates.KERNEL for s in estimates.estimated_seconds(runs, 1).values()]

    laptop = partial(quick, mode="laptop")
    assert seconds(laptop("tv"), laptop("tv", seed=1)) == pytest.approx([12 * 50] * 2)
    warm = {"noise": "sparse-high", "correction": "exact", "transition": "true"}
    assert seconds(laptop("tv", **warm), laptop("kl", **warm)) == pytest.approx([(3 + 9) * 50, 9 * 50])
    assert seconds(laptop("flc"), laptop("blc")) == pytest.approx([(12 + 12) * 50, 12 * 50]), (
        "one estimate of T"
    )
    assert seconds(laptop("flc", transition="true")) == pytest.approx([12 * 50])
    assert seconds(quick("tv", dataset="clothing1m", noise="human", mode="paper"))[0] > 14 * 18_976 * 1e-3


def test_a_network_with_more_to_do_is_expected_to_take_longer():
    few, many = (
        estimates.estimated_seconds([quick(dataset=dataset, noise="clean", mode="paper")], 1)
        for dataset in ("mnist", "cifar-10")
    )
    assert 10 * sum(few.values()) < sum(many.values())


@pytest.mark.parametrize("dataset", ["digits", "paired-digits"])
def test_the_estimates_know_the_datasets(dataset):
    split = noisy_data(dataset, "clean").split
    count, *shape = estimates.IMAGES[dataset]
    assert (count, *shape[:2]) == tuple(split.train_images.shape[:3])
    assert shape[2] == split.num_classes


def test_the_robustness_figure_is_three_curves_of_ten_and_runs_on_another_dataset_too():
    assert len(tables.expand("robustness-figure")) == len(paper_robustness()) == 30
    curve = tables.change(tables.expand("robustness-figure", "laptop"), {"dataset": ["mnist"]})
    assert [run.dataset for run in curve] == ["mnist"] * 30


def test_all_methods_are_all_thirteen_under_every_setting():
    grid = tables.select(tables.expand("all-methods"), {"dataset": ["mnist", "fashion-mnist"]})
    settings = {(run.dataset, run.noise) for run in grid}
    assert len(settings) == 12
    assert rows_of(grid) == Counter((*setting, method) for setting in settings for method in methods())


def test_a_file_of_ones_own(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(
        "- {dataset: mnist, noise: [sparse-low, sparse-high], method: [total-variation, flc], mode: laptop}\n"
        "- {dataset: mnist, noise: sparse-low, method: tv, seed: [0, 1], mode: laptop}\n"
    )
    grid = tables.expand(str(path))
    assert [(run.noise[7:], run.method, run.seed) for run in grid] == [
        ("low", "tv", 0), ("low", "flc", 0), ("high", "tv", 0), ("high", "flc", 0), ("low", "tv", 1),
    ]  # fmt: skip
    assert {run.mode for run in grid} == {"laptop"}
    assert {run.mode for run in tables.expand(str(path), "quick")} == {"quick"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["man"],
         r"no grid is called 'man' \(did you mean 'main'\?\); choose from clean, .*all-methods,"
         r" robustness-figure"),
        (["main", "--only", "metod=tv"], r"no field of a run is called 'metod' .*choose from dataset, .*"),
        (["main", "--only", "method=gan"],
         r"no method among the runs of this grid is called 'gan'; choose from ce, blc, flc, dmi, pl, .*"),
        (["main", "--only", "method"], r"'method' is not of the form field=value, such as method=tv,js"),
        (["main", "--set", "dataset=mnist,digits"], r"--set dataset takes one value, not 2"),
        (["clean", "--set", "noise=storm"], r"no mnist noise setting is called 'storm'; choose from .*"),
        (["clean", "--set", "seed=-1"], r"seed '-1' is not a whole number from 0 up"),
        (["main", "--mode", "fast"], r"MODE is 'fast', which is not one of 'quick' .*"),
        (["main", "--seeds", "0"], r"--seeds is 0, but a grid has at least one seed"),
        (["main", "--workers", "0"], r"--workers is 0, but at least one has to do the work"),
        (["nowhere.yml"], r".*No such file.*nowhere.yml.*"),
        (["text.yml"], r"text.yml must give dataset, noise and method, each a value or a list of values"),
        (["torn.yml"], r"torn.yml is no YAML: .*"),
        (["typo.yml"], r"no field of a run in typo.yml is called 'sed' \(did you mean 'seed'\?\); .*"),
        (["none.yml"], r"none.yml lists no run: a field has no value"),
        (["number.yml"], r"no mnist noise setting is called 0.3; choose from clean, .*uniform-R, .*"),
        (["yes.yml"], r"seed True is not a whole number from 0 up"),
        (["variant.yml"], r"no variant is called 3; choose from paper, .*"),
        (["warm-up.yml"], r"a grid cannot be called 'warm-up', since runs/warm-up holds something else"),
        (["train.yml"], r"a grid cannot be called 'train', since runs/train holds something else"),
    ],
)  # fmt: skip
def test_what_cannot_be_run_is_one_sentence(runs, tmp_path, monkeypatch, arguments, sentence):
    monkeypatch.chdir(tmp_path)
    good = "dataset: mnist\nnoise: clean\nmethod: tv\n"
    files = {"text": "words", "torn": "a: [", "typo": good + "sed: 1", "train": good, "warm-up": good}
    files |= {"yes": good + "seed: yes", "variant": good + "variant: 3", "none": good.replace("tv", "[]")}
    for name, text in (files | {"number": good.replace("clean", "0.3")}).items():
        (tmp_path / f"{name}.yml").write_text(text)
    said = fdiv("grid", *arguments)
    assert (said.code, said.out) == (2, "")
    assert re.fullmatch(f"fdiv: {sentence}\n", said.err), said.err
    assert not runs.exists()


def test_what_a_notebook_is_given():
    what = quick("js", seed=3, correction="paper", transition="true")
    common = {
        "MODE": "quick",
        "NOISE": "uniform-high",
        "SEED": 3,
        "CORRECTION": "paper",
        "TRANSITION": "true",
    }
    assert grid_runs.parameters(what, {"METHOD": "tv"}) == common | {"METHOD": "js"}
    assert grid_runs.parameters(what, {"METHODS": "all"}) == common | {"METHODS": "js", "SEEDS": 1}
    assert grid_runs.parameters(quick(variant="authors-code"), {})["VARIANT"] == "authors-code"


def test_a_lesson_keeps_a_quick_run_for_a_grid_only(runs, monkeypatch, capsys):
    row = {"epoch": 1, "validation_accuracy": 0.1, "test_accuracy": 0.2, "memorised": 0.3, "seconds": 4}
    log_epoch(row)
    assert kept_folder(quick()) is None
    assert kept_folder(Experiment(dataset="mnist", noise="clean", method="tv", mode="laptop")) is not None
    assert capsys.readouterr().out == ""
    monkeypatch.setenv("FDIV_GRID", "1")
    log_epoch(row)
    assert kept_folder(quick()) == runs / "train" / quick().name
    assert capsys.readouterr().out.startswith("epoch   1  validation_accuracy 0.1000")


def test_only_the_tagged_cells_are_left():
    source = grid_runs.source_of(quick())
    whole = notebooks.read(source)
    part = notebooks.tagged(whole, "grid")
    assert part.cells[0].source == whole.cells[0].source.splitlines()[0]
    assert "parameters" in part.cells[1].metadata.tags
    assert all("grid" in cell.metadata.tags for cell in part.cells[2:])
    with pytest.raises(notebooks.NotebookError, match="no cell of this notebook is tagged 'nothing'"):
        notebooks.tagged(whole, "nothing")


def test_time_left_and_the_table(capsys):
    names = [run.name for run in tables.expand("clean")]
    progress = Progress(tables.expand("clean"), workers=2)
    assert progress.left() == ""
    progress.skip(names[0])
    progress.end(names[1], 100)
    progress.end(names[2], 200, "it broke")
    assert capsys.readouterr().out.splitlines()[0].endswith("100.0 s  about 11.7 min left")
    assert progress.left() == "about 16.2 min left", "13 runs of 150 s on 2 workers"
    progress.end(names[3], 0.0)
    assert progress.left() == "about 15.0 min left", "a copy says nothing of the others"
    _, mnist, *_, everything, failure = progress.table().splitlines()
    assert mnist.split() == ["mnist", "2", "1", "1", "0"]
    assert everything.split() == ["all", "2", "1", "1", "12"]
    assert failure == f"{names[2]} failed: it broke"


def test_every_worker_has_its_share_of_the_cores_and_a_gpu(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(cluster, "usable_cores", lambda: 8)
    monkeypatch.setattr(cluster, "_gpus", list)
    assert cluster.local_workers() == 4
    assert cluster._variables(4)[3] == dict.fromkeys(cluster.THREADS, "2")
    monkeypatch.setattr(cluster, "_gpus", lambda: ["2", "5"])
    assert cluster.local_workers() == 2
    assert [one["CUDA_VISIBLE_DEVICES"] for one in cluster._variables(3)] == ["2", "5", "2"]
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert cluster._variables(2)[0]["OMP_NUM_THREADS"] == "1"


def test_without_dask_it_is_one_sentence(runs, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    said = fdiv("grid", "clean", "--only", "dataset=mnist")
    assert said.err == "fdiv: fdiv grid needs Dask: run  python -m pip install distributed\n"


def test_an_address_without_a_scheduler_is_one_sentence(runs):
    import dask
    import distributed  # noqa: F401 (it brings its settings)

    with socket.socket() as free, dask.config.set({"distributed.comm.timeouts.connect": "0.2s"}):
        free.bind(("127.0.0.1", 0))
        for address in ("nonsense", f"tcp://127.0.0.1:{free.getsockname()[1]}"):
            said = fdiv("grid", "clean", "--only", "dataset=mnist", "--scheduler", address)
            assert (said.code, said.out) == (2, "")
            assert re.fullmatch(f"fdiv: no Dask scheduler answers at '{address}': .+\n", said.err), said.err


def test_terminated_it_says_how_to_go_on(runs, monkeypatch):
    """As by a batch system whose time is up."""
    monkeypatch.setattr(cluster, "connect", lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    before = signal.getsignal(signal.SIGTERM)
    said = fdiv("grid", "main", "--mode", "quick", "--only", "method=tv", "dataset=mnist")
    assert (said.code, said.err) == (130, "fdiv: stopped; call again to go on from the checkpoints\n")
    assert re.search(r"^all +0 +0 +0 +6$", said.out, re.M), said.out
    assert signal.getsignal(signal.SIGTERM) == before


def test_without_a_worker_it_ends_some_day(runs, monkeypatch):
    """As where a machine has no memory left for another process."""

    class Nobody:
        def submit(self, *_, **__):
            return SimpleNamespace(done=lambda: False)

        def nthreads(self):
            return {}

    monkeypatch.setattr(cluster, "connect", lambda *_: contextlib.nullcontext(Nobody()))
    monkeypatch.setattr(cluster, "COUNT", 0.1)
    monkeypatch.setattr(cluster, "ALONE", 1.0)
    ended = cluster.run_grid("alone", [quick()], workers=1)
    assert ended.stopped == "for 1 s no worker process could be started"


def test_a_kernel_keeps_the_memory_it_has_freed(runs, monkeypatch):
    """A worker of Dask gives it back to the system at once, and a training step takes twice as long."""
    seen = {}
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
    monkeypatch.setattr(
        notebooks, "run", lambda *_, **__: seen.update(os.environ) or notebooks.Run("x", 1.0, 0)
    )
    execute(quick(), str(runs))
    assert seen["FDIV_GRID"] == "1"
    assert "MALLOC_TRIM_THRESHOLD_" not in seen
    assert os.environ["MALLOC_TRIM_THRESHOLD_"] == "65536"


def test_only_a_dead_kernel_is_worth_another_attempt(runs, monkeypatch):
    def ends_with(error):
        monkeypatch.setattr(notebooks, "run", lambda *_, **__: notebooks.Run("04_mnist", 1.0, 0, error))

    ends_with("cell 6: TrainingFailed: the objective became nan")
    assert execute(quick(), str(runs)).error == "cell 6: TrainingFailed: the objective became nan"
    ends_with(None)
    assert execute(quick(), str(runs)).error.startswith("04_mnist left no result")
    ends_with("DeadKernelError: Kernel died")
    with pytest.raises(grid_runs.KernelDied):
        execute(quick(), str(runs))
    assert execute(quick(dataset="digits"), str(runs)).error.startswith(
        "no dataset with a notebook is called"
    )
    assert "FDIV_GRID" not in os.environ


def test_on_a_terminal_one_line_is_drawn_again_when_it_changed(monkeypatch, capsys):
    grid = tables.expand("clean")
    progress = Progress(grid, workers=4)
    progress.tick()
    assert capsys.readouterr().out == "", "not in a pipe"
    progress.live = True
    progress.tick()
    progress.began -= 61
    progress.tick()
    progress.tick()
    assert capsys.readouterr().out.split("\r\x1b[K") == [
        "", "0:00  none finished of 16, 4 at once", "1:01  none finished of 16, 4 at once",
    ]  # fmt: skip


# One grid, executed.


FINISHED, FAILED = "mnist_sparse-high_js_quick_seed0_paper_T-true", "fashion-mnist_uniform-low_tv_quick_seed0"


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """A grid of two runs, done by local workers, and what was said.

    One run has half a result from a disk that was full, the other a checkpoint that nobody can read.
    """
    folder = tmp_path_factory.mktemp("executed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FDIV_RUNS", str(folder / "runs"))
        grid = folder / "small.yml"
        grid.write_text(
            "- {dataset: mnist, noise: sparse-high, method: js, correction: paper, transition: 'true'}\n"
            "- {dataset: fashion-mnist, noise: uniform-low, method: [tv]}\n"
        )
        train = folder / "runs" / "train"
        half, broken = train / FINISHED / "result.json", train / FAILED / "tv.pt"
        for path, text in ((half, '{"dataset": "digits", "noi'), (broken, "no checkpoint")):
            path.parent.mkdir(parents=True)
            path.write_text(text)
        said = fdiv("grid", str(grid), "--mode", "quick")
        yield folder, grid, said


def test_a_run_leaves_its_notebook_log_and_result(executed):
    folder, _, said = executed
    here = folder / "runs" / "small" / FINISHED
    assert {path.name for path in here.iterdir()} == {"04_mnist.ipynb", "log.txt", "result.json"}
    assert re.search(rf"^\[\d/2\] finished  {FINISHED} +[\d.]+ s", said.out, re.M), said.out
    printed = re.findall(r"^epoch +(\d+) ", (here / "log.txt").read_text(), re.M)
    assert printed == [str(number) for number in range(1, 41)]
    code = [
        cell
        for cell in nbformat.read(here / "04_mnist.ipynb", as_version=4).cells
        if cell.cell_type == "code"
    ]
    assert 5 <= len(code) < 10, "the cells of the grid, and not the lesson"


def test_a_failure_is_recorded_while_the_rest_goes_on(executed):
    folder, _, said = executed
    here = folder / "runs" / "small" / FAILED
    assert said.code == 1
    assert {path.name for path in here.iterdir()} == {"05_fashion_mnist.failed.ipynb", "log.txt", "error.txt"}
    error = (here / "error.txt").read_text().strip()
    assert "tv.pt is no readable checkpoint" in error
    assert f"{FAILED} failed: {error}" in said.out
    assert re.search(r"^all +1 +0 +1 +0$", said.out, re.M)


@pytest.fixture(scope="module")
def repaired(executed):
    """That grid called again without the broken checkpoint, its copy of the other result cut off."""
    folder, grid, _ = executed
    finished, failed = (folder / "runs" / "train" / name for name in (FINISHED, FAILED))
    log = (finished / "log.txt").read_text()
    (failed / "tv.pt").unlink()
    copy = folder / "runs" / "small" / FINISHED / "result.json"
    copy.write_text(copy.read_text()[:100])
    said = fdiv("grid", str(grid), "--mode", "quick")
    assert (finished / "log.txt").read_text() == log, "copied, not run"
    return folder, grid, said


def test_called_again_it_repairs_what_failed_and_what_is_half_written(repaired):
    folder, _, said = repaired
    assert said.code == 0
    assert re.search(r"^all +2 +0 +0 +0$", said.out, re.M), said.out
    kept, copied = (folder / "runs" / grid / FINISHED / "result.json" for grid in ("train", "small"))
    assert copied.read_bytes() == kept.read_bytes()
    here = folder / "runs" / "small" / FAILED
    assert {path.name for path in here.iterdir()} == {"05_fashion_mnist.ipynb", "log.txt", "result.json"}


@pytest.mark.parametrize(
    "experiment",
    [
        quick("ratio", "human-worse", "cifar-10"),
        quick("kl", "sparse", "cifar-100", correction="forward", transition="true"),
        quick("js", "human", "clothing1m"),
    ],
    ids=lambda experiment: experiment.dataset,
)
def test_the_notebooks_of_the_other_datasets_train_the_experiment_too(experiment, runs):
    """Without a cluster, which the tests around this one have."""
    outcome = execute(experiment, str(runs))
    assert outcome.error is None
    result = json.loads((experiment_folder(experiment) / "result.json").read_text())
    _, expected = run_experiment(experiment)
    assert {name: result[name] for name in KEY + ACCURACIES} == {n: expected[n] for n in KEY + ACCURACIES}


def test_what_the_notebooks_of_a_grid_leave_is_the_experiment(repaired):
    folder, grid, _ = repaired
    for experiment in tables.expand(str(grid), "quick"):
        result = json.loads((folder / "runs" / "small" / experiment.name / "result.json").read_text())
        _, expected = run_experiment(experiment)
        assert {name: result[name] for name in KEY + ACCURACIES} == {n: expected[n] for n in KEY + ACCURACIES}
        assert {"commit", "torch", "device", "seconds"} <= result.keys()


def test_finished_runs_are_skipped_and_shared_with_another_grid(repaired, monkeypatch):
    folder, grid, _ = repaired
    other = grid.with_name("other.yml")
    other.write_text(grid.read_text())
    monkeypatch.setattr(cluster, "connect", lambda *_: pytest.fail("there was nothing to do"))
    for path in (grid, other):
        planned = fdiv("grid", str(path), "--mode", "quick", "--dry-run")
        assert re.search(r"^all +2 +0  about 0 s$", planned.out, re.M), planned.out
    again, shared = (fdiv("grid", str(path), "--mode", "quick") for path in (grid, other))
    assert re.search(r"^all +0 +2 +0 +0$", again.out, re.M)
    assert re.search(r"^all +2 +0 +0 +0$", shared.out, re.M)
    small, same = (
        {path.parent.name: path.read_bytes() for path in (folder / "runs" / name).rglob("result.json")}
        for name in ("small", "other")
    )
    assert small == same
    assert small.keys() == {FINISHED, FAILED}


def test_results_are_collected_from_all_grids_each_once(repaired, monkeypatch, tmp_path):
    from fdiv.experiments import results

    monkeypatch.setattr(results, "RESULTS", tmp_path / "results")
    said = fdiv("results")
    assert (said.code, said.out) == (0, "2 results in data/results/accuracies.csv\n")


def test_a_full_disk_is_the_failure_of_a_run_and_leaves_what_is_there(repaired, monkeypatch):
    folder, _, _ = repaired
    experiment = quick("js", "sparse-high", correction="paper", transition="true")
    here = folder / "runs" / "small" / experiment.name
    before = {path.name: path.read_bytes() for path in here.iterdir()}

    def full(*_):
        raise OSError(28, "No space left on device")

    progress = Progress([experiment])
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        cluster._deliver(experiment, here.parent, Outcome(1.0), progress)
    said = f"could not be copied: [Errno 28] No space left on device: '{here / '04_mnist.ipynb'}'"
    assert progress.errors == {experiment.name: said}
    assert {path.name: path.read_bytes() for path in here.iterdir()} == before
    deliver(experiment, here.parent, Outcome(1.0))


# Killed, stopped, started again: with real processes.


def wait_for(condition, what, seconds=120):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.005)
    return found


def epochs(folder: Path) -> list[list[int]]:
    """The epochs in the log, for each attempt."""
    text = (folder / "log.txt").read_text() if (folder / "log.txt").exists() else ""
    return [
        [int(n) for n in re.findall(r"^epoch +(\d+) ", part, re.M)]
        for part in re.split(r"^# 20", text, flags=re.M)[1:]
    ]


def kernels(parent: psutil.Process) -> list[psutil.Process]:
    found = []
    with contextlib.suppress(psutil.NoSuchProcess):
        for child in parent.children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                if any("ipykernel_launcher" in part for part in child.cmdline()):
                    found.append(child)
    return found


def freeze(parent: psutil.Process, folder: Path) -> psutil.Process:
    """The kernel that trains in ``folder``, stopped after some epochs of its first attempt."""
    wait_for(lambda: any(len(attempt) >= 3 for attempt in epochs(folder)), "some epochs")
    (kernel,) = kernels(parent)
    kernel.suspend()
    return kernel


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGSTOP")
def test_a_worker_killed_in_the_middle_of_a_run_loses_nothing(runs, tmp_path):
    experiment = quick("blc", seed=1)
    folder, seen = experiment_folder(experiment), {}

    def kill():
        kernel = freeze(psutil.Process(), folder)
        seen["kernel"], seen["worker"] = kernel, kernel.parent()
        kernel.parent().kill()
        time.sleep(1.5)  # the kernel looks for its parent once a second
        kernel.resume()

    killer = threading.Thread(target=kill)
    killer.start()
    ended = cluster.run_grid("killed", [experiment], workers=1)
    killer.join()
    assert (ended.errors, ended.stopped) == ({}, None)
    first, second = epochs(folder)
    assert first[0] == 1
    assert second[0] > 1, "from the checkpoint"
    assert not seen["kernel"].is_running()
    _, expected = run_experiment(experiment)
    result = json.loads((runs / "killed" / experiment.name / "result.json").read_text())
    assert {name: result[name] for name in ACCURACIES} == {name: expected[name] for name in ACCURACIES}
    assert not list(folder.glob(".running-*"))


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_control_c_says_what_is_finished_and_leaves_no_process(runs, tmp_path):
    grid = tmp_path / "stopped.yml"
    grid.write_text("{dataset: mnist, noise: uniform-high, method: blc, mode: quick, seed: [0, 1]}")
    command = subprocess.Popen(
        [sys.executable, "-m", "fdiv", "grid", str(grid), "--workers", "1"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored in the background
    )  # fmt: skip
    process = psutil.Process(command.pid)
    try:
        freeze(process, experiment_folder(quick("blc"))).resume()
        family = process.children(recursive=True)
        os.killpg(command.pid, signal.SIGINT)  # as a terminal does: to the command and its workers
        out, err = command.communicate(timeout=60)
    finally:
        command.kill()
    assert command.returncode == 130
    assert re.search(r"^all +0 +0 +0 +2$", out, re.M), out
    assert err == "fdiv: stopped; call again to go on from the checkpoints\n"
    wait_for(lambda: not any(map(alive, family)), "workers and kernels are gone")
    assert all(json.loads(path.read_text()) for path in runs.rglob("result.json"))


def alive(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


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
            process.kill()
            process.wait()


def test_a_scheduler_started_again_goes_on_and_two_grids_do_a_shared_run_once(runs):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    first, second = quick("tv"), quick("blc")
    one = Cluster(port)
    try:

        def kill():
            freeze(psutil.Process(one.worker.pid), experiment_folder(second)).resume()
            one.stop()

        killer = threading.Thread(target=kill)
        killer.start()
        ended = cluster.run_grid("a", [first, second], scheduler=one.address)
        killer.join()
    finally:
        one.stop()
    assert ended.stopped.startswith("the connection to the scheduler was lost")
    assert [ended.is_open(run.name) for run in (first, second)] == [False, True]
    assert not (runs / "a" / second.name).exists()

    two = Cluster(port)
    try:
        grids = {}
        threads = [
            threading.Thread(
                target=lambda name=name: grids.update(
                    {name: cluster.run_grid(name, [first, second], two.address)}
                )
            )
            for name in ("a", "b")
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        two.stop()
    assert [grid.errors for grid in grids.values()] == [{}, {}]
    assert grids["a"].count("skipped") == 1
    assert len(epochs(experiment_folder(first))) == 1, "not run again"
    attempts = epochs(experiment_folder(second))
    assert len(attempts) == 2
    assert attempts[1][0] > 1, "from the checkpoint, and for both grids at once"
    assert all(is_delivered(run, runs / name) for name in "ab" for run in (first, second))
