"""Where the chapters are: inside an installed package, or in tutorials/ of a checkout.

Imports the exercises. What is done with a chapter is decided elsewhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..errors import ArgumentError
from . import exercises as _exercises  # noqa: F401  # fills the list
from .exercise import EXERCISES, Exercise

INSTALLED = Path(__file__).parent / "tutorials"
"""Where setup.py puts them in a wheel."""
CHECKOUT = Path(__file__).parents[2] / "tutorials"
TITLE = re.compile(r"^# # \d+\. (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Chapter:
    """One chapter of the course.

    Attributes
    ----------
    path : Path
        The file, whose name begins with two digits.
    """

    path: Path

    @property
    def number(self) -> str:
        """Two digits, such as ``"03"``."""
        return self.path.name[:2]

    @property
    def name(self) -> str:
        """Of its file, and of a learner's copy."""
        return self.path.name

    @cached_property
    def title(self) -> str:
        """Its heading, without the number."""
        found = TITLE.search(self.path.read_text(encoding="utf-8"))
        return found.group(1) if found else self.path.stem

    @property
    def exercises(self) -> tuple[Exercise, ...]:
        """Its exercises in order."""
        return tuple(EXERCISES[number] for number in sorted(EXERCISES) if number.startswith(f"{self.number}-"))


def chapters() -> tuple[Chapter, ...]:
    """All chapters in order.

    Raises
    ------
    ArgumentError
        If this forgenb came without them.
    """
    folder = INSTALLED if INSTALLED.is_dir() else CHECKOUT
    found = tuple(Chapter(path) for path in sorted(folder.glob("[0-9][0-9]_*.py")))
    if not found:
        raise ArgumentError(f"this forgenb has no chapters in {str(folder)!r}: install it from a wheel or a checkout")
    return found


def chapter(number: str | int) -> Chapter:
    """The chapter of a number, ``3`` or ``"03"``.

    Raises
    ------
    ArgumentError
        If there is none.
    """
    wanted = str(number).zfill(2) if number != "" else ""
    found = {each.number: each for each in chapters()}
    if wanted not in found:
        raise ArgumentError(f"there is no chapter {number!r}: there are {', '.join(found)}")
    return found[wanted]
