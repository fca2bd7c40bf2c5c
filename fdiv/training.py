"""The training loop: Algorithm 1 of the paper and everything it is compared with, on tensors that stay put.

The whole dataset lives on the device, images as uint8; a step gathers its batch there, normalises it, and
runs one forward and one backward pass. Evaluation never touches the weights, and nothing that is reported
after training was used to choose: ``Run.summary`` tells the rules that need no clean label from the oracle.

Every random draw of epoch n follows from (seed, n): the order of the examples, the peers of Algorithm 1 and
dropout. A run that was killed and resumed from its last checkpoint therefore ends, on a CPU, in bitwise the
same weights as one that was not.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from fdiv.augment import crop_flip
from fdiv.datasets import NoisySplit
from fdiv.device import pick_device
from fdiv.explore import is_static
from fdiv.files import replacing
from fdiv.losses import CrossEntropy, NoisyLabelLoss
from fdiv.models import build_model
from fdiv.names import choose
from fdiv.recipes import NEEDS_TRANSITION, Recipe, build_loss, check_method, needs_transition
from fdiv.transition import estimate_transition

__all__ = ["ORACLE", "RULES", "Run", "TrainingFailed", "fit", "predict", "train"]

RULES = {
    "last": "the last epoch",
    "noisy-accuracy": "best accuracy on the noisy validation labels",
    "noisy-objective": "best value of its own objective on the noisy validation data, the paper's rule",
}
ORACLE = "oracle"
EVALUATION_BATCH = 1000
MEMORY_SAMPLE = 5000
State = dict[str, Tensor]


class TrainingFailed(RuntimeError):
    """The objective stopped being a number."""


@dataclass(frozen=True, eq=False)
class Run:
    """What a training run leaves.

    model: in evaluation mode, with the weights chosen by the rule "noisy-objective".
    history: a row per epoch, see ``train``.
    weights: for each of ``RULES`` the weights it chooses.
    diagnosis: what looks wrong with the model, judged by noisy validation labels; empty where nothing does.
    T: the transition matrix the loss was built with, where it was.
    """

    model: nn.Module
    history: pd.DataFrame
    weights: dict[str, State] = field(repr=False)
    diagnosis: tuple[str, ...] = ()
    T: np.ndarray | None = None

    def use(self, rule: str) -> nn.Module:
        """The model with the weights that ``rule`` chooses."""
        self.model.load_state_dict(self.weights[choose("selection rule", rule, tuple(RULES))])
        return self.model

    def epoch(self, rule: str) -> int:
        """The epoch that ``rule`` chooses, the first of equals; "oracle" looks at the clean test labels."""
        rule = choose("selection rule", rule, (*RULES, ORACLE))
        if rule == "last":
            return int(self.history["epoch"].iloc[-1])
        column = {
            "noisy-accuracy": "validation_accuracy",
            "noisy-objective": "validation_objective",
            ORACLE: "test_accuracy",
        }[rule]
        return int(self.history["epoch"][self.history[column].idxmax()])

    def accuracy(self, rule: str) -> float:
        """Accuracy on the clean test data at the epoch that ``rule`` chooses."""
        return float(self.history.set_index("epoch")["test_accuracy"][self.epoch(rule)])

    def summary(self) -> pd.DataFrame:
        """Per rule: its epoch, clean test accuracy, and regret, what is lost against the oracle's epoch."""
        best = self.accuracy(ORACLE)
        rows = [
            {"rule": rule, "epoch": self.epoch(rule), "test_accuracy": self.accuracy(rule)}
            for rule in (*RULES, ORACLE)
        ]
        return pd.DataFrame(rows).assign(regret=lambda table: best - table["test_accuracy"])


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

    A recipe with a warm-up trains that first. Where a transition matrix is needed and ``T`` is not given, a
    network is trained with cross-entropy by the same recipe, T is estimated from it, and training starts
    anew: for BLC and FLC as their authors estimate it, for a corrected divergence by counting labels.

    correction: "paper" or "exact" for a divergence, see ``FDivLoss``.
    folder: where checkpoints are kept, one file per stage; a second call goes on where the first one stopped.
    options: passed on to ``train``.
    """
    method, prior = check_method(method), label_shares(split)

    def stage(name: str, stage_recipe: Recipe, loss: NoisyLabelLoss, start: State | None = None) -> Run:
        checkpoint = None if folder is None else Path(folder) / f"{name}.pt"
        return train(split, stage_recipe, loss, seed=seed, start=start, checkpoint=checkpoint, **options)

    start = None
    if recipe.warm_up is not None:
        warm_up_loss = build_loss(recipe.warm_up_method, split.num_classes, label_prior=prior)
        warm_up = stage("warm-up", recipe.warm_up, warm_up_loss)
        start = warm_up.weights["noisy-accuracy" if recipe.warm_up_method == "ce" else "noisy-objective"]
    if needs_transition(method, correction) and T is None:
        first = stage("estimate-T", recipe, CrossEntropy(split.num_classes))
        T = _estimate(first.model, split, recipe, patrini=method in NEEDS_TRANSITION)
    loss = build_loss(
        method,
        split.num_classes,
        label_prior=prior,
        T=T,
        correction=correction,
        product=recipe.product,
    )
    run = stage(method, recipe, loss, start)
    return Run(run.model, run.history, run.weights, run.diagnosis, T)


def _estimate(model: nn.Module, split: NoisySplit, recipe: Recipe, patrini: bool) -> np.ndarray:
    """T from the posteriors of a network trained on the noisy labels."""
    images = split.train_images.to(next(model.parameters()).device)
    posteriors = predict(model, images, recipe).softmax(1)
    if patrini:
        percentile = 97 if split.num_classes <= 33 else None  # above, less than a class would be left
        return estimate_transition(posteriors, percentile=percentile, bootstrap=0).T
    return estimate_transition(posteriors, split.train_labels, method="anchor-count", bootstrap=0).T


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
    compile: bool = False,
) -> Run:
    """Minimise ``loss`` on the noisy training labels and watch what it does.

    The history has a row per epoch: ``epoch`` (from 1), ``learning_rate``, ``train_objective`` (mean over the
    steps), ``validation_objective`` and ``validation_accuracy`` (noisy labels), ``test_accuracy`` (clean
    labels, only looked at), ``memorised`` and ``corrected`` (the share of flipped training labels that the
    model predicts as given, and as they were before), ``seconds``.

    start: weights to begin with; by default they are drawn from ``seed``.
    checkpoint: a file written after every epoch; where it exists the run goes on from it.
    progress: a bar with the time left; by default where somebody can see it.
    on_epoch: called with each new row of the history.
    compile: hand the model to ``torch.compile``; worth its minutes on long GPU runs.
    """
    device = pick_device() if device is None else torch.device(device)
    data = split.to(device)
    session = _Session(data, recipe, loss, seed, start, device)
    loss.set_epoch(0, recipe.epochs)
    if checkpoint is not None:
        fingerprint = _fingerprint(split, recipe, loss, seed, start)
        session.resume(Path(checkpoint), fingerprint)
    if compile:
        session.forward = torch.compile(session.model)
    steps = _batch_count(len(data.train_labels), recipe.batch_size)
    with _bar(progress, recipe.epochs * steps, session.epoch * steps) as bar:
        while session.epoch < recipe.epochs:
            session.run_epoch(bar)
            if checkpoint is not None:
                session.save(Path(checkpoint), fingerprint)
            if on_epoch is not None:
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
    ) -> None:
        self.data, self.recipe, self.seed, self.device = data, recipe, seed, device
        with _seeded(seed, 0, device):
            self.model = build_model(recipe.model, data.train_images, data.num_classes)
        if start is not None:
            self.model.load_state_dict(start)
        self.model.to(device, memory_format=torch.channels_last)
        self.forward: Callable[[Tensor], Tensor] = self.model
        self.loss = loss.to(device)
        self.loss.check = False  # the split has checked its labels
        self.optimiser = _optimiser(recipe, self.model)
        half = _half(device)
        self.autocast = torch.autocast(device.type, dtype=half or torch.bfloat16, enabled=half is not None)
        self.scaler = torch.amp.GradScaler(device.type, enabled=half is torch.float16)
        self.epoch = 0
        self.history: list[dict[str, float]] = []
        self.weights: dict[str, State] = {}
        self.flipped = (data.train_labels != data.train_clean_labels).nonzero().flatten()[:MEMORY_SAMPLE]

    def run_epoch(self, bar: Any) -> None:
        """One pass over the training data, then a look at what it did."""
        started = time.perf_counter()
        rate = self.recipe.learning_rate(self.epoch)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.loss.set_epoch(self.epoch, self.recipe.epochs)
        self.model.train()
        self.loss.train()
        total, steps = torch.zeros((), device=self.device), 0
        with _seeded(self.seed, self.epoch + 1, self.device):
            for batch in self.batches():
                total += self.step(*batch)
                steps += 1
                bar.update()
        self.epoch += 1
        objective = -total.item() / steps
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

    def step(self, joint: Tensor, peer_images: Tensor | None, peer_labels: Tensor | None) -> Tensor:
        """One step of Algorithm 1; with the exact product term its second and third batch are not needed."""
        labels = self.data.train_labels
        self.optimiser.zero_grad(set_to_none=True)
        with self.autocast:
            logits = self.forward(self.images(joint))
            if peer_images is None:
                value = self.loss(logits, labels[joint])
            else:
                peers = {
                    "peer_logits": self.forward(self.images(peer_images)),
                    "peer_labels": labels[peer_labels],
                }
                value = self.loss(logits, labels[joint], **peers)
        self.scaler.scale(value).backward()
        self.scaler.step(self.optimiser)
        self.scaler.update()
        return value.detach()

    def images(self, indices: Tensor) -> Tensor:
        """A batch of training images, augmented and normalised on the device."""
        batch = self.data.train_images[indices]
        return normalise(crop_flip(batch) if self.recipe.augment == "crop-flip" else batch, self.recipe)

    def evaluate(self) -> dict[str, float]:
        """What the history says about this epoch."""
        data, flipped = self.data, self.flipped
        self.loss.eval()
        validation = predict(self.model, data.validation_images, self.recipe)
        test = predict(self.model, data.test_images, self.recipe)
        memory = predict(self.model, data.train_images[flipped], self.recipe)
        return {
            "validation_objective": self.loss.objective(validation, data.validation_labels).item(),
            "validation_accuracy": _agreement(validation, data.validation_labels),
            "test_accuracy": _agreement(test, data.test_labels),
            "memorised": _agreement(memory, data.train_labels[flipped]),
            "corrected": _agreement(memory, data.train_clean_labels[flipped]),
        }

    def keep(self) -> None:
        """Copy the weights for every rule that would choose this epoch so far."""
        state = {name: tensor.detach().clone() for name, tensor in self.model.state_dict().items()}
        run = Run(self.model, pd.DataFrame(self.history), {})
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
            "loss": self.loss.state_dict(),
            "weights": self.weights,
        }
        with replacing(path) as temporary:
            torch.save(state, temporary)

    def resume(self, path: Path, fingerprint: str) -> None:
        """Go on from ``path`` where it exists; refuse the checkpoint of another run."""
        if not path.exists():
            return
        try:
            state = torch.load(path, map_location=self.device, weights_only=True)
        except Exception as error:
            reason = str(error).splitlines()[0]
            raise OSError(f"{path} is no readable checkpoint ({reason}): delete it to start anew") from None
        if state["fingerprint"] != fingerprint:
            raise ValueError(
                f"{path} belongs to a run with other data, recipe, loss or seed: "
                "delete it, or choose another folder"
            )
        self.model.load_state_dict(state["model"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.scaler.load_state_dict(state["scaler"])
        self.loss.load_state_dict(state["loss"])
        self.epoch, self.history, self.weights = state["epoch"], state["history"], state["weights"]

    def finish(self) -> Run:
        """The run as a value, its model ready to predict."""
        run = Run(self.model.eval(), pd.DataFrame(self.history), self.weights)
        validation = predict(run.use("noisy-objective"), self.data.validation_images, self.recipe)
        return replace(run, diagnosis=tuple(self.loss.diagnose(validation, self.data.validation_labels)))


def predict(model: nn.Module, images: Tensor, recipe: Recipe) -> Tensor:
    """The logits of ``model`` in evaluation mode, in large batches and without a trace of gradients."""
    was_training = model.training
    model.eval()
    with torch.inference_mode():
        parts = [model(normalise(part, recipe)) for part in images.split(EVALUATION_BATCH)]
    model.train(was_training)
    return torch.cat(parts).clone() if parts else torch.empty(0)


def normalise(images: Tensor, recipe: Recipe) -> Tensor:
    """Images as the model wants them: float32, uint8 brought to [0, 1], then (pixel - mean) / std."""
    largest = 255.0 if images.dtype == torch.uint8 else 1.0
    scale, shift = _scale_and_shift(recipe.mean, recipe.std, largest, images.device)
    return torch.addcmul(shift, images.to(torch.float32), scale)


@cache
def _scale_and_shift(
    mean: tuple[float, ...], std: tuple[float, ...], largest: float, device: torch.device
) -> tuple[Tensor, Tensor]:
    """What pixels are multiplied by and what is added, per channel."""
    with torch.inference_mode(False):
        scale = torch.tensor([1 / (largest * s) for s in std], device=device)
        shift = torch.tensor([-m / s for m, s in zip(mean, std, strict=True)], device=device)
        return scale.view(1, -1, 1, 1), shift.view(1, -1, 1, 1)


def label_shares(split: NoisySplit) -> Tensor:
    """The noisy label prior p~, counted on the training labels."""
    counts = torch.bincount(split.train_labels, minlength=split.num_classes)
    return counts.to(torch.float32) / counts.sum()


def _agreement(logits: Tensor, labels: Tensor) -> float:
    """The share of arg maxima that equal ``labels``; nan where there are none."""
    return (logits.argmax(1) == labels).float().mean().item() if len(labels) else float("nan")


def _batch_count(examples: int, batch_size: int) -> int:
    """Whole batches only, as in the authors' program; a set smaller than one batch is one batch."""
    return max(1, examples // batch_size)


def _optimiser(recipe: Recipe, model: nn.Module) -> torch.optim.Optimizer:
    rate, decay = recipe.learning_rate(0), recipe.weight_decay
    match choose("optimiser", recipe.optimiser, ("adam", "adagrad", "sgd")):
        case "adam":
            fused = next(model.parameters()).device.type in ("cpu", "cuda")
            return torch.optim.Adam(model.parameters(), lr=rate, weight_decay=decay, fused=fused)
        case "adagrad":
            return torch.optim.Adagrad(model.parameters(), lr=rate, weight_decay=decay, eps=1e-8)
    return torch.optim.SGD(model.parameters(), lr=rate, momentum=recipe.momentum, weight_decay=decay)


def _half(device: torch.device) -> torch.dtype | None:
    """The 16-bit type for mixed precision: on CUDA only, bfloat16 where the card has it."""
    if device.type != "cuda":
        return None
    return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16


@contextmanager
def _seeded(seed: int, epoch: int, device: torch.device) -> Iterator[None]:
    """Torch's generators seeded by (seed, epoch) inside, and as they were afterwards."""
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(int(np.random.SeedSequence([seed, epoch]).generate_state(1)[0]))
        yield


def _fingerprint(
    split: NoisySplit, recipe: Recipe, loss: NoisyLabelLoss, seed: int, start: State | None
) -> str:
    """A hash of all that decides the outcome of a run."""
    digest = hashlib.sha256(repr((split.name, recipe, loss, seed)).encode())
    tensors = [split.train_images, split.train_labels, split.validation_labels, *loss.state_dict().values()]
    for tensor in (*tensors, *(start or {}).values()):
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


@contextmanager
def _bar(progress: bool | None, total: int, done: int) -> Iterator[Any]:
    """A tqdm bar over all steps; by default only on a terminal or in a live notebook."""
    from tqdm.auto import tqdm

    shown = _is_watched() if progress is None else progress
    with tqdm(total=total, initial=done, disable=not shown, unit="step", leave=False) as bar:
        yield bar


def _is_watched() -> bool:
    """Whether a bar would be seen: on a terminal, or in a kernel whose output is not stored."""
    try:
        from IPython import get_ipython
    except ImportError:
        return sys.stderr.isatty()
    return not is_static() if hasattr(get_ipython(), "kernel") else sys.stderr.isatty()
