"""The paper's loss and its five baselines, all called ``loss(logits, noisy_labels)``.

    loss = FDivLoss("tv", num_classes=10)
    loss(model(x), noisy_labels).backward()

``FDivLoss`` is Algorithm 1: minus E_P[g] - E_Q[f*(g)], where P is the joint distribution of input and noisy
label, and Q the product of its margins. The baselines are those of Section 5.

Conventions:

* A loss is a mean over the batch, to be minimised; ``objective`` is what is maximised, on a whole set.
* T_ij = P(Y~ = j | Y = i), and a label prior is that of the noisy labels.
* What training has seen (label counts, the running table) is a buffer. T, a given prior and the options are
  arguments of the constructor and not in the ``state_dict``.
* Logits in half precision are computed in float32, inside autocast as well; float64 stays float64.
"""

from __future__ import annotations

import math
import operator
import warnings
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fdiv.arrays import as_array
from fdiv.names import choose
from fdiv.noise.matrices import transition as as_transition
from fdiv.theory.divergences import DIVERGENCES, Divergence
from fdiv.theory.divergences import divergence as look_up

__all__ = [
    "DMI",
    "BackwardCorrection",
    "CrossEntropy",
    "FDivLoss",
    "ForwardCorrection",
    "NoisyLabelLoss",
    "PeerLoss",
    "peer_schedule",
]

LOG_FLOOR = math.log(1e-7)  # Patrini et al. (2017) clip probabilities at 1e-7
DMI_FLOOR = math.log(1e-3)  # Xu et al. (2019) add 1e-3 to |det|
RATIOS = (1e-3, 1e4)  # where the plug-in evaluates f'
Peers = tuple[Tensor, Tensor] | None


class NoisyLabelLoss(nn.Module):
    """What the losses share: checked input, full precision, an objective to select by, and a diagnosis.

    num_classes: how many columns the logits have; None takes any number.
    needs_peers: whether ``forward`` must be given a second and a third mini-batch.
    check: whether each call looks at the values of logits and labels, which waits for the device. A training
        loop that has checked its labels once may set it to False; shapes and dtypes are checked regardless.
    """

    needs_peers: bool = False
    check: bool = True

    def __init__(self, num_classes: int | None = None) -> None:
        super().__init__()
        self.num_classes = None if num_classes is None else _class_count(num_classes)

    def forward(
        self,
        logits: Tensor,
        labels: Tensor,
        peer_logits: Tensor | None = None,
        peer_labels: Tensor | None = None,
    ) -> Tensor:
        """The loss of a mini-batch.

        logits: one row per input, one column per class.
        labels: the noisy labels, integers from 0 to K - 1.
        peer_logits, peer_labels: inputs of a second and labels of a third mini-batch, where ``needs_peers``.
        """
        batch, peers = self._batch(logits, labels), self._peers(peer_logits, peer_labels)
        with torch.autocast(logits.device.type, enabled=False):
            return self._loss(*batch, peers)

    def objective(self, logits: Tensor, labels: Tensor) -> Tensor:
        """What is maximised, on a whole (validation) set: nothing is sampled, and nothing remembered."""
        batch = self._batch(logits, labels)
        with torch.autocast(logits.device.type, enabled=False):
            return self._objective(*batch)

    def set_epoch(self, epoch: int, epochs: int) -> None:
        """To be called when ``epoch`` of ``epochs``, counted from 0, begins; only a schedule listens."""

    def diagnose(self, logits: Tensor, labels: Tensor) -> list[str]:
        """What looks wrong with the predictions of a set, in sentences, judged by its noisy labels alone.

        A class seems to have collapsed if it is predicted less than a tenth as often as it is a label. The
        classes seem permuted, which no D_f can tell, if P/Q in a predicted row is larger for another label
        than for its own, by three standard errors; uniform noise and flips within pairs with e1 + e2 < 1 do
        not do that to correct predictions.
        """
        z, y = self._batch(logits.detach(), labels)
        K = z.shape[1]
        table = torch.bincount((z.argmax(1) * K + y).cpu(), minlength=K * K).reshape(K, K).double()
        collapsed = (table.sum(1) < table.sum(0) / 10).tolist()
        lost = [k for k in range(K) if collapsed[k]]
        moved = [f"{k} with label {j}" for k, j in enumerate(_partners(table)) if j != k and not collapsed[k]]
        found = []
        if lost:
            found.append(
                f"collapsed: class {_listing(lost)} is predicted less than a tenth as often as it is a label;"
                " warm up longer with cross-entropy, or lower the learning rate"
            )
        if moved:
            found.append(
                f"permuted: predictions go more with other labels than their own (class {_listing(moved)});"
                " start from a model warmed up with cross-entropy, which names the classes"
            )
        return found

    def extra_repr(self) -> str:
        """The options, and a checksum of matrices: what reads alike is alike."""
        shown = {
            k: v for k, v in vars(self).items() if isinstance(v, int | float | str | Divergence | _Constant)
        }
        shown = {k: v.name if isinstance(v, Divergence) else v for k, v in shown.items()}
        return ", ".join(f"{k.strip('_')}={v!r}" for k, v in shown.items() if not isinstance(v, bool))

    def _loss(self, z: Tensor, y: Tensor, peers: Peers) -> Tensor:
        raise NotImplementedError

    def _objective(self, z: Tensor, y: Tensor) -> Tensor:
        return -self._loss(z, y, None)

    def _batch(self, logits: Tensor, labels: Tensor, prefix: str = "") -> tuple[Tensor, Tensor]:
        """Logits of at least float32 and labels of int64, or an error that says what to give instead."""
        _check_logits(logits, f"{prefix}logits", self.num_classes)
        _check_labels(labels, f"{prefix}labels", len(logits))
        z, y = logits if logits.dtype == torch.float64 else logits.float(), labels.long()
        if self.check:
            _check_values(z, y, prefix)
        return z, y

    def _peers(self, peer_logits: Tensor | None, peer_labels: Tensor | None) -> Peers:
        given = peer_logits is not None, peer_labels is not None
        if self.needs_peers and not all(given):
            raise ValueError(
                "product='sampled' needs peer_logits of a second and peer_labels of a third mini-batch:"
                " pass both, or use product='exact', which needs neither"
            )
        if not self.needs_peers and any(given):
            raise ValueError("peer_logits and peer_labels are for product='sampled' only: leave them out")
        return self._batch(peer_logits, peer_labels, "peer_") if self.needs_peers else None


