"""The objective of a fixed g, row by row, with its gradient by hand.

A row is sum_k w_k f*(g(v_k)) minus the mean of g(v_k) under the row's label, and its slope in v_k is
w_k (f* g)'(v_k), minus g'(v_k) times the label's share of k. Autograd needs a dozen passes over a table for
that, of which each of the paper's divergences saves most: f*(g) and its slope share their one exponential.

``CLOSED`` has these functions for v from 0 to 1, as probabilities are. They are right to the rounding of 1,
not to the last digit of a small value as those of ``fdiv.theory.divergences``. A divergence that is not in it
is left to autograd, with which tests compare all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from fdiv.theory.divergences import DIVERGENCES, LOG2, Divergence

Pair = tuple[Tensor, Tensor]
Function = Callable[[Tensor], Pair]


def exp(v: Tensor, rate: float = 1.0) -> Tensor:
    """exp(rate v): in float32 by the power of 2, in less than half the time on a CPU."""
    return torch.exp(rate * v) if v.dtype == torch.float64 else torch.exp2(v * (rate / LOG2))


def _half_tanh(v: Tensor) -> Pair:
    t = torch.sigmoid(2 * v) - 0.5
    return t, torch.addcmul(t.new_full((), 0.5), t, t, value=-2)  # 1/2 - 2 t^2


def _js_reward(v: Tensor) -> Pair:
    s = torch.sigmoid(v)
    return s.log() + LOG2, 1 - s


def _js_cost(v: Tensor) -> Pair:
    """log((1 + e^v) / 2) = v - log s - log 2 with its slope s = 1/(1 + e^-v)."""
    s = torch.sigmoid(v)
    return v - s.log() - LOG2, s


def _expm1(v: Tensor) -> Pair:
    e = exp(v)
    return e - 1, e


def _one_minus_exp(v: Tensor) -> Pair:
    e = exp(v, -1)
    return 1 - e, e


def _neyman_cost(v: Tensor) -> Pair:
    e = exp(v, -0.5)
    return 2 - 2 * e, e


def _kl_cost(v: Tensor) -> Pair:
    e = exp(v - 1)
    return e, e


def _jeffrey_cost(v: Tensor) -> Pair:
    """r - 1 + log r with its slope r, where s = log r solves 1 + s - e^-s = v.

    A parabola meets s to 2e-4 for v from 0 to 1, and Newton's step, which squares that error, is
    r = (1 + e^s) / (2 + s - v), after which s = v - 1 + 1/r.
    """
    s = 1e-4 + v * (0.4977 + 0.0692 * v)
    for _ in range(2 if v.dtype == torch.float64 else 1):
        r = (1 + exp(s)) / (2 + s - v)
        s = 1 / r + (v - 1)
    return r - 1 + s, r


def _itself(v: Tensor) -> Pair:
    return v, torch.ones_like(v)


# for each divergence g and f*(g), both with their slopes
_FORMULAS: dict[str, tuple[Function, Function]] = {
    "tv": (_half_tanh, _half_tanh),
    "js": (_js_reward, _js_cost),
    "squared-hellinger": (_one_minus_exp, _expm1),
    "pearson": (_itself, lambda v: (torch.addcmul(v, v, v, value=0.25), 1 + v / 2)),  # v + v^2/4
    "neyman": (_one_minus_exp, _neyman_cost),
    "kl": (_itself, _kl_cost),
    "reverse-kl": (lambda v: (-(e := exp(v, -1)), e), lambda v: (v - 1, torch.ones_like(v))),
    "jeffrey": (_itself, _jeffrey_cost),
}
CLOSED: dict[Divergence, tuple[Function, Function]] = {
    DIVERGENCES[name]: formulas for name, formulas in _FORMULAS.items()
}


# for each divergence with an f' that is no step f'(r) as a function of log r, and f*(f'(r)) as one of r
_OF_RATIOS: dict[str, tuple[Function, Function]] = {
    "js": (_js_reward, lambda r: (torch.log((1 + r) / 2), 1 / (1 + r))),
    "squared-hellinger": (
        lambda log_r: (1 - (e := exp(log_r, -0.5)), e / 2),
        lambda r: ((root := r.sqrt()) - 1, 0.5 / root),
    ),
    "pearson": (lambda log_r: (2 * (e := exp(log_r)) - 2, 2 * e), lambda r: (r * r - 1, 2 * r)),
    "neyman": (
        lambda log_r: (1 - (e := exp(log_r, -2)), 2 * e),
        lambda r: (2 - 2 * (w := 1 / r), 2 * w * w),
    ),
    "kl": (lambda log_r: (1 + log_r, torch.ones_like(log_r)), lambda r: (r, torch.ones_like(r))),
    "reverse-kl": (lambda log_r: (-(e := exp(log_r, -1)), e), lambda r: (r.log() - 1, 1 / r)),
    "jeffrey": (
        lambda log_r: (1 + log_r - (e := exp(log_r, -1)), 1 + e),
        lambda r: (r - 1 + r.log(), 1 + 1 / r),
    ),
}
OF_RATIOS: dict[Divergence, tuple[Function, Function]] = {
    DIVERGENCES[name]: formulas for name, formulas in _OF_RATIOS.items()
}


def forward_difference(
    d: Divergence, log_h: Tensor, y: Tensor, T: Tensor, log_T: Tensor, prior: Tensor, low: float, high: float
) -> Tensor:
    """Return the rows of E_Q[f*(g)] - E_P[g] for g = f'(h T / prior), the best g if h is the posterior.

    d: one of ``OF_RATIOS``.
    log_T: the logarithm of T, transposed.
    low, high: the log r beyond which f' goes on as a straight line. Then f*(f'(r)) is one in r, as its slope
        in r is that of f' in log r.
    """
    log_ratio_to_g, ratio_to_dual = OF_RATIOS[d]

    def rows(log_h: Tensor) -> Pair:
        # 1. g of the row's own label, from logarithms alone, so that the ratio never rounds to 0
        parts = log_h + log_T.index_select(0, y)
        log_own = parts.logsumexp(1, keepdim=True)
        g, g_slope = _straight(log_ratio_to_g, log_own - prior.log()[y, None], low, high)
        # 2. f*(g) of every label
        h = exp(log_h)
        dual, dual_slope = _straight(ratio_to_dual, h @ (T / prior), math.exp(low), math.exp(high))
        slopes = h * (dual_slope @ T.T) - exp(parts - log_own) * g_slope
        return dual @ prior - g.squeeze(1), slopes

    return with_slopes(rows, log_h)


def _straight(function: Function, x: Tensor, low: float, high: float) -> Pair:
    """A function with its slope, and beyond the ends its tangents."""
    inside = x.clamp(low, high)
    value, slope = function(inside)
    return value + slope * (x - inside), slope


def difference(d: Divergence, v: Tensor, y: Tensor, weights: Tensor) -> Tensor:
    """Return the rows of E_Q[f*(g)] - E_P[g] of probabilities v.

    d: one of ``CLOSED``.
    y: labels, or what g is weighed with, a table like v.
    weights: those of f*(g), one for each class.
    """
    reward, cost = CLOSED[d]

    def rows(v: Tensor) -> Pair:
        dual, dual_slope = cost(v)
        if y.ndim > 1:
            g, g_slope = reward(v)
            return dual @ weights - (y * g).sum(1), dual_slope * weights - y * g_slope
        own = y[:, None]
        if reward is cost:
            g, g_slope = dual.gather(1, own), dual_slope.gather(1, own)
        else:
            g, g_slope = reward(v.gather(1, own))
        return dual @ weights - g.squeeze(1), (dual_slope * weights).scatter_add(1, own, -g_slope)

    return with_slopes(rows, v)


def with_slopes(function: Function, x: Tensor) -> Tensor:
    """Return the first of a pair, rows of x, whose slopes are the second, a table like x."""
    if not x.requires_grad or torch.compiler.is_compiling():
        return function(x)[0]
    try:
        return _WithSlopes.apply(x, function)
    except RuntimeError:  # torch.func takes no such shortcut, and differentiates the rows themselves
        return function(x)[0]


class _WithSlopes(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, function: Function) -> Tensor:
        rows, slopes = function(x)
        ctx.save_for_backward(x, slopes)
        ctx.function = function
        return rows

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        x, slopes = ctx.saved_tensors
        if torch.is_grad_enabled():  # a gradient of this gradient is wanted
            slopes = ctx.function(x)[1]
        return grad[:, None] * slopes, None
