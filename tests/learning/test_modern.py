"""Every loss that came after the paper against its printed formula in plain loops, and what it promises.

Expectations are exact: over all labels of an input, weighted by a table of probabilities.
"""

from __future__ import annotations

import copy
import math
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from fdiv.learning.losses import BackwardCorrection, CrossEntropy, FDivLoss, NoisyLabelLoss
from fdiv.learning.modern import (
    DECISIONS,
    ELR,
    FPML,
    GCE,
    MODERN,
    PASSIVE,
    SCE,
    ActivePassive,
    BetaDivergence,
    EpsilonSoftmax,
    JensenShannon,
    LogitClip,
    NegativeLabelSmoothing,
    clean_posterior,
    label_wave,
    learned_decision,
    nature,
    sharpness_aware,
    tolerates,
    weight_average,
)
from fdiv.noise import paper_noise

EXAMPLES = 40
ROWS = {row["name"]: row for row in MODERN}
each = pytest.mark.parametrize("name", ROWS)
each_without_memory = pytest.mark.parametrize("name", [name for name in ROWS if name != "elr"])


def build(name: str, classes: int) -> NoisyLabelLoss:
    return ROWS[name]["build"](SimpleNamespace(num_classes=classes, examples=EXAMPLES))


def batch(n: int, classes: int, seed: int = 0, scale: float = 2.0) -> tuple[Tensor, Tensor]:
    rng = torch.Generator().manual_seed(seed)
    z = scale * torch.randn(n, classes, generator=rng, dtype=torch.float64)
    return z.requires_grad_(), torch.randint(classes, (n,), generator=rng)


def more(loss: NoisyLabelLoss, z: Tensor, y: Tensor) -> dict[str, Tensor]:
    """What else a loss needs: the batch upside down for a second view, the examples numbered backwards."""
    if getattr(loss, "needs_index", False):
        return {"index": torch.arange(len(y)).flip(0)}
    return {"view_logits": z.flip(0)} if getattr(loss, "needs_view", False) else {}


def call(loss: NoisyLabelLoss, z: Tensor, y: Tensor) -> Tensor:
    return loss(z, y, **more(loss, z, y))


# ---------------------------------------------------------------------- printed formulas, slowly


def softmax(z: list[float]) -> list[float]:
    e = [math.exp(x - max(z)) for x in z]
    return [x / sum(e) for x in e]


def one_hot(y: int, classes: int) -> list[float]:
    return [float(k == y) for k in range(classes)]


def kl(p: list[float], q: list[float]) -> float:
    return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True) if a > 0)


def slow_ce(p, y):
    return -math.log(p[y])


def slow_rce(p, y):
    """-sum p log q, with the label q and log 0 = log 1e-4."""
    return -sum(a * math.log(max(b, 1e-4)) for a, b in zip(p, one_hot(y, len(p)), strict=True))


def slow_nce(p, y):
    return slow_ce(p, y) / sum(slow_ce(p, k) for k in range(len(p)))


def slow_mae(p, y):
    return sum(abs(a - b) for a, b in zip(p, one_hot(y, len(p)), strict=True)) / 2


def slow_nnce(p, y):
    """One minus the normalised A + log p, A = -log p_min."""
    score = [-math.log(1e-7) + math.log(max(a, 1e-7)) for a in p]
    return 1 - score[y] / sum(score)


def slow_amse(p, y, a):
    return sum((a * e - b) ** 2 for e, b in zip(one_hot(y, len(p)), p, strict=True)) / len(p)


def slow_js(ps, y, pi):
    classes = len(ps[0])
    label, weight = one_hot(y, classes), (1 - pi) / len(ps)
    mean = [pi * label[k] + weight * sum(p[k] for p in ps) for k in range(classes)]
    divergence = pi * kl(label, mean) + weight * sum(kl(p, mean) for p in ps)
    return divergence / (-(1 - pi) * math.log(1 - pi))


def slow_epsilon_softmax(p, m):
    top = p.index(max(p))
    return [(a + m * (k == top)) / (m + 1) for k, a in enumerate(p)]


def slow_clip(z, tau):
    length = math.sqrt(sum(x * x for x in z))
    return [x * tau / length for x in z] if length > tau else z


def slow_sl(z, y):
    D = [1 / (1 + math.exp(x)) for x in z]
    return D[y] - sum(math.log(d) - d for d in D) / len(D)


