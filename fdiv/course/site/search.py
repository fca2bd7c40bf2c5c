"""The words of all pages, and where each stands: a small inverted index that a page loads as a script."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from fdiv.course.site.outline import Section

SHOWN = 700  # characters of a section that are kept to show a hit in its sentence
WORD = re.compile(r"[^\W_]+")


def words_of(text: str) -> set[str]:
    """Return the words of ``text`` by which it may be found.

    >>> sorted(words_of("The matrix $T_{ij}$ of noise-rates"))
    ['ij', 'matrix', 'noise', 'rates', 't']
    """
    return {word for word in WORD.findall(text.casefold()) if word not in ENGLISH_STOP_WORDS}


def without_tex(text: str) -> str:
    """Return ``text`` as it is read, its formulas as plain letters.

    >>> without_tex(r"noise turns $D$ into $\\tilde D = \\rho\\,T_{ij}$")
    'noise turns D into D̃ = ρ Tij'
    """

    def letter(command: re.Match[str]) -> str:
        try:
            return unicodedata.lookup(f"GREEK SMALL LETTER {command[1].removeprefix('var').upper()}")
        except KeyError:
            return ""

    def plain(formula: re.Match[str]) -> str:
        tex = re.sub(r"\\(?:wide)?tilde\s*\{?(\w)\}?", "\\1\u0303", formula[1])
        tex = re.sub(r"\\[,;!: ]", " ", tex)
        return re.sub(r"[{}^_\\]", "", re.sub(r"\\([a-zA-Z]+)", letter, tex))

    return re.sub(r"\${1,2}([^$]+)\${1,2}", plain, text)


def index(pages: Iterable[tuple[str, str, Sequence[Section]]]) -> dict[str, Any]:
    """Return what the search needs.

    pages: name, title and sections of each.

    The result has ``pages`` (file and title), ``sections`` (page, anchor, title, the beginning of its text),
    ``words``, for each word the numbers of its sections, as -1 - number where it is in a title, and
    ``common``, words that are not looked for.
    """
    listed: list[list[str]] = []
    common = sorted(ENGLISH_STOP_WORDS)
    sections: list[list[Any]] = []
    words: dict[str, list[int]] = defaultdict(list)
    for name, title, parts in pages:
        for part in parts:
            heading = part.title or title
            if not part.text and not part.title:
                continue
            number = len(sections)
            sections.append([len(listed), part.anchor, heading, without_tex(part.text)[:SHOWN]])
            titled = words_of(heading)
            for word in sorted(titled | words_of(part.text)):
                words[word].append(-1 - number if word in titled else number)
        listed.append([f"{name}.html", title])
    return {"pages": listed, "sections": sections, "words": dict(sorted(words.items())), "common": common}
