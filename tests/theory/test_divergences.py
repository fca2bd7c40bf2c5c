"""Every registered divergence satisfies the same properties, and the paper's eight match their table.

A ``check_*`` function states one property of any ``Divergence``. ``test_property`` runs all of them on all
registered names, ``test_ninth`` on a divergence that only these tests know.
"""

from __future__ import annotations

import dataclasses
import itertools
import math

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import jensenshannon
from scipy.special import lambertw, rel_entr

from fdiv.theory.divergences import DIVERGENCES, Divergence, Interval, divergence, register, registered

PAPER_NAMES = ("tv", "js", "squared-hellinger", "pearson", "neyman", "kl", "reverse-kl", "jeffrey")

# Deterministic, and without a database on disk: a failure today is a failure tomorrow.
modest = settings(
    max_examples=30,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.differing_executors],
)


def real(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high, allow_nan=False)


def t64(x) -> torch.Tensor:
    return torch.as_tensor(x, dtype=torch.float64)


def inside(domain: Interval, x):
    """Maps the real line increasingly onto the interior of ``domain``."""
    x = t64(x)
    if math.isinf(domain.low) and math.isinf(domain.high):
        return torch.sinh(x)
    if math.isinf(domain.low):
        return domain.high - torch.exp(-x)
    if math.isinf(domain.high):
        return domain.low + torch.exp(x)
    return (domain.low + domain.high) / 2 + (domain.high - domain.low) / 2 * torch.tanh(x)


def supremum(objective, grid: torch.Tensor) -> float:
    """The largest value of a concave ``objective``: the best grid point, refined between its neighbours."""
    values = torch.nan_to_num(objective(grid), nan=-math.inf, neginf=-math.inf)
    best = int(values.argmax())
    low, high = grid[max(best - 1, 0)].item(), grid[min(best + 1, len(grid) - 1)].item()
    refined = minimize_scalar(
        lambda x: -objective(t64(x)).item(), bounds=(low, high), method="bounded", options={"xatol": 1e-12}
    )
    return max(values[best].item(), -refined.fun)


def grid_of_v(d: Divergence) -> torch.Tensor:
    positive = torch.exp(torch.linspace(-30, 30, 1201, dtype=torch.float64))
    return torch.cat([-positive.flip(0) if d.on_line else t64([]), t64([0.0]), positive])


def grid_of_u(d: Divergence) -> torch.Tensor:
    ends = [u for u in (d.domain.low, d.domain.high) if math.isfinite(u) and d.domain.contains(u)]
    return torch.cat([inside(d.domain, torch.linspace(-16, 16, 1281)), t64(ends)]).unique()


@st.composite
def tables(draw, min_count: int = 0, size: int | None = None):
    """Two probability tables of one size; with ``min_count=0`` some entries are exactly 0."""
    n = size or draw(st.integers(2, 6))
    counts = st.lists(st.integers(min_count, 20), min_size=n, max_size=n).filter(any)
    p, q = t64(draw(counts)), t64(draw(counts))
    return p / p.sum(), q / q.sum()


# ---------------------------------------------------------------------- properties of any divergence


def check_generator_vanishes_at_one_and_is_convex(d: Divergence):
    assert d.f(t64(1.0)).item() == 0

    @modest
    @given(real(-9, 7), real(-9, 7), real(0, 1))
    def convex(a, b, weight):
        a, b = math.exp(a), math.exp(b)
        chord = weight * d.f(t64(a)) + (1 - weight) * d.f(t64(b))
        assert d.f(t64(weight * a + (1 - weight) * b)) <= chord + 1e-12 * (1 + chord.abs())

    convex()


def check_generator_below_and_at_zero(d: Divergence):
    at_zero = d.f(t64(0.0)).item()
    assert at_zero == d.at_zero
    if math.isfinite(at_zero):
        assert d.f(t64(1e-12)).item() == pytest.approx(at_zero, abs=1e-5)
    else:
        assert d.f(t64(1e-200)).item() > 400
    below = d.f(t64([-1e-9, -3.0]))
    assert below.isfinite().all() if d.on_line else (below == math.inf).all()
    v = t64([-1.0, 0.0, 3.0]).requires_grad_()
    (slope,) = torch.autograd.grad(d.f(v).sum(), v)
    assert not slope.isnan().any()
    assert slope[2] == pytest.approx(d.derivative(t64(3.0)).item())
    assert d.f(t64(math.nan)).isnan()


