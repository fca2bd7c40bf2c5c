"""What stands around every page: the bar with the search, the contents at the side, the way on."""

from __future__ import annotations

import html
import importlib.metadata
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from fdiv.course.site.outline import Section
from fdiv.course.widgets import scripts
from fdiv.files import write_text

ASSETS = Path(__file__).parents[1] / "assets"
OWN = ("page.css", "page.js", "plots.css", "plots.js")
COURSE = "Learning with noisy labels through f\N{NON-BREAKING HYPHEN}divergences"
# Pages to look things up, in the order of the menu.
LOOK_UP = {
    "notation": "Notation",
    "cheat_sheet": "Cheat sheet",
    "which_loss": "Which loss?",
    "results": "Results",
    "references": "References",
    "set_up": "Set up",
    "full_runs": "Full runs",
    "own_data": "Your own data",
}
MATHJAX = """window.MathJax = {
  tex: {inlineMath: [["$", "$"]], displayMath: [["$$", "$$"]], processEscapes: true},
  options: {enableMenu: false}, svg: {fontCache: "global", scale: 0.92}
};"""


def copy_assets(folder: Path) -> None:
    """Write styles, scripts, plotly.js and MathJax into ``folder``, the last two from installed packages."""
    from plotly.offline import get_plotlyjs

    folder.mkdir(parents=True, exist_ok=True)
    for name in OWN:
        write_text((ASSETS / name).read_text(encoding="utf-8"), folder / name)
    write_text(get_plotlyjs(), folder / "plotly.min.js")
    files = importlib.metadata.files("sphinx-mathjax-offline") or []
    mathjax = next(file for file in files if file.name == "tex-svg.js")
    write_text(mathjax.read_text(encoding="utf-8"), folder / "mathjax.js")


def plain(title: str) -> str:
    """Return a title without the marks of TeX and Markdown.

    >>> plain("02 · The *matrix* $T$")
    '02 · The matrix T'
    """
    return re.sub(r"[$*`]", "", title)


def without_tex(body: str) -> str:
    """Return ``body`` with its letters in italics, if all its formulas are letters: no need to load MathJax.

    >>> without_tex("an estimate of $T$"), without_tex("$T$ and $g_f$")
    ('an estimate of <i>T</i>', '$T$ and $g_f$')
    """
    plain = re.sub(r"\$([A-Za-z])\$", r"<i>\1</i>", body)
    return body if "$" in plain else plain


def bound(body: str) -> str:
    """Return ``body`` with numbers that keep their percent sign on the line, but for code.

    >>> bound("40 % of <code>n % 2</code>, 3 %") == "40\\u00a0% of <code>n % 2</code>, 3\\u00a0%"
    True
    """
    kept = r"<(pre|code|script|style)\b.*?</\1>|<[^>]*>"
    return re.sub(
        rf"{kept}|(?<=\d) (?=%)", lambda one: "\u00a0" if one[0] == " " else one[0], body, flags=re.DOTALL
    )


def page(
    name: str,
    title: str,
    body: str,
    *,
    sections: Sequence[Section] = (),
    before: tuple[str, str] | None = None,
    after: tuple[str, str] | None = None,
    foot: str = "",
) -> str:
    """Return a whole page.

    name: of its file, without an ending.
    body: what stands in the middle.
    sections: those of the contents at the side; without them there are none.
    before, after: name and title of the pages before and after it.
    foot: a sentence at the end.
    """
    body = bound(without_tex(body))
    tex = f'<script>{MATHJAX}</script>\n<script defer src="assets/mathjax.js"></script>'
    formulas = tex if "$" in body else ""
    terms = '<script src="assets/terms.js"></script>\n' if 'class="cell ' in body else ""
    figures = scripts(re.findall(r'data-figure="(\w+)"', body))
    drawn = "plotly-graph-div" in body
    plots = '<script defer src="assets/plots.js"></script>' if drawn else ""
    contents = _contents(sections)
    framed = (
        f'<div class="frame">{contents}<main id="main">{body}</main></div>'
        if contents
        else (f'<main id="main">{body}</main>')
    )
    return f"""<!doctype html>
<html lang="en" data-page="{name}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{html.escape(plain(title))}</title>
<link rel="stylesheet" href="assets/page.css">
<link rel="stylesheet" href="assets/plots.css">
{formulas}
</head>
<body>
<a class="skip" href="#main">To the text</a>
{_bar(name)}
{framed}
{_ways(before, after)}
<footer>{foot}</footer>
{terms}<script src="assets/page.js"></script>
{plots}{figures}
</body>
</html>
"""


def _bar(here: str) -> str:
    links = "".join(
        f'<a href="{name}.html"{_current(name == here)}>{html.escape(title)}</a>'
        for name, title in LOOK_UP.items()
    )
    return (
        f'<header class="bar"><a class="home" href="index.html"{_current(here == "index")}>Noisy labels</a>'
        '<form role="search" class="search"><input type="search" aria-label="Search the course" '
        'placeholder="Search" autocomplete="off"><div class="found" hidden></div></form>'
        f'<details class="menu"><summary>Look up</summary><nav aria-label="Look up">{links}</nav></details>'
        "</header>"
    )


def _current(here: bool) -> str:
    return ' aria-current="page"' if here else ""


def _contents(sections: Iterable[Section]) -> str:
    rows = [_row(one) for one in sections if one.anchor and (one.level == 2 or one.is_exercise)]
    if not rows:
        return ""
    return (
        '<nav class="contents" aria-label="Contents of this page"><details><summary>Contents</summary>'
        f"<ol>{''.join(rows)}</ol></details></nav>"
    )


def _row(one: Section) -> str:
    time = f'<span class="minutes">{max(1, round(one.seconds / 60))} min</span>' if one.level == 2 else ""
    kind = ' class="exercise"' if one.is_exercise else ""
    done = " data-done" if one.can_be_done else ""
    anchor = html.escape(one.anchor, quote=True)
    return f'<li{kind}><a href="#{anchor}"{done}>{html.escape(one.title)}</a>{time}</li>'


def _ways(before: tuple[str, str] | None, after: tuple[str, str] | None) -> str:
    """Links to the pages before and after this one."""
    if not (before or after):
        return ""
    left = (
        f'<a rel="prev" href="{before[0]}.html">← {html.escape(before[1])}</a>' if before else "<span></span>"
    )
    right = (
        f'<a rel="next" href="{after[0]}.html">{html.escape(after[1])} →</a>' if after else "<span></span>"
    )
    return f'<nav class="ways" aria-label="Next and previous">{left}{right}</nav>'


def as_script(name: str, value: object) -> str:
    """Return a JavaScript file that defines ``window.NAME``: a page from a folder may load that, but no JSON.

    >>> as_script("n", {"a": "é</b>"})
    'window.n = {"a":"é<\\\\/b>"};\\n'
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
    return f"window.{name} = {text};\n"
