"""The paper's tables, as tidy data."""

from __future__ import annotations

import pandas as pd

from fdiv.files import PAPER


def paper_accuracies() -> pd.DataFrame:
    """The accuracies of all result tables, in percent: a row per table, dataset, noise and method.

    Baselines have a best accuracy (``max``) only; f-divergences have mean and standard deviation as well.
    ``gap`` is the printed difference to cross-entropy (table clean) or to no correction (tables bias-...).
    """
    return pd.read_csv(PAPER / "accuracies.csv")


def errata() -> pd.DataFrame:
    """Every statement, table and matrix of the paper with our verdict, the correction, and what shows it."""
    return pd.read_csv(PAPER / "errata.csv", keep_default_na=False)
