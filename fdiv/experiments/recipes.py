"""The numbers that networks are trained with: the paper's and ours, and nothing else.

Three kinds of numbers, told apart by the ``source`` of a recipe:

* the paper's own (appendix C.5, "Parameter settings on noised dataset", and C.6 for clean labels), the
  default of MODE "paper";
* what the authors' programs do where they differ from their paper, by ``variant="authors-code"``;
* ours, for the embedded digits (MODE "quick") and for a CPU (MODE "laptop").

The paper leaves the baselines to "their default setting". For these we took their authors' programs: Patrini
et al. (2017) for BLC and FLC, Xu et al. (2019) for DMI, and Wei's multi-class peer loss for PL.

On CIFAR and Clothing1M a method starts from a warm-up with cross-entropy. It is one recipe for all of them,
so that it is trained once, see ``fdiv.learning.training.fit``.

A dataset's row names its family of recipes, a method's row names the family within it: ``RECIPES`` is a table
of MODE, dataset's family and method's family.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

from fdiv.datasets import CATALOGUE, Entry
from fdiv.learning.methods import METHODS
from fdiv.learning.recipe import Recipe
from fdiv.names import choose

Mode = Literal["quick", "laptop", "paper"]
MODES = {
    "quick": "the embedded digits, about a minute on two cores",
    "laptop": "the real dataset with a CPU-sized budget, minutes",
    "paper": "the paper's recipe, meant for a GPU",
}
ROBUSTNESS_RATES = tuple(round(0.09 * step, 2) for step in range(10))  # of the paper's robustness figure
VARIANTS = {
    "paper": "as the paper says",
    "authors-code": "what the authors' program does where it differs from the paper",
    "long": "three times the epochs of MODE laptop, long enough to memorise",
    "averaged": "judged by a running mean of its weights",
    "strong": "judged by a running mean of its weights, with holes cut into its pictures",
    "sam": "sharpness-aware steps, which need twice the time",
    "shifted": "every picture shifted at random, where the recipe leaves pictures as they are",
}
LONGER = 3  # of the variant "long"
CHANGES: dict[str, dict[str, Any]] = {
    "averaged": {"average": 0.999},
    "strong": {"average": 0.999, "augment": "shift-flip-cut"},
    "sam": {"sharpness": 0.05},
    "shifted": {"augment": "shift"},
}

MIRRORED = ("shift-flip", "crop-flip")  # pictures that may be shifted and mirrored

# A recipe is a few lines, laid out by hand.
# fmt: off
# ------------------------------------------------------------------ MNIST and Fashion-MNIST

# The authors' code has the pixels of MNIST for Fashion-MNIST, too, and those of ImageNet for CIFAR-10.
_MNIST_PIXELS: dict[str, Any] = {"mean": (0.1307,), "std": (0.3081,)}

PAPER_DF = Recipe(
    model="cnn",  # "the convolutional neural network used in DMI for DMI, PL and f-divergences"
    optimiser="adam",  # "Adam with default parameters is used as the optimizer"
    batch_size=128,  # "All the experiments are performed with batch size 128"
    # "80 epochs, either with initial learning rate 5e-4 or 1e-3, then decay 0.2, 0.5, 0.2 every 20 epochs"
    schedule=((20, 1e-3), (20, 2e-4), (20, 1e-4), (20, 2e-5)),
    source="paper, appendix C.5",
    **_MNIST_PIXELS,
)
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
    model="cnn", optimiser="adam", schedule=((20, 1e-4),),
    source="paper, appendix C.5; epochs and rate from DMI's program for Fashion-MNIST",
    warm_up=Recipe(model="cnn", schedule=((20, 1e-4),), source="DMI's program", **_MNIST_PIXELS),
    **_MNIST_PIXELS,
)
LAPTOP_DF = replace(PAPER_DF, schedule=((8, 1e-3), (4, 2e-4)), source="ours: PAPER_DF in 12 epochs")
LAPTOP_CORRECTION = replace(
    PAPER_CORRECTION, schedule=((12, 1e-2),), source="ours: PAPER_CORRECTION in 12 epochs"
)
LAPTOP_DMI = replace(
    PAPER_DMI, schedule=((6, 1e-4),), warm_up=replace(LAPTOP_DF, schedule=((6, 1e-3),)),
    source="ours: PAPER_DMI in 6 + 6 epochs, the warm-up ten times faster",
)
LAPTOP_WARM = replace(
    LAPTOP_DF, schedule=((6, 1e-3), (3, 2e-4)), batch_size=256,
    warm_up=replace(LAPTOP_DF, schedule=((3, 1e-3),)), warm_up_method="ratio",
    source="ours: 3 epochs of the ratio rule, then 9 of the method",
)
PAPER_WARM = replace(
    PAPER_DF, batch_size=256, warm_up=LAPTOP_WARM.warm_up, warm_up_method="ratio",
    source="ours: 3 epochs of the ratio rule, then the schedule of the paper's D_f",
)

# ------------------------------------------------------------------ CIFAR

IMAGENET_PIXELS: dict[str, Any] = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}
CIFAR100_PIXELS: dict[str, Any] = {"mean": (0.5071, 0.4867, 0.4408), "std": (0.2675, 0.2565, 0.2761)}

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
    PAPER_CIFAR_DF, schedule=((100, 1e-6),),
    source="paper, appendix C.5; epochs and rate from DMI's program for CIFAR-10",
)
PAPER_CIFAR_CORRECTION = replace(
    PAPER_CIFAR_DF, schedule=((40, 0.1), (40, 0.01), (40, 1e-3)),
    source="paper, appendix C.5; epochs and rates from Patrini et al.'s program",
)
PAPER_CIFAR100_CORRECTION = replace(PAPER_CIFAR_CORRECTION, schedule=((80, 0.1), (40, 0.01), (30, 1e-3)))
PAPER_CIFAR_WARM = replace(
    PAPER_CIFAR_DF, batch_size=256, warm_up_method="ratio",
    source="ours: the paper's warm-up with the ratio rule, then the schedule of its D_f",
)
AUTHORS_CODE_CIFAR = replace(
    PAPER_CIFAR_DF, model="preact-resnet-18-authors", augment="crop-flip-rotate", product="sampled",
    warm_up=replace(PAPER_CIFAR_CE, model="preact-resnet-18-authors", augment="crop-flip-rotate"),
    source="the authors' program; 100 epochs on CIFAR-100 too, where it says 1",
)
CIFAR10_PIXELS: dict[str, Any] = {"mean": (0.4914, 0.4822, 0.4465), "std": (0.247, 0.2435, 0.2616)}
LAPTOP_CIFAR_CE = Recipe(
    model="fast-net",
    optimiser="sgd",
    momentum=0.9,
    nesterov=True,
    weight_decay=5e-4,
    decay="weights",
    batch_size=256,
    schedule=((12, 0.4),),  # peaks of 0.4 here and below: fdiv.experiments.fast_recipe
    ramp="triangle",
    augment="shift-flip",
    half_on_cpu=True,
    source="ours: a fast network in 12 epochs",
    **CIFAR10_PIXELS,
)
LAPTOP_CIFAR_WARM_UP = replace(
    LAPTOP_CIFAR_CE, schedule=((4, 0.4),), source="ours: 4 epochs of a fast network"
)
LAPTOP_CIFAR_DF = replace(
    LAPTOP_CIFAR_CE, schedule=((8, 0.4),), warm_up=LAPTOP_CIFAR_WARM_UP,
    source="ours: a fast network, 4 epochs of cross-entropy, then 8 of the method",
)
LAPTOP_CIFAR_DMI = replace(
    LAPTOP_CIFAR_DF, schedule=((8, 0.01),),
    source="ours: a fast network, 4 epochs of cross-entropy, then 8 of DMI, ten times slower",
)
LAPTOP_CIFAR100_DMI = replace(
    LAPTOP_CIFAR_DMI,
    batch_size=1024,  # at 256, some of a hundred classes are always missing, and DMI has no gradient
    source="ours: as for CIFAR-10, with batches in which every class can be",
)
LAPTOP_CIFAR_WARM = replace(
    LAPTOP_CIFAR_DF, schedule=((4, 0.02),), warm_up=replace(LAPTOP_CIFAR_WARM_UP, schedule=((8, 0.4),)),
    warm_up_method="ratio",
    source="ours: a fast network, 8 epochs of the ratio rule, then 4 of the method in small steps",
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
    PAPER_CLOTHING_WARM_UP, schedule=((5, 0.01), (5, 1e-3)), batch_size=256,
    source="DMI's program: the paper quotes its baselines on Clothing1M from others",
)
PAPER_CLOTHING_DMI = replace(
    PAPER_CLOTHING_CE, schedule=((5, 1e-6), (5, 5e-7)), warm_up=PAPER_CLOTHING_CE,
    source="DMI's program: the paper quotes its baselines on Clothing1M from others",
)
PAPER_CLOTHING_CORRECTION = replace(
    PAPER_CLOTHING_DF, source="ours: the schedule of the paper's D_f, which quotes its baselines from others"
)
PAPER_CLOTHING_WARM = replace(
    PAPER_CLOTHING_DF, warm_up_method="ratio",
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
    QUICK, schedule=((30, 1e-3),), batch_size=256, warm_up=replace(QUICK, schedule=((20, 2e-3),)),
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

# ------------------------------------------------------------------ frozen features

FEATURES = Recipe(
    model="mlp-head", schedule=((8, 1e-3), (4, 2e-4)), batch_size=512,
    source="ours: a small net on frozen features, 12 epochs",
)
FEATURES_WARM_UP = replace(FEATURES, schedule=((4, 1e-3),), source="ours: 4 epochs on frozen features")
FEATURES_DMI = replace(
    FEATURES, schedule=((8, 1e-4),), warm_up=FEATURES_WARM_UP,
    source="ours: on frozen features, 4 epochs of cross-entropy, then 8 of DMI, ten times slower",
)
FEATURES_WARM = replace(
    FEATURES, schedule=((8, 2e-4),), warm_up=FEATURES_WARM_UP, warm_up_method="ratio",
    source="ours: on frozen features, 4 epochs of the ratio rule, then 8 of the method in small steps",
)

# ------------------------------------------------------------------ the user's own pictures

OWN = Recipe(
    model="cifar-net", schedule=((10, 1e-3), (5, 2e-4)), batch_size=64, mean=(0.45,), std=(0.25,),
    source="ours: a small convolutional net for pictures of any kind, 15 epochs",
)
OWN_WARM_UP = replace(OWN, schedule=((6, 1e-3),), source="ours: 6 epochs of OWN")
OWN_WARM = replace(
    OWN, schedule=((9, 2e-4),), warm_up=OWN_WARM_UP, warm_up_method="ratio",
    source="ours: OWN after the ratio rule",
)
OWN_DMI = replace(
    OWN, schedule=((9, 1e-4),), batch_size=256, warm_up=OWN_WARM_UP, source="ours: OWN, then DMI"
)

# fmt: on
# ------------------------------------------------------------------ which of them

Recipes = dict[str, Recipe]
REST = "df"  # the family of a method that the family of a dataset does not name
FORWARD = "forward"  # a divergence with correction="forward", where it has a recipe of its own


def _throughout(one: Recipe, change: Callable[[Recipe], Recipe]) -> Recipe:
    """Return ``one`` with a change, which its warm-up has, too."""
    warm_up = one.warm_up and _throughout(one.warm_up, change)
    return replace(change(one), warm_up=warm_up)


def _cifar100(recipes: Recipes) -> Recipes:
    """Return the same recipes with the pixels of CIFAR-100."""
    return {
        method: _throughout(one, lambda stage: replace(stage, **CIFAR100_PIXELS))
        for method, one in recipes.items()
    }


def _longer_warm_up(recipes: Recipes) -> Recipes:
    """Return the same recipes with the warm-up of 240 epochs that the paper has for CIFAR-100."""
    warm_up = replace(PAPER_CIFAR_CE, source="paper, appendix C.5; rates from the authors' program")
    return {method: replace(one, warm_up=warm_up) if one.warm_up else one for method, one in recipes.items()}


_LAPTOP_CIFAR = {
    "ce": LAPTOP_CIFAR_CE,
    "logit": LAPTOP_CIFAR_CE,
    "dmi": LAPTOP_CIFAR_DMI,
    "warm": LAPTOP_CIFAR_WARM,
    FORWARD: LAPTOP_CIFAR_DF,  # T is estimated from its warm-up, and the steps after it are large enough
    REST: LAPTOP_CIFAR_DF,
}
_PAPER_CIFAR = {
    "ce": PAPER_CIFAR_CE,
    "correction": PAPER_CIFAR_CORRECTION,
    "dmi": PAPER_CIFAR_DMI,
    "warm": PAPER_CIFAR_WARM,
    REST: PAPER_CIFAR_DF,
}
# A MODE, the family of a dataset, the family of a method.
RECIPES: dict[str, dict[str, Recipes]] = {
    "quick": {
        "digits": {"dmi": QUICK_DMI, "warm": QUICK_WARM, REST: QUICK},
        "paired-digits": {
            "ce": QUICK_PAIRS_CE,
            "dmi": QUICK_PAIRS_DMI,
            "warm": QUICK_PAIRS_WARM,
            REST: QUICK_PAIRS_DF,
        },
        "own": {"dmi": OWN_DMI, "warm": OWN_WARM, REST: OWN},
    },
    "laptop": {
        "mnist": {
            "correction": LAPTOP_CORRECTION,
            "dmi": LAPTOP_DMI,
            "warm": LAPTOP_WARM,
            REST: LAPTOP_DF,
        },
        "cifar-10": _LAPTOP_CIFAR,
        "cifar-100": _cifar100(_LAPTOP_CIFAR | {"dmi": LAPTOP_CIFAR100_DMI}),
        "features": {"dmi": FEATURES_DMI, "warm": FEATURES_WARM, REST: FEATURES},
    },
    "paper": {
        "mnist": {
            "correction": PAPER_CORRECTION,
            "dmi": PAPER_DMI,
            "warm": PAPER_WARM,
            REST: PAPER_DF,
        },
        "cifar-10": _PAPER_CIFAR,
        "cifar-100": _cifar100(_longer_warm_up(_PAPER_CIFAR | {"correction": PAPER_CIFAR100_CORRECTION})),
        "clothing1m": {
            "ce": PAPER_CLOTHING_CE,
            "correction": PAPER_CLOTHING_CORRECTION,
            "dmi": PAPER_CLOTHING_DMI,
            "warm": PAPER_CLOTHING_WARM,
            REST: PAPER_CLOTHING_DF,
        },
    },
}
# Clean labels in MODE paper, for the families in the paper's table; others are trained as on noisy labels.
_CLEAN: dict[str, Recipes] = {
    "mnist": {"ce": PAPER_CLEAN_CE},
    "cifar-10": {"ce": PAPER_CLEAN_CIFAR_CE, REST: PAPER_CLEAN_CIFAR_DF},
    "cifar-100": _cifar100({"ce": PAPER_CLEAN_CIFAR100_CE, REST: PAPER_CLEAN_CIFAR100_DF}),
}
_AUTHORS_CODE = {
    "mnist": AUTHORS_CODE,
    "cifar-10": AUTHORS_CODE_CIFAR,
    "cifar-100": _cifar100({REST: AUTHORS_CODE_CIFAR})[REST],
    "clothing1m": AUTHORS_CODE_CLOTHING,
}


def check_mode(mode: Any) -> Mode:
    """Return ``mode`` unchanged, or raise a ``ValueError`` that names the valid ones.

    >>> check_mode("quick")
    'quick'
    """
    if mode not in MODES:
        choices = ", ".join(f"{name!r} ({what})" for name, what in MODES.items())
        raise ValueError(f"MODE is {mode!r}, which is not one of {choices}")
    return mode


def recipe(
    dataset: str,
    method: str,
    mode: str = "quick",
    *,
    correction: str = "none",
    variant: str = "paper",
    clean: bool = False,
) -> Recipe:
    """Return the recipe for a method on a dataset.

    dataset: a name of ``fdiv.datasets.CATALOGUE``. In MODE quick its stand-in counts. A dataset that is its
        own stand-in has the quick recipe in every MODE; Clothing1M is too large for MODE laptop.
    correction: "exact" starts from the ratio rule, since T^-1 magnifies the noise of the gradient, and from
        random weights it can lose a class; "forward" starts from Pearson on logits, or from cross-entropy on
        CIFAR in MODE laptop; "paper" is trained as the paper does.
    variant: a name of ``VARIANTS``; "authors-code" is for divergences in MODE paper, "long" for MODE laptop.
        "averaged" and "sam" are for every method and MODE, their warm-up aside, and so is "strong" for
        recipes that shift and mirror pictures, "shifted" for those without an augmentation. GJS needs one.
    clean: whether the labels are clean, for which the paper has schedules of its own (MODE paper only).

    >>> recipe("mnist", "tv", "paper").schedule
    ((20, 0.001), (20, 0.0002), (20, 0.0001), (20, 2e-05))
    """
    mode, row = check_mode(mode), METHODS[method]
    entry, variant = CATALOGUE[dataset], choose("variant", variant, tuple(VARIANTS))
    if variant == "authors-code":
        if mode != "paper" or row.group != "divergence":
            raise ValueError(f"variant {variant!r} concerns only the divergences in MODE 'paper'")
        return _AUTHORS_CODE[
            choose(f"family of datasets with variant {variant!r}", entry.recipes, tuple(_AUTHORS_CODE))
        ]
    if variant == "long" and mode != "laptop":
        raise ValueError(f"variant {variant!r} concerns only MODE 'laptop', not {mode!r}")
    one = _ordinary(entry, row.recipe, mode, correction, clean)
    if variant == "long":
        one = _throughout(one, _longer)
    elif variant == "shifted" and (one.augment != "none" or one.model == FEATURES.model):
        what = "features, not pictures" if one.model == FEATURES.model else f"augmented by {one.augment!r}"
        raise ValueError(f"variant 'shifted' is for pictures as they are, but {entry.name} is {what} here")
    elif variant == "strong" and one.augment not in MIRRORED:
        raise ValueError(
            f"variant 'strong' is for pictures that are mirrored anyway, but those of {entry.name} are not in"
            f" MODE {mode!r}: choose variant 'averaged'"
        )
    elif variant != "paper":
        one = replace(one, **CHANGES[variant], source=f"{one.source}; {VARIANTS[variant]}")
    if row.two_views and one.augment == "none":
        raise ValueError(
            f"method {row.name!r} compares two views of a picture, but {entry.name} is trained on one in MODE"
            f" {mode!r}: choose variant 'shifted', which is for pictures"
        )
    return one


def _ordinary(entry: Entry, family: str, mode: Mode, correction: str, clean: bool) -> Recipe:
    """Return the recipe of the variant "paper" for a method of this family."""
    if mode == "quick" or entry.stand_in is None:
        mode, entry = "quick", CATALOGUE[entry.stand_in or entry.name]
    if entry.recipes not in RECIPES[mode]:
        have = " or ".join(f"MODE {m!r}" for m in MODES if m == "quick" or entry.recipes in RECIPES[m])
        raise ValueError(f"{entry.name} has no recipe for MODE {mode!r}: choose {have}")
    recipes, model = RECIPES[mode][entry.recipes], entry.model
    warm, known = recipes.get("warm", recipes[REST]), _CLEAN.get(entry.recipes, {})
    if correction == "forward":
        one = recipes.get(FORWARD) or _forward(warm)
    elif correction == "exact":
        one = warm
    elif clean and mode == "paper" and family in known:
        one = known[family]
    else:
        one = recipes.get(family, recipes[REST])
    return one if model is None else _throughout(one, lambda stage: replace(stage, model=model))


def _longer(one: Recipe) -> Recipe:
    """Return ``one`` with ``LONGER`` times the epochs at each rate."""
    schedule = tuple((LONGER * epochs, rate) for epochs, rate in one.schedule)
    return replace(one, schedule=schedule, source=f"{one.source}; {LONGER} times as long")


def _forward(one: Recipe) -> Recipe:
    """Return ``one`` in smaller batches after a warm-up on free scores: else pairs of classes can merge."""
    return replace(
        one,
        batch_size=one.warm_up.batch_size if one.warm_up else one.batch_size,
        warm_up_method="pearson-logit",
        source="ours: a warm-up with Pearson on logits, then the method",
    )
