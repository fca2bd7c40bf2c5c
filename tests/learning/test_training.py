"""The loop: what it computes and reports, how it selects, and that a killed run ends as if it were not."""

import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from threading import Thread

import numpy as np
import pandas as pd
import pytest
import torch
from filelock import FileLock
from PIL import Image

from fdiv.datasets import ImageFiles, digits, noisy_split
from fdiv.experiments.experiment import noisy_data
from fdiv.experiments.recipes import QUICK, recipe
from fdiv.learning import training
from fdiv.learning.augment import AUGMENTATIONS, Augmentation, shift_flip
from fdiv.learning.losses import CrossEntropy, FDivLoss
from fdiv.learning.methods import build_loss
from fdiv.learning.methods import paper_methods as methods
from fdiv.learning.models import build_model
from fdiv.learning.modern import JensenShannon
from fdiv.learning.recipe import Recipe
from fdiv.learning.runs import ORACLE, RULES, Run
from fdiv.learning.training import (
    TrainingFailed,
    fit,
    label_shares,
    normalise,
    outputs,
    train,
)
from fdiv.noise import corrupt, symmetric

SHORT = replace(QUICK, schedule=((2, 1e-3), (1, 1e-4)))


@pytest.fixture(scope="module")
def split():
    data = digits()
    return noisy_split(data, corrupt(data.train_labels, symmetric(0.4, 10), seed=0))


