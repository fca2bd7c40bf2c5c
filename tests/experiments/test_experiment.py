"""From a dataset's name to a result with its provenance, and what is collected from many of them."""

import errno
import json
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

from fdiv import datasets, files
from fdiv.__main__ import main
from fdiv.datasets import Dataset
from fdiv.experiments import experiment, results
from fdiv.experiments.experiment import (
    NOISE_PATTERNS,
    QUICK_DATA,
    QUICK_NOISE,
    ROBUSTNESS_RATES,
    Experiment,
    canonical,
    check_noise,
    experiment_folder,
    noise_settings,
    noisy_data,
    run_experiment,
    stored_result,
)
from fdiv.experiments.recipes import DATASETS
from fdiv.files import runs_folder
from fdiv.noise import noise_card, paper_noise

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


# ------------------------------------------------------------------ the noise


def test_noise_settings():
    assert noise_settings("digits") == noise_settings("mnist")
    assert noise_settings("mnist")[0] == "clean"
    assert len(noise_settings("fashion-mnist")) == 7
    assert noise_settings("paired-digits") == ("clean", "uniform", "sparse", "random-0.2", "random-0.5")
    people = [name for name in noise_settings("cifar-10") if name.startswith("human-")]
    assert people == [
        f"human-{which}" for which in ("aggregate", "random-1", "random-2", "random-3", "worse")
    ]
    assert noise_settings("cifar-100")[-1] == "human-fine"
    assert noise_settings("clothing1m") == ("human",)


@pytest.mark.parametrize(
    ("dataset", "setting", "message"),
    [
        ("digits", "sparse", "no digits noise setting is called 'sparse'.*random-0.7, uniform-R, instance-R"),
        ("digits", "uniform-R", "'uniform-R' needs a number for R, such as uniform-0.45"),
        ("digits", "uniform-0.9", "'uniform-0.9' must have a rate of at least 0 and below 0.9"),
        ("cifar-100", "uniform-0.99", "'uniform-0.99' must have a rate of at least 0 and below 0.99"),
        ("mnist", "instance-1", "'instance-1' must have a rate of at least 0 and below 1"),
        ("mnist", "human-worse", "no mnist noise setting is called 'human-worse'"),
        ("clothing1m", "uniform-0.2", "no clothing1m noise setting is called .*; choose from human$"),
        ("svhn", "clean", "no dataset is called 'svhn'"),
    ],
)
def test_bad_noise_is_one_sentence(dataset, setting, message):
    with pytest.raises(ValueError, match=message):
        check_noise(dataset, setting)


def test_names_of_noise_are_canonical():
    assert check_noise("digits", "Uniform-0.450") == "uniform-0.45"
    assert check_noise("mnist", "instance-.4") == "instance-0.4"
    assert check_noise("mnist", "Sparse High") == "sparse-high"
    assert check_noise("digits", "uniform-0.0") == "uniform-0"
    assert set(NOISE_PATTERNS) == {"uniform-R", "instance-R"}


def test_the_rates_of_the_figure():
    """Uniform with every e_j = 0, 0.01, ..., 0.09."""
    assert ROBUSTNESS_RATES == (0.0, 0.09, 0.18, 0.27, 0.36, 0.45, 0.54, 0.63, 0.72, 0.81)
    for step, rate in enumerate(ROBUSTNESS_RATES):
        T = noisy_data("digits", f"uniform-{rate:g}").T
        np.testing.assert_allclose(T, paper_noise("cifar-10", f"figure-0.0{step}"), atol=1e-12)


def wrong(data):
    return (data.split.train_labels != data.split.train_clean_labels).float().mean().item()


def test_uniform_noise_of_a_rate(monkeypatch):
    """A rate is met on few examples, where counts would be cut to whole numbers, and exactly on many."""
    for dataset in ("digits", "paired-digits"):
        for rate in (0.18, 0.45):
            error = math.sqrt(rate * (1 - rate) / 1000)
            assert wrong(noisy_data(dataset, f"uniform-{rate}")) == pytest.approx(rate, abs=4 * error)
    labels = torch.arange(60000) % 10
    many = Dataset("mnist", torch.zeros(60000, 1, 2, 2), labels, torch.zeros(5, 1, 2, 2), labels[:5], 10)
    monkeypatch.setattr(datasets, "load", lambda name: many)
    data = noisy_data("mnist", "uniform-0.45")
    everything = torch.cat([data.split.train_labels, data.split.validation_labels])
    assert (everything != labels).sum() == 0.45 * 60000
    assert "exact counts" in data.note


