"""Soft labels: for every loss the exact expectation over labels drawn from them."""

from __future__ import annotations

import copy
import itertools

import numpy as np
import pytest
import torch
from test_losses_promises import EVERY, PRIOR, K, T, batch, one_loss, whole_batch_losses
from torch import nn

from fdiv import votes_to_soft
from fdiv.learning.losses import DMI, CrossEntropy, FDivLoss, PeerLoss
from fdiv.learning.modern import ELR, JensenShannon

n = 5


def soft(rows: int = n, seed: int = 3) -> torch.Tensor:
    return torch.as_tensor(np.random.default_rng(seed).dirichlet(np.ones(K), rows))


def hot(y: torch.Tensor) -> torch.Tensor:
    return nn.functional.one_hot(y, K).double()


@pytest.mark.parametrize("name", EVERY)
def test_it_is_the_expectation_over_every_way_to_draw_the_labels(name):
    """All 4^3 labellings of three inputs, each with its chance."""
    if name == "shuffled":
        pytest.skip("its own test below")
    loss, (z, _), q = one_loss(name), batch(3), soft(3)
    expected = sum(
        q[range(3), y].prod() * loss(z, torch.tensor(y)) for y in itertools.product(range(K), repeat=3)
    )
    torch.testing.assert_close(loss(z, q), expected)
    torch.testing.assert_close(loss.objective(z, q), -expected)


@pytest.mark.parametrize("name", [*EVERY, *whole_batch_losses()])
def test_certain_soft_labels_are_class_numbers(name):
    z, y = batch()
    losses = [one_loss(name) if name in EVERY else whole_batch_losses()[name] for _ in range(2)]
    values, grads = [], []
    for loss, labels in zip(losses, (y, hot(y)), strict=True):
        torch.manual_seed(0)
        values.append(loss(z, labels))
        grads.append(torch.autograd.grad(values[-1], z)[0])
        assert loss.diagnose(z, labels) == losses[0].diagnose(z, y)
    torch.testing.assert_close(*values)
    torch.testing.assert_close(*grads)


@pytest.mark.parametrize("name", EVERY)
def test_weights_stand_for_votes_that_are_more_frequent(name):
    """Two examples with votes (0, 0, 1) and (1, 2, 2): a class of weight 2 counts twice."""
    if name == "shuffled":
        pytest.skip("its pairs are drawn anew")
    if name.endswith("paper"):
        with pytest.raises(ValueError, match="a T that weights of classes would change"):
            one_loss(name, weight=[1.0, 2.0, 3.0, 1.0])
        return
    votes, weight = torch.tensor([[0, 0, 1], [1, 2, 2]]), torch.tensor([1.0, 2.0, 3.0, 1.0])
    weighted = one_loss(name, weight=weight)
    z, _ = batch(2)
    one_by_one = weighted(z.repeat_interleave(3, 0), votes.flatten())
    torch.testing.assert_close(weighted(z, votes_to_soft(votes, K).double()), one_by_one)


@pytest.mark.parametrize("name", [*EVERY, *whole_batch_losses()])
def test_each_soft_label_counts_as_much_as_its_sample_weight(name):
    """A weight of 2 is the example twice, one of 0 is none of it; the plug-in and DMI see tables of them."""
    z, y = batch(8)
    soft, weight = torch.rand(8, K, dtype=torch.float64).softmax(1), torch.tensor([2.0, 1, 1, 1, 1, 1, 1, 0])
    twice = torch.tensor([0, 0, 1, 2, 3, 4, 5, 6])
    loss = one_loss(name) if name in EVERY else whole_batch_losses()[name]
    if getattr(loss, "product", "exact") != "exact":
        return  # it draws the labels of others
    torch.testing.assert_close(
        copy.deepcopy(loss)(z, soft, sample_weight=weight), copy.deepcopy(loss)(z[twice], soft[twice])
    )
    torch.testing.assert_close(
        copy.deepcopy(loss)(z, y, sample_weight=weight), copy.deepcopy(loss)(z[twice], y[twice])
    )


@pytest.mark.parametrize(
    ("weight", "error", "words"),
    [
        ([1.0] * 8, TypeError, "sample_weight must be a tensor of numbers, not list"),
        (torch.ones(7), ValueError, "sample_weight has 7 numbers for 8 labels"),
        (-torch.ones(8), ValueError, "sample_weight holds -1, but must be finite numbers from 0 up"),
        (torch.tensor([1.0] * 7 + [float("nan")]), ValueError, "sample_weight holds nan"),
        (torch.tensor([1.0] * 7 + [float("inf")]), ValueError, "sample_weight holds inf"),
    ],
)
def test_sample_weights_that_are_none_are_refused_in_a_sentence(weight, error, words):
    z, y = batch(8)
    for labels in (y, torch.rand(8, K, dtype=torch.float64).softmax(1)):
        with pytest.raises(error, match=words) as caught:
            one_loss("tv")(z, labels, sample_weight=weight)
        assert "\n" not in str(caught.value)


