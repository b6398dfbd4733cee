"""A tape as a picture: boxes in rows, each op below what it reads, as SVG text. No other program is needed.

Imports nothing; it knows of a tape's entries only what `svg` names.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Protocol

LETTER, LINE, MARGIN = 7, 16, 20
"""Pixels: the width of a letter, the height of a line of text, the space between boxes."""
HEIGHT = 2 * LINE + 8
DOWN = HEIGHT + 2 * MARGIN


class Drawn(Protocol):
    """What is drawn of an entry: a box with two lines of text, and arrows from the entries that it reads."""

    number: int
    op: str
    inputs: tuple[int | None, ...]
    shapes: tuple[tuple[int, ...], ...]
    leaf: bool


def svg(entries: Sequence[Drawn]) -> str:
    """The picture of `entries`, which stand in the order of recording; the same entries give the same text."""
    rows = _rows(entries)
    texts = [(f"{e.op}#{e.number}", ", ".join(map(str, e.shapes))) for e in entries]
    widths = [LETTER * max(map(len, pair)) + MARGIN for pair in texts]
    left, ends = [], [MARGIN] * (max(rows, default=0) + 1)
    for row, width in zip(rows, widths, strict=True):
        left.append(ends[row])
        ends[row] += width + MARGIN
    middles = [x + width // 2 for x, width in zip(left, widths, strict=True)]
    tops = [MARGIN + DOWN * row for row in rows]
    lines = [
        f'<line x1="{middles[i]}" y1="{tops[i] + HEIGHT}" x2="{middles[n]}" y2="{tops[n]}"/>'
        for n, entry in enumerate(entries)
        for i in dict.fromkeys(entry.inputs)
        if i is not None
    ]
    boxes = [_box(entry.leaf, left[n], tops[n], widths[n], texts[n], middles[n]) for n, entry in enumerate(entries)]
    size = max(ends), MARGIN + DOWN * len(set(rows))
    return "\n".join([_head(size), *lines, *boxes, "</svg>\n"])


def _rows(entries: Sequence[Drawn]) -> list[int]:
    """For each entry 0, or one more than the lowest of what it reads."""
    rows: list[int] = []
    for entry in entries:
        rows.append(1 + max((rows[i] for i in entry.inputs if i is not None), default=-1))
    return rows


def _head(size: tuple[int, int]) -> str:
    style = (
        "rect{fill:#fff;stroke:#555}line{stroke:#999}.leaf{fill:#e8f0fe}text{font:12px monospace;text-anchor:middle}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]}" height="{size[1]}" '
        f'viewBox="0 0 {size[0]} {size[1]}">\n<style>{style}</style>'
    )


def _box(leaf: bool, left: int, top: int, width: int, texts: tuple[str, str], middle: int) -> str:
    kind = ' class="leaf"' if leaf else ""
    words = "".join(
        f'<text x="{middle}" y="{top + LINE * line}">{escape(text)}</text>' for line, text in enumerate(texts, 1)
    )
    return f'<rect{kind} x="{left}" y="{top}" width="{width}" height="{HEIGHT}" rx="4"/>{words}'
