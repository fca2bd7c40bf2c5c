"""Grids: the runs they hold, what they print and write, and what they refuse. Killed ones: tests/slow."""

import math
import os
import re
import signal
import socket
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import pandas as pd
import pytest
from command import fdiv

from fdiv.experiments import grid
from fdiv.experiments.experiment import Experiment, plan, run_experiment, stored_result
from fdiv.experiments.grid import Grid, Outcome, change, epoch_line, expand, fields_of, select, train_here
from fdiv.experiments.results import paper_accuracies, paper_robustness
from fdiv.learning.methods import paper_methods
from fdiv.learning.training import TrainingFailed


def quick(method="tv", noise="uniform-high", dataset="mnist", mode="quick", **fields):
    return Experiment(dataset=dataset, noise=noise, method=method, mode=mode, **fields)


# Which runs.


@pytest.mark.parametrize("table", ["main", "bias-mnist"])
def test_a_grid_has_exactly_the_rows_of_its_table(table):
    rows = paper_accuracies().query("table == @table")[["dataset", "noise", "method"]]
    runs = expand(table)
    assert Counter((run.dataset, run.noise, run.method) for run in runs) == Counter(
        rows.itertuples(index=False, name=None)
    )
    corrected = ("paper", "true") if table.startswith("bias") else ("none", "estimated")
    assert {(run.correction, run.transition, run.mode, run.seed) for run in runs} == {
        (*corrected, "paper", 0)
    }


def test_the_robustness_figure_is_three_curves_of_ten_and_runs_on_another_dataset_too():
    assert len(expand("robustness-figure")) == len(paper_robustness()) == 30
    curve = change(expand("robustness-figure", "laptop"), {"dataset": ["mnist"]})
    assert [run.dataset for run in curve] == ["mnist"] * 30


def test_our_own_tables_are_three_datasets_and_three_kinds_of_people():
    hard = expand("sparse-high", "laptop", seeds=2)
    assert len(hard) == 3 * 6 * 2
    assert {(run.noise, run.mode) for run in hard} == {("sparse-high", "laptop")}
    told = {(run.method, run.correction) for run in hard if run.transition == "true"}
    assert told == {("flc", "none"), ("kl", "forward")}
    people = expand("cifar-10n", "laptop")
    assert len(people) == 3 * 7
    assert len(select(people, {"variant": ["strong"], "method": ["ce"]})) == 3


def test_all_methods_are_all_thirteen_under_every_setting():
    found = select(expand("all-methods"), {"dataset": ["mnist", "Fashion MNIST"]})
    assert len({(run.dataset, run.noise) for run in found}) == 12
    assert Counter(run.method for run in found) == dict.fromkeys(paper_methods(), 12)


def test_quick_runs_of_two_datasets_with_one_stand_in_are_one_run():
    both = [quick(dataset=name) for name in ("mnist", "fashion-mnist")]
    assert change(both, {}) == [both[0]]
    assert len(change(both, {"mode": ["laptop"]})) == 2


def test_a_file_of_ones_own(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(
        "- {dataset: mnist, noise: [sparse-low, sparse-high], method: [total-variation, flc], mode: laptop}\n"
        "- {dataset: mnist, noise: sparse-low, method: tv, seed: [0, 1], mode: laptop}\n"
    )
    found = expand(str(path))
    assert [(run.noise[7:], run.method, run.seed) for run in found] == [
        ("low", "tv", 0), ("low", "flc", 0), ("high", "tv", 0), ("high", "flc", 0), ("low", "tv", 1),
    ]  # fmt: skip
    assert {run.mode for run in found} == {"laptop"}
    assert {run.mode for run in expand(str(path), "quick")} == {"quick"}


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (["--only", "method=tv", "--only", "dataset=mnist"], 6),
        (["--only", "method=tv", "dataset=mnist"], 6),
        (["--only", "method=tv", "--only", "Method=js", "dataset=mnist"], 12),
        (["--only", "method=tv,js", "--only", "dataset=mnist", "--set", "seed=3", "--set", "mode=quick"], 12),
    ],
)
def test_options_given_several_times_are_taken_together(runs, monkeypatch, options, count):
    monkeypatch.setattr(grid, "forecast", lambda chosen, _: str(len(chosen)))
    assert fdiv("grid", "main", *options, "--dry-run").out == f"{count}\n"