# from the logits z, their softmax p and the label y to the loss of one example
SLOW = {
    "gce": lambda z, p, y: (1 - p[y] ** 0.7) / 0.7,
    "beta": lambda z, p, y: sum(a**1.7 for a in p) - (1 + 1 / 0.7) * p[y] ** 0.7 + 1 / 0.7,
    "sce": lambda z, p, y: 0.1 * slow_ce(p, y) + slow_rce(p, y),
    "nce-mae": lambda z, p, y: slow_nce(p, y) + slow_mae(p, y),
    "nce-rce": lambda z, p, y: slow_nce(p, y) + slow_rce(p, y),
    "nce-agce": lambda z, p, y: slow_nce(p, y) + 4 * (7**1.5 - (6 + p[y]) ** 1.5) / 1.5,
    "anl-ce": lambda z, p, y: 5 * slow_nce(p, y) + 5 * slow_nnce(p, y),
    "jal-ce": lambda z, p, y: slow_nce(p, y) + slow_amse(p, y, 30),
    "js-pi": lambda z, p, y: slow_js([p], y, 0.5),
    "eps-softmax": lambda z, p, y: (
        -0.01 * math.log(max(slow_epsilon_softmax(p, 1e5)[y], 1e-8)) + 5 * 2 * slow_mae(p, y)
    ),
    "logit-clip": lambda z, p, y: slow_ce(softmax(slow_clip(z, 1.0)), y),
    "nls": lambda z, p, y: 2 * slow_ce(p, y) - sum(slow_ce(p, k) for k in range(len(p))) / len(p),
    "f-pml": lambda z, p, y: slow_sl(z, y),
}


@pytest.mark.parametrize("classes", [2, 3, 10, 100])
@pytest.mark.parametrize("name", SLOW)
def test_each_loss_is_its_printed_formula(name, classes):
    z, y = batch(12, classes, seed=classes)
    loss = build(name, classes)
    slow = [SLOW[name](row, softmax(row), k) for row, k in zip(z.tolist(), y.tolist(), strict=True)]
    assert loss(z, y).item() == pytest.approx(np.mean(slow), abs=1e-12, rel=1e-12)
    assert loss.objective(z, y).item() == pytest.approx(-np.mean(slow), abs=1e-12, rel=1e-12)
    assert torch.equal(loss(z.float(), y), loss(z.float(), y))  # nothing is remembered


def test_the_printed_formulas_are_those_of_all_rows_but_two_with_tests_of_their_own():
    assert set(ROWS) - set(SLOW) == {"gjs", "elr"}
    assert len({(row["colour"], row["dash"]) for row in MODERN}) == len(MODERN)
    assert {row["group"] for row in MODERN} == {"modern"}


@pytest.mark.parametrize("classes", [2, 10, 100])
def test_gjs_is_the_divergence_of_three_distributions(classes):
    (z, y), (view, _) = batch(8, classes), batch(8, classes, seed=1)
    loss = JensenShannon(classes, pi=0.3, views=2)
    rows = zip(z.tolist(), view.tolist(), y.tolist(), strict=True)
    slow = np.mean([slow_js([softmax(a), softmax(b)], k, 0.3) for a, b, k in rows])
    assert loss(z, y, view_logits=view).item() == pytest.approx(slow, abs=1e-12)
    one = JensenShannon(classes, pi=0.3)
    assert loss(z, y, view_logits=z).item() == pytest.approx(one(z, y).item(), abs=1e-12)
    assert loss.objective(z, y).item() == pytest.approx(-one(z, y).item(), abs=1e-12)
    for wrong, extra in ((loss, {}), (one, {"view_logits": view})):
        with pytest.raises(ValueError, match="view_logits with views"):
            wrong(z, y, **extra)
    with pytest.raises(ValueError, match="as logits"):
        loss(z, y, view_logits=view[1:])
    with pytest.raises(ValueError, match="view_logits hold nan or inf"):
        loss(z, y, view_logits=view * math.inf)


def test_gjs_takes_pixels_and_one_column_for_two_classes():
    (z, y), (view, _) = batch(12, 3), batch(12, 3, seed=1)
    loss = JensenShannon(3, views=2)
    images = [one.reshape(2, 3, 2, 3).movedim(-1, 1) for one in (z, view)]
    expected = loss(z, y, view_logits=view)
    torch.testing.assert_close(loss(images[0], y.reshape(2, 3, 2), view_logits=images[1]), expected)
    loss, y = JensenShannon(2, views=2), y % 2
    column, other = z[:, :1], view[:, :1]
    expected = loss(torch.cat([-column, column], 1) / 2, y, view_logits=torch.cat([-other, other], 1) / 2)
    torch.testing.assert_close(loss(column, y, view_logits=other), expected)


KINDS = {
    "gce": GCE,
    "beta": BetaDivergence,
    "sce": SCE,
    "nce-agce": lambda classes, **options: ActivePassive(classes, "agce", **options),
    "js-pi": JensenShannon,
    "gjs": lambda classes, **options: JensenShannon(classes, views=2, **options),
    "eps-softmax": EpsilonSoftmax,
    "logit-clip": LogitClip,
    "nls": NegativeLabelSmoothing,
    "f-pml": FPML,
    "elr": lambda classes, **options: ELR(classes, EXAMPLES, **options),
}


@pytest.mark.parametrize("name", KINDS)
def test_options_are_those_of_every_loss(name):
    """Weights, ignored labels and reductions are what one number for each example makes of them."""
    z, y = batch(9, 3, seed=5)
    z, weight, kept = z.detach(), torch.tensor([0.5, 2.0, 1.0], dtype=torch.float64), y != 1

    def value(labels=y, **options):
        return call(KINDS[name](3, **options), z, labels)  # a new one, as ELR remembers

    rows = value(reduction="none")
    assert rows.shape == (9,)
    torch.testing.assert_close(value(), rows.mean())
    torch.testing.assert_close(value(reduction="sum"), rows.sum())
    torch.testing.assert_close(value(weight=weight), (weight[y] * rows).sum() / weight[y].sum())
    torch.testing.assert_close(value(torch.where(kept, y, -7), ignore_index=-7), rows[kept].mean())
    if name != "gjs":  # whose objective looks at one view
        alone = -KINDS[name](3).objective(z[kept], y[kept])
        whole = KINDS[name](3, ignore_index=-7).objective(z, torch.where(kept, y, -7))
        torch.testing.assert_close(-whole, alone)
    with pytest.raises(ValueError, match="no reduction is called 'max'"):
        KINDS[name](3, reduction="max")


