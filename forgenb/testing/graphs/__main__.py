"""Run many random graphs against PyTorch in float64: ``python -m forgenb.testing.graphs --graphs 10000 --seed 0``.

Prints how many agree, the largest difference, and each failure with what replays it. The exit status is 1 if one
differs by more than 1e-9 of a tensor's scale, or raises.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ...cli.common import Parser, as_paragraph, say
from ...errors import ArgumentError
from ..torch_twins import twins
from .build import build
from .compare import Difference, difference
from .graph import Graph
from .run import Outcome, eager, in_routine, in_torch

AGAINST: dict[str, tuple[Callable[[Graph], Outcome], float]] = {"torch": (in_torch, 1e-9), "routine": (in_routine, 0.0)}
"""What a graph is compared with, and the largest difference that passes."""


class Failure(NamedTuple):
    """A graph that differs or raises: its number, what was found, and the first of its results that does so alone."""

    number: int
    text: str
    graph: Graph


def numbered(seed: int, number: int, least: int, most: int, recordable: bool = False) -> Graph:
    """Graph `number` of a seed."""
    rng = np.random.default_rng((seed, number))
    return build(lambda below: int(rng.integers(below)), int(rng.integers(2**32)), least, most, None, recordable)


def tried(graph: Graph, against: str) -> Difference:
    """How far both are apart; an error is an infinite difference."""
    try:
        return difference(graph, eager(graph), AGAINST[against][0](graph))
    except Exception as error:
        return Difference(np.inf, f"{type(error).__name__}: {as_paragraph(str(error))}")


def run(numbers: Sequence[int], seed: int, least: int, most: int, against: str) -> Iterator[Difference | Failure]:
    """What became of each graph."""
    limit = AGAINST[against][1]
    for number in numbers:
        graph = numbered(seed, number, least, most, against == "routine")
        found = tried(graph, against)
        if found.size <= limit:
            yield found
            continue
        parts = (graph.until(count) for count in range(1, len(graph.entries) + 1))
        shortest = next((g for g in parts if g.watched and tried(g, against).size > limit), graph)
        yield Failure(number, f"off by {found.size:.3g} of the scale: {found.where}", shortest)


def parser() -> Parser:
    """The options."""
    made = Parser(
        prog="python -m forgenb.testing.graphs",
        description="Random graphs of ops against PyTorch, or against their routines.",
    )
    made.add_argument("--graphs", type=int, default=1000, help="how many (default 1000)")
    made.add_argument("--seed", type=int, default=0, help="of all of them (default 0)")
    made.add_argument("--first", type=int, default=0, help="number of the first one (default 0)")
    made.add_argument("--least", type=int, default=5, help="fewest ops of a graph (default 5)")
    made.add_argument("--most", type=int, default=40, help="most ops of a graph (default 40)")
    made.add_argument("--against", choices=tuple(AGAINST), default="torch", help="what to compare with")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit status."""
    made = parser()
    given = made.parse_args(arguments)
    if min(given.graphs, given.least) < 1 or min(given.first, given.seed) < 0 or given.most < given.least:
        made.error("--graphs and --least are at least 1, --first and --seed at least 0, --most at least --least")
    if given.against == "torch":
        try:
            twins()
        except ArgumentError as missing:
            made.error(str(missing))
    return _report(given)


def _report(given) -> int:
    start, counts, worst = time.monotonic(), Counter[bool](), Difference(0.0, "nowhere")
    numbers = range(given.first, given.first + given.graphs)
    for found in run(numbers, given.seed, given.least, given.most, given.against):
        counts[isinstance(found, Difference)] += 1
        if isinstance(found, Difference):
            worst = max(worst, found)
            continue
        say(f"graph {found.number}: {found.text}")
        again = f"--against {given.against} --seed {given.seed} --first {found.number} --graphs 1"
        say(f"replay: python -m forgenb.testing.graphs {again} --least {given.least} --most {given.most}")
        say(f"what of it is enough:\n{found.graph}\n")
    which = f"seed {given.seed}, from number {given.first} on, against {given.against}"
    say(
        f"{counts[True]} of {given.graphs} graphs of {given.least} to {given.most} ops agree, {which}, "
        f"{time.monotonic() - start:.0f} s; largest difference that passes {worst.size:.3g} of a tensor's scale: "
        f"{worst.where}"
    )
    return int(counts[False] > 0)


if __name__ == "__main__":
    sys.exit(main())
