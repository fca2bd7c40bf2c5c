"""Does noise look at the image? A test, and what it says about the labels that people gave CIFAR-10.

``python -m fdiv.experiments.human_noise`` downloads CIFAR-10 and CIFAR-10N, measures, and writes the numbers
to data/results/human_noise.csv with their provenance; the notebooks read that file.
"""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import torch
from torch import Tensor

from fdiv import noise
from fdiv.datasets import HUMAN, human_labels, load
from fdiv.experiments.study import Study
from fdiv.learning.recommendation import foreseen_flips
from fdiv.theory.robustness import guarantee

FOLDS = 5
PEOPLE = ("random-1", "random-2", "random-3")  # the three answers for every image
TESTS = ("wrong", "flip_auroc", "twin_auroc", "delta")
ERRORS = 2  # standard errors that a share may be off
# Clean test accuracy on CIFAR-10N in percent as published: ResNet-34, the best test epoch (Wei et al., 2022).
PUBLISHED_ACCURACIES = {
    "aggregate": {"ce": 87.77, "divergence": 91.64},
    "random-1": {"ce": 85.02, "divergence": 89.70},
    "worse": {"ce": 77.69, "divergence": 82.53},
}


def coarse(images: Tensor, side: int = 8) -> np.ndarray:
    """Images averaged down to ``side`` x ``side`` pixels, one row each, in [0, 1] where they were uint8."""
    scale = 255.0 if images.dtype == torch.uint8 else 1.0
    pooled = torch.nn.functional.adaptive_avg_pool2d(images.float() / scale, side)
    return pooled.flatten(1).numpy()


def flip_auroc(images: Tensor, clean: Tensor, noisy: Tensor) -> float:
    """How well an image tells, within its class, whether its label was flipped: AUROC, mean of the classes.

    One half for class-conditional noise, where a flip is a coin toss once the class is known. Within each
    class a logistic regression on coarse pixels predicts the flips of the examples it was not fitted on. A
    class with fewer than two examples per fold of either kind is left out.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if not len(images) == len(clean) == len(noisy):
        raise ValueError(f"there are {len(images)} images, {len(clean)} clean and {len(noisy)} noisy labels")
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=500))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    found = foreseen_flips(coarse(images), clean.numpy(), (clean != noisy).numpy(), model, folds)
    if not found:
        raise ValueError(f"no class has {2 * FOLDS} flipped and {2 * FOLDS} kept labels: nothing to test")
    return float(np.mean([auroc for auroc, _, _ in found]))


def majority_wrong(T: np.ndarray) -> float:
    """How often the vote of three annotators is wrong, if each errs by T and none looks at the image.

    Balanced classes; where all three differ, one of the three labels is drawn.
    """
    T, wrong = np.asarray(T, dtype=np.float64), 0.0
    for i, row in enumerate(T):
        for votes in product(range(len(T)), repeat=3):
            chance = row[list(votes)].prod()
            if len(set(votes)) == 3:
                wrong += chance * (2 / 3 if i in votes else 1)
            else:
                wrong += chance * (votes.count(i) < 2)
    return float(wrong / len(T))


def least_delta(answers: Tensor, labels: Tensor, clean: Tensor) -> float:
    """The least distance of T(x) from its class's mean T that the answers of three people leave possible.

    It is a lower bound of the delta of ``fdiv.robustness.instance_noise``. If the three answer independently
    once the image is known, an image of error rate r has k wrong answers of three with the binomial
    probability B(k, r). So the shares of images with 0, 1, 2 and 3 wrong answers, each with an allowance for
    chance, restrict how r may be distributed within a class; of all such distributions a linear program
    finds the one whose labels depend least on the image.

    answers: (3, n), a row for each of three people, or of three draws of one.
    labels: (n,), made from the answers, such as one of them or their majority. Of those with k wrong answers
        some share is wrong, and it is taken for the same at every image.
    clean: (n,), the true classes.

    >>> clean = torch.zeros(1000, dtype=torch.int64)
    >>> answers = torch.zeros(3, 1000, dtype=torch.int64)
    >>> answers[:, :300] = 1  # everybody errs on the same images
    >>> round(least_delta(answers, answers[0], clean), 2)
    0.41
    """
    from scipy.optimize import linprog

    r = np.linspace(0, 1, 201)
    binomial = np.stack([comb(3, k) * r**k * (1 - r) ** (3 - k) for k in range(4)])
    total = 0.0
    for one in clean.unique():
        wrong_answers = (answers[:, clean == one] != one).sum(0).numpy()
        wrong = (labels[clean == one] != one).numpy()
        shares = np.bincount(wrong_answers, minlength=4) / len(wrong)
        errors = ERRORS * np.sqrt(shares * (1 - shares) / len(wrong))
        given = [wrong[wrong_answers == k].mean() if shares[k] else 0.0 for k in range(4)]
        distance = np.abs(np.array(given) @ binomial - wrong.mean())
        found = linprog(
            distance,
            A_ub=np.concatenate([binomial, -binomial]),
            b_ub=np.concatenate([shares + errors, errors - shares]),
            A_eq=np.ones((1, len(r))),
            b_eq=[1],
        )
        if found.status != 0:
            raise ValueError(
                f"three people who answer independently would not have the wrong answers of class {int(one)}:"
                " the least delta is not known"
            )
        total += found.fun * len(wrong) / len(clean)
    return float(total)


def promised(T: np.ndarray, delta: float) -> float:
    """Return the clean total variation that the noisy maximiser has at least, as a share of the largest.

    T, delta: of noise that looks at the image; the bound is that of ``InstanceNoise.floor``.

    >>> promised(np.eye(10), 0.0), round(promised(noise.symmetric(0.5, 10), 0.1), 3)
    (1.0, 0.5)
    """
    most, bounds = 1 - 1 / len(T), guarantee("tv", T)
    return max(0.0, bounds.lowest - 2 * delta / most) / bounds.highest if bounds.highest else 0.0


def measure(labels: str) -> list[dict[str, float]]:
    """One row per entry of T, for a kind of CIFAR-10N's labels, with both tests, noise rate and least delta.

    ``twin_auroc`` is the test for labels with the same counts from class to class, on images drawn at random.
    """
    data = load("cifar-10")
    clean = data.train_labels
    noisy = human_labels("cifar-10", labels, clean=clean)
    T = noise.noise_card(clean, noisy).realised_T
    twin = noise.corrupt_exact_counts(clean, T, 0)
    answers = torch.stack([human_labels("cifar-10", one, clean=clean) for one in PEOPLE])
    tests = {
        "wrong": (clean != noisy).double().mean().item(),
        "flip_auroc": flip_auroc(data.train_images, clean, noisy),
        "twin_auroc": flip_auroc(data.train_images, clean, twin),
        "delta": least_delta(answers, noisy, clean),
    }
    return [{"i": i, "j": j, "T": T[i, j], **tests} for i, j in product(range(10), repeat=2)]


KINDS = [{"labels": which} for which in HUMAN["cifar-10"]]
STUDY = Study("human_noise", KINDS, measure, needs=("delta",))
measured = STUDY.measured


def measured_T(which: str) -> np.ndarray:
    """The transition matrix of one kind of CIFAR-10N's labels, as measured."""
    rows = measured().query("labels == @which")
    return rows.pivot(index="i", columns="j", values="T").to_numpy()


if __name__ == "__main__":
    STUDY.command(__doc__, lambda: measured().groupby("labels", sort=False)[list(TESTS)].first())
