"""A scikit-learn classifier for tables whose labels are partly wrong.

    model = RobustClassifier(random_state=0).fit(X, y)
    model.predict(X_new), model.diagnosis_

What happens in ``fit``: columns become numbers around 0; some noisy labels are set aside; where the loss
needs it, a few epochs of cross-entropy name the classes and estimate the transition matrix T; then the loss
is minimised, and the epoch is kept at which it was best on the labels that were set aside, noisy as they are.
"""

from __future__ import annotations

import copy
import math
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)
from torch import Tensor, nn

from fdiv.arrays import as_array, whole
from fdiv.device import TRAINING, pick_device, usable
from fdiv.learning.checks import is_singular
from fdiv.learning.columns import LARGEST, Columns, take
from fdiv.learning.losses import CrossEntropy, NoisyLabelLoss
from fdiv.learning.methods import CORRECTIONS, METHODS, build_loss, needs_transition
from fdiv.learning.recommendation import UNBALANCED, advise, look
from fdiv.names import choose
from fdiv.theory.robustness import largest_safe_gap

WHOLE = 64  # up to so many rows a batch is the whole table, in double precision: order and rounding drop out
STEPS = 600  # at least so many steps, with as many epochs as that takes
EPOCHS = 60
VALIDATED, SHARE = 100, 0.2  # from so many rows on so many labels are set aside
MOST_LABELS = 1000  # from here on labels that most rows have for themselves are no classes
MOST_WEIGHTS = 2**28  # of a network: in double precision 2 GB, and Adam takes four times that
FLOOR = 0.4  # how often "auto" answers a class at least, against how often it is a label
WARMED_UP = ("warm", "dmi")  # the families of methods that start from cross-entropy


class Collapse(UserWarning):
    """The model has lost a class, or mixed classes up."""


