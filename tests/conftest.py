"""Settings for every test, the tests that make check leaves out, and the order of files in make test."""

import os
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Unless whoever calls pytest chose otherwise; set before torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")  # as a quick kernel has: sums in another order differ in bits
os.environ.setdefault("FDIV_OFFLINE", "1")
# Runs of lessons, trained once for all tests of a session; the workers of pytest-xdist inherit the folder.
os.environ.setdefault("FDIV_RUNS", os.path.join(tempfile.mkdtemp(prefix="fdiv-tests-"), "runs"))

# The same examples every time, and no limit of time: a busy machine would miss it.
settings.register_profile(
    "fdiv",
    max_examples=40,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.differing_executors],
)
settings.load_profile("fdiv")

# Files and folders whose tests start kernels or several processes, and files that train for long or only
# take their time. make test runs them in this order before all others, so that no long one is left for the
# end; first those that mostly wait, for a browser or a cluster, beside which others find the cores free.
KERNEL = (
    "browser",
    "slow",
    "test_cli.py",
    "test_wheel.py",
    "notebooks",
    "test_distributed.py",
    "test_grid.py",
    "test_benchmarks.py",
)
LONG = ("test_cleaning.py", "test_toy_rows.py", "test_snippets.py", "test_estimator.py", "test_doctests.py")
# Files with long trainings, which make check leaves out, too.
TRAININGS = ("test_cleaning.py",)


def rank(item: pytest.Item) -> int:
    """Return the place of a test's file or folder in ``KERNEL`` and ``LONG``, or a number behind them all."""
    order = (*KERNEL, *LONG)
    return next((n for n, name in enumerate(order) if name in item.path.parts), len(order))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by the place they lie in, and put long files first.

    make hands whole files to its processes, in this order (``--dist loadscope --no-loadscope-reorder``).
    Groups by hand, ``--dist loadgroup``, are no choice: xdist 3.8 silently ignores them under pytest 9.2.
    """
    for item in items:
        if rank(item) < len(KERNEL):
            item.add_marker("kernel")
        if "slow" in item.path.parts or item.path.name in TRAININGS:
            item.add_marker("slow")
    items.sort(key=rank)


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """A folder of runs of its own."""
    monkeypatch.setenv("FDIV_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


@pytest.fixture
def plug_in(monkeypatch):
    """A function that loads files of tests/toys here, in the workers and in the kernels, for one test."""
    from fdiv import names
    from fdiv.experiments import experiment

    for name in ("recipe", "fit"):  # what these files replace
        monkeypatch.setattr(experiment, name, getattr(experiment, name))
    loaded = []

    def load(*toys):
        loaded.extend(toys)
        paths = [str(Path(__file__).parent / "toys" / f"{toy}.py") for toy in toys]
        monkeypatch.setenv("FDIV_PLUGINS", os.pathsep.join(paths))
        names.load_plugins()

    yield load
    for toy in loaded:
        sys.modules.pop(toy)


@pytest.fixture
def short(plug_in):
    """Three epochs in every recipe."""
    plug_in("three_epochs")


@pytest.fixture
def hold(runs, plug_in):
    """Three epochs in every recipe; ``hold("tv")`` keeps runs of a method after their first one until let go.

    Returns the file to delete for that.
    """
    plug_in("three_epochs", "held")

    def hold(method):
        runs.mkdir(exist_ok=True)
        file = runs / f"hold-{method}"
        file.touch()
        return file

    return hold