class _ProductLoss(NoisyLabelLoss):
    """A loss with an expectation under Q, where input and label are independent.

    product: "exact" sums over the classes, weighted by their prior, without a second forward pass; "sampled"
        is Algorithm 1, inputs of a second and labels of a third mini-batch; "shuffled" gives every input the
        label of another one of its batch. Given P(Y~) they agree in expectation, and "exact" varies least.
    label_prior: P(Y~), or None to count the labels that come by in training mode.
    """

    def __init__(self, num_classes: int, product: str, label_prior: Any) -> None:
        super().__init__(_class_count(num_classes))
        self.product = choose("product term", product, ("exact", "sampled", "shuffled"))
        self.needs_peers = self.product == "sampled"
        given = label_prior is not None
        self._given_prior = _Constant(_distribution(label_prior, self.num_classes)) if given else None
        counts = None if given else torch.zeros(self.num_classes, dtype=torch.int64)
        self.register_buffer("label_counts", counts)

    def _count(self, y: Tensor) -> None:
        if self.training and self.label_counts is not None:
            self.label_counts = _on(self.label_counts, y)
            self.label_counts += _one_hot(y, self.num_classes).sum(0)

    def _prior(self, z: Tensor, y: Tensor) -> Tensor:
        """P(Y~) as given, as counted, or that of ``y`` as long as nothing was counted."""
        if self._given_prior is not None:
            return self._given_prior.like(z)
        seen = _on(self.label_counts, y)
        counts = torch.where(seen.sum() > 0, seen, _one_hot(y, self.num_classes).sum(0)).to(z.dtype)
        return counts / counts.sum()

    def _product_mean(self, term: Callable[[Tensor], Tensor], z: Tensor, y: Tensor, peers: Peers) -> Tensor:
        """E_Q[term], where ``term`` turns logits into a number per input and class."""
        if self.product == "exact":
            return self._exact_product_mean(term, z, y)
        z, y = (z, y[_derangement(y)]) if peers is None else peers
        return _at(term(z), y).mean()

    def _exact_product_mean(self, term: Callable[[Tensor], Tensor], z: Tensor, y: Tensor) -> Tensor:
        return (self._class_weights(z, y) * term(z).mean(0)).sum()

    def _class_weights(self, z: Tensor, y: Tensor) -> Tensor:
        return self._prior(z, y)


