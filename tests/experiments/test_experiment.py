"""From a dataset's name to a result with its provenance, and what is collected from many of them."""

import errno
import math
import os
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from fdiv import files
from fdiv.__main__ import main
from fdiv.datasets import CATALOGUE, noisy_data
from fdiv.experiments import experiment, results
from fdiv.experiments.experiment import Experiment, plan, run_experiment, stored_result
from fdiv.files import runs_folder
from fdiv.noise import paper_noise

QUICK_TV = Experiment(dataset="digits", noise="uniform-low", method="tv")


@pytest.fixture(autouse=True)
def runs(monkeypatch, tmp_path):
    """Where shared stages are kept."""
    monkeypatch.setenv("FDIV_RUNS", str(tmp_path / "all runs"))
    return tmp_path / "all runs"


@pytest.fixture
def short(monkeypatch):
    """Every recipe in three epochs."""
    full = experiment.recipe

    def shortened(*arguments, **options):
        settings = full(*arguments, **options)
        return replace(settings, schedule=((3, settings.schedule[0][1]),))

    monkeypatch.setattr(experiment, "recipe", shortened)


# ------------------------------------------------------------------ the run


def test_a_result_says_what_was_run_and_where(short, tmp_path):
    run, result = run_experiment(QUICK_TV, tmp_path)
    assert results.read_result(tmp_path / "result.json") == result
    history = pd.read_csv(tmp_path / "history.csv")
    assert len(history) == len(run.history) == result["epochs"] == 3
    assert (result["dataset"], result["noise"], result["method"], result["seed"]) == (
        "digits",
        "uniform-low",
        "tv",
        0,
    )
    for rule, column in (("last", "accuracy_last"), ("oracle", "accuracy_oracle")):
        assert result[column] == run.accuracy(rule)
    assert result["accuracy_noisy_objective"] == run.accuracy("noisy-objective")
    assert {"commit", "fdiv", "torch", "python", "device", "threads", "date", "seconds"} <= result.keys()


def epochs(experiment, folder):
    """How many epochs were trained, the run and its result."""
    rows = []
    run, result = run_experiment(experiment, folder, rows.append)
    return len(rows), run, result


def same(one, other):
    return all(
        torch.equal(one.weights[rule][name], tensor)
        for rule in other.weights
        for name, tensor in other.weights[rule].items()
    )


def test_a_finished_run_is_returned_as_it_is(short, tmp_path, monkeypatch):
    """With its model, its history and the provenance of who trained it; not even the data are read."""
    flc = replace(QUICK_TV, method="flc")
    _, one, result = epochs(flc, tmp_path / "flc")
    before = {path: path.read_bytes() for path in (tmp_path / "flc").iterdir()}
    assert sorted(path.name for path in before) == [".lock", "history.csv", "result.json", "run.pt"]
    monkeypatch.setattr(experiment, "provenance", lambda: {"commit": "a later one"})
    monkeypatch.setattr(experiment, "noisy_data", None)
    torch.manual_seed(4)
    expected = torch.rand(1)
    torch.manual_seed(4)
    trained, two, again = epochs(flc, tmp_path / "flc")
    assert torch.equal(torch.rand(1), expected)
    assert trained == 0
    assert again == result == stored_result(flc, tmp_path / "flc")
    assert before == {path: path.read_bytes() for path in (tmp_path / "flc").iterdir()}
    assert one.history.equals(two.history)
    assert one.summary().equals(two.summary())
    assert one.diagnosis == two.diagnosis
    np.testing.assert_array_equal(one.T, two.T)
    assert same(one, two)
    images = torch.rand(5, 1, 8, 8)
    assert torch.equal(one.model(images), two.model(images))
    assert not two.model.training