class RobustClassifier(ClassifierMixin, BaseEstimator):
    """A network for tables, trained so that wrong labels are not learnt by heart.

    loss: "auto" for what ``fdiv.recommend`` says; a name in ``fdiv.learning.METHODS`` ("tv", "kl", "ce",
        "gce", "elr", "flc", ...); or an ``nn.Module`` that makes one number of logits and labels.
    module: None for a network with the layers ``hidden``; an ``nn.Module`` from columns to logits, whose
        weights are where training starts; or a function of the numbers of columns and of classes that makes
        one. Columns are standardised and text columns spelled out before, see ``fdiv.learning.columns``.
    correction: "none", "exact", "paper" or "forward", for a divergence, see ``FDivLoss``.
    transition: T or an estimate of it, for a loss that needs one; None estimates it by the warm-up.
    hidden: the widths of the hidden layers.
    epochs: None for 60, or as many as 600 steps take.
    batch_size: None for a twentieth of the rows, from 32 to 256; all of them up to 64 rows.
    learning_rate, weight_decay: of Adam.
    warm_up: epochs of cross-entropy at the beginning; None for a third of ``epochs`` where the loss needs it.
    validation: the share of noisy labels, class by class, that is set aside to choose the epoch by the loss;
        None for 0.2, or nothing below 100 rows. With 0 the last epoch is kept.
    patience: training stops after so many epochs without a better one; None goes on to the end.
    random_state: an integer makes everything repeatable, on one machine bit by bit.
    device: None for the best there is.

    Attributes of a fitted classifier: ``classes_``; ``n_features_in_``, ``feature_names_in_``; ``module_``,
    the network; ``loss_``; ``transition_``, the T that was used, or None; ``history_``, a row per epoch;
    ``best_epoch_``; ``shift_``, what is added to the logits of ``module_`` so that "auto" gives no class up
    (0 for any other loss); ``chosen_``, the name of the loss; ``diagnosis_``, sentences about what was
    decided and what looks wrong.

    Probabilities of a robust loss are those of the *clean* label, as the network sees it; divergences make
    them surer than they should be.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> RobustClassifier("tv", random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    classes_: np.ndarray
    diagnosis_: list[str]
    transition_: Any

    def __init__(
        self,
        loss: Any = "auto",
        module: nn.Module | Callable[[int, int], nn.Module] | None = None,
        *,
        correction: str = "none",
        transition: Any = None,
        hidden: tuple[int, ...] = (128,),
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float = 1e-3,
        weight_decay: float = 0.0,
        warm_up: int | None = None,
        validation: float | None = None,
        patience: int | None = None,
        random_state: Any = None,
        device: Any = None,
    ) -> None:
        self.loss = loss
        self.module = module
        self.correction = correction
        self.transition = transition
        self.hidden = hidden
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.warm_up = warm_up
        self.validation = validation
        self.patience = patience
        self.random_state = random_state
        self.device = device

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on the rows of ``X`` with the noisy labels ``y``.

        X: numbers, one row per example; or a DataFrame, also with text columns.
        y: the labels, of any kind.
        sample_weight: how much each row counts, from 0 up.

        Where this fails or is stopped, the classifier is what it was before.
        """
        before = dict(vars(self))
        try:
            with TRAINING:
                return self._fit(X, y, sample_weight)
        except BaseException:
            self.__dict__ = before
            raise

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        numbers, labels, self.classes_, weight = self._prepared(X, y, sample_weight)
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        self.diagnosis_, self.transition_ = [], None
        options = self._options(numbers, labels, weight, seed)
        self._train(numbers, labels, weight, seed, **options)
        if isinstance(self.loss, str) and self.loss == "auto":
            self._answer_every_class(numbers, labels)
        self._say_what_looks_wrong(numbers, labels)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the most likely class of each row."""
        best = self.logits(X).argmax(1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, in the order of ``classes_``, for each row."""
        z = self.logits(X)
        p = np.exp(z - z.max(1, keepdims=True))
        return p / p.sum(1, keepdims=True)

    def logits(self, X: Any) -> np.ndarray:
        """Return the scores before softmax, for each row; unlike probabilities they do not saturate."""
        check_is_fitted(self)
        X = self._checked(_plain(X), reset=False)
        return self._forward(self._tensor(self._columns.transform(X))).numpy()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    # ------------------------------------------------------------------ input

    def _checked(self, X: Any, reset: bool) -> Any:
        """``X``, its columns counted and compared with those of training; values are looked at later."""
        if isinstance(X, pd.DataFrame):
            if not X.columns.is_unique:
                twice = X.columns[X.columns.duplicated()][0]
                raise ValueError(f"X has two columns called {twice!r}: rename one, or leave it out")
            validate_data(self, X, reset=reset, skip_check_array=True)
            if len(X) < 1 or X.shape[1] < 1:
                check_array(np.empty(X.shape))  # scikit-learn's sentence
            return X
        try:
            return validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite=False)
        except OverflowError:
            raise ValueError(f"X holds a number beyond {LARGEST:g}: rescale it, or leave it out") from None
        except ValueError as error:
            if "could not convert string" not in str(error):
                raise
            raise ValueError(
                f"X holds texts ({error}): pass a pandas DataFrame, whose text columns are spelled out"
            ) from None

    def _prepared(self, X: Any, y: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, Any]:
        """Rows of numbers, labels from 0, names of classes, and weights; rows of weight 0 are left out."""
        if y is None:
            raise ValueError(
                "RobustClassifier requires y to be passed, but the target y is None: pass the labels"
            )
        X, y, sample_weight = _plain(X), _plain(y), _plain(sample_weight)
        self._checked(X, reset=True)
        y = _labels(y)
        check_consistent_length(X, y)
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, y, dtype=np.float64, ensure_non_negative=True)
            weight = weight / (weight.max(initial=0) or 1)  # the sum of huge weights would be infinite
        used = y if weight is None else y[weight > 0]
        names = np.unique(used)
        if len(names) < 2:
            found = f"one class only, {str(names[0])!r}" if len(names) else "no label of positive weight"
            raise ValueError(f"y has {found}, but a classifier needs two: check the column of the labels")
        if len(names) > max(MOST_LABELS, len(used) / 2):
            raise ValueError(
                f"y has {len(names)} different labels in {len(used)} rows, such as {str(names[0])!r}: these"
                " name the rows and are no classes"
            )
        labels = np.searchsorted(names, used)
        if weight is not None:
            X, weight = take(X, weight > 0), weight[weight > 0]
        self._columns = Columns().fit(X, weight)
        return self._columns.transform(X), labels, names, weight

    # ------------------------------------------------------------------ training

    def _options(
        self, numbers: np.ndarray, labels: np.ndarray, weight: np.ndarray | None, seed: int
    ) -> dict[str, Any]:
        """Loss and correction, as given or as recommended, and with them ``chosen_`` and ``transition_``."""
        found: dict[str, Any]
        if isinstance(self.loss, str) and self.loss == "auto":
            advice = advise(numbers, labels, self.classes_, weight, seed)
            self.diagnosis_ += advice.reasons
            self.chosen_, found, evidence = (
                advice.name,
                {"correction": "none", **advice.options},
                advice.evidence,
            )
        else:
            method = self.loss if isinstance(self.loss, nn.Module) else METHODS.name_of(self.loss)
            if isinstance(method, str) and METHODS[method].two_views:
                raise ValueError(
                    f"loss {method!r} compares two views of a picture, which a row of a table has not: choose"
                    " another, such as 'js-pi'"
                )
            self.chosen_ = method if isinstance(method, str) else type(method).__name__
            correction = choose("correction", self.correction, CORRECTIONS)
            if correction != "none" and not isinstance(method, str):
                raise ValueError(
                    f"correction {correction!r} is for a divergence by its name, such as loss='kl': build the"
                    f" {self.chosen_} with its own"
                )
            found, evidence = {"loss": method, "correction": correction}, None
        if isinstance(found["loss"], str) and needs_transition(found["loss"], found["correction"]):
            if self.transition is not None:
                evidence = None
            elif evidence is None:
                evidence = look(numbers, labels, len(self.classes_), weight, seed, fewest=0)
            self.transition_ = self.transition if evidence is None else self._invertible(evidence.T)
        return found

    def _invertible(self, T: np.ndarray) -> np.ndarray:
        """An estimate of T, mixed with the identity where two of its rows are alike."""
        if not is_singular(T):
            return T
        self.diagnosis_.append("two rows of the estimated T are alike: it was mixed with the identity")
        return (T + np.eye(len(T))) / 2

    def _train(
        self,
        numbers: np.ndarray,
        labels: np.ndarray,
        weight: np.ndarray | None,
        seed: int,
        loss: Any,
        correction: str,
    ) -> None:
        """Build network and loss, and train them."""
        with _seeded(seed):
            K, n = len(self.classes_), len(labels)
            self.shift_ = np.zeros(K)
            prior = np.bincount(labels, weight, minlength=K)
            self._dtype = torch.float64 if n <= WHOLE and self.module is None else torch.float32
            self._device = usable(self.device, "device") if self.device is not None else pick_device()
            self.module_ = self._network(numbers.shape[1], K)
            train, held = _split(labels, self._share(n))
            data = _Data.of(self._tensor(numbers), labels, weight, self._device)
            loop = _Loop(self, data.part(train), data.part(held))
            warm_up = self._warm_up_epochs(loss, loop.epochs)
            self.loss_ = self._loss(loss, correction, prior / prior.sum(), len(train))
            if warm_up:
                loop.run(CrossEntropy(K), warm_up, "warm-up")
            stage = loss if isinstance(loss, str) else type(loss).__name__
            loop.run(self.loss_, max(loop.epochs - warm_up, 1), stage)
        self.history_, self.best_epoch_ = pd.DataFrame(loop.history), loop.best

    def _answer_every_class(self, numbers: np.ndarray, labels: np.ndarray) -> None:
        """Raise the logits of classes that are answered too rarely, and say so."""
        z = self._forward(self._tensor(numbers)).numpy()
        self.shift_ = raised(z, labels, FLOOR)
        for k in np.flatnonzero(self.shift_):
            self.diagnosis_.append(
                f"class {self.classes_[k]} was answered less than {FLOOR:g} times as often as it is a label:"
                f" its logit was raised by {self.shift_[k]:.2g}"
            )

    def _share(self, n: int) -> float:
        share = self.validation if self.validation is not None else SHARE * (n >= VALIDATED)
        if not _is_number(share) or not 0 <= share < 1:
            raise ValueError(f"validation is {share!r}, but must be a share from 0 up to below 1")
        return share

    def _warm_up_epochs(self, method: Any, epochs: int) -> int:
        if self.warm_up is not None:
            return whole("warm_up", self.warm_up, 0)
        warmed_up = isinstance(method, str) and METHODS[method].recipe in WARMED_UP
        return math.ceil(epochs / 3) if warmed_up else 0

    def _network(self, columns: int, K: int) -> nn.Module:
        """The network to train, on its device; a module of the user's is copied."""
        if self.module is None:
            widths = self._widths(columns, K)
            layers: list[nn.Module] = []
            for a, b in pairwise(widths):
                layers += [nn.Linear(a, b, dtype=self._dtype), nn.ReLU()]
            made: Any = nn.Sequential(*layers[:-1])  # the last layer gives logits
        elif isinstance(self.module, nn.Module):
            made = copy.deepcopy(self.module)
        elif callable(self.module):
            made = self.module(columns, K)
        else:
            raise ValueError(
                f"module is {self.module!r}, but must be an nn.Module, or a function of the numbers of"
                " columns and of classes that makes one"
            )
        if not isinstance(made, nn.Module):
            raise ValueError(f"module must make an nn.Module, but made {type(made).__name__}")
        if not any(p.requires_grad for p in made.parameters()):
            raise ValueError("module has no parameter to train: unfreeze one, or leave module out")
        made = made.to(self._device)
        try:
            found = made.eval()(torch.zeros(2, columns, dtype=self._dtype, device=self._device))
        except Exception as error:  # of whatever kind: the module is the user's
            raise ValueError(
                f"module cannot take rows of {columns} numbers ({_first_line(error)}): build it for that"
                " many, as the function module(columns, classes) can"
            ) from None
        if not isinstance(found, Tensor) or found.shape != (2, K):
            what = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
            raise ValueError(
                f"module gives {what} for 2 rows, but there are {K} classes: it must give (rows, {K}) logits"
            )
        return made

    def _widths(self, columns: int, K: int) -> list[int]:
        """The widths of all layers, from the columns to the classes."""
        if not isinstance(self.hidden, list | tuple | np.ndarray):
            raise ValueError(f"hidden is {self.hidden!r}, but must be the widths of layers, such as (128,)")
        widths = [columns, *(whole("hidden", width, 1) for width in self.hidden), K]
        weights = sum(a * b for a, b in pairwise(widths))
        if weights > MOST_WEIGHTS:
            raise ValueError(
                f"hidden is {self.hidden!r}, which makes a network of {weights:.1g} weights: at most"
                f" {MOST_WEIGHTS:.1g} are possible"
            )
        return widths

    def _loss(self, method: Any, correction: str, prior: np.ndarray, examples: int) -> Any:
        """The loss to minimise, new for this training."""
        if isinstance(method, str):
            given: Any = prior
            if METHODS[method].takes_correction and (lost := _might_be_lost(method, prior)):
                names = ", ".join(str(self.classes_[k]) for k in lost)
                self.diagnosis_.append(
                    f"labels are so unbalanced that {method} might give up class {names}: label_prior is"
                    " 'balanced'"
                )
                given = "balanced"
            T = None if self.transition_ is None else np.asarray(self.transition_)
            options = {"label_prior": given, "T": T, "correction": correction, "examples": examples}
            loss: Any = build_loss(method, len(prior), **options)
            if method == "plugin" and prior.max() > UNBALANCED * prior.min():
                loss.barrier = 0.0  # which would draw predictions to the shares of the noisy labels
        else:
            loss = copy.deepcopy(method)
            _try(copy.deepcopy(loss), len(prior), self._dtype)
        if isinstance(loss, NoisyLabelLoss):
            loss.check = False  # labels are classes, and the objective is looked at after each epoch
        return loss.to(self._device)

    def _tensor(self, numbers: np.ndarray) -> Tensor:
        return torch.as_tensor(numbers, dtype=self._dtype)

    def _forward(self, X: Tensor) -> Tensor:
        """The logits of all rows, in evaluation mode, as float64 on the CPU."""
        self.module_.eval()
        with torch.inference_mode():
            parts = [self.module_(part.to(self._device)).cpu() for part in X.split(8192)]
        return torch.cat(parts).double() + torch.as_tensor(self.shift_)

    # ------------------------------------------------------------------ what is said

    def _say_what_looks_wrong(self, numbers: np.ndarray, labels: np.ndarray) -> None:
        """Note classes with few labels, and the diagnosis of the loss, which is a warning as well."""
        counts = np.bincount(labels)
        small = [f"{self.classes_[k]} ({counts[k]})" for k in np.flatnonzero(counts < 5)]
        if small:
            self.diagnosis_.append(
                f"few labels: class {', '.join(small[:5])} has fewer than 5, too few to tell wrong from right"
            )
        loss = self.loss_ if isinstance(self.loss_, NoisyLabelLoss) else CrossEntropy(len(self.classes_))
        z = self._forward(self._tensor(numbers))
        for sentence in map(self._with_names, loss.diagnose(z, torch.as_tensor(labels))):
            self.diagnosis_.append(sentence)
            warnings.warn(sentence, Collapse, stacklevel=4)

    def _with_names(self, sentence: str) -> str:
        """The sentence, and the names of the classes in it where these are not their numbers."""
        if np.array_equal(self.classes_, np.arange(len(self.classes_))):
            return sentence
        said = re.findall(r"\b\d+\b(?! more)", sentence)
        numbers = sorted({int(k) for k in said} & set(range(len(self.classes_))))
        names = ", ".join(f"{k} is {str(self.classes_[k])!r}" for k in numbers)
        return f"{sentence} (class {names})"


