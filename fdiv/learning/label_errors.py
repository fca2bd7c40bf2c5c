"""Which labels look wrong: the examples ordered by how likely their label is not the true one.

A robustly trained model approximates the clean posterior, h_k(x) ~ P(y = k | x), although it only saw noisy
labels y~. By itself it holds the label of x wrong with probability 1 - h_y~(x), one minus the self-confidence
of Northcutt et al. (2021). With the transition matrix the label is evidence too:

    P(y = k | x, y~) = h_k(x) T_ky~ / sum_l h_l(x) T_ly~,  and the label is wrong unless y = y~.

A model that has memorised its labels finds none of them wrong. So it was either trained with a loss that does
not memorise, such as a divergence, or has not seen the labels that it judges (out-of-sample, by
cross-validation). *How many* are wrong can only be said out-of-sample, see ``fdiv.noise.count_wrong_labels``.

Both are computed as log-odds. A confident network gives thousands of labels a probability of being wrong
that rounds to 1, and only their log-odds still tell which is the worst.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.special import expit, log_softmax, logsumexp
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, SequentialSampler, TensorDataset

from fdiv.arrays import as_array, as_labels, as_probabilities, log, whole
from fdiv.arrays import transition as transition_matrix
from fdiv.datasets.images import ImageFiles
from fdiv.noise.how_many import WrongLabels, from_logits

IN, OUT, UNKNOWN = "in-sample", "out-of-sample", "unknown"
WRONG_ANSWERS = "these are the answers of predict_proba, so pass another estimator"
SEEN = (
    "the model was trained on these labels and has learnt some of the wrong ones, so that the count is too"
    " low and"
    " its interval too short: pass an estimator with cv=5, or out-of-sample probabilities"
)


@dataclass(frozen=True, eq=False)
class LabelErrors:
    """The examples, by how likely their label is wrong.

    order: indices of the examples, the most suspicious first.
    score: for each example, the probability that its label is wrong, as the model has it.
    log_odds: the same as log(score / (1 - score)), which does not saturate.
    given, suggested: for each example, its label, and the most likely one.
    auroc: the chance that a wrong label is ranked before a right one (ties count half), or ``None`` where
        nothing said which are wrong.
    sample: "out-of-sample", "in-sample", or "unknown" where nobody said.
    log_probabilities: of each class for each example, by the model alone.
    classes: the labels in the order of these columns.

    >>> found = rank_label_errors([[0.9, 0.1], [0.2, 0.8]], ["cat", "cat"], classes=["cat", "dog"])
    >>> found.top(1)
       index given suggested  score
    0      1   cat       dog    0.8
    """

    order: np.ndarray
    score: np.ndarray
    log_odds: np.ndarray
    given: np.ndarray
    suggested: np.ndarray
    auroc: float | None
    sample: str
    log_probabilities: np.ndarray
    classes: np.ndarray

    def __str__(self) -> str:
        return f"{len(self.order)} labels, judged {self.sample}: {self.wrong}"

    def top(self, n: int = 10) -> pd.DataFrame:
        """The n most suspicious examples, one in each row."""
        first = self.order[: whole("n", n, 0)]
        columns = {"given": self.given, "suggested": self.suggested, "score": self.score}
        return pd.DataFrame({"index": first} | {name: column[first] for name, column in columns.items()})

    @cached_property
    def wrong(self) -> WrongLabels:
        """How many labels are wrong, with an interval; a warning if the model has seen them."""
        if self.sample == IN:
            warnings.warn(SEEN, stacklevel=3)
        return from_logits(self.log_probabilities, _codes(self.given, self.classes))

    def issues(self, n: int | None = None) -> pd.DataFrame:
        """Return the labels to look at: the first n of the order, by default as many as seem to be wrong.

        Beside ``top``, the columns ``wrong`` and ``suggested_probability`` are probabilities given the label
        and what was learnt about all labels, see ``fdiv.noise.count_wrong_labels``; ``score`` is the model's
        alone.

        >>> logits = np.repeat([[9.0, 0.0], [0.0, 9.0]], 50, axis=0)
        >>> labels = np.repeat([0, 1, 0, 1], [45, 5, 5, 45])
        >>> found = rank_label_errors(nn.Identity(), logits, labels, out_of_sample=True)
        >>> found.issues()["index"].tolist()
        [45, 46, 47, 48, 49, 50, 51, 52, 53, 54]
        """
        table = self.top(round(self.wrong.count) if n is None else n)
        rows, suggested = table["index"], _codes(table["suggested"], self.classes)
        table["wrong"] = self.wrong.wrong[rows]
        table["suggested_probability"] = self.wrong.posterior[rows, suggested]
        return table


def rank_label_errors(
    model: Any,
    data: Any = None,
    labels: Any = None,
    *,
    flipped: Any = None,
    transition: Any = None,
    classes: Any = None,
    cv: Any = None,
    out_of_sample: bool | None = None,
    batch_size: int = 1024,
    device: torch.device | str | None = None,
) -> LabelErrors:
    """Order examples by how likely their label is wrong; the formulas are at the top of this module.

    There are three ways to call it:

    * ``rank_label_errors(probabilities, labels)``, with an array, tensor or DataFrame (n, K);
    * ``rank_label_errors(estimator, X, labels)``, with a fitted classifier of scikit-learn's kind, or with
      ``cv=5`` and any classifier, which is then fitted on four fifths of the data to judge the others;
    * ``rank_label_errors(model, data, labels)``, with a network or any function from a batch to logits
      (batch, K) of the clean label. A module is put in evaluation mode, and back afterwards.

    data: what the model takes, as an array, tensor or DataFrame (n, ...), a pair (inputs, labels), a
        ``Dataset`` or ``DataLoader`` of such pairs, or ``ImageFiles``, which are given in [0, 1]. Numbers are
        brought to the precision of the network. A loader must keep the order, or the indices would mean
        nothing.
    labels: the labels to judge, numbers or names. If given, they replace those of ``data``.
    flipped: for each example whether its label is wrong (noisy != clean), if that is known, for the AUROC.
    transition: T, known or estimated, to weigh the label itself. For a model of the *clean* posterior.
    classes: the labels in the order of the model's outputs; by default those of the estimator, the columns of
        a DataFrame of probabilities, 0 .. K - 1 for whole numbers, or else the sorted labels.
    cv: folds of scikit-learn's ``cross_val_predict``, a number or a splitter.
    out_of_sample: whether the model has not seen the labels, where this cannot be known.
    device: where batches are sent; by default where the parameters of the model are.

    >>> logits = torch.tensor([[4.0, 0.0], [0.0, 5.0], [3.0, 0.0]])
    >>> rank_label_errors(nn.Identity(), logits, [0, 1, 1]).order.tolist()
    [2, 0, 1]
    """
    if not callable(model) and not hasattr(model, "predict_proba"):
        logits, given, classes = _probabilities(model, data, labels, classes)
    elif hasattr(model, "predict_proba"):
        logits, given, classes = _estimated(model, data, labels, classes, cv)
        out_of_sample = True if cv is not None else out_of_sample
    else:
        if cv is not None:
            raise ValueError("cv is for classifiers with fit and predict_proba, as scikit-learn's are")
        logits, given = _predict(model, _loader(data, batch_size, model), labels is None, device)
        given = given if labels is None else labels
    classes, given = _classes(classes, given, logits)
    _same_length("labels", given, logits)
    log_h = log_softmax(logits, axis=1)
    alone = _log_odds_wrong(log_h, given)
    log_posterior = log_h if transition is None else log_h + _log_likelihood(transition, given, log_h)
    log_odds = _log_odds_wrong(log_posterior, given)
    # Ranked by the log-odds, and by the model alone where these are infinite; equal examples share a rank.
    suspicion = np.unique(np.stack((log_odds, alone), axis=1), axis=0, return_inverse=True)[1].reshape(-1)
    return LabelErrors(
        order=np.argsort(-suspicion, kind="stable"),
        score=expit(log_odds),
        log_odds=log_odds,
        given=classes[given],
        suggested=classes[log_posterior.argmax(axis=1)],
        auroc=None if flipped is None else _auroc(flipped, suspicion),
        sample={None: UNKNOWN, True: OUT, False: IN}[out_of_sample],
        log_probabilities=log_h,
        classes=classes,
    )


def _probabilities(model: Any, data: Any, labels: Any, classes: Any) -> tuple[np.ndarray, Any, Any]:
    """log-probabilities, labels and classes where the first argument holds probabilities."""
    if labels is not None and data is not None:
        raise ValueError(
            "probabilities are passed with labels alone: rank_label_errors(probabilities, labels)"
        )
    labels = data if labels is None else labels
    if labels is None:
        raise ValueError("there are no labels: rank_label_errors(probabilities, labels)")
    numbered = not isinstance(model, pd.DataFrame) or list(model.columns) == [*range(model.shape[1])]
    if classes is None and not numbered:
        classes = model.columns
    cure = "pass softmax(logits), or nn.Identity() as the model of logits"
    return log(as_probabilities(model, cure)), labels, classes


def _estimated(model: Any, data: Any, labels: Any, classes: Any, cv: Any) -> tuple[np.ndarray, Any, Any]:
    """The same where the model is a classifier of scikit-learn's kind; its logits where it has any."""
    from sklearn.exceptions import NotFittedError
    from sklearn.model_selection import cross_val_predict

    if labels is None:
        pair = isinstance(data, tuple | list) and len(data) == 2
        if not pair:
            raise ValueError("there are no labels: pass labels, or data as a pair (inputs, labels)")
        data, labels = data
    rows = data if isinstance(data, pd.DataFrame) or hasattr(data, "tocsr") else as_array(data)
    if cv is not None:
        given = as_array(labels)
        P = cross_val_predict(model, rows, given, cv=cv, method="predict_proba")
        return log(as_probabilities(P, WRONG_ANSWERS)), labels, np.unique(given)
    try:
        own = getattr(model, "logits", None)
        logits = own(rows) if own else log(as_probabilities(model.predict_proba(rows), WRONG_ANSWERS))
    except NotFittedError:
        raise ValueError(
            f"{type(model).__name__} is not fitted: fit it, or pass cv=5, and it is fitted on the other"
            " examples"
        ) from None
    classes = getattr(model, "classes_", None) if classes is None else classes
    return _logits(torch.as_tensor(logits), rows).numpy(), labels, classes


