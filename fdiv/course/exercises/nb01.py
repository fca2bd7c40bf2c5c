"""Checkers of notebook 01."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from fdiv.course.exercises import Wrong, close, exercise, returned, table, worst
from fdiv.theory.divergences import Divergence, divergence, registered

P = torch.tensor([0.5, 0.2, 0.2, 0.1], dtype=torch.float64)
Q = torch.tensor([0.1, 0.3, 0.2, 0.4], dtype=torch.float64)


@exercise(
    "1 a generator without slope at 1",
    because="Written so, f is never negative and touches zero only at r = 1: one sees at a glance that the"
    " divergence is zero only where P and Q agree.",
)
def flat_kl(answer: Callable[[Tensor], Tensor]) -> None:
    """r log r - (r - 1), with the slips of sign and of a forgotten term named."""
    r = torch.linspace(0.1, 4, 40, dtype=torch.float64)
    got, right = table(answer(r)), r * r.log() - (r - 1)
    if got.shape != r.shape:
        raise Wrong("return a tensor of the shape of r")
    if close(got, r * r.log()):
        raise Wrong("that is c = 0, with slope 1 at r = 1: subtract that slope times (r - 1)")
    if close(got, r * r.log() + (r - 1)):
        raise Wrong("the sign is turned round: this has slope 2 at r = 1")
    if close(got, r * r.log() - r):
        raise Wrong("the slope is right, but f(1) must be 0: subtract r - 1, not r")
    if not close(got, right):
        at = worst(got, right)
        raise Wrong(f"at r = {r[at]:.2g} it must be {right[at]:.4f}; yours is {got[at]:.4f}")


@exercise(
    "2 the conjugate of Pearson",
    because="This f* is what a network that maximises Pearson's divergence pays for agreeing with a random"
    " label; and ratios are never negative, so that below -2 the price stops falling.",
)
def pearson_conjugate(answer: Callable[[Tensor], Tensor]) -> None:
    """Against the maximum over r >= 0, with the common slips named."""
    u = torch.tensor([-5.0, -3.0, -2.0, -1.0, 0.0, 0.5, 2.0], dtype=torch.float64)
    right = torch.where(u < -2, -1.0, u + u**2 / 4)
    got = table(answer(u))
    if got.shape != u.shape:
        raise Wrong("return a tensor of the shape of u")
    if close(got, 1 + u / 2):
        raise Wrong("that is the r at which the line touches f; put it into u r - f(r)")
    if close(got[2:], right[2:]) and not close(got, right):
        raise Wrong("right from u = -2 up; below, no r ≥ 0 has that slope: which r is best there?")
    if close(got, -right):
        raise Wrong("the sign is turned round: f* is u r - f(r), not f(r) - u r")
    if not close(got, right):
        at = worst(got, right)
        raise Wrong(f"at u = {u[at]:g} the largest gap is {right[at]:.4f}; yours is {got[at]:.4f}")


@exercise(
    "4 triangular discrimination, the ninth divergence",
    because="One row, and tables, losses, figures and property tests know it: what you need to try an idea of"
    " your own on every dataset of the course.",
)
def triangular(answer: Callable[[], Divergence]) -> None:
    """Each field by the property that defines it, then the registry."""
    new = returned(answer())
    if not isinstance(new, Divergence):
        raise Wrong(f"return a Divergence, not a {type(new).__name__}")
    v = torch.linspace(0.1, 5, 50, dtype=torch.float64, requires_grad=True)
    if not close(new.f(v), (v - 1) ** 2 / (v + 1)):
        raise Wrong("generator: q f(p/q) must be (p-q)²/(p+q); divide by q and write r for p/q")
    (slope,) = torch.autograd.grad(new.f(v).sum(), v)
    if not close(new.derivative(v), slope):
        raise Wrong("slope: it is not the derivative of your generator")
    if not abs(new.at_zero - 1) <= 1e-9:
        raise Wrong(f"at_zero: f(0) is 1, yours is {new.at_zero:g}")
    if new.domain.high != 1:
        raise Wrong("domain: f never rises faster than slope 1, so f* is finite up to u = 1")
    _check_dual(new)
    _check_activation(new)
    with registered(new):
        if divergence("triangular") is not new:
            raise Wrong('name: it must be found as "triangular"')
        if not close(new(P, Q), ((P - Q) ** 2 / (P + Q)).sum()):
            raise Wrong("the divergence of two tables is not the sum of (p-q)²/(p+q)")


def _check_dual(new: Divergence) -> None:
    """f* against a supremum over many ratios."""
    u = torch.tensor([-5.0, -3.0, -1.0, 0.0, 0.5, 0.9], dtype=torch.float64)
    v = torch.cat([torch.zeros(1), torch.logspace(-4, 2, 200_001)]).double()
    gaps = (u[:, None] * v - (v - 1) ** 2 / (v + 1)).max(dim=1).values
    got = new.conjugate(u)
    if not close(got[1:], gaps[1:], 1e-5):
        at = 1 + worst(got[1:], gaps[1:])
        raise Wrong(f"dual: at u = {u[at]:g} the largest gap is {gaps[at]:.4f}; yours is {got[at]:.4f}")
    if not close(got[0], gaps[0], 1e-5):
        raise Wrong("dual: right from u = -3 up; below, no r > 0 has that slope, so the best r is 0")


def _check_activation(new: Divergence) -> None:
    v = torch.linspace(-3, 3, 61, dtype=torch.float64)
    g = new.activation(v)
    if not bool((g.diff() > 0).all()):
        raise Wrong("activation: it must increase (section 7 shows what a decreasing one does)")
    if not bool(new.domain.contains(g).all()):
        raise Wrong("activation: it leaves the domain of f*")
    if not close(new.conjugate_of_activation(v), new.conjugate(g)):
        raise Wrong("conjugate_of_activation: it is not dual(activation(v))")


@exercise(
    "3 total variation is attained by a sign",
    because="The best g only asks which of the two is larger, which is why total variation is the accuracy of"
    " the best guess from which of P and Q an outcome came, up to scale.",
)
def total_variation_witness(answer: Callable[[Tensor, Tensor], Tensor]) -> None:
    """The witness must be allowed, and reach the divergence."""
    g = table(answer(P, Q))
    if g.shape != P.shape:
        raise Wrong("return one value of g for each outcome")
    if bool((g.abs() > 0.5 + 1e-6).any()):
        raise Wrong(f"g must stay within -1/2 and 1/2; yours goes to {g[g.abs().argmax()]:g}")
    value, target = (g * (P - Q)).sum(), divergence("tv")(P, Q)
    if close(value, -target):
        raise Wrong("this g makes the bound smallest: turn its sign round")
    if not close(value, target):
        raise Wrong(f"your g gives {value:.4f}, and {target:.4f} can be reached")
