"""The paper's loss and its five baselines, all called ``loss(logits, noisy_labels)``.

    loss = FDivLoss.from_labels("tv", noisy_training_labels)
    loss(model(x), noisy_labels).backward()

``FDivLoss`` is Algorithm 1: minus E_P[g] - E_Q[f*(g)], where P is the joint distribution of input and noisy
label, and Q the product of its margins. The baselines are those of Section 5.

Conventions:

* A loss is a mean over the batch, to be minimised; ``objective`` is what is maximised, on a whole set.
* T_ij = P(Y~ = j | Y = i), and a label prior is that of the noisy labels. Give the prior, by ``from_labels``
  or ``label_prior``, and a loss has no state: batches can be accumulated or spread over processes as they
  like. Without it the labels that come by in training are counted, by each process for itself.
* Labels are class numbers, or soft: a distribution for each input. The loss is then the exact expectation
  over labels drawn from it. ``fdiv.votes_to_soft`` makes soft labels of several annotators' votes.
* Nothing of a loss is in the ``state_dict`` of the model that holds it. What it remembers (counts, the
  plug-in's running table) is read by ``memory()`` and given back by ``remember(...)``.
* Logits in half precision are computed in float32, inside autocast as well; float64 stays float64.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Self, TypedDict, Unpack, get_args

import numpy as np
import torch
from torch import Tensor, nn

from fdiv.arrays import as_array, class_count
from fdiv.arrays import transition as checked_transition
from fdiv.learning import checks
from fdiv.learning.by_hand import CLOSED, OF_RATIOS, difference, forward_difference
from fdiv.learning.checks import Constant
from fdiv.names import choose
from fdiv.noise.matrices import check_rate
from fdiv.theory.divergences import DIVERGENCES, Divergence, slopes
from fdiv.theory.divergences import divergence as look_up
from fdiv.theory.robustness import lost_classes

LOG_FLOOR = math.log(1e-7)  # Patrini et al. (2017) clip probabilities at 1e-7
DMI_FLOOR = math.log(1e-3)  # Xu et al. (2019) add 1e-3 to |det|
RATIOS = (1e-3, 1e4)  # where the plug-in and forward correction evaluate f'
STEEPEST = 1e4  # a slope beyond which functions go on as straight lines: half precision ends at 65504

Product = Literal["exact", "sampled", "shuffled"]
Variational = Literal["fixed", "plugin"]
Score = Literal["probability", "logit"]
Correction = Literal["exact", "paper", "forward"]
Reduction = Literal["mean", "sum", "none"]


class Options(TypedDict, total=False):
    """What every loss takes besides its own arguments, see ``NoisyLabelLoss``."""

    weight: Any
    ignore_index: int | None
    reduction: Reduction
    check: bool


class Batch(NamedTuple):
    """A mini-batch as the losses compute with it: a row per label, however the logits were shaped.

    z: logits, at least float32, of shape (n, K).
    y: labels, int64, of shape (n,); or soft ones, a distribution of shape (n, K) in the dtype of z.
    w: how much each row counts, or None for all alike.
    """

    z: Tensor
    y: Tensor
    w: Tensor | None

    @property
    def soft(self) -> bool:
        """Whether a label is a distribution."""
        return self.y.ndim > 1


class NoisyLabelLoss(nn.Module):
    """What the losses share: checked input, full precision, an objective to select by, and a diagnosis.

    num_classes: how many columns the logits have; None takes any number.
    weight: how much a label of each class counts, as in ``nn.CrossEntropyLoss``. It stands for a world in
        which labels are that much more frequent; a label prior is weighted along with it, and a T becomes
        that of this world, where an example of class i counts sum_j T[i, j] weight[j].
    ignore_index: a label that does not count; None, unlike there, refuses every label that is no class.
    reduction: "mean", weighted; "sum"; or "none", a number for each label.
    check: whether each call looks at the values of logits and labels, which waits for the device. A training
        loop that has checked its labels once may set it to False; shapes and dtypes are checked regardless.
        In a graph that is compiled or exported no values are looked at.
    needs_peers: whether ``forward`` must be given a second and a third mini-batch.
    rows_take_soft: whether ``_rows`` computes with distributions as labels by itself; else it is asked for
        every class in turn, which takes as many times as long.

    >>> class MeanAbsoluteError(NoisyLabelLoss):
    ...     def _rows(self, batch):
    ...         return 2 - 2 * batch.z.softmax(1).gather(1, batch.y[:, None])[:, 0]
    >>> MeanAbsoluteError(num_classes=2)(torch.zeros(3, 2), torch.tensor([0, 1, 1]))
    tensor(1.)
    """

    needs_peers: bool = False
    rows_take_soft: bool = False

    def __init__(
        self,
        num_classes: int | None = None,
        *,
        weight: Any = None,
        ignore_index: int | None = None,
        reduction: Reduction = "mean",
        check: bool = True,
    ) -> None:
        super().__init__()
        self.num_classes = None if num_classes is None else class_count(num_classes)
        self.check = check
        self._ignore_index = ignore_index
        self._reduction = choose("reduction", reduction, get_args(Reduction))
        self._class_weight = (
            None if weight is None else Constant(checks.checked_weight(weight, self.num_classes))
        )
        self._first_call = True

    def forward(
        self,
        logits: Tensor,
        labels: Tensor,
        peer_logits: Tensor | None = None,
        peer_labels: Tensor | None = None,
        *,
        sample_weight: Tensor | None = None,
    ) -> Tensor:
        """The loss of a mini-batch.

        logits: one row per input, one column per class; or (N, K, d1, ...) for labels of (N, d1, ...). For
            two classes one column is enough, the score of class 1 above class 0.
        labels: the noisy labels, integers from 0 to K - 1, or probabilities of the shape of the logits.
        peer_logits, peer_labels: inputs of a second and labels of a third mini-batch, where ``needs_peers``.
        sample_weight: how much each label counts, from 0 up, shaped as the labels; one number for a soft one.
        """
        batch, peers = self._batch(logits, labels), self._peers(peer_logits, peer_labels)
        if sample_weight is not None:
            batch = _weighted(batch, sample_weight, self._looks())
        if self._first_call and self._looks():
            self._first_call = False
            checks.warn_of_probabilities(batch.z)
        if torch.is_autocast_enabled(logits.device.type):
            with torch.autocast(logits.device.type, enabled=False):
                value = self._loss(batch, peers)
        else:
            value = self._loss(batch, peers)
        if self._reduction != "none":
            return value
        return value.reshape(labels.shape[:1] + labels.shape[2:] if batch.soft else labels.shape)

    def objective(self, logits: Tensor, labels: Tensor) -> Tensor:
        """What is maximised, on a whole (validation) set: nothing is sampled, and nothing remembered."""
        batch = self._batch(logits, labels)
        with torch.autocast(logits.device.type, enabled=False):
            return self._objective(batch)

    def set_epoch(self, epoch: int, epochs: int) -> None:
        """To be called when ``epoch`` of ``epochs``, counted from 0, begins; only a schedule listens."""

    def memory(self) -> dict[str, Tensor]:
        """Return the state that this loss has gathered in training, for a checkpoint; empty for most."""
        return {name: tensor.detach().clone() for name, tensor in self.named_buffers()}

    def remember(self, memory: Mapping[str, Tensor]) -> None:
        """Take over the ``memory()`` of an equal loss, so that training goes on bit for bit."""
        own = dict(self.named_buffers())
        if set(own) != set(memory):
            raise ValueError(
                f"this is the memory of another loss: it holds {sorted(memory) or 'nothing'}, but"
                f" {type(self).__name__} remembers {sorted(own) or 'nothing'} with these options"
            )
        for name, tensor in memory.items():
            own[name].copy_(tensor)

    def diagnose(self, logits: Tensor, labels: Tensor) -> list[str]:
        """What looks wrong with the predictions of a set, in sentences, judged by its noisy labels alone.

        A class seems to have collapsed if it is predicted less than a tenth as often as it is a label. Where
        none has, one seems crowded if its labels are rarer than those of other classes on the mean and it is
        predicted more than twice as often, by three standard errors: noise that strikes all alike makes rare
        labels more frequent. The classes seem permuted, which no D_f can tell, if P/Q in a predicted row is
        larger for another label than for its own, by three standard errors; uniform noise and flips within
        pairs with e1 + e2 < 1 do not do that to correct predictions.
        """
        batch = self._batch(logits.detach(), labels)
        counts = slice(None) if batch.w is None else batch.w > 0
        z, y = batch.z[counts], batch.y[counts]
        K = z.shape[1]
        labels = y.cpu().double() if batch.soft else nn.functional.one_hot(y.cpu(), K).double()
        table = torch.zeros(K, K, dtype=torch.float64).index_add_(0, z.argmax(1).cpu(), labels)
        collapsed = (table.sum(1) < table.sum(0) / 10).tolist()
        unwanted = self._losable(table.sum(0) / table.sum())
        given_up = [k for k in range(K) if collapsed[k] and k in unwanted]
        lost = [k for k in range(K) if collapsed[k] and k not in unwanted]
        moved = [f"{k} with label {j}" for k, j in enumerate(_partners(table)) if j != k and not collapsed[k]]
        rarely = "is predicted less than a tenth as often as it is a label"
        found = []
        if given_up:
            found.append(
                f"collapsed: class {_listing(given_up)} {rarely}, because this objective gives up classes as"
                f" frequent as that: {self._cure(table.sum(0) / table.sum())}"
            )
        if lost and given_up:
            found.append(f"collapsed: class {_listing(lost)} {rarely}, perhaps for the same reason")
        elif lost:
            found.append(
                f"collapsed: class {_listing(lost)} {rarely};"
                " warm up longer with cross-entropy, or lower the learning rate"
            )
        predicted, given = table.sum(1), table.sum(0)
        many = (given < given.mean()) & (predicted > 2 * given + 3 * given.sqrt())
        if not found and many.any():
            crowded = _listing(many.nonzero().ravel().tolist())
            found.append(
                f"crowded: class {crowded} is predicted more than twice as often as it is a label, though its"
                " labels are rare and wrong ones among them likely; compare with cross-entropy, or with gce"
            )
        if moved:
            found.append(
                f"permuted: predictions go more with other labels than their own (class {_listing(moved)});"
                " start from a model warmed up with cross-entropy, which names the classes"
            )
        return found

    def extra_repr(self) -> str:
        """Return the options, with a checksum for a matrix, so that losses that print alike are alike."""
        shown = {
            name: value.name if isinstance(value, Divergence) else value
            for name, value in vars(self).items()
            if isinstance(value, Constant)
            or (isinstance(value, int | float | str | Divergence) and name[0] != "_")
        }
        if self._ignore_index is not None:
            shown["ignore_index"] = self._ignore_index
        if self._reduction != "mean":
            shown["reduction"] = self._reduction
        return ", ".join(f"{k.strip('_')}={v!r}" for k, v in shown.items() if not isinstance(v, bool))

    # A loss of one's own fills in ``_rows``, or ``_loss`` and ``_objective`` if it is no mean of rows.

    def _rows(self, batch: Batch) -> Tensor:
        raise NotImplementedError

    def _loss(self, batch: Batch, peers: Batch | None) -> Tensor:
        return self._reduce(self._all_rows(batch), batch.w)

    def _objective(self, batch: Batch) -> Tensor:
        return -_mean(self._all_rows(batch), batch.w)

    def _all_rows(self, batch: Batch) -> Tensor:
        return self._rows(batch) if self.rows_take_soft else _each_label(self._rows, batch)

    def _reduce(self, rows: Tensor, w: Tensor | None) -> Tensor:
        if self._reduction == "mean":
            return _mean(rows, w)
        rows = rows if w is None else rows * w
        return rows.sum() if self._reduction == "sum" else rows

    def _weighted_T(self, T: np.ndarray) -> np.ndarray:
        """T where labels are as frequent as their weights say: P(Y~=j|Y=i) grows with the weight of j."""
        if self._class_weight is None:
            return T
        weight = self._class_weight.values.numpy()
        if not weight.all():
            raise ValueError(
                f"weight is 0 for class {weight.argmin()}, but with T every label must count: leave T or"
                " weight out"
            )
        return T * weight / (T @ weight)[:, None]

    def _only_mean(self, what: str, why: str) -> None:
        if self._reduction != "mean":
            raise ValueError(f"{what} has no reduction={self._reduction!r}: {why}")

    def _losable(self, prior: Any) -> list[int]:
        """The classes that the objective gives up where labels have this prior."""
        return []

    def _cure(self, prior: Any) -> str:
        return ""

    def _looks(self) -> bool:
        """Whether values may be looked at, which a graph being traced cannot."""
        return self.check and not torch.compiler.is_compiling()

    def _learns(self) -> bool:
        """Whether a call may change what is remembered: in training mode, where gradients are wanted."""
        return self.training and torch.is_grad_enabled()

    def _batch(self, logits: Tensor, labels: Tensor, prefix: str = "") -> Batch:
        """Logits of at least float32 and labels of int64, or an error that says what to give instead."""
        if self.num_classes == 2 and vars(self).get("score") != "logit":  # which needs a score per class
            logits, labels = _two_columns(logits, labels)
        checks.check_logits(logits, f"{prefix}logits", self.num_classes)
        if checks.labels_are_floats(labels) and labels.ndim > 1:
            return self._soft_batch(logits, labels, prefix)
        checks.check_labels(labels, f"{prefix}labels", (logits.shape[0], *logits.shape[2:]))
        if logits.ndim > 2:
            logits, labels = logits.movedim(1, -1).flatten(0, -2), labels.flatten()
        z, y = logits if logits.dtype == torch.float64 else logits.float(), labels.long()
        if self._looks():
            checks.check_values(z, y, prefix, self._ignore_index)
        w = None
        if self._ignore_index is not None:
            counts = y != self._ignore_index
            y, w = torch.where(counts, y, 0), counts.to(z.dtype)
        if self._class_weight is not None:
            own = self._class_weight.like(z)[y]
            w = own if w is None else own * w
        return Batch(z, y, w)

    def _soft_batch(self, logits: Tensor, labels: Tensor, prefix: str) -> Batch:
        """The same with a distribution as each label; a weight makes its classes that much more frequent."""
        if self._ignore_index is not None:
            raise ValueError(
                f"ignore_index is the number of a class, which soft {prefix}labels have not: leave inputs out"
                " that do not count, and ignore_index too"
            )
        checks.check_soft_labels(labels, f"{prefix}labels", tuple(logits.shape))
        if logits.ndim > 2:
            logits, labels = (x.movedim(1, -1).flatten(0, -2) for x in (logits, labels))
        z = logits if logits.dtype == torch.float64 else logits.float()
        y, w = labels.to(z.dtype), None
        if self._looks():
            checks.check_values(z, y, prefix, None)
        if self._class_weight is not None:
            y = y * self._class_weight.like(z)
            w = y.sum(1)
            y = y / w[:, None].clamp(min=1e-30)
        return Batch(z, y, w)

    def _peers(self, peer_logits: Tensor | None, peer_labels: Tensor | None) -> Batch | None:
        if not self.needs_peers:
            if peer_logits is not None or peer_labels is not None:
                raise ValueError("peer_logits and peer_labels are for product='sampled' only: leave them out")
            return None
        if peer_logits is None or peer_labels is None:
            raise ValueError(
                "product='sampled' needs peer_logits of a second and peer_labels of a third mini-batch:"
                " pass both, or use product='exact', which needs neither"
            )
        return self._batch(peer_logits, peer_labels, "peer_")


class _ProductLoss(NoisyLabelLoss):
    """A loss with an expectation under Q, where input and label are independent: -E_P[joint] + E_Q[dual].

    product: "exact" sums over the classes, weighted by their prior, without a second forward pass; "sampled"
        is Algorithm 1, inputs of a second and labels of a third mini-batch; "shuffled" gives every input the
        label of another one of its batch. Given P(Y~) they agree in expectation, and "exact" varies least.
    label_prior: P(Y~); "balanced" for labels of Q that are all equally frequent; or None to count the labels
        that come by in training mode while gradients are on.
    """

    num_classes: int
    label_counts: Any  # a buffer, or None with a prior that is given
    _next_look: float

    def __init__(
        self, num_classes: int, product: Product, label_prior: Any, options: Options, T: Any = None
    ) -> None:
        super().__init__(class_count(num_classes), **options)
        self.product = choose("product term", product, get_args(Product))
        self.needs_peers = self.product == "sampled"
        if self.needs_peers and self._reduction == "none":
            raise ValueError("product='sampled' has no reduction='none': its two means are of other inputs")
        if product != "exact" and self._class_weight is not None:
            raise ValueError(
                f"product={product!r} takes no weight, as the labels that it draws and their inputs would"
                " need it too: use product='exact'"
            )
        if product == "shuffled" and self._ignore_index is not None:
            raise ValueError(
                "product='shuffled' takes no ignore_index, as it would hand ignored labels to other inputs:"
                " use product='exact', or leave these inputs out"
            )
        if isinstance(label_prior, str) and label_prior == "balanced" and product != "exact":
            raise ValueError(
                f"label_prior='balanced' works only with product='exact', not {product!r}, which draws labels"
            )
        given = label_prior is not None
        self._given_prior = None
        if given:
            prior = checks.distribution(label_prior, self.num_classes)
            if isinstance(label_prior, str):
                # it is the clean labels that are balanced
                prior = prior if T is None else prior @ self._weighted_T(T)
            elif self._class_weight is not None:
                prior = checks.distribution(
                    prior * (w := self._class_weight.values.numpy()) / (prior @ w), len(prior)
                )
            self._given_prior = Constant(prior)
        counts = None if given else torch.zeros(self.num_classes, dtype=torch.int64)
        self.register_buffer("label_counts", counts, persistent=False)
        self._seen, self._next_look = 0, 64

    def _score(self, z: Tensor) -> Tensor:
        raise NotImplementedError

    def _joint(self, v: Tensor, y: Tensor) -> Tensor:
        """Return for each row the term that is averaged over the joint distribution P."""
        raise NotImplementedError

    def _dual(self, v: Tensor) -> Tensor:
        """Return for each entry the term that is averaged over the product distribution Q."""
        raise NotImplementedError

    def _loss(self, batch: Batch, peers: Batch | None) -> Tensor:
        z, y, w = batch
        self._count(batch)
        v = self._score(z)
        if peers is not None:
            product = self._reduce(_expected(self._dual, self._score(peers.z), peers.y), peers.w)
            return product - self._reduce(self._joint(v, y), w)
        if self.product == "exact":
            return self._reduce(self._exact_rows(v, batch), w)
        product = _expected(self._dual, v, y[_derangement(y)])
        return self._reduce(product - self._joint(v, y), w)

    def _exact_rows(self, v: Tensor, batch: Batch) -> Tensor:
        """E_Q[dual] - joint for each row, with every label under Q."""
        return self._dual(v) @ self._class_weights(batch) - self._joint(v, batch.y)

    def _objective(self, batch: Batch) -> Tensor:
        v = self._score(batch.z)
        return _mean(self._joint(v, batch.y) - self._dual(v) @ self._class_weights(batch), batch.w)

    def _class_weights(self, batch: Batch) -> Tensor:
        return self._prior(batch)

    def _prior(self, batch: Batch) -> Tensor:
        """P(Y~) as given, as counted, or that of the batch as long as nothing was counted."""
        if self._given_prior is not None:
            return self._given_prior.like(batch.z)
        seen = _on(self.label_counts, batch.y)
        counts = torch.where(seen.sum() > 0, seen, self._counts(batch)).to(batch.z.dtype)
        if self._class_weight is not None:
            counts = counts * self._class_weight.like(batch.z)
        return counts / counts.sum().clamp(min=1e-30)

    def _counts(self, batch: Batch) -> Tensor:
        if batch.soft:
            raise ValueError("soft labels are not counted: give label_prior, by from_labels(...) for example")
        ones = torch.ones_like(batch.y) if batch.w is None else (batch.w > 0).long()
        return torch.zeros_like(_on(self.label_counts, batch.y)).scatter_add(0, batch.y, ones)

    def _count(self, batch: Batch) -> None:
        if self.label_counts is None or not self._learns():
            return
        self.label_counts = _on(self.label_counts, batch.y)
        self.label_counts += self._counts(batch)
        if not self._looks():
            return
        self._seen += len(batch.y)
        if self._seen >= self._next_look:  # at 64, 128, 256, ... labels
            self._next_look = 2 * self._seen
            counts = self.label_counts.double().cpu()
            prior = (counts + 1) / (counts + 1).sum()  # one more of each, as what was not seen may be there
            if self._warn_of_imbalance(prior, 3 * (prior * (1 - prior) / (counts + 1).sum()).sqrt()):
                self._next_look = math.inf

    def _warn_of_imbalance(self, prior: Any, slack: Any = 0.0) -> bool:
        """Say once which classes the objective gives up, if any."""
        return False


class FDivLoss(_ProductLoss):
    """Minus the variational difference E_P[g] - E_Q[f*(g)] of noisy samples (Algorithm 1).

    divergence: a name in ``fdiv.DIVERGENCES``, or a ``Divergence``.
    num_classes: K.
    product: how E_Q is computed: "exact", "sampled" (Algorithm 1 to the letter) or "shuffled".
    variational: "fixed" is g = g_f(v) of the full table, always increasing. "plugin" is the paper's
        "progressively updated" g in closed form: f'(J/Q), the best g for the running table
        J[k, y] = E[h_x[k] 1(Y~=y)] and the product Q of its margins, with the gradient of D_f(J||Q).
        As no D_f tells the classes apart, warm up with cross-entropy, and ask ``diagnose``. It needs a D_f
        that is finite and strictly convex (not TV, reverse KL, Neyman, Jeffrey), and batches large enough to
        fill a table of K x K. f' is taken of ratios clamped to [1e-3, 1e4]. ``objective`` is D_f of the set's
        own table.
    score: the v of the fixed g. "probability", as in the authors' code, is bounded, which hinders memorising.
        "logit" leaves g free, and infinite data then teach f'(P(Y~=y|x) / P(Y~=y)): the class of largest
        ratio, which is right under sparse noise with e1 + e2 < 1 too. There TV only learns which ratios
        exceed 1, and Pearson does best. A D_f with f(0) = inf has no maximum there and is refused. Where g
        or f*(g) is steeper than 1e4 it goes on as a straight line.
    label_prior: P(Y~); None counts the labels seen in training, or is the margin of J for the plug-in. Where
        classes are so unbalanced that the fixed g gives one up (``fdiv.theory.robustness``), a warning says
        so. "balanced" takes the labels of Q (with T: the clean ones) as equally frequent: then all classes
        cost the same, and for every divergence the class of the largest score is that of the largest
        P(Y~=y|x), as with cross-entropy. Like the mean absolute error it may still miss a rare class from a
        cold start: warm up with cross-entropy, or give ``weight`` to let rare classes count more.
    transition: T or an estimate of it, to optimise the clean objective; needs ``product="exact"`` and the
        fixed g.
    correction: "exact" replaces g by T^-1 g, that is g(x, y~) by sum_i (T^-1)[y~, i] g(x, i), and weighs
        f*(g) by the clean prior T^-T P(Y~), or the distribution nearest to it if that is none. Given P(Y~),
        its expectation is that of clean labels, for any invertible T. "paper" subtracts the printed bias
        sum_j e_j Delta^j: Corollary 1 for uniform off-diagonal T; Theorem 9, wrong for K > 2, for flips
        within pairs (a class without a partner is fine). "forward" leaves the objective noisy and puts T into
        g = f'((h_x T)[y~] / P(Y~=y~)), the optimal g of a model whose h_x is the clean posterior: so that is
        what the best h_x is, and no T^-1 magnifies the noise of a batch. For KL it is forward correction up
        to a constant; TV has a step for f' and cannot be trained so. Below a ratio of 1e-3 (and above 1e4, or
        where it is too steep) f' goes on as a straight line in the logarithm of the ratio, and f* goes with
        it, so that the clean posterior stays the best: then a prediction which T rules out for its label has
        a gradient however sure it is. Where T lets the label be a flip of a sure prediction there is next to
        none, as in any forward correction: do not start from sure predictions that are wrong.
    momentum: of the plug-in's running J, into which the batch is mixed before g is computed.
    barrier: for the plug-in, the weight of sum_k P(Y~=k) log P(h=k), with P(h=k) the running share of class k
        among the predictions. It is the largest where predictions are as frequent as labels, and falls
        without limit as a class dies out, which D_f alone lets happen; ``objective`` leaves it out.
    options: ``weight``, ``ignore_index``, ``reduction`` and ``check``, see ``NoisyLabelLoss``. The plug-in is
        a function of the whole batch, and has no reduction but "mean".

    >>> loss = FDivLoss("tv", num_classes=2, label_prior=[0.5, 0.5])
    >>> logits, labels = torch.tensor([[2.0, 0.0], [0.0, 2.0]]), torch.tensor([0, 1])
    >>> round(loss(logits, labels).item(), 4)
    -0.147
    """

    joint: Tensor

    def __init__(
        self,
        divergence: str | Divergence,
        num_classes: int,
        *,
        product: Product = "exact",
        variational: Variational = "fixed",
        score: Score = "probability",
        label_prior: Any = None,
        transition: Any = None,
        correction: Correction = "exact",
        momentum: float = 0.9,
        barrier: float = 0.0,
        **options: Unpack[Options],
    ) -> None:
        T = None if transition is None else checked_transition(transition, class_count(num_classes))
        super().__init__(num_classes, product, label_prior, options, T)
        self.divergence = look_up(divergence)
        self.variational = choose("variational form", variational, get_args(Variational))
        self.score = choose("score", score, get_args(Score))
        self.correction = choose("correction", correction, get_args(Correction))
        self.momentum = check_rate("momentum", momentum, below=1)
        self.barrier = checks.between("barrier", barrier, 0, math.inf)
        if barrier:
            self._only("barrier", variational="plugin")
        self._weights: Constant | None = None
        self._T: Any = None  # this, its logarithm and the ends are there where they are needed
        self._log_T: Any = None
        self._ends: Any = None
        if self.score == "logit":
            self._take_logits()
        if T is not None:
            self._only("transition", product="exact", variational="fixed")
            weighted = self._weighted_T(T)
            if self.correction == "paper" and not np.allclose(weighted, T):
                raise ValueError(
                    "correction='paper' is printed for a T that weights of classes would change: use"
                    " correction='exact', or leave weight out"
                )
            self._take(weighted)
        if self.variational == "plugin":
            self._take_plugin(label_prior)
        if self._given_prior is not None and not isinstance(label_prior, str):
            self._warn_of_imbalance(self._given_prior.values.numpy())

    @classmethod
    def from_labels(
        cls, divergence: str | Divergence, labels: Any, num_classes: int | None = None, **options: Any
    ) -> Self:
        """Return the loss whose label prior is that of the noisy training labels, which leaves it stateless.

        labels: those of the whole training set.
        num_classes: K; by default one more than the largest label.
        options: those of ``FDivLoss``.

        >>> FDivLoss.from_labels("tv", [0, 1, 1, 2]).num_classes
        3
        """
        prior = checks.prior_of_labels(labels, num_classes, options.get("ignore_index"))
        return cls(divergence, len(prior), label_prior=prior, **options)

    def _take_logits(self) -> None:
        if not works_on_logits(self.divergence):
            raise ValueError(
                f"score='logit' cannot be used with {self.divergence.name!r}: its f(0) is infinite, so that"
                " the objective grows without limit where a sample does not show a label; choose"
                f" {_either(name for name, d in DIVERGENCES.items() if works_on_logits(d))},"
                " or score='probability'"
            )
        d = self.divergence
        low, high = (_steep_from([d.activation, d.conjugate_of_activation], end) for end in (-1e5, 1e5))
        if low > -1e4 or high < 1e4:
            self._ends = [_Ends.of(f, low, high) for f in (d.activation, d.conjugate_of_activation)]

    def _take_plugin(self, label_prior: Any) -> None:
        self._only("variational='plugin'", product="exact", score="probability")
        self._only_mean("variational='plugin'", "D_f of the whole batch is no sum over its samples")
        if not works_plugged_in(self.divergence):
            flat = not trains_forward(self.divergence)
            why = "f' is a step, so that merging classes costs nothing" if flat else "D_f is infinite as soon"
            why += "" if flat else " as the table has an empty cell, whatever is predicted"
            raise ValueError(
                f"variational='plugin' cannot be used with {self.divergence.name!r}: its {why}; choose"
                f" {_either(name for name, d in DIVERGENCES.items() if works_plugged_in(d))},"
                " or variational='fixed'"
            )
        if isinstance(label_prior, str):
            raise ValueError(
                "label_prior='balanced' is for the fixed g: the plug-in compares its table with the product"
                " of the table's margins and gives up no class for being frequent; leave label_prior out"
            )
        self.label_counts = None
        self.register_buffer("joint", torch.zeros(self.num_classes, self.num_classes), persistent=False)

    def _take(self, T: np.ndarray) -> None:
        """What the correction needs of T: the weights of g, or T itself."""
        inverse_T = checks.inverse(T)  # the others need none, but a T that has one
        if self.correction != "forward":
            exact = self.correction == "exact"
            self._weights = Constant(inverse_T if exact else _printed_correction(T))
            return
        self._only("correction='forward'", score="probability")
        d = self.divergence
        if not trains_forward(d):
            raise ValueError(
                f"correction='forward' trains through f', which for {d.name!r} is a step and"
                " has no slope: choose another divergence, or correction='exact'"
            )
        with np.errstate(divide="ignore"):  # no column of an invertible T is 0, so that log 0 does no harm
            self._T, self._log_T = Constant(T), Constant(np.log(T.T))
        low, high = (_steep_from([self._slope_of_log], math.log(ratio)) for ratio in RATIOS)
        self._ends = [
            _Ends.of(self._slope_of_log, low, high),
            _Ends.of(self._price, math.exp(low), math.exp(high)),
        ]

    def _slope_of_log(self, log_ratio: Tensor) -> Tensor:
        """f' of a ratio given by its logarithm."""
        return self.divergence.slope(log_ratio.exp())

    def _price(self, ratio: Tensor) -> Tensor:
        """f*(f'(r)) = r f'(r) - f(r), whose slope in r is that of f' in log r."""
        return ratio * self.divergence.slope(ratio) - self.divergence.generator(ratio)

    def _only(self, what: str, **options: str) -> None:
        for name, needed in options.items():
            if getattr(self, name) != needed:
                raise ValueError(f"{what} works only with {name}={needed!r}, not {getattr(self, name)!r}")

    def _loss(self, batch: Batch, peers: Batch | None) -> Tensor:
        if self.variational == "plugin":
            return -self._plugin_difference(batch)
        if self._T is not None:
            self._count(batch)
            return -self._reduce(_each_label(self._forward_rows, batch), batch.w)
        return super()._loss(batch, peers)

    def _objective(self, batch: Batch) -> Tensor:
        if self.variational == "plugin":
            P = (
                _soft_joint(batch.z.softmax(1), batch).cpu().double()
            )  # small, and not every device has float64
            P = P / P.sum()
            return self.divergence(P, P.sum(1, keepdim=True) * P.sum(0)).to(batch.z)
        if self._T is not None:
            return _mean(_each_label(self._forward_rows, batch), batch.w)
        return super()._objective(batch)

    def _score(self, z: Tensor) -> Tensor:
        return z.softmax(1) if self.score == "probability" else z

    def _activation(self, v: Tensor) -> Tensor:
        g = self.divergence.activation
        return g(v) if self._ends is None else self._ends[0].continued(g, v)

    def _dual(self, v: Tensor) -> Tensor:
        dual = self.divergence.conjugate_of_activation
        return dual(v) if self._ends is None else self._ends[1].continued(dual, v)

    def _joint(self, v: Tensor, y: Tensor) -> Tensor:
        """g of the label, with T its correction."""
        if self._weights is None:
            return _expected(self._activation, v, y)
        return (_rows_of(self._weights.like(v), y) * self._activation(v)).sum(1)

    def _exact_rows(self, v: Tensor, batch: Batch) -> Tensor:
        if self.score != "probability" or self.divergence not in CLOSED or batch.y.requires_grad:
            return super()._exact_rows(v, batch)
        y = batch.y if self._weights is None else _rows_of(self._weights.like(v), batch.y)
        return difference(self.divergence, v, y, self._class_weights(batch))

    def _class_weights(self, batch: Batch) -> Tensor:
        """The weights of f*(g): the prior, with T its correction."""
        prior = self._prior(batch)
        if self._weights is None:
            return prior
        weights = prior @ self._weights.like(batch.z)
        return _nearest_distribution(weights) if self.correction == "exact" else weights

    def _forward_rows(self, batch: Batch) -> Tensor:
        """g - E_Q[f*(g)] on noisy labels for each row, with the g that is best if h is the clean posterior.

        The ratio of the row's own label is computed from logarithms alone, so that it never rounds to 0.
        """
        z, y, _ = batch
        prior = self._prior(batch).clamp(min=1e-12)
        T, log_T, (of_log, of_ratio) = self._T.like(z), self._log_T.like(z), self._ends
        log_h, d = z.log_softmax(1), self.divergence
        if d in OF_RATIOS:
            return -forward_difference(d, log_h, y, T, log_T, prior, of_log.low, of_log.high)
        own = (log_h + log_T.index_select(0, y)).logsumexp(1) - prior.log()[y]
        every = log_h.exp() @ (T / prior)
        return of_log.continued(self._slope_of_log, own) - of_ratio.continued(self._price, every) @ prior

    def _plugin_difference(self, batch: Batch) -> Tensor:
        """E_P[g*] - E_Q[f*(g*)] of the batch, where g* comes from the running table and is a constant."""
        h = batch.z.softmax(1)
        P = _soft_joint(h, batch)
        self._warn_of_few(len(h))
        J = self._running_joint(P.detach())
        prior = J.sum(0) if self._given_prior is None else self._given_prior.like(h)
        Q = J.sum(1, keepdim=True) * prior
        g = self.divergence.derivative(torch.where(Q > 0, J / Q, 1).clamp(*RATIOS))
        share = P.sum(1)
        difference = (P * g - share[:, None] * prior * self.divergence.conjugate(g)).sum()
        if self.barrier:  # the gradient of sum_k prior_k log of the running share
            difference = difference + self.barrier * (prior * share / J.sum(1).clamp(min=1e-6)).sum()
        return difference

    def _running_joint(self, P: Tensor) -> Tensor:
        """The running table with ``P`` mixed in, remembered in training mode only.

        The buffer starts at 0 and sums to 1 - momentum^t after t batches, so dividing by its sum undoes that.
        """
        running = _on(self.joint, P)
        J = self.momentum * running.to(P.dtype) + (1 - self.momentum) * P
        if self._learns():
            if running is not self.joint:
                self.joint = running
            self.joint.copy_(J)
        return J / J.sum().clamp(min=1e-30)

    def _warn_of_few(self, batch_size: int) -> None:
        """Say once if the running table has more cells than samples behind it.

        Its samples are those of (1 + m) / (1 - m) batches. Predictions that do not depend on the labels have
        D_f = 0, but on n samples Pearson's comes out as (K - 1)^2 / n.
        """
        if torch.compiler.is_compiling() or not self._learns() or self._seen:
            return
        self._seen, cells, m = batch_size, self.num_classes**2, self.momentum
        samples = batch_size * (1 + m) / (1 - m)
        if samples < cells:
            enough = (cells - batch_size) / (cells + batch_size)
            warnings.warn(
                f"the plug-in's table of {self.num_classes} x {self.num_classes} cells rests on about"
                f" {samples:.0f} samples (batches of {batch_size}, momentum {m:g}), so that chance looks like"
                " dependence: use larger batches, or a momentum of at least"
                f" {math.ceil(1e3 * enough) / 1e3:g}",
                RuntimeWarning,
                stacklevel=6,
            )

    def _losable(self, prior: Any, slack: Any = 0.0) -> list[int]:
        """The classes that the fixed g of probabilities gives up, see ``fdiv.theory.robustness``."""
        if self.variational == "plugin" or self.score == "logit" or self._T is not None:
            return []
        prior = torch.as_tensor(prior, dtype=torch.float64)
        target = self._target(prior)
        slack = torch.as_tensor(slack, dtype=torch.float64).expand(len(prior))
        if self._given_prior is None and self._class_weight is not None:  # as errors of the odds p / (1 - p)
            weighted = self._weighted_prior(prior)
            slack = slack * weighted * (1 - weighted) / (prior * (1 - prior)).clamp(min=1e-12)
        if self._weights is not None:
            slack = slack @ self._weights.values.abs()
        return lost_classes(self.divergence, target, slack=slack)

    def _target(self, prior: Any) -> np.ndarray:
        """The prior that the objective is about, from shares of labels: weighted, with T the clean one."""
        if self._given_prior is not None:
            prior = self._given_prior.values
        else:
            prior = self._weighted_prior(torch.as_tensor(prior, dtype=torch.float64))
        if self._weights is None:
            return prior.numpy()
        corrected = prior @ self._weights.values
        if self.correction == "paper":  # for uniform noise a multiple of the clean objective
            corrected = corrected / corrected.sum()
        return _nearest_distribution(corrected).numpy()

    def _weighted_prior(self, prior: Tensor) -> Tensor:
        """Shares of labels in the world where each class is as frequent as its weight says."""
        if self._class_weight is None:
            return prior
        weighted = prior * self._class_weight.values
        return weighted / weighted.sum().clamp(min=1e-30)

    def _cure(self, prior: Any) -> str:
        target = self._target(prior)
        fit = [name for name, d in DIVERGENCES.items() if not lost_classes(d, target)]
        return f"use {_either(fit)}, or label_prior='balanced' after a warm-up with cross-entropy"

    def _warn_of_imbalance(self, prior: Any, slack: Any = 0.0) -> bool:
        lost = self._losable(prior, slack)
        if lost:
            shares = self._target(prior)
            classes = _listing([f"{k} (share {shares[k]:.2f})" for k in lost])
            warnings.warn(
                f"{self.divergence.name} cannot predict class {classes}: where labels are so unbalanced its"
                f" objective prefers a rare class for every input; {self._cure(prior)}",
                UserWarning,
                stacklevel=3,
            )
        return bool(lost)

    def __getstate__(self) -> dict[str, Any]:
        """A registered divergence is pickled by its name, as its functions have none."""
        d = self.divergence
        registered = d.name in DIVERGENCES and look_up(d.name) is d
        return {**self.__dict__, "divergence": d.name if registered else d}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.divergence = look_up(self.divergence)


