"""Images that stay on the disk, and Clothing1M on a small tree of the shape its authors distribute."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import transforms

from fdiv.datasets import (
    CLOTHING1M_CLASSES,
    BrokenImage,
    DatasetMissing,
    ImageFiles,
    clothing,
    clothing1m,
    default_workers,
    images,
)

WORKERS = [0, 2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Seven images of several sizes and kinds, one of them with a name beyond ASCII."""
    place = tmp_path_factory.mktemp("images")
    rng = np.random.default_rng(0)
    for number in range(7):
        height, width = 20 + 3 * number, 40 - 2 * number
        pixels = rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
        name = f"{number}.jpg" if number != 3 else "drei ü,3.jpg"
        Image.fromarray(pixels).convert("L" if number == 5 else "RGB").save(place / name, "jpeg")
    return place


@pytest.fixture(scope="module")
def files(folder) -> ImageFiles:
    return ImageFiles(sorted(folder.iterdir()), size=16)


def sentence(error: pytest.ExceptionInfo) -> str:
    """What an error says, which must be one line."""
    text = str(error.value)
    assert "\n" not in text
    return text


# ---------------------------------------------------------------------- the files


def test_an_image_is_what_torchvision_makes_of_it(files, folder):
    theirs = transforms.Compose([transforms.Resize((16, 16)), transforms.PILToTensor()])
    for index, path in enumerate(sorted(folder.iterdir())):
        image = files[index]
        assert image.dtype == torch.uint8
        assert image.shape == (3, 16, 16)
        assert image.is_contiguous()
        assert image.equal(theirs(Image.open(path).convert("RGB")))
        assert files.path(index) == path
    grey = files[[path.name for path in sorted(folder.iterdir())].index("5.jpg")]
    assert grey[0].equal(grey[1])


def test_files_stand_for_a_tensor(files):
    assert len(files) == 7
    assert files.shape == (7, 3, 16, 16)
    assert ImageFiles([]).shape == (0, 3, 256, 256)
    assert repr(files) == "ImageFiles(7 images of 16 x 16)"
    assert files[-1].equal(files[6])
    assert files[torch.tensor(2)].equal(files[2])
    assert files[np.int64(2)].equal(files[2])
    with pytest.raises(IndexError):
        files[7]


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (slice(2, 5), [2, 3, 4]),
        (slice(None, None, -3), [6, 3, 0]),
        (torch.tensor([5, 0, 5]), [5, 0, 5]),
        ([1, 6], [1, 6]),
        (np.array([4]), [4]),
        (torch.arange(7) > 4, [5, 6]),
        (torch.tensor([], dtype=torch.int64), []),
        ([], []),
    ],
)
def test_a_part_of_the_files_is_files(files, index, expected):
    part = files[index]
    assert isinstance(part, ImageFiles)
    assert part.size == 16
    assert [part.path(i) for i in range(len(part))] == [files.path(i) for i in expected]
    assert files.shape == (7, 3, 16, 16)


def test_nothing_is_read_before_it_is_asked_for(tmp_path):
    paths = [tmp_path / f"{number}.jpg" for number in range(1000)]
    files = ImageFiles(paths)[100:][torch.arange(50)]
    assert files.shape == (50, 3, 256, 256)
    assert files.path(49) == paths[149]


def test_a_million_paths_are_one_block_that_workers_share(files):
    assert isinstance(files._paths, np.ndarray)
    assert not files._paths.dtype.hasobject
    copy = pickle.loads(pickle.dumps(files))  # how a worker gets them where processes are not forked
    assert copy[3].equal(files[3])


# ---------------------------------------------------------------------- batches


@pytest.mark.parametrize("workers", WORKERS)
def test_batches_come_in_the_order_that_is_asked_for(files, workers):
    wanted = [[6, 0, 3], torch.tensor([2]), (1, 1), np.array([5, 4, 3, 2]), torch.arange(7), [0]]
    got = list(files.batches(wanted, workers=workers))
    assert len(got) == len(wanted)
    for batch, indices in zip(got, wanted, strict=True):
        assert batch.dtype == torch.uint8
        assert batch.equal(torch.stack([files[int(index)] for index in indices]))


