"""Who is robust, exactly: each statement against brute force, over random tables, priors, T and K.

A test that sweeps says how many cases it has and how large its largest error may be, and checks both
(``Errors``). The statements N1 to N8 are the sections of this file.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from fdiv.noise import paper_noise
from fdiv.theory import exact, robustness
from fdiv.theory.divergences import DIVERGENCES, Divergence, Interval, divergence
from fdiv.theory.exact import (
    classify,
    f_divergence,
    fixed_g_optimum,
    noisy,
    product,
    variational_difference,
)
from fdiv.theory.robustness import (
    backward_price,
    bregman,
    decision,
    forward_gap,
    guarantee,
    imbalance_limit,
    instance_noise,
    inverse_price,
    keeps_rankings,
    largest_safe_gap,
    lost_classes,
    objective_variances,
    pearson_optimum,
    peer_weight,
    permuted_uniform,
    plugin_gap,
    singular_values,
    tv_optimum,
    vajda,
    vajda_ratio,
    variance_ratio,
)

ALL = tuple(DIVERGENCES)
SMOOTH = tuple(name for name in ALL if name != "tv")
FINITE = tuple(name for name in SMOOTH if math.isfinite(divergence(name).at_zero))
each = pytest.mark.parametrize("name", ALL)
each_smooth = pytest.mark.parametrize("name", SMOOTH)


class Errors:
    """Counts the cases of a sweep and keeps its largest error."""

    def __init__(self) -> None:
        self.cases, self.largest = 0, 0.0

    def add(self, left, right) -> None:
        """Count one case, with the error of ``left`` against ``right``, relative where they are above 1."""
        left, right = (torch.as_tensor(x, dtype=torch.float64) for x in (left, right))
        scale = torch.clamp(torch.maximum(left.abs(), right.abs()), min=1)
        self.cases, self.largest = (
            self.cases + 1,
            max(self.largest, ((left - right).abs() / scale).max().item()),
        )

    def at_most(self, left, right) -> None:
        """Count one case, in which ``left`` must not exceed ``right``; what it does is the error."""
        left, right = (torch.as_tensor(x, dtype=torch.float64) for x in (left, right))
        self.cases, self.largest = self.cases + 1, max(self.largest, (left - right).max().item())

    def are(self, cases: int, below: float) -> None:
        print(f"{self.cases} cases, largest error {self.largest:.1e}")
        assert self.cases == cases
        assert self.largest < below


def t64(x) -> torch.Tensor:
    return torch.as_tensor(x, dtype=torch.float64)


def random_prior(rng, K: int) -> torch.Tensor:
    return t64(0.8 * rng.dirichlet(np.full(K, rng.choice([0.7, 3, 50]))) + 0.2 / K)


def random_T(rng, K: int) -> torch.Tensor:
    """Dense, with zeros, far from and near the identity, also with the largest entry off the diagonal."""
    T = rng.dirichlet(np.full(K, rng.choice([0.3, 1.0, 4.0])), K) + 1e-3
    T = T * (rng.random((K, K)) < rng.choice([0.6, 1.0])) + 1e-2 * np.eye(K)
    weight = rng.choice([0.0, 0.3, 0.7])
    return t64((1 - weight) * T / T.sum(1, keepdims=True) + weight * np.eye(K))


def random_permuted_uniform(rng, K: int) -> tuple[float, np.ndarray, torch.Tensor]:
    """c of either sign, a permutation, and T = c permutation + 1 e'."""
    permutation = np.eye(K)[rng.permutation(K)]
    if rng.random() < 0.5:
        c = rng.uniform(0.05, 0.95)
        return c, permutation, t64(c * permutation + (1 - c) * rng.dirichlet(np.ones(K)))
    c = -rng.uniform(0.05, 0.95) / (K - 1)
    return c, permutation, t64(c * permutation - c + (1 + c * (K - 1)) * rng.dirichlet(np.ones(K)))


def random_joints(rng, n: int, rows: int, prior) -> torch.Tensor:
    """n tables with this prior: from classifiers that hardly know anything to certain ones."""
    given = rng.dirichlet(np.full(rows, rng.choice([0.2, 1.0, 5.0])), (n, len(prior)))
    return t64(given).mT * prior


def values(P: torch.Tensor, name) -> torch.Tensor:
    """D_f of each of many tables, in NumPy's terms: sum Q f(P/Q)."""
    Q = P.sum(2, keepdim=True) * P.sum(1, keepdim=True)
    f = divergence(name).f(torch.where(Q > 0, P / Q, 1))
    return torch.where(Q > 0, Q * f, 0).sum((1, 2))


def classifiers(n: int, K: int):
    return itertools.product(range(K), repeat=n)


def test_the_room_exports_the_public_names_of_its_modules():
    from fdiv import theory
    from fdiv.theory import divergences

    names = [name for module in (divergences, exact, robustness) for name in module.__all__]
    assert sorted(theory.__all__) == sorted(["exact", "robustness", *names])
    assert len(set(names)) == len(names)
    for module in (divergences, exact, robustness):
        for name in module.__all__:
            assert getattr(theory, name) is getattr(module, name)


# ---------------------------------------------------------------------- N1: total variation, any T


@pytest.mark.parametrize("name", ["tv", "pearson"])
def test_no_classifier_leaves_the_bounds_and_two_attain_them(name):
    """100 random (T, prior), K = 2 to 6, each with 300 random classifiers and the two that attain."""
    outside, attained = Errors(), Errors()
    for K, seed in itertools.product(range(2, 7), range(20)):
        rng = np.random.default_rng([K, seed])
        T, prior = random_T(rng, K), random_prior(rng, K)
        found = guarantee(name, T, prior)
        joints = random_joints(rng, 300, rng.integers(2, K + 2), prior)
        clean, after = values(joints, name), values(joints @ T, name)
        outside.at_most(torch.stack([found.lowest * clean - after, after - found.highest * clean]), 0)
        for table, constant in ((found.shrinks_most, found.lowest), (found.shrinks_least, found.highest)):
            torch.testing.assert_close(table.sum(0), prior)
            assert f_divergence(table, name) > 1e-6
            attained.add(f_divergence(noisy(table, T), name) / f_divergence(table, name), constant)
    outside.are(100, 1e-12)
    attained.are(200, 1e-10)


