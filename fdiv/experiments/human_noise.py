"""Does noise look at the image? A test, and what it says about the labels that people gave CIFAR-10.

``python -m fdiv.experiments.human_noise`` downloads CIFAR-10 and CIFAR-10N, measures, and writes the numbers
to data/results/human_noise.csv with their provenance; the notebooks read that file.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import torch
from torch import Tensor

from fdiv import noise
from fdiv.datasets import HUMAN, human_labels, load
from fdiv.experiments.study import Study
from fdiv.learning.recommendation import foreseen_flips

FOLDS = 5


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


def measure(labels: str) -> list[dict[str, float]]:
    """One row per entry of T, for a kind of CIFAR-10N's labels, with both tests and the noise rate.

    ``twin_auroc`` is the test for labels with the same counts from class to class, on images drawn at random.
    """
    data = load("cifar-10")
    clean = data.train_labels
    noisy = human_labels("cifar-10", labels, clean=clean)
    T = noise.noise_card(clean, noisy).realised_T
    twin = noise.corrupt_exact_counts(clean, T, 0)
    tests = {
        "wrong": (clean != noisy).double().mean().item(),
        "flip_auroc": flip_auroc(data.train_images, clean, noisy),
        "twin_auroc": flip_auroc(data.train_images, clean, twin),
    }
    return [{"i": i, "j": j, "T": T[i, j], **tests} for i, j in product(range(10), repeat=2)]


STUDY = Study("human_noise", [{"labels": which} for which in HUMAN["cifar-10"]], measure)
measured = STUDY.measured


def measured_T(which: str) -> np.ndarray:
    """The transition matrix of one kind of CIFAR-10N's labels, as measured."""
    rows = measured().query("labels == @which")
    return rows.pivot(index="i", columns="j", values="T").to_numpy()


if __name__ == "__main__":
    STUDY.command(
        __doc__, lambda: measured().pivot_table(["wrong", "flip_auroc", "twin_auroc"], "labels", sort=False)
    )
