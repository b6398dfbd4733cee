"""``forgenb docs``: build the site from a checkout, and open it.

Imports the standard library; what is on the site is in docs/, and Sphinx builds it in a process of its own.
"""

import importlib.util
import subprocess
import sys
import webbrowser
from argparse import Namespace
from pathlib import Path

from forgenb.cli.common import Commands, say
from forgenb.errors import ArgumentError

__all__ = ["add_to"]

ROOT = Path(__file__).parents[2]


def add_to(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "docs",
        help="build the site and open it in the browser",
        description="Build the site with the chapters, the guides and the reference from a checkout, and open it in "
        "the browser. Chapters are run for it, which takes minutes the first time. Nothing is fetched.",
    )
    parser.add_argument("--no-open", action="store_true", help="only build it")
    parser.add_argument("--out", metavar="DIR", help="where it is built (default docs/_build/html of the checkout)")
    parser.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    """Build, and open the first page."""
    source = ROOT / "docs"
    if not (source / "conf.py").is_file():
        raise ArgumentError(
            f"there is no docs/ beside {str(ROOT / 'forgenb')!r}: the site is built from a checkout of forgenb, and "
            "this one was installed without it. Say pip install -e '.[docs]' in the folder of the checkout, and "
            "forgenb docs again. The chapters are here all the same: forgenb course list"
        )
    if importlib.util.find_spec("sphinx") is None:
        raise ArgumentError(
            f"Sphinx, which builds the site, is not installed: pip install -e '.[docs]' in {str(ROOT)!r}"
        )
    target = Path(arguments.out) if arguments.out else source / "_build" / "html"
    say(f"Building the site in {target}: chapters run for it, about five minutes the first time.")
    command = [sys.executable, "-m", "sphinx", "-q", str(source), str(target)]
    code = subprocess.run(command, check=False).returncode
    if code:
        print(f"forgenb docs: Sphinx ended with code {code}; what it says is above.", file=sys.stderr)
        return 1
    first = (target / "index.html").resolve()
    say(f"The site is at {first}")
    if not arguments.no_open:
        webbrowser.open(first.as_uri())
    return 0
