"""Learning: the losses, one row per method, the networks, the training loop, and which labels look wrong."""

from typing import TYPE_CHECKING

from fdiv.learning import modern
from fdiv.learning.label_errors import LabelErrors, rank_label_errors
from fdiv.learning.losses import (
    DMI,
    BackwardCorrection,
    CrossEntropy,
    FDivLoss,
    ForwardCorrection,
    NoisyLabelLoss,
    PeerLoss,
)
from fdiv.learning.methods import CORRECTIONS, METHODS, Method, build_loss, method_title, paper_methods
from fdiv.learning.models import MODELS, build_model
from fdiv.learning.recipe import Recipe
from fdiv.learning.runs import ORACLE, RULES, Run
from fdiv.learning.training import TrainingFailed, fit, label_shares, normalise, outputs, train
from fdiv.names import lazily

if TYPE_CHECKING:
    from fdiv.learning.cleaning import clean
    from fdiv.learning.estimator import RobustClassifier
    from fdiv.learning.recommendation import recommend

__all__ = [
    "CORRECTIONS", "DMI", "METHODS", "MODELS", "ORACLE", "RULES", "BackwardCorrection", "CrossEntropy",
    "FDivLoss", "ForwardCorrection", "LabelErrors", "Method", "NoisyLabelLoss", "PeerLoss", "Recipe",
    "RobustClassifier", "Run", "TrainingFailed", "build_loss", "build_model", "clean", "fit", "label_shares",
    "method_title", "modern", "normalise", "outputs", "paper_methods", "rank_label_errors", "recommend",
    "train",
]  # fmt: skip

# What needs scikit-learn, which takes a moment to import.
__getattr__, _, _ = lazily(
    __name__,
    {"cleaning": ("clean",), "estimator": ("RobustClassifier",), "recommendation": ("recommend",)},
)
