"""A new dataset is one row, a new method is one row: both train, grid, tabulate and draw without an edit."""

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

TOYS = Path(__file__).parent / "toys" / "toy_rows.py"


@pytest.fixture
def command(tmp_path):
    """The ``fdiv`` command in a process that knows the toy rows, with runs and results of its own."""

    def run(*arguments):
        variables = {"FDIV_PLUGINS": str(TOYS), "FDIV_RUNS": str(tmp_path / "runs"), "FDIV_STATIC": "1"}
        done = subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            env=os.environ | variables,
            cwd=tmp_path,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.mark.slow
def test_toys_train_and_fill_a_grid(command, tmp_path):
    said = command("-m", "fdiv", "train", "Toy Blobs", "--noise", "uniform-0.3", "--method", "focal")
    assert "accuracy_noisy_objective" in said
    mine = tmp_path / "mine.yml"
    mine.write_text("dataset: toy-blobs\nnoise: uniform-0.3\nmethod: [focal, tv]\nmode: laptop\n")
    said = command("-m", "fdiv", "grid", str(mine), "--workers", "1")
    assert "_tv_" in said
    grid = pd.read_csv(tmp_path / "runs" / "mine" / "grid.csv").set_index("method")
    assert grid["state"].to_dict() == {"focal": "skipped", "tv": "finished"}


DRAW = """
from fdiv.course import curves_figure
from fdiv.experiments import Experiment, titled, run_experiment
from fdiv.learning import METHODS
import pandas as pd
what = Experiment(dataset="toy-blobs", noise="pair-0.2", method="focal")
run, result = run_experiment(what)
row = titled(pd.DataFrame([result])).iloc[0]
lines = {"focal": run.history["test_accuracy"]}
figure = curves_figure(lines, run.history["epoch"], title="", x_title="", y_title="")
print(row["way"], "|", row["dataset"], "|", figure.data[0].line.color, "|", result["accuracy_last"])
"""


@pytest.mark.slow
def test_toys_are_tabulated_and_drawn(command):
    way, dataset, colour, accuracy = command("-c", DRAW).strip().split(" | ")
    assert (way, dataset, colour) == ("Focal loss", "toy-blobs", "#AA4499")
    assert float(accuracy) > 0.6


def test_a_plugin_that_cannot_be_imported_is_one_sentence(tmp_path):
    (tmp_path / "broken.py").write_text("import nowhere")
    done = subprocess.run(
        [sys.executable, "-c", "import fdiv"],
        env=os.environ | {"FDIV_PLUGINS": str(tmp_path / "broken.py")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "FDIV_PLUGINS names" in done.stderr
    assert "No module named 'nowhere'" in done.stderr
