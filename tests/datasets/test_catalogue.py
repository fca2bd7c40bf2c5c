"""The rows of the catalogue are the datasets they describe, and the embedded ones are always the same.

The tests of the real datasets read the cache and are skipped where it lacks them.
"""

from __future__ import annotations

import functools
import hashlib

import pytest
import torch

from fdiv import noise
from fdiv.datasets import (
    CATALOGUE,
    CLOTHING1M_CLASSES,
    Dataset,
    DatasetMissing,
    cache_folder,
    check_noise,
    digits,
    human_labels,
    load,
    mirrors,
    noise_settings,
    noisy_split,
    paired_digits,
)
from fdiv.files import ROOT, csv_rows
from fdiv.noise import labels_sha256

REAL_CACHE = cache_folder()
LOADED = [name for name, entry in CATALOGUE.items() if entry.load is not None]


def test_datasets_are_found_by_name():
    names = ["digits", "paired-digits", "mnist", "fashion-mnist"]
    names += ["cifar-10", "cifar-10-features", "cifar-100", "clothing1m"]
    assert list(CATALOGUE) == names
    assert load("digits").train_images.equal(digits().train_images)
    for name in ("fashion-mnist", "Fashion MNIST", "fashion_mnist"):
        assert CATALOGUE[name].name == "fashion-mnist"
    with pytest.raises(
        ValueError, match=r"no dataset is called 'cifar-11' \(did you mean 'cifar-10+'"
    ) as error:
        load("cifar-11")
    assert str(error.value).endswith(f"choose from {', '.join(names)}")
    for name in ("clothing1m", "Clothing 1M"):
        with pytest.raises(
            ValueError, match=r"^Clothing1M has no clean .* fdiv\.datasets\.clothing1m\(\) is its split$"
        ):
            load(name)


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=CATALOGUE)
def test_every_row_leads_to_rows_that_exist(entry):
    """A paper's settings, a stand-in, the noise drawn on it, and a notebook."""
    assert (entry.load is None) != (entry.split is None)
    assert entry.drawn in ("released", "counts", "draws")
    if entry.paper:
        assert (
            noise.paper_noise(entry.paper, noise.paper_settings(entry.paper)[0]).shape[0] == entry.num_classes
        )
    if entry.stand_in:
        stand_in = CATALOGUE[entry.stand_in]
        assert stand_in.stand_in is None
        assert stand_in.load is not None
        settings = noise_settings(entry.name)
        for setting in settings:
            check_noise(stand_in.name, entry.stand_in_noise.get(setting, setting))
        assert set(entry.stand_in_noise) <= set(settings)
    if entry.notebook:
        assert (ROOT / "notebooks" / f"{entry.notebook}.py").exists()


def test_the_classes_of_clothing1m():
    assert CATALOGUE["clothing1m"].num_classes == len(CLOTHING1M_CLASSES)


# ---------------------------------------------------------------------- two digits side by side


def test_a_pair_is_two_digits_and_its_label_both():
    source, pairs = digits(), paired_digits()
    for images, labels, digit_images, digit_labels in [
        (pairs.train_images, pairs.train_labels, source.train_images, source.train_labels),
        (pairs.test_images, pairs.test_labels, source.test_images, source.test_labels),
    ]:
        known = {
            image.numpy().tobytes(): int(label)
            for image, label in zip(digit_images, digit_labels, strict=True)
        }
        left, right = images[:, :, 4:12, :8], images[:, :, 4:12, 8:]
        for pair, label in zip(zip(left, right, strict=True), labels.tolist(), strict=True):
            a, b = (known[half.numpy().tobytes()] for half in pair)  # a digit of this part and of no other
            assert 10 * a + b == label
        assert images.shape[1:] == (1, 16, 16)
        assert images.dtype == torch.float32
        assert not images[:, :, :4].any()
        assert not images[:, :, 12:].any()
        assert (labels.reshape(-1, 100).sort(dim=1).values == torch.arange(100)).all()
    assert repeated(pairs.train_images, pairs.test_images) == [0, 0]


def test_the_pairs_are_drawn_by_seed():
    assert paired_digits().train_images.equal(paired_digits(0).train_images)
    assert paired_digits().train_labels.equal(paired_digits(0).train_labels)
    assert not paired_digits().train_images.equal(paired_digits(1).train_images)
    split = noisy_split(paired_digits(), paired_digits().train_labels)
    assert split.train_labels.bincount().tolist() == [50] * 100
    assert split.validation_labels.bincount().tolist() == [10] * 100


# ---------------------------------------------------------------------- the real datasets


