"""``make bench`` runs, and its table says what it should; how fast it finds anything is not tested."""

import importlib.util
import sys
from pathlib import Path

import pandas as pd
import pytest

PATH = Path(__file__).parent / "benchmarks" / "bench.py"


@pytest.fixture(scope="module")
def bench():
    specification = importlib.util.spec_from_file_location("bench", PATH)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_variants_take_turns_and_compare_within_a_round(bench, monkeypatch):
    clock = iter(range(10_000))
    calls = []
    monkeypatch.setattr(bench.time, "perf_counter", lambda: next(clock) * len(calls))
    variants = {name: lambda name=name: calls.append(name) for name in "ab"}
    table = bench.measure("who", variants, reference="a", rounds=3, steps=2)
    assert calls == ["a", "b"] + ["a", "a", "b", "b"] * 3
    assert list(table["variant"]) == ["a", "b"]
    assert table["ratio"][0] == 1
    assert table["ratio"][1] > 1  # the clock runs faster with every call


def test_the_whole_table(bench, monkeypatch, tmp_path):
    """On random pixels of MNIST's shape, as on a machine without the dataset."""
    monkeypatch.setenv("FDIV_DATA", str(tmp_path / "nothing"))
    monkeypatch.setenv("FDIV_OFFLINE", "1")
    monkeypatch.setattr(bench, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(sys, "argv", ["bench.py", "--rounds", "1"])
    bench.main()
    table = pd.read_csv(tmp_path / "results" / "benchmarks.csv")
    assert set(table["pixels"]) == {"random pixels"}
    assert table.groupby("question").size().to_dict() == {
        "a step on MNIST, batch 128": 3,
        "the loop over the bare step": 3,
        "the exact loss alone, batch 128": 5,
        "the exact loss alone, 10 classes": 4,
    }
    assert (table["milliseconds"] > 0).all()
    assert {"commit", "torch", "threads", "date"} <= set(table.columns)
    assert (table[table["variant"] == table["reference"]]["ratio"] == 1).all()
