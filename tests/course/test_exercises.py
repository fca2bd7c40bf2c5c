"""Every solution in a notebook passes its own checker; the stub it ships with and wrong answers do not."""

import ast
import importlib
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from lessons import SOURCES, written
from scipy import stats
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from fdiv import noise
from fdiv.course import exercises
from fdiv.course.exercises import (
    Exercise,
    Wrong,
    exercise,
    nb00,
    nb01,
    nb02,
    nb03,
    nb04,
    nb05,
    nb06,
    nb07,
    nb08,
    nb09,
    nb10,
    nb11,
    nb12,
    nb13,
    nb14,
)
from fdiv.experiments.statistics import critical_difference
from fdiv.theory import exact
from fdiv.theory.divergences import DIVERGENCES, Divergence, Interval, divergence
from fdiv.theory.robustness import peer_weight

SOLUTION = re.compile(r"<summary>Solution</summary>(?:(?!</details>).)*?```python\n(.*?)```", re.DOTALL)


def exercises_of(source):
    """(id, the exercise cell, its solution), in the order of the notebook."""
    cells = written(source).cells
    stubs = [cell.source for cell in cells if "exercise" in cell.metadata.get("tags", [])]
    prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    solutions = SOLUTION.findall(prose)
    assert len(stubs) == len(solutions), source.stem
    imports = "\n".join(line for cell in cells if cell.cell_type == "code" for line in _imports(cell.source))
    return [
        (f"{source.stem}-{i}", imports, a, b)
        for i, (a, b) in enumerate(zip(stubs, solutions, strict=True), 1)
    ]


def _imports(code):
    """The imports of a cell, also those that it tries."""
    found = [
        part for node in ast.parse(code).body for part in (node.body if isinstance(node, ast.Try) else [node])
    ]
    return [ast.unparse(node) for node in found if isinstance(node, ast.Import | ast.ImportFrom)]


ALL = [one for source in SOURCES for one in exercises_of(source)]
each = pytest.mark.parametrize(
    ("imports", "stub", "solution"), [one[1:] for one in ALL], ids=[one[0] for one in ALL]
)


@each
def test_the_solution_is_right_and_the_stub_is_not(imports, stub, solution, capsys):
    namespace = {}
    exec(imports, namespace)
    exec(stub, namespace)
    assert capsys.readouterr().out.startswith("your turn")
    exec(solution, namespace)
    exec(stub.rstrip().splitlines()[-1], namespace)
    assert capsys.readouterr().out.startswith("right")


def test_an_exercise_says_why_it_matters_once_it_is_right():
    mute = []
    for source in SOURCES:
        module = importlib.import_module(f"fdiv.course.exercises.nb{source.stem[:2]}")
        checkers = [value for value in vars(module).values() if isinstance(value, Exercise)]
        mute += [f"{source.stem}: {one.title}" for one in checkers if not one.because]
    assert mute == []


def test_every_checker_is_used_by_a_notebook():
    text = "\n".join(source.read_text(encoding="utf-8") for source in SOURCES)
    for path in Path(exercises.__file__).parent.glob("[a-z]*.py"):
        module = importlib.import_module(f"fdiv.course.exercises.{path.stem}")
        for name, value in vars(module).items():
            if isinstance(value, Exercise):
                assert re.search(rf"^\w+\.{name}\(", text, re.MULTILINE), f"{path.stem}.{name}"


CHECKERS = [
    (f"{path.stem}.{name}", value)
    for path in sorted(Path(exercises.__file__).parent.glob("nb*.py"))
    for name, value in vars(importlib.import_module(f"fdiv.course.exercises.{path.stem}")).items()
    if isinstance(value, Exercise)
]
NO_ANSWERS = {
    "nan": float("nan"),
    "inf": float("inf"),
    "-inf": -float("inf"),
    "None": None,
    "an empty list": [],
    "a text": "0.5",
    "True": True,
    "nan four times": torch.full((4,), float("nan"), dtype=torch.float64),
    "nan in a table": np.full((3, 3), np.nan),
    "nan twice": (float("nan"), float("nan")),
}


@pytest.mark.parametrize("nothing", NO_ANSWERS)
@pytest.mark.parametrize(("name", "checker"), CHECKERS, ids=[name for name, _ in CHECKERS])
def test_what_is_no_answer_is_never_right(name, checker, nothing):
    value = NO_ANSWERS[nothing]
    assert checker.verdict(lambda *_: value).startswith("not yet"), name
    assert checker.verdict(value).startswith("not yet"), name


def triangular(**changed):
    """The ninth divergence of notebook 01, with some fields spoilt."""

    def dual(u):
        w = torch.sqrt(1 - u).clamp(max=2)
        return (1 - w) * (3 - w)

    right = {
        "name": "triangular",
        "title": "Triangular discrimination",
        "generator": lambda v: (v - 1) ** 2 / (v + 1),
        "slope": lambda v: 1 - 4 / (v + 1) ** 2,
        "at_zero": 1.0,
        "dual": dual,
        "domain": Interval(high=1.0, high_closed=True),
        "activation": lambda v: 1 - torch.exp(-v),
        "conjugate_of_activation": lambda v: dual(1 - torch.exp(-v)),
    }
    return lambda: Divergence(**(right | changed))


def unclamped(u):
    w = torch.sqrt(1 - u)
    return (1 - w) * (3 - w)


def counts(clean, noisy):
    table = np.zeros((3, 3))
    np.add.at(table, (clean, noisy), 1)
    return table


TRIANGULAR, WITNESS = nb01.triangular, nb01.total_variation_witness


def undone(joint, g, dual, T):
    """The clean value of notebook 03, from a noisy table."""
    inverse = T.inverse().T
    return (joint * (g @ inverse)).sum() - (exact.product(joint) * (dual @ inverse)).sum()


def sparse(joint, g, dual, pairs, e1, e2):
    """The corrected bias of notebook 11."""
    return exact.decouple_sparse(joint, g, "kl", pairs, e1, e2).bias.item()


