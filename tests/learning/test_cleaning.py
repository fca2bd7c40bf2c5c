"""From messy data to a list of wrong labels: known flips are found, files are safe, the page is whole."""

from __future__ import annotations

import copy
import dataclasses
import json
import re

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_wine, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import fdiv
from fdiv.__main__ import main
from fdiv.files import keep_array, kept_array
from fdiv.learning import cleaning
from fdiv.noise import corrupt, symmetric

NAMES = np.array(["Barolo", "Grignolino", "Barbera & <co>"])


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    noisy = corrupt(y.to_numpy(), symmetric(0.2, 3), 0)
    return X, noisy, noisy != y.to_numpy()


@pytest.fixture(scope="module")
def report(wine):
    X, noisy, _ = wine
    return fdiv.clean(X, NAMES[noisy], progress=False, resume=False)


def test_known_flips_are_found_counted_and_mended(report, wine):
    X, noisy, wrong = wine
    flags = report.issues()
    assert wrong[flags["row"]].mean() > 0.8
    assert wrong[flags["row"]].sum() > 0.8 * wrong.sum()
    assert report.wrong.count == pytest.approx(wrong.sum(), rel=0.25)
    truth = load_wine().target
    assert (flags["suggested"].to_numpy() == NAMES[truth[flags["row"]]]).mean() > 0.8
    assert len(report.labels) == len(X)
    assert sorted(report.labels["row"]) == list(range(len(X)))
    assert report.labels["wrong"].is_monotonic_decreasing
    assert (report.labels.set_index("row").loc[range(len(X)), "given"] == NAMES[noisy]).all()


def test_the_table_says_what_to_do(report):
    labels = report.labels
    assert set(labels["action"]) <= {"keep", "change", "look"}
    changed = labels[labels["action"] == "change"]
    assert changed["flagged"].all()
    assert (changed["suggested_probability"] >= 0.95).all()
    assert (changed["suggested"] != changed["given"]).all()
    doubt = 1 - np.sort(report.wrong.posterior, axis=1)[:, -1]
    assert report.look_next(1)["row"].iloc[0] == np.argmax(doubt)
    np.testing.assert_allclose(report.per_class["wrong"].sum(), report.wrong.count)
    np.testing.assert_allclose(report.wrong.T.sum(1), 1)
    assert "labels are wrong" in str(report)


def test_arrays_tensors_frames_and_any_estimator(wine):
    X, noisy, wrong = wine
    model = LogisticRegression(max_iter=2000)
    options = {"estimator": model, "progress": False, "resume": False}
    frame = X.assign(kind=NAMES[noisy])
    found = [
        fdiv.clean(X.to_numpy(), noisy, **options),
        fdiv.clean(torch.tensor(X.to_numpy()), torch.as_tensor(noisy), **options),
        fdiv.clean(frame, "kind", **options),
        fdiv.clean(frame, label="kind", **options),
        fdiv.clean(X, pd.Series(noisy), **options),
    ]
    for one in found:
        assert wrong[one.issues()["row"]].mean() > 0.7


def test_sentences_are_judged():
    rng = np.random.default_rng(0)
    words = [["sun", "beach", "sand", "wave"], ["snow", "ice", "sled", "frost"]]
    y = np.arange(120) % 2
    texts = [" ".join(rng.choice(words[k], 6)) + f" number {i}" for i, k in enumerate(y)]
    given = y.copy()
    given[[4, 9]] = 1 - given[[4, 9]]
    found = fdiv.clean(texts, np.array(["summer", "winter"])[given], progress=False, resume=False)
    assert set(found.labels["row"].head(2)) == {4, 9}
    assert found.labels["shown"].iloc[0] in texts


