"""The figures to play with, in a page: the numbers of the package, and controls that answer to every hand."""

import json
import os
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest
import torch
from sklearn.neighbors import KNeighborsClassifier
from test_pages_browser import CONTRAST, DESKTOP, PHONE, SIDEWAYS

from fdiv.course import widgets
from fdiv.course.pages import build
from fdiv.learning.losses import CrossEntropy, FDivLoss
from fdiv.learning.modern import GCE
from fdiv.noise import paper_noise
from fdiv.theory import exact
from fdiv.theory.divergences import DIVERGENCES

pytestmark = pytest.mark.browser
NAMES = ("memorisation_machine", "classifier_plane", "t_editor")
CLOSE = {"rtol": 1e-6, "atol": 1e-6}
GCE_POWER = 0.7


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A page with the three figures, as built from what a notebook stores."""
    folder = tmp_path_factory.mktemp("figures")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FDIV_STATIC", "1")
        bundles = [json.loads(json.dumps(getattr(widgets, name)()._repr_mimebundle_())) for name in NAMES]
    outputs = [nbformat.v4.new_output("display_data", data=bundle) for bundle in bundles]
    cells = [nbformat.v4.new_markdown_cell("# Figures"), nbformat.v4.new_code_cell("", outputs=outputs)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / "00_figures.ipynb")
    build(folder, ["00_figures"])
    return (folder / "00_figures.html").as_uri()


@pytest.fixture(scope="module")
def opened(browser, site):
    """The page, with what it asked for and what it complained of."""
    context = browser.new_context(viewport=DESKTOP, has_touch=True)
    page = context.new_page()
    asked, complaints = [], []
    page.on("request", lambda one: asked.append(one.url))
    page.on("console", lambda one: complaints.append(one.text) if is_complaint(one) else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(site)
    page.wait_for_function("() => document.querySelectorAll('.fdiv-fig canvas').length >= 11")
    yield SimpleNamespace(page=page, asked=asked, complaints=complaints)
    context.close()


def is_complaint(message):
    """Anything but the advice about reading pixels, which only these tests do."""
    return message.type in ("error", "warning") and "willReadFrequently" not in message.text


@pytest.fixture(scope="module")
def js(opened):
    """Calls a function of JavaScript with the ``core`` of a figure and JSON."""
    return lambda name, function, *given: opened.page.evaluate(
        f"([name, given]) => ({function})(figureCores[name], ...given)", [name, list(given)]
    )


def tensor(x):
    return torch.tensor(x, dtype=torch.float64)


# ---------------------------------------------------------------------- the same numbers


@pytest.mark.parametrize("name", NAMES)
def test_the_rows_of_the_divergences_are_those_of_the_package(js, name):
    rows = js(name, "core => core.DIVERGENCES.map(d => [d.name, d.title, d.colour, d.zero, d.high])")
    assert rows == [[d.name, d.title, d.colour, d.at_zero, d.slope_at_infinity] for d in DIVERGENCES.values()]


def test_every_function_of_a_divergence_is_that_of_the_package(js):
    rng = np.random.default_rng(0)
    ratios = [*rng.uniform(0.01, 6, 20), 1.0]
    scores = [*rng.uniform(-3, 3, 20), *rng.uniform(0, 1, 20)]
    found = js(
        "t_editor",
        """(core, ratios, scores) => core.DIVERGENCES.map(d => ({
          f: ratios.map(d.f), slope: ratios.map(d.slope), dual: ratios.map(r => d.dual(d.slope(r))),
          g: scores.map(d.g), h: scores.map(d.h), dg: scores.map(d.dg), dh: scores.map(d.dh),
          ddg: scores.map(d.ddg), ddh: scores.map(d.ddh) }))""",
        ratios,
        scores,
    )
    for row, d in zip(found, DIVERGENCES.values(), strict=True):
        r, v = tensor(ratios), tensor(scores).requires_grad_()
        slope = d.derivative(r)
        want = {"f": d.f(r), "slope": slope, "dual": d.conjugate(slope)}
        for letter, function in (("g", d.activation), ("h", d.conjugate_of_activation)):
            value = function(v)
            (first,) = torch.autograd.grad(value.sum(), v, create_graph=True)
            second = torch.autograd.grad(first.sum(), v)[0] if first.requires_grad else torch.zeros_like(v)
            want |= {letter: value, f"d{letter}": first, f"dd{letter}": second}
        for key, value in want.items():
            np.testing.assert_allclose(row[key], value.detach(), **CLOSE, err_msg=f"{d.name} {key}")


def torch_loss(name, z, y):
    if name == "cross-entropy":
        return CrossEntropy()(z, y)
    if name == "gce":
        return GCE(z.shape[1], q=GCE_POWER)(z, y)
    return FDivLoss(name, z.shape[1])(z, y)


@pytest.mark.parametrize("name", ["cross-entropy", "gce", *DIVERGENCES])
def test_loss_and_gradient_are_those_of_the_package(js, name):
    rng = np.random.default_rng(1)
    for classes in (2, 4):
        scores, labels = rng.normal(0, 2, (30, classes)), rng.integers(0, classes, 30)
        z = tensor(scores).requires_grad_()
        want = torch_loss(name, z, torch.as_tensor(labels))
        want.backward()
        value, gradient = js(
            "memorisation_machine",
            """(core, name, scores, labels, classes) => {
              const v = Float64Array.from(scores), slope = new Float64Array(v.length);
              core.softmax(v, classes);
              const shares = core.labelShares(labels, classes);
              return [core.lossAndGradient(name, v, labels, shares, slope), [...slope]];
            }""",
            name,
            scores.ravel().tolist(),
            labels.tolist(),
            classes,
        )
        np.testing.assert_allclose(value, want.item(), **CLOSE)
        np.testing.assert_allclose(gradient, z.grad.ravel(), **CLOSE)


@pytest.mark.parametrize(
    ("loss", "shape"),
    [
        ("cross-entropy", "blobs"),
        ("tv", "moons"),
        ("js", "spirals"),
        ("kl", "blobs"),
        ("pearson", "moons"),
        ("gce", "spirals"),
    ],
)
def test_two_hundred_steps_follow_torch(js, loss, shape):
    """On the machine's own points with its own wrong labels, from given weights."""
    rng = np.random.default_rng(2)
    shapes = [(8, 2), (8,), (8, 8), (8,), (3, 8), (3,)]
    weights = [rng.normal(0, 0.7, size) for size in shapes]
    found, points, labels = js(
        "memorisation_machine",
        """(core, loss, shape, weights) => {
          const data = core.makeData({ data: shape, classes: 3, points: 60, seed: 4 });
          const given = core.corrupt(data, "symmetric", 0.3);
          const network = core.makeNetwork({ loss, weights: weights.map(w => Float64Array.from(w)),
            points: data.points, labels: given, classes: 3, rate: 0.01 });
          return [Array.from({ length: 200 }, () => network.step()), [...data.points], [...given]];
        }""",
        loss,
        shape,
        [w.ravel().tolist() for w in weights],
    )
    points, name = np.reshape(points, (-1, 2)), loss
    W1, b1, W2, b2, W3, b3 = parts = [tensor(w).requires_grad_() for w in weights]
    adam, x, y, want = torch.optim.Adam(parts, lr=0.01), tensor(points), torch.as_tensor(labels), []
    for _ in range(200):
        z = ((x @ W1.T + b1).relu() @ W2.T + b2).relu() @ W3.T + b3
        value = torch_loss(name, z, y)
        adam.zero_grad()
        value.backward()
        adam.step()
        want.append(value.item())
    np.testing.assert_allclose(found, want, **CLOSE)
    assert want[-1] < want[0]


