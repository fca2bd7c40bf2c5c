"""Wrong labels come first: the score is the probability that it says it is, and nothing is left changed."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler, TensorDataset

from fdiv.datasets import digits
from fdiv.learning.label_errors import LabelErrors, rank_label_errors
from fdiv.noise import corrupt, sparse, symmetric, uniform

LOGITS = nn.Identity()


def random_case(n: int = 300, K: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return 3 * rng.standard_normal((n, K)), rng.integers(K, size=n)


def slow_posterior(logits, T, label) -> list[float]:
    """P(y = k | x, y~) in plain words."""
    h = [math.exp(z - max(logits)) for z in logits]
    weight = [h[k] * T[k][label] for k in range(len(h))]
    return [w / sum(weight) for w in weight]


# --- the score ---------------------------------------------------------------------------------------------


@given(
    st.lists(st.floats(-20, 20), min_size=2, max_size=6).flatmap(
        lambda z: st.tuples(st.just(z), st.integers(0, len(z) - 1), st.floats(0, 0.95))
    )
)
def test_the_score_is_the_probability_of_another_class(case):
    logits, label, noise = case
    K = len(logits)
    for T in (None, uniform(noise / K, K)):
        posterior = slow_posterior(logits, np.ones((K, K)) if T is None else T, label)
        found = rank_label_errors(LOGITS, np.array([logits]), [label], transition=T)
        wrong = math.fsum(posterior[:label] + posterior[label + 1 :])
        assert found.score[0] == pytest.approx(wrong, rel=1e-9, abs=1e-12)
        assert posterior[found.suggested[0]] == max(posterior)


def test_the_score_is_one_minus_cleanlabs_self_confidence():
    from cleanlab.rank import get_label_quality_scores

    logits, labels = random_case()
    h = torch.softmax(torch.as_tensor(logits), dim=1).numpy()
    found = rank_label_errors(LOGITS, logits, labels)
    np.testing.assert_allclose(found.score, 1 - get_label_quality_scores(labels, h), atol=1e-12)
    np.testing.assert_allclose(found.score, 1 - h[np.arange(300), labels], atol=1e-12)
    assert (found.suggested == logits.argmax(axis=1)).all()
    assert (found.given == labels).all()


def test_with_a_transition_the_score_is_bayes_rule():
    logits, labels = random_case(K=4)
    T = sparse(4, [(0, 3), (1, 2)], [0.7, 0.1], [0.2, 0.3])
    found = rank_label_errors(LOGITS, logits, labels, transition=torch.as_tensor(T))
    expected = np.array([slow_posterior(z, T, y) for z, y in zip(logits, labels, strict=True)])
    np.testing.assert_allclose(found.score, 1 - expected[np.arange(300), labels], atol=1e-12)
    assert (found.suggested == expected.argmax(axis=1)).all()


def test_without_noise_no_label_is_wrong_and_the_model_alone_breaks_the_tie():
    logits, labels = random_case()
    sure = rank_label_errors(LOGITS, logits, labels, transition=np.eye(5))
    assert (sure.score == 0).all()
    assert (sure.log_odds == -np.inf).all()
    assert (sure.suggested == labels).all()
    assert (sure.order == rank_label_errors(LOGITS, logits, labels).order).all()


def test_the_same_chance_for_every_label_is_no_evidence():
    logits, labels = random_case()
    found = rank_label_errors(LOGITS, logits, labels, transition=np.full((5, 5), 0.2))
    np.testing.assert_allclose(found.log_odds, rank_label_errors(LOGITS, logits, labels).log_odds, atol=1e-9)


def test_the_most_suspicious_come_first_and_equals_keep_their_order():
    logits, labels = random_case()
    logits, labels = np.vstack([logits, logits]), np.concatenate([labels, labels])
    found = rank_label_errors(LOGITS, logits, labels)
    assert sorted(found.order) == list(range(600))
    assert found.order.tolist() == sorted(range(600), key=lambda i: (-found.log_odds[i], i))
    assert (np.diff(found.score[found.order]) <= 0).all()


def test_saturated_scores_are_ordered_by_their_margin():
    margins = np.random.default_rng(1).permutation(np.arange(50, 2050)).astype(np.float32)
    logits = np.stack([margins, np.zeros_like(margins), -margins], axis=1)
    wrong = rank_label_errors(LOGITS, logits, np.ones(2000, int))
    assert (wrong.score == 1).all()
    assert wrong.order.tolist() == np.argsort(-margins).tolist()
    right = rank_label_errors(LOGITS, logits, np.zeros(2000, int))
    assert right.order.tolist() == np.argsort(margins).tolist()
    np.testing.assert_allclose(right.log_odds, -margins, rtol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_logits_of_any_precision_are_compared_in_double(dtype):
    logits, labels = random_case()
    rounded = torch.as_tensor(logits).to(dtype)
    found = rank_label_errors(LOGITS, rounded, labels)
    assert found.log_odds.dtype == np.float64
    assert (found.log_odds == rank_label_errors(LOGITS, rounded.double(), labels).log_odds).all()


def test_probabilities_go_in_through_their_logarithm_zeros_included():
    h = np.array([[1.0, 0.0, 0.0], [0.5, 0.25, 0.25], [0.0, 0.5, 0.5]])
    found = rank_label_errors(torch.log, h, [1, 1, 1])
    np.testing.assert_allclose(found.score, [1, 0.75, 0.5])
    assert found.order.tolist() == [0, 1, 2]
    assert rank_label_errors(torch.log, h, [0, 0, 0]).score.tolist() == pytest.approx([0, 0.5, 1])


# --- against known errors ----------------------------------------------------------------------------------


def noisy_digits(T: np.ndarray):
    data = digits()
    return data.train_images.flatten(1), corrupt(data.train_labels, T, 0), data.train_labels


def small_net(inputs: torch.Tensor, labels: torch.Tensor, T: np.ndarray) -> nn.Module:
    """Trained with the forward correction of Patrini et al. (2017), so that it has the clean posterior."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 10))
    T, optimizer = torch.as_tensor(T, dtype=torch.float32), torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(60):
        optimizer.zero_grad()
        noisy = torch.softmax(net(inputs), dim=1) @ T
        nn.functional.nll_loss(torch.log(noisy), labels).backward()
        optimizer.step()
    return net


