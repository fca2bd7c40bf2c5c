"""The scikit-learn classifier: scikit-learn's own checks, its place among other tools, and messy tables."""

import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from torch import nn

from fdiv import FDivLoss, noise
from fdiv.learning import METHODS
from fdiv.learning.estimator import Collapse, RobustClassifier
from fdiv.learning.losses import CrossEntropy

FAST = {"random_state": 0, "epochs": 30}


@pytest.fixture(scope="module")
def wine():
    """178 wines with 30 % wrong labels, and the right ones."""
    X, clean = load_wine(return_X_y=True)
    return X, noise.corrupt(clean, noise.symmetric(0.3, 3), seed=0), clean


@pytest.mark.slow
@parametrize_with_checks([RobustClassifier()])
def test_it_is_a_classifier_of_scikit_learn(estimator, check):
    check(estimator)


# ---------------------------------------------------------------------- what it is for


@pytest.mark.slow
def test_wrong_labels_are_not_learnt_by_heart():
    X, clean = load_digits(return_X_y=True)
    X_train, X_test, y, y_test = train_test_split(X, clean, random_state=0, stratify=clean)
    noisy = noise.corrupt(y, noise.symmetric(0.4, 10), seed=0)
    robust = RobustClassifier("tv", random_state=0).fit(X_train, noisy)
    memorising = RobustClassifier("ce", random_state=0, validation=0).fit(X_train, noisy)
    early = RobustClassifier("ce", random_state=0).fit(X_train, noisy)
    assert robust.score(X_test, y_test) > 0.85
    assert memorising.score(X_test, y_test) < robust.score(X_test, y_test) - 0.1
    assert early.score(X_test, y_test) > memorising.score(X_test, y_test) + 0.05


@pytest.mark.slow
@pytest.mark.parametrize("method", [name for name, row in METHODS.items() if not row.two_views])
def test_every_method_trains_and_says_what_it_did(wine, method):
    X, y, clean = wine
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Collapse)
        model = RobustClassifier(method, **FAST).fit(X, y)
    assert model.score(X, clean) > (0.3 if method in ("blc", "nls") else 0.6)
    assert (model.transition_ is None) == (METHODS[method].estimate is None)
    assert list(model.history_["stage"].unique())[-1] == method
    assert len(model.history_) == 30


def test_a_correction_with_a_given_and_with_an_estimated_matrix(wine):
    X, y, clean = wine
    T = noise.symmetric(0.3, 3)
    given = RobustClassifier("kl", correction="forward", transition=T, **FAST).fit(X, y)
    assert np.array_equal(given.transition_, T)
    estimated = RobustClassifier("kl", correction="forward", **FAST).fit(X, y)
    assert estimated.transition_.shape == (3, 3)
    assert min(given.score(X, clean), estimated.score(X, clean)) > 0.7


def test_an_estimate_of_T_without_an_inverse_is_mended_and_said():
    model = RobustClassifier()
    model.diagnosis_ = []
    mended = model._invertible(np.array([[0.5, 0.5], [0.5, 0.5]]))
    assert mended.tolist() == [[0.75, 0.25], [0.25, 0.75]]
    assert "mixed with the identity" in model.diagnosis_[0]


def test_a_loss_object_is_used_and_left_as_it_was(wine):
    X, y, _ = wine
    loss = FDivLoss("tv", 3)
    model = RobustClassifier(loss, **FAST).fit(X, y)
    assert model.loss_ is not loss
    assert loss.label_counts.sum() == 0
    assert RobustClassifier(nn.CrossEntropyLoss(), **FAST).fit(X, y).predict(X).shape == (178,)
    with pytest.raises(ValueError, match="no sample_weight"):
        RobustClassifier(nn.CrossEntropyLoss(), **FAST).fit(X, y, np.ones(178))