@pytest.mark.parametrize("name", ["tv", "pearson"])
def test_the_guarantee_of_the_maximiser_is_attained_and_no_more(name):
    """100 random (T, prior): at ``share`` the two tie, so that the poorer one is a noisy maximiser."""
    errors = Errors()
    for K, seed in itertools.product(range(2, 7), range(20)):
        rng = np.random.default_rng([K, seed, 1])
        T, prior = random_T(rng, K), random_prior(rng, K)
        found = guarantee(name, T, prior)
        first, second = found.pair()
        (a, b), (after_a, after_b) = (
            [f_divergence(P, name).item() for P in pair]
            for pair in ((first, second), (noisy(first, T), noisy(second, T)))
        )
        errors.add([b / a, after_b / after_a], [found.share, 1.0])
    errors.are(100, 1e-9)


def test_a_maximiser_under_noise_has_at_least_its_share_of_the_best():
    """300 random problems with all classifiers of five x: K = 2, 3, TV and Pearson."""
    errors = Errors()
    for K, seed, name in itertools.product((2, 3), range(75), ("tv", "pearson")):
        rng = np.random.default_rng([K, seed, 2])
        T = random_T(rng, K)
        xy = t64(rng.dirichlet(np.full(5 * K, 0.5)).reshape(5, K) * 0.9 + 0.1 / (5 * K))
        answers = torch.nn.functional.one_hot(torch.tensor(list(classifiers(5, K))), K).double()
        joints = answers.mT @ xy
        clean, after = values(joints, name), values(joints @ T, name)
        errors.at_most(guarantee(name, T, xy.sum(0)).share * clean.max(), clean[after.argmax()])
    errors.are(300, 1e-12)


def test_tv_keeps_rankings_exactly_under_permuted_uniform_noise():
    """200 of the form c permutation + 1 e', c of both signs, and 200 others; each with 100 classifiers."""
    kept, constants = Errors(), Errors()
    for K, seed in itertools.product(range(2, 7), range(40)):
        rng = np.random.default_rng([K, seed, 3])
        prior = random_prior(rng, K)
        c, permutation, T = random_permuted_uniform(rng, K)
        answer = keeps_rankings("tv", T, prior)
        assert answer
        assert answer.kept is True
        assert answer.pair is None
        joints = random_joints(rng, 100, 3, prior)
        kept.add(values(joints @ T, "tv"), abs(c) * values(joints, "tv"))
        form = permuted_uniform(T)
        assert K == 2 or np.array_equal(form[1], permutation)
        constants.add([answer.constant, abs(form[0]), form[0] if K > 2 else c], [abs(c), abs(c), c])
        constants.add(form[0] * form[1] + form[2], T)
        other = random_T(rng, K)
        answer = keeps_rankings("tv", other, prior)
        assert bool(answer) == (permuted_uniform(other) is not None) == (K == 2)
        if K > 2:
            first, second = answer.pair
            assert f_divergence(first, "tv") > f_divergence(second, "tv") + 1e-9
            assert f_divergence(noisy(first, other), "tv") < f_divergence(noisy(second, other), "tv") - 1e-9
    kept.are(200, 1e-12)
    constants.are(400, 1e-12)


@pytest.mark.parametrize(
    ("dataset", "setting", "share"),
    [
        ("mnist", "sparse-low", 0.455),
        ("mnist", "sparse-high", 0.067),
        ("cifar-10", "sparse-low", 0.5),
        ("cifar-10", "sparse-high", 0.143),
        ("cifar-100", "sparse", 0.118),
        ("mnist", "uniform-low", 1),
        ("mnist", "uniform-high", 1),
        ("cifar-10", "uniform-high", 1),
        ("cifar-100", "uniform", 1),
        ("mnist", "random-0.7", 1),
    ],
)
def test_what_the_papers_settings_leave_of_total_variation(dataset, setting, share):
    T = paper_noise(dataset, setting)
    assert guarantee("tv", T).share == pytest.approx(share, abs=5e-4)
    assert bool(keeps_rankings("tv", T)) == (share == 1)


def test_noise_that_loses_information_for_good():
    """Two equal rows: lowest is 0, attained by a classifier that tells these two classes apart."""
    T = t64([[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1]])
    for name in ("tv", "pearson"):
        found = guarantee(name, T)
        assert found.lowest < 1e-15
        assert f_divergence(noisy(found.shrinks_most, T), name) < 1e-15
        assert f_divergence(found.shrinks_most, name) > 0.3
        first, second = keeps_rankings(name, T).pair
        assert f_divergence(first, name) > f_divergence(second, name)
        assert f_divergence(noisy(first, T), name) < f_divergence(noisy(second, T), name)
        assert inverse_price(T)[1] == math.inf


@each
def test_noise_that_leaves_nothing_keeps_no_ranking(name):
    T = t64([[0.2, 0.3, 0.5]] * 3)
    answer = keeps_rankings(name, T, [0.5, 0.3, 0.2])
    first, second = answer.pair
    assert answer.kept is False
    assert f_divergence(first, name) > f_divergence(second, name) + 1e-3
    assert f_divergence(noisy(first, T), name) < 1e-15


# ---------------------------------------------------------------------- N2: Pearson, any T


def test_pearson_keeps_rankings_exactly_where_the_singular_values_agree():
    """150 kept (binary, e proportional to p, circulants of three) with 100 classifiers each, 160 others."""
    kept = Errors()
    for K, seed in itertools.product(range(2, 7), range(40)):
        rng = np.random.default_rng([K, seed, 4])
        prior, T = random_prior(rng, K), random_T(rng, K)
        if K > 2:
            answer = keeps_rankings("pearson", T, prior)
            first, second = answer.pair
            assert answer.kept is False
            assert f_divergence(first, "pearson") > f_divergence(second, "pearson")
            after = [f_divergence(noisy(P, T), "pearson") for P in (first, second)]
            assert after[0] < after[1]
    for K, seed in itertools.product(range(2, 7), range(30)):
        rng = np.random.default_rng([K, seed, 5])
        prior, c = random_prior(rng, K), rng.uniform(0.1, 0.9)
        T = c * torch.eye(K, dtype=torch.float64) + (1 - c) * prior
        if K == 2:
            T = random_T(rng, 2)
        if K == 3 and seed % 2:
            prior, row = t64([1 / 3] * 3), rng.dirichlet(np.ones(3))
            T = t64(np.stack([np.roll(row, shift) for shift in range(3)]))
        answer = keeps_rankings("pearson", T, prior)
        assert answer.kept is True
        joints = random_joints(rng, 100, 4, prior)
        kept.add(values(joints @ T, "pearson"), answer.constant * values(joints, "pearson"))
    kept.are(150, 1e-11)


