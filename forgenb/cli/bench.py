"""``forgenb bench``: steps of forgenb beside those of other libraries.

Imports `forgenb.bench` when it runs; what is measured, and how, is decided there.
"""

from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from forgenb.cli.bench_options import add_shared, interpreters, positive, refuse, telling, threads
from forgenb.cli.bench_words import WORDS, add_words
from forgenb.cli.common import Commands, check_file, say, say_json
from forgenb.errors import ArgumentError

if TYPE_CHECKING:
    from forgenb.bench import Plan, Row

__all__ = ["add_to"]

COLD = "cold"
CHECKED_STEPS = 50


def add_to(commands: Commands) -> None:
    """Add the command and its options."""
    from forgenb.bench import CONTENDERS, SCALABLE

    parser = commands.add_parser(
        "bench",
        help="compare the speed of training steps with other libraries",
        description="Time fixed workloads with forgenb and with whichever other libraries are installed. All begin "
        "with the same values, and only those that give the same losses are timed, in alternating rounds.",
    )
    names = _workloads()
    parser.add_argument("--workloads", nargs="+", choices=names, default=names, metavar="W", help=" ".join(names))
    parser.add_argument(
        "--contenders",
        nargs="+",
        choices=CONTENDERS,
        default=list(CONTENDERS),
        metavar="C",
        help=" ".join(CONTENDERS),
    )
    parser.add_argument("--steps", type=positive, metavar="N", help="timed steps in a turn (default by workload)")
    parser.add_argument(
        "--check",
        action="store_true",
        help="instead of timing, see whether the losses of --steps steps (default 50) have the same bits op by op and "
        "as a routine, with one thread and with --threads",
    )
    parser.add_argument(
        "--scaling",
        dest="run",
        action="store_const",
        const=run_scaling,
        help=f"instead of comparing, time steps of the GPT workloads ({', '.join(SCALABLE)}) over streams and "
        "processes, and project them to many nodes; processes need the extra mpi: pip install 'forgenb[mpi]'",
    )
    parser.add_argument("--plot", metavar="FILE", help="draw the ratios into an svg, png or pdf file; needs matplotlib")
    add_shared(parser, word=False)
    parser.set_defaults(run=run)
    add_words(parser)


def run(arguments: Namespace) -> int:
    """Measure, and show each workload as soon as it is done."""
    from forgenb.bench import measure_limits

    if arguments.word is not None:
        refuse(_given(arguments, "--workloads", "--steps", "--check", "--plot"), arguments.word)
        return WORDS[arguments.word](arguments)
    plan = _plan(arguments)
    _check_files(arguments)
    if arguments.check:
        return _check(plan, arguments.json)
    show: _Json | _Tables = _Json() if arguments.json else _Tables()
    with telling() as tell:
        tell("limits of this machine")
        limits = measure_limits(plan.threads, plan.pythons.get("forgenb-eager"))
        show.limits(limits)
        rows: list[Row] = []
        for found in _results(plan, tell):
            rows += show.rows(found)
    _write(arguments, rows, limits)
    return 0


def run_scaling(arguments: Namespace) -> int:
    """Measure how steps are shared out, and show all of it as JSON lines or as the text of a page."""
    from forgenb.bench import (
        compare_scaling,
        machine_line,
        measure_limits,
        projection_rows,
        scalable,
        scaling_markdown,
        write_markdown,
    )

    if arguments.word is not None:
        raise ArgumentError(f"--scaling has no meaning for {arguments.word}: leave it away.")
    refuse(_given(arguments, "--contenders", "--python", "--plot", "--check"), "--scaling")
    arguments.workloads = scalable(arguments.workloads)
    plan = _plan(arguments)
    _check_files(arguments)
    with telling() as tell:
        tell("limits of this machine")
        limits = measure_limits(plan.threads)
        found = []
        if arguments.json:
            say_json(limits)
        for item in compare_scaling(plan, tell):
            found.append(item)
            if arguments.json:
                say_json(item.as_json())
    if arguments.json:
        for row in projection_rows(found):
            say_json(row)
    text = scaling_markdown(found, machine_line(limits))
    if arguments.markdown is not None:
        write_markdown(text, arguments.markdown)
    if not arguments.json:
        say(text)
    return 0


