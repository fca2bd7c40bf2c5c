"""The recipes: the paper's numbers (appendices C.5 and C.6), the programs', and that every method has one."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fdiv.datasets import CATALOGUE
from fdiv.experiments.recipes import recipe
from fdiv.learning.augment import AUGMENTATIONS
from fdiv.learning.methods import METHODS, build_loss, check_correction, method_title, needs_transition
from fdiv.learning.methods import paper_methods as methods
from fdiv.learning.models import MODELS, build_model
from fdiv.learning.recipe import Recipe, stages_before
from fdiv.noise import symmetric
from fdiv.theory.divergences import DIVERGENCES

CIFAR = ("cifar-10", "cifar-100")
DATASETS = tuple(CATALOGUE)


def modes(dataset):
    """Clothing1M is too large for a laptop, and the paper has no recipe for features."""
    lacking = {"clothing1m": "laptop", "cifar-10-features": "paper"}.get(dataset)
    return [mode for mode in ("quick", "laptop", "paper") if mode != lacking]


def rates(settings):
    """The learning rate of every epoch."""
    return [settings.learning_rate(epoch) for epoch in range(settings.epochs)]


def falling(first, factor, every, epochs):
    return [pytest.approx(first * factor ** (epoch // every)) for epoch in range(epochs)]


def test_the_papers_schedule():
    """Appendix C.5: 80 epochs from 1e-3 (or 5e-4), decay 0.2, 0.5, 0.2 every 20 epochs."""
    settings = recipe("mnist", "tv", "paper")
    np.testing.assert_allclose(rates(settings), np.repeat(1e-3 * np.cumprod([1, 0.2, 0.5, 0.2]), 20))
    assert (settings.epochs, settings.batch_size, settings.optimiser) == (80, 128, "adam")
    with pytest.raises(ValueError, match="epoch 80 lies beyond the 80 epochs"):
        settings.learning_rate(80)


def test_the_authors_program_differs():
    settings = recipe("mnist", "js", "paper", variant="authors-code")
    assert settings.schedule == ((21, 1e-3), (59, 5e-4))
    assert settings.product == "sampled"


def test_baselines_have_their_own_recipes():
    for method in ("blc", "flc"):
        settings = recipe("mnist", method, "paper")
        assert (settings.model, settings.optimiser, settings.epochs) == ("fully-connected", "adagrad", 40)
    assert recipe("mnist", "dmi", "paper").warm_up.epochs == 20
    assert recipe("fashion-mnist", "pl", "paper") == recipe("mnist", "tv", "paper")


# ------------------------------------------------------------------ CIFAR


@pytest.mark.parametrize(("dataset", "warm_up"), [("cifar-10", 120), ("cifar-100", 240)])
def test_the_papers_settings_for_cifar(dataset, warm_up):
    """C.5: a warm-up, then for PL and D_f 100 epochs from 0.01, times 0.1 every 30; one network and SGD."""
    for method in (*DIVERGENCES, "pl"):
        settings = recipe(dataset, method, "paper")
        assert rates(settings) == falling(0.01, 0.1, 30, 100)
        assert rates(settings.warm_up) == falling(0.1, 0.1, 60, 240)[:warm_up]
    for method in methods():
        settings = recipe(dataset, method, "paper")
        for one in (settings, settings.warm_up or settings):
            assert (one.model, one.optimiser, one.momentum, one.weight_decay, one.batch_size) == (
                "preact-resnet-18", "sgd", 0.9, 5e-4, 128,
            )  # fmt: skip
            assert (one.augment, one.product) == ("crop-flip", "exact")
        assert settings.warm_up is None if method == "ce" else settings.warm_up.epochs == warm_up
    assert rates(recipe(dataset, "ce", "paper")) == falling(0.1, 0.1, 60, 240)


def test_the_programs_of_the_baselines_on_cifar():
    assert recipe("cifar-10", "dmi", "paper").schedule == ((100, 1e-6),)
    assert recipe("cifar-10", "flc", "paper").schedule == ((40, 0.1), (40, 0.01), (40, 1e-3))
    assert recipe("cifar-100", "blc", "paper").schedule == ((80, 0.1), (40, 0.01), (30, 1e-3))


@pytest.mark.parametrize("dataset", CIFAR)
def test_the_authors_program_on_cifar(dataset):
    settings = recipe(dataset, "tv", "paper", variant="authors-code")
    assert rates(settings) == falling(0.01, 0.1, 30, 100)
    assert rates(settings.warm_up) == falling(0.1, 0.1, 60, 240)
    assert settings.product == "sampled"
    for one in (settings, settings.warm_up):
        assert (one.model, one.augment) == ("preact-resnet-18-authors", "crop-flip-rotate")


@pytest.mark.parametrize("mode", ["laptop", "paper"])
@pytest.mark.parametrize("dataset", CIFAR)
def test_all_methods_share_one_warm_up(dataset, mode):
    kinds = {
        (settings.warm_up, settings.warm_up_method)
        for method in methods()
        if (settings := recipe(dataset, method, mode)).warm_up
    }
    assert len(kinds) == 1
    assert recipe(dataset, "plugin", mode).warm_up_method == "ratio"


def test_pixels_are_normalised_as_by_the_authors():
    """In MODE paper; on a laptop CIFAR-10 has its own mean."""
    for dataset, mode, mean in (
        ("cifar-10", "paper", 0.485),
        ("cifar-10", "laptop", 0.4914),
        ("cifar-100", "paper", 0.5071),
        ("cifar-100", "laptop", 0.5071),
    ):
        for method in (*methods(), "ratio", "plugin"):
            settings = recipe(dataset, method, mode)
            for one in (settings, settings.warm_up or settings):
                assert one.mean[0] == mean
                assert len(one.mean) == len(one.std) == 3


@pytest.mark.parametrize("dataset", CIFAR)
def test_on_a_laptop_all_methods_have_as_many_epochs(dataset):
    for method in (*methods(), "ratio", "plugin"):
        settings = recipe(dataset, method, "laptop")
        assert settings.epochs + (settings.warm_up.epochs if settings.warm_up else 0) == 12
        assert settings.model == "fast-net"


# ------------------------------------------------------------------ Clothing1M


def test_the_papers_settings_for_clothing1m():
    """C.5: 40 epochs, 0.002 for 10, then 5e-5 and by turns times 0.2 and 0.5 every 5 epochs."""
    settings = recipe("clothing1m", "js", "paper")
    expected = np.repeat(5e-5 * np.cumprod([1, 0.2, 0.5, 0.2, 0.5, 0.2]), 5)
    np.testing.assert_allclose(rates(settings), expected)
    assert rates(settings.warm_up) == [0.002] * 10
    for one in (settings, settings.warm_up):
        assert (one.model, one.optimiser, one.momentum, one.weight_decay) == ("resnet-50", "sgd", 0.9, 1e-3)
        assert (one.augment, one.batch_size) == ("crop224-flip", 128)
    authors = recipe("clothing1m", "js", "paper", variant="authors-code")
    assert (authors.batch_size, authors.product) == (56, "sampled")


# ------------------------------------------------------------------ clean labels


def test_the_papers_settings_for_clean_labels():
    """Appendix C.6."""
    for dataset in ("mnist", "fashion-mnist"):
        assert recipe(dataset, "ce", "paper", clean=True).schedule == ((20, 5e-4), (20, 1e-4))
        assert recipe(dataset, "tv", "paper", clean=True) == recipe(dataset, "tv", "paper")
    ce, df = (recipe("cifar-10", method, "paper", clean=True) for method in ("ce", "kl"))
    assert ce.schedule == ((150, 0.1), (100, 0.01), (50, 0.001))
    assert rates(df) == falling(0.1, 0.1, 60, 240)
    assert df.warm_up is None
    ce, df = (recipe("cifar-100", method, "paper", clean=True) for method in ("ce", "kl"))
    assert rates(ce) == [0.1] * 60 + [0.02] * 60 + [0.004] * 40 + [0.0008] * 40
    assert rates(df.warm_up) == rates(ce)[:120]
    assert rates(df) == falling(0.01, 0.1, 30, 100)
    assert df.mean == ce.mean == recipe("cifar-100", "ce", "paper").mean


def test_clean_labels_change_nothing_but_the_papers_two_columns():
    for dataset in DATASETS:
        modes = ("quick", "paper") if dataset == "clothing1m" else ("quick", "laptop")
        for mode in modes:
            for method in methods():
                assert recipe(dataset, method, mode, clean=True) == recipe(dataset, method, mode)
    for method in ("blc", "flc", "dmi", "pl"):
        assert recipe("cifar-10", method, "paper", clean=True) == recipe("cifar-10", method, "paper")


# ------------------------------------------------------------------ all of them


def test_every_method_has_a_recipe_and_a_loss_in_every_mode():
    assert len(methods()) == 13
    for method in METHODS:
        T = symmetric(0.2, 10) if needs_transition(method) else None
        loss = build_loss(method, 10, T=T, label_prior=[0.1] * 10, examples=100)
        assert loss.num_classes == 10
        assert method_title(method)
        if METHODS[method].two_views:  # see the next test
            continue
        for dataset in DATASETS:
            for mode in modes(dataset):
                settings = recipe(dataset, method, mode)
                for one in (settings, settings.warm_up or settings):
                    assert one.source
                    assert one.model in MODELS
                    assert AUGMENTATIONS[one.augment].name == one.augment
        for mode in ("quick", "laptop", "paper"):
            assert recipe("digits", method, mode) == recipe("mnist", method, "quick")
            assert recipe("paired-digits", method, mode) == recipe("cifar-100", method, "quick")


def test_a_method_of_two_views_has_a_recipe_wherever_pictures_are_augmented_and_is_refused_elsewhere():
    assert [name for name, row in METHODS.items() if row.two_views] == ["gjs"]
    for dataset in DATASETS:
        for mode in modes(dataset):
            plain = recipe(dataset, "ce", mode)
            if plain.augment != "none":
                assert recipe(dataset, "gjs", mode) == plain
                with pytest.raises(ValueError, match=f"{dataset} is augmented by '{plain.augment}' here"):
                    recipe(dataset, "gjs", mode, variant="shifted")
                continue
            with pytest.raises(ValueError, match=f"two views of a picture, but {dataset} is trained on one"):
                recipe(dataset, "gjs", mode)
            if plain.model == "mlp-head":
                with pytest.raises(ValueError, match=f"{dataset} is features, not pictures here"):
                    recipe(dataset, "ce", mode, variant="shifted")
                continue
            shifted = recipe(dataset, "gjs", mode, variant="shifted")
            assert shifted == recipe(dataset, "ce", mode, variant="shifted")
            assert replace(shifted, augment="none", source=plain.source) == plain
            read = (mode == "quick" and CATALOGUE[dataset].stand_in) or dataset
            images = torch.rand(2, *CATALOGUE[read].shape)
            assert AUGMENTATIONS[shifted.augment].train(images).shape == images.shape


def test_a_warm_up_is_of_the_network_that_goes_on():
    for dataset in DATASETS:
        for method in (*methods(), "plugin"):
            for mode in modes(dataset):
                settings = recipe(dataset, method, mode)
                if settings.warm_up:
                    assert settings.warm_up.model == settings.model
                    assert settings.warm_up.mean == settings.mean
                    assert settings.warm_up.warm_up is None


def test_the_networks_of_the_recipes_take_the_images():
    for dataset in ("cifar-10", "paired-digits", "cifar-10-features"):
        settings, images = recipe(dataset, "tv", "laptop"), torch.rand(2, *CATALOGUE[dataset].shape)
        assert build_model(settings.model, images, 100)(images).shape == (2, 100)


def test_the_stand_ins_of_mode_quick_stand_for_themselves():
    stand_ins = {entry.stand_in for entry in CATALOGUE.values()} - {None}
    assert stand_ins == {"digits", "paired-digits"}
    assert all(CATALOGUE[name].stand_in is None for name in stand_ins)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: recipe("svhn", "tv"),
            "no dataset is called 'svhn'; choose from digits, paired-digits, mnist, fashion-mnist, cifar-10",
        ),
        (
            lambda: recipe("mnist", "tvv"),
            r"no method is called 'tvv' \(did you mean 'tv'\?\); choose from ce, blc",
        ),
        (lambda: recipe("mnist", "tv", "fast"), "MODE is 'fast'"),
        (lambda: recipe("mnist", "tv", "paper", variant="x"), "no variant is called 'x'"),
        (lambda: recipe("mnist", "ce", "paper", variant="authors-code"), "concerns only the divergences"),
        (lambda: recipe("mnist", "tv", "laptop", variant="authors-code"), "concerns only the divergences"),
        (lambda: recipe("mnist", "tv", "paper", variant="long"), "concerns only MODE 'laptop'"),
        (lambda: recipe("clothing1m", "tv", "laptop"), "clothing1m has no recipe for MODE 'laptop': choose"),
        (lambda: build_loss("tv", 10, correction="exact"), "method 'tv' needs transition matrix T"),
        (lambda: build_loss("ce", 10, T=np.eye(10), correction="exact"), "'exact' is for the divergences"),
        (lambda: build_loss("tv", 10, correction="mine"), "no correction is called 'mine'; choose from none"),
        (lambda: build_loss("flc", 10), "method 'flc' needs transition matrix T"),
        (lambda: build_loss("tv", 10, T=np.eye(10)), "method 'tv' takes no transition matrix T"),
    ],
)
def test_bad_choices_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_an_alias_is_the_method_it_stands_for():
    assert recipe("mnist", "Total Variation", "paper") is recipe("mnist", "tv", "paper")
    assert build_loss("hellinger", 10).divergence.name == "squared-hellinger"


# ------------------------------------------------------------------ ours


def test_on_cifar_forward_correction_reads_T_off_a_network_that_was_trained_in_large_steps():
    forward = recipe("cifar-10", "kl", "laptop", correction="forward")
    assert list(stages_before(forward, estimate_T=True)) == ["warm-up"]
    assert forward.values() == recipe("cifar-10", "flc", "laptop").values()


@pytest.mark.parametrize("dataset", DATASETS)
def test_forward_correction_starts_from_free_scores_in_batches_of_the_warm_up(dataset):
    mode = "quick" if dataset in ("digits", "paired-digits") else modes(dataset)[-1]
    forward = recipe(dataset, "kl", mode, correction="forward")
    assert forward.warm_up_method == "pearson-logit"
    assert forward.batch_size == forward.warm_up.batch_size
    assert forward.schedule == recipe(dataset, "plugin", mode).schedule


def test_total_variation_cannot_be_corrected_forwards_and_says_so_before_training():
    with pytest.raises(ValueError, match="is a step for 'tv': choose another divergence"):
        check_correction("tv", "forward")
    assert check_correction("js", "forward") == "forward"


def test_pearson_on_logits_is_least_squares():
    """Up to a constant, 1/4 of the mean squared distance to 2 (P/Q - 1), weighted by the prior."""
    z, y = torch.randn(40, 4, dtype=torch.float64), torch.arange(40) % 4
    prior = torch.full((4,), 0.25, dtype=torch.float64)
    loss = build_loss("pearson-logit", 4, label_prior=prior)
    target = 2 * (torch.eye(4, dtype=torch.float64)[y] / prior - 1)

    def squared(scores):
        return (prior * (scores - target) ** 2).sum(1).mean() / 4

    other = torch.randn_like(z)
    assert (loss(z, y) - loss(other, y)).item() == pytest.approx((squared(z) - squared(other)).item())


@pytest.mark.parametrize("dataset", ["mnist", "cifar-10"])
@pytest.mark.parametrize(("method", "correction"), [("ce", "none"), ("tv", "none"), ("kl", "forward")])
def test_long_is_the_laptop_recipe_with_three_times_the_epochs(dataset, method, correction):
    short, long = (
        recipe(dataset, method, "laptop", correction=correction, variant=v) for v in ("paper", "long")
    )
    assert long.epochs == 3 * short.epochs
    assert [rate for _, rate in long.schedule] == [rate for _, rate in short.schedule]
    assert (long.warm_up is None) == (short.warm_up is None)
    if short.warm_up:
        assert long.warm_up.epochs == 3 * short.warm_up.epochs
    kept = {"schedule": (), "warm_up": None, "source": ""}
    assert replace(long, **kept) == replace(short, **kept)


@pytest.mark.parametrize(("variant", "field"), [("averaged", "average"), ("sam", "sharpness")])
@pytest.mark.parametrize("mode", ["quick", "laptop", "paper"])
def test_a_variant_of_the_step_changes_that_alone(variant, field, mode):
    plain, changed = (recipe("cifar-10", "ce", mode, variant=v) for v in ("paper", variant))
    assert getattr(plain, field) == 0 < getattr(changed, field)
    assert replace(changed, **{field: 0.0}, source=plain.source) == plain
    assert plain.values() != changed.values()


@pytest.mark.parametrize("method", ["ce", "tv"])
@pytest.mark.parametrize(("dataset", "mode"), [("cifar-10", "laptop"), ("cifar-100", "paper")])
def test_the_strong_variant_averages_the_weights_and_cuts_holes(dataset, mode, method):
    plain, strong = (recipe(dataset, method, mode, variant=v) for v in ("paper", "strong"))
    assert (strong.average, strong.augment) == (0.999, "shift-flip-cut")
    assert replace(strong, average=0.0, augment=plain.augment, source=plain.source) == plain


@pytest.mark.parametrize("dataset", ["mnist", "cifar-10-features"])
def test_pictures_that_must_not_be_mirrored_have_no_strong_variant(dataset):
    refused = f"but those of {dataset} are not in MODE 'laptop': choose variant 'averaged'"
    with pytest.raises(ValueError, match=refused):
        recipe(dataset, "ce", "laptop", variant="strong")


def test_a_batch_has_at_least_one_example():
    with pytest.raises(ValueError, match="batch_size is 0, but a batch has at least one example"):
        Recipe(model="cnn", schedule=((1, 0.1),), batch_size=0)
