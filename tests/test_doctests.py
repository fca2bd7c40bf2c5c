"""Every example in a docstring shows what it says, and every public function and class has one."""

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
ROOMS = ("theory", "noise", "datasets", "learning", "experiments", "course")


@pytest.mark.parametrize("name", MODULES)
def test_examples_show_what_they_say(name):
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=OPTIONS)
    assert failed == 0


@pytest.mark.parametrize("package", ["fdiv", *(f"fdiv.{room}" for room in ROOMS)])
def test_every_public_function_and_class_has_an_example(package):
    module = importlib.import_module(package)
    public = {name: getattr(module, name) for name in module.__all__}
    subjects = {name: x for name, x in public.items() if inspect.isfunction(x) or inspect.isclass(x)}
    assert subjects
    assert [name for name, subject in subjects.items() if ">>>" not in (subject.__doc__ or "")] == []
