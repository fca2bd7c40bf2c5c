"""What a training run leaves: its history, the weights that each rule would choose, and how to keep both."""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from fdiv.datasets import NoisySplit
from fdiv.device import pick_device
from fdiv.files import write_state
from fdiv.learning.models import MODELS, build_model
from fdiv.names import choose

RULES = {
    "last": "the last epoch",
    "noisy-accuracy": "best accuracy on the noisy validation labels",
    "noisy-objective": "best value of its own objective on the noisy validation data, the paper's rule",
}
ORACLE = "oracle"
State = dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class Run:
    """What a training run leaves.

    model: in evaluation mode, with the weights chosen by the rule "noisy-objective".
    history: a row per epoch, see ``train``.
    weights: for each of ``RULES`` the weights it chooses.
    diagnosis: what looks wrong with the model, judged by noisy validation labels; empty where nothing does.
    T: the transition matrix the loss was built with, where it was.

    >>> history = pd.DataFrame({"epoch": [1, 2], "validation_accuracy": [0.7, 0.6]})
    >>> Run(nn.Identity(), history, weights={}).epoch("noisy-accuracy")
    1
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


def save_run(run: Run, path: str | os.PathLike, model: str, split: NoisySplit, digest: str) -> None:
    """Write ``run`` to ``path``, whole or not at all: the fields of ``Run``, and no state of an optimiser.

    model, split: the name of the network, and the data that it was built for.
    digest: the identity of the run, for ``load_run`` to compare.
    """
    copies = {  # rules may share their weights
        id(state): {name: tensor.cpu() for name, tensor in state.items()} for state in run.weights.values()
    }
    fields = {
        "digest": digest,
        "model": model,
        "shape": list(split.train_images.shape[1:]),
        "num_classes": split.num_classes,
        "history": run.history.to_dict("records"),
        "weights": {rule: copies[id(state)] for rule, state in run.weights.items()},
        "diagnosis": list(run.diagnosis),
        "T": None if run.T is None else torch.as_tensor(run.T),
    }
    write_state(fields, path)


def load_run(path: str | os.PathLike, digest: str) -> Run | None:
    """Return what ``save_run`` wrote; None where there is nothing, nothing whole, or another run."""
    device = pick_device()
    try:
        fields = read_state(path, device)
        if fields.get("digest") != digest:
            return None
        name = f"{fields['model']}-random"  # weights of ImageNet would only be replaced
        with torch.random.fork_rng(devices=[]):
            images = torch.empty(0, *fields["shape"])
            model = build_model(name if name in MODELS else fields["model"], images, fields["num_classes"])
        T = None if fields["T"] is None else fields["T"].cpu().numpy()
        history, diagnosis = pd.DataFrame(fields["history"]), tuple(fields["diagnosis"])
        run = Run(model.to(device).eval(), history, fields["weights"], diagnosis, T)
        run.use("noisy-objective")
    except (OSError, KeyError, TypeError, ValueError):  # missing, damaged, foreign: there is no such run
        return None
    return run


def stored_digest(path: str | os.PathLike) -> str | None:
    """Return the identity of the run that ``save_run`` wrote; None where there is none, or nothing whole."""
    try:
        return read_state(path).get("digest")
    except OSError:
        return None


def read_state(path: str | os.PathLike, device: torch.device | str = "cpu") -> dict[str, Any]:
    """Return what ``fdiv.files.write_state`` wrote, or raise an ``OSError`` that names the file and the cure.

    The file is a zip archive with a checksum for each member. Torch does not compare them, so a flipped bit
    would otherwise go unnoticed into the weights.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
        if damaged is not None:
            raise ValueError(f"its part {damaged} is damaged")
        state = torch.load(path, map_location=device, weights_only=True)
        if not isinstance(state, dict):
            raise ValueError(f"it holds a {type(state).__name__}")
    except FileNotFoundError:
        raise
    except Exception as error:  # torch raises whatever its unpickler ran into
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise OSError(f"{path} is no readable checkpoint ({reason}): delete it to start anew") from None
    return state
