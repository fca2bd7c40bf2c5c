"""Every example in a docstring shows what it says, and every public function and every loss has one."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import fdiv
from fdiv.learning import NoisyLabelLoss

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
def test_every_public_function_and_loss_has_an_example(room):
    package = importlib.import_module(room)
    public = {name: getattr(package, name) for name in package.__all__}
    subjects = {name: x for name, x in public.items() if inspect.isfunction(x) or is_loss(x)}
    assert subjects
    assert [name for name, subject in subjects.items() if ">>>" not in (subject.__doc__ or "")] == []


def is_loss(subject):
    return inspect.isclass(subject) and issubclass(subject, NoisyLabelLoss) and subject is not NoisyLabelLoss