def test_elr_moves_the_target_of_each_example_and_pushes_towards_it():
    classes, beta, strength = 4, 0.9, 1.0
    loss = ELR(classes, EXAMPLES, beta=beta, strength=strength)
    targets = [[0.0] * classes for _ in range(EXAMPLES)]
    for epoch in range(3):
        z, y = batch(7, classes, seed=epoch)
        index = torch.randperm(EXAMPLES, generator=torch.Generator().manual_seed(epoch))[:7]
        slow = 0.0
        for row, k, i in zip(z.tolist(), y.tolist(), index.tolist(), strict=True):
            p = [min(max(a, 1e-4), 1 - 1e-4) for a in softmax(row)]
            targets[i] = [beta * t + (1 - beta) * a / sum(p) for t, a in zip(targets[i], p, strict=True)]
            inner = sum(t * a for t, a in zip(targets[i], p, strict=True))
            slow += (slow_ce(softmax(row), k) + strength * math.log(1 - inner)) / 7
        assert loss(z, y, index=index).item() == pytest.approx(slow, abs=1e-6)  # targets are float32
    assert loss.targets.numpy() == pytest.approx(np.array(targets), abs=1e-7)
    before = loss.targets.clone()
    loss.eval()
    loss(z, y, index=index)
    settled = 0.0  # an example of another set: its target is where its predictions would lead it
    for row, k in zip(z.tolist(), y.tolist(), strict=True):
        p = [min(max(a, 1e-4), 1 - 1e-4) for a in softmax(row)]
        inner = sum(a * a for a in p) / sum(p)
        settled += (slow_ce(softmax(row), k) + strength * math.log(1 - inner)) / len(z)
    assert loss.objective(z, y).item() == pytest.approx(-settled, abs=1e-6)
    assert torch.equal(loss.targets, before)
    with pytest.raises(ValueError, match="pass index"):
        loss(z, y)


def test_elr_goes_on_from_its_memory_bit_by_bit():
    first, second = ELR(3, EXAMPLES), ELR(3, EXAMPLES)
    assert [name for name, _ in first.named_parameters()] == []
    assert first.state_dict() == {}, "so that a model that holds it loads where another loss was"
    index = torch.arange(10)
    for seed in range(4):
        z, y = batch(10, 3, seed=seed)
        value = first(z.float(), y, index=index)
        if seed == 1:
            second.remember(first.memory())
        if seed > 1:
            assert torch.equal(value, second(z.float(), y, index=index))
    assert torch.equal(first.targets, second.targets)


def test_elr_takes_pixels_and_refuses_a_wrong_index_in_a_sentence():
    z, y = batch(12, 3)
    flat, pixels = ELR(3, 12), ELR(3, 12)
    index = torch.arange(12)
    z_pixels, y_pixels = z.reshape(3, 2, 2, 3).movedim(-1, 1), y.reshape(3, 2, 2)
    expected = flat(z, y, index=index)
    torch.testing.assert_close(pixels(z_pixels, y_pixels, index=index.reshape(3, 2, 2)), expected)
    assert torch.equal(flat.targets, pixels.targets)
    with torch.no_grad():
        flat(z, y, index=index)
    assert torch.equal(flat.targets, pixels.targets), "it learns where gradients are on only"
    for wrong, words in (
        (None, "pass index, a tensor of int64 as long as labels"),
        (index[:5], "as long as labels"),
        (index.double(), "a tensor of int64"),
        (index.tolist(), "a tensor of int64"),
        (index + 1, "index holds 12, but examples are numbered from 0 to 11"),
        (index - 1, "index holds -1"),
    ):
        with pytest.raises(ValueError, match=words):
            flat(z, y, index=wrong)
    with pytest.raises(TypeError, match="labels must be a tensor of integers"):
        flat(z, y.tolist(), index=index)


# ---------------------------------------------------------------------- gradients and extremes


@pytest.mark.parametrize("classes", [2, 5])
@each
def test_gradients_are_those_of_finite_differences(name, classes):
    z, y = batch(3, classes, seed=3)
    loss = build(name, classes)
    call(loss, z, y)  # so that the targets of ELR are not 0
    loss.eval()
    assert torch.autograd.gradcheck(lambda z: call(loss, z, y), z, eps=1e-6, atol=1e-7)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("classes", [2, 100])
@each
def test_extreme_logits_have_finite_losses_and_gradients(name, classes, dtype):
    z, y = batch(EXAMPLES, classes, seed=1)
    for size in (0, 1, 1e2, 1e4):
        logits = (size * z.detach() / z.detach().abs().max()).to(dtype).requires_grad_()
        loss = build(name, classes)
        value = call(loss, logits, y)
        (gradient,) = torch.autograd.grad(value, logits)
        assert value.isfinite(), size
        assert gradient.isfinite().all(), size
        assert loss.objective(logits, y).isfinite()
    assert value.dtype == torch.float32


