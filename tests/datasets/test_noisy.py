"""Noisy labels by the name of a setting, and the splits of the paper."""

from __future__ import annotations

import dataclasses
import functools
import math
import re

import numpy as np
import pytest
import torch

from fdiv.datasets import (
    CATALOGUE,
    Dataset,
    Entry,
    NoisyData,
    check_noise,
    clothing1m,
    digits,
    noise_settings,
    noisy_data,
    noisy_split,
)
from fdiv.noise import PATTERNS, asymmetric, pair, paper_noise, symmetric

# ---------------------------------------------------------------------- noise settings


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
        ("digits", "pair", r"called 'pair' \(did you mean 'pair-R'\?\)"),
        ("digits", "uniform-0.9", "'uniform-0.9' must have a rate of at least 0 and below 0.9"),
        ("digits", "pair-0.5", "'pair-0.5' must have a rate of at least 0 and below 0.5"),
        ("cifar-100", "uniform-0.99", "'uniform-0.99' must have a rate of at least 0 and below 0.99"),
        ("mnist", "instance-1", "'instance-1' must have a rate of at least 0 and below 1"),
        ("mnist", "human-worse", "no mnist noise setting is called 'human-worse'"),
        ("cifar-100", "asymmetric-0.4", "no cifar-100 noise setting is called 'asymmetric-0.4'.*, pair-R$"),
        ("clothing1m", "uniform-0.2", "no clothing1m noise setting is called .*; choose from human$"),
        ("svhn", "clean", "no dataset is called 'svhn'"),
    ],
)
def test_bad_noise_is_one_sentence(dataset, setting, message):
    with pytest.raises(ValueError, match=message) as error:
        noisy_data(dataset, setting)
    assert "\n" not in str(error.value)


def test_names_of_noise_are_canonical():
    assert check_noise("digits", "Uniform-0.450") == "uniform-0.45"
    assert check_noise("mnist", "instance-.4") == "instance-0.4"
    assert check_noise("mnist", "Sparse High") == "sparse-high"
    assert check_noise("digits", "uniform-0.0") == "uniform-0"
    assert check_noise("digits", "uniform-0.123456789") == "uniform-0.123456789"
    for name in ("uniform-0.00001", "uniform-1e-05", "uniform-1E-5"):
        assert check_noise("digits", name) == "uniform-0.00001"
    for dataset in CATALOGUE:
        for name in noise_settings(dataset):
            assert check_noise(dataset, name) == name


def wrong(data: NoisyData) -> float:
    return (data.split.train_labels != data.split.train_clean_labels).double().mean().item()


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_pattern_meets_its_rate_on_the_digits(pattern):
    data = noisy_data("digits", f"{pattern}-0.4")
    flips = 0.5 if pattern == "asymmetric" else 1  # the share of the classes that flip
    assert wrong(data) == pytest.approx(0.4 * flips, abs=4 * math.sqrt(0.24 / 1000))
    assert data.T.shape == (10, 10)
    np.testing.assert_allclose(data.T.sum(1), 1)
    assert 1 - np.diag(data.T).mean() == pytest.approx(0.4 * flips, abs=0.05)


def test_matrices_of_the_patterns():
    for rate in (0.0, 0.1, 0.49):
        assert (symmetric(rate, 10) == noisy_data("digits", f"uniform-{rate}").T).all()
        assert (pair(rate, 10) == noisy_data("digits", f"pair-{rate}").T).all()
        assert (asymmetric("cifar-10", rate) == noisy_data("digits", f"asymmetric-{rate}").T).all()


def test_rates_are_met_exactly_where_counts_are_large_enough():
    """Exact counts round down, so that few labels are drawn one by one."""
    labels = torch.arange(60_000) % 10
    images = torch.zeros(60_000, 1, 2, 2)
    many = Entry(
        name="many",
        title="Many",
        shape=(1, 2, 2),
        num_classes=10,
        train=50_000,
        validation=10_000,
        load=lambda: Dataset("many", images, labels, images[:5], labels[:5], 10),
        recipes="digits",
    )
    with CATALOGUE.registered(many):
        assert noise_settings("many") == ("clean",)
        data = noisy_data("Many", "uniform-0.45")
        everything = torch.cat([data.split.train_labels, data.split.validation_labels])
        assert (everything != labels).sum() == 0.45 * 60_000
        assert data.note == "uniform, rate 0.45, exact counts"
        assert noisy_data("many", "uniform-0.01").note == "uniform, rate 0.01, drawn one by one"
    assert "many" not in CATALOGUE


def test_the_noise_of_the_paper_on_the_embedded_digits():
    data = noisy_data("digits", "uniform-high")
    assert (paper_noise("mnist", "uniform-high") == data.T).all()
    assert data.note == "the noise of MNIST, exact counts"
    data = noisy_data("paired-digits", "sparse")
    assert (paper_noise("cifar-100", "sparse") == data.T).all()
    assert data.note == "the noise of CIFAR-100, drawn one by one"
    clean = noisy_data("digits", "clean", validation=100)
    assert wrong(clean) == 0
    assert len(clean.split.validation_labels) == 100