def check_slope_at_infinity(d: Divergence):
    v = t64([1e8, 1e16, 1e100])
    if math.isfinite(d.slope_at_infinity):
        slopes = d.f(v) / v
        assert (slopes - d.slope_at_infinity).abs()[1:].max() < 1e-6
    else:
        assert (torch.diff(d.derivative(v)) > 10).all()


def check_derivative(d: Divergence):
    @modest
    @given(real(-7, 7).filter(lambda x: abs(x) > 1e-3))
    def slope(x):
        v = t64(math.exp(x)).requires_grad_()
        (automatic,) = torch.autograd.grad(d.f(v), v)
        torch.testing.assert_close(d.derivative(v.detach()), automatic, rtol=1e-9, atol=1e-9)

    slope()
    v = torch.exp(torch.linspace(-8, 8, 401, dtype=torch.float64))
    assert (torch.diff(d.derivative(v)) >= 0).all()
    assert d.domain.contains(d.derivative(v)).all()
    assert d.on_line or d.derivative(t64(-1.0)).isnan()


def check_fenchel_young_inequality(d: Divergence):
    @modest
    @given(st.one_of(st.just(0.0), real(-8, 8).map(math.exp)), real(-4, 4), real(-5, 5))
    def holds(v, x, anywhere):
        for u in (inside(d.domain, x), t64(anywhere)):
            left, right = d.f(t64(v)) + d.conjugate(u), u * v
            assert left >= right - 1e-10 * (1 + right.abs())

    holds()


def check_fenchel_young_equality(d: Divergence):
    @modest
    @given(real(-7, 7))
    def holds(x):
        v = t64(math.exp(x))
        u = d.derivative(v)
        f, dual = d.f(v), d.conjugate(u)
        assert (f + dual - u * v).abs() <= 1e-11 * (1 + f.abs() + dual.abs() + (u * v).abs())

    holds()


def check_conjugate_is_the_supremum(d: Divergence):
    grid = grid_of_v(d)

    @modest
    @given(real(-4, 4))
    def holds(x):
        u = inside(d.domain, x)
        by_search = supremum(lambda v: u * v - d.f(v), grid)
        assert d.conjugate(u).item() == pytest.approx(by_search, rel=1e-9, abs=1e-9)

    holds()


def check_biconjugate_is_the_generator(d: Divergence):
    grid = grid_of_u(d)

    @modest
    @given(st.one_of(real(-5, 5).map(math.exp), real(-9, 9) if d.on_line else st.nothing()))
    def holds(v):
        by_search = supremum(lambda u: u * v - d.conjugate(u), grid)
        assert d.f(t64(v)).item() == pytest.approx(by_search, rel=1e-7, abs=1e-7)

    holds()


def check_conjugate_outside_its_domain(d: Divergence):
    for end, closed, sign in (
        (d.domain.low, d.domain.low_closed, -1),
        (d.domain.high, d.domain.high_closed, 1),
    ):
        if math.isinf(end):
            continue
        u = t64([end + sign * 1e-9, end + sign * 5.0]).requires_grad_()
        value = d.conjugate(u)
        (gradient,) = torch.autograd.grad(value.sum(), u)
        assert (value == math.inf).all()
        assert (gradient == 0).all()
        near, nearer = d.conjugate(t64([end - sign * 1e-6, end - sign * 1e-12])).tolist()
        assert math.isfinite(nearer)
        assert closed == (abs(nearer - near) < 1), "an end is closed exactly where f* has a finite limit"
        assert d.conjugate(t64(end)).isfinite() == closed
    assert d.conjugate(t64(math.nan)).isnan()


def check_conjugate_gradient_is_a_slope(d: Divergence):
    @modest
    @given(real(-4, 4), real(-4, 4))
    def supports(x, y):
        u, other = inside(d.domain, x).requires_grad_(), inside(d.domain, y)
        value = d.conjugate(u)
        (v,) = torch.autograd.grad(value, u)
        tangent = value.detach() + v * (other - u.detach())
        assert v >= 0 or d.on_line
        assert d.conjugate(other) >= tangent - 1e-9 * (1 + tangent.abs() + v.abs())

    supports()


def check_activation_increases_into_the_domain(d: Divergence):
    for dtype, reach in ((torch.float64, 15), (torch.float32, 6)):
        v = torch.linspace(-reach, reach, 201, dtype=dtype)
        u = d.activation(v)
        assert (torch.diff(u) > 0).all()
        assert d.domain.contains(u).all()