class Half(nn.Module):
    """A loss of Python's numbers."""

    def forward(self, logits, labels):
        return 0.5


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize(
    ("loss", "sentence"),
    [
        (nn.MSELoss(), "loss MSELoss cannot take 3 logits a row"),
        (nn.Linear(2, 2), "loss Linear cannot take 3 logits a row"),
        (Half(), "loss Half gives 0.5, but must give a tensor that has a gradient"),
        (nn.CrossEntropyLoss(reduction="none"), "reduction='mean'"),
        (CrossEntropy(3, reduction="none"), "reduction='mean'"),
    ],
)
def test_a_loss_that_is_none_is_refused_in_a_sentence(wine, loss, sentence):
    with pytest.raises(ValueError, match=sentence):
        RobustClassifier(loss, **FAST).fit(*wine[:2])


def test_the_epoch_is_chosen_by_noisy_labels_that_were_set_aside(wine):
    X, y, _ = wine
    model = RobustClassifier("ce", validation=0.2, epochs=60, random_state=0).fit(X, y)
    judged = model.history_["validation_objective"]
    assert model.best_epoch_ == judged.idxmax() + 1 < 60
    patient = RobustClassifier("ce", validation=0.2, epochs=60, patience=3, random_state=0).fit(X, y)
    assert len(patient.history_) == patient.best_epoch_ + 3
    assert "validation_objective" not in RobustClassifier("ce", validation=0, **FAST).fit(X, y).history_


# ---------------------------------------------------------------------- repeatable, portable


def test_a_seed_repeats_bit_by_bit_and_leaves_the_generators_alone(wine):
    X, y, _ = wine
    before = torch.random.get_rng_state()
    first, second = (RobustClassifier(**FAST).fit(X, y).logits(X) for _ in range(2))
    assert np.array_equal(first, second)
    assert torch.equal(before, torch.random.get_rng_state())
    assert not np.array_equal(first, RobustClassifier(random_state=1, epochs=30).fit(X, y).logits(X))


def test_threads_train_what_one_would_and_leave_the_warnings_alone(wine):
    X, y, _ = wine
    before = list(warnings.filters)

    def trained(seed):
        return RobustClassifier(epochs=2, random_state=seed).fit(X, y).logits(X)

    seeds = [0, 1, 0, 1]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(trained, seeds))
    assert all(np.array_equal(trained(seed), found) for seed, found in zip(seeds, together, strict=True))
    assert warnings.filters == before


def test_a_training_that_fails_leaves_the_classifier_as_it_was(wine):
    X, y, _ = wine
    model = RobustClassifier("tv", epochs=2, random_state=0)
    for few in (X[:, :5], X):
        model.set_params(epochs=-1)
        with pytest.raises(ValueError, match="epochs is -1"):
            model.fit(few, y)
        with pytest.raises(NotFittedError):
            model.predict(few)
    before = model.set_params(epochs=2).fit(X, y).logits(X)
    with pytest.raises(ValueError, match="epochs is -1"):
        model.set_params(epochs=-1).fit(X[:, :5], y)
    assert np.array_equal(model.logits(X), before)