GOOD = "dataset: mnist\nnoise: clean\nmethod: tv\n"
FILES = {
    "text": "words",
    "torn": "a: [",
    "typo": GOOD + "sed: 1",
    "none": GOOD.replace("tv", "[]"),
    "number": GOOD.replace("clean", "0.3"),
    "yes": GOOD + "seed: yes",
    "variant": GOOD + "variant: 3",
    "twice": GOOD + "method: kl",
    "spelt": GOOD + "Method: kl",
    "empty": GOOD + "mode: {}",
    "nested": GOOD.replace("tv", "[[tv]]"),
    "deep": GOOD.replace("tv", "[" * 100_000),
    "laughs": "- &a [x, x]\n- &b [*a, *a]\n- [*b, *b]\n",
    "many": GOOD.replace("tv", "&m [tv, kl, js, ce]") + "seed: [" + "1, " * 6000 + "1]",
    "day": GOOD + "seed: 2026-01-31",
    "object": GOOD + "seed: !!python/object/apply:os.system ['true']",
    "warm-up": GOOD,
    "train": GOOD,
    "..": GOOD,
}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["man"],
         r"no grid is called 'man' \(did you mean 'main'\?\); choose from clean, .*all-methods,"
         r" robustness-figure, sparse-high, cifar-10n"),
        (["main", "--only", "metod=tv"], r"no field of a run is called 'metod' .*choose from dataset, .*"),
        (["main", "--only", "method=gan"],
         r"no method among the runs of this grid is called 'gan'; choose from ce, blc, flc, dmi, pl, .*"),
        (["main", "--only", "method"], r"'method' is not of the form field=value, such as method=tv,js"),
        (["main", "--set", "dataset=mnist,digits"], r"--set dataset takes one value, not 2: mnist, digits"),
        (["main", "--set", "seed=1", "--set", "seed=2"], r"--set seed takes one value, not 2: 1, 2"),
        (["clean", "--set", "noise=storm"], r"no mnist noise setting is called 'storm'; choose from .*"),
        (["clean", "--set", "seed=-1"], r"seed '-1' is not a whole number from 0 up"),
        (["main", "--mode", "fast"], r"MODE is 'fast', which is not one of 'quick' .*"),
        (["main", "--seeds", "0"], r"--seeds is 0, but a grid has at least one seed"),
        (["main", "--seeds", "100000000"], r"a grid has at most 20000 runs, not 17600000000: split it"),
        (["main", "--workers", "0"], r"--workers is 0, but at least one has to do the work"),
        (["nowhere.yml"], r".*No such file.*nowhere.yml.*"),
        (["text.yml"], r"text.yml must give dataset, noise and method, each a value or a list of values"),
        (["torn.yml"], r"torn.yml is no YAML: .*"),
        (["typo.yml"], r"no field of a run in typo.yml is called 'sed' \(did you mean 'seed'\?\); .*"),
        (["none.yml"], r"none.yml lists no run: a field has no value"),
        (["number.yml"], r"number.yml: no mnist noise setting is called 0.3; choose from clean, .*"),
        (["yes.yml"], r"yes.yml: seed True is not a whole number from 0 up"),
        (["variant.yml"], r"variant.yml: no variant is called 3; choose from paper, .*"),
        (["twice.yml"], r"twice.yml gives 'method' twice, in the block that starts in line 1"),
        (["spelt.yml"], r"spelt.yml gives 'method' twice"),
        (["empty.yml"], r"empty.yml: mode must be a word, a number or a list of these"),
        (["nested.yml"], r"nested.yml: method must be a word, a number or a list of these"),
        (["deep.yml"], r"deep.yml is nested too deeply: a list holds values, and no lists"),
        (["laughs.yml"], r"laughs.yml must give dataset, noise and method, .*"),
        (["many.yml"], r"many.yml: a grid has at most 20000 runs, not 24004: split it"),
        (["day.yml"], r"day.yml: seed must be a word, a number or a list of these"),
        (["object.yml"], r"object.yml is no YAML: .*could not determine a constructor.*"),
        (["bytes.yml"], r"bytes.yml is no YAML: .*"),
        (["warm-up.yml"], r"a grid cannot be called 'warm-up', since runs/warm-up holds something else"),
        (["train.yml"], r"a grid cannot be called 'train', since runs/train holds something else"),
        (["...yaml"], r"a grid cannot be called '..': use letters, digits, - and _ \(...yaml\)"),
    ],
)  # fmt: skip
def test_what_cannot_be_run_is_one_sentence(runs, tmp_path, monkeypatch, arguments, sentence):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(f"{name}.yml" if name != ".." else "...yaml").write_text(text)
    Path("bytes.yml").write_bytes(b"\xff\xfe\x00\xd8")
    said = fdiv("grid", *arguments)
    assert (said.code, said.out) == (2, "")
    assert re.fullmatch(f"fdiv: {sentence}\n", said.err), said.err
    assert not runs.exists()


