"""The theory of the paper: a row per divergence, exact calculus on tables, and who is robust when."""

from fdiv.theory import divergences, exact, robustness
from fdiv.theory.divergences import *  # noqa: F403
from fdiv.theory.exact import *  # noqa: F403
from fdiv.theory.robustness import *  # noqa: F403

__all__ = ["exact", "robustness", *divergences.__all__, *exact.__all__, *robustness.__all__]