class FDivLoss(_ProductLoss):
    """Minus the variational difference E_P[g] - E_Q[f*(g)] of noisy samples (Algorithm 1).

    divergence: a name in ``fdiv.DIVERGENCES``, or a ``Divergence``.
    num_classes: K.
    product: how E_Q is computed: "exact", "sampled" (Algorithm 1 to the letter) or "shuffled".
    variational: "fixed" is g = g_f(v) of the full table, always increasing. "plugin" is the paper's
        "progressively updated" g in closed form: f'(J/Q), the best g for the running table
        J[k, y] = E[h_x[k] 1(Y~=y)] and the product Q of its margins, with the gradient of D_f(J||Q).
        As no D_f tells the classes apart, warm up with cross-entropy, and ask ``diagnose``. f' is taken of
        ratios clamped to [1e-3, 1e4], because most of them explode at 0. ``objective`` is D_f of the set's
        own table, which for reverse KL, Neyman and Jeffrey is inf where that has a 0.
    score: the v of the fixed g. "probability", as in the authors' code, is bounded, which hinders memorising.
        "logit" leaves g free, and infinite data then teach f'(P(Y~=y|x) / P(Y~=y)): the class of largest
        ratio, which is right under sparse noise with e1 + e2 < 1 too. There TV only learns which ratios
        exceed 1, Pearson does best, and those with an e^v or e^-v are less stable, Neyman least.
    label_prior: P(Y~); None counts the labels seen in training, or is the margin of J for the plug-in.
    transition: T, to optimise the clean objective; needs ``product="exact"`` and the fixed g.
    correction: "exact" replaces g by T^-1 g, that is g(x, y~) by sum_i (T^-1)[y~, i] g(x, i), and weighs
        f*(g) by the clean prior T^-T P(Y~), or the distribution nearest to it if that is none. Given P(Y~),
        its expectation is that of clean labels, for any invertible T. "paper" subtracts the printed bias
        sum_j e_j Delta^j: Corollary 1 for uniform off-diagonal T; Theorem 9, wrong for K > 2, for flips
        within pairs. "forward" leaves the objective noisy and puts T into g = f'((h_x T)[y~] / P(Y~=y~)), the
        optimal g of a model whose h_x is the clean posterior: so that is what the best h_x is, and no T^-1
        magnifies the noise of a batch. For KL it is forward correction up to a constant; TV has a step for f'
        and cannot be trained so. Ratios are clamped as for the plug-in.
    momentum: of the plug-in's running J, into which the batch is mixed before g is computed.
    barrier: for the plug-in, the weight of mean_k log P(h = k), with P(h = k) the running share of class k
        among the predictions. It is the largest for even shares and falls without limit as a class dies
        out, which D_f alone lets happen; ``objective`` leaves it out.
    """

    def __init__(
        self,
        divergence: str | Divergence,
        num_classes: int,
        *,
        product: str = "exact",
        variational: str = "fixed",
        score: str = "probability",
        label_prior: Any = None,
        transition: Any = None,
        correction: str = "exact",
        momentum: float = 0.9,
        barrier: float = 0.0,
    ) -> None:
        super().__init__(num_classes, product, label_prior)
        self.divergence = look_up(divergence)
        self.variational = choose("variational form", variational, ("fixed", "plugin"))
        self.score = choose("score", score, ("probability", "logit"))
        self.correction = choose("correction", correction, ("exact", "paper", "forward"))
        self.momentum = _momentum(momentum)
        self.barrier = _barrier(barrier)
        if barrier:
            self._only("barrier", variational="plugin")
        self._weights = self._T = None
        if transition is not None:
            self._only("transition", product="exact", variational="fixed")
            self._take(_transition(transition, self.num_classes))
        if self.variational == "plugin":
            self._only("variational='plugin'", product="exact", score="probability")
            self.label_counts = None
            self.register_buffer("joint", torch.zeros(self.num_classes, self.num_classes))

    def _take(self, T: np.ndarray) -> None:
        """What the correction needs of T: the weights of g, or T itself."""
        if self.correction == "paper":
            self._weights = _Constant(_printed_correction(T))
            return
        inverse = _inverse(T)  # forward correction needs none, but a T that has one
        if self.correction == "exact":
            self._weights = _Constant(inverse)
            return
        self._only("correction='forward'", score="probability")
        if not trains_forward(self.divergence):
            raise ValueError(
                f"correction='forward' trains through f', which for {self.divergence.name!r} is a step and"
                " has no slope: choose another divergence, or correction='exact'"
            )
        self._T = _Constant(T)

    def _only(self, what: str, **options: str) -> None:
        for name, needed in options.items():
            if getattr(self, name) != needed:
                raise ValueError(f"{what} works only with {name}={needed!r}, not {getattr(self, name)!r}")

    def _loss(self, z: Tensor, y: Tensor, peers: Peers) -> Tensor:
        if self.variational == "plugin":
            return -self._plugin_difference(z, y)
        self._count(y)
        if self._T is not None:
            return -self._forward_difference(z, y)
        return self._product_mean(self._dual, z, y, peers) - self._joint_mean(z, y)

    def _objective(self, z: Tensor, y: Tensor) -> Tensor:
        if self.variational == "plugin":
            P = _soft_joint(z.softmax(1), y).cpu().double()  # small, and not every device has float64
            P = P / P.sum()
            return self.divergence(P, P.sum(1, keepdim=True) * P.sum(0)).to(z)
        if self._T is not None:
            return self._forward_difference(z, y)
        return self._joint_mean(z, y) - self._exact_product_mean(self._dual, z, y)

    def _v(self, z: Tensor) -> Tensor:
        return z.softmax(1) if self.score == "probability" else z

    def _dual(self, z: Tensor) -> Tensor:
        return self.divergence.conjugate_of_activation(self._v(z))

    def _joint_mean(self, z: Tensor, y: Tensor) -> Tensor:
        """E_P[g], with T its correction."""
        g = self.divergence.activation(self._v(z))
        rows = _at(g, y) if self._weights is None else (self._weights.like(z)[y] * g).sum(1)
        return rows.mean()

    def _class_weights(self, z: Tensor, y: Tensor) -> Tensor:
        """The weights of f*(g): the prior, with T its correction."""
        prior = self._prior(z, y)
        if self._weights is None:
            return prior
        weights = prior @ self._weights.like(z)
        return _nearest_distribution(weights) if self.correction == "exact" else weights

    def _forward_difference(self, z: Tensor, y: Tensor) -> Tensor:
        """E_P[g] - E_Q[f*(g)] on noisy labels, with the g that is best if h is the clean posterior."""
        prior = self._prior(z, y)
        noisy = z.softmax(1) @ self._T.like(z)
        g = self.divergence.derivative((noisy / prior.clamp(min=1e-12)).clamp(*RATIOS))
        return _at(g, y).mean() - (prior * self.divergence.conjugate(g).mean(0)).sum()

    def _plugin_difference(self, z: Tensor, y: Tensor) -> Tensor:
        """E_P[g*] - E_Q[f*(g*)] of the batch, where g* comes from the running table and is a constant."""
        h = z.softmax(1)
        P = _soft_joint(h, y)
        J = self._running_joint(P.detach())
        prior = J.sum(0) if self._given_prior is None else self._given_prior.like(z)
        Q = J.sum(1, keepdim=True) * prior
        g = self.divergence.derivative(torch.where(Q > 0, J / Q, 1).clamp(*RATIOS))
        share = h.mean(0)
        difference = (P * g - share[:, None] * prior * self.divergence.conjugate(g)).sum()
        if self.barrier:  # the gradient of mean_k log of the running share
            difference = difference + self.barrier * (share / J.sum(1).clamp(min=1e-6)).mean()
        return difference

    def _running_joint(self, P: Tensor) -> Tensor:
        """The running table with ``P`` mixed in, remembered in training mode only.

        The buffer starts at 0 and sums to 1 - momentum^t after t batches, so dividing by its sum undoes that.
        """
        running = _on(self.joint, P)
        J = self.momentum * running.to(P.dtype) + (1 - self.momentum) * P
        if self.training:
            self.joint = running.copy_(J)
        return J / J.sum()

    def __getstate__(self) -> dict[str, Any]:
        """A registered divergence is pickled by its name, as its functions have none."""
        d = self.divergence
        registered = d.name in DIVERGENCES and look_up(d.name) is d
        return {**self.__dict__, "divergence": d.name if registered else d}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.divergence = look_up(self.divergence)


