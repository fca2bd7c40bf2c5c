"""The formulas by hand against autograd, which sees a copy of each divergence that has none of them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from fdiv.learning.by_hand import CLOSED, OF_RATIOS
from fdiv.learning.losses import FDivLoss, trains_forward
from fdiv.noise.matrices import uniform
from fdiv.theory.divergences import DIVERGENCES, Divergence, divergence, slopes

ALL = tuple(DIVERGENCES)
FORWARD = tuple(name for name, d in DIVERGENCES.items() if trains_forward(d))
K = 4
T = np.array([[0.7, 0.2, 0.1, 0.0], [0.05, 0.9, 0.05, 0.0], [0.3, 0.1, 0.6, 0.0], [0.0, 0.2, 0.0, 0.8]])
CASES = [(name, kind) for name in ALL for kind in ("labels", "soft", "corrected", "printed")] + [
    (name, kind) for name in FORWARD for kind in ("forward", "forward, soft")
]


def loss_and_labels(d: Divergence | str, kind: str, n: int = 12) -> tuple[FDivLoss, torch.Tensor]:
    rng = np.random.default_rng(0)
    options: dict = {"label_prior": [0.3, 0.2, 0.4, 0.1]}
    if "forward" in kind or kind == "corrected":
        options |= {"transition": T, "correction": "forward" if "forward" in kind else "exact"}
    if kind == "printed":
        options |= {"transition": uniform(0.1, K), "correction": "paper"}
    soft = torch.as_tensor(rng.dirichlet(np.ones(K), n))
    return FDivLoss(d, K, **options), soft if "soft" in kind else torch.arange(n) % K


def logits(n: int = 12, size: float = 2.0) -> torch.Tensor:
    rng = torch.Generator().manual_seed(1)
    return (size * torch.randn(n, K, generator=rng, dtype=torch.float64)).requires_grad_()


def test_every_divergence_of_the_paper_has_its_formulas():
    assert {d.name for d in CLOSED} == set(ALL)
    assert {d.name for d in OF_RATIOS} == set(FORWARD)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("name", ALL)
def test_the_formulas_and_their_slopes_are_those_of_the_table(name, dtype):
    d, exact = divergence(name), torch.linspace(0, 1, 1001, dtype=torch.float64)
    error = 1e-13 if dtype == torch.float64 else 4e-6
    log_ratio = torch.linspace(-6, 6, 1001, dtype=torch.float64)
    cases = [
        (f, full, exact) for f, full in zip(CLOSED[d], (d.activation, d.conjugate_of_activation), strict=True)
    ]
    if d in OF_RATIOS:
        of_log, of_ratio = OF_RATIOS[d]
        cases.append((of_log, lambda x: d.derivative(x.exp()), log_ratio))
        cases.append((of_ratio, lambda r: d.conjugate(d.derivative(r)), log_ratio.exp()))
    for formula, full, x in cases:
        x = x.to(dtype)
        value, slope = formula(x)
        assert value.dtype == slope.dtype == dtype
        for found, expected in ((value, full(x.double())), (slope, slopes(full, x.double()))):
            assert ((found - expected).abs() / expected.abs().clamp(min=1)).max() < error


@pytest.mark.parametrize("size", [2.0, 30.0, 400.0])
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_loss_and_gradient_are_those_of_autograd(name, kind, size):
    """Far beyond the ends of f', too, where a probability is e^-800."""
    z, results = logits(size=size), []
    for d in (divergence(name), dataclasses.replace(divergence(name))):
        loss, y = loss_and_labels(d, kind)
        value = loss(z, y)
        results.append((value, torch.autograd.grad(value, z)[0]))
    assert dataclasses.replace(divergence(name)) not in CLOSED
    torch.testing.assert_close(results[0], results[1], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_gradients_and_their_gradients_are_right(name, kind):
    loss, y = loss_and_labels(name, kind, n=3)
    assert torch.autograd.gradcheck(lambda z: loss(z, y), logits(3))
    assert torch.autograd.gradgradcheck(lambda z: loss(z, y), logits(3))


def test_soft_labels_have_their_gradient_too():
    z, y = logits(), torch.full((12, K), 1 / K, dtype=torch.float64, requires_grad=True)
    loss = FDivLoss("js", K, label_prior="balanced", check=False)
    assert torch.autograd.gradcheck(lambda y: loss(z, y), y)


@pytest.mark.parametrize("name", FORWARD)
def test_the_forward_objective_is_proper_beyond_the_ends_of_its_slope(name):
    """At the clean posterior the expected gradient vanishes, also where a ratio is 1e-5 of the usual."""
    prior = torch.full((K,), 1 / K, dtype=torch.float64)
    for least in (0.05, 1e-3, 1e-5):
        rest = (1 - least) * torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
        posterior = torch.cat([rest, torch.tensor([least], dtype=torch.float64)])
        loss = FDivLoss(name, K, transition=np.eye(K), correction="forward", label_prior=prior)
        z = posterior.log()[None].requires_grad_()
        (slope,) = torch.autograd.grad(loss(z, posterior[None]), z)
        assert slope.abs().max() < 1e-12, least
