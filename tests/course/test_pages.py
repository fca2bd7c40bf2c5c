"""The site made of executed notebooks: it works from a file, offline, and its pages lead to each other."""

import html
import json
import math
import re
from html.parser import HTMLParser

import nbformat
import pandas as pd
import plotly.graph_objects as go
import pytest
import torch
from lessons import SOURCES, written
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from scipy.special import lambertw

from fdiv import noise
from fdiv.course.pages import build
from fdiv.course.prediction import Prediction
from fdiv.course.site import cheat_sheet, choice, front, notation, references, results, shell
from fdiv.course.site.lessons import PLOTLY, lesson
from fdiv.course.site.outline import outline
from fdiv.experiments import paper_accuracies
from fdiv.files import RESULTS
from fdiv.learning import losses
from fdiv.theory.divergences import DIVERGENCES

FIRST = """# 00 · Noise & <bold> $T_{ij}$

**The question.** Labels lie: *who* believes them
and learns $\\tilde Y$?

Paper: §1 · Time: 7 min to read, 3 s to run (quick)

**Contents**: 1 Start · 2 The `end` of $T$"""
PROSE = """## 1 Start

Inline $a_i * b_i * c$ and a formula:

$$\\mathbb E\\, g(h_X[\\tilde Y]) - \\mathbb E\\, g(h_X[\\tilde Y'])$$

See [the next](01_second.ipynb), [its middle](01_second.ipynb#2-Middle), [an absent one](09_absent.ipynb)
and [the paper](https://example.org/paper).

<details><summary>Solution</summary>

```python
def f(x):
    return x < 1
```

</details>"""


def moving_figure():
    figure = go.Figure(
        go.Scatter(y=[1, 2, 3]), frames=[{"name": "x", "data": [{"type": "scatter", "y": [3]}]}]
    )
    figure.update_layout(
        title="</script><b>no</b>", sliders=[{"steps": [{"args": [["x"]], "method": "animate"}]}]
    )
    return new_output("display_data", {PLOTLY: figure.to_plotly_json(), "text/plain": "Figure()"})


def claims(*sentences):
    text = "".join(f"ok  {sentence}\n" for sentence in sentences)
    return new_code_cell(
        "claim(...)", metadata={"tags": ["claim"]}, outputs=[new_output("stream", name="stdout", text=text)]
    )


def asked():
    one = Prediction("Is $1<2$?", ("no", "yes"), 1, ("Count.", "It is."))
    output = new_output("display_data", one._repr_mimebundle_())
    return new_code_cell("predict(secret)", metadata={"tags": ["predict"]}, outputs=[output])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Two notebooks as pages: one with everything, one with little."""
    folder = tmp_path_factory.mktemp("site")
    first = [
        new_markdown_cell(FIRST),
        new_code_cell("import folded_away", metadata={"tags": ["fold"]}),
        new_markdown_cell(PROSE),
        asked(),
        new_code_cell('print("a < b", 1)', outputs=[moving_figure()]),
        new_code_cell("again", outputs=[moving_figure()]),
        new_markdown_cell("## 2 The `end` of $T$\n\n### Exercise 1 ★: count the unmistakable"),
        claims("one is one", "two is two"),
    ]
    second = [new_markdown_cell("# 01 · Second\n\n## 2 Middle"), claims("three")]
    for name, cells in {"00_first": first, "01_second": second}.items():
        nbformat.write(new_notebook(cells=cells), folder / f"{name}.ipynb")
    nbformat.write(new_notebook(cells=[new_markdown_cell("# 02_unnamed")]), folder / "02_unnamed.ipynb")
    assert build(folder, ["00_first", "01_second"], {"00_first": 12.6}) == folder / "index.html"
    return folder


def text_of(site, name):
    return (site / f"{name}.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def first(site):
    return text_of(site, "00_first")


@pytest.fixture(scope="module")
def index(site):
    return text_of(site, "index")


class Addresses(HTMLParser):
    """What a page loads, and where its links lead."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("src", "href", "srcset", "data", "poster"):
                (self.links if tag == "a" else self.loads).append(value)


def test_every_figure_lies_in_its_place_as_json(first):
    place = r'<div id="(figure-\d)" class="plotly-graph-div" style="min-height:380px"></div>'
    places = re.findall(rf"{place}<script[^>]*>(.*?)</script>", first)
    assert len({name for name, _ in places}) == 2
    for _, stored in places:
        assert json.loads(stored)["layout"]["title"]["text"] == "</script><b>no</b>"
    assert "Figure()" not in first


def test_what_a_figure_says_cannot_end_its_script(first):
    assert "</script><b>no" not in first


