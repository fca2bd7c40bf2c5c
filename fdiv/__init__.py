"""f-divergences for learning with noisy labels: losses, noise, exact theory, and a course.

An executable reading of *When Optimizing f-divergence is Robust with Label Noise* (Wei & Liu, ICLR 2021).
The names below are the ones a user needs; each is imported when it is first used.

>>> import fdiv
>>> fdiv.divergence("tv").title
'Total variation'
"""

import sys
from typing import TYPE_CHECKING

from fdiv.names import is_command, lazily, load_plugins

__version__ = "0.2.0"

if TYPE_CHECKING:
    from fdiv.course.controls import explore
    from fdiv.course.lesson import claim, show_environment
    from fdiv.learning.cleaning import clean
    from fdiv.learning.estimator import RobustClassifier
    from fdiv.learning.label_errors import rank_label_errors
    from fdiv.learning.losses import (
        DMI,
        BackwardCorrection,
        CrossEntropy,
        FDivLoss,
        ForwardCorrection,
        PeerLoss,
    )
    from fdiv.learning.recommend import recommend
    from fdiv.noise.estimate import estimate_transition
    from fdiv.noise.votes import votes_to_soft
    from fdiv.theory.divergences import DIVERGENCES, Divergence, divergence

__all__ = [
    "DIVERGENCES",
    "DMI",
    "BackwardCorrection",
    "CrossEntropy",
    "Divergence",
    "FDivLoss",
    "ForwardCorrection",
    "PeerLoss",
    "RobustClassifier",
    "claim",
    "clean",
    "divergence",
    "estimate_transition",
    "explore",
    "rank_label_errors",
    "recommend",
    "show_environment",
    "votes_to_soft",
]

__getattr__, __dir__, _ = lazily(
    "fdiv",
    {
        "theory.divergences": ("DIVERGENCES", "Divergence", "divergence"),
        "noise.estimate": ("estimate_transition",),
        "noise.votes": ("votes_to_soft",),
        "learning.losses": (
            "DMI",
            "BackwardCorrection",
            "CrossEntropy",
            "FDivLoss",
            "ForwardCorrection",
            "PeerLoss",
        ),
        "learning.estimator": ("RobustClassifier",),
        "learning.cleaning": ("clean",),
        "learning.label_errors": ("rank_label_errors",),
        "learning.recommend": ("recommend",),
        "course.lesson": ("claim", "show_environment"),
        "course.controls": ("explore",),
    },
)

try:
    load_plugins()
except ImportError as _error:
    if sys.flags.dev_mode or not is_command():
        raise
    print(f"fdiv: {_error}", file=sys.stderr)  # the command says everything in one sentence
    sys.exit(2)
