"""Every symbol of the course, and the terms that a page explains where they occur."""

# ruff: noqa: E501 (a row is a line)

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

from fdiv.course.prediction import inline
from fdiv.course.site.lessons import Lesson


@dataclass(frozen=True)
class Symbol:
    """A row of the page of notation.

    tex: the symbol.
    name: what it is called; also a term that is explained where it occurs in the text.
    meaning: one sentence, in Markdown.
    notebook: the number of the one that introduces it.
    also: other words for it in the text.
    """

    tex: str
    name: str
    meaning: str
    notebook: str
    also: tuple[str, ...] = ()

    @property
    def anchor(self) -> str:
        """The id of its row."""
        return re.sub(r"\W+", "-", self.name.casefold()).strip("-")


# A group, and its rows. A new symbol is one row.
SYMBOLS: dict[str, tuple[Symbol, ...]] = {
    "Labels and noise": (
        Symbol(r"X,\ x", "example", "What is classified: an image, a row of a table. Capital for the random one, small for a given one.", "00"),
        Symbol(r"Y,\ y", "clean label", "The true class. The learner never sees it.", "00", ("clean labels", "true label", "true labels")),
        Symbol(r"\tilde Y,\ \tilde y", "noisy label", "The label the learner is given, which may be wrong.", "00", ("noisy labels",)),
        Symbol(r"\tilde Y'", "random label", "The label of another example, drawn at random: it knows nothing about $x$.", "00"),
        Symbol("n", "number of examples", "How many examples there are; $n_i$ of them belong to class $i$.", "02"),
        Symbol("i,\\ j,\\ k", "class index", "Classes: $i$ the true one, $j$ the label, $k$ any.", "02"),
        Symbol("K", "number of classes", "How many classes there are.", "02"),
        Symbol(r"T_{ij}", "transition matrix", r"The noise as a table: $T_{ij} = P(\tilde Y = j \mid Y = i)$. Each row sums to 1, and the diagonal holds the labels that survive.", "00", ("transition matrices",)),
        Symbol(r"e_+,\ e_-", "flip rates", r"For two classes: the chance that a label $+$ becomes $-$ is $e_+ = P(\tilde Y = - \mid Y = +)$, and $e_-$ is the way back.", "02", ("flip rate",)),
        Symbol(r"e_j", "rate of landing", "Uniform noise: the chance that a label of any other class becomes $j$.", "02"),
        Symbol(r"e_1,\ e_2", "pair rates", "Sparse noise: the chance that the first of two paired classes becomes the second, and the way back.", "02"),
        Symbol(r"\varepsilon", "what the noise leaves", r"$\varepsilon = 1 - \sum_j e_j$, for two classes $1 - e_+ - e_-$: the share of labels that uniform noise leaves alone; the others are drawn anew. It scales the clean objective.", "03"),
        Symbol(r"\delta", "dependence on the image", r"How far, on average, the labels of one image are distributed from those of its class, in total variation: $\delta = \mathbb E\,\lVert T_Y(X) - \bar T_Y\rVert$. Zero for noise that looks at the class alone.", "08"),
        Symbol(r"I,\ \mathbf 1", "identity and ones", "The identity matrix, and the column of ones: $\\mathbf 1 e^\\top$ has the row $e$ in every place.", "02"),
        Symbol(r"p,\ \tilde p", "label prior", r"How often each class occurs among clean and among noisy labels: $\tilde p = T^\top p$.", "02", ("label priors", "noisy prior")),
        Symbol(r"\eta(x),\ \tilde\eta(x)", "posterior", r"How likely each label is, given $x$: $\eta_y(x) = P(Y = y \mid x)$, and $\tilde\eta = T^\top\eta$.", "03", ("noisy posterior", "clean posterior")),
        Symbol(r"\hat T", "estimated T", "A transition matrix that was estimated, from noisy labels alone unless said otherwise.", "09"),
    ),
    "Divergences": (
        Symbol("P,\\ Q", "joint and product", "Two distributions. In training $P$ is the joint one, an example with its own label, and $Q$ the product of the margins, an example with a random label.", "01", ("product of the margins", "joint table")),
        Symbol(r"\tilde P,\ \tilde Q", "noisy joint and product", "The same two for noisy labels.", "03"),
        Symbol("r", "ratio", "$r = p/q$: how much more often $P$ produces an outcome than $Q$ does.", "01"),
        Symbol("f", "generator", "A convex function with $f(1) = 0$. It defines a divergence; $f + c\\,(r - 1)$ defines the same one.", "01", ("generators",)),
        Symbol("D_f(P\\|Q)", "f-divergence", r"How far $P$ is from $Q$: $D_f = \sum_z q(z)\,f\big(p(z)/q(z)\big)$. Never negative, and 0 where $P = Q$.", "01", ("f-divergences",)),
        Symbol("f^*", "conjugate", r"$f^*(u) = \sup_r\,\{u r - f(r)\}$: the largest gap by which the line of slope $u$ rises above $f$.", "01", ("convex conjugate", "conjugates")),
        Symbol(r"\mathrm{VD}_f(h, g)", "variational form", r"$\mathbb E_P[g] - \mathbb E_Q[f^*(g)]$: a lower bound of $D_f$ for every $g$, and $D_f$ itself at the best one.", "01", ("variational difference", "variational bound")),
        Symbol("g", "variational function", "What the bound is maximised over: any function of an outcome with values where $f^*$ is finite.", "01"),
        Symbol("g^*", "optimal g", "$g^* = f'(p/q)$: where the bound is reached.", "01"),
        Symbol("g_f", "activation", "A fixed increasing function that keeps a network's output where $f^*$ is finite.", "01", ("activations",)),
        Symbol(r"\mathbb E_P", "mean", "The mean under a distribution; $\\mathbb E_X$ is that over examples alone.", "01"),
        Symbol(r"\chi^2", "Pearson and Neyman", "The two divergences named chi-squared: $f(r) = (r-1)^2$ is Pearson's, $(r-1)^2/r$ Neyman's.", "01"),
        Symbol(r"\rho", "weight of a random label", "How much the objective subtracts for agreeing with a random label: the rise of $f^*(g_f)$ over that of $g_f$. For total variation it is 1.", "01"),
        Symbol("a,\\ b,\\ d", "constants", "Numbers that are named where they occur.", "01"),
        Symbol("t", "step along a walk", "A line of models or of functions $g$: $t = 0$ is where it starts, $t = 1$ the optimum.", "01"),
        Symbol("W", "Lambert's W", "The inverse of $w \\mapsto w e^w$; it stands in Jeffrey's conjugate.", "01"),
        Symbol("B_f(v, r)", "Bregman divergence", "$f(v) - f(r) - f'(r)(v - r)$: the height of $f$ above its tangent.", "12"),
    ),
    "Classifiers": (
        Symbol("h,\\ h_x", "classifier", "The model. $h_x$ is its vector of probabilities for the example $x$.", "00", ("classifiers",)),
        Symbol("h_x[y]", "softmax probability", "The probability that the model gives to class $y$.", "00", ("softmax",)),
        Symbol("v", "score", "What $g_f$ is applied to: $v = h_x[y]$, or the logit where scores are free.", "01"),
        Symbol(r"\mathcal H", "class of classifiers", "All classifiers that are allowed.", "03"),
        Symbol("h^*", "best classifier", "The one that maximises the clean objective among those allowed.", "03", ("Bayes optimal classifier",)),
        Symbol(r"\mathcal H^*", "the class H*", "The best classifier, and those that fit the noisy labels of every class at least as well as it fits the clean ones.", "03"),
    ),
    "Robustness and mending": (
        Symbol(r"\Delta^j_f", "difference of label j", r"$\mathbb E_X[g(h, j)] - \mathbb E_X[f^*(g(h, j))]$: what the objective is worth if every label were $j$.", "03"),
        Symbol(r"\mathrm{Bias}_f(h, g)", "bias term", r"$\sum_j e_j\,\Delta^j_f(h, g)$: what uniform noise adds to the scaled clean objective.", "03"),
        Symbol("D,\\ \\tilde D", "clean and noisy divergence", "The divergence of a classifier from independence, with clean and with noisy labels.", "03"),
        Symbol("c", "robustness constant", r"Where $\tilde D = c\,D$ for every classifier, noise keeps all rankings.", "12", ("robustness constants",)),
        Symbol("s_1 \\ge \\dots \\ge s_K", "singular values", r"Of $\mathrm{diag}(p)^{1/2}\,T\,\mathrm{diag}(\tilde p)^{-1/2}$: noise scales Pearson's divergence by something between $s_K^2$ and $s_2^2$.", "12"),
        Symbol("T^{-1}", "backward correction", "The inverse of the noise, applied to the labels: right on average, with large weights.", "09"),
        Symbol("h_x T", "forward correction", "The noise put into the model: the noisy posterior that the clean one predicts.", "09"),
        Symbol("", "memorisation", "A network repeats the wrong label it was given for a training example. The *memorised share* counts the flipped examples for which it does.", "00", ("memorised", "memorise", "memorises", "by heart")),
        Symbol("", "ceiling", "The accuracy that an objective reaches with infinitely many noisy examples.", "02", ("ceilings",)),
        Symbol("", "anchor", "An example that certainly belongs to one class; its noisy posterior is a row of $T$.", "09", ("anchors",)),
        Symbol("", "plug-in", "The objective with the best $g$ for the current table of answers and labels, so that it is $D_f$ itself.", "09"),
        Symbol("", "warm-up", "Some epochs of cross-entropy before a divergence takes over.", "06"),
    ),
}  # fmt: skip


