"""What a statement has to do, as far as its shapes tell: bytes that it touches, and floating-point operations.

Imports statements only; nothing runs here.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from functools import cache
from types import CodeType, FunctionType

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
    return elements * arithmetic_words(statement.kernel.body)


@cache
def arithmetic_words(body: FunctionType) -> int:
    """How many operators and words a body has, with those of the bodies that it calls; `real` only converts."""
    return _words(body.__code__, body.__globals__)


def _words(code: CodeType, names: dict) -> int:
    total = sum(_words(inner, names) for inner in code.co_consts if isinstance(inner, CodeType))
    for instruction in dis.get_instructions(code):
        total += instruction.opname in ("BINARY_OP", "UNARY_NEGATIVE", "CALL")
        if instruction.opname == "LOAD_GLOBAL":
            called = names.get(instruction.argval)
            total -= instruction.argval == "real"
            total += arithmetic_words(called) - 1 if isinstance(called, FunctionType) else 0
    return total
