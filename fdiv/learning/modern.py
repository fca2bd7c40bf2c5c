"""What came after the paper: losses called ``loss(logits, noisy_labels)``, and three ways to train with them.

    loss = GCE(num_classes=10)
    loss(model(x), noisy_labels).backward()

p is the softmax of the logits, K the number of classes, y~ the noisy label. Where the printed formula and the
authors' code differ, the docstring says so and which of the two is kept. ``MODERN`` holds what a row of
``fdiv.learning.methods`` needs, ``learned_decision`` says what infinite data would teach a loss.

Around the losses: ``label_wave`` chooses an epoch without any validation data, ``sharpness_aware`` replaces
the backward pass of a step, and ``weight_average`` keeps the mean of the weights, for a strong cross-entropy.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from fdiv.arrays import transition
from fdiv.learning.checks import between, is_singular, rank
from fdiv.learning.losses import (
    Batch,
    NoisyLabelLoss,
    Options,
    _mean,
    _nearest_distribution,
    _over_labels,
)
from fdiv.names import Registry, choose

LOG_ZERO = math.log(1e-4)  # what reverse cross-entropy takes for log 0, in the code of Wang et al. (2019)
LOG_LEAST = math.log(1e-7)  # the least log p of the negative losses of Ye et al. (2023), their -A


class _Pointwise(NoisyLabelLoss):
    """A loss that is a mean of one number per example."""

    def _rows(self, batch: Batch) -> Tensor:
        return self._each(batch.z, batch.y)

    def _each(self, z: Tensor, y: Tensor) -> Tensor:
        raise NotImplementedError


# ---------------------------------------------------------------------- from cross-entropy to MAE


class GCE(_Pointwise):
    """Generalised cross-entropy (1 - p[y~]^q) / q (Zhang & Sabuncu, NeurIPS 2018, eq. 6).

    It leads from cross-entropy, q = 0, to the mean absolute error 1 - p[y~], q = 1. For 0 < q < 1 infinite
    data teach p proportional to P(Y~=y|x)^(1/(1-q)): the class that cross-entropy learns, with more
    confidence.

    q: between 0 and 1; 0.7 in the experiments of the paper.

    >>> z, y = torch.tensor([[2.0, 0.0]]), torch.tensor([1])
    >>> round(GCE(2)(z, y).item(), 4), round(GCE(2, q=1)(z, y).item(), 4)
    (1.1062, 0.8808)
    """

    def __init__(self, num_classes: int | None = None, q: float = 0.7, **options: Unpack[Options]) -> None:
        super().__init__(num_classes, **options)
        self.q = between("q", q, 0, 1)

    def _each(self, z: Tensor, y: Tensor) -> Tensor:
        return _box_cox(_log_p(z, y), self.q)


class BetaDivergence(_Pointwise):
    """Beta or density power divergence 1/b - (1 + 1/b) p[y~]^b + sum_k p[k]^(1+b).

    Basu et al. (Biometrika 1998, eq. 2.1) without what does not depend on p. It is (1 + b) GCE with q = b,
    and one more term, sum_k p[k]^(1+b) - 1, which makes it proper: infinite data teach P(Y~=y|x) itself.
    b = 0 is cross-entropy, b = 1 the Brier score.

    beta: from 0 up; 0.7 is ours, so that this and the default of ``GCE`` differ by that term alone.

    >>> z, y = torch.tensor([[2.0, 0.0]]), torch.tensor([1])
    >>> round(BetaDivergence(2, beta=1)(z, y).item(), 4)  # (0 - 0.8808)^2 + (1 - 0.1192)^2
    1.5516
    """

    def __init__(self, num_classes: int | None = None, beta: float = 0.7, **options: Unpack[Options]) -> None:
        super().__init__(num_classes, **options)
        self.beta = between("beta", beta, 0, math.inf)

    def _each(self, z: Tensor, y: Tensor) -> Tensor:
        log_p = z.log_softmax(1)
        more = ((1 + self.beta) * log_p).exp().sum(1) - 1
        return (1 + self.beta) * _box_cox(_over_labels(log_p, y), self.beta) + more


class SCE(_Pointwise):
    """Symmetric cross-entropy a CE + b RCE (Wang et al., ICCV 2019).

    RCE = -sum_k p[k] log e[k] is the cross-entropy with the one-hot label e and p in each other's place.
    With A for log 0 it is -A (1 - p[y~]), a multiple of the mean absolute error.

    alpha, beta: 0.1 and 1 as in the paper for CIFAR-10; A = log 1e-4, as in the authors' code. That code also
        keeps p above 1e-7, beyond which an example has no gradient; here it has one.

    >>> z, y = torch.tensor([[2.0, 0.0]]), torch.tensor([1])
    >>> round(SCE(2)(z, y).item(), 4)  # 0.1 * 2.1269 + 9.2103 * 0.8808
    8.3251
    """

    def __init__(
        self,
        num_classes: int | None = None,
        alpha: float = 0.1,
        beta: float = 1.0,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(num_classes, **options)
        self.alpha = between("alpha", alpha, 0, math.inf)
        self.beta = between("beta", beta, 0, math.inf)

    def _each(self, z: Tensor, y: Tensor) -> Tensor:
        log_p = _log_p(z, y)
        return -self.alpha * log_p + self.beta * LOG_ZERO * torch.expm1(log_p)


class JensenShannon(_Pointwise):
    """JS_pi, the divergence of label and prediction, example by example (Englesson & Azizpour, NeurIPS 2021).

    (pi KL(e, m) + (1-pi)/V sum_v KL(p_v, m)) / Z, with e the one-hot label, p_v the prediction for one of V
    views of the input, m = pi e + (1-pi)/V sum_v p_v their mean, and Z = -(1-pi) log(1-pi). It leads from
    cross-entropy, pi -> 0, to 1 - p[y~], pi -> 1. With two views it is GJS, which also asks the predictions
    to agree. Not to be mixed up with ``FDivLoss("js")``, the divergence of P(X,Y~) and P(X)P(Y~).

    pi: between 0 and 1. The authors' scripts for CIFAR-10 have .7 at 40 % and .9 at 60 % symmetric noise,
        .3 at 40 % asymmetric; for GJS .9, .1 and .3. One half, the default, is the plain Jensen-Shannon
        divergence.
    views: 1, or 2 for GJS, which needs ``view_logits``; ``objective`` looks at one view.

    >>> z, y = torch.tensor([[2.0, 0.0]]), torch.tensor([1])
    >>> round(JensenShannon(2)(z, y).item(), 4)
    1.4524
    >>> loss = JensenShannon(2, views=2)
    >>> round(loss(z, y, view_logits=z).item(), 4), round(loss(z, y, view_logits=-z).item(), 4)
    (1.4524, 1.0955)
    """

    needs_view: bool = False

    def __init__(
        self,
        num_classes: int | None = None,
        pi: float = 0.5,
        *,
        views: int = 1,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(num_classes, **options)
        if not 0 < pi < 1:
            raise ValueError(
                f"pi is {pi!r}, but must lie between 0 and 1: their losses are GCE(q=0) and GCE(q=1)"
            )
        if views not in (1, 2):
            raise ValueError(f"views is {views!r}, but must be 1, or 2 for GJS")
        self.pi, self.views, self.needs_view = float(pi), views, views == 2
        self._view: Tensor | None = None

    def forward(
        self, logits: Tensor, labels: Tensor, *peers: Any, view_logits: Tensor | None = None, **named: Any
    ) -> Tensor:
        """The loss of a mini-batch.

        logits, labels, peers: as for every loss.
        view_logits: those of a second view of the same inputs, another augmentation, where ``needs_view``.
        """
        if self.needs_view != (view_logits is not None):
            need = "needs" if self.needs_view else "takes no"
            raise ValueError(
                f"JensenShannon {need} view_logits with views={self.views}: change either of them"
            )
        if view_logits is not None and view_logits.shape != logits.shape:
            raise ValueError(
                f"view_logits must be {tuple(logits.shape)} as logits, not {tuple(view_logits.shape)}"
            )
        if view_logits is not None:
            self._view = self._batch(view_logits, labels, "view_").z
        try:
            return super().forward(logits, labels, *peers, **named)
        finally:
            self._view = None

    def _each(self, z: Tensor, y: Tensor) -> Tensor:
        logs = [z.log_softmax(1)]
        if self._view is not None:
            views = self._view.repeat_interleave(len(z) // len(self._view), 0)  # one for each soft label
            logs.append(views.log_softmax(1))
        share = (1 - self.pi) / len(logs)
        # log m but for the label's share, in log space so that no p of 0 has an infinite gradient
        log_m = (logs[0] if len(logs) == 1 else torch.logaddexp(*logs)) + math.log(share)
        own = _over_labels(log_m, y)
        at_label = torch.logaddexp(own, torch.full_like(own, math.log(self.pi)))
        of_views = torch.zeros_like(own)
        for log_p in logs:
            others = (log_p.exp() * (log_p - log_m)).sum(1)
            of_views = of_views + others + _over_labels(log_p, y).exp() * (own - at_label)
        return (share * of_views - self.pi * at_label) / (-(1 - self.pi) * math.log(1 - self.pi))


# ---------------------------------------------------------------------- active and passive


@dataclass(frozen=True)
class Passive:
    """A term that pushes the other classes down, to go with normalised cross-entropy.

    name: what ``ActivePassive`` calls it.
    title: of the sum with normalised cross-entropy.
    term: from log p, y~ and the options a and q to a number per example.
    alpha, beta: the weights of active and passive term that its authors use for CIFAR-10.
    a, q: its options there.

    >>> PASSIVE["nnce"].title, PASSIVE["nnce"].beta
    ('ANL-CE', 5.0)
    """

    name: str
    title: str
    term: Callable[[Tensor, Tensor, float, float], Tensor]
    alpha: float = 1.0
    beta: float = 1.0
    a: float = 0.0
    q: float = 1.0


def _mae(log_p: Tensor, y: Tensor, a: float, q: float) -> Tensor:
    return -torch.expm1(_over_labels(log_p, y))


def _rce(log_p: Tensor, y: Tensor, a: float, q: float) -> Tensor:
    return LOG_ZERO * torch.expm1(_over_labels(log_p, y))


def _agce(log_p: Tensor, y: Tensor, a: float, q: float) -> Tensor:
    return ((a + 1) ** q - (a + _over_labels(log_p, y).exp()) ** q) / q


def _nnce(log_p: Tensor, y: Tensor, a: float, q: float) -> Tensor:
    above = (log_p - LOG_LEAST).clamp(min=0)
    return 1 - _over_labels(above, y) / above.sum(1)


def _amse(log_p: Tensor, y: Tensor, a: float, q: float) -> Tensor:
    p = log_p.exp()
    return (a * a - 2 * a * _over_labels(p, y) + (p * p).sum(1)) / p.shape[1]


PASSIVE: Registry[Passive] = Registry(
    "passive term",
    (
        Passive("mae", "NCE+MAE", _mae),  # Ma et al. (ICML 2020), whose code leaves out the 2 of |e - p|
        Passive("rce", "NCE+RCE", _rce),  # Ma et al. (ICML 2020), with the RCE of SCE
        Passive("agce", "NCE+AGCE", _agce, beta=4.0, a=6.0, q=1.5),  # Zhou et al. (ICML 2021)
        Passive("nnce", "ANL-CE", _nnce, alpha=5.0, beta=5.0),  # Ye et al. (NeurIPS 2023)
        Passive("amse", "JAL-CE", _amse, a=30.0),  # Wang et al. (ICCV 2025), asymmetric mean square error
    ),
)


class ActivePassive(_Pointwise):
    """Active and passive loss: alpha NCE + beta times a row of ``PASSIVE`` (Ma et al., ICML 2020).

    NCE is normalised cross-entropy, log p[y~] / sum_k log p[k]. It sums to 1 over the labels, but falls to 0
    as soon as *any* other class is ruled out, so that it needs the passive term to name the right one.

        mae   1 - p[y~]                                       symmetric
        rce   9.21 (1 - p[y~]), the same with another weight  symmetric
        agce  ((a+1)^q - (a+p[y~])^q) / q                     asymmetric for q >= 1, always
        nnce  1 - s[y~] / sum_k s[k], s = log max(p, 1e-7) - log 1e-7   symmetric; ANL-CE
        amse  |a e - p|^2 / K with the one-hot label e        asymmetric above a margin of 1/a; JAL-CE

    ``amse`` teaches sparsemax(a P(Y~=y|x)). For even labels and a = 2K it is, up to a factor of 4 and a
    constant, the paper's Pearson objective with its fixed g. ANL-CE and JAL-CE were published with an L1
    decay of 5e-5 in place of the L2 decay of their rivals.

    passive: a name in ``PASSIVE``.
    alpha, beta, a, q: None takes the authors' values for CIFAR-10, which stand in the row.

    >>> z, y = torch.tensor([[2.0, 0.0]]), torch.tensor([1])
    >>> [round(ActivePassive(2, passive=name)(z, y).item(), 3) for name in PASSIVE]
    [1.824, 9.056, 9.965, 7.385, 447.763]
    """

    def __init__(
        self,
        num_classes: int | None = None,
        passive: str = "rce",
        *,
        alpha: float | None = None,
        beta: float | None = None,
        a: float | None = None,
        q: float | None = None,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(num_classes, **options)
        row = PASSIVE[passive]
        self.passive = row.name
        self.alpha = between("alpha", row.alpha if alpha is None else alpha, 0, math.inf)
        self.beta = between("beta", row.beta if beta is None else beta, 0, math.inf)
        self.a = between("a", row.a if a is None else a, 0, math.inf)
        self.q = between("q", row.q if q is None else q, 1e-3, math.inf)
        self._term = row.term

    def _each(self, z: Tensor, y: Tensor) -> Tensor:
        log_p = z.log_softmax(1)
        active = _over_labels(log_p, y) / log_p.sum(1)
        return self.alpha * active + self.beta * self._term(log_p, y, self.a, self.q)


# ---------------------------------------------------------------------- other outputs, other labels


class EpsilonSoftmax(_Pointwise):
    """a CE + b MAE, the CE with epsilon-softmax in place of softmax (Wang et al., NeurIPS 2024).

    Epsilon-softmax adds m to the largest p and divides by m + 1, which brings p within
    sqrt(1 - 1/K) / (m + 1) of a one-hot vector. MAE is 2 (1 - p[y~]) with the ordinary softmax, as in the
    authors' code. m = 0 leaves CE and MAE.

    m, alpha, beta: 1e5, .01 and 5, the authors' for symmetric noise on CIFAR-10; 1e3, .02, 5 for asymmetric.
    floor: the authors' code, not their formula, keeps the result above 1e-8. With m = 1e5 an example whose
        label is not the predicted one and has p[y~] < 1e-3 thus gets no gradient from CE. 0 is the formula.

    >>> z, y = torch.tensor([[2.0, 0.0]]), torch.tensor([1])
    >>> round(EpsilonSoftmax(2)(z, y).item(), 4)  # 0.01 * (2.1269 + log 100001) + 5 * 1.7616
    8.9444
    """

    def __init__(
        self,
        num_classes: int | None = None,
        m: float = 1e5,
        *,
        alpha: float = 0.01,
        beta: float = 5.0,
        floor: float = 1e-8,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(num_classes, **options)
        self.m = between("m", m, 0, math.inf)
        self.alpha = between("alpha", alpha, 0, math.inf)
        self.beta = between("beta", beta, 0, math.inf)
        self.floor = between("floor", floor, 0, 1)

    def _each(self, z: Tensor, y: Tensor) -> Tensor:
        log_p = _log_p(z, y)
        predicted = z.argmax(1) == y
        # log((p + m) / (m + 1)), only where the label is the predicted class: there p >= 1/K keeps it finite
        raised = torch.log1p(torch.expm1(torch.where(predicted, log_p, 0)) / (self.m + 1))
        log_output = torch.where(predicted, raised, log_p - math.log1p(self.m))
        least = math.log(self.floor) if self.floor else -math.inf
        return -self.alpha * log_output.clamp(min=least) - 2 * self.beta * torch.expm1(log_p)


class LogitClip(_Pointwise):
    """Cross-entropy of z tau / max(tau, |z|), logits of length tau at most (Wei et al., ICML 2023).

    It bounds the loss, and the largest logit stays the largest. Infinite data teach P(Y~=y|x) where logits of
    that length can express it, else something flatter. The released code, and that of Wang et al.
    (2024), has another threshold: logits longer than 1/tau are set to the length tau, which for tau > 1 makes
    some of them longer. Both agree for tau = 1, the default, which Wang et al. take for symmetric noise below
    one half.

    tau: a positive number; the paper chooses it by validation.

    >>> z, y = torch.tensor([[2.0, 0.0]]), torch.tensor([1])
    >>> round(LogitClip(2)(z, y).item(), 4)  # that of the logits (1, 0)
    1.3133
    """

    def __init__(self, num_classes: int | None = None, tau: float = 1.0, **options: Unpack[Options]) -> None:
        super().__init__(num_classes, **options)
        self.tau = between("tau", tau, 1e-6, math.inf)

    def _each(self, z: Tensor, y: Tensor) -> Tensor:
        length = torch.linalg.vector_norm(z, dim=1, keepdim=True)
        return -_log_p(z * (self.tau / length.clamp(min=self.tau)), y)


class NegativeLabelSmoothing(_Pointwise):
    """(1 - r) CE + r mean_k(-log p[k]) with a negative r, after cross-entropy (Wei et al., ICML 2022).

    For labels of which a share e is drawn anew, evenly, r = -e/(1 - e) is backward correction by that T:
    infinite data then teach the clean P(Y=y|x). In general they teach (1 - r) P(Y~=y|x) + r/K if no entry of
    that is negative; else, and on any finite sample, the loss falls without limit as some p go to 0.

    rate: r, below 1; the paper tries 0.8 to -8. -1 undoes an even draw of half of the labels.
    warm_up: the share of the epochs with r = 0, in place of the authors' separate stage of cross-entropy.
        ``objective`` takes ``rate``, so that its values compare between epochs.

    >>> z, y = torch.tensor([[2.0, 0.0]]), torch.tensor([1])
    >>> loss = NegativeLabelSmoothing(2)
    >>> round(loss(z, y).item(), 4)  # 2 * 2.1269 - (0.1269 + 2.1269) / 2
    3.1269
    >>> loss.set_epoch(0, 10)
    >>> round(loss(z, y).item(), 4)
    2.1269
    """

    def __init__(
        self,
        num_classes: int | None = None,
        rate: float = -1.0,
        *,
        warm_up: float = 0.5,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(num_classes, **options)
        self.rate = between("rate", rate, -math.inf, 1)
        self.warm_up = between("warm_up", warm_up, 0, 1)
        self.smoothing = self.rate

    def set_epoch(self, epoch: int, epochs: int) -> None:
        """Set the present rate for ``epoch`` of ``epochs``, counted from 0."""
        self.smoothing = 0.0 if epoch < self.warm_up * epochs else self.rate

    def _each(self, z: Tensor, y: Tensor) -> Tensor:
        return self._smoothed(z, y, self.smoothing)

    def _objective(self, batch: Batch) -> Tensor:
        return -_mean(self._smoothed(batch.z, batch.y, self.rate), batch.w)

    def _smoothed(self, z: Tensor, y: Tensor, rate: float) -> Tensor:
        log_p = z.log_softmax(1)
        return -(1 - rate) * _over_labels(log_p, y) - rate * log_p.mean(1)


class FPML(_Pointwise):
    """f-PML with the shifted logarithm: D[y~] - mean_k(log D[k] - D[k]) (Novello & Tonello, ICML 2024).

    D = 1/(1 + e^z) of the logits z, class by class and without a softmax. Infinite data teach
    D = 1/(1 + K P(Y~=y|x)), so that z is log K P(Y~=y|x): its arg max is the decision, its softmax the noisy
    posterior, which ``clean_posterior`` corrects at test time. The mean over the classes is that of the
    authors' code, whose network puts out -z; a sum in its place would teach D = 1/(1 + P(Y~=y|x)). That code
    takes the mean on a batch of its own, which is the same in expectation.

    alpha: weight of the mean; 1 in the authors' code for noisy labels, 0.8 in that for clean photographs.
        Infinite data teach the same softmax of z with any of them.

    >>> z, y = torch.tensor([[2.0, 0.0]]), torch.tensor([1])
    >>> round(FPML(2)(z, y).item(), 4)
    2.2196
    """

    def __init__(
        self, num_classes: int | None = None, alpha: float = 1.0, **options: Unpack[Options]
    ) -> None:
        super().__init__(num_classes, **options)
        self.alpha = between("alpha", alpha, 0, math.inf)
        self.score = "logit"  # one for each class: one column for two of them would not teach both D

    def _each(self, z: Tensor, y: Tensor) -> Tensor:
        D = torch.sigmoid(-z)
        return _over_labels(D, y) + self.alpha * (D - nn.functional.logsigmoid(-z)).mean(1)


def clean_posterior(logits: Tensor, T: Any) -> Tensor:
    """Return P(Y=y|x) for logits that have learnt P(Y~=y|x), by the inverse of T (Novello & Tonello, 2025).

    With T[i, j] = P(Y~=j|Y=i), P(Y~|x) is P(Y|x) T, a row vector times T. What T^-1 makes of an estimate
    may have negative entries; the distribution nearest to it is returned, and the largest entry stays the
    largest. For T with one e[j] in column j off the diagonal this is (P(Y~=j|x) - e[j]) / (1 - sum e), and
    with equal e the decision does not change.

    logits: one row per input, trained with a proper loss: ``FPML``, ``BetaDivergence`` or cross-entropy.
    T: the transition matrix, invertible.

    >>> noisy = torch.tensor([[0.55, 0.45]], dtype=torch.float64)
    >>> clean_posterior(noisy.log(), [[0.9, 0.1], [0.4, 0.6]])
    tensor([[0.3000, 0.7000]], dtype=torch.float64)
    """
    T = transition(T)
    if is_singular(T):
        raise ValueError(f"T must be invertible, but has rank {rank(T)} of {len(T)}")
    noisy = logits.softmax(1, dtype=torch.promote_types(logits.dtype, torch.float32))
    return _nearest_distribution(noisy @ torch.as_tensor(np.linalg.inv(T)).to(noisy))


class ELR(NoisyLabelLoss):
    """Early-learning regularisation CE + l mean log(1 - <t, p>) (Liu et al., NeurIPS 2020).

    t is the running mean of the example's own predictions, b t + (1 - b) p, kept in the buffer ``targets``,
    which ``memory()`` returns and which takes no gradient. As in the authors' code p is kept within
    [1e-4, 1 - 1e-4] and t starts at 0, without a correction for that. Examples of another set have no t:
    ``objective`` takes their prediction itself, which t tends to as the predictions settle. It rewards being
    sure, so that it is nearly always largest at the last epoch; the authors' program judges validation data
    by cross-entropy, and chooses the epoch by accuracy.

    num_classes: K.
    examples: how many training examples there are, which are numbered from 0.
    beta, strength: b and l; 0.7 and 3 as the authors have them for symmetric noise on CIFAR-10, 0.9 and 1 for
        asymmetric.

    >>> loss = ELR(2, examples=5)
    >>> z, y = torch.tensor([[2.0, 0.0]]), torch.tensor([1])
    >>> round(loss(z, y, index=torch.tensor([3])).item(), 4)
    1.3154
    >>> loss.targets[3]
    tensor([0.2642, 0.0358])
    """

    needs_index: bool = True

    def __init__(
        self,
        num_classes: int,
        examples: int,
        *,
        beta: float = 0.7,
        strength: float = 3.0,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(num_classes, **options)
        if examples < 1:
            raise ValueError(f"examples is {examples!r}, but must be the number of training examples")
        self.beta = between("beta", beta, 0, 1)
        self.strength = between("strength", strength, 0, math.inf)
        self.targets: Tensor
        self.register_buffer("targets", torch.zeros(examples, num_classes), persistent=False)
        self._index: Tensor | None = None

    def forward(
        self, logits: Tensor, labels: Tensor, *peers: Any, index: Tensor | None = None, **named: Any
    ) -> Tensor:
        """The loss of a mini-batch; in training mode, with gradients on, the means of its examples move.

        logits, labels, peers: as for every loss.
        index: the numbers of the examples among all training examples, none of them twice; where a label
            belongs to a pixel, each pixel is an example.
        """
        self._index = index
        try:
            return super().forward(logits, labels, *peers, **named)
        finally:
            self._index = None

    def _loss(self, batch: Batch, peers: Batch | None) -> Tensor:
        (z, y, w), index = batch, self._checked_index(len(batch.z))
        p = _inside(z)
        target = self.targets[index].to(z.dtype)
        if self._learns():
            target = self.beta * target + (1 - self.beta) * _shares(p)
            self.targets[index] = target.to(self.targets.dtype)
        return self._reduce(self._towards(target, p, z, y), w)

    def _checked_index(self, count: int) -> Tensor:
        index, last = self._index, len(self.targets) - 1
        if not isinstance(index, Tensor) or index.dtype != torch.int64 or index.numel() != count:
            raise ValueError(
                "ELR needs the number of each training example: pass index, a tensor of int64 as long as"
                " labels"
            )
        if self._looks():
            low, high = (int(end) for end in index.aminmax())
            if not 0 <= low <= high <= last:
                bad = low if low < 0 else high
                raise ValueError(f"index holds {bad}, but examples are numbered from 0 to {last}")
        return index.flatten()

    def _objective(self, batch: Batch) -> Tensor:
        z, y, w = batch
        p = _inside(z)
        return -_mean(self._towards(_shares(p), p, z, y), w)

    def _towards(self, target: Tensor, p: Tensor, z: Tensor, y: Tensor) -> Tensor:
        return -_log_p(z, y) + self.strength * torch.log(1 - (target * p).sum(1))


def _inside(z: Tensor) -> Tensor:
    return z.softmax(1).clamp(1e-4, 1 - 1e-4)


def _shares(p: Tensor) -> Tensor:
    return p.detach() / p.detach().sum(1, keepdim=True)


# ---------------------------------------------------------------------- around the loss


def label_wave(changes: Sequence[float], *, window: int = 3, patience: int = 10) -> int:
    """Return the epoch, counted from 1, that Label Wave chooses (Yuan, Feng & Liu, ICLR 2024, algorithm 1).

    The wave is how many training examples are predicted otherwise than an epoch before, and its first valley
    comes before the network learns the wrong labels. A valley is a running mean that is not undercut for
    ``patience`` epochs; without any, the lowest one counts. No label is looked at, neither clean nor noisy.

    It was published for a constant learning rate: one that falls calms the predictions by itself, and then
    the last epoch is chosen. Nor is it meant for few wrong labels, or for a loss that does not learn them.

    changes: for each epoch, the number or share of examples whose prediction changed; the first epoch has no
        epoch before it, and nothing or nan there is passed over. The authors' program takes the predictions
        that are made while the epoch runs, ``fdiv.experiments.then_and_now`` those after it.
    window: over how many epochs the running mean goes, the last of which is the one returned.
    patience: 10 as in others' code; the paper names it, without a value.

    >>> label_wave([float("nan"), 9, 5, 3, 4, 6, 8, 8, 7, 1], window=1, patience=3)
    4
    """
    if window < 1 or patience < 1:
        raise ValueError(f"window is {window!r} and patience {patience!r}, but both must be at least 1")
    known = [(epoch, float(value)) for epoch, value in enumerate(changes, 1) if not math.isnan(value)]
    means = {
        known[end][0]: sum(value for _, value in known[end - window + 1 : end + 1]) / window
        for end in range(window - 1, len(known))
    }
    if not means:
        raise ValueError(f"label_wave needs at least {window} epochs with changes, but got {len(known)}")
    best = next(iter(means))
    for epoch, mean in means.items():
        if mean < means[best]:
            best = epoch
        elif epoch - best >= patience:
            break
    return best


def sharpness_aware(model: nn.Module, backward: Callable[[], Tensor], rho: float = 0.05) -> Tensor:
    """Leave the gradients of sharpness-aware minimisation in ``model``, and return the loss.

    SAM (Foret et al., ICLR 2021) takes two passes: the first finds the gradient g, the weights move to
    w + rho g/|g|, the second takes the gradient there, and the weights return to w, bit by bit. An
    optimiser's step is to follow. Batch normalisation does not remember the second pass; a loss with a
    memory, as ``ELR``, remembers both. The authors' program counts the L2 decay as a part of the loss, so
    that g holds it; here decay is left to the optimiser.

    model: its parameters without a gradient are left alone.
    backward: computes the loss, calls its ``backward`` and returns it; called twice on the same batch. A loss
        scaled for half precision may be used, as the step does not depend on the length of g.
    rho: how far the weights move; 0.05 is the paper's default.

    >>> line = nn.Linear(1, 1, bias=False)
    >>> _ = line.weight.data.fill_(2.0)
    >>> def backward():
    ...     value = (line.weight**2).sum()
    ...     value.backward()
    ...     return value.detach()
    >>> sharpness_aware(line, backward, rho=0.5), line.weight.item(), line.weight.grad.item()
    (tensor(4.), 2.0, 5.0)
    """
    value = backward()
    moved: list[Any] = [w for w in model.parameters() if w.grad is not None]
    length = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(w.grad) for w in moved]))
    # an overflow of scaled gradients makes no step: the optimiser's scaler will see it in the second pass
    step = torch.where(length.isfinite() & (length > 0), rho / length, 0)
    before = [w.detach().clone() for w in moved]
    with torch.no_grad():
        for w in moved:
            w.add_(w.grad.nan_to_num(0, 0, 0) * step)
            w.grad = None
    tracking: list[Any] = [m for m in model.modules() if getattr(m, "track_running_stats", False)]
    for module in tracking:
        module.track_running_stats = False
    try:
        backward()
    finally:
        for module in tracking:
            module.track_running_stats = True
        with torch.no_grad():
            for w, old in zip(moved, before, strict=True):
                w.copy_(old)
    return value


def weight_average(model: nn.Module, decay: float = 0.999) -> AveragedModel:
    """Return the exponential running mean of the weights of ``model``, itself a model.

    After each step of the optimiser call ``update_parameters(model)`` on it; the first call copies. The
    running statistics of batch normalisation are averaged, too, and its ``state_dict`` is all that a
    checkpoint needs. With a decay of the learning rate and augmentation this makes a strong cross-entropy,
    which is what other methods should be compared with.

    decay: the share of the old mean that is kept in a step.

    >>> line = nn.Linear(1, 1, bias=False)
    >>> mean = weight_average(line, decay=0.75)
    >>> for value in (0.0, 4.0):
    ...     _ = line.weight.data.fill_(value)
    ...     mean.update_parameters(line)
    >>> mean.module.weight.item()
    1.0
    """
    rule = get_ema_multi_avg_fn(between("decay", decay, 0, 1))
    return AveragedModel(model, multi_avg_fn=rule, use_buffers=True)


# ---------------------------------------------------------------------- what a loss learns


def learned_decision(loss: NoisyLabelLoss, posterior: Any, *, reach: float = 30.0) -> np.ndarray:
    """Return the p that minimises the expected loss at one input; its arg max is the decision that is learnt.

    The expected loss is sum_k P(Y~=k|x) loss(z, k), a function of the logits z. As many of these losses have
    several minima, the best of some hundred guesses is looked for first, then L-BFGS goes downhill from it.

    loss: one whose value is a mean over examples, such as all of ``MODERN`` that need no index, or
        ``FDivLoss`` with its ``label_prior`` given.
    posterior: P(Y~=k|x), K probabilities.
    reach: how far a logit may go; a p of e^-reach counts as 0.

    >>> noisy = [0.5, 0.3, 0.2]
    >>> learned_decision(BetaDivergence(3), noisy).round(3), learned_decision(GCE(3, q=1), noisy).round(3)
    (array([0.5, 0.3, 0.2]), array([1., 0., 0.]))
    """
    from scipy.optimize import minimize  # slow to import

    noisy = torch.as_tensor(np.asarray(posterior, dtype=np.float64))
    if noisy.ndim != 1 or not (noisy >= 0).all() or abs(noisy.sum() - 1) > 1e-8:
        raise ValueError(f"posterior must be probabilities that sum to 1, not {noisy.tolist()}")
    if getattr(loss, "needs_index", False):
        raise ValueError("what this loss learns depends on what it saw before: use one that needs no index")
    loss, labels = copy.deepcopy(loss).eval(), torch.arange(len(noisy))
    loss.check = False  # looking at values is not for vmap
    two_views = getattr(loss, "needs_view", False)

    def risk(z: Tensor) -> Tensor:
        extra = {"view_logits": z[None]} if two_views else {}
        return torch.func.vmap(lambda k: loss(z[None], k[None], **extra))(labels) @ noisy

    def risk_and_slope(z: np.ndarray) -> tuple[float, np.ndarray]:
        slope, value = torch.func.grad_and_value(risk)(torch.as_tensor(z))
        return value.item(), slope.numpy()

    # guesses: the posterior made sharper or flatter, even shares of its largest classes, corners, mixtures
    order, eye = noisy.argsort(descending=True), torch.eye(len(noisy), dtype=torch.float64)
    powers = [noisy.clamp(min=1e-9) ** t for t in np.geomspace(0.01, 30, 30)]
    guesses = torch.stack([*powers, *eye[order].cumsum(0)])
    guesses = guesses / guesses.sum(1, keepdim=True)
    mixtures = [share * eye + (1 - share) * noisy for share in (0.1, 0.3, 0.5, 0.7, 0.9, 0.99)]
    logits = (len(noisy) * torch.cat([guesses, *mixtures, eye])).log().clamp(min=-reach)
    start = logits[torch.func.vmap(risk)(logits).argmin()].numpy()
    bounds = [(-reach, reach)] * len(noisy)
    z = minimize(risk_and_slope, start, jac=True, bounds=bounds, options={"ftol": 1e-14, "gtol": 1e-9}).x
    p = np.exp(z - z.max())
    return p / p.sum()


DECISIONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "posterior": lambda posterior, prior: posterior,
    "difference": lambda posterior, prior: posterior - prior,
    "ratio": lambda posterior, prior: posterior / prior,
}


def trials(count: int = 4) -> list[tuple[np.ndarray, list[np.ndarray]]]:
    """Return label priors of three classes, each with posteriors for which ``DECISIONS`` do not agree.

    count: how many posteriors for each prior.

    >>> prior, posteriors = trials()[0]
    >>> {int(score(posteriors[0], prior).argmax()) for score in DECISIONS.values()} == {0}
    False
    """
    draw, found = np.random.default_rng(0), []
    for prior in np.array([[0.6, 0.25, 0.15], [0.2, 0.62, 0.18], [0.45, 0.4, 0.15], [0.3, 0.2, 0.5]]):
        some: list[np.ndarray] = []
        for posterior in draw.dirichlet([2, 2, 2], size=1000):
            scores = [score(posterior, prior) for score in DECISIONS.values()]
            clear = all(np.diff(np.sort(one))[-1] > 0.03 for one in scores) and posterior.min() > 0.05
            if clear and len({one.argmax() for one in scores}) > 1 and len(some) < count:
                some.append(posterior)
        found.append((prior, some))
    return found


@dataclass(frozen=True)
class Nature:
    """What a loss is, found by computing and not by reading its paper.

    proper: infinite data teach P(Y~=y|x) itself.
    bounded: no example costs more than some number, however wrong the model is.
    symmetric: the losses of all labels sum to a constant, so that even noise only scales the risk.
    decides: the key of ``DECISIONS`` whose largest value is answered; "other" where it is none of them.
    """

    proper: bool
    bounded: bool
    symmetric: bool
    decides: str


def nature(build: Callable[[np.ndarray], NoisyLabelLoss]) -> Nature:
    """Return what a loss is.

    build: returns the loss for three classes of a given label prior, which many losses do not need.

    >>> nature(lambda prior: GCE(3, q=1))
    Nature(proper=False, bounded=True, symmetric=True, decides='posterior')
    """
    agree, proper = dict.fromkeys(DECISIONS, True), True
    for prior, posteriors in trials():
        loss = build(prior)
        loss.set_epoch(1, 1)  # of a loss with a schedule, what it ends as
        for posterior in posteriors:
            p = learned_decision(loss, posterior)
            proper &= bool(np.abs(p - posterior).max() < 1e-3)
            for name, score in DECISIONS.items():
                agree[name] &= bool(p.argmax() == score(posterior, prior).argmax())
    even = build(np.full(3, 1 / 3))
    even.set_epoch(1, 1)
    draw = torch.Generator().manual_seed(0)
    z = 3 * torch.randn(20, 3, generator=draw, dtype=torch.float64)
    sums = torch.stack([even_loss(even, z, label) for label in range(3)]).sum(0)
    far = torch.tensor([[0.0, 1.0, 0.0]], dtype=torch.float64)
    near, further = (even_loss(even, size * far, 0).item() for size in (100.0, 200.0))
    return Nature(
        proper=proper,
        bounded=further - near < 1e-6 * max(1.0, abs(near)),
        symmetric=bool(sums.max() - sums.min() < 1e-8),
        decides=next((name for name, right in agree.items() if right), "other"),
    )


def even_loss(loss: NoisyLabelLoss, z: Tensor, label: int) -> Tensor:
    """Return the loss of each row of ``z`` by itself, all with the same label.

    >>> even_loss(GCE(2, q=1), torch.zeros(2, 2), 0)
    tensor([0.5000, 0.5000])
    """
    return torch.stack([loss(row[None], torch.tensor([label])) for row in z])


def tolerates(decides: str, T: Any, prior: Any = None) -> np.ndarray:
    """Return, class by class, whether examples that certainly belong to it are still answered right under T.

    decides: a key of ``DECISIONS``, see ``nature``.
    T: the transition matrix.
    prior: the shares of the clean classes; by default all are equal.

    >>> T = [[0.4, 0.6], [0.0, 1.0]]
    >>> tolerates("posterior", T), tolerates("difference", T)
    (array([False,  True]), array([ True,  True]))
    """
    T = np.asarray(transition(T))
    clean = np.full(len(T), 1 / len(T)) if prior is None else np.asarray(prior, dtype=np.float64)
    score = DECISIONS[choose("decision", decides, tuple(DECISIONS))](T, clean @ T)
    others = np.where(np.eye(len(T), dtype=bool), -np.inf, score).max(1)
    return np.diag(score) > others


# ---------------------------------------------------------------------- pieces


def _log_p(z: Tensor, y: Tensor) -> Tensor:
    """log p[y~], one number per example."""
    return _over_labels(z.log_softmax(1), y)


def _box_cox(log_p: Tensor, q: float) -> Tensor:
    """(1 - p^q) / q, and its limit -log p at q = 0."""
    return -torch.expm1(q * log_p) / q if q else -log_p


# ---------------------------------------------------------------------- rows


def _build(
    kind: Callable[..., NoisyLabelLoss], *options: Any, **named: Any
) -> Callable[[Any], NoisyLabelLoss]:
    return lambda given: kind(given.num_classes, *options, **named)


# What a row of methods.py needs: Method(**row). ``build`` takes anything with num_classes, and for ELR with
# examples; the loss says by needs_index or needs_view what else its forward must be given. What follows it is
# said of few rows.
_ROWS: tuple[tuple[Any, ...], ...] = (
    ("gce", "GCE", "#0072B2", "dot", ("generalised-cross-entropy",), _build(GCE)),
    ("beta", "Beta divergence", "#0072B2", "dashdot", ("density-power",), _build(BetaDivergence)),
    ("sce", "SCE", "#E69F00", "dot", ("symmetric-cross-entropy",), _build(SCE)),
    ("nce-mae", "NCE+MAE", "#009E73", "dot", (), _build(ActivePassive, "mae")),
    ("nce-rce", "NCE+RCE", "#009E73", "dashdot", (), _build(ActivePassive, "rce")),
    ("nce-agce", "NCE+AGCE", "#009E73", "longdash", (), _build(ActivePassive, "agce")),
    ("anl-ce", "ANL-CE", "#CC79A7", "dot", (), _build(ActivePassive, "nnce")),
    ("jal-ce", "JAL-CE", "#CC79A7", "dashdot", (), _build(ActivePassive, "amse")),
    ("js-pi", "JS_pi", "#D55E00", "dot", ("pointwise-js",), _build(JensenShannon)),
    ("gjs", "GJS", "#D55E00", "dashdot", (), _build(JensenShannon, views=2), {"two_views": True}),
    ("eps-softmax", "ε-softmax CE+MAE", "#56B4E9", "dot", ("epsilon-softmax",), _build(EpsilonSoftmax)),
    ("logit-clip", "LogitClip", "#56B4E9", "dashdot", (), _build(LogitClip)),
    ("nls", "NLS", "#7A5C00", "dot", ("negative-label-smoothing",), _build(NegativeLabelSmoothing)),
    ("f-pml", "f-PML (SL)", "#5A3E99", "dot", ("shifted-log",), _build(FPML)),
    ("elr", "ELR", "#8C2D04", "dashdot", (), lambda given: ELR(given.num_classes, given.examples)),
)
_FIELDS = ("name", "title", "colour", "dash", "aliases", "build")
MODERN: tuple[dict[str, Any], ...] = tuple(
    dict(zip(_FIELDS, row[: len(_FIELDS)], strict=True))
    | {"group": "modern", "recipe": "ce"}
    | dict(*row[len(_FIELDS) :])
    for row in _ROWS
)
