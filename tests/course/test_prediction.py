"""A question before the figure: what a notebook stores, what a kernel shows, and what is refused."""

import json

import pytest

from fdiv.course import predict
from fdiv.course.prediction import LETTERS, PREDICTION, STYLE, Prediction, inline

ASKED = ("Does *it* hold for $e<\\frac12$?", ["yes", "no & never", "`a<b`"], 1, ["w0", "w1 $x$", "w2"])


@pytest.fixture
def shown(monkeypatch):
    """What a cell displays."""
    displayed = []
    monkeypatch.setattr("IPython.display.display", displayed.append)
    return displayed


def test_a_notebook_stores_the_question_and_a_folded_answer(monkeypatch, shown):
    monkeypatch.setenv("FDIV_STATIC", "1")
    assert predict(*ASKED) is None
    (bundle,) = [one._repr_mimebundle_() for one in shown]
    assert json.loads(json.dumps(bundle)) == bundle, "nbformat stores it as it is, and nbval compares it"
    question, options, answer, why = ASKED
    assert bundle[PREDICTION] == {"question": question, "options": options, "answer": answer, "why": why}
    assert Prediction(**bundle[PREDICTION]).html() == bundle["text/html"]
    folded = bundle["text/html"].split("<details><summary>Show the answer</summary>")
    assert "no &amp; never" in folded[0]
    assert "w1" not in folded[0]
    assert "It is b" not in folded[0], "what is folded is not told above it"
    assert "<p>It is b.</p>" in folded[1]
    assert "b. <b>Right.</b> w1 $x$" in folded[1]
    assert bundle["text/plain"].splitlines()[-1] == "Answer: b) no & never. w1 $x$"


def test_in_a_kernel_a_button_answers_and_every_option_is_explained(monkeypatch, shown):
    pytest.importorskip("ipywidgets")
    monkeypatch.delenv("FDIV_STATIC", raising=False)
    for pressed, said in ((0, "Not a: it is b."), (1, "Right."), (None, "It is b.")):
        predict(*ASKED)
        box = shown[-1]
        _, *rows, show, verdict = box.children
        assert "fdiv-predict-open" in box._dom_classes
        assert verdict.value == ""
        (show if pressed is None else rows[pressed].children[0]).click()
        assert verdict.value.startswith(f"<b>{said}</b>")
        assert [why for why in ("w0", "w1", "w2") if why not in verdict.value] == []
        assert "fdiv-predict-open" not in box._dom_classes


def test_the_style_hides_the_next_code_cell_and_no_other():
    hidden, explained, told = (rule for rule in STYLE.split("}") if ".jp-CodeCell" in rule)
    assert hidden.count(".jp-Cell:has(.fdiv-predict-open) +") == 6
    assert explained.count("+ .jp-MarkdownCell .jp-RenderedMarkdown") == 6
    assert "Hidden until" in told


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"question": " "}, "question is ' ', but must be a sentence"),
        ({"options": "yes"}, "options must be a list of sentences, not 'yes'"),
        ({"options": ["yes"], "why": ["w"]}, "there are 1 options, but there must be 2 to 6"),
        ({"options": ["a", "a", "b"]}, "two options are the same"),
        ({"options": ["a", "", "b"]}, "options must be a list of sentences"),
        ({"why": ["w"]}, "why has 1 sentences for 3 options: give one for each"),
        ({"why": "w"}, "why must be a list of sentences, not 'w'"),
        ({"answer": 3}, "answer is 3, but the options are numbered 0 to 2"),
        ({"answer": True}, "answer is True"),
        ({"answer": "no"}, "answer is 'no'"),
    ],
)
def test_a_question_that_cannot_be_asked_is_refused_in_one_sentence(change, sentence):
    with pytest.raises(ValueError, match=sentence) as refused:
        predict(**(dict(zip(("question", "options", "answer", "why"), ASKED, strict=True)) | change))
    assert "\n" not in str(refused.value)


def test_text_is_escaped_and_mathematics_left_alone():
    assert inline("a < b & *so*, **now** `x*y*z` $a*b*c < d$") == (
        "a &lt; b &amp; <em>so</em>, <strong>now</strong> <code>x*y*z</code> $a*b*c &lt; d$"
    )
    assert len(LETTERS) == 6


@pytest.mark.parametrize("options", [None, 5, {"a", "b"}, "ab", [1, 2]])
def test_options_that_are_no_list_of_sentences(options):
    with pytest.raises(ValueError, match="options must be a list of sentences"):
        predict("Heads?", options, answer=0, why=["yes", "no"])
