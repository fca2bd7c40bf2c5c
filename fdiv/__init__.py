"""f-divergences for learning with noisy labels: the helper package of the notebooks.

An executable reading of *When Optimizing f-divergence is Robust with Label Noise* (Wei & Liu, ICLR 2021).
Nothing here displays or prints on import, and the names below are all that most notebooks need.
"""

from fdiv.course.explore import explore
from fdiv.course.lesson import claim, show_environment
from fdiv.learning.label_errors import rank_label_errors
from fdiv.learning.losses import DMI, BackwardCorrection, CrossEntropy, FDivLoss, ForwardCorrection, PeerLoss
from fdiv.noise.estimate import estimate_transition
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
    "claim",
    "divergence",
    "estimate_transition",
    "explore",
    "rank_label_errors",
    "show_environment",
]
