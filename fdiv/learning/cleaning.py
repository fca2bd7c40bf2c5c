"""From data to a list of wrong labels in one call: train, rank, count, suggest, and write it down.

    report = fdiv.clean("table.csv", label="kind")
    print(report)
    report.write()                # label_errors.csv and label_errors.html, in the working folder

What happens: the data become rows of numbers (``fdiv.datasets.own``). They are split into folds, and the
labels of each fold are judged by a ``RobustClassifier`` trained on the others, so that no model judges a
label it has seen. One likelihood then says how many labels are wrong, which, and what they should be
(``fdiv.noise.count_wrong_labels``).
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import tempfile
import warnings
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType
from typing import Any

import joblib
import numpy as np
import pandas as pd
from torch import nn
from tqdm.auto import tqdm

import fdiv
from fdiv.arrays import as_probabilities, log, refuse_mask, whole
from fdiv.datasets import own
from fdiv.datasets.images import ImageFiles
from fdiv.device import TRAINING, is_watched
from fdiv.files import cache_folder, keep_array, kept_array, replacing
from fdiv.learning.columns import take
from fdiv.names import cut, printable
from fdiv.noise.how_many import WrongLabels, from_logits

LOPSIDED = 2.0  # from here on, the most frequent label against the rarest, total variation errs too often
WARM_UP = 20  # epochs of cross-entropy, without which a class of a hundredth of the labels is never learnt
DOUBTFUL = 0.6  # models that agree with fewer labels may have learnt nothing
TRAINED_ON = 50_000  # rows of a fold; more would take long and tell little more about the labels
FEWEST = 20  # of them of each class, where it has so many
SURE = 0.95
TEXTS = ("shown", "given", "suggested")
FORMULA, NUMBER = re.compile(r"\s*[=@+\-＝＠＋－].", re.DOTALL), re.compile(r"[+-]?[\d.,]+([eE][+-]?\d+)?")
TABLE, PAGE = "label_errors.csv", "label_errors.html"


@dataclass(frozen=True, eq=False)
class CleaningReport:
    """What was found out about the labels.

    wrong: how many are wrong, with an interval, T, and the probability of each, see ``WrongLabels``.
    classes: the names of the classes, in the order of T.
    labels: one row for each label: ``row`` (in the user's data, from 0), ``shown``, ``given``, ``suggested``,
        ``wrong`` (the probability that it is), ``suggested_probability``, ``flagged``, ``look`` (the rank
        among those to re-annotate next) and ``action``; the most suspicious first.
    per_class: for each class how many labels it has, how many of them seem to be wrong, and how many of its
        own examples have lost their label.
    notes: what was decided about the data, a sentence each.
    data: the examples as they were read.
    """

    wrong: WrongLabels
    classes: np.ndarray
    labels: pd.DataFrame
    per_class: pd.DataFrame
    notes: list[str]
    data: own.OwnData = field(repr=False)

    def issues(self) -> pd.DataFrame:
        """Return the labels that are flagged: as many of the most suspicious as seem to be wrong."""
        return self.labels[self.labels["flagged"]]

    def look_next(self, n: int = 20) -> pd.DataFrame:
        """Return the labels to re-annotate next: where the best guess is least sure, given or suggested."""
        return self.labels.sort_values("look").head(whole("n", n, 0))

    def __str__(self) -> str:
        name, labels, wrong = self.per_class.loc[0, ["class", "labels", "wrong"]]
        worst = f"Worst is the label {cut(name)!r}: about {wrong:.0f} of its {labels} seem to be wrong."
        notes = [f"Note: {printable(note)}." for note in self.notes]
        return "\n".join([f"{self.wrong}.", *([worst] if wrong >= 0.5 else []), *notes])

    def write(self, folder: str | Path = ".") -> tuple[Path, Path]:
        """Write the table and the page into ``folder``, both or none, and return their paths.

        A file that is already there is left alone: the new ones then have a number in their names. A text
        that a spreadsheet would take for a formula stands in the table with an apostrophe before it.
        """
        from fdiv.learning.cleaning_page import page

        folder = writable(folder)
        labels = self.labels.assign(**{name: self.labels[name].map(inert) for name in TEXTS})
        text, shown = labels.to_csv(index=False, float_format="%.4f"), page(self)
        table, html = free_names(folder)
        try:
            with replacing(html) as new_page, replacing(table) as new_table:
                new_table.write_text(text, encoding="utf-8", newline="\n")
                new_page.write_text(shown, encoding="utf-8", newline="\n")
        except BaseException:
            table.unlink(missing_ok=True)
            html.unlink(missing_ok=True)
            raise
        return table, html


def writable(folder: str | Path) -> Path:
    """Return ``folder``, made if it is not there, or raise a ``ValueError`` where nothing can be written.

    >>> import tempfile
    >>> writable(Path(tempfile.mkdtemp(), "new")).name
    'new'
    """
    try:
        place = Path(folder).expanduser()
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"a report comes here")
    except (OSError, ValueError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or error
        raise ValueError(f"nothing can be written to {cut(folder)} ({why}): choose another folder") from None
    return place


def inert(text: str) -> str:
    """Return ``text`` so that a spreadsheet shows it, where it would otherwise compute it as a formula.

    >>> [inert(text) for text in ("=1+1", "-3.5", "+", "fig")]
    ["'=1+1", '-3.5', '+', 'fig']
    """
    return f"'{text}" if FORMULA.match(text) and not NUMBER.fullmatch(text) else text


def free_names(folder: Path) -> tuple[Path, Path]:
    """Return the paths of a table and a page that are not there; the table is now, so that nobody else takes
    the names.

    >>> free_names(Path(tempfile.mkdtemp()))[0].name
    'label_errors.csv'
    """
    for number in range(1, 10_000):
        suffix = "" if number == 1 else f"_{number}"
        table, html = (folder / name.replace(".", f"{suffix}.") for name in (TABLE, PAGE))
        with suppress(FileExistsError):
            if not os.path.lexists(html):
                table.touch(exist_ok=False)
                return table, html
    raise ValueError(f"{folder} holds ten thousand reports: delete some")


def clean(
    data: Any,
    labels: Any = None,
    *,
    label: str | None = None,
    estimator: Any = None,
    folds: int = 5,
    seed: int = 0,
    progress: bool | None = None,
    resume: bool = True,
) -> CleaningReport:
    """Return which labels look wrong, how many, and what they should be.

    data: a DataFrame; an array or tensor of numbers, one row per example; a list of sentences; ``ImageFiles``
        or a list of paths of pictures; or a path: of a table (.csv), of embeddings (.npy), or of a folder of
        pictures.
    labels: the labels, numbers or names; for a DataFrame also the name of a column; for a path the file of
        the labels, which a table and a folder with one folder per class do not need.
    label: the column of the labels, in a table or in the file of labels.
    estimator: a classifier of scikit-learn's kind; by default ``RobustClassifier`` with total variation, or
        with cross-entropy and then generalised cross-entropy where one label is more than twice as
        frequent as another.
    folds: each label is judged by a model that was trained without its fold.
    seed: of the folds and the models.
    progress: a bar with the time left; by default where somebody can see it.
    resume: folds that an interrupted call has finished are read again from the cache.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> y[[10, 60]] = 2, 0
    >>> report = clean(X, y, seed=0, progress=False, resume=False)
    >>> sorted(report.issues()["row"].head(2).tolist())
    [10, 60]
    """
    if isinstance(seed, bool) or not hasattr(seed, "__index__") or not 0 <= seed < 2**32:
        raise ValueError(f"seed is {seed!r}, but must be a whole number from 0 to 2**32 - 1")
    read = _read(data, labels, label)
    X, notes = _numbers(read, progress)
    notes = [*read.notes, *notes, *_copies(X, read.labels)]
    names, y = np.unique(read.labels, return_inverse=True)
    rarest = int(np.bincount(y).min())
    if whole("folds", folds, 2) > rarest:
        notes.append(f"there are {rarest} folds, as many as the rarest class has labels, instead of {folds}")
    folds = min(int(folds), rarest)
    logits = _out_of_sample(X, y, len(names), estimator, folds, seed, progress, resume, notes)
    notes += _doubts(logits, y, names)
    wrong = from_logits(logits, y, seed=seed)
    return CleaningReport(
        wrong, names, _table(wrong, names, y, read), _per_class(wrong, names, y), notes, read
    )


# ---------------------------------------------------------------------- the data


def _read(data: Any, labels: Any, label: str | None) -> own.OwnData:
    if isinstance(data, own.OwnData):
        return data
    if isinstance(data, str | Path):
        return own.read(data, labels, label)
    if isinstance(data, pd.DataFrame):
        column = label if label is not None else labels if isinstance(labels, str) else None
        if column is None and labels is not None:
            _same_length(labels, data)
            column = "(label)"
            data = data.set_axis([str(name) for name in data.columns], axis=1)
            while column in data:
                column += "'"
            data = data.assign(**{column: np.asarray(labels)})
        return own.from_table(data, column)
    if labels is None:
        raise ValueError("there are no labels: clean(data, labels)")
    if isinstance(data, ImageFiles):
        data = [data.path(i) for i in range(len(data))]
    if isinstance(data, Sequence) and len(data) and isinstance(data[0], str | Path):
        _same_length(labels, data)
        if isinstance(data[0], Path) or Path(data[0]).suffix.lower() in own.PICTURES:
            return own.from_pictures(data, np.asarray(labels))
        return own.from_table(pd.DataFrame({"text": list(data), "(label)": np.asarray(labels)}), "(label)")
    return own.from_arrays(data.toarray() if hasattr(data, "toarray") else data, labels, kind="table")


def _same_length(labels: Any, data: Any) -> None:
    if not hasattr(labels, "__len__") or isinstance(labels, Mapping | Set):
        raise ValueError(f"labels is {labels!r}, but must be a list or a vector, one for each example")
    refuse_mask(labels)
    if len(labels) != len(data):
        raise ValueError(f"there are {len(labels)} labels for {len(data)} examples, but must be one for each")


def _numbers(read: own.OwnData, progress: bool | None) -> tuple[Any, list[str]]:
    """The features as a classifier takes them, and how they were had if that needs saying."""
    if read.kind != "images":
        return read.features, []
    numbers, how = own.picture_numbers(read.features, progress)
    return numbers, [f"each picture became {numbers.shape[1]} numbers ({how})"]


def _copies(X: Any, labels: np.ndarray) -> list[str]:
    """What to know of rows that are there more than once, in a sentence."""
    rows = _hashes(X)
    alike = rows.duplicated(keep=False)
    if not alike.any():
        return []
    unlike = pd.Series(labels).groupby(rows).transform("nunique") > 1
    differ = f", {unlike.sum()} of them under another label" if unlike.any() else ""
    return [f"{alike.sum()} rows are equal to another one{differ}, and judged by models that may know it"]


def _hashes(X: Any) -> pd.Series:
    """A hash of each row."""
    rows = pd.util.hash_pandas_object(X if isinstance(X, pd.DataFrame) else pd.DataFrame(X), index=False)
    return rows.reset_index(drop=True)


# ---------------------------------------------------------------------- the judges


def _out_of_sample(
    X: Any,
    y: np.ndarray,
    K: int,
    estimator: Any,
    folds: int,
    seed: int,
    progress: bool | None,
    resume: bool,
    notes: list[str],
) -> np.ndarray:
    """The logits of every example, by a model that has not seen its label."""
    from sklearn.model_selection import StratifiedKFold

    from fdiv.learning.estimator import RobustClassifier

    counts = np.bincount(y)
    if estimator is None:
        lopsided = counts.max() > LOPSIDED * counts.min()
        options = {"loss": "gce", "warm_up": WARM_UP} if lopsided else {"loss": "tv"}
        estimator = RobustClassifier(**options, random_state=seed)
    if isinstance(estimator, type) or not any(hasattr(estimator, n) for n in ("logits", "predict_proba")):
        raise ValueError(
            f"estimator is {estimator!r}, but must be a classifier with predict_proba, such as"
            " sklearn.linear_model.LogisticRegression()"
        )
    logits = np.empty((len(y), K))
    place = cache_folder() / "clean" / _digest(X, y, estimator, folds, seed)
    splits = list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(y, y))
    shown = is_watched() if progress is None else progress
    if len(y) - len(splits[0][1]) > TRAINED_ON:
        notes.append(f"each model was trained on {TRAINED_ON} rows, drawn at random")
    for number, (train, judged) in enumerate(tqdm(splits, disable=not shown, desc="judging", unit="fold")):
        kept = place / f"{number}.npz"
        if resume and (found := kept_array(kept, (len(judged), K))) is not None:
            logits[judged] = found
            continue
        train = _some(train, y[train], np.random.default_rng([seed, number]))
        with TRAINING, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ``_doubts`` looks at what came of it
            logits[judged] = _judged(estimator, take(X, train), y[train], take(X, judged), K)
        if resume:
            with suppress(OSError):  # a cache that cannot be written to costs the resuming only
                keep_array(logits[judged], kept)
    with suppress(OSError):  # the report is what stays
        for path in place.iterdir():
            path.unlink(missing_ok=True)
        place.rmdir()
    return logits


def _some(rows: np.ndarray, labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """At most ``TRAINED_ON`` of the rows, or a few more so that no class loses its last ones."""
    if len(rows) <= TRAINED_ON:
        return rows
    chosen = rng.choice(len(rows), TRAINED_ON, replace=False)
    missing = np.maximum(FEWEST - np.bincount(labels[chosen], minlength=labels.max() + 1), 0)
    left = np.setdiff1d(np.arange(len(rows)), chosen)
    more = [left[labels[left] == k][: missing[k]] for k in np.flatnonzero(missing)]
    return rows[np.sort(np.concatenate([chosen, *more]))]


def _judged(estimator: Any, X: Any, y: np.ndarray, others: Any, K: int) -> np.ndarray:
    """The logits of ``others`` by a copy of the estimator, trained on X and y."""
    from sklearn.base import clone

    from fdiv.learning.estimator import RobustClassifier

    try:
        model = clone(estimator).fit(X, y)
        return _logits(model, others, np.arange(K))
    except Exception as error:
        if isinstance(estimator, RobustClassifier):  # which says itself what is wrong
            raise
        numbers = not isinstance(X, pd.DataFrame) or all(map(pd.api.types.is_numeric_dtype, X.dtypes))
        text = "" if numbers else " with their columns of text"
        said = next(iter(str(error).splitlines()), type(error).__name__)
        raise ValueError(
            f"{type(estimator).__name__} cannot judge these data{text} ({cut(said, 300)}): pass another"
            " estimator, or none"
        ) from error


def _doubts(logits: np.ndarray, y: np.ndarray, names: np.ndarray) -> list[str]:
    """Why the models might know too little to judge labels, a sentence each."""
    answer, counts, doubts = logits.argmax(axis=1), np.bincount(y), []
    lost = names[np.bincount(answer, minlength=len(names)) < counts / 10]
    if len(lost):
        some = ", ".join(repr(cut(name)) for name in lost[:5]) + (
            f" and {len(lost) - 5} more" if len(lost) > 5 else ""
        )
        doubts.append(
            f"the models hardly ever answer {some}: what is said of these labels is not to be trusted"
        )
    agreed, frequent = (answer == y).mean(), counts.max() / len(y)
    if agreed < DOUBTFUL or agreed <= frequent:
        usual = (
            f", no more than always saying {cut(names[counts.argmax()])!r}" if agreed <= frequent else " only"
        )
        doubts.append(
            f"the models agree with {agreed:.0%} of the labels{usual}: many are wrong, or the data tell too"
            " little about them, and then neither the count nor the list is to be trusted"
        )
    return doubts


def _logits(model: Any, X: Any, classes: np.ndarray) -> np.ndarray:
    """The model's logits, or log-probabilities, in the order of all classes; unseen ones are impossible."""
    if hasattr(model, "logits"):
        found = np.asarray(model.logits(X), dtype=np.float64)
    else:
        found = log(np.maximum(as_probabilities(model.predict_proba(X)), 1e-12))
    if found.shape != (len(X), len(model.classes_)) or not np.isfinite(found).all():
        raise ValueError(f"it gives no finite row of {len(model.classes_)} logits for each example")
    logits = np.full((len(found), len(classes)), found.min(axis=1, keepdims=True) - 10)
    logits[:, np.searchsorted(classes, model.classes_)] = found
    return logits


def _digest(X: Any, y: np.ndarray, estimator: Any, folds: int, seed: int) -> str:
    """A hash of all that decides the outcome, so that a second call finds what the first one finished."""
    said = repr((fdiv.__version__, _identity(estimator), folds, seed)).encode()
    parts = (_hashes(X).to_numpy().tobytes(), y.tobytes(), said)
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()[:16]


def _identity(estimator: Any) -> list[str]:
    """A hash of every option of an estimator; of one that cannot be pickled a new one each time."""
    options = estimator.get_params() if hasattr(estimator, "get_params") else {"itself": estimator}
    hashes = [type(estimator).__qualname__]
    for name, value in sorted(options.items()):
        try:
            hashes.append(f"{name} {joblib.hash(_content(value))}")
        except Exception:  # of pickling, which raises whatever an object's own methods do
            hashes.append(f"{name} {secrets.token_hex()}")
    return hashes


def _content(value: Any) -> Any:
    """A network or a loss as what decides its answers, since two copies of it have different pickles."""
    if not isinstance(value, nn.Module):
        return value
    tensors = {**dict(value.named_parameters()), **dict(value.named_buffers())}
    numbers = {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}
    return repr(value), numbers, [part for part in vars(value).values() if isinstance(part, FunctionType)]


# ---------------------------------------------------------------------- the findings


def _table(wrong: WrongLabels, names: np.ndarray, y: np.ndarray, read: own.OwnData) -> pd.DataFrame:
    """One row for each label, the most suspicious first."""
    n, count = len(y), round(wrong.count)
    others = wrong.posterior.copy()
    others[np.arange(n), y] = -1
    best_other = others.argmax(axis=1)
    order = np.argsort(-wrong.wrong, kind="stable")
    flagged = np.zeros(n, dtype=bool)
    flagged[order[:count]] = True
    doubt = 1 - wrong.posterior.max(axis=1)  # the errors that a look at this label is expected to remove
    look = np.empty(n, dtype=int)
    look[np.argsort(-doubt, kind="stable")] = np.arange(1, n + 1)
    suggested = np.where(flagged, best_other, wrong.posterior.argmax(axis=1))
    sure = wrong.posterior[np.arange(n), suggested] >= SURE
    action = np.where(flagged, np.where(sure, "change", "look"), np.where(doubt > 1 - SURE, "look", "keep"))
    shown = read.shown
    texts = _texts(shown) if isinstance(shown, pd.DataFrame) else list(shown)
    table = pd.DataFrame(
        {
            "row": read.rows,
            "shown": texts,
            "given": names[y],
            "suggested": names[suggested],
            "wrong": wrong.wrong,
            "suggested_probability": wrong.posterior[np.arange(n), suggested],
            "flagged": flagged,
            "look": look,
            "action": action,
        }
    )
    return table.iloc[order].reset_index(drop=True)


def _texts(shown: pd.DataFrame) -> list[str]:
    """Each row of a table in one line."""
    if shown.shape[1] == 1:
        return shown.iloc[:, 0].astype(str).tolist()
    columns = [
        [None if missing else f"{name}: {_short(value)}" for value, missing in zip(column, gaps, strict=True)]
        for name in shown
        for column, gaps in [(shown[name].tolist(), shown[name].isna().tolist())]
    ]
    return [", ".join(filter(None, row)) for row in zip(*columns, strict=True)]


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)[:80]


def _per_class(wrong: WrongLabels, names: np.ndarray, y: np.ndarray) -> pd.DataFrame:
    """For each class its labels, those that seem wrong, and the share of its own examples labelled as
    others."""
    K = len(names)
    counts = np.bincount(y, minlength=K)
    bad = np.bincount(y, wrong.wrong, minlength=K)
    frame = pd.DataFrame(
        {
            "class": names,
            "labels": counts,
            "wrong": bad,
            "share_wrong": bad / np.maximum(counts, 1),
            "lost": 1 - np.diag(wrong.T),
            "lost_error": np.diag(wrong.standard_error),
        }
    )
    return frame.sort_values("share_wrong", ascending=False, ignore_index=True)
