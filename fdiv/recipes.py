"""What to train with, per dataset, method and MODE: the paper's settings live here and nowhere else.

Three kinds of numbers, told apart by the ``source`` of a recipe:

* the paper's own (appendix C.5, "Parameter settings on noised dataset"), the default of MODE "paper";
* what the authors' programs do where they differ from their paper, by ``variant="authors-code"``;
* ours, for the embedded digits (MODE "quick") and for a CPU (MODE "laptop").

The paper leaves the baselines to "their default setting". For these we took their authors' programs: Patrini
et al. (2017) for BLC and FLC, Xu et al. (2019) for DMI, and Wei's multi-class peer loss for PL.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor

from fdiv.divergences import DIVERGENCES, aliases, divergence
from fdiv.losses import (
    DMI,
    BackwardCorrection,
    CrossEntropy,
    FDivLoss,
    ForwardCorrection,
    NoisyLabelLoss,
    PeerLoss,
    peer_schedule,
)
from fdiv.modes import check_mode
from fdiv.names import choose

BASELINES = {
    "ce": "Cross-entropy",
    "blc": "Backward correction",
    "flc": "Forward correction",
    "dmi": "DMI",
    "pl": "Peer loss",
}
OURS = {
    "ratio": "Ratio rule",
    "plugin": "Plug-in Pearson χ²",
}
NEEDS_TRANSITION = ("blc", "flc")
CORRECTIONS = ("none", "paper", "exact")
VARIANTS = {
    "paper": "as the paper says",
    "paper-low-rate": "the paper's second setting: half the initial learning rate",
    "authors-code": "what the authors' program does, where its schedule differs from the paper's",
}
DATASETS = ("digits", "mnist", "fashion-mnist")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How one network is trained.

    model: a name of ``fdiv.models.MODELS``.
    schedule: (epochs, learning rate) after one another; the sum of the epochs is the length of the run.
    optimiser: "adam", "adagrad" or "sgd"; ``momentum`` is for the last.
    mean, std: subtracted from pixels in [0, 1], and what they are divided by; one number or one per channel.
    augment: a name of ``fdiv.augment.AUGMENTATIONS``.
    product: how the term over the product distribution is taken, see ``FDivLoss``.
    warm_up: trained first; its best weights, judged on noisy validation data, are where this recipe starts.
    warm_up_method: what it is trained with, "ce" or "ratio".
    source: where these numbers come from.
    """

    model: str
    schedule: tuple[tuple[int, float], ...]
    optimiser: str = "adam"
    momentum: float = 0.0
    weight_decay: float = 0.0
    batch_size: int = 128
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)
    augment: str = "none"
    product: str = "exact"
    warm_up: Recipe | None = None
    warm_up_method: str = "ce"
    source: str = ""

    @property
    def epochs(self) -> int:
        """How many epochs the schedule has, the warm-up not counted."""
        return sum(epochs for epochs, _ in self.schedule)

    def learning_rate(self, epoch: int) -> float:
        """The learning rate of ``epoch``, counted from 0."""
        last = 0
        for epochs, rate in self.schedule:
            last += epochs
            if epoch < last:
                return rate
        raise ValueError(f"epoch {epoch} lies beyond the {self.epochs} epochs of the schedule")


def methods() -> tuple[str, ...]:
    """The thirteen of the paper: its five baselines and every registered divergence."""
    return (*BASELINES, *DIVERGENCES)


def method_title(method: str) -> str:
    """How a figure or a table calls the method."""
    return (BASELINES | OURS).get(method) or divergence(method).title


def needs_transition(method: str, correction: str = "none") -> bool:
    """Whether the loss is built with a transition matrix."""
    return method in NEEDS_TRANSITION or correction != "none"


def build_loss(
    method: str,
    num_classes: int,
    *,
    label_prior: Tensor | None = None,
    T: object = None,
    correction: str = "none",
    product: str = "exact",
) -> NoisyLabelLoss:
    """The loss of ``method``.

    T: what BLC, FLC and a corrected divergence correct with; no other method takes it.
    correction: "paper" or "exact" for a divergence, see ``FDivLoss``.
    """
    method, correction = check_method(method), check_correction(method, correction)
    needed = needs_transition(method, correction)
    if (T is not None) != needed:
        raise ValueError(f"method {method!r} {'needs' if needed else 'takes no'} transition matrix T")
    match method:
        case "ce":
            return CrossEntropy(num_classes)
        case "ratio":
            return CrossEntropy(num_classes, label_prior=label_prior)
        case "blc":
            return BackwardCorrection(T)
        case "flc":
            return ForwardCorrection(T)
        case "dmi":
            return DMI(num_classes)
        case "pl":
            return PeerLoss(num_classes, peer_schedule, product=product, label_prior=label_prior)
        case "plugin":
            return FDivLoss("pearson", num_classes, variational="plugin", barrier=1.0)
    if correction == "none":
        return FDivLoss(method, num_classes, product=product, label_prior=label_prior)
    return FDivLoss(method, num_classes, label_prior=label_prior, transition=T, correction=correction)


_MNIST_PIXELS = {"mean": (0.1307,), "std": (0.3081,)}  # of MNIST; the authors' code has them for Fashion too

