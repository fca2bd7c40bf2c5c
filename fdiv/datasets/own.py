"""The user's own data, as they lie on the disk: a table, a folder of photographs, a matrix of embeddings.

``read(path, ...)`` finds out which of them it is. Whatever it decides by itself, such as a column that is
left out because it only names the rows, it says in a sentence of ``OwnData.notes``; what it cannot use, it
refuses in one.
"""

from __future__ import annotations

import csv
import difflib
import importlib.util
import io
import os
import re
import unicodedata
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch

from fdiv.arrays import as_array, refuse_mask
from fdiv.datasets.dataset import NoisySplit
from fdiv.datasets.images import ImageFiles, opened
from fdiv.names import cut, printable, utf8

if TYPE_CHECKING:
    from fdiv.datasets.catalogue import Entry

LARGEST_FILE = 2 << 30  # bytes of a table; what is larger would not fit the memory of a laptop
SMALLEST_CLASS = 5  # fewer examples of a class cannot be judged by models that have not seen them
MOST_CLASSES = 1000
LARGEST_LABEL = 2**53  # beyond it floating point cannot tell whole numbers apart
LONGEST_NAME = 1000  # characters of a label or of the name of a column
CATEGORIES = 50  # different values of a column that are told apart
TEXT_NUMBERS = 64  # per column of free text, where no sentence encoder is at hand
WORDS = "its words, by latent semantic analysis; sentence embeddings tell more, pip install 'fdiv[text]'"
PICTURES = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm")
NOTHING = ["?", "-", "--", "n/a", "none", "None", "NONE", "missing"]  # besides what pandas knows
NO_LABEL = "empty, NA, null, None or ? is none: call a class otherwise"
LIKELY = ("label", "labels", "class", "target", "y")
AMOUNT = r"\s*[+-]?[$€£¥]?\s*[+-]?\d{1,3}(?:(?:,\d{3})+|\d*)(?:\.\d+)?\s*[%€$£¥]?\s*"  # $1,234.50, 12 %
UNIT = r"[\s,%$€£¥]"
CODE = re.compile(r"(?<![\w.+/:-])0\d+(?![\w./:-])")  # 007 is a name, which a number would lose
MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
DATE = re.compile(
    r"^\s*(?:\d{4}-\d{1,2}-\d{1,2}|\d{4}/\d{1,2}/\d{1,2}|\d{1,2}([./-])\d{1,2}\1(?:\d{4}|\d{2})"
    rf"|(?:{MONTHS})[a-z]*\.? \d{{1,2}},? \d{{4}}|\d{{1,2}}\.? (?:{MONTHS})[a-z]*\.? \d{{4}})(?!\d)",
    re.I,
)
NAMES_ROWS = re.compile(r"^(unnamed.*|id|idx|index|row|key|uuid|guid|.*[_ -]id|id[_ -].*|.*Id|.*ID)$", re.I)


@dataclass(frozen=True, eq=False)
class OwnData:
    """Examples with labels, ready to train on.

    kind: "table", "images" or "embeddings".
    features: one row per example, a DataFrame or an array of numbers; for images the paths.
    labels: one per example, as texts.
    rows: the number of each example in the user's file or list, counted from 0.
    shown: what a report shows of each example: its file, its text, or its row.
    notes: what was decided, a sentence each.

    >>> frame = pd.DataFrame({"size": [3, 1] * 6, "kind": ["a", "b"] * 6})
    >>> own = from_table(frame, "kind")
    >>> own.kind, own.labels[:3].tolist()
    ('table', ['a', 'b', 'a'])
    """

    kind: str
    features: Any
    labels: np.ndarray
    rows: np.ndarray
    shown: Sequence[Any]
    notes: list[str] = field(default_factory=list)


# ---------------------------------------------------------------------- what it is


def read(path: str | Path, labels: str | Path | None = None, label: str | None = None) -> OwnData:
    """Return the data at ``path``: a table (.csv, .tsv, .txt), embeddings (.npy) or a folder of pictures.

    labels: a file of labels, for embeddings and pictures; a folder with one folder per class needs none.
    label: the column of the labels, in the table or in the file of labels.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "fruit.csv")
    >>> _ = file.write_text("size;kind\\n" + "1,5;pear\\n2,5;plum\\n" * 5)
    >>> read(file, label="kind").features["size"].tolist()[:2]
    [1.5, 2.5]
    """
    path = place(path)
    if not path.exists():
        raise ValueError(
            f"there is no {path}: pass a table (.csv), embeddings (.npy) or a folder of pictures"
        )
    if path.is_dir():
        return from_folder(path, labels, label)
    if path.suffix.lower() == ".npy":
        if labels is None:
            raise ValueError(f"{path.name} holds numbers only: name the file of its labels, --labels y.csv")
        return from_arrays(_npy(path), read_labels(place(labels), label))
    if path.suffix.lower() in (*PICTURES, ".npz", ".xlsx", ".xls", ".parquet", ".json", ".zip", ".gz"):
        raise ValueError(f"{path.name} is not a table of text: save it as .csv, or embeddings as .npy")
    if labels is not None:
        raise ValueError(f"the labels of the table {path.name} are one of its columns: name it, --label NAME")
    frame, notes = read_table(path)
    return from_table(frame, label, notes)


