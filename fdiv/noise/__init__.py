"""Label noise: transition matrices, noise settings by name, noisy labels, estimates of T, and the noise card.

A transition matrix has T_ij = P(noisy label j | clean label i): one row per clean class, each summing to 1.
The noise rate, the chance that a label is wrong, is sum_i p_i (1 - T_ii) with the clean label priors p, and
the noisy labels have priors p~ = T'p.

Conventions:

* Matrices are float64 NumPy arrays, validated when they are built and fresh at every call.
* Labels are the integers 0 .. K-1 in a vector, a NumPy array or a torch tensor. Noisy labels come back as the
  same kind with the same dtype (and device), and the clean ones are never changed.
* Random labels follow from a seed, an integer or a NumPy ``Generator``, and are the same on every platform.
"""

from fdiv.arrays import transition
from fdiv.noise.annotators import Annotators, dawid_skene
from fdiv.noise.card import NoiseCard, noise_card
from fdiv.noise.corrupt import (
    corrupt,
    corrupt_by_annotator,
    corrupt_by_instance,
    corrupt_exact_counts,
    labels_sha256,
    weak_annotator,
)
from fdiv.noise.estimate import TransitionEstimate, estimate_transition
from fdiv.noise.how_many import WrongLabels, count_wrong_labels
from fdiv.noise.matrices import asymmetric, pair, random_flip, sparse, symmetric, uniform
from fdiv.noise.paper import (
    DATASETS,
    FIGURE_STEPS,
    ReleasedLabels,
    paper_noise,
    paper_settings,
    released_labels,
)
from fdiv.noise.settings import CLEAN, PATTERNS, Pattern
from fdiv.noise.votes import votes_to_soft

__all__ = [
    "CLEAN", "DATASETS", "FIGURE_STEPS", "PATTERNS", "Annotators", "NoiseCard", "Pattern", "ReleasedLabels",
    "TransitionEstimate", "WrongLabels", "asymmetric", "corrupt", "corrupt_by_annotator",
    "corrupt_by_instance", "corrupt_exact_counts", "count_wrong_labels", "dawid_skene", "estimate_transition",
    "labels_sha256", "noise_card", "pair", "paper_noise", "paper_settings", "random_flip", "released_labels",
    "sparse", "symmetric", "transition", "uniform", "votes_to_soft", "weak_annotator",
]  # fmt: skip
