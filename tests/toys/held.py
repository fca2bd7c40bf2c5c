"""A plug-in that holds a run after its first epoch, until the test that started it lets it go.

A test can then kill, stop or count at leisure: no machine is so fast that the run has ended before.
"""

import time
from collections.abc import Callable
from typing import Any

from fdiv.experiments import experiment
from fdiv.files import runs_folder

ordinary = experiment.fit


def held(split: Any, method: str, *recipe: Any, on_epoch: Callable | None = None, **options: Any) -> Any:
    """Train as ever, but go on from an epoch only while no file ``hold-METHOD`` is in the folder of runs."""

    def then_wait(row: Any) -> None:
        if on_epoch is not None:
            on_epoch(row)
        while (runs_folder() / f"hold-{method}").exists():
            time.sleep(0.01)

    return ordinary(split, method, *recipe, on_epoch=then_wait, **options)


experiment.fit = held