def test_the_plane_has_the_divergences_and_the_decoupling_of_the_package(js):
    rng = np.random.default_rng(3)
    cases = [*rng.uniform(0.02, 0.98, (12, 3)), np.array([1.0, 0.0, 0.5]), np.array([0.5, 0.0, 0.3])]
    for a, b, p in cases:
        e_plus, e_minus = rng.uniform(0, 0.45, 2)
        found = js(
            "classifier_plane",
            """(core, a, b, p, e, f) => core.DIVERGENCES.map(d => [
              core.cleanD(d, a, b, p), core.noisyD(d, a, b, p, e, f),
              core.noisyD(d, 1 - a, 1 - b, p, e, f), core.decoupled(d, a, b, p, e, f)])""",
            *map(float, (a, b, p, e_plus, e_minus)),
        )
        joint = tensor([[p * a, (1 - p) * b], [p * (1 - a), (1 - p) * (1 - b)]])
        noisy = exact.noisy(joint, [[1 - e_plus, e_plus], [e_minus, 1 - e_minus]])
        for name, (clean, dirty, opposite, parts) in zip(DIVERGENCES, found, strict=True):
            np.testing.assert_allclose(clean, exact.f_divergence(joint, name), **CLOSE, err_msg=name)
            np.testing.assert_allclose(dirty, exact.f_divergence(noisy, name), **CLOSE, err_msg=name)
            np.testing.assert_allclose(opposite, dirty, **CLOSE, err_msg="a classifier and its opposite tie")
            g = exact.optimal_g(noisy, name)
            side = exact.decouple_binary(joint, g, name, e_plus, e_minus)
            want = [exact.variational_difference(joint, g, name), side.clean, side.bias, side.total]
            got = [parts[key] for key in ("VD", "scaled", "bias", "noisy")]
            np.testing.assert_allclose(got, torch.stack(want), **CLOSE, err_msg=name)