@pytest.fixture(autouse=True)
def runs(monkeypatch, tmp_path):
    """Where shared stages are kept."""
    monkeypatch.setenv("FDIV_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


def tv(split, **options):
    return FDivLoss("tv", 10, label_prior=label_shares(split), **options)


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


# ------------------------------------------------------------------ the steps


def test_a_run_equals_the_plain_loop(split):
    """The same epoch written out with nothing but torch: draws, steps, Adam."""
    run = train(split, SHORT, tv(split), seed=3)
    seeds = [int(np.random.SeedSequence([3, epoch]).generate_state(1)[0]) for epoch in range(4)]
    torch.manual_seed(seeds[0])
    model = build_model("small-net", split.train_images, 10)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    prior = torch.bincount(split.train_labels, minlength=10) / len(split.train_labels)
    for epoch, rate in enumerate((1e-3, 1e-3, 1e-4)):
        optimiser.param_groups[0]["lr"] = rate
        torch.manual_seed(seeds[epoch + 1])
        order = torch.randperm(1000)
        for batch in order[: 1000 // 64 * 64].split(64):
            g = torch.tanh(model(split.train_images[batch]).softmax(1)) / 2
            joint = g.gather(1, split.train_labels[batch, None]).mean()
            optimiser.zero_grad()
            ((g * prior).sum(1).mean() - joint).backward()
            optimiser.step()
    last = run.use("last").state_dict()
    for name, value in model.state_dict().items():
        torch.testing.assert_close(last[name], value, rtol=1e-4, atol=1e-6)


def test_sharpness_aware_steps_are_those_of_the_plain_loop(split):
    """Two passes over the same augmented pictures: uphill by rho, the gradient there, and back."""
    settings = replace(QUICK, schedule=((1, 1e-3),), sharpness=0.1, augment="shift-flip")
    run = train(split, settings, CrossEntropy(10), seed=3)
    seeds = [int(np.random.SeedSequence([3, epoch]).generate_state(1)[0]) for epoch in range(2)]
    torch.manual_seed(seeds[0])
    model = build_model("small-net", split.train_images, 10)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    torch.manual_seed(seeds[1])
    order = torch.randperm(1000)
    for batch in order[: 1000 // 64 * 64].split(64):
        pictures, labels = shift_flip(split.train_images[batch]), split.train_labels[batch]
        weights = list(model.parameters())
        gradient = torch.autograd.grad(torch.nn.functional.cross_entropy(model(pictures), labels), weights)
        length = sum((g**2).sum() for g in gradient).sqrt()
        before = [w.detach().clone() for w in weights]
        with torch.no_grad():
            for w, g in zip(weights, gradient, strict=True):
                w += 0.1 * g / length
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(pictures), labels).backward()
        with torch.no_grad():
            for w, old in zip(weights, before, strict=True):
                w.copy_(old)
        optimiser.step()
    last = run.use("last").state_dict()
    for name, value in model.state_dict().items():
        torch.testing.assert_close(last[name], value, rtol=1e-3, atol=1e-5)


def test_a_mean_of_the_weights_is_judged_and_kept_and_goes_on_after_a_stop(split, tmp_path):
    plain, averaged = (
        replace(SHORT, schedule=((3, 1e-3),)),
        replace(SHORT, schedule=((3, 1e-3),), average=0.9),
    )
    one = train(split, averaged, CrossEntropy(10), seed=3)
    other = train(split, plain, CrossEntropy(10), seed=3)
    assert one.history["train_objective"].equals(other.history["train_objective"])  # it only watches
    assert not same(one.weights["last"], other.weights["last"])
    answers = outputs(one.use("last"), split.test_images, averaged).argmax(1)
    accuracy = (answers == split.test_labels).float().mean().item()
    assert accuracy == pytest.approx(one.history["test_accuracy"].iloc[-1])

    class Stops(Exception):
        pass

    def stop(row):
        if row["epoch"] == 2:
            raise Stops

    with pytest.raises(Stops):
        train(split, averaged, CrossEntropy(10), seed=3, checkpoint=tmp_path / "run.pt", on_epoch=stop)
    resumed = train(split, averaged, CrossEntropy(10), seed=3, checkpoint=tmp_path / "run.pt")
    assert all(same(one.weights[rule], resumed.weights[rule]) for rule in RULES)


def test_a_loss_of_two_views_sees_two_augmentations(split):
    seen = []

    class Watched(JensenShannon):
        def forward(self, logits, labels, *, view_logits):
            seen.append((logits.detach(), view_logits.detach()))
            return super().forward(logits, labels, view_logits=view_logits)

    shifted = replace(QUICK, schedule=((1, 1e-3),), augment="shift-flip")
    run = train(split, shifted, Watched(10, views=2), seed=3)
    assert len(seen) == 1000 // 64
    assert all(one.shape == other.shape and not one.equal(other) for one, other in seen)
    assert np.isfinite(run.history["validation_objective"]).all()
    with pytest.raises(ValueError, match="two views of a picture, but the recipe makes one"):
        train(split, replace(shifted, augment="none"), JensenShannon(10, views=2), seed=3)


def test_sampled_runs_take_two_more_batches_from_the_training_data(split):
    seen = []

    class Spy(FDivLoss):
        def forward(self, logits, labels, peer_logits=None, peer_labels=None):
            seen.append((len(labels), peer_logits.shape, peer_labels))
            return super().forward(logits, labels, peer_logits, peer_labels)

    train(split, replace(QUICK, schedule=((1, 1e-3),)), Spy("tv", 10, product="sampled"))
    assert len(seen) == 1000 // 64
    assert all(size == 64 and shape == (64, 10) for size, shape, _ in seen)
    peers = torch.cat([labels for *_, labels in seen])
    shares = torch.bincount(peers, minlength=10) / len(peers)
    torch.testing.assert_close(shares, label_shares(split), atol=0.02, rtol=0)


def test_runs_repeat_and_seeds_differ(split):
    one, two, other = (train(split, SHORT, tv(split), seed=seed) for seed in (0, 0, 1))
    assert same(one.weights["last"], two.weights["last"])
    assert not same(one.weights["last"], other.weights["last"])
    assert one.history.drop(columns="seconds").equals(two.history.drop(columns="seconds"))


def test_training_leaves_torchs_generator_alone(split):
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    train(split, replace(QUICK, schedule=((1, 1e-3),)), tv(split))
    assert torch.equal(torch.rand(3), expected)


def test_a_set_smaller_than_a_batch_is_one_batch(split):
    data = digits()
    few = noisy_split(data, data.train_labels, validation=1297 - 20)
    run = train(few, SHORT, CrossEntropy(10))
    assert len(run.history) == 3


@pytest.mark.parametrize(
    "images", [torch.rand(4, 3, 5, 5), torch.randint(0, 256, (4, 3, 5, 5), dtype=torch.uint8)]
)
def test_normalise(images):
    settings = Recipe(model="cnn", schedule=((1, 1.0),), mean=(0.5, 0.4, 0.3), std=(0.2, 0.3, 0.4))
    pixels = images.numpy() / (255 if images.dtype == torch.uint8 else 1)
    expected = (pixels - np.reshape(settings.mean, (1, 3, 1, 1))) / np.reshape(settings.std, (1, 3, 1, 1))
    assert normalise(images, settings).dtype == torch.float32
    np.testing.assert_allclose(normalise(images, settings), expected, rtol=1e-5, atol=1e-5)


def test_predict_sees_no_dropout_and_restores_the_mode():
    torch.manual_seed(0)
    images = torch.rand(1203, 1, 28, 28)
    model = build_model("cnn", images, 10).train()
    settings = Recipe(model="cnn", schedule=((1, 1.0),))
    logits = outputs(model, images, settings)
    assert model.training
    assert not logits.requires_grad
    torch.testing.assert_close(logits, model.eval()(images), rtol=1e-4, atol=1e-5)
    outputs(model, images[:5], settings)
    assert not model.training


def test_augmentation_is_random_in_training_and_not_in_evaluation(split):
    trained, tested = [], []
    fake = Augmentation(
        "fake",
        lambda images: trained.append(len(images)) or images,
        lambda images: tested.append(len(images)) or images,
    )
    with AUGMENTATIONS.registered(fake):
        train(split, replace(SHORT, augment="fake"), tv(split))
    assert trained == [64] * (3 * 15)
    flipped = int((split.train_labels != split.train_clean_labels).sum())
    assert tested == [297, 500, flipped] * 3 + [297]


def test_a_misspelt_augmentation_is_refused_at_once(split):
    rows = []
    with pytest.raises(ValueError, match="no augmentation is called 'crop-flop'"):
        train(split, replace(SHORT, augment="crop-flop"), tv(split), on_epoch=rows.append)
    assert not rows


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_mixed_precision_learns_too(split, monkeypatch, half):
    """What CUDA does by default, here on the CPU; float16 with its gradient scaler."""
    monkeypatch.setattr(training, "_half", lambda device, recipe: half)
    settings = replace(QUICK, schedule=((8, 2e-3),))
    run = train(split, settings, tv(split))
    assert run.accuracy("last") > 0.85
    assert all(tensor.dtype == torch.float32 for tensor in run.weights["last"].values())
    monkeypatch.undo()
    full = train(split, settings, tv(split))
    assert not same(full.weights["last"], run.weights["last"])


def test_a_cpu_computes_in_16_bits_where_it_can_and_the_recipe_asks_for_it(split, monkeypatch):
    asks = replace(SHORT, half_on_cpu=True)
    full = train(split, SHORT, tv(split))
    monkeypatch.setattr(training, "has_bfloat16", lambda device: False)
    without = train(split, asks, tv(split))
    assert same(full.weights["last"], without.weights["last"])
    monkeypatch.setattr(training, "has_bfloat16", lambda device: True)
    half, not_asked = train(split, asks, tv(split)), train(split, SHORT, tv(split))
    assert same(full.weights["last"], not_asked.weights["last"])
    assert not same(full.weights["last"], half.weights["last"])
    assert abs(full.accuracy("last") - half.accuracy("last")) < 0.05


def test_a_progress_bar_counts_all_steps(split, capsys):
    train(split, SHORT, tv(split), progress=True)
    assert f"{3 * 15}/{3 * 15}" in capsys.readouterr().err
    train(split, SHORT, tv(split))
    assert not capsys.readouterr().err  # no terminal, no bar


# ------------------------------------------------------------------ the history and the selection


def test_history_reports_what_the_model_does(split):
    run = train(split, SHORT, tv(split), seed=0)
    assert list(run.history["epoch"]) == [1, 2, 3]
    assert list(run.history["learning_rate"]) == [1e-3, 1e-3, 1e-4]
    last, model = run.history.iloc[-1], run.use("last")
    flipped = split.train_labels != split.train_clean_labels

    def share(images, labels):
        return (model(images).argmax(1) == labels).float().mean().item()

    assert last["test_accuracy"] == pytest.approx(share(split.test_images, split.test_labels))
    assert last["validation_accuracy"] == pytest.approx(
        share(split.validation_images, split.validation_labels)
    )
    images = split.train_images[flipped]
    assert last["memorised"] == pytest.approx(share(images, split.train_labels[flipped]))
    assert last["corrected"] == pytest.approx(share(images, split.train_clean_labels[flipped]))
    h = torch.tanh(model(split.validation_images).softmax(1)) / 2
    joint = h.gather(1, split.validation_labels[:, None]).mean()
    expected = joint - (h * label_shares(split)).sum(1).mean()
    assert last["validation_objective"] == pytest.approx(expected.item(), abs=1e-6)


def history(**columns):
    return pd.DataFrame({"epoch": [1, 2, 3, 4], **columns})


def test_each_rule_chooses_by_its_own_column():
    run = Run(
        None,
        history(
            validation_accuracy=[0.3, 0.5, 0.5, 0.1],
            validation_objective=[0.1, 0.2, 0.4, 0.3],
            test_accuracy=[0.9, 0.6, 0.7, 0.8],
        ),
        {},
    )
    assert {rule: run.epoch(rule) for rule in (*RULES, ORACLE)} == {
        "last": 4, "noisy-accuracy": 2, "noisy-objective": 3, "oracle": 1,
    }  # fmt: skip
    assert run.accuracy("noisy-objective") == 0.7
    table = run.summary().set_index("rule")
    assert list(table.index) == [*RULES, ORACLE]
    assert table["regret"].to_dict() == pytest.approx(
        {"last": 0.1, "noisy-accuracy": 0.3, "noisy-objective": 0.2, "oracle": 0.0}
    )
    with pytest.raises(
        ValueError, match="no selection rule is called 'best'; choose from last, noisy-accuracy"
    ):
        run.epoch("best")


def test_no_rule_but_the_oracle_looks_at_clean_labels(split):
    """With scrambled test labels and no clean training labels, the chosen weights stay the same."""
    blind = replace(
        split,
        test_labels=split.test_labels.flip(0),
        train_clean_labels=split.train_labels,
    )
    seeing, not_seeing = (train(data, SHORT, tv(split)) for data in (split, blind))
    for rule in RULES:
        assert same(seeing.weights[rule], not_seeing.weights[rule])
    assert math.isnan(not_seeing.history["memorised"].iloc[-1])


def test_use_loads_the_weights_of_the_rules_epoch(split):
    settings = replace(QUICK, schedule=((6, 5e-3),))
    run = train(split, settings, CrossEntropy(10))
    for rule in RULES:
        logits = outputs(run.use(rule), split.test_images, settings)
        accuracy = (logits.argmax(1) == split.test_labels).float().mean().item()
        assert accuracy == pytest.approx(run.accuracy(rule))
    assert not run.model.training


def test_on_epoch_gets_every_row(split):
    rows = []
    run = train(split, SHORT, tv(split), on_epoch=rows.append)
    assert pd.DataFrame(rows).equals(run.history)


def test_a_loss_that_explodes_is_reported(split):
    class Broken(CrossEntropy):
        def forward(self, *arguments):
            return super().forward(*arguments) * float("nan")

    with pytest.raises(TrainingFailed, match=r"became nan in epoch 1: lower the learning rate \(0.001\)"):
        train(split, SHORT, Broken(10))


# ------------------------------------------------------------------ checkpoints

KILLED = """
import sys, torch
from dataclasses import replace
from fdiv.datasets import digits, noisy_split
from fdiv.noise import corrupt, symmetric
from fdiv.experiments.recipes import QUICK
from fdiv.learning.training import fit

def then_wait(row):
    print(row["epoch"], flush=True)
    assert sys.stdin.readline() == "go on\\n"

data = digits()
split = noisy_split(data, corrupt(data.train_labels, symmetric(0.4, 10), seed=0))
images = ("train_images", "validation_images", "test_images")
split = replace(split, **{n: torch.nn.functional.interpolate(getattr(split, n), 16) for n in images})
settings = replace(QUICK, model="cnn", schedule=((3, 1e-3), (3, 1e-4)))
warm_up = replace(settings, schedule=((3, 1e-3),))
run = fit(split, "kl", replace(settings, warm_up=warm_up), seed=5, folder=sys.argv[1], on_epoch=then_wait)
torch.save(run.weights, sys.argv[1] + "/done")
"""


class Child:
    """A process that trains, waits after every epoch, and goes on when it is told to."""

    def __init__(self, folder):
        command = [sys.executable, "-c", KILLED, str(folder)]
        environment = os.environ | {"FDIV_RUNS": str(folder / "runs")}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
        self.process = subprocess.Popen(command, env=environment, **pipes)

    def epochs(self, most=99):
        """Let it do so many epochs, or all there are; return their numbers. It waits after the last."""
        done = []
        while len(done) < most and (line := self.process.stdout.readline()):
            done.append(int(line))
            if len(done) < most:
                self.go_on()
        return done

    def go_on(self):
        self.process.stdin.write("go on\n")


@pytest.mark.slow
def test_a_run_killed_at_any_moment_ends_in_the_same_weights(tmp_path):
    """SIGKILL after an epoch of the shared warm-up, and at a random moment of a later one; with dropout."""
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    child = Child(undisturbed)
    assert child.epochs() == [1, 2, 3, *range(1, 7)]
    assert child.process.wait() == 0
    done = []
    for epochs, delay in ((2, None), (3, float(np.random.default_rng().uniform(0, 0.3)))):
        child = Child(killed)
        done += child.epochs(epochs)
        if delay is not None:
            child.go_on()  # by one epoch at the most, however fast the machine is
            time.sleep(delay)
        child.process.kill()
        assert child.process.wait() == -signal.SIGKILL
    assert done == [1, 2, 3, 1, 2]
    first = torch.load(killed / "kl.pt", weights_only=True)["epoch"]
    assert first in (2, 3)
    child = Child(killed)
    assert child.epochs() == list(range(first + 1, 7))
    assert child.process.wait() == 0
    one, other = (torch.load(path / "done", weights_only=True) for path in (undisturbed, killed))
    assert all(same(one[rule], other[rule]) for rule in RULES)


@pytest.mark.parametrize("method", ["pl", "kl"])
def test_a_run_that_stops_in_an_epoch_ends_in_the_same_weights(split, tmp_path, method):
    """The sampled product, whose peers are drawn too, and peer loss, whose weight follows a schedule."""
    settings = replace(QUICK, schedule=((5, 1e-3),))

    class Stops(Exception):
        pass

    calls = iter(range(1000))

    def stop_later(*_):
        if next(calls) == 40:
            raise Stops

    def loss():
        return build_loss(method, 10, product="sampled")

    undisturbed = train(split, settings, loss(), seed=4)
    stopped = loss()
    stopped.register_forward_hook(stop_later)
    with pytest.raises(Stops):
        train(split, settings, stopped, seed=4, checkpoint=tmp_path / "run.pt")
    assert torch.load(tmp_path / "run.pt", weights_only=True)["epoch"] == 2
    resumed = train(split, settings, loss(), seed=4, checkpoint=tmp_path / "run.pt")
    assert all(same(undisturbed.weights[rule], resumed.weights[rule]) for rule in RULES)
    columns = ["epoch", "validation_objective", "test_accuracy"]
    assert undisturbed.history[columns].equals(resumed.history[columns])


def test_checkpoints_hold_tensors_and_numbers_only(split, tmp_path):
    path = tmp_path / "new" / "folder" / "run.pt"
    run = train(split, SHORT, tv(split), checkpoint=path)
    state = torch.load(path, weights_only=True)
    assert state["epoch"] == 3
    assert [p.name for p in path.parent.iterdir()] == ["run.pt"]
    again = train(split, SHORT, tv(split), checkpoint=path)
    assert run.history.equals(again.history)  # seconds included: nothing was trained


@pytest.mark.parametrize(
    "other",
    [
        lambda split: (split, SHORT, tv(split), 1),
        lambda split: (split, replace(SHORT, batch_size=32), tv(split), 0),
        lambda split: (split, SHORT, FDivLoss("js", 10, label_prior=label_shares(split)), 0),
        lambda split: (split, SHORT, FDivLoss("tv", 10, label_prior=[0.1] * 10), 0),
        lambda split: (replace(split, train_labels=split.train_clean_labels), SHORT, tv(split), 0),
    ],
    ids=["seed", "recipe", "loss", "prior", "labels"],
)
def test_a_checkpoint_of_another_run_is_refused(split, tmp_path, other):
    path = tmp_path / "run.pt"
    train(split, SHORT, tv(split), checkpoint=path, seed=0)
    before = path.read_bytes()
    data, settings, loss, seed = other(split)
    with pytest.raises(ValueError, match=r"run.pt belongs to a run with other data, recipe, loss or seed"):
        train(data, settings, loss, checkpoint=path, seed=seed)
    assert path.read_bytes() == before


def test_a_damaged_checkpoint_is_named(split, tmp_path):
    path = tmp_path / "run.pt"
    train(split, SHORT, tv(split), checkpoint=path)
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(OSError, match=r"run.pt is no readable checkpoint .*: delete it to start anew"):
        train(split, SHORT, tv(split), checkpoint=path)


# ------------------------------------------------------------------ images that stay on the disk


@pytest.fixture(scope="module")
def on_disk(split, tmp_path_factory):
    """A split of files, and the same images as tensors."""
    folder, tensors, streamed = tmp_path_factory.mktemp("images"), {}, {}
    for part, count in (("train", 150), ("validation", 40), ("test", 30)):
        images = getattr(split, f"{part}_images")[:count]
        images = torch.nn.functional.interpolate(images, 16).expand(-1, 3, -1, -1)
        tensors[f"{part}_images"] = (images * 255).to(torch.uint8)
        paths = [folder / f"{part}-{number}.png" for number in range(count)]
        for path, image in zip(paths, tensors[f"{part}_images"], strict=True):
            Image.fromarray(image.permute(1, 2, 0).numpy()).save(path)
        streamed[f"{part}_images"] = ImageFiles(paths, size=16)
        tensors[f"{part}_labels"] = streamed[f"{part}_labels"] = getattr(split, f"{part}_labels")[:count]
    clean = {"train_clean_labels": split.train_clean_labels[:150]}
    return replace(split, **streamed, **clean), replace(split, **tensors, **clean)


STREAMED = replace(
    QUICK,
    model="cnn",
    schedule=((2, 1e-3),),
    batch_size=40,
    augment="crop-flip",
    mean=(0.5, 0.4, 0.3),
    std=(0.5, 0.4, 0.3),
)


@pytest.mark.parametrize(("product", "workers", "epochs"), [("exact", 0, 2), ("sampled", 2, 1)])
def test_files_train_as_tensors_do(on_disk, product, workers, epochs):
    """Bitwise, with the augmentation, dropout, and the second batch of Algorithm 1."""
    recipe = replace(STREAMED, schedule=((epochs, 1e-3),))
    streamed, resident = (
        train(data, recipe, FDivLoss("tv", 10, product=product), seed=2, workers=workers) for data in on_disk
    )
    assert all(same(streamed.weights[rule], resident.weights[rule]) for rule in RULES)
    columns = ["validation_objective", "test_accuracy", "memorised", "corrected"]
    assert streamed.history[columns].equals(resident.history[columns])


def test_files_are_predicted_in_order(on_disk, monkeypatch):
    monkeypatch.setattr(training, "STREAMED_BATCH", 16)
    streamed, resident = on_disk
    model = build_model("cnn", resident.test_images, 10)
    logits = outputs(model, streamed.test_images, STREAMED, workers=0)
    torch.testing.assert_close(logits, outputs(model, resident.test_images, STREAMED))


def test_T_is_estimated_from_files_too(on_disk):
    runs = [fit(data, "flc", STREAMED, workers=0) for data in on_disk]
    np.testing.assert_allclose(runs[0].T, runs[1].T, atol=1e-6)


def test_a_run_on_files_is_known_by_their_names(on_disk, tmp_path):
    streamed, _ = on_disk
    path = tmp_path / "run.pt"
    train(streamed, STREAMED, CrossEntropy(10), checkpoint=path, workers=0)
    rows = []
    train(streamed, STREAMED, CrossEntropy(10), checkpoint=path, workers=0, on_epoch=rows.append)
    assert not rows
    others = replace(streamed, train_images=streamed.train_images[torch.arange(149, -1, -1)])
    with pytest.raises(ValueError, match="belongs to a run with other data"):
        train(others, STREAMED, CrossEntropy(10), checkpoint=path, workers=0)


def test_without_clean_labels_nothing_is_said_of_memory(split):
    unknown = replace(split, train_clean_labels=None)
    run, known = (train(data, SHORT, tv(split)) for data in (unknown, split))
    assert run.history[["memorised", "corrected"]].isna().all(axis=None)
    assert same(run.weights["last"], known.weights["last"])


# ------------------------------------------------------------------ fit: the stages before a method


def files(folder):
    return sorted(p.name for p in folder.rglob("*.pt"))


def test_a_warm_up_is_trained_first_and_handed_over(split, tmp_path, runs):
    settings = replace(SHORT, batch_size=128, warm_up=replace(QUICK, schedule=((4, 1e-3),)))
    run = fit(split, "dmi", settings, seed=2, folder=tmp_path / "dmi")
    assert (files(tmp_path / "dmi"), files(runs / "warm-up")) == (["dmi.pt"], ["warm-up.pt"])
    warm = train(split, settings.warm_up, CrossEntropy(10), seed=2)
    direct = train(split, settings, build_loss("dmi", 10), seed=2, start=warm.weights["noisy-accuracy"])
    assert same(run.weights["last"], direct.weights["last"])


def test_a_warm_up_is_shared_by_all_that_need_the_same(split, tmp_path, runs):
    settings = replace(SHORT, warm_up=replace(QUICK, schedule=((2, 1e-3),)))
    other_labels = replace(split, train_labels=split.train_clean_labels)
    expected = [
        (split, "js", settings, 0, 2 + 3),
        (split, "tv", settings, 0, 3),
        (split, "tv", replace(settings, batch_size=32, source="other words"), 0, 3),
        (split, "tv", settings, 1, 2 + 3),
        (split, "tv", replace(settings, warm_up=replace(QUICK, schedule=((2, 2e-3),))), 0, 2 + 3),
        (other_labels, "tv", settings, 0, 2 + 3),
        (split, "plugin", replace(settings, warm_up_method="ratio"), 0, 2 + 3),
    ]
    for number, (data, method, chosen, seed, epochs) in enumerate(expected):
        rows = []
        fit(data, method, chosen, seed=seed, folder=tmp_path / str(number), on_epoch=rows.append)
        assert len(rows) == epochs, number
    assert len(files(runs / "warm-up")) == 5
    alone = fit(split, "tv", settings)
    again = fit(split, "tv", settings, folder=tmp_path / "1")
    assert same(alone.weights["last"], again.weights["last"])


def test_the_corrections_estimate_T_and_start_anew(split, tmp_path, runs):
    settings = replace(QUICK, schedule=((4, 1e-3),))
    run = fit(split, "flc", settings, folder=tmp_path / "flc")
    assert (files(tmp_path / "flc"), files(runs / "estimate-T")) == (["flc.pt"], ["estimate-T.pt"])
    assert run.T.shape == (10, 10)
    np.testing.assert_allclose(run.T.sum(1), 1)
    direct = train(split, settings, build_loss("flc", 10, T=run.T))
    assert same(run.weights["last"], direct.weights["last"])
    known = fit(split, "flc", settings, T=symmetric(0.4, 10))
    np.testing.assert_array_equal(known.T, symmetric(0.4, 10))
    rows = []
    other_words = replace(settings, source="other words", product="sampled")
    fit(split, "blc", other_words, folder=tmp_path / "blc", on_epoch=rows.append)
    assert len(rows) == 4  # the network of T is that of flc


def test_after_a_warm_up_with_cross_entropy_T_is_estimated_from_that(split, tmp_path, runs):
    settings = replace(SHORT, warm_up=replace(QUICK, schedule=((4, 2e-3),)))
    run = fit(split, "flc", settings, folder=tmp_path / "flc")
    assert not (runs / "estimate-T").exists()
    warm = train(split, settings.warm_up, CrossEntropy(10))
    T = training._estimate(warm.model, split, settings, "anchor")
    np.testing.assert_array_equal(run.T, T)
    loss = build_loss("flc", 10, T=T)
    direct = train(split, settings, loss, start=warm.weights["noisy-accuracy"])
    assert same(run.weights["last"], direct.weights["last"])


def test_a_corrected_divergence_counts_labels_for_its_T(split, tmp_path, runs):
    settings = replace(QUICK, schedule=((4, 2e-3),))
    run = fit(split, "tv", settings, correction="exact", folder=tmp_path / "tv")
    assert (files(tmp_path / "tv"), files(runs / "estimate-T")) == (["tv.pt"], ["estimate-T.pt"])
    prior = label_shares(split)
    direct = train(split, settings, build_loss("tv", 10, label_prior=prior, T=run.T, correction="exact"))
    assert same(run.weights["last"], direct.weights["last"])
    np.testing.assert_allclose(20 * run.T, np.round(20 * run.T), atol=1e-9)  # shares of 20 labels each


def test_the_plug_in_starts_from_the_ratio_rule(split, tmp_path, runs):
    settings = replace(recipe("digits", "plugin"), schedule=((2, 1e-3),))
    run = fit(split, "plugin", settings, folder=tmp_path / "plugin")
    assert (files(tmp_path / "plugin"), files(runs / "warm-up")) == (["plugin.pt"], ["warm-up.pt"])
    ratio = build_loss("ratio", 10, label_prior=label_shares(split))
    warm = train(split, settings.warm_up, ratio)
    direct = train(split, settings, build_loss("plugin", 10), start=warm.weights["noisy-objective"])
    assert same(run.weights["last"], direct.weights["last"])


def test_a_second_process_waits_for_the_stage_it_needs(split, tmp_path, runs, capsys):
    """The lock of the warm-up is held from outside, as by a process that trains it, and then given free."""
    settings = replace(SHORT, warm_up=replace(QUICK, schedule=((1, 1e-3),)))
    fit(split, "tv", settings, folder=tmp_path / "tv")
    (folder,) = (runs / "warm-up").iterdir()
    rows, lock = [], FileLock(folder / ".lock")
    waiting = Thread(
        target=fit, args=(split, "js", settings), kwargs={"folder": tmp_path / "js", "on_epoch": rows.append}
    )
    with lock:
        waiting.start()
        waiting.join(timeout=2)
        assert waiting.is_alive()
        assert not rows
    waiting.join()
    assert len(rows) == 3
    assert f"waiting for another process that works in {folder}" in capsys.readouterr().err


@pytest.fixture(scope="module")
def sparse_high():
    return noisy_data("digits", "sparse-high")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "correction", "known", "least"),
    [("ratio", "none", False, 0.55), ("plugin", "none", False, 0.65), ("tv", "exact", True, 0.55)],
)
def test_sparse_high_is_not_stuck_at_one_half(sparse_high, method, correction, known, least):
    """Where every method of the paper stops at 0.5 (here below 0.49, over five seeds)."""
    T = sparse_high.T if known else None
    run = fit(sparse_high.split, method, recipe("digits", method), T=T, correction=correction)
    assert run.accuracy("noisy-objective") > least


@pytest.mark.slow
def test_a_run_that_went_wrong_says_so(sparse_high):
    """Fitting noisy labels drops the classes whose own label is rare; no clean label is needed to see it."""
    run = fit(sparse_high.split, "tv", QUICK)
    assert run.accuracy("last") < 0.52
    assert any(sentence.startswith("collapsed") for sentence in run.diagnosis)
    assert not fit(sparse_high.split, "plugin", recipe("digits", "plugin")).diagnosis


@pytest.mark.slow
def test_every_method_learns_the_digits_under_mild_noise():
    data = digits()
    split = noisy_split(data, corrupt(data.train_labels, symmetric(0.2, 10), seed=0))
    for method in methods():
        settings = recipe("digits", method, "quick")
        short = replace(settings, schedule=((12, settings.learning_rate(0)),))
        assert fit(split, method, short, seed=0).accuracy("last") > 0.75, method
