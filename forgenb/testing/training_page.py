"""The page that holds forgenb against the training module of OCANNL, as Markdown.

``python -m forgenb.testing.training_page > docs/training.md`` writes it. Imports the rows.
"""

from __future__ import annotations

from collections.abc import Iterable

from .markdown import table
from .training_defects import DEFECTS, OWN_DEFECTS
from .training_rows import ROWS, Entry

__all__ = ["page"]

HEAD = """\
# A training module, function by function

`forgenb.train` does what the training module of OCANNL 0.5.1, train.ml, does, in Python. The first table has a row for
each of its functions: what forgenb has in its place, where it differs and why, and the tests that show it. The other
two are of what went wrong there, each with the test that keeps it from going wrong here. A test looks up every name and
every test on this page.
"""

DEFECTS_HEAD = """\
## What users of OCANNL met

From its public reports, of this version and later ones.
"""

OWN_HEAD = """\
## What train.ml itself has

Read off its code; forgenb differs from it on purpose.
"""


def page() -> str:
    """The page."""
    return "\n".join(
        [
            HEAD,
            table(("", "OCANNL 0.5.1, train.ml", "forgenb", "meaning", "tests"), map(_cells, ROWS)) + "\n",
            DEFECTS_HEAD,
            _defects(DEFECTS),
            OWN_HEAD,
            _defects(OWN_DEFECTS),
            "Written by `python -m forgenb.testing.training_page`.\n",
        ]
    )


def _defects(entries: Iterable[Entry]) -> str:
    rows = ((*_cells(entry)[:3], entry.differs, _cells(entry)[4]) for entry in entries)
    return table(("", "what went wrong", "forgenb", "here", "tests"), rows) + "\n"


def _cells(entry: Entry) -> tuple[str, ...]:
    ours = " ".join(f"`fnb.{name}`" for name in entry.ours.split())
    tests = " ".join(f"`{test}`" for test in entry.tests.split())
    meaning = f"differs because {entry.differs}" if entry.differs else "same"
    return entry.number, entry.theirs, ours, meaning, tests


if __name__ == "__main__":
    print(page(), end="")