def test_the_best_of_the_bent_curve_jumps_for_kl_and_stays_for_tv_and_pearson(opened):
    found, said = {}, {}
    for name in DIVERGENCES:
        choose(opened.page, "classifier_plane", "Divergence", name)
        found[name] = state(opened.page, "classifier_plane")["jump"]
        said[name] = opened.page.locator("[data-figure=classifier_plane]").inner_text()
    assert found["kl"] > 0.3
    assert max(found["tv"], found["pearson"]) < 1e-9
    endless = {name for name in DIVERGENCES if "so none is the best" in said[name]}
    assert endless == {"neyman", "reverse-kl", "jeffrey"}, "where many tie at infinity, none is named"


def matrices():
    rng = np.random.default_rng(4)
    some = [rng.dirichlet(np.full(K, 0.7), K) for K in (2, 3, 3, 3, 4, 5)]
    paper = [paper_noise("mnist", setting) for setting in ("sparse-high", "uniform-low")]
    return [*some, np.array([[0.6, 0.4, 0], [0, 0.6, 0.4], [0.4, 0, 0.6]]), np.full((3, 3), 1 / 3), *paper]


def test_ceilings_and_guarantees_are_those_of_the_package(js):
    rng = np.random.default_rng(5)
    for number, T in enumerate(matrices()):
        K = len(T)
        prior = np.full(K, 1 / K) if number % 2 or K == 10 else rng.dirichlet(np.full(K, 5.0))
        rules = ["cross-entropy", *DIVERGENCES, "ratio"]
        found, forward, constants, values = js(
            "t_editor",
            """(core, T, prior, rules) => [rules.map(rule => core.ceiling(rule, T, prior)),
              core.ceiling("forward", T, prior), core.guarantees(T, prior), core.singularValues(T)]""",
            T.tolist(), prior.tolist(), rules,
        )  # fmt: skip
        want = [exact.ceiling(rule, T, np.diag(prior)) for rule in rules]
        np.testing.assert_allclose(found, want, **CLOSE, err_msg=f"matrix {number}")
        np.testing.assert_allclose(values, np.linalg.svd(T)[1], **CLOSE)
        singular = np.linalg.matrix_rank(T) < K
        np.testing.assert_allclose(
            forward, 1 / 3 if singular else 1, **CLOSE
        )  # the singular one has equal rows
        S = np.sqrt(prior)[:, None] * T / np.sqrt(prior @ T)
        s = np.linalg.svd(S)[1]
        np.testing.assert_allclose(constants["pearson"], [s[-1] ** 2, s[1] ** 2], **CLOSE)
        low = 0 if singular else 1 / half_distance(np.linalg.inv(T))
        np.testing.assert_allclose(constants["tv"], [low, half_distance(T)], **CLOSE)


