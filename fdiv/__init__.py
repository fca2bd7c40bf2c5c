"""f-divergences for learning with noisy labels: the helper package of the notebooks.

An executable reading of *When Optimizing f-divergence is Robust with Label Noise* (Wei & Liu, ICLR 2021).
Nothing here displays or prints on import, and the names below are all that most notebooks need.
"""

from fdiv.divergences import DIVERGENCES, Divergence, divergence
from fdiv.explore import explore
from fdiv.lesson import claim

__all__ = ["DIVERGENCES", "Divergence", "claim", "divergence", "explore"]
