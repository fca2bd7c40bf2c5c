"""What is asked of the machine."""

import sys

import pytest

from fdiv import device


class Library:
    """What is told to the C library, in order."""

    def __init__(self):
        self.told = []

    def mallopt(self, option, value):
        self.told.append((option, value))

    def malloc_trim(self, left):
        self.told.append(("give back but", left))


def test_the_c_library_keeps_freed_memory_inside_and_gives_it_back_afterwards(monkeypatch):
    library = Library()
    monkeypatch.setattr(device, "_glibc", lambda: library)
    with device.memory_kept():
        assert library.told == list(device._KEPT.items())
    assert library.told == [*device._KEPT.items(), *device._USUAL.items(), ("give back but", 0)]


@pytest.mark.skipif(device._glibc() is None, reason="the C library is not glibc")
def test_glibc_takes_every_option():
    try:
        for options in (device._KEPT, device._USUAL):
            assert all(device._glibc().mallopt(option, value) == 1 for option, value in options.items())
    finally:
        device._tell_malloc(device._USUAL)


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