def test_uniform_noise_keeps_pearsons_rankings_only_if_it_follows_the_prior():
    """90 random e and p with three or more classes: kept iff e is proportional to p."""
    for K, seed in itertools.product(range(3, 6), range(30)):
        rng = np.random.default_rng([K, seed, 6])
        prior, total = random_prior(rng, K), rng.uniform(0.1, 0.9)
        for e, kept in ((total * prior, True), (total * t64(rng.dirichlet(np.ones(K))), False)):
            T = (1 - total) * torch.eye(K, dtype=torch.float64) + e
            assert keeps_rankings("pearson", T, prior).kept is kept
            assert keeps_rankings("tv", T, prior).kept is True


def three(*positive) -> torch.Tensor:
    """Balanced classes and two answers, the first with P(h=0|Y) as given."""
    chance = t64(positive)
    return torch.stack([chance, 1 - chance]) / 3


def test_circular_noise_is_pearsons_and_unequal_uniform_noise_is_tvs():
    circular = t64([[0.6, 0.4, 0.0], [0.0, 0.6, 0.4], [0.4, 0.0, 0.6]])
    uneven = 0.6 * torch.eye(3, dtype=torch.float64) + t64([0.3, 0.05, 0.05])
    assert keeps_rankings("pearson", circular).constant == pytest.approx(0.28)
    assert keeps_rankings("tv", uneven).constant == pytest.approx(0.6)
    for name, T, first, second, expected in (
        ("tv", circular, three(0, 0.5, 1), three(0.1, 0.3, 1), (0.333, 0.356, 0.200, 0.169)),
        ("pearson", uneven, three(0.8, 1, 0.2), three(0.2, 1, 0.9), (0.520, 0.603, 0.243, 0.194)),
    ):
        tables = (first, second, noisy(first, T), noisy(second, T))
        assert [f_divergence(P, name).item() for P in tables] == pytest.approx(expected, abs=5e-4)
        assert keeps_rankings(name, T).kept is False


def test_singular_values_against_the_operator_itself():
    """100 random (T, prior): the squares are the eigenvalues of E[E[.|Y~]|Y], computed without any root."""
    errors = Errors()
    for K, seed in itertools.product(range(2, 7), range(20)):
        rng = np.random.default_rng([K, seed, 7])
        T, prior = random_T(rng, K).numpy(), random_prior(rng, K).numpy()
        back = (T * prior[:, None] / (prior @ T)).T  # P(Y | Y~)
        eigenvalues = np.sort(np.linalg.eigvals(T @ back).real)[::-1].copy()
        errors.add(singular_values(T, prior) ** 2, eigenvalues)
    errors.are(100, 1e-12)


# ---------------------------------------------------------------------- N3: two classes


def test_binary_noise_only_scales_the_powers():
    """200 random (power, T, prior), eps of both signs, each with 100 classifiers of 2 to 6 answers."""
    errors = Errors()
    for seed in range(200):
        rng = np.random.default_rng([seed, 8])
        power, prior = rng.choice([1, 1.5, 2, 3, 4.7]), random_prior(rng, 2)
        T = t64(rng.dirichlet(np.ones(2), 2))
        joints = random_joints(rng, 100, rng.integers(2, 7), prior)
        ratio, row = vajda_ratio(power, T, prior), vajda(power)
        errors.add(values(joints @ T, row), ratio * values(joints, row))
        assert keeps_rankings(row, T, prior).constant == pytest.approx(ratio)
        for name in {1: ("tv",), 2: ("pearson",)}.get(power, ()):
            assert keeps_rankings(name, T, prior).constant == pytest.approx(ratio)
    errors.are(200, 1e-11)


def test_the_rows_of_the_family_are_divergences():
    """f*(f'(v)) = v f'(v) - f(v) and f* is a supremum, for 5 powers and 200 values; powers 1, 2 are known."""
    errors, v = Errors(), t64(np.linspace(-2, 4, 200))
    for power in (1, 1.5, 2, 3, 4.7):
        d = vajda(power)
        u = d.derivative(v)
        errors.add(d.conjugate(u), v * u - d.f(v))
        u = d.activation(t64(np.linspace(-2, 2, 21)))
        errors.at_most(u[:, None] * v - d.f(v), d.conjugate(u)[:, None])
        errors.add(d.conjugate_of_activation(v), d.conjugate(d.activation(v)))
    errors.are(15, 1e-12)
    joint = t64([[0.3, 0.1, 0.1], [0.05, 0.2, 0.25]])
    assert f_divergence(joint, vajda(1)).item() == pytest.approx(2 * f_divergence(joint, "tv").item())
    assert f_divergence(joint, vajda(2)).item() == pytest.approx(f_divergence(joint, "pearson").item())


@each_smooth
def test_of_the_smooth_divergences_only_pearson_survives_balanced_symmetric_noise(name):
    """10 noise rates each: two classifiers change places, as the even part of f(1+x) is no power of x."""
    x, d = t64(np.linspace(0.05, 0.45, 9)), divergence(name)
    even = [(d.f(1 + scale * x) + d.f(1 - scale * x)) / 2 for scale in (1, 2)]
    power = torch.log2(even[1] / even[0])
    assert (np.ptp(power.numpy()) < 1e-12) == (name == "pearson")
    for e in np.random.default_rng(9).uniform(0.02, 0.48, 10):
        T = t64([[1 - e, e], [e, 1 - e]])
        answer = keeps_rankings(name, T)
        assert answer.kept is (name == "pearson")
        if name != "pearson":
            first, second = answer.pair
            assert f_divergence(first, name) > f_divergence(second, name)
            assert f_divergence(noisy(first, T), name) < f_divergence(noisy(second, T), name)


def test_an_odd_part_does_no_harm_to_balanced_symmetric_noise():
    """f = (v-1)^2 + (v-1)^3 / 6 is convex, no power, and D~ = eps^2 D: 50 rates with 100 classifiers each."""
    cubic = Divergence(
        name="cubic",
        title="cubic",
        generator=lambda v: (v - 1) ** 2 + (v - 1) ** 3 / 6,
        slope=lambda v: 2 * (v - 1) + (v - 1) ** 2 / 2,
        at_zero=1 - 1 / 6,
        dual=lambda u: u,
        domain=Interval(),
        activation=lambda v: v,
        conjugate_of_activation=lambda v: v,
    )
    errors = Errors()
    for seed in range(50):
        rng = np.random.default_rng([seed, 10])
        e, prior = rng.uniform(0, 1), t64([0.5, 0.5])
        T = t64([[1 - e, e], [e, 1 - e]])
        joints = random_joints(rng, 100, 3, prior)
        errors.add(values(joints @ T, cubic), (1 - 2 * e) ** 2 * values(joints, cubic))
    errors.are(50, 1e-12)
    assert keeps_rankings(cubic, [[0.8, 0.2], [0.2, 0.8]]).kept is None
    assert keeps_rankings(cubic, [[0.8, 0.2], [0.2, 0.8]], [0.3, 0.7]).kept is False