def test_pictures_are_judged_and_shown(tmp_path, monkeypatch):
    from PIL import Image

    from fdiv.datasets import ImageFiles, own

    rng, paths = np.random.default_rng(0), []
    y = np.arange(60) % 2
    for i, k in enumerate(y):
        pixels = rng.integers(0, 90, (8, 12, 3)).astype(np.uint8)
        pixels[..., k] += 120
        paths.append(tmp_path / f"é{i}.png")
        Image.fromarray(pixels).save(paths[-1])
    given = y.copy()
    given[[7, 20]] = 1 - given[[7, 20]]

    def pixels_only(files, progress=None):
        read = ImageFiles(list(files), size=8)
        return np.stack([read[i].numpy().ravel() for i in range(len(read))]) / 255.0, "pixels"

    monkeypatch.setattr(own, "picture_numbers", pixels_only)
    found = fdiv.clean(ImageFiles(paths, size=8), given, progress=False, resume=False)
    assert set(found.labels["row"].head(2)) == {7, 20}
    _, page = found.write(tmp_path)
    assert "data:image/jpeg;base64," in page.read_text(encoding="utf-8")


def test_files_are_written_where_asked_and_nothing_is_overwritten(report, tmp_path):
    mine = tmp_path / "label_errors.csv"
    mine.write_text("mine")
    table, page = report.write(tmp_path)
    assert mine.read_text() == "mine"
    assert (table.name, page.name) == ("label_errors_2.csv", "label_errors_2.html")
    again, _ = report.write(tmp_path)
    assert again.name == "label_errors_3.csv"
    read = pd.read_csv(table)
    assert list(read.columns) == list(report.labels.columns)
    assert (read["given"] == report.labels["given"]).all()


def test_the_page_is_whole_and_names_cannot_break_it(report, tmp_path):
    _, page = report.write(tmp_path)
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"https?://|<link|src=\"(?!data)", text), "nothing is fetched"
    cards = json.loads(re.search(r'type="application/json">(.*?)</script>', text, re.S).group(1))
    assert len(cards) >= len(report.issues())
    assert {card["given"] for card in cards} <= set(NAMES)
    assert "Barbera &amp; &lt;co&gt;" in text
    assert "<co>" not in text
    assert "[hidden] { display: none !important; }" in text  # "Show more" has a display of its own


def test_an_interrupted_call_goes_on(wine, tmp_path, monkeypatch):
    X, noisy, _ = wine
    monkeypatch.setenv("FDIV_DATA", str(tmp_path))
    fitted = []

    class Counting(LogisticRegression):
        def fit(self, X, y):
            fitted.append(len(y))
            if len(fitted) == 3:
                raise KeyboardInterrupt
            return super().fit(X, y)

    options = {"estimator": Counting(max_iter=2000), "progress": False}
    with pytest.raises(KeyboardInterrupt):
        fdiv.clean(X, noisy, **options)
    found = fdiv.clean(X, noisy, **options)
    assert len(fitted) == 3 + 3, "two of five folds were kept"
    assert not list((tmp_path / "clean").iterdir()), "and are gone after the report"
    fresh = fdiv.clean(X, noisy, estimator=LogisticRegression(max_iter=2000), progress=False, resume=False)
    np.testing.assert_allclose(found.wrong.wrong, fresh.wrong.wrong)


def test_more_rows_than_are_trained_on(wine, monkeypatch):
    X, noisy, _ = wine
    monkeypatch.setattr(cleaning, "TRAINED_ON", 80)
    found = fdiv.clean(X, noisy, estimator=LogisticRegression(max_iter=2000), progress=False, resume=False)
    assert any("trained on 80 rows" in note for note in found.notes)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((np.ones((20, 2)),), {}, r"there are no labels: clean\(data, labels\)"),
        ((np.ones((20, 2)), [0, 1] * 9), {}, "18 labels for 20 examples"),
        ((pd.DataFrame(np.ones((20, 2))), [0, 1] * 9), {}, "18 labels for 20 examples"),
        ((["a b c"] * 4, [0, 1]), {}, "2 labels for 4 examples"),
        ((np.ones((20, 2)), [0] * 20), {}, "one class only, '0'"),
        ((pd.DataFrame(np.ones((20, 2))), 5), {}, "labels is 5, but must be a list or a vector"),
        ((pd.DataFrame(np.ones((2, 2))), {0: 1, 1: 0}), {}, "labels is {.*}, but must be a list or a vector"),
        ((np.ma.masked_less([[0.0, 1.0]] * 20, 1), [0, 1] * 10), {}, "lose its mask"),
        ((np.ones((20, 2)), np.ma.masked_less([0, 1] * 10, 1)), {}, "lose its mask"),
        ((["a b c"] * 4, np.ma.masked_less([0, 1] * 2, 1)), {}, "lose its mask"),
        ((np.array([["a"]] * 20), [0, 1] * 10), {}, "rows of numbers"),
        ((np.random.default_rng(0).random((20, 2)), [0, 1] * 10), {"folds": 1}, "at least 2"),
    ],
)
def test_what_cannot_be_cleaned_is_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        fdiv.clean(*arguments, **options)


