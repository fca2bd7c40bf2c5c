"""The ``fdiv`` command as tests call it."""

import contextlib
import io
from dataclasses import dataclass

from fdiv.__main__ import main


@dataclass
class Said:
    """How one call of the command ended."""

    code: int
    out: str
    err: str


def fdiv(*arguments: str) -> Said:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    return Said(code, out.getvalue(), err.getvalue())
