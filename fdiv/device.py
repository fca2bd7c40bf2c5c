"""The machine: where tensors live, how many cores there are, and whether somebody is watching."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch

from fdiv.files import is_on

# Threads train one after the other: torch's generators and Python's filters of warnings are one for all.
TRAINING = threading.RLock()
# What glibc's mallopt is told by number: how much free memory may stay at the end of the heap, how much more
# than is asked for it grows, from which size on a block is asked of the system by itself, and how many such
# blocks there may be. A thread's heap is in pieces of 64 MiB: an empty one stays if the growth is larger.
_HEAP_END, _GROWTH, _OWN_BLOCK, _OWN_BLOCKS = -1, -2, -3, -4
_KEPT = {_HEAP_END: 2**31 - 1, _GROWTH: 2**27, _OWN_BLOCKS: 0}
# At which glibc arrives by itself with large arrays, but for the growth, which stays as it began.
_USUAL = {_HEAP_END: 2**26, _GROWTH: 2**17, _OWN_BLOCK: 2**25, _OWN_BLOCKS: 2**16}


def pick_device() -> torch.device:
    """CUDA if there is one, else Apple's MPS, else the CPU; ``FDIV_DEVICE`` overrides the choice."""
    wanted = os.environ.get("FDIV_DEVICE")
    if wanted:
        return usable(wanted, "FDIV_DEVICE")
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def has_bfloat16(device: torch.device) -> bool:
    """Return whether ``device`` is a CPU that multiplies bfloat16 in hardware, not in software."""
    asked = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")  # which not every torch can answer
    return device.type == "cpu" and any(getattr(torch.cpu, name, bool)() for name in asked)


@contextmanager
def memory_kept() -> Iterator[None]:
    """Keep freed memory inside, for the next tensors of the same sizes; give it back afterwards.

    Every training step frees its tensors and makes others as large. glibc, the C library of most Linux
    systems, returns large ones to the system at once and is given empty pages again, one by one: an eighth
    of a step of the fast net (``bench.py --only memory``). Nothing that is computed depends on it.
    Elsewhere it does nothing.

    >>> with memory_kept():
    ...     torch.ones(3).sum().item()
    3.0
    """
    _tell_malloc(_KEPT)
    try:
        yield
    finally:
        _tell_malloc(_USUAL)
        if libc := _glibc():
            libc.malloc_trim(0)


def _tell_malloc(options: dict[int, int]) -> None:
    if libc := _glibc():
        for option, value in options.items():
            libc.mallopt(option, value)


@cache
def _glibc() -> ctypes.CDLL | None:
    """Return the C library of this process if it is glibc."""
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None)
    return libc if hasattr(libc, "gnu_get_libc_version") else None


def usable_cores() -> int:
    """How many cores this process may use, which on a shared machine are fewer than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def is_static() -> bool:
    """Return True where nobody can move a slider: ``FDIV_STATIC=1`` (refresh, CI, pages) and Google Colab.

    In Colab a plotly figure inside an output widget stays blank, so the figure is drawn once instead.
    """
    return is_on("FDIV_STATIC") or "COLAB_RELEASE_TAG" in os.environ


def is_watched() -> bool:
    """Return whether a bar would be seen: on a terminal, or in a kernel whose output is not stored."""
    try:
        from IPython import get_ipython
    except ImportError:
        return sys.stderr.isatty()
    return not is_static() if hasattr(get_ipython(), "kernel") else sys.stderr.isatty()


def progress_bar(progress: bool | None, **options: Any) -> Any:
    """Return a bar with the time left, as tqdm draws it.

    progress: whether it is shown; None where somebody would see it.
    options: of tqdm, such as ``total`` and ``unit``.

    >>> [round(number) for number in progress_bar(False, iterable=[0.9, 2.1])]
    [1, 2]
    """
    from tqdm.auto import tqdm

    shown = is_watched() if progress is None else progress
    return tqdm(disable=not shown, leave=False, **options)


def usable(name: Any, what: str) -> torch.device:
    """Return the device called ``name``, or raise a ``ValueError`` that says why it cannot be used.

    what: the variable or the argument that names it.

    >>> usable("cpu", "device")
    device(type='cpu')
    """
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError, NotImplementedError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"{what}={name!r} cannot be used here ({reason}); try 'cpu', 'cuda', 'cuda:1' or 'mps'"
        ) from None
    return device
