"""``forgenb doctor``: what runs where, what would be slow, and how to mend it.

Imports `diagnosis` and rich; finds nothing out by itself.
"""

from argparse import Namespace
from collections.abc import Iterator

from forgenb.cli.common import Commands, say_json
from forgenb.cli.diagnosis import UNAVAILABLE, diagnose

__all__ = ["add_to"]


def add_to(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "doctor",
        help="look at the installation",
        description="Show versions, processor, BLAS, threads, cache and backends, and what would be slow.",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    """Print the diagnosis."""
    found = diagnose()
    if arguments.json:
        say_json(found)
        return 0
    from rich.console import Console
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False)
    for name, text in _lines(found):
        table.add_row(name, text)
    console = Console(markup=False, highlight=False)
    console.print(table)
    for problem in found["problems"]:
        console.print(f"\nProblem: {problem['problem']}\n    Fix: {problem['fix']}")
    if not found["problems"]:
        console.print("\nNothing to mend.")
    return 0


def _lines(found: dict) -> Iterator[tuple[str, str]]:
    cpu, cache, blas = found["cpu"], found["cache"], found["blas"]
    yield "forgenb", f"{found['forgenb']} on Python {found['python']}, {found['platform']}"
    yield "packages", ", ".join(f"{name} {version}" for name, version in found["packages"].items())
    yield "processor", f"{cpu['name']}, {cpu['cores']} cores for this process, {' '.join(cpu['features'])}"
    yield "threads", str(found["threads"])
    speeds = blas.get("gflops", {})
    yield "BLAS", ", ".join(f"{name} {value}" for name, value in blas.items() if value is not speeds) or "unknown"
    if speeds:
        yield "products", ", ".join(f"{name} {speed:.0f} GFLOP/s" for name, speed in speeds.items())
    state = "writable" if cache["writable"] else "not writable"
    yield "cache", f"{cache['folder']}, {state}, {cache['entries']} kernels, {cache['bytes'] / 1e6:.1f} MB"
    yield "backends", "; ".join(map(_backend, found["backends"])) or "none"
    yield "processes", found["processes"]["mpiexec"] or f"not available: {found['processes']['missing']}"
    if found["environment"]:
        yield "environment", " ".join(f"{name}={value}" for name, value in found["environment"].items())


def _backend(row: dict) -> str:
    _, unavailable, why = row["reason"].partition(UNAVAILABLE + ": ")
    return f"{row['name']} (not available: {why})" if unavailable else f"{row['name']} ({row['state']})"