PAGES = ["00_first", "01_second", "index", *shell.LOOK_UP]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_loads_nothing_but_what_lies_beside_it(site, name):
    page = text_of(site, name)
    loads = [address for address in Addresses(page).loads if not address.startswith("data:")]
    assert {"assets/page.css", "assets/page.js"} <= set(loads)
    assert "assets/plotly.min.js" not in loads, "four megabytes: plots.js loads it when a figure is near"
    assert ("assets/plots.js" in loads) == (name == "00_first")
    formulas = "$" in page.split("<main")[1].split("</main>")[0]
    assert ("assets/mathjax.js" in loads) == formulas, "two megabytes, only where there are formulas"
    assert ("assets/terms.js" in loads) == (name in ("00_first", "01_second"))
    assert all((site / address).stat().st_size > 1000 for address in loads)
    assert not re.search(r"@import|url\(\s*['\"]?http|importScripts|cdn\.|unpkg|jsdelivr|require\.js", page)


@pytest.mark.parametrize("name", PAGES)
def test_every_link_inside_the_site_leads_somewhere(site, name):
    for link in Addresses(text_of(site, name)).links:
        if link is None or re.match(r"https?:|mailto:", link):
            continue
        file, _, anchor = link.partition("#")
        target = site / file if file else site / f"{name}.html"
        assert target.is_file(), link
        if anchor:
            assert f'id="{html.escape(anchor)}"' in target.read_text(encoding="utf-8"), link


def test_links_lead_to_pages_and_one_without_a_page_is_plain_text(first):
    links = Addresses(first).links
    assert [link for link in links if link and ".ipynb" in link] == []
    assert links.count("01_second.html") == 2, "in the text and at its end"
    assert "01_second.html#2-Middle" in links
    assert "https://example.org/paper" in links
    assert not any("09_absent" in link for link in links if link)
    assert 'title="not run here">an absent one</a>' in first


def test_pages_know_their_neighbours(site, first):
    second = text_of(site, "01_second")
    for page, before, after in ((first, None, "01_second"), (second, "00_first", None)):
        assert re.findall(r'rel="prev" href="(\w+)\.html"', page) == ([before] if before else [])
        assert re.findall(r'rel="next" href="(\w+)\.html"', page) == ([after] if after else [])
        assert 'class="home" href="index.html"' in page


def test_contents_at_the_side_name_sections_with_minutes_and_exercises(first):
    (side,) = re.findall(r'<nav class="contents".*?</nav>', first, re.DOTALL)
    assert re.findall(r'<a href="#([^"]+)" data-done>', side) == [
        "1-Start", "2-The-end-of-$T$", "Exercise-1-%E2%98%85:-count-the-unmistakable",
    ]  # fmt: skip
    assert re.findall(r"<li[^>]*><a[^>]*>([^<]+)</a>(?:<span[^>]*>(\d+) min)?", side) == [
        ("1 Start", "1"), ("2 The end of $T$", "1"), ("Exercise 1 ★: count the unmistakable", ""),
    ]  # fmt: skip


def test_the_line_of_contents_is_made_of_links(first):
    line = re.search(r'<p class="listed"><strong>Contents</strong>: (.*?)</p>', first)[1]
    assert re.findall(r'href="#([^"]+)"', line) == ["1-Start", "2-The-end-of-$T$"]


def test_a_long_section_takes_longer_to_read():
    short, long = outline(
        f'<h2 id="a">1 A</h2><p>{"word " * 100}</p><h2 id="b">2 B</h2><p>{"word " * 900}</p>'
    )[1:]
    assert (short.seconds, long.seconds) == (30, 270)
    code = '<div class="cell {}"><pre>x = 1\ny = 2\n</pre></div>'
    assert [outline(code.format(tag))[0].lines for tag in ("", "celltag_fold")] == [2, 0]


def test_code_that_does_not_teach_is_folded_and_that_of_a_question_is_gone(first):
    folded = re.search(r'<details class="folded"><summary>Code</summary>(.*?)</details>', first, re.DOTALL)[1]
    assert "folded_away" in folded
    assert folded.count("<div") == folded.count("</div>")
    assert first.count('<details class="folded">') == 1
    assert "secret" not in first


def test_folded_settings_say_what_they_are_and_need_no_words():
    settings = new_code_cell("SEED = 0", metadata={"tags": ["parameters", "fold"]})
    imports = new_code_cell("import this", metadata={"tags": ["fold"]})
    words = [new_markdown_cell(text) for text in ("# 00 · One", "(Folded: settings and imports.)", "Told.")]
    body = lesson("00_one", new_notebook(cells=[words[0], settings, words[1], imports, words[2]])).body
    assert re.findall(r"<summary>(.*?)</summary>", body) == ["Settings", "Code"]
    assert "(Folded" not in body
    assert "Told." in body