def test_fields_given_twice_are_joined_under_one_spelling():
    assert fields_of(["method=tv,js", "Method=kl"]) == {"method": ["tv", "js", "kl"]}


# How long they take.


def test_a_forecast_is_epochs_times_their_length_and_counts_what_runs_share_once(runs, monkeypatch):
    monkeypatch.setattr(grid, "epoch_seconds", lambda *_: 100)

    def forecast(*runs):
        return [line.split()[-2] for line in grid.forecast(runs, 1).splitlines()[: len(runs)]]

    laptop = {"mode": "laptop"}
    assert forecast(quick(**laptop), quick(seed=1, **laptop)) == ["20.0", "20.0"]  # minutes: 12 epochs
    warm = {"noise": "sparse-high", "correction": "exact", "transition": "true"} | laptop
    assert forecast(quick("tv", **warm), quick("kl", **warm)) == ["20.0", "15.0"], "one warm-up"
    assert forecast(quick("flc", **laptop), quick("blc", **laptop)) == ["40.0", "20.0"], "one estimate of T"
    assert forecast(quick("flc", transition="true", **laptop)) == ["20.0"]


def test_the_length_of_an_epoch_is_that_of_stored_runs_or_of_timed_steps_or_not_known(runs, monkeypatch):
    monkeypatch.setattr(grid, "_of_runs", lambda: {("mnist", "paper-cnn"): 30.0})
    monkeypatch.setattr(grid, "_per_second", lambda: {"paper-cnn": 1.0, "preact-resnet-18": 100.0})
    assert grid.epoch_seconds("mnist", "paper-cnn") == 30
    assert grid.epoch_seconds("cifar-10", "preact-resnet-18") == 400
    assert math.isnan(grid.epoch_seconds("clothing1m", "resnet-50"))
    said = grid.forecast([quick(), quick(dataset="cifar-10", mode="paper")], 1).splitlines()
    assert said[0].endswith("  not known")
    assert re.search(r"^mnist +1 +1  not known$", "\n".join(said), re.M)
    assert said[-1].endswith(" h, 1 more not known")


def test_the_lengths_that_are_committed_are_found():
    assert 0 < grid.epoch_seconds("mnist", plan(quick(dataset="mnist", mode="laptop")).recipe.model) < 1000
    assert 100 < grid.epoch_seconds("cifar-10", "preact-resnet-18") < 10_000


def test_the_dry_run_lists_every_run_of_the_main_table_once(runs, monkeypatch):
    monkeypatch.setattr(grid, "epoch_seconds", lambda *_: 1)
    said = fdiv("grid", "main", "--mode", "laptop", "--seeds", "3", "--dry-run")
    listed = re.findall(r"^([\w.-]+)_laptop_seed[012](?:_T-estimated)?_[0-9a-f]{8}  +\d", said.out, re.M)
    assert len(listed) == 22 * 8 * 3
    assert set(Counter(listed).values()) == {3}
    assert re.search(r"^all +528 +528  about [\d.]+ (h|min|days)$", said.out, re.M)
    assert (said.code, said.err) == (0, "")
    assert not runs.exists()


# One run.


def test_train_here_is_the_experiment_with_a_log(runs, short):
    wanted = quick("js", "sparse-high", correction="paper", transition="true")
    outcome = train_here(wanted, str(runs))
    assert outcome.error is None
    _, expected = run_experiment(wanted)
    result = stored_result(wanted)
    assert {n: v for n, v in result.items() if n not in ("seconds", "date")} == {
        n: v for n, v in expected.items() if n not in ("seconds", "date")
    }
    log = (plan(wanted).folder / "log.txt").read_text()
    assert re.findall(r"^epoch +(\d+) ", log, re.M) == ["1", "2", "3"]


@pytest.mark.parametrize(
    "error", [TrainingFailed("the objective\nbecame nan"), OSError("full"), ValueError("x")]
)
def test_what_another_attempt_would_not_mend_is_an_outcome(runs, monkeypatch, error):
    def fails(*_, **__):
        raise error

    monkeypatch.setattr(grid, "run_experiment", fails)
    assert train_here(quick(), str(runs)).error == " ".join(str(error).split())


