"""What statements have written, as arrays: for whoever watches a routine, or asks it for all values that it stores.

Imports statements and backends' views; nothing runs and nothing is planned here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..layout import count
from .late import Late, value_of
from .program import Program
from .statements import Launch, Place, Product
from .work import operands

__all__ = ["stored_values", "written"]


def written(statement: Launch | Product, backend) -> Iterator[np.ndarray]:
    """What a statement has written, as arrays."""
    if isinstance(statement, Product):
        yield from _written_product(statement, backend)
        return
    for place, dtype, shape, strides in operands(statement, only_written=True):
        yield _view(place, dtype, shape, strides, backend)


def stored_values(program: Program, backend) -> dict[str, np.ndarray]:
    """Copies of the stored values of a routine that has run, by the labels that its printed program has.

    A value that is written in parts has the shape of its largest part, the last of several.
    """
    label = program.labels()
    seen: dict[int, tuple[int, Launch | Product, int]] = {}
    for statement in program:
        for number, (memory, place) in enumerate(zip(statement.writes, _written_places(statement), strict=True)):
            if getattr(memory, "mode", "") == "stored" and not isinstance(place.offset, Late):
                size = count(_written_shapes(statement)[number])
                if size >= seen.get(id(memory), (0,))[0]:
                    seen[id(memory)] = size, statement, number
    found = {}
    for memory, (_, statement, number) in seen.items():
        value = list(written(statement, backend))[number]
        found[label[memory]] = np.array(value).reshape(_written_shapes(statement)[number])
    return found


def _written_places(statement: Launch | Product) -> list[Place]:
    if isinstance(statement, Product):
        return [statement.places[2]]
    return [place for place, *_ in operands(statement, only_written=True)]


def _written_shapes(statement: Launch | Product) -> list[tuple[int, ...]]:
    if isinstance(statement, Product):
        return [statement.shapes[2]]
    return [shape for o, shape in zip(statement.kernel.operands, statement.shapes, strict=True) if o.writes]


def _written_product(statement: Product, backend) -> Iterator[np.ndarray]:
    (m, n, _), (outer, inner) = statement.shape, statement.batch
    (_, _, ldo), (*_, out_outer, out_inner) = statement.steps
    dtype = np.dtype(statement.real)
    yield _view(statement.places[2], dtype, (outer, inner, m, n), (out_outer, out_inner, ldo, 1), backend)


def _view(place: Place, dtype: np.dtype, shape: tuple, strides: tuple, backend) -> np.ndarray:
    memory: Any = place.memory
    offset = value_of(place.offset)
    if hasattr(memory, "placed"):
        offset += memory.placed - memory.owner.address
        memory = memory.owner
    backend.synchronize()
    return backend.view(memory, dtype, offset // dtype.itemsize, shape, strides)
