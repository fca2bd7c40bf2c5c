"""The methods, one row each: a title, a colour, what the method needs, and how its loss is built.

The rows are the paper's five baselines, every registered divergence, and what this project adds. A new method
is one row, ``METHODS.register(Method(...))``; recipes, grids, tables and figures read the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from torch import Tensor

from fdiv.learning.losses import (
    DMI,
    BackwardCorrection,
    CrossEntropy,
    FDivLoss,
    ForwardCorrection,
    NoisyLabelLoss,
    PeerLoss,
    Product,
    peer_schedule,
    trains_forward,
)
from fdiv.learning.modern import MODERN
from fdiv.names import Registry, choose
from fdiv.theory.divergences import DIVERGENCES, Divergence, divergence

Correction = Literal["none", "paper", "exact", "forward"]
CORRECTIONS = ("none", "paper", "exact", "forward")


@dataclass(frozen=True, kw_only=True)
class Ingredients:
    """What a loss can be built from; each method takes what it needs.

    num_classes: K.
    label_prior: the shares of the noisy training labels.
    T: a transition matrix, known or estimated, where the method or its correction needs one.
    correction: for a divergence, see ``FDivLoss``.
    product: how the term over the product distribution is taken.
    examples: the number of training examples, for a loss that remembers each of them.
    """

    num_classes: int
    label_prior: Tensor | None = None
    T: Any = None
    correction: Correction = "none"
    product: Product = "exact"
    examples: int | None = None


@dataclass(frozen=True, kw_only=True)
class Method:
    """One way to learn from noisy labels.

    name: the name on the command line and in every table.
    title: the name in figures.
    colour, dash: its line in every figure.
    group: "baseline" (of the paper), "divergence", "ours" or "modern" (after the paper).
    recipe: the family of recipes that it follows, see ``fdiv.experiments.recipes``.
    build: makes the loss from ``Ingredients``.
    two_views: whether it compares two views of each picture, and so needs a recipe with an augmentation.
    estimate: how T is estimated for a method that needs one: "anchor", as Patrini et al. do, or
        "anchor-count"; None for a method that needs no T (unless it is corrected).

    >>> METHODS["forward-correction"].title, METHODS["tv"].group
    ('Forward correction', 'divergence')
    """

    name: str
    title: str
    build: Callable[[Ingredients], NoisyLabelLoss]
    group: Literal["baseline", "divergence", "ours", "modern"] = "ours"
    recipe: str = "df"
    estimate: Literal["anchor", "anchor-count"] | None = None
    two_views: bool = False
    colour: str = "#999999"
    dash: str = "longdash"
    aliases: tuple[str, ...] = ()

    @property
    def takes_correction(self) -> bool:
        """Whether the loss can be corrected with a transition matrix: a divergence can."""
        return self.group == "divergence"


class _Methods(Registry[Method]):
    """The rows below and one for every divergence, also for those that are registered later."""

    def rows(self) -> dict[str, Method]:
        own = self._rows
        before = {name: row for name, row in own.items() if row.group == "baseline"}
        return before | {name: _of(one) for name, one in DIVERGENCES.rows().items()} | own


def _of(one: Divergence) -> Method:
    """Return the method that maximises a divergence between noisy labels and predictions."""

    def build(given: Ingredients) -> FDivLoss:
        K, prior = given.num_classes, given.label_prior
        if given.correction == "none":
            return FDivLoss(one, K, product=given.product, label_prior=prior)
        return FDivLoss(one, K, label_prior=prior, transition=given.T, correction=given.correction)

    return Method(
        name=one.name,
        title=one.title,
        build=build,
        group="divergence",
        colour=one.colour,
        dash=one.dash,
        aliases=one.aliases,
    )


METHODS: Registry[Method] = _Methods(
    "method",
    (
        Method(
            name="ce", title="Cross-entropy", build=lambda given: CrossEntropy(given.num_classes),
            group="baseline", recipe="ce", colour="#444444", dash="dot", aliases=("cross-entropy",),
        ),
        Method(
            name="blc", title="Backward correction", build=lambda given: BackwardCorrection(given.T),
            group="baseline", recipe="correction", estimate="anchor", colour="#6B6B6B", dash="dashdot",
            aliases=("backward-correction",),
        ),
        Method(
            name="flc", title="Forward correction", build=lambda given: ForwardCorrection(given.T),
            group="baseline", recipe="correction", estimate="anchor", colour="#8A8A8A", dash="dashdot",
            aliases=("forward-correction",),
        ),
        Method(
            name="dmi", title="DMI", build=lambda given: DMI(given.num_classes), group="baseline",
            recipe="dmi", colour="#8C2D04", dash="dot",
        ),
        Method(
            name="pl", title="Peer loss",
            build=lambda given: PeerLoss(
                given.num_classes, peer_schedule, product=given.product, label_prior=given.label_prior
            ),
            group="baseline", recipe="peer", colour="#005A32", dash="dot", aliases=("peer-loss", "peer"),
        ),
        Method(
            name="ratio", title="Ratio rule",
            build=lambda given: CrossEntropy(given.num_classes, label_prior=given.label_prior), recipe="ce",
            colour="#A6761D",
        ),
        Method(
            name="pearson-logit", title="Pearson χ² on logits",
            build=lambda given: FDivLoss(
                "pearson",
                given.num_classes,
                score="logit",
                product=given.product,
                label_prior=given.label_prior,
            ),
            recipe="logit", colour="#E7298A",
        ),
        Method(
            name="plugin", title="Plug-in Pearson χ²",
            build=lambda given: FDivLoss("pearson", given.num_classes, variational="plugin", barrier=1.0),
            recipe="warm", colour="#66A61E", aliases=("plug-in",),
        ),
        *(Method(**row) for row in MODERN),
    ),
)  # fmt: skip


def paper_methods() -> tuple[str, ...]:
    """Return the names of the thirteen methods of the paper: five baselines and its eight divergences.

    >>> paper_methods()[:6]
    ('ce', 'blc', 'flc', 'dmi', 'pl', 'tv')
    """
    baselines = [name for name, row in METHODS.items() if row.group == "baseline"]
    return (*baselines, *(name for name, d in DIVERGENCES.items() if d.robust_in_paper is not None))


def method_title(method: str, correction: str = "none") -> str:
    """Return the name of a method in figures and tables.

    >>> method_title("kl", "forward")
    'KL, forward correction'
    """
    title = METHODS[method].title
    return title if correction == "none" else f"{title}, {correction} correction"


def needs_transition(method: str, correction: str = "none") -> bool:
    """Return whether the loss is built with a transition matrix.

    >>> needs_transition("tv"), needs_transition("tv", "exact"), needs_transition("flc")
    (False, True, True)
    """
    return METHODS[method].estimate is not None or correction != "none"


def check_correction(method: str, correction: str) -> Correction:
    """Return ``correction``, or raise a ``ValueError`` where the method takes none of that name.

    >>> check_correction("kl", "Forward")
    'forward'
    """
    found: Any = choose("correction", correction, CORRECTIONS)
    if found != "none" and not METHODS[method].takes_correction:
        raise ValueError(f"correction {found!r} is for the divergences; method {method!r} takes none")
    if found == "forward" and not trains_forward(divergence(method)):
        raise ValueError(
            f"correction 'forward' trains through f', which is a step for {method!r}: choose another"
            " divergence"
        )
    return found


def build_loss(
    method: str,
    num_classes: int,
    *,
    label_prior: Tensor | None = None,
    T: Any = None,
    correction: str = "none",
    product: Product = "exact",
    examples: int | None = None,
) -> NoisyLabelLoss:
    """Return the loss of ``method``.

    T: the matrix that BLC, FLC and a corrected divergence correct with; no other method takes it.
    correction: "paper", "exact" or "forward" for a divergence, see ``FDivLoss``.
    examples: the number of training examples, for early-learning regularisation.

    >>> build_loss("tv", 10)
    FDivLoss(num_classes=10, product='exact', divergence='tv', ...)
    """
    method = METHODS.name_of(method)
    checked = check_correction(method, correction)
    needed = needs_transition(method, checked)
    if (T is not None) != needed:
        raise ValueError(f"method {method!r} {'needs' if needed else 'takes no'} transition matrix T")
    return METHODS[method].build(
        Ingredients(
            num_classes=num_classes,
            label_prior=label_prior,
            T=T,
            correction=checked,
            product=product,
            examples=examples,
        )
    )