@pytest.mark.parametrize("T", [symmetric(0.4, 10), sparse(10, None, 0.4, 0.2)], ids=["symmetric", "sparse"])
def test_wrong_digits_are_found(T):
    inputs, noisy, clean = noisy_digits(T)
    net, flipped = small_net(inputs, noisy, T), noisy != clean
    found = rank_label_errors(net, inputs, noisy, flipped=flipped)
    assert found.auroc > 0.93
    informed = rank_label_errors(net, inputs, noisy, flipped=flipped, transition=T)
    assert informed.auroc > 0.93
    wrong = flipped.numpy()
    assert wrong[found.order[:100]].mean() > 0.9
    assert (found.suggested == clean.numpy())[wrong].mean() > 0.85
    assert found.auroc == pytest.approx(roc_auc_score(wrong, found.log_odds), abs=1e-12)


def test_any_model_will_do():
    inputs, noisy, clean = noisy_digits(symmetric(0.3, 10))
    sklearn_model = LogisticRegression(C=0.01, max_iter=200).fit(inputs, noisy)
    found = rank_label_errors(
        lambda x: torch.as_tensor(sklearn_model.decision_function(x)), inputs, noisy, flipped=noisy != clean
    )
    assert found.auroc > 0.9


def test_the_transition_helps_where_noise_is_one_sided():
    """Class 1 is never mislabelled as 0, so a label 0 is right whatever a mediocre model says."""
    rng = np.random.default_rng(0)
    clean = rng.integers(2, size=4000)
    T = np.array([[0.6, 0.4], [0.0, 1.0]])
    noisy = corrupt(clean, T, 0)
    signal = (2 * clean - 1) + 1.5 * rng.standard_normal(4000)
    logits = np.stack([-signal, signal], axis=1) / 1.5**2  # the clean posterior, exactly
    plain, informed = (
        rank_label_errors(LOGITS, logits, noisy, flipped=noisy != clean, transition=t) for t in (None, T)
    )
    assert informed.auroc > plain.auroc + 0.05
    assert informed.score.mean() == pytest.approx((noisy != clean).mean(), abs=0.02), "calibrated"
    assert plain.score.mean() > 1.2 * informed.score.mean()


