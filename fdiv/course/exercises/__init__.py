"""Exercises that answer back: what is right, what is wrong and why, or that it is your turn.

Each module holds the checkers of one notebook. A checker takes the reader's answer and raises ``Wrong`` with
a sentence that helps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


class Wrong(Exception):
    """An answer that is not right yet, with what to look at."""


class Exercise:
    """A titled checker. Call it with an answer to have the verdict printed.

    because: one sentence that says, once the answer is right, why it matters.
    """

    def __init__(self, title: str, check: Callable[[object], None], because: str = "") -> None:
        self.title = title
        self.check = check
        self.because = because
        self.__doc__ = check.__doc__

    def __call__(self, answer: object) -> None:
        """Print the verdict on ``answer``."""
        print(self.verdict(answer))

    def verdict(self, answer: object) -> str:
        """``right``, ``not yet`` with the reason, or ``your turn`` for the stub the notebook ships with."""
        try:
            self.check(answer)
        except NotImplementedError:
            return f"your turn  {self.title}"
        except Wrong as reason:
            return f"not yet  {self.title}: {reason}"
        except Exception as error:
            return f"not yet  {self.title}: your answer raised {type(error).__name__}: {error}"
        return f"right  {self.title}: {self.because}" if self.because else f"right  {self.title}"


def exercise(title: str, because: str = "") -> Callable[[Callable[[object], None]], Exercise]:
    """Make a checker function an ``Exercise`` called ``title``, which on success says why it matters.

    >>> @exercise("1 the sum", because="Sums are everywhere.")
    ... def total(answer):
    ...     if answer != 3:
    ...         raise Wrong("add 1 and 2")
    >>> total(3)
    right  1 the sum: Sums are everywhere.
    """
    return lambda check: Exercise(title, check, because)


def number(value: Any) -> float:
    """Return an answer as a finite number, or raise ``Wrong`` with what it is instead."""
    if value is None:
        raise Wrong("your function returned None: is there a return?")
    if getattr(value, "ndim", 0):
        raise Wrong("your function returned several numbers: make them one, by a mean for example")
    result = float(value)
    if not math.isfinite(result):
        raise Wrong(f"your function returned {result}, which is no number: is something divided by zero?")
    return result


def close(answer: object, right: Tensor, tolerance: float = 1e-6) -> bool:
    """Whether ``answer`` is the number or tensor ``right``, up to what float32 rounds away."""
    answer = torch.as_tensor(answer, dtype=torch.float64)
    return bool(torch.allclose(answer, right, rtol=tolerance, atol=tolerance))