def test_instance_dependent_noise_of_a_rate():
    data = noisy_data("digits", "instance-0.4")
    assert wrong(data) == pytest.approx(0.4, abs=0.05)
    assert data.T.shape == (10, 10)
    np.testing.assert_allclose(data.T.sum(1), 1)
    assert 1 - np.diag(data.T).mean() == pytest.approx(0.4, abs=0.05)


def test_human_labels_come_with_the_matrix_they_realise(monkeypatch):
    clean = torch.arange(200) % 10
    fake = Dataset("cifar-10", torch.zeros(200, 3, 4, 4), clean, torch.zeros(5, 3, 4, 4), clean[:5], 10)
    people = torch.where(torch.arange(200) < 50, (clean + 1) % 10, clean)
    asked = []

    def human_labels(dataset, which, given):
        asked.append((dataset, which))
        assert given is clean
        return people

    monkeypatch.setattr(datasets, "load", lambda name: fake)
    monkeypatch.setattr(datasets, "human_labels", human_labels)
    data = noisy_data("cifar-10", "human-random-2", validation=20)
    assert asked == [("cifar-10", "random-2")]
    assert torch.equal(data.split.train_labels, people[:180])
    np.testing.assert_allclose(np.diag(data.T), 0.75)


def test_the_stand_ins_have_every_noise_of_what_they_stand_for():
    for dataset in DATASETS:
        for setting in noise_settings(dataset):
            quick = QUICK_NOISE.get(dataset, {}).get(setting, setting)
            assert check_noise(QUICK_DATA[dataset], quick) == quick
    np.testing.assert_allclose(
        noisy_data("digits", QUICK_NOISE["cifar-10"]["random-0.5"]).T, paper_noise("cifar-10", "random-0.5")
    )


@pytest.mark.parametrize("setting", noise_settings("digits")[1:])
def test_digits_get_the_noise_of_mnist(setting):
    data = noisy_data("digits", setting)
    np.testing.assert_array_equal(data.T, paper_noise("mnist", setting))
    card = noise_card(data.split.train_clean_labels, data.split.train_labels)
    assert abs(card.realised_T - data.T).max() < 0.13
    again = noisy_data("digits", setting)
    assert (again.split.train_labels == data.split.train_labels).all()


def test_clean_is_clean():
    data = noisy_data("digits", "clean")
    assert (data.split.train_labels == data.split.train_clean_labels).all()
    assert (np.eye(10) == data.T).all()


# ------------------------------------------------------------------ the run


def test_a_result_says_what_was_run_and_where(short, tmp_path):
    run, result = run_experiment(QUICK_TV, tmp_path)
    assert json.loads((tmp_path / "result.json").read_text()) == result
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
    trained, _, again = epochs(QUICK_TV, tmp_path)
    assert trained == 3
    assert json.loads(path.read_text()) == again
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


def test_a_result_of_another_recipe_is_none(short, tmp_path, monkeypatch):
    epochs(QUICK_TV, tmp_path)
    shortened = experiment.recipe
    monkeypatch.setattr(experiment, "recipe", lambda *a, **o: replace(shortened(*a, **o), batch_size=32))
    assert epochs(QUICK_TV, tmp_path)[0] == 3
    monkeypatch.setattr(experiment, "recipe", lambda *a, **o: replace(shortened(*a, **o), source="new"))
    assert stored_result(QUICK_TV, tmp_path) is None


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


def test_two_processes_train_one_experiment_once(tmp_path):
    command = [sys.executable, "-c", TWICE, str(tmp_path / "both")]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    printed = [process.communicate()[0].split() for process in processes]
    assert sorted(int(rows) for rows, _ in printed) == [0, 60]
    assert printed[0][1] == printed[1][1]


def test_folders(monkeypatch, tmp_path, runs):
    assert runs_folder() == runs
    assert experiment_folder(QUICK_TV) == runs / "train" / "digits_uniform-low_tv_quick_seed0"
    monkeypatch.delenv("FDIV_RUNS")
    assert runs_folder() == files.ROOT / "runs"
    assert stored_result(QUICK_TV, tmp_path) is None


def test_one_run_has_one_folder_however_it_is_spelt():
    spelt = Experiment(dataset="MNIST", noise="Uniform_High", method="Total Variation", mode="laptop")
    spelt = replace(spelt, correction="Exact", transition="True", variant="Paper")
    ours = canonical(spelt)
    assert ours.name == "mnist_uniform-high_tv_laptop_seed0_exact_T-true"
    assert canonical(ours) == ours
    assert experiment_folder(spelt) == experiment_folder(ours)
    assert canonical(replace(ours, method="ce", correction="none")).transition == "estimated", "needs no T"


