"""Whole tables of runs: ``tables`` says which, ``runs`` executes one, ``cluster`` hands them to Dask.

Every run is trained once, in ``runs/train/<run>/``, whichever grid asked for it; ``runs/<grid>/<run>/`` gets
copies of what came out. A notebook that ``fdiv grid`` executes needs ``watched``, or where
it trains several methods ``kept_folder`` and ``log_epoch``.
"""

from fdiv.experiments.grids.lesson import CHOICES, kept_folder, log_epoch, watched

__all__ = ["CHOICES", "kept_folder", "log_epoch", "watched"]
