"""Every theorem of the paper on exact tables: what holds is a property, what fails has a counterexample.

The theorems are numbered as the paper's source numbers them, where a remark (2) and a proposition (10) share
the counter: 1 TV and Bayes, 3 Bayes labels, 4 binary, 5 uniform off-diagonal, 6 sufficient conditions, 7 TV
is robust, 8 and 11 the class H*, 9 sparse noise. Tables, rates and g are drawn with fixed seeds.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from fdiv.theory.divergences import DIVERGENCES, Divergence, Interval, divergence
from fdiv.theory.exact import (
    DECISION_RULES,
    Decoupling,
    _climb,
    accuracy,
    bias,
    bias_corrected,
    ceiling,
    classify,
    decide,
    decouple_binary,
    decouple_covariance,
    decouple_sparse,
    decouple_sparse_printed,
    decouple_uniform,
    delta,
    f_divergence,
    fitness,
    fixed_g_optimum,
    inverse_corrected,
    noisy,
    optimal_g,
    product,
    variational_difference,
)
from fdiv.theory.robustness import vajda

ALL = tuple(DIVERGENCES)
SMOOTH = tuple(name for name in ALL if name != "tv")
FINITE = tuple(name for name in ALL if math.isfinite(divergence(name).at_zero))
INFINITE = tuple(name for name in ALL if name not in FINITE)
EYE = {K: torch.eye(K, dtype=torch.float64) for K in (2, 3, 4, 10)}
DECREASING = tuple(name for name in ALL if divergence(name).printed_decreasing)
each = pytest.mark.parametrize("name", ALL)
each_smooth = pytest.mark.parametrize("name", SMOOTH)


def t64(x) -> torch.Tensor:
    return torch.as_tensor(x, dtype=torch.float64)


def uniform(e) -> torch.Tensor:
    e = t64(e)
    return (1 - e.sum()) * torch.eye(len(e), dtype=torch.float64) + e.expand(len(e), -1)


def sparse(pairs, e1, e2) -> torch.Tensor:
    T = torch.eye(2 * len(pairs), dtype=torch.float64)
    for (i, j), a, b in zip(pairs, t64(e1).expand(len(pairs)), t64(e2).expand(len(pairs)), strict=True):
        T[i, i], T[i, j], T[j, i], T[j, j] = 1 - a, a, b, 1 - b
    return T


def neighbours(K: int) -> list[tuple[int, int]]:
    return [(i, i + 1) for i in range(0, K, 2)]


def random_joint(rng, rows: int, columns: int, zeros: bool = False) -> torch.Tensor:
    table = rng.gamma(0.7, size=(rows, columns)) + 1e-3
    if zeros:
        table *= rng.random((rows, columns)) < 0.7
        table[0] += 1e-3
    return t64(table / table.sum())


def random_transition(rng, K: int) -> torch.Tensor:
    return t64(rng.dirichlet(np.full(K, 0.5), K)) * 0.7 + 0.3 * torch.eye(K, dtype=torch.float64)


def random_rates(rng, K: int, total: float | None = None) -> torch.Tensor:
    return t64(rng.dirichlet(np.ones(K)) * (rng.random() if total is None else total))


def random_g(rng, d: Divergence, shape) -> torch.Tensor:
    """Values all over the domain of f*, with its ends where they belong to it."""
    g = d.activation(t64(rng.normal(0, 1.5, tuple(shape))))
    ends = [u for u in (d.domain.low, d.domain.high) if math.isfinite(u) and d.domain.contains(u)]
    for end in ends:
        g = torch.where(t64(rng.random(tuple(shape))) < 0.15, end, g)
    return g


def cases(name: str, labels=range(2, 11), repeat: int = 3):
    """(rng, joint table, g) with all numbers of labels, and more or fewer rows than labels."""
    for K, again in itertools.product(labels, range(repeat)):
        rng = np.random.default_rng([ALL.index(name), K, again])
        joint = random_joint(rng, (K, 3, 12)[again % 3], K, zeros=again % 2 == 1)
        yield rng, joint, random_g(rng, divergence(name), joint.shape)


def close(left, right, tolerance: float = 1e-12) -> bool:
    left, right = float(left), float(right)
    return left == right or abs(left - right) <= tolerance * max(1, abs(left), abs(right))


def binary(prior: float, tpr: float, fpr: float) -> torch.Tensor:
    """P(h, Y) with the rows and columns +1, -1."""
    return t64([[prior * tpr, (1 - prior) * fpr], [prior * (1 - tpr), (1 - prior) * (1 - fpr)]])


def many_binary(prior, tpr, fpr) -> torch.Tensor:
    """``binary`` for vectors."""
    prior, tpr, fpr = map(t64, (prior, tpr, fpr))
    cells = [prior * tpr, (1 - prior) * fpr, prior * (1 - tpr), (1 - prior) * (1 - fpr)]
    return torch.stack(cells, 1).reshape(-1, 2, 2)


def many_ratios(P: torch.Tensor) -> torch.Tensor:
    return P / (P.sum(2, keepdim=True) * P.sum(1, keepdim=True))


def many_divergences(P: torch.Tensor, name: str) -> torch.Tensor:
    ratio = many_ratios(P)
    return (P / ratio * divergence(name).f(ratio)).sum((1, 2))


def many_classified(xy: torch.Tensor, K: int) -> dict[tuple[int, ...], torch.Tensor]:
    """P(h, Y) of every classifier of these x."""
    every = classifiers(len(xy), K)
    tables = torch.nn.functional.one_hot(torch.tensor(every), K).double().mT @ xy
    return dict(zip(every, tables, strict=True))


def maximisers(tables: dict[tuple[int, ...], torch.Tensor], name: str, tolerance: float = 1e-13) -> set:
    """The classifiers with the largest D_f; +inf is the largest of all."""
    P = torch.stack(list(tables.values()))
    value = divergence(name)(P, P.sum(2, keepdim=True) * P.sum(1, keepdim=True), dim=(1, 2))
    top = value.max()
    return {h for h, v in zip(tables, value, strict=True) if v == top or v > top - tolerance}


def classifiers(n: int, K: int) -> list[tuple[int, ...]]:
    return list(itertools.product(range(K), repeat=n))


# ---------------------------------------------------------------------- tables


def test_classify_by_labels_and_by_a_table():
    xy = t64([[0.1, 0.2], [0.3, 0.05], [0.15, 0.2]])
    expected = t64([[0.25, 0.4], [0.3, 0.05]])
    assert torch.equal(classify(xy, [0, 1, 0]), expected)
    assert torch.equal(classify(xy.numpy(), np.array([0, 1, 0])), expected)
    assert torch.allclose(classify(xy, [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]), expected)
    assert classify(xy, [2, 1, 0], num_predictions=4).shape == (4, 2)
    half = classify(xy, t64([[0.5, 0.5]] * 3))
    assert torch.allclose(half, product(half))
    assert torch.equal(classify(xy, torch.tensor([0, 1, 0], dtype=torch.uint8)), expected)


def test_noise_acts_on_labels_as_on_the_product():
    for rng, joint, _ in cases("tv", (2, 3, 7), 2):
        T = random_transition(rng, joint.shape[1])
        by_hand = torch.zeros_like(joint)
        for y, i, j in itertools.product(range(len(joint)), range(len(T)), range(len(T))):
            by_hand[y, j] += joint[y, i] * T[i, j]
        torch.testing.assert_close(noisy(joint, T), by_hand, rtol=0, atol=1e-15)
        torch.testing.assert_close(product(noisy(joint, T)), product(joint) @ T, rtol=0, atol=1e-15)
        torch.testing.assert_close(product(joint).sum(0), joint.sum(0), rtol=0, atol=1e-15)


def test_a_float32_table_may_be_rounded():
    rounded = torch.eye(3) / 3
    assert rounded.dtype == torch.float32
    assert accuracy(rounded).item() == pytest.approx(1, abs=1e-6)
    with pytest.raises(ValueError, match="a joint table must sum to 1"):
        accuracy(rounded.double() + 1e-6)


def test_accuracy_and_fitness():
    joint = t64([[0.4, 0.1], [0.2, 0.3]])
    assert accuracy(joint).item() == pytest.approx(0.7)
    assert fitness(joint)[1, 0].item() == pytest.approx((0.2 / 0.6) / 0.5)
    assert fitness([[0.5, 0.5], [0, 0]]).tolist() == [[1, 1], [1, 1]]


GOOD, G = [[0.5, 0.0], [0.1, 0.4]], [[0.1, 0.2], [0.3, 0.4]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: product([0.5, 0.5]), r"a joint table has rows and columns, not the shape \(2,\)"),
        (lambda: product([[0.5, 0.6]]), "a joint table must sum to 1, but sums to 1.1"),
        (lambda: product([[1.5, -0.5]]), "a joint table must hold probabilities, but its smallest"),
        (lambda: product([[math.nan, 1.0]]), "a joint table must hold probabilities"),
        (lambda: classify(GOOD, [0, 2]), "h must predict classes 0 to 1, but predicts 2"),
        (lambda: classify(GOOD, [0, 1, 1]), "h must have one entry per x, but has 3 for 2"),
        (lambda: classify(GOOD, [[0.5, 0.5], [0.5, 0.6]]), "row 1 of h must be a distribution"),
        (lambda: classify(GOOD, [0.5, 0.5]), "h must predict classes 0 to 1, but predicts 0.5"),
        (lambda: classify(GOOD, [[[0.5]]]), "h must have rows and columns"),
        (lambda: noisy(GOOD, np.eye(3)), "T is for 3 classes, but num_classes is 2"),
        (lambda: noisy(GOOD, [[0.5, 0.5], [0.7, 0.5]]), "row 1 sums to 1.2, but every row of T"),
        (lambda: noisy(GOOD, [[1.2, -0.2], [0, 1]]), "row 0 holds -0.2, but every entry of T"),
        (lambda: accuracy([[0.2, 0.3, 0.5]]), "accuracy needs a table of predictions by labels"),
        (lambda: delta(GOOD, [[0.0]], "kl"), r"g must have the shape \(2, 2\) of the joint table"),
        (lambda: delta(GOOD, [[math.nan, 0], [0, 0]], "kl"), "g must hold numbers, but has a nan"),
        (lambda: delta(GOOD, G, "kx"), "no divergence is called 'kx'"),
        (lambda: bias(GOOD, G, "kl", (0.1, 0.2, 0.3)), "rates must be 2 numbers between 0 and 1"),
        (lambda: bias(GOOD, G, "kl", (0.1, -0.2)), "rates must be 2 numbers between 0 and 1"),
        (lambda: decouple_binary(np.eye(3) / 3, np.eye(3), "kl", 0.1, 0.2), "a binary table has 2 columns"),
        (
            lambda: decouple_sparse(GOOD, G, "kl", [(0, 0)], 0.1, 0.2),
            "pairs must hold every class from 0 to 1",
        ),
        (
            lambda: decouple_sparse_printed(GOOD, G, "kl", [(0, 1, 2)], 0.1, 0.2),
            "pairs must hold every class",
        ),
        (lambda: decouple_covariance(GOOD, [[9.0, 0], [0, 0]], "tv", np.eye(2)), "in the domain of .* 9"),
        (
            lambda: inverse_corrected(GOOD, G, "kl", np.full((2, 2), 0.5)),
            "T must be invertible, .* rank is 1 of 2",
        ),
        (
            lambda: ceiling("peers", np.eye(2)),
            "no rule is called 'peers'; choose from cross-entropy, .*jeffrey",
        ),
        (lambda: decide("kl", np.eye(2), scores="logit"), "scores must be 'probabilities' or 'logits'"),
        (
            lambda: fixed_g_optimum("kl", [[0.5, 0.5]], [0.2, 0.3, 0.5]),
            "prior must have 2 entries, but has 3",
        ),
        (
            lambda: fixed_g_optimum("kl", [[0.5, 0.6]], [0.5, 0.5]),
            "row 0 of posterior must be a distribution",
        ),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


# ---------------------------------------------------------------------- divergence and variational form


@each
def test_definitions_by_hand(name):
    """VD and Delta^y as the paper writes them, entry by entry."""
    d = divergence(name)
    for _, joint, g in cases(name, (2, 5), 2):
        dual = d.conjugate(g)
        row, column = joint.sum(1), joint.sum(0)
        first = second = 0.0
        for y, label in itertools.product(*map(range, joint.shape)):
            first += joint[y, label] * g[y, label]
            second += row[y] * column[label] * dual[y, label]
        assert close(variational_difference(joint, g, name), first - second)
        for label, value in enumerate(delta(joint, g, name)):
            assert close(value, sum(row[y] * (g[y, label] - dual[y, label]) for y in range(len(row))))


@each
def test_optimal_g_reaches_the_divergence_and_no_g_exceeds_it(name):
    for _, joint, g in cases(name):
        largest = f_divergence(joint, name)
        assert close(variational_difference(joint, optimal_g(joint, name), name), largest, 1e-10)
        assert variational_difference(joint, g, name) <= largest + 1e-12
    perfect = torch.diag(t64([0.2, 0.3, 0.5]))
    value = variational_difference(perfect, optimal_g(perfect, name), name)
    assert close(value, f_divergence(perfect, name))
    assert value.isinf() == (divergence(name).at_zero == math.inf)


@each
def test_outside_the_domain_a_variational_difference_is_minus_infinity(name):
    domain = divergence(name).domain
    joint = t64([[0.3, 0.2, 0.0], [0.1, 0.4, 0.0]])
    inside = torch.full_like(joint, -0.25)
    for outside in (domain.high + 1, domain.low - 1, math.inf):
        if not domain.contains(outside):
            g = inside.clone()
            g[1, 1] = outside
            assert variational_difference(joint, g, name) == -math.inf
            g[1, 1], g[1, 2] = -0.25, outside  # Q has no mass in the last column
            assert close(variational_difference(joint, g, name), variational_difference(joint, inside, name))
    g = inside.clone()
    g[0, 0] = -math.inf
    assert variational_difference(joint, g, name) == -math.inf


# ---------------------------------------------------------------------- decoupling


@each
def test_theorem_4_binary_decoupling_holds(name):
    """For any g, any number of values of h, and rates that may sum to more than 1."""
    for rng, joint, g in cases(name, (2,), 25):
        e_plus, e_minus = rng.random(2)
        T = t64([[1 - e_plus, e_plus], [e_minus, 1 - e_minus]])
        parts = decouple_binary(joint, g, name, e_plus, e_minus)
        vd, change = variational_difference(joint, g, name), delta(joint, g, name)
        assert close(parts.total, variational_difference(noisy(joint, T), g, name))
        assert close(parts.clean, (1 - e_plus - e_minus) * vd)
        assert close(parts.bias, e_plus * change[1] + e_minus * change[0])


@each
def test_theorem_5_uniform_decoupling_holds(name):
    for rng, joint, g in cases(name):
        e = random_rates(rng, joint.shape[1])
        parts = decouple_uniform(joint, g, name, e)
        assert close(parts.total, variational_difference(noisy(joint, uniform(e)), g, name))
        assert close(parts.clean, (1 - e.sum()) * variational_difference(joint, g, name))
        assert close(parts.bias, bias(noisy(joint, uniform(e)), g, name, e)), "only the margin of h enters"


@each
def test_decoupling_at_the_optimal_g_of_a_perfect_classifier(name):
    """Where P has zeros g* may be -inf: both sides are D_f without noise, -inf with it if D_f is finite."""
    perfect = torch.diag(t64([0.2, 0.3, 0.5]))
    g = optimal_g(perfect, name)
    for e in ([0.0, 0.0, 0.0], [0.1, 0.2, 0.05]):
        value = variational_difference(noisy(perfect, uniform(e)), g, name)
        if sum(e) == 0 or math.isfinite(divergence(name).at_zero):
            assert close(decouple_uniform(perfect, g, name, e).total, value)


def test_only_uniform_noise_decouples_in_this_form():
    """For TV every Delta is 0, and VD~ = c VD for all g needs P~ - Q~ = c (P - Q), with h = Y that C T = c C.

    C = diag(p) - p p' maps only constants to 0, so every column of T - c I is constant: T = c I + 1 e'.
    """

    def distance_from_the_form(T):
        p = t64(np.linspace(1, 2, len(T)) / np.linspace(1, 2, len(T)).sum())
        perfect = torch.diag(p)
        before, after = perfect - product(perfect), noisy(perfect, T) - product(noisy(perfect, T))
        c = (before * after).sum() / (before**2).sum()
        return (after - c * before).abs().max().item()

    rng = np.random.default_rng(0)
    for K in range(2, 11):
        assert distance_from_the_form(uniform(random_rates(rng, K))) < 1e-15
    for K in range(3, 11):
        assert distance_from_the_form(random_transition(rng, K)) > 1e-4
    assert distance_from_the_form(sparse(neighbours(4), 0.3, 0.2)) > 1e-2
    assert distance_from_the_form(sparse(neighbours(2), 0.3, 0.2)) < 1e-15


@each
def test_sparse_theorem_holds_for_two_classes(name):
    for rng, joint, g in cases(name, (2,), 20):
        e1, e2 = random_rates(rng, 2)
        value = variational_difference(noisy(joint, sparse([(0, 1)], e1, e2)), g, name)
        printed = decouple_sparse_printed(joint, g, name, [(0, 1)], e1, e2)
        assert close(printed.total, value)
        assert close(printed.bias, decouple_binary(joint, g, name, e1, e2).bias)


def test_sparse_theorem_fails_for_four_classes():
    """A perfect classifier of four balanced classes and g = 1/2 within a pair, -1/2 across: TV, on paper.

    No label leaves its pair, so g does not notice the noise: VD~ = VD = 1/2. The theorem says 1/4.
    """
    pairs, joint = [(0, 1), (2, 3)], EYE[4] / 4
    g = t64([[0.5 if y // 2 == label // 2 else -0.5 for label in range(4)] for y in range(4)])
    assert variational_difference(joint, g, "tv") == 0.5
    assert close(variational_difference(noisy(joint, sparse(pairs, 0.3, 0.2)), g, "tv"), 0.5)
    printed, right = (
        formula(joint, g, "tv", pairs, 0.3, 0.2) for formula in (decouple_sparse_printed, decouple_sparse)
    )
    assert close(printed.total, 0.25)
    assert printed.bias == 0
    assert close(right.clean, 0.25)
    assert close(right.bias, 0.25)


@each
def test_sparse_theorem_fails_for_more_than_two_classes(name):
    for rng, joint, g in cases(name, (4, 6, 8, 10)):
        pairs, (e1, e2) = neighbours(joint.shape[1]), random_rates(rng, 2, 0.7)
        value = variational_difference(noisy(joint, sparse(pairs, e1, e2)), g, name)
        assert abs(decouple_sparse_printed(joint, g, name, pairs, e1, e2).total - value) > 1e-4
        assert close(decouple_sparse(joint, g, name, pairs, e1, e2).total, value)


@each
def test_corrected_sparse_theorem_holds(name):
    """With any pairs and a pair of rates for each, from clean tables and, for the bias, from noisy ones."""
    for rng, joint, g in cases(name, (2, 4, 6, 8, 10)):
        K = joint.shape[1]
        pairs = rng.permutation(K).reshape(-1, 2)
        e1, e2 = rng.random(K // 2), rng.random(K // 2)
        right = decouple_sparse(joint, g, name, pairs, e1, e2)
        noisy_joint = noisy(joint, sparse(pairs, e1, e2))
        assert close(right.total, variational_difference(noisy_joint, g, name))
        assert close(right.bias, decouple_sparse(noisy_joint, g, name, pairs, e1, e2).bias)


@each
def test_corrected_sparse_theorem_holds_with_classes_that_have_no_partner(name):
    """Odd K, and pairs that leave classes out, down to none: 18 tables. Such a class keeps its labels."""
    for rng, joint, g in cases(name, (3, 4, 5, 6, 7, 9)):
        K = joint.shape[1]
        pairs = rng.permutation(K)[: 2 * rng.integers(0, (K + 1) // 2)].reshape(-1, 2)
        e1, e2 = rng.random((2, len(pairs)))
        T = torch.eye(K, dtype=torch.float64)
        for (i, j), a, b in zip(pairs, e1, e2, strict=True):
            T[i, i], T[i, j], T[j, i], T[j, j] = 1 - a, a, b, 1 - b
        right = decouple_sparse(joint, g, name, pairs, e1, e2)
        assert close(right.total, variational_difference(noisy(joint, T), g, name))
        assert close(right.bias, decouple_sparse(noisy(joint, T), g, name, pairs, e1, e2).bias)
    with pytest.raises(ValueError, match="pairs must hold every class from 0 to 2 once"):
        decouple_sparse_printed(torch.eye(3) / 3, torch.eye(3), "kl", [(0, 1)], 0.1, 0.2)


def test_tv_bias_is_zero_for_uniform_noise_and_not_for_sparse_noise():
    for rng, joint, g in cases("tv"):
        assert abs(bias(joint, g, "tv", random_rates(rng, joint.shape[1]))) < 1e-15
        assert delta(joint, g, "tv").abs().max() < 1e-15
        if joint.shape[1] % 2 == 0:
            pairs = neighbours(joint.shape[1])
            right = decouple_sparse(joint, g, "tv", pairs, 0.3, 0.2).bias
            assert (abs(right) < 1e-15) == (joint.shape[1] == 2)


@each
def test_noise_makes_a_jensen_gap(name):
    """For any T: VD~(g) <= VD(Tg) with (Tg)(h, i) = sum_j T_ij g(h, j), and equality for TV; 27 tables."""
    for rng, joint, g in cases(name):
        T = random_transition(rng, joint.shape[1])
        value = variational_difference(noisy(joint, T), g, name)
        mixed = variational_difference(joint, g @ T.T, name)
        assert value <= mixed + 1e-12
        assert close(value, mixed) == (name == "tv")


@each
def test_covariance_identity_for_any_transition_matrix(name):
    for rng, joint, g in cases(name):
        K = joint.shape[1]
        T, e = random_transition(rng, K), random_rates(rng, K)
        value = variational_difference(noisy(joint, T), g, name)
        for epsilon in (None, float(rng.normal())):
            assert close(decouple_covariance(joint, g, name, T, epsilon).total, value)
        plain, uniformly = (
            decouple_uniform(joint, g, name, e),
            decouple_covariance(joint, g, name, uniform(e)),
        )
        assert close(uniformly.clean, plain.clean)
        assert close(uniformly.bias, plain.bias)
        assert abs(uniformly.covariance) < 1e-13
        assert K == 2 or abs(decouple_covariance(joint, g, name, T).covariance) > 1e-6


def test_a_decoupling_reads_well():
    joint, g = t64([[0.4, 0.1], [0.1, 0.4]]), t64([[0.5, -0.5], [-0.5, 0.5]])
    assert (
        str(decouple_uniform(joint, g, "pearson", (0.1, 0.2))) == "0.16625 (clean) -0.01875 (bias) = 0.1475"
    )
    text = str(decouple_covariance(joint, g, "pearson", uniform((0.1, 0.2)), 0.5))
    assert text == "0.11875 (clean) -0.03125 (bias) +0.06 (covariance) = 0.1475"
    assert Decoupling(t64(1.0), t64(2.0)).total == 3


@each
def test_the_theorems_hold_for_g_that_sees_x(name):
    """Algorithm 1: a row per x and g = g_f(h_x[y]), with the optimal objective over x never below."""
    d = divergence(name)
    for rng, xy, _ in cases(name, (3, 10), 2):
        K = xy.shape[1]
        h = t64(rng.dirichlet(np.ones(K), len(xy)))
        e, T = random_rates(rng, K), random_transition(rng, K)
        g = d.activation(h)
        objective = (noisy(xy, uniform(e)) * g).sum() - (
            product(noisy(xy, uniform(e))) * d.conjugate_of_activation(h)
        ).sum()
        assert close(decouple_uniform(xy, g, name, e).total, objective, 1e-11)
        covariance = decouple_covariance(xy, g, name, T)
        assert close(covariance.total, variational_difference(noisy(xy, T), g, name), 1e-11)
        assert objective <= f_divergence(noisy(xy, uniform(e)), name) + 1e-12


# ---------------------------------------------------------------------- correction


@each
def test_corollary_1_bias_correction_holds_for_uniform_noise(name):
    """It needs noisy tables only, and equals (1 - sum e) times the inverse correction."""
    for rng, joint, g in cases(name):
        e = random_rates(rng, joint.shape[1], 0.9)
        corrected = bias_corrected(noisy(joint, uniform(e)), g, name, e)
        assert close(corrected, (1 - e.sum()) * variational_difference(joint, g, name))
        inverse = inverse_corrected(noisy(joint, uniform(e)), g, name, uniform(e))
        assert close(corrected, (1 - e.sum()) * inverse, 1e-11)


@each
def test_inverse_correction_holds_for_any_invertible_matrix(name):
    for rng, joint, g in cases(name):
        T = random_transition(rng, joint.shape[1])
        allowed = 1e-13 * torch.linalg.cond(T).item() * (1 + g.abs().max().item()) ** 2
        expected = variational_difference(joint, g, name)
        assert abs(inverse_corrected(noisy(joint, T), g, name, T) - expected) < allowed
    joint = t64([[0.3, 0.1, 0.05], [0.05, 0.2, 0.05], [0.02, 0.03, 0.2]])
    T, best = t64([[0.6, 0.4, 0.0], [0.1, 0.7, 0.2], [0.3, 0.0, 0.7]]), optimal_g(joint, name)
    assert close(inverse_corrected(noisy(joint, T), best, name, T), f_divergence(joint, name), 1e-11)


def test_printed_sparse_correction_has_no_maximum():
    """The printed bias takes more product mass than there is: KL on four classes at rates .7 and .2.

    For g = 20 everywhere the corrected objective is .8 (e^19 - 20) and grows with g, the right one falls.
    """
    pairs, joint, T = neighbours(4), EYE[4] / 4, sparse(neighbours(4), 0.7, 0.2)
    for level in (5.0, 20.0, 30.0):
        g = torch.full((4, 4), level)
        vd = variational_difference(noisy(joint, T), g, "kl")
        printed = vd - decouple_sparse_printed(noisy(joint, T), g, "kl", pairs, 0.7, 0.2).bias
        right = vd - decouple_sparse(noisy(joint, T), g, "kl", pairs, 0.7, 0.2).bias
        assert close(printed, 0.8 * (math.exp(level - 1) - level), 1e-9)
        assert close(right, 0.1 * (level - math.exp(level - 1)), 1e-9)
        assert close(right, 0.1 * inverse_corrected(noisy(joint, T), g, "kl", T), 1e-9)


@each
def test_printed_sparse_correction_fails_in_each_of_the_papers_settings(name):
    """Ten classes, h = Y: for TV the bias is 0, for the others one cell of g alone takes it to any height.

    The cell has an answer and a label of different pairs, where g has the weight -e_y / 10 and f*(g) a
    weight of the wrong sign. So g may rise, or for Neyman fall, as far as it likes.
    """
    d, joint, pairs = divergence(name), EYE[10] / 10, neighbours(10)
    for e1, e2 in ((0.3, 0.2), (0.7, 0.2), (0.3, 0.1), (0.6, 0.2)):
        table = noisy(joint, sparse(pairs, e1, e2))
        if name == "tv":
            g = random_g(np.random.default_rng(16), d, joint.shape)
            assert abs(decouple_sparse_printed(table, g, name, pairs, e1, e2).bias) < 1e-15
            continue
        weight = (table - table.sum(1, keepdim=True) * t64([e2, e1]).repeat(5))[0, 3]
        product_weight = (product(table) - table.sum(1, keepdim=True) * t64([e2, e1]).repeat(5))[0, 3]
        assert weight < 0
        assert product_weight < 0
        v = t64([20.0, 40.0, 80.0]) * (-1 if name == "neyman" else 1)
        height = weight * d.activation(v) - product_weight * d.conjugate_of_activation(v)
        assert (height.diff() > 0.01).all()


@pytest.mark.parametrize(("e1", "e2", "printed"), [(0.3, 0.2, -0.19), (0.7, 0.2, -0.55), (0.6, 0.2, -0.46)])
def test_printed_sparse_correction_makes_product_weights_negative(e1, e2, printed):
    """On the paper's ten balanced classes, where the right correction leaves (1 - e1 - e2) p_y."""
    prior = torch.full((10,), 0.1, dtype=torch.float64) @ sparse(neighbours(10), e1, e2)
    weights = prior - t64([e2, e1]).repeat(5)  # p~_y minus the rate of landing on y
    assert weights.min().item() == pytest.approx(printed)
    pair_mass = 0.2
    right = prior - pair_mass * t64([e2, e1]).repeat(5)
    torch.testing.assert_close(right, torch.full_like(right, 0.1 * (1 - e1 - e2)))


