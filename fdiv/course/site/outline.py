"""What a page consists of: its sections, how long each takes to read, and its words for the search."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

WORDS_A_MINUTE, LINES_A_MINUTE = 200, 25  # of prose, and of code that a reader follows
EXERCISE = re.compile(r"Exercise \d")


@dataclass
class Section:
    """A part of a page below one heading.

    anchor: the id of the heading, empty for what stands before the first.
    title: its text; TeX stays as it is.
    level: 2 for a section, 3 for an exercise or a part of a section.
    lines: lines of code that are not folded.
    """

    anchor: str
    title: str
    level: int
    pieces: list[str] = field(default_factory=list)
    lines: int = 0

    @property
    def text(self) -> str:
        """The words of the section in one line."""
        return " ".join("".join(self.pieces).split())

    @property
    def seconds(self) -> float:
        """How long it takes to read."""
        return 60 * (len(self.text.split()) / WORDS_A_MINUTE + self.lines / LINES_A_MINUTE)

    @property
    def is_exercise(self) -> bool:
        """Whether the reader is asked to write something."""
        return bool(EXERCISE.match(self.title))

    @property
    def can_be_done(self) -> bool:
        """Whether a reader ticks it: sections with a number, and exercises."""
        return self.is_exercise or (self.level == 2 and self.title[:1].isdigit())


class _Reader(HTMLParser):
    """Walks a page once; a heading with an id starts a section."""

    SKIPPED = ("script", "style", "noscript", "button")

    def __init__(self) -> None:
        super().__init__()
        self.sections = [Section("", "", 1)]
        self.heading: Section | None = None
        self.skipped = self.code = 0
        self.folded = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        names = given.get("class", "").split()
        if "cell" in names:
            self.folded = "celltag_fold" in names
        if tag in ("h1", "h2", "h3") and given.get("id"):
            self.heading = Section(given["id"], "", int(tag[1]))
            if tag != "h1":
                self.sections.append(self.heading)
        if tag in self.SKIPPED or "anchor-link" in names:
            self.skipped += 1
        elif tag == "pre":
            self.code += 1

    def handle_endtag(self, tag: str) -> None:
        if tag in self.SKIPPED or (tag == "a" and self.skipped):
            self.skipped = max(0, self.skipped - 1)
        elif tag == "pre":
            self.code -= 1
        elif tag in ("h1", "h2", "h3") and self.heading:
            self.heading.title = " ".join(self.heading.title.split())
            self.heading = None
        if tag in ("p", "li", "div", "td", "th", "tr", "h2", "h3", "summary", "label", "legend"):
            self.sections[-1].pieces.append(" ")

    def handle_data(self, data: str) -> None:
        if self.skipped:
            return
        if self.heading is not None:
            self.heading.title += data
        elif self.code:
            self.sections[-1].lines += 0 if self.folded else data.count("\n")
        else:
            self.sections[-1].pieces.append(data)


def outline(body: str) -> list[Section]:
    """Return the sections of a page, the first of which is what stands before the first heading.

    >>> [one.title for one in outline('<p>So far.</p><h2 id="a">1 Play</h2><p>Press it.</p>')]
    ['', '1 Play']
    """
    reader = _Reader()
    reader.feed(body)
    return reader.sections


def minutes(sections: list[Section]) -> int:
    """Return how many minutes all of ``sections`` take to read, at least one."""
    return max(1, round(sum(one.seconds for one in sections) / 60))
