"""The noise card: a summary of the noise in a vector of labels."""

from __future__ import annotations

import html
import math
import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fdiv.arrays import Labels, as_labels, transition
from fdiv.noise.corrupt import labels_sha256


@dataclass(frozen=True, eq=False)
class NoiseCard:
    """The noise in a vector of labels. Everything follows from the counts of each clean and noisy label.

    name: the name of the labels.
    counts: counts[i, j] labels were i and are now j.
    sha256: the noisy labels' fingerprint, ``labels_sha256``.
    T: the matrix that they were drawn from, where there is one.
    seed: the seed that they were drawn with, where it is known.

    >>> noise_card([0, 0, 1, 1], [0, 1, 1, 1]).realised_rate
    0.25
    """

    name: str
    counts: np.ndarray
    sha256: str
    T: np.ndarray | None = None
    seed: int | None = None

    @property
    def clean_priors(self) -> np.ndarray:
        """The share of each label before the noise."""
        return self.counts.sum(1) / self.counts.sum()

    @property
    def noisy_priors(self) -> np.ndarray:
        """The share of each label after the noise."""
        return self.counts.sum(0) / self.counts.sum()

    @property
    def realised_T(self) -> np.ndarray:
        """The share of the labels i that are now j; nan in the row of a class that has no labels."""
        size = self.counts.sum(1, keepdims=True)
        return np.divide(self.counts, size, out=np.full(self.counts.shape, np.nan), where=size > 0)

    @property
    def class_rates(self) -> np.ndarray:
        """The share of wrong labels in each clean class."""
        return 1 - np.diag(self.realised_T)

    @property
    def realised_rate(self) -> float:
        """The share of wrong labels."""
        return float(1 - np.trace(self.counts) / self.counts.sum())

    @property
    def nominal_rate(self) -> float | None:
        """The share of wrong labels that T promises for these clean labels."""
        return None if self.T is None else float(self.clean_priors @ (1 - np.diag(self.T)))

    @property
    def diagonal_is_max(self) -> np.ndarray:
        """Per clean class, whether the right label is more frequent than every wrong one."""
        wrong = np.where(np.eye(len(self.counts), dtype=bool), 0, self.counts)
        return np.diag(self.counts) > wrong.max(1)

    @property
    def ceiling(self) -> float:
        """The accuracy of answering with the most frequent noisy label, even if every image were clear."""
        return float(self.counts[self.diagonal_is_max].sum() / self.counts.sum())

    @property
    def condition_number(self) -> float:
        """How much inverting T can amplify an error (2-norm); of the realised T where T is unknown."""
        T = self.realised_T if self.T is None else self.T
        return float(np.linalg.cond(T)) if np.isfinite(T).all() else math.nan

    def _summary(self) -> dict[str, str]:
        nominal = "" if self.T is None else f", {self.nominal_rate:.4f} nominal"
        behind = ", ".join(map(str, np.flatnonzero(~self.diagonal_is_max & (self.clean_priors > 0))))
        return {
            "labels": f"{self.counts.sum()} in {len(self.counts)} classes",
            "noise rate": f"{self.realised_rate:.4f} realised{nominal}",
            "right label leads": f"not in {behind}" if behind else "in every class",
            "ceiling of plain fitting": f"{self.ceiling:.4f}",
            f"condition number of {'realised ' if self.T is None else ''}T": f"{self.condition_number:.4g}",
            "seed": "unknown" if self.seed is None else str(self.seed),
            "sha256": self.sha256,
        }

    def _table(self) -> list[list[str]]:
        """Return headings and a line per clean class, with the realised T where it fits on a page."""
        matrix = self.realised_T[:, : len(self.counts) if len(self.counts) <= 12 else 0]
        shares = np.column_stack([self.clean_priors, self.noisy_priors, self.class_rates, matrix])
        cells = [["-" if math.isnan(x) else f"{x:.3f}" for x in row] for row in shares]
        leads = np.where(self.diagonal_is_max, "yes", np.where(self.clean_priors > 0, "no", "-"))
        head = [
            "class",
            "labels",
            "before",
            "after",
            "wrong",
            "leads",
            *(f"→{j}" for j, _ in enumerate(matrix.T)),
        ]
        sizes = self.counts.sum(1)
        return [head] + [[str(k), str(sizes[k]), *c[:3], leads[k], *c[3:]] for k, c in enumerate(cells)]

    def __str__(self) -> str:
        table = self._table()
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [" ".join(map(str.rjust, line, widths)) for line in table]
        return "\n".join([self.name, *(f"{key}: {value}" for key, value in self._summary().items()), *lines])

    def _repr_html_(self) -> str:
        """Return a table that takes its colours from the page, light or dark."""
        facts = "".join(f"<tr><th>{k}</th><td>{html.escape(v)}</td></tr>" for k, v in self._summary().items())
        head, *body = self._table()
        heads = "".join(f'<th scope="col">{cell}</th>' for cell in head)
        rows = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in line) + "</tr>" for line in body)
        return (
            "<style>.noise-card {max-height: 60em; overflow: auto; font-variant-numeric: tabular-nums}"
            ".noise-card :is(th, td) {color: inherit; padding: 0.1em 0.5em; text-align: right}"
            ".noise-card .facts :is(th, td), .noise-card caption {color: inherit; text-align: left}</style>"
            f'<div class="noise-card"><table class="facts"><caption>{html.escape(self.name)}</caption>'
            f"<tbody>{facts}</tbody></table>"
            f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
        )


def noise_card(
    clean: Labels, noisy: Labels, T: Any = None, seed: int | None = None, name: str = "noisy labels"
) -> NoiseCard:
    """Return the card of the labels ``noisy``, whose clean labels are ``clean``.

    T: the matrix that they were drawn from; without it the number of classes is the largest label plus one.
    seed: the seed that they were drawn with.
    name: the name of the labels on the card.

    >>> noise_card([0, 0, 1, 1], [0, 1, 1, 1]).realised_T
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    T = None if T is None else transition(T)
    num_classes = None if T is None else len(T)
    before, after = as_labels(clean, num_classes, "clean"), as_labels(noisy, num_classes, "noisy")
    if len(before) != len(after) or not len(before):
        raise ValueError(f"a card needs one noisy label per clean one, not {len(after)} for {len(before)}")
    num_classes = num_classes or int(max(before.max(), after.max())) + 1
    flat = before.astype(np.int64) * num_classes + after
    counts = np.bincount(flat, minlength=num_classes**2).reshape(num_classes, num_classes)
    return NoiseCard(name, counts, labels_sha256(after), T, None if seed is None else operator.index(seed))
