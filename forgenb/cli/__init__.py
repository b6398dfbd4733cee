"""The program ``forgenb``: one module a command, each with its options and what it does.

A wrong argument, file or folder gives exit code 2 and one paragraph on the standard error output; a
training that diverges gives 1, an interrupted one 130.

Imports its own modules. What a command does is in the library, so that a script can do it too.
"""

import sys
from collections.abc import Sequence

from forgenb.cli import (
    backends,
    bench,
    check_backend,
    course,
    docs,
    doctor,
    generate,
    quantize,
    score,
    surprise,
    train,
    warmup,
)
from forgenb.cli.common import Parser
from forgenb.cli.failure import EXPECTED, end_together, failed

__all__ = ["main"]

COMMANDS = (train, generate, quantize, surprise, bench, doctor, backends, check_backend, warmup, score, course, docs)


def build_parser() -> Parser:
    """The parser of all commands; each sets `run`, which returns the exit code."""
    from forgenb import __version__

    parser = Parser(prog="forgenb", description="Train small models, and look after the kernels that do it.")
    parser.add_argument("--version", action="version", version=f"forgenb {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add_to(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv
        The arguments; those of the process where None.

    Returns
    -------
    int
        The exit code.
    """
    try:
        arguments = build_parser().parse_args(argv)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 2
        end_together(code)
        return code
    try:
        code = arguments.run(arguments)
        sys.stdout.flush()
        return code
    except EXPECTED as error:
        return failed(arguments.command, error)