def half_distance(M):
    return max(np.abs(x - y).sum() for x in M for y in M) / 2


def test_the_best_probabilities_are_as_high_as_those_of_the_package(js):
    for T in matrices()[:6]:
        prior = T.mean(0)
        for name, d in DIVERGENCES.items():
            found = js(
                "t_editor",
                """(core, name, T, prior) => T.map(row =>
                  core.fixedOptimum(core.DIVERGENCES.find(d => d.name === name), row, prior))""",
                name, T.tolist(), prior.tolist(),
            )  # fmt: skip
            want = exact.fixed_g_optimum(name, T, prior)
            height = [
                (tensor(T) * d.activation(v) - tensor(prior) * d.conjugate_of_activation(v)).sum(1)
                for v in (tensor(found), want)
            ]
            np.testing.assert_allclose(*height, rtol=1e-9, atol=1e-9, err_msg=name)
            np.testing.assert_allclose(np.sum(found, 1), 1, **CLOSE)


def test_the_peak_jumps_to_the_wrong_corner_at_one_half_and_every_repair_brings_it_back(js):
    answers = js(
        "t_editor",
        """core => [0.48, 0.52].map(e => {
          const T = [[1 - e, e, 0], [0.1, 0.9, 0], [0, 0, 1]], prior = [1 / 3, 1 / 3, 1 / 3];
          return ["none", "ratio", "forward", "backward"].map(repair => {
            const { at } = core.peak(core.objective("cross-entropy", repair, T, prior, 0));
            return [at.indexOf(Math.max(...at)), at];
          });
        })""",
    )
    assert [[answer for answer, _ in row] for row in answers] == [[0, 0, 0, 0], [1, 0, 0, 0]]
    np.testing.assert_allclose(
        answers[1][0][1], [0.48, 0.52, 0], atol=1e-5
    )  # cross-entropy learns the posterior
    np.testing.assert_allclose(answers[1][2][1], [1, 0, 0], atol=1e-5)  # forward the clean one


