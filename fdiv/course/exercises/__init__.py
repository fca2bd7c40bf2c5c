"""Exercises that answer back: what is right, what is wrong and why, or that it is your turn.

Each module holds the checkers of one notebook. A checker takes the reader's answer and raises ``Wrong`` with
a sentence that helps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch


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
    if isinstance(value, str | bytes):
        raise Wrong(f"your function returned the text {value!r}: return a number")
    result = float(value)
    if not math.isfinite(result):
        raise Wrong(f"your function returned {result}, which is no number: is something divided by zero?")
    return result


def several(value: Any, wanted: str, count: int = 2) -> list[Any]:
    """Return the ``count`` things of an answer, from a tuple, a list, an array or a tensor.

    wanted: what to return, for whoever returned something else.

    >>> several((0.5, 0.25), "return two numbers")
    [0.5, 0.25]
    """
    if value is None or isinstance(value, str | dict | set) or not hasattr(value, "__len__"):
        raise Wrong(wanted)
    if len(value) != count:
        raise Wrong(f"{wanted}, not {len(value)}")
    return list(value)


def indices(value: Any, count: int) -> list[int]:
    """Return an answer as sorted numbers below ``count``, from any list of whole numbers.

    >>> indices([2, 0], 3)
    [0, 2]
    """
    if value is None or isinstance(value, str | bool | float) or not hasattr(value, "__len__"):
        raise Wrong("return a list of numbers, one for each that you choose")
    chosen = [getattr(one, "item", lambda one=one: one)() for one in value]
    if chosen and all(isinstance(one, bool) for one in chosen):
        raise Wrong("that says yes or no for each: return the numbers of those with yes (np.flatnonzero)")
    numbers = [number(one) for one in chosen]
    if any(one != int(one) or not 0 <= one < count for one in numbers):
        raise Wrong(f"each must be a whole number from 0 to {count - 1}")
    return sorted(int(one) for one in numbers)


def near(answer: float, right: float) -> bool:
    """Whether two numbers are equal up to what float32 rounds away."""
    return abs(answer - right) <= 1e-6 * max(1.0, abs(right))


def close(answer: object, right: object, tolerance: float = 1e-6) -> bool:
    """Whether ``answer`` is the number or table ``right``, up to what float32 rounds away."""
    mine = torch.as_tensor(right, dtype=torch.float64)
    yours = torch.as_tensor(answer, dtype=torch.float64)
    if yours.squeeze().shape != mine.squeeze().shape:
        return False
    return bool(torch.allclose(yours.squeeze(), mine.squeeze(), rtol=tolerance, atol=tolerance))