@pytest.mark.parametrize("name", [name for name in SMOOTH if name != "pearson"])
def test_a_search_finds_two_classifiers_that_change_places(name):
    """15 random (T, prior), K = 2 to 6: the pair is better clean and worse under noise, evaluated exactly."""
    for K, seed in itertools.product(range(2, 7), range(3)):
        rng = np.random.default_rng([K, seed, 11])
        T, prior = random_T(rng, K), random_prior(rng, K)
        answer = keeps_rankings(name, T, prior)
        first, second = answer.pair
        assert answer.kept is False
        assert f_divergence(first, name) > f_divergence(second, name)
        assert f_divergence(noisy(first, T), name) < f_divergence(noisy(second, T), name)
        for table in (first, second):
            torch.testing.assert_close(table.sum(0), prior)
    shifted = torch.eye(4, dtype=torch.float64).roll(1, 0)
    assert keeps_rankings(name, shifted).constant == 1


def test_answers_read_well():
    T = t64([[0.8, 0.2, 0.0], [0.2, 0.8, 0.0], [0.0, 0.0, 1.0]])
    assert str(guarantee("tv", T)).startswith("0.6 D <= D~ <= 1 D")
    assert str(keeps_rankings("tv", torch.eye(3))) == (
        "tv keeps every ranking: noise scales D by 1 for every classifier"
    )
    near = 0.7 * np.eye(3) + [[0.1 + 1e-6, 0.1 - 1e-6, 0.1]] + np.zeros((3, 1))
    near[0] += [1e-6, -1e-6, 0]
    low, high = str(keeps_rankings("tv", near)).split("anything from ")[1].split(" to ")
    assert 0.69 < float(low) < float(high) < 0.71
    assert str(keeps_rankings("kl", T)).startswith(
        "kl does not keep every ranking: of two classifiers with D"
    )


# ---------------------------------------------------------------------- N4: forward correction is proper


def random_problem(rng, K: int, n: int = 6):
    """P(X, Y) with every class present, and its T."""
    return t64(rng.dirichlet(np.full(n * K, 0.6)).reshape(n, K) * 0.95 + 0.05 / (n * K)), random_T(rng, K)


@each_smooth
def test_a_forward_objective_is_the_divergence_minus_a_bregman_gap(name):
    """50 random problems and models, K = 2 to 6: E_P~[g] - E_Q~[f*(g)] with g = f'(h T / p~)."""
    d, errors = divergence(name), Errors()
    for K, seed in itertools.product(range(2, 7), range(10)):
        rng = np.random.default_rng([K, seed, 12])
        xy, T = random_problem(rng, K)
        h, table = t64(rng.dirichlet(np.full(K, 0.8), len(xy)) * 0.98 + 0.02 / K), noisy(xy, T)
        ratio = h @ T / table.sum(0)
        objective = variational_difference(table, d.derivative(ratio), name)
        posterior = xy / xy.sum(1, keepdim=True)
        gap = (xy.sum(1) * forward_gap(name, posterior, h, T, xy.sum(0))).sum()
        errors.add(objective, f_divergence(table, name) - gap)
        assert gap > 1e-6
        assert forward_gap(name, posterior, posterior, T, xy.sum(0)).abs().max() == 0
    errors.are(50, 1e-9)


@each_smooth
def test_forward_correction_is_strictly_proper_exactly_where_T_is_invertible(name):
    """60 random (posterior, T): h other than the posterior, near and far, loses; with T singular one ties."""
    for K, seed in itertools.product(range(2, 7), range(12)):
        rng = np.random.default_rng([K, seed, 13])
        prior, T = random_prior(rng, K), random_T(rng, K)
        eta = t64(rng.dirichlet(np.ones(K), 20) * 0.9 + 0.1 / K)
        assert torch.linalg.matrix_rank(T) == K
        for size in (1.0, 0.1, 1e-3):
            h = (1 - size) * eta + size * t64(rng.dirichlet(np.ones(K), 20))
            assert (forward_gap(name, eta, h, T, prior) > 1e-14 * size**2).all()
        merged = T.clone()
        merged[0] = merged[1]
        step = torch.zeros(K, dtype=torch.float64)
        step[0], step[1] = 0.05 / K, -0.05 / K
        assert forward_gap(name, eta, eta + step, merged, prior).max() < 1e-14


def test_forward_correction_of_tv_is_proper_but_not_strictly():
    """30 random problems: nothing beats the posterior, and a whole neighbourhood ties with it."""
    for K, seed in itertools.product((2, 3, 5), range(10)):
        rng = np.random.default_rng([K, seed, 14])
        prior, T = random_prior(rng, K), random_T(rng, K)
        eta, h = (t64(rng.dirichlet(np.ones(K), 20)) for _ in range(2))
        assert (forward_gap("tv", eta, h, T, prior) >= -1e-15).all()
        near = 0.9999 * eta + 0.0001 * h
        assert (forward_gap("tv", eta, near, T, prior) < 1e-15).sum() > 10


@each
def test_no_loss_with_a_fixed_g_is_proper(name):
    """Clean balanced labels: at most of 20 posteriors the optimum is clearly another distribution."""
    eta = t64(np.random.default_rng(15).dirichlet(np.full(3, 3.0), 20))
    assert ((fixed_g_optimum(name, eta, [1 / 3] * 3) - eta).abs().amax(1) > 0.01).sum() >= 14


def test_bregman_by_hand_and_at_zero():
    x, y = t64([0.5, 2.0, 1.0]), t64([1.5, 0.7, 1.0])
    torch.testing.assert_close(bregman("pearson", x, y), (x - y) ** 2)
    torch.testing.assert_close(bregman("kl", x, y), x * torch.log(x / y) - x + y)
    torch.testing.assert_close(bregman("reverse-kl", x, y), x / y - 1 - torch.log(x / y))
    assert bregman("kl", [0.0, 1.0], [0.0, 0.0]).tolist() == [0, math.inf]
    assert bregman("js", 0.0, 1.0).item() == pytest.approx(math.log(2))


# ---------------------------------------------------------------------- N5: the plug-in is K-means