@each
def test_all_compile_and_export_as_one_graph_and_can_be_copied_pickled_and_read(name):
    z, y = batch(6, 3)
    loss = build(name, 3).eval()
    loss.check = False
    expected = call(loss, z, y)
    torch._dynamo.reset()
    compiled = torch.compile(loss, backend="eager", fullgraph=True)
    assert torch.equal(compiled(z, y, **more(loss, z, y)), expected)
    given = (z.detach(), y), more(loss, z.detach(), y)
    exported = torch.export.export(copy.deepcopy(loss), *given).module()
    torch.testing.assert_close(exported(*given[0], **given[1]), expected)
    for other in (copy.deepcopy(loss), pickle.loads(pickle.dumps(loss))):
        assert torch.equal(call(other, z, y), expected)
        assert repr(other) == repr(loss)
    with pytest.raises(ValueError, match="must have 3 columns"):
        call(loss, batch(6, 4)[0], y)


def test_elr_compiles_where_it_remembers_too():
    z, y = batch(6, 3)
    eager, loss = ELR(3, 6), ELR(3, 6)
    eager.check = loss.check = False
    torch._dynamo.reset()
    compiled = torch.compile(loss, backend="eager", fullgraph=True)
    for _ in range(2):
        index = torch.arange(6)
        assert torch.equal(compiled(z, y, index=index), eager(z, y, index=index))
    assert torch.equal(eager.targets, loss.targets)
    assert eager.targets.sum() > 0


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        (GCE, {"q": 1.5}, "q is 1.5"),
        (BetaDivergence, {"beta": -1}, "beta is -1"),
        (SCE, {"alpha": math.inf}, "alpha is inf"),
        (JensenShannon, {"pi": 1}, "pi is 1"),
        (JensenShannon, {"views": 3}, "views is 3"),
        (ActivePassive, {"passive": "mse"}, "no passive term is called 'mse'"),
        (LogitClip, {"tau": 0}, "tau is 0"),
        (NegativeLabelSmoothing, {"rate": 2}, "rate is 2"),
        (ELR, {"examples": 0}, "examples is 0"),
    ],
)
def test_wrong_options_are_refused_in_a_sentence(kind, options, words):
    with pytest.raises(ValueError, match=words):
        kind(3, **options)


# ---------------------------------------------------------------------- limits and kin


def test_limits_are_cross_entropy_and_mae():
    z, y = batch(30, 5)
    ce, p = CrossEntropy()(z, y).item(), z.softmax(1)
    mae = (1 - p[range(30), y]).mean().item()
    for loss in (GCE(q=0), GCE(q=1e-9), BetaDivergence(beta=0), BetaDivergence(beta=1e-9)):
        assert loss(z, y).item() == pytest.approx(ce, rel=1e-7)
    assert GCE(q=1)(z, y).item() == pytest.approx(mae, rel=1e-12)
    brier = ((p - nn.functional.one_hot(y, 5)) ** 2).sum(1).mean().item()
    assert BetaDivergence(beta=1)(z, y).item() == pytest.approx(brier, rel=1e-12)
    assert JensenShannon(pi=1e-6)(z, y).item() == pytest.approx(ce, rel=1e-3)
    errors = [abs(JensenShannon(pi=1 - 10.0**-n)(z, y).item() - mae) for n in (2, 4, 8)]
    assert errors == sorted(errors, reverse=True)  # slowly, as 1 / log(1 - pi)
    assert errors[-1] < 0.06 * mae
    assert EpsilonSoftmax(m=0, alpha=1, beta=0, floor=0)(z, y).item() == pytest.approx(ce, rel=1e-12)
    assert LogitClip(tau=1e3)(z, y).item() == pytest.approx(ce, rel=1e-12)
    assert NegativeLabelSmoothing(rate=0)(z, y).item() == pytest.approx(ce, rel=1e-12)
    assert ELR(5, 30, strength=0)(z, y, index=torch.arange(30)).item() == pytest.approx(ce)


def test_the_beta_divergence_is_one_term_away_from_gce():
    z, y = batch(9, 4)
    more = (z.softmax(1) ** 1.7).sum(1).mean() - 1
    assert BetaDivergence()(z, y).item() == pytest.approx((1.7 * GCE()(z, y) + more).item(), rel=1e-12)


@pytest.mark.parametrize("classes", [2, 10])
def test_amse_with_2K_is_the_papers_pearson_with_even_labels(classes):
    z, y = batch(20, classes)
    amse = ActivePassive(passive="amse", alpha=0, a=2 * classes)
    pearson = FDivLoss("pearson", classes, label_prior=[1 / classes] * classes)
    expected = 4 * (pearson(z, y).item() + classes - 1 / classes)
    assert amse(z, y).item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_negative_label_smoothing_is_backward_correction_of_even_noise(share):
    z, y = batch(20, 4, scale=1.0)
    T = (1 - share) * np.eye(4) + share / 4
    loss = NegativeLabelSmoothing(rate=-share / (1 - share))
    assert loss(z, y).item() == pytest.approx(BackwardCorrection(T)(z, y).item(), rel=1e-12)


