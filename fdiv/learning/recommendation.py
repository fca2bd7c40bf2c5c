"""Which loss for these labels: what they and a short cross-entropy training say, with the reasons.

    advice = recommend(X, y)
    print(advice)
    RobustClassifier(**advice.options).fit(X, y)

Cross-entropy, stopped early and asked about rows that it was not trained on, gives noisy posteriors. From
them come T with error bars (``fdiv.noise.estimate``), whether the right label leads in every column of T, and
whether flips can be foreseen from the row, which class-conditional noise does not allow. ``choose_loss``
turns that into a loss. It is the best of the rules in ``fdiv.experiments.choose_rule`` that lose no class, on
ten other tables (six of KEEL's and four made ones) than those on which ``fdiv.experiments.own_tables``
measures how good the choice is.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from fdiv.device import TRAINING
from fdiv.noise.estimate import TransitionEstimate, estimate_transition

# What can be recommended: the options of ``RobustClassifier``.
CANDIDATES: dict[str, dict[str, Any]] = {
    "ce": {"loss": "ce"},
    "tv": {"loss": "tv"},
    "kl": {"loss": "kl"},
    "gce": {"loss": "gce"},
    "ratio": {"loss": "ratio"},
    "plugin": {"loss": "plugin"},
    "kl-forward": {"loss": "kl", "correction": "forward"},
}
ENOUGH = 100  # rows, below which nothing is estimated
FOLDS, PATIENCE = 3, 5
CERTAIN = 2.0  # standard errors
CONCENTRATED = (0.12, 0.05)  # from which flips count as uneven: several classes, two classes
UNBALANCED = 1.3  # the most frequent label against the rarest
FORETOLD = 0.5  # the share of labels that cross-entropy foretells, from which uneven flips are believed
FORESEEN = 0.55  # an AUROC that the errors of the model can make


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the labels and a cross-entropy training say.

    rows: how many there are.
    prior: the shares of the noisy labels.
    estimate: T with standard errors; None where there are too few rows.
    flip_auroc: how well a row foretells that its label is not the predicted one, within predicted classes;
        one half for noise that does not look at the row, where classes do not overlap. With its standard
        error.
    foretold: the share of labels that cross-entropy foretells for rows that it was not trained on. Where it
        is small, classes overlap, and an overlap looks like flips that prefer certain labels.
    """

    rows: int
    prior: np.ndarray
    estimate: TransitionEstimate | None = None
    flip_auroc: tuple[float, float] = (0.5, np.inf)
    foretold: float = 0.0

    @property
    def T(self) -> np.ndarray:
        """T, the identity where there is no estimate."""
        return np.eye(len(self.prior)) if self.estimate is None else self.estimate.T

    @property
    def error(self) -> np.ndarray:
        """The standard errors of T."""
        error = None if self.estimate is None else self.estimate.standard_error
        return np.zeros_like(self.T) if error is None else error

    @property
    def wrong(self) -> tuple[float, float]:
        """The share of wrong labels as T and the noisy shares have it, with its standard error."""
        spread = np.sqrt((self.prior**2 * np.diag(self.error) ** 2).sum())
        return float(self.prior @ (1 - np.diag(self.T))), float(spread)

    @property
    def imbalance(self) -> float:
        """How many times as frequent the most frequent label is as the rarest."""
        return float(self.prior.max() / self.prior.min())

    @property
    def concentration(self) -> float:
        """By how much flips prefer some wrong labels: the deviation of T within a row, off the diagonal.

        What counting alone makes of even flips is taken off. 0 for even flips; with K classes, flips to one
        label with probability e have e sqrt((K - 2) / (K - 1)). For two classes it is by how much one is
        flipped more often than the other, beyond ``CERTAIN`` standard errors.
        """
        T, K = self.T, len(self.prior)
        if self.estimate is None or self.estimate.anchors is None:
            return 0.0
        if K == 2:
            spread = CERTAIN * np.hypot(self.error[0, 1], self.error[1, 0])
            return float(max(0, abs(T[0, 1] - T[1, 0]) - spread))
        off, even = ~np.eye(K, dtype=bool), ((1 - np.diag(T)) / (K - 1))[:, None]
        by_chance = even * (1 - even) / self.estimate.anchors.shape[1] * (K - 2)
        squares = np.where(off, (T - even) ** 2, 0).sum(1, keepdims=True)
        return float(np.sqrt(max(0, (squares - by_chance).mean())))

    @property
    def uneven(self) -> bool:
        """Whether flips prefer certain labels, more than an overlap of classes would make it seem."""
        prefer = self.concentration > CONCENTRATED[len(self.prior) == 2]
        return prefer and self.foretold >= FORETOLD

    @property
    def led_by_another(self) -> list[int]:
        """The classes whose column of T is led by another class, with certainty: they cannot be learnt."""
        T, error = self.T, self.error
        above = T - np.diag(T) - CERTAIN * np.hypot(error, np.diag(error))
        return np.flatnonzero((above > 0).any(0)).tolist()

    @property
    def looks_at_rows(self) -> bool:
        """Whether flips can be foreseen from the row, more than a model that errs would make it seem."""
        return self.flip_auroc[0] - FORESEEN > CERTAIN * self.flip_auroc[1]


