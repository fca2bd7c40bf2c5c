"""Checkers of notebook 10."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from scipy.integrate import quad
from scipy.stats import norm, t

from fdiv.course.exercises import Wrong, exercise, number


def expected_maximum(n: int) -> float:
    """The mean of the largest of ``n`` standard normal numbers."""
    return quad(lambda x: x * n * norm.pdf(x) * norm.cdf(x) ** (n - 1), -12, 12)[0]


@exercise(
    "1 the best of n",
    because="With five runs a method gains more than one standard deviation over its mean, for nothing.",
)
def gain_of_best(answer: Callable[[int], float]) -> None:
    """0 for one run, 0.56 for two, 1.16 for five; a simulation may be off by 0.02."""
    for n in (1, 2, 5, 10):
        got, right = number(answer(n)), expected_maximum(n)
        if n == 1 and abs(got) > 0.02:
            raise Wrong(f"one run gains nothing over its mean, yours gains {got:.2f}")
        if abs(got - 2 * right) < 0.02 and n > 1:
            raise Wrong("that is the range, from the smallest to the largest: the gain is over the mean")
        if abs(got + right) < 0.02 and n > 1:
            raise Wrong("that is the smallest of n: take the largest")
        if abs(got - right) > 0.02:
            raise Wrong(f"for {n} runs it is {right:.3f}, yours is {got:.3f}; draw more rows if it scatters")


@exercise(
    "2 a paired difference, or none",
    because="A difference without a second pair cannot be told from luck, so it should not be printed.",
)
def difference(answer: Callable[[Mapping[int, float], Mapping[int, float]], float | None]) -> None:
    """Only shared seeds count, and one pair is none."""
    first, second = {0: 0.90, 1: 0.80, 2: 0.70}, {1: 0.78, 2: 0.66, 5: 0.10}
    got = answer(first, second)
    if got is None:
        raise Wrong("seeds 1 and 2 are in both: that makes two pairs")
    got = number(got)
    if abs(got + 0.03) < 1e-6:
        raise Wrong("the sign is exchanged: first minus second")
    unpaired = sum(first.values()) / 3 - sum(second.values()) / 3
    if abs(got - unpaired) < 1e-6:
        raise Wrong("that is the difference of the means over different seeds: pair them first")
    if abs(got - 0.03) > 1e-6:
        raise Wrong(f"the shared seeds differ by 0.02 and 0.04, so the mean is 0.03, yours is {got:.4f}")
    if answer({0: 0.9, 1: 0.8}, {1: 0.7}) is not None:
        raise Wrong("a single pair says nothing about luck: return None")
    if answer({0: 0.9}, {1: 0.7}) is not None:
        raise Wrong("without a shared seed there is no pair: return None")


@exercise(
    "3 how many seeds",
    because="The usual three seeds see a difference of two and a half standard deviations, and nothing less.",
)
def seeds_needed(answer: Callable[[float, float], int]) -> None:
    """The first n whose interval by Student's t is narrower than delta."""
    for sd, delta in ((0.5, 0.5), (1.0, 0.5), (0.2, 1.0)):
        n = 2
        while t.ppf(0.975, n - 1) * sd / n**0.5 >= delta:
            n += 1
        got = number(answer(sd, delta))
        if got < 2:
            raise Wrong("one seed has no spread: start at two")
        normal = max(2, int((1.959964 * sd / delta) ** 2) + 1)
        if got == normal != n:
            raise Wrong("1.96 is for a known spread: with few seeds take Student's t, which is larger")
        if got != n:
            raise Wrong(f"for sd = {sd:g} and delta = {delta:g} it takes {n} seeds, yours is {got:g}")