def unpaired(a, b):
    return np.mean(a) - np.mean(b), np.sqrt((np.var(a, ddof=1) + np.var(b, ddof=1)) / len(a))


def wrong_ranks(table, critical):
    """The smallest accuracy first."""
    ranks = table.rank(axis=1).mean()
    return ranks[ranks <= ranks.min() + critical].index


def spread(a, b, ddof, divisor):
    gaps = np.subtract(a, b)
    return gaps.mean(), gaps.std(ddof=ddof) / divisor


def apart(rows, factor):
    """Pairs whose average ranks differ by more than ``factor`` critical differences."""
    ranks = stats.rankdata(rows, axis=1).mean(axis=0)
    bar = factor * critical_difference(len(ranks), len(rows))
    return [(i, j) for j in range(len(ranks)) for i in range(j) if abs(ranks[i] - ranks[j]) > bar]


def covariance(a, r):
    """The covariance with the divisor n."""
    return float(np.cov(a, r, bias=True)[0, 1])


def pairs_in_order(suspicion, wrong, tie):
    """How many pairs of a wrong and a right label are in order; the second number is that of all pairs."""
    bad, good = ([s for s, w in zip(suspicion, wrong, strict=True) if w == kind] for kind in (True, False))
    return sum((b > g) + tie * (b == g) for b in bad for g in good), len(bad) * len(good)


def share_in_order(suspicion, wrong, tie):
    found, pairs = pairs_in_order(suspicion, wrong, tie)
    return found / pairs


def top_of(d, eta, prior, second=1.0, largest=True):
    """Where the objective of notebook 03 peaks for two labels, with the second term weighted."""
    t = torch.linspace(0, 1, 501, dtype=torch.float64)
    heights = sum(
        e * d.activation(v) - second * p * d.conjugate_of_activation(v)
        for v, e, p in zip((t, 1 - t), eta, prior, strict=True)
    )
    return t[heights.argmax() if largest else heights.argmin()]


def checked(score, check, harm, left):
    """The labels worth checking, with a cost that counts the others ``left`` each."""
    chosen = [i for i, s in enumerate(score) if s * harm > check]
    return chosen, check * len(chosen) + left * (len(score) - len(chosen))


def joint_alone(name, accuracy):
    (g0, g1), _ = nb06.ends(name)
    return accuracy * g1 + (1 - accuracy) * g0


def dual_alone(name, accuracy):
    _, (s0, s1) = nb06.ends(name)
    return accuracy * s1 + (1 - accuracy) * s0


def averaged_first(a, r, num_classes):
    a, r = np.mean(a), np.mean(r)
    return a * (1 - r) + (1 - a) * r / (num_classes - 1)


def wrong_alike(a, r):
    a, r = np.array(a), np.array(r)
    return (a * (1 - r) + (1 - a) * r).mean()


def right_vote(r, num_classes):
    same = 1 / (num_classes - 1)
    return 3 * r**2 * (1 - r) * (same + (1 - same) * 2 / 3) + r**3


def widest(M):
    return torch.cdist(M, M, p=1).max() / 2


def mean_of(accuracies):
    return sum(accuracies.values()) / len(accuracies)


def paired_mean(first, second):
    shared = first.keys() & second.keys()
    return sum(first[s] - second[s] for s in shared) / max(len(shared), 1)


def two_or_nan(first, second):
    return None if len(first.keys() & second.keys()) == 1 else paired_mean(first, second)