def test_the_command_writes_into_the_working_folder_and_says_so(wine, tmp_path, monkeypatch, capsys):
    from fdiv.__main__ import main

    X, noisy, _ = wine
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FDIV_DATA", str(tmp_path / "cache"))
    X.iloc[:, :6].assign(kind=NAMES[noisy]).to_csv("wine.csv", index=False)
    assert main(["clean", "wine.csv", "--label", "kind", "--folds", "2"]) == 0
    said = capsys.readouterr().out
    assert "labels are wrong" in said
    assert (tmp_path / "label_errors.csv").is_file()
    assert (tmp_path / "label_errors.html").is_file()
    assert main(["clean", "wine.csv", "--label", "sort"]) == 2
    assert capsys.readouterr().err.startswith("fdiv: no column is called 'sort'; the columns are alcohol")
    assert main(["clean", "wine.cvs"]) == 2
    assert "there is no wine.cvs" in capsys.readouterr().err


def test_a_report_is_written_whole_or_not_at_all(report, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    for place in ("file", "file/below"):
        with pytest.raises(ValueError, match=r"nothing can be written to .*choose another folder"):
            report.write(tmp_path / place)
    monkeypatch.setattr("fdiv.learning.cleaning_page.page", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        report.write(tmp_path / "half")
    assert not list((tmp_path / "half").iterdir())


def test_the_command_looks_at_its_folder_before_it_trains(tmp_path, monkeypatch, capsys):
    (tmp_path / "table.csv").write_text("x,y\n" + "1,a\n2,b\n" * 9)
    monkeypatch.setattr(cleaning, "clean", lambda *_, **__: pytest.fail("it trained"))
    assert main(["clean", str(tmp_path / "table.csv"), "--label", "y", "--out", "/dev/null"]) == 2
    assert "nothing can be written to /dev/null" in capsys.readouterr().err


def test_spreadsheets_do_not_compute_what_the_data_say(report, tmp_path):
    labels = report.labels.assign(shown="=HYPERLINK(1)")
    table, _ = dataclasses.replace(report, labels=labels).write(tmp_path)
    assert set(pd.read_csv(table)["shown"]) == {"'=HYPERLINK(1)"}
    assert [cleaning.inert(text) for text in ("-1", "+1.5e3", "-", "@a", "-a", "a=b")] == [
        "-1", "+1.5e3", "-", "'@a", "'-a", "a=b",
    ]  # fmt: skip

    assert [cleaning.inert(text) for text in (" =1", "=\n1", "\n@a", "＝1", "\ta")] == [
        "' =1", "'=\n1", "'\n@a", "'＝1", "\ta",
    ]  # fmt: skip


def test_two_that_write_at_once_have_names_of_their_own(tmp_path):
    (tmp_path / "label_errors_2.html").symlink_to("nowhere")
    both = [cleaning.free_names(tmp_path) for _ in range(2)]
    assert [table.name for table, _ in both] == ["label_errors.csv", "label_errors_3.csv"]


def test_decisions_about_other_labels_are_not_found_again(report, tmp_path):
    def key(of):
        return re.search(r'KEY = "fdiv (\w{16})"', of.write(tmp_path)[1].read_text(encoding="utf-8")).group(1)

    others = dataclasses.replace(report, labels=report.labels.assign(row=report.labels["row"] + 1))
    assert key(report) == key(report)
    assert key(report) != key(others)


class Negative(LogisticRegression):
    def predict_proba(self, X):
        return super().predict_proba(X) - 2


class Short(LogisticRegression):
    def predict_proba(self, X):
        return super().predict_proba(X)[1:]


class Unsure(LogisticRegression):
    def logits(self, X):
        return np.full((len(X), 3), np.nan)


@pytest.mark.parametrize(
    ("estimator", "said"),
    [
        (Negative(max_iter=500), "Negative cannot judge these data .row 0 of the probabilities is no dist"),
        (Short(max_iter=500), "Short cannot judge these data .it gives no finite row of 3 logits for each"),
        (Unsure(max_iter=500), "Unsure cannot judge these data .it gives no finite row of 3 logits for each"),
    ],
)
def test_an_estimator_that_gives_no_probabilities_is_refused(wine, estimator, said):
    X, noisy, _ = wine
    with pytest.raises(ValueError, match=said):
        fdiv.clean(X, noisy, estimator=estimator, progress=False, resume=False)


def test_an_estimator_that_takes_no_texts_is_named_with_its_reason(wine):
    X, noisy, _ = wine
    with pytest.raises(ValueError, match=r"cannot judge .* columns of text .could not convert"):
        fdiv.clean(
            X.assign(colour=["red", "white"] * 89), noisy, estimator=LogisticRegression(), progress=False
        )


def test_a_frame_may_have_any_names_of_columns(wine):
    X, noisy, _ = wine
    options = {"estimator": LogisticRegression(max_iter=500), "progress": False, "resume": False}
    numbered = X.set_axis([0, *X.columns[1:]], axis=1)
    nested = X.set_axis(pd.MultiIndex.from_product([["a"], X.columns]), axis=1)
    taken = X.set_axis(["(label)", *X.columns[1:]], axis=1)
    counts = [fdiv.clean(frame, noisy, **options).wrong.count for frame in (X, numbered, nested, taken)]
    assert counts == pytest.approx([counts[0]] * 4)


def test_finished_folds_of_another_estimator_are_not_taken(wine):
    X, noisy, _ = wine

    def digest(**options):
        return cleaning._digest(X, noisy, fdiv.RobustClassifier(**options), 5, 0)

    T = symmetric(0.3, 60)
    nearly = T.copy()
    nearly[30, 30:32] += -0.01, 0.01  # where NumPy prints three dots
    nets = [torch.nn.Linear(13, 3) for _ in range(2)]
    assert digest(transition=T) == digest(transition=T.copy())
    assert digest(transition=T) != digest(transition=nearly)
    assert digest(module=nets[0]) == digest(module=copy.deepcopy(nets[0]))
    assert digest(module=nets[0]) != digest(module=nets[1])
    assert digest(loss=fdiv.FDivLoss("tv", 3)) != digest(loss=fdiv.FDivLoss("kl", 3))
    unknown = lambda *_: nets[0]  # noqa: E731, which cannot be pickled
    assert digest(module=unknown) != digest(module=unknown)


def test_a_rare_class_is_in_every_training(monkeypatch):
    monkeypatch.setattr(cleaning, "TRAINED_ON", 100)
    labels = np.repeat([0, 1, 2], [9_000, 30, 5])
    rows = np.arange(len(labels)) + 7
    some = cleaning._some(rows, labels, np.random.default_rng(0))
    assert (np.bincount(labels[some - 7]) >= [90, 20, 5]).all()
    assert len(set(some)) == len(some) <= 125
    few = np.arange(100)
    assert cleaning._some(few, few % 2, np.random.default_rng(0)) is few


@pytest.mark.parametrize("n", [-1, 2.5, "3", True])
def test_a_number_of_rows_that_is_none(report, n):
    with pytest.raises(ValueError, match=r"n is .*, but must be a whole number of at least 0"):
        report.look_next(n)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"seed": -1}, "seed is -1"),
        ({"seed": "x"}, "seed is 'x'"),
        ({"estimator": LinearSVC()}, "must be a classifier with predict_proba"),
        ({"estimator": LogisticRegression}, "must be a classifier with predict_proba"),
    ],
)
def test_options_that_cannot_be(wine, options, said):
    X, noisy, _ = wine
    with pytest.raises(ValueError, match=said):
        fdiv.clean(X, noisy, progress=False, resume=False, **options)