def trains_forward(divergence: Divergence) -> bool:
    """Whether f' has a slope, along which ``correction="forward"`` trains; total variation's is a step."""
    low, high = divergence.derivative(torch.tensor([2.0, 3.0])).tolist()
    return low != high


class CrossEntropy(NoisyLabelLoss):
    """-E log p[y~], the ordinary one.

    label_prior: with P(Y~) given, p = softmax(z + log P(Y~)). The logits z themselves then learn the ratio
        P(Y~=y|x) / P(Y~=y) up to a factor, and their arg max is the ratio rule, which is right also where a
        wrong label is the most frequent one (notebook 03). Known as logit adjustment (Menon et al., 2021).
    """

    def __init__(self, num_classes: int | None = None, *, label_prior: Any = None) -> None:
        given = label_prior is not None
        super().__init__(len(as_array(label_prior)) if given and num_classes is None else num_classes)
        prior = _distribution(label_prior, self.num_classes) if given else None
        self._log_prior = _Constant(np.log(np.maximum(prior, 1e-30))) if given else None

    def _loss(self, z: Tensor, y: Tensor, peers: Peers) -> Tensor:
        return nn.functional.cross_entropy(z if self._log_prior is None else z + self._log_prior.like(z), y)


class BackwardCorrection(NoisyLabelLoss):
    """Backward correction (Patrini et al., 2017): -E sum_j (T^-1)[y~, j] log p_j.

    p is kept above 1e-7, and has no gradient below it, as with the authors' clipping.
    """

    def __init__(self, T: Any) -> None:
        T = _transition(T)
        super().__init__(len(T))
        self._inverse = _Constant(_inverse(T))

    def _loss(self, z: Tensor, y: Tensor, peers: Peers) -> Tensor:
        return -(self._inverse.like(z)[y] * _log_probabilities(z)).sum(1).mean()