def check_conjugate_of_activation(d: Divergence):
    @modest
    @given(real(-10, 10))
    def equal(v):
        v = t64(v)
        expected = d.conjugate(d.activation(v))
        torch.testing.assert_close(d.conjugate_of_activation(v), expected, rtol=1e-9, atol=1e-12)
        expected = d.conjugate(d.printed_activation(v))
        torch.testing.assert_close(d.conjugate_of_printed_activation(v), expected, rtol=1e-9, atol=1e-12)

    equal()


def check_float32_scores_up_to_fifty(d: Divergence):
    """What training uses stays finite with finite gradients, and agrees with float64."""
    scores = torch.linspace(-50, 50, 2001)
    for function in (d.activation, d.conjugate_of_activation, d.conjugate_of_printed_activation):
        single, double = scores.clone().requires_grad_(), scores.double().requires_grad_()
        value, reference = function(single), function(double)
        (slope,) = torch.autograd.grad(value.sum(), single)
        (reference_slope,) = torch.autograd.grad(reference.sum(), double)
        assert value.dtype == torch.float32
        assert value.isfinite().all()
        assert slope.isfinite().all()
        torch.testing.assert_close(value.double(), reference, rtol=1e-5, atol=1e-7)
        torch.testing.assert_close(slope.double(), reference_slope, rtol=1e-5, atol=1e-6)


def check_dtype_shape_and_purity(d: Divergence):
    for function, x in ((d.f, 2.0), (d.derivative, 2.0), (d.conjugate, -0.4), (d.activation, -0.4)):
        for dtype in (torch.float32, torch.float64):
            for shape in ((), (0,), (3,), (2, 3, 4)):
                v = torch.full(shape, x, dtype=dtype)
                before = v.clone()
                out = function(v)
                assert out.shape == v.shape
                assert out.dtype == dtype
                assert torch.equal(v, before)
                assert torch.allclose(out.double(), function(v.double()), rtol=1e-6)


def check_gradients(d: Divergence):
    """Once and twice differentiable where autograd is asked, against finite differences."""
    v = t64([0.05, 0.3, 0.8, 1.3, 4.0, 20.0]).requires_grad_()
    u = inside(d.domain, [-2.0, -0.5, 0.1, 0.7, 2.0]).requires_grad_()
    x = t64([-3.0, -1.5, -0.3, 0.2, 0.9, 1.4, 3.0]).requires_grad_()
    cases = ((d.f, v), (d.conjugate, u), (d.activation, x), (d.conjugate_of_activation, x))
    for function, point in cases:
        assert torch.autograd.gradcheck(function, (point,))
        assert torch.autograd.gradgradcheck(function, (point,), atol=1e-4)
    p, q = t64([[0.1, 0.5, -1.0], [0.0, 2.0, 0.3]]), t64([[-0.4, 0.2, 0.6], [1.0, 0.1, -0.7]])
    assert torch.autograd.gradcheck(
        lambda a, b: d(a.softmax(-1), b.softmax(-1), dim=-1), (p.requires_grad_(), q.requires_grad_())
    )


def check_divergence_is_positive_unless_equal(d: Divergence):
    @modest
    @given(tables())
    def positive(pair):
        p, q = pair
        assert d(p, p) == 0
        assert d(p, q) >= -1e-15
        if (p - q).abs().sum() > 0.01:
            assert d(p, q) > 1e-6

    positive()


def check_divergence_is_the_variational_optimum(d: Divergence):
    """E_P[g] - E_Q[f*(g)] reaches D_f at g* = f'(p/q), and no other g passes it."""

    @modest
    @given(tables(min_count=1, size=5), st.lists(real(-3, 3), min_size=5, max_size=5))
    def bounded(pair, x):
        p, q = pair
        best = d.derivative(p / q)
        other = inside(d.domain, x)
        assert (p * best - q * d.conjugate(best)).sum().item() == pytest.approx(d(p, q).item(), abs=1e-10)
        assert (p * other - q * d.conjugate(other)).sum() <= d(p, q) + 1e-12

    bounded()


def check_data_processing(d: Divergence):
    """A noisy channel, the same for both, brings P and Q no further apart."""

    @modest
    @given(tables(size=4), st.lists(real(0.01, 1), min_size=12, max_size=12))
    def contracts(pair, rows):
        channel = t64(rows).reshape(4, 3)
        channel = channel / channel.sum(-1, keepdim=True)
        p, q = pair
        assert d(p @ channel, q @ channel) <= d(p, q) + 1e-12

    contracts()