PAPER_DF = Recipe(
    model="cnn",  # "the convolutional neural network used in DMI for DMI, PL and f-divergences"
    optimiser="adam",  # "Adam with default parameters is used as the optimizer"
    batch_size=128,  # "All the experiments are performed with batch size 128"
    # "80 epochs, either with initial learning rate 5e-4 or 1e-3, then decay 0.2, 0.5, 0.2 every 20 epochs"
    schedule=((20, 1e-3), (20, 2e-4), (20, 1e-4), (20, 2e-5)),
    source="paper, appendix C.5",
    **_MNIST_PIXELS,
)
PAPER_DF_LOW_RATE = replace(PAPER_DF, schedule=tuple((n, rate / 2) for n, rate in PAPER_DF.schedule))
# The first comparison of its chain of "elif epoch > 20 / 40 / 60" is always true from epoch 21 on.
AUTHORS_CODE = replace(
    PAPER_DF, schedule=((21, 1e-3), (59, 5e-4)), product="sampled", source="the authors' program"
)
PAPER_CORRECTION = Recipe(
    model="fully-connected",  # "loss-correction's fully-connected neural network case"
    optimiser="adagrad",  # "AdaGrad in order to be consistent with their works"
    schedule=((40, 1e-2),),  # 40 epochs in Patrini's program; 0.01 is the default rate of its Keras
    source="paper, appendix C.5; epochs and rate from Patrini et al.'s program",
)
PAPER_DMI = Recipe(
    model="cnn",
    optimiser="adam",
    schedule=((20, 1e-4),),
    source="paper, appendix C.5; epochs and rate from DMI's program for Fashion-MNIST",
    warm_up=Recipe(model="cnn", schedule=((20, 1e-4),), source="DMI's program", **_MNIST_PIXELS),
    **_MNIST_PIXELS,
)
LAPTOP_DF = replace(PAPER_DF, schedule=((8, 1e-3), (4, 2e-4)), source="ours: PAPER_DF in 12 epochs")
LAPTOP_CORRECTION = replace(
    PAPER_CORRECTION, schedule=((12, 1e-2),), source="ours: PAPER_CORRECTION in 12 epochs"
)
LAPTOP_DMI = replace(
    PAPER_DMI,
    schedule=((6, 1e-4),),
    warm_up=replace(LAPTOP_DF, schedule=((6, 1e-3),)),
    source="ours: PAPER_DMI in 6 + 6 epochs, the warm-up ten times faster",
)
LAPTOP_WARM = replace(
    LAPTOP_DF,
    schedule=((6, 1e-3), (3, 2e-4)),
    batch_size=256,
    warm_up=replace(LAPTOP_DF, schedule=((3, 1e-3),)),
    warm_up_method="ratio",
    source="ours: 3 epochs of the ratio rule, then 9 of the method",
)
_LAPTOP = {
    "blc": LAPTOP_CORRECTION,
    "flc": LAPTOP_CORRECTION,
    "dmi": LAPTOP_DMI,
    "plugin": LAPTOP_WARM,
}
PAPER_WARM = replace(
    PAPER_DF,
    batch_size=256,
    warm_up=LAPTOP_WARM.warm_up,
    warm_up_method="ratio",
    source="ours: 3 epochs of the ratio rule, then the schedule of the paper's D_f",
)

_PAPER = {
    "blc": PAPER_CORRECTION,
    "flc": PAPER_CORRECTION,
    "dmi": PAPER_DMI,
    "plugin": PAPER_WARM,
}

QUICK = Recipe(model="small-net", schedule=((40, 2e-3),), batch_size=64, source="ours, for the digits")
QUICK_DMI = replace(
    QUICK, schedule=((20, 1e-4),), batch_size=128, warm_up=replace(QUICK, schedule=((20, 2e-3),))
)
QUICK_WARM = replace(
    QUICK,
    schedule=((30, 1e-3),),
    batch_size=256,
    warm_up=replace(QUICK, schedule=((20, 2e-3),)),
    warm_up_method="ratio",
)
_QUICK = {"dmi": QUICK_DMI, "plugin": QUICK_WARM}


def recipe(
    dataset: str, method: str, mode: str = "quick", *, correction: str = "none", variant: str = "paper"
) -> Recipe:
    """The recipe for a method on a dataset.

    correction: "exact" starts from the ratio rule, since T^-1 magnifies the noise of the gradient, and from
        random weights it can lose a class; "paper" is trained as the paper does, from random weights.
    dataset: digits, mnist or fashion-mnist; the digits have the quick recipes only, MODE quick means them.
    variant: a name of ``VARIANTS``; all but "paper" concern the divergences in MODE paper.
    """
    mode, method = check_mode(mode), check_method(method)
    dataset, variant = choose("dataset", dataset, DATASETS), choose("variant", variant, tuple(VARIANTS))
    if variant != "paper":
        if mode != "paper" or method in (BASELINES | OURS):
            raise ValueError(f"variant {variant!r} concerns only the divergences in MODE 'paper'")
        return {"paper-low-rate": PAPER_DF_LOW_RATE, "authors-code": AUTHORS_CODE}[variant]
    key = "plugin" if correction == "exact" else method
    if mode == "quick" or dataset == "digits":
        return _QUICK.get(key, QUICK)
    if mode == "laptop":
        return _LAPTOP.get(key, LAPTOP_DF)
    return _PAPER.get(key, PAPER_DF)


def check_method(method: str) -> str:
    """The canonical name of a method, or a ``ValueError`` that names the valid ones."""
    own = {name: name for name in (*BASELINES, *OURS)}
    return choose("method", method, own | aliases())


def check_correction(method: str, correction: str) -> str:
    """``correction``, or a ``ValueError`` where there is none of that name or the method takes none."""
    correction = choose("correction", correction, CORRECTIONS)
    if correction != "none" and method in (BASELINES | OURS):
        raise ValueError(f"correction {correction!r} is for the divergences; method {method!r} takes none")
    return correction
