"""A graph of boxes as SVG text: each has a title and, for each result, a line for its value and one for its gradient.

A gradient that is not there has a dashed frame. Style sheets in it speak of this picture alone, so that it may stand
in a page. Imports the layout; what the boxes mean is not known here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from ..errors import ArgumentError
from .glimpse import FREED, NONE, Glimpse
from .graphviz import by_dot, find_dot
from .layout import Layout, Point, Size, arrows, layered
from .written import Written

__all__ = ["Box", "Drawing", "drawing"]

LETTER, LINE, PAD, TIP = 7.25, 18, 16, 7
"""Pixels: the width of a letter, the height of a line, the space beside one, the length of an arrow's tip."""

STYLE = """\
.forgenb-tape text{font:12px ui-monospace,Menlo,Consolas,monospace;text-anchor:middle;fill:#1b1b1b}
.forgenb-tape .box{fill:#fff;stroke:#666}
.forgenb-tape .head{fill:#ececec;stroke:#666}
.forgenb-tape .leaf .head{fill:#cfe0fb}
.forgenb-tape .title{font-weight:bold}
.forgenb-tape .grad{fill:#fff0da;stroke:#666}
.forgenb-tape .grad.none{fill:#fff;stroke-dasharray:4 3}
.forgenb-tape .grad.freed{fill:#f4f4f4}
.forgenb-tape .missing{font-style:italic;fill:#5a5a5a}
.forgenb-tape .arrow{fill:none;stroke:#808080;stroke-width:1.3}
.forgenb-tape .tip{fill:#808080}"""


@dataclass(frozen=True)
class Box:
    """What is drawn of an entry.

    Attributes
    ----------
    title : str
        The first line.
    inputs : tuple of (int or None)
        The boxes that it reads; None for what is not drawn.
    leaf : bool
        Whether it is tinted.
    values, grads : sequence of Glimpse
        Of each result.
    """

    title: str
    inputs: tuple[int | None, ...]
    leaf: bool
    values: Sequence[Glimpse]
    grads: Sequence[Glimpse]


class Drawing(Written):
    """A picture as SVG: notebooks show it, ``str()`` is its text, and ``save(path)`` writes it to a file."""

    def __repr__(self) -> str:
        return f"Drawing of {len(self.text)} characters of SVG: save(path) writes it, a notebook shows it"

    def _repr_svg_(self) -> str:
        return self.text


def drawing(boxes: Sequence[Box], about: str, graphviz: bool | None = None) -> Drawing:
    """The picture of boxes in the order of recording, with `about` for those who do not see it.

    `graphviz` says whether ``dot`` places the boxes: by default where it is found and does.
    """
    sizes = [_size(box) for box in boxes]
    layout = _layout(sizes, [box.inputs for box in boxes], graphviz)
    parts = [_head(layout.size, about)]
    parts += [_arrow(path) for path in layout.paths]
    parts += [_box(n, box, middle, size) for n, (box, middle, size) in enumerate(zip(boxes, layout.middles, sizes))]
    return Drawing("\n".join([*parts, "</svg>\n"]))


def _layout(sizes: list[Size], inputs: list, graphviz: bool | None) -> Layout:
    links = arrows(inputs)
    program = None if graphviz is False else find_dot()
    if program is None:
        if graphviz:
            raise ArgumentError("draw with graphviz=True needs the program dot, which is not on PATH: leave it out")
        return layered(sizes, links)
    try:
        return by_dot(program, sizes, links)
    except ArgumentError:
        if graphviz:
            raise
        return layered(sizes, links)


def _lines(box: Box) -> list[str]:
    pairs = ((value.line("value"), grad.line("grad")) for value, grad in zip(box.values, box.grads, strict=True))
    return [box.title, *(line for pair in pairs for line in pair)]


def _size(box: Box) -> Size:
    lines = _lines(box)
    return round(LETTER * max(map(len, lines))) + PAD, LINE * len(lines)


def _head(size: Size, about: str) -> str:
    width, height = (_plain(n) for n in size)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="forgenb-tape" role="img" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">\n<title>{escape(about)}</title>\n<style>\n{STYLE}\n</style>'
    )


def _arrow(path: list[Point]) -> str:
    (x, y), *rest = path
    curves = " ".join(f"{_plain(x)},{_plain(y)}" for x, y in rest)
    return f'<path class="arrow" d="M{_plain(x)},{_plain(y)}C{curves}"/><path class="tip" d="{_tip(path)}"/>'


def _tip(path: list[Point]) -> str:
    """The triangle at the end of a path, along its last direction."""
    (x, y), end = next((p for p in reversed(path) if p != path[-1]), path[-1]), path[-1]
    length = math.hypot(end[0] - x, end[1] - y) or 1.0
    along = TIP * (end[0] - x) / length, TIP * (end[1] - y) / length
    back = end[0] - along[0], end[1] - along[1]
    sides = (back[0] - along[1] / 2, back[1] + along[0] / 2), (back[0] + along[1] / 2, back[1] - along[0] / 2)
    return "M" + "L".join(f"{_plain(a)},{_plain(b)}" for a, b in (end, *sides)) + "z"


def _box(number: int, box: Box, middle: tuple[float, float], size: Size) -> str:
    (x, y), (width, height) = middle, size
    left, top = x - width / 2, y - height / 2
    texts = _lines(box)
    parts = [f'<g class="entry{" leaf" if box.leaf else ""}" data-entry="{number}">']
    parts.append(_rectangle("box", left, top, width, height))
    parts.append(_rectangle("head", left, top, width, LINE))
    for k, grad in enumerate(box.grads):
        kind = "none" if grad is NONE else "freed" if grad is FREED else ""
        parts.append(_rectangle(f"grad {kind}".strip(), left, top + (2 + 2 * k) * LINE, width, LINE))
    for n, text in enumerate(texts):
        kind = "title" if n == 0 else ("value" if n % 2 else "gradient")
        seen = n == 0 or (box.values if n % 2 else box.grads)[(n - 1) // 2].numbers is not None
        kind = kind if seen else f"{kind} missing"
        place = f'x="{_plain(x)}" y="{_plain(top + n * LINE + 13)}"'
        parts.append(f'<text class="{kind}" {place}>{escape(text)}</text>')
    return "".join([*parts, "</g>"])


def _rectangle(kind: str, left: float, top: float, width: float, height: float) -> str:
    x, y, across, down = map(_plain, (left, top, width, height))
    return f'<rect class="{kind}" x="{x}" y="{y}" width="{across}" height="{down}"/>'


def _plain(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
