"""The paper's tables, as tidy data."""

from __future__ import annotations

import pandas as pd

from fdiv.files import PAPER


def paper_accuracies() -> pd.DataFrame:
    """The accuracies of the tables without bias correction, in percent: a row per table, setting and method.

    Baselines have a best accuracy (``max``) only; f-divergences have mean and standard deviation as well.
    """
    return pd.read_csv(PAPER / "accuracies.csv")


def errata() -> pd.DataFrame:
    """Every statement, table and matrix of the paper with our verdict, the correction, and what shows it."""
    return pd.read_csv(PAPER / "errata.csv", keep_default_na=False)
