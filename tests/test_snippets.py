"""The guide's snippets for other frameworks run as printed, and learn, where the framework is installed."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parents[1] / "fdiv" / "course" / "guides" / "own_data.md"
SNIPPETS = dict(re.findall(r"```python (\w+)\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL))
LEARNT = {
    "skorch": "assert net.score(X, y) > 0.75",
    "lightning": "assert (model.net(x).argmax(1) == y).float().mean() > 0.75",
    "transformers": "assert trainer.state.log_history[-1]['train_loss'] < -0.05",
    "cleanlab": "assert cleaner.score(X, truth) > 0.75",
}
NEEDS = {"transformers": ("transformers", "accelerate")}


def test_every_framework_has_a_snippet():
    assert set(SNIPPETS) == {*LEARNT, "decisions"}


def test_decisions_go_back_into_the_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text("size,kind\n1,fig\n2,fig\n3,plum\n")
    (tmp_path / "decisions.csv").write_text(
        'row,shown,given,label,decision\n1,,fig,plum,change\n2,,plum,"",wrong\n'
    )
    there: dict = {}
    exec(SNIPPETS["decisions"], there)
    assert there["table"]["kind"].fillna("none").tolist() == ["fig", "plum", "none"]


@pytest.mark.slow
@pytest.mark.parametrize("framework", LEARNT)
def test_the_snippet_runs_and_learns(framework, tmp_path):
    """In a process of its own: beside the tests, ``datasets`` would not be Hugging Face's."""
    for package in NEEDS.get(framework, (framework,)):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    code = SNIPPETS[framework] + LEARNT[framework]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
