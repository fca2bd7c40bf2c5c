"""Checkers of notebook 04."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from fdiv.course.exercises import Wrong, close, exercise
from fdiv.theory.divergences import Divergence, divergence


@exercise("1 the product term")
def product_term(answer: Callable[[Tensor, Tensor, Divergence], Tensor]) -> None:
    """Against the sum written out, with the common slips named."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(6, 4, generator=generator, dtype=torch.float64)
    prior = torch.tensor([0.4, 0.3, 0.2, 0.1], dtype=torch.float64)
    for name in ("kl", "js"):
        d = divergence(name)
        dual = d.conjugate_of_activation
        right = sum(prior[y] * dual(logits.softmax(1)[x, y]) for x in range(6) for y in range(4)) / 6
        got = answer(logits, prior, d)
        if close(got, (dual(logits) * prior).sum(1).mean()):
            raise Wrong("v is the probability, not the logit: apply softmax first")
        if close(got, dual(logits.softmax(1)).mean()):
            raise Wrong("every class counts alike in yours: weigh class y by prior[y]")
        if close(got, right * 6):
            raise Wrong("take the mean over the batch, not the sum")
        if not close(got, right):
            raise Wrong(f"for {d.title} it should be {right:.4f}, yours is {float(got):.4f}")


@exercise("2 a derangement")
def derangement(answer: Callable[[int], Tensor]) -> None:
    """A permutation without a fixed point, and not always the same one."""
    seen = set()
    for n in (2, 3, 5, 64):
        for _ in range(20):
            order = torch.as_tensor(answer(n))
            if sorted(order.tolist()) != list(range(n)):
                raise Wrong(f"for n = {n} every index from 0 to {n - 1} must occur once")
            kept = (order == torch.arange(n)).sum().item()
            if kept:
                raise Wrong(f"for n = {n}, {kept} of the images kept their own label")
            seen.add(tuple(order.tolist()) if n == 64 else None)
    if len(seen) < 10:
        raise Wrong("it is nearly always the same one: draw it at random")


@exercise("3 counting forward passes")
def forward_passes(answer: Callable[[int, str], int]) -> None:
    """Two passes when sampled, one when exact; three is the common slip."""
    if answer(1000, "sampled") == 3000:
        raise Wrong("the third mini-batch gives labels only; the network never sees its images")
    for product, right in (("sampled", 2000), ("exact", 1000)):
        got = answer(1000, product)
        if got != right:
            raise Wrong(f"for 1000 examples and {product!r} it is {right}, yours is {got}")
