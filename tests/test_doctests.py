"""Every example in a docstring shows what it says, and every public name has one."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import fdiv

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(fdiv.__path__, "fdiv.")
    if not module.name.endswith("__main__") and ".exercises.nb" not in module.name
)
ROOMS = ("fdiv", "fdiv.theory", "fdiv.noise", "fdiv.datasets", "fdiv.learning", "fdiv.experiments")


@pytest.mark.parametrize("name", MODULES)
def test_examples_show_what_they_say(name):
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=OPTIONS)
    assert failed == 0


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_has_an_example(room):
    package = importlib.import_module(room)
    names = {name: getattr(package, name) for name in package.__all__}
    subjects = {n: x for n, x in names.items() if inspect.isfunction(x) or inspect.isclass(x)}
    assert subjects
    silent = [
        name
        for name, subject in subjects.items()
        if ">>>" not in (subject.__doc__ or "") and not issubclass_of_exception(subject)
    ]
    assert silent == []


def issubclass_of_exception(subject):
    return inspect.isclass(subject) and issubclass(subject, Exception)
