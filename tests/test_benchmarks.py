"""``make bench`` runs, and its table says what it should; how fast it finds anything is not tested."""

import dataclasses
import functools
import importlib.util
import sys
import types
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest
import torch

from fdiv.datasets import Dataset, features
from fdiv.device import has_bfloat16

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


def test_images_per_second_are_those_of_the_median_step(bench, monkeypatch):
    clock = iter([0, 2, 2, 6, 6, 7])
    monkeypatch.setattr(bench.time, "perf_counter", lambda: next(clock))
    table = bench.measure("who", {"a": lambda: None}, "a", rounds=3, steps=1, images=128)
    assert table["milliseconds"].tolist() == [2000]
    assert table["images_per_second"].tolist() == [64]


def test_the_whole_table(bench, monkeypatch, tmp_path, capsys):
    """On random pixels of MNIST's shape, and without CIFAR-10, as on a machine without the datasets."""
    monkeypatch.setenv("FDIV_DATA", str(tmp_path / "nothing"))
    monkeypatch.setenv("FDIV_OFFLINE", "1")
    monkeypatch.setattr(bench, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(sys, "argv", ["bench.py", "--rounds", "1"])
    bench.main()
    assert "no steps on CIFAR-10: CIFAR-10 is not in the cache" in capsys.readouterr().out
    table = pd.read_csv(tmp_path / "results" / "benchmarks.csv")
    assert set(table["pixels"]) == {"random pixels", "random logits"}
    assert table.groupby("question").size().to_dict() == {
        "a step on MNIST, batch 128": 3,
        "the loop over the bare step": 3,
        "the exact loss alone, batch 128": 5,
        "the exact loss alone, 10 classes": 4,
        "loss and backward, 256 x 100": 18,
        "a bare step of the networks for CIFAR, batch 64": 4,
        f"features of MobileNetV2, batch {features.BATCH}, {features.SIZE} x {features.SIZE}": 2
        + has_bfloat16(torch.device("cpu"))
        + all(map(find_spec, ("onnx", "onnxruntime"))),
    }
    assert (table["milliseconds"] > 0).all()
    assert {"commit", "torch", "threads", "date"} <= set(table.columns)
    assert (table[table["variant"] == table["reference"]]["ratio"] == 1).all()


def test_steps_on_cifar_beside_the_other_lines(bench, monkeypatch, tmp_path):
    """Tiny batches through the real network; the lines of the other parts stay as they were."""
    images, labels = torch.randint(0, 256, (80, 3, 8, 8), dtype=torch.uint8), torch.arange(80) % 10
    data = Dataset("cifar-10", images, labels, images[:5], labels[:5], 10)
    monkeypatch.setattr(bench, "cifar10", lambda: data)
    monkeypatch.setattr(bench, "noisy_split", functools.partial(bench.noisy_split, validation=10))
    monkeypatch.setattr(bench, "CIFAR_STEP", dataclasses.replace(bench.CIFAR_STEP, batch_size=4))
    monkeypatch.setattr(bench, "RESULTS", tmp_path)
    old = pd.DataFrame({"question": ["another", "a step of PreAct ResNet-18 on CIFAR-10, batch 4"]})
    old.assign(ratio=7.0).to_csv(tmp_path / "benchmarks.csv", index=False)
    monkeypatch.setattr(sys, "argv", ["bench.py", "--rounds", "1", "--only", "cifar"])
    bench.main()
    table = pd.read_csv(tmp_path / "benchmarks.csv").set_index("question")
    assert table.loc["another", "ratio"] == 7
    ours = table.loc["a step of PreAct ResNet-18 on CIFAR-10, batch 4"]
    assert ours["variant"].tolist() == ["exact product", "sampled product", "cross-entropy"]
    assert set(ours["reference"]) == {"exact product"}
    assert ours["ratio"].iloc[0] == 1
    assert (ours["images_per_second"] > 0).all()
    assert set(ours["pixels"]) == {"CIFAR-10"}


def test_minutes_are_read_off_the_history_of_a_run(bench, monkeypatch):
    history = pd.DataFrame({"seconds": [60.0, 60.0, 60.0], "test_accuracy": [0.5, 0.86, 0.88]})
    run = types.SimpleNamespace(history=history)
    monkeypatch.setattr(bench, "run_experiment", lambda wanted, folder: (run, {}))
    table = bench.minutes(rounds=1, levels=(0.5, 0.85, 0.9))
    assert table["milliseconds"].tolist()[:2] == [60_000, 120_000]
    assert table["ratio"].tolist()[:2] == [0.333, 0.667]
    assert table["milliseconds"].isna().tolist() == [False, False, True]  # 90 % were not reached


def test_other_ways_to_take_a_step(bench, monkeypatch, tmp_path):
    """Without a compiler and without other processes, which are tried where the table is made."""
    monkeypatch.setenv("FDIV_DATA", str(tmp_path / "nothing"))
    monkeypatch.setenv("FDIV_OFFLINE", "1")
    monkeypatch.setattr(bench.torch, "compile", lambda model: model)
    monkeypatch.setattr(bench, "side_by_side", lambda rounds: pd.DataFrame())
    shape = bench.mnist_or_its_shape()[0]
    few = dataclasses.replace(
        shape, train_images=shape.train_images[:2000], train_labels=shape.train_labels[:2000]
    )
    monkeypatch.setattr(bench, "mnist_or_its_shape", lambda: (few, "random pixels"))
    monkeypatch.setattr(bench, "noisy_split", functools.partial(bench.noisy_split, validation=200))
    threads = torch.get_num_threads()
    table = bench.ways(rounds=1, steps=1).set_index("variant")
    assert torch.get_num_threads() == threads
    assert table["question"].nunique() == 2
    assert "compiled, logits off by 0e+00" in table.index
    assert table.loc["as it is, one thread", "ratio"] == table.loc["a tenth of its steps", "ratio"] == 1
    assert (table["milliseconds"] > 0).all()


def test_one_worker_takes_its_steps_between_two_barriers(bench):
    waited, threads = [], torch.get_num_threads()
    barriers = [types.SimpleNamespace(wait=lambda name=name: waited.append(name)) for name in "se"]
    try:
        bench._worker(1, 1, *barriers)
    finally:
        torch.set_num_threads(threads)
    assert waited == ["s", "e"]


def test_the_step_where_freed_memory_is_kept_beside_the_one_where_it_is_not(bench, monkeypatch):
    """In threads, since the processes of the real table would import everything anew."""
    taken, threads = [], torch.get_num_threads()
    monkeypatch.setattr(bench, "ProcessPoolExecutor", lambda count, context: ThreadPoolExecutor(count))
    monkeypatch.setattr(bench, "memory_kept", lambda: nullcontext(taken.append("kept")))
    try:
        table = bench.memory(rounds=2, batch=2)
    finally:
        torch.set_num_threads(threads)
    assert table["variant"].tolist() == ["as the C library decides", "kept"]
    assert taken == ["kept"] * 3  # one does not count
    assert table["ratio"].iloc[0] == 1
    assert (table["images_per_second"] > 0).all()