def test_negative_label_smoothing_waits_for_its_warm_up():
    z, y = batch(20, 4)
    loss = NegativeLabelSmoothing(4, rate=-2, warm_up=0.3)
    ce, whole = CrossEntropy()(z, y).item(), loss(z, y).item()
    assert whole != pytest.approx(ce)
    seen = []
    for epoch in range(10):
        loss.set_epoch(epoch, 10)
        seen.append(loss(z, y).item())
        assert loss.objective(z, y).item() == pytest.approx(-whole)
    assert seen == pytest.approx([ce] * 3 + [whole] * 7)


def test_epsilon_softmax_is_as_near_to_one_hot_as_its_paper_says():
    for p in ([0.25] * 4, softmax([3.0, 1.0, 0.0, -1.0])):
        for m in (0, 1, 1e3):
            out = slow_epsilon_softmax(p, m)
            distance = math.dist(out, one_hot(p.index(max(p)), 4))
            assert distance <= math.sqrt(1 - 1 / 4) / (m + 1) + 1e-15
    z, y = (
        torch.tensor([[9.0, 0.0, 0.0]], requires_grad=True),
        torch.tensor([1]),
    )  # p[y] < 1e-3, not predicted
    clipped = torch.autograd.grad(EpsilonSoftmax(beta=0)(z, y), z)[0]
    printed = torch.autograd.grad(EpsilonSoftmax(beta=0, floor=0)(z, y), z)[0]
    assert clipped.abs().max() == 0
    assert printed.abs().max() > 0.009


# ---------------------------------------------------------------------- tolerance of noise, on exact tables


def table(loss: NoisyLabelLoss, z: Tensor) -> Tensor:
    """loss(z[n], k) for all inputs n and labels k."""
    K = z.shape[1]
    return torch.stack([torch.stack([loss(row[None], torch.tensor([k])) for k in range(K)]) for row in z])


SYMMETRIC = {
    "MAE": (lambda: GCE(q=1), lambda K: K - 1),
    "RCE": (lambda: SCE(alpha=0), lambda K: -(K - 1) * math.log(1e-4)),
    "NCE": (lambda: ActivePassive(beta=0), lambda K: 1),
    "NNCE": (lambda: ActivePassive(passive="nnce", alpha=0, beta=1), lambda K: K - 1),
    "NCE+MAE": (lambda: ActivePassive(passive="mae"), lambda K: K),
    "NCE+RCE": (lambda: ActivePassive(passive="rce"), lambda K: 1 - (K - 1) * math.log(1e-4)),
    "ANL-CE": (lambda: ActivePassive(passive="nnce"), lambda K: 5 * K),
}


@pytest.mark.parametrize("classes", [2, 3, 10])
@pytest.mark.parametrize("name", SYMMETRIC)
def test_symmetric_losses_sum_to_a_constant_over_the_labels(name, classes):
    loss, constant = SYMMETRIC[name]
    sums = table(loss(), batch(8, classes, scale=4)[0].detach()).sum(1)
    assert sums.tolist() == pytest.approx([constant(classes)] * 8, rel=1e-12)


@pytest.mark.parametrize("name", [*SYMMETRIC, "CE"])
def test_even_noise_scales_and_shifts_the_risk_of_symmetric_losses_alone(name):
    """Noisy risk = (1 - e) clean risk + constant for every model; cross-entropy shows that this can fail."""
    rng = np.random.default_rng(0)
    classes, inputs, share = 3, 4, 0.6
    clean = rng.dirichlet(np.ones(classes * inputs)).reshape(inputs, classes)  # P(X, Y), not balanced
    noisy = clean @ ((1 - share) * np.eye(classes) + share / classes)
    loss, constant = SYMMETRIC.get(name, (CrossEntropy, lambda K: 0))
    gaps = []
    for seed in range(6):
        values = table(loss(), batch(inputs, classes, seed)[0].detach()).numpy()
        gaps.append((noisy * values).sum() - (1 - share) * (clean * values).sum())
    assert (np.ptp(gaps) < 1e-12) == (name != "CE")
    if name != "CE":
        assert gaps == pytest.approx([share / classes * constant(classes)] * 6, rel=1e-12)


@pytest.mark.parametrize("classes", [2, 10])
def test_gce_and_js_sum_to_between_their_bounds(classes):
    z = torch.cat([batch(20, classes, scale=3)[0].detach(), torch.zeros(1, classes), 60 * torch.eye(classes)])
    q, pi = 0.7, 0.3
    bounds = (classes - classes ** (1 - q)) / q, (classes - 1) / q  # Zhang & Sabuncu (2018), Lemma 1
    sums = table(GCE(q=q), z).sum(1)
    assert sums.min().item() == pytest.approx(bounds[0], abs=1e-12)
    assert sums.max().item() == pytest.approx(bounds[1], abs=1e-12)
    uniform, certain = [1 / classes] * classes, one_hot(0, classes)
    sums = table(JensenShannon(pi=pi), z).sum(1)
    low = classes * slow_js([uniform], 0, pi)
    high = sum(slow_js([certain], k, pi) for k in range(classes))
    assert sums.min().item() == pytest.approx(low, abs=1e-12)
    assert sums.max().item() == pytest.approx(high, abs=1e-12)


