"""Claims, parameters, seeds and the look at the machine."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from fdiv.course.lesson import (
    ClaimError,
    assigned_literals,
    check_parameters,
    claim,
    refuse_unknown,
    seed_everything,
    show_environment,
)
from fdiv.device import pick_device
from fdiv.experiments.recipes import MODES, check_mode


@pytest.mark.parametrize("true", [True, np.True_, torch.tensor(True)])
def test_a_true_claim_prints_its_sentence(true, capsys):
    claim("water is wet", true)
    assert capsys.readouterr().out == "ok  water is wet\n"


@pytest.mark.parametrize("false", [False, np.False_, torch.tensor(False)])
def test_a_false_claim_raises_with_its_sentence(false, capsys):
    with pytest.raises(ClaimError, match="claim does not hold: water is dry"):
        claim("water is dry", false)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("array", [np.array([True]), torch.ones(2, dtype=torch.bool)])
def test_a_claim_about_an_array_must_say_all_or_any(array):
    with pytest.raises(TypeError, match=r"\.all\(\) or \.any\(\)"):
        claim("all of them", array)


@pytest.mark.parametrize(
    "neither", [float("nan"), np.float64("nan"), torch.tensor(1), [False], "False", None, 1]
)
def test_a_claim_takes_only_what_is_true_or_false(neither):
    with pytest.raises(TypeError, match=r"the claim 'x' got .*, not True or False"):
        claim("x", neither)


def test_modes():
    assert [check_mode(mode) for mode in MODES] == ["quick", "laptop", "paper"]
    with pytest.raises(
        ValueError, match=r"MODE is 'fast', which is not one of 'quick' .* 'laptop' .* 'paper'"
    ):
        check_mode("fast")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"MODE": "Quick"}, "MODE is 'Quick'"),
        ({"MODE": 3}, "MODE is 3"),
        ({"SEED": -1}, "SEED is -1, which is not a whole number"),
        ({"SEED": 1.5}, "SEED is 1.5"),
        ({"SEED": True}, "SEED is True"),
        ({"SEED": "1"}, "SEED is '1'"),
    ],
)
def test_a_bad_parameter_is_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        check_parameters(**parameters)


def test_choices_are_named():
    check_parameters(MODE="quick", SEED=0, NOISE="low", choices={"NOISE": ["low", "high"]})
    with pytest.raises(ValueError, match="NOISE is 'mid', which is not one of 'low', 'high'"):
        check_parameters(NOISE="mid", choices={"NOISE": ["low", "high"]})


def test_an_unknown_name_is_refused_with_a_guess():
    refuse_unknown(["SEED"], ["MODE", "SEED"])
    with pytest.raises(ValueError, match=r"no parameter 'MOED' \(did you mean MODE\?\); it has MODE, SEED"):
        refuse_unknown(["MOED"], ["MODE", "SEED"])
    with pytest.raises(ValueError, match=r"no parameter 'mode' .did you mean MODE"):
        refuse_unknown(["mode"], ["MODE", "SEED"])


def test_a_parameters_cell_holds_literals_only():
    assert assigned_literals("A = 1  # one\nB = 'x'\nC = [-1.5, None]") == {
        "A": 1,
        "B": "x",
        "C": [-1.5, None],
    }
    with pytest.raises(ValueError, match="parameter B is not a literal: A \\* 2"):
        assigned_literals("A = 1\nB = A * 2")
    with pytest.raises(ValueError, match="only assignments, not: import os"):
        assigned_literals("import os")


def test_seeding_repeats_every_generator():
    def draw():
        seed_everything(3)
        return np.random.rand(), torch.rand(1).item()  # noqa: NPY002

    assert draw() == draw()


def test_the_report_of_the_environment_names_the_packages_and_the_device(capsys):
    show_environment()
    printed = capsys.readouterr().out
    assert "torch " in printed
    assert "jupyterlab" in printed
    assert "FAIL" not in printed
    assert str(pick_device()) in printed


def test_the_device_can_be_chosen_and_a_bad_one_is_named(monkeypatch):
    monkeypatch.setenv("FDIV_DEVICE", "cpu")
    assert pick_device() == torch.device("cpu")
    monkeypatch.setenv("FDIV_DEVICE", "tpu9")
    with pytest.raises(ValueError, match=r"FDIV_DEVICE='tpu9' cannot be used here .* try 'cpu', 'cuda'"):
        pick_device()


def test_importing_the_package_is_quiet_and_draws_nothing():
    """The package alone needs neither jupyter nor plotly to be loaded."""
    code = "import sys, fdiv; print(sorted({'plotly', 'ipywidgets', 'papermill'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")
