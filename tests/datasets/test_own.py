"""What people have: each messy file works or is refused in one sentence, and what was decided is said."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from fdiv.datasets import own
from fdiv.learning.cleaning import clean

ROWS = [(1.5 + i % 3, "ab"[i % 2], ["fig", "plum"][i % 2]) for i in range(40)]
PLAIN = "size,colour,kind\n" + "".join(f"{a},{b},{c}\n" for a, b, c in ROWS)


def written(tmp_path, data, name="table.csv"):
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


@pytest.mark.parametrize(
    "data",
    [
        PLAIN,
        PLAIN.replace(",", ";"),
        PLAIN.replace(",", "\t"),
        b"\xef\xbb\xbf" + PLAIN.encode(),
        PLAIN.encode("utf-16"),
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace(",", ";").replace(".", ","),
        PLAIN.replace(",", ", "),
        PLAIN.replace("kind", " kind "),
    ],
    ids=["comma", "semicolon", "tab", "bom", "utf-16", "crlf", "decimal-comma", "spaces", "header-spaces"],
)
def test_a_table_is_read_however_it_was_saved(tmp_path, data):
    read = own.read(written(tmp_path, data), label="kind")
    assert read.kind == "table"
    assert read.labels.tolist() == [kind for *_, kind in ROWS]
    np.testing.assert_allclose(read.features["size"], [size for size, *_ in ROWS])
    assert read.features["colour"].tolist() == [colour for _, colour, _ in ROWS]
    assert all("'colour' has one value for each label" in note for note in read.notes)


def test_latin_1_keeps_its_letters_and_says_so(tmp_path):
    data = PLAIN.replace("plum", "prünelle").encode("latin-1")
    read = own.read(written(tmp_path, data), label="kind")
    assert set(read.labels) == {"fig", "prünelle"}
    assert "not UTF-8" in read.notes[0]


def test_codes_keep_their_zeros_as_labels_and_are_numbers_to_learn_from(tmp_path):
    codes = PLAIN.replace("fig", "007").replace("plum", "012").replace("1.5,", "0015,")
    read = own.read(written(tmp_path, codes), label="kind")
    assert set(read.labels) == {"007", "012"}
    assert set(read.features["size"]) == {15, 2.5, 3.5}
    (labels,) = own.read_labels(written(tmp_path, "kind\n007\n012\n")).unique()[:1]
    assert labels == "007"


def test_labels_in_any_spelling_of_their_column_and_as_numbers(tmp_path):
    assert len(own.read(written(tmp_path, PLAIN), label="KIND").labels) == 40
    numbers = PLAIN.replace("fig", "1.0").replace("plum", "2.0")
    assert set(own.read(written(tmp_path, numbers), label="kind").labels) == {"1", "2"}


def test_what_is_decided_is_said(tmp_path):
    frame = pd.DataFrame(ROWS, columns=["size", "colour", "kind"])
    frame["row_id"] = range(100, 140)
    frame["name"] = [f"n{i}" for i in range(40)]
    frame["about"] = [f"a fruit of tree {i} with {i % 3} leaves" for i in range(40)]
    frame["day"] = [f"2020-01-{1 + i % 28:02d}" for i in range(40)]
    frame["nothing"] = np.nan
    frame["odd"] = [str(i) for i in range(0, 78, 2)] + ["many"]
    frame.loc[[0, 1], "size"] = np.nan
    frame.loc[2, "size"] = np.inf
    frame.loc[3, "colour"] = None
    frame.loc[[4, 5, 6], "kind"] = [None, "?", " "]
    frame.loc[7, "kind"] = "Fig"
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    read = own.read(path, label="kind")
    notes = "\n".join(read.notes)
    assert "3 rows have no label and are set aside" in notes
    assert "fewer than 5 examples cannot be judged and are set aside: 'Fig' (1)" in notes
    assert "differ by capitals alone" in notes
    for name in ("row_id", "name"):
        assert f"column {name!r} only names the rows" in notes
    assert "column 'about' is free text" in notes
    assert "column 'day' holds dates" in notes
    assert "column 'nothing' is empty" in notes
    assert "column 'odd' holds numbers but for 1 such as 'many'" in notes
    assert "'size' (3)" in notes
    assert len(read.labels) == 36
    assert read.rows.tolist() == [0, 1, 2, 3, *range(8, 40)]
    numbers = read.features.select_dtypes("number")
    assert np.isfinite(numbers.to_numpy()).all()
    assert {"row_id", "name", "nothing"}.isdisjoint(read.features.columns)
    assert read.features["colour"].iloc[3] == "(missing)"


@pytest.mark.parametrize(
    ("data", "label", "message"),
    [
        ("", "kind", "table.csv is empty"),
        (" \n\n", "kind", "is empty"),
        ("size,kind\n", "kind", "has a header but no rows"),
        (PLAIN, None, "say which column holds the labels, --label NAME; the columns are size, colour, kind"),
        (PLAIN, "sort", "no column is called 'sort'; the columns are size, colour, kind"),
        (PLAIN, "knd", r"no column is called 'knd' \(did you mean 'kind'\?\); the columns are size"),
        (
            "x,y\n" + "1,a\n1,b\n" * 9,
            "y",
            r"learnt from \(column 'x' is the same in every row and left out\)",
        ),
        (PLAIN.replace("colour", "kind"), "kind", "two columns are called 'kind'"),
        (PLAIN.replace("plum", "fig"), "kind", "one class only, 'fig'"),
        (PLAIN.replace("fig", "").replace("plum", ""), "kind", "holds no label at all"),
        ("x,y\n" + "".join(f"{i % 3},{i + 0.5}\n" for i in range(30)), "y", "measurements and no classes"),
        ("x,y\n" + "".join(f"{i % 3},name {i}\n" for i in range(60)), "y", "60 different labels in 60 rows"),
        ("id,kind\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(20)), "kind", "no column besides"),
        ("a,b\n1,2\n1,2,3,4\n" + "1,2\n" * 30, "b", "is no regular table"),
        ("a,b\n1,2,3\n" + "1,2\n" * 30, "b", "a line has more values than the 2 columns"),
        ("a,b\n" + "1,2,3\n" * 30, "b", "a line has more values than the 2 columns"),
        (b"PK\x03\x04\x00\x00\x00\x00", "b", "not a table of text"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_in_a_sentence(tmp_path, data, label, message):
    with pytest.raises(ValueError, match=message) as refused:
        own.read(written(tmp_path, data), label=label)
    assert "\n" not in str(refused.value)


def test_of_many_columns_the_last_are_named_and_those_that_never_change_in_one_note(tmp_path):
    names, row = ",".join(f"p{i}" for i in range(30)), ",".join("0" * 29)
    data = f"{names},kind\n" + "".join(f"{row},{i},{'ab'[i % 3 > 1]}\n" for i in (3, 1, 4, 1, 5, 9, 2, 6) * 4)
    with pytest.raises(ValueError, match=r"p8, p9, \.\.\., p26, p27, p28, p29, kind$"):
        own.read(written(tmp_path, data))
    read = own.read(written(tmp_path, data), label="KIND")
    assert list(read.features.columns) == ["p29"]
    (note,) = (note for note in read.notes if "same in every row" in note)
    assert note.startswith("column 'p0', 'p1'")


def test_a_duplicate_header_elsewhere_is_renamed(tmp_path):
    read = own.read(written(tmp_path, PLAIN.replace("size,colour", "size,size")), label="kind")
    assert "two columns are called 'size'" in read.notes[0]
    assert list(read.features.columns) == ["size", "size.1"]


def test_files_that_are_none(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"there is no .*nowhere.csv: pass a table"):
        own.read(tmp_path / "nowhere.csv", label="y")
    with pytest.raises(ValueError, match=r"save it as \.csv"):
        own.read(written(tmp_path, b"x", "table.xlsx"), label="y")
    monkeypatch.setattr(own, "LARGEST_FILE", 100)
    with pytest.raises(ValueError, match="GB, but at most"):
        own.read(written(tmp_path, PLAIN), label="kind")


# --- embeddings --------------------------------------------------------------------------------------------


def test_embeddings_with_labels_in_files_of_several_kinds(tmp_path):
    X, y = np.random.default_rng(0).random((30, 4)), np.arange(30) % 3
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", y)
    kinds = {
        "header.csv": "label\n" + "\n".join(map(str, y)) + "\n",
        "bare.csv": "\n".join(map(str, y)) + "\n",
        "two.csv": "id,label\n" + "".join(f"{i},{k}\n" for i, k in enumerate(y)),
    }
    for name, text in kinds.items():
        (tmp_path / name).write_text(text)
    for name in ("y.npy", *kinds):
        read = own.read(tmp_path / "x.npy", tmp_path / name)
        assert read.kind == "embeddings"
        assert read.labels.tolist() == [str(k) for k in y], name
    with pytest.raises(ValueError, match="name the file of its labels"):
        own.read(tmp_path / "x.npy")
    (tmp_path / "short.csv").write_text("label\n1\n2\n")
    with pytest.raises(ValueError, match="2 labels below the first line for 30 examples"):
        own.read(tmp_path / "x.npy", tmp_path / "short.csv")
    with pytest.raises(ValueError, match="no file of labels"):
        own.read(tmp_path / "x.npy", tmp_path / "none.csv")
    X[3, 0] = np.nan
    np.save(tmp_path / "x.npy", X)
    read = own.read(tmp_path / "x.npy", tmp_path / "y.npy")
    assert 3 not in read.rows
    assert "1 rows hold NaN" in read.notes[0]


def test_a_class_that_only_rows_without_numbers_have_is_set_aside_with_them():
    X, y = np.zeros((35, 2), np.float16), np.repeat(["a", "b", "c"], [15, 15, 5])
    X[30:33, 1] = np.nan
    read = own.from_arrays(X, y)
    assert sorted(set(read.labels)) == ["a", "b"]
    assert "3 rows hold NaN or infinity and are set aside, the first is 30" in read.notes
    assert any("'c' (2)" in note for note in read.notes)
    with pytest.raises(ValueError, match="every row of the data holds NaN"):
        own.from_arrays(X + np.nan, y)


def test_arrays_of_objects_are_refused_without_advice_to_trust_them(tmp_path):
    np.save(tmp_path / "x.npy", np.array([[1, "a"]], dtype=object))
    (tmp_path / "y.npy").write_text("hello")
    for name in ("x.npy", "y.npy"):
        with pytest.raises(ValueError, match=r"that can be read \(it holds no plain numbers\)$"):
            own.read(tmp_path / name, tmp_path / "labels.csv")


# --- pictures ----------------------------------------------------------------------------------------------


@pytest.fixture
def photos(tmp_path):
    from PIL import Image

    folder = tmp_path / "photos"
    for kind, colour in (("Äpfel", (200, 30, 30)), ("Birnen", (60, 180, 40))):
        (folder / kind).mkdir(parents=True)
        for i in range(6):
            Image.new("RGB", (9, 6), colour).save(folder / kind / f"{kind[0]}{i}.png")
    (folder / "Äpfel" / "broken.jpg").write_bytes(b"no picture")
    (folder / "Äpfel" / "notes.txt").write_text("not a picture at all")
    return folder


def test_one_folder_per_class(photos):
    read = own.read(photos)
    assert read.kind == "images"
    assert set(read.labels) == {"Äpfel", "Birnen"}
    assert len(read.features) == 12
    assert "1 picture cannot be read and is skipped: broken.jpg" in read.notes
    shutil.copy(photos / "Birnen" / "B0.png", photos / "loose.png")
    assert "1 picture lies in no class's folder: skipped, such as loose.png" in own.read(photos).notes


def test_a_table_of_files_and_labels(photos, tmp_path):
    lines = ["file,label"] + [f"Birnen/B{i}.png,pear" for i in range(6)] + [f"Ä{i},apple" for i in range(6)]
    labels = tmp_path / "labels.csv"
    labels.write_text("\n".join([*lines, "gone.png,pear"]))
    read = own.read(photos, labels)
    assert read.labels.tolist() == ["pear"] * 6 + ["apple"] * 6
    assert any("labels.csv names 1 of which there is no picture in the folder" in note for note in read.notes)
    assert any("1 picture has no line" in note for note in read.notes)
    with pytest.raises(ValueError, match=r"no column of labels\.csv is called 'sort'"):
        own.read(photos, labels, "sort")
    labels.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"no column of labels\.csv names the pictures"):
        own.read(photos, labels)


def test_folders_that_are_none(tmp_path):
    with pytest.raises(ValueError, match="no folder of pictures for each class: it has none"):
        own.read(tmp_path)
    with pytest.raises(ValueError, match="2 labels for 1 pictures"):
        own.from_pictures(["a.png"], ["x", "y"])


# --- a row of the catalogue --------------------------------------------------------------------------------


def test_a_folder_becomes_a_row_that_trains_in_any_shape(photos, tmp_path):
    from fdiv.datasets import CATALOGUE, noisy_data
    from fdiv.experiments import recipe
    from fdiv.learning import fit

    with pytest.warns(UserWarning, match=r"^fruit: 1 picture cannot be read and is skipped: broken.jpg$"):
        row = own.image_folder("fruit", photos, size=(6, 9), model="torchvision/squeezenet1_1")
    (photos / "Äpfel" / "broken.jpg").unlink()
    assert (row.shape, row.num_classes, row.train, row.validation) == ((3, 6, 9), 2, 8, 2)
    with CATALOGUE.registered(own.image_folder("fruit", photos, size=(16, 24))):
        data = noisy_data("fruit", "human")
        assert data.split.train_images.shape == (8, 3, 16, 24)
        assert data.split.train_clean_labels is None
        run = fit(data.split, "ce", recipe("fruit", "ce"), progress=False)
        assert len(run.history) == 15
    held = own.image_folder("fruit", photos, test=photos)
    assert len(held.split().test_labels) == 12
    assert recipe("digits", "ce").model == "small-net"
    with CATALOGUE.registered(row):
        assert recipe("fruit", "dmi").warm_up.model == "torchvision/squeezenet1_1"


def test_models_of_torchvision_and_shapes(photos):
    import torch

    from fdiv.learning import build_model

    net = build_model("torchvision/squeezenet1_1", torch.empty(0, 3, 40, 64), 3).eval()
    assert net(torch.zeros(2, 3, 40, 64)).shape == (2, 3)
    assert build_model("cifar-net", torch.empty(0, 3, 16, 24), 3).eval()(torch.zeros(2, 3, 16, 24)).shape == (
        2,
        3,
    )
    with pytest.raises(ValueError, match="no torchvision model is called 'resnet19'"):
        build_model("torchvision/resnet19", torch.empty(0, 3, 40, 64), 3)
    with pytest.raises(ValueError, match="the model 'small-net' takes square images, not 16 x 24: choose"):
        build_model("small-net", torch.empty(0, 3, 16, 24), 3)
    apples = photos.parent / "apples"
    for kind in ("Äpfel", "other"):
        (apples / kind).mkdir(parents=True)
        for i in range(6):
            (apples / kind / f"{i}.png").write_bytes((photos / "Äpfel" / "Ä0.png").read_bytes())
    with pytest.raises(ValueError, match="the clean pictures have the label 'Birnen'"):
        own.image_folder("fruit", apples, test=photos)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("x,y\n" + "1,inf\n2,1\n" * 20, "measurements and no classes"),
        ("x,y\n" + "1,1e300\n2,1\n" * 20, "measurements and no classes"),
        ("\u2028", "has a header but no rows|is empty"),
        (b"\xff\xfea\x00,", "table.csv begins as UTF-16"),
        ("y\n" + "a\nb\n" * 9, "no column besides 'y' can be learnt from$"),
    ],
    ids=["infinite", "huge", "one-separator", "utf-16", "labels-only"],
)
def test_odd_tables_are_refused_in_a_sentence(tmp_path, data, said):
    with pytest.raises(ValueError, match=said):
        own.read(written(tmp_path, data), label="y")


def test_a_cell_may_hold_a_document_and_a_date_the_end_of_time(tmp_path):
    text = "x,doc,end,y\n" + "".join(
        f"{i % 3},{'word ' * 30_000},{'9999-12-31' if i % 3 else '2020-01-02'},{'ab'[i % 2]}\n"
        for i in range(12)
    )
    read = own.read(written(tmp_path, text), label="y")
    assert read.features["end"].max() == pytest.approx(2932896)
    assert read.features["end"].min() == 18263


@pytest.mark.parametrize("place", ["/dev/zero", "/dev/null"])
def test_a_device_is_no_table(place):
    with pytest.raises(ValueError, match="is no file"):
        own.read(place, label="y")


def test_arrays_that_promise_too_much_or_are_several(tmp_path):
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999, 99), }".ljust(117) + b"\n"
    (tmp_path / "claims.npy").write_bytes(b"\x93NUMPY\x01\x00" + bytes([118, 0]) + header + bytes(99))
    np.savez(tmp_path / "z.npz", a=np.ones(3))
    (tmp_path / "z.npz").rename(tmp_path / "z.npy")
    labels = written(tmp_path, "y\n" + "a\nb\n" * 9, "y.csv")
    for name, said in (("claims.npy", "no array that can be read"), ("z.npy", "several arrays")):
        with pytest.raises(ValueError, match=said):
            own.read(tmp_path / name, labels)


def test_frames_with_two_columns_of_one_name_or_lists_in_a_column():
    frame = pd.DataFrame({"a": [[1]] * 12, "x": [0, 1] * 6, "y": ["p", "q"] * 6})
    read = own.from_table(frame, "y")
    assert list(read.features) == ["x"]
    assert "column 'a' holds lists" in read.notes[0]
    with pytest.raises(ValueError, match="two columns are called 'x'"):
        own.from_table(frame.set_axis(["x", "x", "y"], axis=1), "y")


def test_names_that_utf8_cannot_write_are_spelled_out(tmp_path):
    for label in (b"c\xffat", b"dog"):
        os.makedirs(os.fsencode(tmp_path) + b"/" + label)
        for number in range(6):
            Image.new("RGB", (4, 4)).save(
                os.fsdecode(os.fsencode(tmp_path) + b"/" + label + b"/%d.png" % number)
            )
    read = own.read(tmp_path)
    assert set(read.labels) == {"c\\udcffat", "dog"}
    "".join(read.shown).encode()


def notes_of(**columns):
    frame = pd.DataFrame({"a": np.linspace(0, 1, 120) ** 2, "y": ["cat", "dog"] * 60} | columns)
    read_in = own.from_table(frame, "y")
    return read_in.features, " | ".join(read_in.notes)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("%d.%m.%Y", "(the day first)"),
        ("%m/%d/%Y", "(the month first)"),
        ("%d/%m/%Y %H:%M", "(the day first)"),
        ("%b %d, %Y", ""),
        ("%Y-%m-%dT%H:%M:%SZ", ""),
    ],
)
def test_dates_are_read_as_people_write_them(written, said):
    dates = pd.date_range("2020-01-01", periods=120, freq="53h")
    features, notes = notes_of(when=dates.strftime(written))
    expected = (dates.normalize() if "%H" not in written else dates) - pd.Timestamp(0)
    hours = 0 if "S" in written or "%H" not in written else 1 / 24
    assert np.allclose(features["when"], expected / pd.Timedelta(days=1), atol=hours)
    assert f"'when' holds dates, which became days{' ' + said if said else ''}" in notes


@pytest.mark.parametrize("written", ["%d.%m.%Y", None])
def test_a_row_for_each_day_does_not_number_the_rows(written):
    days = pd.date_range("2020-01-01", periods=120)
    features, notes = notes_of(day=days.strftime(written) if written else days, number=range(120))
    assert features["day"].diff().dropna().eq(1).all()
    assert "number" not in features
    assert "'day' only names the rows" not in notes


def test_amounts_of_money_and_percentages_are_numbers():
    features, notes = notes_of(price=[f"${900.5 + i:,.2f}" for i in range(120)], share=["12.5 %", "7%"] * 60)
    assert features["price"].tolist()[99:101] == [999.5, 1000.5]
    assert features["share"].tolist()[:2] == [12.5, 7.0]
    assert "price" not in notes


def test_many_categories_are_cut_down_for_every_fold():
    features, notes = notes_of(x=[f"c{i % 60}" for i in range(120)])
    assert "60 categories: the 49 most frequent are told apart" in notes
    assert features["x"].nunique() == 50
    own_frame = pd.DataFrame({"x": [f"c{i % 60}" for i in range(120)], "y": ["cat", "dog"] * 60})
    assert len(clean(own_frame, "y", folds=2, progress=False, resume=False).labels) == 120


def test_a_copy_of_the_label_is_pointed_out():
    assert "column 'number' has one value for each label" in notes_of(number=[0, 1] * 60)[1]
    assert "one value" not in notes_of(number=[0, 1] * 59 + [1, 0])[1]


def test_a_class_that_reads_as_missing_is_explained():
    with pytest.raises(ValueError, match=r"one class only, 'EU', besides 10 rows without one .*call a class"):
        own.checked_labels(pd.Series(["?", "EU"] * 10))


def test_a_table_without_a_header_is_explained(tmp_path):
    (tmp_path / "t.csv").write_text("1.5,2.5,cat\n" * 20)
    with pytest.raises(ValueError, match="its first line seems to be no header, put one above"):
        own.read(tmp_path / "t.csv", label="kind")


def test_pictures_without_pillow_name_the_extra(monkeypatch):
    monkeypatch.setattr(own.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"pip install 'fdiv\[images\]'"):
        own.from_pictures(["a.png"], ["cat"])


def test_labels_that_look_alike_are_pointed_out():
    _, _, notes = own.checked_labels(["a", "a\u200b", "café", "cafe\u0301", "B", "b", "c d", "c\u00a0d"] * 5)
    assert notes == [
        "the labels 'a' and 'a\\u200b' look alike, so they may be one class",
        "the labels 'café' and 'cafe\u0301' look alike, so they may be one class",
        "the labels 'B' and 'b' differ by capitals alone, so they may be one class",
        "the labels 'c d' and 'c\\xa0d' look alike, so they may be one class",
    ]


def test_a_cell_of_a_million_letters_is_cut_off_in_what_is_said(tmp_path):
    number = "x,y\n" + "1.5,a\n2.5,b\n" * 20 + "A" * 10**6 + ",a\n"
    notes = own.read(written(tmp_path, number.encode()), label="y").notes
    assert "holds numbers but for 1 such as 'AAA" in notes[0]
    assert all(len(note) < 200 for note in notes)
    label = "x,y\n" + "1.5,a\n2.5,b\n" * 20 + "3," + "A" * 10**6 + "\n"
    with pytest.raises(ValueError, match="column 'y' holds a label of 1000000 characters, which is no name"):
        own.read(written(tmp_path, label.encode()), label="y")
    header = "A" * 10**6 + ",y\n" + "1.5,a\n2.5,b\n" * 20
    with pytest.raises(ValueError, match="a column has a name of 1000000 characters"):
        own.read(written(tmp_path, header.encode()), label="y")


def test_the_numbers_of_a_text_and_a_column_called_alike_are_told_apart():
    texts = [f"the quick brown fox number {i} is {i * 7 % 13}" for i in range(100)]
    frame = pd.DataFrame({"a": texts, "a 0": np.random.default_rng(0).random(100), "y": ["p", "q"] * 50})
    names = own.from_table(frame, "y").features.columns
    assert names.is_unique
    assert {"a 0", "a 0'", "a 1"} <= set(names)


@pytest.mark.parametrize("path", ["n" * 5000, "~nobody-of-this-name/x.csv"])
def test_a_path_without_a_place_is_refused_in_a_sentence(tmp_path, path):
    with pytest.raises(ValueError, match="cannot be looked at") as refused:
        own.read(path)
    assert len(str(refused.value)) < 250
    with pytest.raises(ValueError, match="cannot be looked at"):
        own.read(tmp_path, path)


def test_a_name_that_two_pictures_have_is_refused(photos, tmp_path):
    for kind in ("cat", "dog"):
        (photos / kind).mkdir()
        Image.new("RGB", (4, 4)).save(photos / kind / "same.png")
    table = written(tmp_path, "file,label\nsame.png,cat\n" + "cat/same.png,cat\ndog/same.png,dog\n" * 5)
    with pytest.raises(
        ValueError, match=r"names 'same.png', which '\w+/same.png' and '\w+/same.png' are both"
    ):
        own.read(photos, table)
    table = written(tmp_path, "file,label\n" + "cat/same.png,cat\ndog/same.png,dog\n" * 5)
    assert "more than one line for 8 of the pictures" in own.read(photos, table).notes[0]


def test_hidden_and_closed_folders_are_left_out_and_said(photos, monkeypatch):
    before = len(own.read(photos).labels)
    (photos / ".trash").mkdir()
    for i in range(6):
        Image.new("RGB", (4, 4)).save(photos / ".trash" / f"{i}.png")
    (photos / "closed").mkdir()
    (photos / "all").symlink_to(photos)
    scandir = os.scandir

    def closed(place):
        if str(place).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(place))
        return scandir(place)

    monkeypatch.setattr(os, "scandir", closed)
    read = own.read(photos)
    assert len(read.labels) == before
    assert read.notes[0] == "6 hidden pictures are left out"
    assert read.notes[1].endswith("closed is left out (Permission denied)")