def check_zeros_take_limits_with_finite_gradients(d: Divergence):
    expected = 0.25 * d.f(t64(2.0)) + 0.5 * d.slope_at_infinity + 0.75 * d.at_zero
    torch.testing.assert_close(d([0.5, 0.5, 0.0, 0.0], [0.25, 0.0, 0.75, 0.0]), expected)
    for p, q, finite in (
        (t64([0.5, 0.5, 0.0]), t64([0.5, 0.5, 0.0]), True),
        (t64([0.5, 0.5, 0.0]), t64([0.25, 0.25, 0.5]), math.isfinite(d.at_zero)),
        (t64([0.25, 0.25, 0.5]), t64([0.5, 0.5, 0.0]), math.isfinite(d.slope_at_infinity)),
    ):
        p, q = p.clone().requires_grad_(), q.clone().requires_grad_()
        value = d(p, q)
        assert value.isfinite() == finite
        if finite:
            assert all(g.isfinite().all() for g in torch.autograd.grad(value, (p, q)))
    half = [0.5, 0.5]
    for tiny in (1e-200, 5e-324):
        for value, limit in ((d(half, [tiny, 1]), d(half, [0, 1])), (d([tiny, 1], half), d([0, 1], half))):
            assert not value.isnan()
            if limit.isfinite():
                torch.testing.assert_close(value, limit)


def check_divergence_of_any_table(d: Divergence):
    """Lists, arrays and tensors of any shape; whole tables or one distribution per slice; both dtypes."""
    p, q = np.array([[0.1, 0.2], [0.3, 0.4]]), np.array([[0.4, 0.1], [0.2, 0.3]])
    value = d.divergence(p, q)
    assert value.shape == ()
    assert value.dtype == torch.float64
    for again in (d(p.tolist(), q.tolist()), d(t64(p), t64(q)), d(p.ravel(), q.ravel()), d(p.T, q.T)):
        torch.testing.assert_close(again, value)
    single = d(torch.tensor(p, dtype=torch.float32), torch.tensor(q, dtype=torch.float32))
    assert single.dtype == torch.float32
    assert single.item() == pytest.approx(value.item(), rel=1e-5)
    stacked = d(np.stack([p, q, p]), np.stack([q, p, p]), dim=(1, 2))
    torch.testing.assert_close(stacked, torch.stack([value, d(q, p), d(p, p)]))


CHECKS = [check for name, check in list(globals().items()) if name.startswith("check_")]
each_check = pytest.mark.parametrize("check", CHECKS, ids=[c.__name__.removeprefix("check_") for c in CHECKS])


@pytest.mark.parametrize("name", DIVERGENCES)
@each_check
def test_property(name, check):
    check(divergence(name))


# ---------------------------------------------------------------------- a ninth divergence, one entry


def _half_step(v):
    return -torch.expm1(-v.clamp(min=-2 * math.log(2)) / 2)


TRIANGULAR = Divergence(
    name="triangular",
    title="Triangular discrimination",
    aliases=("vincze-le-cam",),
    generator=lambda v: (v - 1) * ((v - 1) / (v + 1)),
    slope=lambda v: 1 - 4 / (v + 1) ** 2,
    at_zero=1.0,
    dual=lambda u: 4 - u.clamp(min=-3) - 4 * (1 - u.clamp(min=-3)).sqrt(),
    domain=Interval(high=1.0, high_closed=True),
    activation=lambda v: -torch.expm1(-v),
    conjugate_of_activation=lambda v: _half_step(v) * (2 + _half_step(v)),
)


@each_check
def test_ninth(check):
    with registered(TRIANGULAR) as d:
        assert tuple(DIVERGENCES)[-1] == "triangular"
        assert divergence("Vincze Le Cam") is d
        check(divergence("triangular"))
    assert "triangular" not in DIVERGENCES
    assert tuple(DIVERGENCES) == PAPER_NAMES