WRONG = [
    (nb01.flat_kl, lambda r: r * r.log(), "that is c = 0"),
    (nb01.flat_kl, lambda r: r * r.log() + r - 1, "this has slope 2"),
    (nb01.flat_kl, lambda r: r * r.log() - r, "f(1) must be 0"),
    (nb01.flat_kl, lambda r: r - 1, "at r = 0.1 it must be 0.6697; yours is -0.9000"),
    (nb01.flat_kl, lambda r: 0.0, "a tensor of the shape of r"),
    (nb01.pearson_conjugate, lambda u: 1 + u / 2, "the r at which the line touches"),
    (nb01.pearson_conjugate, lambda u: u + u**2 / 4, "which r is best there?"),
    (nb01.pearson_conjugate, lambda u: -torch.where(u < -2, -1.0, u + u**2 / 4), "turned round"),
    (nb01.pearson_conjugate, lambda u: u, "at u = -5 the largest gap is -1.0000; yours is -5.0000"),
    (nb01.pearson_conjugate, lambda u: 0.0, "a tensor of the shape of u"),
    (TRIANGULAR, lambda: "kl", "return a Divergence, not a str"),
    (TRIANGULAR, lambda: divergence("kl"), "generator: "),
    (TRIANGULAR, triangular(slope=lambda v: 1 - 4 / (v + 1)), "slope: it is not the derivative"),
    (TRIANGULAR, triangular(at_zero=0.0), "at_zero: f(0) is 1, yours is 0"),
    (TRIANGULAR, triangular(domain=Interval()), "domain: "),
    (
        TRIANGULAR,
        triangular(dual=lambda u: u),
        "dual: at u = -3 the largest gap is -1.0000; yours is -3.0000",
    ),
    (TRIANGULAR, triangular(dual=unclamped), "below, no r > 0 has that slope"),
    (TRIANGULAR, triangular(activation=lambda v: 1 - torch.exp(v)), "activation: it must increase"),
    (TRIANGULAR, triangular(activation=lambda v: v), "activation: it leaves the domain"),
    (TRIANGULAR, triangular(conjugate_of_activation=lambda v: v), "it is not dual(activation(v))"),
    (TRIANGULAR, triangular(name="delta"), "no divergence is called 'triangular'"),
    (WITNESS, lambda p, q: torch.sign(p - q), "g must stay within -1/2 and 1/2"),
    (WITNESS, lambda p, q: torch.sign(q - p) / 2, "turn its sign round"),
    (WITNESS, lambda p, q: torch.zeros(4).double(), "your g gives 0.0000, and 0.4000 can be reached"),
    (WITNESS, lambda p, q: 0.5, "one value of g for each outcome"),
    (nb03.noisy_table, lambda p, t: p @ t, "return two things"),
    (nb03.noisy_table, lambda p, t: (t @ p, p.sum(0)), "multiply from the right"),
    (nb03.noisy_table, lambda p, t: (p @ t.T, p.sum(0)), "T is transposed"),
    (nb03.noisy_table, lambda p, t: (p, p.sum(0)), "sum over the clean label i"),
    (nb03.noisy_table, lambda p, t: (p @ t, (p @ t).sum(1)), "frequencies of the predictions"),
    (nb03.noisy_table, lambda p, t: (p @ t, p.sum(0)), "the column sums of the noisy table"),
    (nb03.corrected_g, lambda g, e: 0.0, "a table of the shape of g"),
    (nb03.corrected_g, lambda g, e: (g - (g @ e)[:, None]) / (1 - e.sum()), "up to the factor"),
    (nb03.corrected_g, lambda g, e: g - e * g, "the same number for every label"),
    (nb03.corrected_g, lambda g, e: g - g.T @ e, "along its row"),
    (nb03.corrected_g, lambda g, e: g, "your g' averages to"),
    (nb03.clean_vd, lambda P, g, d, t: undone(P, g, d, torch.eye(3).double()), "nothing has been undone"),
    (nb03.clean_vd, lambda P, g, d, t: undone(P, g, d, t.T), "T is transposed"),
    (nb03.clean_vd, lambda P, g, d, t: undone(P, g, d, t.inverse()), "a second time"),
    (nb03.clean_vd, lambda P, g, d, t: undone(P, g, d @ t.T, t), "to f*(g), too"),
    (nb03.clean_vd, lambda P, g, d, t: (P * ((g - d) @ t.inverse().T)).sum(), "product of the margins"),
    (nb03.clean_vd, lambda P, g, d, t: 0.5, "yours is 0.500000"),
    (nb03.noisy_table, lambda p, t: ((p @ t)[:2], p.sum(0)), "keep its shape (3, 3), yours is (2, 3)"),
    (nb03.peak, lambda d, e, p: 1 - top_of(d, e, p), "where the objective is smallest"),
    (nb03.peak, lambda d, e, p: top_of(d, e, p, second=0), "the first term alone"),
    (nb03.peak, lambda d, e, p: e[0], "the top is at t = 0.00; yours is at 0.30, and lower"),
    (nb03.peak, lambda d, e, p: 2.0, "the place of the top, a t from 0 to 1"),
    (nb03.bad_but_informative, lambda: torch.ones(2, 2), "probabilities that sum to 1"),
    (nb03.bad_but_informative, lambda: torch.tensor([[0.1, 0.2], [0.6, 0.1]]), "must be balanced"),
    (
        nb03.bad_but_informative,
        lambda: torch.tensor([[0.4, 0.1], [0.1, 0.4]]),
        "accuracy is 0.8, not 0.2",
    ),
    (nb02.pair_flips, lambda k, e: np.eye(k), "the diagonal must be 1 - e = 0.7"),
    (nb02.pair_flips, lambda k, e: (1 - e) * np.eye(k), "row 0 sums to 0.7"),
    (
        nb02.pair_flips,
        lambda k, e: (1 - e) * np.eye(k) + e * np.eye(k)[::-1],
        "who is the partner of 0?",
    ),
    (nb02.pair_flips, lambda k, e: 0.0, "a matrix of shape (4, 4), not ()"),
    (nb02.largest_symmetric_rate, lambda k: 0.5, "one half holds for two classes"),
    (nb02.largest_symmetric_rate, lambda k: 1 / k, "what remains on the diagonal"),
    (nb02.largest_symmetric_rate, lambda k: 100 - 100 / k, "that is percent"),
    (nb02.largest_symmetric_rate, lambda k: 0.9, "for 2 classes it is 0.5, yours is 0.9"),
    (nb02.estimate_T, lambda c, n, k: counts(c, n), "these are counts"),
    (nb02.estimate_T, lambda c, n, k: counts(c, n) / len(c), "you divided by all labels"),
    (nb02.estimate_T, lambda c, n, k: counts(n, c) / counts(n, c).sum(1)[:, None], "exchanged"),
    (nb02.estimate_T, lambda c, n, k: np.eye(3), "T[0, 0] must be 0.75, yours is 1"),
    (nb02.worst_noise, lambda k: np.eye(k), "the right label is not beaten in class 0"),
    (nb02.worst_noise, lambda k: np.roll(np.eye(k), 1, 1), "but 100% of the labels are wrong"),
    (nb02.worst_noise, lambda k: 0.4 * np.eye(k), "row 0 sums to 0.4"),
    (nb02.worst_noise, lambda k: [[1, 2], [3]], "a matrix of"),
    (nb02.worst_noise, lambda k: 2 * np.eye(k) - np.roll(np.eye(k), 1, 1), "an entry is negative"),
    (nb02.worst_noise, lambda k: 0.5, "a matrix of shape (2, 2), not ()"),
    (nb02.worst_noise, lambda k: np.eye(k)[np.arange(k) ^ 1] if k % 2 == 0 else np.eye(k), "are wrong"),
    (
        nb04.product_term,
        lambda z, p, d: (d.conjugate_of_activation(z) * p).sum(1).mean(),
        "not the logit",
    ),
    (nb04.product_term, lambda z, p, d: d.conjugate_of_activation(z.softmax(1)).mean(), "prior[y]"),
    (
        nb04.product_term,
        lambda z, p, d: (d.conjugate_of_activation(z.softmax(1)) * p).sum(),
        "the mean over the batch",
    ),
    (nb04.product_term, lambda z, p, d: 0.0, "yours is 0.0000"),
    (nb04.derangement, lambda n: torch.arange(n), "2 of the images kept their own label"),
    (nb04.derangement, lambda n: torch.zeros(n), "every index from 0 to 1 must occur once"),
    (nb04.derangement, lambda n: torch.arange(n).roll(1), "draw it at random"),
    (nb04.product_term, lambda z, p, d: (d.conjugate_of_activation(z.softmax(1)) * p).sum(1), "by a mean"),
    (
        nb04.product_term,
        lambda z, p, d: (d.conjugate_of_activation(z.softmax(0)) * p).sum(1).mean(),
        "along dim=1",
    ),
    (nb04.auroc, lambda s, w: share_in_order(s, w, 0), "one half, not nothing"),
    (nb04.auroc, lambda s, w: share_in_order(s, w, 1), "one half, not a whole win"),
    (nb04.auroc, lambda s, w: 1 - share_in_order(s, w, 0.5), "turn the comparison round"),
    (nb04.auroc, lambda s, w: pairs_in_order(s, w, 0.5)[0], "how many pairs there are"),
    (nb04.auroc, lambda s, w: pairs_in_order(s, w, 0.5)[0] / len(s) ** 2, "not by all pairs"),
    (nb04.auroc, lambda s, w: 0.5, "7 and a tie are in order, 0.625; yours is 0.5"),
    (nb04.auroc, lambda s, w: 0.625, "it must be 1"),
    (nb04.worth_checking, lambda s, c, h: [s > 0.5 for s in s], "the indices, and the cost"),
    (nb04.worth_checking, lambda s, c, h: ([x * h > c for x in s], 0), "yes or no for each"),
    (nb04.worth_checking, lambda s, c, h: ([2], 0), "one half is not the threshold"),
    (nb04.worth_checking, lambda s, c, h: ([0], 0), "check [1, 2, 4], not [0]"),
    (nb04.worth_checking, lambda s, c, h: checked(s, c, h, 0), "the labels you leave cost"),
    (nb04.worth_checking, lambda s, c, h: checked(s, c, h, 1), "it costs 4, yours is 5"),
    (nb09.clean_prior, lambda q, T: torch.linalg.solve(T, q), "T is transposed"),
    (nb09.clean_prior, lambda q, T: T.T @ q, "adds the noise once more"),
    (nb09.clean_prior, lambda q, T: q, "T'p of your answer is"),
    (nb09.clean_prior, lambda q, T: T, "return 4 frequencies"),
    (nb09.plug_in, lambda P: P / exact.product(P), "apply f' to it"),
    (nb09.plug_in, lambda P: P / exact.product(P) - 1, "a factor 2"),
    (nb09.plug_in, lambda P: 2 * (exact.product(P) / P - 1), "upside down"),
    (nb09.plug_in, lambda P: P, "for the table"),
    (nb09.plug_in, lambda P: (P / exact.product(P) - 1) ** 2, "its slope f'"),
    (
        nb08.noisy_agreement,
        lambda a, r, k: np.mean([x * (1 - y) + (1 - x) * y / k for x, y in zip(a, r, strict=True)]),
        "not of all K",
    ),
    (nb14.my_flags, lambda: ["three"], "by its number alone"),
    (nb09.plug_in, lambda P: P.sum(), "a table of the shape of joint"),
    (nb09.anchors_fail_up_to, lambda b: 0.5, "one half is about rows"),
    (nb09.anchors_fail_up_to, lambda b: 1 - b, "what the partner keeps"),
    (nb09.anchors_fail_up_to, lambda b: 0.0, "compare T_ii with T_ji"),
    (nb14.my_flags, lambda: 3, "as a list"),
    (nb14.my_flags, lambda: [24], "numbered 0 to 23"),
    (nb14.my_flags, lambda: list(range(24)), "flag less"),
    (nb14.my_flags, lambda: [0, 1], "4 are missing"),
    (nb14.majority, lambda v, K: v[:, 0], "-1 is no class"),
    (nb14.majority, lambda v, K: v, "one class for each"),
    (nb14.majority, lambda v, K: np.zeros(5, int), "the majority is"),
    (nb14.majority, lambda v, K: np.array([1, 0, 0, 1, 1]), "a mean of the votes"),
    (nb14.submission, lambda X, y: None, "return a fitted classifier"),
    (nb14.submission, lambda X, y: DummyClassifier().fit(X, y), "of the held-back digits are right"),
    (nb14.submission, lambda X, y: LogisticRegression(max_iter=300).fit(X, y), "cross-entropy follows them"),
    (nb09.survivors, lambda a, b, k: (True, True), "fit, subtract, divide, not 2"),
    (nb09.survivors, lambda a, b, k: {"fit": True}, "return three booleans"),
    (nb09.survivors, lambda a, b, k: (0.3, 0.5, 0.7), "prefer the own label"),
    (nb09.survivors, lambda a, b, k: (a < 0.5,) * 3, "not equally frequent among all images"),
    (nb09.survivors, lambda a, b, k: (a < 0.5, True, True), "'subtract' is False, not True"),
    (nb09.survivors, lambda a, b, k: (a < 0.5, a < 0.5, a + b < 1), "'subtract' is True, not False"),
    (nb13.bridge, lambda p, q: (1 - p**q) / q, "return its limit"),
    (nb13.bridge, lambda p, q: 1 - p**q, "divide by q"),
    (nb13.bridge, lambda p, q: (p**q - 1) / q, "the sign is exchanged"),
    (nb13.bridge, lambda p, q: 1 - p, "it is 1.0000, yours is 0.7500"),
    (nb13.survivors, lambda T: None, "is there a return"),
    (nb13.survivors, lambda T: T.argmax(1) == np.arange(len(T)), "yes or no for each"),
    (nb13.survivors, lambda T: range(len(T)), "these are [1, 2], yours are [0, 1, 2]"),
    (nb13.survivors, lambda T: np.flatnonzero(T.diagonal() > 0.5), "more than one half is not needed"),
    (nb13.survivors, lambda T: [j for j in range(len(T)) if T[:, j].argmax() == j], "down a column"),
    (nb13.tied, lambda table, critical: list(table), "with a critical difference of 0.1"),
    (nb13.tied, lambda table, critical: None, "is there a return"),
    (nb13.tied, lambda table, critical: wrong_ranks(table, critical), "upside down"),
    (nb05.regret_of, lambda s, a: a[int(np.argmax(s))] - max(a), "the sign is exchanged"),
    (
        nb05.regret_of,
        lambda s, a: max(a) - a[len(s) - 1 - int(np.argmax(s[::-1]))],
        "take the first of them",
    ),
    (nb05.regret_of, lambda s, a: 0.0, "it is 0.4, yours is 0"),
    (nb05.noisy_accuracy, lambda a, e, q: (1 - sum(e)) * a, "now and then: add that"),
    (nb05.noisy_accuracy, lambda a, e, q: a, "it is 0.77, yours is 1"),
    (nb05.paired_difference, lambda a, b: np.mean(a) - np.mean(b), "then its standard error"),
    (nb05.paired_difference, lambda a, b: (np.mean(b) - np.mean(a), 0), "first minus second"),
    (nb05.paired_difference, lambda a, b: (0, 0), "the mean difference is 0.0175"),
    (nb05.paired_difference, lambda a, b: unpaired(a, b), "ignores the pairing"),
    (nb05.paired_difference, lambda a, b: spread(a, b, 1, 1), "that is the standard deviation"),
    (nb05.paired_difference, lambda a, b: spread(a, b, 0, 2), "use the divisor n - 1"),
    (nb05.paired_difference, lambda a, b: spread(a, b, 1, 4), "the standard error is"),
    (nb05.told_apart, lambda rows: apart(rows, 2**0.5), "yours lacks the division"),
    (nb05.told_apart, lambda rows: apart(rows, 0), "every difference counts in yours"),
    (nb05.told_apart, lambda rows: 3, "a list of pairs (i, j)"),
    (nb05.told_apart, lambda rows: [], "for 12 settings the pairs are"),
    (nb06.value_of_certain, lambda d, a, k: joint_alone(d, a), "that is the joint term alone"),
    (nb06.value_of_certain, lambda d, a, k: joint_alone(d, a) - dual_alone(d, a), "agree once in K"),
    (nb06.value_of_certain, lambda d, a, k: 1.0, "10 classes it is 0.3046, not 1.0000"),
    (nb06.accuracy_of, lambda d, v, k: v / nb06.confident_value(d, 1.0, k), "not proportional"),
    (nb06.accuracy_of, lambda d, v, k: 0.0, "has accuracy 0.8, yours is 0.0000"),
    (nb06.pull_ratio, lambda k: 1 / (2 * k * np.cosh(1 / k) ** 2), "upside down"),
    (nb06.pull_ratio, lambda k: k, "that forgets the slope of g"),
    (nb06.pull_ratio, lambda k: 2 * k, "not quite 1/2"),
    (nb06.pull_ratio, lambda k: 1.0, "for 2 classes it is 5.086, yours is 1"),
    (nb07.relative_scatter, lambda k, b: (k - 1) / b, "take its root"),
    (nb07.relative_scatter, lambda k, b: (k - 1) ** 0.5, "that is for a single draw"),
    (nb07.relative_scatter, lambda k, b: ((k - 1) / b) ** 0.5 / k, "divide it by the mean"),
    (nb07.relative_scatter, lambda k, b: 0.0, "batch 128 it is 0.2652, yours is 0"),
    (nb07.classes_in_a_batch, lambda k, b: k * (1 - 1 / k) ** b, "how many are absent"),
    (nb07.classes_in_a_batch, lambda k, b: 1 - (1 - 1 / k) ** b, "the chance of one class"),
    (nb07.classes_in_a_batch, lambda k, b: min(k, b), "some class is met twice"),
    (nb07.classes_in_a_batch, lambda k, b: 0.0, "batch 128 it is 10, yours is 0"),
    (nb07.misled_classes, lambda T: [1, 2], "named rightly"),
    (nb07.smallest_batch, lambda k: k, "2 labels hold all 2 classes with a chance of 50.0% only"),
    (nb07.smallest_batch, lambda k: 150, "150 labels are enough for 2 classes, but so are 149"),
    (nb07.smallest_batch, lambda k: 1e308, "enough for 2 classes, but so are 200"),
    (nb07.smallest_batch, lambda k: 6.5, "a batch is a whole number"),
    (nb07.misled_classes, lambda T: [i for i in range(4) if T[:, i].argmax() != i], "are columns"),
    (nb07.misled_classes, lambda T: T.argmax(1) != np.arange(4), "yes or no for each"),
    (nb07.misled_classes, lambda T: [0], "the classes are [0, 3], yours are [0]"),
    (nb08.noisy_agreement, lambda a, r, k: averaged_first(a, r, k), "average after multiplying"),
    (nb08.noisy_agreement, lambda a, r, k: np.mean(np.multiply(a, 1 - np.array(r))), "now and then"),
    (nb08.noisy_agreement, lambda a, r, k: wrong_alike(a, r), "one of K - 1"),
    (nb08.noisy_agreement, lambda a, r, k: 0.0, "K = 10 it is 0.5889, yours 0"),
    (nb08.vote_of_three, lambda r, k: 3 * r**2 * (1 - r) + r**3, "for the same label, or by the draw"),
    (nb08.vote_of_three, lambda r, k: 1 - right_vote(r, k), "how often the vote is right"),
    (nb08.vote_of_three, lambda r, k: 0.0, "10 classes it is 0.0200, yours is 0.0000"),
    (nb08.missing_term, lambda a, r, k: k / (k - 1) * covariance(a, r), "adds agreement"),
    (nb08.missing_term, lambda a, r, k: -covariance(a, r), "the factor is K / (K - 1)"),
    (nb08.missing_term, lambda a, r, k: -k / (k - 1) * np.cov(a, r)[0, 1], "uses n - 1"),
    (nb08.missing_term, lambda a, r, k: 1.0, "K = 10 it is 0.05556, yours 1"),
    (nb10.gain_of_best, lambda n: 1.0, "one run gains nothing"),
    (nb10.seeds_needed, lambda sd, delta: 1, "one seed has no spread"),
    (nb10.seeds_needed, lambda sd, delta: int((1.96 * sd / delta) ** 2) + 1, "1.96 is for a known spread"),
    (nb10.seeds_needed, lambda sd, delta: 50, "it takes 7 seeds, yours is 50"),
    (nb10.gain_of_best, lambda n: 2 * nb10.expected_maximum(n), "that is the range"),
    (nb10.gain_of_best, lambda n: -nb10.expected_maximum(n), "take the largest"),
    (nb10.gain_of_best, lambda n: 0.0, "for 2 runs it is 0.564, yours is 0.000"),
    (nb10.difference, lambda a, b: None, "that makes two pairs"),
    (nb10.difference, lambda a, b: -paired_mean(a, b), "first minus second"),
    (nb10.difference, lambda a, b: mean_of(a) - mean_of(b), "pair them first"),
    (nb10.difference, lambda a, b: 0.5, "the mean is 0.03, yours is 0.5000"),
    (nb10.difference, lambda a, b: paired_mean(a, b), "a single pair says nothing"),
    (nb10.difference, lambda a, b: two_or_nan(a, b), "without a shared seed"),
    (nb11.unnamed_generator, lambda r: (1 - r) ** 2, "here it is p that divides"),
    (nb11.unnamed_generator, lambda r: (1 - r) ** 2 / r**2, "once too often"),
    (nb11.unnamed_generator, lambda r: r, "at r = 0.2 it must be 3.2000; yours is 0.2000"),
    (nb11.unnamed_generator, lambda r: 0.0, "a tensor of the shape of r"),
    (nb11.sparse_bias, lambda P, g, d, c, a, b: sparse(P, g, d, c, b, a), "e1 and e2 are exchanged"),
    (nb11.sparse_bias, lambda P, g, d, c, a, b: -sparse(P, g, d, c, a, b), "the sign is turned round"),
    (
        nb11.sparse_bias,
        lambda P, g, d, c, a, b: exact.decouple_sparse_printed(P, g, "kl", c, a, b).bias.item(),
        "that is the printed bias",
    ),
    (nb11.sparse_bias, lambda P, g, d, c, a, b: 0.0, "yours is 0.000000"),
    (nb11.poor_but_infinite, lambda: torch.ones(2, 2), "probabilities that sum to 1"),
    (nb11.poor_but_infinite, lambda: torch.tensor([[0.6, 0.0], [0.0, 0.4]]), "must be balanced"),
    (nb11.poor_but_infinite, lambda: torch.eye(2) / 2, "its accuracy is 1"),
    (nb11.poor_but_infinite, lambda: torch.full((2, 2), 0.25), "which entry must be 0"),
    (nb11.suspicious_rows, lambda T, n: np.flatnonzero(abs(T.sum(1) - 1) > 1e-9), "row 2 sums to 0.99"),
    (nb11.suspicious_rows, lambda T, n: [1, 3], "may be off by 0.15"),
    (nb11.suspicious_rows, lambda T, n: [0], "the rows are [1, 3]; yours are [0]"),
    (nb11.suspicious_rows, lambda T, n: 1.0, "a list of numbers"),
    (nb11.suspicious_rows, lambda T, n: abs(T.sum(1) - 1) > 0.05, "yes or no for each"),
    (nb11.suspicious_rows, lambda T, n: [1, 7], "a whole number from 0 to 3"),
    (nb12.better_then_worse, lambda: [0.0, 0.5, 1.0], "ahead by 0.000 only"),
    (nb12.better_then_worse, lambda: [0.2, 0.4, 0.9], "ahead by -0.067 only"),
    (nb12.better_then_worse, lambda: [0.0, 0.0, 1.0], "it is not behind: +"),
    (nb12.better_then_worse, lambda: [0.1, 0.3, 2.0], "3 numbers between 0 and 1"),
    (nb12.constants, lambda T: 1.0, "return two numbers"),
    (nb12.constants, lambda T: (1 / widest(T.inverse()), 2 * widest(T)), "take half of the distance"),
    (nb12.constants, lambda T: (widest(T.inverse()), widest(T)), "turned upside down"),
    (nb12.constants, lambda T: (widest(T), 1 / widest(T.inverse())), "the smaller one comes first"),
    (nb12.constants, lambda T: (0.0, 1.0), "for K = 2 it is ("),
    (nb12.always_wrong, lambda: torch.eye(4), "some labels are right"),
    (nb12.always_wrong, lambda: torch.ones(4, 4), "a 4 x 4 matrix of probabilities"),
    (
        nb12.always_wrong,
        lambda: torch.eye(4)[[1, 2, 3, 0]] / 2 + torch.eye(4)[[2, 3, 0, 1]] / 2,
        "noise scales D",
    ),
    (nb12.largest_majority, lambda name: 1 / peer_weight(name, 0.5), "difference of the two shares"),
    (nb12.largest_majority, lambda name: (1 + 1 / peer_weight(name, 0.5)) / 2, "a share is at most 1"),
    (nb12.largest_majority, lambda name: min(1.0, (1 + peer_weight(name, 0.5)) / 2), "js: x is upside down"),
    (nb12.largest_majority, lambda name: 0.7, "tv: the objective turns at 1.0000, not at 0.7000"),
    (nb12.groups_not_boundaries, lambda: 3, "return two lists"),
    (nb12.groups_not_boundaries, lambda: ([0.9, 0.5, 0.1], [0.4, 0.4, 0.4]), "must sum to 1"),
    (nb12.groups_not_boundaries, lambda: ([0.9, 0.9, 0.1], [0.4, 0.4, 0.2]), "P(+) is 0.7400"),
    (nb12.groups_not_boundaries, lambda: ([0.9, 0.5, 0.1], [0.4, 0.2, 0.4]), "is the most accurate one"),
    (nb12.groups_not_boundaries, lambda: ([0.95, 0.505, 0.317], [0.2, 0.3, 0.5]), "by 0.0030 only"),
    (nb00.noise_rate, lambda c, n: (c == n).double().mean(), "share of labels that are right"),
    (nb00.noise_rate, lambda c, n: (c != n).sum(), "how many labels are wrong"),
    (nb00.noise_rate, lambda c, n: None, "returned None"),
    (nb00.noise_rate, lambda c, n: [0.375], "returned a list: return a number"),
    (nb01.flat_kl, lambda r: (x for x in r), "returned a generator that is no table"),
    (nb13.tied, lambda table, critical: table.mean() > 0.7, "the names of those with yes"),
    (nb09.anchors_fail_up_to, lambda b: f"{b}", "returned the text"),
    (nb00.noise_rate, lambda c, n: c != n, "several numbers: make them one"),
    (nb00.noise_rate, lambda c, n: 0.375, "not touched must give 0"),
    (nb00.noise_rate, lambda c, n: 1 / 0, "raised ZeroDivisionError"),
    (nb00.memorised_share, lambda p, n, c: (p == n).double().mean(), "counts all examples"),
    (
        nb00.memorised_share,
        lambda p, n, c: ((p == n) & (n != c)).double().mean(),
        "divide by the number",
    ),
    (nb00.memorised_share, lambda p, n, c: (p == c)[n != c].double().mean(), "resisted"),
    (nb00.memorised_share, lambda p, n, c: torch.tensor(0.5), "0.667; yours is 0.500"),
    (nb00.precision_and_recall, lambda p, n, c: 0.5, "return two numbers"),
    (nb00.precision_and_recall, lambda p, n, c: (50, 33), "these are percent"),
    (nb00.precision_and_recall, lambda p, n, c: (1 / 3, 1 / 2), "the two are exchanged"),
    (nb00.precision_and_recall, lambda p, n, c: (1 / 8, 1 / 3), "you divided by all labels"),
    (nb00.precision_and_recall, lambda p, n, c: (1.0, 1 / 3), "precision 0.5; yours is 1.000"),
    (nb00.precision_and_recall, lambda p, n, c: (0.5, 1.0), "recall 0.333; yours is 1.000"),
]