@each
def test_the_plug_in_loses_the_bregman_scatter_within_cells(name):
    """100 random problems, K = 2 to 6, hard and soft classifiers: D_f(X; Y~) - D_f(h; Y~)."""
    errors = Errors()
    for K, seed in itertools.product(range(2, 7), range(10)):
        rng = np.random.default_rng([K, seed, 16])
        xy, T = random_problem(rng, K)
        hard, soft = rng.integers(K, size=len(xy)), rng.dirichlet(np.ones(K), len(xy))
        for h in (hard, soft):
            lost = f_divergence(noisy(xy, T), name) - f_divergence(noisy(classify(xy, h), T), name)
            errors.add(plugin_gap(name, xy, h, T), lost)
    errors.are(100, 1e-11)
    xy = t64([[0.3, 0.1], [0.2, 0.4]])
    assert plugin_gap(name, xy, [0, 1]).item() == 0
    assert plugin_gap(name, xy, [0, 0]).item() == pytest.approx(f_divergence(xy, name).item())


def test_for_pearson_it_is_k_means_of_clean_posteriors_in_a_metric_of_the_noise():
    """100 random problems, K = 2 to 6: the metric is T diag(1/p~) T'."""
    errors = Errors()
    for K, seed in itertools.product(range(2, 7), range(20)):
        rng = np.random.default_rng([K, seed, 17])
        xy, T = random_problem(rng, K)
        h = torch.tensor(rng.integers(K, size=len(xy)))
        posterior, cells = xy / xy.sum(1, keepdim=True), classify(xy, h)
        away = posterior - (cells / cells.sum(1, keepdim=True))[h]
        metric = T @ torch.diag(1 / (xy.sum(0) @ T)) @ T.T
        scatter = (xy.sum(1) * ((away @ metric) * away).sum(1)).sum()
        errors.add(plugin_gap("pearson", xy, h, T), scatter)
    errors.are(100, 1e-12)


@each
def test_hard_classifiers_suffice_and_the_constant_one_is_the_minimum(name):
    """D_f(h; Y~) is convex in soft h: 100 random segments; 200 soft classifiers stay below the best hard."""
    errors, below = Errors(), Errors()
    for K, seed in itertools.product((2, 3), range(5)):
        rng = np.random.default_rng([K, seed, 18])
        xy, T = random_problem(rng, K, 4)
        table = noisy(xy, T)
        hard = torch.nn.functional.one_hot(torch.tensor(list(classifiers(4, K))), K).double()
        best = values(hard.mT @ table, name).max()
        for _ in range(10):
            a, b = t64(rng.dirichlet(np.ones(K), (2, 20, 4)))
            t = rng.uniform()
            ends = t * values(a.mT @ table, name) + (1 - t) * values(b.mT @ table, name)
            errors.at_most(values((t * a + (1 - t) * b).mT @ table, name), ends)
        below.at_most(values(a.mT @ table, name), best)
        constant = t64(rng.dirichlet(np.ones(K))).expand(4, K)
        assert f_divergence(constant.T @ table, name) < 1e-14
    errors.are(100, 1e-13)
    below.are(10, 1e-13)


@pytest.mark.parametrize("name", SMOOTH)
def test_separable_labels_are_found_up_to_renaming_and_only_they(name):
    """20 random problems of five x, K = 2, 3: the maximisers are the K! renamings, if rows of T differ.

    T > 0 here, or f(0) would be infinite for three of them. With two equal rows the maximisers are the
    classifiers that never mix an x of these two classes with any other.
    """
    for K, seed in itertools.product((2, 3), range(10)):
        rng = np.random.default_rng([K, seed, 19])
        phi = np.concatenate([np.arange(K), rng.integers(K, size=5 - K)])
        xy = t64(rng.dirichlet(np.full(5, 5.0)))[:, None] * torch.eye(K, dtype=torch.float64)[phi]
        dense = t64(rng.dirichlet(np.ones(K), K) * 0.9 + 0.1 / K)
        merged = dense.clone()
        merged[0] = merged[1]
        answers = torch.tensor(list(classifiers(5, K)))
        joints = torch.nn.functional.one_hot(answers, K).double().mT @ xy
        for T, groups in ((dense, phi), (merged, np.where(phi == 0, 1, phi))):
            after = values(joints @ T, name)
            found = {
                tuple(h.tolist())
                for h, value in zip(answers, after, strict=True)
                if value > after.max() - 1e-13
            }
            pure = {
                h
                for h in classifiers(5, K)
                if all(groups[i] == groups[j] for i in range(5) for j in range(5) if h[i] == h[j])
            }
            assert found == pure
            if T is dense:
                assert len(found) == math.factorial(K)


# ---------------------------------------------------------------------- N6: what a fixed g_f answers


def random_posteriors(rng, n: int, K: int, prior) -> torch.Tensor:
    far = rng.dirichlet(np.full(K, rng.choice([0.4, 1, 4])), n)
    near = np.asarray(prior) * np.exp(0.5 * rng.normal(size=(n, K)))
    return t64(np.where(rng.random((n, 1)) < 0.5, far, near / near.sum(1, keepdims=True)))


def clear(scores: torch.Tensor, margin: float = 1e-3) -> torch.Tensor:
    """The rows whose largest score leads by a margin."""
    top = scores.topk(2, dim=1).values
    return top[:, 0] - top[:, 1] > margin


@each
def test_with_a_balanced_noisy_prior_every_divergence_answers_the_largest_posterior(name):
    """At least 200 posteriors of K = 2 to 6, without exception."""
    cases = 0
    for K in range(2, 7):
        rng = np.random.default_rng([K, 20])
        prior = t64([1 / K] * K)
        eta = random_posteriors(rng, 60, K, prior)
        eta = eta[clear(eta)]
        cases += len(eta)
        assert torch.equal(decision(name, eta, prior).argmax(1), eta.argmax(1))
    assert cases >= 200


def test_tv_answers_the_largest_excess_over_any_prior():
    """1 000 posteriors, K = 2 to 6, ten priors each; uniform noise does not move it, equal rates or not."""
    cases = 0
    for K, seed in itertools.product(range(2, 7), range(10)):
        rng = np.random.default_rng([K, seed, 21])
        prior, c = random_prior(rng, K), rng.uniform(0.1, 0.9)
        eta = random_posteriors(rng, 25, K, prior)
        eta = eta[clear(eta - prior)]
        cases += len(eta)
        assert torch.equal(decision("tv", eta, prior).argmax(1), (eta - prior).argmax(1))
        T = c * torch.eye(K, dtype=torch.float64) + (1 - c) * t64(rng.dirichlet(np.ones(K)))
        assert torch.equal(decision("tv", eta @ T, prior @ T).argmax(1), (eta - prior).argmax(1))
    assert cases >= 1000