def ranked(p: np.ndarray) -> int:
    return int(p.argmax())


@pytest.mark.parametrize(("a", "q"), [(6, 1.5), (1, 1), (0.5, 2)])
def test_agce_with_q_from_1_up_decides_for_the_largest_share_whatever_the_noise(a, q):
    loss = ActivePassive(passive="agce", alpha=0, a=a, q=q)
    for posterior in ([0.34, 0.33, 0.33], [0.05, 0.47, 0.48]):
        assert learned_decision(loss, posterior)[np.argmax(posterior)] == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(("a", "q"), [(1.0, 0.5), (0.6, 0.6), (4.0, 0.2)])
def test_agce_below_1_is_asymmetric_from_the_ratio_of_its_paper_on(a, q):
    """One-hot is learnt if and only if the largest share is ((a+1)/a)^(1-q) times each other's."""
    loss, ratio = ActivePassive(passive="agce", alpha=0, a=a, q=q), ((a + 1) / a) ** (1 - q)
    for times, one_hot_is_learnt in ((1.02 * ratio, True), (1 + 0.8 * (ratio - 1), False)):
        posterior = np.array([times, 1.0, 1.0])
        p = learned_decision(loss, posterior / posterior.sum())
        assert (p[0] > 1 - 1e-4) == one_hot_is_learnt, times
        assert ranked(p) == 0


@pytest.mark.parametrize("a", [1.5, 3.0, 30.0])
def test_amse_is_asymmetric_from_a_margin_of_one_over_a_on(a):
    loss = ActivePassive(passive="amse", alpha=0, a=a)
    for margin in (0.8 / a, 1.2 / a):
        posterior = np.array([(1 + margin) / 2, (1 - margin) / 2])
        expected = (1 + a * margin) / 2 if a * margin < 1 else 1  # sparsemax(a posterior)
        assert learned_decision(loss, posterior)[0] == pytest.approx(expected, abs=1e-4)


# ---------------------------------------------------------------------- what is learnt

POSTERIORS = ([0.4, 0.35, 0.25], [0.1, 0.36, 0.34, 0.2])
PROPER = ("beta", "f-pml")


@pytest.mark.parametrize("posterior", POSTERIORS, ids=str)
@each_without_memory
def test_the_largest_noisy_share_is_decided_for_and_proper_losses_learn_all_shares(name, posterior):
    p = learned_decision(build(name, len(posterior)), posterior)
    assert ranked(p) == np.argmax(posterior)
    short = np.linalg.norm(np.log(posterior) - np.mean(np.log(posterior))) < 1  # LogitClip clips nothing
    proper = name in PROPER or (name == "logit-clip" and short)
    assert (np.abs(p - posterior).max() < 1e-4) == proper


def test_the_weight_of_f_pmls_mean_is_of_no_matter_to_what_is_learnt_and_a_column_for_two_classes_is():
    for alpha in (0.3, 0.8, 2.0):
        assert learned_decision(FPML(3, alpha=alpha), [0.5, 0.3, 0.2]) == pytest.approx(
            [0.5, 0.3, 0.2], abs=1e-4
        )
    with pytest.raises(ValueError, match="a column per class"):
        FPML(2)(torch.zeros(3, 1), torch.tensor([0, 1, 1]))


@pytest.mark.parametrize("name", SLOW)
def test_no_point_of_a_lattice_has_a_smaller_expected_loss_than_the_learnt_one(name):
    posterior, steps = [0.42, 0.4, 0.18], 12
    lattice = [(i, j, steps - i - j) for i in range(steps + 1) for j in range(steps + 1 - i)]
    points = [[max(count / steps, 1e-12) for count in point] for point in lattice]
    points.append(learned_decision(build(name, 3), posterior).tolist())
    risks = []
    for point in points:
        p = [a / sum(point) for a in point]
        z = [math.log(3 * a) for a in p]
        risks.append(sum(w * SLOW[name](z, p, y) for y, w in enumerate(posterior)))
    assert risks[-1] <= min(risks) + 1e-6 * abs(min(risks))


def test_the_shares_that_are_learnt_in_closed_form():
    posterior = np.array([0.5, 0.3, 0.2])
    power = posterior ** (1 / 0.3)
    assert learned_decision(GCE(), posterior) == pytest.approx(power / power.sum(), abs=1e-5)
    assert learned_decision(CrossEntropy(), posterior) == pytest.approx(posterior, abs=1e-5)
    sharper = 1.5 * posterior - 0.5 / 3
    assert learned_decision(NegativeLabelSmoothing(rate=-0.5), posterior) == pytest.approx(sharper, abs=1e-5)


def test_nce_alone_rules_a_class_out_and_leaves_the_others_open():
    loss = ActivePassive(beta=0)
    wrong = torch.tensor([[-1.0, 1.0, -1e6]], dtype=torch.float64)  # predicts 1, rules out 2
    assert loss(wrong, torch.tensor([0])).item() < 1e-5
    assert ActivePassive(passive="mae")(wrong, torch.tensor([0])).item() > 0.8


