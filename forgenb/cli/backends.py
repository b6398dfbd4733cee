"""``forgenb backends``: the plug-ins that are installed.

Imports `forgenb.backend` and rich; loads no backend.
"""

from argparse import Namespace

from forgenb.backend import backends
from forgenb.cli.common import Commands, say, say_json

__all__ = ["add_to"]


def add_to(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "backends",
        help="list the backends that are installed",
        description="List the backends that are installed, without loading any.",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    """Print a table of all backends."""
    rows = backends()
    if arguments.json:
        say_json({"backends": rows})
        return 0
    if not rows:
        say("No backend is installed: entry points exist only for an installed package, run pip install -e .")
        return 0
    from rich.console import Console
    from rich.table import Table

    names = ("name", "distribution", "version", "state", "notes")
    table = Table(*names)
    for row in rows:
        notes = (row["reason"], f"numba.cuda is that of {row['supplier']}" if row["supplier"] else "")
        table.add_row(*(row[name] for name in names[:-1]), "; ".join(filter(None, notes)))
    Console(markup=False).print(table)
    return 0
