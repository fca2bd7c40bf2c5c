"""Loaded by each local worker when it starts, before it asks for work."""

import signal

import fdiv.experiments.grids.runs  # noqa: F401 (seconds, in which a worker could not answer its scheduler)


def dask_setup(_: object) -> None:
    """Leave Ctrl-C to the command, which ends its workers: on a terminal everybody gets it at once."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
