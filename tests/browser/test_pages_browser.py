"""The site, opened from a folder as a reader would: what a small one does, how every page looks."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import nbformat
import plotly.graph_objects as go
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from waiting import wait_for

from fdiv.course.figures import images_figure
from fdiv.course.notebooks import FOLDER
from fdiv.course.pages import build
from fdiv.course.prediction import Prediction
from fdiv.course.site.lessons import PLOTLY
from fdiv.course.site.shell import LOOK_UP

pytestmark = pytest.mark.browser
NAMES = sorted(path.stem for path in FOLDER.glob("[0-9][0-9]_*.ipynb"))
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
# Every formula set, every figure drawn: most of them wait until the reader comes near, or prints.
READY = """() => {
  dispatchEvent(new Event('beforeprint'));
  return [...document.querySelectorAll('.plotly-graph-div')].every(figure => figure._fullLayout)
    && (!document.querySelector('script[src$="mathjax.js"]')
      || window.MathJax?.startup?.promise?.then(() => true));
}"""
# What a figure shows, as text; numbers may come packed in base64, as Python stored them, or as a list.
SHOWN = """figure => {
  const kinds = {f8: Float64Array, f4: Float32Array, i4: Int32Array, u4: Uint32Array, i2: Int16Array,
    u2: Uint16Array, i1: Int8Array, u1: Uint8Array};
  const unpacked = ({bdata, dtype}) =>
    [...new kinds[dtype](Uint8Array.from(atob(bdata), letter => letter.charCodeAt(0)).buffer)];
  const plain = value => {
    if (value?.bdata) return plain(unpacked(value));
    if (Array.isArray(value) || ArrayBuffer.isView(value)) return [...value].flatMap(plain);
    if (typeof value === 'number') return Number.isNaN(value) ? null : Number(value.toPrecision(4));
    if (value === null || typeof value !== 'object') return value ?? null;
    return Object.fromEntries(Object.keys(value).sort().map(key => [key, plain(value[key])]));
  };
  return JSON.stringify(plain([figure.data, figure.layout.annotations, figure.layout.title]));
}"""
SET = "(slider, to) => { slider.value = to; slider.dispatchEvent(new Event('input', {bubbles: true})); }"
SIDEWAYS = "() => document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth"
HINT = "<details><summary>Hint</summary>\n\n{}\n\n</details>\n"
WORDS = "The transition matrix says how labels flip. " * 60


def figure():
    drawn = go.Figure(
        [go.Scatter(y=[1, 3, 2], name="cross-entropy"), go.Bar(y=[2, 1, 3], name="total variation")]
    )
    drawn.update_layout(title="A figure with a title of many words that a phone folds", height=380)
    drawn.update_xaxes(title="an axis with a title that is as long as a sentence of the text")
    return new_output("display_data", {PLOTLY: drawn.to_plotly_json(), "text/plain": "Figure()"})


def images():
    """Six images of which each has one dark pixel of its own."""
    pixels = [[[int(8 * y + x == number) for x in range(8)] for y in range(8)] for number in range(6)]
    drawn = images_figure(pixels, [f"says {n}<br>label {n}, was {n}" for n in range(6)], title="Six images")
    return new_output("display_data", {PLOTLY: drawn.to_plotly_json(), "text/plain": "Figure()"})


LONG = r"$$\underbrace{\mathbb E\, g(h_X[\tilde Y])}_{\text{the label that came with it}} - \underbrace{\mathbb E\, g(h_X[\tilde Y'])}_{\text{the label of another}}$$"  # noqa: E501


def ask():
    question = Prediction(
        "Which is larger, $1$ or $2$?", ("one", "two", "`neither`"), 1, ("Count.", "Yes.", "One is.")
    )
    output = new_output("display_data", question._repr_mimebundle_())
    return new_code_cell("predict(...)", metadata={"tags": ["predict"]}, outputs=[output])


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A site of two small notebooks."""
    folder = tmp_path_factory.mktemp("small")
    printed = new_output(
        "stream", name="stdout", text="a line that is far too long for any phone " * 8 + "\n"
    )
    first = [
        new_markdown_cell(
            "# 00 · First: one\n\n**The question.** Which $T$ is it?\n\n**Contents**: 1 Look · 2 Then"
        ),
        new_code_cell("import this", metadata={"tags": ["fold"]}),
        new_markdown_cell(f"## 1 Look\n\n{WORDS}"),
        ask(),
        new_markdown_cell("Here it comes."),
        new_code_cell("draw()", outputs=[figure()]),
        new_markdown_cell("The surprise was **seen**.\n\n## 2 Then\n\n" + WORDS),
        new_code_cell("print(" + "'a very long line of code', " * 8 + ")", outputs=[printed]),
        new_markdown_cell(
            "### Exercise 1 ★: count\n\nCount.\n\n" + HINT.format("Fingers.") + HINT.format("Two.")
        ),
        new_markdown_cell("## Summary\n\nA zeppelin passed."),
    ]
    second = [
        new_markdown_cell(
            "# 01 · Second: two\n\n**The question.** And now?\n\n## 1 Zeppelins\n\nIn its title."
        ),
        new_markdown_cell("\n\n".join([WORDS] * 6)),
        new_code_cell("draw()", outputs=[figure()]),
        new_markdown_cell(LONG),
        new_code_cell("images()", outputs=[images()]),
    ]
    for name, cells in {"00_first": first, "01_second": second}.items():
        nbformat.write(new_notebook(cells=cells), folder / f"{name}.ipynb")
    build(folder, ["00_first", "01_second"])
    return folder