def test_a_prior_moves_the_papers_tv_and_none_of_the_later_losses():
    """N6 of the theory: TV with its fixed g decides for the largest noisy share minus prior."""
    posterior, prior = [0.5, 0.3, 0.2], [0.6, 0.2, 0.2]
    assert ranked(learned_decision(FDivLoss("tv", 3, label_prior=prior), posterior)) == 1
    assert ranked(learned_decision(GCE(3), posterior)) == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ROWS if name not in ("elr", "gjs")])
def test_the_nature_of_a_loss_is_that_of_its_paper(name):
    """Symmetric, bounded and proper as each paper claims; none looks at the prior."""
    found = nature(lambda prior: build(name, 3))
    assert found.symmetric == (name in ("nce-mae", "nce-rce", "anl-ce"))
    assert found.bounded == (name not in ("sce", "nls", "f-pml"))
    if name not in ("nls", "logit-clip"):
        assert found.proper == (name in PROPER)
    if name != "nls":  # which falls without limit
        assert found.decides == "posterior"


@pytest.mark.parametrize(
    ("loss", "decides", "proper", "bounded", "symmetric"),
    [
        (lambda prior: CrossEntropy(3), "posterior", True, False, False),
        (lambda prior: CrossEntropy(3, label_prior=prior), "ratio", False, False, False),
        (lambda prior: FDivLoss("tv", 3, label_prior=prior), "difference", False, True, True),
        (lambda prior: GCE(3, q=1), "posterior", False, True, True),
    ],
)
def test_the_three_decisions_are_told_apart(loss, decides, proper, bounded, symmetric):
    found = nature(loss)
    assert (found.decides, found.proper, found.bounded) == (decides, proper, bounded)
    assert found.symmetric == symmetric


def test_total_variation_and_mae_are_one_family_for_even_labels():
    """sum_k a(p[k]) (1/K - [y=k]): a(p) = p is MAE up to a constant, tanh(p)/2 is total variation."""
    z, y = batch(9, 4)
    p, hit = z.softmax(1), nn.functional.one_hot(y, 4)
    for a, loss in (
        (lambda p: p, GCE(4, q=1)),
        (lambda p: p.tanh() / 2, FDivLoss("tv", 4, label_prior=[0.25] * 4)),
    ):
        family = (a(p) * (0.25 - hit.to(p))).sum(1).mean()
        constant = 0.75 if isinstance(loss, GCE) else 0.0
        assert loss(z, y).item() == pytest.approx(family.item() + constant, abs=1e-6)


def test_who_survives_which_noise():
    hard = paper_noise("cifar-10", "sparse-high")
    assert tolerates("posterior", hard).sum() == tolerates("difference", hard).sum() == 5
    assert tolerates("ratio", hard).all()
    for setting in ("uniform-low", "uniform-high", "sparse-low"):
        for rule in DECISIONS:
            assert tolerates(rule, paper_noise("cifar-10", setting)).all()
    # certain examples survive even noise of uneven classes, whatever the decision
    T, prior = np.array([[0.6, 0.4], [0.4, 0.6]]), [0.9, 0.1]
    assert tolerates("posterior", T, prior).all()
    assert tolerates("ratio", T, prior).all()
    # nothing survives a permutation
    assert not tolerates("ratio", [[0, 1], [1, 0]]).any()
    with pytest.raises(ValueError, match="no decision is called 'mode'"):
        tolerates("mode", T)


def test_learned_decision_refuses_what_it_cannot_answer():
    with pytest.raises(ValueError, match="sum to 1"):
        learned_decision(GCE(), [0.5, 0.6])
    with pytest.raises(ValueError, match="needs no index"):
        learned_decision(ELR(2, 3), [0.5, 0.5])


def test_the_clean_posterior_comes_back_for_any_invertible_T():
    rng = np.random.default_rng(0)
    clean = rng.dirichlet(np.ones(4), size=20)
    T = rng.dirichlet(np.ones(4), size=4) + 2 * np.eye(4)
    T /= T.sum(1, keepdims=True)
    assert clean_posterior(torch.tensor(np.log(clean @ T)), T).numpy() == pytest.approx(clean, abs=1e-12)
    # what no clean posterior explains is sent to the nearest distribution
    noisy = torch.tensor([[0.97, 0.02, 0.01]], dtype=torch.float64)
    even = 0.7 * np.eye(3) + 0.1
    assert clean_posterior(noisy.log().half(), even).tolist() == [[1, 0, 0]]
    e = np.array([0.2, 0.1, 0.05])  # one rate per column: (noisy - e) / (1 - sum e), Novello & Tonello
    columns = (1 - e.sum()) * np.eye(3) + e
    noisy = np.array([[0.5, 0.3, 0.2]])
    expected = (noisy - e) / (1 - e.sum())
    assert clean_posterior(torch.tensor(noisy).log(), columns).numpy() == pytest.approx(expected, abs=1e-12)
    with pytest.raises(ValueError, match="rank 1 of 2"):
        clean_posterior(torch.zeros(1, 2), np.full((2, 2), 0.5))


