"""Learning: the losses, one row per method, the networks, the training loop, and which labels look wrong."""

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
from fdiv.learning.training import TrainingFailed, fit, label_shares, normalise, predict, train

__all__ = [
    "CORRECTIONS",
    "DMI",
    "METHODS",
    "MODELS",
    "ORACLE",
    "RULES",
    "BackwardCorrection",
    "CrossEntropy",
    "FDivLoss",
    "ForwardCorrection",
    "LabelErrors",
    "Method",
    "NoisyLabelLoss",
    "PeerLoss",
    "Recipe",
    "Run",
    "TrainingFailed",
    "build_loss",
    "build_model",
    "fit",
    "label_shares",
    "method_title",
    "normalise",
    "paper_methods",
    "predict",
    "rank_label_errors",
    "train",
]
