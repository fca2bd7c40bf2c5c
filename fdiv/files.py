"""The folders that fdiv reads and writes, and files that are written whole or not at all.

Inside a clone of the repository everything lies in it: data/paper, data/results, data/cache and runs/. In an
installed package the paper's tables come with the package, runs and results go to the working folder, and
downloads to the user's cache. ``FDIV_RUNS`` and ``FDIV_DATA`` name other folders for runs and downloads.
"""

from __future__ import annotations

import csv
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
IN_CLONE = (ROOT / "pyproject.toml").is_file() and (ROOT / "data" / "paper").is_dir()
PAPER = (ROOT if IN_CLONE else Path(__file__).resolve().parent) / "data" / "paper"
RESULTS = ROOT / "data" / "results" if IN_CLONE else Path.cwd() / "results"
SWITCH = {"": False, "0": False, "false": False, "no": False, "off": False} | dict.fromkeys(
    ("1", "true", "yes", "on"), True
)

# A notebook's kernel works in another folder than the process that starts it, so that a relative path in
# the environment is made absolute here, before any kernel inherits it.
for _name in ("FDIV_DATA", "FDIV_RUNS", "FDIV_CLOTHING1M"):
    if os.environ.get(_name):
        with suppress(RuntimeError, OSError):  # no such home: said when the folder is needed
            os.environ[_name] = str(Path(os.environ[_name]).expanduser().absolute())


def folder_named_by(variable: str, default: Path) -> Path:
    """Return the folder that an environment variable names, as an absolute path, or ``default``.

    >>> folder_named_by("FDIV_NO_SUCH_VARIABLE", Path("here")).name
    'here'
    """
    path = Path(os.environ.get(variable) or default)
    try:
        return path.expanduser().absolute()
    except (RuntimeError, OSError) as error:
        raise ValueError(
            f"{path} has no place on this machine ({error}): let {variable} name a whole path, such as"
            " /tmp/fdiv"
        ) from None


def runs_folder() -> Path:
    """Return the folder of checkpoints and results: ``FDIV_RUNS``, or runs/ of the clone or working folder.

    >>> runs_folder().is_absolute()
    True
    """
    return folder_named_by("FDIV_RUNS", ROOT / "runs" if IN_CLONE else Path("runs"))


def cache_folder() -> Path:
    """Return the folder of downloads: ``FDIV_DATA``, or data/cache of the clone, or fdiv in the user's cache.

    >>> cache_folder().is_absolute()
    True
    """
    user = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or "~/.cache"
    return folder_named_by("FDIV_DATA", ROOT / "data" / "cache" if IN_CLONE else Path(user, "fdiv"))


def offline() -> bool:
    """Return whether ``FDIV_OFFLINE`` forbids the network; "0", "false", "no" and "off" do not.

    >>> isinstance(offline(), bool)
    True
    """
    return is_on("FDIV_OFFLINE")


def is_on(variable: str) -> bool:
    """Return whether an environment variable is 1, true, yes or on.

    >>> is_on("FDIV_NO_SUCH_VARIABLE")
    False
    """
    value = os.environ.get(variable, "")
    if value.strip().casefold() not in SWITCH:
        raise ValueError(f"{variable} is {value!r}, but must be one of 1, true, yes, on, 0, false, no, off")
    return SWITCH[value.strip().casefold()]


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[Path]:
    """Give a temporary file beside ``path`` that takes its place when the ``with`` block ends well.

    ``path`` is always either the old file or the whole new one, also after a power cut. A killed process
    leaves its temporary file, which is called ``.NAME.PROCESS-RANDOM.tmp``. An error of the disk names
    ``path``.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp(), "note.txt")
    >>> with replacing(place) as temporary:
    ...     _ = temporary.write_text("whole")
    >>> place.read_text()
    'whole'
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(8)}.tmp")
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))  # the umask takes its part
    try:
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise


def write_text(text: str, path: str | os.PathLike) -> None:
    """Write ``text`` to ``path``, whole or not at all.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp(), "note.txt")
    >>> write_text("whole", place)
    >>> place.read_text()
    'whole'
    """
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files that killed processes left in ``folder``, whose lock the caller holds.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     for file in (".tv.pt.12-ab.tmp", "tv.pt", ".lock"):
    ...         _ = Path(name, file).touch()
    ...     remove_leftovers(Path(name))
    ...     sorted(os.listdir(name))
    ['.lock', 'tv.pt']
    """
    for path in folder.glob(".*.tmp"):
        path.unlink(missing_ok=True)


def keep_array(array: Any, path: Path) -> None:
    """Write an array to ``path`` in a cache, whole or not at all.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp(), "new", "halves.npz")
    >>> keep_array([0.5, 1.5], place)
    >>> kept_array(place, (2,)), kept_array(place, (3,))
    (array([0.5, 1.5]), None)
    """
    import numpy as np

    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, array)


def kept_array(path: Path, shape: tuple[int, ...]) -> Any:
    """Return the array that ``keep_array`` wrote; None where none is whole and of this shape."""
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as archive:  # a zip archive, of which it compares a checksum
            array = archive[archive.files[0]]
    except Exception:  # NumPy raises whatever its reader ran into
        return None
    return array if array.shape == shape else None


def write_state(state: Mapping[str, Any], path: str | os.PathLike) -> None:
    """Write ``state`` with ``torch.save``, whole or not at all; a full disk is an ``OSError``.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp(), "state.pt")
    >>> write_state({"epoch": 3}, place)
    >>> import torch
    >>> torch.load(place, weights_only=True)
    {'epoch': 3}
    """
    import torch  # here, since the command's help needs none

    with replacing(path) as temporary, open(temporary, "wb") as file:
        try:
            torch.save(state, file)
        except RuntimeError as error:  # torch reports a full disk as a position in its file
            raise error.__context__ if isinstance(error.__context__, OSError) else error from None


def csv_rows(name: str, **where: str) -> list[dict[str, str]]:
    """Return the lines of a table in data/paper whose columns have the given values.

    >>> len(csv_rows("released_labels.csv", dataset="cifar-100"))
    4
    """
    return [row for row in _csv(name) if where.items() <= row.items()]


@cache
def _csv(name: str) -> tuple[dict[str, str], ...]:
    with open(PAPER / name, encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))
