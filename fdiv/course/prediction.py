"""A question before the figure that answers it: the reader commits to a guess, and only then sees.

In JupyterLab the options are buttons, in a page radio buttons; the output of the next code cell, and what is
said about it up to the next heading, stay hidden until the reader has answered or asked to be shown. What a
notebook stores is the question as data, with a folded answer for those who read it on the web.
"""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fdiv.device import is_static
from fdiv.names import notebook_tools

PREDICTION = "application/vnd.fdiv.prediction+json"
LETTERS = "abcdef"
# The cells that JupyterLab hides while a question is open: the next code cell, up to two cells of text before
# it, and a second code cell right behind it.
_OPEN = ".jp-Cell:has(.fdiv-predict-open)"
_NEXT = tuple(
    f"{_OPEN}{' + .jp-MarkdownCell' * words} + .jp-CodeCell{behind}"
    for behind in ("", " + .jp-CodeCell:not(:has(.fdiv-predict))")
    for words in range(3)
)
_HEADING = ":is(h1, h2, h3)"
STYLE = f"""<style>
{", ".join(f"{one} .jp-Cell-outputWrapper" for one in _NEXT)} {{ visibility: hidden; height: 0; overflow: hidden; }}
{", ".join(f"{one} + .jp-MarkdownCell .jp-RenderedMarkdown > :not({_HEADING}, {_HEADING} ~ *)" for one in _NEXT)} {{ display: none; }}
{", ".join(f"{one}::after" for one in _NEXT)} {{ content: "Hidden until you have answered the question above.";
  display: block; margin: 4px 0 4px 76px; font-style: italic; color: var(--jp-ui-font-color1); }}
.fdiv-predict {{ border-left: 4px solid #0072b2; padding: 2px 12px; }}
.fdiv-predict .widget-html-content {{ line-height: 1.5; font-size: var(--jp-content-font-size1); white-space: normal; }}
</style>"""  # noqa: E501


