"""Pages made of executed notebooks: they work from a file, offline, and lead to each other."""

import json
import re
from html.parser import HTMLParser

import nbformat
import plotly.graph_objects as go
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from fdiv.course import pages
from fdiv.course.pages import PLOTLY, build, lesson

FIRST = """# 00 · Noise & <bold> $T_{ij}$

**Why.** Labels lie, and *who* believes them
learns $\\tilde Y$.

Paper: §1"""
PROSE = """Inline $a_i * b_i * c$ and a formula:

$$\\mathbb E\\, g(h_X[\\tilde Y]) - \\mathbb E\\, g(h_X[\\tilde Y'])$$

See [the next](01_second.ipynb), [its middle](01_second.ipynb#2-Middle), [an absent one](09_absent.ipynb)
and [the paper](https://example.org/paper).

<details><summary>Solution</summary>

```python
def f(x):
    return x < 1
```

</details>"""


def stored_figure():
    figure = go.Figure(go.Scatter(y=[1, 2, 3]), {"title": {"text": "</script><b>no</b>"}})
    return new_output("display_data", {PLOTLY: figure.to_plotly_json(), "text/plain": "Figure()"})


def claims(*sentences):
    text = "".join(f"ok  {sentence}\n" for sentence in sentences)
    return new_code_cell(
        "claim(...)", metadata={"tags": ["claim"]}, outputs=[new_output("stream", name="stdout", text=text)]
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Two notebooks as pages: one with everything, one with little."""
    folder = tmp_path_factory.mktemp("site")
    first = [
        new_markdown_cell(FIRST),
        new_markdown_cell(PROSE),
        new_code_cell('print("a < b", 1)', outputs=[stored_figure()]),
        new_code_cell("again", outputs=[stored_figure()]),
        claims("one is one", "two is two"),
    ]
    second = [new_markdown_cell("# 01 · Second\n\n## 2 Middle"), claims("three")]
    for name, cells in {"00_first": first, "01_second": second}.items():
        nbformat.write(new_notebook(cells=cells), folder / f"{name}.ipynb")
    assert build(folder, ["00_first", "01_second"], {"00_first": 12.6}) == folder / "index.html"
    return folder


@pytest.fixture(scope="module")
def first(site):
    return (site / "00_first.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def index(site):
    return (site / "index.html").read_text(encoding="utf-8")


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


def test_every_figure_has_its_place_and_its_numbers(first):
    assert len(set(re.findall(r'id="(figure-\d)"', first))) == 2
    stored = re.findall(r'<script type="application/json">(.*?)</script>', first)
    assert [json.loads(one)["data"][0]["y"] for one in stored] == [[1, 2, 3]] * 2
    assert "Figure()" not in first


def test_what_a_figure_says_cannot_end_its_script(first):
    assert "</script><b>no" not in first


@pytest.mark.parametrize("name", ["00_first.html", "01_second.html", "index.html"])
def test_a_page_loads_nothing_but_what_lies_beside_it(site, name):
    page = (site / name).read_text(encoding="utf-8")
    loads = [address for address in Addresses(page).loads if not address.startswith("data:")]
    assert sorted(loads) == ["assets/mathjax.js", "assets/plotly.min.js"]
    assert all((site / address).stat().st_size > 500_000 for address in loads)
    assert not re.search(r"@import|url\(\s*['\"]?http|importScripts|cdn\.|unpkg|jsdelivr|require\.js", page)


def test_links_lead_to_pages_and_one_without_a_page_is_plain_text(first):
    links = Addresses(first).links
    assert [link for link in links if ".ipynb" in link] == []
    assert links.count("01_second.html") == 3, "in the text, and above and below it"
    assert "01_second.html#2-Middle" in links
    assert "https://example.org/paper" in links
    assert not any("09_absent" in link for link in links)
    assert 'title="not run here">an absent one</a>' in first


def test_a_heading_can_be_linked_to(site):
    assert 'id="2-Middle"' in (site / "01_second.html").read_text(encoding="utf-8")


def test_pages_know_their_neighbours(site, first):
    second = (site / "01_second.html").read_text(encoding="utf-8")
    for page, before, after in ((first, None, "01_second"), (second, "00_first", None)):
        (above, below) = re.findall(r"<nav>(.*?)</nav>", page, re.DOTALL)
        assert above == below
        assert re.findall(r'href="(\w+)\.html">←', above) == ([before] if before else [])
        assert re.findall(r'href="(\w+)\.html">[^<]* →', above) == ([after] if after else [])
        assert '<a href="index.html">Course</a>' in above


def test_titles_are_escaped(first, index):
    assert "<title>00 · Noise &amp; &lt;bold&gt; T_{ij}</title>" in first
    assert '<a href="00_first.html">00 · Noise &amp; &lt;bold&gt; $T_{ij}$</a>' in index
    assert "<bold>" not in index


def test_mathematics_reaches_mathjax_untouched(first):
    assert "$a_i * b_i * c$" in first
    assert "$$\\mathbb E\\, g(h_X[\\tilde Y]) - \\mathbb E\\, g(h_X[\\tilde Y'])$$" in first


def test_a_folded_solution_keeps_its_code(first):
    folded = re.search(r"<details><summary>Solution</summary>(.*?)</details>", first, re.DOTALL)[1]
    assert "```" not in folded
    text = re.sub(r"<[^>]+>", "", folded)
    assert "def f(x):\n    return x &lt; 1" in text


def test_claims_stand_out(first):
    after = first.split('<div class="cell border-box-sizing code_cell rendered celltag_claim"')[1]
    assert "ok  one is one\nok  two is two" in after
    assert ".celltag_claim .output_stream pre" in first


def test_the_course_page_says_why_how_long_and_how_many_claims(index):
    rows = [re.sub(r"<[^>]+>", "|", row) for row in re.findall(r"<tr>(.*?)</tr>", index, re.DOTALL)[1:]]
    assert "Labels lie, and |who| believes them learns $\\tilde Y$." in rows[0]
    assert "Paper" not in rows[0]
    assert re.search(r"13 s\|+2\|", rows[0])
    assert re.search(r"run earlier\|+1\|", rows[1])


def test_the_course_page_shows_a_small_picture_of_a_lesson_that_has_a_figure(index):
    first, second = re.findall(r"<tr>(.*?)</tr>", index, re.DOTALL)[1:]
    assert 'aria-label="A figure of 00 · Noise &amp; &lt;bold&gt; T_{ij}"' in first
    assert '"staticPlot": true' in first
    assert first.count("plotly-graph-div") == 1
    assert "plotly-graph-div" not in second


def test_a_sheet_of_images_is_no_picture():
    def figure(*traces):
        data = {PLOTLY: {"data": list(traces), "layout": {}}}
        return new_code_cell("draw", outputs=[new_output("display_data", data=data)])

    sheet, line = figure({"type": "heatmap"}), figure({"type": "scatter", "y": [1]}, {"y": [2]})
    crowd = figure(*[{"type": "scatter"}] * 40)
    notebook = new_notebook(cells=[new_markdown_cell("# 01"), sheet, crowd, line])
    assert len(lesson("01", notebook).picture["data"]) == 2
    assert lesson("01", new_notebook(cells=[new_markdown_cell("# 01"), sheet, crowd])).picture is None


def test_a_notebook_that_is_not_named_has_no_page(tmp_path):
    for name in ("00_a", "01_b"):
        nbformat.write(new_notebook(cells=[new_markdown_cell(f"# {name}")]), tmp_path / f"{name}.ipynb")
    build(tmp_path, ["01_b"])
    assert not (tmp_path / "00_a.html").exists()
    assert "00_a" not in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_there_is_a_course_page_even_when_nothing_succeeded(tmp_path):
    assert "<tbody></tbody>" in build(tmp_path, []).read_text(encoding="utf-8")


def test_a_lesson_without_a_title_goes_by_its_name():
    bare = lesson("05_bare", new_notebook(cells=[new_markdown_cell("Nothing here.")]))
    assert (bare.title, bare.why) == ("05_bare", "")


def test_the_style_is_inside_the_page(first):
    assert (pages.ASSETS / "page.css").read_text(encoding="utf-8") in first
    assert "prefers-color-scheme: dark" in first
