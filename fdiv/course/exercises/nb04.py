"""Checkers of notebook 04."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from fdiv.course.exercises import Wrong, close, exercise, number
from fdiv.theory.divergences import Divergence, divergence


@exercise(
    "2 the product term",
    because="This one line saves the second forward pass of every step, for every divergence.",
)
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


@exercise(
    "1 a derangement",
    because="An image that keeps its own label turns a part of the second term into the first.",
)
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


@exercise(
    "3 precision and recall",
    because="One number alone is easily made perfect: check everything, or check one label.",
)
def precision_and_recall(answer: Callable[[list[float], list[bool], float], tuple[float, float]]) -> None:
    """The caught ones over those checked, and over those wrong."""
    suspicion, wrong = [0.9, 0.8, 0.7, 0.6, 0.2, 0.1], [True, False, True, True, True, False]
    for threshold, right in ((0.65, (2 / 3, 1 / 2)), (0.85, (1.0, 1 / 4))):
        precision, recall = (number(value) for value in answer(suspicion, wrong, threshold))
        if (precision, recall) == right[::-1]:
            raise Wrong("they are exchanged: return precision first")
        if recall == right[0]:
            raise Wrong("recall divides by all wrong labels, not by those that were checked")
        if max(abs(precision - right[0]), abs(recall - right[1])) > 1e-6:
            raise Wrong(
                f"at the threshold {threshold} they are {right[0]:.3g} and {right[1]:.3g},"
                f" yours are {precision:.3g} and {recall:.3g}"
            )


@exercise(
    "4 what is worth checking",
    because="The threshold is check / harm: what a mistake costs you decides, not the model.",
)
def worth_checking(answer: Callable[[list[float], float, float], tuple[list[int], float]]) -> None:
    """Where the expected harm exceeds the cost of a check; the others are left at their expected harm."""
    score = [0.05, 0.5, 0.95, 0.2, 0.3]
    for check, harm, chosen, cost in ((1.0, 4.0, [1, 2, 4], 4.0), (3.0, 4.0, [2], 7.2), (1.0, 1.0, [], 2.0)):
        got, total = answer(score, check, harm)
        indices, total = sorted(int(i) for i in got), number(total)
        if indices == [i for i, s in enumerate(score) if s > 0.5] != chosen:
            raise Wrong("one half is not the threshold: compare score * harm with check")
        if indices != chosen:
            raise Wrong(f"with check {check:g} and harm {harm:g} check {chosen}, not {indices}")
        if abs(total - check * len(chosen)) < 1e-9 and abs(total - cost) > 1e-9:
            raise Wrong("that is the cost of checking: the labels you leave cost score * harm each")
        if abs(total - cost) > 1e-9:
            raise Wrong(f"with check {check:g} and harm {harm:g} it costs {cost:g}, yours is {total:g}")
