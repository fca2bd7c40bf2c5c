"""What the losses promise beyond their formulas: no class given up in silence, gradients that are right and
finite from anywhere, the options of ``nn.CrossEntropyLoss``, no hidden state, and graphs without a break."""

from __future__ import annotations

import copy
import itertools
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

from fdiv.learning.losses import (
    DMI,
    BackwardCorrection,
    CrossEntropy,
    FDivLoss,
    ForwardCorrection,
    NoisyLabelLoss,
    PeerLoss,
    trains_forward,
    works_on_logits,
    works_plugged_in,
)
from fdiv.noise.estimate import estimate_transition
from fdiv.noise.matrices import uniform
from fdiv.theory.divergences import DIVERGENCES, divergence
from fdiv.theory.exact import variational_difference
from fdiv.theory.robustness import imbalance_limit, lost_classes

ALL = tuple(DIVERGENCES)
FORWARD = tuple(name for name, d in DIVERGENCES.items() if trains_forward(d))
LOGIT = tuple(name for name, d in DIVERGENCES.items() if works_on_logits(d))
PRINTED = ("tv", "js", "neyman")
each = pytest.mark.parametrize("name", ALL)
K = 4
T = uniform([0.05, 0.1, 0.02, 0.08])
PRIOR = [0.1, 0.2, 0.3, 0.4]


def batch(n: int = 24, seed: int = 0, dtype=torch.float64) -> tuple[Tensor, Tensor]:
    rng = torch.Generator().manual_seed(seed)
    z = (1.5 * torch.randn(n, K, generator=rng, dtype=torch.float64)).to(dtype).requires_grad_()
    return z, torch.arange(n)[torch.randperm(n, generator=rng)] % K


def makers(**options) -> dict[str, Callable[[], NoisyLabelLoss]]:
    """One of each kind and option, given a prior, so that none has a state but the plug-in; not yet made."""
    given = {"label_prior": PRIOR, **options}
    T_given = {"transition": T, **given}
    rows = {name: partial(FDivLoss, name, K, **given) for name in ALL}
    rows |= {f"{n} logit": partial(FDivLoss, n, K, score="logit", **given) for n in LOGIT}
    rows |= {f"{n} forward": partial(FDivLoss, n, K, correction="forward", **T_given) for n in FORWARD}
    rows |= {f"{n} exact": partial(FDivLoss, n, K, **T_given) for n in ALL}
    rows |= {f"{n} paper": partial(FDivLoss, n, K, correction="paper", **T_given) for n in PRINTED}
    rows |= {"peer": partial(PeerLoss, K, **given)}
    if not {"weight", "ignore_index"} & set(options):  # which it refuses
        rows["shuffled"] = partial(FDivLoss, "js", K, product="shuffled", **given)
    rows |= {"ce": partial(CrossEntropy, K, **options), "ratio": partial(CrossEntropy, K, **given)}
    rows |= {
        "blc": partial(BackwardCorrection, T, **options),
        "flc": partial(ForwardCorrection, T, **options),
    }
    return rows


EVERY = tuple(makers())


def every_loss() -> dict[str, NoisyLabelLoss]:
    return {name: make() for name, make in makers().items()}


def one_loss(name: str, **options) -> NoisyLabelLoss:
    return makers(**options)[name]()


def whole_batch_losses() -> dict[str, NoisyLabelLoss]:
    plugin = {
        f"{n} plugin": FDivLoss(n, K, variational="plugin", barrier=1.0)
        for n in ALL
        if works_plugged_in(divergence(n))
    }
    return plugin | {"dmi": DMI(K)}


