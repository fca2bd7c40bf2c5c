"""The eight f-divergences of the paper: generator, conjugate and activation of each, in closed form.

A convex f with f(1) = 0 measures how far P is from Q by D_f(P||Q) = sum_z q(z) f(p(z)/q(z)). Its conjugate
f*(u) = sup_v [u v - f(v)] gives the variational form D_f = sup_g E_P[g] - E_Q[f*(g)], at g* = f'(p/q).

Conventions, where Table 1 and the full table in the appendix leave a choice or contradict themselves:

* A row has one generator f, and its D_f, g*, f* and domain all follow from it. Two printed rows mix two
  generators (Jensen-Shannon, Pearson); the ``note`` of a row says where it departs from the printed one.
* TV and Pearson live on the whole line, as their printed f* require: |v - 1|/2 and (v - 1)^2 also for v < 0.
  Every other f is +inf for v < 0. A ratio p/q is never negative, so D_f does not see the difference.
* f* is +inf outside its domain, with gradient 0; f(0) is the limit from the right, with gradient 0 as well
  unless f lives on the whole line.
* g_f increases in every row. Three rows are printed decreasing, as g_f(-v): see ``printed_activation``.

A ninth divergence is one more row, ``register(Divergence(name=..., ...))``, in this file or in a notebook.
The property tests take their cases from the registry; tests/theory/test_divergences.py adds triangular
discrimination, (v - 1)^2 / (v + 1), as an example.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from fdiv.names import Registry

__all__ = ["DIVERGENCES", "Divergence", "Interval", "divergence", "register", "registered"]

LOG2 = math.log(2)
Function = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Interval:
    """The values u between ``low`` and ``high``; an end belongs to it only when said closed.

    >>> Interval(-0.5, 0.5, low_closed=True).contains(-0.5)
    True
    """

    low: float = -math.inf
    high: float = math.inf
    low_closed: bool = False
    high_closed: bool = False

    def contains(self, u: Any) -> Any:
        """Whether ``u`` lies inside: a bool for a number, a bool tensor for a tensor."""
        above = u >= self.low if self.low_closed else u > self.low
        below = u <= self.high if self.high_closed else u < self.high
        return above & below

    def __str__(self) -> str:
        named = {LOG2: "log 2", 0.5: "1/2", -0.5: "-1/2"}
        left = f"{named.get(self.low, f'{self.low:g}')} {'≤' if self.low_closed else '<'} "
        right = f" {'≤' if self.high_closed else '<'} {named.get(self.high, f'{self.high:g}')}"
        if math.isinf(self.low) and math.isinf(self.high):
            return "all u"
        return (left if math.isfinite(self.low) else "") + "u" + (right if math.isfinite(self.high) else "")


@dataclass(frozen=True, eq=False, kw_only=True)
class Divergence:
    """One row of the paper's full table: everything that follows from one generator f.

    name: canonical name; ``aliases`` are other names under which it is found.
    title: how a figure or a table calls it.
    colour, dash: its line in every figure: Okabe and Ito's colour-blind-safe palette, darkened where it is
        too pale on white; the dash tells two lines apart without any colour.
    generator: f(v) for v > 0.
    slope: f'(v) for v > 0.
    at_zero: the limit of f(v) as v falls to 0, possibly inf.
    on_line: whether f keeps its formula for v <= 0 instead of being +inf below 0.
    dual: f*(u) for u in ``domain``.
    domain: where f* is finite; its upper end is the limit of f(v)/v as v grows.
    activation: g_f(v), strictly increasing from the real line into ``domain`` (up to rounding at its ends).
    conjugate_of_activation: f*(g_f(v)) without computing g_f(v), so that nothing overflows or cancels.
    printed_decreasing: whether the paper prints g_f(-v) where an increasing g_f(v) is needed.
    robust_in_paper: the check (True) or cross (False) of the full table; None for a divergence not in it.
    note: where this row departs from the printed one.

    >>> tv = DIVERGENCES["tv"]
    >>> tv([0.5, 0.5], [0.9, 0.1]).item()
    0.4
    """

    name: str
    title: str
    aliases: tuple[str, ...] = ()
    colour: str = "#999999"
    dash: str = "solid"
    generator: Function = field(repr=False)
    slope: Function = field(repr=False)
    at_zero: float
    on_line: bool = False
    dual: Function = field(repr=False)
    domain: Interval
    activation: Function = field(repr=False)
    conjugate_of_activation: Function = field(repr=False)
    printed_decreasing: bool = False
    robust_in_paper: bool | None = None
    note: str = ""

    @property
    def slope_at_infinity(self) -> float:
        """The limit of f(v)/v, what D_f charges per unit of mass of P where Q has none."""
        return self.domain.high

    def f(self, v: Tensor) -> Tensor:
        """The generator at ``v``; at 0 its limit, below 0 +inf (see the module for TV and Pearson)."""
        if self.on_line:
            return self.generator(v)
        outside = v <= 0
        limit = torch.full_like(v, math.inf).masked_fill(v == 0, self.at_zero)
        return torch.where(outside, limit, self.generator(torch.where(outside, 1, v)))

    def derivative(self, v: Tensor) -> Tensor:
        """f'(v), the optimal variational function g* at the ratio v = p/q; nan where f is +inf below 0."""
        return self.slope(v) if self.on_line else torch.where(v < 0, math.nan, self.slope(v))

    def conjugate(self, u: Tensor) -> Tensor:
        """f*(u), the supremum of u v - f(v) over v; +inf outside ``domain``."""
        inside = self.domain.contains(u) | u.isnan()
        anywhere = self.slope(torch.ones_like(u))  # f'(1) lies in every domain
        return torch.where(inside, self.dual(torch.where(inside, u, anywhere)), math.inf)

    def printed_activation(self, v: Tensor) -> Tensor:
        """g_f(v) with the sign of the paper's full table."""
        return self.activation(-v if self.printed_decreasing else v)

    def conjugate_of_printed_activation(self, v: Tensor) -> Tensor:
        """f* of ``printed_activation(v)``, as safe as ``conjugate_of_activation``."""
        return self.conjugate_of_activation(-v if self.printed_decreasing else v)

    def divergence(self, p: Any, q: Any, dim: int | tuple[int, ...] | None = None) -> Tensor:
        """D_f(P||Q) of two probability tables of one shape, exact also where they have zeros.

        p, q: tensors, arrays or lists; what is not a tensor of floats becomes one of float64.
        dim: the dimension(s) that hold one distribution; by default the whole table is one.

        The sum runs in float64 and comes back in the tables' dtype. Where exactly one of p and q is 0, the
        term is its limit q f(0) or p lim f(v)/v, and the gradient with respect to the zero is taken as 0;
        a q so small that p/q overflows counts as 0.
        """
        p, q = _table("p", p, dim), _table("q", q, dim)
        if p.shape != q.shape:
            raise ValueError(f"p and q must have one shape, not {tuple(p.shape)} and {tuple(q.shape)}")
        dtype, p, q = torch.result_type(p, q), p.double(), q.double()
        ratio = (p / q).detach()
        both = (ratio > 0) & (ratio < math.inf)
        terms = torch.where(both, q, 0) * self.generator(torch.where(both, p, 1) / torch.where(both, q, 1))
        only_p, only_q = torch.where(ratio < math.inf, 0, p), torch.where(ratio > 0, 0, q)
        terms = terms + _charge(only_p, self.slope_at_infinity) + _charge(only_q, self.at_zero)
        return (terms.sum() if dim is None else terms.sum(dim)).to(dtype)

    __call__ = divergence


