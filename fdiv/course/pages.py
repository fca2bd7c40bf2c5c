"""Executed notebooks as pages that work from a file, offline: plotly.js and MathJax lie beside them."""

from __future__ import annotations

import html
import importlib.metadata
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbconvert import HTMLExporter
from nbconvert.filters import markdown2html
from nbformat import NotebookNode

from fdiv.course.notebooks import count_claims
from fdiv.course.prediction import PREDICTION, Prediction, inline
from fdiv.course.widgets import FIGURE, Figure, scripts
from fdiv.files import write_text

PLOTLY = "application/vnd.plotly.v1+json"
ASSETS = Path(__file__).with_name("assets")
COURSE = "Learning with noisy labels through f\N{NON-BREAKING HYPHEN}divergences"
MATHJAX = """window.MathJax = {
  tex: {inlineMath: [["$", "$"]], displayMath: [["$$", "$$"]], processEscapes: true},
  options: {enableMenu: false}, svg: {fontCache: "global", scale: 0.92}
};"""


@dataclass(frozen=True)
class Lesson:
    """What the course page says about a notebook, read off its opening cell and its figures.

    picture: the first figure with a line, a bar or a contour; None where there is none.
    """

    name: str
    title: str
    why: str
    picture: dict | None = None


def lesson(name: str, notebook: NotebookNode) -> Lesson:
    """Title and reason, as the opening cell states them."""
    opening = notebook.cells[0].source
    title = re.search(r"^# (.+)$", opening, re.MULTILINE)
    why = re.search(r"\*\*Why\.\*\*\s+(.+?)(?:\n\s*\n|\Z)", opening, re.DOTALL)
    reason = " ".join(why[1].split()) if why else ""
    return Lesson(name, title[1] if title else name, reason, _picture(notebook))


def build(folder: Path, names: Sequence[str], seconds: Mapping[str, float] | None = None) -> Path:
    """Write a page for each executed notebook ``names`` in ``folder``, and the course page; return that.

    seconds: how long those that were run just now took.
    """
    _copy_assets(folder / "assets")
    notebooks = [nbformat.read(folder / f"{name}.ipynb", as_version=4) for name in names]
    lessons = [lesson(name, notebook) for name, notebook in zip(names, notebooks, strict=True)]
    for index, this in enumerate(lessons):
        before = lessons[index - 1] if index else None
        after = lessons[index + 1] if index + 1 < len(lessons) else None
        body = _link_pages(_body(notebooks[index]), names)
        write_text(_page(body, this, before, after), folder / f"{this.name}.html")
    claims = [count_claims(notebook) for notebook in notebooks]
    course = folder / "index.html"
    write_text(_course(lessons, seconds or {}, claims), course)
    return course


def _copy_assets(folder: Path) -> None:
    """plotly.js and MathJax in one file each, from the installed packages."""
    from plotly.offline import get_plotlyjs

    folder.mkdir(parents=True, exist_ok=True)
    write_text(get_plotlyjs(), folder / "plotly.min.js")
    files = importlib.metadata.files("sphinx-mathjax-offline") or []
    mathjax = next(file for file in files if file.name == "tex-svg.js")
    write_text(mathjax.read_text(encoding="utf-8"), folder / "mathjax.js")


def _page(body: str, this: Lesson, before: Lesson | None, after: Lesson | None) -> str:
    links = [
        f'<a href="{before.name}.html">← {html.escape(before.title)}</a>' if before else "<span></span>",
        '<a href="index.html">Course</a>',
        f'<a href="{after.name}.html">{html.escape(after.title)} →</a>' if after else "<span></span>",
    ]
    navigation = f"<nav>{''.join(links)}</nav>"
    return _skeleton(this.title, f"{navigation}<main>{body}</main>{navigation}")


def _body(notebook: NotebookNode) -> str:
    """The cells as HTML, figures drawn by plotly.js."""
    drawn = nbformat.from_dict(notebook)
    figures = 0
    for cell in drawn.cells:
        for output in cell.get("outputs", []):
            if FIGURE in output.get("data", {}):
                output.data = NotebookNode({"text/html": Figure(**output.data[FIGURE]).html()})
            elif PREDICTION in output.get("data", {}):
                asked = _question(Prediction(**output.data[PREDICTION]))
                output.data = NotebookNode({"text/html": asked})
            elif PLOTLY in output.get("data", {}):
                figures += 1
                figure = output.data[PLOTLY]
                output.data = NotebookNode({"text/html": _figure(figure, f"figure-{figures}")})
    exporter = HTMLExporter(template_name="basic", exclude_input_prompt=True, exclude_output_prompt=True)
    body, _ = exporter.from_notebook_node(drawn)
    return body


