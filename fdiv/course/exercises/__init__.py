"""Exercises that answer back: what is right, what is wrong and why, or that it is your turn.

Each module holds the checkers of one notebook. A checker takes the reader's answer and raises ``Wrong`` with
a sentence that helps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import wraps
from typing import Any

import numpy as np
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
        if not callable(answer):
            return f"not yet  {self.title}: hand in your function itself, without calling it"
        try:
            self.check(_undisturbed(answer))
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
    ...     if answer() != 3:
    ...         raise Wrong("add 1 and 2")
    >>> total(lambda: 1 + 2)
    right  1 the sum: Sums are everywhere.
    """
    return lambda check: Exercise(title, check, because)


def _undisturbed(answer: Callable[..., object]) -> Callable[..., Any]:
    """Return ``answer`` on copies of its arguments: what it does to them must not reach the next attempt."""

    @wraps(answer)
    def copied(*given: object) -> object:
        return answer(*deepcopy(given))

    return copied


def returned(value: Any) -> Any:
    """Return ``value``, or raise ``Wrong`` where a function ended without a ``return``."""
    if value is None:
        raise Wrong("your function returned None: is there a return?")
    return value


def number(value: Any) -> float:
    """Return an answer as a finite number, or raise ``Wrong`` with what it is instead."""
    if getattr(returned(value), "ndim", 0):
        if table(value).numel() != 1:
            raise Wrong("your function returned several numbers: make them one, by a mean for example")
        value = table(value).item()
    if isinstance(value, str | bytes):
        raise Wrong(f"your function returned the text {value!r}: return a number")
    try:
        result = float(value)
    except TypeError:
        raise Wrong(f"your function returned a {type(value).__name__}: return a number") from None
    if not math.isfinite(result):
        raise Wrong(f"your function returned {result}, which is no number: is something divided by zero?")
    return result


def several(value: Any, wanted: str, count: int = 2) -> list[Any]:
    """Return the ``count`` things of an answer, from a tuple, a list, an array or a tensor.

    wanted: what to return, for whoever returned something else.

    >>> several((0.5, 0.25), "return two numbers")
    [0.5, 0.25]
    """
    if isinstance(returned(value), str | dict | set) or not hasattr(value, "__len__"):
        raise Wrong(wanted)
    if len(value) != count:
        raise Wrong(f"{wanted}, not {len(value)}")
    return list(value)


def indices(value: Any, count: int) -> list[int]:
    """Return an answer as sorted numbers below ``count``, from any list of whole numbers.

    >>> indices([2, 0], 3)
    [0, 2]
    """
    if isinstance(returned(value), str | bool | float) or not hasattr(value, "__len__"):
        raise Wrong("return a list of numbers, one for each that you choose")
    if isinstance(value, tuple) and len(value) == 1 and getattr(value[0], "ndim", 0):
        (value,) = value  # as np.where returns them
    chosen = [getattr(one, "item", lambda one=one: one)() for one in value]
    if chosen and all(isinstance(one, bool) for one in chosen):
        raise Wrong("that says yes or no for each: return the numbers of those with yes (np.flatnonzero)")
    numbers = [number(one) for one in chosen]
    if any(one != int(one) or not 0 <= one < count for one in numbers):
        raise Wrong(f"each must be a whole number from 0 to {count - 1}")
    return sorted(int(one) for one in numbers)


def table(value: Any) -> Tensor:
    """Return an answer as float64: from a tensor, an array, a frame, or a list of numbers or of rows.

    >>> table([torch.tensor([1, 2]), torch.tensor([3, 4])]).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    if isinstance(returned(value), Tensor):
        return value.detach().double()
    try:
        return torch.from_numpy(np.array(value, dtype=float))
    except (TypeError, ValueError):
        raise Wrong(f"your function returned a {type(value).__name__} that is no table of numbers") from None


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


def worst(answer: Tensor, right: Tensor) -> int:
    """Where two tables differ most, a nan before any number.

    >>> worst(torch.tensor([1.0, 5.0]), torch.tensor([1.0, 2.0]))
    1
    """
    return int((answer - right).abs().nan_to_num(math.inf).argmax())


def balanced(value: Any) -> Tensor:
    """Return an answer as a joint table of two classes that are equally frequent, or raise ``Wrong``."""
    joint = table(value)
    if joint.shape != (2, 2) or not bool((joint >= 0).all()) or not close(joint.sum(), 1.0):
        raise Wrong("return a 2 by 2 table of probabilities that sum to 1")
    if not close(joint.sum(0), [0.5, 0.5]):
        raise Wrong("both labels must be balanced: each column sums to one half")
    return joint / joint.sum()


def refuse(answer: float, slips: Mapping[str, float]) -> None:
    """Raise ``Wrong`` with the name of the slip that leads to ``answer``, if one does."""
    for reason, value in slips.items():
        if near(answer, float(value)):
            raise Wrong(reason)
