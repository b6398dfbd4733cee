"""What an error becomes on the outside: a paragraph on the standard error output, and an exit code.

Imports errors and `common`; which errors there are is decided where they are raised.
"""

import contextlib
import os
import sys
import time
import traceback

from forgenb.cli.common import as_paragraph
from forgenb.errors import ArgumentError, ForgeError
from forgenb.train.distributed import World, launched, world

__all__ = ["EXPECTED", "end_together", "failed", "failed_together"]

EXPECTED = (ForgeError, MemoryError, KeyboardInterrupt, OSError)
"""Errors that a user may meet; others are faults of the program, and show where."""

FIRST, FORWARDED = 5.0, 1.0
"""Seconds: for the first process to say what all of them have met, and for ``mpiexec`` to pass on what one has said."""


def failed(command: str, error: BaseException) -> int:
    """Say what went wrong; returns the exit code. `error` is one of those that are expected."""
    if isinstance(error, BrokenPipeError):
        return _without_reader()
    if isinstance(error, KeyboardInterrupt):
        print(f"forgenb {command}: interrupted.", file=sys.stderr)
        return 130
    if isinstance(error, MemoryError):
        print(f"forgenb {command}: not enough memory; choose smaller sizes.", file=sys.stderr)
        return 2
    print(as_paragraph(f"forgenb {command}: {error}"), file=sys.stderr)
    return 1 if isinstance(error, ArithmeticError) else 2


def failed_together(command: str, error: BaseException, world: World) -> int:
    """`failed`, and the end of all processes: those without the error would wait for this one for ever.

    Where all of them meet the same error, the first one says so; what it says has to pass through two more processes
    before they are ended as well.
    """
    if not world.first:
        time.sleep(FIRST)
    if isinstance(error, EXPECTED):
        code = failed(command, error)
    else:
        traceback.print_exception(error)
        code = 1
    sys.stderr.flush()
    time.sleep(FORWARDED)
    world.abort(code)
    return code


def end_together(code: int) -> None:
    """End all processes that ``mpiexec`` has started, where this one leaves before it has met them.

    The others wait until all of them have loaded MPI, so one that merely ended would leave them waiting for ever.
    """
    if code and launched() > 1:
        sys.stderr.flush()
        with contextlib.suppress(ArgumentError):  # without mpi4py the others have said so and ended
            here = world()
            time.sleep(1)  # the others may still be loading it
            here.abort(code)


def _without_reader() -> int:
    """Whoever read our output has gone: say no more, also when Python flushes at its end."""
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, sys.stdout.fileno())
    return 141