def place(path: str | Path) -> Path:
    """Return ``path`` with its ~ spelled out, or raise a ``ValueError`` where nothing can be looked at.

    >>> place("~/fruit.csv").name
    'fruit.csv'
    """
    try:
        whole = Path(path).expanduser()
        whole.exists()
    except (OSError, RuntimeError) as error:  # no such home, a name too long, a folder that is closed to us
        why = getattr(error, "strerror", None) or error
        raise ValueError(f"{cut(path)} cannot be looked at ({why}): name another path") from None
    return whole


# ---------------------------------------------------------------------- tables


def read_table(path: Path) -> tuple[pd.DataFrame, list[str]]:
    """Return a file of comma-, semicolon- or tab-separated values as a frame, with what was noticed."""
    _refuse_no_file(path)
    size, data = path.stat().st_size, b""
    if size <= LARGEST_FILE:
        with open(path, "rb") as file:
            data = file.read(LARGEST_FILE + 1)  # a pipe does not say how long it is
    if max(size, len(data)) > LARGEST_FILE:
        raise ValueError(
            f"{path.name} has {max(size, len(data)) / 2**30:.1f} GB, but at most {LARGEST_FILE >> 30} GB are"
            " read: take a part of its rows, drawn at random"
        )
    notes = []
    if not data.strip():
        raise ValueError(f"{path.name} is empty")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            text = data.decode("utf-16")
        except UnicodeDecodeError:
            raise ValueError(f"{path.name} begins as UTF-16 but is not: save it as UTF-8") from None
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = data.decode("cp1252", errors="replace")
            notes.append(f"{path.name} is not UTF-8 and was read as Windows-1252 (Latin-1)")
    if "\0" in text[:4096]:
        raise ValueError(f"{path.name} is not a table of text: save it as .csv")
    separator, header = _separator_and_header(text)
    twice = sorted({name for name in header if name and header.count(name) > 1})
    if twice:
        notes.append(f"two columns are called {twice[0]!r}: the second is called {twice[0] + '.1'!r} here")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # of values that have no column
            form: dict[str, Any] = {"sep": separator, "na_values": NOTHING, "skipinitialspace": True}
            frame = pd.read_csv(io.StringIO(text), **form, low_memory=False, index_col=False)
            if CODE.search(text):
                texts = pd.read_csv(io.StringIO(text), **form, dtype=str, index_col=False)
                for name in frame.select_dtypes("number"):
                    if texts[name].str.fullmatch(r"\s*0\d+\s*").any():
                        frame[name] = texts[name]
    except pd.errors.ParserWarning:
        raise ValueError(
            f"{path.name} is no regular table: a line has more values than the {len(header)} columns of the"
            " first; name every column, and put quotes around a value that holds a separator"
        ) from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        said = " ".join(str(error).split()).removeprefix("Error tokenizing data. C error: ")
        raise ValueError(f"{path.name} is no regular table ({said}): mend that line") from None
    if not len(frame):
        raise ValueError(f"{path.name} has a header but no rows")
    frame.columns = [str(name).strip() for name in frame.columns]
    if separator == ";":
        frame = frame.apply(_decimal_comma)
    return frame, notes


def _refuse_no_file(path: Path) -> None:
    """A folder and a device have no end to read up to; a pipe is read as a file."""
    if not path.is_file() and not path.is_fifo():
        raise ValueError(f"{path} is no file: pass one")


def _separator_and_header(text: str) -> tuple[str, list[str]]:
    """The separator that cuts the first lines into equally many fields, and into the most; the first line."""
    lines = text.splitlines()[:50]

    def cut(separator: str) -> list[list[str]]:
        return [row for row in csv.reader(lines, delimiter=separator) if row] or [[]]

    before = csv.field_size_limit(len(text) + 1)  # a cell may hold a whole document
    try:
        rows = {separator: cut(separator) for separator in (",", ";", "\t", "|")}
    except csv.Error:
        return ",", []  # pandas will say what is wrong with it
    finally:
        csv.field_size_limit(before)

    def same(counts: list[int]) -> bool:
        return counts[0] > 1 and counts.count(counts[0]) >= 0.9 * len(counts)

    regular = {one: len(cells[0]) for one, cells in rows.items() if same([len(row) for row in cells])}
    best = max(regular, key=lambda one: regular[one]) if regular else ","
    return best, rows[best][0]