@pytest.mark.parametrize("left", [lambda text: text[: len(text) // 2], lambda text: "[]", lambda text: ""])
def test_half_a_result_is_none(short, tmp_path, left):
    _, _, result = epochs(QUICK_TV, tmp_path)
    path = tmp_path / "result.json"
    path.write_text(left(path.read_text()))
    assert stored_result(QUICK_TV, tmp_path) is None
    with pytest.warns(UserWarning, match=r"result\.json is not .*; it is being run again now$"):
        trained, _, again = epochs(QUICK_TV, tmp_path)
    assert trained == 3
    assert results.read_result(path) == again
    assert again["accuracy_last"] == result["accuracy_last"]


@pytest.mark.parametrize(
    "other", [{"noise": "sparse-low"}, {"seed": 1}, {"method": "js"}, {"noise": "uniform-0.4"}]
)
def test_a_result_of_something_else_is_none_and_is_not_overwritten(short, tmp_path, other):
    epochs(replace(QUICK_TV, **other), tmp_path)
    before = (tmp_path / "result.json").read_bytes()
    assert stored_result(QUICK_TV, tmp_path) is None
    ((name, value),) = other.items()
    said = f"{tmp_path} holds a run with {name} {value!r}: choose another folder, or delete it"
    with pytest.raises(ValueError, match=re.escape(said)):
        epochs(QUICK_TV, tmp_path)
    assert (tmp_path / "result.json").read_bytes() == before


def test_what_a_run_does_not_use_does_not_make_it_another(short, tmp_path):
    _, _, result = epochs(replace(QUICK_TV, transition="true"), tmp_path)
    assert epochs(QUICK_TV, tmp_path)[0] == 0
    assert stored_result(QUICK_TV, tmp_path) == result


def test_a_run_by_another_recipe_is_another_run(short, tmp_path, monkeypatch):
    """With a folder of its own, and it overwrites no other. A new source alone changes nothing."""
    epochs(QUICK_TV, tmp_path)
    shortened, before = experiment.recipe, plan(QUICK_TV)
    monkeypatch.setattr(experiment, "recipe", lambda *a, **o: replace(shortened(*a, **o), source="new"))
    assert epochs(QUICK_TV, tmp_path)[0] == 0
    monkeypatch.setattr(experiment, "recipe", lambda *a, **o: replace(shortened(*a, **o), batch_size=32))
    assert stored_result(QUICK_TV, tmp_path) is None
    assert plan(QUICK_TV).folder != before.folder
    with pytest.raises(ValueError, match="holds another run: choose another folder, or delete it"):
        epochs(QUICK_TV, tmp_path)


def test_the_place_of_a_run_is_judged_by_all_that_lies_in_it(short, tmp_path):
    """Where the result is unreadable the weights tell whose it is; an unfinished run counts too."""
    epochs(QUICK_TV, tmp_path)
    (tmp_path / "result.json").write_text("{")
    weights = (tmp_path / "run.pt").read_bytes()
    with pytest.raises(ValueError, match="holds another run: choose another folder"):
        epochs(replace(QUICK_TV, method="kl"), tmp_path)
    assert (tmp_path / "run.pt").read_bytes() == weights
    unfinished = tmp_path / "unfinished"
    unfinished.mkdir()
    (unfinished / "tv.pt").write_bytes(b"a checkpoint")
    with pytest.raises(ValueError, match="holds an unfinished run of 'tv': choose another folder"):
        epochs(replace(QUICK_TV, method="kl"), unfinished)


@pytest.mark.parametrize("position", [0.2, 0.5, 0.8])
def test_a_flipped_bit_in_the_weights_is_seen(short, tmp_path, position):
    _, one, _ = epochs(QUICK_TV, tmp_path)
    damaged = bytearray((tmp_path / "run.pt").read_bytes())
    damaged[int(position * len(damaged))] ^= 4
    (tmp_path / "run.pt").write_bytes(damaged)
    trained, two, _ = epochs(QUICK_TV, tmp_path)
    assert trained == 3
    assert same(one, two)


def test_a_result_without_its_weights_is_trained_again(short, tmp_path):
    _, one, _ = epochs(QUICK_TV, tmp_path)
    (tmp_path / "run.pt").write_bytes((tmp_path / "run.pt").read_bytes()[:500])
    assert stored_result(QUICK_TV, tmp_path)  # who wants the number only has it
    trained, two, _ = epochs(QUICK_TV, tmp_path)
    assert trained == 3
    assert same(one, two)


def test_a_full_disk_is_one_sentence_about_the_file_and_loses_nothing(short, tmp_path):
    """Really full: no file may grow beyond half a checkpoint."""
    resource = pytest.importorskip("resource")
    epochs(QUICK_TV, tmp_path / "whole")
    size = (tmp_path / "whole" / "run.pt").stat().st_size
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, limits[1]))
    try:
        with pytest.raises(OSError, match=r"File too large: '.*tv\.pt'$"):
            epochs(QUICK_TV, tmp_path / "full")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert {path.name for path in (tmp_path / "full").iterdir()} == {".lock"}


@pytest.mark.slow
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_what_stops_in_the_middle_of_a_write_goes_on_later(short, tmp_path, monkeypatch, error):
    """A full disk and Ctrl-C, at every file that is written: what is there is whole, and the end the same."""
    _, undisturbed, expected = epochs(QUICK_TV, tmp_path / "undisturbed")
    replaced = os.replace
    for failing in range(6):  # three checkpoints, the run, the history, the result
        folder, calls = tmp_path / f"{error!r:.4} {failing}", iter(range(100))

        def failing_replace(source, target, failing=failing, calls=calls):
            if next(calls) == failing:
                raise error
            replaced(source, target)

        monkeypatch.setattr(files.os, "replace", failing_replace)
        with pytest.raises(type(error)):
            epochs(QUICK_TV, folder)
        monkeypatch.setattr(files.os, "replace", replaced)
        assert not (folder / "result.json").exists()
        assert {path.name for path in folder.iterdir()} <= {".lock", "tv.pt", "run.pt", "history.csv"}
        trained, run, result = epochs(QUICK_TV, folder)
        assert trained == max(0, 3 - failing)
        assert same(run, undisturbed)
        assert result["accuracy_noisy_objective"] == expected["accuracy_noisy_objective"]


TWICE = """
import sys
from dataclasses import replace
from fdiv.experiments import experiment

full = experiment.recipe
experiment.recipe = lambda *a, **o: replace(full(*a, **o), schedule=((60, 1e-3),))
what = experiment.Experiment(dataset="digits", noise="uniform-low", method="tv")
rows = []
_, result = experiment.run_experiment(what, sys.argv[1], rows.append)
print(len(rows), result["accuracy_last"], flush=True)
"""


@pytest.mark.slow
def test_two_processes_train_one_experiment_once(tmp_path):
    command = [sys.executable, "-c", TWICE, str(tmp_path / "both")]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    printed = [process.communicate()[0].split() for process in processes]
    assert sorted(int(rows) for rows, _ in printed) == [0, 60]
    assert printed[0][1] == printed[1][1]


def test_folders(monkeypatch, tmp_path, runs):
    assert runs_folder() == runs
    planned = plan(QUICK_TV)
    assert planned.folder == runs / "train" / f"digits_uniform-low_tv_quick_seed0_{planned.digest[:8]}"
    monkeypatch.delenv("FDIV_RUNS")
    assert runs_folder() == files.ROOT / "runs"
    assert stored_result(QUICK_TV, tmp_path) is None


def test_one_run_has_one_folder_however_it_is_spelt():
    spelt = Experiment(dataset="MNIST", noise="Uniform_High", method="Total Variation", mode="laptop")
    spelt = replace(spelt, correction="Exact", transition="True", variant="Paper")
    ours = spelt.canonical()
    assert plan(ours).name.startswith("mnist_uniform-high_tv_laptop_seed0_exact_T-true_")
    assert ours.canonical() == ours
    assert plan(spelt).folder == plan(ours).folder
    assert replace(ours, method="ce", correction="none").canonical().transition == "estimated", "needs no T"


@pytest.mark.parametrize("seed", [-1, 1.0, True, "0"])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(ValueError, match=f"seed {seed!r} is not a whole number from 0 up"):
        run_experiment(replace(QUICK_TV, seed=seed))
    assert type(replace(QUICK_TV, seed=np.int64(1)).canonical().seed) is int, "as result.json needs it"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wanted", "dataset", "noise"),
    [
        ({"dataset": "fashion-mnist", "noise": "sparse-low"}, "digits", "sparse-low"),
        ({"dataset": "cifar-10", "noise": "human-worse"}, "digits", "instance-0.4"),
        ({"dataset": "cifar-100", "noise": "random-0.5"}, "paired-digits", "random-0.5"),
        ({"dataset": "clothing1m", "noise": "human"}, "digits", "instance-0.4"),
        ({"dataset": "cifar-10", "noise": "uniform-0.450"}, "digits", "uniform-0.45"),
    ],
)
def test_quick_means_the_stand_in(short, wanted, dataset, noise):
    _, result = run_experiment(Experiment(method="js", **wanted))
    assert (result["dataset"], result["noise"]) == (dataset, noise)


