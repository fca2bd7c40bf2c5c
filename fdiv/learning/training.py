"""The training loop: Algorithm 1 of the paper and everything it is compared with, on tensors that stay put.

The whole dataset lives on the device, images as uint8; a step gathers its batch there, normalises it, and
runs one forward and one backward pass. Images that are too many for that (``ImageFiles``) stay on the disk;
processes decode them ahead, and the device does the rest. Evaluation never touches the weights, and nothing
that is reported after training was used to choose: ``Run.summary`` tells the rules that need no clean label
from the oracle.

Every random draw of epoch n follows from (seed, n): the order of the examples, the peers of Algorithm 1 and
dropout. A run that was killed and resumed from its last checkpoint therefore ends, on a CPU, in bitwise the
same weights as one that was not.

Under ``torchrun`` several processes train one model, see ``fdiv.learning.distributed``. All draw the same
order of the examples and each takes its part of every batch; dropout and augmentation differ between them.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from fdiv.datasets import ImageFiles, NoisySplit, default_workers
from fdiv.device import TRAINING, has_bfloat16, memory_kept, pick_device, progress_bar
from fdiv.files import runs_folder, write_state
from fdiv.learning.augment import AUGMENTATIONS
from fdiv.learning.distributed import World, locked, world
from fdiv.learning.losses import NoisyLabelLoss
from fdiv.learning.methods import METHODS, build_loss, needs_transition
from fdiv.learning.models import build_model, looks_at_data, prepare
from fdiv.learning.modern import sharpness_aware, weight_average
from fdiv.learning.recipe import ESTIMATE_T, WARM_UP, Recipe, stages_before
from fdiv.learning.runs import RULES, Run, State, read_state
from fdiv.names import choose
from fdiv.noise.estimate import estimate_transition

EVALUATION_BATCH = 500  # 1000 images of MNIST do not fit a core's cache: half as fast
STREAMED_BATCH = 250  # of images as large as Clothing1M's
MEMORY_SAMPLE = 5000
CHECKPOINT = {"fingerprint", "epoch", "history", "model", "optimiser", "scaler", "loss", "weights"}
PREPARED = 5000  # images that a network may look at before it is trained, see ``models.prepare``
Images = Tensor | ImageFiles


class TrainingFailed(RuntimeError):
    """The objective stopped being a number.

    >>> issubclass(TrainingFailed, RuntimeError)
    True
    """


def fit(
    split: NoisySplit,
    method: str,
    recipe: Recipe,
    *,
    seed: int = 0,
    T: Any = None,
    correction: str = "none",
    folder: str | os.PathLike | None = None,
    **options: Any,
) -> Run:
    """Train ``method`` by ``recipe``, with the stages that come before it.

    A recipe with a warm-up trains that first. Where a transition matrix is needed and ``T`` is not given, it
    is estimated from a network trained with cross-entropy: the warm-up if it was that, else one trained by
    the same recipe, after which training starts anew. For BLC and FLC it is estimated as their authors do,
    for a corrected divergence by counting labels.

    correction: "paper" or "exact" for a divergence, see ``FDivLoss``.
    folder: where the checkpoint of the method is kept; a second call goes on where the first one stopped.
        The stages before it are then kept in ``fdiv.files.runs_folder()`` and trained once for all methods.
    options: passed on to ``train``.

    >>> from fdiv.datasets import noisy_data
    >>> short = Recipe(model="small-net", schedule=((2, 2e-3),))
    >>> run = fit(noisy_data("digits", "uniform-low").split, "js", short, progress=False)
    >>> len(run.history)
    2
    """
    method, prior = METHODS.name_of(method), label_shares(split)
    options = options | {"seed": seed}
    size = {"num_classes": split.num_classes, "examples": len(split.train_labels)}

    def trained(name: str, stage_method: str, stage_recipe: Recipe) -> Run:
        loss = build_loss(
            stage_method, split.num_classes, label_prior=prior, examples=len(split.train_labels)
        )
        if folder is None:
            return train(split, stage_recipe, loss, **options)
        return _shared_stage(name, split, stage_recipe, loss, **options)

    estimate_T = T is None and needs_transition(method, correction)
    before = {name: trained(name, *stage) for name, stage in stages_before(recipe, estimate_T).items()}
    start = None
    if WARM_UP in before:
        rule = "noisy-accuracy" if recipe.warm_up_method == "ce" else "noisy-objective"
        start = before[WARM_UP].weights[rule]
    if estimate_T:
        network = (before.get(ESTIMATE_T) or before[WARM_UP]).model
        T = _estimate(network, split, recipe, METHODS[method].estimate or "anchor-count")
    loss = build_loss(method, label_prior=prior, T=T, correction=correction, product=recipe.product, **size)
    checkpoint = None if folder is None else Path(folder) / f"{method}.pt"
    return replace(train(split, recipe, loss, start=start, checkpoint=checkpoint, **options), T=T)


def _shared_stage(
    name: str, split: NoisySplit, recipe: Recipe, loss: NoisyLabelLoss, seed: int, **options: Any
) -> Run:
    """A stage that does not depend on the method: trained by the first run that needs it, read by the others.

    Its place is named by the hash of all that decides its outcome. Who comes while another process trains it
    waits, and goes on from its checkpoint should that process have died.
    """
    loss.set_epoch(0, recipe.epochs)
    folder = runs_folder() / name / _fingerprint(split, recipe, loss, seed, None)[:16]
    with locked(folder):
        return train(split, recipe, loss, seed=seed, checkpoint=folder / f"{name}.pt", **options)


def _estimate(model: nn.Module, split: NoisySplit, recipe: Recipe, how: str) -> np.ndarray:
    """Return T as estimated from the posteriors of a network trained on the noisy labels."""
    posteriors = _outputs_together(model, split.train_images, recipe).softmax(1)
    percentile = 97 if split.num_classes <= 33 else None  # above, less than a class would be left
    labels = None if how == "anchor" else split.train_labels
    return estimate_transition(posteriors, labels, method=how, percentile=percentile, bootstrap=0).T


def train(
    split: NoisySplit,
    recipe: Recipe,
    loss: NoisyLabelLoss,
    *,
    seed: int = 0,
    start: State | None = None,
    checkpoint: str | os.PathLike | None = None,
    device: torch.device | str | None = None,
    progress: bool | None = None,
    on_epoch: Callable[[Mapping[str, Any]], None] | None = None,
    workers: int | None = None,
) -> Run:
    """Minimise ``loss`` on the noisy training labels and watch what it does.

    The history has a row per epoch: ``epoch`` (from 1), ``learning_rate``, ``train_objective`` (mean over the
    steps), ``validation_objective`` and ``validation_accuracy`` (noisy labels), ``test_accuracy`` (clean
    labels, only looked at), ``memorised`` and ``corrected`` (the share of flipped training labels that the
    model predicts as given, and as they were before; nan where no clean ones are known), ``seconds``.

    start: weights to begin with; by default they are drawn from ``seed``.
    checkpoint: a file written after every epoch; where it exists the run goes on from it.
    progress: a bar with the time left; by default where somebody can see it.
    on_epoch: called with each new row of the history.
    workers: how many processes decode images that stay on the disk; by default ``default_workers()``.

    Of several processes only the first writes the checkpoint, shows the bar and calls ``on_epoch``.

    >>> from fdiv.datasets import noisy_data
    >>> split = noisy_data("digits", "uniform-low").split
    >>> short = Recipe(model="small-net", schedule=((2, 2e-3),))
    >>> run = train(split, short, build_loss("tv", 10), progress=False)
    >>> run.epoch("last")
    2
    """
    everyone = world()
    device = pick_device() if device is None else torch.device(device)
    data = split.to(device)
    session = _Session(data, recipe, loss, seed, start, device, workers)
    loss.set_epoch(0, recipe.epochs)
    if checkpoint is not None:
        fingerprint = _fingerprint(split, recipe, loss, seed, start)
        session.resume(Path(checkpoint), fingerprint)
    session.forward = everyone.parallel(session.model)
    steps = _batch_count(len(data.train_labels), recipe.batch_size)
    shown, total, done = progress if everyone.is_main else False, recipe.epochs * steps, session.epoch * steps
    with progress_bar(shown, total=total, initial=done, unit="step") as bar, memory_kept():
        while session.epoch < recipe.epochs:
            session.run_epoch(bar)
            if checkpoint is not None and everyone.is_main:
                session.save(Path(checkpoint), fingerprint)
            if on_epoch is not None and everyone.is_main:
                on_epoch(session.history[-1])
    return session.finish()


class _Session:
    """A run in progress: everything that changes from step to step."""

    def __init__(
        self,
        data: NoisySplit,
        recipe: Recipe,
        loss: NoisyLabelLoss,
        seed: int,
        start: State | None,
        device: torch.device,
        workers: int | None = None,
    ) -> None:
        self.data, self.recipe, self.seed, self.device = data, recipe, seed, device
        self.world = _checked_world(recipe.batch_size, len(data.train_labels))
        self.augment = AUGMENTATIONS[recipe.augment]
        self.workers = default_workers() if workers is None else workers
        self.stream: Iterator[Tensor] | None = None
        with _seeded(device, seed, 0):
            self.model = build_model(recipe.model, data.train_images, data.num_classes)
        if start is not None:
            self.model.load_state_dict(start)
        elif isinstance(data.train_images, Tensor) and looks_at_data(self.model):
            prepare(self.model, normalise(self.augment.test(data.train_images[:PREPARED]).cpu(), recipe))
        self.model.to(device).to(memory_format=torch.channels_last)
        self.model = self.world.synchronised(self.model)
        self.forward: Callable[[Tensor], Tensor] = self.model
        self.mean = weight_average(self.model, recipe.average) if recipe.average else None
        self.loss = loss.to(device)
        self.two_views = getattr(loss, "needs_view", False)
        if self.two_views and recipe.augment == "none":
            raise ValueError(
                "this loss compares two views of a picture, but the recipe makes one: give it an"
                " augmentation, such as augment='shift-flip'"
            )
        self.loss.check = False  # the split has checked its labels
        self.optimiser = _optimiser(recipe, self.model)
        half = _half(device, recipe)
        self.autocast = torch.autocast(device.type, dtype=half or torch.bfloat16, enabled=half is not None)
        self.scaler = torch.amp.GradScaler(device.type, enabled=half is torch.float16)
        self.epoch = self.steps = 0
        self.history: list[dict[str, float]] = []
        self.weights: dict[str, State] = {}
        self.clean = data.train_labels if data.train_clean_labels is None else data.train_clean_labels
        self.flipped = (data.train_labels != self.clean).nonzero().flatten()[:MEMORY_SAMPLE]

    def run_epoch(self, bar: Any) -> None:
        """One pass over the training data, then a look at what it did."""
        started = time.perf_counter()
        self.loss.set_epoch(self.epoch, self.recipe.epochs)
        self.model.train()
        self.loss.train()
        total, self.steps = torch.zeros((), device=self.device), 0
        with _seeded(self.device, self.seed, self.epoch + 1):
            batches = list(self.batches())
            if self.world.size > 1:  # they share the order, but augment by themselves
                _seed(self.seed, self.epoch + 1, self.world.rank + 1)
            self.stream = self.decoded(batches)
            for number, batch in enumerate(batches):
                for group in self.optimiser.param_groups:
                    group["lr"] = self.recipe.rate((self.epoch + number / len(batches)) / self.recipe.epochs)
                total += self.step(*batch)
                bar.update()
        self.world.share_buffers(self.model)
        rate = self.optimiser.param_groups[0]["lr"]
        self.epoch += 1
        objective = -total.item() / self.steps
        if not np.isfinite(objective):
            raise TrainingFailed(
                f"the objective became {objective} in epoch {self.epoch}: lower the learning rate ({rate:g}) "
                "or start from a warm-up"
            )
        row = {"epoch": self.epoch, "learning_rate": rate, "train_objective": objective, **self.evaluate()}
        self.history.append(row | {"seconds": time.perf_counter() - started})
        self.keep()
        bar.set_postfix({"noisy validation": f"{row['validation_accuracy']:.1%}"})

    def batches(self) -> Iterator[tuple[Tensor, Tensor | None, Tensor | None]]:
        """Indices of the joint batch and, where Algorithm 1 is sampled, of peer images and peer labels."""
        count, size = len(self.data.train_labels), self.recipe.batch_size
        joint = self.shuffled(count)
        peers = (self.shuffled(count), self.shuffled(count)) if self.loss.needs_peers else None
        for number in range(_batch_count(count, size)):
            part = slice(number * size, (number + 1) * size)
            yield (joint[part], *((peers[0][part], peers[1][part]) if peers else (None, None)))

    def shuffled(self, count: int) -> Tensor:
        """0 .. count - 1 in a random order, drawn on the CPU so that every device sees the same."""
        return torch.randperm(count).to(self.device)

    def decoded(self, batches: list[tuple[Tensor, Tensor | None, Tensor | None]]) -> Iterator[Tensor] | None:
        """The images of the epoch from the disk, in the order in which ``images`` asks for them."""
        if isinstance(self.data.train_images, Tensor):
            return None
        views = 2 if self.two_views else 1
        wanted = (
            part for joint, peers, _ in batches for part in (*[joint] * views, peers) if part is not None
        )
        own = (part[self.world.part(len(part))] for part in wanted)
        return self.data.train_images.batches(own, self.workers, pin_memory=self.device.type == "cuda")

    def step(self, joint: Tensor, peer_images: Tensor | None, peer_labels: Tensor | None) -> Tensor:
        """One step of Algorithm 1; with the exact product term its second and third batch are not needed."""
        labels, pictures = self.data.train_labels, {}
        self.optimiser.zero_grad(set_to_none=True)
        self.steps += 1

        def logits(name: str, indices: Tensor) -> Tensor:
            if name not in pictures:  # a second pass sees the same pictures
                pictures[name] = self.images(indices)
            return self.logits(pictures[name], len(indices))

        def backward() -> Tensor:
            with self.autocast:
                given = logits("joint", joint)
                more = {"index": joint} if getattr(self.loss, "needs_index", False) else {}
                if self.two_views:
                    more["view_logits"] = logits("view", joint)
                if peer_images is not None:
                    more |= {"peer_logits": logits("peers", peer_images), "peer_labels": labels[peer_labels]}
                value = self.whole_loss(given, labels[joint], more)
            self.scaler.scale(value if self.world.size == 1 else self.world.size * value).backward()
            return value.detach()

        rho = self.recipe.sharpness
        value = sharpness_aware(self.model, backward, rho) if rho else backward()
        self.scaler.step(self.optimiser)
        self.scaler.update()
        if self.mean is not None:
            self.mean.update_parameters(self.model)
        return value

    def logits(self, pictures: Tensor, count: int) -> Tensor:
        """Those of ``count`` pictures. Of several processes each computes a part and is told the others'."""
        if self.world.size == 1:
            return self.forward(pictures)
        return self.world.whole(self.forward(pictures), count)

    def whole_loss(self, logits: Tensor, labels: Tensor, peers: dict[str, Tensor]) -> Tensor:
        """The loss of the whole batch; where it draws, all processes draw the same."""
        if self.world.size == 1:
            return self.loss(logits, labels, **peers)
        with _seeded(self.device, self.seed, self.epoch + 1, self.world.size + self.steps):
            return self.loss(logits, labels, **peers)

    def images(self, indices: Tensor) -> Tensor:
        """This process's part of a batch of training images, augmented and normalised on the device."""
        if self.stream is None:
            own = indices if self.world.size == 1 else indices[self.world.part(len(indices))]
            batch = self.data.train_images[own]
        else:
            batch = next(self.stream).to(self.device, non_blocking=True)
        return normalise(self.augment.train(batch), self.recipe)

    def evaluate(self) -> dict[str, float]:
        """Return the row of the history for this epoch."""
        data, flipped = self.data, self.flipped
        self.loss.eval()
        validation = self.outputs(data.validation_images)
        test = self.outputs(data.test_images)
        memory = self.outputs(data.train_images[flipped])
        return {
            "validation_objective": self.loss.objective(validation, data.validation_labels).item(),
            "validation_accuracy": _agreement(validation, data.validation_labels),
            "test_accuracy": _agreement(test, data.test_labels),
            "memorised": _agreement(memory, data.train_labels[flipped]),
            "corrected": _agreement(memory, self.clean[flipped]),
        }

    @property
    def judged(self) -> nn.Module:
        """The network that is evaluated and kept: the one in training, or the mean of its weights."""
        return self.model if self.mean is None else self.mean.module

    def outputs(self, images: Images) -> Tensor:
        """The logits of the present model, computed by all processes."""
        return _outputs_together(self.judged, images, self.recipe, self.workers)

    def keep(self) -> None:
        """Copy the weights for every rule that would choose this epoch so far."""
        state = {name: tensor.detach().clone() for name, tensor in self.judged.state_dict().items()}
        run = Run(self.judged, pd.DataFrame(self.history), {})
        for rule in RULES:
            if run.epoch(rule) == self.epoch:
                self.weights[rule] = state

    def save(self, path: Path, fingerprint: str) -> None:
        """Write all that ``resume`` needs, so that the file is always the old or the whole new one."""
        path.parent.mkdir(parents=True, exist_ok=True)
        state = {
            "fingerprint": fingerprint,
            "epoch": self.epoch,
            "history": self.history,
            "model": self.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "scaler": self.scaler.state_dict(),
            "loss": self.loss.memory(),
            "weights": self.weights,
        }
        if self.mean is not None:
            state["mean"] = self.mean.state_dict()
        write_state(state, path)

    def resume(self, path: Path, fingerprint: str) -> None:
        """Go on from ``path`` where it exists; refuse the checkpoint of another run."""
        if not path.exists():
            return
        state = read_state(path, self.device)
        if missing := CHECKPOINT - state.keys():
            raise OSError(
                f"{path} is no checkpoint of fdiv (it has no {min(missing)!r}): delete it to start anew"
            )
        if state["fingerprint"] != fingerprint:
            raise ValueError(
                f"{path} belongs to a run with other data, recipe, loss or seed: "
                "delete it, or choose another folder"
            )
        self.model.load_state_dict(state["model"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.scaler.load_state_dict(state["scaler"])
        self.loss.remember(state["loss"])
        if self.mean is not None:
            self.mean.load_state_dict(state["mean"])
        self.epoch, self.history, self.weights = state["epoch"], state["history"], state["weights"]

    def finish(self) -> Run:
        """The run as a value, its model ready to predict."""
        run = Run(self.judged.eval(), pd.DataFrame(self.history), self.weights)
        run.use("noisy-objective")
        validation = self.outputs(self.data.validation_images)
        return replace(run, diagnosis=tuple(self.loss.diagnose(validation, self.data.validation_labels)))


def outputs(model: nn.Module, images: Images, recipe: Recipe, workers: int | None = None) -> Tensor:
    """The logits of ``model`` in evaluation mode, in large batches and without a trace of gradients.

    workers: how many processes decode images that stay on the disk; by default ``default_workers()``.

    >>> model = build_model("small-net", torch.empty(0, 1, 8, 8), 10)
    >>> outputs(model, torch.rand(3, 1, 8, 8), Recipe(model="small-net", schedule=((1, 1e-3),))).shape
    torch.Size([3, 10])
    """
    was_training, change = model.training, AUGMENTATIONS[recipe.augment].test
    model.eval()
    device = next(model.parameters()).device
    half = recipe.half_on_cpu and has_bfloat16(device)
    with torch.inference_mode(), torch.autocast(device.type, dtype=torch.bfloat16, enabled=half):
        parts = [
            model(normalise(change(part.to(device, non_blocking=True)), recipe))
            for part in _parts(images, device, workers)
        ]
    model.train(was_training)
    return torch.cat(parts).clone() if parts else torch.empty(0)


def _parts(images: Images, device: torch.device, workers: int | None) -> Iterator[Tensor]:
    """``images`` in order, a batch at a time."""
    if isinstance(images, Tensor):
        yield from images.split(EVALUATION_BATCH)
    elif len(images):
        batches = torch.arange(len(images)).split(STREAMED_BATCH)
        workers = default_workers() if workers is None else workers
        yield from images.batches(batches, workers, pin_memory=device.type == "cuda")


def _outputs_together(model: nn.Module, images: Images, recipe: Recipe, workers: int | None = None) -> Tensor:
    """``outputs``, of which each process does its part and gets the whole."""
    everyone, count = world(), len(images)
    if everyone.size == 1 or count < everyone.size:
        return outputs(model, images, recipe, workers)
    return everyone.whole(outputs(model, images[everyone.part(count)], recipe, workers), count)


def normalise(images: Tensor, recipe: Recipe) -> Tensor:
    """Return images as the model wants them: float32, uint8 brought to [0, 1], then (pixel - mean) / std.

    >>> half = Recipe(model="cnn", schedule=((1, 1e-3),), mean=(0.5,), std=(0.5,))
    >>> round(normalise(torch.full((1, 1, 1, 1), 255, dtype=torch.uint8), half).item(), 6)
    1.0
    """
    largest = 255.0 if images.dtype == torch.uint8 else 1.0
    scale, shift = _scale_and_shift(recipe.mean, recipe.std, largest, images.device)
    return torch.addcmul(shift, images.to(torch.float32), scale)


@cache
def _scale_and_shift(
    mean: tuple[float, ...], std: tuple[float, ...], largest: float, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Return for each channel the factor and the summand that normalise its pixels."""
    with torch.inference_mode(False):
        scale = torch.tensor([1 / (largest * s) for s in std], device=device)
        shift = torch.tensor([-m / s for m, s in zip(mean, std, strict=True)], device=device)
        return scale.view(1, -1, 1, 1), shift.view(1, -1, 1, 1)


def label_shares(split: NoisySplit) -> Tensor:
    """Return the noisy label prior p~, counted on the training labels.

    >>> from fdiv.datasets import noisy_data
    >>> round(label_shares(noisy_data("digits", "uniform-low").split).sum().item(), 6)
    1.0
    """
    counts = torch.bincount(split.train_labels, minlength=split.num_classes)
    return counts.to(torch.float32) / counts.sum()


def _agreement(logits: Tensor, labels: Tensor) -> float:
    """The share of arg maxima that equal ``labels``; nan where there are none."""
    return (logits.argmax(1) == labels).float().mean().item() if len(labels) else float("nan")


def _batch_count(examples: int, batch_size: int) -> int:
    """Whole batches only, as in the authors' program; a set smaller than one batch is one batch."""
    return max(1, examples // batch_size)


def _checked_world(batch_size: int, examples: int) -> World:
    """The processes that train together, or a ``ValueError`` where a batch cannot be cut among them."""
    everyone, smallest = world(), min(batch_size, examples)
    if smallest < everyone.size:
        raise ValueError(f"a batch of {smallest} cannot be cut among {everyone.size} processes: start fewer")
    return everyone


def _optimiser(recipe: Recipe, model: nn.Module) -> torch.optim.Optimizer:
    rate, decay = recipe.learning_rate(0), recipe.weight_decay
    weights = [p for p in model.parameters() if p.ndim > 1 or recipe.decay == "all"]
    others = [p for p in model.parameters() if p.ndim <= 1 and recipe.decay == "weights"]
    groups = [{"params": weights, "weight_decay": decay}]
    if others:
        groups.append({"params": others, "weight_decay": 0.0})
    match choose("optimiser", recipe.optimiser, ("adam", "adagrad", "sgd")):
        case "adam":
            fused = next(model.parameters()).device.type in ("cpu", "cuda")
            return torch.optim.Adam(groups, lr=rate, fused=fused)
        case "adagrad":
            return torch.optim.Adagrad(groups, lr=rate, eps=1e-8)
    return torch.optim.SGD(groups, lr=rate, momentum=recipe.momentum, nesterov=recipe.nesterov)


def _half(device: torch.device, recipe: Recipe) -> torch.dtype | None:
    """The 16-bit type for mixed precision: bfloat16 on a card that has it; on a CPU see ``Recipe``."""
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    return torch.bfloat16 if recipe.half_on_cpu and has_bfloat16(device) else None


@contextmanager
def _seeded(device: torch.device, *numbers: int) -> Iterator[None]:
    """Torch's generators seeded by ``numbers``, such as seed and epoch, inside, and as before afterwards."""
    devices = [device] if device.type == "cuda" else []
    with TRAINING, torch.random.fork_rng(devices=devices):
        _seed(*numbers)
        yield


def _seed(*numbers: int) -> None:
    """Seed torch's generators. Trailing zeros do not count, so 0 must not tell two streams apart."""
    torch.manual_seed(int(np.random.SeedSequence(numbers).generate_state(1)[0]))


def _fingerprint(
    split: NoisySplit, recipe: Recipe, loss: NoisyLabelLoss, seed: int, start: State | None
) -> str:
    """A hash of all that decides the outcome of a run; files count by their paths."""
    unread: dict[str, Any] = {"warm_up": None, "warm_up_method": "", "product": "", "source": ""}
    read = replace(recipe, **unread)
    digest = hashlib.sha256(repr((split.name, read, loss, seed)).encode())
    tensors = [split.train_labels, split.validation_labels, *loss.memory().values()]
    if isinstance(split.train_images, Tensor):
        tensors.append(split.train_images)
    else:
        digest.update(split.train_images.names())
    for tensor in (*tensors, *(start or {}).values()):
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