def test_a_column_without_a_value_that_training_had_is_warned_of(wine):
    X, y, _ = wine
    frame = pd.DataFrame(X[:, :3], columns=list("abc"))
    model = RobustClassifier("tv", epochs=1, random_state=0).fit(frame.assign(red=[True, False] * 89), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(frame.assign(red=[True, "who knows"] * 89))
    with pytest.warns(UserWarning, match="column 'red' holds none of .*: '1' for example, .* had 'False'"):
        model.predict(frame.assign(red=[1, 0] * 89))


def test_pickles_and_clones(wine):
    X, y, _ = wine
    model = RobustClassifier(FDivLoss("js", 3), **FAST).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(
        clone(RobustClassifier(**FAST)).fit(X, y).predict(X), RobustClassifier(**FAST).fit(X, y).predict(X)
    )


def test_pipeline_grid_search_and_cross_validation(wine):
    X, y, _ = wine
    pipe = make_pipeline(StandardScaler(), RobustClassifier(**FAST))
    search = GridSearchCV(pipe, {"robustclassifier__loss": ["tv", "ce"]}, cv=2).fit(X, y)
    assert search.best_params_["robustclassifier__loss"] in ("tv", "ce")
    assert cross_val_predict(RobustClassifier(**FAST), X, y, cv=2, method="predict_proba").shape == (178, 3)
    assert cross_val_score(RobustClassifier(**FAST), X, y, cv=2, scoring="roc_auc_ovr").min() > 0.5


def test_inside_cleanlab(wine):
    cleanlab = pytest.importorskip("cleanlab.classification", reason="cleanlab is not installed")
    X, y, clean = wine
    found = cleanlab.CleanLearning(RobustClassifier(**FAST), cv_n_folds=2, seed=0).find_label_issues(X, y)
    wrong = y != clean
    assert wrong[found["is_label_issue"]].mean() > 2 * wrong.mean()


# ---------------------------------------------------------------------- networks


def test_a_module_of_ones_own(wine):
    X, y, _ = wine
    instance = nn.Sequential(nn.Linear(13, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
    before = instance[0].weight.detach().clone()
    model = RobustClassifier(module=instance, batch_size=59, **FAST).fit(X, y)  # 178 = 3 * 59 + 1
    assert torch.equal(instance[0].weight, before)
    assert not torch.equal(model.module_[0].weight, before)
    made = RobustClassifier(module=nn.Linear, **FAST).fit(X, y)
    assert (made.module_.in_features, made.module_.out_features) == (13, 3)


@pytest.mark.parametrize(
    ("module", "sentence"),
    [
        (nn.Linear(12, 3), "cannot take rows of 13 numbers"),
        (nn.Linear(13, 2), r"must give \(rows, 3\) logits"),
        (lambda columns, classes: 7, "made int"),
        (nn.ReLU(), "no parameter to train"),
        ("net", "module is 'net', but must be an nn.Module"),
        (lambda columns, classes: nn.LSTM(columns, classes), "module gives tuple for 2 rows"),
        (nn.Sequential(nn.Linear(13, 3), nn.Embedding(3, 3)), "cannot take rows of 13 numbers"),
    ],
)
def test_a_module_that_does_not_fit_is_refused_in_a_sentence(wine, module, sentence):
    with pytest.raises(ValueError, match=sentence):
        RobustClassifier("tv", module=module).fit(*wine[:2])


# ---------------------------------------------------------------------- messy tables


def frame(rows=120, seed=0):
    rng = np.random.default_rng(seed)
    bought = rng.integers(0, 2, rows)
    return pd.DataFrame(
        {
            "age": rng.normal(40 + 10 * bought, 5),
            "colour": np.where(rng.random(rows) < 0.2 + 0.6 * bought, "rot", "grün"),
            "größe": rng.integers(0, 9, rows),
            "member": rng.random(rows) < 0.5,
        }
    ), np.where(bought, "ja", "nein")


def test_a_table_with_texts_and_names_of_its_own():
    X, y = frame()
    model = RobustClassifier(**FAST).fit(X, y)
    assert list(model.feature_names_in_) == list(X.columns)
    assert set(model.classes_) == {"ja", "nein"}
    assert model.score(X, y) > 0.8
    unseen = X.assign(colour="blau")
    assert set(model.predict(unseen)) <= {"ja", "nein"}
    same = model.predict(X.assign(age=X["age"].astype(object)))
    assert (same == model.predict(X)).all()
    with pytest.raises(ValueError, match=r"column 'age' of X holds .*, but must hold real numbers"):
        model.predict(X.assign(age="old"))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X.rename(columns={"age": "AGE"}))
    with pytest.raises(ValueError, match="pass a DataFrame here, too"):
        model.predict(np.zeros((2, 4)))


def with_gap(X):
    return X.assign(age=X["age"].mask(X.index < 3))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (with_gap, r"column 'age' of X has NaN in 3 of 120 rows: fill it"),
        (lambda X: X.assign(age=np.inf), r"column 'age' of X has inf in 120 of 120 rows"),
        (lambda X: X.assign(age=1e200), "beyond 1e"),
        (lambda X: X.assign(age=1j), "column 'age' of X holds complex128, but must hold real numbers"),
        (
            lambda X: X.assign(day=pd.Timestamp("2020-01-01")),
            r"column 'day' holds datetime64.*X\['day'\].dt.year",
        ),
        (
            lambda X: X.assign(name=[f"Kunde {i}" for i in range(120)]),
            "column 'name' holds 120 different values",
        ),
        (lambda X: pd.concat([X, X[["age"]]], axis=1), "two columns called 'age'"),
        (lambda X: sparse.csr_matrix(X[["age"]]), "[Ss]parse"),
        (lambda X: X.to_numpy(), "pass a pandas DataFrame"),
        (lambda X: X.iloc[:0], "0 sample"),
        (lambda X: X.iloc[:, :0], "0 feature"),
        (lambda X: X.iloc[:100], "inconsistent numbers of samples"),
        (lambda X: X["age"], "2-dimensional"),
        (lambda X: np.ma.masked_less(X[["age"]], 40), "lose its mask"),
        (lambda X: np.full((120, 1), 10**400, dtype=object), "beyond 1e"),
    ],
)
def test_what_cannot_be_learnt_from_is_refused_in_a_sentence(change, sentence):
    X, y = frame()
    X = change(X)
    y = y[: X.shape[0]] if X.shape[0] != 100 else y
    with pytest.raises((ValueError, TypeError), match=sentence) as refused:
        RobustClassifier().fit(X, y)
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda y: np.full(len(y), "ja"), r"one class only, .*'ja'"),
        (lambda y: np.where(np.arange(len(y)) < 2, None, y), "2 missing labels"),
        (lambda y: [1 if i % 2 else "1" for i in range(len(y))], "mixes labels of the types int, str"),
        (lambda y: np.arange(len(y)) / 7, "continuous"),
        (lambda y: np.eye(2)[(y == "ja").astype(int)], "1d array.*dawid_skene"),
        (lambda y: None, "target y is None"),
        (lambda y: np.ma.masked_array([0, 1] * 60, [True] + [False] * 119), "lose its mask"),
    ],
)
def test_labels_that_are_none_are_refused_in_a_sentence(change, sentence):
    X, y = frame()
    with pytest.raises(ValueError, match=sentence):
        RobustClassifier().fit(X, change(y))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"loss": "tvv"}, "did you mean 'tv'"),
        ({"loss": "GJS"}, "loss 'gjs' compares two views of a picture, which a row of a table has not"),
        ({"epochs": 0}, "epochs is 0"),
        ({"batch_size": 0.5}, "batch_size is 0.5"),
        ({"validation": 1.5}, "validation is 1.5"),
        ({"validation": "x"}, "validation is 'x'"),
        ({"hidden": 5}, "hidden is 5, but must be the widths"),
        ({"hidden": (10**9,)}, r"a network of 8e\+09 weights"),
        ({"loss": FDivLoss("tv", 2), "correction": "exact"}, "for a divergence by its name"),
        ({"warm_up": -1}, "warm_up is -1"),
        ({"loss": "ce", "correction": "exact"}, "for the divergences"),
        ({"learning_rate": 1e30}, "lower the learning rate"),
    ],
)
def test_options_that_make_no_sense_are_refused_in_a_sentence(options, sentence):
    X, y = frame(80)  # too few to be looked at before
    with pytest.raises(ValueError, match=sentence):
        RobustClassifier(**options).fit(X, y)


