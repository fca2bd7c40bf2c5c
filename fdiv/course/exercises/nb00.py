"""Checkers of notebook 00."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from fdiv.course.exercises import Wrong, exercise, near, number, several

CLEAN = torch.tensor([3, 3, 7, 7, 1, 0, 5, 9])
NOISY = torch.tensor([3, 8, 7, 2, 1, 4, 5, 9])
PREDICTED = torch.tensor([3, 8, 7, 7, 1, 4, 5, 0])


@exercise(
    "1 the realised noise rate",
    because="With a thousand labels the realised rate is a point or two off the planned one, so that whoever"
    " compares methods under one planned rate should give all of them the same draw.",
)
def noise_rate(answer: Callable[[Tensor, Tensor], object]) -> None:
    """Three of eight labels differ."""
    got = number(answer(CLEAN, NOISY))
    if got == 5 / 8:
        raise Wrong("that is the share of labels that are right; the rate counts those that are wrong")
    if got == 3:
        raise Wrong("that is how many labels are wrong; a rate is their share, between 0 and 1")
    if abs(got - 3 / 8) > 1e-6:
        raise Wrong(f"3 of these 8 labels are wrong, so the rate is 0.375; yours is {got:.3f}")
    if number(answer(CLEAN, CLEAN)) != 0:
        raise Wrong("labels that were not touched must give 0")


@exercise(
    "2 the share of memorised flips",
    because="Test accuracy only shows that something went wrong; this number shows what, and needs the clean"
    " labels of the training set, which in practice nobody has.",
)
def memorised_share(answer: Callable[[Tensor, Tensor, Tensor], object]) -> None:
    """Of the three flipped labels the model repeats two."""
    got = number(answer(PREDICTED, NOISY, CLEAN))
    if abs(got - 6 / 8) < 1e-6:
        raise Wrong("that counts all examples; memorising is about the flipped ones only (clean != noisy)")
    if abs(got - 2 / 8) < 1e-6:
        raise Wrong("the numerator is right; divide by the number of flipped labels, not by all of them")
    if abs(got - 1 / 3) < 1e-6:
        raise Wrong(
            "that is the share of flips the model resisted; memorised means it repeats the noisy label"
        )
    if abs(got - 2 / 3) > 1e-6:
        raise Wrong(f"3 labels are flipped and the model repeats 2 of them: 0.667; yours is {got:.3f}")


@exercise(
    "3 finding the wrong labels",
    because="A model that resists its labels is a detector of wrong ones; one that has learned them by heart"
    " suspects nobody, and its recall is near zero.",
)
def precision_and_recall(answer: Callable[[Tensor, Tensor, Tensor], object]) -> None:
    """Two labels are suspicious, one of them is wrong; three labels are wrong."""
    got = several(answer(PREDICTED, NOISY, CLEAN), "return two numbers: the precision, then the recall")
    precision, recall = number(got[0]), number(got[1])
    if near(precision, 50) or abs(recall - 100 / 3) < 0.5:
        raise Wrong("these are percent: a share is between 0 and 1")
    if abs(precision - 1 / 3) < 1e-6 and abs(recall - 1 / 2) < 1e-6:
        raise Wrong(
            "the two are exchanged: precision is a share of the suspicious labels, recall of the wrong ones"
        )
    if abs(precision - 1 / 8) < 1e-6 or abs(recall - 1 / 8) < 1e-6:
        raise Wrong("you divided by all labels: divide by the suspicious ones, and by the wrong ones")
    if abs(precision - 1 / 2) > 1e-6:
        raise Wrong(
            f"2 labels are suspicious and 1 of them is wrong: precision 0.5; yours is {precision:.3f}"
        )
    if abs(recall - 1 / 3) > 1e-6:
        raise Wrong(f"3 labels are wrong and 1 of them is suspicious: recall 0.333; yours is {recall:.3f}")