def slopes(function: Function, x: Tensor) -> Tensor:
    """Return the derivative of an elementwise ``function`` at each entry of ``x``, gradients on or off.

    >>> slopes(torch.square, torch.tensor([1.0, 3.0]))
    tensor([2., 6.])
    """
    with torch.inference_mode(False), torch.enable_grad():
        x = x.detach().clone().requires_grad_()
        return torch.autograd.grad(function(x).sum(), x)[0]


def _charge(mass: Tensor, price: float) -> Tensor:
    """``price * mass`` with inf * 0 = 0, and no gradient through an infinite price."""
    return price * mass if math.isfinite(price) else torch.where(mass > 0, price, 0.0)


def _table(name: str, x: Any, dim: int | tuple[int, ...] | None) -> Tensor:
    """``x`` as a tensor of floats, or a ``ValueError`` that says why it is no probability table."""
    x = x if isinstance(x, Tensor) else torch.as_tensor(x, dtype=torch.float64)
    x = x if x.is_floating_point() else x.double()
    if not (x >= 0).all():
        raise ValueError(f"{name} must hold probabilities, but its smallest entry is {x.min().item():g}")
    total = (x.double().sum() if dim is None else x.double().sum(dim)).reshape(-1)
    worst = total[(total - 1).abs().argmax()].item() if total.numel() else 1.0
    if not abs(worst - 1) <= max(1e-8, 100 * torch.finfo(x.dtype).eps):
        where = "sum to 1" if dim is None else f"sum to 1 along dimension {dim}"
        raise ValueError(f"{name} must {where}, but sums to {worst:.10g}")
    return x


