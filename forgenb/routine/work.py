"""What a statement has to do, as far as its shapes tell: bytes that it touches, and floating-point operations.

Imports statements only; nothing runs here.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from functools import cache
from types import CodeType

import numpy as np

from ..dtypes import as_dtype
from ..layout import contiguous_strides, count
from .statements import Launch, Place, Product

__all__ = ["flop", "moved", "operands"]


def operands(statement: Launch, only_written: bool = False) -> Iterator[tuple[Place, np.dtype, tuple, tuple]]:
    """Place, dtype, shape and strides of each operand."""
    kernel = statement.kernel
    if kernel.form == "map":
        found = statement.of_map()
        for operand, stored, (place, strides) in zip(kernel.operands, statement.storage, found.operands, strict=True):
            if operand.writes or not only_written:
                yield place, as_dtype(stored), found.dims, strides
        return
    places = statement.of_rows().addresses
    for operand, place, shape in zip(kernel.operands, places, statement.shapes, strict=True):
        if operand.writes or not only_written:
            yield place, np.dtype(operand.dtype(statement.real)), shape, contiguous_strides(shape)


def moved(statement: Launch | Product) -> int:
    """Bytes of the operands, each counted once."""
    if isinstance(statement, Product):
        return sum(map(count, statement.shapes)) * np.dtype(statement.real).itemsize
    sizes = [dtype.itemsize for _, dtype, _, _ in operands(statement)]
    return sum(count(shape) * size for shape, size in zip(statement.shapes, sizes, strict=True))


def flop(statement: Launch | Product) -> int:
    """Floating-point operations: exact for a product, an estimate for a launch."""
    if isinstance(statement, Product):
        m, n, k = statement.shape
        return 2 * m * n * k * count(statement.batch)
    elements = max((count(shape) for shape in statement.shapes), default=0)
    return elements * arithmetic_words(statement.kernel.body.__code__)


@cache
def arithmetic_words(code: CodeType) -> int:
    """How many operators and calls a body has."""
    inner = sum(arithmetic_words(c) for c in code.co_consts if isinstance(c, CodeType))
    return inner + sum(i.opname in ("BINARY_OP", "UNARY_NEGATIVE", "CALL") for i in dis.get_instructions(code))
