"""``forgenb bench decode`` and ``forgenb bench load``: what is done with a model, beside what limits it.

Imports `forgenb.bench` when it runs; what is measured, and how, is decided there.
"""

import argparse
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from forgenb.cli.bench_options import add_shared, interpreters, telling, threads
from forgenb.cli.common import Parser, check_file, say, say_json, termination_interrupts
from forgenb.errors import ArgumentError

if TYPE_CHECKING:
    from forgenb.bench import Plan, Row

__all__ = ["WORDS", "add_words"]


def add_words(parser: Parser) -> None:
    """Add both; without a word, training steps are compared."""
    from forgenb.bench import DECODERS, DECODINGS, LOADERS

    words = parser.add_subparsers(dest="word", metavar="[decode | load]", title="instead of steps")
    decode = words.add_parser(
        "decode",
        help="decoding with a cache, beside PyTorch and the rate of reading memory",
        description="Time one sequence that is continued with a cache, id by id. Only contenders that find the same "
        "ids are timed, in alternating rounds with reading as many bytes as the weights have. The weights of gpt2 take "
        "500 MB of a temporary folder meanwhile.",
    )
    decode.add_argument(
        "--shapes",
        nargs="+",
        choices=tuple(DECODINGS),
        default=list(DECODINGS),
        metavar="S",
        help=f"of the model: {' '.join(DECODINGS)} (default all)",
    )
    _add(decode, DECODERS)
    load = words.add_parser(
        "load",
        help="loading a GPT-2's folder, beside reading its file",
        description="Time loading a model of the size of GPT-2 from a folder whose file the system has in its cache, "
        "in alternating rounds with reading the file's bytes. The folder is a temporary one and takes 500 MB.",
    )
    _add(load, LOADERS)


def _add(parser: Parser, contenders: Iterable[str]) -> None:
    names = tuple(contenders)
    parser.add_argument(
        "--contenders", nargs="+", choices=names, default=argparse.SUPPRESS, metavar="C", help=" ".join(names)
    )
    add_shared(parser, word=True)


def run_decode(arguments: Namespace) -> int:
    """Measure decoding, and show it."""
    from forgenb.bench import DECODE_MARKS, DECODERS, compare_decode, decode_markdown

    shapes = list(dict.fromkeys(arguments.shapes))

    def found(plan: "Plan", tell: Callable[[str], None]) -> Iterable[Any]:
        for shape in plan.workloads:
            yield from compare_decode(plan, shape, tell)

    return _run(arguments, _plan(arguments, shapes, DECODERS), found, decode_markdown, DECODE_MARKS)


def run_load(arguments: Namespace) -> int:
    """Measure loading, and show it."""
    from forgenb.bench import LOAD_MARKS, LOADERS, compare_load, load_markdown

    return _run(arguments, _plan(arguments, ["load"], LOADERS), compare_load, load_markdown, LOAD_MARKS)


WORDS = {"decode": run_decode, "load": run_load}


def _plan(arguments: Namespace, workloads: Sequence[str], known: Iterable[str]) -> "Plan":
    from forgenb.bench import CONTENDERS, Plan

    names = list(dict.fromkeys(arguments.contenders))
    if names == list(CONTENDERS):
        names = list(known)
    wrong = [name for name in names if name not in known]
    if wrong:
        raise ArgumentError(f"{arguments.word} has no contender {wrong[0]}: name some of {', '.join(known)}.")
    pythons = interpreters(arguments.python, known)
    return Plan(workloads, names, threads(arguments), arguments.rounds, None, pythons)


def _run(
    arguments: Namespace,
    plan: "Plan",
    compare: Callable[["Plan", Callable[[str], None]], Iterable[Any]],
    as_markdown: Callable[[Sequence[Any], Mapping], str],
    marks: tuple[str, str],
) -> int:
    """Measure, and show all of it as JSON lines or as the text of a page."""
    from forgenb.bench import measure_limits, write_markdown

    check_file("--markdown", arguments.markdown)
    with termination_interrupts(), telling() as tell:
        tell("limits of this machine")
        limits = measure_limits(plan.threads)
        if arguments.json:
            say_json(limits)
        rows: list[Row] = []
        for row in compare(plan, tell):
            rows.append(row)
            if arguments.json:
                say_json(row.as_json())
    text = as_markdown(rows, limits)
    if arguments.markdown is not None:
        write_markdown(text, arguments.markdown, marks)
    if not arguments.json:
        say(text, end="")
    return 0