def test_few_rows_and_rare_classes():
    pair = RobustClassifier(random_state=0).fit([[0.0], [1.0]], ["a", "b"])
    assert pair.predict([[0.0], [1.0]]).tolist() == ["a", "b"]
    X, y = frame()
    y = y.astype(object)
    y[0] = "vielleicht"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Collapse)
        model = RobustClassifier(validation=0.5, **FAST).fit(X, y)
    assert "vielleicht" in model.classes_
    assert any("vielleicht (1)" in sentence for sentence in model.diagnosis_)


def test_a_divergence_that_would_give_up_the_majority_is_balanced_and_says_so():
    X, y = make_classification(
        600, 5, n_informative=4, n_redundant=0, weights=[0.95], class_sep=2, flip_y=0, random_state=0
    )
    model = RobustClassifier("squared-hellinger", random_state=0).fit(X, y)
    assert any("label_prior is 'balanced'" in sentence for sentence in model.diagnosis_)
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("loss", ["js", "pearson"])
def test_the_majority_is_kept_where_wrong_labels_hide_how_frequent_it_is(loss):
    """With 90 and 10 % of clean labels but 70 and 30 % of noisy ones: its limit is that of clean labels."""
    X, truth = make_classification(
        600, 5, n_informative=4, n_redundant=0, weights=[0.9], class_sep=1.5, flip_y=0, random_state=0
    )
    y = noise.corrupt(truth, noise.symmetric(0.2, 2), seed=0)
    model = RobustClassifier(loss, random_state=0, epochs=30).fit(X, y)
    assert any("label_prior is 'balanced'" in sentence for sentence in model.diagnosis_)
    assert model.score(X, truth) > 0.9


