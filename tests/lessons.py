"""The notebooks of the course, each read once for all tests that look at them and change nothing."""

from functools import cache

import nbformat

from fdiv.course.notebooks import find, read

SOURCES = find()


@cache
def written(source):
    """The cells of NN_name.py."""
    return read(source)


@cache
def executed(source):
    """The cells of its twin, NN_name.ipynb, with their outputs."""
    return nbformat.read(source.with_suffix(".ipynb"), as_version=4)
