"""What is asked of the machine."""

import os
import sys
from pathlib import Path

import pytest
import torch

from fdiv import device

MEGABYTE = 2**20


def resident():
    """Return the memory of this process, in megabytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / MEGABYTE


@pytest.mark.skipif(device._glibc() is None, reason="the C library is not glibc")
def test_freed_memory_is_kept_inside_and_given_back_afterwards():
    before = resident()
    with device.memory_kept():
        large = torch.ones(64 * MEGABYTE // 4)
        del large
        inside = resident()
    assert inside > before + 50
    assert resident() < before + 10


def test_memory_is_given_back_after_an_error(monkeypatch):
    told = []
    monkeypatch.setattr(device, "_tell_malloc", told.append)
    with pytest.raises(KeyError), device.memory_kept():
        raise KeyError
    assert told == [device._KEPT, device._USUAL]


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_elsewhere_the_library_of_c_is_not_asked(platform, monkeypatch):
    monkeypatch.setattr(sys, "platform", platform)
    assert device._glibc.__wrapped__() is None