def trains_forward(divergence: Divergence) -> bool:
    """Return whether f' has a slope, along which ``correction="forward"`` trains; TV's is a step.

    >>> trains_forward(look_up("kl")), trains_forward(look_up("tv"))
    (True, False)
    """
    low, high = divergence.derivative(torch.tensor([2.0, 3.0])).tolist()
    return low != high


def works_on_logits(divergence: Divergence) -> bool:
    """Return whether the objective of free scores has a maximum on samples, for which f(0) must be finite.

    On a pair of input and label that no sample shows, the score can fall for ever, and -f*(g) rises to f(0).

    >>> works_on_logits(look_up("pearson")), works_on_logits(look_up("reverse-kl"))
    (True, False)
    """
    return math.isfinite(divergence.at_zero)


def works_plugged_in(divergence: Divergence) -> bool:
    """Return whether D_f of predictions and labels can be trained: finite, and not piecewise linear.

    >>> works_plugged_in(look_up("pearson")), works_plugged_in(look_up("tv"))
    (True, False)
    """
    return math.isfinite(divergence.at_zero) and trains_forward(divergence)


class CrossEntropy(NoisyLabelLoss):
    """-E log p[y~], the ordinary one.

    label_prior: with P(Y~) given, p = softmax(z + log P(Y~)). The logits z themselves then learn the ratio
        P(Y~=y|x) / P(Y~=y) up to a factor, and their arg max is the ratio rule, which is right also where a
        wrong label is the most frequent one (notebook 03). Known as logit adjustment (Menon et al., 2021).
        "balanced" is a prior that changes nothing.
    options: as in ``NoisyLabelLoss``.

    >>> round(CrossEntropy(2)(torch.zeros(1, 2), torch.tensor([0])).item(), 4)
    0.6931
    """

    rows_take_soft = True

    def __init__(
        self, num_classes: int | None = None, *, label_prior: Any = None, **options: Unpack[Options]
    ) -> None:
        given = label_prior is not None
        if given and num_classes is None and not isinstance(label_prior, str):
            num_classes = len(as_array(label_prior))
        super().__init__(num_classes, **options)
        self._log_prior = None
        if given:
            prior = checks.distribution(label_prior, class_count(self.num_classes))
            if self._class_weight is not None and not isinstance(label_prior, str):
                prior = prior * self._class_weight.values.numpy()
            self._log_prior = Constant(np.log(np.maximum(prior, 1e-30)))

    def _rows(self, batch: Batch) -> Tensor:
        z = batch.z if self._log_prior is None else batch.z + self._log_prior.like(batch.z)
        return nn.functional.cross_entropy(z, batch.y, reduction="none")


