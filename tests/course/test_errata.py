"""The list of errata as a table: every row, its symbols in TeX, and buttons that hide by what they say."""

import re

import pytest

from fdiv.course.errata import KINDS, SYMBOLS, VERDICTS, errata_table, kind_of, tex
from fdiv.experiments import errata


def test_every_row_stands_in_the_table_with_its_verdict_and_kind():
    listed = errata()
    rows = re.findall(r'<tr data-verdict="(\d)" data-kind="(\w+)">', errata_table(listed).data)
    assert [VERDICTS[int(verdict)] for verdict, _ in rows] == list(listed.verdict)
    assert [kind for _, kind in rows] == [kind_of(item) for item in listed.item]
    assert {kind for _, kind in rows} == KINDS.keys()


def test_each_choice_has_a_button_and_a_rule_that_hides_the_others():
    table = errata_table(errata()).data
    for name, values in (("verdict", "012"), ("kind", KINDS)):
        for value in values:
            assert f'name="errata-{name}" value="{value}"' in table
            assert f':not([data-{name}="{value}"])' in table


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("g~* < 1", r"$\tilde g^*$ &lt; 1"),
        ("f*(g) and f*", "$f^*(g)$ and $f^*$"),
        ("E_P~[g] - E_Q[f*(g)]", r"$\mathbb E_{\tilde P}$[g] - $\mathbb E_Q$[$f^*(g)$]"),
        ("e₁ Δ^{j_c}", r"$e_1$ $\Delta^{j_c}$"),
        ("p~_y and p~", r"$\tilde p_y$ and $\tilde p$"),
        ("Use 1-e^-v, -e^-v, not -e^v.", "Use $1-e^{-v}$, $-e^{-v}$, not $-e^v$."),
    ],
)
def test_symbols_become_tex(text, shown):
    assert tex(text) == shown


def test_no_plain_symbol_is_left_over_and_every_one_is_needed():
    listed = errata()
    text = " ".join([*listed.item, *listed.printed, *listed.corrected])
    plain = re.sub(r"\$[^$]*\$", "", tex(text))
    assert re.findall(r"\w~|[fgh]\*|[₊₋₁₂⁻]|√\(1", plain) == []
    assert [pattern for pattern, _ in SYMBOLS if not re.search(pattern, text)] == []
