"""Text whose colours tell how surprising it is, in a terminal; elsewhere the text alone.

Imports rich and `common`; where the bits come from is not known here.
"""

import unicodedata
from collections.abc import Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.text import Text

from forgenb.cli.common import printable

__all__ = ["print_heat"]

EDGES = (1, 2, 4, 8, 12)
"""Bits from which the next style is used."""
STYLES = (
    "",
    "black on color(230)",
    "black on color(222)",
    "black on color(178)",
    "black on color(209)",
    "bright_white on color(160)",
)
RUNS = 4096
"""Pieces of one style that are printed at a time."""


def print_heat(pieces: Sequence[str], bits: NDArray[np.floating]) -> None:
    """Print `pieces` of a text, the background of each after its bits ``(n,)``, and what the colours mean.

    Control characters other than tab and newline are shown as escapes, so that a text cannot steer the terminal. There
    are no colours outside of a terminal, or where NO_COLOR is set.
    """
    console = Console(highlight=False, markup=False, emoji=False)
    levels = np.searchsorted(EDGES, bits, side="right").tolist()
    line = Text()
    for number, (level, part) in enumerate(groupby(zip(levels, pieces), key=lambda pair: pair[0]), 1):
        line.append(printable("".join(_visible(c) for _, piece in part for c in piece), console.file), STYLES[level])
        if number % RUNS == 0:
            console.print(line, end="", soft_wrap=True)
            line = Text()
    line.append("" if "".join(pieces[-1:]).endswith("\n") else "\n")
    console.print(line, end="", soft_wrap=True)
    if console.color_system and not console.no_color:
        console.print(_legend(), soft_wrap=True)


def _visible(character: str) -> str:
    if unicodedata.category(character) in ("Cc", "Cf") and character not in "\n\t":
        return character.encode("unicode_escape").decode()
    return character


def _legend() -> Text:
    names = (f"below {EDGES[0]}", *(f"from {edge}" for edge in EDGES))
    return Text(" ").join([Text("bits:"), *(Text(f" {name} ", style) for name, style in zip(names, STYLES))])
