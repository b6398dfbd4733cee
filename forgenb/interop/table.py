"""Which NumPy functions are which ops: read off the op table, so that nothing is said about an op twice.

An op that is named like a function of NumPy has its meaning, and so has one whose reference in the table is a ufunc; a
test calls each with the samples of its row. Imports ops; how arguments are handed over is `arguments`.
"""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from ..ops import TABLE, Op
from ..ops.logic import NOT
from ..ops.methods import LOGIC, copy

OTHER_NAMES = {"max": ("amax",), "min": ("amin",), "norm": ("linalg.norm",)}
"""Op -> further functions of NumPy that mean the same."""


class Entry(NamedTuple):
    """What a NumPy function dispatches to: a name for messages and pages, and the function."""

    name: str
    function: Callable


@functools.cache
def dispatched() -> dict[Callable, Entry]:
    """NumPy's function -> the op, in the order of the op table."""
    found = {f: Entry(f"fnb.ops.{row.name}", row.function) for row in TABLE.values() for f in _meanings(row)}
    found |= {getattr(np, f"bitwise_{name}"): Entry(f"fnb.ops.logical_{name}", op) for name, op in LOGIC.items()}
    return found | {np.invert: Entry("fnb.ops.logical_not", NOT), np.copy: Entry("Tensor.copy", copy)}


def _meanings(row: Op) -> Iterator[Callable]:
    if hasattr(np, row.name):
        yield getattr(np, row.name)
    if isinstance(row.reference, np.ufunc):
        yield row.reference
    for name in OTHER_NAMES.get(row.name, ()):
        yield attrgetter(name)(np)


def spelled(function: Callable) -> str:
    """A function as its caller writes it: ``np.sum``, ``np.linalg.norm``, ``scipy.special.expit``."""
    module = getattr(function, "__module__", None) or ("numpy" if hasattr(np, function.__name__) else "")
    return ".".join(filter(None, (module.replace("numpy", "np", 1), function.__name__)))


def listing() -> str:
    """What docs/interop.md has of the table: functions of the same name as their op, then the others, by name."""
    same, other = [], []
    for asked, function, (name, _) in sorted((spelled(f), f, row) for f, row in dispatched().items()):
        if name == f"fnb.ops.{function.__name__}":
            same.append(f"`{asked}`")
        else:
            other.append(f"| `{asked}` | `{name}` |")
    head = textwrap.fill(f"Of the same name as their op in `fnb.ops`: {', '.join(same)}.", 120)
    return "\n".join([head, "", "| NumPy | forgenb |", "| --- | --- |", *other]) + "\n"