def _classes(classes: Any, labels: Any, logits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The labels in the order of the columns of ``logits``, and the column of each given label."""
    K = logits.shape[1]
    labels = labels.to_numpy() if hasattr(labels, "to_numpy") else labels
    array = as_array(labels)
    if array.ndim == 1 and array.dtype.kind not in "iuf" and pd.isna(array).any():
        missing = int(np.flatnonzero(pd.isna(array))[0])
        raise ValueError(f"labels[{missing}] is missing: leave out the examples without a label")
    if classes is None and array.dtype.kind in "OUSb" and array.ndim == 1:
        classes = np.unique(array)
        if len(classes) != K:
            raise ValueError(
                f"the labels have {len(classes)} different names, but the model has {K} classes: pass"
                " classes=[...],"
                " all of them in the order of the model's outputs"
            )
    if classes is None:
        return np.arange(K), as_labels(labels, K)
    classes = np.asarray(classes)
    if classes.shape != (K,) or len(np.unique(classes)) != K:
        raise ValueError(f"classes must be {K} different labels, one for each output of the model")
    return classes, _codes(array, classes)


def _codes(labels: Any, classes: np.ndarray) -> np.ndarray:
    """The place of each label in ``classes``."""
    codes = pd.Index(classes).get_indexer(pd.Index(labels))
    unknown = np.flatnonzero(codes < 0)
    if unknown.size:
        some = ", ".join(map(repr, classes[:10].tolist())) + (", ..." if len(classes) > 10 else "")
        raise ValueError(
            f"labels[{unknown[0]}] is {pd.Index(labels).tolist()[unknown[0]]!r}, which the model does not"
            " know: it"
            f" has {some}"
        )
    return codes


def _log_odds_wrong(log_p: np.ndarray, given: np.ndarray) -> np.ndarray:
    """log of P(another class) / P(the given class), for rows of log-probabilities up to a constant."""
    rows = np.arange(len(given))
    others = log_p.copy()
    others[rows, given] = -np.inf
    return logsumexp(others, axis=1) - log_p[rows, given]


def _log_likelihood(T: Any, given: np.ndarray, log_h: np.ndarray) -> np.ndarray:
    """log T_ky~ for each example and class k."""
    T = transition_matrix(T)
    if len(T) != log_h.shape[1]:
        raise ValueError(f"the transition matrix has {len(T)} classes, but the model has {log_h.shape[1]}")
    log_T = log(T)
    impossible = np.flatnonzero(np.isneginf(log_h + log_T.T[given]).all(axis=1))
    if impossible.size:
        i = impossible[0]
        raise ValueError(f"labels[{i}] is {given[i]}, which the transition matrix and the model exclude")
    return log_T.T[given]


def _auroc(flipped: Any, suspicion: np.ndarray) -> float:
    from sklearn.metrics import roc_auc_score  # slow to import, and seldom needed

    flipped = as_array(flipped)
    if flipped.dtype != bool or flipped.ndim != 1:
        found = f"{flipped.dtype} of shape {flipped.shape}"
        raise ValueError(f"flipped must be a vector of booleans, noisy != clean, not {found}")
    _same_length("flipped", flipped, suspicion)
    if flipped.all() or not flipped.any():
        kind = "wrong" if flipped.all() else "right"
        raise ValueError(
            f"all labels are {kind} according to flipped, but an AUROC compares wrong with right"
        )
    return float(roc_auc_score(flipped, suspicion))


def _same_length(name: str, vector: Any, examples: Any) -> None:
    if len(vector) != len(examples):
        found = f"{len(vector)} entries for {len(examples)} examples"
        raise ValueError(f"{name} has {found}, but needs one for each")


def _loader(data: Any, batch_size: int, model: Any) -> DataLoader | Iterator[Any]:
    """``data`` in batches (inputs, labels), or (inputs,) without labels."""
    if isinstance(data, DataLoader):
        sampler = getattr(data.batch_sampler, "sampler", data.sampler)
        if not isinstance(sampler, SequentialSampler):
            raise ValueError(
                "the DataLoader makes its own order, but must keep that of the data: shuffle=False"
            )
        return data
    if isinstance(data, ImageFiles):
        some = torch.arange(len(data)).split(min(batch_size, 256))
        return (images.float() / 255 for images in data.batches(some))
    if not isinstance(data, Dataset):
        pair = data if isinstance(data, tuple | list) and len(data) == 2 else (data,)
        if any(isinstance(part, ImageFiles) for part in pair):
            raise ValueError("pass ImageFiles and labels apart: rank_label_errors(model, files, labels)")
        tensors = [_tensor(x) for x in pair]
        tensors[0] = _as_precise(tensors[0], model)
        _same_length("labels", tensors[-1], tensors[0])
        data = TensorDataset(*tensors)
    return DataLoader(data, batch_size)


def _tensor(x: Any) -> Tensor:
    """A tensor of an array, a DataFrame of numbers or a list."""
    if isinstance(x, Tensor):
        return x
    array = np.array(x) if isinstance(x, pd.DataFrame | pd.Series) else np.asarray(x)
    if array.dtype.kind not in "biuf":
        raise ValueError(
            "data holds texts or mixed columns, which a network cannot take: pass numbers, or a"
            " RobustClassifier"
        )
    return torch.as_tensor(array)


def _as_precise(x: Tensor, model: Any) -> Tensor:
    """``x`` in the precision of the network's weights, where both are floating-point numbers."""
    weights = model.parameters() if isinstance(model, nn.Module) else ()
    kind = next((p.dtype for p in weights if p.is_floating_point()), None)
    return x.to(kind) if kind is not None and x.is_floating_point() else x


def _predict(model: Callable, loader: Any, want_labels: bool, device: Any) -> tuple[np.ndarray, Any]:
    """The logits of all examples as float64, and the labels that came along if they are wanted."""
    logits, labels = [], []
    if device is None and isinstance(model, nn.Module):
        device = next((p.device for p in model.parameters()), None)
    with _evaluating(model), torch.inference_mode():
        for batch in loader:
            inputs, *rest = batch if isinstance(batch, tuple | list) else (batch,)
            if want_labels and not rest:
                raise ValueError("there are no labels: pass labels, or data as a pair (inputs, labels)")
            logits.append(_logits(model(inputs.to(device)), inputs))
            labels.extend(rest[:1])
    if not logits:
        raise ValueError("there are no examples in data")
    return torch.cat(logits).numpy(), torch.cat(labels) if want_labels else None


def _logits(output: Any, inputs: Any) -> Tensor:
    """The output of the model in double precision on the CPU, if it is one row of logits for each input."""
    count = inputs.shape[0]
    if not isinstance(output, Tensor):
        raise ValueError(
            f"the model gives {type(output).__name__}, but must give a tensor of (batch, K) logits"
        )
    if output.ndim != 2 or len(output) != count or output.shape[1] < 2:
        found = f"{tuple(output.shape)} for {count} inputs"
        raise ValueError(f"the model gives shape {found}, but must give (batch, K) logits")
    if output.isnan().any() or output.isposinf().any() or output.isneginf().all(1).any():
        raise ValueError("the model gives logits that are not finite (NaN or infinite)")
    return output.cpu().double()


@contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    """Evaluation mode inside; afterwards each submodule has the mode it had before."""
    if not isinstance(model, nn.Module):
        yield
        return
    modes = [(module, module.training) for module in model.modules()]
    try:
        model.eval()
        yield
    finally:
        for module, mode in modes:
            module.training = mode