def test_closed_forms_of_tv_and_pearson_are_the_maximisers():
    """100 posteriors, K = 2 to 6: as high as the general search and every point of a grid, and the same v."""
    errors, below = Errors(), Errors()
    for K, seed, name in itertools.product(range(2, 7), range(10), ("tv", "pearson")):
        rng = np.random.default_rng([K, seed, 22])
        prior = random_prior(rng, K)
        eta = random_posteriors(rng, 1, K, prior)
        d = divergence(name)

        def height(v, eta=eta, prior=prior, d=d):
            return (eta * d.activation(v) - prior * d.conjugate(d.activation(v))).sum(1)

        v = {"tv": tv_optimum, "pearson": pearson_optimum}[name](eta, prior)
        errors.add(v, fixed_g_optimum(name, eta, prior))
        grid = t64(rng.dirichlet(np.full(K, 0.5), 2000))
        below.at_most(torch.cat([height(grid), height(torch.eye(K, dtype=torch.float64))]), height(v))
        assert v.sum().item() == pytest.approx(1)
    errors.are(100, 1e-11)
    below.are(100, 1e-14)


def test_for_a_balanced_prior_pearsons_optimum_is_sparsemax():
    """100 posteriors: the point of the simplex nearest to 2 K eta, by its own algorithm."""
    errors = Errors()
    for K, seed in itertools.product(range(2, 7), range(20)):
        rng = np.random.default_rng([K, seed, 23])
        eta = rng.dirichlet(np.ones(K))
        z = np.sort(2 * K * eta)[::-1]
        k = np.arange(1, K + 1)
        size = k[1 + k * z > np.cumsum(z)].max()
        nearest = np.maximum(2 * K * eta - (z[:size].sum() - 1) / size, 0)
        errors.add(pearson_optimum(eta[None], [1 / K] * K)[0], nearest)
    errors.are(100, 1e-13)


@each
def test_of_two_classes_the_answer_turns_at_one_half_plus_the_weighted_imbalance(name):
    """40 priors: just below and just above 1/2 + (p - 1/2) x(1/2), where that is a probability."""
    x, cases = peer_weight(name, 0.5), 0
    for p in np.linspace(0.05, 0.95, 40):
        threshold = 0.5 + (p - 0.5) * x
        if 0.001 < threshold < 0.999:
            eta = t64([threshold - 1e-4, threshold + 1e-4])
            answers = decision(name, torch.stack([eta, 1 - eta], 1), [p, 1 - p])
            assert answers[:, 0].tolist() == [0, 1]
            cases += 1
    assert cases >= 14


def test_where_they_differ():
    """Balanced clean labels, (e+, e-) = (.1, .4), P(Y=+|x) = .45 and .55: Bayes is (-, +), and so is TV."""
    T, eta = t64([[0.9, 0.1], [0.4, 0.6]]), t64([[0.45, 0.55], [0.55, 0.45]])
    answers = {
        name: decision(name, eta @ T, [0.65, 0.35])[:, 0].tolist() for name in ("tv", "kl", "js", "pearson")
    }
    assert answers == {"tv": [0, 1], "kl": [1, 1], "js": [0, 0], "pearson": [0, 0]}


@each
def test_with_unbalanced_clean_classes_an_exact_correction_is_not_bayes(name):
    """It restores the clean objective, whose answer is not the largest posterior; 200 of K = 2 to 5."""
    wrong = 0
    for K in range(2, 6):
        rng = np.random.default_rng([K, 24])
        prior = t64(np.arange(1, K + 1) ** 2.0 / (np.arange(1, K + 1) ** 2.0).sum())
        eta = random_posteriors(rng, 50, K, prior)
        wrong += (decision(name, eta, prior).argmax(1) != eta.argmax(1)).sum().item()
    assert wrong >= 10


LIMITS = {
    "tv": 1, "kl": 1, "pearson": 0.9, "neyman": 0.8894, "jeffrey": 0.8831, "js": 0.8033, "reverse-kl": 0.8033,
    "squared-hellinger": 0.6839,
}  # fmt: skip


def lost_by_the_maximiser(name, prior):
    answers = decision(name, torch.eye(len(prior), dtype=torch.float64), prior)
    return torch.nonzero(answers.diagonal() < 1).flatten().tolist()


@each
def test_the_largest_majority_that_is_still_answered(name):
    """K = 2 to 6: classes are lost right above the limit and not right below it, found by the maximiser."""
    assert imbalance_limit(name) == pytest.approx(LIMITS[name], abs=5e-5)
    assert imbalance_limit(name) == pytest.approx(min(1, (1 + largest_safe_gap(name)) / 2))
    for K in range(2, 7):
        limit = imbalance_limit(name, K)
        for share, lost in ((limit - 2e-3, []), (limit + 2e-3, [0])):
            if share < 0.999:
                others = 1 + 1e-4 * np.linspace(-1, 1, K - 1) if K > 2 else np.ones(1)
                prior = [share, *((1 - share) / (K - 1) * others)]
                assert lost_classes(name, prior) == lost_by_the_maximiser(name, prior) == lost
        assert limit == 1 or limit < 0.999
    assert lost_classes(name, [0.999, 0.001]) == ([] if LIMITS[name] == 1 else [0])


@each
def test_a_gap_below_the_safe_one_loses_no_class(name):
    """40 random priors, K = 2 to 6: where the most and the least frequent differ by less than the gap."""
    gap, safe, lost = largest_safe_gap(name), 0, 0
    for K, seed in itertools.product(range(2, 7), range(8)):
        prior = t64(
            np.random.default_rng([K, seed, 25]).dirichlet(np.full(K, 0.25 * K / 2)) * 0.995 + 0.005 / K
        )
        missing = lost_classes(name, prior)
        assert missing == lost_by_the_maximiser(name, prior)
        if prior.max() - prior.min() < gap:
            safe += 1
            assert missing == []
        else:
            lost += bool(missing)
            assert K > 2 or missing
    assert safe >= 5
    assert (lost > 0) == (gap < 1)


# ---------------------------------------------------------------------- N7: sampled against exact product


