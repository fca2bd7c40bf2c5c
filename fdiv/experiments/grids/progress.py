"""What somebody who waits for a grid sees: a line per run, the time left, and a table at the end."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Mapping, Sequence

from fdiv.experiments.experiment import Experiment

FINISHED, SKIPPED, FAILED, OPEN = "finished", "skipped", "failed", "not finished"


class Progress:
    """Counts the runs of a grid as they end.

    workers: how many runs can be in progress at once; may change while a grid runs.
    stopped: why it ended before all runs had, where it did.
    """

    def __init__(self, runs: Sequence[Experiment], workers: int = 1) -> None:
        self.state = {run.name: OPEN for run in runs}
        self.dataset = {run.name: run.dataset for run in runs}
        self.errors: dict[str, str] = {}
        self.seconds: list[float] = []
        self.workers = workers
        self.stopped: str | None = None
        self.began = time.monotonic()
        self.live, self.status = sys.stdout.isatty(), ""
        self.width = max(map(len, self.state), default=0)

    def skip(self, name: str) -> None:
        """The run was finished before."""
        self.state[name] = SKIPPED

    def end(self, name: str, seconds: float, error: str | None = None) -> None:
        """The run has ended: say so on a line of its own."""
        self.state[name] = FAILED if error else FINISHED
        if seconds:  # none where another grid had trained it
            self.seconds.append(seconds)
        if error:
            self.errors[name] = error
        total = len(self.state)
        line = f"[{total - self.count(OPEN):>{len(str(total))}}/{total}] {self.state[name]:<8}  "
        line += f"{name:<{self.width}}  {seconds:7.1f} s"
        self._say(f"{line}  {self.left()}" + (f"\n    {error}" if error else ""))

    def tick(self) -> None:
        """On a terminal, redraw the line below: what is done, and for how long this goes on."""
        if self.live:
            minutes, seconds = divmod(int(time.monotonic() - self.began), 60)
            states = ", ".join(f"{self.count(s)} {s}" for s in (FINISHED, SKIPPED, FAILED) if self.count(s))
            status = f"{minutes}:{seconds:02d}  {states or 'none finished'} of {len(self.state)}"
            status = f"{status}, {self.workers} at once  {self.left()}".rstrip()
            if status != self.status:
                width = shutil.get_terminal_size().columns - 1
                print(f"\r\x1b[K{status[:width]}", end="", flush=True)
            self.status = status

    def left(self) -> str:
        """The time left: the mean of the runs that ended, times those open, over the workers."""
        waiting = self.count(OPEN)
        if not waiting or not self.seconds:
            return ""
        mean = sum(self.seconds) / len(self.seconds)
        return f"about {duration(mean * waiting / max(1, self.workers))} left"

    def is_open(self, name: str) -> bool:
        """Whether the run is neither finished nor failed."""
        return self.state[name] == OPEN

    def count(self, state: str) -> int:
        """How many runs are in ``state``."""
        return sum(one == state for one in self.state.values())

    def table(self) -> str:
        """Per dataset how many runs ended how; then each failure with its error."""
        columns = (FINISHED, SKIPPED, FAILED, OPEN)
        lines = [f"{'dataset':<14}" + "".join(f"{column:>14}" for column in columns)]
        for dataset in (*dict.fromkeys(self.dataset.values()), "all"):
            states = [s for name, s in self.state.items() if dataset in (self.dataset[name], "all")]
            lines.append(f"{dataset:<14}" + "".join(f"{states.count(column):>14}" for column in columns))
        return "\n".join([*lines, *(f"{name} failed: {error}" for name, error in self.errors.items())])

    def _say(self, line: str) -> None:
        print(("\r\x1b[K" if self.live else "") + line.rstrip(), flush=True)
        self.status = ""


def duration(seconds: float) -> str:
    """A time in the unit people would use."""
    for unit, length in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 1.5 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} s"


def plan(runs: Sequence[Experiment], seconds: Mapping[str, float], workers: int) -> str:
    """What a grid would do: every run, then per dataset their number and how long they would take.

    seconds: of each run that is not finished, by its name.
    """
    width = max((len(run.name) for run in runs), default=0)
    lines = [
        f"{run.name:<{width}}  {duration(seconds[run.name]) if run.name in seconds else 'finished'}"
        for run in runs
    ]
    together = f" with {workers} workers" if workers > 1 else ""
    lines.append(f"\n{'dataset':<14}{'runs':>6}{'to do':>7}  time on this machine{together}")
    for dataset in (*dict.fromkeys(run.dataset for run in runs), "all"):
        here = [run.name for run in runs if dataset in (run.dataset, "all")]
        todo = [seconds[name] for name in here if name in seconds]
        lines.append(f"{dataset:<14}{len(here):>6}{len(todo):>7}  about {duration(sum(todo) / workers)}")
    return "\n".join(lines)
