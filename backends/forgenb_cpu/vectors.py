"""Vectors of this CPU as LLVM code: the few instructions that tiles and packing are made of.

Plain functions on a builder, so that the key of compiled code sees an edit in any of them. Imports llvmlite alone.
"""

from __future__ import annotations

import functools

import llvmlite.binding as llvm
from llvmlite import ir

INT64, INT32, INT1 = ir.IntType(64), ir.IntType(32), ir.IntType(1)


def bytes_of(real: str) -> int:
    """Of one number."""
    return 8 if real == "float64" else 4


@functools.cache
def lanes(real: str) -> int:
    """Numbers in a vector register of this CPU."""
    width = 64 if llvm.get_host_cpu_features().get("avx512f") else 32
    return width // bytes_of(real)


def number(real: str) -> ir.Type:
    """A float of LLVM."""
    return ir.DoubleType() if real == "float64" else ir.FloatType()


def call(builder, name: str, result, arguments):
    """A call of an LLVM intrinsic, declared where the module lacks it."""
    known = builder.module.globals.get(name)
    kind = ir.FunctionType(result, [a.type for a in arguments])
    return builder.call(known or ir.Function(builder.module, kind, name), arguments)


def suffix(kind: ir.VectorType) -> str:
    """How LLVM spells a vector type in the name of an intrinsic."""
    return f"v{kind.count}f{64 if isinstance(kind.element, ir.DoubleType) else 32}"


def integers(*values: int):
    """A constant vector of lane numbers."""
    return ir.Constant(ir.VectorType(INT32, len(values)), list(values))


def zeros(kind: ir.VectorType):
    """Zero in every lane."""
    return ir.Constant(kind, [0.0] * kind.count)


def spread(builder, value, width: int):
    """One number in every lane."""
    empty = ir.Constant(ir.VectorType(value.type, width), ir.Undefined)
    first = builder.insert_element(empty, value, ir.Constant(INT32, 0))
    return builder.shuffle_vector(first, empty, integers(*[0] * width))


def fused(builder, a, b, c):
    """``a b + c``, rounded once."""
    return call(builder, f"llvm.fma.{suffix(a.type)}", a.type, [a, b, c])


def combined(builder, total, alpha, below, scale):
    """``alpha total + scale below``: how a product ends."""
    return fused(builder, total, alpha, builder.fmul(scale, below))


def first_lanes(builder, count, width: int):
    """The mask of the first `count` lanes."""
    numbers = ir.Constant(ir.VectorType(INT64, width), list(range(width)))
    return builder.icmp_signed("<", numbers, spread(builder, count, width))


def at(builder, pointer, offset, kind):
    """The vector that lies `offset` numbers after a pointer."""
    return builder.bitcast(builder.gep(pointer, [offset]), kind.as_pointer())


def load(builder, pointer, mask=None):
    """The vector at a pointer; lanes that are off are 0 and not read."""
    kind = pointer.type.pointee
    if mask is None:
        return builder.load(pointer, align=_size(kind))
    name = f"llvm.masked.load.{suffix(kind)}.p0{suffix(kind)}"
    return call(builder, name, kind, [pointer, ir.Constant(INT32, _size(kind)), mask, zeros(kind)])


def store(builder, value, pointer, mask=None) -> None:
    """Store the lanes that are on."""
    if mask is None:
        builder.store(value, pointer, align=_size(value.type))
        return
    name = f"llvm.masked.store.{suffix(value.type)}.p0{suffix(value.type)}"
    call(builder, name, ir.VoidType(), [value, pointer, ir.Constant(INT32, _size(value.type)), mask])


def _size(kind: ir.VectorType) -> int:
    return 8 if isinstance(kind.element, ir.DoubleType) else 4


def prefetch(builder, pointer, writes: bool = False, level: int = 1) -> None:
    """Ask for the line that a pointer is in, to come into the first or the second cache."""
    place = builder.bitcast(pointer, ir.IntType(8).as_pointer())
    call(builder, "llvm.prefetch.p0", ir.VoidType(), [place, INT32(int(writes)), INT32(4 - level), INT32(1)])


def transposed(builder, rows: list) -> list:
    """The columns of a square of vectors: as many riffles as its side has binary digits."""
    width = len(rows)
    low = integers(*[half * width + lane for lane in range(width // 2) for half in (0, 1)])
    high = integers(*[half * width + lane for lane in range(width // 2, width) for half in (0, 1)])
    for _ in range(width.bit_length() - 1):
        pairs = zip(rows[: width // 2], rows[width // 2 :], strict=True)
        rows = [builder.shuffle_vector(a, b, order) for a, b in pairs for order in (low, high)]
    return rows
