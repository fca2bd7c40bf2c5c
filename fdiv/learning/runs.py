"""What a training run leaves: its history, the weights that each rule would choose, and how to keep both."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from fdiv.datasets import NoisySplit
from fdiv.device import pick_device
from fdiv.files import write_state
from fdiv.learning.models import MODELS, build_model
from fdiv.names import choose

__all__ = ["ORACLE", "RULES", "Run", "load_run", "save_run"]

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


def save_run(run: Run, path: str | os.PathLike, model: str, split: NoisySplit, about: str) -> None:
    """Write ``run`` to ``path``, whole or not at all: what ``Run`` has, and no state of an optimiser.

    model, split: the name of the network, and what it was built for.
    about: what the run is, for ``load_run`` to compare.
    """
    copies = {id(state): _on_cpu(state) for state in run.weights.values()}  # rules may share their weights
    state = {
        "about": about,
        "model": model,
        "shape": list(split.train_images.shape[1:]),
        "num_classes": split.num_classes,
        "history": run.history.to_dict("records"),
        "weights": {rule: copies[id(state)] for rule, state in run.weights.items()},
        "diagnosis": list(run.diagnosis),
        "T": None if run.T is None else torch.as_tensor(run.T),
    }
    write_state(state, path)


def load_run(path: str | os.PathLike, about: str) -> Run | None:
    """What ``save_run`` wrote; None where there is nothing, nothing whole, or a run about something else."""
    device = pick_device()
    try:
        state = torch.load(path, map_location=device, weights_only=True)
    except Exception:  # missing, cut off, or no file of torch at all: in every case there is no run
        return None
    if not isinstance(state, dict) or state.get("about") != about:
        return None
    name = f"{state['model']}-random"  # weights of ImageNet would only be replaced
    with torch.random.fork_rng(devices=[]):
        images = torch.empty(0, *state["shape"])
        model = build_model(name if name in MODELS else state["model"], images, state["num_classes"])
    T = None if state["T"] is None else state["T"].cpu().numpy()
    history, diagnosis = pd.DataFrame(state["history"]), tuple(state["diagnosis"])
    run = Run(model.to(device).eval(), history, state["weights"], diagnosis, T)
    run.use("noisy-objective")
    return run


def _on_cpu(state: State) -> State:
    return {name: tensor.cpu() for name, tensor in state.items()}
