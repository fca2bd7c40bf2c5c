"""Which classes ``FDivLoss`` gives up when some labels are much more frequent than others, without any noise.

The condition and its proof stand in ``fdiv.theory.robustness``; these are its names in this room.
"""

from fdiv.theory.robustness import imbalance_limit
from fdiv.theory.robustness import lost_classes as losable_classes
from fdiv.theory.robustness import peer_weight as score_ratio

__all__ = ["imbalance_limit", "losable_classes", "score_ratio"]
