"""How one network is trained: the values that the training loop reads, and the stages before a run.

Where the values come from is not said here: ``fdiv.experiments.recipes`` holds the paper's and ours.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from fdiv.learning.losses import Product

WARM_UP, ESTIMATE_T = STAGES = ("warm-up", "estimate-T")
PEAK_AT = 0.2  # the share of the steps after which a triangle is at its peak
Optimiser = Literal["adam", "adagrad", "sgd"]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The settings of one training.

    model: a name of ``fdiv.learning.models.MODELS``.
    schedule: (epochs, learning rate) one after another; the sum of the epochs is the length of the run.
    ramp: "steps" keeps each learning rate for its epochs; "triangle" rises from 0 to the largest one over the
        first fifth of all steps, and falls back to 0 over the others.
    optimiser: "adam", "adagrad" or "sgd"; ``momentum`` and ``nesterov`` are for the last.
    weight_decay: of all parameters, or with ``decay="weights"`` of all but biases and normalisation.
    mean, std: subtracted from pixels in [0, 1], and the divisor after it; one number or one per channel.
    augment: a name of ``fdiv.learning.augment.AUGMENTATIONS``.
    product: how the term over the product distribution is taken, see ``FDivLoss``.
    half_on_cpu: whether a CPU that multiplies bfloat16 in hardware does so, which is twice as fast; any other
        computes in float32. CUDA always takes 16 bits.
    sharpness: how far the weights move uphill before each gradient, SAM's rho, see
        ``modern.sharpness_aware``; 0 is an ordinary step.
    average: the decay of the running mean of the weights, which is then judged and kept in place of the
        network in training, see ``modern.weight_average``; 0 averages nothing.
    warm_up: trained first; its best weights, judged on noisy validation data, are where this recipe starts.
    warm_up_method: the method of the warm-up, "ce", "ratio" or "pearson-logit".
    source: where these numbers come from.

    >>> Recipe(model="cnn", schedule=((20, 1e-3), (20, 2e-4))).learning_rate(25)
    0.0002
    """

    model: str
    schedule: tuple[tuple[int, float], ...]
    ramp: Literal["steps", "triangle"] = "steps"
    optimiser: Optimiser = "adam"
    momentum: float = 0.0
    nesterov: bool = False
    weight_decay: float = 0.0
    decay: Literal["all", "weights"] = "all"
    batch_size: int = 128
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)
    augment: str = "none"
    product: Product = "exact"
    half_on_cpu: bool = False
    sharpness: float = 0.0
    average: float = 0.0
    warm_up: Recipe | None = None
    warm_up_method: str = "ce"
    source: str = ""

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise ValueError(f"batch_size is {self.batch_size}, but a batch has at least one example")

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

    def rate(self, progress: float) -> float:
        """Return the learning rate after the share ``progress`` of all steps, from 0 up to 1.

        >>> hat = Recipe(model="cnn", schedule=((10, 0.1),), ramp="triangle")
        >>> [round(hat.rate(progress), 3) for progress in (0.0, 0.1, 0.2, 0.6)]
        [0.0, 0.05, 0.1, 0.05]
        """
        if self.ramp == "steps":
            return self.learning_rate(min(int(progress * self.epochs + 1e-9), self.epochs - 1))
        peak = max(rate for _, rate in self.schedule)
        return peak * min(progress / PEAK_AT, (1 - progress) / (1 - PEAK_AT))

    def values(self) -> dict[str, Any]:
        """Return all that decides the outcome of a training: every field that has not its default value.

        A field that is added later with a default leaves the values of older recipes, and so the identity of
        their runs, as they are.
        """
        changed = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        changed.pop("source", None)
        if self.warm_up is not None:
            changed["warm_up"] = self.warm_up.values()
        return changed


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
