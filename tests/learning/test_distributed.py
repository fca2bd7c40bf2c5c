"""Two processes that train one model end as one process with the whole batch does.

``torchrun`` starts this file itself: ``experiment`` and ``compare`` are what each of the processes does.
"""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from fdiv.datasets import digits, noisy_split
from fdiv.experiments import experiment
from fdiv.experiments.experiment import Experiment, run_experiment
from fdiv.experiments.recipes import QUICK
from fdiv.learning import training
from fdiv.learning.distributed import World, world
from fdiv.learning.losses import FDivLoss, PeerLoss
from fdiv.learning.methods import build_loss
from fdiv.learning.training import label_shares, train
from fdiv.noise import corrupt, symmetric

# Parts of 51 and 50. Adam would divide rounding errors by gradients that are as small, SGD does not.
UNEVEN = replace(QUICK, optimiser="sgd", momentum=0.9, schedule=((2, 0.02), (1, 0.002)), batch_size=101)
EXPERIMENT = Experiment(dataset="digits", noise="uniform-low", method="dmi", seed=1)


def data():
    digits_ = digits()
    return noisy_split(digits_, corrupt(digits_.train_labels, symmetric(0.4, 10), seed=0))


def losses(split):
    """Means over examples and not, with and without a memory, and with the batches of Algorithm 1."""
    return {
        "tv": build_loss("tv", 10, label_prior=label_shares(split)),
        "dmi": build_loss("dmi", 10),
        "plugin": build_loss("plugin", 10),
        "counting": PeerLoss(10),
        "sampled": FDivLoss("kl", 10, product="sampled"),
    }


def short(*arguments, **options):
    """Every recipe in a few epochs."""
    settings = RECIPE(*arguments, **options)
    warm_up = settings.warm_up and replace(settings.warm_up, schedule=((2, 0.02),))
    sgd = {"optimiser": "sgd", "momentum": 0.9}
    return replace(settings, schedule=((4, 1e-3),), warm_up=replace(warm_up, **sgd), **sgd)


RECIPE = experiment.recipe


# ------------------------------------------------------------------ what the processes do


def compare(folder):
    """Train with every loss and leave what each process ends with."""
    split, rank = data(), world().rank
    for name, loss in losses(split).items():
        run = train(split, UNEVEN, loss, seed=3)
        state = {"weights": run.weights, "history": run.history.drop(columns="seconds").to_dict("list")}
        torch.save(state | {"loss": loss.state_dict()}, folder / f"{name}-{rank}.pt")
    watch(split, folder / f"watched-{rank}.pt")
    with_statistics = replace(UNEVEN, model="cifar-net", schedule=((1, 0.02),), augment="crop-flip")
    run = train(split, with_statistics, FDivLoss("kl", 10, product="sampled"))
    torch.save(run.weights["last"], folder / f"statistics-{rank}.pt")
    shuffled = train(split, UNEVEN, FDivLoss("tv", 10, product="shuffled"))
    torch.save(shuffled.history["train_objective"].tolist(), folder / f"shuffled-{rank}.pt")


def watch(split, path):
    """Which examples this process takes in two epochs, and what it draws besides."""
    taken, drawn, images = [], [], training._Session.images

    def watched(session, indices):
        taken.append(indices[session.world.part(len(indices))].clone())  # it is given the whole batch
        drawn.append(torch.rand(()).item())
        return images(session, indices)

    training._Session.images = watched
    train(split, replace(UNEVEN, schedule=((2, 0.02),)), losses(split)["tv"], seed=5)
    training._Session.images = images
    torch.save({"taken": taken, "drawn": drawn}, path)