def test_rows_that_are_there_twice_are_said():
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.repeat([0, 1], 20)
    X[1], X[39] = X[0], X[2]
    options = {"estimator": LogisticRegression(), "folds": 2, "progress": False, "resume": False}
    (note,) = (note for note in fdiv.clean(X, y, **options).notes if "equal" in note)
    assert note.startswith("4 rows are equal to another one, 2 of them under another label")
    assert not any("equal" in note for note in fdiv.clean(X[3:39], y[3:39], **options).notes)


def test_no_more_folds_than_the_rarest_class_has_labels():
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.repeat([0, 1], [24, 6])
    report = fdiv.clean(X, y, folds=20, estimator=LogisticRegression(), progress=False, resume=False)
    assert "there are 6 folds, as many as the rarest class has labels, instead of 20" in report.notes


def test_a_finished_fold_with_a_flipped_bit_is_judged_again(tmp_path):
    logits = np.arange(6.0).reshape(2, 3)
    keep_array(logits, tmp_path / "0.npz")
    data = bytearray((tmp_path / "0.npz").read_bytes())
    assert np.array_equal(kept_array(tmp_path / "0.npz", (2, 3)), logits)
    data[data.index(logits.tobytes()) + 3] ^= 1
    (tmp_path / "0.npz").write_bytes(data)
    assert kept_array(tmp_path / "0.npz", (2, 3)) is None


