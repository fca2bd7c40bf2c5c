"""The labels that people gave to the images of CIFAR: CIFAR-10N and CIFAR-100N.

Wei et al., Learning with Noisy Labels Revisited (ICLR 2022). Every training image of CIFAR-10 was shown to
three workers, every one of CIFAR-100 to one. The labels are licensed CC BY-NC 4.0: they are downloaded on
demand and kept in the cache, and are no part of this repository.
"""

from __future__ import annotations

import torch
from torch import Tensor

from fdiv.datasets import mirrors
from fdiv.names import choose

# For each dataset the title of its human labels and, by our name of it, each column of the authors' file.
COLUMNS = {
    "cifar-10": (
        "CIFAR-10N",
        {
            "aggregate": "aggre_label",
            "random-1": "random_label1",
            "random-2": "random_label2",
            "random-3": "random_label3",
            "worse": "worse_label",
        },
    ),
    "cifar-100": ("CIFAR-100N", {"fine": "noisy_label"}),
}
HUMAN = {dataset: tuple(columns) for dataset, (_, columns) in COLUMNS.items()}


def human_labels(dataset: str, which: str, clean: Tensor | None = None) -> Tensor:
    """Return the labels that people gave to the 50 000 training images, int64, in the order of the dataset.

    dataset: "cifar-10" or "cifar-100".
    which: for CIFAR-10 "random-1", "random-2" or "random-3" is the first, second or third answer for every
        image, "aggregate" the majority of the three, "worse" a wrong one of them wherever there is one. They
        are wrong for 17.2, 18.1, 17.6, 9.0 and 40.2 % of the images. For CIFAR-100 "fine", wrong for 40.2 %.
    clean: the clean labels that the images were loaded with. The file has them too; if the two differ, the
        images are in another order than the answers, and a ``ValueError`` says so.

    >>> human_labels("cifar-10", "worse").shape  # doctest: +SKIP
    torch.Size([50000])
    """
    dataset = choose("dataset with human labels", dataset, tuple(HUMAN))
    title, columns = COLUMNS[dataset]
    column = columns[choose(f"set of human labels of {title}", which, tuple(columns))]
    form = mirrors.CIFAR10_HUMAN if dataset == "cifar-10" else mirrors.CIFAR100_HUMAN
    table = mirrors.obtain(title, (form,))
    if clean is not None:
        _check_order(title, torch.as_tensor(table["clean_label"]), torch.as_tensor(clean).cpu())
    return torch.as_tensor(table[column]).long().clone()


def _check_order(title: str, expected: Tensor, clean: Tensor) -> None:
    """Refuse clean labels that are not those of the file."""
    if clean.shape != expected.shape:
        raise ValueError(f"{title} has {len(expected)} labels, but the dataset has {len(clean)}")
    if different := int((clean != expected).sum()):
        raise ValueError(
            f"{different} of the {len(clean)} clean labels differ from those of {title}: "
            "its human labels belong to the training images in their original order"
        )