@pytest.mark.parametrize("workers", WORKERS)
def test_batches_may_be_asked_for_by_a_generator(files, workers):
    got = list(files.batches(([n, n + 1] for n in range(6)), workers))
    assert [batch.shape for batch in got] == [(2, 3, 16, 16)] * 6
    assert list(files.batches([], workers)) == []


@pytest.mark.parametrize("workers", WORKERS)
def test_batches_leave_the_generator_of_training_alone(files, workers):
    torch.manual_seed(5)
    before = torch.get_rng_state()
    list(files.batches([[0, 1]], workers))
    assert torch.get_rng_state().equal(before)


@pytest.mark.parametrize("workers", WORKERS)
def test_who_stops_early_gets_no_more(files, workers):
    batches = files.batches(([n % 7] for n in range(1000)), workers)
    assert next(batches).equal(files[0][None])
    batches.close()
    with pytest.raises(StopIteration):
        next(batches)


@pytest.mark.skipif(multiprocessing.get_start_method() != "fork", reason="workers import what we replace")
def test_workers_decode_in_other_processes(files, monkeypatch, tmp_path):
    read = images.read_image

    def noted(path, size):
        with open(tmp_path / "log", "a") as log:
            log.write(f"{os.getpid()} {path.name}\n")
        return read(path, size)

    monkeypatch.setattr(images, "read_image", noted)
    list(files.batches([[0], [1], [2], [4]], workers=2))
    forked = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    assert len({pid for pid, _ in forked}) == 2
    assert str(os.getpid()) not in {pid for pid, _ in forked}
    (tmp_path / "log").unlink()
    list(files.batches([[0], [1]], workers=0))
    assert {line.split()[0] for line in (tmp_path / "log").read_text().splitlines()} == {str(os.getpid())}


def test_as_many_workers_as_cores_but_no_more_than_eight(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(3)), raising=False)
    assert default_workers() == 3
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    assert default_workers() == 8
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert default_workers() == 1


# ---------------------------------------------------------------------- broken images


