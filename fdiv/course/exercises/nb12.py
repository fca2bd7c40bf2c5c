"""Checkers of notebook 12."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import torch
from torch import Tensor

from fdiv.course.exercises import Wrong, close, exercise, number, several, table
from fdiv.theory import DIVERGENCES, exact, robustness

CIRCLE = torch.tensor([[0.6, 0.4, 0.0], [0.0, 0.6, 0.4], [0.4, 0.0, 0.6]], dtype=torch.float64)


def _chances(values: Any, count: int, what: str) -> Tensor:
    """``values`` as so many numbers from 0 to 1."""
    got = table(values)
    if got.shape != (count,) or not ((got >= 0) & (got <= 1)).all():
        raise Wrong(f"{what} must be {count} numbers between 0 and 1")
    return got


def _two_answers(first: Tensor) -> Tensor:
    return torch.stack([first, 1 - first]) / len(first)


@exercise(
    "1 two that change places",
    because="No amount of noisy data tells which of the two is better, so a loss alone is not the cure.",
)
def better_then_worse(answer: Callable[[], Any]) -> None:
    """Better than (0, .5, 1) clean, and worse under noise in a circle."""
    A, B = (_two_answers(_chances(q, 3, "your classifier")) for q in ([0.0, 0.5, 1.0], answer()))
    clean, noisy = (
        (exact.f_divergence(B @ T, "tv") - exact.f_divergence(A @ T, "tv")).item()
        for T in (torch.eye(3).double(), CIRCLE)
    )
    if clean < 0.01:
        raise Wrong(f"on clean labels yours is ahead by {clean:.3f} only: it should be at least 0.01")
    if noisy > -0.01:
        raise Wrong(f"clean it is ahead, but on noisy labels it is not behind: {noisy:+.3f}")


@exercise(
    "2 the two constants",
    because="Their ratio is what training on noisy labels is guaranteed to keep, whatever the data.",
)
def constants(answer: Callable[[Tensor], Any]) -> None:
    """1 over half the widest distance of rows of the inverse, and half that of T."""
    generator = torch.Generator().manual_seed(0)
    for K in (2, 3, 5):
        T = torch.rand(K, K, generator=generator, dtype=torch.float64) + torch.eye(K)
        T = T / T.sum(1, keepdim=True)
        got = several(answer(T), "return two numbers, the smallest and the largest")
        low, high = (number(value) for value in got)
        right = robustness.guarantee("tv", T)
        if abs(low - right.highest) < 1e-9 and abs(high - right.lowest) < 1e-9 and K > 2:
            raise Wrong("the smaller one comes first")
        if abs(high - 2 * right.highest) < 1e-9:
            raise Wrong("take half of the distance: moving one unit from a class to another has norm 2")
        if abs(low - 1 / right.lowest) < 1e-9:
            raise Wrong("the inverse leads back, so that its constant is turned upside down")
        if not close(
            torch.tensor([low, high]), torch.tensor([right.lowest, right.highest], dtype=torch.float64)
        ):
            raise Wrong(
                f"for K = {K} it is ({right.lowest:.4f}, {right.highest:.4f}), not ({low:.4f}, {high:.4f})"
            )


@exercise(
    "3 as wrong as can be",
    because="Labels need not be mostly right to rank classifiers, only wrong in the same way for each class.",
)
def always_wrong(answer: Callable[[], Any]) -> None:
    """A zero diagonal and c permutation + 1 e'."""
    T = table(answer())
    if T.shape != (4, 4) or not ((T >= 0) & (T <= 1)).all() or not close(T.sum(1), torch.ones(4).double()):
        raise Wrong("return a 4 x 4 matrix of probabilities, each row with sum 1")
    T = T / T.sum(1, keepdim=True)  # rows of float32 sum to 1 up to rounding
    if T.diagonal().abs().max() > 1e-9:
        raise Wrong("some labels are right: the diagonal must be 0")
    verdict = robustness.keeps_rankings("tv", T)
    if not verdict:
        raise Wrong(f"no label is right, but {verdict.reason}")


@exercise(
    "4 the cliff",
    because="An imbalance you can count before training tells you which loss would give up a class.",
)
def largest_majority(answer: Callable[[str], Any]) -> None:
    """(1 + 1/x) / 2, at most 1."""
    for name in DIVERGENCES:
        got, right = number(answer(name)), robustness.imbalance_limit(name)
        x = robustness.peer_weight(name, 0.5)
        if abs(got - 1 / x) < 1e-4 and abs(got - right) > 1e-4:
            raise Wrong(f"{name}: 1/x is the largest difference of the two shares, which sum to 1")
        if got > 1 + 1e-9:
            raise Wrong(f"{name}: a share is at most 1, and then there is no cliff")
        if abs(got - min(1.0, (1 + x) / 2)) < 1e-4 and abs(got - right) > 1e-4:
            raise Wrong(f"{name}: x is upside down")
        if abs(got - right) > 1e-4:
            raise Wrong(f"{name}: the objective turns at {right:.4f}, not at {got:.4f}")


@exercise(
    "5 groups are not boundaries",
    because="Maximising an information is clustering: it is the right thing where classes hardly overlap.",
)
def groups_not_boundaries(answer: Callable[[], Any]) -> None:
    """The best by Pearson's divergence is not the most accurate."""
    got = several(answer(), "return two lists: three chances of +, and three frequencies")
    eta, mass = _chances(got[0], 3, "the chances of +"), _chances(got[1], 3, "the frequencies")
    if abs(mass.sum() - 1) > 1e-6:
        raise Wrong(f"the frequencies must sum to 1, not {mass.sum():.4g}")
    if abs(mass @ eta - 0.5) > 1e-3:
        raise Wrong(f"the classes must be balanced, but P(+) is {mass @ eta:.4f}")
    xy = mass[:, None] * torch.stack([eta, 1 - eta], 1)
    scored = []
    for h in product(range(2), repeat=3):
        joint = torch.zeros(2, 2, dtype=torch.float64).index_add_(0, torch.tensor(h), xy)
        scored.append((exact.f_divergence(joint, "pearson").item(), exact.accuracy(joint).item()))
    top = max(value for value, _ in scored)
    chosen = max(a for value, a in scored if value > top - 1e-9)  # its names may be exchanged
    lead = max(a for _, a in scored) - chosen
    if lead < 1e-9:
        raise Wrong("there Pearson's choice is the most accurate one: move one kind just across one half")
    if lead < 0.005:
        raise Wrong(
            f"Pearson's choice is less accurate, but by {lead:.4f} only: make the middle kind more frequent"
        )
