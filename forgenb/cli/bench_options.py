"""Options that all comparisons of ``forgenb bench`` have, and what follows from them.

Imports `forgenb.bench` when it runs.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from forgenb.cli.common import Parser
from forgenb.errors import ArgumentError

__all__ = [
    "add_shared",
    "interpreters",
    "positive",
    "refuse",
    "telling",
    "threads",
]

ROUNDS = 5


def add_shared(parser: Parser, word: bool) -> None:
    """Add them; where the parser is that of a `word`, what stood before the word counts, too."""

    def default(value: Any) -> Any:
        return argparse.SUPPRESS if word else value

    parser.add_argument(
        "--threads", type=positive, default=default(None), metavar="N", help="of each contender (default all cores)"
    )
    parser.add_argument(
        "--rounds", type=positive, default=default(ROUNDS), metavar="N", help=f"turns of each (default {ROUNDS})"
    )
    parser.add_argument(
        "--python",
        action="append",
        default=default([]),
        metavar="CONTENDER=PATH",
        help="the interpreter of a contender that is installed in another environment; may be repeated",
    )
    parser.add_argument(
        "--markdown",
        default=default(None),
        metavar="FILE",
        help="write all results into a file as a table, in place of what stands between its two marks, if it has them",
    )
    parser.add_argument("--json", action="store_true", default=default(False), help="print one JSON object a line")


def positive(text: str) -> int:
    """A whole number from 1."""
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"it must be a whole number of at least 1, got {text!r}")
    return int(text)


def threads(arguments: argparse.Namespace) -> int:
    """How many each contender has."""
    from forgenb.bench import cores

    wanted = arguments.threads or cores()
    if wanted > cores():
        raise ArgumentError(f"--threads {wanted} is more than this process has cores, {cores()}: choose fewer.")
    return wanted


def interpreters(texts: Iterable[str], contenders: Iterable[str]) -> dict[str, str]:
    """Contender -> interpreter."""
    found, known = {}, tuple(contenders)
    for text in texts:
        name, _, path = text.partition("=")
        if name not in known or not path:
            raise ArgumentError(f"--python needs CONTENDER=PATH with a contender of {', '.join(known)}, got {text!r}.")
        if not os.access(path, os.X_OK) or os.path.isdir(path):
            raise ArgumentError(f"--python {text}: there is no interpreter at {path!r}.")
        found[name] = path
    return found


def refuse(given: Mapping[str, bool], purpose: str) -> None:
    """Refuse options that were given and say nothing about what is done."""
    wrong = [name for name, there in given.items() if there]
    if wrong:
        raise ArgumentError(f"{wrong[0]} has no meaning for {purpose}: leave it away.")


@contextmanager
def telling() -> Iterator[Callable[[str], None]]:
    """What is called with a line that says what is being done, which a terminal shows."""
    with _status() as status:
        tell: Callable[[str], None] = status.update if status is not None else lambda text: None
        yield tell


def _status() -> AbstractContextManager[Any]:
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True, markup=False, highlight=False).status("begins")
