"""Checkers of notebook 01."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from fdiv.course.exercises import Wrong, close, exercise
from fdiv.theory.divergences import Divergence, divergence, registered

P = torch.tensor([0.5, 0.2, 0.2, 0.1], dtype=torch.float64)
Q = torch.tensor([0.1, 0.3, 0.2, 0.4], dtype=torch.float64)


@exercise("1 the conjugate of squared Hellinger")
def squared_hellinger_conjugate(answer: Callable[[Tensor], Tensor]) -> None:
    """Against the supremum, with the common slips named."""
    u = torch.tensor([-3.0, -0.5, 0.0, 0.5], dtype=torch.float64)
    got, right = answer(u), divergence("squared-hellinger").conjugate(u)
    if not isinstance(got, Tensor) or got.shape != u.shape:
        raise Wrong("return a tensor of the shape of u")
    if close(got, 1 / (1 - u) ** 2):
        raise Wrong("that is the v at which the line touches f; put it into u v - f(v)")
    if close(got, 1 / (1 - u)):
        raise Wrong("that is the square root of the touching v; put v into u v - f(v)")
    if close(got, -right):
        raise Wrong("the sign is turned round: f* is u v - f(v), not f(v) - u v")
    if not close(got, right):
        at = int((got - right).abs().argmax())
        raise Wrong(f"at u = {u[at]:g} the largest gap is {right[at]:.4f}; yours is {got[at]:.4f}")


@exercise("2 triangular discrimination, the ninth divergence")
def triangular(answer: Callable[[], Divergence]) -> None:
    """Each field by the property that defines it, then the registry."""
    new = answer()
    if not isinstance(new, Divergence):
        raise Wrong(f"return a Divergence, not a {type(new).__name__}")
    v = torch.linspace(0.1, 5, 50, dtype=torch.float64, requires_grad=True)
    if not close(new.f(v), (v - 1) ** 2 / (v + 1)):
        raise Wrong("generator: q f(p/q) must be (p-q)²/(p+q); divide by q and write v for p/q")
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
    """f* against a supremum over many v."""
    u = torch.tensor([-5.0, -3.0, -1.0, 0.0, 0.5, 0.9], dtype=torch.float64)
    v = torch.cat([torch.zeros(1), torch.logspace(-4, 2, 200_001)]).double()
    gaps = (u[:, None] * v - (v - 1) ** 2 / (v + 1)).max(dim=1).values
    got = new.conjugate(u)
    if not close(got[1:], gaps[1:], 1e-5):
        at = 1 + int((got - gaps)[1:].abs().nan_to_num(torch.inf).argmax())
        raise Wrong(f"dual: at u = {u[at]:g} the largest gap is {gaps[at]:.4f}; yours is {got[at]:.4f}")
    if not close(got[0], gaps[0], 1e-5):
        raise Wrong("dual: right from u = -3 up; below, no v > 0 has that slope, so the best v is 0")


def _check_activation(new: Divergence) -> None:
    v = torch.linspace(-3, 3, 61, dtype=torch.float64)
    g = new.activation(v)
    if not bool((g.diff() > 0).all()):
        raise Wrong("activation: it must increase (section 7 shows what a decreasing one does)")
    if not bool(new.domain.contains(g).all()):
        raise Wrong("activation: it leaves the domain of f*")
    if not close(new.conjugate_of_activation(v), new.conjugate(g)):
        raise Wrong("conjugate_of_activation: it is not dual(activation(v))")


@exercise("3 total variation is attained by a sign")
def total_variation_witness(answer: Callable[[Tensor, Tensor], Tensor]) -> None:
    """The witness must be allowed, and reach the divergence."""
    g = answer(P, Q)
    if not isinstance(g, Tensor) or g.shape != P.shape:
        raise Wrong("return one value of g for each outcome")
    if bool((g.abs() > 0.5 + 1e-9).any()):
        raise Wrong(f"g must stay within -1/2 and 1/2; yours goes to {g[g.abs().argmax()]:g}")
    value, target = (g * (P - Q)).sum(), divergence("tv")(P, Q)
    if close(value, -target):
        raise Wrong("this g makes the bound smallest: turn its sign round")
    if not close(value, target):
        raise Wrong(f"your g gives {value:.4f}, and {target:.4f} can be reached")