def test_the_auroc_counts_pairs_and_ties_half():
    logits, labels = random_case(n=60)
    logits = np.round(logits)
    logits[30:] = logits[:30]
    labels[30:] = labels[:30]
    flipped = np.random.default_rng(2).random(60) < 0.3
    found = rank_label_errors(LOGITS, logits, labels, flipped=torch.as_tensor(flipped))
    pairs = [(a, b) for a in found.log_odds[flipped] for b in found.log_odds[~flipped]]
    expected = sum(0.5 if math.isclose(a, b, rel_tol=1e-12) else a > b for a, b in pairs) / len(pairs)
    assert found.auroc == pytest.approx(expected, abs=1e-12)
    assert isinstance(found.auroc, float)
    assert rank_label_errors(LOGITS, logits, labels).auroc is None


def test_the_auroc_sees_the_tie_break_of_the_order():
    logits, labels = random_case(n=60)
    flipped = np.random.default_rng(3).random(60) < 0.5
    sure, alone = (
        rank_label_errors(LOGITS, logits, labels, flipped=flipped, transition=t) for t in (np.eye(5), None)
    )
    assert sure.auroc == alone.auroc != 0.5


def test_top_is_a_small_table():
    found = rank_label_errors(LOGITS, *random_case())
    table = found.top(3)
    assert isinstance(found, LabelErrors)
    assert list(table.columns) == ["index", "given", "suggested", "score"]
    assert table["index"].tolist() == found.order[:3].tolist()
    assert table["given"].tolist() == found.given[found.order[:3]].tolist()
    assert table["suggested"].tolist() == found.suggested[found.order[:3]].tolist()
    assert table["score"].tolist() == found.score[found.order[:3]].tolist()
    assert len(found.top()) == 10
    assert len(found.top(1000)) == 300
    for table in (found.top, found.issues):
        for n in (-1, 2.5, "3", True):
            with pytest.raises(ValueError, match=r"n is .*, but must be a whole number of at least 0"):
                table(n)


# --- what people have --------------------------------------------------------------------------------------


class InputsOnly(Dataset):
    def __init__(self, inputs):
        self.inputs = inputs

    def __len__(self):
        return len(self.inputs)

    def __getitem__(self, index):
        return self.inputs[index]


class WithIndex(InputsOnly):
    def __getitem__(self, index):
        return self.inputs[index], index % 5, index


def test_all_kinds_of_data_give_the_same():
    logits, labels = (torch.as_tensor(x) for x in random_case())
    net = nn.Linear(5, 5).double()
    pairs = TensorDataset(logits, labels)
    expected = rank_label_errors(net, logits, labels)
    for data, *extra in [
        (logits.numpy(), labels.numpy()),
        (logits, labels.tolist()),
        (logits, labels.to(torch.uint8)),
        ((logits, labels),),
        ([logits, labels],),
        (pairs,),
        (pairs, labels),
        (TensorDataset(logits, 0 * labels), labels),
        (DataLoader(pairs, batch_size=7),),
        (InputsOnly(logits), labels),
        (DataLoader(InputsOnly(logits), batch_size=50), labels),
        (WithIndex(logits), labels),
    ]:
        for batch_size in (1024, 13):
            found = rank_label_errors(net, data, *extra, batch_size=batch_size)
            np.testing.assert_allclose(found.log_odds, expected.log_odds, atol=1e-12)
            assert (found.given == expected.given).all()
            assert (found.order == expected.order).mean() > 0.99
    assert (rank_label_errors(net, WithIndex(logits)).given == np.arange(300) % 5).all()


