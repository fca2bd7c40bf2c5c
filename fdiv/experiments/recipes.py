"""What to train with, per dataset, method and MODE: the paper's settings live here and nowhere else.

Three kinds of numbers, told apart by the ``source`` of a recipe:

* the paper's own (appendix C.5, "Parameter settings on noised dataset", and C.6 for clean labels), the
  default of MODE "paper";
* what the authors' programs do where they differ from their paper, by ``variant="authors-code"``;
* ours, for the embedded digits (MODE "quick") and for a CPU (MODE "laptop").

The paper leaves the baselines to "their default setting". For these we took their authors' programs: Patrini
et al. (2017) for BLC and FLC, Xu et al. (2019) for DMI, and Wei's multi-class peer loss for PL.

On CIFAR and Clothing1M a method starts from a warm-up with cross-entropy. It is one recipe for all of them,
so that it is trained once, see ``fdiv.learning.training.fit``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor

from fdiv.learning.losses import (
    DMI,
    BackwardCorrection,
    CrossEntropy,
    FDivLoss,
    ForwardCorrection,
    NoisyLabelLoss,
    PeerLoss,
    peer_schedule,
    trains_forward,
)
from fdiv.modes import check_mode
from fdiv.names import choose
from fdiv.theory.divergences import DIVERGENCES, divergence

BASELINES = {
    "ce": "Cross-entropy",
    "blc": "Backward correction",
    "flc": "Forward correction",
    "dmi": "DMI",
    "pl": "Peer loss",
}
OURS = {
    "ratio": "Ratio rule",
    "pearson-logit": "Pearson χ² on logits",
    "plugin": "Plug-in Pearson χ²",
}
NEEDS_TRANSITION = ("blc", "flc")
# What may be trained before a run, see stages_before.
WARM_UP, ESTIMATE_T = STAGES = ("warm-up", "estimate-T")
CORRECTIONS = ("none", "paper", "exact", "forward")
VARIANTS = {
    "paper": "as the paper says",
    "paper-low-rate": "the paper's second setting: half the initial learning rate",
    "authors-code": "what the authors' program does where it differs from the paper",
}
QUICK_DATA = {  # what MODE quick reads in place of a dataset
    "digits": "digits",
    "paired-digits": "paired-digits",
    "mnist": "digits",
    "fashion-mnist": "digits",
    "cifar-10": "digits",
    "cifar-100": "paired-digits",
    "clothing1m": "digits",
}
DATASETS = tuple(QUICK_DATA)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How one network is trained.

    model: a name of ``fdiv.learning.models.MODELS``.
    schedule: (epochs, learning rate) after one another; the sum of the epochs is the length of the run.
    optimiser: "adam", "adagrad" or "sgd"; ``momentum`` is for the last.
    mean, std: subtracted from pixels in [0, 1], and what they are divided by; one number or one per channel.
    augment: a name of ``fdiv.learning.augment.AUGMENTATIONS``.
    product: how the term over the product distribution is taken, see ``FDivLoss``.
    warm_up: trained first; its best weights, judged on noisy validation data, are where this recipe starts.
    warm_up_method: what it is trained with, "ce", "ratio" or "pearson-logit".
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


def quick_dataset(dataset: str) -> str:
    """What MODE quick reads in place of a dataset."""
    return QUICK_DATA[choose("dataset", dataset, DATASETS)]


def methods() -> tuple[str, ...]:
    """The thirteen of the paper: its five baselines and every registered divergence."""
    return (*BASELINES, *DIVERGENCES)


def method_title(method: str, correction: str = "none") -> str:
    """How a figure or a table calls the method."""
    title = (BASELINES | OURS).get(method) or divergence(method).title
    return title if correction == "none" else f"{title}, {correction} correction"


def needs_transition(method: str, correction: str = "none") -> bool:
    """Whether the loss is built with a transition matrix."""
    return method in NEEDS_TRANSITION or correction != "none"


def stages_before(recipe: Recipe, estimate_T: bool) -> dict[str, tuple[str, Recipe]]:
    """What is trained before ``recipe``: the name of each stage with its method and its own recipe.

    That is the warm-up and, where T is to be estimated, a network trained with cross-entropy, unless the
    warm-up is one.
    """
    stages = {}
    if recipe.warm_up is not None:
        stages[WARM_UP] = (recipe.warm_up_method, recipe.warm_up)
    if estimate_T and (recipe.warm_up is None or recipe.warm_up_method != "ce"):
        stages[ESTIMATE_T] = ("ce", recipe)
    return stages


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
    correction: "paper", "exact" or "forward" for a divergence, see ``FDivLoss``.
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
        case "pearson-logit":
            return FDivLoss("pearson", num_classes, score="logit", product=product, label_prior=label_prior)
        case "plugin":
            return FDivLoss("pearson", num_classes, variational="plugin", barrier=1.0)
    if correction == "none":
        return FDivLoss(method, num_classes, product=product, label_prior=label_prior)
    return FDivLoss(method, num_classes, label_prior=label_prior, transition=T, correction=correction)


# ------------------------------------------------------------------ MNIST and Fashion-MNIST

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
PAPER_WARM = replace(
    PAPER_DF,
    batch_size=256,
    warm_up=LAPTOP_WARM.warm_up,
    warm_up_method="ratio",
    source="ours: 3 epochs of the ratio rule, then the schedule of the paper's D_f",
)

# ------------------------------------------------------------------ CIFAR

IMAGENET_PIXELS = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}  # the authors' for CIFAR-10
CIFAR100_PIXELS = {"mean": (0.5071, 0.4867, 0.4408), "std": (0.2675, 0.2565, 0.2761)}  # and for CIFAR-100

PAPER_CIFAR_CE = Recipe(
    model="preact-resnet-18",  # "we unify the model to be an 18-layer PreAct Resnet"
    optimiser="sgd",  # "SGD with a momentum of 0.9, a weight decay of 0.0005, and a batch size of 128"
    momentum=0.9,
    weight_decay=5e-4,
    batch_size=128,
    schedule=((60, 0.1), (60, 0.01), (60, 1e-3), (60, 1e-4)),
    augment="crop-flip",
    source="paper, appendix C.5; rates, epochs and augmentation from the authors' program",
    **IMAGENET_PIXELS,
)
PAPER_CIFAR_WARM_UP = replace(  # "CE warm-up for 120 (CIFAR-10) or 240 (CIFAR-100) epochs"
    PAPER_CIFAR_CE,
    schedule=PAPER_CIFAR_CE.schedule[:2],
    source="paper, appendix C.5: 120 epochs; their rates from the authors' program, which has 240",
)
PAPER_CIFAR_DF = replace(
    PAPER_CIFAR_CE,
    # "100 epochs after the warm-up with initial learning rate 0.01, and decays 0.1 every 30 epochs"
    schedule=((30, 0.01), (30, 1e-3), (30, 1e-4), (10, 1e-5)),
    warm_up=PAPER_CIFAR_WARM_UP,
    source="paper, appendix C.5",
)
PAPER_CIFAR_DMI = replace(
    PAPER_CIFAR_DF,
    schedule=((100, 1e-6),),
    source="paper, appendix C.5; epochs and rate from DMI's program for CIFAR-10",
)
PAPER_CIFAR_CORRECTION = replace(
    PAPER_CIFAR_DF,
    schedule=((40, 0.1), (40, 0.01), (40, 1e-3)),
    source="paper, appendix C.5; epochs and rates from Patrini et al.'s program",
)
PAPER_CIFAR100_CORRECTION = replace(PAPER_CIFAR_CORRECTION, schedule=((80, 0.1), (40, 0.01), (30, 1e-3)))
PAPER_CIFAR_WARM = replace(
    PAPER_CIFAR_DF,
    batch_size=256,
    warm_up_method="ratio",
    source="ours: the paper's warm-up with the ratio rule, then the schedule of its D_f",
)
AUTHORS_CODE_CIFAR = replace(
    PAPER_CIFAR_DF,
    model="preact-resnet-18-authors",
    augment="crop-flip-rotate",
    product="sampled",
    warm_up=replace(PAPER_CIFAR_CE, model="preact-resnet-18-authors", augment="crop-flip-rotate"),
    source="the authors' program; 100 epochs on CIFAR-100 too, where it says 1",
)
LAPTOP_CIFAR_CE = Recipe(
    model="cifar-net",
    schedule=((10, 1e-3), (4, 2e-4)),
    batch_size=128,
    augment="none",  # with crops and flips so few epochs memorise nothing, and there is nothing to resist
    source="ours: a small network in 14 epochs",
    **IMAGENET_PIXELS,
)
LAPTOP_CIFAR_DF = replace(
    LAPTOP_CIFAR_CE,
    schedule=((6, 1e-3), (4, 2e-4)),
    warm_up=replace(LAPTOP_CIFAR_CE, schedule=((4, 1e-3),)),
    source="ours: a small network, 4 epochs of cross-entropy, then 10 of the method",
)
LAPTOP_CIFAR_DMI = replace(
    LAPTOP_CIFAR_DF,
    schedule=((10, 1e-4),),
    source="ours: a small network, 4 epochs of cross-entropy, then 10 of DMI, ten times slower",
)
LAPTOP_CIFAR100_DMI = replace(
    LAPTOP_CIFAR_DMI,
    batch_size=1024,  # at 128, some of a hundred classes are always missing, and DMI has no gradient
    source="ours: as for CIFAR-10, with batches in which every class can be",
)
LAPTOP_CIFAR_WARM = replace(
    LAPTOP_CIFAR_DF,
    batch_size=256,
    warm_up_method="ratio",
    source="ours: a small network, 4 epochs of the ratio rule, then 10 of the method",
)

# ------------------------------------------------------------------ Clothing1M

PAPER_CLOTHING_WARM_UP = Recipe(
    model="resnet-50",  # "pre-trained ResNet50, SGD optimizer with momentum 0.9 and weight decay 1e-3"
    optimiser="sgd",
    momentum=0.9,
    weight_decay=1e-3,
    batch_size=128,  # the paper names none; 128 is in its authors' README, 56 in their program
    schedule=((10, 0.002),),  # "initial learning rate is 0.002", up to epoch 10
    mean=(0.6959, 0.6537, 0.6371),
    std=(0.3113, 0.3192, 0.3214),
    augment="crop224-flip",
    source="paper, appendix C.5; that these epochs are cross-entropy, from the authors' program",
)
PAPER_CLOTHING_DF = replace(
    PAPER_CLOTHING_WARM_UP,
    # "40 epochs, after 10 epochs, the learning rate becomes 5e-5. Then it decays 0.2, 0.5" every 5 epochs
    schedule=tuple((5, rate) for rate in (5e-5, 1e-5, 5e-6, 1e-6, 5e-7, 1e-7)),
    warm_up=PAPER_CLOTHING_WARM_UP,
    source="paper, appendix C.5; the batch from its authors' README, pixels from their program",
)
PAPER_CLOTHING_CE = replace(
    PAPER_CLOTHING_WARM_UP,
    schedule=((5, 0.01), (5, 1e-3)),
    batch_size=256,
    source="DMI's program: the paper quotes its baselines on Clothing1M from others",
)
PAPER_CLOTHING_DMI = replace(
    PAPER_CLOTHING_CE,
    schedule=((5, 1e-6), (5, 5e-7)),
    warm_up=PAPER_CLOTHING_CE,
    source="DMI's program: the paper quotes its baselines on Clothing1M from others",
)
PAPER_CLOTHING_CORRECTION = replace(
    PAPER_CLOTHING_DF, source="ours: the schedule of the paper's D_f, which quotes its baselines from others"
)
PAPER_CLOTHING_WARM = replace(
    PAPER_CLOTHING_DF,
    warm_up_method="ratio",
    source="ours: the paper's warm-up with the ratio rule, then the schedule of its D_f",
)
AUTHORS_CODE_CLOTHING = replace(
    PAPER_CLOTHING_DF, batch_size=56, product="sampled", source="the authors' program"
)

# ------------------------------------------------------------------ clean labels (appendix C.6)

PAPER_CLEAN_CE = replace(
    PAPER_DF,
    schedule=((20, 5e-4), (20, 1e-4)),  # "40 epochs. The initial learning rate is 5e-4, and it decays 0.2"
    source="paper, appendix C.6",
)
PAPER_CLEAN_CIFAR_CE = replace(
    PAPER_CIFAR_CE, schedule=((150, 0.1), (100, 0.01), (50, 1e-3)), source="paper, appendix C.6"
)
PAPER_CLEAN_CIFAR_DF = replace(
    PAPER_CIFAR_CE,
    schedule=((60, 0.1), (60, 0.01), (60, 1e-3), (60, 1e-4)),  # "240 epochs ... decays 0.1 for every 60"
    source="paper, appendix C.6",
)
PAPER_CLEAN_CIFAR100_CE = replace(
    PAPER_CIFAR_CE, schedule=((60, 0.1), (60, 0.02), (40, 4e-3), (40, 8e-4)), source="paper, appendix C.6"
)
PAPER_CLEAN_CIFAR100_DF = replace(
    PAPER_CIFAR_DF,
    # "save the model at 120-th epoch as a warm-up model"
    warm_up=replace(PAPER_CLEAN_CIFAR100_CE, schedule=PAPER_CLEAN_CIFAR100_CE.schedule[:2]),
    source="paper, appendix C.6",
)

# ------------------------------------------------------------------ the embedded digits

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

QUICK_PAIRS_CE = replace(
    QUICK, schedule=((20, 2e-3),), batch_size=128, source="ours, for pairs of the digits: 100 classes"
)
QUICK_PAIRS_DF = replace(  # with a hundred classes a divergence loses many of them unless it is warmed up
    QUICK_PAIRS_CE, schedule=((12, 1e-3),), warm_up=replace(QUICK_PAIRS_CE, schedule=((8, 2e-3),))
)
QUICK_PAIRS_DMI = replace(QUICK_PAIRS_DF, schedule=((12, 1e-4),), batch_size=1000)
QUICK_PAIRS_WARM = replace(QUICK_PAIRS_DF, batch_size=256, warm_up_method="ratio")

# ------------------------------------------------------------------ which of them

Recipes = dict[str, Recipe]
REST = "any other method"


def _cifar100(recipes: Recipes) -> Recipes:
    """The same with the pixels of CIFAR-100."""

    def on_cifar100(one: Recipe) -> Recipe:
        warm_up = one.warm_up and on_cifar100(one.warm_up)
        return replace(one, warm_up=warm_up, **CIFAR100_PIXELS)

    return {method: on_cifar100(one) for method, one in recipes.items()}


def _longer_warm_up(recipes: Recipes) -> Recipes:
    """The same with the warm-up of 240 epochs that the paper has for CIFAR-100."""
    warm_up = replace(PAPER_CIFAR_CE, source="paper, appendix C.5; rates from the authors' program")
    return {method: replace(one, warm_up=warm_up) if one.warm_up else one for method, one in recipes.items()}


_LAPTOP_MNIST = {
    "blc": LAPTOP_CORRECTION,
    "flc": LAPTOP_CORRECTION,
    "dmi": LAPTOP_DMI,
    "plugin": LAPTOP_WARM,
    REST: LAPTOP_DF,
}
_LAPTOP_CIFAR = {
    "ce": LAPTOP_CIFAR_CE,
    "ratio": LAPTOP_CIFAR_CE,
    "dmi": LAPTOP_CIFAR_DMI,
    "plugin": LAPTOP_CIFAR_WARM,
    REST: LAPTOP_CIFAR_DF,
}
_PAPER_MNIST = {
    "blc": PAPER_CORRECTION,
    "flc": PAPER_CORRECTION,
    "dmi": PAPER_DMI,
    "plugin": PAPER_WARM,
    REST: PAPER_DF,
}
_PAPER_CIFAR = {
    "ce": PAPER_CIFAR_CE,
    "ratio": PAPER_CIFAR_CE,
    "blc": PAPER_CIFAR_CORRECTION,
    "flc": PAPER_CIFAR_CORRECTION,
    "dmi": PAPER_CIFAR_DMI,
    "plugin": PAPER_CIFAR_WARM,
    REST: PAPER_CIFAR_DF,
}
_PAPER_CLOTHING = {
    "ce": PAPER_CLOTHING_CE,
    "ratio": PAPER_CLOTHING_CE,
    "blc": PAPER_CLOTHING_CORRECTION,
    "flc": PAPER_CLOTHING_CORRECTION,
    "dmi": PAPER_CLOTHING_DMI,
    "plugin": PAPER_CLOTHING_WARM,
    REST: PAPER_CLOTHING_DF,
}
_QUICK = {"dmi": QUICK_DMI, "plugin": QUICK_WARM, REST: QUICK}
_QUICK_PAIRS = {
    "ce": QUICK_PAIRS_CE,
    "ratio": QUICK_PAIRS_CE,
    "dmi": QUICK_PAIRS_DMI,
    "plugin": QUICK_PAIRS_WARM,
    REST: QUICK_PAIRS_DF,
}
_RECIPES = {
    "quick": {"digits": _QUICK, "paired-digits": _QUICK_PAIRS},
    "laptop": {
        "mnist": _LAPTOP_MNIST,
        "fashion-mnist": _LAPTOP_MNIST,
        "cifar-10": _LAPTOP_CIFAR,
        "cifar-100": _cifar100(_LAPTOP_CIFAR | {"dmi": LAPTOP_CIFAR100_DMI}),
    },
    "paper": {
        "mnist": _PAPER_MNIST,
        "fashion-mnist": _PAPER_MNIST,
        "cifar-10": _PAPER_CIFAR,
        "cifar-100": _cifar100(
            _longer_warm_up(_PAPER_CIFAR | dict.fromkeys(("blc", "flc"), PAPER_CIFAR100_CORRECTION))
        ),
        "clothing1m": _PAPER_CLOTHING,
    },
}
_CLEAN = {  # the methods of the paper's table on clean labels; the others are trained as on noisy ones
    "mnist": {"ce": PAPER_CLEAN_CE, "ratio": PAPER_CLEAN_CE},
    "fashion-mnist": {"ce": PAPER_CLEAN_CE, "ratio": PAPER_CLEAN_CE},
    "cifar-10": {
        "ce": PAPER_CLEAN_CIFAR_CE,
        "ratio": PAPER_CLEAN_CIFAR_CE,
        **dict.fromkeys(DIVERGENCES, PAPER_CLEAN_CIFAR_DF),
    },
    "cifar-100": _cifar100(
        {
            "ce": PAPER_CLEAN_CIFAR100_CE,
            "ratio": PAPER_CLEAN_CIFAR100_CE,
            **dict.fromkeys(DIVERGENCES, PAPER_CLEAN_CIFAR100_DF),
        }
    ),
}
_VARIANTS = {
    "paper-low-rate": dict.fromkeys(("mnist", "fashion-mnist"), PAPER_DF_LOW_RATE),
    "authors-code": {
        "mnist": AUTHORS_CODE,
        "fashion-mnist": AUTHORS_CODE,
        "cifar-10": AUTHORS_CODE_CIFAR,
        "cifar-100": _cifar100({REST: AUTHORS_CODE_CIFAR})[REST],
        "clothing1m": AUTHORS_CODE_CLOTHING,
    },
}


def recipe(
    dataset: str,
    method: str,
    mode: str = "quick",
    *,
    correction: str = "none",
    variant: str = "paper",
    clean: bool = False,
) -> Recipe:
    """The recipe for a method on a dataset.

    dataset: a name of ``DATASETS``. The digits and their pairs have the quick recipes only, MODE quick means
        them; Clothing1M is too large for MODE laptop.
    correction: "exact" starts from the ratio rule, since T^-1 magnifies the noise of the gradient, and from
        random weights it can lose a class; "forward" starts from Pearson on logits; "paper" is trained as the
        paper does.
    variant: a name of ``VARIANTS``; all but "paper" concern the divergences in MODE paper.
    clean: whether the labels are clean, for which the paper has schedules of its own (MODE paper only).
    """
    mode, method = check_mode(mode), check_method(method)
    dataset, variant = choose("dataset", dataset, DATASETS), choose("variant", variant, tuple(VARIANTS))
    if variant != "paper":
        return _variant(dataset, method, mode, variant)
    if mode == "quick":
        dataset = quick_dataset(dataset)
    elif dataset in _RECIPES["quick"]:
        mode = "quick"
    elif dataset not in _RECIPES[mode]:
        raise ValueError(f"{dataset} has no recipe for MODE {mode!r}: choose MODE 'quick' or 'paper'")
    recipes = _RECIPES[mode][dataset]
    if clean and mode == "paper":
        recipes = recipes | _CLEAN.get(dataset, {})
    if correction == "forward":
        return _forward(recipes["plugin"])
    return recipes.get("plugin" if correction == "exact" else method, recipes[REST])


def _forward(one: Recipe) -> Recipe:
    """The same in smaller batches after a warm-up on free scores: from random weights, pairs can merge."""
    return replace(
        one,
        batch_size=one.warm_up.batch_size,
        warm_up_method="pearson-logit",
        source="ours: a warm-up with Pearson on logits, then the method",
    )


def _variant(dataset: str, method: str, mode: str, variant: str) -> Recipe:
    if mode != "paper" or method in (BASELINES | OURS):
        raise ValueError(f"variant {variant!r} concerns only the divergences in MODE 'paper'")
    return _VARIANTS[variant][choose(f"dataset with variant {variant!r}", dataset, tuple(_VARIANTS[variant]))]


def check_method(method: str) -> str:
    """The canonical name of a method, or a ``ValueError`` that names the valid ones."""
    own = {name: name for name in (*BASELINES, *OURS)}
    return choose("method", method, own | DIVERGENCES.aliases())


def check_correction(method: str, correction: str) -> str:
    """``correction``, or a ``ValueError`` where there is none of that name or the method takes none."""
    correction = choose("correction", correction, CORRECTIONS)
    if correction != "none" and method in (BASELINES | OURS):
        raise ValueError(f"correction {correction!r} is for the divergences; method {method!r} takes none")
    if correction == "forward" and not trains_forward(divergence(method)):
        raise ValueError(
            f"correction 'forward' trains through f', which is a step for {method!r}: choose another"
            " divergence"
        )
    return correction
