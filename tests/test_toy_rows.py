"""A new dataset is one row, a new method is one row: both train, grid, tabulate and draw without an edit."""

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from fdiv import names

TOYS = Path(__file__).parent / "toys" / "toy_rows.py"


# Through the doors that everybody has: the command, and names of packages.
PROGRAM = """
from fdiv.__main__ import main
main(["train", "Toy Blobs", "--noise", "uniform-0.3", "--method", "focal"])
print("---")
main(["grid", "mine.yml", "--workers", "1"])
print("---")
from fdiv.course import curves_figure
from fdiv.experiments import Experiment, titled, run_experiment
import pandas as pd
what = Experiment(dataset="toy-blobs", noise="pair-0.2", method="focal")
run, result = run_experiment(what)
row = titled(pd.DataFrame([result])).iloc[0]
lines = {"focal": run.history["test_accuracy"]}
figure = curves_figure(lines, run.history["epoch"], title="", x_title="", y_title="")
print(row["way"], "|", row["dataset"], "|", figure.data[0].line.color, "|", result["accuracy_last"])
"""


@pytest.mark.slow
def test_toys_train_fill_a_grid_and_are_tabulated_and_drawn(tmp_path):
    """In a process that knows the toy rows, with runs and results of its own."""
    (tmp_path / "mine.yml").write_text(
        "dataset: toy-blobs\nnoise: uniform-0.3\nmethod: [focal, tv]\nmode: laptop\n"
    )
    variables = {"FDIV_PLUGINS": str(TOYS), "FDIV_RUNS": str(tmp_path / "runs"), "FDIV_STATIC": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=os.environ | variables, cwd=tmp_path,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    trained, filled, drawn = done.stdout.split("---\n")
    assert "accuracy_noisy_objective" in trained
    assert "_tv_" in filled
    grid = pd.read_csv(tmp_path / "runs" / "mine" / "grid.csv").set_index("method")
    assert grid["state"].to_dict() == {"focal": "skipped", "tv": "finished"}
    way, dataset, colour, accuracy = drawn.strip().split(" | ")
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


@pytest.mark.parametrize("text", ["import nowhere", "raise SystemExit('enough')", "1 / 0", "def"])
def test_the_command_tells_of_a_broken_plugin_without_a_traceback(tmp_path, text):
    (tmp_path / "broken.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "fdiv", "--version"], env=os.environ | {"FDIV_PLUGINS": "broken.py"},
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert done.stderr.startswith(f"fdiv: FDIV_PLUGINS names '{tmp_path}")


def test_a_plugin_is_imported_once_by_its_absolute_path_and_never_passed_over(tmp_path, monkeypatch):
    for name in ("odd_plug_in", "json"):
        (tmp_path / f"{name}.py").write_text(
            "import os\nos.environ['COUNT'] = os.environ.get('COUNT', '') + 'x'"
        )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COUNT", "")
    monkeypatch.setenv("FDIV_PLUGINS", "odd_plug_in.py")
    names.load_plugins()
    names.load_plugins()
    assert os.environ["COUNT"] == "x"
    assert os.environ["FDIV_PLUGINS"] == str(tmp_path / "odd_plug_in.py")  # as a kernel elsewhere needs it
    monkeypatch.setenv("FDIV_PLUGINS", "json.py")
    with pytest.raises(ImportError, match="another module is called 'json': rename the file"):
        names.load_plugins()
    sys.modules.pop("odd_plug_in")
