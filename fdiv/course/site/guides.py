"""The guides of the repository as pages."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from nbconvert.filters import markdown2html

from fdiv.course.site.lessons import link_pages

FOLDER = Path(__file__).parents[1] / "guides"
RESULTS_PAGE = re.compile(r'href="[./\w]*data/results/README\.md"')


def guide(name: str, names: Collection[str]) -> str:
    """Return the body of the page of a guide; its links lead to pages of the site.

    name: of its file, without an ending.
    names: the notebooks that have a page.
    """
    body = markdown2html((FOLDER / f"{name}.md").read_text(encoding="utf-8"))
    body = re.sub(r'href="(\w+)\.md(#[^"]*)?"', r'href="\1.html\2"', body)
    body = RESULTS_PAGE.sub('href="results.html"', body)
    return f'<div class="text_cell_render">{link_pages(body, names)}</div>'
