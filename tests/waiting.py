"""Waiting for something that another process does, for as long as a busy machine may need."""

import time

PATIENCE = 240  # seconds; a limit for what never comes, and no measure of speed


def wait_for(condition, what, seconds=PATIENCE):
    """Return what ``condition()`` returns once that is true; fail where it never is."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.02)
    return found