@pytest.mark.parametrize(
    ("mistake", "check"),
    [
        ({"generator": lambda v: (v - 1) ** 2 / (v + 2)}, check_derivative),
        ({"generator": lambda v: -((v - 1) ** 2) / (v + 1)}, check_generator_vanishes_at_one_and_is_convex),
        ({"slope": lambda v: 4 / (v + 1) ** 2 - 1}, check_fenchel_young_equality),
        ({"dual": lambda u: 4 - u - 4 * (1 - u).sqrt()}, check_conjugate_is_the_supremum),
        ({"dual": lambda u: 3 - u - 4 * (1 - u).sqrt()}, check_fenchel_young_inequality),
        ({"domain": Interval(high=0.9)}, check_slope_at_infinity),
        ({"domain": Interval(high=1.0)}, check_conjugate_outside_its_domain),
        ({"activation": lambda v: -torch.expm1(v)}, check_activation_increases_into_the_domain),
        ({"conjugate_of_activation": lambda v: _half_step(v)}, check_conjugate_of_activation),
        ({"at_zero": 0.0}, check_generator_below_and_at_zero),
        ({"on_line": True}, check_conjugate_is_the_supremum),
    ],
)
def test_a_wrong_entry_is_caught(mistake, check, monkeypatch):
    found = settings(modest, phases=[Phase.generate])  # nobody reads the smallest example
    monkeypatch.setitem(globals(), "modest", found)
    with pytest.raises(AssertionError):
        check(dataclasses.replace(TRIANGULAR, **mistake))


# ---------------------------------------------------------------------- the paper's table, by mpmath


def _w(u):
    return mpmath.lambertw(mpmath.exp(1 - u)).real


log, exp, sqrt = mpmath.log, mpmath.exp, mpmath.sqrt

GENERATOR = {
    "tv": lambda v: abs(v - 1) / 2,
    "js": lambda v: v * log(v) - (v + 1) * log((v + 1) / 2),
    "squared-hellinger": lambda v: (sqrt(v) - 1) ** 2,
    "pearson": lambda v: (v - 1) ** 2,
    "neyman": lambda v: (v - 1) ** 2 / v,
    "kl": lambda v: v * log(v),
    "reverse-kl": lambda v: -log(v),
    "jeffrey": lambda v: (v - 1) * log(v),
}
PRINTED_OPTIMAL_G = {
    "tv": lambda v: mpmath.sign(v - 1) / 2,
    "js": lambda v: log(2 * v / (v + 1)),
    "squared-hellinger": lambda v: 1 - sqrt(1 / v),
    "pearson": lambda v: 2 * (v - 1),
    "neyman": lambda v: 1 - (1 / v) ** 2,
    "kl": lambda v: 1 + log(v),
    "reverse-kl": lambda v: -1 / v,
    "jeffrey": lambda v: 1 + log(v) - 1 / v,
}
PRINTED_CONJUGATE = {
    "tv": lambda u: u,
    "js": lambda u: -log(2 - exp(u)),
    "squared-hellinger": lambda u: u / (1 - u),
    "pearson": lambda u: u**2 / 4 + u,
    "neyman": lambda u: 2 - 2 * sqrt(1 - u),
    "kl": lambda u: exp(u - 1),
    "reverse-kl": lambda u: -1 - log(-u),
    "jeffrey": lambda u: _w(u) + 1 / _w(u) + u - 2,
}
PRINTED_ACTIVATION = {
    "tv": lambda v: mpmath.tanh(v) / 2,
    "js": lambda v: log(2 / (1 + exp(-v))),
    "squared-hellinger": lambda v: 1 - exp(v),
    "pearson": lambda v: v,
    "neyman": lambda v: 1 - exp(v),
    "kl": lambda v: v,
    "reverse-kl": lambda v: -exp(v),
    "jeffrey": lambda v: v,
}
PRINTED_DOMAIN = {
    "tv": "-1/2 ≤ u ≤ 1/2",
    "js": "u < log 2",
    "squared-hellinger": "u < 1",
    "pearson": "all u",
    "neyman": "u < 1",
    "kl": "all u",
    "reverse-kl": "u < 0",
    "jeffrey": "all u",
}
RATIOS = [1e-6, 0.013, 0.4, 0.99, 1.0, 1.001, 2.5, 77.0, 1e6]
SCORES = [-50, -33.3, -8.1, -2, -1, -0.999, -0.3, -1e-7, 0, 1e-9, 1e-3, 0.5, 0.999, 1, 1.7, 5, 21.5, 40, 50]
each_paper_row = pytest.mark.parametrize("name", PAPER_NAMES)


def exact(formula, points, digits: int = 50) -> list[mpmath.mpf]:
    with mpmath.workdps(digits):
        return [formula(mpmath.mpf(x)) for x in points]


