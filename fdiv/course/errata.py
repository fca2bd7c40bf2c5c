"""What was found in the paper, as a table to read: formulas in TeX, and buttons that choose the rows."""

from __future__ import annotations

import html
import re

import pandas as pd
from IPython.display import HTML

# What the list of errata writes in plain letters, and its TeX. Where several fit, the first one is taken.
SYMBOLS = (
    (r"1-e₊-e₋", r"1-e_+-e_-"),
    (r"1-e₁-e₂", r"1-e_1-e_2"),
    (r"e₊\+e₋", r"e_++e_-"),
    (r"e₊", r"e_+"),
    (r"e₋", r"e_-"),
    (r"e₁", r"e_1"),
    (r"e₂", r"e_2"),
    (r"e±", r"e_\\pm"),
    (r"Δ\^(j|\{[ij]_c\})", r"\\Delta^\1"),
    (r"Σ e_j", r"\\sum_j e_j"),
    (r"Σ_c", r"\\sum_c"),
    (r"1-Σe", r"1-\\sum e"),
    (r"VD~", r"\\widetilde{\\mathrm{VD}}"),
    (r"E_([PQ])~", r"\\mathbb E_{\\tilde \1}"),
    (r"E_([PQ])\b", r"\\mathbb E_\1"),
    (r"g~\*", r"\\tilde g^*"),
    (r"([PQDYp])~(_y)?", r"\\tilde \1\2"),
    (r"H\*₋", r"\\mathcal H^*_-"),
    (r"H\*", r"\\mathcal H^*"),
    (r"f\*\((u|g|1|g_f\(v\))\)", r"f^*(\1)"),
    (r"\b([fgh])\*", r"\1^*"),
    (r"T⁻¹", r"T^{-1}"),
    (r"D_TV", r"D_{\\mathrm{TV}}"),
    (r"D_f|g_f", r"\g<0>"),
    (r"π_c", r"\\pi_c"),
    (r"c_(min|max)", r"c_{\\\1}"),
    (r"c Π \+ 1e'", r"c\\,\\Pi+\\mathbf 1e^\\top"),
    (r"u²/4 \+ u", r"\\tfrac{u^2}{4}+u"),
    (r"√\(1-g\)", r"\\sqrt{1-g}"),
    (r"g²/\(1-g\)", r"\\tfrac{g^2}{1-g}"),
    (r"\((p-q|q-p)\)²/([pq])", r"\\tfrac{(\1)^2}{\2}"),
    (r"(1?)-e\^-v", r"\1-e^{-v}"),
    (r"1?-e\^v", r"\g<0>"),
)
_TOKEN = re.compile("|".join(f"(?:{pattern})" for pattern, _ in SYMBOLS))
KINDS = {"theory": "theory", "tables": "tables and figure", "noise": "noise matrices", "text": "text"}
VERDICTS = ("fails", "holds with correction", "holds")
LOOK = """
.errata small {display: block; font-weight: normal}
.errata p {margin: 0.3em 0} .errata label {margin-right: 1em} .errata table {width: 100%; table-layout: fixed}
.errata :is(td, th) {vertical-align: top; text-align: left; white-space: normal; overflow-wrap: anywhere;
  padding: 0.35em 0.5em}
.errata th:first-child {width: 22%} .errata :is(th, td):nth-child(2) {width: 13%}
@media (max-width: 700px) {
  .errata thead {display: none} .errata tr[data-verdict] {border-top: 1px solid; padding: 0.4em 0}
  .errata :is(table, tbody, tr, td, th) {display: block; width: auto !important}
}
"""


def tex(text: str) -> str:
    """Return ``text`` as HTML with its symbols in TeX, for MathJax.

    >>> tex("VD~ < D_f")
    '$\\\\widetilde{\\\\mathrm{VD}}$ &lt; $D_f$'
    """
    return _TOKEN.sub(_in_tex, html.escape(text, quote=False))


def _in_tex(found: re.Match[str]) -> str:
    matches = ((re.fullmatch(pattern, found[0]), written) for pattern, written in SYMBOLS)
    return next(f"${match.expand(written)}$" for match, written in matches if match)


def kind_of(item: str) -> str:
    """Return what kind of statement an item of the errata is: a key of ``KINDS``.

    >>> [kind_of(item) for item in ("Theorem 9", "Table 2 (clean)", "CIFAR-100 noise", "§5, text: why")]
    ['theory', 'tables', 'noise', 'text']
    """
    if "text" in item:
        return "text"
    if (
        item.startswith(("Table ", "Figure "))
        and "full table" not in item
        and not item.startswith("Table 1:")
    ):
        return "tables"
    return "noise" if re.search(r"matrices|noise", item) else "theory"


def errata_table(listed: pd.DataFrame) -> HTML:
    """Return the list of errata as HTML, with buttons that choose what is shown; it needs no script.

    listed: the columns item, where, verdict, printed and corrected, as of ``fdiv.experiments.errata``.

    >>> row = {"item": "Theorem 4", "where": "§3", "verdict": "holds", "printed": "D_f", "corrected": ""}
    >>> errata_table(pd.DataFrame([row])).data.count("<tr")
    2
    """
    kinds = [kind_of(item) for item in listed["item"]]
    rows = "".join(
        f'<tr data-verdict="{VERDICTS.index(one.verdict)}" data-kind="{kind}"><th scope="row">{tex(one.item)}'
        f"<small>{html.escape(one.where)}</small></th><td>{html.escape(one.verdict)}</td>"
        f"<td>{tex(one.printed)}</td><td>{tex(one.corrected)}</td></tr>"
        for one, kind in zip(listed.itertuples(), kinds, strict=True)
    )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("item", "verdict", "printed", "what holds"))
    by_verdict = _buttons("verdict", {str(n): verdict for n, verdict in enumerate(VERDICTS)})
    return HTML(
        f"<style>{_style()}</style>"
        f'<div class="errata">{by_verdict}{_buttons("kind", KINDS)}'
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _buttons(name: str, choices: dict[str, str]) -> str:
    """A row of radio buttons: all, or one of ``choices``."""
    return "<p>" + " ".join(
        f'<label><input type="radio" name="errata-{name}" value="{value}"{" checked" * (value == "all")}> '
        f"{label}</label>"
        for value, label in ({"all": "all"} | choices).items()
    ) + "</p>"  # fmt: skip


def _style() -> str:
    """What a checked button hides, and a table that reads on a phone, too."""
    choices = [("verdict", str(n)) for n, _ in enumerate(VERDICTS)] + [("kind", kind) for kind in KINDS]
    hidden = ", ".join(
        f'.errata:has([name="errata-{name}"][value="{value}"]:checked)'
        f' tr[data-{name}]:not([data-{name}="{value}"])'
        for name, value in choices
    )
    return hidden + " {display: none}" + LOOK
