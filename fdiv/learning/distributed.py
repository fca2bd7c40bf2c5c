"""Several processes that train one model together: ``torchrun --nproc-per-node=2 -m fdiv train ...``.

Started in the ordinary way there is one process, and everything here does nothing. Under ``torchrun`` each
process takes its part of every batch, and torch's DistributedDataParallel averages the gradients. Process 0
alone writes files, prints and draws bars.
"""

from __future__ import annotations

import atexit
import datetime
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn

from fdiv.device import pick_device
from fdiv.files import remove_leftovers

PATIENCE = datetime.timedelta(days=14)  # processes wait for a file lock too, while others train


@dataclass(frozen=True)
class World:
    """The processes that train together, and which of them this one is.

    rank: from 0 to size - 1; 0 is the one that writes and prints.
    """

    rank: int = 0
    size: int = 1

    @property
    def is_main(self) -> bool:
        """Whether this process is the one that writes and prints."""
        return self.rank == 0

    def part(self, count: int) -> slice:
        """Which of ``count`` rows are this process's: parts in order, their sizes differ by at most one."""
        before = sum(self.sizes(count)[: self.rank])
        return slice(before, before + self.sizes(count)[self.rank])

    def sizes(self, count: int) -> list[int]:
        """How many of ``count`` rows each process has."""
        each, more = divmod(count, self.size)
        return [each + (rank < more) for rank in range(self.size)]

    def whole(self, own: Tensor, count: int) -> Tensor:
        """All ``count`` rows, of which each process gives its part.

        Only our own rows carry gradients; the rows of others are constants. Summed over the processes, these
        gradients equal the gradient of one process with the whole batch. DistributedDataParallel takes their
        *mean*: so the loss must be multiplied by ``size`` before ``backward``. A loss then need not be a mean
        over examples (DMI's determinant and the plug-in's table are none), and unequal parts need no weights.
        """
        if self.size == 1:
            return own
        sizes = self.sizes(count)
        padded = own.new_zeros(max(sizes), *own.shape[1:])
        padded[: len(own)] = own.detach()
        rows = [torch.empty_like(padded) for _ in sizes]
        dist.all_gather(rows, padded)
        parts = [part[:size] for part, size in zip(rows, sizes, strict=True)]
        parts[self.rank] = own
        return torch.cat(parts)

    def wait(self) -> None:
        """Go on when every process has come here."""
        if self.size > 1:
            dist.barrier()

    def parallel(self, model: nn.Module) -> nn.Module:
        """``model``, its gradients averaged over the processes after ``backward``.

        Buffers are not sent round before each forward pass, which would change them under a second pass of
        the same step (Algorithm 1 has two): see ``share_buffers``.
        """
        if self.size == 1:
            return model
        together = nn.parallel.DistributedDataParallel(model)
        together.broadcast_buffers = False  # the argument of this name is deprecated, its successor too new
        return together

    def synchronised(self, model: nn.Module) -> nn.Module:
        """``model`` with the statistics of batch normalisation taken over all processes, which CUDA can."""
        on_cuda = next(model.parameters()).device.type == "cuda"
        if self.size == 1 or not on_cuda:
            return model
        return nn.SyncBatchNorm.convert_sync_batchnorm(model)

    def share_buffers(self, model: nn.Module) -> None:
        """Give every process the buffers of process 0, such as the running statistics on a CPU."""
        if self.size > 1:
            for buffer in model.buffers():
                dist.broadcast(buffer, src=0)


@cache
def world() -> World:
    """The processes ``torchrun`` started, joined at the first call; otherwise this one alone."""
    if not (dist.is_available() and (dist.is_torchelastic_launched() or dist.is_initialized())):
        return World()
    if not dist.is_initialized():
        _join()
    return World(dist.get_rank(), dist.get_world_size())


def _join() -> None:
    kind = pick_device().type
    if kind not in ("cpu", "cuda"):
        raise ValueError(f"several processes train on CUDA or on the CPU, not on {kind}: set FDIV_DEVICE=cpu")
    if kind == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))  # from here on "cuda" means this card
    dist.init_process_group("nccl" if kind == "cuda" else "gloo", timeout=PATIENCE)
    atexit.register(dist.destroy_process_group)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Inside, no other run works in ``folder``, which is made; process 0 holds the lock for all of its world.

    Two runs that need the same thing get it once: the second waits and then finds it finished. The lock of a
    process that died is free.
    """
    from filelock import FileLock, Timeout

    everyone = world()
    if not everyone.is_main:
        everyone.wait()
        yield
        everyone.wait()
        return
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(timeout=1)
    except Timeout:
        print(f"waiting for another process that works in {folder}", file=sys.stderr, flush=True)
        lock.acquire()
    try:
        remove_leftovers(folder)
        everyone.wait()
        yield
        everyone.wait()
    finally:
        lock.release()
