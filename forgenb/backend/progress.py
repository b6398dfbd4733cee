"""One line on a terminal that says which kernel is being compiled, where that takes long.

It is gone as soon as a kernel is ready, so nothing that a program prints is mixed with it. Imports the standard
library.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["STATE", "compiling", "told"]

PATIENCE = 1.0
"""Seconds of compiling after which the line appears, and seconds without any after which they count anew."""


def on_terminal(text: str) -> None:
    """Show a text in place of the one before on the error output, if that is a terminal; an empty one removes it."""
    if STATE.shown and sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(f"\r{text}\x1b[K")
        sys.stderr.flush()


class State:
    """Whether the line is wanted, who shows it, and how long compiling has been going on."""

    def __init__(self):
        self.shown = True
        self.tell: Callable[[str], None] = on_terminal
        self.began = self.ended = float("-inf")
        self.count = 0


STATE = State()


@contextmanager
def compiling(name: str) -> Iterator[None]:
    """Around whatever may compile the kernel of this name."""
    now = time.perf_counter()
    if now - STATE.ended > PATIENCE:
        STATE.began, STATE.count = now, 0
    STATE.count += 1
    long = now - STATE.began > PATIENCE
    if long:
        STATE.tell(f"forgenb: compiling kernel {STATE.count}: {name}")
    try:
        yield
    finally:
        STATE.ended = time.perf_counter()
        if long:
            STATE.tell("")


@contextmanager
def told(tell: Callable[[str], None]) -> Iterator[None]:
    """Hand the texts to a display of one's own, inside a ``with`` block; an empty text means that a kernel is ready."""
    before, STATE.tell = STATE.tell, tell
    try:
        yield
    finally:
        STATE.tell = before