def _question(asked: Prediction) -> str:
    """A prediction as a form of radio buttons; without JavaScript, its answer is folded."""
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


def _link_pages(body: str, names: Collection[str]) -> str:
    """Links to notebooks lead to their pages; one to a notebook that has no page here is plain text."""

    def page(link: re.Match[str]) -> str:
        return f'href="{link[1]}.html{link[2] or ""}"' if link[1] in names else 'title="not run here"'

    return re.sub(r'href="(\d\d_\w+)\.ipynb(#[^"]*)?"', page, body)


def _figure(figure: dict, identifier: str, **config: bool) -> str:
    """The place of a figure with its JSON, which ``assets/plots.js`` draws."""
    stored = json.dumps({"data": figure["data"], "layout": figure["layout"], "config": config})
    stored = stored.replace("</", r"<\/")
    script = f'<script type="application/json">{stored}</script>'
    return f'<div class="plot"><div id="{identifier}" class="plotly-graph-div"></div>{script}</div>'


def _picture(notebook: NotebookNode) -> dict | None:
    """The figure to show in small; one with many traces is too fine for that."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    for output in outputs:
        figure = output.get("data", {}).get(PLOTLY, {"data": []})
        kinds = {trace.get("type", "scatter") for trace in figure["data"]}
        if kinds & {"scatter", "bar", "contour", "histogram"} and len(figure["data"]) <= 16:
            return figure
    return None


def _thumbnail(one: Lesson) -> str:
    """The lesson's picture without words, which does not move and leads to the page."""
    if one.picture is None:
        return ""
    layout = one.picture["layout"]
    axes = {name: {**axis, "visible": False} for name, axis in layout.items() if "axis" in name}
    kept = {name: layout[name] for name in ("barmode", "template") if name in layout}
    bare = {"width": 200, "height": 120, "showlegend": False, "margin": dict.fromkeys("lrtb", 4)}
    figure = {"data": one.picture["data"], "layout": kept | axes | bare}
    drawn = _figure(figure, f"picture-{one.name}", staticPlot=True)
    about = html.escape(re.sub(r"[$*`]", "", one.title), quote=True)
    return f'<a href="{one.name}.html" class="picture" aria-label="A figure of {about}">{drawn}</a>'


def _course(lessons: Sequence[Lesson], seconds: Mapping[str, float], claims: Sequence[int]) -> str:
    rows = "".join(
        f"<tr><td>{_thumbnail(one)}</td>"
        f'<td><a href="{one.name}.html">{html.escape(one.title)}</a>{_inline(one.why)}</td>'
        f"<td>{_time(seconds.get(one.name))}</td><td>{checked}</td></tr>"
        for one, checked in zip(lessons, claims, strict=True)
    )
    return _skeleton(
        COURSE,
        f"<main><h1>{COURSE}</h1>"
        "<p>An executable reading of <em>When Optimizing f-divergence is Robust with Label Noise</em> "
        "(Wei &amp; Liu, ICLR 2021). Every page below was executed on this machine.</p>"
        '<table class="course"><thead><tr><th></th><th>Notebook</th><th>Time</th><th>Claims checked</th></tr>'
        f"</thead><tbody>{rows}</tbody></table></main>",
    )


def _time(seconds: float | None) -> str:
    return "run earlier" if seconds is None else f"{seconds:.0f} s"


def _inline(markdown: str) -> str:
    return f'<div class="why">{markdown2html(markdown)}</div>' if markdown else ""


def _skeleton(title: str, body: str) -> str:
    plain = html.escape(re.sub(r"[$*`]", "", title))
    figures = scripts(re.findall(r'data-figure="(\w+)"', body))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{plain}</title>
<style>{_asset("page.css")}{_asset("plots.css")}</style>
<script>{MATHJAX}</script>
<script defer src="assets/mathjax.js"></script>
<script src="assets/plotly.min.js"></script>
</head>
<body>
{body}
<script>{_asset("page.js")}</script>
<script type="module">{_asset("plots.js")}</script>
{figures}
</body>
</html>
"""


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")
