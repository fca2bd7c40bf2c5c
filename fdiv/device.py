"""The one place that decides where tensors live, and counts the cores."""

from __future__ import annotations

import os

import torch


def pick_device() -> torch.device:
    """CUDA if there is one, else Apple's MPS, else the CPU; ``FDIV_DEVICE`` overrides the choice."""
    wanted = os.environ.get("FDIV_DEVICE")
    if wanted:
        return _usable(wanted)
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def usable_cores() -> int:
    """How many cores this process may use, which on a shared machine are fewer than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _usable(name: str) -> torch.device:
    """The device called ``name``, or a ``ValueError`` that says why it cannot be used."""
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"FDIV_DEVICE={name!r} cannot be used here ({reason}); try 'cpu', 'cuda', 'cuda:1' or 'mps'"
        ) from None
    return device
