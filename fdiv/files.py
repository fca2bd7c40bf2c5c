"""Where the repository's files are, and how they are read and written."""

from __future__ import annotations

import csv
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parents[1]
PAPER = ROOT / "data" / "paper"
RESULTS = ROOT / "data" / "results"


def runs_folder() -> Path:
    """Where runs keep checkpoints and results: the folder ``FDIV_RUNS``, or runs/ of this repository."""
    return Path(os.environ.get("FDIV_RUNS") or ROOT / "runs")


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[Path]:
    """A temporary file beside ``path`` that takes its place when the ``with`` block ends well.

    Whatever happens, ``path`` is either the old file or the whole new one; what the disk refused names it.
    """
    path = Path(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    try:
        yield Path(name)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise


def write_text(text: str, path: str | os.PathLike) -> None:
    """Write ``text`` so that ``path`` is either the old file or the whole new one."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files that killed processes left in ``folder``, whose lock the caller holds.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     for file in (".tv.pt.k2x_9abc", "tv.pt", ".lock"):
    ...         _ = Path(name, file).touch()
    ...     remove_leftovers(Path(name))
    ...     sorted(os.listdir(name))
    ['.lock', 'tv.pt']
    """
    for path in folder.glob(".*.*"):
        if re.fullmatch(r"\..+\.\w{8}", path.name) and path.is_file():
            path.unlink(missing_ok=True)


def write_state(state: Mapping[str, Any], path: str | os.PathLike) -> None:
    """``torch.save`` in the same way, with an ``OSError`` where the disk is full.

    Torch makes a ``RuntimeError`` of it, about a position in its file.
    """
    with replacing(path) as temporary, open(temporary, "wb") as file:
        try:
            torch.save(state, file)
        except RuntimeError as error:
            raise error.__context__ if isinstance(error.__context__, OSError) else error from None


def csv_rows(name: str, **where: str) -> list[dict[str, str]]:
    """The lines of a table in data/paper whose columns have the given values."""
    return [row for row in _csv(name) if where.items() <= row.items()]


@cache
def _csv(name: str) -> tuple[dict[str, str], ...]:
    with open(PAPER / name, encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))
