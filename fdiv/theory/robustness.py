"""Who is robust, exactly: what label noise does to a divergence and to a loss, for any transition matrix T.

The paper asks when maximising D_f on noisy labels finds the classifier that is best on clean ones. The answer
stands here as constants that can be computed, each with classifiers that attain it:

* ``guarantee`` and ``keeps_rankings``: total variation and Pearson under any T, everything else by a search;
* ``vajda``: the powers |v - 1|^a, which binary noise only scales;
* ``forward_gap`` and ``plugin_gap``: what a model loses that is not the posterior, or merges unlike examples;
* ``decision`` and its relatives: the class that a loss with a fixed g_f answers, and the imbalance it bears;
* ``variance_ratio``, ``inverse_price``, ``backward_price`` and ``instance_noise``: the costs of sampling, of
  the inverse of T, and of noise that looks at x.

A classifier is a joint table P(h, Y) as in ``fdiv.theory.exact``, D is its divergence and D~ that of P T.
Tables, priors and T may be tensors, arrays or lists; everything is computed in float64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fdiv.arrays import class_count
from fdiv.theory.divergences import Divergence, Interval, slopes
from fdiv.theory.divergences import divergence as look_up
from fdiv.theory.exact import (
    Name,
    Numbers,
    _float64,
    _joint,
    _model_optimum,
    _one_hot,
    _rows,
    _shared_argmax,
    _transition,
    f_divergence,
    fixed_g_optimum,
    noisy,
    product,
)

__all__ = [
    "Guarantee", "InstanceNoise", "Rankings", "Vajda", "Variances", "backward_price", "bregman", "decision",
    "forward_gap", "guarantee", "imbalance_limit", "instance_noise", "inverse_price", "keeps_rankings",
    "largest_safe_gap", "lost_classes", "objective_variances", "pearson_optimum", "peer_weight",
    "permuted_uniform", "plugin_gap", "random_classifiers", "singular_values", "tv_optimum", "vajda",
    "vajda_ratio", "values_of", "variance_ratio",
]  # fmt: skip

Pair = tuple[Tensor, Tensor]

# ---------------------------------------------------------------------- rankings of classifiers


@dataclass(frozen=True, eq=False)
class Guarantee:
    """The two constants of a divergence under noise: lowest D <= D~ <= highest D for every classifier.

    divergence: its name.
    lowest, highest: the constants, both attained.
    shrinks_most, shrinks_least: classifiers with D~ = lowest D and D~ = highest D: joint tables P(h, Y) with
        two predictions.
    power: the exponent a for which weakening a classifier by t multiplies D by t^a: 1 for TV, 2 for Pearson.

    >>> print(guarantee("tv", [[0.8, 0.2, 0.0], [0.2, 0.8, 0.0], [0.0, 0.0, 1.0]]))
    0.6 D <= D~ <= 1 D: the noisy maximiser keeps at least 60 % of the best D
    """

    divergence: str
    lowest: float
    highest: float
    shrinks_most: Tensor
    shrinks_least: Tensor
    power: float

    @property
    def share(self) -> float:
        """The share of the best clean D that a maximiser of D~ has at least, whatever the classifiers are."""
        return min(1.0, self.lowest / self.highest) if self.highest > 0 else 0.0

    def pair(self, ratio: float | None = None) -> Pair:
        """Return two classifiers of which the second has ``ratio`` times the clean D of the first.

        ratio: from ``share`` to 1, ``share`` unless given. There both have the same D~, so that the second
            may be chosen: the guarantee is attained. Above it the second has the larger D~.
        """
        ratio = self.share if ratio is None else ratio
        if not self.share <= ratio <= 1:
            raise ValueError(f"ratio is {ratio:g}, but must lie between the share {self.share:g} and 1")
        most, least = (f_divergence(P, self.divergence) for P in (self.shrinks_most, self.shrinks_least))
        first = min(most, least / ratio) if ratio > 0 else most
        return (
            _weakened(self.shrinks_most, (first / most).item() ** (1 / self.power)),
            _weakened(self.shrinks_least, (ratio * first / least).item() ** (1 / self.power)),
        )

    def __str__(self) -> str:
        return (
            f"{self.lowest:.3g} D <= D~ <= {self.highest:.3g} D: "
            f"the noisy maximiser keeps at least {100 * self.share:.3g} % of the best D"
        )


def guarantee(divergence: Name, T: Numbers, prior: Numbers | None = None) -> Guarantee:
    """Return the constants between which noise scales a divergence, with classifiers that attain them.

    divergence: "tv" or "pearson" for any number of classes; for two classes also a ``vajda`` row.
    T: the transition matrix, any.
    prior: P(Y), balanced unless given. The constants of total variation do not depend on it.

    Total variation: rows of P - Q sum to 0, and on such rows the l1 norm changes most at differences of two
    classes. So highest = max_ij |T_i - T_j|_1 / 2, and lowest is 1 over the same of T^-1 (0 without inverse).
    Pearson: lowest and highest are the squares of the last and the second of ``singular_values``.

    >>> round(guarantee("pearson", [[0.6, 0.4, 0.0], [0.0, 0.6, 0.4], [0.4, 0.0, 0.6]]).lowest, 6)
    0.28
    """
    d, T, prior = look_up(divergence), *_noise(T, prior)
    if d.name == "tv":
        (lowest, low), (highest, high) = _l1_extremes(T)
    elif d.name == "pearson":
        values, directions = _spectrum(T, prior)
        lowest, low, highest, high = values[-1] ** 2, directions[:, -1], values[0] ** 2, directions[:, 0]
    elif isinstance(d, Vajda) and len(T) == 2:
        lowest = highest = vajda_ratio(d.power, T, prior)
        low = high = _float64([1.0, -1.0])
    else:
        raise ValueError(
            f"no constants are known for {d.name!r} and {len(T)} classes: choose tv or pearson (with two "
            "classes also a vajda row), or ask keeps_rankings"
        )
    tables = _two_answers(low, prior), _two_answers(high, prior)
    power = d.power if isinstance(d, Vajda) else _POWER[d.name]
    return Guarantee(d.name, float(lowest), float(highest), *tables, power=power)


@dataclass(frozen=True, eq=False)
class Rankings:
    """Whether noise keeps every ranking of classifiers by a divergence; true or false as a condition.

    divergence: its name.
    kept: True, False, or None where a search found no two classifiers that change places.
    constant: the number c with D~ = c D for every classifier, where there is one.
    pair: where rankings are not kept, two joint tables: the first is better clean and worse under noise (or
        both are equally useless under noise).
    reason: one sentence.

    >>> T = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.1, 0.2, 0.7]]
    >>> bool(keeps_rankings("tv", T)), bool(keeps_rankings("kl", T))
    (True, False)
    """

    divergence: str
    kept: bool | None
    constant: float | None
    pair: Pair | None
    reason: str

    def __bool__(self) -> bool:
        return self.kept is True

    def __str__(self) -> str:
        answer = {True: "keeps every ranking", False: "does not keep every ranking", None: "is undecided"}
        return f"{self.divergence} {answer[self.kept]}: {self.reason}"


def keeps_rankings(divergence: Name, T: Numbers, prior: Numbers | None = None) -> Rankings:
    """Return whether noise keeps the order in which a divergence puts classifiers, with a witness if not.

    divergence: any. Total variation does exactly for ``permuted_uniform`` T, Pearson exactly where the second
        to the last of ``singular_values`` are equal. For others a search looks for two classifiers that
        change places.
    T, prior: as in ``guarantee``.

    >>> print(keeps_rankings("tv", [[0.6, 0.4, 0.0], [0.0, 0.6, 0.4], [0.4, 0.0, 0.6]]))
    tv does not keep every ranking: noise scales D by anything from 0.467 to 0.6
    """
    d, T, prior = look_up(divergence), *_noise(T, prior)
    if d.name not in _POWER and not (isinstance(d, Vajda) and len(T) == 2):
        return _searched(d, T, prior)
    found = guarantee(d, T, prior)
    if found.highest < 1e-12:
        pair = found.shrinks_most, _weakened(found.shrinks_most, 0.5)
        return Rankings(d.name, False, 0.0, pair, "noise leaves nothing: D~ = 0 for every classifier")
    if found.share > 1 - 1e-9:
        reason = f"noise scales D by {found.highest:.3g} for every classifier"
        return Rankings(d.name, True, found.highest, None, reason)
    digits = 3 if found.highest - found.lowest > 1e-3 * found.highest else 12
    reason = f"noise scales D by anything from {found.lowest:.{digits}g} to {found.highest:.{digits}g}"
    return Rankings(d.name, False, None, found.pair(max(found.share**0.5, 0.5 * (found.share == 0))), reason)


def permuted_uniform(T: Numbers) -> tuple[float, Tensor, Tensor] | None:
    """Return (c, the permutation matrix, e) if T = c permutation + 1 e', and None for any other T.

    These T, with c of any sign but 0, are all that keep every ranking of total variation; then D~ = |c| D.
    Uniform noise has c = 1 - sum e and no permutation, complementary labels have c = -1 / (K - 1).

    >>> c, permutation, e = permuted_uniform([[0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]])
    >>> round(c, 6), permutation.diagonal().tolist(), e.tolist()
    (-0.5, [1.0, 1.0, 1.0], [0.5, 0.5, 0.5])
    """
    T, _ = _noise(T, None)
    K = len(T)
    excess = T - T.mean(0)  # c (permutation - 1/K), of squared norm c^2 (K - 1)
    size = (excess.norm() / math.sqrt(K - 1)).item()
    if size < 1e-12:
        return None
    for c in (size, -size):
        permutation = (excess / c + 1 / K).round()
        e = T.mean(0) - c / K
        if (permutation.sum(0) == 1).all() and ((c * permutation + e - T).abs() < 1e-9).all():
            return c, permutation, e
    return None


def singular_values(T: Numbers, prior: Numbers | None = None) -> Tensor:
    """Return the singular values 1 = s_1 >= ... >= s_K of diag(p)^1/2 T diag(p~)^-1/2.

    Noise scales Pearson's divergence by something between s_K^2 and s_2^2, and both are attained.

    T, prior: as in ``guarantee``.

    >>> singular_values([[0.8, 0.2], [0.3, 0.7]])
    tensor([1.0000, 0.5025], dtype=torch.float64)
    """
    values, _ = _spectrum(*_noise(T, prior))
    return torch.cat([torch.ones(1, dtype=torch.float64), values])


def random_classifiers(count: int, prior: Numbers, answers: int = 3, seed: int = 0) -> Tensor:
    """Return joint tables P(h, Y) of random classifiers, from those that know little to certain ones.

    count: how many; the answer has the shape (count, answers, classes).
    prior: P(Y).
    answers: how many answers they give.
    seed: for the same ones again.

    >>> random_classifiers(2, [0.6, 0.4]).shape
    torch.Size([2, 3, 2])
    """
    prior, random = _positive(prior), np.random.default_rng(seed)
    if count < 1 or answers < 1:
        raise ValueError(f"count is {count} and answers {answers}, but both must be at least 1")
    sharpness = random.choice([0.2, 0.6, 2.0], size=count)
    given = [random.dirichlet(np.full(answers, s), size=len(prior)) for s in sharpness]
    return torch.as_tensor(np.stack(given)).mT * prior


def values_of(divergence: Name, tables: Numbers) -> Tensor:
    """Return the divergence of each of many joint tables; ``tables @ T`` are the same under noise.

    divergence: any.
    tables: of shape (count, answers, classes), as ``random_classifiers`` makes them.

    >>> values_of("tv", [[[0.4, 0.1], [0.1, 0.4]], [[0.25, 0.25], [0.25, 0.25]]])
    tensor([0.3000, 0.0000], dtype=torch.float64)
    """
    P = _float64(tables)
    if P.ndim != 3:
        raise ValueError(f"tables must be of shape (count, answers, classes), not {tuple(P.shape)}")
    return look_up(divergence).divergence(P, P.sum(2, keepdim=True) * P.sum(1, keepdim=True), dim=(1, 2))


# ---------------------------------------------------------------------- two classes: the powers |v - 1|^a


@dataclass(frozen=True, eq=False, kw_only=True)
class Vajda(Divergence):
    """A row of the family |v - 1|^a; ``power`` is its a.

    >>> vajda(1.5).power
    1.5
    """

    power: float


def vajda(power: float) -> Vajda:
    """Return the divergence with f(v) = |v - 1|^power, which any binary noise scales by one number.

    power: at least 1. Power 1 is twice total variation, power 2 is Pearson's divergence.

    >>> f_divergence([[0.4, 0.1], [0.1, 0.4]], vajda(2))
    tensor(0.3600, dtype=torch.float64)
    """
    if not 1 <= power < math.inf:
        raise ValueError(
            f"power is {power:g}, but must be finite, and |v - 1|^power is convex from 1 on only"
        )

    def dual(u: Tensor) -> Tensor:
        return u if power == 1 else u + (power - 1) * (u.abs() / power) ** (power / (power - 1))

    activation = torch.tanh if power == 1 else (lambda v: v)
    return Vajda(
        name=f"vajda-{power:g}",
        title=f"Vajda, power {power:g}",
        power=power,
        generator=lambda v: (v - 1).abs() ** power,
        slope=lambda v: power * torch.sign(v - 1) * (v - 1).abs() ** (power - 1),
        at_zero=1.0,
        on_line=True,
        dual=dual,
        domain=Interval(-1, 1, low_closed=True, high_closed=True) if power == 1 else Interval(),
        activation=activation,
        conjugate_of_activation=lambda v: dual(activation(v)),
    )


def vajda_ratio(power: float, T: Numbers, prior: Numbers | None = None) -> float:
    """Return the number c with D~ = c D for f(v) = |v - 1|^power, two classes and every classifier.

    With eps = 1 - e_+ - e_- it is |eps|^a [p~_+^(1-a) + p~_-^(1-a)] / [p_+^(1-a) + p_-^(1-a)], because P - Q
    has rows (x, -x), which noise multiplies by eps.

    T, prior: as in ``guarantee``, of two classes.

    >>> round(vajda_ratio(1, [[0.8, 0.2], [0.3, 0.7]]), 12)
    0.5
    """
    T, prior = _noise(T, prior)
    if len(T) != 2:
        raise ValueError(f"T must be 2 by 2, as other numbers of classes have no such ratio, not {len(T)}")
    eps = T[0, 0] - T[1, 0]
    if eps == 0:
        return 0.0
    return (eps.abs() ** power * ((prior @ T) ** (1 - power)).sum() / (prior ** (1 - power)).sum()).item()


# ---------------------------------------------------------------------- forward correction and the plug-in


def bregman(divergence: Name, v: Numbers, r: Numbers) -> Tensor:
    """Return B_f(v, r) = f(v) - f(r) - f'(r) (v - r), the height of f at v above its tangent at r.

    divergence: whose f it is.
    v, r: ratios, at least 0.

    >>> bregman("pearson", [2.0, 1.0], [1.5, 1.0])
    tensor([0.2500, 0.0000], dtype=torch.float64)
    """
    d, (v, r) = look_up(divergence), torch.broadcast_tensors(_float64(v), _float64(r))
    return torch.where(v == r, 0.0, d.f(v) - d.f(r) - d.derivative(r) * (v - r))


def forward_gap(
    divergence: Name, posterior: Numbers, predicted: Numbers, T: Numbers, prior: Numbers | None = None
) -> Tensor:
    """Return by how much a forward-corrected objective at each x stays below its maximum D_f(X; Y~).

    The model's h_x goes through T into g = f'(h_x T / p~). The objective is then D_f(X; Y~) minus the mean of
    sum_j p~_j B_f(eta~_j / p~_j, (h_x T)_j / p~_j): 0 at the clean posterior, and positive elsewhere if f
    is strictly convex and T invertible. So it is a strictly proper loss.

    posterior, predicted: P(Y|x) and h_x, a row per x, of clean labels.
    T, prior: as in ``guarantee``; the noisy prior is prior T.

    >>> forward_gap("kl", [[0.9, 0.1]], [[0.9, 0.1]], [[0.8, 0.2], [0.3, 0.7]])
    tensor([0.], dtype=torch.float64)
    """
    T, prior = _noise(T, prior)
    posterior, predicted = _rows(posterior, "posterior"), _rows(predicted, "predicted")
    if not posterior.shape == predicted.shape == (len(posterior), len(T)):
        raise ValueError(
            f"posterior and predicted must both have a row per x and {len(T)} columns, not"
            f" {tuple(posterior.shape)} and {tuple(predicted.shape)}"
        )
    tilde = prior @ T
    terms = tilde * bregman(divergence, posterior @ T / tilde, predicted @ T / tilde)
    return torch.where(tilde > 0, terms, 0).sum(1)


def plugin_gap(divergence: Name, xy: Numbers, h: Numbers, T: Numbers | None = None) -> Tensor:
    """Return D_f(X; Y~) - D_f(h(X); Y~): what a classifier loses by giving one answer to unlike examples.

    It is the mean Bregman divergence between the noisy posterior of an x and the centre of its cell, the mean
    posterior of all x with the same answer: maximising D_f(h; Y~) is K-means of noisy posteriors.

    xy: P(X, Y), a row per x.
    h: the answer to each x, a vector of integers, or a table with h[x, k] = P(h(x) = k).
    T: the transition matrix; without it labels are clean.

    >>> xy = [[0.3, 0.0], [0.2, 0.1], [0.0, 0.4]]
    >>> plugin_gap("pearson", xy, [0, 0, 1]).item() < plugin_gap("pearson", xy, [0, 1, 1]).item()
    True
    """
    xy = _joint(xy) if T is None else noisy(xy, T)
    h = _float64(h)
    h = _one_hot(h, max(int(h.max()) + 1, 1)) if h.ndim == 1 else _rows(h, "h")
    if len(h) != len(xy):
        raise ValueError(f"h must have one entry per x, but has {len(h)} for {len(xy)}")
    cells, tilde, mass = h.T @ xy, xy.sum(0), xy.sum(1, keepdim=True)
    centres = torch.where(cells.sum(1, keepdim=True) > 0, cells / cells.sum(1, keepdim=True), tilde) / tilde
    ratios = torch.where(mass > 0, xy / mass, tilde) / tilde
    loss = tilde * bregman(divergence, ratios[:, None], centres)  # one entry per x, answer and label
    return (mass * h * torch.where((h * mass > 0)[..., None] & (tilde > 0), loss, 0).sum(2)).sum()


# ---------------------------------------------------------------------- what a fixed g_f answers


def tv_optimum(posterior: Numbers, prior: Numbers) -> Tensor:
    """Return the probabilities that maximise total variation's objective with g_f = tanh(v) / 2, at each x.

    With w = P(Y~|x) - P(Y~) they are v_y = arcosh(sqrt(w_y / price)) where w_y > price and 0 elsewhere, at
    the one price for which they sum to 1. The largest belongs to the largest w.

    posterior: P(Y~|x), a row per x.
    prior: P(Y~).

    >>> tv_optimum([[0.6, 0.3, 0.1]], [0.4, 0.2, 0.4])
    tensor([[0.8899, 0.1101, 0.0000]], dtype=torch.float64)
    """
    posterior, prior = _beliefs(posterior, prior)
    w = posterior - prior
    top = w.amax(1, keepdim=True)

    def amounts(price: Tensor) -> Tensor:
        z = torch.where(w > price, w / price, 1)
        return torch.log(z.sqrt() + (z - 1).sqrt())

    # Bisection: at the price ``top`` nobody gets anything, and at the lower end the first class alone gets 1.
    low, high = top / math.cosh(1) ** 2, top
    for _ in range(60):
        price = (low + high) / 2
        few = amounts(price).sum(1, keepdim=True) < 1
        low, high = torch.where(few, low, price), torch.where(few, price, high)
    v = amounts(low)
    v = v / v.sum(1, keepdim=True)
    return torch.where(top > 1e-15, v, 1 / len(prior))  # where w = 0 every v is as good: equal shares


def pearson_optimum(posterior: Numbers, prior: Numbers) -> Tensor:
    """Return the probabilities that maximise Pearson's objective with g_f = v, at each x.

    They are v_y = (2 / P(Y~=y)) max(0, P(Y~=y|x) - P(Y~=y) - price), and for a balanced prior sparsemax of
    2 K P(Y~|x).

    posterior, prior: as in ``tv_optimum``.

    >>> pearson_optimum([[0.5, 0.4, 0.1]], [1 / 3, 1 / 3, 1 / 3])
    tensor([[0.8000, 0.2000, 0.0000]], dtype=torch.float64)
    """
    posterior, prior = _beliefs(posterior, prior)
    return _model_optimum(torch.zeros_like(posterior), posterior - prior, (prior / 2).expand_as(posterior))


def decision(divergence: Name, posterior: Numbers, prior: Numbers) -> Tensor:
    """Return the class that a loss with fixed g_f answers at each x: one-hot, or equal shares of a tie.

    It is the largest entry of the maximiser over all probabilities v. For a balanced noisy prior it is the
    largest noisy posterior, for every divergence; for total variation always the largest P(Y~|x) - P(Y~).
    Other divergences under an uneven prior go their own ways.

    divergence: any.
    posterior: P(Y~|x), a row per x.
    prior: P(Y~), positive.

    >>> [decision(name, [[0.3, 0.7]], [0.2, 0.8]).argmax().item() for name in ("tv", "kl", "js")]
    [0, 1, 0]
    """
    d, (posterior, prior) = look_up(divergence), _beliefs(posterior, prior)
    closed = {"tv": tv_optimum, "pearson": pearson_optimum}.get(d.name)
    v = closed(posterior, prior) if closed else fixed_g_optimum(d, posterior, prior)
    return _shared_argmax(v, posterior, prior)


def peer_weight(divergence: Name, v: float) -> float:
    """Return x(v) = f*'(g_f(v)): two classes of the same probability v are compared by P(Y~|x) - x(v) P(Y~).

    It never decreases. With two classes v = 1/2 decides, so that the answer is + where the noisy posterior is
    above 1/2 + (P(Y~=+) - 1/2) x(1/2), for every f of the paper.

    divergence: any.
    v: a probability.

    >>> [round(peer_weight(name, 0.5), 3) for name in ("tv", "kl", "pearson", "js")]
    [1.0, 0.607, 1.25, 1.649]
    """
    d, v = look_up(divergence), _float64(v)
    if not 0 <= v <= 1:
        raise ValueError(f"v is {v.item():g}, but must be a probability")
    return (slopes(d.conjugate_of_activation, v) / slopes(d.activation, v)).item()


def largest_safe_gap(divergence: Name) -> float:
    """Return how much more frequent a class may be than the rarest for its examples to be answered at all.

    An example that is certainly of class y is answered y whenever P(Y~=y) - min P(Y~) is less than this gap,
    1 / x(1/2), whatever the number of classes; of two classes, exactly then. From 1 on any prior is safe.

    divergence: any; ``lost_classes`` is the exact answer for a given prior.

    >>> round(largest_safe_gap("js"), 4), largest_safe_gap("tv")
    (0.6065, 1.0)
    """
    return 1 / peer_weight(divergence, 0.5)


def imbalance_limit(divergence: Name, num_classes: int = 2) -> float:
    """Return the largest share of one class for which certain examples of it are still answered right.

    The other classes are equally frequent, but for a hair: where a loss does not care which of them it takes
    (reverse KL), the rarest gets all. Clean labels beyond this share teach the objective never to answer the
    majority class. A limit of 1 means that there is none.

    divergence: any of the paper's.
    num_classes: how many there are.

    >>> {name: round(imbalance_limit(name), 3) for name in ("tv", "pearson", "js", "squared-hellinger")}
    {'tv': 1.0, 'pearson': 0.9, 'js': 0.803, 'squared-hellinger': 0.684}
    """
    # At the limit the majority class ties with the others. Where f*(g_f(v)) is strictly convex, every
    # class then has probability 1/K; where it is not (TV, Neyman, reverse KL), one of the others has 1/2.
    d, num_classes = look_up(divergence), class_count(num_classes)
    tie = 1 / num_classes if _costs_rise(d) else 0.5
    return min(1.0, (1 + (num_classes - 1) / peer_weight(d, tie)) / num_classes)


def lost_classes(divergence: Name, prior: Numbers, *, slack: Numbers = 0.0) -> list[int]:
    """Return the classes that are not answered even where an example certainly belongs to them.

    There the objective is g_f(v_y) - sum_k P(Y~=k) f*(g_f(v_k)): giving v to a class costs in proportion to
    its prior, so that the *frequent* classes are expensive. Let k be the rarest other class, and s the
    probability at which y and k would be level. Class y is answered as long as (P(Y~=y) - P(Y~=k)) x(s) < 1,
    with x of ``peer_weight``. Proof: give y the probability v_y and let the others share 1 - v_y at least
    cost. The value is concave in v_y, and its slope where y and k are level is
    g_f'(s) - (P(Y~=y) - P(Y~=k)) (f* g_f)'(s); divide by g_f'(s).

    The level s is 1/2 for two classes. With more, the others share what y leaves: where f*(g_f(v)) is
    strictly convex they have the same marginal cost, or no probability at all; else the rarest takes
    everything, and s is 1/2 again. TV has x = 1 and KL x(s) = e^(s-1) < 1, so these two never lose a class.

    divergence: any, with its fixed g_f on probabilities.
    prior: P(Y~).
    slack: by how much a share may be off, one number or one for each class; for shares that were counted, a
        few standard errors. A class is named if it is lost for all such shares: at its own smallest, with
        the others as even as they can be, which makes them dearest.

    >>> lost_classes("js", [0.9, 0.1]), lost_classes("kl", [0.9, 0.1])
    ([0], [])
    >>> lost_classes("js", [0.81, 0.095, 0.095]), lost_classes("js", [0.81, 0.01, 0.18])
    ([], [0])
    """
    d, prior = look_up(divergence), _rows(_float64(prior)[None], "prior")[0].numpy()
    class_count(len(prior))
    slack, convex = _float64(slack).expand(len(prior)).numpy(), _costs_rise(d)
    smallest = min(1 / peer_weight(d, 1 / 2), 1 / peer_weight(d, 1 / len(prior)))
    lost = []
    for y in range(len(prior)):
        others, off = np.delete(prior, y), np.delete(slack, y)
        others = np.maximum(others - off, (others + off).min())
        gap = prior[y] - slack[y] - others.min()
        if gap < smallest:  # most classes of most priors: the level need not be found
            continue
        if gap >= 1 / peer_weight(d, _level(d, others) if convex else 1 / 2):
            lost.append(y)
    return lost


# ---------------------------------------------------------------------- what sampling costs


@dataclass(frozen=True)
class Variances:
    """Variances of one example's term of the objective, with a sampled and with the exact product.

    sampled: with the product estimated from independent examples and labels, as in Algorithm 1.
    exact: with the mean over all labels in its place.

    >>> Variances(sampled=0.2, exact=0.1).ratio
    2.0
    """

    sampled: float
    exact: float

    @property
    def ratio(self) -> float:
        """How many times the variance sampling has."""
        return self.sampled / self.exact


def objective_variances(divergence: Name, xy: Numbers, v: Numbers) -> Variances:
    """Return the variance of the objective's estimate with a sampled and with the exact product.

    divergence: any, with its fixed g_f.
    xy: P(X, Y~), a row per x.
    v: the model's probabilities, a row per x.

    >>> round(objective_variances("tv", [[0.35, 0.15], [0.15, 0.35]], [[1.0, 0.0], [0.0, 1.0]]).ratio, 4)
    2.1905
    """
    d, xy, v = look_up(divergence), _joint(xy), _rows(v, "v")
    if v.shape != xy.shape:
        raise ValueError(f"v must have the shape {tuple(xy.shape)} of xy, not {tuple(v.shape)}")
    g, cost = d.activation(v), d.conjugate_of_activation(v)

    def variance(weight: Tensor, x: Tensor) -> float:
        mean = (weight * x).sum()
        return (weight * (x - mean) ** 2).sum().item()

    averaged = (cost * xy.sum(0)).sum(1, keepdim=True)
    return Variances(variance(xy, g) + variance(product(xy), cost), variance(xy, g - averaged))


def variance_ratio(divergence: Name, num_classes: int, agreement: float) -> float:
    """Return ``objective_variances(...).ratio`` of a certain model under balanced noisy labels.

    It is 1 + rho^2 (K - 1) / (K^2 a (1 - a)) with rho = [f*(g(1)) - f*(g(0))] / [g(1) - g(0)], and tends to 1
    as the classes become many: two random labels hardly ever agree, so that there is little to sample.

    num_classes: K.
    agreement: a, the chance that the model agrees with a noisy label.

    >>> [round(variance_ratio("tv", K, 0.7), 2) for K in (2, 10, 100)]
    [2.19, 1.43, 1.05]
    """
    if not 0 < agreement < 1:
        raise ValueError(f"agreement is {agreement:g}, but must lie between 0 and 1")
    d, ends, num_classes = look_up(divergence), _float64([0.0, 1.0]), class_count(num_classes)
    rho = (d.conjugate_of_activation(ends).diff() / d.activation(ends).diff()).item()
    return 1 + rho**2 * (num_classes - 1) / (num_classes**2 * agreement * (1 - agreement))


# ---------------------------------------------------------------------- what the inverse and instances cost


def inverse_price(T: Numbers, prior: Numbers | None = None) -> tuple[float, float]:
    """Return the smallest and the largest factor by which correction with T^-1 multiplies a variance.

    The correction replaces g(Y) by (T^-1 g)(Y~), which has the same mean. Its variance is that of g(Y) times
    something between 1 / s_2^2 and 1 / s_K^2 of ``singular_values``, and both are attained. The largest is
    inf if T has no inverse. For uniform noise the variance is also that of g(Y~) divided by (1 - sum e)^2.

    T, prior: as in ``guarantee``.

    >>> [round(factor, 3) for factor in inverse_price([[0.8, 0.2], [0.3, 0.7]])]
    [3.96, 3.96]
    """
    values = singular_values(T, prior)
    values = torch.where(values > 1e-12, values, 0)
    return (1 / values[1] ** 2).item(), (1 / values[-1] ** 2).item()


def backward_price(slope: float, e: float, x: Numbers, weight: Numbers | None = None) -> float:
    """Return how many times the samples backward correction needs of what forward correction needs.

    The model is P(Y=1|x) = sigmoid(slope x) with one parameter and symmetric noise e. The ratio of the
    asymptotic variances is E[x^2 s~] E[x^2 s^2 / s~] / E[x^2 s]^2 with s = eta (1 - eta): at least 1, and
    without bound as the classes separate.

    slope: the parameter.
    e: the chance of a wrong label, below 1/2.
    x, weight: the values of x with their probabilities; equal ones unless given.

    >>> x = torch.linspace(-8, 8, 4001, dtype=torch.float64)
    >>> bell = torch.exp(-(x**2) / 2)
    >>> [round(backward_price(slope, 0.3, x, bell / bell.sum()), 1) for slope in (1, 3, 10)]
    [1.1, 3.0, 50.9]
    """
    if not 0 <= e < 0.5:
        raise ValueError(f"e is {e:g}, but symmetric noise of two classes is from 0 to below 0.5")
    x = _float64(x)
    weight = torch.ones_like(x) / max(1, x.numel()) if weight is None else _float64(weight)
    if (
        x.ndim != 1
        or weight.shape != x.shape
        or not (x.isfinite() & (weight >= 0)).all()
        or not (weight * x).any()
    ):
        raise ValueError(
            "x must be a vector of finite numbers, not all 0, and weight one number from 0 up for each"
        )
    if not math.isfinite(slope):
        raise ValueError(f"slope is {slope:g}, but must be finite")
    eta = torch.sigmoid(slope * x)
    tilde = (1 - 2 * e) * eta + e
    clean, after = torch.sigmoid(slope * x) * torch.sigmoid(-slope * x), tilde * (1 - tilde)
    fisher = torch.where(after > 0, clean**2 / after, 0)
    mean = [(weight * x**2 * s).sum() for s in (after, fisher, clean)]
    return (mean[0] * mean[1] / mean[2] ** 2).item() if mean[2] ** 2 > 0 else math.inf


@dataclass(frozen=True, eq=False)
class InstanceNoise:
    """Noise that looks at x, as class-dependent noise and a distance from it.

    mean: the mean T of each class, a transition matrix.
    delta: E |T_Y(X) - mean T_Y|_TV, how far a label's distribution is from that of its class.
    noisy: P(X, Y~), to be used with ``classify``.

    For every classifier abs(D~_TV - D_TV(P mean)) <= delta, which is attained.

    >>> xy, flips = [[0.5, 0.0], [0.0, 0.5]], [[0.8, 0.2], [0.2, 0.8]]
    >>> instance_noise(xy, [flips, flips]).delta
    0.0
    """

    mean: Tensor
    delta: float
    noisy: Tensor

    def floor(self, best: float) -> float:
        """Return the clean total variation that the noisy maximiser has at least.

        best: the largest clean total variation. For a uniform mean with eps = 1 - sum e the answer is
            best - 2 delta / eps.
        """
        bounds = guarantee("tv", self.mean)
        return max(0.0, (bounds.lowest * best - 2 * self.delta) / bounds.highest) if bounds.highest else 0.0


def instance_noise(xy: Numbers, T: Numbers) -> InstanceNoise:
    """Return how noise that depends on x changes total variation.

    xy: P(X, Y), a row per x.
    T: one transition matrix for each x, T[x, i, j] = P(Y~=j | Y=i, x).

    >>> T = [[[0.7, 0.3], [0.2, 0.8]], [[0.9, 0.1], [0.2, 0.8]]]
    >>> noise = instance_noise([[0.25, 0.25], [0.25, 0.25]], T)
    >>> round(noise.delta, 6), round(noise.floor(0.4), 6)
    (0.05, 0.233333)
    """
    xy, T = _joint(xy), _float64(T)
    if T.shape != (*xy.shape, xy.shape[1]):
        raise ValueError(
            f"T must have the shape {(*xy.shape, xy.shape[1])}, one matrix per x, not {tuple(T.shape)}"
        )
    for one in T:
        _transition(one)
    if not (xy.sum(0) > 0).all():
        raise ValueError(f"class {int(xy.sum(0).argmin())} never occurs in xy: leave it out")
    flow = xy[..., None] * T  # P(x, Y, Y~)
    mean = flow.sum(0) / xy.sum(0)[:, None]
    delta = (xy * (T - mean).abs().sum(2) / 2).sum()
    return InstanceNoise(mean, delta.item(), flow.sum(1))


# ---------------------------------------------------------------------- helpers

_POWER = {"tv": 1.0, "pearson": 2.0}


def _noise(T: Numbers, prior: Numbers | None) -> Pair:
    """T and the clean prior in float64, checked; the prior is balanced unless given."""
    T = _transition(T)
    prior = torch.full((len(T),), 1 / len(T), dtype=torch.float64) if prior is None else _positive(prior)
    if len(prior) != len(T):
        raise ValueError(f"prior must have {len(T)} entries, but has {len(prior)}")
    return T, prior


def _positive(prior: Numbers) -> Tensor:
    prior = _rows(_float64(prior)[None], "prior")[0]
    if not (prior > 0).all():
        raise ValueError(f"prior must be positive, but class {int(prior.argmin())} has none: leave it out")
    return prior


def _beliefs(posterior: Numbers, prior: Numbers) -> Pair:
    posterior, prior = _rows(posterior, "posterior"), _positive(prior)
    if len(prior) != posterior.shape[1]:
        raise ValueError(f"prior must have {posterior.shape[1]} entries, but has {len(prior)}")
    return posterior, prior


def _l1_extremes(T: Tensor) -> tuple[tuple[float, Tensor], tuple[float, Tensor]]:
    """The smallest and largest |a T|_1 / |a|_1 over rows a that sum to 0, each with its a."""

    def farthest(rows: Tensor) -> tuple[float, Tensor]:
        """Half the largest l1 distance of two rows, and the difference of these two."""
        i, j = divmod(int(torch.cdist(rows, rows, p=1).argmax()), len(rows))
        return ((rows[i] - rows[j]).abs().sum() / 2).item(), torch.stack([rows[i] - rows[j], one[i] - one[j]])

    one = torch.eye(len(T), dtype=torch.float64)
    highest, (_, a) = farthest(T)
    left, values, _ = torch.linalg.svd(T)
    if values[-1] < 1e-12 * values[0]:
        return (0.0, left[:, -1]), (highest, a if highest > 0 else one[0] - one[1])
    spread, (back, _) = farthest(torch.linalg.inv(T))
    return (1 / spread, back), (highest, a)


def _spectrum(T: Tensor, prior: Tensor) -> Pair:
    """The singular values s_2 ... s_K, and for each a column a that sums to 0 and noise scales by it."""
    root, tilde = prior.sqrt(), prior @ T
    S = root[:, None] * T * torch.where(tilde > 0, tilde.rsqrt(), 0)
    # s_1 = 1 belongs to sqrt(p). Others may be 1 as well, so it is split off before and not after.
    basis = torch.linalg.svd(root[:, None], full_matrices=True).U[:, 1:]
    left, values, _ = torch.linalg.svd(basis.T @ S, full_matrices=False)
    return values, root[:, None] * (basis @ left)


def _costs_rise(d: Divergence) -> bool:
    """Whether f*(g_f(v)) is strictly convex: its slope rises all the way from 0 to 1."""
    costs = slopes(d.conjugate_of_activation, torch.linspace(0, 1, 65, dtype=torch.float64))
    return bool((costs.diff() > 1e-9 * costs.abs().max()).all())


def _level(d: Divergence, others: np.ndarray) -> float:
    """The probability at which a class and the rarest of the ``others`` are level, by bisection.

    At the level s the rarest has marginal cost p (f* g_f)'(s). Each other one has the probability at which
    its own marginal cost is that, or 0 if it is dearer from the start; s counts twice, and all sum to 1.
    """
    rarest = others.argmin()
    rest = np.maximum(np.delete(others, rarest), 1e-300)
    v = torch.linspace(0, 0.5, 2049, dtype=torch.float64)
    costs = slopes(d.conjugate_of_activation, v).numpy()  # rising, so that it can be inverted
    low, high = 0.0, 0.5
    for _ in range(50):
        s = (low + high) / 2
        wanted = others[rarest] * np.interp(s, v, costs)
        total = 2 * s + np.interp(wanted / rest, costs, v).sum()
        low, high = (s, high) if total < 1 else (low, s)
    return (low + high) / 2


def _two_answers(direction: Tensor, prior: Tensor, share: float | Tensor = 0.5) -> Tensor:
    """The strongest classifier with P - Q = (t direction, -t direction), given the first answer's share.

    Many directions, one per row, with as many shares make many tables.
    """
    rows = torch.stack([direction, -direction], -2)
    share = torch.as_tensor(share, dtype=torch.float64)[..., None]
    independent = torch.stack([share * prior, (1 - share) * prior], -2)
    strength = torch.where(rows < 0, independent / -rows, math.inf).amin((-2, -1), keepdim=True)
    return (independent + strength * rows).clamp(min=0)


def _weakened(joint: Tensor, strength: float) -> Tensor:
    """Q + strength (P - Q): the classifier that answers at random otherwise."""
    return (product(joint) + strength * (joint - product(joint))).clamp(min=0)


def _searched(d: Divergence, T: Tensor, prior: Tensor, tries: int = 400) -> Rankings:
    """Whether two classifiers of one clean D differ under noise: then two of nearly that D change places."""
    if ((T == 0) | (T == 1)).all() and (T.sum(0) == 1).all():
        return Rankings(d.name, True, 1.0, None, "T only renames the labels")
    K, generator = len(T), torch.Generator().manual_seed(0)
    random: dict[str, Any] = {"generator": generator, "dtype": torch.float64}
    if (T - T[0]).abs().max() < 1e-12:
        first = 0.9 * torch.diag(prior) + 0.1 * torch.outer(prior, prior)
        reason = "noise leaves nothing: D~ = 0 for every classifier"
        return Rankings(d.name, False, 0.0, (first, _weakened(first, 0.5)), reason)

    # Classifiers with two answers, frequent and rare, almost as strong as they can be.
    directions = prior * torch.randn(tries, K, **random)
    directions = directions - prior * directions.sum(1, keepdim=True)
    shares = torch.rand(tries, **random).clamp(0.02, 0.98)
    strongest = _two_answers(directions, prior, shares)
    independent = strongest.sum(2, keepdim=True) * prior
    excess = 0.99 * (strongest - independent)

    def weakened_to(level: float, excess: Tensor, independent: Tensor) -> Tensor:
        """All of them as weak as it takes to have this clean D, by bisection."""
        low = torch.zeros(len(excess), 1, 1, dtype=torch.float64)
        high = torch.ones_like(low)
        for _ in range(50):
            middle = (low + high) / 2
            above = values_of(d, independent + middle * excess)[:, None, None] > level
            low, high = torch.where(above, low, middle), torch.where(above, middle, high)
        return independent + (low + high) / 2 * excess

    reach = values_of(d, independent + excess)
    level = reach.median().item() / 1.1
    excess, independent = excess[reach > 1.05 * level], independent[reach > 1.05 * level]
    alike = weakened_to(level, excess, independent)
    after = values_of(d, alike @ T)
    worst, best = int(after.argmin()), int(after.argmax())
    if after[best] - after[worst] < 1e-9 * after[best]:
        return Rankings(d.name, None, None, None, f"no two of {len(alike)} classifiers change places")

    # Give the classifier that noise hurts more a small lead, small enough for noise to turn the ranking.
    lead = 0.05
    while True:
        first = weakened_to((1 + lead) * level, excess[[worst]], independent[[worst]])
        if values_of(d, first @ T) < after[best] - (after[best] - after[worst]) / 4:
            break
        lead /= 2
    reason = f"of two classifiers with D = {level:.3g} one has D~ = {after[worst]:.3g}, one {after[best]:.3g}"
    return Rankings(d.name, False, None, (first[0], alike[best]), reason)