def _decimal_comma(column: pd.Series) -> pd.Series:
    if pd.api.types.is_numeric_dtype(column):
        return column
    texts = column.dropna().astype(str)
    if len(texts) and texts.str.fullmatch(r"\s*[+-]?\d*,?\d+\s*").all():
        return pd.to_numeric(column.astype(str).str.replace(",", "."), errors="coerce")
    return column


def from_table(frame: pd.DataFrame, label: Any, notes: Sequence[str] = ()) -> OwnData:
    """Return a frame, of which one column holds the labels, with columns that a network can take.

    Columns of numbers are kept, their gaps filled with the median; columns of up to fifty categories are
    kept; dates become days; free text becomes numbers; columns that name the rows are left out.
    """
    notes, label = list(notes), utf8(label)
    frame = frame.set_axis(pd.Index([utf8(str(name)) for name in frame.columns], dtype=object), axis=1)
    longest = max(map(len, frame.columns), default=0)
    if longest > LONGEST_NAME:
        raise ValueError(
            f"a column has a name of {longest} characters: the first line seems to be no header, put one"
            " above"
        )
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise ValueError(f"two columns are called {twice!r}: rename one of them")
    if label is None:
        some = _some(frame.columns)
        raise ValueError(f"say which column holds the labels, --label NAME; the columns are {some}")
    found = _column(frame, label)
    if f"{found}.1" in map(str, frame.columns):
        raise ValueError(f"two columns are called {label!r}: rename one of them")
    labels, rows, more = checked_labels(frame[found], f"column {label!r}")
    notes += more
    kept = frame.iloc[rows].reset_index(drop=True)
    kept = kept.apply(lambda column: column.map(utf8) if _may_be_text(column) else column)
    features = _columns(kept.drop(columns=found), notes)
    copies = ", ".join(repr(name) for name in kept if name != found and _repeats(kept[name], labels))
    if copies:
        notes.append(
            f"column {copies} has one value for each label: if it is a copy of the labels, take it out of the"
            " table, for it hides what is wrong"
        )
    if not features.shape[1]:
        why = f" ({'; '.join(notes)})" if notes else ""
        raise ValueError(f"no column besides {label!r} can be learnt from{why}")
    return OwnData("table", features, labels, rows, kept.drop(columns=found), notes)


