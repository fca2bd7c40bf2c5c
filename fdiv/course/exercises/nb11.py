"""Checkers of notebook 11."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from fdiv.course.exercises import Wrong, balanced, close, exercise, indices, number, refuse, table, worst
from fdiv.theory import exact

PAIRS = [(0, 1), (2, 3)]
E1, E2 = 0.3, 0.2
JOINT = torch.tensor(
    [[0.2, 0.05, 0.03, 0.02], [0.04, 0.15, 0.01, 0.05], [0.02, 0.03, 0.1, 0.05], [0.01, 0.04, 0.05, 0.15]],
    dtype=torch.float64,
)
G = torch.tensor(
    [[0.5, -0.2, 0.1, 0.3], [-0.4, 0.6, 0.2, 0.0], [0.1, 0.2, 0.7, -0.3], [0.0, -0.5, 0.3, 0.4]],
    dtype=torch.float64,
)


@exercise(
    "1 whose integral is it",
    because="It is Neyman's. An integral has one generator, up to c (r - 1), and g* and f* follow from it, so"
    " that a row of a table can be checked against itself, without knowing the right answer.",
)
def unnamed_generator(answer: Callable[[Tensor], Tensor]) -> None:
    """(1 - r)^2 / r, or that and any c (r - 1), which is the same divergence."""
    r = torch.linspace(0.2, 4, 20, dtype=torch.float64)
    got, right = table(answer(r)), (1 - r) ** 2 / r
    if got.shape != r.shape:
        raise Wrong("return a tensor of the shape of r")
    if close(got, (1 - r) ** 2):
        raise Wrong("that belongs to (p-q)²/q: here it is p that divides")
    if close(got, (1 - r) ** 2 / r**2):
        raise Wrong("divided by r once too often: the sum has a factor q outside, not p")
    tilt = (got[0] - right[0]) / (r[0] - 1)  # adding c (r - 1) changes no divergence
    if not close(got, right + tilt * (r - 1)):
        at = worst(got, right)
        raise Wrong(f"at r = {r[at]:.2g} it must be {right[at]:.4f}; yours is {got[at]:.4f}")


@exercise(
    "3 the corrected bias",
    because="With it the noisy objective decouples for sparse noise, too; and since a label never leaves its"
    " pair, every term can be computed from noisy labels.",
)
def sparse_bias(
    answer: Callable[[Tensor, Tensor, Tensor, Sequence[tuple[int, int]], float, float], object],
) -> None:
    """Against the corrected theorem for KL, with the printed one among the slips."""
    dual = torch.exp(G - 1)
    got = number(answer(JOINT, G, dual, PAIRS, E1, E2))
    right = exact.decouple_sparse(JOINT, G, "kl", PAIRS, E1, E2).bias.item()
    slips = {
        "that is the printed bias: average g over the pair only, and weight the pair by π_c": _bias(
            dual, lambda c: 1.0, lambda c: JOINT.sum(1)
        ),
        "the average over the pair is not weighted: multiply by π_c": _bias(
            dual, lambda c: 1.0, lambda c: c / c.sum()
        ),
        "the average of g runs over X with its label in the pair, not over all X": _bias(
            dual, lambda c: c.sum().item(), lambda c: c.sum() * JOINT.sum(1)
        ),
        "e1 and e2 are exchanged: with e1 a label lands on j": exact.decouple_sparse(
            JOINT, G, "kl", PAIRS, E2, E1
        ).bias.item(),
        "the sign is turned round: g minus f*(g)": -right,
    }
    refuse(got, slips)
    if abs(got - right) > 1e-6:
        raise Wrong(f"for the table of the checker it is {right:.6f}; yours is {got:.6f}")


def _bias(dual: Tensor, weight: Callable[[Tensor], float], seen: Callable[[Tensor], Tensor]) -> float:
    """A bias with the weight of the product and the weights of g that a slip gives a pair."""
    total = torch.zeros((), dtype=torch.float64)
    for i, j in PAIRS:
        pair = JOINT[:, i] + JOINT[:, j]
        for rate, label in ((E1, j), (E2, i)):
            random = weight(pair) * (JOINT.sum(1) * dual[:, label]).sum()
            total = total + rate * ((seen(pair) * G[:, label]).sum() - random)
    return total.item()


@exercise(
    "2 poor, and infinitely good",
    because="Where f(0) is infinite, one rare and certain answer outweighs everything else, so that the"
    " largest divergence says nothing about the classifier.",
)
def poor_but_infinite(answer: Callable[[], Tensor]) -> None:
    """Balanced, accuracy at most 0.55, and a zero where the product has none."""
    joint = balanced(answer())
    accuracy, value = exact.accuracy(joint).item(), exact.f_divergence(joint, "reverse-kl").item()
    if accuracy > 0.55 + 1e-9:
        raise Wrong(f"its accuracy is {accuracy:.3g}: at most 0.55 is asked for")
    if not np.isinf(value):
        raise Wrong(f"its reverse KL is {value:.3g}: which entry must be 0, in a row that is not?")


@exercise(
    "4 a check for every matrix",
    because="A sum takes a second and finds moved decimal points that a reader never sees. Of the four that"
    " moved in the paper it finds every row.",
)
def suspicious_rows(answer: Callable[[np.ndarray, int], Sequence[int]]) -> None:
    """Rows off by more than rounding explains."""
    T = np.array([[0.34, 0.33, 0.33], [0.7, 0.2, 0.2], [0.33, 0.33, 0.33], [0.05, 0.9, 0.03]])
    for digits, right in ((2, [1, 3]), (1, [])):
        rows = indices(answer(T, digits), len(T))
        if rows == [1, 2, 3]:
            raise Wrong("row 2 sums to 0.99, which rounding three entries to two digits explains")
        if digits == 1 and rows:
            raise Wrong(f"rounded to one digit the sum may be off by 0.15, which explains row {rows[0]}")
        if rows != right:
            raise Wrong(f"with {digits} digits the rows are {right}; yours are {rows}")
