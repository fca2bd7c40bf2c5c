"""Checkers of notebook 04."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from fdiv.course.exercises import Wrong, close, exercise, indices, near, number, refuse, several, table
from fdiv.theory.divergences import Divergence, divergence


@exercise(
    "2 the product term",
    because="This one line saves the second forward pass of every step, for every divergence, and takes the"
    " luck of the peer labels away.",
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
        got = table(answer(logits, prior, d))
        if close(got, (dual(logits) * prior).sum(1).mean()):
            raise Wrong("v is the probability, not the logit: apply softmax first")
        if close(got, dual(logits.softmax(1)).mean()):
            raise Wrong("every class counts alike in yours: weigh class y by prior[y]")
        if close(got, (dual(logits.softmax(0)) * prior).sum(1).mean()):
            raise Wrong("the probabilities of an image must sum to 1: softmax along dim=1, the classes")
        if close(got, right * 6):
            raise Wrong("take the mean over the batch, not the sum")
        if not close(got, right):
            raise Wrong(f"for {d.title} it should be {right:.4f}, yours is {number(got):.4f}")


@exercise(
    "1 a shuffle that moves everybody",
    because="An image that keeps its own label turns a part of the second term into the first: agreement is"
    " then rewarded and punished at once.",
)
def derangement(answer: Callable[[int], Tensor]) -> None:
    """A permutation without a fixed point, and not always the same one."""
    seen = set()
    for n in (2, 3, 5, 64):
        for _ in range(20):
            order = table(answer(n))
            if sorted(order.tolist()) != list(range(n)):
                raise Wrong(f"for n = {n} every index from 0 to {n - 1} must occur once")
            kept = (order == torch.arange(n)).sum().item()
            if kept:
                raise Wrong(f"for n = {n}, {kept} of the images kept their own label")
            seen.add(tuple(order.tolist()) if n == 64 else None)
    if len(seen) < 10:
        raise Wrong("it is nearly always the same one: draw it at random")


@exercise(
    "3 AUROC by hand",
    because="It judges the whole ranking and needs no threshold; where to draw the line is a question of"
    " cost, and the last exercise asks it.",
)
def auroc(answer: Callable[[np.ndarray, np.ndarray], float]) -> None:
    """Over all pairs of a wrong and a right label; of equal suspicions, half."""
    suspicion = np.array([0.9, 0.8, 0.7, 0.6, 0.6, 0.2, 0.1])
    wrong = np.array([True, False, True, True, False, True, False])
    got = number(answer(suspicion, wrong))
    tie = "of two equal suspicions a coin decides: a tie counts one half, not {}"
    pairs = "divide by the pairs of one wrong and one right label, not by all pairs"
    refuse(got, {tie.format("nothing"): 7 / 12, tie.format("a whole win"): 8 / 12, pairs: 7.5 / 21})
    refuse(got, {"that is a number of pairs: divide by how many pairs there are": 7.5, pairs: 7.5 / 49})
    refuse(got, {"that is the chance that the right label stands before: turn the comparison round": 3 / 8})
    if not near(got, 5 / 8):
        raise Wrong(f"of the 12 pairs of the checker 7 and a tie are in order, 0.625; yours is {got:.4g}")
    if not near(number(answer(np.array([0.1, 0.2, 0.9]), np.array([False, False, True]))), 1):
        raise Wrong("where every wrong label stands before every right one it must be 1")


@exercise(
    "4 what is worth checking",
    because="The threshold is check / harm: what a mistake costs you decides, not the model.",
)
def worth_checking(answer: Callable[[np.ndarray, float, float], tuple[list[int], float]]) -> None:
    """Where the expected harm exceeds the cost of a check; the others are left at their expected harm."""
    score = np.array([0.05, 0.5, 0.95, 0.2, 0.3])
    for check, harm, chosen, cost in ((1.0, 4.0, [1, 2, 4], 4.0), (3.0, 4.0, [2], 7.2), (1.0, 1.0, [], 2.0)):
        got, total = several(answer(score, check, harm), "return two things: the indices, and the cost")
        picked, total = indices(got, len(score)), number(total)
        if picked == [i for i, s in enumerate(score) if s > 0.5] != chosen:
            raise Wrong("one half is not the threshold: compare score * harm with check")
        if picked != chosen:
            raise Wrong(f"with check {check:g} and harm {harm:g} check {chosen}, not {picked}")
        if near(total, check * len(chosen)) and not near(total, cost):
            raise Wrong("that is the cost of checking: the labels you leave cost score * harm each")
        if not near(total, cost):
            raise Wrong(f"with check {check:g} and harm {harm:g} it costs {cost:g}, yours is {total:g}")
