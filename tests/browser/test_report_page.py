"""The page of ``fdiv clean``: it fits, it filters, and what is decided on it can be saved."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fdiv
from fdiv.noise import corrupt, symmetric

pytestmark = pytest.mark.browser
SIDEWAYS = "() => document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The report of a table, with a class whose name is long, and the page it was written to."""
    table = load_wine(as_frame=True).frame
    truth = table.pop("target").to_numpy()
    names = np.array(["Barolo", "Grignolino", "a wine whose name <is> much too long & odd"])
    table["kind"] = names[corrupt(truth, symmetric(0.2, 3), seed=0)]
    judge = make_pipeline(StandardScaler(), LogisticRegression())
    report = fdiv.clean(table, "kind", estimator=judge, folds=3, progress=False, resume=False)
    return report, report.write(tmp_path_factory.mktemp("report"))[1]


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_fits_and_shows_what_the_table_has(browser, written, keep, width, theme):
    report, page = written
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
    tab = context.new_page()
    wrong = []
    tab.on("pageerror", lambda error: wrong.append(error))
    tab.goto(page.as_uri())
    chosen = report.labels[report.labels["flagged"] | (report.labels["action"] == "look")]
    assert tab.locator(".card").count() == min(len(chosen), 60)
    assert tab.evaluate(SIDEWAYS) <= 0
    tab.select_option("#given", "Barolo")
    assert tab.locator(".card").count() == (chosen["given"] == "Barolo").sum() > 0
    tab.fill("#search", "no example says this")
    assert tab.locator(".card").count() == 0
    assert not wrong
    tab.reload()
    keep(tab, f"report-{width}-{theme}", full_page=True)
    context.close()


def test_decisions_are_kept_and_saved_as_labels(browser, written):
    report, page = written
    context = browser.new_context()
    tab = context.new_page()
    tab.goto(page.as_uri())
    same = tab.locator(".card", has=tab.get_by_role("button", name="wrong")).first
    same.get_by_role("button", name="wrong").click()
    other = tab.locator(".card", has=tab.get_by_role("button", name="change")).first
    other.get_by_role("button", name="change").click()
    tab.locator(".card").nth(1).get_by_role("button", name="keep").click()
    tab.reload()
    assert tab.locator("[aria-pressed=true]").count() == 3
    with tab.expect_download() as download:
        tab.click("#save")
    saved = pd.read_csv(download.value.path(), keep_default_na=False).set_index("decision")
    assert set(saved.index) == {"wrong", "change", "keep"}
    labels = report.labels.set_index("row")
    assert saved.loc["change", "label"] == labels.loc[saved.loc["change", "row"], "suggested"]
    assert saved.loc["keep", "label"] == labels.loc[saved.loc["keep", "row"], "given"]
    assert saved.loc["wrong", "label"] == ""
    context.close()