def watched(page):
    """What the page asks for, and what it complains of."""
    seen = SimpleNamespace(asked=[], complaints=[])
    page.on("request", lambda one: seen.asked.append(one.url))
    page.on(
        "console",
        lambda one: seen.complaints.append(one.text) if one.type in ("error", "warning") else None,
    )
    page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    return seen


def opened(page, folder: Path, name: str):
    page.goto((folder / f"{name}.html").as_uri())
    page.wait_for_function(READY)
    return page


@pytest.fixture
def reader(browser, small):
    """The first page before a reader who has been nowhere yet; nothing may go wrong meanwhile."""
    context = browser.new_context(viewport=DESKTOP)
    page = context.new_page()
    seen = watched(page)
    yield opened(page, small, "00_first")
    assert [url for url in seen.asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert seen.complaints == []
    context.close()


# ------------------------------------------------------------------ predictions


def is_hidden(page) -> bool:
    (height,) = {page.locator(".plot").evaluate("one => one.closest('.output_wrapper').clientHeight > 100")}
    told = page.locator("p", has_text="The surprise was").is_visible()
    assert told == height
    return not height


def test_a_figure_is_hidden_until_the_reader_has_answered(reader, small):
    assert is_hidden(reader)
    assert reader.get_by_text("Here it comes.").is_visible()
    assert reader.locator(".predict mjx-container").count() == 2
    reader.get_by_role("button", name="Check my guess").click()
    assert "Choose one first" in reader.locator(".verdict").inner_text()
    assert is_hidden(reader)
    reader.get_by_role("radio", name="one").check()
    reader.get_by_role("button", name="Check my guess").click()
    assert reader.locator(".verdict").inner_text() == "Not a: it is b."
    assert reader.locator(".because:visible").all_inner_texts() == ["Count.", "Yes.", "One is."]
    assert not is_hidden(reader)
    assert reader.locator(".plot").bounding_box()["width"] > 600, "drawn as wide as if it had been seen"
    opened(reader, small, "00_first")
    assert not is_hidden(reader), "an answer is remembered"
    reader.get_by_role("button", name="Ask me again").click()
    assert is_hidden(reader)
    reader.get_by_role("button", name="Show me").click()
    assert reader.locator(".verdict").inner_text() == "It is b."
    assert not is_hidden(reader)


def test_a_prediction_is_made_with_the_keyboard_alone(reader):
    reader.locator(".predict input").first.focus()
    reader.keyboard.press("Space")
    reader.keyboard.press("ArrowDown")
    assert is_hidden(reader), "to look at the options is not to answer"
    reader.keyboard.press("Enter")
    assert reader.locator(".verdict").inner_text() == "Right."
    assert not is_hidden(reader)
    assert reader.evaluate("document.activeElement.textContent") == "Ask me again"


# ------------------------------------------------------------------ figures


def test_plotly_waits_until_a_figure_comes_near(browser, small):
    context = browser.new_context(viewport=DESKTOP)
    page = context.new_page()
    seen = watched(page)
    page.goto((small / "01_second.html").as_uri())
    page.wait_for_timeout(500)
    assert not [url for url in seen.asked if "plotly" in url]
    place = page.locator(".plotly-graph-div").last
    before = place.bounding_box()["height"]
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    place.locator(".main-svg").first.wait_for()
    assert place.bounding_box()["height"] == before, "room was kept, so that nothing jumps"
    assert seen.complaints == []
    context.close()


def test_a_figure_keeps_its_height_when_the_window_changes(reader):
    """Also one that is still hidden behind a question."""
    for height in (1400, 500):
        reader.set_viewport_size({"width": 1010, "height": height})
        reader.wait_for_function("() => document.querySelector('.plotly-graph-div')._fullLayout.width < 780")
    reader.get_by_role("button", name="Show me").click()
    assert reader.locator(".plotly-graph-div").bounding_box()["height"] == 380


# ------------------------------------------------------------------ contents, ticks, search, terms


def test_contents_stay_in_sight_and_mark_where_the_reader_is(reader):
    def now():
        return reader.locator(".contents [aria-current]").inner_text()

    assert now() == "1 Look"
    reader.locator(".contents a", has_text="2 Then").click()
    reader.wait_for_function(
        "() => document.querySelector('.contents [aria-current]').textContent === '2 Then'"
    )
    box = reader.locator(".contents").bounding_box()
    assert 0 <= box["y"] < 100
    heading = reader.locator("h2", has_text="2 Then").bounding_box()
    assert 50 <= heading["y"] < 400, "below the bar"
    reader.evaluate("scrollTo(0, document.body.scrollHeight)")
    reader.wait_for_function(
        "() => document.querySelector('.contents [aria-current]').textContent === 'Summary'"
    )


def test_a_second_hint_waits_for_the_first(reader):
    assert reader.locator("summary:visible", has_text="Hint").all_inner_texts() == ["Hint 1 of 2"]
    reader.get_by_text("Hint 1 of 2").click()
    reader.get_by_text("Hint 2 of 2").click()
    assert reader.get_by_text("Two.", exact=True).is_visible()


def test_contents_fold_away_on_a_phone(reader):
    reader.set_viewport_size(PHONE)
    box = reader.locator(".contents details")
    reader.wait_for_function("() => !document.querySelector('.contents details').open")
    box.locator("summary").click()
    assert reader.locator(".contents a", has_text="2 Then").is_visible()
    reader.locator(".contents a", has_text="2 Then").click()
    reader.wait_for_function("() => !document.querySelector('.contents details').open")


def test_what_is_done_is_ticked_and_counted_on_the_index(reader, small):
    ticks = reader.get_by_role("checkbox")
    assert ticks.count() == 3, "two sections and an exercise, no summary"
    reader.get_by_role("checkbox", name="read: 1 Look").check()
    reader.get_by_role("checkbox", name="solved: Exercise 1").press("Space")
    assert reader.locator(".contents a.done").all_inner_texts() == ["1 Look", "Exercise 1 ★: count"]
    opened(reader, small, "index")
    assert reader.locator("[data-lesson='00_first'] .progress").inner_text() == "2 of 3 done"
    assert reader.locator("[data-lesson='01_second'] .progress").inner_text() == ""
    opened(reader, small, "00_first")
    assert reader.get_by_role("checkbox", name="read: 1 Look").is_checked()


def test_the_search_finds_a_word_on_another_page_by_keyboard(reader):
    reader.keyboard.press("/")
    reader.keyboard.type("zeppe")
    reader.wait_for_selector(".found a")
    found = reader.locator(".found a")
    assert found.count() == 2
    assert found.first.inner_text().startswith("1 Zeppelins in 01 · Second"), "a title counts most"
    assert found.last.locator("mark").inner_text() == "zeppe"
    reader.keyboard.press("ArrowDown")
    reader.keyboard.press("Enter")
    reader.wait_for_url("**/01_second.html#1-Zeppelins")


def test_the_search_takes_several_words_and_says_when_there_is_nothing(reader):
    field = reader.get_by_role("searchbox")
    field.fill("the labels of flip")
    reader.wait_for_selector(".found a")
    assert "flip" in reader.locator(".found").inner_text()
    field.fill("xylophone")
    reader.wait_for_selector("text=Nothing has")
    assert reader.locator(".found a").count() == 0
    field.press("Escape")
    assert not reader.locator(".found").is_visible()


def test_a_term_explains_itself_when_pointed_at_and_when_focused(reader):
    terms = reader.locator(".term", has_text="transition matrix")
    reader.wait_for_selector(".term")
    assert terms.count() == 2, "the first time in each of two sections"
    terms.first.focus()
    tip = reader.locator("#tip")
    assert "Each row sums to 1" in tip.inner_text()
    assert tip.locator("mjx-container").count() >= 2
    reader.keyboard.press("Escape")
    assert not tip.is_visible()
    terms.first.hover()
    assert tip.is_visible()
    tip.locator("a").click()
    reader.wait_for_url("**/notation.html#transition-matrix")


def test_the_results_can_be_filtered_and_show_their_commits(reader, small):
    opened(reader, small, "results")
    rows = reader.locator(".results > tbody > tr:visible")
    everything = rows.count()
    reader.get_by_label("noise").select_option("sparse-high")
    reader.get_by_label("dataset").select_option("mnist")
    assert 0 < rows.count() < everything
    assert reader.locator(".shown").inner_text() == f"{rows.count()} of {everything} rows"
    assert set(rows.evaluate_all("all => all.map(one => one.dataset.noise)")) == {"sparse-high"}
    rows.first.locator("summary").click()
    assert "commit" in rows.first.inner_text()


def test_a_phone_shows_the_number_of_every_result(reader, small):
    opened(reader, small, "results")
    reader.set_viewport_size(PHONE)
    numbers = reader.locator(".results > tbody > tr > td:nth-child(5) > details > summary")
    boxes = numbers.evaluate_all("all => all.map(one => one.getBoundingClientRect().right)")
    assert max(boxes) <= PHONE["width"]


def test_the_decision_tree_ends_in_code(reader, small):
    opened(reader, small, "which_loss")
    for answer in (
        "No",
        "No: errors are spread, or rare",
        "No",
        "Yes: images, or features that tell the classes apart",
    ):
        reader.locator(".tree summary:visible").get_by_text(answer, exact=True).last.click()
    assert reader.locator(".advice:visible code").first.inner_text() == 'FDivLoss("tv", K)'


def test_the_cheat_sheet_is_one_screen(reader, small):
    opened(reader, small, "cheat_sheet")
    bottom = reader.locator(".sheet").bounding_box()
    assert bottom["y"] + bottom["height"] <= DESKTOP["height"]


@pytest.mark.parametrize("name", ["notation", "cheat_sheet"])
def test_the_tables_to_look_things_up_fit_a_phone(reader, small, name):
    reader.set_viewport_size(PHONE)
    opened(reader, small, name)
    cells = reader.locator("main td:visible, main th:visible")
    assert (
        max(cells.evaluate_all("all => all.map(one => one.getBoundingClientRect().right)")) <= PHONE["width"]
    )


def test_error_bars_are_seen_in_the_dark_and_pictures_are_whole_on_a_phone(browser, tmp_path):
    bars = go.Figure(go.Scatter(x=[1, 2], y=["a", "b"], error_x={"array": [1, 1]}))
    pictures = images_figure([[[0.0, 1.0], [1.0, 0.0]]] * 12, ["8  (is 1)"] * 12, title="Twelve pictures")
    outputs = [new_output("display_data", {PLOTLY: one.to_plotly_json()}) for one in (bars, pictures)]
    cells = [new_markdown_cell("# 00 · One: page\n\n## 1 Look"), new_code_cell("draw()", outputs=outputs)]
    nbformat.write(new_notebook(cells=cells), tmp_path / "00_one.ipynb")
    build(tmp_path, ["00_one"])
    context = browser.new_context(viewport=PHONE, color_scheme="dark")
    page = opened(context.new_page(), tmp_path, "00_one")
    drawn = "all => all.map(one => [one._fullData[0].error_x?.color, one.getBoundingClientRect().right])"
    (ink, _), (_, right) = page.locator(".plotly-graph-div").evaluate_all(drawn)
    assert min(int(ink[at : at + 2], 16) for at in (1, 3, 5)) > 180, f"{ink} is lost on dark paper"
    assert right <= PHONE["width"]
    context.close()


def test_everything_can_be_reached_with_the_tab_key(reader):
    """In the order of the page, each with a visible frame."""
    reached = []
    for _ in range(60):
        reader.keyboard.press("Tab")
        one = reader.evaluate(
            "() => [document.activeElement.className || document.activeElement.tagName,"
            " getComputedStyle(document.activeElement).outlineStyle]"
        )
        reached.append(one[0])
        assert one[1] != "none" or one[0] in ("BODY", "main-svg"), one
    assert reached[:2] == ["skip", "home"]
    assert {"term", "show", "INPUT", "SUMMARY"} <= set(reached)


def test_whoever_asks_for_no_motion_gets_none(browser, small):
    context = browser.new_context(reduced_motion="reduce")
    page = opened(context.new_page(), small, "00_first")
    assert page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"
    context.close()


# ------------------------------------------------------------------ a phone

# Where each image of a grid has its dark pixel, and whether its caption stands above it.
TILES = """figure => {
  const { z, meta } = figure._fullData[0], { count, high, wide, above } = meta.grid;
  const notes = figure.layout.annotations, columns = z[0].length / wide, told = [];
  for (let tile = 0; tile < count; tile += 1) {
    const [top, left] = [Math.floor(tile / columns) * high, (tile % columns) * wide];
    const under = notes[tile].y + 0.5 === top + above && notes[tile].x > left && notes[tile].x < left + wide;
    for (let y = 0; y < high - above; y += 1)
      for (let x = 0; x < wide; x += 1)
        if (z[top + above + y][left + x] === 1) told.push([tile, 8 * y + x - 1, under]);
  }
  return [columns, told];
}"""


def test_images_lie_in_fewer_columns_on_a_phone(browser, small):
    context = browser.new_context(viewport=PHONE)
    page = opened(context.new_page(), small, "01_second")
    figure = page.locator(".plotly-graph-div").last
    columns, told = figure.evaluate(TILES)
    assert columns == 3
    assert told == [[n, n, True] for n in range(6)], "each image under its own caption"
    assert figure.bounding_box()["width"] <= PHONE["width"]
    assert figure.evaluate("one => one.parentElement.scrollWidth - one.parentElement.clientWidth") <= 0
    context.close()


def test_a_formula_fits_a_phone(browser, small):
    context = browser.new_context(viewport=PHONE)
    page = opened(context.new_page(), small, "01_second")
    formula = page.locator('mjx-container[display="true"]')
    wait_for(lambda: formula.evaluate("one => one.scrollWidth <= one.clientWidth + 1"), "set smaller")
    assert formula.evaluate("one => parseFloat(getComputedStyle(one).fontSize)") > 10, "and can be read"
    context.close()


# ------------------------------------------------------------------ every page, both themes, and a phone


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The site of the committed notebooks."""
    folder = tmp_path_factory.mktemp("site")
    for name in NAMES:
        shutil.copy(FOLDER / f"{name}.ipynb", folder)
    build(folder, NAMES, dict.fromkeys(NAMES, 20.0))
    return folder


def move_every_control(page, notebook: Path) -> None:
    """Every menu, slider and box of every figure, by keyboard; a slider by mouse too."""
    cells = nbformat.read(notebook, as_version=4).cells
    stored = [
        o.data[PLOTLY] for cell in cells for o in cell.get("outputs", []) if PLOTLY in o.get("data", {})
    ]
    assert page.locator(".plot").count() == len(stored)
    for number, one in enumerate(stored):
        controls = one["layout"].get("meta", {}).get("twin", {"controls": []})["controls"]
        plot = page.locator(".plot").nth(number)
        figure = plot.locator(".plotly-graph-div").element_handle()
        inputs = plot.locator(".plot-controls :is(input, select)")
        assert inputs.count() == len(controls)
        for control, told in zip(inputs.all(), controls, strict=True):
            there, back = ("ArrowUp", "ArrowDown") if told["kind"] == "menu" else ("ArrowLeft", "ArrowRight")
            there, back = (back, there) if told["start"] == 0 else (there, back)
            if told["kind"] == "box":
                there = back = " "
            before = figure.evaluate(SHOWN)
            for key in (there, back):
                now = figure.evaluate(SHOWN)
                control.press(key)
                moved(page, figure, now)
            if told["kind"] != "range":
                assert figure.evaluate(SHOWN) == before, f"figure {number}, {told['label']}"
                continue
            now, box = figure.evaluate(SHOWN), control.bounding_box()
            spot = 0.98 if told["start"] < len(told["options"]) / 2 else 0.02
            control.click(position={"x": spot * box["width"], "y": box["height"] / 2})
            moved(page, figure, now)
            now = figure.evaluate(SHOWN)  # back, since at an end of one slider another may move nothing
            control.evaluate(SET, told["start"])
            moved(page, figure, now)


def moved(page, figure, before: str) -> None:
    page.wait_for_function(f"([figure, before]) => ({SHOWN})(figure) !== before", arg=[figure, before])


@pytest.mark.parametrize("name", [*NAMES, "index", *LOOK_UP])
def test_a_page_can_be_read_in_either_theme_and_on_a_phone(browser, whole, keep, name):
    context = browser.new_context(viewport=DESKTOP)
    page = context.new_page()
    seen = watched(page)
    opened(page, whole, name)
    assert page.query_selector_all("merror, mjx-merror, [data-mml-node=merror]") == []
    assert page.evaluate(LOOSE_TEX) == []
    page.evaluate(UNFOLD)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate(CONTRAST) == [], scheme
        keep(page, f"page_{name}_{scheme}", full_page=True)
    if name in NAMES:
        move_every_control(page, whole / f"{name}.ipynb")
    page.set_viewport_size(PHONE)
    page.wait_for_timeout(600)  # plotly redraws a moment after the window has changed
    wait_for(lambda: page.evaluate(SIDEWAYS) <= 0, "nothing is wider than the phone", 20)
    wait_for(lambda: page.evaluate(OUTSIDE) == [], f"outside: {page.evaluate(OUTSIDE)}", 20)
    stuck = page.evaluate(STUCK)
    wait_for(lambda: page.evaluate(STUCK) == [], f"wider than the phone, and cannot be moved: {stuck}", 20)
    keep(page, f"page_{name}_phone_dark", full_page=True)
    assert [url for url in seen.asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert seen.complaints == []
    context.close()


# Formulas that were not set.
LOOSE_TEX = r"""() => [...document.querySelectorAll('main p, main li, main td, main h2, nav a')]
  .filter(one => !one.closest('pre, code') && !one.querySelector('code') && /\$[^$]+\$/.test(one.innerText))
  .map(one => one.innerText.slice(0, 60))"""
# Everything that waits for a click, in sight.
UNFOLD = """() => {
  for (const one of document.querySelectorAll('.predict .show'))
    if (one.textContent === 'Show me') one.click();
  for (const one of document.querySelectorAll('main details:not(.results details)')) one.open = true;
}"""
CONTRAST = """() => {
  const channels = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = colour => {
    const linear = c => c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4;
    const [r, g, b] = channels(colour).map(c => linear(c / 255));
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const ground = one => {
    for (; one; one = one.parentElement) {
      const colour = getComputedStyle(one).backgroundColor;
      if (channels(colour)[3] !== 0) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const faint = new Set();
  for (const one of document.querySelectorAll('body *')) {
    if (one.closest('.plotly-graph-div, mjx-container, script, style, noscript, [hidden]')) continue;
    if (![...one.childNodes].some(node => node.nodeType === 3 && node.textContent.trim())) continue;
    let seen = 1;
    for (let up = one; up; up = up.parentElement) seen *= Number(getComputedStyle(up).opacity);
    const [a, b] = [getComputedStyle(one).color, ground(one)].map(light).sort((x, y) => y - x);
    const ratio = seen < 1 ? 1 : (a + .05) / (b + .05);
    const where = `${one.tagName}.${one.className}: ${one.textContent.slice(0, 30)}`;
    if (ratio < 4.5) faint.add(`${ratio.toFixed(1)} ${where}`);
  }
  return [...faint];
}"""
# Legends, titles and names of axes that leave the box of their figure.
OUTSIDE = """() => [...document.querySelectorAll('.plotly-graph-div')].flatMap(figure => {
  const box = figure.getBoundingClientRect();
  return [...figure.querySelectorAll('.legend, .gtitle, .xtitle')]
    .map(one => [one, one.getBoundingClientRect()])
    .filter(([one, it]) => it.width && (it.left < box.left - 2 || it.right > box.right + 2
      || it.top < box.top - 2 || it.bottom > box.bottom + 2))
    .map(([one]) => `${figure.id}: ${one.textContent.slice(0, 40)}`);
})"""
STUCK = """() => [...document.querySelectorAll('.plotly-graph-div, table, pre, mjx-container svg')]
  .filter(one => {
  if (!one.offsetParent && one.tagName !== 'svg') return false;
  if (one.getBoundingClientRect().right <= innerWidth + 1) return false;
  for (let box = one.parentElement; box && box.tagName !== 'MAIN'; box = box.parentElement)
    if (['auto', 'scroll'].includes(getComputedStyle(box).overflowX)) return false;
  return true;
}).map(one => one.tagName + ' ' + one.textContent.slice(0, 40))"""
