"""How one network is trained: the values that the training loop reads, and the stages before a run.

Where the values come from is not said here: ``fdiv.experiments.recipes`` holds the paper's and ours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

WARM_UP, ESTIMATE_T = STAGES = ("warm-up", "estimate-T")
Optimiser = Literal["adam", "adagrad", "sgd"]
Product = Literal["exact", "sampled", "shuffled"]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The settings of one training.

    model: a name of ``fdiv.learning.models.MODELS``.
    schedule: (epochs, learning rate) one after another; the sum of the epochs is the length of the run.
    optimiser: "adam", "adagrad" or "sgd"; ``momentum`` is for the last.
    mean, std: subtracted from pixels in [0, 1], and the divisor after it; one number or one per channel.
    augment: a name of ``fdiv.learning.augment.AUGMENTATIONS``.
    product: how the term over the product distribution is taken, see ``FDivLoss``.
    warm_up: trained first; its best weights, judged on noisy validation data, are where this recipe starts.
    warm_up_method: the method of the warm-up, "ce", "ratio" or "pearson-logit".
    source: where these numbers come from.

    >>> Recipe(model="cnn", schedule=((20, 1e-3), (20, 2e-4))).learning_rate(25)
    0.0002
    """

    model: str
    schedule: tuple[tuple[int, float], ...]
    optimiser: Optimiser = "adam"
    momentum: float = 0.0
    weight_decay: float = 0.0
    batch_size: int = 128
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)
    augment: str = "none"
    product: Product = "exact"
    warm_up: Recipe | None = None
    warm_up_method: str = "ce"
    source: str = ""

    @property
    def epochs(self) -> int:
        """The number of epochs of the schedule, the warm-up not counted."""
        return sum(epochs for epochs, _ in self.schedule)

    def learning_rate(self, epoch: int) -> float:
        """Return the learning rate of ``epoch``, counted from 0."""
        last = 0
        for epochs, rate in self.schedule:
            last += epochs
            if epoch < last:
                return rate
        raise ValueError(f"epoch {epoch} lies beyond the {self.epochs} epochs of the schedule")

    def values(self) -> dict[str, Any]:
        """Return all that decides the outcome of a training, as plain values: everything but the source."""
        before = {} if self.warm_up is None else {"warm_up": self.warm_up.values()}
        plain = vars(replace(self, warm_up=None, source=""))
        return {name: value for name, value in plain.items() if name != "source"} | before


def stages_before(recipe: Recipe, estimate_T: bool) -> dict[str, tuple[str, Recipe]]:
    """Return what is trained before ``recipe``: the name of each stage with its method and its own recipe.

    That is the warm-up and, where T is to be estimated, a network trained with cross-entropy, unless the
    warm-up is one.

    >>> list(stages_before(Recipe(model="cnn", schedule=((1, 1e-3),)), estimate_T=True))
    ['estimate-T']
    """
    stages = {}
    if recipe.warm_up is not None:
        stages[WARM_UP] = (recipe.warm_up_method, recipe.warm_up)
    if estimate_T and (recipe.warm_up is None or recipe.warm_up_method != "ce"):
        stages[ESTIMATE_T] = ("ce", recipe)
    return stages