def noisy_and_prior(P, T):
    return P @ T, (P @ T).sum(0)


def tied_series(table, critical):
    ranks = table.rank(axis=1, ascending=False).mean()
    return ranks[ranks <= ranks.min() + critical]


def rules(e1, e2, K):
    own, other = (1 - e1 + e2) / K, (1 - e2 + e1) / K
    return [1 - e1 > e1, 1 - e1 - own > e1 - other, (1 - e1) / own > e1 / other]


# The same right answer in another form: float32, NumPy, plain lists, another road to it.
RIGHT = [
    (nb13.bridge, lambda p, q: torch.tensor((1 - p**q) / q if q else -np.log(p), dtype=torch.float32)),
    (nb13.tied, lambda table, critical: tied_series(table, critical)),
    (nb09.survivors, lambda *given: dict(zip(("fit", "subtract", "divide"), rules(*given), strict=True))),
    (nb14.my_flags, lambda: ["#0", "#1", "#8", "#14", "#19", "#20"]),
    (nb00.noise_rate, lambda c, n: (c != n).float().mean()),
    (nb00.noise_rate, lambda c, n: torch.tensor([sum(c != n) / len(c)])),
    (nb01.flat_kl, lambda r: [x * x.log() - x + 1 for x in r]),
    (nb03.corrected_g, lambda g, e: [row - row @ e for row in g]),
    (nb04.auroc, lambda s, w: (np.sign(s[w][:, None] - s[~w]) / 2 + 0.5).mean()),
    (nb04.worth_checking, lambda s, c, h: (np.where(s * h > c), np.minimum(c, s * h).sum())),
    (nb05.regret_of, lambda s, a: a.max() - a[s.argmax()]),
    (nb05.noisy_accuracy, lambda a, e, q: (1 - e.sum()) * a + e @ q),
    (nb05.paired_difference, lambda a, b: ((a - b).mean(), stats.sem(a - b))),
    (nb08.noisy_agreement, lambda a, r, k: (a * (1 - r) + (1 - a) * r / (k - 1)).mean()),
    (nb12.groups_not_boundaries, lambda: np.array([[0.95, 0.52, 0.308], [0.2, 0.3, 0.5]])),
    (nb13.survivors, lambda T: np.where(T.argmax(1) == np.arange(len(T)))),
    (nb00.noise_rate, lambda c, n: np.mean(c.numpy() != n.numpy())),
    (nb00.memorised_share, lambda p, n, c: (p == n)[c != n].float().mean()),
    (nb00.precision_and_recall, lambda p, n, c: torch.tensor([0.5, 1 / 3])),
    (nb00.precision_and_recall, lambda p, n, c: [0.5, 1 / 3]),
    (nb01.flat_kl, lambda r: (r * r.log() - r + 1).float().numpy()),
    (nb01.pearson_conjugate, lambda u: np.where(u < -2, -1, u + u**2 / 4)),
    (nb01.total_variation_witness, lambda p, q: [0.5 if a > b else -0.5 for a, b in zip(p, q, strict=True)]),
    (nb12.constants, lambda T: torch.stack([1 / widest(T.inverse()), widest(T)])),
    (nb13.survivors, lambda T: np.flatnonzero(T.argmax(1) == np.arange(len(T)))),
    (nb14.my_flags, lambda: np.array([0, 1, 8, 14, 19, 20])),
    (nb02.estimate_T, lambda c, n, k: pd.crosstab(c, n, normalize="index")),
    (nb02.pair_flips, lambda k, e: torch.as_tensor(noise.sparse(k, None, e, e)).float()),
    (nb02.largest_symmetric_rate, lambda k: torch.tensor(1 - 1 / k)),
    (nb02.worst_noise, lambda k: (0.495 * np.eye(k) + 0.505 * np.roll(np.eye(k), -1, 1)).tolist()),
    (nb03.noisy_table, lambda P, T: [part.numpy() for part in noisy_and_prior(P, T)]),
    (nb03.noisy_table, lambda P, T: (P @ T, T.T @ P.sum(0))),
    (nb03.corrected_g, lambda g, e: (g - (g @ e)[:, None]).float().numpy()),
    (nb03.clean_vd, lambda P, g, d, T: undone(P, g, d, T).float()),
    (nb03.bad_but_informative, lambda: [[0.0, 0.3], [0.5, 0.2]]),
    (nb03.peak, lambda d, e, p: top_of(d, e, p).item()),
    (nb03.peak, lambda d, e, p: round(top_of(d, e, p).item(), 2)),
    (nb04.derangement, lambda n: next(order for order in iter(lambda: torch.randperm(n).tolist(), None)
                                      if all(i != j for i, j in enumerate(order)))),
    (nb04.product_term, lambda z, p, d: (d.conjugate_of_activation(z.softmax(1)) @ p).mean().float()),
    (nb04.auroc, lambda s, w: roc_auc_score(w, s)),
    (nb04.auroc, lambda s, w: torch.tensor(share_in_order(s, w, 0.5))),
    (nb04.worth_checking, lambda s, c, h: (np.flatnonzero(np.multiply(s, h) > c),
                                           np.minimum(c, np.multiply(s, h)).sum())),
    (nb05.regret_of, lambda s, a: np.max(a) - np.array(a)[np.argmax(s)]),
    (nb05.noisy_accuracy, lambda a, e, q: torch.tensor((1 - sum(e)) * a + np.dot(e, q)).float()),
    (nb05.paired_difference, lambda a, b: np.array(spread(a, b, 1, 2))),
    (nb05.told_apart, lambda rows: {(j, i) for i, j in apart(rows, 1)}),
    (nb07.relative_scatter, lambda k, b: torch.tensor((k - 1) / b).sqrt()),
    (nb07.classes_in_a_batch, lambda k, b: torch.tensor(k - k * (1 - 1 / k) ** b)),
    (nb07.misled_classes, lambda T: np.flatnonzero(T.argmax(1) != np.arange(len(T)))),
    (nb07.smallest_batch, lambda k: float(next(b for b in range(999) if nb07.all_present(k, b) >= 0.95))),
    (nb09.clean_prior, lambda q, T: (q @ T.inverse()).tolist()),
    (nb09.anchors_fail_up_to, torch.tensor),
    (nb09.survivors, lambda a, b, k: np.array(rules(a, b, k))),
    (nb09.plug_in, lambda P: exact.optimal_g(P, "pearson").float().numpy()),
    (nb11.unnamed_generator, lambda r: 1 / r - 1),
    (nb11.unnamed_generator, lambda r: (r + 1 / r - 2).numpy()),
    (nb11.poor_but_infinite, lambda: [[0.5, 0.49], [0.0, 0.01]]),
    (nb11.sparse_bias, lambda P, g, d, c, a, b: torch.tensor(sparse(P, g, d, c, a, b))),
    (nb11.suspicious_rows, lambda T, n: {i for i, row in enumerate(T) if abs(sum(row) - 1) > 1.6 / 10**n}),
]  # fmt: skip


