"""Networks trained side by side are those trained alone, and the study's file grows cell by cell."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from fdiv.datasets import noisy_data
from fdiv.datasets.features import principal
from fdiv.experiments import study as studies
from fdiv.experiments import then_and_now as study
from fdiv.experiments.then_and_now import BUDGETS, DECAYS, PARTS, Budget, Stack, chosen, compare
from fdiv.learning.losses import CrossEntropy
from fdiv.learning.methods import METHODS
from fdiv.learning.modern import JensenShannon, sharpness_aware
from fdiv.theory.divergences import DIVERGENCES

TINY = Budget(dataset="digits", train=300, validation=100, hidden=16, epochs=3, batch=50, rate=1e-2)


@pytest.fixture(scope="module")
def split():
    return noisy_data("digits", "sparse-low").split


def test_a_stack_is_what_torchs_layers_compute():
    stack = Stack((0, 1), 12, 7, 3)
    x = torch.randn(2, 5, 12)
    for which in range(2):
        first, second = nn.Linear(12, 7), nn.Linear(7, 3)
        values = [weight[which].detach() for weight in stack.weights]
        for layer, weight, bias in ((first, *values[:2]), (second, *values[2:])):
            layer.weight.data, layer.bias.data = weight.T, bias[0]
        expected = nn.Sequential(first, nn.ReLU(), second)(x[which])
        assert torch.allclose(stack.logits(x)[which], expected, atol=1e-5)
        assert torch.allclose(stack.predictions(x[which])[which], expected, atol=1e-5)
    assert not stack.weights[0][0].equal(stack.weights[0][1])
    assert Stack((1,), 12, 7, 3).weights[0][0].equal(stack.weights[0][1])


@pytest.mark.parametrize(
    ("method", "budget"),
    [
        *((method, TINY) for method in ("ce", "tv", "elr", "nls", "dmi", "strong-ce")),
        ("gjs", dataclasses.replace(TINY, views=True)),
        ("ce", dataclasses.replace(TINY, views=True, sharpness=0.5)),
    ],
)
def test_a_seed_learns_the_same_alone_as_in_company(split, method, budget):
    """Also with a loss that remembers every example, with two views of each, and uphill."""
    together, _ = compare(split, method, budget, seeds=(3, 4, 5), decay="l1")
    alone, _ = compare(split, method, budget, seeds=(4,), decay="l1")
    one = together[together["seed"] == 4]
    for column in ("validation_accuracy", "test_accuracy", "memorised"):
        np.testing.assert_allclose(one[column], alone[column], atol=0.011)


@pytest.mark.parametrize("method", [name for name in METHODS if name not in study.SEED_BY_SEED])
def test_one_call_for_all_seeds_is_the_sum_of_their_losses(split, method):
    draw = torch.Generator().manual_seed(0)
    views = [torch.randn(3, 64, 10, generator=draw) for _ in range(1 + METHODS[method].two_views)]
    y = torch.randint(10, (3, 64), generator=draw)
    index = torch.stack([torch.randperm(100, generator=draw)[:64] for _ in range(3)])
    together = study._Losses(method, split, 100, 3, None)
    together.set_epoch(9, 10)
    expected = 0.0
    for which in range(3):
        alone = study._Losses(method, split, 100, 1, None)
        alone.set_epoch(9, 10)
        own = [z[which : which + 1] for z in views]
        expected += alone(own, y[which : which + 1], index[which : which + 1]).item()
    assert together(views, y, index).item() == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_the_first_epoch_is_adams_on_the_batches_of_the_seed(split):
    """A plain loop with torch's own Adam ends in the same weights' answers."""
    budget = dataclasses.replace(TINY, epochs=1)
    rows, logits = compare(split, "ce", budget, seeds=(2,))
    stack, x = Stack((2,), 64, 16, 10), split.train_images[:300].flatten(1)
    optimiser, loss = torch.optim.Adam(stack.weights, lr=1e-2), CrossEntropy(10)
    order = stack.shuffled(300)[0]
    for step in range(6):
        optimiser.param_groups[0]["lr"] = 1e-2 * (1 - step / 6)
        part = order[50 * step : 50 * (step + 1)]
        optimiser.zero_grad()
        loss(stack.logits(x[part][None])[0], split.train_labels[:300][part]).backward()
        optimiser.step()
    assert torch.allclose(stack.predictions(x), logits, atol=1e-4)
    assert rows["test_accuracy"].iloc[0] > 0.2


def test_the_views_of_a_digit_are_itself_and_its_moves_by_half_a_pixel():
    x = torch.zeros(1, 64)
    x[0, 9] = 1.0  # second row, second column
    views = study.all_views(x, "digits").view(9, 8, 8)
    assert views[0].flatten().equal(x[0])
    assert views[1:].sum((1, 2)).eq(1).all()  # nothing left the picture
    places = torch.arange(8.0)
    centres = {((one.sum(1) @ places).item(), (one.sum(0) @ places).item()) for one in views}
    assert centres == {(1 + i, 1 + j) for i in (-0.5, 0, 0.5) for j in (-0.5, 0, 0.5)}
    with pytest.raises(ValueError, match="mnist has no views here"):
        study.all_views(x, "mnist")


def test_the_second_view_of_a_feature_is_that_of_the_mirrored_photograph(monkeypatch):
    pictures = torch.randint(256, (40, 3, 2, 4), dtype=torch.uint8)
    pictures[:5] = torch.cat([pictures[:5, :, :, :2], pictures[:5, :, :, :2].flip(3)], dim=3)  # symmetric
    monkeypatch.setattr(study, "cifar10", lambda: SimpleNamespace(train_images=pictures))
    monkeypatch.setattr(study, "image_features", lambda part: part.flatten(1).float())
    (x,) = principal(pictures.flatten(1).float(), components=7)
    study._mirrored.cache_clear()
    itself, other = study.all_views(x[:10], "cifar-10-features")
    study._mirrored.cache_clear()
    assert itself.equal(x[:10])
    assert torch.allclose(other[:5], x[:5], atol=1e-5)
    assert (other[5:] - x[5:10]).abs().amax(1).min() > 0.1


def test_two_views_are_two_and_a_loss_that_does_not_compare_them_takes_their_mean(split):
    stack, index = Stack((0, 1), 4, 3, 2), torch.zeros(2, 500, dtype=torch.int64)
    first, second = stack.two_of(3, index)
    assert first.ne(second).all()
    seen = (3 * first + second).unique(return_counts=True)
    assert seen[0].tolist() == [1, 2, 3, 5, 6, 7]
    assert seen[1].min() > 100
    views, y = [torch.randn(2, 20, 10) for _ in range(2)], torch.randint(10, (2, 20))
    for method in ("ce", "gjs"):
        loss, extra = study._Losses(method, split, 100, 2, None), {}
        for which in range(2):
            z, view = (one[which] for one in views)
            if method == "gjs":
                extra[which] = JensenShannon(10, views=2)(z, y[which], view_logits=view)
            else:
                extra[which] = (CrossEntropy(10)(z, y[which]) + CrossEntropy(10)(view, y[which])) / 2
        assert loss(views, y, index[:, :20]).item() == pytest.approx(sum(extra.values()).item(), rel=1e-5)


def test_each_seed_goes_uphill_by_itself_as_sharpness_aware_minimisation_does():
    stack, x, y = Stack((0, 1), 12, 7, 3), torch.randn(2, 5, 12), torch.tensor([0, 1, 2, 0, 1])
    loss, expected = CrossEntropy(3), []
    for which in range(2):
        network = nn.Sequential(nn.Linear(12, 7), nn.ReLU(), nn.Linear(7, 3))
        for layer, (weight, shift) in zip(
            (network[0], network[2]), (stack.weights[:2], stack.weights[2:]), strict=True
        ):
            layer.weight.data, layer.bias.data = (
                weight[which].detach().T.clone(),
                shift[which, 0].detach().clone(),
            )

        def backward(network=network, which=which):
            value = loss(network(x[which]), y)
            value.backward()
            return value.detach()

        sharpness_aware(network, backward, rho=0.3)
        expected.append([network[0].weight.grad.T, network[2].bias.grad[None]])
    before = [weight.detach().clone() for weight in stack.weights]

    def step():
        sum(loss(stack.logits(x)[which], y) for which in range(2)).backward()

    step()
    kept = stack.uphill(0.3)
    step()
    stack.back(kept)
    assert all(weight.equal(old) for weight, old in zip(stack.weights, before, strict=True))
    for which, (matrix, shift) in enumerate(expected):
        assert torch.allclose(stack.weights[0].grad[which], matrix, atol=1e-6)
        assert torch.allclose(stack.weights[3].grad[which], shift, atol=1e-6)


def test_a_linear_head_is_one_layer_and_learns(split):
    stack, x = Stack((0, 1), 12, 0, 3), torch.randn(5, 12)
    matrix, shift = (weight[1] for weight in stack.weights)
    assert torch.allclose(stack.predictions(x)[1], x @ matrix + shift, atol=1e-6)
    assert torch.allclose(stack.logits(x.expand(2, -1, -1)), stack.predictions(x), atol=1e-6)
    rows, _ = compare(split, "tv", dataclasses.replace(TINY, hidden=0, epochs=10, rate=0.05), seeds=(0,))
    assert rows["test_accuracy"].iloc[-1] > 0.6


def test_an_objective_is_that_of_the_loss_on_each_seeds_answers(split):
    """For one loss that all seeds share, and for one with a T for each seed."""
    z, y = torch.randn(2, 40, 10), torch.randint(10, (40,))
    shared = study._Losses("tv", split, 100, 2, None)
    assert shared.objectives(z, y) == pytest.approx([shared.losses[0].objective(one, y).item() for one in z])
    matrices = [np.eye(10), np.full((10, 10), 0.02) + 0.8 * np.eye(10)]
    own = study._Losses(study.FORWARD, split, 100, 2, matrices)
    same = own.objectives(z[:1].expand(2, -1, -1), y)
    assert same[0] != pytest.approx(same[1], rel=1e-3)


def test_a_cell_is_trained_with_all_its_seeds(split, monkeypatch):
    monkeypatch.setitem(BUDGETS, "digits", TINY)
    monkeypatch.setattr(study, "SEEDS", 2)
    for method in ("ce", "flc"):
        rows = pd.DataFrame(study.train("digits", "uniform-0.4", method, "l2"))
        assert rows["seed"].tolist() == [0, 1]
        assert rows[list(study.STUDY.needs)].stack().between(0, 1).all()
        history, _ = compare(noisy_data("digits", "uniform-0.4").split, "ce", TINY, decay="l2", seeds=(0, 1))
        last = history[history["epoch"] == TINY.epochs]["test_accuracy"].tolist()
        assert (rows["accuracy_last"].tolist() == last) == (method == "ce")


def test_T_is_estimated_where_validation_is_best_and_not_where_labels_are_known_by_heart(split):
    long = dataclasses.replace(TINY, hidden=64, epochs=30)
    rows, logits = compare(split, "ce", long, seeds=(0, 1))
    for seed, answers in enumerate(logits.argmax(2)):
        one = rows[rows["seed"] == seed].set_index("epoch")
        early, last = one["validation_accuracy"].idxmax(), 30
        wrong = split.train_labels[:300] != split.train_clean_labels[:300]
        learnt = (answers == split.train_labels[:300])[wrong].float().mean().item()
        assert learnt == pytest.approx(one["memorised"][early], abs=1e-6)
        assert learnt < one["memorised"][last]


def test_decay_pulls_matrices_and_leaves_shifts():
    for name, expected in (("l2", lambda w: w * (1 - 0.5 * DECAYS["l2"].l2)), ("none", lambda w: w)):
        stack = Stack((0,), 4, 3, 2)
        before = [weight.detach().clone() for weight in stack.weights]
        stack.shrink(DECAYS[name], 0.5)
        assert torch.allclose(stack.weights[0], expected(before[0]))
        assert stack.weights[1].equal(before[1])
    stack.shrink(DECAYS["l1"], 0.5)
    pull = 0.5 * DECAYS["l1"].l1
    expected = before[0].sign() * (before[0].abs() - pull).clamp(min=0)
    assert torch.allclose(stack.weights[0], expected)


def test_rules_choose_their_epochs():
    history = pd.DataFrame(
        {
            "epoch": range(1, 7),
            "changes": [np.nan, 0.5, 0.2, 0.1, 0.3, 0.4],
            "validation_accuracy": [0.3, 0.5, 0.4, 0.4, 0.4, 0.4],
            "validation_objective": [-5.0, -4.0, -3.0, -4.0, -5.0, -6.0],
            "test_accuracy": [0.1, 0.2, 0.3, 0.4, 0.5, 0.45],
        }
    )
    assert chosen(history) == {
        "last": 0.45,
        "noisy-accuracy": 0.2,
        "noisy-objective": 0.3,
        "label-wave": 0.5,
        "oracle": 0.5,
    }


def test_every_part_names_rows_that_exist():
    for cells in PARTS.values():
        assert len(set(cells)) == len(cells)
        for cell in cells:
            assert cell.budget in BUDGETS
            assert cell.decay in DECAYS
            assert cell.method in METHODS or cell.method in (study.STRONG, study.FORWARD)
            assert cell.method in study.TITLES


def test_unknown_names_are_one_sentence(split):
    with pytest.raises(ValueError, match="no decay is called 'l3'"):
        compare(split, "ce", TINY, decay="l3")
    with pytest.raises(ValueError, match="no method is called 'gcee'"):
        compare(split, "gcee", TINY)
    with pytest.raises(ValueError, match="no part is called 'x'"):
        study.table("x")


def made_up(monkeypatch, tmp_path, cells, accuracy):
    """A file of results in which ``accuracy(cell, seed)`` is what every rule found."""
    rows = [
        vars(cell)
        | {"seed": seed}
        | {f"accuracy_{rule.replace('-', '_')}": accuracy(cell, seed) for rule in study.RULES}
        for cell in cells
        for seed in range(5)
    ]
    monkeypatch.setattr(studies, "RESULTS", tmp_path)
    pd.DataFrame(rows).drop_duplicates().to_csv(study.STUDY.path, index=False)


def test_a_verdict_needs_an_interval_that_excludes_zero(monkeypatch, tmp_path):
    def accuracy(cell, seed):
        high = {"gce": 0.1, "nce-rce": 0.2, "sce": -0.1}.get(cell.method, 0)
        return 0.5 + high + 0.01 * ((seed * 7 + len(cell.method)) % 5)

    made_up(monkeypatch, tmp_path, PARTS["features"], accuracy)
    found = study.verdicts().set_index(["claim", "noise"])
    assert len(found) == len(study.PUBLISHED)
    assert found.loc[("GCE is far ahead of cross-entropy", "uniform-0.4"), "verdict"] == "agrees"
    assert found.loc[("SCE is ahead of cross-entropy", "uniform-0.6"), "verdict"] == "the other way"
    assert found.loc[("a divergence is ahead of cross-entropy", "human-worse"), "verdict"] == "tied"
    assert found.loc[("NCE+RCE is ahead of GCE", "uniform-0.6"), "ours"] == pytest.approx(10, abs=3)


def test_the_best_and_who_is_tied_with_it(monkeypatch, tmp_path):
    def accuracy(cell, seed):
        return {"gce": 0.9, "tv": 0.897}.get(cell.method, 0.5) + 0.01 * ((seed * (1 + len(cell.method))) % 5)

    made_up(monkeypatch, tmp_path, PARTS["features"], accuracy)
    means = study.table("features")
    assert means.shape == (10, 20)
    assert means.index[0] == "uniform-0.2"
    tied = study.tied_with_the_best(means, "features")
    assert all(sorted(names) == ["gce", "tv"] for names in tied.values())


def test_a_cell_stands_with_its_spread_its_seeds_and_its_distance(monkeypatch, tmp_path):
    def accuracy(cell, seed):
        return 0.6 + {"tv": 0.05, "kl": -0.02}.get(cell.method, 0) + 0.001 * seed * (cell.method == "tv")

    made_up(monkeypatch, tmp_path, PARTS["paper"], accuracy)
    found = study.against("paper").set_index(["noise", "method"])
    assert len(found) == len(PARTS["paper"])
    tv = found.loc[("human-worse", "tv")]
    assert tv["mean"] == pytest.approx(65.2)
    assert tv["std"] == pytest.approx(0.1581, abs=1e-3)
    assert tv["seeds"] == 5
    assert tv["gap"] == pytest.approx(5.2)
    assert tv["high"] - tv["low"] == pytest.approx(2 * 2.776 * 0.1581 / 5**0.5, abs=1e-2)
    assert found.loc["sparse-low"]["verdict"].to_dict() == {
        name: {"tv": "ahead", "kl": "behind"}.get(name, "tied") for name in found.loc["sparse-low"].index
    }


def test_a_method_is_compared_with_itself_trained_in_another_way(monkeypatch, tmp_path):
    def accuracy(cell, seed):
        lead = 0.02 * (cell.budget == "sam") + 0.001 * (seed % 2) * (cell.budget == "sam")
        return 0.5 + lead + (0.1 if cell.noise in study.CROSSED_NOISES else 0.3)

    cells = [cell for part in ("features", "sam") for cell in PARTS[part] if cell.method in ("ce", "tv")]
    made_up(monkeypatch, tmp_path, cells, accuracy)
    found = study.gap(("sam", "tv"), ("features", "tv"), "last")
    assert (found.pairs, found.verdict) == (20, "ahead")
    assert found.mean == pytest.approx(2.04)
    assert study.gap(("sam", "tv"), ("sam", "ce"), noises=("human-worse",)) == (0, 0, 0, 5)
    with pytest.raises(ValueError, match="there is no pair"):
        study.gap(("sam", "tv"), ("features", "tv"), noises=("sparse-high",))


def test_on_images_what_was_run_stands_beside_its_pairs(monkeypatch):
    rows = [("ce", 0, 0.8), ("ce", 1, 0.81), ("gce", 0, 0.85), ("gce", 1, 0.8599), ("elr", 2, 0.9)]
    where = {"dataset": "mnist", "noise": "uniform-high", "mode": "laptop", "variant": "paper"}
    where |= {"correction": "none", "transition": "estimated"}
    runs = [where | {"method": m, "seed": s, "accuracy_noisy_accuracy": a} for m, s, a in rows]
    other = where | {"noise": "random-0.7", "method": "tv", "seed": 0, "accuracy_noisy_accuracy": 0.5}
    aside = [other, runs[2] | {"variant": "sam", "accuracy_noisy_accuracy": 0.1}]
    monkeypatch.setattr(study, "our_accuracies", lambda: pd.DataFrame([*runs, *aside]))
    found = study.on_images().set_index("method")
    assert list(found.index) == ["ce", "gce", "elr"]  # no cross-entropy, no comparison: not the other noise
    assert found.loc["gce", ["seeds", "verdict"]].tolist() == [2, "ahead"]
    assert found.loc["gce", ["mean", "gap"]].tolist() == pytest.approx([85.495, 4.995])
    assert found.loc["elr", ["gap", "verdict"]].isna().all()  # it shares no seed with cross-entropy
    assert found.loc["elr", "mean"] == 90


@pytest.mark.parametrize(("lead", "words"), [(0.1, "holds"), (-0.1, "does not hold")])
def test_the_papers_conclusions_are_judged(monkeypatch, tmp_path, lead, words):
    def accuracy(cell, seed):
        if cell.noise == "sparse-high":
            high = 0.5 if lead > 0 else 0.8
            return high + (0.1 if cell.method == ("pl" if lead > 0 else "ce") else 0)
        divergence = cell.method in DIVERGENCES
        worse = 0.03 * (lead < 0 and cell.method == "tv")
        return 0.6 + (lead if divergence else 0) - worse + 0.001 * (seed * (1 + len(cell.method)) % 5)

    made_up(monkeypatch, tmp_path, PARTS["paper"], accuracy)
    found = study.conclusions()
    assert found["verdict"].tolist() == [words] * 7


def test_the_stored_main_table_is_whole():
    """Thirteen methods and ours, the paper's six noises and people's labels, with and without a layer."""
    for part in ("paper", "paper-linear"):
        for rule in study.RULES:
            count = study.table(part, rule, statistic="count")
            assert count.shape == (9, 17)
            assert count.eq(5).all(axis=None)
    for part in ("digits", "features", "views", "digits-views", "sam", "sam-far", "steady"):
        noises, methods = ({getattr(cell, of) for cell in PARTS[part]} for of in ("noise", "method"))
        count = study.table(part, "noisy-objective", statistic="count")
        assert count.shape == (len(noises), len(methods))
        assert count.eq(5).all(axis=None), part
    assert not study.measured()["commit"].str.endswith("+").any()