def test_variances_against_every_draw():
    """64 cases: all of Algorithm 1's draws (x, y~), x, y~ with their chances, eight f, K = 2 and 4."""
    errors = Errors()
    for name, K, seed in itertools.product(ALL, (2, 4), range(4)):
        rng = np.random.default_rng([K, seed, 26])
        xy, v, d = (
            t64(rng.dirichlet(np.ones(3 * K)).reshape(3, K)),
            t64(rng.dirichlet(np.ones(K), 3)),
            divergence(name),
        )
        g, cost, prior = d.activation(v), d.conjugate(d.activation(v)), xy.sum(0)
        draws = [(xy[x, y] * xy[a].sum() * prior[b], g[x, y] - cost[a, b])
                 for x, y, a, b in itertools.product(range(3), range(K), range(3), range(K))]  # fmt: skip
        exact_draws = [
            (xy[x, y], g[x, y] - (prior * cost[x]).sum()) for x, y in itertools.product(range(3), range(K))
        ]
        found = objective_variances(name, xy, v)
        for listed, value in ((draws, found.sampled), (exact_draws, found.exact)):
            mean = sum(weight * term for weight, term in listed)
            listed_variance = sum(weight * (term - mean) ** 2 for weight, term in listed)
            if value is found.sampled:
                errors.add(value, listed_variance)
            else:
                assert value == pytest.approx(listed_variance.item(), abs=1e-14)
    errors.are(64, 1e-13)


@each
def test_the_variance_ratio_of_a_certain_model(name):
    """40 cases, K = 2 to 11, four agreements: separable balanced classes under symmetric noise."""
    errors = Errors()
    for K, agreement in itertools.product(range(2, 12), (0.3, 0.6, 0.9, 0.99)):
        off = (1 - agreement) / (K - 1)
        T = (agreement - off) * torch.eye(K, dtype=torch.float64) + off
        eye = torch.eye(K, dtype=torch.float64)
        errors.add(objective_variances(name, T / K, eye).ratio, variance_ratio(name, K, agreement))
    errors.are(40, 1e-12)


def test_sampling_matters_less_with_many_classes():
    """TV, agreement .7: 2.19, 1.43 and 1.05 times the variance, and a simulation of 100 000 batches of 16."""
    assert [round(variance_ratio("tv", K, 0.7), 2) for K in (2, 10, 100)] == [2.19, 1.43, 1.05]
    rng = np.random.default_rng(27)
    for K in (2, 10, 100):
        agree = rng.binomial(16, 0.7, 100_000)
        ratio = (agree - rng.binomial(16, 1 / K, 100_000)).var() / agree.var()
        assert ratio == pytest.approx(variance_ratio("tv", K, 0.7), rel=0.02)


# ---------------------------------------------------------------------- N8: prices of T^-1 and of instances


def test_the_inverse_multiplies_a_variance_within_bounds_that_are_attained():
    """100 random (T, prior), K = 2 to 6, each with 200 random g and the two that attain."""
    outside, attained = Errors(), Errors()
    for K, seed in itertools.product(range(2, 7), range(20)):
        rng = np.random.default_rng([K, seed, 28])
        T, prior = random_T(rng, K), random_prior(rng, K)
        inverse, tilde = torch.linalg.inv(T), prior @ T

        def price(g, inverse=inverse, tilde=tilde, prior=prior):
            corrected = inverse @ g
            after = (tilde[:, None] * (corrected - tilde @ corrected) ** 2).sum(0)
            return after / (prior[:, None] * (g - prior @ g) ** 2).sum(0)

        low, high = inverse_price(T, prior)
        prices = price(t64(rng.normal(size=(K, 200))))
        outside.at_most(torch.cat([low / prices, prices / high]), 1)
        back = (T * prior[:, None] / tilde).T  # P(Y | Y~): eigenvectors of T back are the extreme g
        scale, g = np.linalg.eig((T @ back).numpy())
        extremes = price(t64(g.real[:, np.argsort(-scale.real)[1:]].copy()))  # without the constant
        attained.add([extremes.max() / high, extremes.min() / low], [1.0, 1.0])
    outside.are(100, 1e-9)
    attained.are(100, 1e-11)


def test_under_uniform_noise_the_inverse_divides_the_standard_deviation_by_epsilon():
    """100 random (e, g, P(Y~|x)), K = 2 to 6: given x, Var(T^-1 g) = Var(g(Y~)) / eps^2."""
    errors = Errors()
    for K, seed in itertools.product(range(2, 7), range(20)):
        rng = np.random.default_rng([K, seed, 29])
        eps, g = rng.uniform(0.1, 0.9), t64(rng.normal(size=K))
        T = eps * torch.eye(K, dtype=torch.float64) + (1 - eps) * t64(rng.dirichlet(np.ones(K)))
        tilde, corrected = t64(rng.dirichlet(np.ones(K))) @ T, torch.linalg.solve(T, g)
        before, after = (tilde @ (x - tilde @ x) ** 2 for x in (g, corrected))
        errors.add(after * eps**2, before)
    errors.are(100, 1e-12)


def test_backward_against_forward_by_the_sandwich():
    """40 random (slope, e, x): scores by automatic differentiation, variances by summing over both labels."""
    errors, above = Errors(), Errors()
    for seed in range(40):
        rng = np.random.default_rng([seed, 30])
        x, weight = t64(rng.normal(size=7)), t64(rng.dirichlet(np.ones(7)))
        slope, e = rng.uniform(0.2, 4), rng.uniform(0, 0.45)
        T = t64([[1 - e, e], [e, 1 - e]])
        noisy_chance = torch.stack([torch.sigmoid(-slope * x), torch.sigmoid(slope * x)], 1) @ T

        def losses(theta, kind, x=x, T=T):
            chance = torch.stack([torch.sigmoid(-theta * x), torch.sigmoid(theta * x)], -1)
            return -torch.log(chance @ T) if kind == "forward" else -torch.log(chance) @ torch.linalg.inv(T).T

        share, variance = weight[:, None] * noisy_chance, {}
        for kind in ("forward", "backward"):
            theta = torch.tensor(slope, dtype=torch.float64)
            score = torch.autograd.functional.jacobian(lambda s, kind=kind: losses(s, kind), theta)
            bend = torch.autograd.functional.hessian(
                lambda s, kind=kind, share=share: (share * losses(s, kind)).sum(), theta
            )
            variance[kind] = (share * score**2).sum() / bend**2
        price = backward_price(slope, e, x, weight)
        errors.add(price, variance["backward"] / variance["forward"])
        above.at_most(1, price)
    errors.are(40, 1e-10)
    above.are(40, 1e-12)


def test_the_price_of_backward_correction_grows_without_bound():
    x = t64(np.linspace(-8, 8, 8001))
    bell = torch.exp(-(x**2) / 2)
    prices = [backward_price(slope, 0.3, x, bell / bell.sum()) for slope in (1, 3, 10, 30)]
    assert prices[:3] == pytest.approx([1.114, 3.021, 50.92], rel=1e-3)
    assert prices[3] > 500
    assert backward_price(1e6, 0.3, x + 1e-3, bell / bell.sum()) == math.inf
    assert backward_price(3, 0, x, bell / bell.sum()) == pytest.approx(1)