def interrupted(folder):
    """Run an experiment with a warm-up; process 0 dies once, after the third epoch of all."""
    experiment.recipe = short
    seen, killed = [], folder / "killed"

    def on_epoch(row):
        assert world().is_main
        seen.append(row)
        if len(seen) == 3 and not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    _, result = run_experiment(EXPERIMENT, folder / "run", on_epoch)
    (folder / f"result-{world().rank}.txt").write_text(f"{len(seen)} {result['accuracy_last']}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    interrupted(Path(sys.argv[1]))
    compare(Path(sys.argv[1]))
    sys.exit()


# ------------------------------------------------------------------ the tests


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What two processes leave that were started, killed and started again."""
    folder = tmp_path_factory.mktemp("together")
    killed, done = torchrun(folder), torchrun(folder)
    assert killed.returncode != 0
    assert done.returncode == 0, done.stderr[-3000:]
    assert "FutureWarning" not in done.stderr
    return folder


def torchrun(folder):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    environment = {"FDIV_DEVICE": "cpu", "OMP_NUM_THREADS": "1", "FDIV_RUNS": str(folder / "runs")}
    return subprocess.run(
        [*command, __file__, str(folder)],
        env=os.environ | environment, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip


def load(path):
    return torch.load(path, weights_only=True)


def close(one, other):
    for name, value in one.items():
        torch.testing.assert_close(other[name], value, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["tv", "dmi", "plugin", "counting", "sampled"])
def test_the_weights_are_those_of_one_process(folder, name):
    """With parts of 51 and 50 of each batch, and for losses that are no means over examples."""
    split = data()
    loss = losses(split)[name]
    alone = train(split, UNEVEN, loss, seed=3)
    for rank in (0, 1):
        together = load(folder / f"{name}-{rank}.pt")
        for rule in alone.weights:
            close(alone.weights[rule], together["weights"][rule])
        close(loss.state_dict(), together["loss"])
        for column in ("train_objective", "validation_objective", "test_accuracy", "memorised"):
            np.testing.assert_allclose(together["history"][column], alone.history[column], atol=1e-5)


def test_processes_share_the_order_and_nothing_else(folder):
    first, second = (load(folder / f"watched-{rank}.pt") for rank in (0, 1))
    steps = len(first["taken"])
    assert steps == 2 * (1000 // 101)
    seeds = [int(np.random.SeedSequence([5, epoch]).generate_state(1)[0]) for epoch in (1, 2)]
    for epoch, seed in enumerate(seeds):
        order = torch.randperm(1000, generator=torch.Generator().manual_seed(seed))
        for number in range(steps // 2):
            step = epoch * (steps // 2) + number
            both = torch.cat([first["taken"][step], second["taken"][step]])
            assert torch.equal(both, order[number * 101 : (number + 1) * 101])
            assert len(first["taken"][step]) == 51
    assert len(set(first["drawn"] + second["drawn"])) == 2 * steps


def test_all_processes_end_with_one_model(folder):
    """Weights and the running statistics of batch normalisation, after two forward passes in each step."""
    one, other = (load(folder / f"statistics-{rank}.pt") for rank in (0, 1))
    assert any("running_mean" in name for name in one)
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_loss_that_draws_draws_alike_everywhere(folder):
    one, other = (load(folder / f"shuffled-{rank}.pt") for rank in (0, 1))
    assert one == other


def test_a_killed_experiment_goes_on_and_has_one_result(folder, monkeypatch):
    """Killed in the epoch after the warm-up, finished, read again, and equal to one process at the end."""
    assert (folder / "killed").exists()
    assert list(folder.rglob("result.json")) == [folder / "run" / "result.json"]
    one, other = ((folder / f"result-{rank}.txt").read_text().split() for rank in (0, 1))
    assert (one[0], other[0]) == ("3", "0")  # of 2 + 4 epochs in all 3 were done; process 0 alone reports
    assert one[1] == other[1]

    monkeypatch.setattr(experiment, "recipe", short)
    alone, result = run_experiment(EXPERIMENT)
    rows = []
    together, stored = run_experiment(EXPERIMENT, folder / "run", rows.append)
    assert not rows
    assert stored["accuracy_last"] == pytest.approx(result["accuracy_last"], abs=0.01)
    close(alone.weights["last"], together.weights["last"])


def test_parts_cover_everything_in_order():
    for size in (1, 2, 3, 7):
        for count in (0, 1, 6, 7, 101):
            parts = [World(rank, size).part(count) for rank in range(size)]
            assert [i for part in parts for i in range(count)[part]] == list(range(count))
            lengths = [part.stop - part.start for part in parts]
            assert max(lengths) - min(lengths) <= 1


def test_alone_nothing_is_gathered_or_wrapped():
    everyone, model, rows = world(), torch.nn.Linear(2, 2), torch.rand(3, 2)
    assert (everyone.rank, everyone.size, everyone.is_main) == (0, 1, True)
    assert everyone.parallel(model) is model
    assert everyone.whole(rows, 3) is rows


def test_a_batch_smaller_than_the_processes_is_refused(monkeypatch):
    monkeypatch.setattr(training, "world", lambda: World(0, 4))
    with pytest.raises(ValueError, match="a batch of 3 cannot be cut among 4 processes"):
        train(data(), replace(UNEVEN, batch_size=3), build_loss("tv", 10))
