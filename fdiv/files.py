"""Where the repository's files are, and how they are read and written."""

from __future__ import annotations

import csv
import os
import tempfile
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAPER = ROOT / "data" / "paper"


def write_text(text: str, path: str | os.PathLike) -> None:
    """Write ``text`` so that ``path`` is either the old file or the whole new one."""
    path = Path(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def csv_rows(name: str, **where: str) -> list[dict[str, str]]:
    """The lines of a table in data/paper whose columns have the given values."""
    return [row for row in _csv(name) if where.items() <= row.items()]


@cache
def _csv(name: str) -> tuple[dict[str, str], ...]:
    with open(PAPER / name, encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))