def test_a_split_that_is_noisy_by_nature_is_read_as_it_is(short, monkeypatch):
    split = replace(noisy_data("digits", "uniform-low").split, name="clothing1m", train_clean_labels=None)
    toy = replace(CATALOGUE["clothing1m"], name="toy-clothes", aliases=(), split=lambda: split, stand_in=None)
    small = experiment.recipe("digits", "tv")
    monkeypatch.setattr(experiment, "recipe", lambda *a, **o: replace(small, schedule=((2, 1e-3),)))
    wanted = Experiment(dataset="toy-clothes", noise="human", method="flc", mode="paper")
    with CATALOGUE.registered(toy):
        run, result = run_experiment(wanted)
        with pytest.raises(
            ValueError, match="nobody knows the true T of toy-clothes: choose transition 'esti"
        ):
            run_experiment(replace(wanted, transition="true"))
    assert run.T.shape == (10, 10)
    assert (result["dataset"], result["noise"]) == ("toy-clothes", "human")
    assert math.isnan(result["memorised_last"])


def test_clean_labels_are_trained_by_their_own_recipe(monkeypatch):
    asked = []

    def spy(*arguments, **options):
        asked.append(options["clean"])
        raise ValueError("enough")

    monkeypatch.setattr(experiment, "recipe", spy)
    for noise in ("clean", "uniform-low"):
        with pytest.raises(ValueError, match="enough"):
            run_experiment(replace(QUICK_TV, noise=noise))
    assert asked == [True, False]


