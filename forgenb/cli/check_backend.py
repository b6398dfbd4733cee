"""``forgenb check-backend``: run the conformance kit on a plug-in."""

import sys
from argparse import Namespace
from collections.abc import Iterable
from dataclasses import asdict

from forgenb.cli.common import Commands, say, say_json
from forgenb.testing import DTYPES, Result, Summary, check_backend

__all__ = ["add_to"]

SHOWN = ("op", "dtype", "shape_class", "check", "ok", "max_ulp")


def add_to(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "check-backend",
        help="run the conformance kit on a backend",
        description="Check every op on a backend against its reference: results, gradients, determinism, NaN, memory. "
        "The exit code is 1 if a check fails.",
    )
    parser.add_argument("name", metavar="NAME", help="which backend; forgenb backends lists them")
    parser.add_argument("--op", nargs="+", metavar="OP", help="only these ops")
    parser.add_argument(
        "--dtype", nargs="+", choices=DTYPES, metavar="DTYPE", help=f"only these of {', '.join(DTYPES)}"
    )
    parser.add_argument("--largest", type=int, metavar="N", help="only operands of at most N elements")
    parser.add_argument("--json", action="store_true", help="print one JSON object a check")
    parser.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    """Print the checks as they are done, or only what is wrong and what is not supported, and the count."""
    results = check_backend(arguments.name, arguments.op, arguments.dtype or DTYPES, largest=arguments.largest)
    summary = (_as_json if arguments.json else _as_text)(arguments.name, results)
    return 1 if summary.failed else 0


def _as_json(name: str, results: Iterable[Result]) -> Summary:
    summary = Summary()
    for result in results:
        summary.add(result)
        row = asdict(result)
        shown = {key: row[key] for key in SHOWN}
        say_json(shown if result.ok else {**shown, "message": result.message})
    say_json({"implemented": summary.implemented, "total": summary.total})
    return summary


def _as_text(name: str, results: Iterable[Result]) -> Summary:
    summary = Summary()
    wide = sys.stdout.isatty()
    for result in results:
        if wide and result.op not in summary.ops:
            say(f"\r\x1b[K{result.op} ", end="")
        summary.add(result)
        if result.ok is False or result.unsupported:
            say(
                ("\r\x1b[K" if wide else "") + ("FAILED " if result.ok is False else "not supported: ") + result.message
            )
    say(("\r\x1b[K" if wide else "") + f"backend {name}: {summary}")
    return summary