def error(measured: torch.Tensor, expected: list[mpmath.mpf], floor: float = 0.0) -> float:
    """The largest error, relative to the expected value or to ``floor`` where that is larger."""
    with mpmath.workdps(50):
        pairs = zip(measured.tolist(), expected, strict=True)
        return max(float(abs(a - b) / max(abs(b), floor)) if a != b else 0.0 for a, b in pairs)


@each_paper_row
def test_generator_and_optimal_g(name):
    d = divergence(name)
    assert error(d.f(t64(RATIOS)), exact(GENERATOR[name], RATIOS), floor=1e-3) < 1e-12
    assert error(d.derivative(t64(RATIOS)), exact(PRINTED_OPTIMAL_G[name], RATIOS), floor=1e-3) < 1e-12
    single = torch.tensor(RATIOS)
    assert error(d.f(single), exact(GENERATOR[name], single.tolist()), floor=1e-3) < 1e-4
    assert error(d.derivative(single), exact(PRINTED_OPTIMAL_G[name], single.tolist()), floor=1e-3) < 1e-4


@each_paper_row
def test_printed_conjugate(name):
    d = divergence(name)
    points = inside(d.domain, [-4, -2, -1, -0.1, 0, 1e-9, 0.3, 1, 2, 4])
    assert error(d.conjugate(points), exact(PRINTED_CONJUGATE[name], points.tolist()), floor=1e-3) < 1e-12
    points = points.float()
    points = points[d.domain.contains(points)]
    assert error(d.conjugate(points), exact(PRINTED_CONJUGATE[name], points.tolist()), floor=1e-2) < 1e-4


@each_paper_row
def test_printed_activation(name):
    d = divergence(name)
    assert error(d.printed_activation(t64(SCORES)), exact(PRINTED_ACTIVATION[name], SCORES)) < 1e-14
    sign = -1 if d.printed_decreasing else 1
    torch.testing.assert_close(d.printed_activation(t64(SCORES)), d.activation(sign * t64(SCORES)))
    assert (torch.diff(sign * d.printed_activation(torch.linspace(-5, 5, 99))) > 0).all()
    assert d.domain.contains(d.printed_activation(torch.linspace(-15, 15, 99, dtype=torch.float64))).all()


@each_paper_row
def test_conjugate_of_activation_loses_no_digit(name):
    """Against 120 digits of f*(g_f(v)) over [-50, 50]: a few ulps of it, in float32 of 1 where it is less."""
    d = divergence(name)
    sign = -1 if d.printed_decreasing else 1
    for dtype in (torch.float64, torch.float32):
        v = torch.tensor(SCORES, dtype=dtype)
        expected = exact(
            lambda x: PRINTED_CONJUGATE[name](PRINTED_ACTIVATION[name](sign * x)), v.tolist(), digits=120
        )
        floor = 1.0 if dtype == torch.float32 else 0.0
        assert error(d.conjugate_of_activation(v), expected, floor) < 30 * torch.finfo(dtype).eps


def test_domains():
    ours = {name: str(divergence(name).domain) for name in PAPER_NAMES}
    assert ours == PRINTED_DOMAIN | {"neyman": "u ≤ 1"}
    assert divergence("neyman").conjugate(t64(1.0)) == 2
    assert str(Interval(low=0.25)) == "0.25 < u"
    assert Interval(0, 1, low_closed=True).contains(t64([-1, 0, 0.5, 1])).tolist() == [
        False,
        True,
        True,
        False,
    ]
    assert Interval(0, 1).contains(0.5) is True


def test_the_crosses_of_the_paper_are_its_decreasing_activations():
    decreasing = {name for name in PAPER_NAMES if divergence(name).printed_decreasing}
    crossed = {name for name in PAPER_NAMES if divergence(name).robust_in_paper is False}
    assert decreasing == crossed == {"squared-hellinger", "neyman", "reverse-kl"}


# ---------------------------------------------------------------------- Jeffrey by Lambert W


def test_jeffrey_from_minus_700_to_700():
    u = torch.cat(
        [torch.linspace(-700, 700, 57), torch.linspace(-4, 4, 41), t64([-1e-5, -1e-12, 1e-15, 1e-7])]
    )
    u = u.double().requires_grad_()
    value = divergence("jeffrey").conjugate(u)
    (slope,) = torch.autograd.grad(value.sum(), u)
    points = u.detach().tolist()
    assert error(value, exact(PRINTED_CONJUGATE["jeffrey"], points, digits=700)) < 1e-12
    assert error(slope, exact(lambda x: 1 / _w(x), points, digits=700)) < 1e-12


