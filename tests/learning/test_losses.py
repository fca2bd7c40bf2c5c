"""Every loss against its formula, written out in loops; every promise of the docstrings against an example.

Expectations are exact where that is possible: over samples that hold each pair of input and noisy label as
often as the noisy joint distribution says, they are a mean.
"""

from __future__ import annotations

import copy
import math
import pickle
import re
import warnings

import numpy as np
import pytest
import torch
from torch import Tensor

from fdiv.learning.losses import (
    DMI,
    RATIOS,
    BackwardCorrection,
    CrossEntropy,
    FDivLoss,
    ForwardCorrection,
    NoisyLabelLoss,
    PeerLoss,
    _derangement,
    _nearest_distribution,
    _on,
    peer_schedule,
    works_on_logits,
    works_plugged_in,
)
from fdiv.noise.matrices import sparse, uniform
from fdiv.theory import exact
from fdiv.theory.divergences import DIVERGENCES, Divergence, Interval, divergence

ALL = tuple(DIVERGENCES)
PLUGGABLE = tuple(name for name, d in DIVERGENCES.items() if works_plugged_in(d))
ON_LOGITS = tuple(name for name, d in DIVERGENCES.items() if works_on_logits(d))
each = pytest.mark.parametrize("name", ALL)
each_pluggable = pytest.mark.parametrize("name", PLUGGABLE)
K, B = 4, 24
T3 = np.array([[0.7, 0.2, 0.1], [0.05, 0.9, 0.05], [0.3, 0.1, 0.6]])
PRIOR = [0.1, 0.2, 0.3, 0.4]


def batch(n: int = B, classes: int = K, seed: int = 0, dtype=torch.float64) -> tuple[Tensor, Tensor]:
    """Logits with a gradient, and labels that hold every class."""
    rng = torch.Generator().manual_seed(seed)
    z = (1.5 * torch.randn(n, classes, generator=rng, dtype=torch.float64)).to(dtype).requires_grad_()
    return z, torch.arange(n)[torch.randperm(n, generator=rng)] % classes


