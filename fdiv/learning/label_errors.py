"""Which labels look wrong: the examples ordered by how likely their label is not the true one.

A robustly trained model approximates the clean posterior, h_k(x) ~ P(y = k | x), although it only saw noisy
labels y~. By itself it holds the label of x wrong with probability 1 - h_y~(x), one minus the self-confidence
of Northcutt et al. (2021). With the transition matrix the label is evidence too:

    P(y = k | x, y~) = h_k(x) T_ky~ / sum_l h_l(x) T_ly~,  and the label is wrong unless y = y~.

A model that has memorised its labels finds none of them wrong.

Both are computed as log-odds. A confident network gives thousands of labels a probability of being wrong
that rounds to 1, and only their log-odds still tell which is the worst.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.special import expit, log_softmax, logsumexp
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, SequentialSampler, TensorDataset

from fdiv.arrays import Labels, as_array, as_labels
from fdiv.noise.matrices import transition as transition_matrix


@dataclass(frozen=True, eq=False)
class LabelErrors:
    """The examples, by how likely their label is wrong.

    order: indices of the examples, the most suspicious first.
    score: for each example, the probability that its label is wrong.
    log_odds: the same as log(score / (1 - score)), which does not saturate.
    given, suggested: for each example, its label, and the most likely one.
    auroc: the chance that a wrong label is ranked before a right one (ties count half), or ``None`` where
        nothing said which are wrong.
    """

    order: np.ndarray
    score: np.ndarray
    log_odds: np.ndarray
    given: np.ndarray
    suggested: np.ndarray
    auroc: float | None

    def top(self, n: int = 10) -> pd.DataFrame:
        """The n most suspicious examples, one in each row."""
        first = self.order[:n]
        columns = {"given": self.given, "suggested": self.suggested, "score": self.score}
        return pd.DataFrame({"index": first} | {name: column[first] for name, column in columns.items()})


def rank_label_errors(
    model: Callable[[Tensor], Tensor],
    data: Any,
    labels: Labels | None = None,
    *,
    flipped: Any = None,
    transition: Any = None,
    batch_size: int = 1024,
    device: torch.device | str | None = None,
) -> LabelErrors:
    """Order examples by how likely their label is wrong; the formulas are at the top of this module.

    model: gives logits of the clean label, (batch, K); ``nn.Identity()`` where ``data`` holds the logits and
        ``torch.log`` where it holds probabilities. A module is put in evaluation mode, and back afterwards.
    data: what the model takes, as an array or tensor (n, ...), a pair (inputs, labels), or a ``Dataset`` or
        ``DataLoader`` of such pairs. A loader must keep the order, or the indices would mean nothing.
    labels: the labels to judge. If given, they replace those of ``data``.
    flipped: for each example whether its label is wrong (noisy != clean), if that is known, for the AUROC.
    transition: T, known or estimated, to weigh the label itself. For a model of the *clean* posterior.
    device: where batches are sent; by default where the parameters of the model are.
    """
    logits, given = _predict(model, _loader(data, batch_size), labels is None, device)
    given = as_labels(given if labels is None else labels, logits.shape[1])
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
        given=given,
        suggested=log_posterior.argmax(axis=1),
        auroc=None if flipped is None else _auroc(_mask(flipped, logits), suspicion),
    )


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
    with np.errstate(divide="ignore"):
        log_T = np.log(T)
    impossible = np.flatnonzero(np.isneginf(log_h + log_T.T[given]).all(axis=1))
    if impossible.size:
        i = impossible[0]
        raise ValueError(f"labels[{i}] is {given[i]}, which the transition matrix and the model exclude")
    return log_T.T[given]


def _auroc(flipped: np.ndarray, suspicion: np.ndarray) -> float:
    from sklearn.metrics import roc_auc_score  # slow to import, and seldom needed

    return float(roc_auc_score(flipped, suspicion))


def _mask(flipped: Any, logits: np.ndarray) -> np.ndarray:
    flipped = as_array(flipped)
    if flipped.dtype != bool or flipped.ndim != 1:
        found = f"{flipped.dtype} of shape {flipped.shape}"
        raise ValueError(f"flipped must be a vector of booleans, noisy != clean, not {found}")
    _same_length("flipped", flipped, logits)
    if flipped.all() or not flipped.any():
        kind = "wrong" if flipped.all() else "right"
        raise ValueError(
            f"all labels are {kind} according to flipped, but an AUROC compares wrong with right"
        )
    return flipped


def _same_length(name: str, vector: Any, examples: Any) -> None:
    if len(vector) != len(examples):
        found = f"{len(vector)} entries for {len(examples)} examples"
        raise ValueError(f"{name} has {found}, but needs one for each")


def _loader(data: Any, batch_size: int) -> DataLoader:
    """``data`` in batches (inputs, labels), or (inputs,) without labels."""
    if isinstance(data, DataLoader):
        sampler = getattr(data.batch_sampler, "sampler", data.sampler)
        if not isinstance(sampler, SequentialSampler):
            raise ValueError(
                "the DataLoader makes its own order, but must keep that of the data: shuffle=False"
            )
        return data
    if not isinstance(data, Dataset):
        pair = data if isinstance(data, tuple | list) and len(data) == 2 else (data,)
        tensors = [torch.as_tensor(x) for x in pair]
        _same_length("labels", tensors[-1], tensors[0])
        data = TensorDataset(*tensors)
    return DataLoader(data, batch_size)


def _predict(model: Callable, loader: DataLoader, want_labels: bool, device: Any) -> tuple[np.ndarray, Any]:
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


def _logits(output: Tensor, inputs: Tensor) -> Tensor:
    """The output of the model in double precision on the CPU, if it is one row of logits for each input."""
    if output.ndim != 2 or len(output) != len(inputs) or output.shape[1] < 2:
        found = f"{tuple(output.shape)} for {len(inputs)} inputs"
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
