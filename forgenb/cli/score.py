"""``forgenb score``: plant faults in backward rules and count what the tests reject."""

import argparse
from argparse import Namespace
from pathlib import Path

from forgenb.cli.common import Commands, say, say_json

__all__ = ["add_to"]


def add_to(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "score",
        help="plant faults in backward rules and count what the tests reject",
        description="Edit the syntax tree of each backward rule in one place at a time and run the tests of the op. "
        "All ops take many minutes. The exit code is 1 if a fault survives that is not listed as equivalent.",
    )
    parser.add_argument("ops", nargs="*", metavar="OP", help="only these ops of the table")
    parser.add_argument("--limit", type=_count, metavar="N", help="plant at most N faults an op")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the choice under --limit (default 0)")
    parser.add_argument("--markdown", type=Path, metavar="PATH", help="write the page of the score there")
    parser.add_argument("--json", action="store_true", help="print one JSON object an op")
    parser.set_defaults(run=run)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on")
    return int(text)


def run(arguments: Namespace) -> int:
    """Print each op as it is done, what survived, and the sum."""
    from forgenb.testing.mutation import page, score, summary

    scores = []
    for found in score(arguments.ops or None, arguments.seed, arguments.limit):
        scores.append(found)
        (_as_json if arguments.json else _as_text)(found)
    if arguments.json:
        say_json({"planted": sum(s.planted for s in scores), "rejected": sum(s.rejected for s in scores)})
    else:
        say(summary(scores))
    if arguments.markdown is not None:
        arguments.markdown.write_text(page(scores, _options(arguments)), encoding="utf-8")
    return 0 if all(found.ok for found in scores) else 1


def _options(arguments: Namespace) -> str:
    limit = f" --seed {arguments.seed} --limit {arguments.limit}" if arguments.limit else ""
    return "".join(f" {name}" for name in arguments.ops) + limit


def _as_json(found) -> None:
    survivors = [{"place": f.place, "before": f.before, "after": f.after} for f in found.survivors]
    say_json(
        {
            "op": found.op,
            "planted": found.planted,
            "rejected": found.rejected,
            "equivalent": len(found.equivalent),
            "survivors": survivors,
        }
    )


def _as_text(found) -> None:
    if not found.planted:
        say(f"{found.op}: no rule of its own, made of {', '.join(found.borrowed)}")
        return
    say(f"{found.op}: {found.planted} planted, {found.rejected} rejected, {len(found.equivalent)} equivalent")
    for fault in found.survivors:
        say(f"  SURVIVES {fault.place} ({fault.edit.kind})\n    {fault.before}\n    {fault.after}")
    for rule in found.outdated:
        say(f"  OUTDATED: fewer faults than are listed as equivalent survive of {rule}")