def test_a_prediction_is_a_form_of_radio_buttons(first):
    form = re.search(r'<form class="predict".*?</form>', first, re.DOTALL)[0]
    assert re.findall(r'type="radio" name="(predict-\w+)" value="(\d)"', form) == [
        (name, number) for name in re.findall(r'name="(predict-\w+)"', form)[:1] for number in "01"
    ]
    assert 'data-answer="1"' in form
    assert re.findall(r'<p class="because" hidden>(.*?)</p>', form) == ["Count.", "It is."]
    assert "Is $1&lt;2$?" in form
    assert "<noscript><p><b>Predict.</b>" in first


def test_titles_are_escaped(first, index):
    assert "<title>00 · Noise &amp; &lt;bold&gt; T_{ij}</title>" in first
    assert 'href="00_first.html">00 · Noise &amp; &lt;bold&gt; $T_{ij}$</a>' in index
    assert "<bold>" not in index


def test_mathematics_reaches_mathjax_untouched(first):
    assert "$a_i * b_i * c$" in first
    assert "$$\\mathbb E\\, g(h_X[\\tilde Y]) - \\mathbb E\\, g(h_X[\\tilde Y'])$$" in first


def test_a_folded_solution_keeps_its_code(first):
    folded = re.search(r"<details><summary>Solution</summary>(.*?)</details>", first, re.DOTALL)[1]
    assert "```" not in folded
    text = re.sub(r"<[^>]+>", "", folded)
    assert "def f(x):\n    return x &lt; 1" in text


def test_claims_stand_out(site, first):
    after = first.split('<div class="cell border-box-sizing code_cell rendered celltag_claim"')[1]
    assert "ok  one is one\nok  two is two" in after
    assert ".celltag_claim .output_stream pre" in (site / "assets/page.css").read_text(encoding="utf-8")


def test_the_foot_of_a_page_says_how_it_was_made(site, first):
    assert "executed on this machine in 13 s; 2 claims were checked" in first
    assert "executed earlier; 1 claims" in text_of(site, "01_second")


def test_the_index_tells_a_story_by_questions(index):
    assert 'data-figure="memorisation_machine"' in index
    cards = re.findall(r'<li class="card".*?</li>', index, re.DOTALL)
    assert len(cards) == 2
    assert "Labels lie: <em>who</em> believes them and learns $\\tilde Y$?" in cards[0]
    assert "Paper" not in cards[0]
    assert 'data-lesson="00_first" data-steps="3"' in cards[0]
    assert "Part I: The idea" in index
    assert "Part II" not in index, "a part without a page is left out"
    assert not re.search(
        r"\d s\b|claims", re.sub(r"<script.*?</script>|<style.*?</style>", "", index, flags=re.S)
    )
    routes = re.findall(r'<div class="route"><h2>(.*?)</h2>', index)
    assert routes == ["A good hour", "The whole theory"]


def test_the_index_and_a_page_say_the_same_time_to_read(first, index):
    assert "Time: 7 min to read" in first
    times = re.findall(r'<p class="about"><span class="minutes">(\d+) min to read', index)
    assert times == ["7", "1"], "where an opening cell says nothing it is counted"


def test_the_routes_and_the_parts_name_notebooks_that_exist():
    numbers = [source.stem[:2] for source in SOURCES]
    assert all(front.PARTS[0][3] <= number <= front.PARTS[-1][4] for number in numbers)
    assert set(front.ROUTES[0][2]) == {"00", "02", "04", "09"} <= set(numbers)


def test_a_lesson_without_a_title_goes_by_its_name():
    bare = lesson("05_bare", new_notebook(cells=[new_markdown_cell("Nothing here.")]))
    assert (bare.title, bare.question) == ("05_bare", "")


def test_a_notebook_that_is_not_named_has_no_page(site, index):
    assert (site / "02_unnamed.ipynb").exists()
    assert not (site / "02_unnamed.html").exists()
    assert "02_unnamed" not in index


# ------------------------------------------------------------------ search


def test_the_search_knows_every_section_and_its_words(site):
    script = (site / "assets/search.js").read_text(encoding="utf-8")
    data = json.loads(re.fullmatch(r"window\.courseSearch = (.*);\n", script)[1])
    (number,) = (n for n, one in enumerate(data["sections"]) if one[1].startswith("Exercise-1"))
    assert data["words"]["unmistakable"] == [-1 - number], "a word of a title"
    page, _, title, _ = data["sections"][number]
    assert data["pages"][page][0] == "00_first.html"
    assert title == "Exercise 1 ★: count the unmistakable"
    assert {file for file, _ in data["pages"]} == {f"{name}.html" for name in PAGES if name != "index"}
    assert "secret" not in data["words"]
    assert all(number < len(data["sections"]) for places in data["words"].values() for number in places)