def test_a_collapse_is_warned_of_with_the_names_of_the_classes():
    X, y = make_classification(
        600, 5, n_informative=4, n_redundant=0, weights=[0.95], flip_y=0, random_state=0
    )
    names = np.array(["oft", "selten"])[y]
    loss = FDivLoss("squared-hellinger", 2, label_prior=[0.95, 0.05])
    with pytest.warns(Collapse, match="collapsed: class 0 .* is 'oft'"):
        RobustClassifier(loss, random_state=0).fit(X, names)


def test_a_weight_of_zero_leaves_a_row_out(wine):
    X, y, _ = wine
    weight = (np.arange(178) < 60).astype(float)
    weighted = RobustClassifier("tv", **FAST).fit(X, y, weight)
    alone = RobustClassifier("tv", **FAST).fit(X[:60], y[:60])
    assert np.allclose(weighted.logits(X), alone.logits(X))
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        RobustClassifier().fit(X, y, -weight)


def test_weights_count_by_their_ratios_however_large(wine):
    X, y, _ = wine
    weight = 1.0 + np.arange(178) % 2
    for option in ({}, {"loss": "tv"}):
        models = [RobustClassifier(**FAST | option).fit(X, y, w) for w in (weight, weight * 2.0**1022)]
        assert np.array_equal(models[0].logits(X), models[1].logits(X))


def test_tensors_of_any_kind_are_a_table(wine):
    X, y, _ = wine
    model = RobustClassifier("tv", **FAST)
    plain = model.fit(X, y).logits(X)
    assert np.array_equal(model.fit(torch.tensor(X, requires_grad=True), torch.tensor(y)).logits(X), plain)
    halved = torch.tensor(X).bfloat16()
    assert np.array_equal(model.logits(halved), model.logits(halved.double()))


@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_labels_that_name_the_rows_are_no_classes():
    with pytest.raises(ValueError, match="name the rows and are no classes"):
        RobustClassifier("tv").fit(np.zeros((1500, 1)), np.arange(1500))


@pytest.mark.parametrize(
    ("option", "value"),
    [("learning_rate", 0), ("learning_rate", "x"), ("learning_rate", np.nan), ("weight_decay", -1),
     ("weight_decay", None), ("device", "nope"), ("device", "meta"), ("device", 3.5)],
)  # fmt: skip
def test_numbers_and_devices_that_cannot_be_are_named(option, value):
    X, y = np.random.default_rng(0).random((20, 2)), np.arange(20) % 2
    with pytest.raises(ValueError, match=f"^{option}( is |=)"):
        RobustClassifier("tv", epochs=1, **{option: value}).fit(X, y)