def test_rare_classes_are_not_called_wrong():
    rng = np.random.default_rng(0)
    truth = (rng.random(400) < 0.06).astype(int)
    X = rng.normal(size=(400, 4)) + 3 * np.eye(2, 4)[truth]
    wrong = rng.random(400) < 0.08
    report = fdiv.clean(X, np.where(wrong, 1 - truth, truth), folds=3, progress=False, resume=False)
    flagged = wrong[report.issues()["row"]]
    assert flagged.mean() > 0.7  # total variation, which answers both classes equally often, has a third
    assert flagged.sum() > 0.7 * wrong.sum()


def test_a_class_of_a_hundredth_of_the_labels_is_learnt_before_it_is_judged():
    X, y = make_classification(
        1200,
        10,
        n_informative=6,
        n_clusters_per_class=1,
        weights=[0.99],
        class_sep=1.2,
        flip_y=0,
        random_state=3,
    )
    report = fdiv.clean(X, y, folds=2, progress=False, resume=False)
    rare = report.per_class.set_index("class").loc["1"]
    assert rare["wrong"] < 0.5 * rare["labels"]  # from a cold start all twelve of them
    assert not any("hardly ever" in note for note in report.notes)


def test_classes_that_are_never_answered_are_named_and_no_advice_is_given_that_a_command_cannot_follow():
    y, names = np.repeat([0, 1, 2], [80, 15, 5]), np.array(["owl", "elk", "asp"])
    logits = np.eye(3)[np.where(y == 1, 1, 0)]
    (doubt,) = cleaning._doubts(logits, y, names)
    assert doubt == "the models hardly ever answer 'asp': what is said of these labels is not to be trusted"
    (few, none) = cleaning._doubts(np.eye(3)[np.zeros(100, int)], y, names)
    assert "hardly ever answer 'elk', 'asp'" in few
    assert "agree with 80% of the labels, no more than always saying 'owl'" in none
    nine = np.repeat(np.arange(9), 5)
    many, _ = cleaning._doubts(np.eye(9)[nine % 2], nine, np.array(list("abcdefghi")))
    assert "'c', 'd', 'e', 'f', 'g' and 2 more" in many


def test_a_table_is_shown_row_by_row_without_its_gaps():
    frame = pd.DataFrame({"size": [1.23456, None], "name": ["Bär", None], "n": [3, 4]})
    assert cleaning._texts(frame) == ["size: 1.235, name: Bär, n: 3", "n: 4"]
    assert cleaning._texts(frame[["name"]].fillna("")) == ["Bär", ""]


def test_data_that_tell_nothing_about_the_labels_are_called_so(report):
    rng = np.random.default_rng(0)
    nothing = fdiv.clean(rng.normal(size=(90, 3)), rng.integers(0, 3, 90), progress=False, resume=False)
    assert "neither the count nor the list is to be trusted" in str(nothing)
    assert "to be trusted" not in str(report)
