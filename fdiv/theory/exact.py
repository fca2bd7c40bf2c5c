"""Exact calculus on finite tables: every theorem of the paper as one call, without sampling.

A joint table has one row per value of h(X) and one column per label, P[y, y'] = P(h(X) = y, Y = y'). As
label noise does not look at X, the noisy table is P~ = P T, and the product of its margins Q~ = Q T. The
theorems compare the variational difference of P with that of P~.

Conventions:

* Everything is float64 and comes back as a torch tensor; tables, g and T may be tensors, arrays or lists.
* Binary tables have the column of +1 first and that of -1 second, the paper's relabelling 1 -> +1, 2 -> -1.
  So uniform rates are e = (e_-, e_+): e_j is the chance of landing *on* j.
* g is a table of the shape of P with values in the domain of f*. Where a g has left the domain a variational
  difference is -inf; g = -inf, the optimal g where P has no mass, counts with its limit. Where Q has no mass
  g is not looked at.
* A row may also be one x: on P(X, Y), with a table g(x, y), each function states the same about a g that sees
  x itself. So it is with Algorithm 1, whose g(x, y) = g_f(h_x[y]).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from fdiv.arrays import transition
from fdiv.theory.divergences import DIVERGENCES, Divergence, slopes
from fdiv.theory.divergences import divergence as look_up

__all__ = [
    "DECISION_RULES", "Decoupling", "accuracy", "bias", "bias_corrected", "ceiling", "classify", "decide",
    "decouple_binary", "decouple_covariance", "decouple_sparse", "decouple_sparse_printed",
    "decouple_uniform", "delta", "f_divergence", "fitness", "fixed_g_optimum", "inverse_corrected", "noisy",
    "optimal_g", "product", "variational_difference",
]  # fmt: skip

Numbers = Tensor | Any
Name = str | Divergence

# ---------------------------------------------------------------------- tables


def classify(xy: Numbers, h: Numbers, num_predictions: int | None = None) -> Tensor:
    """Return the joint table P(h(X), Y) of a classifier (Section 2.1).

    xy: P(X, Y), one row per x.
    h: the predicted class of each x, a vector of integers; or a table with h[x, k] = P(h(x) = k).
    num_predictions: the number of classes that a vector h predicts; the number of labels unless given.

    >>> classify([[0.3, 0.1], [0.1, 0.2], [0.1, 0.2]], [0, 1, 1])
    tensor([[0.3000, 0.1000],
            [0.2000, 0.4000]], dtype=torch.float64)
    """
    xy, h = _joint(xy), _float64(h)
    h = _one_hot(h, num_predictions or xy.shape[1]) if h.ndim == 1 else _rows(h, "h")
    if len(h) != len(xy):
        raise ValueError(f"h must have one entry per x, but has {len(h)} for {len(xy)}")
    return h.T @ xy


def product(joint: Numbers) -> Tensor:
    """Return Q, the product of the margins of a joint table (Section 2.1).

    joint: P(h(X), Y).

    >>> product([[0.3, 0.1], [0.2, 0.4]])
    tensor([[0.2000, 0.2000],
            [0.3000, 0.3000]], dtype=torch.float64)
    """
    joint = _joint(joint)
    return joint.sum(1, keepdim=True) * joint.sum(0, keepdim=True)


def noisy(joint: Numbers, T: Numbers) -> Tensor:
    """Return P~ = P T, the joint table with the noisy label (Section 2.3); its product is Q~ = Q T.

    joint: P(h(X), Y).
    T: the transition matrix, T[i, j] = P(Y~=j | Y=i).

    >>> noisy([[0.5, 0.0], [0.0, 0.5]], [[0.8, 0.2], [0.4, 0.6]])
    tensor([[0.4000, 0.1000],
            [0.2000, 0.3000]], dtype=torch.float64)
    """
    joint = _joint(joint)
    return joint @ _transition(T, joint.shape[1])


def accuracy(joint: Numbers) -> Tensor:
    """Return P(h(X) = Y), the mass on the diagonal.

    joint: P(h(X), Y), with as many predictions as labels.

    >>> accuracy([[0.4, 0.1], [0.2, 0.3]]).item()
    0.7
    """
    joint = _joint(joint)
    if joint.shape[0] != joint.shape[1]:
        raise ValueError(
            f"accuracy needs a table of predictions by labels, not of shape {tuple(joint.shape)}"
        )
    return joint.diagonal().sum()


def fitness(joint: Numbers) -> Tensor:
    """Return FIT(h=y, Y=y') = P(h=y | Y=y') / P(h=y), the ratio P/Q (Section 4.2); 1 where Q has no mass.

    joint: P(h(X), Y).

    >>> fitness([[0.5, 0.0], [0.0, 0.5]])
    tensor([[2., 0.],
            [0., 2.]], dtype=torch.float64)
    """
    joint, q = _joint(joint), product(joint)
    return torch.where(q > 0, joint / q, 1)


# ---------------------------------------------------------------------- divergence and variational form


def f_divergence(joint: Numbers, divergence: Name) -> Tensor:
    """Return D_f(P||Q) between a joint table and its product, the f-mutual information (Section 2.1).

    joint: P(h(X), Y).
    divergence: a name, or a row.

    >>> f_divergence([[0.5, 0.0], [0.0, 0.5]], "tv").item()
    0.5
    """
    joint = _joint(joint)
    return look_up(divergence)(joint, product(joint))


def optimal_g(joint: Numbers, divergence: Name) -> Tensor:
    """Return g* = f'(P/Q), at which the variational difference equals D_f(P||Q) (Table 1).

    joint, divergence: as in ``f_divergence``.

    >>> optimal_g([[0.4, 0.1], [0.1, 0.4]], "tv")
    tensor([[ 0.5000, -0.5000],
            [-0.5000,  0.5000]], dtype=torch.float64)
    """
    return look_up(divergence).derivative(fitness(joint))


def variational_difference(joint: Numbers, g: Numbers, divergence: Name) -> Tensor:
    """Return VD_f(h, g) = E_P[g] - E_Q[f*(g)] (Section 2.1), at most D_f(P||Q).

    joint, divergence: as in ``f_divergence``.
    g: a table of the same shape; where it leaves the domain of f* the result is -inf.

    >>> round(variational_difference([[0.4, 0.1], [0.1, 0.4]], [[0.5, -0.5], [-0.5, 0.5]], "tv").item(), 6)
    0.3
    """
    joint, g, d = _arguments(joint, g, divergence)
    return _terms(joint, product(joint), g, d).sum()


def delta(joint: Numbers, g: Numbers, divergence: Name) -> Tensor:
    """Return Delta^y_f(h, g) = E_X[g(h(X), y)] - E_X[f*(g(h(X), y))], one number per label y (Section 3).

    joint, g, divergence: as in ``variational_difference``.

    >>> delta([[0.4, 0.1], [0.1, 0.4]], [[0.5, -0.5], [-0.5, 0.5]], "pearson")
    tensor([-0.0625, -0.0625], dtype=torch.float64)
    """
    joint, g, d = _arguments(joint, g, divergence)
    margin = joint.sum(1, keepdim=True).expand_as(g)
    return _terms(margin, margin, g, d).sum(0)


def bias(joint: Numbers, g: Numbers, divergence: Name, e: Numbers) -> Tensor:
    """Return Bias_f(h, g) = sum_j e_j Delta^j_f(h, g) of uniform off-diagonal noise (Section 3).

    Only the margin of h enters, so that a clean and a noisy joint table give the same result.

    joint, g, divergence: as in ``variational_difference``.
    e: the rates; (e_-, e_+) for binary labels, where the bias is e_+ Delta^{-1} + e_- Delta^{+1}.

    >>> round(bias([[0.4, 0.1], [0.1, 0.4]], [[0.5, -0.5], [-0.5, 0.5]], "pearson", (0.1, 0.2)).item(), 6)
    -0.01875
    """
    change = delta(joint, g, divergence)
    return _weighted(_rates(e, len(change)), change).sum()


# ---------------------------------------------------------------------- decoupling


@dataclass(frozen=True, eq=False)
class Decoupling:
    """One side of a theorem: the parts of a noisy variational difference.

    clean: the part that label noise only scales.
    bias: the part that it adds.
    covariance: the rest under a T that is not uniform off-diagonal (``decouple_covariance``), or 0.

    >>> print(Decoupling(torch.tensor(0.25), torch.tensor(-0.05)))
    0.25 (clean) -0.05 (bias) = 0.2
    """

    clean: Tensor
    bias: Tensor
    covariance: Tensor | float = 0.0

    @property
    def total(self) -> Tensor:
        """The sum, to be compared with ``variational_difference(noisy(joint, T), g, divergence)``."""
        return self.clean + self.bias + self.covariance

    def __str__(self) -> str:
        parts = f"{float(self.clean):.6g} (clean) {float(self.bias):+.6g} (bias)"
        rest = f" {float(self.covariance):+.6g} (covariance)" if isinstance(self.covariance, Tensor) else ""
        return f"{parts}{rest} = {float(self.total):.6g}"


def decouple_binary(
    joint: Numbers, g: Numbers, divergence: Name, e_plus: float, e_minus: float
) -> Decoupling:
    """Theorem 4, binary: VD~_f(h, g) = (1 - e_+ - e_-) VD_f(h, g) + Bias_f(h, g). Holds.

    joint, g, divergence: as in ``variational_difference``, with two columns.
    e_plus, e_minus: P(Y~ = -1 | Y = +1) and P(Y~ = +1 | Y = -1).

    >>> print(decouple_binary([[0.4, 0.1], [0.1, 0.4]], [[0.5, -0.5], [-0.5, 0.5]], "pearson", 0.2, 0.1))
    0.16625 (clean) -0.01875 (bias) = 0.1475
    """
    if _joint(joint).shape[1] != 2:
        raise ValueError(f"a binary table has 2 columns, +1 and -1, not {_joint(joint).shape[1]}")
    return decouple_uniform(joint, g, divergence, (e_minus, e_plus))


def decouple_uniform(joint: Numbers, g: Numbers, divergence: Name, e: Numbers) -> Decoupling:
    """Theorem 5, uniform off-diagonal: VD~_f(h, g) = (1 - sum_j e_j) VD_f(h, g) + Bias_f(h, g). Holds.

    joint, g, divergence: as in ``variational_difference``.
    e: the chance e_j of landing on j from any other class, one per class or one for all, so that
        T = (1 - sum_j e_j) I + 1 e'. Under no other T is VD~ = c VD + sum_j w_j Delta^j for all h and g.

    >>> print(decouple_uniform([[0.4, 0.1], [0.1, 0.4]], [[0.5, -0.5], [-0.5, 0.5]], "tv", 0.2))
    0.18 (clean) +0 (bias) = 0.18
    """
    e = _rates(e, _joint(joint).shape[1])
    clean = _weighted(1 - e.sum(), variational_difference(joint, g, divergence))
    return Decoupling(clean, bias(joint, g, divergence, e))


def decouple_sparse_printed(
    joint: Numbers, g: Numbers, divergence: Name, pairs: Sequence[tuple[int, int]], e1: float, e2: float
) -> Decoupling:
    """Theorem 9 (appendix, sparse noise) as printed, which holds for K = 2 only; see ``decouple_sparse``.

    (1 - e1 - e2) VD_f(h, g) + sum_c [e1 Delta^{j_c} + e2 Delta^{i_c}], with e1 = T_ij and e2 = T_ji.

    joint, g, divergence: as in ``variational_difference``.
    pairs: the (i_c, j_c); every class is in one of them, as the theorem assumes.
    e1, e2: one number each.

    >>> joint, g = torch.eye(4) / 4, [[0.5, 0.5, -0.5, -0.5]] * 2 + [[-0.5, -0.5, 0.5, 0.5]] * 2
    >>> print(decouple_sparse_printed(joint, g, "tv", [(0, 1), (2, 3)], 0.3, 0.2))
    0.25 (clean) +0 (bias) = 0.25
    """
    change = delta(joint, g, divergence)
    pairs, e1, e2 = _pairs(pairs, len(change)), *_rates((e1, e2), 2)
    clean = _weighted(1 - e1 - e2, variational_difference(joint, g, divergence))
    return Decoupling(clean, (_weighted(e1, change[pairs[:, 1]]) + _weighted(e2, change[pairs[:, 0]])).sum())


def decouple_sparse(
    joint: Numbers, g: Numbers, divergence: Name, pairs: Sequence[tuple[int, int]], e1: Numbers, e2: Numbers
) -> Decoupling:
    """Theorem 9 (appendix, sparse noise) corrected: VD~_f(h, g) = sum_c (1 - e1_c - e2_c) VD_c + bias.

    VD_c is the part of VD_f(h, g) with Y in the pair c, and with pi_c = P(Y in c) the bias is
    sum_c pi_c { e1_c (E_{X|Y in c}[g(h, j_c)] - E_X[f*(g(h, j_c))]) + e2_c (the same with i_c) }.
    The printed theorem lacks pi_c, and takes E_X where g needs E_{X|Y in c}. As no label leaves its pair,
    a noisy joint table gives the same bias as the clean one.

    joint, g, divergence: as in ``variational_difference``.
    pairs: the (i_c, j_c), disjoint. A class without a partner keeps its labels, and its part of VD_f(h, g) is
        counted in full.
    e1, e2: T_ij and T_ji, one for all pairs or one per pair.

    >>> joint, g = torch.eye(4) / 4, [[0.5, 0.5, -0.5, -0.5]] * 2 + [[-0.5, -0.5, 0.5, 0.5]] * 2
    >>> print(decouple_sparse(joint, g, "tv", [(0, 1), (2, 3)], 0.3, 0.2))
    0.25 (clean) +0.25 (bias) = 0.5
    """
    joint, g, d = _arguments(joint, g, divergence)
    pairs = _pairs(pairs, joint.shape[1], all_classes=False)
    e1, e2 = _rates(e1, len(pairs)), _rates(e2, len(pairs))
    in_pair = joint[:, pairs].sum(2)  # P(h, Y in c), one column per pair
    apart = joint.sum(1, keepdim=True) * in_pair.sum(0)  # pi_c P(h)
    on_i, on_j = (_terms(in_pair, apart, g[:, column], d).sum(0) for column in pairs.T)
    own = _terms(joint, product(joint), g, d).sum(0)  # one part per label
    alone = [k for k in range(len(own)) if k not in pairs.flatten().tolist()]
    clean = _weighted(1 - e1 - e2, own[pairs].sum(1)).sum() + own[alone].sum()
    return Decoupling(clean, (_weighted(e1, on_j) + _weighted(e2, on_i)).sum())


def decouple_covariance(
    joint: Numbers, g: Numbers, divergence: Name, T: Numbers, epsilon: float | None = None
) -> Decoupling:
    """For any T: VD~ = epsilon VD + sum_j w_j Delta^j + sum_ij E_ij Cov(1[Y = i], g(h(X), j)).

    Here E = T - epsilon I and w_j = sum_i p_i E_ij. The covariance is what Theorem 5 has no place for: it
    vanishes for all h and g exactly where E_ij = e_j. Not in the paper.

    joint, g, divergence: as in ``variational_difference``, with g inside the domain of f*.
    T: the transition matrix.
    epsilon: any number; (trace T - 1) / (K - 1) unless given, which is 1 - sum_j e_j for uniform noise.

    >>> joint, g = [[0.4, 0.1], [0.1, 0.4]], [[0.5, -0.5], [-0.5, 0.5]]
    >>> print(decouple_covariance(joint, g, "pearson", [[0.8, 0.2], [0.1, 0.9]], epsilon=0.5))
    0.11875 (clean) -0.03125 (bias) +0.06 (covariance) = 0.1475
    """
    joint, g, d = _arguments(joint, g, divergence, inside=True)
    T = _transition(T, joint.shape[1])
    epsilon = (T.trace() - 1) / (len(T) - 1) if epsilon is None else epsilon
    E = T - epsilon * torch.eye(len(T), dtype=torch.float64)
    q = product(joint)
    change = joint.sum(1) @ (g - d.conjugate(g))
    covariance = (E * ((joint - q).T @ g)).sum()
    return Decoupling(epsilon * _terms(joint, q, g, d).sum(), joint.sum(0) @ E @ change, covariance)


# ---------------------------------------------------------------------- correction


def bias_corrected(noisy_joint: Numbers, g: Numbers, divergence: Name, e: Numbers) -> Tensor:
    """Return VD~_f(h, g) - Bias_f(h, g), equal to (1 - sum_j e_j) VD_f(h, g) for uniform noise (Corollary 1).

    noisy_joint: P~; no clean table is needed.
    g, divergence: as in ``variational_difference``.
    e: the rates, as in ``decouple_uniform``.

    >>> joint, g = [[0.33, 0.17], [0.12, 0.38]], [[0.5, -0.5], [-0.5, 0.5]]
    >>> round(bias_corrected(joint, g, "tv", (0.1, 0.2)).item(), 6)
    0.21
    """
    return variational_difference(noisy_joint, g, divergence) - bias(noisy_joint, g, divergence, e)


def inverse_corrected(noisy_joint: Numbers, g: Numbers, divergence: Name, T: Numbers) -> Tensor:
    """Return E_P~[T^-1 g] - E_Q~[T^-1 f*(g)], equal to the clean VD_f(h, g) for any invertible T.

    For uniform noise it is ``bias_corrected`` / (1 - sum_j e_j): the corollary is a backward correction of
    both terms. Not in the paper.

    noisy_joint, g, divergence: as in ``bias_corrected``, with g inside the domain of f*.
    T: the transition matrix.

    >>> joint, T = [[0.33, 0.17], [0.12, 0.38]], [[0.8, 0.2], [0.1, 0.9]]
    >>> round(inverse_corrected(joint, [[0.5, -0.5], [-0.5, 0.5]], "tv", T).item(), 6)
    0.3
    """
    joint, g, d = _arguments(noisy_joint, g, divergence, inside=True)
    T = _transition(T, joint.shape[1])
    if torch.linalg.cond(T) > 1e12:
        raise ValueError(
            f"T must be invertible, but its rank is {int(torch.linalg.matrix_rank(T))} of {len(T)}"
        )
    inverse = torch.linalg.inv(T).T
    return (joint * (g @ inverse)).sum() - (product(joint) * (d.conjugate(g) @ inverse)).sum()


# ---------------------------------------------------------------------- the limit of infinite data

DECISION_RULES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "cross-entropy": lambda posterior, prior: posterior,
    "peer": lambda posterior, prior: posterior - prior,  # peer loss, and total variation on hard predictions
    "ratio": lambda posterior, prior: torch.where(prior > 0, posterior / prior, 0),
}


def ceiling(rule: Any, T: Numbers, xy: Numbers | None = None, **options: Any) -> float:
    """Return the accuracy of a method with infinite noisy data and a model that can represent anything.

    The parameters are those of ``decide``. A tie between m classes counts as a fair draw between them.

    >>> T = [[0.4, 0.6], [0.2, 0.8]]
    >>> ceiling("cross-entropy", T), ceiling("ratio", T)
    (0.5, 1.0)
    """
    xy = torch.eye(len(T), dtype=torch.float64) / len(T) if xy is None else _joint(xy)
    return accuracy(classify(xy, decide(rule, T, xy, **options))).item()


def decide(
    rule: Any, T: Numbers, xy: Numbers | None = None, *, scores: str = "probabilities", printed: bool = False
) -> Tensor:
    """Return the answer of a method at each x: a row per x, one-hot, or equal shares where classes tie.

    rule: a divergence, for Algorithm 1 with its fixed g_f; one of ``DECISION_RULES``; or a function of the
        noisy posterior P(Y~|x), a row per x, and the noisy prior P(Y~) whose largest value wins.
    T: the transition matrix.
    xy: P(X, Y), one row per x; without it separable and balanced classes. ``torch.diag(prior)`` is separable.
    scores: the argument of g_f: "probabilities" that sum to 1 over the classes, as in the released code, or
        free "logits". With these g_f(v_y) becomes f'(P(Y~=y|x) / P(Y~=y)), which orders the classes by that
        ratio, except for total variation, whose f' gives only the side of 1 on which the ratio is.
    printed: whether g_f has the sign of the paper's full table, where three of them decrease.
        It and ``scores`` make a difference to divergences only.

    >>> decide("kl", [[0.7, 0.3], [0.2, 0.8]])
    tensor([[1., 0.],
            [0., 1.]], dtype=torch.float64)
    """
    xy = torch.eye(len(T), dtype=torch.float64) / len(T) if xy is None else _joint(xy)
    table = noisy(xy, T)
    prior, posterior = table.sum(0), table / table.sum(1, keepdim=True)
    posterior = torch.where(table.sum(1, keepdim=True) > 0, posterior, prior)  # an x that never occurs
    if scores not in ("probabilities", "logits"):
        raise ValueError(f"scores must be 'probabilities' or 'logits', not {scores!r}")
    rule = DECISION_RULES.get(rule, rule) if isinstance(rule, str) else rule
    if isinstance(rule, str):
        try:
            rule = look_up(rule)
        except ValueError:
            known = ", ".join([*DECISION_RULES, *DIVERGENCES])
            raise ValueError(f"no rule is called {rule!r}; choose from {known}, or give a function") from None
    if not isinstance(rule, Divergence):
        return _shared_argmax(rule(posterior, prior))
    if scores == "logits":
        sign = -1 if printed and rule.printed_decreasing else 1
        return _shared_argmax(sign * rule.derivative(torch.where(prior > 0, posterior / prior, 1)))
    return _shared_argmax(fixed_g_optimum(rule, posterior, prior, printed), posterior, prior)


def fixed_g_optimum(divergence: Name, posterior: Numbers, prior: Numbers, printed: bool = False) -> Tensor:
    """Return the probabilities v that maximise Algorithm 1's objective at each x, with infinite data.

    The objective is sum_y [P(Y~=y|x) g_f(v_y) - P(Y~=y) f*(g_f(v_y))], and not concave in v for every f. So
    dynamic programming finds the best v on the grid of multiples of 1/64, whatever the shape of the terms;
    projected Newton steps go uphill from there and from equal shares, and the higher end is returned.

    divergence: a name, or a row.
    posterior: P(Y~|x), one row per x.
    prior: P(Y~).
    printed: whether g_f has the sign of the paper's full table.

    >>> fixed_g_optimum("pearson", [[0.5, 0.4, 0.1]], [1 / 3, 1 / 3, 1 / 3])
    tensor([[0.8000, 0.2000, 0.0000]], dtype=torch.float64)
    """
    d = look_up(divergence)
    posterior, prior = _rows(posterior, "posterior"), _rows(_float64(prior)[None], "prior")[0]
    if len(prior) != posterior.shape[1]:
        raise ValueError(f"prior must have {posterior.shape[1]} entries, but has {len(prior)}")
    g, dual = d.activation, d.conjugate_of_activation
    if printed:
        g, dual = d.printed_activation, d.conjugate_of_printed_activation

    def objective(v: Tensor) -> Tensor:
        return posterior * g(v) - prior * dual(v)

    shares = torch.full_like(posterior, 1 / posterior.shape[1])
    even, other = _climb(objective, torch.stack([shares, _grid_optimum(objective, posterior.shape)]))
    gain = (objective(other) - objective(even)).sum(1, keepdim=True)
    return torch.where(gain > 1e-13, other, even)  # on a plateau, equal shares


def _grid_optimum(objective: Callable[[Tensor], Tensor], shape: Sequence[int], steps: int = 64) -> Tensor:
    """The v on the grid of multiples of 1/steps that sums to 1 with the largest sum of ``objective(v)``.

    Dynamic programming: ``steps`` units of probability are dealt to one class after the other.
    """
    units = torch.arange(steps + 1)

    # value[class, x, m]: what a class contributes to the objective at x with m units.
    value = objective((units.double() / steps)[:, None, None].expand(-1, *shape)).permute(2, 1, 0)

    # left[s, m]: the units that remain of s if a class takes m of them; negative where it cannot.
    left = units[:, None] - units

    # Forward. best[x, s]: the largest sum of the classes so far if they share exactly s units. Before the
    # first class only s = 0 is possible. A new class takes the m that makes most of itself and the rest.
    best = torch.where(units == 0, 0.0, -math.inf).double().expand(shape[0], -1)
    taken = []
    for of_class in value:
        options = torch.where(left >= 0, best[:, left.clamp(min=0)] + of_class[:, None], -math.inf)
        best, choice = options.max(2)
        taken.append(choice)

    # Backward. With all units to give away the last class took taken[-1][x, steps], the one before it took
    # what was best for the rest, and so on.
    rest, v = torch.full((shape[0], 1), steps), []
    for choice in reversed(taken):
        v.append(choice.gather(1, rest))
        rest = rest - v[-1]
    return torch.cat(v[::-1], 1).double() / steps


def _climb(objective: Callable[[Tensor], Tensor], v: Tensor) -> Tensor:
    """Goes uphill from ``v`` on the simplex: Newton steps on a separable sum, damped until they gain."""
    damping = torch.ones_like(v[..., :1])
    for _ in range(200):
        bend = (slopes(objective, v + 1e-4) - slopes(objective, v - 1e-4)).abs() / 2e-4
        step = _model_optimum(v, slopes(objective, v), bend.clamp(min=1e-6) * damping)
        gain = (objective(step) - objective(v)).sum(-1, keepdim=True) >= -1e-15
        moved = (step - v).abs().amax()
        v, damping = torch.where(gain, step, v), torch.where(gain, (damping / 4).clamp(min=1), damping * 4)
        if moved < 1e-13:
            break
    return v


def _model_optimum(v: Tensor, slope: Tensor, bend: Tensor) -> Tensor:
    """The w of the simplex that maximises sum_y [slope_y (w_y - v_y) - bend_y (w_y - v_y)^2 / 2].

    It is w = max(0, v + (slope - price) / bend), at the price for which w sums to 1.
    """
    # As the price rises the classes drop out one by one, each at the price where its w reaches 0.
    leaves = slope + bend * v
    order = leaves.argsort(-1, descending=True)

    # While exactly the first m classes of this order stay, the sum of w is linear in the price:
    # sum of (v + slope / bend) - price * sum of (1 / bend). So each m has one price that makes the sum 1.
    peak, give = (x.gather(-1, order).cumsum(-1) for x in (v + slope / bend, 1 / bend))
    prices = (peak - 1) / give

    # The right m is the largest whose own price does not yet drive its last class out.
    keep = (prices < leaves.gather(-1, order)).sum(-1, keepdim=True)
    w = (v + (slope - prices.gather(-1, keep - 1)) / bend).clamp(min=0)
    return w / w.sum(-1, keepdim=True)  # against rounding


def _shared_argmax(scores: Tensor, *twins: Tensor) -> Tensor:
    """One-hot rows at the largest score, in equal shares if several come within 1e-7 of it.

    twins: columns that are alike in all of these could have been exchanged, so they tie as well.
    """
    best = scores.max(1, keepdim=True).values
    top = (scores == best) | (scores >= best - 1e-7)
    if twins:
        alike = torch.ones(len(scores), scores.shape[1], scores.shape[1], dtype=torch.bool)
        for x in twins:
            x = x.expand_as(scores)
            alike &= (x[:, :, None] - x[:, None, :]).abs() < 1e-12
        top = (alike & top[:, None, :]).any(2)
    return top / top.sum(1, keepdim=True).double()


# ---------------------------------------------------------------------- helpers


def _terms(p: Tensor, q: Tensor, g: Tensor, d: Divergence) -> Tensor:
    """p g - q f*(g) per entry: -inf outside the domain, its limit at g = -inf, and 0 where q is 0."""
    finite = g.isfinite()
    u = torch.where(finite, g, d.slope(torch.ones_like(g)))
    limit = torch.where((g < 0) & (p == 0) & (not d.on_line), q * d.at_zero, -math.inf)
    return torch.where(q > 0, torch.where(finite, p * u - q * d.conjugate(u), limit), 0)


def _weighted(weight: Tensor, x: Tensor) -> Tensor:
    """``weight * x`` with 0 * inf = 0: what does not happen costs nothing."""
    return torch.where(weight == 0, 0, weight * x)


def _arguments(
    joint: Numbers, g: Numbers, divergence: Name, inside: bool = False
) -> tuple[Tensor, Tensor, Divergence]:
    joint, g, d = _joint(joint), _float64(g), look_up(divergence)
    if g.shape != joint.shape:
        raise ValueError(
            f"g must have the shape {tuple(joint.shape)} of the joint table, not {tuple(g.shape)}"
        )
    if g.isnan().any():
        raise ValueError("g must hold numbers, but has a nan")
    if inside and not (good := d.domain.contains(g)).all():
        raise ValueError(f"g must lie in the domain of f*, {d.domain}, but holds {g[~good][0].item():g}")
    return joint, g, d


def _float64(x: Numbers) -> Tensor:
    return torch.as_tensor(x, dtype=torch.float64)


def _joint(x: Numbers) -> Tensor:
    rounded = isinstance(x, Tensor) and x.dtype != torch.float64
    x = _float64(x)
    if x.ndim != 2 or not x.numel():
        raise ValueError(f"a joint table has rows and columns, not the shape {tuple(x.shape)}")
    if not (x >= 0).all():
        raise ValueError(f"a joint table must hold probabilities, but its smallest entry is {x.min():g}")
    if not abs(x.sum() - 1) <= (1e-5 if rounded else 1e-8):
        raise ValueError(f"a joint table must sum to 1, but sums to {x.sum():.10g}")
    return x


def _rows(x: Numbers, name: str) -> Tensor:
    """``x`` in float64, or a ``ValueError`` that names its first row that is no distribution."""
    x = _float64(x)
    if x.ndim != 2 or not x.numel():
        raise ValueError(f"{name} must have rows and columns, not the shape {tuple(x.shape)}")
    bad = ~((x >= 0).all(1) & ((x.sum(1) - 1).abs() <= 1e-8))
    if bad.any():
        row = int(bad.nonzero()[0])
        raise ValueError(f"row {row} of {name} must be a distribution, not {x[row].tolist()}")
    return x


def _transition(T: Numbers, num_classes: int | None = None) -> Tensor:
    checked = transition(T, num_classes)
    return T if isinstance(T, Tensor) and T.dtype == torch.float64 else torch.from_numpy(checked)


def _rates(e: Numbers, count: int) -> Tensor:
    e = _float64(e)
    e = e.expand(count) if e.ndim == 0 else e
    if e.shape != (count,) or not ((e >= 0) & (e <= 1)).all():
        raise ValueError(f"rates must be {count} numbers between 0 and 1, not {e.tolist()}")
    return e


def _pairs(pairs: Sequence[tuple[int, int]], num_classes: int, all_classes: bool = True) -> Tensor:
    pairs = [tuple(map(int, pair)) for pair in pairs]
    held = [k for pair in pairs for k in pair]
    once = len(set(held)) == len(held) and set(held) <= set(range(num_classes))
    if any(len(pair) != 2 for pair in pairs) or not once or (all_classes and len(held) < num_classes):
        how = "once" if all_classes else "at most once"
        raise ValueError(f"pairs must hold every class from 0 to {num_classes - 1} {how}, not {pairs}")
    return torch.tensor(pairs, dtype=torch.long).reshape(-1, 2)


def _one_hot(labels: Tensor, num_classes: int) -> Tensor:
    bad = (labels < 0) | (labels >= num_classes) | (labels != labels.long())
    if bad.any():
        raise ValueError(f"h must predict classes 0 to {num_classes - 1}, but predicts {labels[bad][0]:g}")
    return torch.nn.functional.one_hot(labels.long(), num_classes).double()