@functools.cache
def real(name: str) -> Dataset:
    """A real dataset, read without the network."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FDIV_DATA", str(REAL_CACHE))
        patch.setenv("FDIV_OFFLINE", "1")
        try:
            return load(name)
        except DatasetMissing:
            pytest.skip(f"{name} is not in the cache {REAL_CACHE}")


# what is computed from another row has tests of its own
each_real = pytest.mark.parametrize("name", [name for name in LOADED if not CATALOGUE[name].labels_of])


def repeated(*groups: torch.Tensor) -> list[int]:
    """How many images of each group equal an earlier image, of the same group or of another."""
    seen, counts = set(), []
    for images in groups:
        prints = [hashlib.md5(image.tobytes()).digest() for image in images.numpy()]
        before = len(seen)
        seen.update(prints)
        counts.append(len(prints) - (len(seen) - before))
    return counts


def test_repeated_images_are_counted():
    images = torch.arange(12.0).reshape(4, 1, 1, 3)
    assert repeated(images, images[:3] + 100) == [0, 0]
    assert repeated(images[[0, 1, 1]], images[[2, 0, 1]], images[3:]) == [1, 2, 0]


@each_real
def test_no_image_is_in_two_parts(name):
    """Measured: no image of these datasets repeats another one bit for bit, within a part or across parts."""
    dataset = real(name)
    split = noisy_split(dataset, dataset.train_labels)
    assert repeated(split.train_images, split.validation_images, split.test_images) == [0, 0, 0]


# Per channel, as published with the models that are trained on them.
MEANS = {
    "mnist": [0.1307],
    "fashion-mnist": [0.2860],
    "cifar-10": [0.4914, 0.4822, 0.4465],
    "cifar-100": [0.5071, 0.4867, 0.4408],
}


@each_real
def test_the_real_dataset_is_the_one_everybody_uses(name):
    dataset = real(name)
    entry = CATALOGUE[name]
    train, test = entry.train + entry.validation, len(dataset.test_labels)
    assert (dataset.name, dataset.num_classes) == (name, entry.num_classes)
    assert dataset.train_images.shape == (train, *entry.shape)
    assert dataset.test_images.shape == (test, *entry.shape)
    assert dataset.train_labels.shape == (train,)
    assert test == {"digits": 500, "paired-digits": 2000}.get(name, 10_000)
    assert dataset.train_labels.unique().tolist() == list(range(dataset.num_classes))
    assert dataset.test_labels.unique().tolist() == list(range(dataset.num_classes))
    if name in MEANS:
        means = dataset.train_images.numpy().mean((0, 2, 3)) / 255
        assert means == pytest.approx(MEANS[name], abs=6e-5)
        expected = {row["clean_sha256"] for row in csv_rows("released_labels.csv", dataset=name)}
        assert {labels_sha256(dataset.train_labels)} == expected
    if "cifar" in name or "fashion" in name:
        for labels in (dataset.train_labels, dataset.test_labels):
            assert labels.bincount().unique().numel() == 1


def test_the_digits_are_what_the_notebooks_were_written_with():
    dataset = digits()
    assert dataset.train_images.dtype == torch.float32
    assert (dataset.train_images.min(), dataset.train_images.max()) == (0, 1)
    assert dataset.train_labels[:12].tolist() == DIGITS_FIRST
    assert labels_sha256(torch.cat([dataset.train_labels, dataset.test_labels]))[:16] == DIGITS_LABELS
    pixels = (torch.cat([dataset.train_images, dataset.test_images]) * 16).byte().numpy()
    assert hashlib.sha256(pixels.tobytes()).hexdigest()[:16] == DIGITS_PIXELS


DIGITS_FIRST = [2, 1, 2, 5, 1, 5, 9, 3, 0, 5, 9, 3]
DIGITS_LABELS = "1304e7b4b6ea9329"
DIGITS_PIXELS = "89a8784e09b08030"


@pytest.mark.parametrize(
    ("dataset", "which", "rate"),
    [
        ("cifar-10", "aggregate", 0.0901),
        ("cifar-10", "random-1", 0.1723),
        ("cifar-10", "random-2", 0.1812),
        ("cifar-10", "random-3", 0.1764),
        ("cifar-10", "worse", 0.4021),
        ("cifar-100", "fine", 0.4020),
    ],
)
def test_the_real_human_labels_are_as_wrong_as_published(dataset, which, rate, monkeypatch):
    monkeypatch.setenv("FDIV_DATA", str(REAL_CACHE))
    monkeypatch.setenv("FDIV_OFFLINE", "1")
    form = mirrors.CIFAR10_HUMAN if dataset == "cifar-10" else mirrors.CIFAR100_HUMAN
    if not (REAL_CACHE / form.by_hand).exists():
        pytest.skip(f"the human labels of {dataset} are not in the cache {REAL_CACHE}")
    clean = torch.as_tensor(mirrors.obtain(dataset, (form,))["clean_label"])
    expected = {row["clean_sha256"] for row in csv_rows("released_labels.csv", dataset=dataset)}
    assert {labels_sha256(clean)} == expected  # the order in which the dataset is distributed
    labels = human_labels(dataset, which, clean=clean)
    assert labels.shape == (50_000,)
    assert (labels != clean).double().mean().item() == pytest.approx(rate, abs=5e-5)
