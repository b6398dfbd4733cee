"""How a tensor is shown: ``repr``, ``str``, formats, and HTML for notebooks. Showing one changes nothing.

Values are read only where they can be read without consequences: while a step is recorded, and where a routine has not
stored them, a few words stand in their place. NumPy writes numbers, as its print options say.
"""

from __future__ import annotations

import itertools
from html import escape

import numpy as np

from ..backend import seam
from ..backend.planned import PlannedMemory
from ..tensor import Tensor

CELLS = 20
"""Rows and columns of a table in a notebook; larger tensors are abbreviated as in `repr`."""

WORDS = {
    "undecided": "not computed yet",
    "scratch": "scratch of a routine",
    "inline": "inlined in a routine",
    "stored": "stored by a routine that has not run",
}
"""What a routine does with a value that cannot be read -> what is shown of it."""


def escaped(text: str) -> str:
    """Text on one line, with escapes for what cannot be printed: terminals and XML take it as it is."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def unreadable(t: Tensor) -> str:
    """Why the elements cannot be shown; empty where they can."""
    planned = isinstance(t.memory, PlannedMemory)
    if planned and t.memory.reason:
        return WORDS[t.memory.mode]
    if seam.RECORDER.get() is not None:
        return "not read while a step is recorded"
    return "" if isinstance(t.offset, (int, np.integer)) else "a slice at a symbol"


def _body(t: Tensor) -> tuple[str, bool]:
    """The elements as text, and whether the shape can be seen from them."""
    reason = unreadable(t)
    if reason:
        return f"<{reason}>", False
    options = np.get_printoptions()
    if t.size > options["threshold"]:
        return np.array2string(edges(t, options["edgeitems"]), separator=", ", prefix="tensor(", threshold=0), False
    return np.array2string(t.numpy(), separator=", ", prefix="tensor("), t.size > 0 or t.ndim == 1


def edges(t: Tensor, count: int) -> np.ndarray:
    """What NumPy shows of a large array, so that no more is read: `count` entries from both ends of each long axis.

    Of a long axis one entry more is there, behind the dots, so that there are dots.
    """
    both = [((0, n),) if n <= 2 * count + 1 else ((0, count + 1), (n - count, n)) for n in t.shape]
    found = np.empty([sum(stop - start for start, stop in ends) for ends in both], t.dtype)
    for corner in itertools.product(*both):
        begin = sum(start * step for (start, _), step in zip(corner, t.strides, strict=True))
        place = tuple(slice(0, stop) if start == 0 else slice(count + 1, None) for start, stop in corner)
        found[place] = t.view(tuple(stop - start for start, stop in corner), t.strides, begin).numpy()
    return found


def _facts(t: Tensor) -> list[str]:
    """What is known besides the elements, as it stands in `repr`."""
    facts = [f"dtype={t.dtype.name}"]
    if t.name:
        facts.append(f"name={t.name!r}")
    if t.node is not None:
        facts.append("requires_grad=True" if t.node.leaf else f"op={t.node.name}")
    return facts


def shown(self: Tensor) -> str:
    """``repr(tensor)``: elements, dtype, name, and how it is tracked; the shape where elements are left out."""
    body, whole = _body(self)
    shape = [] if whole else [f"shape={self.shape}"]
    return f"tensor({', '.join([body, *shape, *_facts(self)])})"


def formatted(self: Tensor, spec: str) -> str:
    """``f"{loss:.3f}"`` of a tensor with one element; without a format, or where it cannot be read, its `repr`.

    Raises
    ------
    ArgumentError
        If there is not exactly one element.
    """
    if not spec or unreadable(self):
        return shown(self)
    return format(self.item(), spec)


def as_html(self: Tensor) -> str:
    """A notebook's view: a line about the tensor, then a table of one or two dimensions, or text."""
    about = ", ".join([f"shape={self.shape}", *_facts(self), f"backend={self.backend.name}"])
    small = 0 < self.ndim <= 2 and self.size and max(self.shape) <= CELLS and not unreadable(self)
    body = _table(np.atleast_2d(self.numpy())) if small else f"<pre>{escape(_body(self)[0])}</pre>"
    return f"<div><div><code>tensor({escape(about)})</code></div>{body}</div>"


def _table(array: np.ndarray) -> str:
    rows = ("".join(f"<td>{escape(np.array2string(x[()]))}</td>" for x in row) for row in array)
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>"


METHODS = {"__repr__": shown, "__str__": shown, "__format__": formatted, "_repr_html_": as_html}