@dataclass(frozen=True, eq=False)
class Recommendation:
    """A loss, and why.

    options: for ``RobustClassifier``.
    reasons: a sentence each.
    evidence: the numbers behind them.

    >>> print(Recommendation({"loss": "tv"}, ("there are few rows",), Evidence(50, np.array([0.5, 0.5]))))
    RobustClassifier(loss='tv')
    - there are few rows
    """

    options: dict[str, Any]
    reasons: tuple[str, ...]
    evidence: Evidence

    @property
    def name(self) -> str:
        """The name in ``CANDIDATES``."""
        return next(name for name, options in CANDIDATES.items() if options == self.options)

    def __str__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        return "\n".join([f"RobustClassifier({options})", *(f"- {reason}" for reason in self.reasons)])


def recommend(X: Any, y: Any, sample_weight: Any = None, *, random_state: Any = 0) -> Recommendation:
    """Return which loss to take for a table with noisy labels, with the reasons.

    X, y, sample_weight: as ``RobustClassifier.fit`` takes them.
    random_state: of the cross-entropy trainings.

    >>> from sklearn.datasets import load_wine
    >>> print(recommend(*load_wine(return_X_y=True)).reasons[0])
    178 rows, 3 classes, the rarest with 27 % of the labels
    """
    from fdiv.learning.estimator import RobustClassifier

    numbers, labels, names, weight = RobustClassifier()._prepared(X, y, sample_weight)
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    with TRAINING:
        return advise(numbers, labels, names, weight, seed)


def advise(
    numbers: np.ndarray, labels: np.ndarray, names: np.ndarray, weight: np.ndarray | None, seed: int
) -> Recommendation:
    """``recommend`` for rows of numbers and labels from 0, checked; ``names`` are those of the classes."""
    evidence = look(numbers, labels, len(names), weight, seed)
    name, why = choose_loss(evidence)
    return Recommendation(CANDIDATES[name], (*_described(evidence, names), why), evidence)


