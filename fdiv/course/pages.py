"""Executed notebooks as a site that works from a file, offline: all it needs lies beside the pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import nbformat

from fdiv.course.site import cheat_sheet, choice, front, guides, notation, references, results, search, shell
from fdiv.course.site.lessons import Lesson, lesson, link_pages
from fdiv.course.site.outline import Section, outline
from fdiv.files import write_text


def build(folder: Path, names: Sequence[str], seconds: Mapping[str, float] | None = None) -> Path:
    """Write a page for each executed notebook ``names`` in ``folder``, and the site around; return the index.

    seconds: how long those that were run just now took.
    """
    shell.copy_assets(folder / "assets")
    notebooks = [nbformat.read(folder / f"{name}.ipynb", as_version=4) for name in names]
    lessons = [lesson(name, notebook) for name, notebook in zip(names, notebooks, strict=True)]
    found: list[tuple[str, str, Sequence[Section]]] = []
    for index, one in enumerate(lessons):
        around = [lessons[place] if 0 <= place < len(lessons) else None for place in (index - 1, index + 1)]
        before, after = ((near.name, near.title) if near else None for near in around)
        text = shell.page(
            one.name,
            one.title,
            link_pages(one.body, names),
            sections=one.sections,
            before=before,
            after=after,
            foot=_made(one, (seconds or {}).get(one.name)),
        )
        write_text(text, folder / f"{one.name}.html")
        found.append((one.name, one.title, one.sections))
    for name, body in _look_up(lessons, notebooks).items():
        sections = outline(body)
        beside = sections if sum(one.level == 2 for one in sections) > 3 else ()  # contents of a long page
        write_text(shell.page(name, shell.LOOK_UP[name], body, sections=beside), folder / f"{name}.html")
        found.append((name, shell.LOOK_UP[name], sections))
    write_text(shell.as_script("courseSearch", search.index(found)), folder / "assets" / "search.js")
    write_text(shell.as_script("courseTerms", notation.terms()), folder / "assets" / "terms.js")
    course = folder / "index.html"
    write_text(shell.page("index", shell.COURSE, front.front(lessons)), course)
    return course


def _look_up(lessons: Sequence[Lesson], notebooks: Sequence[nbformat.NotebookNode]) -> dict[str, str]:
    """The bodies of the pages to look things up, by name."""
    names = [one.name for one in lessons]
    bodies = {
        "notation": notation.notation(lessons),
        "cheat_sheet": cheat_sheet.cheat_sheet(lessons),
        "which_loss": choice.choice(lessons),
        "results": results.results(),
        "references": references.references(lessons, notebooks),
    }
    return {name: bodies[name] if name in bodies else guides.guide(name, names) for name in shell.LOOK_UP}


def _made(one: Lesson, seconds: float | None) -> str:
    """How the page came about, for its foot."""
    when = "executed earlier" if seconds is None else f"executed on this machine in {seconds:.0f} s"
    return f"This page was {when}; {one.claims} claims were checked while it ran."
