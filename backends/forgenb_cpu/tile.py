"""A register tile for matrix products: rows of a times one packed panel of b, accumulated in vector registers.

The inner loop of Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008, as LLVM vectors:
each step of k loads one row of the panel and multiplies it with one number of each row of a. Edges are masked.
"""

from __future__ import annotations

import functools

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types as nt
from numba.extending import intrinsic

INT64, INT32, INT1 = ir.IntType(64), ir.IntType(32), ir.IntType(1)
VECTORS = 2
"""Vectors in a row of a panel."""


@functools.cache
def lanes(real: str) -> int:
    """Numbers in a vector register of this CPU."""
    features = llvm.get_host_cpu_features()
    width = 64 if features.get("avx512f") else 32
    return width // (8 if real == "float64" else 4)


def panel_width(real: str) -> int:
    """Columns of a panel."""
    return VECTORS * lanes(real)


def row_counts() -> tuple[int, ...]:
    """Rows of the tiles, largest first: as many as the registers hold, and fewer for what is left."""
    return (12, 8, 4) if llvm.get_host_cpu_features().get("avx512f") else (6, 4, 2)


def _function(module: ir.Module, name: str, kind: ir.FunctionType) -> ir.Function:
    return module.globals[name] if name in module.globals else ir.Function(module, kind, name)


class _Emit:
    """Vector code of one tile."""

    def __init__(self, builder: ir.IRBuilder, number: ir.Type, width: int):
        self.builder, self.number, self.width = builder, number, width
        self.vector, self.mask = ir.VectorType(number, width), ir.VectorType(INT1, width)
        self.suffix = f"v{width}f{64 if isinstance(number, ir.DoubleType) else 32}"

    def fma(self, a, b, c):
        kind = ir.FunctionType(self.vector, [self.vector] * 3)
        return self.builder.call(_function(self.builder.module, f"llvm.fma.{self.suffix}", kind), [a, b, c])

    def spread(self, value):
        """One number in every lane."""
        empty = ir.Constant(self.vector, ir.Undefined)
        first = self.builder.insert_element(empty, value, ir.Constant(INT32, 0))
        return self.builder.shuffle_vector(
            first, empty, ir.Constant(ir.VectorType(INT32, self.width), [0] * self.width)
        )

    def address(self, base, offset, kind):
        size = 8 if isinstance(self.number, ir.DoubleType) else 4
        place = self.builder.add(base, self.builder.mul(offset, ir.Constant(INT64, size)))
        return self.builder.inttoptr(place, kind.as_pointer())

    def columns(self, count, vector: int):
        """Mask of the lanes of a vector that lie within `count` columns."""
        indices = ir.VectorType(INT64, self.width)
        own = ir.Constant(indices, [vector * self.width + lane for lane in range(self.width)])
        empty = ir.Constant(indices, ir.Undefined)
        first = self.builder.insert_element(empty, count, ir.Constant(INT32, 0))
        zeros = ir.Constant(ir.VectorType(INT32, self.width), [0] * self.width)
        return self.builder.icmp_signed("<", own, self.builder.shuffle_vector(first, empty, zeros))

    def load(self, pointer, mask):
        kind = ir.FunctionType(self.vector, [self.vector.as_pointer(), INT32, self.mask, self.vector])
        name = f"llvm.masked.load.{self.suffix}.p0{self.suffix}"
        zero = ir.Constant(self.vector, [0.0] * self.width)
        align = ir.Constant(INT32, 4)
        return self.builder.call(_function(self.builder.module, name, kind), [pointer, align, mask, zero])

    def store(self, value, pointer, mask):
        kind = ir.FunctionType(ir.VoidType(), [self.vector, self.vector.as_pointer(), INT32, self.mask])
        name = f"llvm.masked.store.{self.suffix}.p0{self.suffix}"
        self.builder.call(_function(self.builder.module, name, kind), [value, pointer, ir.Constant(INT32, 4), mask])


def tile(rows: int, real: str):
    """An intrinsic that updates up to `rows` rows of one panel's columns of the result.

    ``(k, a, a_row, a_step, panel, out, out_row, count, columns, alpha, bias, adds)``: addresses are int64, strides
    count elements; ``out = alpha a panel (+ bias) (+ out where adds)``. Rows past `count` are computed on the last one
    and not stored.
    """
    width = lanes(real)

    @intrinsic
    def compute(typing, k, a, a_row, a_step, panel, out, out_row, count, columns, alpha, bias, adds):
        signature = nt.void(k, a, a_row, a_step, panel, out, out_row, count, columns, alpha, bias, adds)

        def build(context, builder, signature, arguments):
            emit = _Emit(builder, context.get_value_type(alpha), width)
            _emit_tile(emit, rows, arguments)
            return context.get_dummy_value()

        return signature, build

    return compute


