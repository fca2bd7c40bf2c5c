"""Which loss for my labels? A few questions, and one line of code at the end of each path."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from fdiv.course.prediction import inline
from fdiv.course.site.lessons import Lesson


@dataclass(frozen=True)
class Advice:
    """The end of a path.

    code: one expression, with ``K`` classes and, where it is known, the matrix ``T``.
    why: one or two sentences, in Markdown.
    notebooks: the numbers of those that show it.
    """

    code: str
    why: str
    notebooks: tuple[str, ...]


@dataclass(frozen=True)
class Question:
    """A question with its answers, each of which leads to another question or to an advice."""

    asks: str
    answers: dict[str, Question | Advice]


TREE = Question(
    "Do you know how the labels went wrong?",
    {
        "Yes: I have the transition matrix T, from repeated labels or a checked sample": Advice(
            'FDivLoss("kl", K, transition=T, correction="forward")',
            "Told $T$, the model learns the clean posterior, whatever the noise. Train with the loss for an "
            "unknown $T$ first, as a warm-up. `T` need not be exact.",
            ("09",),
        ),
        "Not quite: but several people labelled each example": Advice(
            'FDivLoss("tv", K)',
            "Train on the shares of their votes: a loss takes a table of probabilities in place of labels, "
            "and `noise.votes_to_soft` makes one. Where they disagree you also see how sure a label is. If "
            "some of them are careless, `noise.dawid_skene` finds out whom to trust.",
            ("08", "14"),
        ),
        "No": Question(
            "Does some class lose more than half of its labels to one other class?",
            {
                "Yes, or I fear so": Question(
                    "Are the classes about equally frequent among the given labels?",
                    {
                        "Yes": Advice(
                            'FDivLoss("pearson", K, score="logit")',
                            "The most frequent label of such a class is wrong, so fitting the labels cannot "
                            "work, with this paper's losses or later ones. Free scores learn the ratio of "
                            "joint and product instead, which still points to the right class. Choose the "
                            "epoch by the loss itself on noisy validation labels: their accuracy is largest "
                            "for the wrong answers.",
                            ("02", "09", "13"),
                        ),
                        "No": Advice(
                            'FDivLoss("kl", K, transition=T_estimated, correction="forward")',
                            "Estimate $T$ from a model that was trained with cross-entropy, then put it into "
                            "the model. With rare classes the estimate is rough: look at its error bars.",
                            ("09",),
                        ),
                    },
                ),
                "No: errors are spread, or rare": Question(
                    "Is one class much more frequent than the others?",
                    {
                        "No": Question(
                            "Could a good model be nearly sure of most answers?",
                            {
                                "Yes: images, or features that tell the classes apart": Advice(
                                    'FDivLoss("tv", K)',
                                    "Total variation ranks classifiers as clean labels do under uniform "
                                    "noise, and needs to know nothing. On features, compared fairly, it "
                                    "has the best mean rank, and many later losses cannot be told from "
                                    'it. On images learnt from scratch `FDivLoss("js", K)` and `GCE(K)` '
                                    "did as well or better. Stop early by noisy validation labels all the"
                                    " same.",
                                    ("00", "03", "13", "14"),
                                ),
                                "No: short texts, overlapping classes": Advice(
                                    "CrossEntropy(K)",
                                    "A loss that makes up its mind loses where the truth is a guess: on "
                                    "tweets cross-entropy, stopped early by noisy validation labels, was "
                                    "ahead of total variation. Under light noise it is about a point behind "
                                    "elsewhere, too.",
                                    ("13", "14"),
                                ),
                            },
                        ),
                        "Yes": Advice(
                            "CrossEntropy(K)",
                            "A loss that compares with a random label gives up rare classes under strong "
                            "imbalance. Use cross-entropy, stop early by noisy validation labels, and "
                            "compare it with `GCE(K)` and, after a warm-up with cross-entropy, with "
                            '`FDivLoss("tv", K, label_prior="balanced")`.',
                            ("05", "12"),
                        ),
                    },
                ),
            },
        ),
    },
)


def choice(lessons: Sequence[Lesson]) -> str:
    """Return the body of the page."""
    return (
        "<h1>Which loss for my labels?</h1><p>Open the answer that fits. Each path ends in one line of code "
        "for <code>K</code> classes; a loss takes logits and labels, like <code>nn.CrossEntropyLoss</code>. "
        "For a table, <code>RobustClassifier</code> trains with it for you; to find the wrong labels "
        'themselves, see <a href="own_data.html">Your own data</a>.</p>'
        f'<div class="tree">{_node(TREE, lessons)}</div>'
    )


def _node(node: Question | Advice, lessons: Sequence[Lesson]) -> str:
    if isinstance(node, Advice):
        links = [
            f'<a href="{one.name}.html">{html.escape(one.title)}</a>'
            for number in node.notebooks
            for one in lessons
            if one.name.startswith(number)
        ]
        shown = f"<p>Shown in {', '.join(links)}.</p>" if links else ""
        return (
            f'<div class="advice"><pre><code>{html.escape(node.code)}</code></pre>'
            f"<p>{inline(node.why)}</p>{shown}</div>"
        )
    answers = "".join(
        f"<details><summary>{html.escape(answer)}</summary>{_node(to, lessons)}</details>"
        for answer, to in node.answers.items()
    )
    return f'<p class="asks">{inline(node.asks)}</p>{answers}'
