"""Places of boxes by Graphviz's ``dot``, where it is installed. It is asked for places alone, never for a drawing.

Imports the layout; its own one is always there, so nothing may depend on this module.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence

from ..errors import ArgumentError
from .layout import MARGIN, Arrow, Layout, Point, Size

__all__ = ["by_dot", "find_dot"]

INCH = 72.0
SECONDS = 20


def find_dot() -> str | None:
    """The path of ``dot``, or None."""
    return shutil.which("dot")


def by_dot(program: str, sizes: Sequence[Size], links: Sequence[Arrow]) -> Layout:
    """The layout that ``dot -Tplain`` finds.

    Raises
    ------
    ArgumentError
        If the program fails, takes more than 20 seconds, or answers something else.
    """
    lines = ["digraph {", 'node [shape=box fixedsize=true label=""]', "edge [arrowhead=none]"]
    lines += [f"n{n} [width={w / INCH:.3f} height={h / INCH:.3f}]" for n, (w, h) in enumerate(sizes)]
    lines += [f"n{tail} -> n{head}" for tail, head in links]
    try:
        answer = subprocess.run(
            [program, "-Tplain"], input="\n".join([*lines, "}"]), capture_output=True, text=True, timeout=SECONDS
        )
        if answer.returncode:
            raise ValueError(answer.stderr.strip()[:200] or f"it ended with {answer.returncode}")
        return _read(answer.stdout, len(sizes), links)
    except (OSError, ValueError, LookupError, subprocess.SubprocessError) as error:
        raise ArgumentError(
            f"{program} did not place {len(sizes)} boxes: {error}. Leave it out with graphviz=False."
        ) from error


def _read(text: str, count: int, links: Sequence[Arrow]) -> Layout:
    """The places in an answer in dot's plain format, whose unit is an inch from the lower left corner."""
    middles: dict[str, Point] = {}
    paths: dict[tuple[str, str], list[Point]] = {}
    width = height = 0.0

    def point(x: str, y: str) -> Point:
        return round(float(x) * INCH + MARGIN, 1), round((height - float(y)) * INCH + MARGIN, 1)

    for line in text.splitlines():
        kind, *words = line.split()
        if kind == "graph":
            width, height = float(words[1]), float(words[2])
        elif kind == "node":
            middles[words[0]] = point(words[1], words[2])
        elif kind == "edge":
            numbers = words[3 : 3 + 2 * int(words[2])]
            paths[words[0], words[1]] = [point(x, y) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]
    size = round(width * INCH + 2 * MARGIN, 1), round(height * INCH + 2 * MARGIN, 1)
    return Layout(size, [middles[f"n{n}"] for n in range(count)], [paths[f"n{t}", f"n{h}"] for t, h in links])
