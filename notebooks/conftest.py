"""How nbval reads these notebooks: figures drawn once, one thread, and neither figures nor warnings compared."""

import os
import tempfile

import pytest

os.environ["FDIV_STATIC"] = "1"
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
os.environ.setdefault(
    "FDIV_RUNS", os.path.join(tempfile.mkdtemp(prefix="fdiv-tests-"), "runs")
)


def pytest_collectstart(collector: pytest.Collector) -> None:
    """plotly stores floats to the last bit, and warnings carry paths: compare neither."""
    if hasattr(collector, "skip_compare"):
        collector.skip_compare += ("stderr", "application/vnd.plotly.v1+json")