def test_cross_entropy_memorises_and_total_variation_does_not(js):
    """With the defaults, at the last step; seeds 0 to 9 were looked at, two are run here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FDIV_STATIC", "1")
        params = dict(widgets.memorisation_machine().params)
    for seed in (0, 3):
        found = js(
            "memorisation_machine",
            """(core, set) => {
              const data = core.makeData(set), given = core.corrupt(data, set.noise, set.rate);
              const wrong = [...given].map((label, n) => label !== data.labels[n]);
              return [set.left, set.right].map(loss => {
                const weights = core.startWeights(set.width, set.classes, set.seed);
                const network = core.makeNetwork({ loss, weights,
                  points: data.points, labels: given, classes: set.classes });
                for (let step = 0; step < set.steps; step++) network.step();
                return [core.accuracy(network.predict(data.test.points), data.test.labels, set.classes),
                  core.memorised(network.onTrain, given, set.classes, wrong)];
              });
            }""",
            params | {"seed": seed},
        )
        (ce_accuracy, ce_memorised), (tv_accuracy, tv_memorised) = found
        assert ce_memorised > 0.5 > 0.25 > tv_memorised
        assert tv_accuracy > ce_accuracy + 0.08


@pytest.mark.parametrize("classes", [2, 3, 4])
@pytest.mark.parametrize("shape", ["blobs", "moons", "spirals"])
def test_every_shape_has_classes_that_can_be_told_apart(js, shape, classes):
    """By the nearest training point: what makes a network fail is the labels, not the points."""
    points, labels, test_points, test_labels = (
        np.array(part)
        for part in js(
            "memorisation_machine",
            """(core, data, classes) => {
              const set = core.makeData({ data, classes, points: 150, seed: 1 });
              return [set.points, set.labels, set.test.points, set.test.labels].map(part => [...part]);
            }""",
            shape,
            classes,
        )
    )
    assert np.ptp(np.bincount(labels)) == 0, "as many of each class"
    assert abs(points).max() < 1.5
    nearest = KNeighborsClassifier(3).fit(points.reshape(-1, 2), labels)
    assert nearest.score(test_points.reshape(-1, 2), test_labels) > 0.85


def test_the_menu_of_losses_is_the_one_python_offers(js):
    assert js("memorisation_machine", "core => core.LOSSES.map(one => one.name)") == list(widgets.LOSSES)


def test_noise_has_its_rate_and_more_of_it_flips_the_same_points_and_others(js):
    found = js(
        "memorisation_machine",
        """core => ["symmetric", "pair", "border"].map(noise => {
          const data = core.makeData({ data: "moons", classes: 4, points: 200, seed: 1 });
          const [low, high] = [0.1, 0.3].map(rate =>
            [...core.corrupt(data, noise, rate)].map((y, n) => y !== data.labels[n]));
          const share = flips => flips.filter(Boolean).length / flips.length;
          return [share(low), share(high), low.every((flip, n) => !flip || high[n])];
        })""",
    )
    for (low, high, same), allowed in zip(found, (0, 0, 0.1), strict=True):
        assert abs(low - 0.1) <= allowed + 1e-9, "what the slider says, to the point, but near the border"
        assert abs(high - 0.3) <= allowed + 1e-9
        assert same


# ---------------------------------------------------------------------- every control, every hand


# Two frames, in which everything is computed and drawn, and the tenth of a second between two tellings.
REST = """() => new Promise(rested =>
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(rested, 120))))"""


def figure(page, name):
    return page.locator(f"[data-figure={name}]")


def state(page, name):
    """What the figure tells Python, once it has told the newest."""
    page.evaluate(REST)
    return page.evaluate("name => document.querySelector(`[data-figure=${name}]`).model.get('state')", name)


def choose(page, name, label, value):
    figure(page, name).get_by_label(label, exact=True).select_option(value)


PICTURE = """name => [...document.querySelectorAll(`[data-figure=${name}] canvas`)].map(one => {
  const { data } = one.getContext('2d').getImageData(0, 0, one.width, one.height);
  let sum = 0;
  for (let i = 0; i < data.length; i += 7) sum = (sum * 31 + data[i]) % 4294967291;
  return sum;
})"""


def seen(page, name):
    return state(page, name), page.evaluate(PICTURE, name)


def tap(page, node, x, y, hand):
    """A click or a touch at the given shares of a node's width and height."""
    node.scroll_into_view_if_needed()
    box = node.bounding_box()
    at = box["x"] + x * box["width"], box["y"] + y * box["height"]
    (page.mouse.click if hand == "mouse" else page.touchscreen.tap)(*at)


@pytest.mark.parametrize("name", NAMES)
def test_every_slider_and_menu_changes_state_and_picture(opened, name):
    """Sliders by mouse, touch and keyboard, menus by keyboard."""
    page = opened.page
    for folded in figure(page, name).locator("details:not([open]) summary").all():
        folded.click()
    unmoved = []
    for control in figure(page, name).locator("input, select").all():
        label = control.get_attribute("aria-label")
        kind = control.evaluate("one => one.tagName")
        end = "one => one.options ? one.selectedIndex === one.options.length - 1 : one.value === one.min"
        key = "ArrowUp" if control.evaluate(end) else "ArrowDown"
        moves = {"keyboard": lambda control=control, key=key: control.press(key)}
        if kind == "INPUT":
            moves |= {
                "mouse": lambda control=control: tap(page, control, 0.25, 0.5, "mouse"),
                "touch": lambda control=control: tap(page, control, 0.7, 0.5, "touch"),
            }
        for hand, move in moves.items():
            before = seen(page, name)
            control.focus()
            move()
            after = seen(page, name)
            blank = label.startswith("Width")  # at step 0 a network of any width knows nothing
            if before[0] == after[0] or (before[1] == after[1] and not blank):
                unmoved.append(f"{label} by {hand}")
    assert unmoved == []