def test_an_epoch_on_one_line():
    row = {"epoch": 3, "validation_accuracy": 0.5, "test_accuracy": 0.75, "memorised": 0.1, "seconds": 2}
    line = "epoch   3  validation_accuracy 0.5000  test_accuracy 0.7500  memorised 0.1000  2 s"
    assert epoch_line(row) == line


# All of them, without a cluster.


def test_the_file_of_a_grid_can_be_read_at_any_time(runs):
    three = Grid("mine", [quick("tv"), quick("js"), quick("kl")])
    three.write()
    file = runs / "mine" / "grid.csv"
    assert list(pd.read_csv(file)["state"]) == ["not finished"] * 3
    first, second, _ = three.entries
    assert re.fullmatch(
        r"\[1/3\] finished  digits_.*_tv_.* 100.0 s  about \d+ s left", three.end(first, Outcome(100))
    )
    assert three.end(second, Outcome(2, "it broke")).endswith("left\n    it broke")
    table = pd.read_csv(file)
    assert list(table["state"]) == ["finished", "failed", "not finished"]
    assert list(table["dataset"]) == ["mnist"] * 3, "as it was asked for"
    assert list(table["run"]) == [plan(quick(method)).digest for method in ("tv", "js", "kl")]
    assert list(table["folder"]) == [str(plan(quick(method)).folder) for method in ("tv", "js", "kl")]
    _, mnist, everything, failure = three.table().splitlines()
    assert mnist.split() == ["mnist", "1", "0", "1", "1"]
    assert everything.split() == ["all", "1", "0", "1", "1"]
    assert failure == f"{second.plan.name} failed: it broke"


def test_a_full_disk_does_not_stop_a_grid(runs, monkeypatch, capsys):
    one = Grid("full", [quick()])
    one.write()
    before = one.file.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    one.end(one.entries[0], Outcome(1.0))
    assert f"No space left on device: '{one.file}'" in capsys.readouterr().err
    assert one.file.read_bytes() == before


@pytest.fixture
def distributed(monkeypatch):
    """The package, so that its ``wait`` can be replaced."""
    import distributed

    monkeypatch.setattr(distributed, "wait", lambda *_, **__: None)
    return distributed


class FakeFuture:
    def __init__(self, outcome):
        self.outcome = outcome

    def done(self):
        return self.outcome is not None

    def cancelled(self):
        return self.outcome == "forgotten"

    def exception(self):
        return self.outcome if isinstance(self.outcome, Exception) else None

    def result(self):
        return self.outcome


class FakeClient:
    """A client of Dask whose runs end at once with ``outcome``, or never."""

    def __init__(self, outcome=None):
        self.outcome, self.keys = outcome, []

    def submit(self, *_, key, **__):
        self.keys.append(key)
        return FakeFuture(self.outcome)

    def nthreads(self):
        return {}

    def as_current(self):
        return nullcontext()


def run_with(client, monkeypatch, *methods, **options):
    monkeypatch.setattr(grid, "connect", lambda *_: nullcontext(client))
    return grid.run_grid("alone", [quick(method) for method in methods], **options)


def test_without_a_worker_it_ends_some_day(runs, monkeypatch, distributed):
    """As where a machine has no memory left for another process."""
    monkeypatch.setattr(grid, "ALONE", 0.2)
    assert run_with(FakeClient(), monkeypatch, "tv").stopped == "for 0 s no worker process could be started"


def test_a_scheduler_that_forgot_a_run_is_lost(runs, monkeypatch, distributed):
    ended = run_with(FakeClient("forgotten"), monkeypatch, "tv", scheduler="tcp://somewhere:1")
    assert ended.stopped == "the connection to the scheduler was lost (the scheduler forgot the run)"
    assert len(ended.open()) == 1


def test_an_unforeseen_exception_is_the_failure_of_its_run(runs, monkeypatch, distributed):
    client = FakeClient(RuntimeError("a\nb"))
    ended = run_with(client, monkeypatch, "tv", "kl")
    assert list(ended.errors().values()) == ["RuntimeError: a b"] * 2
    assert [digest for _, digest in client.keys] == [plan(quick(m)).digest for m in ("tv", "kl")]


