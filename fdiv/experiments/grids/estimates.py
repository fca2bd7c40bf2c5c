"""How long runs will take: every network is trained for a moment on this machine, and the time multiplied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

import torch

from fdiv.datasets import Dataset, noisy_split
from fdiv.experiments.experiment import Experiment, plan
from fdiv.experiments.recipes import Recipe, needs_transition, stages_before
from fdiv.learning.losses import CrossEntropy
from fdiv.learning.training import train

# Images to train on, and for each the channels, the side in pixels and the classes.
IMAGES = {
    "digits": (1_000, 1, 8, 10),
    "paired-digits": (5_000, 1, 16, 100),
    "mnist": (50_000, 1, 28, 10),
    "fashion-mnist": (50_000, 1, 28, 10),
    "cifar-10": (40_000, 3, 32, 10),
    "cifar-100": (40_000, 3, 32, 100),
    "clothing1m": (14 * 18_976, 3, 256, 14),
}
EPOCHS = ((2, 1e-3),)  # the first of which warms the machine up
FEW, QUICK, BATCHES = 4, 0.2, 8  # where so few images take less seconds, so many batches are timed instead
KERNEL = 10.0  # seconds until a notebook's kernel has imported everything
Stage = tuple[object, ...]


def estimated_seconds(runs: Sequence[Experiment], threads: int) -> dict[str, float]:
    """How long each run, by its name, would take on this machine with so many threads.

    A stage that runs share, such as a warm-up, is counted for the first of them.
    """
    counted: set[Stage] = set()
    estimates = {}
    with _threads(threads):
        for run in runs:
            names, recipe = plan(run)
            stages = {(run,): recipe} | _shared_stages(names, recipe)
            new = stages.keys() - counted
            counted |= new
            estimates[run.name] = KERNEL + sum(_seconds(stages[stage], names["dataset"]) for stage in new)
    return estimates


def _shared_stages(names: Mapping[str, Any], recipe: Recipe) -> dict[Stage, Recipe]:
    """What is trained before a run, by what makes it the same for another one."""
    data = names["dataset"], names["noise"], names["seed"]
    estimate_T = names["transition"] == "estimated" and needs_transition(names["method"], names["correction"])
    before = stages_before(recipe, estimate_T).items()
    return {(*data, name, *stage): stage[1] for name, stage in before}


def _seconds(recipe: Recipe, dataset: str) -> float:
    """Of one stage: its epochs, times the images of the dataset, times what one of them takes."""
    count, *shape = IMAGES[dataset]
    model = "resnet-50-random" if recipe.model == "resnet-50" else recipe.model  # needs no download
    alike = Recipe(model=model, schedule=EPOCHS, batch_size=recipe.batch_size, augment=recipe.augment)
    return recipe.epochs * count * _seconds_per_image(alike, *shape)


@cache
def _seconds_per_image(recipe: Recipe, channels: int, size: int, num_classes: int) -> float:
    """Looks at validation and test images included; a network that is quick is timed on whole batches."""
    slow = _timed(replace(recipe, batch_size=FEW), FEW, channels, size, num_classes) / FEW
    count = BATCHES * recipe.batch_size
    return slow if slow * FEW > QUICK else _timed(recipe, count, channels, size, num_classes) / count


def _timed(recipe: Recipe, count: int, channels: int, size: int, num_classes: int) -> float:
    """The seconds of the last epoch on so many made-up images."""
    fifth = -(-count // 5)  # of 50 000 images MNIST has 10 000 more of each kind
    images = torch.randint(256, (count + fifth, channels, size, size), dtype=torch.uint8)
    labels = torch.arange(count + fifth) % num_classes
    data = Dataset("made up", images, labels, images[:fifth], labels[:fifth], num_classes)
    split = noisy_split(data, labels, validation=fifth)
    run = train(split, recipe, CrossEntropy(num_classes), progress=False)
    return float(run.history["seconds"].iloc[-1])


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
