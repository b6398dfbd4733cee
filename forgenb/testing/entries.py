"""Rows that hold forgenb against another system, and the tables made of them, as Markdown.

Imports `markdown`; which systems there are and what their rows say is for others. Tests look up every function and
every test that a row names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .markdown import table

__all__ = ["Entry", "avoided", "compared"]


class Entry(NamedTuple):
    """One row.

    `ours` are names below ``fnb.``, and `tests` node ids below ``tests/``, both parted by blanks. `differs` ends the
    sentence "differs because"; without one the meaning is the same. Where forgenb has nothing, `ours` and `tests` are
    empty and it ends "left out because". Of a defect it says how it is avoided.
    """

    number: str
    theirs: str
    ours: str
    tests: str
    differs: str = ""


def compared(theirs: str, entries: Iterable[Entry]) -> str:
    """The table of what `theirs` has, and what it means here."""
    return table(("", theirs, "forgenb", "meaning", "tests"), map(_cells, entries)) + "\n"


def avoided(entries: Iterable[Entry]) -> str:
    """The table of what went wrong elsewhere, and how it is here."""
    rows = ((*_cells(entry)[:3], entry.differs, _cells(entry)[4]) for entry in entries)
    return table(("", "what went wrong", "forgenb", "here", "tests"), rows) + "\n"


def _cells(entry: Entry) -> tuple[str, ...]:
    ours = " ".join(f"`fnb.{name}`" for name in entry.ours.split())
    tests = " ".join(f"`{test}`" for test in entry.tests.split())
    reason = f"{'differs' if ours else 'left out'} because {entry.differs}"
    return entry.number, entry.theirs, ours or "-", reason if entry.differs else "same", tests