def test_terminated_it_says_how_to_go_on(runs, monkeypatch):
    """As by a batch system whose time is up."""
    monkeypatch.setattr(grid, "connect", lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    before = signal.getsignal(signal.SIGTERM)
    said = fdiv("grid", "main", "--mode", "quick", "--only", "method=tv", "dataset=mnist")
    assert (said.code, said.err) == (130, "fdiv: stopped; call again to go on from the checkpoints\n")
    assert re.search(r"^all +0 +0 +0 +6$", said.out, re.M), said.out
    assert signal.getsignal(signal.SIGTERM) == before


def test_workers_have_their_share_of_the_cores(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(grid, "usable_cores", lambda: 8)
    monkeypatch.setattr(grid, "_gpus", list)
    assert (grid.local_workers(), grid.threads_each(4), grid.threads_each(16)) == (4, 2, 1)
    monkeypatch.setattr(grid, "_gpus", lambda: ["2", "5"])
    assert grid.local_workers() == 2


@pytest.mark.parametrize("stop", [OSError("gone"), KeyboardInterrupt()])
def test_a_run_that_finished_before_anybody_heard_of_it_is_finished(runs, short, monkeypatch, stop):
    first, second = quick("tv"), quick("ce")

    def work(*_):
        train_here(first, str(runs))
        raise stop

    monkeypatch.setattr(grid, "connect", lambda *_: nullcontext())
    monkeypatch.setattr(grid, "_work", work)
    ended = grid.run_grid("a", [first, second])
    assert [entry.state for entry in ended.entries] == ["finished", "not finished"]
    assert pd.read_csv(ended.file)["state"].tolist() == ["finished", "not finished"]


def test_an_address_without_a_scheduler_is_one_sentence(runs):
    import dask
    import distributed  # noqa: F401 (it brings its settings)

    with socket.socket() as free, dask.config.set({"distributed.comm.timeouts.connect": "0.2s"}):
        free.bind(("127.0.0.1", 0))
        for address in ("nonsense", f"tcp://127.0.0.1:{free.getsockname()[1]}"):
            said = fdiv("grid", "clean", "--only", "dataset=mnist", "--plain", "--scheduler", address)
            assert (said.code, said.out) == (2, "")
            assert re.fullmatch(f"fdiv: no Dask scheduler answers at '{address}': .+\n", said.err), said.err


# One grid, on a cluster of its own.


def where(experiment, runs):
    """What a worker sees, as the outcome of a run."""
    import distributed

    worker = distributed.get_worker()
    names = ("CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS")
    seen = [worker.scheduler.address.split(":")[0], *(os.environ.get(name) for name in names)]
    return Outcome(1.0, " ".join(map(str, [*seen, signal.getsignal(signal.SIGINT).name])))


@pytest.mark.kernel
def test_local_workers_are_encrypted_and_have_their_gpu_and_threads(runs, monkeypatch):
    """What a worker sees comes back as the error of its run."""
    monkeypatch.setattr(grid, "_gpus", lambda: ["7"])
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    ended = grid.run_grid("seen", [quick()], workers=1, execute=where)
    assert list(ended.errors().values()) == ["tls 7 1 SIG_IGN"]


def test_finished_runs_are_skipped_and_shared_with_another_grid(runs, short, monkeypatch):
    """One run is there, the other has half a result from a disk that was full and a foreign checkpoint."""
    done, broken = quick("tv"), quick("kl")
    run_experiment(done, plan(done).folder)
    plan(broken).folder.mkdir(parents=True)
    (plan(broken).folder / "result.json").write_text('{"dataset": "digits", "noi')
    (plan(broken).folder / "kl.pt").write_text("no checkpoint")
    (plan(broken).folder / ".kl.pt.12-ab.tmp").write_text("left by a killed process")

    def here(*_, **__):
        client = FakeClient()
        client.submit = lambda execute, *given, **_: FakeFuture(execute(*given))
        return nullcontext(client)

    import distributed

    monkeypatch.setattr(distributed, "wait", lambda *_, **__: None)
    monkeypatch.setattr(grid, "connect", here)
    ended = grid.run_grid("small", [done, broken])
    assert [entry.state for entry in ended.entries] == ["skipped", "failed"]
    assert "kl.pt is no readable checkpoint" in ended.entries[1].error
    (plan(broken).folder / "kl.pt").unlink()
    ended = grid.run_grid("small", [done, broken])
    assert [entry.state for entry in ended.entries] == ["skipped", "finished"]
    assert not list(plan(broken).folder.glob(".*.tmp"))
    monkeypatch.setattr(grid, "connect", lambda *_: pytest.fail("there was nothing to do"))
    other = grid.run_grid("other", [quick(m, dataset="fashion-mnist") for m in ("tv", "kl")])
    assert [entry.state for entry in other.entries] == ["skipped", "skipped"]
    assert list(pd.read_csv(other.file)["dataset"]) == ["fashion-mnist"] * 2