def test_batches_have_the_size_asked_for_and_need_no_gradient():
    seen = []

    def model(x):
        seen.append((len(x), torch.is_inference_mode_enabled()))
        return x

    rank_label_errors(model, *random_case(n=10), batch_size=4)
    assert seen == [(4, True), (4, True), (2, True)]
    seen.clear()
    rank_label_errors(model, *random_case(n=1500))
    assert [n for n, _ in seen] == [1024, 476]


def test_the_model_is_evaluated_and_left_as_it_was():
    net = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 5)).double()
    net[1].eval()  # frozen
    before = {name: value.clone() for name, value in net.state_dict().items()}
    first, second = (rank_label_errors(net, *random_case()) for _ in range(2))
    assert (first.score == second.score).all(), "dropout is off"
    assert [module.training for module in net.modules()] == [True, True, False, True, True]
    assert all((net.state_dict()[name] == value).all() for name, value in before.items())
    assert all(p.requires_grad and p.grad is None for p in net.parameters())
    net.eval()
    rank_label_errors(net, *random_case())
    assert not any(module.training for module in net.modules())


def test_the_mode_is_restored_after_a_failure():
    net = nn.Sequential(nn.Linear(3, 5), nn.Dropout()).double()
    with pytest.raises(RuntimeError):
        rank_label_errors(net, *random_case())
    assert all(module.training for module in net.modules())


def test_batches_go_where_the_model_is_or_where_they_are_told():
    places = []

    class Spy(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(1, device="meta"))

        def forward(self, x):
            places.append(x.device.type)
            return torch.zeros(len(x), 5)

    rank_label_errors(Spy(), *random_case(n=3))
    rank_label_errors(Spy(), *random_case(n=3), device="cpu")
    assert places == ["meta", "cpu"]


# --- what is refused ---------------------------------------------------------------------------------------

X, Y = random_case(n=20)
ONLY_X = InputsOnly(torch.as_tensor(X))
SHUFFLED = BatchSampler(RandomSampler(ONLY_X), batch_size=4, drop_last=False)


