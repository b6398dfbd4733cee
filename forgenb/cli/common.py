"""What the commands share: a parser that complains in one paragraph, plain output, and a polite stop.

Imports the standard library and errors; what only one command needs belongs to that command.
"""

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, NoReturn, TextIO, TypeAlias

from forgenb.errors import ArgumentError

__all__ = [
    "Commands",
    "Parser",
    "Stop",
    "as_paragraph",
    "catch_stop",
    "check_file",
    "printable",
    "say",
    "say_json",
    "termination_interrupts",
]


Commands: TypeAlias = "argparse._SubParsersAction[Parser]"
"""What each command adds itself to."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaint is one paragraph, without the list of all options."""

    def __init__(self, *positional: Any, **keywords: Any):
        keywords.setdefault("allow_abbrev", False)
        super().__init__(*positional, **keywords)

    def parse_known_args(self, *positional: Any, **keywords: Any) -> Any:
        """Complain of what is not known here, so that the command at fault is named and not the program."""
        found, unknown = super().parse_known_args(*positional, **keywords)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Leave with exit code 2."""
        self.exit(2, as_paragraph(f"{self.prog}: {message}; {self.prog} --help lists what there is.") + "\n")


def as_paragraph(text: str) -> str:
    """`text` on one line."""
    return " ".join(text.split())


def check_file(option: str, name: str | None) -> None:
    """Refuse a file that could not be written, before there is anything to write.

    Raises
    ------
    ArgumentError
        It is no regular file, or its folder is not there or cannot be written to.
    """
    if name is None:
        return
    regular = name and "\0" not in name and (os.path.isfile(name) or not os.path.lexists(name))
    folder = os.path.dirname(name) or "."
    if not regular or not os.path.isdir(folder):
        raise ArgumentError(f"{option} {name!r} is not a file in a folder that is there.")
    if not os.access(folder, os.W_OK):
        raise ArgumentError(f"{option} {name!r} is in a folder that cannot be written to.")


def say(text: str, end: str = "\n", stream: TextIO | None = None) -> None:
    """Print text of any characters, with escapes for those that the terminal's encoding has not."""
    stream = sys.stdout if stream is None else stream
    print(printable(text, stream), end=end, file=stream, flush=True)


def printable(text: str, stream: IO[str]) -> str:
    """`text` with escapes for the characters that the encoding of `stream` has not."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def say_json(row: Mapping[str, object]) -> None:
    """Print one JSON object as a line."""
    print(json.dumps(row), flush=True)


class Stop:
    """Whether someone has asked the program to stop."""

    requested = False


@contextmanager
def catch_stop() -> Iterator[Stop]:
    """Turn the first interrupt or termination into a request, so that a step is finished; a second ends."""
    stop = Stop()

    def ask(number: int, frame: object) -> None:
        if stop.requested:
            raise KeyboardInterrupt
        stop.requested = True

    with _handled(ask, signal.SIGINT, signal.SIGTERM):
        yield stop


@contextmanager
def termination_interrupts() -> Iterator[None]:
    """Let a termination end the program as an interrupt does, so that what is temporary and large goes with it."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    with _handled(interrupt, signal.SIGTERM):
        yield


@contextmanager
def _handled(handler: Callable[[int, Any], None], *numbers: signal.Signals) -> Iterator[None]:
    """Let signals call `handler` inside a ``with`` block; outside of the main thread, which alone may, nothing."""
    try:
        before = {number: signal.signal(number, handler) for number in numbers}
    except ValueError:
        before = {}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
