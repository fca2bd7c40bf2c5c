"""The formats that the datasets are distributed in, read into arrays and written back."""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Iterator, Mapping

import numpy as np

Pair = tuple[np.ndarray, np.ndarray]
PIXELS = 3 * 32 * 32
BATCHES = tuple(f"data_batch_{i}" for i in range(1, 6))


def read_idx(data: bytes) -> np.ndarray:
    """The array of unsigned bytes in an idx file, the format of MNIST.

    Two zero bytes, the type (8 is unsigned bytes), the number of axes, the length of each axis as a 32-bit
    big-endian integer, and then the values.
    """
    if len(data) < 4 or data[:3] != b"\0\0\x08":
        raise ValueError("this is no idx file of unsigned bytes")
    shape = np.frombuffer(data, ">i4", count=data[3], offset=4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(shape)


def idx_sets(files: Mapping[str, bytes]) -> tuple[Pair, Pair]:
    """The training and the test pair (images, labels) in the four files of MNIST or Fashion-MNIST."""
    images, labels, test_images, test_labels = (
        read_idx(files[f"{part}-ubyte"])
        for part in ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
    )
    return (images[:, None], labels), (test_images[:, None], test_labels)


def read_records(data: bytes) -> Pair:
    """The pair in a .bin file of CIFAR-10: records of one byte of label and three planes of image."""
    records = np.frombuffer(data, np.uint8).reshape(-1, 1 + PIXELS)
    return records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0]


def write_records(images: np.ndarray, labels: np.ndarray) -> bytes:
    """The .bin file of a pair: what ``read_records`` reads."""
    return np.column_stack([labels.astype(np.uint8), images.reshape(len(labels), PIXELS)]).tobytes()


def record_sets(files: Mapping[str, bytes]) -> tuple[Pair, Pair]:
    """The training and the test pair in the six .bin files of CIFAR-10."""
    train = join(read_records(files[f"{batch}.bin"]) for batch in BATCHES)
    return train, read_records(files["test_batch.bin"])


def read_batch(data: bytes) -> Pair:
    """The pair in a pickled batch of CIFAR-10, or of CIFAR-100 with its hundred fine labels.

    Unpickling runs what the file says: only for bytes whose hash is the published one.
    """
    batch = pickle.loads(data, encoding="latin1")
    labels = batch["labels"] if "labels" in batch else batch["fine_labels"]
    return np.asarray(batch["data"], np.uint8).reshape(-1, 3, 32, 32), np.asarray(labels)


def batch_sets(files: Mapping[str, bytes]) -> tuple[Pair, Pair]:
    """The training and the test pair in torchvision's files of CIFAR-10 or CIFAR-100."""
    train, test = (BATCHES, "test_batch") if "test_batch" in files else (("train",), "test")
    return join(read_batch(files[name]) for name in train), read_batch(files[test])


def read_sheet(png: bytes) -> np.ndarray:
    """The images in a PNG that holds one image of 32 x 32 pixels in each row."""
    from PIL import Image

    sheet = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))
    return sheet.reshape(-1, 32, 32, 3).transpose(0, 3, 1, 2)


def sheets_to_records(sheets: Mapping[str, bytes], labels: Mapping[str, bytes]) -> dict[str, bytes]:
    """The .bin files of CIFAR-10 from PNG sheets.

    sheets: the PNG of each .bin file, by the file's name, in the order of the images.
    labels: the JSON lists of labels of "train" and "test".
    """
    left = {part: json.loads(text) for part, text in labels.items()}
    files = {}
    for name, png in sheets.items():
        images = read_sheet(png)
        queue = left["test" if name.startswith("test") else "train"]
        files[name] = write_records(images, np.array(queue[: len(images)]))
        del queue[: len(images)]
    return files


def join(pairs: Iterator[Pair]) -> Pair:
    """The pairs as one, in their order."""
    images, labels = zip(*pairs, strict=True)
    return np.concatenate(images), np.concatenate(labels)
