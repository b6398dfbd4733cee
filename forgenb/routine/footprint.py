"""Which bytes each equal share of a placed statement touches: what decides whether shares may run without waiting.

A statement's extent is cut into `grains` equal shares at most. An operand is either spread over them, grain g touching
``[start + g pitch, start + g pitch + length)``, or touched whole by each.

Imports statements and kernels' declarations; what follows from overlaps is decided in `stages`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from ..kernel import Kernel
from ..kernel.declare import Operand
from .late import Late
from .statements import Launch, Place, Product


@dataclass(frozen=True)
class Touch:
    """The bytes of one operand, by grain where `pitch` is not 0."""

    start: int
    pitch: int
    length: int
    grains: int
    writes: bool

    def share(self, number: int, shares: int) -> tuple[int, int]:
        """First byte of a share of the grains, and the one after its last."""
        if self.pitch == 0:
            return self.start, self.start + self.length
        each = self.grains // shares
        return self.start + number * each * self.pitch, self.start + (
            (number + 1) * each - 1
        ) * self.pitch + self.length

    @property
    def whole(self) -> tuple[int, int]:
        """First byte that any grain touches, and the one after the last."""
        return self.share(0, 1)


@dataclass(frozen=True)
class Footprint:
    """What a statement touches; `grains` is 1 where its extent cannot be shared out evenly."""

    grains: int
    touches: tuple[Touch, ...]


def footprint(statement: Launch | Product, bands: int = 1) -> Footprint:
    """The footprint of a statement whose memory has its place; a product without a batch has `bands` of equal rows."""
    if isinstance(statement, Product):
        return _of_product(statement, bands)
    return _of_map(statement) if statement.kernel.form == "map" else _of_rows(statement)


def _whole(place: Place, writes: bool) -> Touch:
    """All of the memory: also where the offset is known only before a run."""
    memory = place.memory
    base = memory.placed if hasattr(memory, "placed") else memory.address  # type: ignore[attr-defined]
    return Touch(base, 0, memory.nbytes, 1, writes)  # type: ignore[attr-defined]


def _spread(place: Place, steps: tuple[int, ...], dims: tuple[int, ...], size: int, writes: bool) -> Touch:
    """An operand with strides `steps` over `dims`, of which the first is shared out."""
    if isinstance(place.offset, Late) or any(step < 0 for step in steps):
        return _whole(place, writes)
    inner = 1 + sum((extent - 1) * step for extent, step in zip(dims[1:], steps[1:], strict=True))
    if steps[0] == 0:
        return Touch(place.address(), 0, inner * size, 1, writes)
    return Touch(place.address(), steps[0] * size, inner * size, dims[0], writes)


def _of_map(statement: Launch) -> Footprint:
    found = statement.of_map()
    rows = zip(statement.kernel.operands, statement.storage, found.operands, strict=True)
    touches = (
        _spread(place, steps, found.dims, np.dtype(stored).itemsize, operand.writes)
        for operand, stored, (place, steps) in rows
    )
    return Footprint(found.dims[0], tuple(touches))


def _of_rows(statement: Launch) -> Footprint:
    kernel, extent = statement.kernel, statement.extent
    sizes, values, places = statement.of_rows()
    scalars = dict(zip((s.name for s in kernel.scalars), values, strict=True))
    touches, even = [], True
    for operand, place in zip(kernel.operands, places, strict=True):
        size = np.dtype(operand.dtype(statement.real)).itemsize
        total, each = prod(sizes[d] for d in operand.dims), _each(operand, kernel, sizes, scalars)
        if each and each * extent == total:
            touches.append(_spread(place, (each, 1), (extent, each), size, operand.writes))
        else:
            even = even and not each
            touches.append(_spread(place, (0, 1), (1, total), size, operand.writes))
    return Footprint(extent if even else 1, tuple(touches))


def _each(operand: Operand, kernel: Kernel, sizes: dict[str, int], scalars: dict[str, int]) -> int:
    """Elements that one row of the launch touches, in the order of memory; 0 where it may touch all."""
    if operand.dims[:1] == kernel.symbols[:1]:
        return prod(sizes[d] for d in operand.dims[1:])
    for axis, cut in enumerate(operand.cuts):
        if cut:
            return scalars[cut] * prod(sizes[d] for d in operand.dims[axis + 1 :])
    return 0


def _of_product(statement: Product, bands: int) -> Footprint:
    m, n, k = statement.shape
    outer, inner = statement.batch
    lda, ldb, ldo = statement.steps[0]
    far = statement.steps[1]
    size = np.dtype(statement.real).itemsize
    a_row, a_column = (1, lda) if statement.flags[0] else (lda, 1)
    b_row, b_column = (1, ldb) if statement.flags[1] else (ldb, 1)
    sides = (((m, a_row), (k, a_column)), ((k, b_row), (n, b_column)), ((m, ldo), (n, 1)))
    grains = outer if outer > 1 else inner
    alone = outer * inner == 1
    touches = []
    for number, place in enumerate(statement.places[:3]):
        (rows, row), (columns, column) = sides[number]
        dims: tuple[int, ...]
        steps: tuple[int, ...]
        if alone and number != 1:
            grains = bands
            dims, steps = (bands, rows // bands, columns), (rows // bands * row, row, column)
        elif alone:
            dims, steps = (1, rows, columns), (0, row, column)
        elif outer > 1:
            dims, steps = (outer, inner, rows, columns), (far[2 * number], far[2 * number + 1], row, column)
        else:
            dims, steps = (inner, rows, columns), (far[2 * number + 1], row, column)
        touches.append(_spread(place, steps, dims, size, number == 2))
    if isinstance(statement.places[3], Place):
        touches.append(_spread(statement.places[3], (0, 1), (1, n), size, False))
    return Footprint(grains, tuple(touches))
