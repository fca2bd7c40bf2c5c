"""The pages of the committed notebooks, opened from a file as a reader would."""

import shutil
from types import SimpleNamespace

import nbformat
import pytest

from fdiv.course.notebooks import FOLDER
from fdiv.course.pages import PLOTLY, build, lesson

pytestmark = pytest.mark.browser
NAMES = sorted(path.stem for path in FOLDER.glob("[0-9][0-9]_*.ipynb"))
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
READY = """() => window.Plotly && window.MathJax?.startup?.promise.then(() =>
  [...document.querySelectorAll('.plotly-graph-div')].every(figure => figure._fullLayout))"""
MARKS = ".mlayer :is(path, image)"
SHOWN = "figure => JSON.stringify([figure.data, figure.layout.annotations, figure.layout.title])"
SIDEWAYS = "() => document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    for name in NAMES:
        shutil.copy(FOLDER / f"{name}.ipynb", folder)
    build(folder, NAMES, dict.fromkeys(NAMES, 20.0))
    return folder


@pytest.fixture(scope="module", params=[*NAMES, "index"])
def opened(request, browser, site):
    """A page that has been drawn, with what it asked for and what it complained of."""
    context = browser.new_context(viewport=DESKTOP)
    page = context.new_page()
    asked, complaints = [], []
    page.on("request", lambda one: asked.append(one.url))
    page.on("console", lambda one: complaints.append(one.text) if one.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto((site / f"{request.param}.html").as_uri())
    page.wait_for_function(READY, timeout=30_000)
    yield SimpleNamespace(name=request.param, page=page, asked=asked, complaints=complaints, folder=site)
    context.close()


def stored_figures(opened) -> list[dict]:
    if opened.name == "index":
        notebooks = {name: nbformat.read(opened.folder / f"{name}.ipynb", as_version=4) for name in NAMES}
        return [{"layout": {}} for name in NAMES if lesson(name, notebooks[name]).picture]  # they do not move
    notebook = nbformat.read(opened.folder / f"{opened.name}.ipynb", as_version=4)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [output.data[PLOTLY] for output in outputs if PLOTLY in output.get("data", {})]


def test_every_figure_is_drawn(opened):
    figures = opened.page.query_selector_all(".plotly-graph-div")
    assert len(figures) == len(stored_figures(opened))
    for number, figure in enumerate(figures, 1):
        assert figure.query_selector_all(MARKS), f"figure {number} has no marks"
        assert figure.bounding_box()["height"] > 100, f"figure {number} is flat"


def twins(opened) -> list[tuple[int, dict]]:
    """Number and twin of the figures with controls."""
    figures = enumerate(stored_figures(opened))
    return [
        (n, one["layout"]["meta"]["twin"]) for n, one in figures if one["layout"].get("meta", {}).get("twin")
    ]


def test_every_control_moves_its_figure(opened):
    """By keyboard, each alone and from where it starts; a slider by mouse too."""
    for number, twin in twins(opened):
        plot = opened.page.locator(".plot").nth(number)
        figure = plot.locator(".plotly-graph-div").element_handle()
        inputs = plot.locator(".plot-controls :is(input, select)")
        assert inputs.count() == len(twin["controls"])
        for control, told in zip(inputs.all(), twin["controls"], strict=True):
            before = figure.evaluate(SHOWN)
            there, back = ("ArrowUp", "ArrowDown") if told["kind"] == "menu" else ("ArrowLeft", "ArrowRight")
            if told["kind"] == "box":
                there = back = " "
            elif told["start"] == 0:
                there, back = back, there
            reveal(control)
            control.press(there)
            moved(opened.page, figure, before)
            away = figure.evaluate(SHOWN)
            control.press(back)
            moved(opened.page, figure, away)
            assert figure.evaluate(SHOWN) == before or told["kind"] == "range", (
                f"figure {number}, {told['label']}"
            )
            if told["kind"] == "range":
                here = figure.evaluate(SHOWN)
                box = control.bounding_box()
                spot = 0.98 if told["start"] < len(told["options"]) / 2 else 0.02
                opened.page.mouse.click(box["x"] + spot * box["width"], box["y"] + box["height"] / 2)
                moved(opened.page, figure, here)


def reveal(control) -> None:
    """Bring a control into sight; whoever wants to see it early presses the button for that."""
    control.evaluate(
        "() => document.querySelectorAll('form.predict:not(.answered) .show').forEach(one => one.click())"
    )
    control.scroll_into_view_if_needed()


def moved(page, figure, before: str) -> None:
    page.wait_for_function(
        f"([figure, before]) => ({SHOWN})(figure) !== before", arg=[figure, before], timeout=5_000
    )


def test_mathematics_is_set(opened):
    page = opened.page
    assert page.query_selector_all("merror, mjx-merror, [data-mml-node=merror]") == []
    source = (opened.folder / f"{opened.name}.html").read_text(encoding="utf-8")
    if "$" in source.split("<main>")[1].split("<script")[0]:
        assert page.query_selector_all("mjx-container")
    prose = page.evaluate(
        "() => [...document.querySelectorAll('.text_cell_render p, .text_cell_render li')]"
        ".filter(one => !one.querySelector('code')).map(one => one.innerText).join('\\n')"
    )
    assert "$" not in prose


def test_a_folded_solution_opens(opened):
    for folded in opened.page.query_selector_all("details"):
        folded.query_selector("summary").click()
        assert folded.evaluate(
            "one => one.open && one.innerText.length > one.querySelector('summary').innerText.length"
        )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_in_either_colour_scheme(opened, screenshots, scheme):
    """The text stands out from its ground by the ratio that WCAG AA asks for."""
    page = opened.page
    page.emulate_media(color_scheme=scheme)
    assert page.evaluate(CONTRAST) == []
    page.screenshot(path=screenshots / f"page_{opened.name}_{scheme}.png", full_page=True)


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
  for (const one of document.querySelectorAll('main *, nav *')) {
    if (one.closest('.plotly-graph-div, mjx-container')) continue;
    if (![...one.childNodes].some(node => node.nodeType === 3 && node.textContent.trim())) continue;
    const [a, b] = [getComputedStyle(one).color, ground(one)].map(light).sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    const where = `${one.tagName}.${one.className}: ${one.textContent.slice(0, 30)}`;
    if (ratio < 4.5) faint.add(`${ratio.toFixed(1)} ${where}`);
  }
  return [...faint];
}"""


def test_it_can_be_read_on_a_phone(opened, screenshots):
    """The page does not move sideways; a figure keeps the width its words need, and moves in its own box."""
    page = opened.page
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(PHONE)
    page.wait_for_timeout(400)  # plotly redraws a moment after the window has changed
    assert page.evaluate(SIDEWAYS) <= 0
    assert page.evaluate(STUCK) == 0, "figures wider than the phone that cannot be moved"
    assert page.evaluate(COLLISIONS) == []
    page.screenshot(path=screenshots / f"page_{opened.name}_phone.png", full_page=True)


STUCK = """() => [...document.querySelectorAll('.output_area .plotly-graph-div')].filter(one => {
  const box = one.closest('.output_area');
  return one.clientWidth > box.clientWidth && getComputedStyle(box).overflowX !== 'auto';
}).length"""
COLLISIONS = """() => [...document.querySelectorAll('.plotly-graph-div')].flatMap(figure => {
  const words = [...figure.querySelectorAll('.annotation-text, .legendtext, .gtitle, .xtitle, .xtick text')]
    .filter(one => !/rotate\\((?!0)/.test(one.getAttribute('transform')))  // slanted boxes overlap
    .map(one => [one.textContent, one.getBoundingClientRect()]).filter(([text, box]) => text && box.width);
  const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 3
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
  return words.flatMap(([text, box], i) => words.slice(i + 1)
    .filter(([_, other]) => over(box, other)).map(([other]) => `${figure.id}: ${text} | ${other}`));
})"""


def test_nothing_is_fetched_and_nothing_complains(opened):
    """Last, so that it has also seen what the tests above did."""
    assert [url for url in opened.asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert opened.complaints == []
