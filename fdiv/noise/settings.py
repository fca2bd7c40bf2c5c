"""Noise settings with a rate in their name, such as "uniform-0.45": one row per pattern, and their parser."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fdiv.names import Registry
from fdiv.noise.corrupt import corrupt, corrupt_by_annotator, corrupt_by_instance
from fdiv.noise.matrices import asymmetric, pair, symmetric

CLEAN = "clean"


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """A family of noise settings NAME-R with a rate R, the chance that a label flips.

    says: the noise in a few words, for the note about a run's labels.
    below: returns, for a number of classes, the number that R must stay below.
    matrix: returns T for a rate and a number of classes, if the noise depends on the class alone.
    corrupt: returns noisy labels from images, labels, rate, number of classes and seed, if it depends on the
        image.
    datasets: the datasets whose classes it is about; empty for all.
    aliases: other names for it.

    >>> PATTERNS["uniform"].matrix(0.2, 3)[0]
    array([0.8, 0.1, 0.1])
    """

    name: str
    says: str
    below: Callable[[int], float]
    matrix: Callable[[float, int], np.ndarray] | None = None
    corrupt: Callable[[Any, Any, float, int, int], Any] | None = None
    datasets: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()

    def flip(self, X: Any, labels: Any, rate: float, num_classes: int, seed: int) -> Any:
        """Return noisy labels for examples ``X`` with clean labels, each drawn by itself."""
        if self.corrupt is not None:
            return self.corrupt(X, labels, rate, num_classes, seed)
        assert self.matrix is not None  # a row has one of the two
        return corrupt(labels, self.matrix(rate, num_classes), seed)


PATTERNS: Registry[Pattern] = Registry(
    "noise pattern",
    [
        Pattern(
            name="uniform", says="uniform", below=lambda K: 1 - 1 / K, matrix=symmetric,
            aliases=("symmetric",),
        ),
        Pattern(
            name="instance", says="depending on the image", below=lambda K: 1, corrupt=corrupt_by_instance,
        ),
        Pattern(
            name="annotator", says="a weak annotator's mistakes", below=lambda K: 1,
            corrupt=lambda images, labels, rate, K, seed: corrupt_by_annotator(images, labels, rate, seed),
        ),
        Pattern(name="pair", says="to the next class", below=lambda K: 0.5, matrix=pair),
        Pattern(
            name="asymmetric", says="to a similar class", below=lambda K: 0.5,
            matrix=lambda rate, K: asymmetric("cifar-10", rate), datasets=("cifar-10",),
        ),
    ],
)  # fmt: skip


def parse(setting: str) -> tuple[Pattern, float] | None:
    """Return the pattern and the rate of a setting NAME-R, or None where it is no such setting.

    >>> pattern, rate = parse("Uniform-0.450")
    >>> pattern.name, rate
    ('uniform', 0.45)
    >>> parse("uniform-low")
    """
    names = "|".join(map(re.escape, PATTERNS))
    match = re.fullmatch(rf"({names})-(\d*\.?\d+(?:e-?\d+)?)", str(setting).strip().casefold())
    return match and (PATTERNS[match[1]], float(match[2]))