def half(data: bytes) -> bytes:
    return data[: len(data) // 2]


BROKEN = {
    "missing": (None, r"the image {path} is not there"),
    "truncated": (half, r"the image {path} cannot be read \(.*[Tt]runcated.*\)"),
    "empty": (lambda _: b"", r"the image {path} cannot be read \(cannot identify image file.*\)"),
    "text": (lambda _: b"<html>\n", r"the image {path} cannot be read \(cannot identify image file.*\)"),
}


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize(("damage", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_image_is_named_in_one_sentence(files, tmp_path, damage, message, workers):
    path = tmp_path / "broken.jpg"
    if damage:
        path.write_bytes(damage(files.path(0).read_bytes()))
    some = ImageFiles([files.path(0), files.path(1), path, files.path(2)], size=16)
    pattern = f"^{message.format(path=re.escape(str(path)))}$"
    with pytest.raises(BrokenImage, match=pattern) as error:
        some[2]
    sentence(error)
    batches = some.batches([[0, 1], [3, 2], [0]], workers)
    assert next(batches).shape == (2, 3, 16, 16)
    with pytest.raises(BrokenImage, match=pattern) as error:
        next(batches)
    sentence(error)
    assert isinstance(error.value, OSError)


def test_an_interrupt_is_no_broken_image(files, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Image, "open", interrupted)
    with pytest.raises(KeyboardInterrupt):
        files[0]


# ---------------------------------------------------------------------- Clothing1M

COUNTS = [5, 4, 7, 3, 6, 3, 4, 5, 6, 7, 3, 4, 5, 9]  # noisy training images of each class
LISTS = ("noisy_train", "clean_train", "clean_val", "clean_test")
KV = ("noisy_label_kv.txt", "clean_label_kv.txt")


@dataclasses.dataclass
class Tree:
    """A small Clothing1M and what was written into it."""

    root: Path
    keys: dict[str, list[str]]
    labels: dict[str, int]

    def edit(self, name: str, change) -> Path:
        path = self.root / name
        path.write_text("".join(change(path.read_text().splitlines(keepends=True))))
        return path


@pytest.fixture
def small(tmp_path, monkeypatch) -> Tree:
    monkeypatch.setenv("FDIV_DATA", str(tmp_path / "cache"))
    monkeypatch.delenv("FDIV_CLOTHING1M", raising=False)
    return grow(tmp_path / "clothing")


def grow(root: Path) -> Tree:
    """A tree as it is distributed: key lists, labels by key, a tiny JPEG for each key."""
    rng = np.random.default_rng(0)
    sizes = {"noisy_train": sum(COUNTS), "clean_train": 4, "clean_val": 5, "clean_test": 6}
    total = sum(sizes.values())
    numbers = iter(rng.permutation(total))
    keys = {
        part: [f"images/{n % 3}/{n % 5}/{n},{7 * n}.jpg" for _, n in zip(range(size), numbers, strict=False)]
        for part, size in sizes.items()
    }
    noisy = rng.permutation(np.repeat(np.arange(14), COUNTS)).tolist()
    labels = dict(zip(keys["noisy_train"], noisy, strict=True))
    for part in LISTS[1:]:
        labels |= {key: int(rng.integers(14)) for key in keys[part]}
    for key in labels:
        path = root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (9, 7, 3), dtype=np.uint8)).save(path, "jpeg")
    for part, some in keys.items():
        (root / f"{part}_key_list.txt").write_text("".join(f"{key}\n" for key in some))
    # An image may have a noisy and a clean label: the noisy file knows the clean images too, by other labels.
    crossed = {key: (labels[key] + 1) % 14 for part in LISTS[1:] for key in keys[part]}
    write_kv(root / "noisy_label_kv.txt", crossed | {key: labels[key] for key in keys["noisy_train"]})
    write_kv(root / "clean_label_kv.txt", {key: labels[key] for part in LISTS[1:] for key in keys[part]})
    return Tree(root, keys, labels)


def write_kv(path: Path, labels: dict[str, int]) -> None:
    path.write_text("".join(f"{key} {label}\n" for key, label in reversed(labels.items())))


def keys_of(files: ImageFiles, tree: Tree) -> list[str]:
    return [files.path(index).relative_to(tree.root).as_posix() for index in range(len(files))]


def test_the_whole_of_clothing1m(small):
    split = clothing1m(small.root, subset="all")
    assert (split.name, split.num_classes) == ("clothing1m", 14)
    assert split.train_clean_labels is None
    for files, labels, part in [
        (split.train_images, split.train_labels, "noisy_train"),
        (split.validation_images, split.validation_labels, "clean_val"),
        (split.test_images, split.test_labels, "clean_test"),
    ]:
        assert keys_of(files, small) == small.keys[part]
        assert labels.tolist() == [small.labels[key] for key in small.keys[part]]
        assert labels.dtype == torch.int64
        assert files.shape == (len(labels), 3, 256, 256)
    assert split.test_images[5].shape == (3, 256, 256)
    assert len(CLOTHING1M_CLASSES) == 14


def test_the_balanced_subset_is_drawn_by_seed(small):
    split, everything = clothing1m(small.root), clothing1m(small.root, "all")
    assert split.train_labels.bincount().tolist() == [min(COUNTS)] * 14
    chosen = keys_of(split.train_images, small)
    assert len(set(chosen)) == len(chosen)
    assert split.train_labels.tolist() == [small.labels[key] for key in chosen]
    order = {key: number for number, key in enumerate(keys_of(everything.train_images, small))}
    assert sorted(chosen, key=order.get) == chosen
    assert keys_of(clothing1m(small.root, seed=0).train_images, small) == chosen
    others = [keys_of(clothing1m(small.root, seed=seed).train_images, small) for seed in (1, 2, 3)]
    assert all(other != chosen for other in others)
    assert set(chosen).union(*others) > set(chosen)
    assert len(split.test_labels) == len(everything.test_labels) == 6


def test_every_image_of_a_class_can_be_drawn_equally():
    labels = torch.arange(14).repeat(4)
    labels[-14:-4] = 0  # class 0 has 14 images, 10 to 13 four, the others three
    counts = np.zeros(len(labels))
    for seed in range(300):
        counts[clothing._balanced(labels, seed)] += 1
    of_zero = counts[(labels == 0).numpy()]
    assert of_zero.sum() == 900
    assert of_zero == pytest.approx(900 / 14, rel=0.4)


def test_a_split_of_files_moves_its_labels_only(small):
    split = clothing1m(small.root)
    moved = split.to("meta")
    assert moved.train_labels.device.type == moved.test_labels.device.type == "meta"
    assert moved.train_images is split.train_images
    assert moved.train_clean_labels is None


def test_where_clothing1m_is_looked_for(small, tmp_path, monkeypatch):
    monkeypatch.setenv("FDIV_CLOTHING1M", str(small.root))
    assert len(clothing1m().test_labels) == 6
    with pytest.raises(DatasetMissing, match=f"not complete in {tmp_path / 'elsewhere'} "):
        clothing1m(tmp_path / "elsewhere")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("FDIV_CLOTHING1M", "~/clothing")
    assert len(clothing1m().test_labels) == 6
    monkeypatch.setenv("FDIV_CLOTHING1M", "")
    with pytest.raises(DatasetMissing, match=f"not complete in {tmp_path / 'cache' / 'clothing1m'} "):
        clothing1m()
    (tmp_path / "cache").mkdir()
    small.root.rename(tmp_path / "cache" / "clothing1m")
    assert len(clothing1m().test_labels) == 6


def test_the_sentence_where_clothing1m_is_not(small, tmp_path):
    wanted = ["images", *(f"{part}_key_list.txt" for part in LISTS), *KV]
    with pytest.raises(DatasetMissing) as error:
        clothing1m(tmp_path / "nothing")
    assert sentence(error) == (
        f"Clothing1M is not complete in {tmp_path / 'nothing'} (no {', no '.join(wanted)}): ask its authors "
        "for it, as https://github.com/Cysu/noisy_label says, and name with FDIV_CLOTHING1M the folder that "
        f"has {', '.join(wanted)}"
    )


@pytest.mark.parametrize("name", ["images", *(f"{part}_key_list.txt" for part in LISTS), *KV])
def test_what_is_missing_is_named(small, name):
    (small.root / name).rename(small.root / "elsewhere")
    with pytest.raises(DatasetMissing, match=re.escape(f"(no {name}): ask its authors")):
        clothing1m(small.root)


@pytest.mark.parametrize("part", ["noisy_train", "clean_val", "clean_test"])
def test_the_first_images_must_be_there(small, part):
    gone = small.keys[part][1]
    (small.root / gone).unlink()
    with pytest.raises(
        DatasetMissing, match=f"{part}_key_list.txt names {gone}, which is not there"
    ) as error:
        clothing1m(small.root)
    sentence(error)


def test_a_million_files_are_not_looked_at(small, monkeypatch):
    looked = []
    is_file = Path.is_file
    monkeypatch.setattr(Path, "is_file", lambda path, **k: looked.append(path) or is_file(path, **k))
    monkeypatch.setattr(Image, "open", lambda *_: pytest.fail("an image was opened"))
    clothing1m(small.root)
    assert len(looked) == 9
    (small.root / small.keys["clean_test"][5]).unlink()
    clothing1m(small.root)  # a later one is missed when it is wanted


def replaced(number: int, line: str):
    return lambda lines: [*lines[: number - 1], line, *lines[number:]]


MALFORMED = {
    "no label": ("noisy_label_kv.txt", 3, "images/1.jpg\n", "'images/1.jpg' is not a path and a label"),
    "a word": ("clean_label_kv.txt", 2, "images/1.jpg hat\n", "the label 'hat' is not a number from 0 to 13"),
    "a class too many": ("noisy_label_kv.txt", 5, "images/1.jpg 14\n", "the label '14' is not a number"),
    "below zero": ("clean_label_kv.txt", 1, "images/1.jpg -1\n", "the label '-1' is not a number"),
    "not whole": ("clean_label_kv.txt", 1, "images/1.jpg 1.0\n", "the label '1.0' is not a number"),
    "an unknown key": (
        "clean_val_key_list.txt",
        4,
        "images/x.jpg\n",
        "'images/x.jpg' has no label in clean_l",
    ),
    "another unknown key": (
        "noisy_train_key_list.txt",
        9,
        "images/x.jpg\n",
        "has no label in noisy_label_kv",
    ),
}


@pytest.mark.parametrize(("name", "number", "line", "message"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_line_is_named(small, name, number, line, message):
    path = small.edit(name, replaced(number, line))
    with pytest.raises(ValueError, match=re.escape(f"{path}, line {number}: ")) as error:
        clothing1m(small.root)
    assert message in sentence(error)


def test_empty_lines_and_windows_ends_of_lines_are_no_fault(small):
    before = clothing1m(small.root)
    for name in (*KV, "noisy_train_key_list.txt"):
        small.edit(name, lambda lines: ["\n", *(line.replace("\n", "\r\n") for line in lines), "\n", " \n"])
    after = clothing1m(small.root)
    assert after.train_labels.equal(before.train_labels)
    assert keys_of(after.train_images, small) == keys_of(before.train_images, small)


def test_a_list_without_images(small):
    path = small.edit("clean_test_key_list.txt", lambda _: [])
    with pytest.raises(ValueError, match=f"{re.escape(str(path))} names no images"):
        clothing1m(small.root)


def test_no_balanced_subset_without_every_class(small):
    of_class = [
        key for key in small.keys["noisy_train"] if small.labels[key] == CLOTHING1M_CLASSES.index("Hoodie")
    ]
    small.edit("noisy_train_key_list.txt", lambda lines: [k for k in lines if k.strip() not in of_class])
    with pytest.raises(ValueError, match=r"no noisy training label is Hoodie, so .* choose subset='all'"):
        clothing1m(small.root)
    assert len(clothing1m(small.root, "all").train_labels) == sum(COUNTS) - 3


def test_other_subsets_do_not_exist(small):
    with pytest.raises(
        ValueError, match="no subset of Clothing1M is called 'half'; choose from balanced, all"
    ):
        clothing1m(small.root, subset="half")


def test_a_key_has_one_label(small):
    path = small.edit("noisy_label_kv.txt", lambda lines: [*lines, lines[0]])
    clothing1m(small.root)  # said twice is no fault
    key, label = path.read_text().splitlines()[0].rsplit(" ", 1)
    other = (int(label) + 1) % 14
    small.edit("noisy_label_kv.txt", lambda lines: [*lines, f"{key} {other}\n"])
    message = f"{key} has label {other} here and {label} before: a key has one label"
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        clothing1m(small.root)
    sentence(error)


@pytest.mark.parametrize(
    ("pixels", "expected"),
    [
        (np.array([[0, 65535], [32896, 257]], np.uint16), [0, 255, 128, 1]),
        (np.array([[0.0, 1.0], [0.5, 0.25]], np.float32), [0, 255, 128, 64]),
        (np.array([[0, 200], [100, 50]], np.float32), [0, 200, 100, 50]),
        (np.array([[0, 1000], [500, 250]], np.float32), [0, 255, 128, 64]),
    ],
    ids=["16-bit", "fractions", "bytes", "any"],
)
def test_pictures_of_more_than_eight_bits_are_scaled_and_not_cut_off(tmp_path, pixels, expected):
    Image.fromarray(pixels).save(tmp_path / "a.tiff")
    assert ImageFiles([tmp_path / "a.tiff"], size=2)[0][0].flatten().tolist() == expected


def test_a_large_picture_is_read_without_a_warning_and_a_bomb_is_refused(tmp_path, monkeypatch, recwarn):
    Image.new("1", (40, 30)).save(tmp_path / "a.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 700)
    assert ImageFiles([tmp_path / "a.png"], size=2)[0].shape == (3, 2, 2)
    assert not recwarn.list
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 500)
    with pytest.raises(BrokenImage, match="bomb"):
        ImageFiles([tmp_path / "a.png"], size=2)[0]
