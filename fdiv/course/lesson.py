"""What a notebook needs in order to teach: claims, parameters, seeds and a look at the machine."""

from __future__ import annotations

import ast
import difflib
import importlib.metadata
import os
import platform
import random
from collections.abc import Collection, Iterable, Mapping

import numpy as np
import torch
from packaging.requirements import Requirement

import fdiv
from fdiv.device import pick_device
from fdiv.experiments.recipes import check_mode
from fdiv.learning.methods import CORRECTIONS, METHODS

CLAIM_OK = "ok  "
PAPERMILL_MARK = "# Parameters"
CHOICES = {  # of the parameters that name a run, whatever the notebook
    "METHOD": lambda: tuple(METHODS),
    "CORRECTION": lambda: CORRECTIONS,
    "TRANSITION": lambda: ("estimated", "true"),
}


class ClaimError(AssertionError):
    """A sentence the notebook states turned out to be false.

    >>> claim("one is more than two", 1 > 2)
    Traceback (most recent call last):
        ...
    fdiv.course.lesson.ClaimError: claim does not hold: one is more than two
    """


def claim(sentence: str, condition: object) -> None:
    """State ``sentence`` and check it: prints ``ok  <sentence>`` when true, raises when false.

    The printed line carries no measured number, so that nbval can compare it to the letter on any machine.

    sentence: what the reader should take away, in words.
    condition: True or False, of Python, NumPy or torch. Nothing else passes: nan is not false, and neither is
        a list or a text.

    >>> claim("two is more than one", 2 > 1)
    ok  two is more than one
    """
    value = condition.item() if getattr(condition, "ndim", None) == 0 else condition
    if not isinstance(value, bool):
        array = "an array: reduce it with .all() or .any()"
        got = array if hasattr(value, "ndim") else f"{value!r}, not True or False"
        raise TypeError(f"the claim {sentence!r} got {got}")
    if not value:
        raise ClaimError(f"claim does not hold: {sentence}")
    print(f"{CLAIM_OK}{sentence}")


def seed_everything(seed: int) -> None:
    """Seed Python, NumPy and torch. Call it right before each random step, not once at the top.

    >>> seed_everything(0)
    >>> torch.rand(1)
    tensor([0.4963])
    """
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 (scikit-learn and others still read the global state)
    torch.manual_seed(seed)


def check_parameters(
    *, choices: Mapping[str, Collection[object]] | None = None, **parameters: object
) -> None:
    """Refuse what a notebook cannot run with: an unknown MODE, a bad seed, a misspelt papermill parameter.

    parameters: every name of the cell tagged ``parameters`` with its value.
    choices: the values allowed for a name, where it has a list; METHOD, CORRECTION and TRANSITION have one.

    >>> check_parameters(MODE="quick", SEED=-1)
    Traceback (most recent call last):
        ...
    ValueError: SEED is -1, which is not a whole number from 0 up
    """
    refuse_unknown(_injected_names(), parameters)
    for name, value in parameters.items():
        _check_value(name, value, (choices or {}).get(name))


def refuse_unknown(given: Iterable[str], known: Iterable[str]) -> None:
    """A ``ValueError`` for the first name in ``given`` that is not in ``known``."""
    known = list(known)
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name.upper(), known, n=1)
            hint = f" (did you mean {close[0]}?)" if close else ""
            raise ValueError(f"this notebook has no parameter {name!r}{hint}; it has {', '.join(known)}")


def assigned_literals(source: str) -> dict[str, object]:
    """The names assigned in ``source`` with their values; a ``ValueError`` where one is not a literal."""
    values = {}
    for statement in ast.parse(source).body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                try:
                    values[name] = ast.literal_eval(value)
                except ValueError:
                    raise ValueError(
                        f"parameter {name} is not a literal: {ast.unparse(value)} (derive it in a later cell)"
                    ) from None
            case _:
                raise ValueError(f"a parameters cell holds only assignments, not: {ast.unparse(statement)}")
    return values


def _injected_names() -> list[str]:
    """What papermill injected into this kernel; nothing outside a kernel."""
    try:
        from IPython import get_ipython
    except ImportError:
        return []
    shell = get_ipython()
    history = shell.user_ns.get("In", []) if shell else []
    return [
        name
        for source in history
        if source.startswith(PAPERMILL_MARK)
        for statement in ast.parse(source).body
        if isinstance(statement, ast.Assign)
        for name in (target.id for target in statement.targets if isinstance(target, ast.Name))
    ]


def _check_value(name: str, value: object, allowed: Collection[object] | None) -> None:
    if name == "MODE":
        check_mode(value)
    if name == "SEED" and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise ValueError(f"SEED is {value!r}, which is not a whole number from 0 up")
    if allowed is None and name in CHOICES:
        allowed = CHOICES[name]()
    if allowed is not None and value not in allowed:
        raise ValueError(f"{name} is {value!r}, which is not one of {', '.join(map(repr, allowed))}")


def show_environment() -> None:
    """Print whether this machine can run the course, and what to paste into a report of a fault.

    The versions of Python and of the packages, those against the floors they need, the device and the cores.

    >>> show_environment()
    fdiv ...
    """
    print(f"{'fdiv':<24}{fdiv.__version__}")
    print(f"{'Python':<24}{platform.python_version():<14}on {platform.system()} {platform.machine()}")
    for requirement in map(Requirement, importlib.metadata.requires("fdiv") or []):
        wanted = requirement.marker is None or requirement.marker.evaluate({"extra": "notebooks"})
        if wanted and requirement.name != "fdiv":
            print(_verdict(requirement))
    threads = torch.get_num_threads()
    print(f"{'device':<24}{pick_device()!s:<14}{os.cpu_count()} cores, torch uses {threads}")


def _verdict(requirement: Requirement) -> str:
    """One line: the package, its version, and ok or what to do."""
    name, floor = requirement.name, str(requirement.specifier)
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return f"{name:<24}{'missing':<14}FAIL  pip install '{name}{floor}'"
    if requirement.specifier.contains(version, prereleases=True):
        return f"{name:<24}{version:<14}ok"
    return f"{name:<24}{version:<14}FAIL  pip install '{name}{floor}'"