def _given(arguments: Namespace, *names: str) -> dict[str, bool]:
    """Which of these options were given."""
    from forgenb.bench import CONTENDERS

    given = {
        "--contenders": arguments.contenders != list(CONTENDERS),
        "--python": bool(arguments.python),
        "--plot": arguments.plot is not None,
        "--check": arguments.check,
        "--workloads": arguments.workloads != _workloads(),
        "--steps": arguments.steps is not None,
    }
    return {name: given[name] for name in names}


def _workloads() -> list[str]:
    from forgenb.bench import SPECS

    return [*SPECS, COLD]


def _write(arguments: Namespace, rows: Sequence["Row"], limits: dict) -> None:
    from forgenb.bench import markdown, plot, write_markdown

    if arguments.markdown is not None:
        write_markdown(markdown(rows, limits), arguments.markdown)
    if arguments.plot is not None:
        plot(rows, limits, arguments.plot)


def _check(plan: "Plan", as_json: bool) -> int:
    """Print whether all ways to run each workload give the same bits; 1 if some do not."""
    from forgenb.bench import check

    worst = 0
    for workload in plan.workloads:
        if workload == COLD:
            continue
        with telling() as tell:
            python, counts = plan.pythons.get("forgenb-eager"), sorted({1, plan.threads})
            for found in check(workload, counts, plan.steps or CHECKED_STEPS, python, tell):
                worst |= found.equal is False
                if as_json:
                    say_json(found.as_json())
                    continue
                word = found.skipped or ("the same bits" if found.equal else "OTHER BITS")
                losses = "" if found.skipped else f"  loss {found.loss_first!r} to {found.loss_last!r}"
                say(f"{workload}: {found.contender}, threads {found.threads}{losses}: {word}")
    return int(worst)


def _results(plan: "Plan", tell: Callable[[str], None]) -> Iterator[Iterable["Row"]]:
    from forgenb.bench import compare, compare_cold

    for workload in plan.workloads:
        yield compare_cold(plan, tell) if workload == COLD else compare(plan, workload, tell)


def _plan(arguments: Namespace) -> "Plan":
    from forgenb.bench import CONTENDERS, Plan

    return Plan(
        list(dict.fromkeys(arguments.workloads)),
        list(dict.fromkeys(arguments.contenders)),
        threads(arguments),
        arguments.rounds,
        arguments.steps,
        interpreters(arguments.python, CONTENDERS),
    )


def _check_files(arguments: Namespace) -> None:
    """Refuse before measuring what could not be written after it."""
    from forgenb.routine.figures import check_figure_file

    if arguments.plot is not None:
        check_figure_file(arguments.plot)
    check_file("--markdown", arguments.markdown)


class _Json:
    """One object for the machine and one for each contender of each workload."""

    def limits(self, limits: dict) -> None:
        self.measured = limits
        say_json(limits)

    def rows(self, rows: Iterable["Row"]) -> Sequence["Row"]:
        from forgenb.bench import shares

        found = []
        for row in rows:
            say_json({**row.as_json(), **({} if row.skipped else shares(row, self.measured))})
            found.append(row)
        return found


class _Tables:
    """A line about the machine and a table for each workload."""

    def limits(self, limits: dict) -> None:
        from forgenb.bench import LEGEND, machine_line

        self.measured = limits
        say(machine_line(limits))
        say(LEGEND)

    def rows(self, rows: Iterable["Row"]) -> Sequence["Row"]:
        found = list(rows)
        for workload in dict.fromkeys(row.workload for row in found):
            self._table(workload, [row for row in found if row.workload == workload])
        return found

    def _table(self, workload: str, rows: Sequence["Row"]) -> None:
        from rich import box
        from rich.console import Console
        from rich.table import Table

        from forgenb.bench import COLUMNS, cells, fastest_peer

        table = Table(title=workload, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        for name in COLUMNS:
            table.add_column(name, no_wrap=name == "contender")
        peer = fastest_peer(rows)
        for row in rows:
            if row.skipped is None:
                table.add_row(*cells(row, peer, self.measured))
        say("")
        if table.row_count:
            Console(markup=False, highlight=False).print(table)
        for row in rows:
            if row.skipped is not None:
                say(f"{workload}: {row.contender} skipped: {row.skipped}")
