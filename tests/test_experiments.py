"""From a dataset's name to a result with its provenance, and what is collected from many of them."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from fdiv import experiments, results
from fdiv.__main__ import main
from fdiv.experiments import Experiment, noise_settings, noisy_data, run_experiment
from fdiv.noise import noise_card, paper_noise

QUICK_TV = Experiment(dataset="digits", noise="uniform-low", method="tv")


@pytest.fixture
def short(monkeypatch):
    """Every recipe in three epochs."""
    from dataclasses import replace

    full = experiments.recipe

    def shortened(*arguments, **options):
        settings = full(*arguments, **options)
        return replace(settings, schedule=((3, settings.schedule[0][1]),))

    monkeypatch.setattr(experiments, "recipe", shortened)


def test_noise_settings():
    assert noise_settings("digits") == noise_settings("mnist")
    assert noise_settings("mnist")[0] == "clean"
    assert len(noise_settings("fashion-mnist")) == 7
    with pytest.raises(ValueError, match="no digits noise setting is called 'sparse'"):
        noisy_data("digits", "sparse")


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


def test_a_finished_run_is_not_trained_again(short, tmp_path):
    one, _ = run_experiment(QUICK_TV, tmp_path)
    rows = []
    two, _ = run_experiment(QUICK_TV, tmp_path, on_epoch=rows.append)
    assert not rows
    assert one.history.equals(two.history)


def test_quick_means_the_digits_whatever_the_dataset(short):
    _, result = run_experiment(Experiment(dataset="fashion-mnist", noise="sparse-low", method="js"))
    assert result["dataset"] == "digits"


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