# ------------------------------------------------------------------ pages to look things up


TEX = {  # what the formulas of the cheat sheet are written with
    r"\\tfrac\{((?:[^{}]|\{[^{}]*\})*)\}\{((?:[^{}]|\{[^{}]*\})*)\}": r"((\1)/(\2))",
    r"\\sqrt\{([^{}]*)\}": r"sqrt(\1)",
    r"\|([^|]*)\|": r"abs(\1)",
    r"e\^\{([^{}]*)\}": r"exp(\1)",
    r"\^\{2\}": "**2",
    r"\\(log|tanh)": r"\1",
    r"(?<=[\w)])\s*(?=(?:log|tanh|abs|sqrt)\()|(?<=\))(?=[\w(])|(?<=\d)(?=[a-z(])": "*",
}


def evaluated(tex, **values):
    """A formula of the cheat sheet as a number."""
    for pattern, python in TEX.items():
        while re.search(pattern, tex) and (new := re.sub(pattern, python, tex)) != tex:
            tex = new
    known = {name: getattr(math, name) for name in ("log", "tanh", "sqrt", "exp")}
    return eval(tex, {"abs": abs, "W": lambda x: float(lambertw(x).real), **known}, values)


@pytest.mark.parametrize("name", DIVERGENCES)
def test_the_formulas_of_the_cheat_sheet_are_those_of_the_rows(name):
    row, written = DIVERGENCES[name], cheat_sheet.FORMULAS[name]
    for number in (0.2, 0.7, 1.0, 1.9, 3.2):
        v = torch.tensor(number, dtype=torch.float64)
        u = row.derivative(v)
        assert evaluated(written.generator, r=number) == pytest.approx(row.f(v).item(), abs=1e-12)
        assert evaluated(written.conjugate, u=u.item()) == pytest.approx(row.conjugate(u).item(), abs=1e-9)
        assert evaluated(written.activation, v=number) == pytest.approx(row.activation(v).item(), abs=1e-12)


def test_the_cheat_sheet_has_every_divergence_and_says_whose_rankings_stay(site):
    page = text_of(site, "cheat_sheet")
    rows = re.findall(r"<tr><th scope=\"row\"><span.*?</tr>", page)
    assert len(rows) == len(DIVERGENCES)
    stays = [
        title
        for row in rows
        for title in re.findall(r"</span>(.*?)</th>", row)
        if "every ranking stays" in row
    ]
    assert stays == ["Total variation", "Pearson χ²"]


def test_terms_are_explained_once_each():
    listed = notation.terms()
    words = [word.casefold() for group, *_ in listed for word in group]
    assert len(words) == len(set(words))
    anchors = [one.anchor for group in notation.SYMBOLS.values() for one in group]
    assert len(anchors) == len(set(anchors))
    assert {anchor for *_, anchor in listed} <= set(anchors)
    assert "transition matrix" in words


# A letter with its accents: what a formula is made of.
LETTER = re.compile(
    r"\\(?:tilde|hat|bar|mathcal|mathbb|mathbf|widetilde)\s*\{?\s*[A-Za-z](?![A-Za-z])|"
    r"\\(?:alpha|beta|gamma|delta|Delta|varepsilon|eta|theta|lambda|mu|pi|rho|sigma|tau|phi|omega|chi)\b|"
    r"(?<![\\A-Za-z])[A-Za-z](?![A-Za-z])"
)


def letters(tex):
    words = re.sub(r"\\(?:text|mathrm|operatorname|begin|end)\s*\{[^}]*\}", " ", tex)
    return {re.sub(r"[\s{]", "", one) for one in LETTER.findall(words)}


def test_a_symbol_of_several_notebooks_is_on_the_page_of_notation():
    """A letter that one notebook uses by itself is defined there."""
    known = set().union(
        *(letters(f"{one.tex} {one.meaning}") for g in notation.SYMBOLS.values() for one in g)
    )
    used = {}
    for source in SOURCES:
        prose = "\n".join(cell.source for cell in written(source).cells if cell.cell_type == "markdown")
        prose = re.sub(r"```.*?```|`[^`]*`", "", prose, flags=re.DOTALL)
        formulas = re.findall(r"\$\$.+?\$\$|\$[^$]+\$", prose, re.DOTALL)
        for one in set().union(*map(letters, formulas)):
            used.setdefault(one, set()).add(source.stem[:2])
    assert len(used) > 20
    assert {one: where for one, where in used.items() if len(where) > 1 and one not in known} == {}


