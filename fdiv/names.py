"""Finding one of several named things, forgivingly."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any


def choose(what: str, name: Any, choices: Iterable[str] | Mapping[str, str]) -> str:
    """The choice called ``name``; case, hyphens, dots and spaces do not matter.

    what: what is chosen, for the sentence of the ``ValueError`` when there is no such choice.
    choices: the names, or a mapping from every alias to the name it stands for.
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
    """``name`` without what people spell differently."""
    return "".join(c for c in str(name).casefold() if c.isalnum())
