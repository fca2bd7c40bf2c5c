"""The index: something to play with, two routes, and the story in four parts, told by its questions."""

from __future__ import annotations

import html
from collections.abc import Sequence

from nbconvert.filters import markdown2html

from fdiv.course.site.lessons import Lesson
from fdiv.course.site.shell import COURSE, LOOK_UP
from fdiv.course.widgets import memorisation_machine
from fdiv.experiments.grid import environment

# A part: its title, a sentence, and the first and last notebook.
PARTS = (
    ("I", "The idea", "What to maximise when labels lie, built from one convex function.", "00", "03"),
    (
        "II",
        "The experiments",
        "The idea meets data, from digits to labels that people got wrong.",
        "04",
        "08",
    ),
    ("III", "Mending", "What was left open, what was measured, and what a careful reader finds.", "09", "11"),
    ("IV", "Beyond the paper", "Exact answers, what came later, and your own data.", "12", "14"),
)
ROUTES = (
    ("A good hour", "The idea, the noise, a training run, and the way out.", ("00", "02", "04", "09")),
    ("The whole theory", "Every theorem, with its proof, its limits and its constants.",
     ("00", "01", "02", "03", "09", "11", "12")),
)  # fmt: skip


def front(lessons: Sequence[Lesson]) -> str:
    """Return the body of the index."""
    with environment({"FDIV_STATIC": "1"}):
        machine = memorisation_machine().html()  # what it shows is told to those who cannot see, or ask
    routes = "".join(_route(*route, lessons) for route in ROUTES)
    parts = "".join(_part(*part, lessons) for part in PARTS)
    return (
        f"<h1>{COURSE}</h1>"
        '<p class="lead">Four in ten of the labels below are wrong, and two networks learn from them. '
        "Will they learn the truth, or repeat what they were told? Press play.</p>"
        f"{machine}"
        "<p>Why do they differ, when does it work, and when does it fail? This course finds out, one "
        "question at a time. It is an executable reading of <em>When Optimizing f-divergence is Robust with "
        "Label Noise</em> (Wei &amp; Liu, ICLR 2021): you guess, look, compute and check, in the page or in "
        "JupyterLab.</p>"
        f'<section class="routes" aria-label="Routes">{routes}</section>{parts}{_look_up()}'
    )


def _route(title: str, about: str, numbers: Sequence[str], lessons: Sequence[Lesson]) -> str:
    there = [one for number in numbers for one in lessons if one.name.startswith(number)]
    if not there:
        return ""
    steps = "".join(f'<li><a href="{one.name}.html">{html.escape(one.title)}</a></li>' for one in there)
    time = sum(one.minutes for one in there)
    return (
        f'<div class="route"><h2>{title}</h2><p>{about} <span class="minutes">{_hours(time)} to read</span>'
        f"</p><ol>{steps}</ol></div>"
    )


def _hours(minutes: int) -> str:
    """Return a time to read in words.

    >>> _hours(50), _hours(130)
    ('50 min', '2 h 10 min')
    """
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if hours else f"{rest} min"


def _part(number: str, title: str, about: str, first: str, last: str, lessons: Sequence[Lesson]) -> str:
    cards = "".join(_card(one) for one in lessons if first <= one.name[:2] <= last)
    if not cards:
        return ""
    return (
        f'<section class="part"><h2 id="part-{number}">Part {number}: {title}</h2><p>{about}</p>'
        f"<ol>{cards}</ol></section>"
    )


def _card(one: Lesson) -> str:
    question = markdown2html(one.question) if one.question else ""
    steps = sum(section.can_be_done for section in one.sections)
    return (
        f'<li class="card" data-lesson="{one.name}" data-steps="{steps}">'
        f'<h3><a href="{one.name}.html">{html.escape(one.title)}</a></h3>'
        f'<div class="question">{question}</div>'
        f'<p class="about"><span class="minutes">{one.minutes} min to read</span> '
        '<span class="progress"></span></p></li>'
    )


ABOUT = {
    "notation": "every symbol, and what it means",
    "cheat_sheet": "the eight divergences, the noises, the guarantees on one screen",
    "which_loss": "a few questions about your labels, one line of code",
    "results": "every number that was measured, with its seeds and its commit",
    "references": "what to read, with links and BibTeX",
    "set_up": "installing, make, conda",
    "full_runs": "MODE, papermill, grids and clusters",
    "own_data": "the package without the course",
}


def _look_up() -> str:
    rows = "".join(
        f'<li><a href="{name}.html">{html.escape(title)}</a>: {ABOUT[name]}</li>'
        for name, title in LOOK_UP.items()
    )
    return f'<section class="look-up"><h2 id="look-up">Look up</h2><ul>{rows}</ul></section>'