def test_shuffled_and_sampled_products_take_the_peers_expectation():
    z, q = batch(2)[0], soft(2)
    torch.manual_seed(0)
    got = FDivLoss("js", K, product="shuffled", label_prior=PRIOR)(z, q)
    sampled = FDivLoss("js", K, product="sampled", label_prior=PRIOR)
    torch.testing.assert_close(got, sampled(z, q, z, q.flip(0)))
    pairs = itertools.product(range(K), repeat=4)
    expected = sum(
        q[[0, 1], y[:2]].prod() * q.flip(0)[[0, 1], y[2:]].prod()
        * sampled(z, torch.tensor(y[:2]), z, torch.tensor(y[2:]))
        for y in map(list, pairs)
    )  # fmt: skip
    torch.testing.assert_close(got, expected)


@pytest.mark.parametrize("name", whole_batch_losses())
def test_losses_of_a_whole_batch_see_the_expected_table(name):
    """Every input twice with label a, once with b: the same table as a row of (2/3, 1/3)."""
    z, _ = batch(8)
    votes = torch.tensor([[i % K, i % K, (i + 1) % K] for i in range(8)])
    q = votes_to_soft(votes, K).double()
    loss, again = (whole_batch_losses()[name] for _ in range(2))
    repeated = loss(z.repeat_interleave(3, 0), votes.flatten())
    if name == "dmi":  # of sums over three times the samples: 3^K times the determinant
        more, once = (value.neg().exp() - 0.001 for value in (repeated, again(z, q)))
        torch.testing.assert_close(more, 3**K * once)
    else:
        torch.testing.assert_close(repeated, again(z, q))


def test_the_losses_after_the_paper_take_them_too():
    z, q = batch(3)[0], soft(3)
    for loss, more in (
        (JensenShannon(K, views=2), {"view_logits": z.flip(0)}),
        (ELR(K, examples=3).eval(), {"index": torch.arange(3)}),
    ):
        expected = sum(
            q[range(3), y].prod() * loss(z, torch.tensor(y), **more)
            for y in itertools.product(range(K), repeat=3)
        )
        torch.testing.assert_close(loss(z, q, **more), expected)


def test_cross_entropy_is_torchs_and_pixels_have_soft_labels():
    z, q = batch(24)[0], soft(24)
    for reduction in ("mean", "sum", "none"):
        ours, theirs = CrossEntropy(K, reduction=reduction), nn.CrossEntropyLoss(reduction=reduction)
        torch.testing.assert_close(ours(z, q), theirs(z, q))
        image, labels = (x.reshape(2, 3, 4, K).movedim(-1, 1) for x in (z, q))
        torch.testing.assert_close(ours(image, labels), theirs(image, labels))
    assert CrossEntropy(K)(z.float(), q.half()).dtype == torch.float32


def test_a_prior_of_soft_labels_is_their_mean():
    q = soft(50)
    z, y = batch()
    prior = q.mean(0)
    for ours, theirs in (
        (FDivLoss.from_labels("js", q), FDivLoss("js", K, label_prior=prior)),
        (PeerLoss.from_labels(q), PeerLoss(K, label_prior=prior)),
    ):
        torch.testing.assert_close(ours(z, y), theirs(z, y))


def test_what_is_no_distribution_is_refused_in_a_sentence():
    z, q = batch(n)[0], soft()
    loss = FDivLoss("tv", K, label_prior=PRIOR)
    for labels, message in (
        (2 * q, "soft labels must be probabilities from 0 up, whose rows sum to 1"),
        (q - 0.25, "soft labels must be probabilities"),
        (q * torch.nan, "soft labels must be probabilities"),
        (q[:, :3], r"soft labels must be of shape \(5, 4\), a probability for each logit, not \(5, 3\)"),
    ):
        with pytest.raises(ValueError, match=message):
            loss(z, labels)
    with pytest.raises(TypeError, match=r"a tensor of integers, .* soft ones are a row of prob"):
        loss(z, q[:, 0])
    with pytest.raises(ValueError, match="ignore_index is the number of a class"):
        CrossEntropy(K, ignore_index=-1)(z, q)
    for counting in (FDivLoss("tv", K), PeerLoss(K)):
        with pytest.raises(ValueError, match="soft labels are not counted: give label_prior"):
            counting(z, q)


def test_votes():
    rng = np.random.default_rng(0)
    votes = rng.integers(-1, K, (200, 5))
    votes[:, 2] = rng.integers(0, K, 200)
    q = votes_to_soft(votes, K)
    for row, shares in zip(votes, q.numpy(), strict=True):
        counts = np.bincount(row[row >= 0], minlength=K)
        np.testing.assert_allclose(shares, counts / counts.sum(), atol=1e-6)
    torch.testing.assert_close(votes_to_soft(torch.as_tensor(votes), K), q)
    for bad, message in (
        (votes.astype(float), r"whole numbers of shape \(examples, annotators\), not float64"),
        (votes[:, 0], r"whole numbers .* of shape \(200,\)"),
        (np.array([[0, 4]]), r"votes\[0, 1\] is 4, but a vote is 0 to 3, or -1"),
        (np.array([[0, 1], [-1, -1]]), r"nobody voted for example 1 \(1 in all\): leave these"),
    ):
        with pytest.raises(ValueError, match=message):
            votes_to_soft(bad, K)


def test_a_step_with_soft_labels_compiles_and_differentiates():
    z, q = batch(n)[0], soft()
    for loss in (FDivLoss("js", K, label_prior=PRIOR, transition=T), DMI(K, check=False)):
        torch._dynamo.reset()
        compiled = torch.compile(loss, backend="eager", fullgraph=True)
        torch.testing.assert_close(compiled(z, q), loss(z, q))
