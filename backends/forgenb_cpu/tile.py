"""A register tile for matrix products: some rows of a times one panel of b, accumulated in vector registers.

The inner loop of Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008, as LLVM vectors:
each step of k loads one row of the panel and multiplies it with one number of each row of a.

Imports `vectors`. What is packed, and which tile runs where, is decided in `tiled`.
"""

from __future__ import annotations

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types as nt
from numba.core import cgutils
from numba.extending import intrinsic

from .vectors import INT64, at, call, combined, first_lanes, fused, lanes, load, prefetch, spread, store, zeros

VECTORS = 2
"""Vectors in a row of a panel."""
GROUP = 3
"""Rows of a that one pointer reaches with a step and twice a step, which x86 adds while it loads."""


def panel_width(real: str) -> int:
    """Columns of a panel."""
    return VECTORS * lanes(real)


def row_counts() -> tuple[int, ...]:
    """Rows of the tiles, largest first: as many as the registers hold, and fewer for what is left."""
    return (12, 8, 4, 1) if llvm.get_host_cpu_features().get("avx512f") else (6, 4, 2, 1)


def tile(rows: int, vectors: int, real: str):
    """An intrinsic that computes `rows` rows of up to `vectors` vectors of columns of the result.

    ``(k, a, a_row, a_step, b, b_step, out, out_row, skip, columns, alpha, base, base_row, scale)``: addresses are
    int64, steps count elements; ``out = alpha a b + scale base``, from row `skip` on. All `rows` of a and all
    `vectors` of b are read, and of `base` and `out` only what is stored.
    """
    width = lanes(real)

    @intrinsic
    def compute(
        typing, k, a, a_row, a_step, b, b_step, out, out_row, skip, columns, alpha, base, base_row, scale
    ):  # fmt: skip
        given = (k, a, a_row, a_step, b, b_step, out, out_row, skip, columns, alpha, base, base_row, scale)

        def build(context, builder, signature, arguments):
            emit_tile(builder, rows, vectors, width, arguments)
            return context.get_dummy_value()

        return nt.void(*given), build

    return compute


def emit_tile(builder, rows: int, vectors: int, width: int, arguments) -> None:
    """The code of one tile."""
    k, a, a_row, a_step, b, b_step, out, out_row, skip, columns, alpha, base, base_row, scale = arguments
    number = alpha.type.as_pointer()
    a, b, out, base = (builder.inttoptr(address, number) for address in (a, b, out, base))
    for row in range(rows):
        for v in range(vectors):
            offset = builder.add(builder.mul(out_row, INT64(row)), INT64(v * width))
            prefetch(builder, builder.gep(out, [offset]), writes=True)
    sums = emit_sums(builder, rows, vectors, width, k, a, a_row, a_step, b, b_step)
    alpha, scale = spread(builder, alpha, width), spread(builder, scale, width)
    full = builder.icmp_signed(">=", columns, ir.Constant(INT64, vectors * width))
    with builder.if_else(full) as (whole, edge):
        for branch in (whole, edge):
            with branch:
                counts = [builder.sub(columns, ir.Constant(INT64, v * width)) for v in range(vectors)]
                masks = [None if branch is whole else first_lanes(builder, count, width) for count in counts]
                emit_store(builder, sums, masks, alpha, scale, (out, out_row), (base, base_row), skip)


def emit_sums(builder, rows: int, vectors: int, width: int, k, a, a_row, a_step, b, b_step) -> list:
    """The sums over k as ``rows * vectors`` vectors."""
    kind = ir.VectorType(a.type.pointee, width)
    before = builder.block
    starts = [unrelated(builder, builder.gep(a, [builder.mul(a_row, INT64(row))])) for row in range(0, rows, GROUP)]
    reach = [builder.mul(a_row, INT64(step)) for step in range(GROUP)]
    loop, done = builder.append_basic_block("tile.loop"), builder.append_basic_block("tile.done")
    builder.cbranch(builder.icmp_signed(">", k, INT64(0)), loop, done)
    builder.position_at_end(loop)
    left = builder.phi(INT64)
    left.add_incoming(k, before)
    pointers = [builder.phi(start.type) for start in (*starts, b)]
    for pointer, start in zip(pointers, (*starts, b), strict=True):
        pointer.add_incoming(start, before)
    sums = [builder.phi(kind) for _ in range(rows * vectors)]
    right = [load(builder, at(builder, pointers[-1], INT64(v * width), kind)) for v in range(vectors)]
    found = []
    for row in range(rows):
        place = builder.gep(pointers[row // GROUP], [reach[row % GROUP]])
        across = spread(builder, builder.load(place), width)
        found += [fused(builder, across, right[v], sums[row * vectors + v]) for v in range(vectors)]
    for pointer, step in zip(pointers, [*[a_step] * len(starts), b_step], strict=True):
        pointer.add_incoming(builder.gep(pointer, [step]), loop)
    following = builder.sub(left, INT64(1))
    left.add_incoming(following, loop)
    builder.cbranch(builder.icmp_signed(">", following, INT64(0)), loop, done)
    builder.position_at_end(done)
    results = [builder.phi(kind) for _ in found]
    for phi, result, value in zip(sums, results, found, strict=True):
        for merged in (phi, result):
            merged.add_incoming(zeros(kind), before)
        phi.add_incoming(value, loop)
        result.add_incoming(value, loop)
    return results


def unrelated(builder, pointer):
    """The same pointer, of which the compiler does not know that it belongs to another: it would chain additions."""
    kind = ir.IntType(8).as_pointer()
    hidden = call(builder, "llvm.launder.invariant.group.p0", kind, [builder.bitcast(pointer, kind)])
    return builder.bitcast(hidden, pointer.type)


def emit_store(builder, sums, masks, alpha, scale, out, base, skip) -> None:
    """``out = alpha sums + scale base`` for the rows from `skip` on."""
    vectors, width = len(masks), sums[0].type.count
    for row in range(len(sums) // vectors):
        with cgutils.if_likely(builder, builder.icmp_signed("<=", skip, INT64(row))):
            for v, mask in enumerate(masks):
                target, below = (
                    at(builder, p, builder.add(builder.mul(step, INT64(row)), INT64(v * width)), sums[0].type)
                    for p, step in (out, base)
                )
                total = sums[row * vectors + v]
                store(builder, combined(builder, total, alpha, load(builder, below, mask), scale), target, mask)