def test_the_machine_plays_pauses_steps_and_starts_again(opened):
    page, name = opened.page, "memorisation_machine"
    press = lambda label: figure(page, name).get_by_role("button", name=label).click()  # noqa: E731
    press("Reset")
    assert state(page, name)["step"] == 0
    press("Step")
    assert state(page, name)["step"] == 1
    press("Play")
    page.wait_for_function(
        f"() => document.querySelector('[data-figure={name}]').model.get('state').step > 8"
    )
    press("Pause")
    paused = state(page, name)["step"]
    assert state(page, name)["step"] == paused
    press("Reset")
    figure(page, name).get_by_role("button", name="Play").press("Enter")
    assert state(page, name)["playing"]
    figure(page, name).get_by_role("button", name="Pause").press(" ")
    assert not state(page, name)["playing"]


@pytest.mark.parametrize("hand", ["mouse", "touch"])
def test_the_classifier_follows_the_hand(opened, hand):
    page, name = opened.page, "classifier_plane"
    for number in (0, 1):
        tap(page, figure(page, name).locator("canvas").nth(number), 0.4 + 0.2 * number, 0.5, hand)
        settings = state(page, name)["settings"]
        assert abs(settings["a"] - (0.37 + 0.22 * number)) < 0.05
        assert abs(settings["b"] - 0.48) < 0.08


def test_the_classifier_follows_the_arrow_keys_and_keeps_inside(opened):
    page, name = opened.page, "classifier_plane"
    square = figure(page, name).locator("canvas").first
    before = state(page, name)["settings"]
    square.press("ArrowRight")
    square.press("ArrowUp")
    after = state(page, name)["settings"]
    assert after["a"] == pytest.approx(before["a"] + 0.01, abs=0.006)
    assert after["b"] == pytest.approx(before["b"] + 0.01, abs=0.006)
    for _ in range(12):
        square.press("Shift+ArrowDown")
    assert state(page, name)["settings"]["b"] == 0


def test_a_curve_can_be_drawn(opened):
    page, name = opened.page, "classifier_plane"
    figure(page, name).get_by_role("button", name="Draw").click()
    square = figure(page, name).locator("canvas").first
    square.scroll_into_view_if_needed()
    box = square.bounding_box()
    spots = [
        (box["x"] + x * box["width"], box["y"] + y * box["height"])
        for x, y in ((0.3, 0.8), (0.5, 0.6), (0.7, 0.5))
    ]
    page.mouse.move(*spots[0])
    page.mouse.down()
    for spot in spots[1:]:
        page.mouse.move(*spot, steps=4)
    page.mouse.up()
    told = state(page, name)
    assert not told["drawing"]
    assert all(0.2 < a < 0.75 and 0.05 < b < 0.6 for a, b in told["best"]), "the best lies on the line drawn"
    assert figure(page, name).get_by_label("Allowed classifiers").input_value() == "drawn"


def test_a_row_of_T_can_be_dragged_selected_and_changed_by_keys(opened):
    page, name = opened.page, "t_editor"
    for label, value in (
        ("Start from", "A confused pair"),
        ("Trained with", "cross-entropy"),
        ("Mended by", "none"),
    ):
        choose(page, name, label, value)
    rows = figure(page, name).locator("canvas").first
    rows.scroll_into_view_if_needed()
    box = rows.bounding_box()
    y, left, wide = box["y"] + 30, box["x"] + 46, box["width"] - 52
    page.mouse.move(left + 0.6 * wide, y)
    page.mouse.down()
    page.mouse.move(left + 0.3 * wide, y, steps=4)
    page.mouse.up()
    told = state(page, name)
    np.testing.assert_allclose(told["T"][0], [0.3, 0.7, 0], atol=0.02)
    assert told["answer"] == 1, "the peak has jumped to the wrong corner"
    assert told["ceilings"]["cross-entropy"] == pytest.approx(2 / 3)
    assert told["ceilings"]["ratio"] == told["ceilings"]["forward"] == pytest.approx(1)
    choose(page, name, "Mended by", "forward")
    assert state(page, name)["answer"] == 0, "and is brought back"
    rows.press("ArrowDown")
    rows.press("ArrowRight")
    assert state(page, name)["select"] == [1, 2]
    rows.press("+")
    rows.press("+")
    assert state(page, name)["T"][1][2] == pytest.approx(0.02)
    np.testing.assert_allclose(np.sum(state(page, name)["T"], 1), 1)