def test_the_true_transition_matrix_is_used_on_request(short):
    wanted = Experiment(dataset="digits", noise="sparse-low", method="flc", transition="true")
    run, result = run_experiment(wanted)
    np.testing.assert_array_equal(run.T, paper_noise("mnist", "sparse-low"))
    assert result["transition"] == "true"
    with pytest.raises(ValueError, match="no transition is called 'known'; choose from estimated, true"):
        run_experiment(Experiment(dataset="digits", noise="clean", method="ce", transition="known"))


def test_identities_differ_exactly_where_runs_do():
    quick = {"dataset": "digits", "noise": "uniform-low", "method": "tv"}
    different = [
        Experiment(**quick),
        Experiment(**quick | {"noise": "sparse-low"}),
        Experiment(**quick | {"method": "js"}),
        Experiment(**quick, seed=1),
        Experiment(**quick, correction="exact"),
        Experiment(**quick, correction="paper"),
        Experiment(**quick, correction="exact", transition="true"),
        Experiment(**quick | {"method": "flc"}),
        Experiment(**quick | {"method": "flc"}, transition="true"),
        Experiment(**quick | {"dataset": "mnist"}, mode="laptop"),
        Experiment(**quick | {"dataset": "fashion-mnist"}, mode="laptop"),
        Experiment(**quick | {"dataset": "mnist"}, mode="paper"),
        Experiment(**quick | {"dataset": "mnist"}, mode="paper", variant="authors-code"),
    ]
    for of in (lambda one: one.digest, lambda one: one.name):
        assert len({of(plan(one)) for one in different}) == len(different)
    alike = [
        Experiment(**quick, mode="laptop"),
        Experiment(**quick | {"dataset": "mnist"}),
        Experiment(**quick | {"dataset": "fashion-mnist"}),
        Experiment(**quick | {"dataset": "cifar-10"}),
        Experiment(**quick, transition="true"),
    ]
    assert {plan(one).name for one in alike} == {plan(different[0]).name}


# ------------------------------------------------------------------ the command


@pytest.fixture
def store(monkeypatch, tmp_path):
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results")


def test_train_and_results_commands(short, store, tmp_path, capsys):
    folder = tmp_path / "runs" / "a"
    arguments = ["--mode", "quick", "--noise", "sparse-low", "--method", "ce", "--out", str(folder)]
    assert main(["train", "digits", *arguments]) == 0
    printed = capsys.readouterr().out
    assert printed.count("validation_accuracy") == 3
    assert "accuracy_noisy_objective" in printed
    assert main(["results", str(tmp_path / "runs")]) == 0
    assert "1 results in data/results/accuracies.csv" in capsys.readouterr().out
    assert list(results.our_accuracies()["method"]) == ["ce"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--noise", "unifrom-low"],
            "no digits noise setting is called 'unifrom-low' (did you mean 'uniform-low'?)",
        ),
        (["--method", "total"], "no method is called 'total'"),
        (["--mode", "slow"], "MODE is 'slow'"),
        (["--variant", "mine"], "no variant is called 'mine'"),
    ],
)
def test_bad_arguments_are_one_sentence(arguments, message, tmp_path, capsys):
    assert main(["train", "digits", "--mode", "quick", *arguments, "--out", str(tmp_path / "x")]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "x").exists()