class BackwardCorrection(NoisyLabelLoss):
    """Backward correction (Patrini et al., 2017): -E sum_j (T^-1)[y~, j] log p_j.

    p is kept above 1e-7, and has no gradient below it, as with the authors' clipping.

    T: the transition matrix, or an estimate of it; must be invertible.
    options: as in ``NoisyLabelLoss``.

    >>> loss = BackwardCorrection([[0.8, 0.2], [0.2, 0.8]])
    >>> round(loss(torch.zeros(1, 2), torch.tensor([0])).item(), 4)
    0.6931
    """

    rows_take_soft = True

    def __init__(self, T: Any, **options: Unpack[Options]) -> None:
        T = checked_transition(T)
        super().__init__(len(T), **options)
        self._inverse = Constant(checks.inverse(self._weighted_T(T)))

    def _rows(self, batch: Batch) -> Tensor:
        return -(_rows_of(self._inverse.like(batch.z), batch.y) * _log_probabilities(batch.z)).sum(1)


class ForwardCorrection(NoisyLabelLoss):
    """Forward correction (Patrini et al., 2017): -E log sum_i p_i T[i, y~], in log space.

    p is kept above 1e-7 as in ``BackwardCorrection``, and T above 1e-30, for labels that T rules out.

    T: the transition matrix, or an estimate of it; without an inverse it cannot tell some classes apart, of
        which a warning tells.
    options: as in ``NoisyLabelLoss``.

    >>> loss = ForwardCorrection([[0.8, 0.2], [0.2, 0.8]])
    >>> round(loss(torch.zeros(1, 2), torch.tensor([0])).item(), 4)
    0.6931
    """

    def __init__(self, T: Any, **options: Unpack[Options]) -> None:
        T = checked_transition(T)
        super().__init__(len(T), **options)
        if checks.is_singular(T):
            warnings.warn(
                f"T has rank {checks.rank(T)} of {len(T)}, so that different clean posteriors look"
                " the same in noisy labels: classes will be confused; use a loss that needs no T",
                RuntimeWarning,
                stacklevel=2,
            )
        self._log_transition = Constant(np.log(np.maximum(self._weighted_T(T), 1e-30)))

    def _rows(self, batch: Batch) -> Tensor:
        return -(_log_probabilities(batch.z) + self._log_transition.like(batch.z).T[batch.y]).logsumexp(1)