def extreme_losses() -> dict[str, NoisyLabelLoss]:
    """Priors that are counted, lopsided or have zeros, a T with zeros, weights of 0, drawn labels."""
    paired = np.eye(K)
    paired[0, :2], paired[1, :2] = (0.3, 0.7), (0.2, 0.8)
    rare, absent = [0.97, 0.01, 0.01, 0.01], [0.9, 0.1, 0.0, 0.0]
    rows: dict[str, NoisyLabelLoss] = {}
    for n in ALL:
        d = divergence(n)
        options = {"counted": {}, "absent": {"label_prior": absent}, "weight": {"weight": [0, 0, 1, 1e3]}}
        options |= {"sampled": {"product": "sampled"}, "ignoring": {"ignore_index": 3, "reduction": "sum"}}
        if works_on_logits(d):
            options["logit absent"] = {"score": "logit", "label_prior": absent}
        if works_plugged_in(d):
            options["plugin"] = {"variational": "plugin", "momentum": 0.0, "barrier": 100.0}
            options["plugin absent"] = {"variational": "plugin", "label_prior": absent}
        for matrix, noise in (("I", np.eye(K)), ("paired", paired)):
            kinds = ("exact", "forward") if trains_forward(d) else ("exact",)
            for correction, (named, prior) in itertools.product(kinds, {"": None, " rare": rare}.items()):
                given = {"transition": noise, "correction": correction, "label_prior": prior}
                options[f"{correction} {matrix}{named}"] = given
        rows |= {f"{n} {kind}": FDivLoss(n, K, **option) for kind, option in options.items()}
    rows |= {"ratio absent": CrossEntropy(K, label_prior=absent), "peer 5": PeerLoss(K, 5.0)}
    return rows | {"blc paired": BackwardCorrection(paired), "flc paired": ForwardCorrection(paired)}


# ---------------------------------------------------------------------- imbalance


@each
@pytest.mark.parametrize(("classes", "parts"), [(2, 2000), (3, 90), (4, 28)])
def test_the_condition_of_imbalance_is_that_of_trying_every_v(name, classes, parts):
    """The best of all v on a grid of the simplex, for certain inputs of the most frequent class."""
    grid = [v for v in itertools.product(range(parts + 1), repeat=classes - 1) if sum(v) <= parts]
    v = torch.tensor([[*row, parts - sum(row)] for row in grid], dtype=torch.float64) / parts
    g, dual = divergence(name).activation(v), divergence(name).conjugate_of_activation(v)
    rng, decided = np.random.default_rng(classes), 0
    for _ in range(40):
        prior = np.maximum(rng.dirichlet(np.full(classes, rng.choice([0.2, 0.5, 1]))), 1e-4)
        prior, y = prior / prior.sum(), int(prior.argmax())
        value = g[:, y] - dual @ torch.as_tensor(prior)
        own = v[:, y] >= v.max(1).values - 1e-12
        margin = (value[own].max() - value[~own].max()).item()
        if abs(margin) > (1e-5 if classes == 2 else 2e-3):  # beyond what the grid can tell
            decided += 1
            assert (y in lost_classes(name, prior)) == (margin < 0), prior
    assert decided > 15


def test_the_limits_of_two_classes_in_closed_form():
    gaps = {"squared-hellinger": np.exp(-1), "js": np.exp(-0.5), "reverse-kl": np.exp(-0.5), "pearson": 0.8}
    for name, gap in (gaps | {"neyman": np.exp(-0.25), "tv": 1, "kl": 1}).items():
        assert imbalance_limit(name) == pytest.approx((1 + gap) / 2, abs=1e-12)
    assert imbalance_limit("jeffrey") == pytest.approx(0.8831, abs=1e-4)
    for name, classes in itertools.product(ALL, (2, 3, 10)):
        limit = imbalance_limit(name, classes)
        for share, lost in ((limit - 1e-6, []), (limit + 1e-6, [0])):
            if share < 1:
                rest = (1 - share) / (classes - 1) * np.ones(classes - 1)
                assert lost_classes(name, [share, *rest]) == lost


def test_a_class_that_cannot_be_predicted_is_said_in_one_sentence():
    with pytest.warns(
        UserWarning,
        match=r"^js cannot predict class 0 \(share 0.90\): .*; use tv or kl, .* after a warm-up",
    ) as w:
        FDivLoss("js", 2, label_prior=[0.9, 0.1])
    assert len(w) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ALL:
            FDivLoss(name, 2, label_prior="balanced")
            FDivLoss(name, 2, label_prior=[0.6, 0.4])
        FDivLoss("tv", 2, label_prior=[0.999, 0.001])
        PeerLoss(2, label_prior=[0.9, 0.1])
        FDivLoss("js", 2, label_prior=[0.9, 0.1], score="logit")
        FDivLoss("js", 2, label_prior=[0.9, 0.1], transition=uniform(0.1, 2), correction="forward")
    clean = FDivLoss("kl", 2, label_prior=[0.9, 0.1])
    assert clean.diagnose(torch.tensor([[0.0, 9.0]] * 20), torch.tensor([0] * 18 + [1] * 2))


