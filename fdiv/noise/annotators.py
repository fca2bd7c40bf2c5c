"""Several annotators: a transition matrix for each of them, and the label behind their votes.

Dawid & Skene, Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm (1979): annotator
a answers j where the truth is i with probability T^a_ij, independently of the others. From all T^a and the
shares of the classes follows the chance of each class behind the votes for an example, by Bayes' rule; from
these chances follow better T^a and shares. Repeated, the likelihood of the votes can only grow.

Two annotators are too few to tell who errs; three or more are needed, better than chance on the whole. The
order of the classes is that of the majority, where the iteration starts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from fdiv.arrays import log
from fdiv.noise.matrices import check_rate
from fdiv.noise.votes import MISSING, checked_votes, votes_to_soft

STEPS, TOLERANCE = 500, 1e-7
LARGEST = 2**28  # numbers that are kept at once, 2 GB


@dataclass(frozen=True, eq=False)
class Annotators:
    """What the votes say about the examples and about those who voted.

    probabilities: for each example, the chance of each class, (n, K): soft labels.
    labels: for each example, the most likely class.
    transitions: for each annotator a matrix, (A, K, K); T^a_ij = P(answer j | class i).
    prior: the share of each class.
    log_likelihood: of all votes, in nats.

    >>> votes = np.repeat([[0, 0, 0], [1, 1, 0]], 50, axis=0)  # the third always answers 0
    >>> dawid_skene(votes).accuracies.round(1).tolist()
    [1.0, 1.0, 0.5]
    """

    probabilities: np.ndarray
    labels: np.ndarray
    transitions: np.ndarray
    prior: np.ndarray
    log_likelihood: float

    @property
    def accuracies(self) -> np.ndarray:
        """For each annotator, the chance of a right answer, over classes as frequent as they are here."""
        return np.einsum("aii,i->a", self.transitions, self.prior)

    def transition_of(self, votes: Any) -> np.ndarray:
        """Return T of a label that is the answer of one annotator for each example, drawn at random.

        It is the mean of all matrices, each weighted by its annotator's number of votes: what the forward
        correction needs if each example is labelled by one of them.

        >>> votes = np.repeat([[0, 0, 0], [1, 1, 0]], 50, axis=0)
        >>> dawid_skene(votes).transition_of(votes).round(2).tolist()
        [[1.0, 0.0], [0.33, 0.67]]
        """
        (V, _), A = _checked(votes, len(self.prior)), len(self.transitions)
        if V.shape[1] != A:
            raise ValueError(f"votes must be of the {A} annotators, (examples, {A}), not of shape {V.shape}")
        counts = (V != MISSING).sum(axis=0)
        T = np.einsum("a,aij->ij", counts / counts.sum(), self.transitions)
        return T / T.sum(axis=1, keepdims=True)


def dawid_skene(votes: Any, num_classes: int | None = None, *, smoothing: float = 0.01) -> Annotators:
    """Return the classes behind the votes and a transition matrix for each annotator.

    votes: (examples, annotators), classes 0 .. K - 1, and -1 where an annotator did not vote.
    num_classes: K; by default the largest vote plus 1.
    smoothing: as if each annotator had given each answer to each class so many times more. It keeps an
        annotator of few votes from probabilities of exactly 0; 0 is maximum likelihood.

    >>> votes = [[0, 0, 1], [0, 0, 0], [1, 1, 1], [1, 1, 0], [0, -1, 0], [1, 1, -1]]
    >>> found = dawid_skene(votes)
    >>> found.labels.tolist(), found.accuracies.round(1).tolist()
    ([0, 0, 1, 1, 0, 1], [1.0, 1.0, 0.6])
    """
    V, K = _checked(votes, num_classes)
    check_rate("smoothing", smoothing, below=np.inf)
    cast = [np.flatnonzero(V[:, a] != MISSING) for a in range(V.shape[1])]
    chance = votes_to_soft(V, K).numpy().astype(np.float64)
    last = -np.inf
    for _ in range(STEPS):
        prior, T = _parameters(V, cast, chance, smoothing)
        log_joint = _log_joint(V, cast, prior, T)
        evidence = logsumexp(log_joint, axis=1)
        chance = np.exp(log_joint - evidence[:, None])
        if evidence.sum() - last < TOLERANCE * len(V):
            break
        last = evidence.sum()
    return Annotators(chance, chance.argmax(axis=1), T, prior, float(evidence.sum()))


def _checked(votes: Any, num_classes: int | None = None) -> tuple[np.ndarray, int]:
    """Return the votes as an array and K, where a matrix of each annotator has room and two classes."""
    V, K = checked_votes(votes, num_classes)
    if K < 2:
        raise ValueError("all votes are for one class, but two are needed: pass num_classes")
    if K**2 * V.shape[1] + K * len(V) > LARGEST:
        raise ValueError(
            f"{K} classes are too many for a matrix of each of {V.shape[1]} annotators: number them from 0"
            " without gaps"
        )
    return V, K


def _parameters(V: np.ndarray, cast: list[np.ndarray], chance: np.ndarray, smoothing: float) -> Any:
    """The shares of the classes and the matrices that make the votes most likely, given the chances."""
    K = chance.shape[1]
    T = np.full((len(cast), K, K), float(smoothing))
    for a, rows in enumerate(cast):
        for j in range(K):
            T[a, :, j] += chance[rows[V[rows, a] == j]].sum(axis=0)
    sums = T.sum(axis=2, keepdims=True)
    # An annotator who never saw a class has no row for it without smoothing: any will do.
    T = np.where(sums > 0, T / np.where(sums > 0, sums, 1), 1 / K)
    return chance.mean(axis=0), T


def _log_joint(V: np.ndarray, cast: list[np.ndarray], prior: np.ndarray, T: np.ndarray) -> np.ndarray:
    """log P(class, votes) for each example and class."""
    log_T, total = log(T), np.tile(log(prior), (len(V), 1))
    for a, rows in enumerate(cast):
        total[rows] += log_T[a].T[V[rows, a]]
    return total
