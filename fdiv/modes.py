"""The three budgets a notebook can run with."""

from __future__ import annotations

MODES = {
    "quick": "the embedded digits, about a minute on two cores",
    "laptop": "the real dataset with a CPU-sized budget, minutes",
    "paper": "the paper's recipe, meant for a GPU",
}


def check_mode(mode: str) -> str:
    """``mode`` unchanged, or a ``ValueError`` that names the valid ones."""
    if mode not in MODES:
        choices = ", ".join(f"{name!r} ({what})" for name, what in MODES.items())
        raise ValueError(f"MODE is {mode!r}, which is not one of {choices}")
    return mode