class DMI(NoisyLabelLoss):
    """Determinant-based mutual information (Xu et al., 2019): -log(|det U| + 0.001), U = Y' softmax(logits).

    Y is one-hot, and U a sum over the batch, not a mean, as in the authors' code beyond two classes; values
    compare only between sets of one size. A batch without some class has det U = 0, so that its loss is
    constant, with gradient 0. A warning says so, at once with ``check``, else when ``objective`` is next
    asked for, so that a step never waits. Like D_f, |det| does not tell the classes apart: warm up with
    cross-entropy.

    num_classes: K.
    options: as in ``NoisyLabelLoss``, but no ``weight``, by which |det U| would change by a factor only, and
        no reduction but "mean".

    >>> round(DMI(2)(torch.tensor([[9.0, 0.0], [0.0, 9.0]]), torch.tensor([0, 1])).item(), 3)
    -0.001
    """

    num_classes: int

    def __init__(self, num_classes: int, **options: Unpack[Options]) -> None:
        super().__init__(class_count(num_classes), **options)
        self._only_mean("DMI", "the determinant of a batch is no sum over its samples")
        if self._class_weight is not None:
            raise ValueError("DMI takes no weight: it would multiply the determinant by a constant, no more")
        self._dead: Tensor | None = None  # how many batches had no gradient, counted where the batches are

    def _loss(self, batch: Batch, peers: Batch | None) -> Tensor:
        value, dead = self._value(batch)
        if self._looks():
            if dead.item():
                self._warn("DMI has no gradient where")
        elif self._learns() and not torch.compiler.is_compiling():
            self._dead = dead.long() if self._dead is None else self._dead.to(dead.device) + dead
        return value

    def _objective(self, batch: Batch) -> Tensor:
        if self._dead is not None and not torch.compiler.is_compiling():
            dead, self._dead = self._dead.item(), None
            if dead:
                self._warn(f"DMI had no gradient in {dead} batches, as it has none where")
        return -self._value(batch)[0]

    def _value(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The loss, and whether it is a constant."""
        z, K = batch.z, self.num_classes
        if len(batch.y) < K:
            raise ValueError(
                f"DMI needs all {K} classes in a batch, but this one has {len(batch.y)} samples: use at least"
                " 10 per class, or another loss"
            )
        U = _label_table(batch, K).T @ z.softmax(1)
        U = U.cpu().double() if U.device.type == "mps" else U.double()  # which has no float64
        dead = torch.linalg.slogdet(U.detach()).logabsdet < DMI_FLOOR - 30
        # Where the gradient of det U could be nan, that of the identity is taken, and not used.
        instead = torch.eye(K, dtype=U.dtype, device=U.device)
        log_det = torch.linalg.slogdet(torch.where(dead, instead, U)).logabsdet
        value = -torch.logaddexp(log_det, torch.full_like(log_det, DMI_FLOOR))
        return torch.where(dead, -DMI_FLOOR, value).to(z), dead

    def _warn(self, what: str) -> None:
        warnings.warn(
            f"{what} a batch lacks a class, or predictions do not depend on the label:"
            " use larger batches, and warm up with cross-entropy",
            RuntimeWarning,
            stacklevel=5,
        )


class PeerLoss(_ProductLoss):
    """Peer loss (Liu & Guo, 2020): E_P[l] - alpha E_Q[l], with l = -log(p[y] + 1e-5) as in the authors' code.

    num_classes: K.
    alpha: a number, or a function of the share of epochs done that ``set_epoch`` reads, as ``peer_schedule``.
        The attribute ``alpha`` is the present number; ``objective`` takes the last one of a schedule, so
        that its values compare between epochs.
    product, label_prior, options: as in ``FDivLoss``. Up to alpha = 1 no class is given up for being
        frequent; with "balanced" the class of the largest P(Y~=y|x) is learned.

    >>> loss = PeerLoss(2, label_prior=[0.5, 0.5])
    >>> round(loss(torch.tensor([[2.0, 0.0]]), torch.tensor([0])).item(), 3)
    -1.0
    """

    def __init__(
        self,
        num_classes: int,
        alpha: float | Callable[[float], float] = 1.0,
        *,
        product: Product = "exact",
        label_prior: Any = None,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(num_classes, product, label_prior, options)
        self.schedule = alpha if callable(alpha) else None
        self.alpha = float(alpha(0.0) if callable(alpha) else alpha)

    @classmethod
    def from_labels(cls, labels: Any, num_classes: int | None = None, **options: Any) -> Self:
        """Return the loss whose label prior is that of the noisy training labels, which leaves it stateless.

        labels: those of the whole training set.
        num_classes: K; by default one more than the largest label.
        options: those of ``PeerLoss``, ``alpha`` among them.

        >>> PeerLoss.from_labels([0, 1, 1, 2], alpha=0.5).alpha
        0.5
        """
        prior = checks.prior_of_labels(labels, num_classes, options.get("ignore_index"))
        return cls(len(prior), label_prior=prior, **options)

    def set_epoch(self, epoch: int, epochs: int) -> None:
        """Set alpha for ``epoch`` of ``epochs``, counted from 0."""
        if not 0 <= epoch <= epochs or epochs < 1:
            raise ValueError(f"epoch is {epoch} of {epochs}, but must lie between 0 and the number of epochs")
        if self.schedule is not None:
            self.alpha = float(self.schedule(epoch / epochs))

    def _score(self, z: Tensor) -> Tensor:
        return torch.log(z.softmax(1) + 1e-5)

    def _joint(self, v: Tensor, y: Tensor) -> Tensor:
        return _over_labels(v, y)

    def _dual(self, v: Tensor) -> Tensor:
        return self.alpha * v

    def _objective(self, batch: Batch) -> Tensor:
        alpha = self.alpha if self.schedule is None else float(self.schedule(1.0))
        v = self._score(batch.z)
        return _mean(_over_labels(v, batch.y) - alpha * (v @ self._prior(batch)), batch.w)


def peer_schedule(progress: float) -> float:
    """Return alpha in the authors' MNIST runs: 0 for 40 % of the epochs (120 of 300), then evenly up to 1.

    progress: the share of epochs done.

    >>> peer_schedule(0.4), round(peer_schedule(0.7), 9), peer_schedule(1.0)
    (0.0, 0.5, 1.0)
    """
    return min(max((progress - 0.4) / 0.6, 0.0), 1.0)


# ---------------------------------------------------------------------- pieces


class _Ends(NamedTuple):
    """Where a function of numbers ends and its tangents begin."""

    low: float
    low_slope: float
    high: float
    high_slope: float

    @classmethod
    def of(cls, function: Callable[[Tensor], Tensor], low: float, high: float) -> _Ends:
        return cls(low, _slope(function, low), high, _slope(function, high))

    def continued(self, function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        """``function`` between the ends, and its tangents beyond them."""
        inside = x.clamp(self.low, self.high)
        beyond = x - inside
        value = function(inside)
        if self.low_slope:
            value = value + self.low_slope * beyond.clamp(max=0)
        return value + self.high_slope * beyond.clamp(min=0)


def _slope(function: Callable[[Tensor], Tensor], x: float) -> float:
    return slopes(function, torch.tensor(x, dtype=torch.float64)).item()


def _steep_from(functions: list[Callable[[Tensor], Tensor]], end: float) -> float:
    """The point on the way from 0 to ``end`` where one of the functions becomes too steep, or ``end``."""
    near, far = 0.0, end

    def steep(x: float) -> bool:
        return not all(abs(_slope(f, x)) <= STEEPEST for f in functions)

    if not steep(end):
        return end
    for _ in range(40):
        middle = (near + far) / 2
        near, far = (near, middle) if steep(middle) else (middle, far)
    return near


def _over_labels(table: Tensor, y: Tensor) -> Tensor:
    """The expectation over the label of each row: ``table[n, y[n]]`` where labels are certain."""
    return table.gather(1, y[:, None]).squeeze(1) if y.ndim == 1 else (table * y).sum(1)


def _expected(function: Callable[[Tensor], Tensor], v: Tensor, y: Tensor) -> Tensor:
    """The expectation of a function of v over the label of each row, computed where a label can be."""
    return function(_over_labels(v, y)) if y.ndim == 1 else _over_labels(function(v), y)


def _rows_of(matrix: Tensor, y: Tensor) -> Tensor:
    """The row of a matrix that belongs to each label, on average where labels are soft."""
    return matrix.index_select(0, y) if y.ndim == 1 else y @ matrix


def _each_label(rows: Callable[[Batch], Tensor], batch: Batch) -> Tensor:
    """``rows`` of a batch; with soft labels its expectation, by asking for each class in turn."""
    if not batch.soft:
        return rows(batch)
    n, K = batch.y.shape
    every = Batch(batch.z.repeat_interleave(K, 0), torch.arange(K, device=batch.y.device).repeat(n), None)
    return _over_labels(rows(every).reshape(n, K), batch.y)


def _label_table(batch: Batch, num_classes: int) -> Tensor:
    """P(label | row) as a table, weighted: one-hot where labels are certain, made without waiting."""
    classes = torch.arange(num_classes, device=batch.y.device)
    table = batch.y if batch.soft else (batch.y[:, None] == classes).to(batch.z.dtype)
    return table if batch.w is None else table * batch.w[:, None]


def _soft_joint(h: Tensor, batch: Batch) -> Tensor:
    """J[k, y] = E[h_x[k] 1(Y~ = y)]."""
    table = h.T @ _label_table(batch, h.shape[1])
    if batch.w is None:
        return table / len(h)
    total = batch.w.sum()
    return table / torch.where(total > 0, total, 1)  # perhaps nothing counts


def _weighted(batch: Batch, sample_weight: Tensor, look: bool) -> Batch:
    """The batch, each row of which counts ``sample_weight`` times as much."""
    checks.check_sample_weight(sample_weight, len(batch.z), look)
    own = sample_weight.flatten().to(batch.z)
    return batch._replace(w=own if batch.w is None else batch.w * own)


def _mean(rows: Tensor, w: Tensor | None) -> Tensor:
    return rows.mean() if w is None else (rows * w).sum() / w.sum().clamp(min=1e-30)


def _log_probabilities(z: Tensor) -> Tensor:
    return z.log_softmax(1).clamp(min=LOG_FLOOR)


def _two_columns(logits: Any, labels: Any) -> tuple[Any, Any]:
    """A single score per input as those of two classes: s above 0 speaks for class 1."""
    if not isinstance(logits, Tensor) or not isinstance(labels, Tensor) or not logits.is_floating_point():
        return logits, labels
    if logits.ndim == 1:
        logits = logits[:, None]
    if logits.ndim < 2 or logits.shape[1] != 1:
        return logits, labels
    labels = labels.squeeze(1) if labels.shape == logits.shape else labels
    return torch.cat([-logits / 2, logits / 2], 1), labels


def _derangement(y: Tensor) -> Tensor:
    """A random cycle through all samples: each is sent to another one, to any of them alike."""
    if len(y) < 2:
        raise ValueError(
            "product='shuffled' needs at least 2 samples: use larger batches, or product='exact'"
        )
    cycle = torch.randperm(len(y), device=y.device)
    return cycle.roll(1)[cycle.argsort()]


def _nearest_distribution(w: Tensor) -> Tensor:
    """The Euclidean projection onto the simplex, row by row: max(0, w - t), of the t with sum 1."""
    count = torch.arange(1, w.shape[-1] + 1, device=w.device)
    t = (w.sort(-1, descending=True).values.cumsum(-1) - 1) / count
    return (w - t.amax(-1, keepdim=True)).clamp(min=0)


def _partners(table: Tensor) -> list[int]:
    """Return for each predicted class its own label, or another that clearly goes with it better.

    table: how often class k (row) was predicted where the label was j (column).
    """
    # 1. The ratio P/Q of each cell: how often label j comes with prediction k, against how often it comes.
    n, frequency = table.sum(1, keepdim=True).clamp(min=1), table.sum(0) / table.sum()
    scale = torch.where(frequency > 0, 1 / frequency, 0)
    ratio = table / n * scale
    # 2. Its variance, that of a share of n. Adding one seen and one unseen keeps 1 of 1 from being certain.
    share = (table + 1) / (n + 2)
    variance = share * (1 - share) / n * scale**2
    # 3. By how much each label beats the class's own, after three standard errors of the difference.
    error = (variance + variance.diagonal()[:, None]).sqrt()
    excess, label = (ratio - ratio.diagonal()[:, None] - 3 * error).max(1)
    # 4. The best of them where any does, else the class itself.
    return torch.where(excess > 0, label, torch.arange(len(table))).tolist()


def _printed_correction(T: np.ndarray) -> np.ndarray:
    """I - 1 e', which takes sum_j e_j Delta^j off: e_j is the chance of landing on j from another class."""
    K = len(T)
    off = T - np.diag(np.diag(T))
    mean = off.sum(0) / (K - 1)
    uniform = (abs(off - mean)[~np.eye(K, dtype=bool)] < 1e-8).all()
    paired = (((off > 0) | (off.T > 0)).sum(1) <= 1).all()
    if not (uniform or paired):
        raise ValueError(
            "correction='paper' is printed for uniform off-diagonal T (Corollary 1) and for flips within"
            " pairs (Theorem 9) only: use correction='exact', which covers any T"
        )
    e = mean if uniform else off.sum(0)
    if not (np.diag(T) > e).all():
        raise ValueError("correction='paper' needs rates that sum to less than 1: use correction='exact'")
    return np.eye(K) - e


def _on(buffer: Tensor, x: Tensor) -> Tensor:
    """``buffer`` on the device of ``x``, fit for training even if it came there in inference mode."""
    if buffer.device == x.device:
        return buffer
    with torch.inference_mode(False):
        return buffer.to(x.device)


def _listing(items: Sequence[Any]) -> str:
    """The first five of ``items``, and how many more there are."""
    more = f" and {len(items) - 5} more" if len(items) > 5 else ""
    return ", ".join(map(str, items[:5])) + more


def _either(names: Any) -> str:
    """The names with commas and an "or" before the last."""
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last
