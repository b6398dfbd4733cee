"""The program ``forgenb``: one module a command, each with its options and what it does.

A wrong argument, file or folder gives exit code 2 and one paragraph on the standard error output; a
training that diverges gives 1, an interrupted one 130.

Imports its own modules. What a command does is in the library, so that a script can do it too.
"""

import sys
from collections.abc import Sequence

from forgenb.cli import backends, bench, check_backend, doctor, generate, score, train, warmup
from forgenb.cli.common import Parser, as_paragraph
from forgenb.errors import ForgeError

__all__ = ["main"]

COMMANDS = (train, generate, bench, doctor, backends, check_backend, warmup, score)


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
        return end.code if isinstance(end.code, int) else 2
    try:
        code = arguments.run(arguments)
        sys.stdout.flush()
        return code
    except ForgeError as error:
        print(as_paragraph(f"forgenb {arguments.command}: {error}"), file=sys.stderr)
        return 1 if isinstance(error, ArithmeticError) else 2
    except MemoryError:
        print(f"forgenb {arguments.command}: not enough memory; choose smaller sizes.", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"forgenb {arguments.command}: interrupted.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return _without_reader()
    except OSError as error:
        print(as_paragraph(f"forgenb {arguments.command}: {error}"), file=sys.stderr)
        return 2


def _without_reader() -> int:
    """Whoever read our output has gone: say no more, also when Python flushes at its end."""
    import os

    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, sys.stdout.fileno())
    return 141