@dataclass(frozen=True)
class Prediction:
    """A question with its options, as a notebook stores it.

    question: what to predict, in one sentence.
    options: two to six short answers.
    answer: the place of the right one, counted from 0.
    why: one sentence for each option, on why it is right or what it overlooks.

    >>> print(Prediction("Heads?", ("yes", "no"), 1, ("Look again.", "It is tails.")).text())
    Predict: Heads?
      a) yes
      b) no
    Answer: b) no. It is tails.
    """

    question: str
    options: tuple[str, ...]
    answer: int
    why: tuple[str, ...]

    @property
    def key(self) -> str:
        """The name under which a page remembers what was answered."""
        return hashlib.sha256(self.question.encode()).hexdigest()[:8]

    def text(self) -> str:
        """Return the question, its options and its answer as plain text."""
        options = [f"  {letter}) {one}" for letter, one in zip(LETTERS, self.options, strict=False)]
        right = f"Answer: {LETTERS[self.answer]}) {self.options[self.answer]}. {self.why[self.answer]}"
        return "\n".join([f"Predict: {self.question}", *options, right])

    def html(self) -> str:
        """Return the question with its answer folded, for a reader without JavaScript."""
        options = (f"{letter}. {inline(one)}" for letter, one in zip(LETTERS, self.options, strict=False))
        return (
            f"<p><b>Predict.</b> {inline(self.question)}</p><p>{'<br>'.join(options)}</p>"
            "<details><summary>Show the answer</summary>"
            f"<p>It is {LETTERS[self.answer]}.</p>{_reasons(self)}</details>"
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        stored = asdict(self) | {"options": list(self.options), "why": list(self.why)}
        return {PREDICTION: stored, "text/html": self.html(), "text/plain": self.text()}


def predict(question: str, options: Sequence[str], answer: int, why: Sequence[str]) -> None:
    """Ask for a prediction; what the next code cell shows stays hidden until there is one.

    question: what to predict, in one sentence; it may hold TeX, code, *emphasis* and **more**, as Markdown.
    options: two to six short answers.
    answer: the place of the right one, counted from 0.
    why: one sentence for each option: why it is right, or what it overlooks.

    >>> predict("Heads?", ["yes", "no"], answer=2, why=["Look again.", "It is tails."])
    Traceback (most recent call last):
        ...
    ValueError: answer is 2, but the options are numbered 0 to 1
    """
    asked = _checked(question, options, answer, why)
    with notebook_tools("predict"):
        from IPython.display import display

        shown = asked if is_static() else _buttons(asked)
    display(shown)


def _checked(question: str, options: Sequence[str], answer: int, why: Sequence[str]) -> Prediction:
    """Return the prediction, or raise a ``ValueError`` that says what it lacks."""
    if not isinstance(question, str) or not question.strip():
        raise ValueError(f"question is {question!r}, but must be a sentence")
    for name, sentences in (("options", options), ("why", why)):
        listed = isinstance(sentences, list | tuple)
        whole = listed and all(isinstance(s, str) and s.strip() for s in sentences)
        if not whole:
            raise ValueError(f"{name} must be a list of sentences, not {sentences!r}")
    if not 2 <= len(options) <= len(LETTERS):
        raise ValueError(f"there are {len(options)} options, but there must be 2 to {len(LETTERS)}")
    if len(set(options)) != len(options):
        raise ValueError("two options are the same: each must differ")
    if len(why) != len(options):
        raise ValueError(
            f"why has {len(why)} sentences for {len(options)} options: give one for each option, in order"
        )
    if type(answer) is not int or not 0 <= answer < len(options):
        raise ValueError(f"answer is {answer!r}, but the options are numbered 0 to {len(options) - 1}")
    return Prediction(question, tuple(options), answer, tuple(why))


def inline(text: str) -> str:
    """Return ``text`` as HTML: `code`, *emphasis* and **more**; TeX between dollars is left to MathJax.

    >>> inline("is `a<b` *so* for $a*b*c$?")
    'is <code>a&lt;b</code> <em>so</em> for $a*b*c$?'
    """
    pieces = re.split(r"(\$[^$]+\$|`[^`]+`)", text)
    return "".join(_piece(html.escape(piece, quote=False)) for piece in pieces)


def _piece(text: str) -> str:
    if text.startswith("$"):
        return text
    if text.startswith("`"):
        return f"<code>{text[1:-1]}</code>"
    text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", text)
    return re.sub(r"\*(.+?)\*", r"<em>\1</em>", text)


def _buttons(asked: Prediction) -> Any:
    """Return the question as a widget: a button for each option, one to be shown, and then every reason."""
    import ipywidgets

    verdict = ipywidgets.HTMLMath()
    box = ipywidgets.VBox()
    buttons = [
        ipywidgets.Button(description=letter, tooltip=option, layout={"width": "44px", "flex": "none"})
        for letter, option in zip(LETTERS, asked.options, strict=False)
    ]
    show = ipywidgets.Button(description="show me", layout={"width": "96px"})

    def answered(chosen: int | None) -> None:
        verdict.value = _verdict(asked, chosen)
        box.remove_class("fdiv-predict-open")

    for number, button in enumerate(buttons):
        button.on_click(lambda _, number=number: answered(number))
    show.on_click(lambda _: answered(None))
    rows = [
        ipywidgets.HBox([button, ipywidgets.HTMLMath(inline(option))], layout={"align_items": "center"})
        for button, option in zip(buttons, asked.options, strict=True)
    ]
    question = ipywidgets.HTMLMath(f"{STYLE}<b>Predict.</b> {inline(asked.question)}")
    box.children = [question, *rows, show, verdict]
    box.add_class("fdiv-predict").add_class("fdiv-predict-open")
    return box


def _verdict(asked: Prediction, chosen: int | None) -> str:
    """Return what is said after a choice (None: to be shown), with the reason of every option."""
    right = LETTERS[asked.answer]
    said = {None: f"It is {right}.", asked.answer: "Right."}.get(
        chosen, f"Not {LETTERS[chosen or 0]}: it is {right}."
    )
    return f"<b>{said}</b>{_reasons(asked)}"


def _reasons(asked: Prediction) -> str:
    """Return the reason of every option, the right one marked, with letters that no viewer takes away."""
    marks = ["<b>Right.</b> " if number == asked.answer else "" for number in range(len(asked.why))]
    reasons = zip(LETTERS, marks, asked.why, strict=False)
    return f"<p>{'<br>'.join(f'{letter}. {mark}{inline(one)}' for letter, mark, one in reasons)}</p>"