def codes(node):
    if isinstance(node, choice.Advice):
        return [node.code]
    return [code for to in node.answers.values() for code in codes(to)]


@pytest.mark.parametrize("code", codes(choice.TREE))
def test_every_line_of_the_decision_tree_runs(code):
    T = noise.symmetric(0.2, num_classes=3)
    loss = eval(code, {**vars(losses), "K": 3, "T": T, "T_estimated": T})
    assert loss(torch.randn(8, 3), torch.randint(3, (8,))).isfinite()


def test_the_page_of_results_has_every_run_with_its_commit(site):
    page = text_of(site, "results")
    runs = pd.read_csv(RESULTS / "accuracies.csv", dtype={"commit": str})
    assert (
        page.split('id="other-files"')[0].count(f"<td>{runs['commit'].iloc[0]}</td>")
        == (runs["commit"] == runs["commit"].iloc[0]).sum()
    )
    rows = re.findall(r'<tr data-dataset="([^"]+)" data-noise="([^"]+)" data-method="([^"]+)"', page)
    wanted = pd.concat([runs, paper_accuracies()])[["dataset", "noise", "method"]].dropna()
    assert set(rows) == set(wanted.itertuples(index=False, name=None))
    options = {name: set(wanted[name]) for name in wanted} | {"mode": {*runs["mode"], results.NOT_RUN}}
    for name, expected in options.items():
        select = re.search(rf'<select name="{name}">(.*?)</select>', page, re.DOTALL)[1]
        assert set(re.findall(r'value="([^"]+)"', select)) == expected


def test_the_page_of_results_names_what_was_not_run(site):
    page = text_of(site, "results").split('id="other-files"')[0]
    not_run = re.findall(r'<tr data-dataset="([^"]+)" [^>]*data-mode="not run">', page)
    assert {"cifar-100", "clothing1m"} <= set(not_run)
    printed, run = map(
        int, re.search(r"Of the (\d+) cells that the paper prints, (\d+) have been run", page).groups()
    )
    assert printed - run == len(not_run)
    assert "nan" not in re.findall(r"<td>([a-z]+)[<,]", page), "where the paper prints NaN it says NaN"
    assert page.count("<td>NaN</td>") == paper_accuracies()[["mean", "max"]].isna().all(axis=1).sum()
    assert 'data-method="tv" data-mode="not run"><td>MNIST</td>' not in page


def test_the_page_of_results_has_the_papers_numbers_beside_ours(site):
    rows = re.split("(?=<tr data-dataset)", text_of(site, "results").split('id="other-files"')[0])[1:]
    wanted = '<tr data-dataset="mnist" data-noise="uniform-high" data-method="tv" data-mode="laptop">'
    assert next(one for one in rows if one.startswith(wanted)).endswith("<td>98.0</td></tr>")
    several = [one for one in rows if "(3)</summary>" in one]
    assert several
    assert all("95\u00a0% interval" in one for one in several)
    assert not [one for one in rows if "(1)</summary>" in one and "interval" in one]


def test_without_results_the_page_says_so(tmp_path):
    assert "no results here yet" in results.results(tmp_path)


def test_references_have_links_and_entries_of_their_own(site):
    keys = [one.key for one in references.REFERENCES]
    assert len(keys) == len(set(keys))
    assert keys[0] == "wei2021when"
    for one in references.REFERENCES:
        assert one.url.startswith("https://")
        assert one.bibtex().count("{") == one.bibtex().count("}")
    assert text_of(site, "references").count("@inproceedings{wei2021when,") == 2


def test_a_reference_is_found_by_its_title_and_one_that_is_unknown_is_listed(site):
    def found(item):
        return [one.year for one in references.cited(item)]

    assert found("N. Natarajan et al., *Learning with Noisy Labels*, NeurIPS 2013") == [2013]
    assert found(
        "J. Wei et al., *Learning with Noisy Labels Revisited: A Study Using Real-World Human Annotations*"
    ) == [2022]
    assert found("A. Nobody, *A book that is not there*, 2031") == []
    cells = [
        new_markdown_cell(
            "# 00\n\n## Further reading\n- A. Nobody, *Not there*, 2031: why.\n\n## To be continued"
        )
    ]
    notebook = new_notebook(cells=cells)
    page = references.references([lesson("00_a", notebook)], [notebook])
    assert "A. Nobody, <em>Not there</em>, 2031: why." in page