def _column(frame: pd.DataFrame, label: Any, where: str = "") -> Any:
    """The column called ``label``, in capitals or not; or a ``ValueError`` that names those there are."""
    names = {str(name): name for name in frame.columns}
    found = [name for name in names if name.casefold() == str(label).casefold()]
    if str(label) in names or len(found) == 1:
        return names.get(str(label), names.get(found[0]))
    if found:
        raise ValueError(f"two columns are called {label!r}: rename one of them")
    close = difflib.get_close_matches(str(label), names, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    numbers = pd.to_numeric(pd.Series(list(names)), errors="coerce").notna().mean()
    header = ": its first line seems to be no header, put one above" if numbers > 0.5 else ""
    raise ValueError(f"no column{where} is called {label!r}{hint}; the columns are {_some(names)}{header}")


def _some(names: Iterable[Any]) -> str:
    """The names in a sentence; of many the first and the last, where a label usually is."""
    texts = list(map(str, names))
    return ", ".join(texts if len(texts) <= 20 else [*texts[:10], "...", *texts[-5:]])


def _repeats(column: pd.Series, labels: np.ndarray) -> bool:
    """Whether a column says the label in other words: one value for each label, and no two alike."""
    values, K = column.astype(str), len(np.unique(labels))
    return values.nunique() == K and len(set(zip(values, labels, strict=True))) == K


def _columns(frame: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """The columns that can be learnt from, as numbers and categories without gaps."""
    parts: list[pd.DataFrame] = []
    filled: dict[str, int] = {}
    alike: list[str] = []
    for name in frame.columns:
        column = frame[name]
        if column.notna().sum() == 0:
            notes.append(f"column {name!r} is empty and left out")
            continue
        if column.dtype == object and not column.map(pd.api.types.is_hashable).all():
            notes.append(f"column {name!r} holds lists, tables or the like and is left out")
            continue
        column = _numbers_or_texts(column, notes)
        if len(column) > 1 and column.nunique(dropna=False) == 1:
            alike.append(repr(name))
        elif not column.attrs.get("date") and _names_rows(column):
            notes.append(f"column {name!r} only names the rows and is left out")
        elif pd.api.types.is_numeric_dtype(column) and column.dtype != bool:
            column = column.astype(np.float64).replace([np.inf, -np.inf], np.nan)
            if column.isna().any():
                filled[str(name)] = int(column.isna().sum())
                column = column.fillna(column.median() if column.notna().any() else 0.0)
            parts.append(column.to_frame())
        elif _is_text(column):
            parts.append(_text_numbers(column, notes))
        elif column.nunique() > max(CATEGORIES, len(column) / 2):
            notes.append(f"column {name!r} has {column.nunique()} different values and is left out")
        else:
            # A plain object column, a gap being a category of its own.
            texts = column.astype(object).where(column.notna(), "(missing)").astype(str)
            if texts.nunique() > CATEGORIES:
                notes.append(
                    f"column {name!r} has {column.nunique()} categories: the {CATEGORIES - 1} most frequent"
                    " are told apart"
                )
                frequent = texts.value_counts().index[: CATEGORIES - 1]
                texts = texts.where(texts.isin(frequent), "(other)")
            parts.append(texts.to_frame())
    if alike:
        notes.append(f"column {_some(alike)} is the same in every row and left out")
    if filled:
        some = ", ".join(f"{name!r} ({count})" for name, count in list(filled.items())[:8])
        notes.append(f"missing numbers were filled with the median of their column: {some}")
    table = pd.concat(parts, axis=1) if parts else pd.DataFrame(index=frame.index)
    return table.set_axis(_apart(table.columns), axis=1)


def _apart(names: Iterable[str]) -> list[str]:
    """The names, with a mark where the number of a text's direction is called as a column is."""
    apart: dict[str, None] = {}
    for name in names:
        while name in apart:
            name += "'"
        apart[name] = None
    return list(apart)


def _numbers_or_texts(column: pd.Series, notes: list[str]) -> pd.Series:
    """A column of texts that are nearly all numbers or dates, as numbers; any other as it is."""
    if pd.api.types.is_datetime64_any_dtype(column):
        return since_1970(column)
    if pd.api.types.is_timedelta64_dtype(column):
        return column / pd.Timedelta(days=1)
    if pd.api.types.is_numeric_dtype(column):
        return column
    texts = column.dropna().astype(str)
    texts = texts.where(~texts.str.fullmatch(AMOUNT), texts.str.replace(UNIT, "", regex=True))
    numbers = pd.to_numeric(texts, errors="coerce")
    if numbers.notna().mean() >= 0.95:
        odd = texts[numbers.isna()]
        if len(odd):
            notes.append(
                f"column {column.name!r} holds numbers but for {len(odd)} such as"
                f" {cut(odd.iloc[0])!r}, left empty"
            )
        return numbers.reindex(column.index)
    days, order = _days(texts)
    if days.notna().mean() >= 0.95:
        notes.append(f"column {column.name!r} holds dates, which became days{order}")
        return days.reindex(column.index)
    return column


def _days(texts: pd.Series) -> tuple[pd.Series, str]:
    """Dates as days since 1970, nothing where a text is none; and how 01/02/2020 was read, if it matters."""
    numbered = texts.str.extract(r"^\s*(\d{1,2})[./-](\d{1,2})[./-]\d{2,4}\b").astype(float)
    slashes = texts.str.contains("/", regex=False).any()
    # 13/02 is a day first, 02/13 a month; where neither tells, dots and dashes are written day first.
    first_is_day = bool(numbered[0].max() > 12 or (numbered[1].max() <= 12 and not slashes))
    looks = texts.map(lambda text: DATE.search(text) is not None).mean()
    if not looks >= 0.95:
        return pd.Series(np.nan, index=texts.index), ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pandas, about parsing one by one
        read = pd.to_datetime(texts, errors="coerce", format="mixed", utc=True, dayfirst=first_is_day)
    order = f" (the {'day' if first_is_day else 'month'} first)" if numbered[0].notna().any() else ""
    return since_1970(read), order


def since_1970(dates: pd.Series) -> pd.Series:
    """Return dates in days, also those that nanoseconds cannot count, such as 9999-12-31.

    >>> since_1970(pd.Series(pd.to_datetime(["1970-01-02 12:00", None]))).tolist()
    [1.5, nan]
    """
    if dates.dt.tz is not None:
        dates = dates.dt.tz_convert(None)
    seconds = dates.to_numpy("datetime64[s]").astype(np.int64).astype(np.float64)
    days = pd.Series(np.where(dates.isna(), np.nan, seconds / 86400), dates.index, name=dates.name)
    days.attrs["date"] = True  # a row for each day is no numbering of the rows
    return days


def _names_rows(column: pd.Series) -> bool:
    """Whether every row has another value, and these look like names or numbers of rows."""
    if column.dtype == bool or len(column) < 10 or column.nunique(dropna=False) < len(column):
        return False
    if pd.api.types.is_numeric_dtype(column):
        whole = column.notna().all() and (column == column.round()).all()
        counted = whole and abs(column.diff().dropna()).eq(1).all()
        return bool(counted or (whole and NAMES_ROWS.match(str(column.name))))
    return not _is_text(column)


def _is_text(column: pd.Series) -> bool:
    """Whether a column holds sentences: many different ones, of three words or more."""
    texts = column.dropna().astype(str)
    many = texts.nunique() > max(CATEGORIES, 0.3 * len(texts)) or texts.nunique() > 0.8 * len(texts) > 8
    return bool(many and texts.str.count(r"\S+").mean() >= 3)


def _text_numbers(column: pd.Series, notes: list[str]) -> pd.DataFrame:
    """Free text as numbers: by the sentence encoder if it is at hand, else by its words (LSA)."""
    texts = column.fillna("").astype(str).tolist()
    numbers, how = text_numbers(texts)
    notes.append(f"column {column.name!r} is free text and became {numbers.shape[1]} numbers ({how})")
    names = [f"{column.name} {i}" for i in range(numbers.shape[1])]
    return pd.DataFrame(numbers, columns=names, index=column.index)


def text_numbers(texts: Sequence[str]) -> tuple[np.ndarray, str]:
    """Return numbers for texts, and how they were made: sentence embeddings, or words by latent semantics.

    >>> numbers, how = text_numbers(["a red apple", "a green pear", "the red car", "the green car"])
    >>> len(numbers)
    4
    """
    from fdiv.datasets.features import text_features

    try:
        return text_features(list(texts)).double().numpy(), "sentence embeddings"
    except (ImportError, OSError):
        return word_numbers(texts), WORDS


def word_numbers(texts: Sequence[str]) -> np.ndarray:
    """Return numbers for texts, made of their words by latent semantic analysis; few texts have few numbers.

    >>> word_numbers(["a red apple", "a green pear", "the red car", "the green car"]).shape
    (4, 2)
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    try:
        words = TfidfVectorizer(sublinear_tf=True, min_df=1, ngram_range=(1, 2), max_features=20_000)
        counts = words.fit_transform(texts)
    except ValueError:
        raise ValueError("the texts have no words") from None
    size = min(TEXT_NUMBERS, max(len(texts) // 25, 2), min(counts.shape) - 1)  # few texts, few directions
    if size < 1:
        return counts.toarray()
    return TruncatedSVD(size, random_state=0).fit_transform(counts)


# ---------------------------------------------------------------------- labels


def checked_labels(labels: Any, what: str = "labels") -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return labels as texts, the rows that have a usable one, and what was noticed.

    >>> labels, rows, notes = checked_labels(pd.Series([1.0, 2.0, None] * 5))
    >>> labels[:2].tolist(), len(rows), notes[0][:38]
    (['1', '2'], 10, '5 rows have no label and are set aside')
    """
    column = pd.Series(np.asarray(labels) if not isinstance(labels, pd.Series) else labels.to_numpy())
    notes = []
    if pd.api.types.is_float_dtype(column):
        known = column.dropna()
        measured = known[(known != known.round()) | (known.abs() > LARGEST_LABEL)]
        if len(measured):
            raise ValueError(
                f"{what} holds numbers such as {measured.iloc[0]:g}, which are measurements and no classes:"
                " choose another column, or cut it into classes"
            )
        column = column.astype("Int64")
    elif _may_be_text(column):
        column = column.map(utf8)
    texts = column.astype("string").str.strip()
    missing = (texts.isna() | (texts == "") | texts.isin(NOTHING)).to_numpy()
    if missing.any():
        verb = "is" if missing.sum() == 1 else "are"
        notes.append(f"{_rows(missing.sum())} no label and {verb} set aside ({NO_LABEL})")
    longest = int(texts[~missing].str.len().max()) if not missing.all() else 0
    if longest > LONGEST_NAME:
        raise ValueError(
            f"{what} holds a label of {longest} characters, which is no name of a class: choose another"
            " column"
        )
    without = f" besides {missing.sum()} rows without one ({NO_LABEL})" if missing.any() else ""
    counts = texts[~missing].value_counts()
    if not len(counts):
        raise ValueError(f"{what} holds no label at all")
    if len(counts) > MOST_CLASSES or len(counts) > max(20, 0.5 * counts.sum()):
        raise ValueError(
            f"{what} holds {len(counts)} different labels in {counts.sum()} rows, such as"
            f" {cut(counts.index[0])!r}: these are no classes; choose another column"
        )
    _note_spellings(counts, notes)
    rare = counts[counts < SMALLEST_CLASS]
    if len(rare):
        some = ", ".join(f"{cut(name)!r} ({count})" for name, count in rare.head(5).items())
        notes.append(
            f"classes of fewer than {SMALLEST_CLASS} examples cannot be judged and are set aside: {some}"
            + (", ..." if len(rare) > 5 else "")
        )
    usable = ~missing & ~texts.isin(rare.index).fillna(False).to_numpy(dtype=bool)
    if (counts >= SMALLEST_CLASS).sum() < 2:
        found = "no two classes of 5 examples or more"
        if len(counts) == 1:
            found = f"one class only, {cut(counts.index[0])!r},{without}".removesuffix(",")
        raise ValueError(
            f"{what} holds {found}: wrong labels can be told from right ones only among two classes"
        )
    return texts[usable].to_numpy(dtype=object).astype(str), np.flatnonzero(usable), notes


def _note_spellings(counts: pd.Series, notes: list[str]) -> None:
    """Say where two labels look alike, or differ by capitals alone: likely one class."""
    by_key: dict[str, list[str]] = {}
    for name in counts.index:
        by_key.setdefault(_looks(str(name)), []).append(str(name))
    for names in by_key.values():
        if len(names) > 1:
            both = " and ".join(repr(cut(name)) for name in names)
            capitals = len({name.casefold() for name in names}) == 1
            how = "differ by capitals alone" if capitals else "look alike"
            notes.append(f"the labels {both} {how}, so they may be one class")


def _looks(text: str) -> str:
    """What two texts share that cannot be told apart by eye, capitals left out."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(c for c in plain if c.isspace() or c.isprintable()).split())


def _may_be_text(column: pd.Series) -> bool:
    return column.dtype == object or isinstance(column.dtype, pd.StringDtype)


def _rows(count: int) -> str:
    return "1 row has" if count == 1 else f"{count} rows have"


def read_labels(path: Path, label: str | None = None) -> pd.Series:
    """Return the labels in a file: one in each line, or a column of a table, or an array of .npy."""
    if not path.exists():
        raise ValueError(f"there is no file of labels {path}")
    if path.suffix.lower() == ".npy":
        return pd.Series(_npy(path).ravel())
    frame, _ = read_table(path)
    if label is not None:
        return frame[_column(frame, label, f" of {path.name}")]
    if frame.shape[1] == 1:
        # The first line is a header or a label: the number of examples decides, see ``from_arrays``.
        series = frame.iloc[:, 0]
        series.attrs["first"] = frame.columns[0]
        return series
    likely = [name for name in frame.columns if name.casefold() in LIKELY]
    if len(likely) == 1:
        return frame[likely[0]]
    raise ValueError(
        f"{path.name} has {frame.shape[1]} columns ({', '.join(frame.columns[:10])}): say which holds the"
        " labels,"
        " --label NAME"
    )


def _npy(path: Path) -> np.ndarray:
    _refuse_no_file(path)
    try:
        # Not read but mapped: a header that promises more than the file has is refused before any memory is.
        found = np.load(path, allow_pickle=False, mmap_mode="r")
    except Exception as error:  # NumPy raises whatever its reader of headers ran into
        said = " ".join(str(error).split())[:120]
        if "pickle" in said or "Python objects" in said:
            said = "it holds no plain numbers"
        raise ValueError(f"{path.name} is no array that can be read ({said})") from None
    if not isinstance(found, np.ndarray):
        raise ValueError(f"{path.name} holds several arrays (.npz): save the one that is meant with np.save")
    return found


def from_arrays(features: Any, labels: Any, kind: str = "embeddings", shown: Any = None) -> OwnData:
    """Return rows of numbers with labels; rows that are not finite are set aside."""
    refuse_mask(features)
    try:
        X = as_array(features)
    except (ValueError, TypeError):
        raise ValueError("the data must be rows of numbers, (n, d), all of one length") from None
    if X.ndim > 2 and X.size:
        X = X.reshape(len(X), -1)
    if X.ndim != 2 or X.dtype.kind not in "iufb" or not X.size:
        raise ValueError(f"the data must be rows of numbers, (n, d), not {X.dtype} of shape {X.shape}")
    if not isinstance(labels, pd.Series):
        labels = as_array(labels)
        if labels.ndim != 1:
            raise ValueError(
                f"labels must be one for each example, a vector, not of shape {labels.shape}; of several"
                " annotators' votes pass fdiv.noise.dawid_skene(votes).labels"
            )
        labels = pd.Series(labels)
    if len(labels) == len(X) - 1 and "first" in labels.attrs:
        labels = pd.concat([pd.Series([labels.attrs["first"]]), labels.astype(object)], ignore_index=True)
    if len(labels) != len(X):
        below = " below the first line" if "first" in labels.attrs else ""
        raise ValueError(
            f"there are {len(labels)} labels{below} for {len(X)} examples, but must be one for each"
        )
    finite = np.isfinite(X).all(axis=1)
    if not finite.any():
        raise ValueError("every row of the data holds NaN or infinity")
    texts, rows, notes = checked_labels(labels[finite])
    rows = np.flatnonzero(finite)[rows]
    if not finite.all():
        first = finite.argmin()
        notes.append(f"{(~finite).sum()} rows hold NaN or infinity and are set aside, the first is {first}")
    shown = [f"row {i}" for i in rows] if shown is None else [shown[i] for i in rows]
    return OwnData(kind, X[rows].astype(np.float64), texts, rows, shown, notes)


# ---------------------------------------------------------------------- pictures


def from_folder(folder: Path, labels: str | Path | None = None, label: str | None = None) -> OwnData:
    """Return the pictures of a folder, labelled by a table of files or by the folder that each lies in."""
    found, said = _pictures_below(folder)
    if labels is None:
        pictures = [p for p in found if p.parent != folder]
        if not pictures:
            cure = "name the file of their labels, --labels labels.csv" if found else "it has none"
            raise ValueError(f"{folder} has no folder of pictures for each class: {cure}")
        names: Any = [p.relative_to(folder).parts[0] for p in pictures]
        loose = len(found) - len(pictures)
        if loose:
            lie = "1 picture lies" if loose == 1 else f"{loose} pictures lie"
            some = next(p.name for p in found if p.parent == folder)
            said.append(f"{lie} in no class's folder: skipped, such as {printable(some)}")
        return from_pictures(pictures, names, root=folder, notes=said)
    path = place(labels)
    if not path.exists():
        raise ValueError(f"there is no file of labels {path}")
    frame, notes = read_table(path)
    notes += said
    known = {p.relative_to(folder).as_posix(): p for p in found}
    if not known:
        raise ValueError(f"there is no picture in {folder} ({', '.join(PICTURES)})")
    by_name, several = dict(known), set()
    for picture in found:
        for short in {picture.stem, picture.name} - set(known):
            if by_name.setdefault(short, picture) != picture:
                several.add(short)

    def hits(name: str) -> int:
        return sum(str(value).strip() in by_name for value in frame[name])

    files = max(frame.columns, key=hits)
    if not hits(files):
        raise ValueError(
            f"no column of {path.name} names the pictures in {folder}, such as {next(iter(known))}"
        )
    others = [name for name in frame.columns if name != files]
    if label is None and len(others) != 1:
        likely = [name for name in others if name.casefold() in LIKELY]
        if len(likely) != 1:
            choices = ", ".join(others)
            raise ValueError(f"say which column of {path.name} holds the labels, --label NAME: {choices}")
        label = likely[0]
    label = others[0] if label is None else _column(frame, label, f" of {path.name}")
    there = frame[files].astype(str).str.strip().isin(by_name).to_numpy()
    if not there.all():
        notes.append(
            f"{path.name} names {(~there).sum()} of which there is no picture in the folder, skipped, such as"
            f" {printable(str(frame[files][~there].iloc[0]))}"
        )
    frame = frame[there]
    given = [str(value).strip() for value in frame[files]]
    if unclear := sorted(several.intersection(given)):
        both = [name for name, p in known.items() if unclear[0] in (p.stem, p.name)]
        raise ValueError(
            f"{path.name} names {unclear[0]!r}, which {both[0]!r} and {both[1]!r} are both called: name them"
            " with their folders"
        )
    pictures = [by_name[name] for name in given]
    again = len(pictures) - len(set(pictures))
    if again:
        notes.append(
            f"{path.name} has more than one line for {again} of the pictures, so that models have seen what"
            " they judge: leave one line for each"
        )
    without = len(known) - len(set(pictures))
    if without > 0:
        noun = "picture has" if without == 1 else "pictures have"
        notes.append(f"{without} {noun} no line in {path.name}: skipped")
    return from_pictures(pictures, frame[label].to_numpy(), root=folder, notes=notes)


def _pictures_below(folder: Path) -> tuple[list[Path], list[str]]:
    """All pictures in a folder and in those inside it, and what was left out; links count at the top only."""
    closed: list[OSError] = []
    links = [p for p in folder.iterdir() if p.is_symlink() and p.is_dir()]
    tops = [folder, *(p for p in links if not folder.resolve().is_relative_to(p.resolve()))]
    walks = [step for top in tops for step in os.walk(top, onerror=closed.append)]
    files = [Path(place, name) for place, _, names in walks for name in names]
    found = sorted(p for p in files if p.suffix.lower() in PICTURES and p.is_file())
    shown = [p for p in found if not any(part.startswith(".") for part in p.relative_to(folder).parts)]
    notes = [f"{len(found) - len(shown)} hidden pictures are left out"] if len(shown) < len(found) else []
    for error in closed[:5]:
        notes.append(f"the folder {printable(str(error.filename))} is left out ({error.strerror})")
    return shown, notes


def from_pictures(
    paths: Sequence[str | Path], labels: Any, *, root: Path | None = None, notes: Sequence[str] = ()
) -> OwnData:
    """Return pictures with labels; those that cannot be read are set aside, counted and named."""
    if importlib.util.find_spec("PIL") is None:
        raise ValueError("pictures are read with Pillow: run  python -m pip install 'fdiv[images]'")
    files, notes = [Path(path) for path in paths], list(notes)
    if len(files) != len(labels):
        raise ValueError(
            f"there are {len(labels)} labels for {len(files)} pictures, but must be one for each"
        )
    broken = [i for i, path in enumerate(files) if not _readable(path)]
    if broken:
        some = ", ".join(printable(files[i].name) for i in broken[:5])
        some += ", ..." if len(broken) > 5 else ""
        noun, verb = ("picture", "is") if len(broken) == 1 else ("pictures", "are")
        notes.append(f"{len(broken)} {noun} cannot be read and {verb} skipped: {some}")
    good = np.setdiff1d(np.arange(len(files)), broken)
    if not len(good):
        raise ValueError("none of the pictures can be read")
    texts, rows, more = checked_labels(pd.Series(np.asarray(labels, dtype=object)[good]))
    kept = [files[i] for i in good[rows]]
    shown = [
        utf8(str(p.relative_to(root) if root is not None and p.is_relative_to(root) else p)) for p in kept
    ]
    return OwnData("images", kept, texts, good[rows], shown, [*notes, *more])


def _readable(path: Path) -> bool:
    """Whether a picture can be decoded, all of it."""
    try:
        with opened(path) as image:
            image.load()
    except Exception:  # Pillow raises whatever its decoder happened to run into
        return False
    return True


def picture_numbers(paths: Sequence[Path], progress: bool | None = None) -> tuple[np.ndarray, str]:
    """Return numbers for pictures, and how they were made: a pre-trained network, or else their pixels."""
    try:
        from fdiv.datasets.features import image_features

        numbers = image_features(list(paths), progress=progress)
        return np.asarray(numbers, dtype=np.float64), "a pre-trained MobileNetV2"
    except (ImportError, OSError) as error:
        why = " ".join(str(error).split())[:200]
    files = ImageFiles(list(paths), size=24)
    pixels = np.stack([files[i].numpy().ravel() for i in range(len(files))]).astype(np.float64) / 255
    return pixels, f"24 x 24 pixels, which tell less than a pre-trained network; that could not be had: {why}"


# ---------------------------------------------------------------------- a row of the catalogue


def image_folder(
    name: str,
    folder: str | Path,
    labels: str | Path | None = None,
    *,
    label: str | None = None,
    size: int | tuple[int, int] = 32,
    test: str | Path | None = None,
    test_labels: str | Path | None = None,
    model: str | None = None,
    seed: int = 0,
) -> Entry:
    """Return a folder of pictures as a row of the catalogue, which ``fdiv train`` and every grid then know.

        CATALOGUE.register(image_folder("pets", "photos", "labels.csv", size=(48, 64)))

    in a file that ``FDIV_PLUGINS`` names, and then ``fdiv train pets --noise human --method tv``.

    labels, label: as in ``read``; without a table, each class has a folder.
    size: every picture is made so many pixels high and wide; a pair is (height, width).
    test, test_labels: pictures with clean labels, read as the others are. Without them a fifth of the noisy
        pictures takes their place: accuracies are then agreements with noisy labels.
    model: the network, a name of ``fdiv.learning.MODELS``, where one's own can be put, or of torchvision,
        such as "torchvision/resnet18"; by default a small convolutional net.
    seed: decides which pictures are for validation and for testing.
    """
    from fdiv.datasets.catalogue import Entry

    read_in = from_folder(Path(folder), labels, label)
    classes = np.unique(read_in.labels)
    held = None if test is None else from_folder(Path(test), test_labels, label)
    unknown = [] if held is None else sorted(set(held.labels.tolist()) - set(classes.tolist()))
    if unknown:
        raise ValueError(f"the clean pictures have the label {unknown[0]!r}, which no other picture has")
    for note in [*read_in.notes, *(held.notes if held else [])]:
        warnings.warn(f"{name}: {note}", stacklevel=2)
    order = np.random.default_rng(seed).permutation(len(read_in.labels))
    fifth = max(len(order) // 5, 1)
    validation, rest = order[:fifth], order[fifth:]
    tested = rest[:fifth] if held is None else np.arange(len(held.labels))
    trained = rest[fifth:] if held is None else rest

    def split() -> NoisySplit:
        def part(source: OwnData, rows: np.ndarray) -> tuple[Any, Any]:
            files = ImageFiles([source.features[i] for i in rows], size)
            numbers = torch.from_numpy(np.searchsorted(classes, source.labels[rows]).astype(np.int64))
            return torch.stack([files[i] for i in range(len(files))]), numbers

        images, noisy = part(read_in, trained)
        test_part = part(read_in if held is None else held, tested)
        return NoisySplit(name, len(classes), images, noisy, None, *part(read_in, validation), *test_part)

    height, width = size if isinstance(size, tuple) else (size, size)
    return Entry(
        name=name,
        title=name,
        shape=(3, height, width),
        num_classes=len(classes),
        train=len(trained),
        validation=fifth,
        split=split,
        recipes="own",
        model=model,
    )