def test_labels_that_a_dataset_comes_with():
    split = noisy_split(digits(), digits().train_labels)
    own = dataclasses.replace(CATALOGUE["clothing1m"], name="own", title="Own", split=lambda: split)
    with CATALOGUE.registered(own):
        data = noisy_data("own", "human")
    assert data.split is split
    assert (data.T, data.note) == (None, "the labels that Own comes with")
    assert CATALOGUE["clothing1m"].split is clothing1m


# ---------------------------------------------------------------------- splits

TENSORS = (
    "train_images",
    "train_labels",
    "train_clean_labels",
    "validation_images",
    "validation_labels",
    "test_images",
    "test_labels",
)


def numbered(name: str, train: int, num_classes: int = 10) -> Dataset:
    """A dataset whose images are their own number."""
    labels = torch.arange(train) % num_classes
    images = torch.arange(train).reshape(-1, 1, 1, 1)
    return Dataset(name, images, labels, -images[:5] - 1, labels[:5], num_classes)


@pytest.mark.parametrize(
    ("name", "examples", "train"),
    [
        ("mnist", 60_000, 50_000),
        ("fashion-mnist", 60_000, 50_000),
        ("cifar-10", 50_000, 40_000),
        ("cifar-100", 50_000, 40_000),
        ("digits", 1297, 1000),
        ("paired-digits", 6000, 5000),
    ],
)
def test_the_last_examples_validate(name, examples, train):
    dataset = numbered(name, examples)
    noisy = (dataset.train_labels + 1) % 10
    split = noisy_split(dataset, noisy)
    assert (split.name, split.num_classes) == (name, 10)
    assert split.train_images.flatten().equal(torch.arange(train))
    assert split.validation_images.flatten().equal(torch.arange(train, examples))
    assert split.train_labels.equal(noisy[:train])
    assert split.validation_labels.equal(noisy[train:])
    assert split.train_clean_labels.equal(dataset.train_labels[:train])
    assert split.test_images.equal(dataset.test_images)
    assert split.test_labels.equal(dataset.test_labels)
    assert split.train_images.data_ptr() == dataset.train_images.data_ptr()


@pytest.mark.parametrize("count", [1, 30, np.int64(99)])
def test_any_number_may_validate(count):
    split = noisy_split(numbered("something else", 100), [0] * 100, validation=count)
    assert len(split.train_labels) == len(split.train_images) == len(split.train_clean_labels) == 100 - count
    assert split.validation_images.flatten().tolist() == list(range(100 - count, 100))


@pytest.mark.parametrize(
    "kind",
    [
        list,
        np.array,
        torch.tensor,
        *(functools.partial(np.array, dtype=d) for d in ("uint8", "int32", "uint16")),
    ],
)
def test_noisy_labels_of_any_kind_are_copied(kind):
    values = [3, 1, 4, 1, 5, 9, 2, 6]
    noisy = kind(values)
    split = noisy_split(numbered("x", 8), noisy, 3)
    noisy[0] = 0
    assert split.train_labels.dtype == split.validation_labels.dtype == torch.int64
    assert split.train_labels.tolist() + split.validation_labels.tolist() == values


@pytest.mark.parametrize(
    ("labels", "validation", "message"),
    [
        ([0] * 9, 3, "there are 9 noisy_labels for 10 training examples"),
        ([0] * 11, 3, "there are 11 noisy_labels for 10 training examples"),
        ([0.0] * 10, 3, "noisy_labels must be a vector of integers, not float64 of shape (10,)"),
        ([True] * 10, 3, "noisy_labels must be a vector of integers, not bool of shape (10,)"),
        ([[0]] * 10, 3, "noisy_labels must be a vector of integers, not int64 of shape (10, 1)"),
        ([0] * 8 + [10, -1], 3, "noisy_labels[8] is 10, but a label is 0 to 9"),
        ([0, -1] * 5, 3, "noisy_labels[1] is -1, but a label is 0 to 9"),
        ([0] * 10, 0, "validation is 0, but must be a whole number from 1 to 9"),
        ([0] * 10, 10, "validation is 10, but must be a whole number from 1 to 9"),
        ([0] * 10, -1, "validation is -1, but must be a whole number from 1 to 9"),
        ([0] * 10, 0.5, "validation is 0.5, but must be a whole number from 1 to 9"),
        ([0] * 10, None, "say how many examples of x to validate with: validation=..."),
    ],
)
def test_what_cannot_be_split(labels, validation, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        noisy_split(numbered("x", 10), labels, validation)


def test_a_split_moves_as_a_whole():
    dataset = digits()
    split = noisy_split(dataset, dataset.train_labels)
    moved = split.to("meta")
    assert (moved.name, moved.num_classes) == ("digits", 10)
    for field in TENSORS:
        assert getattr(moved, field).device.type == "meta"
        assert getattr(moved, field).shape == getattr(split, field).shape
        assert getattr(split, field).device.type == "cpu"
    assert {field.name for field in dataclasses.fields(split)} == {"name", "num_classes", *TENSORS}
    with pytest.raises(dataclasses.FrozenInstanceError):
        split.name = "other"
