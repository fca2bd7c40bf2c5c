"""A table as a network wants it: numbers around 0, and text columns spelled out."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.validation import check_array

from fdiv.names import cut

CATEGORIES = 50  # a text column has one number for each of its values, and one for all beyond these
LARGEST = 1e150  # beyond it the square of a number, which a standard deviation needs, is no float64


class Columns:
    """The way from rows of a table to numbers, learnt on the training rows.

    Numbers are brought to mean 0 and deviation 1. Text, category and bool columns of a DataFrame become one
    number per value, 1 where the row has that value; what training did not show is 0 everywhere.

    texts: the columns that are spelled out.

    >>> frame = pd.DataFrame({"size": [1.0, 3.0], "colour": ["red", "blue"]})
    >>> Columns().fit(frame).transform(frame)
    array([[-1.,  0.,  1.],
           [ 1.,  1.,  0.]])
    """

    texts: list[Any]

    def fit(self, X: Any, weight: np.ndarray | None = None) -> Self:
        """Learn means, deviations and values of ``X``, an array or a DataFrame; ``weight`` is one per row."""
        self.texts = _text_columns(X)
        numbers = _numbers(X, self.texts)
        self.scaler = StandardScaler().fit(numbers, sample_weight=weight) if numbers.shape[1] else None
        self.encoder = None
        if self.texts:
            self.encoder = OneHotEncoder(
                handle_unknown="infrequent_if_exist", max_categories=CATEGORIES, sparse_output=False
            ).fit(_as_texts(X, self.texts))
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the numbers of ``X``, which has the columns that ``fit`` saw."""
        if self.texts and not isinstance(X, pd.DataFrame):
            raise ValueError(
                f"training had a DataFrame with the text column {self.texts[0]!r}: pass a DataFrame here, too"
            )
        parts = []
        if self.scaler is not None:
            parts.append(self.scaler.transform(_numbers(X, self.texts)))
        if self.encoder is not None:
            texts = _as_texts(X, self.texts)
            self._warn_of_strangers(texts, self.encoder.categories_)
            parts.append(self.encoder.transform(texts))
        return np.hstack(parts)

    def _warn_of_strangers(self, texts: np.ndarray, categories: list[np.ndarray]) -> None:
        """Warn where no row has a value that training showed: another type often spells them otherwise."""
        for name, values, known in zip(self.texts, texts.T, categories, strict=True):
            if not np.isin(values.astype(str), known.astype(str)).any():
                warnings.warn(
                    f"column {name!r} holds none of the values that training had: {cut(values[0], 40)!r} for"
                    f" example, where training had {cut(known[0], 40)!r}",
                    UserWarning,
                    stacklevel=5,
                )


def take(X: Any, rows: Any) -> Any:
    """Return some rows of a table, a DataFrame or anything that NumPy takes.

    >>> take([[0, 1], [2, 3], [4, 5]], [2, 0]).tolist()
    [[4, 5], [0, 1]]
    """
    return X.iloc[rows] if isinstance(X, pd.DataFrame) else np.asarray(X)[rows]


def _text_columns(X: Any) -> list[Any]:
    """The columns of a DataFrame that hold no numbers; one that cannot be spelled out is refused."""
    if not isinstance(X, pd.DataFrame):
        return []
    X = X.infer_objects()  # a column of Python's numbers is one of numbers
    texts = [name for name in X if not pd.api.types.is_numeric_dtype(X[name]) or X[name].dtype == bool]
    for name in texts:
        column = X[name]
        if pd.api.types.is_datetime64_any_dtype(column) or pd.api.types.is_timedelta64_dtype(column):
            part = "days" if pd.api.types.is_timedelta64_dtype(column) else "year"
            raise ValueError(
                f"column {name!r} holds {column.dtype}, which is no number: pass what matters about it, such"
                f" as X[{name!r}].dt.{part}, or leave it out by X.drop(columns=[{name!r}])"
            )
        try:
            different = column.astype(str).nunique() if column.dtype == object else column.nunique()
        except TypeError:
            different = len(column)
        if different > max(CATEGORIES, len(column) / 2):
            raise ValueError(
                f"column {name!r} holds {different} different values in {len(column)} rows, such as"
                f" {str(column.iloc[0])[:40]!r}, so it names rows or is free text: leave it out by"
                f" X.drop(columns=[{name!r}]), or turn it into numbers"
            )
    return texts


def _as_texts(X: pd.DataFrame, texts: list[Any]) -> np.ndarray:
    """The text columns as objects that compare with each other; a missing one is a value of its own."""
    return X[texts].astype(object).where(X[texts].notna(), "(missing)").astype(str).to_numpy(dtype=object)


def _numbers(X: Any, texts: list[Any]) -> np.ndarray:
    """The columns of numbers as float64, all finite, or a ``ValueError`` that names a column and the cure."""
    names: Any = None
    if isinstance(X, pd.DataFrame):
        X = X.drop(columns=texts)
        names = list(X.columns)
        if not names:
            return np.empty((len(X), 0))
        for name, kind in X.infer_objects().dtypes.items():
            if not pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_complex_dtype(kind):
                raise ValueError(f"column {name!r} of X holds {kind}, but must hold real numbers")
    numbers = check_array(X, dtype=np.float64, ensure_all_finite=False, ensure_min_features=1)
    bad = ~np.isfinite(numbers)
    if bad.any():
        column = int(bad.any(0).argmax())
        name = repr(names[column]) if names else str(column)
        kind = "NaN" if np.isnan(numbers[:, column]).any() else "inf"
        cure = "fill it, as make_pipeline(SimpleImputer(), RobustClassifier()) of scikit-learn does"
        cure = cure if kind == "NaN" else "replace it by a number"
        raise ValueError(
            f"column {name} of X has {kind} in {bad[:, column].sum()} of {len(X)} rows: {cure}, or leave"
            " these rows out"
        )
    large = np.abs(numbers).max(0, initial=0) > LARGEST
    if large.any():
        name = repr(names[large.argmax()]) if names else str(large.argmax())
        raise ValueError(f"column {name} of X has a number beyond {LARGEST:g}: rescale it, or leave it out")
    return numbers
