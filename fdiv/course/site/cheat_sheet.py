"""The course on one screen: the eight divergences, the families of noise, and who guarantees what."""

# ruff: noqa: E501 (a row is a line)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fdiv.course.prediction import inline
from fdiv.course.site.lessons import Lesson
from fdiv.theory.divergences import DIVERGENCES, Divergence
from fdiv.theory.robustness import keeps_rankings


@dataclass(frozen=True)
class Formulas:
    """The closed forms of a row of ``DIVERGENCES`` in TeX, in r, u and v; a test compares them with the row."""

    generator: str
    conjugate: str
    activation: str


FORMULAS = {
    "tv": Formulas(r"\tfrac{1}{2}|r-1|", "u", r"\tfrac{1}{2}\tanh(v)"),
    "js": Formulas(r"r\log(r) - (r+1)\log(\tfrac{r+1}{2})", r"-\log(2-e^{u})", r"\log(2) - \log(1+e^{-v})"),
    "squared-hellinger": Formulas(r"(\sqrt{r}-1)^{2}", r"\tfrac{u}{1-u}", "1-e^{-v}"),
    "pearson": Formulas("(r-1)^{2}", r"u + \tfrac{u^{2}}{4}", "v"),
    "neyman": Formulas(r"\tfrac{(r-1)^{2}}{r}", r"2 - 2\sqrt{1-u}", "1-e^{-v}"),
    "kl": Formulas(r"r\log(r)", "e^{u-1}", "v"),
    "reverse-kl": Formulas(r"-\log(r)", r"-1-\log(-u)", "-e^{-v}"),
    "jeffrey": Formulas(r"(r-1)\log(r)", r"W(e^{1-u}) + \tfrac{1}{W(e^{1-u})} + u - 2", "v"),
}
NOISES = (
    ("uniform", r"T = \varepsilon I + \mathbf 1 e^\top", "keep the label, or draw from one distribution $e$", "02"),
    ("random $p$", r"e_j = p/K", "draw anew from all classes; $p\\,(K-1)/K$ become wrong", "02"),
    ("sparse", r"i \leftrightarrow j:\ e_1,\ e_2", "classes in pairs exchange labels", "02"),
    ("pair", r"T_{i,i+1} = e", "each class falls to the next", "02"),
    ("asymmetric", r"T_{i,s(i)} = e", "some classes fall to a similar one", "02"),
    ("instance", r"P(\tilde Y \mid Y, x)", "the image decides, too; no $T$ says it all", "08"),
    ("human", r"P(\tilde Y \mid Y, x)", "people looked and erred, where it is hard", "08"),
)  # fmt: skip
GUARANTEES = (
    ("decoupling", r"\widetilde{\mathrm{VD}} = \varepsilon\,\mathrm{VD} + \textstyle\sum_j e_j\Delta^j",
     "for every $f$, exactly when the noise is uniform", "03"),
    ("total variation", r"\tilde D = |\varepsilon|\,D", "any classifier, uniform noise: every ranking stays", "03"),
    ("total variation", r"a\,D \le \tilde D \le b\,D", r"any $T$: $b = \max_{ij}\tfrac12\|T_i - T_j\|_1$, $a$ the inverse of the same for $T^{-1}$", "12"),
    ("Pearson", r"s_K^2\,D \le \tilde D \le s_2^2\,D", "any $T$ and prior; two classes: one constant", "12"),
    ("the other six", r"\text{no constant}", "rankings can turn, even for two classes", "03"),
    ("most frequent label", r"T_{ii} > T_{ij}\ (j \ne i)", "what fitting the labels needs, row by row", "02"),
    ("forward", r"f'\big((h_x T)/\tilde p\big)", "any invertible $T$: the maximum is the clean posterior", "09"),
    ("backward", r"T^{-1}g,\ T^{-1}f^*(g)", "any invertible $T$: right on average, with scatter", "09"),
    ("plug-in", r"D_f(h; \tilde Y)", "no $T$ at all, up to the names of the classes", "09"),
)  # fmt: skip


def cheat_sheet(lessons: Sequence[Lesson]) -> str:
    """Return the body of the cheat sheet."""
    rows = "".join(_divergence(one) for one in DIVERGENCES.values())
    noises = "".join(_line(*one, lessons) for one in NOISES)
    guarantees = "".join(_line(*one, lessons) for one in GUARANTEES)
    return (
        '<div class="sheet"><h1>Cheat sheet</h1>'
        r"<p>$D_f(P\|Q) = \sum q\,f(p/q)$ ${}= \max_g\ \mathbb E_P[g] - \mathbb E_Q[f^*(g)]$, at $g^* = f'(p/q)$. "
        r"Training maximises $\mathbb E\,g_f(h_X[\tilde Y]) - \mathbb E\,f^*(g_f(h_X[\tilde Y']))$.</p>"
        '<section><h2 id="divergences">The eight divergences</h2><table class="formulas"><thead><tr><th></th><th>$f(r)$</th>'
        "<th>$f^*(u)$</th><th>where</th><th>$g_f(v)$</th><th>two classes under noise</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></section>"
        f'<div class="halves"><section><h2 id="noises">Families of noise</h2><table><tbody>{noises}</tbody></table>'
        f'</section><section><h2 id="guarantees">Guarantees</h2><table><tbody>{guarantees}</tbody></table>'
        "</section></div></div>"
    )


def _divergence(one: Divergence) -> str:
    formulas = FORMULAS.get(one.name)
    cells = (formulas.generator, formulas.conjugate, formulas.activation) if formulas else ("", "", "")
    f, dual, activation = (f"${_pretty(tex)}$" if tex else "–" for tex in cells)
    # Computed for noise that differs between the classes, on unequal classes.
    kept = keeps_rankings(one.name, [[0.7, 0.3], [0.1, 0.9]], prior=[0.4, 0.6])
    verdict = "every ranking stays" if kept else "rankings can turn"
    return (
        f'<tr><th scope="row"><span class="swatch" style="background:{one.colour}"></span>{one.title}</th>'
        f"<td>{f}</td><td>{dual}</td><td>{one.domain}</td><td>{activation}</td><td>{verdict}</td></tr>"
    )


def _pretty(tex: str) -> str:
    """TeX as one writes it: no brackets around the argument of a function where it is one letter or a number."""
    for name in ("log", "tanh"):
        for letter in ("r", "u", "v", "2"):
            tex = tex.replace(rf"\{name}({letter})", rf"\{name} {letter}")
    return tex.replace(r"\log(\tfrac{r+1}{2})", r"\log\tfrac{r+1}{2}")


def _line(name: str, tex: str, about: str, notebook: str, lessons: Sequence[Lesson]) -> str:
    home = [lesson.name for lesson in lessons if lesson.name.startswith(notebook)]
    where = f'<a href="{home[0]}.html">{notebook}</a>' if home else notebook
    return f'<tr><th scope="row">{inline(name)}</th><td>${tex}$</td><td>{inline(about)}</td><td>{where}</td></tr>'
