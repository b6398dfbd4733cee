"""How much memory a process has and had, as Linux tells it. Imports the standard library."""

from __future__ import annotations

import contextlib
import ctypes
import os

__all__ = ["forget_peak", "peak", "resident", "trim"]


def resident() -> int | None:
    """Bytes in memory now, or None where the system does not tell."""
    return _status("VmRSS:")


def peak() -> int | None:
    """The most bytes that were in memory, since the start or `forget_peak`."""
    return _status("VmHWM:")


def forget_peak() -> None:
    """Let the peak begin anew, where the system allows it."""
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def trim() -> None:
    """Give what the C library keeps for later back to the system, where it can be told to."""
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def _status(name: str) -> int | None:
    if not os.path.exists("/proc/self/status"):
        return None
    with open("/proc/self/status") as file:
        found = [line.split() for line in file]
    return next((int(words[1]) * 1024 for words in found if words[:1] == [name]), None)
