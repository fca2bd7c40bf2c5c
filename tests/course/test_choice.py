"""The page that helps to choose a loss: its lines of code run, and its lessons exist."""

import pandas as pd
import pytest
import torch

import fdiv.learning as learning
from fdiv.course.notebooks import FOLDER
from fdiv.course.site.choice import TREE, Advice
from fdiv.experiments import average_ranks, critical_difference, paired_difference
from fdiv.experiments import then_and_now as study
from fdiv.files import RESULTS
from fdiv.noise import symmetric


def ends(node):
    return [node] if isinstance(node, Advice) else [end for to in node.answers.values() for end in ends(to)]


@pytest.mark.parametrize("advice", ends(TREE), ids=lambda advice: advice.code)
def test_a_path_ends_in_a_loss_that_learns_and_in_lessons_that_exist(advice):
    T = symmetric(0.3, 4)
    loss = eval(advice.code, vars(learning) | {"K": 4, "T": T, "T_estimated": T})
    z = torch.randn(8, 4, requires_grad=True)
    loss(z, torch.arange(8) % 4).backward()
    assert z.grad.abs().sum() > 0
    for number in advice.notebooks:
        assert list(FOLDER.glob(f"{number}_*.ipynb")), number


def test_what_the_tree_says_of_measurements_was_measured():
    """Its sentences about total variation, light noise, tweets and the choice of the epoch."""
    means = study.table("features").dropna()
    ranks = average_ranks(means)
    assert ranks.index[0] == "tv"
    assert (ranks[list(study.NOW)] <= ranks["tv"] + critical_difference(len(ranks), len(means))).sum() >= 8

    images = study.on_images(other="tv").query("noise != 'sparse-high'").set_index("method")
    assert images.loc[["js", "gce"], "verdict"].ne("behind").all()
    assert images.loc[["js", "gce"], "verdict"].eq("ahead").sum() >= 3

    light = means.loc["uniform-0.2"]
    assert light.max() - light["ce"] < 2

    people = pd.read_csv(RESULTS / "own_data.csv")
    for encoding in ("tweets as words", "tweets as sentences"):
        tweets = people[people["data"] == encoding].pivot_table("accuracy", ["labels", "seed"], "method")
        assert paired_difference(tweets["ce-stopped"], tweets["tv"]).verdict == "ahead"

    chosen = {rule: study.table("paper", rule).loc["sparse-high"] for rule in study.RULES}
    scores = {rule: row["pearson-logit"] for rule, row in chosen.items()}
    assert scores["noisy-objective"] > scores["noisy-accuracy"] + 5
    assert scores["noisy-objective"] > chosen["noisy-objective"].drop(list(study.OURS)).max() + 5