def look(
    numbers: np.ndarray,
    labels: np.ndarray,
    K: int,
    weight: np.ndarray | None,
    seed: int,
    fewest: int = ENOUGH,
) -> Evidence:
    """Return the evidence: shares and, from ``fewest`` rows on, T and whether flips can be foreseen."""
    counts = np.bincount(labels, weight, minlength=K)
    prior = counts / counts.sum()
    if len(labels) < fewest:
        return Evidence(len(labels), prior)
    P = _out_of_sample(numbers, labels, K, weight, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes never predicted: their rows have long error bars
        estimate = estimate_transition(P, labels, method="anchor-count", bootstrap=30, seed=seed)
    foretold = float(np.average(P.argmax(1) == labels, weights=weight))
    return Evidence(len(labels), prior, estimate, _flip_auroc(numbers, labels, P), foretold)


def choose_loss(evidence: Evidence) -> tuple[str, str]:
    """Return a name in ``CANDIDATES``, and the reason in a sentence.

    >>> choose_loss(Evidence(50, np.array([0.5, 0.5])))[0]
    'tv'
    """
    if evidence.estimate is None:
        return "tv", f"with fewer than {ENOUGH} rows nothing is estimated: total variation needs no estimate"
    two = len(evidence.prior) == 2
    if evidence.uneven:
        lost = (
            "one class loses more of its labels than the other"
            if two
            else "some classes lose labels to a certain other one more than to the rest"
        )
        return "plugin", (
            f"{lost} (by {evidence.concentration:.2f}): the plug-in divergence learns which class goes with"
            " which label"
        )
    why = (
        f"only {evidence.foretold:.0%} of the labels can be foretold, too few to see which are confused"
        if evidence.foretold < FORETOLD
        else "both classes seem to lose their labels alike"
        if two
        else "no class seems to lose labels to a certain other one more than to the rest"
    )
    return "kl", f"{why}: the KL divergence learns few wrong labels by heart, whatever their rates"


def _described(evidence: Evidence, names: np.ndarray) -> list[str]:
    """The evidence in sentences."""
    K, rarest = len(names), 100 * evidence.prior.min()
    said = [f"{evidence.rows} rows, {K} classes, the rarest with {rarest:.0f} % of the labels"]
    if evidence.estimate is None:
        return said
    (rate, error), (auroc, spread) = evidence.wrong, evidence.flip_auroc
    said.append(f"about {100 * rate:.0f} ± {100 * error:.0f} % of the labels look wrong to a plain network")
    led = [str(names[k]) for k in evidence.led_by_another]
    said.append(
        f"label {', '.join(led[:5])} is given more often to another class than to its own, which no"
        " loss finds out by itself: look at these labels"
        if led
        else "every label is given most often to its own class, so that the right ones can be learnt"
    )
    if np.isfinite(spread):
        how = "can" if evidence.looks_at_rows else "cannot"
        said.append(
            f"wrong labels {how} be foreseen from the row (AUROC {auroc:.2f} ± {spread:.2f}, by chance 0.5),"
            f" so {'some rows are harder to label than others' if how == 'can' else 'any row may be struck'}"
        )
    return said


def _out_of_sample(
    numbers: np.ndarray, labels: np.ndarray, K: int, weight: np.ndarray | None, seed: int
) -> np.ndarray:
    """The noisy posteriors of every row by a network that was not trained on it."""
    from fdiv.learning.estimator import RobustClassifier

    rng = np.random.default_rng(seed)
    fold, P = np.empty(len(labels), dtype=int), np.zeros((len(labels), K))
    for k in range(K):  # every class is spread over the folds
        rows = rng.permutation(np.flatnonzero(labels == k))
        fold[rows] = (np.arange(len(rows)) + rng.integers(FOLDS)) % FOLDS
    for number in range(FOLDS):
        here, others = fold == number, fold != number
        model = RobustClassifier("ce", validation=0.15, patience=PATIENCE, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(numbers[others], labels[others], None if weight is None else weight[others])
        P[np.ix_(here, model.classes_)] = model.predict_proba(numbers[here])
    return P


def _flip_auroc(numbers: np.ndarray, labels: np.ndarray, P: np.ndarray) -> tuple[float, float]:
    """How well a row foretells a disagreement, within predicted classes, and its standard error."""
    from sklearn.linear_model import LogisticRegression

    predicted, model = P.argmax(1), LogisticRegression(C=0.01, max_iter=200)
    found = foreseen_flips(numbers, predicted, labels != predicted, model, FOLDS, most=2000)
    if not found:
        return 0.5, np.inf
    scores, wrong, right = np.transpose(found)
    variances = (wrong + right + 1) / (12 * wrong * right)  # of Mann and Whitney's statistic
    return float(scores.mean()), float(np.sqrt(variances.sum()) / len(scores))


def foreseen_flips(
    rows: np.ndarray, classes: np.ndarray, wrong: np.ndarray, model: Any, cv: Any, most: int | None = None
) -> list[tuple[float, int, int]]:
    """Return for each class how well ``model`` foresees from a row whether its label is wrong, as an AUROC.

    With it stand the numbers of wrong and of right labels. A class with fewer than ten of either is left out.

    model, cv: a classifier of scikit-learn's, and the folds of ``cross_val_predict``.
    most: so many rows of a class are enough; None takes all.
    """
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import cross_val_predict

    found = []
    for k in np.unique(classes):
        inside = np.flatnonzero(classes == k)[:most]
        hit = wrong[inside]
        if min(hit.sum(), (~hit).sum()) >= 10:
            foreseen = cross_val_predict(model, rows[inside], hit, cv=cv, method="decision_function")
            found.append((roc_auc_score(hit, foreseen), int(hit.sum()), int((~hit).sum())))
    return found