def with_value(value) -> np.ndarray:
    logits = X.copy()
    logits[3, 2] = value
    return logits


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((LOGITS, X), r"no labels: pass labels, or data as a pair \(inputs, labels\)"),
        ((LOGITS, ONLY_X), "no labels"),
        ((LOGITS, X, [0] * 19 + [5]), r"labels\[19\] is 5, but a label is 0 to 4"),
        ((LOGITS, X, [0] * 19 + [-1]), r"labels\[19\] is -1"),
        ((LOGITS, X, Y + 0.5), "labels must be a vector of integers"),
        ((LOGITS, X, Y[:-1]), "labels has 19 entries for 20 examples, but needs one for each"),
        ((LOGITS, (X, Y[:-1])), "labels has 19 entries for 20 examples"),
        ((LOGITS, with_value(np.nan), Y), r"not finite \(NaN or infinite\)"),
        ((LOGITS, with_value(np.inf), Y), "not finite"),
        ((LOGITS, np.where(np.arange(20)[:, None] == 7, -np.inf, X), Y), "not finite"),
        (
            (LOGITS, X[:, :1], 0 * Y),
            r"shape \(20, 1\) for 20 inputs, but must give \(batch, K\)",
        ),
        ((lambda x: x[0], X, Y), r"gives shape \(5,\)"),
        ((lambda x: x[1:], X, Y), r"gives shape \(19, 5\) for 20 inputs"),
        ((LOGITS, X[:0], Y[:0]), "no examples"),
        ((LOGITS, DataLoader(ONLY_X, shuffle=True), Y), "shuffle=False"),
        ((LOGITS, DataLoader(ONLY_X, batch_sampler=SHUFFLED), Y), "shuffle=False"),
    ],
)
def test_data_that_cannot_be_ranked_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        rank_label_errors(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"flipped": np.zeros(20, bool)}, "all labels are right according to flipped, but an AUROC compares"),
        ({"flipped": np.ones(20, bool)}, "all labels are wrong"),
        ({"flipped": np.arange(19) > 5}, "flipped has 19 entries for 20 examples"),
        ({"flipped": Y}, r"vector of booleans, noisy != clean, not int64 of shape \(20,\)"),
        ({"flipped": np.ones((20, 1), bool)}, "vector of booleans"),
        ({"transition": np.eye(4)}, "has 4 classes, but the model has 5"),
        ({"transition": np.ones((5, 5))}, "row 0 sums to 5"),
        ({"transition": np.eye(5)[[0] * 5]}, r"which the transition matrix and the model exclude"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        rank_label_errors(LOGITS, X, Y, **arguments)


# --- what practitioners have -------------------------------------------------------------------------------

NAMES = np.array(["apple", "pear", "plum", "quince", "rowan"])
P = torch.softmax(torch.as_tensor(X), dim=1)


def test_probabilities_go_in_directly_as_array_tensor_list_or_frame():
    expected = rank_label_errors(LOGITS, X, Y)
    for form in (P, P.numpy(), P.tolist(), pd.DataFrame(P.numpy()), P.half()):
        found = rank_label_errors(form, Y)
        np.testing.assert_allclose(found.score, expected.score, atol=2e-3)
    frame = pd.DataFrame(P.numpy(), columns=NAMES)
    named = rank_label_errors(frame, pd.Series(NAMES[Y]))
    assert named.given.tolist() == NAMES[Y].tolist()
    assert named.suggested.tolist() == NAMES[expected.suggested].tolist()
    assert (named.order == expected.order).all()
    backwards = rank_label_errors(frame[NAMES[::-1]], NAMES[Y])
    np.testing.assert_allclose(backwards.score, named.score, atol=1e-12)


def test_the_columns_of_a_frame_are_classes_also_where_they_are_numbers():
    expected = rank_label_errors(P, Y)
    shuffled = pd.DataFrame(P.numpy()).iloc[:, ::-1]
    np.testing.assert_allclose(rank_label_errors(shuffled, Y).score, expected.score, atol=1e-12)


class Negative(LogisticRegression):
    def predict_proba(self, X):
        return super().predict_proba(X) - 2


class Short(LogisticRegression):
    def logits(self, X):
        return self.decision_function(X)[1:]


class Unsure(LogisticRegression):
    def logits(self, X):
        return np.full((len(X), 3), np.nan)


@pytest.mark.parametrize(
    ("model", "options", "said"),
    [
        (Negative, {}, "row 0 of the probabilities is no distribution .*: these are the answers of predict"),
        (Negative, {"cv": 2}, "row 0 of the probabilities is no distribution .*: these are the answers of"),
        (Short, {}, r"gives shape \(29, 3\) for 30 inputs"),
        (Unsure, {}, "gives logits that are not finite"),
        (lambda x: x[:, :3].numpy(), {}, "the model gives ndarray, but must give a tensor"),
    ],
)
def test_a_model_that_gives_no_answers_is_refused(model, options, said):
    inputs, labels = np.random.default_rng(0).normal(size=(30, 4)), np.arange(30) % 3
    model = model().fit(inputs, labels) if isinstance(model, type) else model
    with pytest.raises(ValueError, match=said):
        rank_label_errors(model, inputs, labels, **options)


def test_an_estimator_and_a_frame_with_names_as_labels():
    inputs, noisy, _ = noisy_digits(symmetric(0.2, 10))
    words = np.array([f"digit {k}" for k in range(10)])[noisy.numpy()]
    frame = pd.DataFrame(inputs.numpy())
    model = LogisticRegression(C=0.01, max_iter=200)
    fitted = rank_label_errors(model.fit(frame, words), frame, words)
    assert fitted.sample == "unknown"
    assert set(fitted.suggested) <= set(words)
    h = model.predict_proba(frame)[np.arange(len(words)), noisy.numpy()]
    np.testing.assert_allclose(fitted.score, 1 - h, atol=1e-6)
    pair = rank_label_errors(model, (frame, words))
    assert (pair.order == fitted.order).all()


def test_cross_validation_is_out_of_sample_and_counts_the_flips():
    inputs, noisy, clean = noisy_digits(symmetric(0.2, 10))
    model = LogisticRegression(C=0.01, max_iter=200)
    wrong = noisy != clean
    found = rank_label_errors(model, inputs, noisy, cv=5, flipped=wrong)
    assert found.sample == "out-of-sample"
    assert not hasattr(model, "classes_"), "the estimator is not touched"
    assert found.wrong.low <= int(wrong.sum()) <= found.wrong.high
    issues = found.issues()
    assert len(issues) == round(found.wrong.count)
    assert wrong.numpy()[issues["index"]].mean() > 0.85
    assert issues["wrong"].between(0, 1).all()
    assert (issues["suggested_probability"] <= 1).all()
    assert len(found.issues(7)) == 7
    assert "out-of-sample: about" in str(found)


def test_in_sample_counts_come_with_a_warning():
    found = rank_label_errors(P, Y, out_of_sample=False)
    assert found.sample == "in-sample"
    with pytest.warns(UserWarning, match="too low"):
        found.issues()


def test_double_inputs_meet_a_single_precision_network():
    net = nn.Linear(5, 5)
    double = rank_label_errors(net, X.astype(np.float64), Y)
    assert (double.score == rank_label_errors(net, X.astype(np.float32), Y).score).all()
    frame = rank_label_errors(net, pd.DataFrame(X), pd.Series(Y))
    assert (frame.score == double.score).all()


def test_images_on_the_disk_are_ranked(tmp_path):
    from PIL import Image

    from fdiv.datasets import ImageFiles

    for i in range(6):
        Image.new("RGB", (5, 7), (255 * (i % 2), 0, 0)).save(tmp_path / f"{i}.png")
    files = ImageFiles([tmp_path / f"{i}.png" for i in range(6)], size=4)
    net = nn.Sequential(nn.Flatten(), nn.Linear(48, 2))
    with torch.no_grad():
        net[1].weight.zero_()
        net[1].weight[1, :16] = 1.0  # red, in [0, 1]: a logit of 16
        net[1].bias.copy_(torch.tensor([8.0, 0.0]))
    found = rank_label_errors(net, files, [0, 1, 0, 1, 1, 0], batch_size=4)
    assert sorted(found.order[:2]) == [4, 5]
    np.testing.assert_allclose(np.abs(found.log_odds), 8, rtol=1e-5)


def test_the_classes_say_which_output_is_which():
    found = rank_label_errors(LOGITS, X, NAMES[::-1][Y], classes=NAMES[::-1])
    assert (found.order == rank_label_errors(LOGITS, X, Y).order).all()
    sparse_numbers = rank_label_errors(P, np.array([3, 5, 8, 9, 70])[Y], classes=[3, 5, 8, 9, 70])
    assert set(sparse_numbers.suggested) <= {3, 5, 8, 9, 70}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rank_label_errors(P), r"rank_label_errors\(probabilities, labels\)"),
        (lambda: rank_label_errors(P, X, Y), "passed with labels alone"),
        (lambda: rank_label_errors(X, Y), "row 0 of the probabilities is no distribution"),
        (lambda: rank_label_errors(P[:, 0], Y), r"shape \(n, K\)"),
        (lambda: rank_label_errors(P, NAMES[Y % 4]), "4 different names, but the model has 5 classes"),
        (lambda: rank_label_errors(P, NAMES[Y], classes=NAMES[:4]), "classes must be 5 different"),
        (
            lambda: rank_label_errors(P, ["kiwi", *NAMES[Y[1:]]], classes=NAMES),
            r"labels\[0\] is 'kiwi', which the model does not know: it has 'apple'",
        ),
        (lambda: rank_label_errors(P, np.array([None, *NAMES[Y[1:]]])), r"labels\[0\] is missing"),
        (lambda: rank_label_errors(LogisticRegression(), X, Y), "is not fitted: fit it, or pass cv=5"),
        (lambda: rank_label_errors(LogisticRegression(), X), "no labels"),
        (lambda: rank_label_errors(LOGITS, X, Y, cv=5), "cv is for classifiers"),
        (lambda: rank_label_errors(nn.Linear(2, 2), pd.DataFrame({"a": ["x", "y"]}), [0, 1]), "holds texts"),
    ],
)
def test_what_practitioners_cannot_have_is_said_in_a_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