def test_a_counted_prior_warns_once_it_is_reliable_and_only_once():
    loss = FDivLoss("js", 2)
    y = torch.tensor([0] * 29 + [1] * 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loss(torch.zeros(32, 2), y)
    with pytest.warns(UserWarning, match="js cannot predict class 0") as found:
        [loss(torch.zeros(32, 2), y) for _ in range(40)]
    assert len(found) == 1


@pytest.mark.parametrize("classes", [2, 10, 50])
def test_a_counted_prior_of_many_classes_gives_no_false_alarm(classes):
    """64 to 16 384 labels: rare classes that were not seen yet are not absent, nor as uneven as they look."""
    rng, said = np.random.default_rng(classes), 0
    for name, seed in itertools.product(ALL, range(6)):
        limit = imbalance_limit(name, classes)
        share = min(0.97, limit + rng.uniform(-0.05, 0.0) + 0.1 * (seed % 2))
        rest = rng.dirichlet(np.full(classes - 1, 2.0)) + 1e-3
        prior = np.array([share, *(1 - share) * rest / rest.sum()])
        loss = FDivLoss(name, classes)
        for size in (64, 64, 128, 256, 512, 1024, 2048, 4096, 8192):
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                y = torch.as_tensor(rng.choice(classes, size, p=prior))
                loss(torch.zeros(size, classes, requires_grad=True), y)
            if found:
                said += 1
                assert lost_classes(name, prior) == [0], (name, prior, size)
    assert said > 8  # where it is lost by some margin it is said


@pytest.mark.slow
@each
@pytest.mark.parametrize("classes", [2, 5])
def test_training_loses_the_large_class_beyond_the_limit_and_not_below(name, classes):
    """One certain input for each class, with free logits: what is learned is what is predicted."""
    limit = imbalance_limit(name, classes)
    for share in (limit - 0.03, *([limit + 0.03] if limit < 1 else [])):
        spread = 0.1 if name in ("tv", "neyman", "reverse-kl") else 0  # the rarest takes all
        rest = np.linspace(1 - spread, 1 + spread, classes - 1)
        prior = np.array([share, *(1 - share) * rest / rest.sum()])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loss = FDivLoss(name, classes, label_prior=prior)
        z = torch.zeros(classes, classes, dtype=torch.float64, requires_grad=True)
        y, weight = torch.arange(classes), torch.as_tensor(prior)
        optimiser = torch.optim.Adam([z], lr=0.2)
        for _ in range(500):
            optimiser.zero_grad()
            loss(z, y, sample_weight=weight).backward()
            optimiser.step()
        wrong = (z.argmax(1) != y).nonzero().flatten().tolist()
        assert wrong == lost_classes(name, prior) == ([0] if limit < share else []), share


@pytest.mark.slow
@each
def test_clean_data_of_95_to_5_with_and_without_a_balanced_product(name):
    """With the true prior six of the eight lose the large class, as predicted; balanced none does."""
    rng = np.random.default_rng(0)
    y = torch.as_tensor((rng.random(600) > 0.95).astype(int))
    x = torch.as_tensor(rng.normal(size=(600, 2)) + np.where(y[:, None] > 0, 2.5, -2.5), dtype=torch.float32)
    for balanced in (True, False):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loss = FDivLoss(name, 2, label_prior="balanced" if balanced else [0.95, 0.05], check=False)
        torch.manual_seed(0)
        model = nn.Linear(2, 2)
        optimiser = torch.optim.Adam(model.parameters(), lr=0.1)
        for _ in range(300):
            optimiser.zero_grad()
            loss(model(x), y).backward()
            optimiser.step()
        right = [(model(x).argmax(1)[y == k] == k).float().mean().item() for k in (0, 1)]
        if balanced or not lost_classes(name, [0.95, 0.05]):
            assert np.mean(right) > 0.95
        else:
            assert right[0] < 0.02
            assert "gives up classes as frequent as that: use tv or kl" in loss.diagnose(model(x), y)[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tv", "pearson", "kl"])
def test_a_balanced_product_may_miss_a_rare_class_unless_it_is_warmed_up_or_weighted(name):
    """Odd digits, one of ten images: never answered, but after cross-entropy or with weights."""
    images, digit = load_digits(return_X_y=True)
    x, odd = torch.as_tensor(images / 16, dtype=torch.float32), torch.as_tensor(digit % 2)
    even_ones, odd_ones = (torch.nonzero(odd == k).flatten() for k in (0, 1))
    train = torch.cat([even_ones[:540], odd_ones[:60]])

    def found(loss: NoisyLabelLoss, warm_up: int) -> float:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
        optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
        for epoch in range(30):
            used = CrossEntropy(2) if epoch < warm_up else loss
            for part in train[torch.randperm(600)].split(64):
                optimiser.zero_grad()
                used(model(x[part]), odd[part]).backward()
                optimiser.step()
        return model(x[odd_ones[60:]]).argmax(1).float().mean().item()

    assert found(FDivLoss(name, 2, label_prior="balanced"), warm_up=0) < 0.05
    assert found(FDivLoss(name, 2, label_prior="balanced"), warm_up=10) > 0.4
    assert found(FDivLoss.from_labels(name, odd[train], weight=[1, 9]), warm_up=0) > 0.4


def test_weights_make_classes_more_frequent_for_the_warning_too():
    z, even, skewed = torch.zeros(1000, 2), torch.arange(1000) % 2, (torch.arange(1000) % 10 == 0).long()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cured = FDivLoss("js", 2, weight=[1, 9])  # 90:10 labels count as 50:50
        cured(z, skewed)
        wrong = FDivLoss("js", 2, weight=[1, 9]).diagnose(torch.tensor([[0.0, 9.0]] * 1000), skewed)
    assert "lower the learning rate" in wrong[0]
    with pytest.warns(UserWarning, match=r"js cannot predict class 0 \(share 0.90\)"):
        FDivLoss("js", 2, weight=[9, 1])(z, even)


def test_balanced_is_a_uniform_prior_of_the_clean_labels():
    z, y = batch()
    even = [1 / K] * K
    for options in ({}, {"transition": T, "correction": "paper"}, {"transition": T, "correction": "forward"}):
        prior = even if not options else np.array(even) @ T
        one, two = (FDivLoss("kl", K, label_prior=p, **options)(z, y) for p in ("balanced", prior))
        assert one.item() == pytest.approx(two.item(), abs=1e-14)
    assert PeerLoss(K, label_prior="balanced")(z, y) == PeerLoss(K, label_prior=even)(z, y)
    assert CrossEntropy(K, label_prior="balanced")(z, y).item() == pytest.approx(CrossEntropy()(z, y).item())


# ---------------------------------------------------------------------- gradients


@pytest.mark.slow
@pytest.mark.parametrize("name", FORWARD)
@pytest.mark.parametrize("size", [5.0, 10.0, 20.0])
def test_forward_correction_recovers_from_confidently_wrong_starts(name, size):
    z = torch.tensor([[size, -size], [-size, size]], requires_grad=True)
    y = torch.tensor([1, 0])
    loss = FDivLoss(name, 2, transition=np.eye(2), correction="forward", label_prior=[0.5, 0.5])
    optimiser = torch.optim.Adam([z], lr=0.5)
    for _ in range(150):
        optimiser.zero_grad()
        loss(z, y).backward()
        optimiser.step()
    assert (z.argmax(1) == y).all()


@pytest.mark.parametrize("name", FORWARD)
def test_forward_correction_pulls_where_T_rules_a_label_out_and_not_where_it_explains_it(name):
    """K = 5 at logits of 20: labels that a sure prediction cannot have, and labels that are its flips."""
    impossible = np.eye(5)
    impossible[0, :2], impossible[1, :2] = (0.6, 0.4), (0.3, 0.7)
    for T, label, pulls in ((impossible, 3, True), (uniform(0.1, 5), 3, False)):
        z = torch.tensor([[20.0, -20, -20, -20, -20]] * 5, requires_grad=True)
        y = torch.full((5,), label)
        loss = FDivLoss(name, 5, transition=T, correction="forward", label_prior="balanced")
        start = torch.autograd.grad(loss(z, y), z)[0].abs().max()
        assert start > 1e-4 if pulls else start < 1e-12
        optimiser = torch.optim.Adam([z], lr=0.5)
        for _ in range(150 * pulls):
            optimiser.zero_grad()
            loss(z, y).backward()
            optimiser.step()
        assert (z.argmax(1) == label).all() == pulls


def test_forward_correction_of_kl_is_patrinis_from_any_logits():
    start = torch.tensor([[5.0, -5.0], [-5.0, 5.0]], dtype=torch.float64)
    y = torch.tensor([1, 0])
    ours = FDivLoss("kl", 2, transition=np.eye(2), correction="forward", label_prior=[0.5, 0.5])
    for scale in (0.1, 1.0, 1.6):  # beyond, Patrini's floor of 1e-7 has no gradient
        for loss_T, mine in ((np.eye(2), ours), (uniform(0.2, 2), None)):
            mine = mine or FDivLoss("kl", 2, transition=loss_T, correction="forward", label_prior=[0.5, 0.5])
            grads = []
            for loss in (mine, ForwardCorrection(loss_T)):
                z = (scale * start).requires_grad_()
                grads.append(torch.autograd.grad(loss(z, y), z)[0])
            torch.testing.assert_close(*grads, atol=1e-9, rtol=1e-6)
    z = (80 * start).requires_grad_()
    assert torch.autograd.grad(ours(z, y), z)[0].abs().min() > 0.1  # probabilities of e^-800


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_nothing_overflows_up_to_logits_of_10000(dtype):
    rng = torch.Generator().manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        losses = every_loss() | whole_batch_losses() | extreme_losses()
        for loss in losses.values():
            loss.check = False
        for case in range(5):
            size = 10 ** (4 * torch.rand((), generator=rng)) if case else torch.tensor(1e4)
            z = (size * (2 * torch.rand(16, K, generator=rng) - 1)).to(dtype)
            z[0], z[1] = size.to(dtype), torch.tensor([1, -1, 1, -1]).to(dtype) * size.to(dtype)
            y = torch.full((16,), 2) if case == 1 else torch.randint(K, (16,), generator=rng)
            for name, loss in losses.items():
                leaf = z.clone().requires_grad_()
                value = loss(leaf, y, *((leaf, y) if loss.needs_peers else ()))
                (grad,) = torch.autograd.grad(value, leaf)
                assert value.isfinite(), (name, size)
                assert grad.isfinite().all(), (name, size)


def test_a_batch_in_which_nothing_counts_moves_nothing():
    for loss in (
        *every_loss().values(),
        FDivLoss("js", K, variational="plugin", barrier=1e3, label_prior=PRIOR),
    ):
        z, y = batch(dtype=torch.float32)
        value = loss(z, y, sample_weight=torch.zeros(24))
        assert torch.autograd.grad(value, z)[0].abs().max() == 0, loss


# ---------------------------------------------------------------------- as nn.CrossEntropyLoss


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy_has_the_options_of_torchs(reduction):
    z, y = batch()
    weight = torch.tensor([0.5, 1.0, 2.0, 3.0], dtype=torch.float64)
    y[3] = -7
    ours = CrossEntropy(K, weight=weight, ignore_index=-7, reduction=reduction)
    theirs = nn.CrossEntropyLoss(weight=weight, ignore_index=-7, reduction=reduction)
    torch.testing.assert_close(ours(z, y), theirs(z, y))
    image, labels = z.reshape(2, 3, 4, K).movedim(-1, 1), y.reshape(2, 3, 4)
    torch.testing.assert_close(ours(image, labels), theirs(image, labels))


@pytest.mark.parametrize("name", EVERY)
def test_options_mean_the_same_for_every_loss(name):
    z, y = batch()
    plain = one_loss(name).eval()

    def value(loss: NoisyLabelLoss, z: Tensor, y: Tensor) -> Tensor:
        torch.manual_seed(0)  # the same shuffling each time
        return loss(z, y)

    rows = value(one_loss(name, reduction="none"), z, y)
    assert rows.shape == y.shape
    torch.testing.assert_close(rows.mean(), value(plain, z, y))
    torch.testing.assert_close(value(one_loss(name, reduction="sum"), z, y), rows.sum())
    image = value(plain, z.reshape(2, 12, K).movedim(-1, 1), y.reshape(2, 12))
    torch.testing.assert_close(image, value(plain, z, y))
    if name != "shuffled":
        ignored = torch.where(torch.arange(24) < 5, -1, y)
        torch.testing.assert_close(one_loss(name, ignore_index=-1)(z, ignored), plain(z[5:], y[5:]))
        torch.testing.assert_close(one_loss(name, weight=[2.0] * K)(z, y), plain(z, y))


def test_labels_that_are_drawn_take_no_weights():
    for option, product in (("weight", "shuffled"), ("weight", "sampled"), ("ignore_index", "shuffled")):
        with pytest.raises(ValueError, match=rf"{product}' takes no {option}, .* use product='exact'"):
            FDivLoss("js", 2, product=product, **{option: [1, 2] if option == "weight" else -1})
    skipped = torch.tensor([0, 1, -1, 1])
    loss = PeerLoss(2, product="sampled", ignore_index=-1)
    z = torch.randn(4, 2, generator=torch.Generator().manual_seed(0))
    some = skipped >= 0
    assert loss(z, skipped, z, skipped).item() == pytest.approx(loss(*[z[some], skipped[some]] * 2).item())


def test_weights_stand_for_labels_that_are_more_frequent():
    """A loss with weights is the loss of a batch in which examples are repeated as often."""
    z, _ = batch(8)
    y = torch.tensor([0, 1, 2, 3, 0, 1, 2, 3])
    repeats = torch.tensor([1, 2, 3, 1])
    for make in (
        lambda **o: FDivLoss("js", K, **o),
        lambda **o: PeerLoss(K, **o),
        lambda **o: CrossEntropy(K, **o),
    ):
        again = torch.repeat_interleave(torch.arange(8), repeats[y])
        torch.testing.assert_close(make(weight=repeats)(z, y), make()(z[again], y[again]))


@pytest.mark.parametrize("seed", range(10))
def test_weights_turn_T_into_that_of_their_world(seed):
    """Noisy labels j count w_j times, and so clean ones i count s_i = sum_j T_ij w_j times: random tables."""
    rng = np.random.default_rng(seed)
    noise = 0.5 * np.eye(K) + 0.5 * rng.dirichlet(np.ones(K), K)
    weight, clean = rng.uniform(0.2, 3, K), rng.dirichlet(np.ones(5 * K)).reshape(5, K)
    tilde = torch.as_tensor(clean @ noise)
    mass, labels, options = tilde.sum(1), tilde / tilde.sum(1, keepdim=True), {"weight": weight}
    world = torch.as_tensor(clean * (noise @ weight))
    world = world / world.sum()
    given = options | {"transition": noise, "label_prior": tilde.sum(0)}
    proper = {n: FDivLoss(n, K, correction="forward", **given) for n in FORWARD}
    proper |= {"blc": BackwardCorrection(noise, **options), "flc": ForwardCorrection(noise, **options)}
    for name, loss in proper.items():
        z = (world / world.sum(1, keepdim=True)).log().requires_grad_()
        (slope,) = torch.autograd.grad(loss(z, labels, sample_weight=mass), z)
        assert slope.abs().max() < 1e-6, name  # p and P(Y~) have floors
    z = torch.as_tensor(rng.normal(size=(5, K)))
    for name in ALL:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loss = FDivLoss(name, K, **given)
        expected = variational_difference(world, divergence(name).activation(z.softmax(1)), name)
        torch.testing.assert_close(-loss(z, labels, sample_weight=mass), expected)
    for make in (
        lambda **o: FDivLoss("kl", K, transition=noise, **o),
        lambda **o: ForwardCorrection(noise, **o),
    ):
        with pytest.raises(ValueError, match="weight is 0 for class 1, but with T every label must count"):
            make(weight=[1, 0, 1, 1])


@pytest.mark.parametrize("make", [lambda: FDivLoss("js", 2, label_prior=[0.5, 0.5]), lambda: CrossEntropy(2)])
def test_one_logit_is_enough_for_two_classes(make):
    s = torch.randn(6, generator=torch.Generator().manual_seed(0))
    y = torch.tensor([0, 1, 1, 0, 1, 0])
    two = make()(torch.stack([torch.zeros(6), s], 1), y)
    for logits, labels in ((s, y), (s[:, None], y), (s[:, None], y[:, None])):
        torch.testing.assert_close(make()(logits, labels), two)
    expected = nn.BCEWithLogitsLoss()(s, y.float())
    torch.testing.assert_close(CrossEntropy(2)(s, y), expected)


def test_logits_that_look_like_probabilities_are_said_so_once():
    z, y = batch()
    loss = FDivLoss("tv", K)
    with pytest.warns(UserWarning, match="look like probabilities") as found:
        [loss(z.softmax(1), y) for _ in range(2)]
    assert len(found) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FDivLoss("tv", K)(z, y)


def test_an_estimate_of_T_is_a_T_and_a_batch_of_ignored_labels_is_refused():
    z, y = batch(400)
    estimate = estimate_transition((6 * z).softmax(1).detach(), bootstrap=0)
    assert ForwardCorrection(estimate)(z, y) == ForwardCorrection(estimate.T)(z, y)
    assert FDivLoss("kl", K, transition=estimate, correction="forward")(z, y).isfinite()
    with pytest.raises(ValueError, match="labels are all -1, which is ignored: skip this batch"):
        CrossEntropy(ignore_index=-1)(z, torch.full((400,), -1))
    for option, message in (
        ({"reduction": "sum"}, "has no reduction='sum'"),
        ({"weight": [1, 2, 1, 1]}, "no weight"),
    ):
        with pytest.raises(ValueError, match=message):
            DMI(K, **option)


# ---------------------------------------------------------------------- state


@pytest.mark.parametrize("name", EVERY)
def test_given_a_prior_small_batches_add_up_to_the_large_one(name):
    """The loss, and the gradient that is accumulated over them; shuffled labels do so on average."""
    z, y = batch()
    loss, shuffled = one_loss(name), name == "shuffled"
    whole = torch.autograd.grad(loss(z, y), z)[0]
    trials = 400 if shuffled else 1
    parts = [loss(z[i : i + 6], y[i : i + 6]) / 4 for _ in range(trials) for i in range(0, 24, 6)]
    total = torch.stack(parts).reshape(trials, 4).sum(1)
    if shuffled:  # within a small batch another's label is less often one's own than in the large one
        large = torch.stack([loss(z, y) for _ in range(trials)])
        by_label = torch.stack([exact_shuffle(loss, z[i : i + 6], y[i : i + 6]) for i in range(0, 24, 6)])
        for seen, expected in ((large, exact_shuffle(loss, z, y)), (total, by_label.mean())):
            assert abs(seen.mean() - expected).item() < 4 * seen.std().item() / trials**0.5
        return
    torch.testing.assert_close(total[0], loss(z, y))
    torch.testing.assert_close(torch.autograd.grad(total[0], z)[0], whole)


def exact_shuffle(loss: FDivLoss, z: Tensor, y: Tensor) -> Tensor:
    """The expectation of the loss with a shuffled product: every other label alike."""
    v = z.softmax(1)
    dual = loss.divergence.conjugate_of_activation(v)[:, y]
    others = (dual.sum(1) - dual.diagonal()) / (len(y) - 1)
    return (others - loss.divergence.activation(v[torch.arange(len(y)), y])).mean()


def test_no_loss_is_in_the_state_of_the_model_that_holds_it():
    z, y = batch()
    for loss in (FDivLoss("tv", K), PeerLoss(K), FDivLoss("kl", K, variational="plugin"), DMI(K)):
        model = nn.ModuleDict({"net": nn.Linear(2, K), "loss": loss})
        loss(z, y)
        assert set(model.state_dict()) == {"net.weight", "net.bias"}
    with pytest.raises(
        ValueError, match=r"memory of another loss: it holds \['joint'\], but PeerLoss remembers"
    ):
        PeerLoss(K).remember(FDivLoss("kl", K, variational="plugin").memory())


def test_a_prior_from_labels_is_that_of_the_training_set():
    labels = torch.tensor([0, 0, 0, 1, 2, 2, 3, 3])
    z, y = batch()
    prior = [3 / 8, 1 / 8, 2 / 8, 2 / 8]
    assert FDivLoss.from_labels("js", labels)(z, y) == FDivLoss("js", K, label_prior=prior)(z, y)
    assert PeerLoss.from_labels(labels.tolist(), K)(z, y) == PeerLoss(K, label_prior=prior)(z, y)
    more = FDivLoss.from_labels("tv", torch.cat([labels, torch.tensor([-1])]), 5, ignore_index=-1)
    assert more.num_classes == 5
    assert not more.memory()


def test_the_plug_in_says_when_its_table_has_more_cells_than_samples():
    z, y = torch.randn(32, 20), torch.arange(32) % 20
    loss = FDivLoss("pearson", 20, variational="plugin", momentum=0.5)
    with pytest.warns(RuntimeWarning, match="about 96 samples .* a momentum of at least 0.852") as w:
        [loss(z, y) for _ in range(2)]
    assert len(w) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FDivLoss("pearson", 20, variational="plugin", momentum=0.9)(z, y)


def test_the_barrier_is_largest_where_predictions_are_as_frequent_as_labels():
    y = torch.tensor([0] * 18 + [1] * 6)
    pushes = []
    for share in (0.5, 0.75, 0.9):
        z = torch.log(torch.tensor([share, 1 - share], dtype=torch.float64)).repeat(24, 1).requires_grad_()
        value = FDivLoss("pearson", 2, variational="plugin", barrier=1.0)(z, y)
        pushes.append(-torch.autograd.grad(value, z)[0][:, 0].sum().item())
    assert pushes[0] > 0.1
    assert pushes[1] == pytest.approx(0, abs=1e-12)
    assert pushes[2] < -0.1


def test_dmi_without_checks_says_later_what_had_no_gradient():
    z, y = batch()
    loss = DMI(K, check=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for labels in (y.clamp(max=2), y, y.clamp(max=2)):
            loss(z, labels)
    with pytest.warns(RuntimeWarning, match="DMI had no gradient in 2 batches"):
        loss.objective(z, y)


# ---------------------------------------------------------------------- graphs

GRAPHS = (
    every_loss()
    | whole_batch_losses()
    | {"counting": FDivLoss("tv", K), "sampled": FDivLoss("tv", K, product="sampled")}
)
SOME = ["js", "jeffrey", "kl logit", "kl forward", "js exact", "shuffled", "peer", "ratio", "blc", "flc",
        "pearson plugin", "dmi", "counting", "sampled"]  # fmt: skip


def inputs(loss: NoisyLabelLoss) -> tuple[Tensor, ...]:
    z, y = batch(dtype=torch.float32)
    return (z.detach(), y, z.detach(), y) if loss.needs_peers else (z.detach(), y)


@pytest.mark.slow
@pytest.mark.parametrize("name", SOME)
def test_losses_with_checks_compile_and_export_as_one_graph(name):
    torch._dynamo.reset()  # which counts the losses before as recompilations of this one
    loss = copy.deepcopy(GRAPHS[name])
    torch.manual_seed(0)
    expected = copy.deepcopy(loss)(*inputs(loss)).item()
    torch.manual_seed(0)
    compiled = torch.compile(copy.deepcopy(loss), backend="eager", fullgraph=True)(*inputs(loss))
    assert compiled.item() == pytest.approx(expected, abs=1e-6)
    exported = torch.export.export(copy.deepcopy(loss), inputs(loss)).module()
    torch.manual_seed(0)
    assert exported(*inputs(loss)).item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", GRAPHS)
def test_no_step_waits_for_the_device(name, monkeypatch):
    """Tensors without values, so that whoever asks for one fails, forward or backward."""
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda _: False)  # which does not know this device
    loss = copy.deepcopy(GRAPHS[name])
    loss.check = False
    z = torch.empty(24, K, device="meta", requires_grad=True)
    y = torch.empty(24, dtype=torch.int64, device="meta")
    loss(z, y, *((z, y) if loss.needs_peers else ())).backward()
    assert z.grad.shape == z.shape
    checked = copy.deepcopy(GRAPHS[name])
    with pytest.raises(Exception, match="meta tensors"):
        checked(z, y, *((z, y) if checked.needs_peers else ()))


@pytest.mark.parametrize("name", EVERY)
def test_gradients_by_function_transforms(name):
    z, y = batch()
    loss = one_loss(name)
    torch.manual_seed(0)
    by_transform = torch.func.grad(loss)(z.detach(), y)
    torch.manual_seed(0)
    torch.testing.assert_close(by_transform, torch.autograd.grad(loss(z, y), z)[0])
    loss.check = False
    torch.manual_seed(0)
    stacked = torch.func.vmap(loss, randomness="same")(z.detach().reshape(4, 6, K), y.reshape(4, 6))
    torch.manual_seed(0)
    torch.testing.assert_close(stacked[0], loss(z.detach()[:6], y[:6]))