# ---------------------------------------------------------------------- which divergences are robust


@each
def test_data_processing_noise_never_increases_a_divergence(name):
    for rng, joint, _ in cases(name):
        T = random_transition(rng, joint.shape[1])
        assert f_divergence(noisy(joint, T), name) <= f_divergence(joint, name) + 1e-13


@each
def test_realizable_labels_are_found_under_any_noise(name):
    """If Y = phi(X), then phi has the largest noisy divergence of all classifiers: 10 T, half with zeros.

    Where T has zeros and f(0) is infinite this says inf = inf, and much poorer classifiers tie.
    """
    for seed in range(5):
        rng = np.random.default_rng(seed)
        phi = (0, 1, 2, int(rng.integers(3)))
        xy = t64(rng.dirichlet(np.ones(4)))[:, None] * EYE[3][list(phi)]
        for T in (random_transition(rng, 3), t64([[0.6, 0.4, 0.0], [0.3, 0.7, 0.0], [0.0, 0.0, 1.0]])):
            found = maximisers({h: P @ T for h, P in many_classified(xy, 3).items()}, name)
            assert phi in found
            vacuous = name in INFINITE and bool((T == 0).any())
            assert (f_divergence(noisy(classify(xy, phi), T), name) == math.inf) == vacuous
            if name != "tv":  # which is not strictly convex, so that others may tie
                assert (len(found) > 6) == vacuous