# ---------------------------------------------------------------------- the loop


class _Data(NamedTuple):
    """Rows with labels, weights (or None) and their numbers, on the device."""

    X: Tensor
    y: Tensor
    w: Tensor | None

    @classmethod
    def of(cls, X: Tensor, labels: np.ndarray, weight: np.ndarray | None, device: torch.device) -> _Data:
        w = None if weight is None else torch.as_tensor(weight / weight.mean(), dtype=X.dtype, device=device)
        return cls(X.to(device), torch.as_tensor(labels, device=device), w)

    def part(self, index: np.ndarray) -> _Data:
        rows = torch.as_tensor(index, device=self.y.device)
        return _Data(self.X[rows], self.y[rows], None if self.w is None else self.w[rows])


class _Loop:
    """Epochs of a loss, one stage after another; each stage ends with the weights that it judged best."""

    def __init__(self, owner: RobustClassifier, train: _Data, held: _Data) -> None:
        self.model, self.train, self.held = owner.module_, train, held
        n = len(train.y)
        size = owner.batch_size
        size = (n if n <= WHOLE else min(max(n // 20, 32), 256)) if size is None else size
        self.batches = math.ceil(n / whole("batch_size", size, 1))
        epochs = max(EPOCHS, math.ceil(STEPS / self.batches)) if owner.epochs is None else owner.epochs
        self.epochs = whole("epochs", epochs, 1)
        self.patience = math.inf if owner.patience is None else whole("patience", owner.patience, 1)
        self.options: dict[str, Any] = {
            "lr": _number("learning_rate", owner.learning_rate, "above 0"),
            "weight_decay": _number("weight_decay", owner.weight_decay, "from 0 up"),
        }
        self.history: list[dict[str, Any]] = []
        self.best = 0

    def run(self, loss: Any, epochs: int, stage: str) -> None:
        """Minimise ``loss`` for ``epochs``, and leave the model as it was at the best of them."""
        device = self.train.X.device.type
        adam = torch.optim.Adam(self.model.parameters(), **self.options, fused=device in ("cpu", "cuda"))
        best, state = -math.inf, None
        for epoch in range(epochs):
            if isinstance(loss, NoisyLabelLoss):
                loss.set_epoch(epoch, epochs)
            objective = self._epoch(loss, adam)
            row: dict[str, Any] = {
                "epoch": len(self.history) + 1,
                "stage": stage,
                "train_objective": objective,
            }
            self.history.append(row | self._judged(loss))
            if not len(self.held.y):
                continue
            if self.history[-1]["validation_objective"] > best:
                best, self.best = self.history[-1]["validation_objective"], len(self.history)
                state = {k: v.detach().clone() for k, v in self.model.state_dict().items()}
            elif len(self.history) - self.best >= self.patience:
                break
        if state is None:
            self.best = len(self.history)
        else:
            self.model.load_state_dict(state)

    def _epoch(self, loss: Any, adam: torch.optim.Optimizer) -> float:
        """One pass over the training rows in a new order; the mean of the batches' objectives."""
        self.model.train()
        loss.train()
        X, y, w = self.train
        total = torch.zeros((), dtype=X.dtype, device=X.device)
        order = torch.randperm(len(y)).to(y.device) if self.batches > 1 else torch.arange(len(y)).to(y.device)
        for index in order.tensor_split(self.batches):
            more = _more(loss, index, w)
            if getattr(loss, "needs_peers", False):
                peers, others = (torch.randperm(len(y))[: len(index)].to(y.device) for _ in range(2))
                more |= {"peer_logits": self.model(X[peers]), "peer_labels": y[others]}
            adam.zero_grad(set_to_none=True)
            value = loss(self.model(X[index]), y[index], **more)
            if value.ndim:
                raise ValueError(
                    f"loss {type(loss).__name__} gives numbers of shape {tuple(value.shape)}, but must give"
                    " one: build it with reduction='mean'"
                )
            value.backward()
            adam.step()
            total += value.detach()
        mean = -total.item() / self.batches
        if not math.isfinite(mean):
            raise ValueError(
                f"the objective became {mean} in epoch {len(self.history) + 1}: lower the learning rate"
                f" ({self.options['lr']:g}), or choose another loss"
            )
        return mean

    def _judged(self, loss: Any) -> dict[str, float]:
        """Objective and accuracy on the noisy labels that were set aside."""
        if not len(self.held.y):
            return {}
        self.model.eval()
        loss.eval()
        with torch.no_grad():
            z = self.model(self.held.X)
            judged = loss.objective(z, self.held.y) if hasattr(loss, "objective") else -loss(z, self.held.y)
        right = (z.argmax(1) == self.held.y).double().mean()
        return {"validation_objective": judged.item(), "validation_accuracy": right.item()}


def _more(loss: Any, index: Tensor, w: Tensor | None) -> dict[str, Any]:
    """What ``loss`` takes besides logits and labels."""
    more: dict[str, Any] = {"index": index} if getattr(loss, "needs_index", False) else {}
    if w is not None:
        if not isinstance(loss, NoisyLabelLoss):
            raise ValueError(
                f"{type(loss).__name__} takes no sample_weight: leave it out, or use a loss of fdiv"
            )
        more["sample_weight"] = w[index]
    return more


# ---------------------------------------------------------------------- pieces


def _plain(x: Any) -> Any:
    """``x`` as scikit-learn takes it: a tensor as an array, and nothing that would lose a mask."""
    return as_array(x) if isinstance(x, Tensor | np.ma.MaskedArray) else x


def _try(loss: nn.Module, K: int, dtype: torch.dtype) -> None:
    """Refuse a loss of the user's that does not make one number of logits and labels."""
    if isinstance(loss, NoisyLabelLoss):
        return  # these say themselves what does not fit
    z = torch.zeros(K + 1, K, dtype=dtype, requires_grad=True)
    name = type(loss).__name__
    try:
        value = loss(z, torch.arange(K + 1) % K)
    except Exception as error:  # of whatever kind: the loss is the user's
        raise ValueError(
            f"loss {name} cannot take {K} logits a row and a vector of labels ({_first_line(error)}): pass"
            " one that can, such as nn.CrossEntropyLoss(), or a name such as 'tv'"
        ) from None
    if not isinstance(value, Tensor) or not value.requires_grad:
        raise ValueError(f"loss {name} gives {value!r}, but must give a tensor that has a gradient")


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def _labels(y: Any) -> np.ndarray:
    """``y`` as a vector of labels that compare with each other, none of them missing."""
    if isinstance(y, list | tuple):  # of which NumPy would make texts
        y = (
            np.array([*y, None], dtype=object)[:-1]
            if len({type(label) for label in y}) > 1
            else np.asarray(y)
        )
    y = y.to_numpy() if hasattr(y, "to_numpy") else y
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {shape}: of several annotators' votes pass"
            " fdiv.noise.dawid_skene(votes).labels"
        )
    y = column_or_1d(y, warn=True)
    missing = np.flatnonzero(pd.isna(y))
    if len(missing):
        raise ValueError(
            f"y has {len(missing)} missing labels (NaN or None), the first in row {missing[0]}: leave these"
            " rows out, as X[y.notna()] does"
        )
    if y.dtype == object:
        kinds = sorted({type(label).__name__ for label in y})
        if len(kinds) > 1:
            raise ValueError(
                f"y mixes labels of the types {', '.join(kinds)}: make them alike, as y.astype(str) does"
            )
        if isinstance(y[0], str):
            y = y.astype(str)
    check_classification_targets(y)
    return y


def raised(z: np.ndarray, labels: np.ndarray, floor: float) -> np.ndarray:
    """Return what to add to the logits ``z``, so that no class is answered too rarely.

    Each class is the largest logit of at least ``floor`` times as many rows as have its label, but for a row
    or two that several raised classes compete for. A class that is answered often enough gets 0.

    >>> z = np.array([[3.0, 0.0], [3.0, 1.0], [3.0, 2.0], [3.0, 0.5]])
    >>> shift = raised(z, np.array([0, 0, 1, 1]), 0.5)
    >>> (z + shift).argmax(1)
    array([0, 0, 1, 0])
    """
    K = z.shape[1]
    shift, fewest = np.zeros(K), np.ceil(floor * np.bincount(labels, minlength=K)).astype(int)
    for _ in range(100):  # as in an auction: what one class gains another loses, and bids again
        few = np.flatnonzero(np.bincount((z + shift).argmax(1), minlength=K) < fewest)
        for k in few:
            behind = np.delete(z + shift, k, axis=1).max(1) - (z[:, k] + shift[k])
            shift[k] += np.partition(behind, fewest[k] - 1)[fewest[k] - 1] + 1e-6
        if not len(few):
            return shift
    missing = [np.maximum(fewest - np.bincount((z + s).argmax(1), minlength=K), 0).sum() for s in (0, shift)]
    return shift if missing[1] < missing[0] else np.zeros(K)


def _might_be_lost(divergence: str, prior: np.ndarray) -> list[int]:
    """The classes so frequent that a divergence may give them up, if up to a quarter of labels are wrong.

    With a share e of wrong labels, an example of class y is answered as long as y is more frequent than the
    rarest class by less than (1 - 2e) times what clean labels allow, see ``peer_weight``.
    """
    safe = largest_safe_gap(divergence)
    return np.flatnonzero(2 * (prior - prior.min()) >= safe).tolist() if safe < 1 else []


def _split(labels: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Rows to train on and rows to set aside, ``share`` of every class, rounded down."""
    order = torch.randperm(len(labels)).numpy() if share else np.arange(len(labels))
    held = [order[labels[order] == k][: int(share * (labels == k).sum())] for k in np.unique(labels)]
    aside = np.sort(np.concatenate(held)).astype(np.int64)
    return np.setdiff1d(np.arange(len(labels)), aside), aside


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _number(name: str, value: Any, where: str) -> float:
    if not _is_number(value) or not 0 <= value < math.inf or (where == "above 0" and value == 0):
        raise ValueError(f"{name} is {value!r}, but must be a number {where}")
    return float(value)


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Torch's generators seeded inside, and as before afterwards."""
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        yield