def test_jeffrey_against_scipy():
    u = np.linspace(-600, 500, 2001)
    w = lambertw(np.exp(1 - u)).real
    expected = w + 1 / w + u - 2
    value = divergence("jeffrey").conjugate(t64(u)).numpy()
    assert np.allclose(value, expected, rtol=1e-12, atol=1e-11)


def test_jeffrey_in_float32():
    u = torch.linspace(-85, 85, 3401)
    value, reference = (divergence("jeffrey").conjugate(x) for x in (u, u.double()))
    torch.testing.assert_close(value.double(), reference, rtol=1e-5, atol=1e-7)


def test_jeffrey_under_vmap():
    u = t64([-5.0, 0.0, 2.0])
    slope = torch.func.vmap(torch.func.grad(divergence("jeffrey").conjugate))(u)
    torch.testing.assert_close(divergence("jeffrey").derivative(slope), u)


# ---------------------------------------------------------------------- D_f by other means


def _chi2(p, q):
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p == q, 0, (p - q) ** 2 / q).sum()


INDEPENDENT = {
    "tv": lambda p, q: np.abs(p - q).sum() / 2,
    "js": lambda p, q: 2 * jensenshannon(p, q) ** 2,
    "squared-hellinger": lambda p, q: ((np.sqrt(p) - np.sqrt(q)) ** 2).sum(),
    "pearson": _chi2,
    "neyman": lambda p, q: _chi2(q, p),
    "kl": lambda p, q: rel_entr(p, q).sum(),
    "reverse-kl": lambda p, q: rel_entr(q, p).sum(),
    "jeffrey": lambda p, q: rel_entr(p, q).sum() + rel_entr(q, p).sum(),
}


@each_paper_row
def test_divergence_against_scipy(name):
    @settings(modest, max_examples=60)
    @given(st.one_of(tables(), tables(min_count=1)))
    def agrees(pair):
        p, q = pair
        expected = INDEPENDENT[name](p.numpy(), q.numpy())
        assert divergence(name)(p, q).item() == pytest.approx(expected, rel=1e-12, abs=1e-14)
        single = divergence(name)(p.float(), q.float()).item()
        assert single == pytest.approx(expected, rel=1e-4, abs=1e-6)

    agrees()


@pytest.mark.parametrize(
    ("name", "swapped"),
    [("kl", "reverse-kl"), ("pearson", "neyman")]
    + [(name, name) for name in ("tv", "js", "squared-hellinger", "jeffrey")],
)
def test_swapping_p_and_q(name, swapped):
    @modest
    @given(tables())
    def agrees(pair):
        p, q = pair
        torch.testing.assert_close(divergence(name)(p, q), divergence(swapped)(q, p), rtol=1e-12, atol=1e-14)

    agrees()


def test_two_printed_integrands_belong_to_another_generator():
    """Table 1 as printed: half of our Jensen-Shannon, and Neyman's integral in the row of Pearson.

    On 60 random pairs; the g* and f* of the row reach our D_f, and not the one that is printed beside them.
    """
    printed = {
        "js": lambda p, q: 0.5 * (p * torch.log(2 * p / (p + q)) + q * torch.log(2 * q / (p + q))).sum(),
        "pearson": lambda p, q: ((q - p) ** 2 / p).sum(),
    }
    for K, seed in itertools.product(range(2, 8), range(10)):
        rng = np.random.default_rng([K, seed])
        p, q = t64(rng.dirichlet(np.full(K, 3.0), 2))
        torch.testing.assert_close(divergence("js")(p, q), 2 * printed["js"](p, q))
        torch.testing.assert_close(divergence("neyman")(p, q), printed["pearson"](p, q))
        for name, D in printed.items():
            g = t64([float(x) for x in exact(PRINTED_OPTIMAL_G[name], (p / q).tolist())])
            dual = t64([float(x) for x in exact(PRINTED_CONJUGATE[name], g.tolist())])
            reached = (p * g).sum() - (q * dual).sum()
            torch.testing.assert_close(reached, divergence(name)(p, q))
            assert abs(reached / D(p, q) - 1) > 1e-6
    for name in ("js", "pearson"):
        assert divergence(name).note


