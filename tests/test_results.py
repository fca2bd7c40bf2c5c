"""The tables of the paper are typed right: gaps, maxima and highlights agree, but for listed misprints."""

import pandas as pd
import pytest

from fdiv.results import errata, paper_accuracies

TABLES = paper_accuracies()
BASELINES = ["ce", "blc", "flc", "dmi", "pl"]
WITHOUT_CORRECTION = (
    TABLES[TABLES.table.isin(["main", "main-full"])]
    .drop_duplicates(["dataset", "noise", "method"])
    .set_index(["dataset", "noise", "method"])
)
CORRECTED = TABLES[TABLES.table.str.startswith("bias") & TABLES["max"].notna()]


def test_every_table_is_complete():
    sizes = TABLES.table.value_counts().to_dict()
    assert sizes == {
        "clean": 4 * 4, "main": 22 * 8, "main-full": 22 * 7, "clothing1m": 10,
        "bias-cifar10": 16, "bias-mnist": 16, "bias-fashion-mnist": 16,
    }  # fmt: skip
    assert not TABLES.duplicated(["table", "dataset", "noise", "method"]).any()


def test_numbers_are_percentages_and_a_mean_is_at_most_the_maximum():
    spread = TABLES.dropna(subset=["mean"])
    assert TABLES["max"].dropna().between(20, 100).all()
    assert (spread["mean"] <= spread["max"]).all()
    assert spread["std"].between(0, 5).all()


def test_baselines_are_the_same_in_both_large_tables():
    baselines = TABLES[TABLES.method.isin(BASELINES) & TABLES.table.isin(["main", "main-full"])]
    assert (baselines.groupby(["dataset", "noise", "method"])["max"].nunique() == 1).all()


def test_gaps_of_the_clean_table_are_differences_of_means():
    clean = TABLES[TABLES.table == "clean"].set_index(["dataset", "method"])
    for (dataset, method), row in clean.iterrows():
        if method != "ce":
            assert row["gap"] == pytest.approx(row["mean"] - clean.loc[(dataset, "ce"), "mean"], abs=0.005)
            assert row["highlighted"] == ("yes" if row["gap"] > -1 else "no")


def gaps_of_correction(column: str) -> pd.Series:
    before = [WITHOUT_CORRECTION.loc[(r.dataset, r.noise, r.method), column] for r in CORRECTED.itertuples()]
    return (CORRECTED[column] - before).round(2)


def test_gaps_of_the_bias_tables_are_differences_of_maxima_but_for_three_misprints():
    off = CORRECTED[(gaps_of_correction("max") - CORRECTED["gap"]).abs() > 0.005]
    assert [tuple(row) for row in off[["table", "noise", "method"]].to_numpy()] == [
        ("bias-mnist", "sparse-high", "kl"),
        ("bias-mnist", "uniform-low", "js"),
        ("bias-mnist", "uniform-low", "kl"),
    ]


def test_five_gaps_change_their_sign_when_means_are_compared():
    better, mean_better = gaps_of_correction("max") >= 0, gaps_of_correction("mean") >= 0
    assert (better & ~mean_better).sum() == 5
    assert (~better & mean_better).sum() == 0


@pytest.mark.parametrize("table", ["main", "main-full"])
def test_divergences_are_highlighted_by_their_mean(table):
    for _, row in TABLES[TABLES.table == table].groupby(["dataset", "noise"]):
        best = row[row.method.isin(BASELINES)]["max"].max()
        ours = row[~row.method.isin(BASELINES)]
        assert list(ours.highlighted) == ["yes" if mean >= best else "no" for mean in ours["mean"]]


def test_one_best_baseline_is_not_highlighted():
    missed = []
    for (table, dataset, noise), row in TABLES[TABLES.table.str.startswith("main")].groupby(
        ["table", "dataset", "noise"]
    ):
        best = row.loc[row["max"].idxmax()]
        if best.method in BASELINES and best.highlighted == "no":
            missed.append((table, dataset, noise, best.method))
    assert missed == [("main-full", "cifar-10", "random-0.5", "pl")]


def test_no_method_passes_on_sparse_high_what_it_reaches_on_sparse_low():
    for dataset in ("mnist", "fashion-mnist", "cifar-10"):
        here = WITHOUT_CORRECTION.loc[dataset]["max"]
        assert here["sparse-high"].max() < here["sparse-low"].min() - 1


def test_errata_rows_name_a_verdict_and_something_that_shows_it():
    from fdiv.files import ROOT

    listed = errata()
    assert set(listed.verdict) == {"holds", "holds with correction", "fails"}
    assert not listed.duplicated("item").any()
    assert (listed.corrected[listed.verdict != "holds"].str.len() > 0).all()
    for row in listed.itertuples():
        for reference in row.shown_by.split("; "):
            path, _, test = reference.partition("::")
            text = (ROOT / path).read_text(encoding="utf-8")
            assert not test or f"def {test}(" in text, f"{row.item}: {reference}"
        if row.verdict == "fails":
            assert "::" in row.shown_by, f"{row.item} fails, so a test must evaluate a counterexample"


def test_errata_cover_every_numbered_statement_table_and_matrix():
    items = " | ".join(errata().item)
    numbered = [f"Theorem {n}" for n in (1, 3, 4, 5, 6, 7, 8, 9, 11)]
    numbered += ["Remark 2", "Lemma 1", "Corollary 1", "Proposition 10", "Algorithm 1", "Figure 1"]
    numbered += [f"Definition {n}" for n in (1, 2, 3)] + [f"Table {n}" for n in range(1, 10)]
    matrices = [f"{d} {s}" for d in ("MNIST", "CIFAR-10") for s in ("sparse", "uniform", "random")]
    assert [item for item in numbered + matrices if item not in items] == []