def notation(lessons: Sequence[Lesson]) -> str:
    """Return the body of the page of notation."""
    groups = "".join(
        f'<h2 id="{group.casefold().replace(" ", "-")}">{group}</h2>'
        '<table class="symbols"><thead><tr><th>symbol</th><th>name</th><th>meaning</th><th>from</th></tr></thead>'
        f"<tbody>{''.join(_row(one, lessons) for one in rows)}</tbody></table>"
        for group, rows in SYMBOLS.items()
    )
    return (
        "<h1>Notation</h1><p>Every symbol of the course. In the lessons, a word with a dotted line below it is "
        "one of these: point at it, touch it, or reach it with the tab key, and it explains itself. A tilde "
        f"always means <em>under noise</em>, a star <em>optimal</em>, a hat <em>estimated</em>.</p>{groups}"
    )


def _row(one: Symbol, lessons: Sequence[Lesson]) -> str:
    home = [lesson.name for lesson in lessons if lesson.name.startswith(one.notebook)]
    where = f'<a href="{home[0]}.html">{one.notebook}</a>' if home else one.notebook
    symbol = f"${html.escape(one.tex)}$" if one.tex else ""
    return (
        f'<tr id="{one.anchor}"><td>{symbol}</td><td>{html.escape(one.name)}</td>'
        f"<td>{inline(one.meaning)}</td><td>{where}</td></tr>"
    )


def terms() -> list[list[object]]:
    """Return what a page needs to explain terms in its text: the words, the explanation, the row's anchor."""
    rows = [one for group in SYMBOLS.values() for one in group]
    explained = [one for one in rows if len(one.name) > 3 and one.name not in _TOO_COMMON]
    return [
        [
            [one.name, *one.also],
            (f"${html.escape(one.tex)}$: " if one.tex else "") + inline(one.meaning),
            one.anchor,
        ]
        for one in explained
    ]


_TOO_COMMON = (
    "example", "ratio", "mean", "score", "posterior", "anchor", "optimal g", "number of classes",
    "number of examples", "class index", "constants",
)  # fmt: skip