class ForwardCorrection(NoisyLabelLoss):
    """Forward correction (Patrini et al., 2017): -E log sum_i p_i T[i, y~], in log space.

    p is kept above 1e-7 as in ``BackwardCorrection``, and T above 1e-30, for labels that T rules out.
    """

    def __init__(self, T: Any) -> None:
        T = _transition(T)
        super().__init__(len(T))
        self._log_transition = _Constant(np.log(np.maximum(T, 1e-30)))

    def _loss(self, z: Tensor, y: Tensor, peers: Peers) -> Tensor:
        return -(_log_probabilities(z) + self._log_transition.like(z).T[y]).logsumexp(1).mean()


class DMI(NoisyLabelLoss):
    """Determinant-based mutual information (Xu et al., 2019): -log(|det U| + 0.001), U = Y' softmax(logits).

    Y is one-hot, and U a sum over the batch, not a mean, as in the authors' code beyond two classes; values
    compare only between sets of one size. A batch without some class has det U = 0, so that its loss is
    constant, with gradient 0. Like D_f, |det| does not tell the classes apart: warm up with cross-entropy.
    """

    def __init__(self, num_classes: int) -> None:
        super().__init__(_class_count(num_classes))

    def _loss(self, z: Tensor, y: Tensor, peers: Peers) -> Tensor:
        K = self.num_classes
        if len(y) < K:
            raise ValueError(
                f"DMI needs all {K} classes in a batch, but this one has {len(y)} samples: use at least 10"
                " per class, or another loss"
            )
        U = (_one_hot(y, K).to(z.dtype).T @ z.softmax(1)).cpu().double()  # small; slogdet is not everywhere
        if torch.linalg.slogdet(U.detach()).logabsdet < DMI_FLOOR - 30:
            warnings.warn(
                "DMI has no gradient where a batch lacks a class, or predictions do not depend on the label:"
                " use larger batches, and warm up with cross-entropy",
                RuntimeWarning,
                stacklevel=2,
            )
            return (0 * U.sum() - DMI_FLOOR).to(z)  # what is left of the gradient could be nan
        log_det = torch.linalg.slogdet(U).logabsdet
        return -torch.logaddexp(log_det, torch.full_like(log_det, DMI_FLOOR)).to(z)


