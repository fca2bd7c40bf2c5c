"""A notebook as the body of a page: its cells, with figures drawn by plotly.js and questions as forms."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import nbformat
from nbconvert import HTMLExporter
from nbformat import NotebookNode
from traitlets.config import Config

from fdiv.course.notebooks import FOLD, PREDICT, count_claims
from fdiv.course.prediction import PREDICTION, Prediction, inline
from fdiv.course.site.outline import Section, minutes, outline
from fdiv.course.widgets import FIGURE, Figure

PLOTLY = "application/vnd.plotly.v1+json"
HIGH = 380  # pixels, of a figure that does not say; as in assets/plots.js
MARK = "<i>fdiv-shown-{}</i>"
STATED = re.compile(r"Time: (\d+) min to read")


@dataclass(frozen=True)
class Lesson:
    """A notebook as the site knows it.

    name: of its file, without an ending.
    title: the heading of its opening cell, with its number.
    question: what it asks, as Markdown.
    body: its cells as HTML.
    sections: what ``outline`` reads off the body.
    claims: how many claims its outputs show as checked.
    """

    name: str
    title: str
    question: str
    body: str = ""
    sections: list[Section] = field(default_factory=list)
    claims: int = 0

    @property
    def minutes(self) -> int:
        """How long the whole page takes to read: what its opening cell says, or else as counted."""
        said = STATED.search(self.sections[0].text) if self.sections else None
        return int(said[1]) if said else minutes(self.sections)


def lesson(name: str, notebook: NotebookNode) -> Lesson:
    """Return a notebook's title, its open question, and its cells as HTML."""
    opening = notebook.cells[0].source
    title = re.search(r"^# (.+)$", opening, re.MULTILINE)
    asked = re.search(r"\*\*The question\.\*\*\s+(.+?)(?:\n\s*\n|\Z)", opening, re.DOTALL)
    body = _body(notebook)
    sections = outline(body)
    return Lesson(
        name,
        title[1] if title else name,
        " ".join(asked[1].split()) if asked else "",
        _linked_contents(body, sections),
        sections,
        count_claims(notebook),
    )


def link_pages(body: str, names: Collection[str]) -> str:
    """Return ``body`` with links to notebooks leading to their pages; those to others are plain text.

    >>> link_pages('<a href="01_x.ipynb#a">x</a>', ["01_x"])
    '<a href="01_x.html#a">x</a>'
    """

    def page(link: re.Match[str]) -> str:
        return f'href="{link[1]}.html{link[2] or ""}"' if link[1] in names else 'title="not run here"'

    return re.sub(r'href="(?:[./\w]*/)?(\d\d_\w+)\.ipynb(#[^"]*)?"', page, body)


def _body(notebook: NotebookNode) -> str:
    drawn = nbformat.from_dict(notebook)
    shown: list[str] = []
    for cell in drawn.cells:
        for output in cell.get("outputs", []):
            own = _shown(output.get("data", {}), len(shown) + 1)
            if own:  # nbconvert would read each of them again and again: it gets a mark instead
                output.data = NotebookNode({"text/html": MARK.format(len(shown))})
                shown.append(own)
    # The code of a question would tell its answer.
    hidden = Config({"TagRemovePreprocessor": {"enabled": True, "remove_input_tags": {PREDICT}}})
    exporter = HTMLExporter(
        config=hidden, template_name="basic", exclude_input_prompt=True, exclude_output_prompt=True
    )
    body, _ = exporter.from_notebook_node(drawn)
    return re.sub(MARK.format(r"(\d+)"), lambda mark: shown[int(mark[1])], _fold(body))


def _shown(data: Mapping, number: int) -> str | None:
    """What the page shows for the output of a figure or a question; None for any other output."""
    if FIGURE in data:
        return Figure(**data[FIGURE]).html()
    if PREDICTION in data:
        return question(Prediction(**data[PREDICTION]))
    return _figure(data[PLOTLY], f"figure-{number}") if PLOTLY in data else None


def _fold(body: str) -> str:
    """Code that does not teach, inside an element that opens on a click."""
    cell = rf'(<div class="cell [^"]*celltag_{FOLD}\b[^>]*>\s*)'
    code = r'(<div class="input">.*?</pre></div>(?:\s*</div>){3})'

    def folded(found: re.Match[str]) -> str:
        what = "Settings" if "celltag_parameters" in found[1] else "Code"
        return f'{found[1]}<details class="folded"><summary>{what}</summary>{found[2]}</details>'

    body = re.sub(r"<p>\(Folded: [^<]*\)</p>", "", body)  # which the page says by itself
    body = re.sub(
        r"<(td|th)>([^<\n]{32,})</\1>", r'<\1 class="words">\2</\1>', body
    )  # a cell that may be folded
    return re.sub(cell + code, folded, body, flags=re.DOTALL)


def question(asked: Prediction) -> str:
    """Return a prediction as a form of radio buttons; without JavaScript, its answer is folded."""
    options = "".join(
        f'<div class="option"><label><input type="radio" name="predict-{asked.key}" value="{number}"> '
        f'<span>{inline(option)}</span></label><p class="because" hidden>{inline(why)}</p></div>'
        for number, (option, why) in enumerate(zip(asked.options, asked.why, strict=True))
    )
    return (
        f'<form class="predict" data-key="{asked.key}" data-answer="{asked.answer}">'
        f"<fieldset><legend><strong>Predict.</strong> {inline(asked.question)}</legend>{options}</fieldset>"
        '<p class="choose"><button type="submit">Check my guess</button> '
        '<button type="button" class="show">Show me</button></p><p class="verdict" role="status"></p></form>'
        f"<noscript>{asked.html()}</noscript>"
    )


def _linked_contents(body: str, sections: Sequence[Section]) -> str:
    """The line of contents in the opening cell, each of its titles a link."""
    anchors = {one.title: one.anchor for one in sections}

    def linked(line: re.Match[str]) -> str:
        titles = line[2].split(" · ")
        links = [
            f'<a href="#{html.escape(anchors[plain])}">{title}</a>' if plain in anchors else title
            for title in titles
            for plain in [" ".join(html.unescape(re.sub(r"<[^>]+>", "", title)).split())]
        ]
        return f'<p class="listed">{line[1]}{" · ".join(links)}</p>'

    return re.sub(r"<p>(<strong>Contents</strong>: )(.+?)</p>", linked, body, count=1, flags=re.DOTALL)


def _figure(figure: dict, identifier: str) -> str:
    """The place of a figure with its JSON, which ``assets/plots.js`` draws."""
    stored = {key: figure[key] for key in ("data", "layout", "frames") if key in figure} | {"config": {}}
    script = json.dumps(stored).replace("</", "<\\/")
    high = figure["layout"].get("height", HIGH)
    return (
        f'<div class="plot">'
        f'<div id="{identifier}" class="plotly-graph-div" style="min-height:{high}px"></div>'
        f'<script type="application/json">{script}</script></div>'
    )