def skewed(n: int = B, classes: int = K, seed: int = 0) -> tuple[Tensor, Tensor]:
    """As ``batch``, with labels that are not balanced."""
    z, y = batch(n, classes, seed)
    return z, torch.where(torch.arange(n) < n // 3, 0, y)


def softmax(row: Tensor) -> list[float]:
    top = max(row.tolist())
    e = [math.exp(x - top) for x in row.tolist()]
    return [x / sum(e) for x in e]


def scores(z: Tensor, score: str = "probability") -> list[list[float]]:
    return [softmax(row) if score == "probability" else row.tolist() for row in z]


def g_and_dual(name: str, v: float) -> tuple[float, float]:
    """g_f(v) and f*(g_f(v)), the second from the definition of f*."""
    d = divergence(name)
    u = d.activation(torch.tensor(v, dtype=torch.float64))
    return u.item(), d.conjugate(u).item()


def slow_difference(name: str, v, y, prior, product=None) -> float:
    """E_P[g] - E_Q[f*(g)] in loops; ``product`` lists sampled (v, y) instead of all of them."""
    first = sum(g_and_dual(name, row[k])[0] for row, k in zip(v, y.tolist(), strict=True)) / len(v)
    if product is not None:
        return first - sum(g_and_dual(name, row[k])[1] for row, k in product) / len(product)
    second = sum(prior[k] * g_and_dual(name, row[k])[1] for row in v for k in range(len(row))) / len(v)
    return first - second


def frequencies(y: Tensor, classes: int = K) -> list[float]:
    return [y.tolist().count(k) / len(y) for k in range(classes)]


def gradient(loss: NoisyLabelLoss, z: Tensor, *arguments: Tensor) -> Tensor:
    return torch.autograd.grad(loss(z, *arguments), z)[0]


def random_rational_T(rng, classes: int, parts: int = 20) -> np.ndarray:
    """A random T of multiples of 1/parts, with more on the diagonal so that it can be inverted."""
    counts = np.stack([rng.multinomial(parts // 2, np.ones(classes) / classes) for _ in range(classes)])
    return (counts + (parts - parts // 2) * np.eye(classes, dtype=int)) / parts


def enumerated(rng, T: np.ndarray, inputs: int = 5, parts: int = 20):
    """A clean table P(X, Y), logits per input, and the samples (x, y~) that enumerate its noisy table."""
    classes = len(T)
    true = np.eye(classes, dtype=int)[np.arange(inputs) % classes]
    clean = rng.integers(1, 4, size=(inputs, classes)) + 4 * true
    noisy = np.rint(clean @ (T * parts)).astype(int)
    assert np.allclose(noisy, clean @ (T * parts))
    x, y = (np.repeat(index.ravel(), noisy.ravel()) for index in np.indices(noisy.shape))
    z = torch.as_tensor(rng.normal(size=(inputs, classes)) + 2 * true)
    return torch.as_tensor(clean / clean.sum()), z, torch.as_tensor(x), torch.as_tensor(y)


# ---------------------------------------------------------------------- Algorithm 1


@pytest.mark.parametrize(
    ("name", "score"), [*((n, "probability") for n in ALL), *((n, "logit") for n in ON_LOGITS)]
)
def test_exact_is_the_difference_of_algorithm_1_in_loops(name, score):
    z, y = skewed()
    loss = FDivLoss(name, K, score=score)
    expected = slow_difference(name, scores(z, score), y, frequencies(y))
    assert loss(z, y).item() == pytest.approx(-expected, abs=1e-12)
    assert loss.objective(z, y).item() == pytest.approx(expected, abs=1e-12)
    given = FDivLoss(name, K, score=score, label_prior=PRIOR)
    assert given(z, y).item() == pytest.approx(-slow_difference(name, scores(z, score), y, PRIOR), abs=1e-12)


@each
def test_sampled_pairs_the_second_inputs_with_the_third_labels(name):
    (z, y), (z2, _), (_, y3) = skewed(seed=1), batch(seed=2), batch(seed=3)
    pairs = list(zip(scores(z2), y3.tolist(), strict=True))
    expected = slow_difference(name, scores(z), y, None, pairs)
    loss = FDivLoss(name, K, product="sampled")
    assert loss.needs_peers
    assert loss(z, y, z2, y3).item() == pytest.approx(-expected, abs=1e-12)
    exact = slow_difference(name, scores(z), y, frequencies(y))
    assert loss.objective(z, y).item() == pytest.approx(exact, abs=1e-12)


@each
def test_shuffled_pairs_each_input_with_the_label_of_another(name):
    z, y = skewed()
    torch.manual_seed(5)
    order = _derangement(y)
    pairs = list(zip(scores(z), y[order].tolist(), strict=True))
    torch.manual_seed(5)
    loss = FDivLoss(name, K, product="shuffled")
    assert loss(z, y).item() == pytest.approx(-slow_difference(name, scores(z), y, None, pairs), abs=1e-12)
    assert not loss.needs_peers


@pytest.mark.parametrize("make", [lambda p: FDivLoss("js", K, product=p), lambda p: PeerLoss(K, product=p)])
def test_the_three_products_agree_in_expectation_and_exact_varies_least(make):
    z, y = skewed(400)
    z = z.detach()
    target = make("exact")(z, y).item()
    values = {"exact": [], "sampled": [], "shuffled": []}
    for _ in range(300):
        i, j, k = torch.randint(400, (3, 32))
        values["exact"].append(make("exact").eval()(z[i], y[i]).item())
        values["shuffled"].append(make("shuffled")(z[i], y[i]).item())
        values["sampled"].append(make("sampled")(z[i], y[i], z[j], y[k]).item())
    fixed_prior = FDivLoss("js", K, label_prior=frequencies(y))
    assert make("sampled").objective(z, y).item() == pytest.approx(-target)
    assert fixed_prior(z, y).item() == pytest.approx(FDivLoss("js", K)(z, y).item())
    spread = {product: np.std(v) for product, v in values.items()}
    for product in ("sampled", "shuffled"):
        assert abs(np.mean(values[product]) - target) < 4 * spread[product] / math.sqrt(300)
        assert spread["exact"] < spread[product]


def test_a_derangement_has_no_fixed_point_and_prefers_nobody():
    torch.manual_seed(0)
    for n in (2, 3, 7):
        place, seen = torch.arange(n), torch.zeros(n, n)
        for _ in range(300):
            order = _derangement(place)
            assert (order != place).all()
            assert sorted(order.tolist()) == place.tolist()
            seen[place, order] += 1
        off = seen[~torch.eye(n, dtype=torch.bool)]
        assert (abs(off - 300 / (n - 1)) < 5 * math.sqrt(300 / (n - 1))).all()


def test_the_values_of_a_perfect_and_of_an_ignorant_classifier():
    """Those of the authors' code at K = 10, but Jeffrey's, where they have a Taylor series of f*."""
    y = torch.arange(10)
    perfect = {"tv": 0.3808 * 0.9, "js": 0.3179, "pearson": 0.875, "kl": 0.5689, "jeffrey": 1 - 0.1 * 1.3304}
    ignorant = {"tv": 0, "js": -0.0025, "pearson": -0.0025, "kl": -0.3066, "jeffrey": -0.0026}
    for name in perfect:
        loss = FDivLoss(name, 10)
        assert loss.objective(500 * torch.eye(10), y).item() == pytest.approx(perfect[name], abs=6e-5)
        assert loss.objective(torch.zeros(10, 10), y).item() == pytest.approx(ignorant[name], abs=6e-5)


def test_total_variation_is_a_peer_loss():
    """With l = -tanh(p)/2 and alpha = 1, mini-batch by mini-batch."""
    z, y = skewed()
    term = -torch.tanh(z.softmax(1)) / 2
    prior = torch.tensor(frequencies(y), dtype=torch.float64)
    peer = term.gather(1, y[:, None]).mean() - (term.mean(0) * prior).sum()
    assert FDivLoss("tv", K)(z, y).item() == pytest.approx(peer.item(), abs=1e-15)


@pytest.mark.parametrize("name", ON_LOGITS)
def test_logit_scores_learn_the_ratio_rule(name):
    """At its maximum over free logits g_f(v) = f'(P(y|x) / P(y)); TV has none."""
    joint = torch.tensor([[6.0, 1, 1], [2, 3, 3], [1, 1, 6]], dtype=torch.float64)
    cell = torch.repeat_interleave(torch.arange(9), joint.flatten().long())
    x, y = cell // 3, cell % 3
    ratio = exact.fitness(joint / joint.sum())
    d, loss = divergence(name), FDivLoss(name, 3, score="logit")
    z = torch.zeros(3, 3, dtype=torch.float64, requires_grad=True)
    step = torch.optim.LBFGS([z], max_iter=300, tolerance_grad=1e-12, line_search_fn="strong_wolfe")

    def closure():
        step.zero_grad()
        value = loss(z[x], y)
        value.backward()
        return value

    step.step(closure)
    if name == "tv":
        assert (torch.sign(z[ratio != 1]) == torch.sign(ratio - 1)[ratio != 1]).all()
    else:
        assert torch.allclose(d.activation(z), d.derivative(ratio), atol=1e-3)


@pytest.mark.parametrize("score", ["probability", "logit"])
def test_a_divergence_of_ones_own_works_without_registration(score):
    linear = Divergence(
        name="linear", title="TV without its tanh", generator=lambda v: (v - 1).abs() / 2,
        slope=lambda v: torch.sign(v - 1) / 2, at_zero=0.5, on_line=True, dual=lambda u: u,
        domain=Interval(-0.5, 0.5), activation=lambda v: v / 2, conjugate_of_activation=lambda v: v / 2,
    )  # fmt: skip
    z, y = batch()
    loss = copy.deepcopy(FDivLoss(linear, K, score=score))
    v = z.softmax(1) if score == "probability" else z
    expected = v.gather(1, y[:, None]).mean() / 2 - v.mean() / 2
    assert loss(z, y).item() == pytest.approx(-expected.item())


# ---------------------------------------------------------------------- label prior


@pytest.mark.parametrize("make", [lambda **o: FDivLoss("pearson", K, **o), lambda **o: PeerLoss(K, **o)])
def test_the_prior_is_counted_in_training_only(make):
    (z1, y1), (z2, y2) = skewed(seed=1), batch(seed=2)
    loss = make().eval()
    before = loss(z1, y1).item()  # nothing seen: the labels of the call
    assert before == pytest.approx(make(label_prior=frequencies(y1))(z1, y1).item())
    assert loss.label_counts.sum() == 0
    loss.train()(z1, y1)
    loss(z2, y2)
    seen = make(label_prior=frequencies(torch.cat([y1, y2])))
    counts = loss.label_counts.clone()
    assert counts.tolist() == [torch.cat([y1, y2]).tolist().count(k) for k in range(K)]
    assert loss.eval()(z2, y2).item() == pytest.approx(seen(z2, y2).item())
    assert loss.objective(z1, y1).item() == pytest.approx(-seen(z1, y1).item())
    assert loss.train().objective(z1, y1).item() == pytest.approx(-seen(z1, y1).item())
    assert torch.equal(loss.label_counts, counts)


@pytest.mark.parametrize("product", ["sampled", "shuffled"])
def test_every_product_counts_labels_for_the_objective(product):
    z, y = skewed()
    loss = FDivLoss("kl", K, product=product)
    loss(z, y, *((z, y) if product == "sampled" else ()))
    other, labels = batch(seed=8)
    expected = FDivLoss("kl", K, label_prior=frequencies(y)).objective(other, labels)
    assert loss.objective(other, labels).item() == pytest.approx(expected.item())


def test_a_given_prior_may_be_rounded_and_leaves_no_buffer():
    z, y = batch()
    loss = FDivLoss("kl", K, label_prior=torch.tensor(PRIOR))
    assert loss(z, y).item() == pytest.approx(FDivLoss("kl", K, label_prior=PRIOR)(z, y).item(), abs=1e-7)
    assert loss.memory() == {}
    rounded = FDivLoss("kl", K, label_prior=np.array(PRIOR) * (1 + 5e-6))
    assert rounded(z, y).item() == pytest.approx(FDivLoss("kl", K, label_prior=PRIOR)(z, y).item(), abs=1e-12)


# ---------------------------------------------------------------------- correction for T


@each
@pytest.mark.parametrize("classes", [2, 3, 7, 20])
def test_exact_correction_is_unbiased_for_any_T(name, classes):
    rng = np.random.default_rng(classes)
    T = random_rational_T(rng, classes)
    joint, z, x, y = enumerated(rng, T)
    g = divergence(name).activation(z.softmax(1))
    clean = exact.variational_difference(joint, g, name).item()
    loss = FDivLoss(name, classes, transition=T)
    assert loss.objective(z[x], y).item() == pytest.approx(clean, abs=1e-10)
    assert -loss(z[x], y).item() == pytest.approx(clean, abs=1e-10)
    by_table = exact.inverse_corrected(exact.noisy(joint, T), g, name, T)
    assert by_table.item() == pytest.approx(clean, abs=1e-10)
    noisy_prior = exact.noisy(joint, T).sum(0)
    given = FDivLoss(name, classes, transition=T, label_prior=noisy_prior)
    assert -given(z[x], y).item() == pytest.approx(clean, abs=1e-10)
    uncorrected = FDivLoss(name, classes).objective(z[x], y).item()
    assert abs(uncorrected - clean) > 1e-4


@each
def test_the_printed_correction_is_the_exact_one_for_uniform_noise_up_to_a_factor(name):
    e = np.array([0.1, 0.05, 0.2, 0.15])
    T = uniform(e)
    joint, z, x, y = enumerated(np.random.default_rng(0), T)
    paper = FDivLoss(name, K, transition=T, correction="paper").objective(z[x], y).item()
    whole = FDivLoss(name, K, transition=T).objective(z[x], y).item()
    assert paper == pytest.approx((1 - e.sum()) * whole, abs=1e-12)
    g = divergence(name).activation(z.softmax(1))
    by_table = exact.bias_corrected(exact.noisy(joint, T), g, name, e)
    assert paper == pytest.approx(by_table.item(), abs=1e-12)


@each
@pytest.mark.parametrize("pairs", [[(0, 1), (2, 3)], [(0, 3), (2, 1)]])
def test_the_printed_correction_of_sparse_noise_is_as_printed_and_wrong(name, pairs):
    e1, e2 = 0.3, 0.1
    T = sparse(K, pairs, e1, e2)
    joint, z, x, y = enumerated(np.random.default_rng(1), T)
    g = divergence(name).activation(z.softmax(1))
    noisy = exact.noisy(joint, T)
    change = exact.delta(noisy, g, name)
    bias = sum(e1 * change[j] + e2 * change[i] for i, j in pairs)
    paper = FDivLoss(name, K, transition=T, correction="paper").objective(z[x], y).item()
    printed = exact.variational_difference(noisy, g, name) - bias
    assert paper == pytest.approx(printed.item(), abs=1e-12)
    clean = exact.variational_difference(joint, g, name).item()
    assert FDivLoss(name, K, transition=T).objective(z[x], y).item() == pytest.approx(clean, abs=1e-10)
    assert abs(paper - (1 - e1 - e2) * clean) > 1e-3


@pytest.mark.parametrize("name", [name for name in ALL if name != "tv"])
@pytest.mark.parametrize("classes", [2, 5, 12])
def test_forward_correction_is_best_at_the_clean_posterior_and_there_the_noisy_divergence(name, classes):
    rng = np.random.default_rng(classes)
    T = random_rational_T(rng, classes)
    joint, z, x, y = enumerated(rng, T)
    noisy = exact.noisy(joint, T)
    loss = FDivLoss(name, classes, transition=T, correction="forward", label_prior=noisy.sum(0))
    best = (joint / joint.sum(1, keepdim=True)).log().requires_grad_()
    value = loss.objective(best[x], y)
    assert value.item() == pytest.approx(exact.f_divergence(noisy, name).item(), abs=1e-12)
    assert torch.autograd.grad(-loss(best[x], y), best)[0].abs().max() < 1e-12
    elsewhere = loss.objective(z[x], y).item()
    assert elsewhere < value.item() - 1e-3
    ratio = (z.softmax(1) @ torch.as_tensor(T)) / noisy.sum(0)
    by_table = exact.variational_difference(noisy, divergence(name).derivative(ratio), name)
    assert elsewhere == pytest.approx(by_table.item(), abs=1e-10)


def test_forward_correction_of_kl_has_the_gradient_of_patrinis():
    z, y = skewed(classes=3)
    ours = FDivLoss("kl", 3, transition=T3, correction="forward")
    theirs = gradient(ForwardCorrection(T3), z, y)
    assert torch.allclose(gradient(ours, z, y), theirs, atol=1e-12)


def test_forward_correction_survives_a_label_that_never_occurs():
    z, y = batch(classes=3)
    loss = FDivLoss("pearson", 3, transition=np.eye(3), correction="forward", label_prior=[0.5, 0.5, 0])
    assert gradient(loss, z, y % 2).isfinite().all()


def test_the_two_corrections_agree_on_two_classes_with_rates_per_pair_on_more():
    z, y = skewed(classes=2)
    T = np.array([[0.8, 0.2], [0.3, 0.7]])
    paper, exact = (FDivLoss("kl", 2, transition=T, correction=c)(z, y).item() for c in ("paper", "exact"))
    assert paper == pytest.approx(0.5 * exact)
    T = sparse(4, None, [0.1, 0.3], [0.0, 0.2])
    z, y = skewed()
    g, dual = (
        f(z.softmax(1)) for f in (divergence("kl").activation, divergence("kl").conjugate_of_activation)
    )
    e = torch.tensor([0.0, 0.1, 0.2, 0.3], dtype=torch.float64)
    expected = FDivLoss("kl", 4)(z, y) + ((g - dual).mean(0) * e).sum()
    assert FDivLoss("kl", 4, transition=T, correction="paper")(z, y).item() == pytest.approx(expected.item())


def test_the_clean_prior_is_projected_onto_the_simplex():
    """A batch with labels of one class only would ask for negative clean probabilities."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        w = torch.as_tensor(rng.normal(size=6))
        p = _nearest_distribution(w)
        assert (p >= 0).all()
        assert p.sum().item() == pytest.approx(1)
        for q in rng.dirichlet(np.ones(6), size=20):
            assert (w - p).norm() <= (w - torch.as_tensor(q)).norm() + 1e-12
        assert torch.allclose(_nearest_distribution(p), p)
    z, _ = batch(classes=3)
    y = torch.zeros(B, dtype=torch.int64)
    prior = _nearest_distribution(torch.as_tensor(np.linalg.inv(T3)[0]))
    assert torch.allclose(prior, torch.tensor([1.0, 0, 0], dtype=torch.float64))
    first = (torch.as_tensor(np.linalg.inv(T3)[0]) * z.softmax(1)).sum(1).mean()
    expected = first - torch.exp(z.softmax(1)[:, 0] - 1).mean()
    assert FDivLoss("kl", 3, transition=T3).objective(z, y).item() == pytest.approx(expected.item())


@pytest.mark.parametrize("make", [lambda T: FDivLoss("tv", 2, transition=T), BackwardCorrection])
def test_T_that_is_hard_or_impossible_to_invert_is_said_so(make):
    near = np.array([[0.5001, 0.4999], [0.4999, 0.5001]])
    with pytest.warns(RuntimeWarning, match=r"condition number 5e\+03"):
        make(near)
    with pytest.raises(ValueError, match="T must be invertible, but has rank 1 of 2"):
        make(np.full((2, 2), 0.5) + 1e-9 * np.eye(2) - 5e-10)  # single precision keeps no digit
    with pytest.raises(ValueError, match="T must be invertible, but has rank 1 of 2"):
        make(np.full((2, 2), 0.5))
    if make is BackwardCorrection:
        rows = np.array([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]])
        with pytest.raises(ValueError, match="rank 2 of 3"):
            make([*rows, rows.mean(0)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make(np.array([[0.6, 0.4], [0.3, 0.7]]))


def test_T_may_be_rounded_to_float32():
    z, y = batch(classes=3)
    for T in (torch.tensor(T3, dtype=torch.float32), T3.astype(np.float32), T3.tolist()):
        close = pytest.approx(FDivLoss("js", 3, transition=T3)(z, y).item(), abs=1e-6)
        assert FDivLoss("js", 3, transition=T)(z, y).item() == close


# ---------------------------------------------------------------------- plug-in


def soft_joint(z: Tensor, y: Tensor) -> Tensor:
    table = torch.zeros(z.shape[1], z.shape[1], dtype=z.dtype)
    for row, label in zip(z.softmax(1), y.tolist(), strict=True):
        table = table + torch.outer(row, torch.eye(z.shape[1], dtype=z.dtype)[label]) / len(y)
    return table


def product_of(table: Tensor) -> Tensor:
    return table.sum(1, keepdim=True) * table.sum(0, keepdim=True)


@each_pluggable
def test_the_plug_in_has_the_value_and_gradient_of_the_divergence(name):
    z, y = skewed()
    table = soft_joint(z, y)
    D = divergence(name)(table, product_of(table))
    expected = torch.autograd.grad(D, z)[0]
    loss = FDivLoss(name, K, variational="plugin", momentum=0)
    assert loss.objective(z, y).item() == pytest.approx(D.item(), abs=1e-12)
    assert loss(z, y).item() == pytest.approx(-D.item(), abs=1e-10)
    assert torch.allclose(gradient(loss, z, y), -expected, atol=1e-12)


@each_pluggable
def test_the_plug_in_takes_g_from_the_running_table_and_holds_it_constant(name):
    (z1, y1), (z2, y2) = skewed(seed=1), batch(seed=2)
    loss = FDivLoss(name, K, variational="plugin", momentum=0.75).double()
    loss(z1, y1)
    first, P = soft_joint(z1, y1).detach(), soft_joint(z2, y2)
    J = (0.75 * 0.25 * first + 0.25 * P.detach()) / (0.75 * 0.25 + 0.25)
    g = divergence(name).derivative(J / product_of(J))
    Q = P.sum(1, keepdim=True) * J.sum(0)
    expected = (P * g - Q * divergence(name).conjugate(g)).sum()
    copied = copy.deepcopy(loss)
    assert loss(z2, y2).item() == pytest.approx(-expected.item(), abs=1e-10)
    assert torch.allclose(gradient(copied, z2, y2), -torch.autograd.grad(expected, z2)[0], atol=1e-12)
    assert torch.allclose(loss.joint, 0.75 * 0.25 * first + 0.25 * P.detach())


def test_the_plug_in_takes_a_given_prior():
    z, y = batch()
    P = soft_joint(z, y)
    Q = P.sum(1, keepdim=True) * torch.tensor(PRIOR, dtype=torch.float64)
    g = divergence("js").derivative(P / Q).detach()
    expected = (P * g - Q * divergence("js").conjugate(g)).sum()
    loss = FDivLoss("js", K, variational="plugin", label_prior=PRIOR)
    assert loss(z, y).item() == pytest.approx(-expected.item(), abs=1e-12)


def test_the_plug_in_remembers_in_training_only():
    z, y = skewed()
    loss = FDivLoss("pearson", K, variational="plugin")
    loss.eval()(z, y)
    loss.train().objective(z, y)
    assert loss.joint.abs().sum() == 0
    assert loss.state_dict() == {}
    assert set(loss.memory()) == {"joint"}
    loss(z, y)
    assert loss.joint.sum().item() == pytest.approx(0.1)


@each_pluggable
@pytest.mark.parametrize("prior", [None, [0.4, 0.3, 0.3 - 1e-9, 1e-9], [0.5, 0.25, 0.25, 0]])
def test_the_plug_in_is_finite_where_cells_are_empty(name, prior):
    """Certain predictions and an absent class: f' is taken of ratios in [1e-3, 1e4] only."""
    y = torch.tensor([0, 1, 2] * 8)
    z = (200 * torch.eye(K)[y]).requires_grad_()
    loss = FDivLoss(name, K, variational="plugin", label_prior=prior)
    assert gradient(loss, z, y).isfinite().all()
    y[0] = 3
    assert gradient(loss, z, y).isfinite().all()
    v = torch.tensor([0.0])
    bound = divergence(name).derivative(v.clamp(*RATIOS))
    assert bound.isfinite().all()


@each_pluggable
def test_the_barrier_adds_the_log_of_the_running_shares_weighted_by_the_labels(name):
    (z1, y1), (z2, y2) = skewed(seed=1), skewed(seed=2)
    plain = FDivLoss(name, K, variational="plugin", momentum=0.75).double()
    barred = FDivLoss(name, K, variational="plugin", momentum=0.75, barrier=0.5).double()
    for loss in (plain, barred):
        loss(z1, y1)
    assert plain.objective(z2, y2) == barred.objective(z2, y2)
    old = soft_joint(z1, y1).detach().sum(1)
    running = (0.75 * 0.25 * old + 0.25 * z2.softmax(1).mean(0)) / (0.75 * 0.25 + 0.25)
    prior = torch.zeros(K, dtype=torch.float64)
    for y, mass in ((y1, 0.75 * 0.25), (y2, 0.25)):
        prior += mass * torch.tensor(frequencies(y), dtype=torch.float64) / (0.75 * 0.25 + 0.25)
    bonus = torch.autograd.grad((prior * running.log()).sum(), z2)[0] * (0.75 * 0.25 + 0.25) / 0.25
    expected = gradient(plain, z2, y2) - 0.5 * bonus
    assert torch.allclose(gradient(barred, z2, y2), expected, atol=1e-12)


def test_the_barrier_keeps_a_class_alive():
    """A class that is never predicted is pushed up; without the barrier nothing does that."""
    z = torch.zeros(64, K, dtype=torch.float64)
    z[:, 0] = -12
    y = torch.arange(64) % K
    push = [
        -gradient(FDivLoss("pearson", K, variational="plugin", barrier=b), z.clone().requires_grad_(), y)[
            :, 0
        ]
        for b in (0.0, 1.0)
    ]
    assert push[1].mean() > 1e-3
    assert push[1].mean() > 100 * push[0].mean().abs()


# ---------------------------------------------------------------------- diagnosis


def world(T: np.ndarray, n: int = 3000, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Clean classes and their noisy labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, len(T), n)
    return torch.as_tensor(y), torch.as_tensor(np.array([rng.choice(len(T), p=T[k]) for k in y]))


@pytest.mark.parametrize("T", [uniform(0.07, 10), uniform(0.02, 10), sparse(10, None, 0.7, 0.2), np.eye(10)])
@pytest.mark.parametrize(
    "loss", [FDivLoss("tv", 10), FDivLoss("kl", 10, variational="plugin"), CrossEntropy()]
)
def test_correct_predictions_pass_the_diagnosis(loss, T):
    clean, noisy = world(T)
    assert loss.diagnose(5 * torch.eye(10)[clean], noisy) == []


@pytest.mark.parametrize("T", [uniform(0.07, 10), sparse(10, None, 0.7, 0.2)])
def test_the_diagnosis_finds_collapse_and_permutation(T):
    clean, noisy = world(T)
    loss = FDivLoss("kl", 10, variational="plugin")
    (found,) = loss.diagnose(torch.eye(10)[torch.where(clean == 3, 2, clean)], noisy)
    assert found.startswith("collapsed: class 3 is predicted less than a tenth as often")
    rarely = (clean == 3) & (torch.rand(len(clean), generator=torch.Generator().manual_seed(0)) > 0.02)
    assert loss.diagnose(torch.eye(10)[torch.where(rarely, 2, clean)], noisy) == [found]
    swap = torch.tensor([0, 1, 4, 3, 2, 5, 6, 7, 8, 9])
    (found,) = loss.diagnose(torch.eye(10)[swap[clean]], noisy)
    assert "with other labels than their own (class 2 with label 4, 4 with label 2)" in found
    (found,) = loss.diagnose(torch.eye(10)[torch.zeros_like(clean)], noisy)
    assert found.startswith("collapsed: class 1, 2, 3, 4, 5 and 4 more")


def test_the_diagnosis_finds_a_rare_class_that_is_answered_too_often():
    clean = torch.arange(1000) < 10
    noisy = (clean ^ (torch.arange(1000) % 5 == 0)).long()  # a fifth is wrong
    half = clean | (torch.arange(1000) % 2).bool()
    (found,) = (s for s in FDivLoss("tv", 2).diagnose(torch.eye(2)[half.long()], noisy) if "crowded" in s)
    assert found.startswith("crowded: class 1 is predicted more than twice as often as it is a label")


def test_the_diagnosis_is_not_scared_by_few_samples():
    rng = np.random.default_rng(0)
    alarms = 0
    for seed in range(50):
        clean, noisy = world(uniform(0.1, 5), n=40, seed=seed)
        alarms += any("permuted" in s for s in FDivLoss("tv", 5).diagnose(torch.eye(5)[clean], noisy))
    assert alarms <= 2
    one = torch.as_tensor(rng.normal(size=(1, 5)))
    assert not any("permuted" in s for s in FDivLoss("tv", 5).diagnose(one, one.argmin(1)))


# ---------------------------------------------------------------------- baselines


def test_cross_entropy_backward_and_forward_in_loops():
    z, y = skewed(classes=3)
    p, inverse = scores(z), np.linalg.inv(T3)
    labels = y.tolist()
    ce = -sum(math.log(row[k]) for row, k in zip(p, labels, strict=True)) / B
    backward = (
        -sum(inverse[k, j] * math.log(row[j]) for row, k in zip(p, labels, strict=True) for j in range(3)) / B
    )
    forward = (
        -sum(math.log(sum(row[i] * T3[i, k] for i in range(3))) for row, k in zip(p, labels, strict=True)) / B
    )
    for loss, expected in (
        (CrossEntropy(), ce),
        (BackwardCorrection(T3), backward),
        (ForwardCorrection(T3), forward),
    ):
        assert loss(z, y).item() == pytest.approx(expected, abs=1e-12)
        assert loss.objective(z, y).item() == pytest.approx(-expected, abs=1e-12)
    assert BackwardCorrection(T3).num_classes == ForwardCorrection(T3).num_classes == 3
    assert CrossEntropy().num_classes is None


def test_backward_correction_has_the_expectation_of_clean_labels_and_forward_its_optimum():
    rng = np.random.default_rng(3)
    T = random_rational_T(rng, 5)
    joint, z, x, y = enumerated(rng, T)
    clean = -(joint * z.log_softmax(1)).sum().item()
    assert BackwardCorrection(T)(z[x], y).item() == pytest.approx(clean, abs=1e-10)
    best = (joint / joint.sum(1, keepdim=True)).log().requires_grad_()
    value = ForwardCorrection(T)(best[x], y)
    assert torch.autograd.grad(value, best)[0].abs().max() < 1e-12


def test_probabilities_below_the_floor_of_patrini_have_no_gradient():
    z = torch.tensor([[40.0, 0.0]], requires_grad=True)
    y = torch.tensor([1])
    for loss in (BackwardCorrection(np.eye(2)), ForwardCorrection(np.eye(2))):
        assert loss(z, y).item() == pytest.approx(-math.log(1e-7), rel=1e-6)
        assert gradient(loss, z, y).abs().max() < 1e-30
    assert CrossEntropy()(z, y).item() == pytest.approx(40)


def test_forward_correction_survives_a_label_that_T_rules_out():
    T = [[0.5, 0.5, 0], [0.2, 0.8, 0], [0.5, 0.5, 0]]
    z, _ = batch(classes=3)
    with pytest.warns(RuntimeWarning, match="T has rank 2 of 3, so that different clean posteriors look"):
        loss = ForwardCorrection(T)
    assert gradient(loss, z, torch.full((B,), 2)).isfinite().all()


def test_dmi_is_the_log_determinant_of_the_undivided_matrix():
    z, y = skewed(60, 3)
    p, U = scores(z), np.zeros((3, 3))
    for row, k in zip(p, y.tolist(), strict=True):
        U[k] += row
    expected = -math.log(abs(np.linalg.det(U)) + 1e-3)
    assert DMI(3)(z, y).item() == pytest.approx(expected, abs=1e-12)
    assert DMI(3).objective(z, y).item() == pytest.approx(-expected, abs=1e-12)
    small = 1e-2 * z.detach().requires_grad_()
    U = sum(np.outer(np.eye(3)[k], row) for row, k in zip(scores(small), y.tolist(), strict=True))
    assert abs(np.linalg.det(U)) < 0.1  # where the floor is felt
    assert DMI(3)(small, y).item() == pytest.approx(-math.log(abs(np.linalg.det(U)) + 1e-3), abs=1e-10)


def test_dmi_without_a_class_warns_and_has_no_gradient():
    z, y = batch()
    with pytest.warns(RuntimeWarning, match="no gradient where a batch lacks a class"):
        value = DMI(K)(z, y.clamp(max=2))
    assert value.item() == pytest.approx(-math.log(1e-3))
    value.backward()
    assert z.grad.abs().max() == 0
    with pytest.warns(RuntimeWarning, match="predictions do not depend on the label"):
        assert gradient(DMI(K), 1e-9 * z.detach().requires_grad_(), y).abs().max() == 0
    with pytest.raises(ValueError, match="DMI needs all 4 classes in a batch, but this one has 3 samples"):
        DMI(K)(z[:3], y[:3])


@pytest.mark.parametrize("alpha", [0.0, 1.0, 0.3])
def test_peer_loss_in_loops(alpha):
    (z, y), (z2, _), (_, y3) = skewed(seed=1), batch(seed=2), skewed(seed=3)

    def term(row, k):
        return -math.log(softmax(row)[k] + 1e-5)

    first = sum(term(row, k) for row, k in zip(z, y.tolist(), strict=True)) / B
    prior = frequencies(y)
    exact = sum(prior[k] * term(row, k) for row in z for k in range(K)) / B
    sampled = sum(term(row, k) for row, k in zip(z2, y3.tolist(), strict=True)) / B
    loss = PeerLoss(K, alpha)
    assert loss(z, y).item() == pytest.approx(first - alpha * exact, abs=1e-12)
    assert loss.objective(z, y).item() == pytest.approx(alpha * exact - first, abs=1e-12)
    assert PeerLoss(K, alpha, product="sampled")(z, y, z2, y3).item() == pytest.approx(
        first - alpha * sampled
    )


def test_the_schedule_of_peer_loss():
    loss = PeerLoss(num_classes=K, alpha=peer_schedule)
    values = []
    for epoch in range(301):
        loss.set_epoch(epoch, 300)
        values.append(loss.alpha)
    assert values[:121] == [0.0] * 121
    assert values[120:] == pytest.approx([k / 180 for k in range(181)])
    assert (peer_schedule(0), peer_schedule(1), peer_schedule(0.7)) == pytest.approx((0, 1, 0.5))
    z, y = torch.randn(8, K), torch.arange(8) % K
    early, late = PeerLoss(K, peer_schedule), PeerLoss(K, peer_schedule)
    early.set_epoch(0, 10)
    late.set_epoch(9, 10)
    assert early(z, y) != late(z, y)
    assert early.objective(z, y) == late.objective(z, y) == PeerLoss(K, 1.0).objective(z, y)
    constant = PeerLoss(K, 0.5)
    constant.set_epoch(299, 300)
    assert constant.alpha == 0.5
    assert PeerLoss(K, lambda progress: 2 - progress).alpha == 2
    FDivLoss("tv", K).set_epoch(1, 2)
    with pytest.raises(ValueError, match="epoch is 3 of 2"):
        loss.set_epoch(3, 2)


def test_cross_entropy_with_a_prior_learns_the_ratio():
    """At its optimum the logits are log P(y~|x)/P(y~) up to a constant per input."""
    torch.manual_seed(0)
    joint = torch.rand(6, K, dtype=torch.float64)  # P(x, y~)
    joint /= joint.sum()
    prior, posterior = joint.sum(0), joint / joint.sum(1, keepdim=True)
    z = torch.zeros(6, K, dtype=torch.float64, requires_grad=True)
    loss = CrossEntropy(label_prior=prior)
    optimiser = torch.optim.LBFGS([z], max_iter=500, tolerance_grad=1e-12, tolerance_change=1e-16)

    def closure():
        optimiser.zero_grad()
        rows = [loss(z[x : x + 1], torch.tensor([y])) * joint[x, y] for x in range(6) for y in range(K)]
        total = sum(rows)
        total.backward()
        return total

    optimiser.step(closure)
    torch.testing.assert_close(
        z.softmax(1), (posterior / prior).div((posterior / prior).sum(1, keepdim=True)), atol=1e-5, rtol=0
    )
    assert loss.num_classes == K
    with pytest.raises(ValueError, match="label_prior must be 3 probabilities"):
        CrossEntropy(3, label_prior=prior)
    assert repr(CrossEntropy(K, label_prior=prior)) != repr(CrossEntropy(K))


# ---------------------------------------------------------------------- all losses


def every_loss() -> list[NoisyLabelLoss]:
    T = uniform(0.05, K)
    return [
        *(FDivLoss(name, K) for name in ALL),
        *(FDivLoss(name, K, variational="plugin", momentum=0.5) for name in PLUGGABLE),
        FDivLoss("pearson", K, score="logit"),
        FDivLoss("js", K, transition=T),
        FDivLoss("js", K, transition=T, correction="paper"),
        FDivLoss("pearson", K, transition=T, correction="forward"),
        FDivLoss("js", K, label_prior=PRIOR),
        CrossEntropy(),
        CrossEntropy(K),
        BackwardCorrection(T),
        ForwardCorrection(T),
        DMI(K),
        PeerLoss(K),
    ]


each_loss = pytest.mark.parametrize("loss", every_loss(), ids=str)


@each_loss
def test_gradients_are_those_of_finite_differences(loss):
    z, y = skewed(12)
    loss = copy.deepcopy(loss)
    if getattr(loss, "variational", "") == "plugin":
        # g is a constant on purpose; only without momentum, where it is optimal, is that the full derivative
        loss.momentum = 0.0
    assert torch.autograd.gradcheck(lambda x: loss(x, y), z)


@each_loss
def test_precision_is_kept_or_raised_to_float32(loss):
    z, y = skewed()
    loss = copy.deepcopy(loss).eval()
    full = loss(z, y)
    assert full.dtype == torch.float64
    assert full.shape == ()
    single = loss(z.float(), y)
    assert single.dtype == loss.objective(z.float(), y).dtype == torch.float32
    assert single.item() == pytest.approx(full.item(), abs=2e-5)
    half = z.detach().bfloat16()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = loss(z.float(), y)
        rounded = loss(half, y)
        objective = loss.objective(z.float(), y)
    assert inside.dtype == rounded.dtype == torch.float32
    assert inside.item() == single.item()
    assert objective.item() == loss.objective(z.float(), y).item()
    assert rounded.item() == loss(half.float(), y).item()


@each_loss
def test_state_copies_and_pickles_round_trip(loss, tmp_path):
    z, y = skewed()
    trained, fresh = copy.deepcopy(loss), copy.deepcopy(loss)
    trained(z, y)
    torch.save(trained.memory(), tmp_path / "loss.pt")
    fresh.remember(torch.load(tmp_path / "loss.pt", weights_only=True))
    other, labels = batch(seed=9)
    for twin in (fresh, copy.deepcopy(trained), pickle.loads(pickle.dumps(trained))):
        assert repr(twin) == repr(trained)
        assert twin.eval()(other, labels).item() == trained.eval()(other, labels).item()
        assert twin.objective(other, labels).item() == trained.objective(other, labels).item()


@each_loss
def test_neither_eval_nor_objective_changes_anything(loss):
    z, y = batch(dtype=torch.float32)
    loss = copy.deepcopy(loss)
    before = loss.memory()
    with torch.inference_mode():
        loss(z, y)  # no gradients, no training
        loss.eval()(z, y)
        loss.objective(z, y)
        loss.train().objective(z, y)
        loss.diagnose(z, y)
    assert all(torch.equal(before[k], v) for k, v in loss.memory().items())
    loss(z, y).backward()  # what inference mode has made must be fit for training
    assert z.grad.isfinite().all()
    with torch.no_grad():
        assert not loss.objective(z, y).requires_grad


def test_a_buffer_that_moves_in_inference_mode_can_still_be_trained():
    with torch.inference_mode():
        moved = _on(torch.zeros(2), torch.empty(1, device="meta"))
    assert moved.device.type == "meta"
    assert not moved.is_inference()


@each_loss
def test_any_integer_labels_and_no_check_give_the_same(loss):
    z, y = skewed()
    loss = copy.deepcopy(loss).eval()
    expected = loss(z, y).item()
    for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.uint16):
        assert loss(z, y.to(dtype)).item() == expected
    loss.check = False
    assert loss(z, y).item() == expected


def compilable() -> list[NoisyLabelLoss]:
    corrected = FDivLoss("js", K, transition=uniform(0.05, K))
    return [FDivLoss("js", K), FDivLoss("js", K, variational="plugin"), corrected, CrossEntropy()]


@pytest.mark.slow
@pytest.mark.parametrize("loss", compilable(), ids=str)
def test_losses_compile_into_one_graph(loss):
    z, y = skewed()
    expected = copy.deepcopy(loss)(z, y).item()
    loss = copy.deepcopy(loss)
    loss.check = False
    assert torch.compile(loss, backend="eager", fullgraph=True)(z, y).item() == pytest.approx(expected)


def test_equal_losses_read_alike_and_others_do_not():
    texts = [
        repr(loss)
        for loss in (
            FDivLoss("tv", K), FDivLoss("js", K), FDivLoss("tv", 5), FDivLoss("tv", K, product="shuffled"),
            FDivLoss("tv", K, score="logit"), FDivLoss("kl", K, variational="plugin"),
            FDivLoss("kl", K, variational="plugin", momentum=0.5), FDivLoss("tv", K, label_prior=PRIOR),
            FDivLoss("tv", K, label_prior=PRIOR[::-1]), FDivLoss("tv", K, transition=uniform(0.05, K)),
            FDivLoss("tv", K, transition=uniform(0.06, K)), PeerLoss(K), PeerLoss(K, 0.5),
            BackwardCorrection(uniform(0.05, K)), BackwardCorrection(uniform(0.06, K)), DMI(K),
        )
    ]  # fmt: skip
    assert len(set(texts)) == len(texts)
    assert texts[0] == repr(FDivLoss("total-variation", K))
    assert "divergence='tv'" in texts[0]
    assert "object at" not in "".join(texts)


# ---------------------------------------------------------------------- bad input

Z, Y = torch.zeros(6, K), torch.arange(6) % K
BAD_CALLS = [
    ("labels hold 4, but must lie between 0 and 3", ValueError, Z, Y + 1),
    ("labels hold -1, but must lie between 0 and 3", ValueError, Z, Y - 1),
    (
        "labels must be a tensor of integers, the class of each input, not torch.float32",
        TypeError,
        Z,
        Y.float(),
    ),
    ("labels must be a tensor of integers, the class of each input, not torch.bool", TypeError, Z, Y > 1),
    ("labels must be a tensor of integers, the class of each input, not list", TypeError, Z, Y.tolist()),
    ("labels must be a vector of 6, one class per input, not (6, 1)", ValueError, Z, Y[:, None]),
    ("labels must be a vector of 6, one class per input, not (5,)", ValueError, Z, Y[:5]),
    ("logits hold nan or inf", ValueError, Z.index_fill(0, torch.tensor([2]), math.nan), Y),
    ("logits hold nan or inf", ValueError, Z.index_fill(0, torch.tensor([2]), math.inf), Y),
    ("logits must be a tensor of floats, the scores before softmax, not torch.int64", TypeError, Z.long(), Y),
    ("logits must be a tensor of floats, the scores before softmax, not ndarray", TypeError, Z.numpy(), Y),
    ("logits must have a row per input and a column per class, not (6,)", ValueError, Z[:, 0], Y),
    ("logits must have a row per input and a column per class, not (6, 1)", ValueError, Z[:, :1], Y),
    ("logits must have 4 columns, one per class, not 5", ValueError, torch.zeros(6, 5), Y),
    ("logits is an empty batch", ValueError, Z[:0], Y[:0]),
]


@pytest.mark.parametrize("loss", [FDivLoss("tv", K), PeerLoss(K), DMI(K)], ids=["f", "peer", "dmi"])
@pytest.mark.parametrize(("message", "error", "logits", "labels"), BAD_CALLS)
def test_bad_batches_are_refused_in_one_sentence(loss, message, error, logits, labels):
    for call in (loss, loss.objective):
        with pytest.raises(error, match=f"^{re.escape(message)}"):
            call(logits, labels)


def test_shapes_are_checked_even_without_check():
    loss = FDivLoss("tv", K)
    loss.check = False
    with pytest.raises(ValueError, match="must be a vector of 6"):
        loss(Z, Y[:5])
    loss(Z + math.inf, Y)


def test_peers_are_asked_for_where_needed_and_refused_elsewhere():
    for loss in (FDivLoss("tv", K, product="sampled"), PeerLoss(K, product="sampled")):
        for peers in ((), (Z,), (None, Y)):
            with pytest.raises(ValueError, match=r"needs peer_logits of a second and peer_labels of a third"):
                loss(Z, Y, *peers)
        with pytest.raises(ValueError, match="peer_labels hold 4"):
            loss(Z, Y, Z, Y + 1)
        with pytest.raises(ValueError, match=r"peer_logits must have 4 columns"):
            loss(Z, Y, torch.zeros(6, 3), Y)
        loss(Z, Y, Z[:3], Y[:3])
    for loss in (FDivLoss("tv", K), CrossEntropy(), PeerLoss(K, product="shuffled")):
        for peers in ((Z, Y), (Z,), (None, Y)):
            with pytest.raises(ValueError, match="for product='sampled' only"):
                loss(Z, Y, *peers)


def test_one_sample_cannot_be_shuffled():
    with pytest.raises(ValueError, match="needs at least 2 samples"):
        FDivLoss("tv", K, product="shuffled")(Z[:1], Y[:1])
    assert FDivLoss("tv", K)(Z[:1], Y[:1]).isfinite()


EYE = np.eye(4)
CYCLE = 0.8 * EYE + 0.2 * EYE[[1, 2, 3, 0]]
RANDOM = [[0.5, 0.3, 0.2, 0], [0, 1, 0, 0], [0.1, 0.1, 0.8, 0], [0, 0, 0, 1]]
BAD_OPTIONS = [
    (
        "no product term is called 'exakt' (did you mean 'exact'?); choose from exact, sampled, shuffled",
        {"product": "exakt"},
    ),
    ("no variational form is called 'free'; choose from fixed, plugin", {"variational": "free"}),
    ("no score is called 'prob'; choose from probability, logit", {"score": "prob"}),
    ("no correction is called 'none'; choose from exact, paper, forward", {"correction": "none"}),
    ("momentum is 1, but must be at least 0 and below 1", {"momentum": 1}),
    ("momentum is -0.1, but must be at least 0 and below 1", {"momentum": -0.1}),
    ("num_classes is 1, but must be a whole number of at least 2", {"num_classes": 1}),
    ("num_classes is 1.0, but must be a whole number of at least 2", {"num_classes": 1.0}),
    ("num_classes is None, but must be a whole number of at least 2", {"num_classes": None}),
    ("label_prior must be 4 probabilities that sum to 1, not [0.5, 0.5]", {"label_prior": [0.5, 0.5]}),
    ("label_prior must be 4 probabilities that sum to 1", {"label_prior": [0.5, 0.5, 0.5, -0.5]}),
    ("label_prior must be 4 probabilities that sum to 1", {"label_prior": [0.5, 0.5, 0.5, 0.5]}),
    ("label_prior must be 4 probabilities that sum to 1", {"label_prior": [0.5, 0.5, 0, math.nan]}),
    ("T is for 3 classes, but num_classes is 4", {"transition": T3}),
    ("row 0 sums to 1.1", {"transition": 1.1 * EYE}),
    ("row 0 sums to 1.1", {"transition": 1.1 * torch.eye(4)}),
    ("a transition matrix is square", {"transition": np.ones((4, 3)) / 3}),
    ("transition works only with product='exact', not 'sampled'", {"transition": EYE, "product": "sampled"}),
    ("label_prior is 'even', but must be 'balanced', probabilities or None", {"label_prior": "even"}),
    ("works only with product='exact', not 'sampled'", {"label_prior": "balanced", "product": "sampled"}),
    (
        "label_prior='balanced' is for the fixed g",
        {"label_prior": "balanced", "variational": "plugin", "divergence": "kl"},
    ),
    ("no reduction is called 'all'; choose from mean, sum, none", {"reduction": "all"}),
    (
        "variational='plugin' has no reduction='none': D_f of the whole batch is no sum",
        {"reduction": "none", "variational": "plugin", "divergence": "kl"},
    ),
    ("product='sampled' has no reduction='none'", {"reduction": "none", "product": "sampled"}),
    ("weight must be 4 finite numbers from 0 up", {"weight": [1, 2, 3, -1]}),
    ("weight must be 4 finite numbers from 0 up", {"weight": [1, 2]}),
    (
        "score='logit' cannot be used with 'neyman': its f(0) is inf",
        {"divergence": "neyman", "score": "logit"},
    ),
    ("or kl, or score='probability'", {"divergence": "jeffrey", "score": "logit"}),
    ("cannot be used with 'tv': its f' is a step", {"variational": "plugin"}),
    ("its D_f is infinite as soon as", {"divergence": "reverse-kl", "variational": "plugin"}),
    ("T must be invertible, but has rank 1", {"transition": np.full((4, 4), 0.25), "correction": "paper"}),
    (
        "transition works only with variational='fixed', not 'plugin'",
        {"transition": EYE, "variational": "plugin"},
    ),
    (
        "variational='plugin' works only with product='exact', not 'shuffled'",
        {"variational": "plugin", "product": "shuffled"},
    ),
    ("barrier works only with variational='plugin', not 'fixed'", {"barrier": 1.0}),
    ("barrier is -1.0, but must be", {"barrier": -1.0, "variational": "plugin"}),
    (
        "variational='plugin' works only with score='probability', not 'logit'",
        {"variational": "plugin", "score": "logit"},
    ),
    (
        "correction='paper' is printed for uniform off-diagonal T",
        {"transition": RANDOM, "correction": "paper"},
    ),
    (
        "correction='paper' needs rates that sum to less than 1",
        {"transition": EYE[[1, 0, 3, 2]], "correction": "paper"},
    ),
    (
        "correction='paper' is printed for uniform off-diagonal T",
        {"transition": CYCLE, "correction": "paper"},
    ),
    ("for 'tv' is a step and has no slope", {"transition": EYE, "correction": "forward"}),
    (
        "correction='forward' works only with score='probability', not 'logit'",
        {"transition": EYE, "correction": "forward", "divergence": "kl", "score": "logit"},
    ),
    (
        "T must be invertible, but has rank 1 of 4",
        {"transition": np.full((4, 4), 0.25), "correction": "forward", "divergence": "kl"},
    ),
    ("no divergence is called 'tvv'", {"divergence": "tvv"}),
]


@pytest.mark.parametrize(("message", "options"), BAD_OPTIONS, ids=[str(i) for i in range(len(BAD_OPTIONS))])
def test_bad_options_are_refused_in_one_sentence(message, options):
    with pytest.raises(ValueError, match=re.escape(message)):
        FDivLoss(**{"divergence": "tv", "num_classes": K, **options})


def test_bad_options_of_the_baselines_are_refused_too():
    for make in (DMI, CrossEntropy, PeerLoss):
        with pytest.raises(ValueError, match="num_classes is 1, but"):
            make(1)
    with pytest.raises(ValueError, match="no product term is called 'x'"):
        PeerLoss(K, product="x")
    for make in (BackwardCorrection, ForwardCorrection):
        with pytest.raises(ValueError, match="row 1 sums to"):
            make([[1, 0], [0.5, 0.4]])


# ---------------------------------------------------------------------- learning


LEARNERS = {
    "tv": FDivLoss("tv", 3),
    "pearson-logit": FDivLoss("pearson", 3, score="logit"),
    "js-corrected": FDivLoss("js", 3, transition=uniform(0.15, 3)),
    "peer": PeerLoss(3),
}


@pytest.mark.slow
@pytest.mark.parametrize("loss", LEARNERS.values(), ids=LEARNERS)
def test_a_loop_of_ten_lines_learns_from_noisy_labels(loss):
    from sklearn.datasets import load_wine

    loss = copy.deepcopy(loss)
    x, clean = (torch.as_tensor(a) for a in load_wine(return_X_y=True))
    x = ((x - x.mean(0)) / x.std(0)).float()
    rng = np.random.default_rng(0)
    noisy = torch.as_tensor(np.array([rng.choice(3, p=uniform(0.15, 3)[k]) for k in clean.tolist()]))
    torch.manual_seed(0)
    model = torch.nn.Linear(13, 3)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(300):
        optimiser.zero_grad()
        loss(model(x), noisy).backward()
        optimiser.step()
    assert (model(x).argmax(1) == clean).float().mean() > 0.85
    assert loss.diagnose(model(x), noisy) == []


def test_the_plug_in_learns_after_a_warm_up():
    from sklearn.datasets import load_wine

    x, clean = (torch.as_tensor(a) for a in load_wine(return_X_y=True))
    x = ((x - x.mean(0)) / x.std(0)).float()
    torch.manual_seed(0)
    model = torch.nn.Linear(13, 3)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.05)
    plugin = FDivLoss("pearson", 3, variational="plugin")
    for step in range(200):
        optimiser.zero_grad()
        (CrossEntropy() if step < 30 else plugin)(model(x), clean).backward()
        optimiser.step()
    assert (model(x).argmax(1) == clean).float().mean() > 0.9
