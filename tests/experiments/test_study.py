"""A study measures what its table lacks, once, and the tables of all studies are whole."""

import importlib
import re
import sys

import pytest
from filelock import FileLock

from fdiv.experiments import study as studies
from fdiv.experiments.study import Study

MODULES = ("choose_rule", "fast_recipe", "human_noise", "label_counts", "own_data", "own_tables")
CASES = [{"letter": letter, "rate": rate} for letter in ("a b", "c %") for rate in (0.05, 0.35)]


@pytest.fixture
def calls(tmp_path, runs, monkeypatch):
    """The cases that were measured; tables lie in a folder of their own."""
    monkeypatch.setattr(studies, "RESULTS", tmp_path)
    return []


def study_of(calls, **options):
    def measure(letter, rate):
        calls.append((letter, rate))
        return {"twice": 2 * rate}

    return Study("toy", CASES, measure, **options)


def test_the_table_grows_case_by_case_and_nothing_is_measured_twice(calls):
    toy = study_of(calls)
    assert toy.measured().empty
    toy.run(CASES[:2])
    first = toy.path.read_text()
    toy.run(CASES)
    assert calls == [tuple(case.values()) for case in CASES]
    assert toy.path.read_text().startswith(first)
    table = toy.measured()
    assert table["twice"].tolist() == [0.1, 0.7, 0.1, 0.7]
    assert table[["commit", "torch", "date"]].notna().all(axis=None)
    assert not any(toy.lacks(case) for case in CASES)


def test_what_was_measured_before_a_stop_is_kept(calls):
    toy = study_of(calls)
    broken = Study("toy", CASES, lambda letter, rate: toy.measure(letter, rate) | {"x": 1 / (rate - 0.35)})
    with pytest.raises(ZeroDivisionError):
        broken.run(CASES)
    assert len(toy.measured()) == 1
    toy.run(CASES)
    assert [rate for _, rate in calls] == [0.05, 0.35, 0.35, 0.05, 0.35]


def test_a_case_can_have_several_rows_and_new_ones_take_their_place(calls, monkeypatch):
    found = [{"row": 1}, {"row": 2}]
    toy = Study("toy", CASES, lambda letter, rate: found)
    toy.run(CASES)
    assert len(toy.measured()) == 8
    del found[1]
    toy.run(CASES[:1])
    assert len(toy.measured()) == 8
    monkeypatch.setattr(studies, "provenance", lambda: {"commit": "123456789012"})
    toy.run(CASES[:1], anew=True)
    toy.run(CASES[:1], anew=True)  # is of this commit already
    table = toy.measured()
    assert len(table) == 7
    assert table["commit"].tolist()[-1] == "123456789012"  # the text, not the number


def test_a_row_that_lacks_a_column_which_came_later_is_measured_again(calls):
    study_of(calls).run(CASES[:1])
    later = study_of(calls, needs=("twice", "thrice"))
    assert later.lacks(CASES[0])
    assert not study_of(calls, needs=("twice",)).lacks(CASES[0])


def test_a_case_that_another_process_is_at_is_left_to_it(calls, runs):
    toy = study_of(calls)
    (runs / "studies").mkdir(parents=True)
    with FileLock(runs / "studies" / "toy-a-b-0.05.lock"):
        toy.run(CASES[:2])
    assert calls == [("a b", 0.35)]
    toy.run(CASES[:2])
    assert calls == [("a b", 0.35), ("a b", 0.05)]


def test_the_command_takes_some_of_the_cases(calls, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["toy", "Letter=C", "rate=0.05,0.35"])
    toy = study_of(calls)
    toy.command("A toy.", lambda: f"{len(toy.measured())} rows")
    assert calls == [("c %", 0.05), ("c %", 0.35)]
    assert capsys.readouterr().out == "2 rows\n"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("lettre=c", r"no column of a case is called 'lettre' \(did you mean 'letter'\?\)"),
        ("letter=d", "no letter is called 'd'; choose from a b, c %"),
        ("letter", "'letter' is not of the form field=value"),
    ],
)
def test_an_unknown_case_is_refused_in_a_sentence(calls, monkeypatch, capsys, words, says):
    monkeypatch.setattr(sys, "argv", ["toy", words])
    with pytest.raises(SystemExit):
        study_of(calls).command("A toy.")
    assert re.search(says, capsys.readouterr().err)
    assert not calls


@pytest.mark.parametrize("name", MODULES)
def test_the_committed_table_is_whole_and_of_clean_commits(name):
    study = importlib.import_module(f"fdiv.experiments.{name}").STUDY
    table = study.measured()
    assert not table["commit"].str.endswith("+").any()
    keys = [tuple(case.values()) for case in study.cases]
    found = list(table[list(study.cases[0])].itertuples(index=False, name=None))
    assert set(found) == set(keys)
    assert not any(study.lacks(case) for case in study.cases[:: len(keys) // 3])