# ---------------------------------------------------------------------- around the loss


def test_label_wave_stops_in_the_first_valley():
    first_fall, valley, later = [90, 60, 40, 30, 25], [22, 20], [24, 30, 35, 40, 38, 36, 30, 10, 5]
    wave = [math.nan, *first_fall, *valley, *later]
    assert label_wave(wave, window=1, patience=5) == 8  # the 20, not the 5 at the end
    assert label_wave(wave, window=1, patience=20) == len(wave)
    assert label_wave(wave, window=3, patience=5) == 9  # the mean of 22, 20 and 24 is the first low
    assert label_wave([5, 4, 3, 2], window=1) == 4
    assert label_wave([math.nan, 0.3, 0.3, 0.3], window=1) == 2
    bumpy = [
        math.nan,
        50,
        20,
        26,
        14,
        12,
        18,
        30,
        40,
        50,
    ]  # a bump that a mean passes over, patience 1 does not
    assert label_wave(bumpy, window=1, patience=1) == 3
    assert label_wave(bumpy, window=3, patience=1) == 7
    with pytest.raises(ValueError, match="at least 3 epochs"):
        label_wave([math.nan, 1, 2])
    with pytest.raises(ValueError, match="at least 1"):
        label_wave([1, 2], window=0)


def test_label_wave_is_the_papers_algorithm():
    """Algorithm 1: store at every new low of the running mean, halt after ``patience`` others in a row."""
    draw = np.random.default_rng(0)
    for _ in range(200):
        count, window, patience = draw.integers(6, 30), int(draw.integers(1, 5)), int(draw.integers(1, 8))
        wave = [math.nan, *draw.integers(0, 40, size=count).tolist()]
        low, stored, worse = math.inf, 0, 0
        for t in range(window + 1, len(wave) + 1):
            mean = sum(wave[t - window : t]) / window
            if mean < low:
                low, stored, worse = mean, t, 0
            else:
                worse += 1
            if worse == patience:
                break
        assert label_wave(wave, window=window, patience=patience) == stored


def small_network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 2)).double()


def test_sharpness_aware_takes_the_gradient_uphill_and_comes_back():
    model, rho = small_network(), 0.3
    x, y = torch.randn(8, 3, dtype=torch.float64), torch.arange(8) % 2
    frozen = model[3].bias.requires_grad_(False)

    def loss_of(model: nn.Module) -> Tensor:
        return nn.functional.cross_entropy(model(x), y)

    def backward() -> Tensor:
        value = loss_of(model)
        value.backward()
        return value.detach()

    # by hand, on a copy
    other = copy.deepcopy(model)
    weights = [w for w in other.parameters() if w.requires_grad]
    g = torch.autograd.grad(loss_of(other), weights)
    length = math.sqrt(sum((part**2).sum().item() for part in g))
    statistics = copy.deepcopy(other[1].state_dict())
    with torch.no_grad():
        for w, part in zip(weights, g, strict=True):
            w += rho * part / length
    expected = torch.autograd.grad(loss_of(other), weights)

    before = copy.deepcopy(list(model.parameters()))
    value = sharpness_aware(model, backward, rho)
    assert all(torch.equal(w, old) for w, old in zip(model.parameters(), before, strict=True))
    found = [w.grad for w in model.parameters() if w.requires_grad]
    assert all(torch.allclose(a, b, rtol=1e-10, atol=1e-14) for a, b in zip(found, expected, strict=True))
    assert frozen.grad is None
    assert value == loss_of(copy.deepcopy(model))
    assert model[1].num_batches_tracked == 1
    assert torch.equal(model[1].running_mean, statistics["running_mean"])


def test_sharpness_aware_survives_gradients_of_zero_and_of_infinity():
    for scale in (0.0, math.inf):
        line = nn.Linear(2, 1)
        before = line.weight.clone()

        def backward(line=line, scale=scale) -> Tensor:
            value = (scale * line.weight).sum()
            value.backward()
            return value.detach()

        sharpness_aware(line, backward)
        assert torch.equal(line.weight, before)
        assert (line.weight.grad == scale).all()  # an infinite one is left for the scaler to see


def test_the_weight_average_is_exponential_and_resumes():
    model = small_network()
    mean = weight_average(model, decay=0.9)
    expected = None
    for step in range(4):
        with torch.no_grad():
            for w in model.parameters():
                w += step + 1
        model(torch.randn(8, 3, dtype=torch.float64))
        mean.update_parameters(model)
        now = {k: v.clone() for k, v in model.state_dict().items()}
        expected = now if expected is None else {k: 0.9 * expected[k] + 0.1 * now[k] for k in now}
        if step == 1:
            other = weight_average(small_network(), decay=0.9)
            other.load_state_dict(mean.state_dict())
        if step > 1:
            other.update_parameters(model)
    for name, value in mean.module.state_dict().items():
        if value.is_floating_point():
            assert torch.allclose(value, expected[name], rtol=1e-12), name
        assert torch.equal(value, other.module.state_dict()[name])


def test_the_passive_terms_are_those_of_the_papers():
    assert set(PASSIVE) == {"mae", "rce", "agce", "nnce", "amse"}