# In float64 these keep every digit, also near their zeros. In float32, in which losses compute them at every
# step, errors are as small as the rounding of 1 instead, for a sixteenth of the time on a CPU.


def _expm1(x: Tensor) -> Tensor:
    return torch.expm1(x) if x.dtype == torch.float64 else x.exp() - 1


def _log1p(x: Tensor) -> Tensor:
    return torch.log1p(x) if x.dtype == torch.float64 else (x + 1).log()


def _half_tanh(x: Tensor) -> Tensor:
    return torch.tanh(x) / 2 if x.dtype == torch.float64 else torch.sigmoid(2 * x) - 0.5


class _LogMeanExp(torch.autograd.Function):
    """log((1 + e^v) / 2), with one pass for its slope."""

    generate_vmap_rule = True

    @staticmethod
    def forward(v: Tensor) -> Tensor:
        if v.dtype == torch.float64:
            return v.relu() + torch.log1p(torch.expm1(-v.abs()) / 2)
        return v.relu() - torch.sigmoid(v.abs()).log() - LOG2

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (v,) = ctx.saved_tensors
        return grad * torch.sigmoid(v)


_log_mean_exp = _LogMeanExp.apply


class _LogRatio(torch.autograd.Function):
    """The s that solves 1 + s - e^-s = u, that is s = log v where Jeffrey's f'(v) = u.

    In the paper's notation s = -log W(e^{1-u}), since w = e^-s solves w + log w = 1 - u. The start lies below
    the root: one Newton step from s = u if u > 0, else -log(1-u). From there Newton's steps rise to the root,
    and four of them reach rounding error for every float64 u in [-700, 700].
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(u: Tensor) -> Tensor:
        up = u.clamp(min=0)
        s = up - 2 * _half_tanh(up / 2) - _log1p((-u).clamp(min=0))
        for _ in range(3 if u.dtype == torch.float64 else 2):
            w = torch.exp(-s)
            s = s + (u - s + w - 1) / (1 + w)
        return s + (u - s + _expm1(-s)) / (1 + torch.exp(-s))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (s,) = ctx.saved_tensors
        return grad * torch.sigmoid(s)


def _jeffrey_conjugate(u: Tensor) -> Tensor:
    """W + 1/W + u - 2 with W = W(e^{1-u}), as v - 1 + log v: two terms of one sign, so that none cancels."""
    s = _LogRatio.apply(u)
    return _expm1(s) + s


DIVERGENCES: Registry[Divergence] = Registry(
    "divergence",
    (
        Divergence(
            name="tv",
            title="Total variation",
            colour="#0072B2",
            aliases=("total-variation", "total-variation-distance"),
            generator=lambda v: (v - 1).abs() / 2,
            slope=lambda v: torch.sign(v - 1) / 2,
            at_zero=0.5,
            on_line=True,
            dual=lambda u: u,
            domain=Interval(-0.5, 0.5, low_closed=True, high_closed=True),
            activation=_half_tanh,
            conjugate_of_activation=_half_tanh,
            robust_in_paper=True,
        ),
        Divergence(
            name="js",
            title="Jensen-Shannon",
            colour="#D55E00",
            aliases=("jensen-shannon", "jenson-shannon"),
            generator=lambda v: v * (v.log() - torch.log1p((v - 1) / 2)) - torch.log1p((v - 1) / 2),
            slope=lambda v: v.log() - _log1p((v - 1) / 2),
            at_zero=LOG2,
            dual=lambda u: -_log1p(-_expm1(u)),
            domain=Interval(high=LOG2),
            activation=lambda v: -_log_mean_exp(-v),
            conjugate_of_activation=_log_mean_exp,
            robust_in_paper=True,
            note="Table 1 halves D_f, but its g* and f* belong to the sum without the half, kept here.",
        ),
        Divergence(
            name="squared-hellinger",
            title="Squared Hellinger",
            colour="#009E73",
            aliases=("hellinger", "hellinger-squared"),
            generator=lambda v: (v.sqrt() - 1) ** 2,
            slope=lambda v: 1 - v.rsqrt(),
            at_zero=1.0,
            dual=lambda u: u / (1 - u),
            domain=Interval(high=1.0),
            activation=lambda v: -_expm1(-v),
            conjugate_of_activation=_expm1,
            printed_decreasing=True,
            robust_in_paper=False,
            note="The full table prints g_f = 1 - e^v, which decreases; 1 - e^-v is used here.",
        ),
        Divergence(
            name="pearson",
            title="Pearson χ²",
            colour="#CC79A7",
            aliases=("chi2", "chi-square", "chi-squared", "pearson-chi2", "pearson-χ²", "χ²"),
            generator=lambda v: (v - 1) ** 2,
            slope=lambda v: 2 * (v - 1),
            at_zero=1.0,
            on_line=True,
            dual=lambda u: u * (1 + u / 4),
            domain=Interval(),
            activation=lambda v: v,
            conjugate_of_activation=lambda v: v * (1 + v / 4),
            robust_in_paper=True,
            note="Table 1 prints Neyman's integrand (q-p)²/p, but its g* and f* belong to (p-q)²/q, as here.",
        ),
        Divergence(
            name="neyman",
            title="Neyman χ²",
            colour="#56B4E9",
            dash="dash",
            aliases=("neyman-chi2", "neyman-χ²", "reverse-pearson"),
            generator=lambda v: (v - 1) * ((v - 1) / v),
            slope=lambda v: 1 - v**-2,
            at_zero=math.inf,
            dual=lambda u: 2 * u / (1 + (1 - u).sqrt()),
            domain=Interval(high=1.0, high_closed=True),
            activation=lambda v: -_expm1(-v),
            conjugate_of_activation=lambda v: -2 * _expm1(-0.5 * v),
            printed_decreasing=True,
            robust_in_paper=False,
            note="The full table prints g_f = 1 - e^v, which decreases; 1 - e^-v is used here. f*(1) = 2.",
        ),
        Divergence(
            name="kl",
            title="KL",
            colour="#E69F00",
            dash="dash",
            aliases=("kullback-leibler", "forward-kl"),
            generator=lambda v: v * v.log(),
            slope=lambda v: 1 + v.log(),
            at_zero=0.0,
            dual=lambda u: torch.exp(u - 1),
            domain=Interval(),
            activation=lambda v: v,
            conjugate_of_activation=lambda v: torch.exp(v - 1),
            robust_in_paper=True,
        ),
        Divergence(
            name="reverse-kl",
            title="Reverse KL",
            colour="#7A5C00",
            dash="dash",
            aliases=("rkl", "kl-reverse"),
            generator=lambda v: -v.log(),
            slope=lambda v: -1 / v,
            at_zero=math.inf,
            dual=lambda u: -1 - torch.log(-u),
            domain=Interval(high=0.0),
            activation=lambda v: -torch.exp(-v),
            conjugate_of_activation=lambda v: v - 1,
            printed_decreasing=True,
            robust_in_paper=False,
            note="The full table prints g_f = -e^v, which decreases; -e^-v is used here.",
        ),
        Divergence(
            name="jeffrey",
            title="Jeffrey",
            colour="#5A3E99",
            dash="dash",
            aliases=("jeffreys", "symmetric-kl", "j-divergence"),
            generator=lambda v: (v - 1) * v.log(),
            slope=lambda v: v.log() + (v - 1) / v,
            at_zero=math.inf,
            dual=_jeffrey_conjugate,
            domain=Interval(),
            activation=lambda v: v,
            conjugate_of_activation=_jeffrey_conjugate,
            robust_in_paper=True,
        ),
    ),
)
register, registered = DIVERGENCES.register, DIVERGENCES.registered


def divergence(name: str | Divergence) -> Divergence:
    """Look a divergence up by name or alias; case, hyphens, underscores and spaces do not matter.

    >>> divergence("Jensen Shannon").name
    'js'
    """
    if isinstance(name, Divergence):
        return name
    return DIVERGENCES[name]
