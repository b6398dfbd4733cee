"""Products of one row with a transposed matrix: each column of the result is the row times one row of the matrix.

A square of the matrix is read, transposed in registers, and added column by column to as many sums as a vector has
lanes, so nothing is packed. The same square of the rows that come next is asked for into the second cache, as in
`stream`. Terms are added in the order of k, as in `tile`.

Imports vectors, the parts of k of `tiled`, packing, and the layout of `products`.
"""

from __future__ import annotations

import functools
import textwrap

from llvmlite import ir
from numba import types as nt
from numba.core import cgutils
from numba.extending import intrinsic

from .blocks import INTRINSICS, room_of
from .compile import TYPES, Compiled, build
from .packing import filler
from .products import launch_text
from .tiled import DEPTH, PARTS
from .vectors import (
    INT64,
    at,
    bytes_of,
    combined,
    first_lanes,
    fused,
    lanes,
    load,
    number,
    prefetch,
    spread,
    store,
    transposed,
    zeros,
)

BEFORE = """\
    start = room_start()
    fill({real}(0), start)
"""

GROUPS = """\
        for column in range(0, columns, {lanes}):
            out_line = out_at + {size} * column
            across = b_at + {size} * column * ldb
"""

PART = """\
                right, base_line = across + {size} * first_k, base + {size} * column * base_step
                dot_rows(
                    depth, columns - column, left, left_step, right, ldb, out_line, alpha, base_line, factor
                )
"""


@functools.cache
def dots_launcher(real: str) -> Compiled:
    """The launcher of one row times a transposed matrix in float32 or float64; it reads the block of `products`."""
    own, size = lanes(real), bytes_of(real)
    numbers = {"real": real, "size": size, "lanes": own, "depth": DEPTH}
    words = {"fill": filler(1, real), "dot_rows": dotter(real), "room_start": room_of(size * own)} | INTRINSICS
    block = GROUPS + textwrap.indent(PARTS, "    ") + PART
    text = launch_text(real, BEFORE.format(**numbers), block.format(**numbers))
    return build(f"dots-{real}", text, {}, words | TYPES)


def dotter(real: str):
    """An intrinsic ``(depth, count, a, a_step, b, b_row, out, alpha, base, scale)`` for at most a vector of rows of b.

    ``out[j] = alpha sum_i a[i] b[j, i] + scale base[j]`` for ``j < count``; the last row stands in for those past it.
    """
    kind = ir.VectorType(number(real), lanes(real))

    @intrinsic
    def dot(typing, depth, count, a, a_step, b, b_row, out, alpha, base, scale):
        given = (depth, count, a, a_step, b, b_row, out, alpha, base, scale)

        def build(context, builder, signature, arguments):
            depth, count, a, a_step, b, b_row, out, alpha, base, scale = arguments
            a, b, out, base = (builder.inttoptr(p, kind.element.as_pointer()) for p in (a, b, out, base))
            total = emit_sums(builder, kind, depth, count, a, a_step, b, b_row)
            mask = first_lanes(builder, count, kind.count)
            alpha, scale = spread(builder, alpha, kind.count), spread(builder, scale, kind.count)
            below = load(builder, at(builder, base, INT64(0), kind), mask)
            result = combined(builder, total, alpha, below, scale)
            store(builder, result, at(builder, out, INT64(0), kind), mask)
            return context.get_dummy_value()

        return nt.void(*given), build

    return dot


def emit_sums(builder, kind, depth, count, a, a_step, b, b_row):
    """The sums over k of one vector of rows of b, as a vector."""
    width, last = INT64(kind.count), builder.sub(count, INT64(1))
    lines = []
    for row in range(kind.count):
        inside = builder.select(builder.icmp_signed("<", INT64(row), last), INT64(row), last)
        lines.append(builder.gep(b, [builder.mul(inside, b_row)]))
    left = builder.and_(depth, INT64(kind.count - 1))
    whole, ahead = builder.sub(depth, left), builder.mul(b_row, width)
    place = cgutils.alloca_once_value(builder, zeros(kind))
    with cgutils.for_range_slice(builder, INT64(0), whole, width) as (column, _):
        for line in lines:
            prefetch(builder, builder.gep(line, [builder.add(column, ahead)]), level=2)
        terms = transposed(builder, [load(builder, at(builder, line, column, kind)) for line in lines])
        start = builder.gep(a, [builder.mul(column, a_step)])
        builder.store(add_whole(builder, terms, start, a_step, builder.load(place)), place)
    with cgutils.if_likely(builder, builder.icmp_signed(">", left, INT64(0))):
        mask = first_lanes(builder, left, kind.count)
        terms = transposed(builder, [load(builder, at(builder, line, whole, kind), mask) for line in lines])
        start = builder.gep(a, [builder.mul(whole, a_step)])
        builder.store(add_some(builder, left, terms, start, a_step, builder.load(place)), place)
    return builder.load(place)


def add_whole(builder, terms, a, a_step, total):
    """``total + sum_i a[i] terms[i]``, in this order."""
    for term in terms:
        total = fused(builder, spread(builder, builder.load(a), len(terms)), term, total)
        a = builder.gep(a, [a_step])
    return total


def add_some(builder, count, terms, a, a_step, total):
    """The same for the first `count` terms; adding zeros for the others would change the sign of a zero."""
    for step, term in enumerate(terms):
        there = builder.icmp_signed("<", INT64(step), count)
        value = builder.load(builder.gep(a, [builder.select(there, builder.mul(a_step, INT64(step)), INT64(0))]))
        added = fused(builder, spread(builder, value, len(terms)), term, total)
        total = builder.select(there, added, total)
    return total