# ---------------------------------------------------------------------- the page around them


def test_new_parameters_build_a_figure_anew(opened):
    page = opened.page
    page.evaluate(
        """() => document.querySelector('[data-figure=t_editor]').model.set(
          'params', {T: [[0.9, 0.1], [0.2, 0.8]], prior: [0.5, 0.5]})"""
    )
    assert state(page, "t_editor")["T"] == [[0.9, 0.1], [0.2, 0.8]]
    assert figure(page, "t_editor").locator(".fdiv-fig").count() == 1


FRAMES = """([name, seconds]) => new Promise(done => {
  const node = document.querySelector(`[data-figure=${name}]`);
  node.scrollIntoView();
  const range = node.querySelectorAll('input[type=range]')[name === 't_editor' ? 1 : 0];
  const times = [];
  const press = name === 'memorisation_machine' ? () => node.querySelector('.fdiv-main').click() : () => {};
  press();
  const next = now => {
    times.push(now);
    if (name !== 'memorisation_machine') {
      range.value = range.min + (range.max - range.min) * (0.5 + 0.4 * Math.sin(now / 300));
      range.dispatchEvent(new Event('input'));
    }
    if (now - times[0] < 1000 * seconds) requestAnimationFrame(next);
    else {
      press();
      done((times.length - 1) / ((now - times[0]) / 1000));
    }
  };
  requestAnimationFrame(next);
})"""
FIRST = """name => new Promise(done => {
  const { model } = document.querySelector(`[data-figure=${name}]`);
  const start = performance.now();
  model.set('params', model.get('params'));
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
})"""


def test_how_fast_they_are(opened, record_property):
    """Told, not asserted, as the machine does other things, too: while a control moves, or training runs."""
    lines = [f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"]
    for name in NAMES:
        first = opened.page.evaluate(FIRST, name)
        rate = opened.page.evaluate(FRAMES, [name, 2])
        size = len(widgets.source(name).encode())
        lines.append(f"{name}: {size} bytes, first frame after {first:.0f} ms, {rate:.0f} frames a second")
        assert rate > 0
    record_property("told", "\n".join(lines))


def test_with_reduced_motion_the_machine_still_learns(browser, site):
    context = browser.new_context(viewport=DESKTOP, reduced_motion="reduce")
    page = context.new_page()
    page.goto(site)
    figure(page, "memorisation_machine").get_by_role("button", name="Play").click()
    page.wait_for_function("() => document.querySelector('[data-figure]').model.get('state').step >= 20")
    assert state(page, "memorisation_machine")["step"] % 20 == 0, "the picture changes in long steps"
    context.close()


@pytest.mark.parametrize(("scheme", "size"), [("light", PHONE), ("dark", DESKTOP)])
def test_they_can_be_read(browser, site, keep, scheme, size):
    context = browser.new_context(viewport=size, color_scheme=scheme)
    page = context.new_page()
    page.goto(site)
    page.wait_for_function("() => document.querySelectorAll('.fdiv-fig canvas').length >= 11")
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate(SIDEWAYS) <= 0
    assert page.locator(".fdiv-fig").evaluate_all("all => all.map(one => one.dataset.theme)") == [
        scheme
    ] * len(NAMES)
    wide = "all => all.filter(one => one.getBoundingClientRect().right > innerWidth).length"
    assert page.locator(".fdiv-fig *").evaluate_all(wide) == 0
    keep(page, f"figures_{scheme}_{size['width']}", full_page=True)
    context.close()


def test_each_figure_has_a_name_and_a_finding_in_words(opened):
    for name in NAMES:
        assert figure(opened.page, name).locator(".fdiv-fig").get_attribute("aria-label")
        unnamed = figure(opened.page, name).locator(
            "canvas:not([aria-label]), input:not([aria-label]), select:not([aria-label])"
        )
        assert unnamed.count() == 0
        assert len(opened.page.locator(f"figure:has([data-figure={name}]) figcaption").text_content()) > 100


def test_nothing_is_fetched_and_nothing_complains(opened):
    """Last, so that it has also seen what the tests above did."""
    assert [url for url in opened.asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert opened.complaints == []