@pytest.mark.parametrize(("checker", "answer"), RIGHT)
def test_a_right_answer_is_right_in_any_form(checker, answer):
    assert checker.verdict(answer).startswith("right")


@pytest.mark.parametrize(("name", "checker"), CHECKERS, ids=[name for name, _ in CHECKERS])
def test_a_forgotten_return_and_a_call_too_many_are_named(name, checker):
    if name != "nb10.difference":  # to which None may be the answer
        assert "return" in checker.verdict(lambda *_: None)
    assert "your function itself" in checker.verdict(0.5)


def spoilt(value):
    """Change everything in an array, a tensor or a dictionary."""
    if isinstance(value, np.ndarray | torch.Tensor):
        value[...] = 1
    elif isinstance(value, dict | list):
        value.clear()
    elif isinstance(value, pd.DataFrame):
        value.loc[:] = 1.0


@each
def test_an_attempt_that_changes_what_it_is_given_does_not_spoil_the_next(imports, stub, solution, capsys):
    namespace = {}
    exec(imports, namespace)
    exec(solution, namespace)
    call = stub.rstrip().splitlines()[-1]
    function = re.search(r"\((\w+)\)", call).group(1)
    solved = namespace[function]

    def careless(*given):
        answer = solved(*given)
        for one in given:
            spoilt(one)
        return answer

    for attempt in (careless, solved):
        namespace[function] = attempt
        exec(call, namespace)
        assert capsys.readouterr().out.startswith("right")


@pytest.mark.parametrize(("checker", "answer", "reason"), WRONG)
def test_a_wrong_answer_is_told_why(checker, answer, reason):
    verdict = checker.verdict(answer)
    assert verdict.startswith("not yet")
    assert reason in verdict


def test_checking_a_ninth_divergence_leaves_the_registry_as_it_was():
    assert TRIANGULAR.verdict(triangular()).startswith("right")
    assert "triangular" not in DIVERGENCES


def test_a_verdict_has_three_forms():
    @exercise("t")
    def check(answer):
        if answer() != 1:
            raise Wrong("one is wanted")

    def stub():
        raise NotImplementedError

    assert check.verdict(lambda: 1) == "right  t"
    assert check.verdict(lambda: 2) == "not yet  t: one is wanted"
    assert check.verdict(stub) == "your turn  t"