class PeerLoss(_ProductLoss):
    """Peer loss (Liu & Guo, 2020): E_P[l] - alpha E_Q[l], with l = -log(p[y] + 1e-5) as in the authors' code.

    num_classes: K.
    alpha: a number, or a function of the share of epochs done that ``set_epoch`` reads, as ``peer_schedule``.
        The attribute ``alpha`` is the present number; ``objective`` takes the last one of a schedule, so
        that its values compare between epochs.
    product, label_prior: as in ``FDivLoss``.
    """

    def __init__(
        self,
        num_classes: int,
        alpha: float | Callable[[float], float] = 1.0,
        *,
        product: str = "exact",
        label_prior: Any = None,
    ) -> None:
        super().__init__(num_classes, product, label_prior)
        self.schedule = alpha if callable(alpha) else None
        self.alpha = float(alpha(0.0) if callable(alpha) else alpha)

    def set_epoch(self, epoch: int, epochs: int) -> None:
        """Set alpha for ``epoch`` of ``epochs``, counted from 0."""
        if not 0 <= epoch <= epochs or epochs < 1:
            raise ValueError(f"epoch is {epoch} of {epochs}, but must lie between 0 and the number of epochs")
        if self.schedule is not None:
            self.alpha = float(self.schedule(epoch / epochs))

    def _loss(self, z: Tensor, y: Tensor, peers: Peers) -> Tensor:
        self._count(y)
        return _at(_peer_term(z), y).mean() - self.alpha * self._product_mean(_peer_term, z, y, peers)

    def _objective(self, z: Tensor, y: Tensor) -> Tensor:
        alpha = self.alpha if self.schedule is None else float(self.schedule(1.0))
        return alpha * self._exact_product_mean(_peer_term, z, y) - _at(_peer_term(z), y).mean()


def peer_schedule(progress: float) -> float:
    """Alpha in the authors' MNIST runs: 0 for 40 % of the epochs (120 of 300), then evenly up to 1."""
    return min(max((progress - 0.4) / 0.6, 0.0), 1.0)


# ---------------------------------------------------------------------- pieces


def _peer_term(z: Tensor) -> Tensor:
    return -torch.log(z.softmax(1) + 1e-5)


def _log_probabilities(z: Tensor) -> Tensor:
    return z.log_softmax(1).clamp(min=LOG_FLOOR)


def _at(table: Tensor, y: Tensor) -> Tensor:
    """``table[n, y[n]]`` for each row n."""
    return table.gather(1, y[:, None])[:, 0]


def _one_hot(y: Tensor, num_classes: int) -> Tensor:
    """Boolean, and made without waiting for the device."""
    return y[:, None] == torch.arange(num_classes, device=y.device)


def _soft_joint(h: Tensor, y: Tensor) -> Tensor:
    """J[k, y] = E[h_x[k] 1(Y~ = y)]."""
    return h.T @ _one_hot(y, h.shape[1]).to(h.dtype) / len(y)


def _derangement(y: Tensor) -> Tensor:
    """A random cycle through all samples: each is sent to another one, to any of them alike."""
    if len(y) < 2:
        raise ValueError(
            "product='shuffled' needs at least 2 samples: use larger batches, or product='exact'"
        )
    cycle = torch.randperm(len(y), device=y.device)
    return cycle.roll(1)[cycle.argsort()]


def _nearest_distribution(w: Tensor) -> Tensor:
    """The Euclidean projection onto the simplex: max(0, w - t), with the t that makes the sum 1."""
    t = (w.sort(descending=True).values.cumsum(0) - 1) / torch.arange(1, len(w) + 1, device=w.device)
    return (w - t.max()).clamp(min=0)


def _partners(table: Tensor) -> list[int]:
    """For each predicted class its own label, or the one whose P/Q is larger by three standard errors."""
    n, frequency = table.sum(1, keepdim=True).clamp(min=1), table.sum(0) / table.sum()
    scale = torch.where(frequency > 0, 1 / frequency, 0)
    share = (table + 1) / (n + 2)  # so that 1 of 1 is no certainty
    ratio, variance = table / n * scale, share * (1 - share) / n * scale**2
    error = (variance + variance.diagonal()[:, None]).sqrt()
    excess, label = (ratio - ratio.diagonal()[:, None] - 3 * error).max(1)
    return torch.where(excess > 0, label, torch.arange(len(table))).tolist()


def _transition(T: Any, num_classes: int | None = None) -> np.ndarray:
    """``T`` checked and in float64; if it was rounded to float32, its rows sum to 1 again."""
    T = as_array(T)
    if T.dtype == np.float32 and T.ndim == 2:
        sums = T.astype(np.float64).sum(1, keepdims=True)
        T = T / np.where(abs(sums - 1) < 1e-5, sums, 1)
    T = as_transition(T)
    if num_classes not in (None, len(T)):
        raise ValueError(f"T is for {len(T)} classes, but num_classes is {num_classes}")
    return T


