"""Finding one of several named things, forgivingly, and the registries that hold them."""

from __future__ import annotations

import difflib
import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeVar


class Row(Protocol):
    """What a registry holds: anything with a name, and perhaps aliases."""

    @property
    def name(self) -> str: ...


R = TypeVar("R", bound=Row)
TOOLS = "{} needs the notebook tools ({}): run  python -m pip install 'fdiv[notebooks]'"


def choose(what: str, name: Any, choices: Iterable[str] | Mapping[str, str]) -> str:
    """Return the choice called ``name``; case, hyphens, dots and spaces do not matter.

    what: the noun for the ``ValueError`` that is raised when there is no such choice.
    choices: the names, or a mapping from every alias to the name it stands for.

    >>> choose("colour", "Dark Red", ("dark-red", "blue"))
    'dark-red'
    """
    aliases = choices if isinstance(choices, Mapping) else {choice: choice for choice in choices}
    known = {key(alias): choice for alias, choice in aliases.items()}
    if found := known.get(key(name)):
        return found
    close = difflib.get_close_matches(key(name), known, n=1)
    hint = f" (did you mean {known[close[0]]!r}?)" if close else ""
    raise ValueError(
        f"no {what} is called {name!r}{hint}; choose from {', '.join(dict.fromkeys(known.values()))}"
    )


def key(name: Any) -> str:
    """Return ``name`` without what people spell differently.

    >>> key("Fashion-MNIST") == key("fashion mnist")
    True
    """
    return _plain(str(name))


def printable(text: str) -> str:
    """Return ``text`` in one line, with what a terminal would obey or cannot show spelled out.

    >>> print(printable("red: " + chr(27) + "[31m"))
    red: \\x1b[31m
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def cut(text: Any, most: int = 80) -> str:
    """Return ``text``, cut off where it is too long for a sentence.

    >>> cut("a long story", 6)
    'a lon…'
    """
    text = str(text)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def utf8(text: Any) -> Any:
    """Return ``text`` with what UTF-8 cannot write spelled out: odd bytes in the names of files.

    >>> print(utf8("odd: " + chr(0xDCFF)))
    odd: \\udcff
    """
    return text.encode("utf-8", "backslashreplace").decode() if isinstance(text, str) else text


@lru_cache(4096)
def _plain(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())


class Registry(Mapping[str, R]):
    """Rows by name: a mapping in the order of registration that finds a row under any spelling or alias.

    what: the noun for error messages, such as "dataset".

    >>> from types import SimpleNamespace
    >>> colours = Registry("colour", [SimpleNamespace(name="red", aliases=("rouge",))])
    >>> colours["Rouge"].name, list(colours), "blue" in colours
    ('red', ['red'], False)
    """

    def __init__(self, what: str, rows: Iterable[R] = ()) -> None:
        self.what = what
        self._rows: dict[str, R] = {}
        for row in rows:
            self.register(row)

    def rows(self) -> dict[str, R]:
        """Return all rows by their names."""
        return self._rows

    def aliases(self) -> dict[str, str]:
        """Return every name under which a row is found, with the row's own name."""
        return {alias: row.name for row in self.rows().values() for alias in _names(row)}

    def name_of(self, name: Any) -> str:
        """Return the row's own name for any spelling of it, or raise a ``ValueError`` with the choices."""
        if isinstance(name, str) and name in self.rows():
            return name
        return choose(self.what, name, self.aliases())

    def __getitem__(self, name: Any) -> R:
        return self.rows()[self.name_of(name)]

    def __contains__(self, name: Any) -> bool:
        return name in self.rows()

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows())

    def __len__(self) -> int:
        return len(self.rows())

    def __repr__(self) -> str:
        return repr(tuple(self))

    def register(self, new: R, *, replace: bool = False) -> R:
        """Add the row ``new`` and return it.

        A name or alias that already leads elsewhere is refused; ``replace=True`` lets ``new`` take the place
        of the row of the same name, so that a notebook cell can run twice.
        """
        keys = {key(alias) for alias in _names(new)}
        for old in self.rows().values():
            taken = keys & {key(alias) for alias in _names(old)}
            if taken and old is not new and not (replace and old.name == new.name):
                raise ValueError(
                    f"{new.name!r} cannot be registered: {min(taken)!r} already means {old.name!r}"
                )
        self._rows[new.name] = new
        return new

    @contextmanager
    def registered(self, new: R) -> Iterator[R]:
        """Register ``new`` inside a ``with`` block, and put the registry back after it."""
        before = dict(self._rows)
        try:
            yield self.register(new)
        finally:
            self._rows.clear()
            self._rows.update(before)


def _names(row: Row) -> tuple[str, ...]:
    return (row.name, *getattr(row, "aliases", ()))


def lazily(package: str, modules: Mapping[str, Iterable[str]]) -> tuple[Any, Any, list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package whose names are imported late.

    modules: a module's name below the package, and the names that it gives to the package.
    """
    home = {name: module for module, names in modules.items() for name in names}

    def get(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with notebook_tools(f"{package}.{name}"):
            return getattr(__import__(f"{package}.{home[name]}", fromlist=[name]), name)  # also a module

    return get, lambda: sorted(home), sorted(home)


@contextmanager
def notebook_tools(what: str) -> Iterator[None]:
    """Say in one sentence that ``what`` needs a package which is not there.

    >>> with notebook_tools("this slider"):
    ...     import no_such_package
    Traceback (most recent call last):
    ImportError: this slider needs the notebook tools (No module named 'no_such_package'): run ...
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] == "fdiv":
            raise
        raise ImportError(TOOLS.format(what, error)) from error


def load_plugins() -> None:
    """Import what ``FDIV_PLUGINS`` names: Python files or modules that register rows of their own.

    The variable reaches kernels and workers as well, so a dataset or a method registered in such a file is
    known to every command, notebook and grid. Several are separated as in ``PATH``; a file's path is made
    absolute, since a kernel works in another folder.
    """
    names = [
        _whole_path(name) if name.endswith(".py") else name
        for name in filter(None, os.environ.get("FDIV_PLUGINS", "").split(os.pathsep))
    ]
    if names:
        os.environ["FDIV_PLUGINS"] = os.pathsep.join(names)
    for name in names:
        try:
            _import_file(Path(name)) if name.endswith(".py") else importlib.import_module(name)
        except (Exception, SystemExit) as error:
            said = " ".join(f"{type(error).__name__}: {error}".split())
            raise ImportError(f"FDIV_PLUGINS names {name!r}, which cannot be imported ({said})") from error


def _whole_path(name: str) -> str:
    try:
        return str(Path(name).expanduser().absolute())
    except (RuntimeError, OSError) as error:  # no such home, or no working folder
        raise ImportError(f"FDIV_PLUGINS names {name!r}, which has no place here ({error})") from None


def _import_file(path: Path) -> None:
    """Import a Python file as a module of its name, once."""
    there = sys.modules.get(path.stem)
    if there is not None:
        if getattr(there, "__file__", None) == str(path):
            return
        raise ImportError(f"another module is called {path.stem!r}: rename the file")
    spec: Any = importlib.util.spec_from_file_location(path.stem, path)
    sys.modules[path.stem] = module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(path.stem, None)
        raise


def is_command() -> bool:
    """Return whether this process was started as the command ``fdiv`` or as ``python -m fdiv``.

    >>> is_command()
    False
    """
    words = sys.orig_argv
    as_module = sys.argv[:1] == ["-m"] and "-m" in words and words[words.index("-m") + 1] == "fdiv"
    return as_module or Path((sys.argv or [""])[0]).stem == "fdiv"
