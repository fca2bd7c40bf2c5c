"""Checkers of notebook 09."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from fdiv import noise
from fdiv.course.exercises import Wrong, close, exercise, number, several, table
from fdiv.theory import exact


@exercise(
    "1 the clean prior",
    because="Noisy labels do not show how frequent the classes are. With T they do, and the inverse needs to"
    " know it.",
)
def clean_prior(answer: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Solve T'p = p~."""
    T = torch.as_tensor(noise.sparse(4, None, e1=0.7, e2=0.2))
    prior = torch.tensor([0.4, 0.1, 0.3, 0.2], dtype=torch.float64)
    noisy = T.T @ prior
    got = table(answer(noisy, T))
    if got.shape != prior.shape:
        raise Wrong(f"return {len(prior)} frequencies, not a tensor of shape {tuple(got.shape)}")
    if close(got, torch.linalg.solve(T, noisy)):
        raise Wrong("T is transposed: the noisy prior is T'p, a sum over the clean class")
    if close(got, T.T @ noisy):
        raise Wrong("that adds the noise once more: solve for p instead of multiplying")
    if not close(got, prior):
        raise Wrong(f"T'p of your answer is {(T.T @ got).tolist()}, not {noisy.tolist()}")


@exercise(
    "4 the plug-in",
    because="With this g the objective is the divergence itself, which preferred the perfect classifier even"
    " in notebook 03; and no T was needed to write it.",
)
def plug_in(answer: Callable[[Tensor], Tensor]) -> None:
    """2 (P/Q - 1), with Q the product of the margins of P."""
    joint = torch.tensor([[0.30, 0.10], [0.05, 0.55]], dtype=torch.float64)
    got, right = table(answer(joint)), exact.optimal_g(joint, "pearson")
    if got.shape != right.shape:
        raise Wrong("return a table of the shape of joint")
    if close(got, joint / exact.product(joint)):
        raise Wrong("that is the ratio P/Q: apply f' to it")
    if close(got, (joint / exact.product(joint) - 1) ** 2):
        raise Wrong("that is f of the ratio: the best g is its slope f'")
    if close(got, right / 2):
        raise Wrong("the derivative of (v - 1)^2 has a factor 2")
    if close(got, 2 * (exact.product(joint) / joint - 1)):
        raise Wrong("the ratio is upside down: P/Q, not Q/P")
    if not close(got, right):
        raise Wrong(f"for the table {joint.tolist()} it is {right.numpy().round(3).tolist()}")


@exercise(
    "2 when anchors fail",
    because="Rows led by a wrong label mislead whoever fits; only columns mislead whoever estimates T.",
)
def anchors_fail_up_to(answer: Callable[[float], float]) -> None:
    """a <= b; one half and 1 - b are the common slips."""
    for b in (0.1, 0.2, 0.45):
        got = number(answer(b))
        if abs(got - 0.5) < 1e-6:
            raise Wrong("one half is about rows: the anchors of class i come from column i")
        if abs(got - (1 - b)) < 1e-6:
            raise Wrong("1 - b is what the partner keeps: compare the two entries of column i")
        if abs(got - b) > 1e-6:
            raise Wrong(f"for b = {b} it is another number than {got:g}: compare T_ii with T_ji")


@exercise(
    "3 which rule survives",
    because="Dividing is right whenever e1 + e2 < 1: far beyond the one half that stops the others.",
)
def survivors(answer: Callable[[float, float, int], tuple[bool, bool, bool]]) -> None:
    """Fit, subtract and divide, for an image of the class that gives e1 away."""
    for e1, e2, num_classes in ((0.7, 0.2, 10), (0.4, 0.1, 10), (0.55, 0.0, 2), (0.8, 0.3, 10)):
        own, other = (1 - e1 + e2) / num_classes, (1 - e2 + e1) / num_classes
        right = 1 - e1 > e1, 1 - e1 - own > e1 - other, (1 - e1) / own > e1 / other
        given = answer(e1, e2, num_classes)
        given = (
            [given.get(name) for name in ("fit", "subtract", "divide")] if isinstance(given, dict) else given
        )
        three = several(given, "return three booleans: fit, subtract, divide", 3)
        if any(one not in (True, False) for one in three):
            raise Wrong("return three booleans: whether fit, subtract and divide prefer the own label")
        got = tuple(bool(one) for one in three)
        if got == (right[0], right[0], right[0]) != right:
            raise Wrong("the three rules differ: the labels are not equally frequent among all images")
        for name, mine, yours in zip(("fit", "subtract", "divide"), right, got, strict=True):
            if mine != yours:
                raise Wrong(f"for e1 = {e1}, e2 = {e2}, K = {num_classes}, {name!r} is {mine}, not {yours}")