def _inverse(T: np.ndarray) -> np.ndarray:
    """T^-1, with a warning where it magnifies errors, and a ``ValueError`` where there is none."""
    condition = np.linalg.cond(T)
    if not condition < 1e12:
        rank = np.linalg.matrix_rank(T)
        raise ValueError(f"T must be invertible, but has rank {rank} of {len(T)}: use a loss that needs no T")
    if condition > 1e3:
        text = f"T has condition number {condition:.3g}: its inverse magnifies errors of T and of sampling"
        warnings.warn(text, RuntimeWarning, stacklevel=3)
    return np.linalg.inv(T)


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
    with torch.inference_mode(False):
        return buffer.to(x.device)


class _Constant:
    """A float64 array, handed out in the dtype and on the device of a tensor (MPS has no float64)."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = torch.as_tensor(values, dtype=torch.float64)
        self.made: dict[tuple[torch.dtype, torch.device], Tensor] = {}

    def like(self, x: Tensor) -> Tensor:
        key = x.dtype, x.device
        if key not in self.made:
            with torch.inference_mode(False):
                self.made[key] = self.values.to(x.dtype).to(x.device)
        return self.made[key]

    def __repr__(self) -> str:
        size = "x".join(map(str, self.values.shape))
        return f"<{size} #{zlib.crc32(self.values.numpy().tobytes()):08x}>"


# ---------------------------------------------------------------------- checks


def _check_logits(logits: Any, name: str, num_classes: int | None) -> None:
    kind = logits.dtype if isinstance(logits, Tensor) else type(logits).__name__
    if isinstance(kind, str) or not kind.is_floating_point:
        raise TypeError(f"{name} must be a tensor of floats, the scores before softmax, not {kind}")
    if logits.ndim != 2 or logits.shape[1] < 2:
        raise ValueError(
            f"{name} must have a row per input and a column per class, not {tuple(logits.shape)}"
        )
    if num_classes not in (None, logits.shape[1]):
        raise ValueError(f"{name} must have {num_classes} columns, one per class, not {logits.shape[1]}")
    if not len(logits):
        raise ValueError(f"{name} is an empty batch, which has no mean: skip it")


def _check_labels(labels: Any, name: str, count: int) -> None:
    kind = labels.dtype if isinstance(labels, Tensor) else type(labels).__name__
    if isinstance(kind, str) or kind.is_floating_point or kind.is_complex or kind == torch.bool:
        raise TypeError(f"{name} must be a tensor of integers, the class of each input, not {kind}")
    if labels.shape != (count,):
        raise ValueError(
            f"{name} must be a vector of {count}, one class per input, not {tuple(labels.shape)}"
        )


def _check_values(z: Tensor, y: Tensor, prefix: str) -> None:
    if not z.isfinite().all():
        raise ValueError(f"{prefix}logits hold nan or inf: check the inputs, or lower the learning rate")
    bad = (y < 0) | (y >= z.shape[1])
    if bad.any():
        raise ValueError(f"{prefix}labels hold {y[bad][0]}, but must lie between 0 and {z.shape[1] - 1}")


def _class_count(num_classes: Any) -> int:
    if isinstance(num_classes, bool) or not hasattr(num_classes, "__index__") or num_classes < 2:
        raise ValueError(f"num_classes is {num_classes!r}, but must be a whole number of at least 2")
    return operator.index(num_classes)


def _momentum(value: float) -> float:
    if not 0 <= value < 1:
        raise ValueError(f"momentum is {value!r}, but must be at least 0 and below 1")
    return float(value)


def _barrier(value: float) -> float:
    if not 0 <= value < math.inf:
        raise ValueError(f"barrier is {value!r}, but must be a finite number from 0 up")
    return float(value)


def _distribution(p: Any, num_classes: int) -> np.ndarray:
    p = np.asarray(as_array(p), dtype=np.float64)
    if p.shape != (num_classes,) or not (p >= 0).all() or not abs(p.sum() - 1) < 1e-5:
        raise ValueError(f"label_prior must be {num_classes} probabilities that sum to 1, not {p.tolist()}")
    return p / p.sum()


def _listing(items: Sequence[Any]) -> str:
    """The first five of ``items``, and how many more there are."""
    more = f" and {len(items) - 5} more" if len(items) > 5 else ""
    return ", ".join(map(str, items[:5])) + more