def _emit_tile(emit: _Emit, rows: int, arguments) -> None:
    k, a, a_row, a_step, panel, out, out_row, count, columns, alpha, bias, adds = arguments
    builder = emit.builder
    last = builder.sub(count, ir.Constant(INT64, 1))
    starts = []
    for row in range(rows):
        number = ir.Constant(INT64, row)
        inside = builder.select(builder.icmp_signed("<", number, count), number, last)
        starts.append(builder.mul(inside, a_row))
    sums = _emit_loop(emit, rows, k, a, a_step, panel, starts)
    _emit_store(emit, sums, out, out_row, count, columns, alpha, bias, adds)


def _emit_loop(emit: _Emit, rows: int, k, a, a_step, panel, starts) -> list:
    """The sums over k, as ``rows * VECTORS`` vectors."""
    builder = emit.builder
    before = builder.block
    loop, done = builder.append_basic_block("tile.loop"), builder.append_basic_block("tile.done")
    builder.cbranch(builder.icmp_signed(">", k, ir.Constant(INT64, 0)), loop, done)
    builder.position_at_end(loop)
    step = builder.phi(INT64)
    sums = [builder.phi(emit.vector) for _ in range(rows * VECTORS)]
    zero = ir.Constant(emit.vector, [0.0] * emit.width)
    step.add_incoming(ir.Constant(INT64, 0), before)
    base = builder.mul(step, ir.Constant(INT64, VECTORS * emit.width))
    right = []
    for v in range(VECTORS):
        offset = builder.add(base, ir.Constant(INT64, v * emit.width))
        right.append(builder.load(emit.address(panel, offset, emit.vector), align=16))
    across = builder.mul(step, a_step)
    found = []
    for row in range(rows):
        place = emit.address(a, builder.add(starts[row], across), emit.number)
        left = emit.spread(builder.load(place))
        found += [emit.fma(left, right[v], sums[row * VECTORS + v]) for v in range(VECTORS)]
    following = builder.add(step, ir.Constant(INT64, 1))
    step.add_incoming(following, loop)
    for phi, value in zip(sums, found, strict=True):
        phi.add_incoming(zero, before)
        phi.add_incoming(value, loop)
    builder.cbranch(builder.icmp_signed("<", following, k), loop, done)
    builder.position_at_end(done)
    results = []
    for value in found:
        phi = builder.phi(emit.vector)
        phi.add_incoming(zero, before)
        phi.add_incoming(value, loop)
        results.append(phi)
    return results


def _emit_store(emit: _Emit, sums, out, out_row, count, columns, alpha, bias, adds) -> None:
    """``out = alpha sums + bias`` or ``+ out``: a mask says which lanes are read and written, so nothing branches."""
    builder = emit.builder
    nothing = ir.Constant(emit.mask, [0] * emit.width)
    scale, zero = emit.spread(alpha), ir.Constant(INT64, 0)
    given, more = builder.icmp_signed("!=", bias, zero), builder.icmp_signed("!=", adds, zero)
    given = builder.and_(given, builder.not_(more))
    # A masked load whose lanes are all off still takes the processor's slow path where its address is not mapped.
    bias = builder.select(given, bias, out)
    masks = [emit.columns(columns, v) for v in range(VECTORS)]
    offsets = [ir.Constant(INT64, v * emit.width) for v in range(VECTORS)]
    shift = [
        emit.load(emit.address(bias, offset, emit.vector), builder.select(given, mask, nothing))
        for mask, offset in zip(masks, offsets, strict=True)
    ]
    with builder.if_else(more) as (adding, fresh):
        with adding:
            _emit_rows(emit, sums, out, out_row, count, masks, scale, None)
        with fresh:
            _emit_rows(emit, sums, out, out_row, count, masks, scale, shift)


def _emit_rows(emit: _Emit, sums, out, out_row, count, masks, scale, shift: list | None) -> None:
    """Store every row: on top of `shift`, or, without one, of what is there."""
    builder = emit.builder
    nothing = ir.Constant(emit.mask, [0] * emit.width)
    for row in range(len(sums) // VECTORS):
        number = ir.Constant(INT64, row)
        inside = builder.icmp_signed("<", number, count)
        start = builder.mul(number, out_row)
        for v in range(VECTORS):
            offset = builder.add(start, ir.Constant(INT64, v * emit.width))
            place = emit.address(out, offset, emit.vector)
            writes = builder.select(inside, masks[v], nothing)
            base = emit.load(place, writes) if shift is None else shift[v]
            emit.store(emit.fma(sums[row * VECTORS + v], scale, base), place, writes)