def test_theorem_7_tv_scales_exactly_under_uniform_noise():
    """So TV ranks all classifiers as without noise, for any class of them: it is H-robust."""
    for rng, joint, _ in cases("tv"):
        e = random_rates(rng, joint.shape[1])
        value = f_divergence(noisy(joint, uniform(e)), "tv")
        assert close(value, (1 - e.sum()) * f_divergence(joint, "tv"))


def test_theorem_7_fails_for_sparse_noise_with_four_classes():
    """Parity, always right, against which pair it is, wrong in 5 %: .5 > .45 clean, .3 < .45 noisy."""
    xy, T = EYE[4] / 4, sparse(neighbours(4), 0.2, 0.2)
    parity = classify(xy, [0, 1, 0, 1])
    pair = classify(xy, t64([[0.95, 0.05], [0.95, 0.05], [0.05, 0.95], [0.05, 0.95]]))
    values = [f_divergence(table, "tv").item() for table in (parity, pair, noisy(parity, T), noisy(pair, T))]
    assert values == pytest.approx([0.5, 0.45, 0.3, 0.45])


def test_theorem_7_fails_for_a_general_transition_matrix():
    """Three classes, where .4 of class 0 moves to 1: finding class 0 falls from 4/9 below finding class 2."""
    xy, T = EYE[3] / 3, t64([[0.6, 0.4, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    zero = classify(xy, [0, 1, 1])
    two = classify(xy, t64([[0.0, 1.0], [0.0, 1.0], [0.8, 0.2]]))
    values = [f_divergence(table, "tv").item() for table in (zero, two, noisy(zero, T), noisy(two, T))]
    assert values == pytest.approx([4 / 9, 16 / 45, 4 / 15, 16 / 45])


def test_kl_reverses_two_classifiers_under_symmetric_binary_noise():
    """Balanced labels and e+ = e- = .305: a rare, nearly pure prediction loses to a frequent, mixed one."""

    def table(share, excess):
        return t64(
            [[share / 2 + excess, share / 2 - excess], [(1 - share) / 2 - excess, (1 - share) / 2 + excess]]
        )

    rare, frequent, T = table(0.96, 0.0198), table(0.536, 0.0538), uniform((0.305, 0.305))
    tables = (rare, frequent, noisy(rare, T), noisy(frequent, T))
    values = [f_divergence(each, "kl").item() for each in tables]
    assert values == pytest.approx([0.02728, 0.02346, 0.003185, 0.003545], rel=1e-3)


@each
def test_anti_classifier_ties(name):
    """D_f does not see a permutation of the predicted labels, with or without noise."""
    for rng, joint, _ in cases(name, (2, 3, 5), 2):
        shuffled = joint[rng.permutation(len(joint))]
        T = random_transition(rng, joint.shape[1])
        assert close(f_divergence(shuffled, name), f_divergence(joint, name))
        assert close(f_divergence(noisy(shuffled, T), name), f_divergence(noisy(joint, T), name))


# ---------------------------------------------------------------------- Theorem 1: TV and Bayes


def test_theorem_1_holds_up_to_flipping_the_labels():
    """Balanced binary labels: D_TV = |Acc - 1/2|, so Bayes and its opposite are the maximisers."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        xy = random_joint(rng, 5, 2)
        xy = xy / xy.sum(0) / 2
        bayes = tuple(xy.argmax(1).tolist())
        tables = {h: classify(xy, h) for h in classifiers(5, 2)}
        for joint in tables.values():
            assert close(f_divergence(joint, "tv"), abs(accuracy(joint) - 0.5))
        best = max(f_divergence(joint, "tv").item() for joint in tables.values())
        winners = {h for h, joint in tables.items() if close(f_divergence(joint, "tv"), best)}
        assert winners == {bayes, tuple(1 - y for y in bayes)}


def test_theorem_1_case_4_does_not_return_a_smaller_value():
    """The proof claims Case 4, the opposite of Bayes, to be strictly worse: it ties."""
    bayes = binary(0.5, 0.9, 0.2)
    opposite = bayes.flip(0)
    assert close(accuracy(opposite), 0.15)
    assert close(f_divergence(opposite, "tv"), f_divergence(bayes, "tv"))
    assert close(f_divergence(opposite, "tv"), 0.35)


def test_theorem_1_cases_2_and_3_never_occur():
    """P - Q of a binary table has equal entries on the diagonal, so they cannot differ in sign."""
    for _, joint, _ in cases("tv", (2,), 20):
        table = torch.stack([joint[:1].sum(0), joint[1:].sum(0)])
        excess = table - product(table)
        assert close(excess[0, 0], excess[1, 1])
        assert close(excess[0, 1], -excess[0, 0])


def test_theorem_1_needs_balanced_labels():
    """Unbalanced, TV is largest at h = 1[P(Y=+1|x) > P(Y=+1)], not at Bayes."""
    xy = t64([[0.36, 0.04], [0.24, 0.16], [0.05, 0.15]])  # P(Y=+1|x) is .9, .6 and .25, P(Y=+1) = .65
    bayes, threshold = (classify(xy, h) for h in ([0, 0, 1], [0, 1, 1]))
    assert accuracy(bayes) > accuracy(threshold)
    assert f_divergence(bayes, "tv") < f_divergence(threshold, "tv")
    best = max(f_divergence(classify(xy, h), "tv") for h in classifiers(3, 2))
    assert close(f_divergence(threshold, "tv"), best)


def confident(joint) -> list[int] | None:
    """y_k for each label k by the paper's definition: the only prediction positively associated with it."""
    excess = joint - product(joint)
    positive = [torch.nonzero(column > 1e-12).flatten().tolist() for column in excess.T]
    return [found[0] for found in positive] if all(len(found) == 1 for found in positive) else None


def test_remark_2_identity_fails_in_three_classes():
    """P(Y|a) = (1/2, 1/2, 0) with mass 2/3, P(Y|b) = (0, 0, 1): confident, D_TV = 4/9, Acc - 1/3 = 1/3."""
    joint = classify(t64([[1 / 3, 1 / 3, 0], [0, 0, 1 / 3]]), [0, 2])
    assert confident(joint) == [0, 0, 2]
    assert close(f_divergence(joint, "tv"), 4 / 9)
    assert close(accuracy(joint) - 1 / 3, 1 / 3)
    assert close(joint.sum(1)[[0, 0, 2]].sum(), 5 / 3), "the proof takes this sum of P(h = y_k) to be 1"


def test_remark_2_a_confident_classifier_beats_a_confident_bayes():
    """Balanced labels, four x in units of 1/42: Bayes has D_TV = 1/3, answering {0, 1} or 2 has 22/63."""
    xy = t64([[1, 0, 11], [1, 4, 3], [6, 7, 0], [6, 3, 0]]) / 42
    bayes, other = classify(xy, xy.argmax(1)), classify(xy, [2, 2, 1, 1])
    assert torch.allclose(xy.sum(0), t64([1 / 3] * 3))
    assert confident(bayes) == [0, 1, 2]
    assert confident(other) == [1, 1, 2]
    assert close(f_divergence(bayes, "tv"), 1 / 3)
    assert close(f_divergence(other, "tv"), 22 / 63)
    assert accuracy(other) < accuracy(bayes)


def test_remark_2_holds_where_labels_and_predictions_pair_up():
    """Balanced, confident, k -> y_k one to one, K = 2 to 6: D_TV is the accuracy after renaming, minus 1/K.

    150 random tables. And of all 3^6 classifiers of six x, no such one beats Bayes where Bayes is one.
    """
    found = 0
    for K, seed in itertools.product(range(2, 7), range(30)):
        rng = np.random.default_rng([K, seed])
        joint = random_joint(rng, K, K) + t64(rng.permutation(np.eye(K)))
        joint = joint / joint.sum(0) / K
        names = confident(joint)
        if names is not None and len(set(names)) == K:
            found += 1
            assert close(f_divergence(joint, "tv"), accuracy(joint[names]) - 1 / K)
    assert found > 75
    beaten = problems = 0
    for seed in range(6):
        xy = random_joint(np.random.default_rng([17, seed]), 6, 3) + t64(np.tile(np.eye(3), (2, 1))) / 6
        xy = xy / xy.sum(0) / 3
        tables = {h: P for h, P in many_classified(xy, 3).items() if len(set(confident(P) or [])) == 3}
        bayes = tuple(xy.argmax(1).tolist())
        if bayes in tables:
            problems += 1
            best = f_divergence(tables[bayes], "tv") + 1e-12
            beaten += sum(bool(f_divergence(P, "tv") > best) for P in tables.values())
    assert problems >= 3
    assert beaten == 0


# ---------------------------------------------------------------------- Theorem 3: Bayes labels


@pytest.mark.parametrize("name", FINITE)
def test_theorem_3_maximisers_are_exactly_the_renamings(name):
    """24 random problems of five x, K = 2 to 4, any balance: K! maximisers, where f(0) is finite."""
    for K, seed in itertools.product((2, 3, 4), range(8)):
        rng = np.random.default_rng([K, seed])
        star = [*range(K), *rng.integers(K, size=5 - K)]
        labels = t64(rng.dirichlet(np.full(5, 3.0)))[:, None] * torch.eye(K, dtype=torch.float64)[star]
        found = maximisers(many_classified(labels, K), name, 1e-12)
        assert found == {tuple(new[y] for y in star) for new in itertools.permutations(range(K))}


def test_theorem_3_needs_an_f_that_is_not_affine_near_1():
    """The powers |v - 1|^a and corners of any two slopes have the renamings alone, max(0, v - 3) has none."""

    def row(f):
        return Divergence(
            name="own",
            title="own",
            generator=f,
            slope=f,
            at_zero=f(t64(0.0)).item(),
            dual=f,
            domain=Interval(),
            activation=f,
            conjugate_of_activation=f,
        )

    rng = np.random.default_rng(18)
    corners = [
        row(lambda v, a=a, b=b: torch.maximum(a * (1 - v), b * (v - 1))) for a, b in rng.random((4, 2))
    ]
    for K, d in itertools.product((2, 3), (vajda(1.5), vajda(3), *corners)):
        star = [*range(K), *rng.integers(K, size=5 - K)]
        labels = t64(rng.dirichlet(np.full(5, 3.0)))[:, None] * EYE[K][star]
        found = maximisers(many_classified(labels, K), d, 1e-12)
        assert found == {tuple(new[y] for y in star) for new in itertools.permutations(range(K))}
    flat = row(lambda v: (v - 3).clamp(min=0))
    assert len(maximisers(many_classified(EYE[2][[0, 1, 1]] / t64([[2], [4], [4]]), 2), flat)) == 2**3


@pytest.mark.parametrize("name", INFINITE)
def test_theorem_3_fails_where_f_at_0_is_infinite(name):
    """A classifier of accuracy .51 ties with Bayes at inf, and for K = 3 one that merges two classes.

    In 20 random problems of five x every classifier ties for which some answer excludes some label.
    """
    poor = t64([[0.01, 0.0], [0.49, 0.5]])
    assert close(accuracy(poor), 0.51)
    assert f_divergence(poor, name) == f_divergence(EYE[2] / 2, name) == math.inf
    merged = classify(EYE[3] / 3, [0, 1, 1])
    assert f_divergence(merged, name) == f_divergence(EYE[3] / 3, name) == math.inf
    for K, seed in itertools.product((2, 3), range(10)):
        rng = np.random.default_rng([K, seed])
        star = [*range(K), *rng.integers(K, size=5 - K)]
        labels = t64(rng.dirichlet(np.ones(5)))[:, None] * torch.eye(K, dtype=torch.float64)[star]
        excluding = {
            h
            for h in classifiers(5, K)
            if any({star[x] for x in range(5) if h[x] == k} < set(range(K)) for k in set(h))
        }
        assert maximisers(many_classified(labels, K), name) == excluding
        assert len(excluding) > math.factorial(K)


@pytest.mark.parametrize("name", FINITE)
def test_nearly_certain_labels_are_found_where_f_at_0_is_finite(name):
    """Theorem 3 with P(Y=y*|x) of .99 to 1 in place of 1: 24 random problems, the renamings alone."""
    for K, seed in itertools.product((2, 3), range(12)):
        rng = np.random.default_rng([19, K, seed])
        star = [*range(K), *rng.integers(K, size=5 - K)]
        doubt = t64(rng.uniform(0, 0.01, (5, 1)))
        posterior = (1 - doubt) * EYE[K][star] + doubt * t64(rng.dirichlet(np.ones(K), 5))
        found = maximisers(many_classified(t64(rng.dirichlet(np.full(5, 5.0)))[:, None] * posterior, K), name)
        assert found == {tuple(new[y] for y in star) for new in itertools.permutations(range(K))}


@each_smooth
def test_the_best_classifier_of_a_smooth_divergence_need_not_be_bayes(name):
    """Balanced, P(Y=+1|x) = .95, .52, .308: accuracy .680, where Bayes and TV have .692.

    Of 200 random balanced problems of four x it happens in at least ten for every smooth f, never for TV.
    """
    eta, mass = t64([0.95, 0.52, 0.308]), t64([0.2, 0.3, 0.5])
    xy = mass[:, None] * torch.stack([eta, 1 - eta], 1)
    assert close(xy[:, 0].sum(), 0.5)
    assert maximisers(many_classified(xy, 2), name) == {(0, 1, 1), (1, 0, 0)}
    assert maximisers(many_classified(xy, 2), "tv") == {(0, 0, 1), (1, 1, 0)}
    assert [close(accuracy(classify(xy, h)), a) for h, a in (([0, 1, 1], 0.68), ([0, 0, 1], 0.692))] == [
        True,
        True,
    ]
    other = 0
    for seed in range(200):
        xy = random_joint(np.random.default_rng(seed), 4, 2)
        tables = many_classified(xy / xy.sum(0) / 2, 2)
        best = tuple(xy.div(xy.sum(0)).argmax(1).tolist())
        other += best not in maximisers(tables, name)
        assert best in maximisers(tables, "tv")
    assert other >= 10


@pytest.mark.parametrize("name", INFINITE)
def test_however_small_the_uncertainty_one_certain_x_may_decide(name):
    """Where f(0) is infinite: x of mass .01 that is certain, all others uncertain by 1e-3, 1e-6 or 1e-9."""
    for small in (1e-3, 1e-6, 1e-9):
        xy = t64([[0.01, 0], [0.49 * (1 - small), 0.49 * small], [0.5 * small, 0.5 * (1 - small)]])
        bayes, certain = classify(xy, [0, 0, 1]), classify(xy, [0, 1, 1])
        assert accuracy(bayes) > 0.99
        assert accuracy(certain) < 0.52
        assert f_divergence(bayes, name) < f_divergence(certain, name) == math.inf


def test_theorem_3_proof_sums_over_the_joint_where_the_product_belongs():
    """sum P f(P/Q) is D_f only for balanced labels and an even f such as Pearson's."""
    d = divergence("pearson")
    for prior, equal in ((0.5, True), (0.3, False)):
        joint = torch.diag(t64([prior, 1 - prior]))
        printed = (joint * d.f(fitness(joint))).sum()
        assert close(printed, f_divergence(joint, "pearson")) == equal


# ---------------------------------------------------------------------- Proposition 10 and Lemma 1


def test_proposition_10_formula_fails():
    """A perfect classifier of balanced labels at e+ = e- = .2: P~/Q~ - 1 is .6, the formula gives .15."""
    joint = EYE[2] / 2
    noisy_joint = noisy(joint, uniform((0.2, 0.2)))
    assert close(fitness(noisy_joint)[0, 0] - 1, 0.6)
    p, tilde, given = 0.5, noisy_joint.sum(0)[0], joint / joint.sum(0)
    printed = p * (1 - p) * (p * given[0, 0] - (1 - p) * given[0, 1]) * 0.6 / tilde
    assert close(printed, 0.15)


def test_proposition_10_corrected_formula_holds():
    """x~ = eps p_y' / p~_y' x = eps p_y' (1 - p_y') [P(h=y|Y=y') - P(h=y|Y=-y')] / (p~_y' P(h=y))."""
    for rng, joint, _ in cases("kl", (2,), 20):
        e = random_rates(rng, 2)
        p, tilde, given = joint.sum(0), noisy(joint, uniform(e)).sum(0), joint / joint.sum(0)
        after = fitness(noisy(joint, uniform(e))) - 1
        used = joint.sum(1) > 0
        first = (1 - e.sum()) * p / tilde * (fitness(joint) - 1)
        second = (1 - e.sum()) * p * (1 - p) * (given - given.flip(1)) / (tilde * joint.sum(1, keepdim=True))
        torch.testing.assert_close(after[used], first[used], rtol=1e-11, atol=1e-13)
        torch.testing.assert_close(after[used], second[used], rtol=1e-11, atol=1e-13)


def test_proposition_10_holds_uniformly_where_the_noisy_prior_does_not_vanish():
    """abs(P~/Q~ - 1) <= eps max(p, 1-p) / p~_y: 2 000 random tables and rates; a pure answer attains it."""
    p, tpr, fpr, e_minus, e_plus = t64(np.random.default_rng(10).random((5, 2000)))
    flip = e_plus + e_minus > 1
    e_plus, e_minus = torch.where(flip, 1 - e_plus, e_plus), torch.where(flip, 1 - e_minus, e_minus)
    T = torch.stack([1 - e_plus, e_plus, e_minus, 1 - e_minus], 1).reshape(-1, 2, 2)
    noisy_joints = many_binary(p, tpr, fpr) @ T
    bound = ((1 - e_plus - e_minus) * torch.maximum(p, 1 - p))[:, None] / noisy_joints.sum(1)
    assert ((many_ratios(noisy_joints) - 1).abs() <= bound[:, None] + 1e-12).all()
    pure = noisy(binary(0.7, 0.0, 0.4), uniform((0.3, 0.2)))  # +1 is answered to examples of -1 only
    assert close((fitness(pure) - 1).abs()[0, 1], 0.5 * 0.7 / pure.sum(0)[1])


@each_smooth
def test_lemma_1_holds_wherever_the_noisy_prior_does_not_vanish(name):
    """The largest abs(Bias(h, g~*)) / eps^2 of 400 classifiers settles, for 12 limits of the rates up to .95.

    The limits (e+, e-) = (a, 1 - a) have one rate above 1/2 unless both are 1/2.
    """
    d, rng = divergence(name), np.random.default_rng(11)
    for a, p in itertools.product((0.05, 0.25, 0.5, 0.75), (0.2, 0.5, 0.7)):
        joints, largest = many_binary([p] * 400, *rng.random((2, 400))), []
        for eps in (0.03, 0.003, 0.0003):
            e_minus, e_plus = 1 - a - eps / 2, a - eps / 2
            noisy_joints = joints @ uniform((e_minus, e_plus))
            g = d.derivative(many_ratios(noisy_joints))
            change = (joints.sum(2, keepdim=True) * (g - d.conjugate(g))).sum(1)
            largest.append(((e_minus * change[:, 0] + e_plus * change[:, 1]).abs().max() / eps**2).item())
        assert largest[2] == pytest.approx(largest[1], rel=0.1)
        assert 1e-3 < largest[2] < 100


@each_smooth
def test_lemma_1_fails_where_a_noisy_class_vanishes(name):
    """e+ = 1 - 2 eps and e- = eps: Bias / eps tends to -1/9 for Pearson, and to no 0 for any smooth f."""
    joint, ratios = EYE[2] / 2, []
    for eps in (1e-3, 1e-5):
        e = (eps, 1 - 2 * eps)
        noisy_joint = noisy(joint, uniform(e))
        ratios.append((bias(noisy_joint, optimal_g(noisy_joint, name), name, e) / eps).item())
    assert ratios[1] == pytest.approx(ratios[0], rel=0.01)
    assert ratios[1] < -0.03
    if name == "pearson":
        assert ratios[1] == pytest.approx(-1 / 9, abs=1e-4)


def test_at_low_noise_the_bias_need_not_vanish():
    """A perfect balanced classifier at e = .001, where Neyman's is about -1/(4e); as e falls it grows."""
    measured = {}
    for name, e in itertools.product(INFINITE, (1e-3, 1e-6)):
        noisy_joint = noisy(EYE[2] / 2, uniform((e, e)))
        measured[name, e] = bias(noisy_joint, optimal_g(noisy_joint, name), name, (e, e)).item()
    low = {name: measured[name, 1e-3] for name in INFINITE}
    assert low == pytest.approx({"neyman": -249.0, "reverse-kl": -0.493, "jeffrey": -0.4985}, rel=1e-3)
    assert measured["neyman", 1e-6] == pytest.approx(-1 / 4e-6, rel=1e-4)
    assert measured["reverse-kl", 1e-6] == pytest.approx(-0.5, abs=1e-4)
    for name in FINITE:
        noisy_joint = noisy(EYE[2] / 2, uniform((1e-6, 1e-6)))
        assert abs(bias(noisy_joint, optimal_g(noisy_joint, name), name, (1e-6, 1e-6))) < 1e-3


def test_bias_does_not_vanish_beside_the_noisy_divergence():
    """KL at e+ = e- = .1, .3, .45, .49, .499: Bias / VD~ goes to -1, where Section 4.1 expects 0."""
    joint, measured = t64([[0.42, 0.06], [0.08, 0.44]]), []
    for e in (0.1, 0.3, 0.45, 0.49, 0.499):
        noisy_joint = noisy(joint, uniform((e, e)))
        value = bias(noisy_joint, optimal_g(noisy_joint, "kl"), "kl", (e, e)) / f_divergence(
            noisy_joint, "kl"
        )
        measured.append(value.item())
    assert measured == pytest.approx([-0.229, -0.618, -0.902, -0.980, -0.998], abs=5e-4)


@each_smooth
def test_bias_tends_to_minus_the_noisy_divergence(name):
    """As e+ + e- -> 1, Bias / VD~ -> -1 and Bias / (eps VD(h, g~*)) -> -1/2 for every smooth f.

    40 random tables and limits of the rates, at eps = 1e-3.
    """
    rng, eps = np.random.default_rng(12), 1e-3
    for _ in range(40):
        joint, a = (
            binary(rng.uniform(0.2, 0.8), rng.uniform(0.6, 0.9), rng.uniform(0.1, 0.4)),
            rng.uniform(0.2, 0.8),
        )
        e = (1 - a - eps / 2, a - eps / 2)
        noisy_joint = noisy(joint, uniform(e))
        g = optimal_g(noisy_joint, name)
        value = bias(noisy_joint, g, name, e)
        assert (value / f_divergence(noisy_joint, name)).item() == pytest.approx(-1, abs=0.02)
        assert (value / (eps * variational_difference(joint, g, name))).item() == pytest.approx(
            -0.5, abs=0.02
        )


@each_smooth
def test_under_much_noise_every_smooth_divergence_is_pearson(name):
    """D_f~ / D_Pearson~ -> f''(1) / 2, so that it ranks classifiers as Pearson does, not as D_f did."""
    d, one = divergence(name), torch.ones((), dtype=torch.float64)
    curvature = (d.derivative(one + 1e-5) - d.derivative(one - 1e-5)) / 2e-5
    for _, joint, _ in cases(name, (2,), 6):
        noisy_joint = noisy(joint, uniform((0.4995, 0.4995)))
        ratio = f_divergence(noisy_joint, name) / f_divergence(noisy_joint, "pearson")
        assert ratio.item() == pytest.approx(curvature.item() / 2, rel=0.02)


# ---------------------------------------------------------------------- Theorems 6, 8 and 11


@each
def test_theorem_6_condition_2_suffices_and_is_almost_never_met(name):
    """Bias(h, g~*) <= Bias(h*, g*) never misleads; besides TV it holds for one pair in thousands at most."""
    d, rng, n = divergence(name), np.random.default_rng(0), 20_000
    p, e_plus, e_minus = t64(rng.uniform(0.05, 0.95, n)), *t64(rng.random((2, n)))
    flip = e_plus + e_minus > 1
    e_plus, e_minus = torch.where(flip, 1 - e_plus, e_plus), torch.where(flip, 1 - e_minus, e_minus)
    T = torch.stack([1 - e_plus, e_plus, e_minus, 1 - e_minus], 1).reshape(n, 2, 2)

    def biases(P, g):
        change = (P.sum(2, keepdim=True) * (g - d.conjugate(g))).sum(1)
        return e_minus * change[:, 0] + e_plus * change[:, 1]

    first, second = (many_binary(p, *rng.random((2, n))) for _ in range(2))
    swap = (many_divergences(second, name) > many_divergences(first, name))[:, None, None]
    best, other = torch.where(swap, second, first), torch.where(swap, first, second)
    met = biases(other, d.derivative(many_ratios(other @ T))) <= biases(best, d.derivative(many_ratios(best)))
    loss = many_divergences(other @ T, name) - many_divergences(best @ T, name)
    assert (loss[met] <= 1e-13).all()
    assert met.all() if name == "tv" else met.double().mean() < 1e-3


@each
def test_theorem_6_condition_1_is_met_by_multiples_of_tv_alone(name):
    """The bias is constant in g only if u - f*(u) is, and then f(v) = sup_{a <= u <= b} u (v - 1).

    Such an f, with any slopes -a and b on the two sides of 1, has D_f = (b - a) TV: 50 random ones.
    """
    d = divergence(name)
    u = d.activation(t64(np.linspace(-1, 1, 9)))
    assert (np.ptp((u - d.conjugate(u)).numpy()) < 1e-12) == (name == "tv")
    for seed in range(20):  # the bias itself: of two constant g it is e_1 + ... + e_K times u - f*(u)
        rng = np.random.default_rng([ALL.index(name), seed])
        joint, e = random_joint(rng, 3, 4), random_rates(rng, 4)
        low, high = (bias(joint, torch.full_like(joint, float(end)), name, e) for end in (u[0], u[-1]))
        assert close(high - low, e.sum() * ((u - d.conjugate(u))[-1] - (u - d.conjugate(u))[0]))
    if name == "tv":
        line = t64(np.linspace(-40, 40, 160_001))
        for seed in range(50):
            rng = np.random.default_rng(seed)
            joint, (left, right) = random_joint(rng, 3, 4), rng.random(2)
            ratio = fitness(joint) - 1
            value = (product(joint) * (right * ratio.clamp(min=0) + left * (-ratio).clamp(min=0))).sum()
            assert close(value, (left + right) * f_divergence(joint, "tv"))
            f = torch.maximum(right * (line - 1), left * (1 - line))
            for u in np.linspace(-left, right, 5):  # where f* is finite it is u
                assert (u * line - f).max().item() == pytest.approx(u, abs=1e-9)


def test_theorem_6_proof_needs_the_factor_epsilon():
    """Its last line but one drops 1 - e+ - e-: for TV it would read D_f = D_f~."""
    joint, e = binary(0.5, 0.9, 0.2), (0.1, 0.2)
    without = f_divergence(joint, "tv")  # the bias of TV is 0
    assert close(f_divergence(noisy(joint, uniform(e)), "tv"), 0.7 * without)
    assert not close(f_divergence(noisy(joint, uniform(e)), "tv"), without)


@each
def test_noisy_divergence_lies_in_a_sandwich(name):
    """eps D + Bias(h, g*) <= D~ <= eps D + Bias(h, g~*) <= eps D for every f, in place of Theorem 8."""
    for rng, joint, _ in cases(name):
        joint = 0.9 * joint + 0.1 * product(joint)
        joint = (joint + 1e-3) / (joint + 1e-3).sum()
        e = random_rates(rng, joint.shape[1])
        noisy_joint = noisy(joint, uniform(e))
        scaled = (1 - e.sum()) * f_divergence(joint, name)
        lower = scaled + bias(joint, optimal_g(joint, name), name, e)
        upper = scaled + bias(joint, optimal_g(noisy_joint, name), name, e)
        value = f_divergence(noisy_joint, name)
        assert lower - 1e-12 <= value <= upper + 1e-12
        assert upper <= scaled + 1e-12


PRINTED_T = {
    "js": lambda x: torch.log(4 * x / (1 + x) ** 2),
    "squared-hellinger": lambda x: 2 - x.sqrt() - 1 / x.sqrt(),
    "pearson": lambda x: -((x - 1) ** 2),
    "neyman": lambda x: -((1 / x - 1) ** 2),
    "kl": lambda x: 1 + x.log() - x,
    "reverse-kl": lambda x: 1 - x.log() - 1 / x,
    "jeffrey": lambda x: 2 - x - 1 / x,  # not printed: the theorem excludes it
}


@each_smooth
def test_theorem_8_needs_no_exception_for_jeffrey(name):
    """t(x) = f(x) - (x - 1) f'(x) for every f, and it falls away from x = 1 on both sides: f'' >= 0."""
    d, x = divergence(name), torch.exp(torch.linspace(-4, 4, 401, dtype=torch.float64))
    t = d.f(x) - (x - 1) * d.derivative(x)
    torch.testing.assert_close(t, PRINTED_T[name](x), rtol=1e-9, atol=1e-9)
    g = d.derivative(x)
    torch.testing.assert_close(t, g - d.conjugate(g), rtol=1e-9, atol=1e-9)
    assert (torch.diff(t[:201]) > 0).all()
    assert (torch.diff(t[200:]) < 0).all()


def in_h_star(joint, best, T) -> bool:
    """Whether h is in the paper's H* beside h* itself: min FIT(h=y, Y~=y) >= max FIT(h*=y, Y=y) >= 1."""
    largest = fitness(best).diagonal().max()
    return bool(fitness(noisy(joint, T)).diagonal().min() >= largest >= 1)


@each
def test_theorem_8_speaks_of_no_classifier_but_the_optimal_one(name):
    """Balanced labels and e+ = e-: of all classifiers of five x, only h* satisfies the definition of H*.

    An h in H* fits the clean labels better than h* everywhere, so that D_f(h) > D_f(h*).
    """
    for seed in range(8):
        rng = np.random.default_rng(seed)
        xy, T = random_joint(rng, 5, 2), uniform((rng.uniform(0.05, 0.45),) * 2)
        tables = [classify(xy / xy.sum(0) / 2, h) for h in classifiers(5, 2)]
        family = [tables[i] for i in rng.permutation(len(tables))[: rng.integers(2, 32)]]
        best = max(family, key=lambda joint: f_divergence(joint, name))
        if f_divergence(best, name) > 1e-12:
            assert not any(in_h_star(joint, best, T) for joint in family)


def test_theorem_8_would_speak_of_others_without_noise_or_without_information():
    """At e = 0 a second h of the same table is in H*, and if D_f(h*) = 0 so is every h that knows nothing."""
    first, clean = binary(0.5, 0.8, 0.2), uniform((0.0, 0.0))
    assert in_h_star(first, first, clean)
    assert not in_h_star(first, first, uniform((0.1, 0.1)))
    nothing, other = binary(0.5, 0.3, 0.3), binary(0.5, 0.5, 0.5)
    assert in_h_star(other, nothing, uniform((0.1, 0.1)))


@each_smooth
def test_theorem_11_proof_needs_an_optimal_classifier_that_is_not_reversed(name):
    """40 random pairs with h* the opposite of a good classifier: h is in H*_-, but not in H*."""
    rng = np.random.default_rng(13)
    for _ in range(40):
        tpr, fpr, e = rng.uniform(0.8, 0.95), rng.uniform(0.05, 0.2), rng.uniform(0.05, 0.4)
        reversed_best, poor = binary(0.5, 1 - tpr, 1 - fpr), binary(0.5, *rng.uniform(0.4, 0.6, 2))
        T = uniform((e, e))
        assert f_divergence(reversed_best, name) > f_divergence(poor, name)
        opposite = fitness(noisy(poor, T)).flip(0).diagonal().max()  # FIT(h = -y, Y~ = y)
        assert opposite <= fitness(reversed_best).flip(0).diagonal().min(), "so h is in H*_-"
        assert not in_h_star(poor, reversed_best, T)


@each_smooth
def test_theorem_11_bias_claim_fails_at_the_optimal_classifier(name):
    """It asserts Bias(h*, g*) >= Bias(h, g~*) on H*, whose one member is h*: the opposite is true there.

    40 random classifiers and rates.
    """
    rng = np.random.default_rng(14)
    for _ in range(40):
        joint, e = binary(0.5, rng.uniform(0.6, 0.95), rng.uniform(0.05, 0.4)), (rng.uniform(0.05, 0.45),) * 2
        noisy_joint = noisy(joint, uniform(e))
        at_clean, at_noisy = (bias(joint, optimal_g(table, name), name, e) for table in (joint, noisy_joint))
        assert at_clean < at_noisy - 1e-5


@each_smooth
def test_theorem_11_upper_bound_takes_the_wrong_extreme(name):
    """t(max FIT) is the smallest t, not the largest: the claimed upper bound of the bias lies below it."""
    joint, e = binary(0.5, 0.3, 0.05), (0.1, 0.1)
    noisy_joint = noisy(joint, uniform(e))
    fit, t = fitness(noisy_joint), PRINTED_T[name]
    claimed = 0.1 * (t(fit.diagonal().max()) + t(fit.flip(1).diagonal().min()))
    value = bias(noisy_joint, optimal_g(noisy_joint, name), name, e)
    assert claimed < value - 1e-3


def test_the_crosses_contradict_theorem_8():
    """It says robust for all of the table but Jeffrey; the table crosses three of those and ticks Jeffrey."""
    theorem = set(ALL) - {"jeffrey"}
    crossed = {name for name in ALL if divergence(name).robust_in_paper is False}
    assert crossed == set(DECREASING) == {"squared-hellinger", "neyman", "reverse-kl"}
    assert crossed < theorem
    assert divergence("jeffrey").robust_in_paper
    for name in crossed:  # and the hypothesis of the theorem is theirs: t decreases away from 1
        x = t64(np.exp(np.linspace(0, 3, 50)))
        assert (torch.diff(PRINTED_T[name](x)) < 0).all()
        assert (torch.diff(PRINTED_T[name](1 / x)) < 0).all()


def test_misprints_in_the_proofs():
    """The printed step against the right one, on 30 random binary tables: each makes a difference."""
    rng = np.random.default_rng(15)
    for _ in range(30):
        joint = binary(rng.uniform(0.3, 0.7), rng.uniform(0.6, 0.9), rng.uniform(0.1, 0.35))
        x = fitness(joint) - 1

        # Lemma 1, squared Hellinger: g - f*(g) = -g^2 / (1 - g), printed without the minus.
        d = divergence("squared-hellinger")
        g = d.derivative(1 + x)
        torch.testing.assert_close(g - d.conjugate(g), -(g**2) / (1 - g))
        torch.testing.assert_close(g - d.conjugate(g), 2 - (1 + x).sqrt() - (1 + x).rsqrt())
        # Lemma 1, Neyman: g - f*(g) = g - 2 + 2 sqrt(1 - g), printed with -2 sqrt.
        d = divergence("neyman")
        g = d.derivative(1 + x)
        torch.testing.assert_close(g - d.conjugate(g), g - 2 + 2 * (1 - g).sqrt())
        assert ((g - 2 - 2 * (1 - g).sqrt()) - (g - d.conjugate(g))).abs().min() > 1e-3
        # Theorem 8, reverse KL: g~* = -P(h) / P(h|Y~), printed as the logarithm, which leaves the domain.
        d = divergence("reverse-kl")
        torch.testing.assert_close(d.derivative(1 + x), -1 / (1 + x))
        assert not d.domain.contains(torch.log(1 + x)).all()
        # Theorem 8, KL: the denominator is P(h=y), printed P(h=y').
        given = joint / joint.sum(0)
        printed = 1 + torch.log(given / joint.sum(1))
        assert (printed - divergence("kl").derivative(1 + x)).abs().max() > 1e-6
        # Theorem 8, squared Hellinger: conditions on Y~ = y', printed Y~ = y.
        printed = (1 - (joint.sum(1) / given.diagonal()).sqrt())[:, None].expand(2, 2)
        assert (printed - divergence("squared-hellinger").derivative(1 + x)).abs().max() > 1e-3
        # Theorem 1, case 1: the last term is +P(h=-1) P(Y=+1).
        excess = joint - product(joint)
        signs = t64([[1, -1], [-1, 1]])
        assert close((signs * excess).sum(), excess.abs().sum())
        assert not close((signs * excess).sum() - 2 * product(joint)[1, 0], excess.abs().sum(), 1e-3)
        # Theorem 7: minimising would return a constant classifier, with or without noise.
        constant = joint.sum(0) * t64([[1.0], [0.0]])
        assert max(f_divergence(P, "tv") for P in (constant, noisy(constant, uniform((0.1, 0.2))))) < 1e-15


def test_the_conjugates_of_tv_and_pearson_need_f_on_the_whole_line():
    """sup over v >= 0 is -1/2 for TV below u = -1/2 and -1 for Pearson below -2; D_f does not see it."""
    line, half = t64(np.linspace(-60, 60, 240_001)), t64(np.linspace(0, 60, 120_001))
    for name, below, floor in (("tv", -0.5, -0.5), ("pearson", -2.0, -1.0)):
        d = divergence(name)
        for u in np.linspace(below - 3, below - 0.1, 8):
            assert (u * half - d.f(half)).max().item() == pytest.approx(floor)
            whole = (u * line - d.f(line)).max().item()
            if name == "tv":
                assert d.conjugate(t64(u)) == math.inf
                assert whole > 1  # and grows with the line
            else:
                assert whole == pytest.approx(d.conjugate(t64(u)).item(), abs=1e-6)
                assert whole > floor + 1e-3
        for u in np.linspace(below, 0.5, 8):
            assert (u * half - d.f(half)).max().item() == pytest.approx(d.conjugate(t64(u)).item(), abs=1e-6)


@each
def test_algorithm_1_bounds_a_divergence_that_does_not_depend_on_the_classifier(name):
    """Its objective is at most D_f(X; Y~), in 60 random problems; but it may exceed D_f(h(X); Y~).

    K = 10 and a model that puts .51 on class 0 and .49 on the right class: h is constant and D_f(h) = 0.
    """
    d = divergence(name)
    for K, seed in itertools.product(range(2, 8), range(10)):
        rng = np.random.default_rng([K, seed])
        xy, v = random_joint(rng, 6, K), t64(rng.dirichlet(np.full(K, 0.5), 6))
        table = noisy(xy, random_transition(rng, K))
        value = (table * d.activation(v)).sum() - (product(table) * d.conjugate_of_activation(v)).sum()
        assert value <= f_divergence(table, name) + 1e-12
    perfect = EYE[10] / 10
    v = 0.49 * EYE[10]
    v[:, 0] += 0.51
    value = (perfect * d.activation(v)).sum() - (product(perfect) * d.conjugate_of_activation(v)).sum()
    assert f_divergence(classify(perfect, v.argmax(1)), name) == 0
    assert value > 0.05


# ---------------------------------------------------------------------- the optimum with a fixed g_f


def objective(name, posterior, prior, printed=False):
    d = divergence(name)
    g = d.printed_activation if printed else d.activation
    return lambda v: posterior * g(v) - prior * d.conjugate(g(v))


def random_beliefs(rng, n: int, K: int):
    """Posteriors near and far from the prior, even and uneven."""
    prior = rng.dirichlet(np.full(K, rng.choice([0.5, 2, 20])))
    far = rng.dirichlet(np.full(K, rng.choice([0.3, 1, 5])), n)
    near = prior * np.exp(rng.choice([0.1, 0.5, 1.5]) * rng.normal(size=(n, K)))
    mixed = np.where(rng.random((n, 1)) < 0.5, far, near / near.sum(1, keepdims=True))
    return t64(mixed), t64(prior)


AS_RUN = [(name, False) for name in ALL] + [(name, True) for name in DECREASING]
each_as_run = pytest.mark.parametrize(("name", "printed"), AS_RUN)


@each_as_run
def test_fixed_g_optimum_against_all_points_of_a_fine_grid(name, printed):
    N = 200
    line = torch.linspace(0, 1, 20_001, dtype=torch.float64)
    triangle = [(i, j, N - i - j) for i in range(N + 1) for j in range(N + 1 - i)]
    grids = {2: torch.stack([line, 1 - line], 1), 3: t64(triangle) / N}
    for (K, grid), seed in itertools.product(grids.items(), range(4)):
        posterior, prior = random_beliefs(np.random.default_rng([K, seed]), 3, K)
        v = fixed_g_optimum(name, posterior, prior, printed)
        assert (v >= 0).all()
        assert torch.allclose(v.sum(1), t64([1.0] * 3))
        reached = objective(name, posterior, prior, printed)(v).sum(1)
        for row, value in zip(posterior, reached, strict=True):
            brute = objective(name, row, prior, printed)(grid).sum(1)
            assert brute.max() - 1e-14 <= value <= brute.max() + 1e-3


@each_as_run
def test_fixed_g_optimum_against_dynamic_programming(name, printed):
    """Five and ten classes, on a grid of 1/300 computed here in NumPy."""
    N = 300
    for K, seed in itertools.product((5, 10), range(2)):
        posterior, prior = random_beliefs(np.random.default_rng([K, seed, 7]), 2, K)
        v = fixed_g_optimum(name, posterior, prior, printed)
        reached = objective(name, posterior, prior, printed)(v).sum(1)
        levels = torch.arange(N + 1, dtype=torch.float64)[:, None] / N
        for row, value in zip(posterior, reached, strict=True):
            terms = objective(name, row, prior, printed)(levels.expand(-1, K)).numpy().T
            best = terms[0]
            for term in terms[1:]:
                best = np.array([(best[: s + 1][::-1] + term[: s + 1]).max() for s in range(N + 1)])
            assert best[N] - 1e-14 <= value.item() <= best[N] + 2e-3


@each_as_run
def test_fixed_g_optimum_satisfies_its_conditions_with_a_hundred_classes(name, printed):
    """Classes with mass have one slope, the others none above it: sufficient where all terms are concave."""
    posterior, prior = random_beliefs(np.random.default_rng(5), 4, 100)
    v = fixed_g_optimum(name, posterior, prior, printed).requires_grad_()
    total = objective(name, posterior, prior, printed)(v).sum()
    (slope,) = torch.autograd.grad(total, v)
    for mass, s in zip(v.detach(), slope, strict=True):
        used = mass > 1e-9
        assert (s[used].max() - s[used].min()) < 1e-7
        assert used.all() or s[~used].max() <= s[used].min() + 1e-7


def test_fixed_g_optimum_where_the_objective_is_not_concave():
    """Neyman: a rare label takes the mass that costs the others more, though less likely than usual."""
    prior = t64([0.05, 0.475, 0.475])
    posterior = (prior * t64([0.6, 1.02, 1.0221]))[None]
    v = fixed_g_optimum("neyman", posterior / posterior.sum(), prior)[0]
    assert v[0] > 0.7
    assert posterior[0, 0] / prior[0] < 1


def test_fixed_g_optimum_where_climbing_alone_ends_at_the_wrong_vertex():
    """Printed Neyman: from equal shares the way up leads to class 0, the highest point is class 2."""
    posterior, prior = t64([[0.105, 0.894, 0.001]]), t64([0.412, 0.302, 0.286])
    assert torch.equal(fixed_g_optimum("neyman", posterior, prior, printed=True), t64([[0.0, 0.0, 1.0]]))
    heights = objective("neyman", posterior, prior, True)
    assert heights(t64([0.0, 0.0, 1.0])).sum() > heights(t64([1.0, 0.0, 0.0])).sum() + 0.01


def test_climbing_does_not_overshoot():
    """Where the slope hardly changes a Newton step goes too far: without damping it would jump for ever."""
    top = _climb(lambda v: -torch.log(torch.cosh(40 * (v - 0.3))) * t64([1.0, 0.0]), t64([[0.9, 0.1]]))
    torch.testing.assert_close(top, t64([[0.3, 0.7]]))


@each
def test_one_hot_outputs_are_an_alpha_peer_loss(name):
    """For one-hot v the objective is affine in E_P[1(h = y)] - rho_f E_Q[1(h = y)]: 40 random tables."""
    d, ends = divergence(name), t64([0.0, 1.0])
    (g0, g1), (s0, s1) = d.activation(ends), d.conjugate_of_activation(ends)
    rho = {"tv": 1, "js": 1.632, "squared-hellinger": 2.718, "pearson": 1.25, "neyman": 1.245, "kl": 0.632,
           "reverse-kl": 1.582, "jeffrey": 1.330}  # fmt: skip
    assert (s1 - s0) / (g1 - g0) == pytest.approx(rho[name], abs=1e-3)
    for K, seed in itertools.product(range(2, 7), range(8)):
        rng = np.random.default_rng([K, seed, 20])
        xy, answers = random_joint(rng, 6, K), rng.integers(K, size=6)
        g = d.activation(torch.eye(K, dtype=torch.float64)[answers])
        agreement, chance = (table[range(6), answers].sum() for table in (xy, product(xy)))
        peer = (g1 - g0) * (agreement - (s1 - s0) / (g1 - g0) * chance)
        assert close(variational_difference(xy, g, name), peer + g0 - s0, 1e-11)


# ---------------------------------------------------------------------- the ceiling

PAIRS = neighbours(10)
SETTINGS = {
    "clean": EYE[10],
    "symmetric .4": uniform([0.4 / 9] * 10),
    "mnist uniform .42": uniform([0.05, 0.045, 0.047, 0.055, 0.053, 0.022, 0.068, 0.054, 0.056, 0.02]),
    "mnist uniform .74": uniform([0.08, 0.075, 0.09, 0.085, 0.07, 0.082, 0.077, 0.091, 0.092, 0.08]),
    "sparse .3/.2": sparse(PAIRS, 0.3, 0.2),
    "sparse .3/.1": sparse(PAIRS, 0.3, 0.1),
    "sparse .6/.2": sparse(PAIRS, 0.6, 0.2),
    "sparse .7/.2": sparse(PAIRS, 0.7, 0.2),
}
HIGH = ("sparse .6/.2", "sparse .7/.2")


@pytest.mark.parametrize("setting", SETTINGS)
def test_ceiling_of_the_fixed_g_objective(setting):
    """Separable, balanced: 1, but 1/2 where half the classes have a wrong label in the majority."""
    T = SETTINGS[setting]
    for name in ALL:
        lucky = (name, setting) == ("squared-hellinger", "sparse .6/.2")
        assert ceiling(name, T) == pytest.approx(0.5 if setting in HIGH and not lucky else 1)


@pytest.mark.parametrize("setting", SETTINGS)
def test_ceiling_of_the_printed_decreasing_activations_is_zero(setting):
    for name, scores in itertools.product(DECREASING, ("probabilities", "logits")):
        assert ceiling(name, SETTINGS[setting], scores=scores, printed=True) == 0


@pytest.mark.parametrize("setting", SETTINGS)
def test_ceiling_of_free_scores_is_that_of_the_ratio_rule(setting):
    """Always 1. TV saturates: in a sparse pair both labels exceed their prior, a tie that counts 1/2."""
    T = SETTINGS[setting]
    assert ceiling("ratio", T) == pytest.approx(1)
    for name in ALL:
        tied = name == "tv" and setting.startswith("sparse")
        assert ceiling(name, T, scores="logits") == pytest.approx(0.5 if tied else 1)


@pytest.mark.parametrize("setting", SETTINGS)
def test_ceiling_of_cross_entropy_and_peer_loss(setting):
    for rule in ("cross-entropy", "peer"):
        assert ceiling(rule, SETTINGS[setting]) == pytest.approx(0.5 if setting in HIGH else 1)


def test_ceiling_of_an_alpha_peer_loss_has_a_window():
    """argmax P(Y~|x) - alpha P(Y~) is right for 4 < alpha < 6 at .7/.2 and for 2.5 < alpha < 7.5 at .6/.2."""
    for setting, low, high in (("sparse .7/.2", 4, 6), ("sparse .6/.2", 2.5, 7.5)):
        for alpha in (low - 0.1, low + 0.1, high - 0.1, high + 0.1):
            value = ceiling(lambda posterior, prior, a=alpha: posterior - a * prior, SETTINGS[setting])
            assert value == pytest.approx(1 if low < alpha < high else 0.5)


def test_ceiling_of_a_hundred_classes():
    T = sparse(neighbours(100), 0.65, 0.2)
    assert ceiling("neyman", T) == pytest.approx(0.5)
    assert ceiling("neyman", T, printed=True) == 0
    assert ceiling("ratio", T) == pytest.approx(1)


def test_ties_are_shared():
    nothing = torch.full((4, 4), 0.25)
    for rule in (*DECISION_RULES, *ALL):
        torch.testing.assert_close(decide(rule, nothing), t64(nothing))
        assert ceiling(rule, nothing) == pytest.approx(0.25)
    for rule in ("peer", "ratio", "tv"):  # nothing learnt, although one label is more frequent
        assert decide(rule, [[0.7, 0.3], [0.7, 0.3]]).tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert decide("neyman", torch.eye(3), printed=True).tolist() == [
        [0, 0.5, 0.5],
        [0.5, 0, 0.5],
        [0.5, 0.5, 0],
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tv", (0.5, 0.5)),
        ("kl", (0.3820, 0.3426)),
        ("pearson", (0.575, 0.6)),
        ("neyman", (0.5852, 0.6136)),
        ("jeffrey", (0.5916, 0.6221)),
        ("js", (0.6946, 0.7595)),
        ("reverse-kl", (0.6946, 0.7595)),
    ],
)
def test_where_asymmetric_noise_moves_the_decision_to(name, expected):
    """At (e+, e-) = (.1, .4) and (.05, .45), where Bayes answers +1 from 1/2 on."""
    for threshold, (e_plus, e_minus) in zip(expected, ((0.1, 0.4), (0.05, 0.45)), strict=True):
        near = t64([threshold - 1e-3, threshold + 1e-3])
        eta = torch.cat([near, 1 - near])
        plus = decide(name, uniform((e_minus, e_plus)), torch.stack([eta, 1 - eta], 1) / 4)[:, 0]
        assert plus[:2].tolist() == [0, 1]


def test_uniform_noise_moves_cross_entropy_but_not_the_peer_rule():
    """P(Y~|x) - P(Y~) is (1 - sum e) times what it is without noise."""
    moved = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        xy = random_joint(rng, 8, 5)
        T = uniform(random_rates(rng, 5, 0.8))
        assert torch.equal(decide("peer", T, xy), decide("peer", torch.eye(5), xy))
        best = (xy / xy.sum(1, keepdim=True) - xy.sum(0)).argmax(1)
        assert torch.equal(decide("peer", T, xy).argmax(1), best)
        moved += not torch.equal(decide("cross-entropy", T, xy), decide("cross-entropy", torch.eye(5), xy))
    assert moved > 5


@each
def test_free_scores_decide_by_the_prior(name):
    """With v = logits every divergence answers +1 where P(Y=+1|x) > P(Y=+1), under any binary noise."""
    rng = np.random.default_rng(3)
    xy = random_joint(rng, 9, 2)
    eta, prior = xy[:, 0] / xy.sum(1), xy[:, 0].sum()
    for _ in range(5):
        T = uniform(random_rates(rng, 2))
        assert torch.equal(decide(name, T, xy, scores="logits")[:, 0], (eta > prior).double())


def test_ceiling_of_a_problem_that_is_not_separable():
    """The ceiling of cross-entropy without noise is Bayes; an x that never occurs changes nothing."""
    xy = random_joint(np.random.default_rng(0), 6, 4)
    assert ceiling("cross-entropy", torch.eye(4), xy) == pytest.approx(xy.max(1).values.sum().item())
    more = torch.cat([xy, torch.zeros(1, 4, dtype=torch.float64)])
    T = random_transition(np.random.default_rng(1), 4)
    for rule in (*DECISION_RULES, "kl", "tv"):
        assert ceiling(rule, T, more) == pytest.approx(ceiling(rule, T, xy))
    unused = torch.diag(t64([0.5, 0.5, 0.0]))
    for rule, scores in itertools.product(("ratio", "kl", "tv"), ("probabilities", "logits")):
        assert ceiling(rule, torch.eye(3), unused, scores=scores) == pytest.approx(1)