def random_instance_noise(rng, K: int, n: int = 6):
    """P(X, Y) and a T for each x whose mean over each class is c I + 1 e'."""
    xy = t64(rng.dirichlet(np.full(n * K, 2.0)).reshape(n, K))
    c, e = rng.uniform(0.3, 0.8), t64(rng.dirichlet(np.ones(K)) * 0.5 + 0.5 / K)
    mean = c * torch.eye(K, dtype=torch.float64) + (1 - c) * e
    other = t64(rng.dirichlet(np.ones(K), (n, K)))
    away = other - (xy[..., None] * other).sum(0) / xy.sum(0)[:, None]
    room = torch.where(away < 0, mean / -away, math.inf).min()
    return xy, mean + rng.uniform(0, 1) * room * away, c


def test_noise_that_looks_at_x_moves_total_variation_by_at_most_delta():
    """150 random problems of six x, K = 2 to 4, each with 300 classifiers; and the regret 2 delta / eps."""
    moved, regret = Errors(), Errors()
    for K, seed in itertools.product((2, 3, 4), range(50)):
        rng = np.random.default_rng([K, seed, 31])
        xy, T, eps = random_instance_noise(rng, K)
        found = instance_noise(xy, T)
        torch.testing.assert_close(found.noisy, torch.einsum("xi,xij->xj", xy, T))
        h = t64(np.eye(K)[rng.integers(K, size=(300, 6))]).mT
        clean, after = values(h @ xy, "tv"), values(h @ found.noisy, "tv")
        moved.at_most((after - eps * clean).abs(), found.delta)
        chosen = clean[after.argmax()]
        regret.at_most(found.floor(clean.max().item()), chosen)
        regret.at_most(clean.max() - chosen, 2 * found.delta / eps)
    moved.are(150, 1e-12)
    regret.are(300, 1e-9)


def test_delta_is_attained():
    """A classifier that knows nothing of Y but tells easy from hard examples apart: D = 0 and D~ = delta."""
    xy, step = t64([[0.25, 0.25], [0.25, 0.25]]), t64([[-0.1, 0.1], [0.1, -0.1]])
    mean = t64([[0.7, 0.3], [0.3, 0.7]])
    for steps in ((step, -step), (t64([[-0.1, 0.1], [-0.1, 0.1]]), t64([[0.1, -0.1], [0.1, -0.1]]))):
        found = instance_noise(xy, torch.stack([mean + s for s in steps]))
        assert found.delta == pytest.approx(0.1)
        torch.testing.assert_close(found.mean, mean)
    assert f_divergence(classify(xy, [0, 1]), "tv").item() == 0
    assert f_divergence(classify(found.noisy, [0, 1]), "tv").item() == pytest.approx(found.delta)


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: guarantee("kl", np.eye(3)),
            "no constants are known for 'kl' and 3 classes: choose tv or pearson",
        ),
        (lambda: guarantee(vajda(3), np.eye(3)), "no constants are known for 'vajda-3' and 3 classes"),
        (lambda: guarantee("tv", [[0.5, 0.6], [0, 1]]), "row 0 sums to 1.1, but every row of T sums to 1"),
        (
            lambda: guarantee("tv", [[0.5, 0.5]]),
            r"square with at least 2 classes, not of shape \(1, 2\)",
        ),
        (lambda: guarantee("tv", np.eye(2), [0.2, 0.3, 0.5]), "prior must have 2 entries, but has 3"),
        (lambda: guarantee("tv", np.eye(2), [1.0, 0.0]), "prior must be positive, but class 1 has none"),
        (lambda: vajda(0.5), "power is 0.5, but"),
        (lambda: vajda(math.inf), "power is inf, but must be finite"),
        (lambda: singular_values([[1.0]]), "square with at least 2 classes"),
        (lambda: guarantee("tv", np.eye(3)).pair(2), "ratio is 2, but must lie between the share 1 and 1"),
        (lambda: robustness.random_classifiers(0, [0.5, 0.5]), "count is 0 and answers 3, but both"),
        (lambda: robustness.values_of("tv", [[0.5, 0.5]]), r"tables must be of shape .* not \(1, 2\)"),
        (
            lambda: forward_gap("kl", [[0.2, 0.3, 0.5]], [[0.2, 0.3, 0.5]], np.eye(2)),
            "posterior and predicted must both have a row per x and 2 columns",
        ),
        (lambda: peer_weight("js", 2.0), "v is 2, but must be a probability"),
        (lambda: imbalance_limit("js", 1), "num_classes is 1"),
        (lambda: lost_classes("js", [1.0]), "num_classes is 1"),
        (
            lambda: objective_variances("tv", [[0.5, 0.5]], np.eye(2)),
            r"v must have the shape \(1, 2\) of xy, not \(2, 2\)",
        ),
        (lambda: variance_ratio("tv", 2, 1.0), "agreement is 1, but must lie between 0 and 1"),
        (lambda: variance_ratio("tv", 2.5, 0.5), "num_classes is 2.5"),
        (lambda: backward_price(1, 0.3, [1.0, 2.0], [1.0]), "weight one number from 0 up for each"),
        (lambda: backward_price(1, 0.3, []), "x must be a vector of finite numbers, not all 0"),
        (lambda: backward_price(math.nan, 0.3, [1.0]), "slope is nan, but must be finite"),
        (
            lambda: instance_noise([[0.5, 0.0], [0.5, 0.0]], [np.eye(2)] * 2),
            "class 1 never occurs in xy: leave it out",
        ),
        (lambda: vajda_ratio(2, np.eye(3)), "T must be 2 by 2"),
        (lambda: decision("tv", [[0.5, 0.5]], [0.2, 0.3, 0.5]), "prior must have 2 entries, but has 3"),
        (lambda: plugin_gap("tv", [[0.5, 0.5]], [0, 1]), "h must have one entry per x, but has 2 for 1"),
        (lambda: backward_price(1, 0.5, [1.0]), "e is 0.5, but"),
        (
            lambda: instance_noise([[0.5, 0.5]], np.eye(2)),
            r"T must have the shape \(1, 2, 2\), one matrix per x",
        ),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_joint_tables_of_two_answers_are_joint_tables():
    """So that whoever is shown a pair can look at it: product, accuracy and the other functions take it."""
    for table in guarantee("tv", paper_noise("mnist", "sparse-high")).pair():
        assert table.shape == (2, 10)
        assert product(table).sum().item() == pytest.approx(1)
