"""f-divergences for learning with noisy labels: losses, noise, exact theory, and a course.

An executable reading of *When Optimizing f-divergence is Robust with Label Noise* (Wei & Liu, ICLR 2021).
``__all__`` are the names a user needs. Whatever one of the six rooms makes public is had from here as well,
and imported when it is first used.

>>> import fdiv
>>> fdiv.divergence("tv").title
'Total variation'
"""

# ruff: noqa: F403, F405 (type checkers alone read the stars)

import importlib
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from fdiv.names import is_command, load_plugins

__version__ = "0.2.0"

if TYPE_CHECKING:
    from fdiv.course.controls import explore
    from fdiv.course.lesson import claim, show_environment
    from fdiv.datasets import *
    from fdiv.experiments import *
    from fdiv.learning import *
    from fdiv.noise import *
    from fdiv.theory import exact as exact
    from fdiv.theory import robustness as robustness
    from fdiv.theory.divergences import *
    from fdiv.theory.exact import *
    from fdiv.theory.robustness import *

ROOMS = ("theory", "noise", "datasets", "learning", "experiments", "course")
__all__ = [
    "DIVERGENCES", "DMI", "BackwardCorrection", "CrossEntropy", "Divergence", "FDivLoss", "ForwardCorrection",
    "PeerLoss", "RobustClassifier", "claim", "clean", "divergence", "estimate_transition", "explore",
    "rank_label_errors", "recommend", "show_environment", "votes_to_soft",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a module, or find what one of the six rooms makes public."""
    if not name.startswith("_"):
        if find_spec(f"{__name__}.{name}"):
            return importlib.import_module(f"{__name__}.{name}")
        for room in ("course", *ROOMS):  # the course first: to know its names imports nothing
            module = importlib.import_module(f"{__name__}.{room}")
            if name in module.__all__:
                return globals().setdefault(name, getattr(module, name))  # found once
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*ROOMS, *__all__]


try:
    load_plugins()
except ImportError as _error:
    if sys.flags.dev_mode or not is_command():
        raise
    print(f"fdiv: {_error}", file=sys.stderr)  # the command says everything in one sentence
    sys.exit(2)