@pytest.mark.parametrize(
    ("p", "q", "message"),
    [
        ([0.5, 0.6], [0.5, 0.5], "p must sum to 1, but sums to 1.1"),
        ([0.5, 0.5], [0.5, 0.5 + 1e-7], "q must sum to 1"),
        ([1.5, -0.5], [0.5, 0.5], "p must hold probabilities, but its smallest entry is -0.5"),
        ([0.5, 0.5], [math.nan, 1.0], "q must hold probabilities"),
        ([0.5, 0.5], [[0.5, 0.5]], r"one shape, not \(2,\) and \(1, 2\)"),
        ([], [], "p must sum to 1, but sums to 0"),
    ],
)
def test_what_is_no_probability_table(p, q, message):
    with pytest.raises(ValueError, match=message):
        divergence("kl")(p, q)


def test_sums_are_checked_along_dim():
    rows = t64([[0.5, 0.5], [0.25, 0.75], [0.25, 0.75]])
    assert divergence("kl")(rows, rows, dim=1).tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="p must sum to 1 along dimension 0, but sums to 2"):
        divergence("kl")(rows, rows, dim=0)


def test_float32_tables_may_be_rounded():
    p = torch.full((1000,), 1e-3)
    assert divergence("js")(p, p) == 0
    with pytest.raises(ValueError, match="sum to 1"):
        divergence("js")(p * 1.001, p)


def test_float32_tables_may_underflow():
    """A ratio of 1e40 does not fit float32; the divergence that it makes does."""
    p, q = torch.tensor([0.5, 0.5]), torch.tensor([1e-40, 1.0])
    assert divergence("kl")(p, q).item() == pytest.approx(0.5 * math.log(0.25e40), rel=1e-4)


# ---------------------------------------------------------------------- names


def test_the_eight():
    assert tuple(DIVERGENCES) == PAPER_NAMES
    assert len(DIVERGENCES) == 8
    assert repr(DIVERGENCES) == repr(PAPER_NAMES)
    for name in DIVERGENCES:
        d = divergence(name)
        assert d.name == name
        assert divergence(d) is d
        assert divergence(d.title) is d
        assert "lambda" not in repr(d)


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("Total-Variation", "tv"),
        ("total variation", "tv"),
        ("jensen_shannon", "js"),
        ("j-s", "js"),
        ("JS", "js"),
        ("Jenson-Shannon", "js"),
        ("hellinger", "squared-hellinger"),
        ("SQUARED_HELLINGER", "squared-hellinger"),
        ("chi2", "pearson"),
        ("chi-squared", "pearson"),
        ("pearson-chi2", "pearson"),
        ("neyman_chi2", "neyman"),
        ("Kullback-Leibler", "kl"),
        ("rkl", "reverse-kl"),
        ("Reverse KL", "reverse-kl"),
        ("jeffreys", "jeffrey"),
    ],
)
def test_alias(alias, name):
    assert divergence(alias).name == name


@pytest.mark.parametrize(
    ("name", "hint"),
    [("jefrey", "'jeffrey'"), ("hellingr", "'squared-hellinger'"), ("x", None), (None, None)],
)
def test_unknown_name(name, hint):
    with pytest.raises(ValueError, match="no divergence is called") as caught:
        divergence(name)
    message = str(caught.value)
    assert ", ".join(PAPER_NAMES) in message
    assert "\n" not in message
    assert (f"did you mean {hint}" in message) if hint else ("did you mean" not in message)


def test_a_taken_name_or_alias_is_refused():
    for clash in ({"name": "KL"}, {"name": "new", "aliases": ("newer", "Chi_2")}):
        for replace in (False, True):
            with pytest.raises(ValueError, match="already means"):
                register(dataclasses.replace(TRIANGULAR, **clash), replace=replace)
    assert tuple(DIVERGENCES) == PAPER_NAMES
    with pytest.raises(ValueError, match="no divergence is called 'newer'"):
        divergence("newer")


def test_registering_again():
    again = dataclasses.replace(TRIANGULAR, aliases=())
    with registered(TRIANGULAR):
        assert register(TRIANGULAR) is TRIANGULAR
        with pytest.raises(ValueError, match="'triangular' already means 'triangular'"):
            register(again)
        assert register(again, replace=True) is divergence("triangular")
        assert len(DIVERGENCES) == 9
        with pytest.raises(ValueError, match="no divergence is called 'vincze-le-cam'"):
            divergence("vincze-le-cam")
    assert tuple(DIVERGENCES) == PAPER_NAMES