@pytest.mark.parametrize("seed", [-1, 1.0, True, "0"])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(ValueError, match=f"seed {seed!r} is not a whole number from 0 up"):
        run_experiment(replace(QUICK_TV, seed=seed))
    assert type(canonical(replace(QUICK_TV, seed=np.int64(1))).seed) is int, "as result.json needs it"


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


def test_clothing1m_is_read_as_it_is(short, monkeypatch):
    split = replace(noisy_data("digits", "uniform-low").split, name="clothing1m", train_clean_labels=None)
    monkeypatch.setattr(datasets, "clothing1m", lambda: split)
    small = experiment.recipe("digits", "tv")
    monkeypatch.setattr(experiment, "recipe", lambda *a, **o: replace(small, schedule=((2, 1e-3),)))
    wanted = Experiment(dataset="clothing1m", noise="human", method="flc", mode="paper")
    run, result = run_experiment(wanted)
    assert run.T.shape == (10, 10)
    assert (result["dataset"], result["noise"]) == ("clothing1m", "human")
    assert math.isnan(result["memorised_last"])
    with pytest.raises(ValueError, match="nobody knows the true T of clothing1m: choose transition 'estim"):
        run_experiment(replace(wanted, transition="true"))


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


def test_names_differ_where_experiments_do():
    variants = [
        QUICK_TV,
        Experiment(dataset="mnist", noise="uniform-low", method="tv"),
        Experiment(dataset="digits", noise="sparse-low", method="tv"),
        Experiment(dataset="digits", noise="uniform-low", method="js"),
        Experiment(dataset="digits", noise="uniform-low", method="tv", mode="paper"),
        Experiment(dataset="digits", noise="uniform-low", method="tv", seed=1),
        Experiment(dataset="digits", noise="uniform-low", method="tv", correction="exact"),
        Experiment(dataset="digits", noise="uniform-low", method="tv", correction="paper"),
        Experiment(dataset="digits", noise="uniform-low", method="tv", correction="exact", transition="true"),
        Experiment(dataset="digits", noise="uniform-low", method="flc"),
        Experiment(dataset="digits", noise="uniform-low", method="flc", transition="true"),
        Experiment(dataset="digits", noise="uniform-low", method="tv", mode="paper", variant="authors-code"),
    ]
    assert len({one.name for one in variants}) == len(variants)


# ------------------------------------------------------------------ collecting


def result(folder, **changed):
    row = dict.fromkeys(set(results.KEY) - {"correction"}, "x") | {"seed": 0, "accuracy_last": 0.5} | changed
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "result.json").write_text(json.dumps(row))


@pytest.fixture
def store(monkeypatch, tmp_path):
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results")
    return tmp_path / "results" / "accuracies.csv"


def test_collecting_adds_and_replaces(store, tmp_path):
    result(tmp_path / "runs" / "one")
    result(tmp_path / "runs" / "deep" / "two", seed=1, memorised_last=math.nan)
    assert len(results.collect(tmp_path / "runs")) == 2
    result(tmp_path / "later" / "one", accuracy_last=0.75)
    results.collect(tmp_path / "later")
    table = results.our_accuracies()
    assert table.set_index("seed")["accuracy_last"].to_dict() == {0: 0.75, 1: 0.5}
    assert set(table["correction"]) == {"none"}  # a column that older results lack


@pytest.mark.parametrize(
    ("text", "message"),
    [('{"dataset": "mn', "is not whole: delete it"), ('{"dataset": "mnist"}', "lacks noise, method, mode")],
)
def test_a_damaged_result_is_named_and_nothing_written(store, tmp_path, text, message):
    result(tmp_path / "runs" / "good")
    (tmp_path / "runs" / "bad").mkdir()
    (tmp_path / "runs" / "bad" / "result.json").write_text(text)
    with pytest.raises(ValueError, match=message):
        results.collect(tmp_path / "runs")
    assert not store.exists()


def test_collecting_nothing_is_an_error(store, tmp_path):
    with pytest.raises(ValueError, match=r"no result.json lies below"):
        results.collect(tmp_path)


# ------------------------------------------------------------------ the command


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


# ------------------------------------------------------------------ what is committed


def test_committed_results_say_where_they_come_from():
    table = results.our_accuracies()
    assert not table.duplicated(results.KEY).any()
    accuracies = table.filter(like="accuracy_")
    assert ((accuracies > 0) & (accuracies <= 1)).all(axis=None)
    assert (accuracies.le(accuracies["accuracy_oracle"], axis=0)).all(axis=None)
    for name in ("commit", "torch", "python", "device", "threads", "date", "recipe", "labels"):
        assert table[name].notna().all()
    assert not table["commit"].str.endswith("+").any(), "a number must come from a committed state"
