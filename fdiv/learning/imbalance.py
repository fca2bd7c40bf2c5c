"""Which classes a fixed g_f gives up when some labels are much more frequent than others, without any noise.

For an input that is of class y for sure, ``FDivLoss`` maximises over the probabilities v of the model

    g_f(v_y) - sum_k p_k f*(g_f(v_k)),

where p is the label prior. Giving v to a class costs in proportion to its prior, so the *frequent* classes
are expensive. Where p_y is too large, the best v is largest for a rare class, and class y is never predicted:
for Jensen-Shannon already at 81 labels of one class against 19 of another.

The condition. Let k be the rarest other class, and s the score at which y and k would be level. Class y is
predicted as long as (p_y - p_k) rho(s) < 1, where rho(s) = (f*)'(g_f(s)) is the ratio P/Q that a score s
stands for. Proof: give y the score v_y and let the others share 1 - v_y at least cost. The value is concave
in v_y, and its slope where y and k are level is g_f'(s) - (p_y - p_k) (f* g_f)'(s); divide by g_f'(s).

The level s is 1/2 for two classes. With more, the others share what y leaves: if f*(g_f(v)) is strictly
convex they have the same marginal cost p_j (f* g_f)'(v_j), or no score at all; else the rarest takes
everything, and s is 1/2 again. TV has rho = 1 and KL rho(s) = e^(s-1) < 1, so these two never lose a class.

A uniform prior in the product term (``label_prior="balanced"``) makes all classes cost the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fdiv.arrays import as_array
from fdiv.theory.divergences import Divergence
from fdiv.theory.divergences import divergence as look_up

__all__ = ["imbalance_limit", "losable_classes", "score_ratio"]


def score_ratio(divergence: str | Divergence, score: float) -> float:
    """Return the ratio P/Q that a score stands for: the r with f'(r) = g_f(score).

    divergence: a name of ``fdiv.DIVERGENCES``, or a ``Divergence``.
    score: the v of g_f(v), such as the probability of a class.

    >>> round(score_ratio("js", 0.5), 4), round(score_ratio("pearson", 0.5), 4), score_ratio("tv", 0.5)
    (1.6487, 1.25, 1.0)
    """
    d = look_up(divergence)
    return _slope(d.conjugate_of_activation, score) / _slope(d.activation, score)


def imbalance_limit(divergence: str | Divergence, num_classes: int = 2) -> float:
    """Return the largest share of labels that a class may have before the fixed g_f gives it up.

    The other classes have equal shares of the rest. 1.0 means that the class is never given up.

    divergence: a name of ``fdiv.DIVERGENCES``, or a ``Divergence``.
    num_classes: K.

    >>> [round(imbalance_limit(name), 3) for name in ("squared-hellinger", "js", "pearson", "tv", "kl")]
    [0.684, 0.803, 0.9, 1.0, 1.0]
    """
    d = look_up(divergence)
    level = 1 / num_classes if _strictly_convex(d.conjugate_of_activation) else 1 / 2
    gap = 1 / score_ratio(d, level)  # p_y - (1 - p_y) / (K - 1) may be this large
    return min(1.0, (1 + gap * (num_classes - 1)) / num_classes)


def losable_classes(divergence: str | Divergence, label_prior: Any, *, slack: Any = 0.0) -> list[int]:
    """Return the classes that the fixed g_f of probabilities gives up, even where inputs are certain.

    divergence: a name of ``fdiv.DIVERGENCES``, or a ``Divergence``.
    label_prior: the share of each class among the labels.
    slack: how much the difference of two shares must be too large by, one number or one for each class;
        for shares that were counted, a few standard errors.

    >>> losable_classes("js", [0.9, 0.1]), losable_classes("kl", [0.9, 0.1])
    ([0], [])
    >>> losable_classes("js", [0.81, 0.095, 0.095]), losable_classes("js", [0.81, 0.01, 0.18])
    ([], [0])
    """
    d, prior = look_up(divergence), np.asarray(as_array(label_prior), dtype=np.float64)
    slack = np.broadcast_to(np.asarray(slack, dtype=np.float64), prior.shape)
    convex = _strictly_convex(d.conjugate_of_activation)
    smallest = min(1 / score_ratio(d, 1 / 2), 1 / score_ratio(d, 1 / len(prior)))
    lost = []
    for y in range(len(prior)):
        others = np.delete(prior, y)
        gap = prior[y] - others.min() - slack[y]
        if gap < smallest:  # most classes of most priors: the level need not be found
            continue
        if gap >= 1 / score_ratio(d, _level(d, others) if convex else 1 / 2):
            lost.append(y)
    return lost


def _level(d: Divergence, others: np.ndarray) -> float:
    """The score at which a class and the rarest of the ``others`` are level, by bisection.

    At the level s the rarest has marginal cost p (f* g_f)'(s). Each other one has the score at which its own
    marginal cost is that, or 0 if it is dearer from the start; s itself counts twice, and all sum to 1.
    """
    rarest = others.argmin()
    rest = np.maximum(np.delete(others, rarest), 1e-300)
    scores = torch.linspace(0, 0.5, 2049, dtype=torch.float64)
    slopes = _slopes(d.conjugate_of_activation, scores).numpy()  # rising, so that it can be inverted
    low, high = 0.0, 0.5
    for _ in range(50):
        s = (low + high) / 2
        wanted = others[rarest] * np.interp(s, scores, slopes)
        total = 2 * s + np.interp(wanted / rest, slopes, scores).sum()
        low, high = (s, high) if total < 1 else (low, s)
    return (low + high) / 2


def _strictly_convex(function: Callable[[Tensor], Tensor]) -> bool:
    """Whether the slope rises all the way from 0 to 1, where probabilities live."""
    slopes = _slopes(function, torch.linspace(0, 1, 65, dtype=torch.float64))
    return bool((slopes.diff() > 1e-9 * slopes.abs().max()).all())


def _slope(function: Callable[[Tensor], Tensor], x: float) -> float:
    return _slopes(function, torch.tensor(x, dtype=torch.float64)).item()


def _slopes(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """The derivative of an elementwise function."""
    with torch.inference_mode(False), torch.enable_grad():
        x = x.detach().clone().requires_grad_()
        return torch.autograd.grad(function(x).sum(), x)[0]
