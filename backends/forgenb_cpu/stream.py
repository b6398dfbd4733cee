"""Products of one row with a matrix that is read as it lies: a few of its rows are added to sums of many columns.

Such a product waits for memory. Each of the rows is read from left to right by an instruction of its own, which is the
pattern that a CPU foresees; the rows that come next are asked for, but into the second cache, since the first one has
too few places for lines on their way. The sums stay in the first cache. Terms are added in the order of the rows, as in
`tile`.

Imports vectors, packing, the parts of k of `tiled`, and the layout of `products`.
"""

from __future__ import annotations

import functools

from llvmlite import ir
from numba import types as nt
from numba.core import cgutils
from numba.extending import intrinsic

from .blocks import INTRINSICS, room_of
from .compile import TYPES, Compiled, build
from .packing import filler
from .products import launch_text
from .tiled import DEPTH, FEW, PARTS, UNIT_FLOP
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
    zeros,
)

ROWS = 16
"""Rows of the matrix that are read side by side."""
LONG = 2048
"""Most columns whose sums are kept at a time: a quarter of the first cache."""
NARROW, WIDE = 12, 32
"""Fewest vectors of columns of a strip where there are two, and where there are more."""

BEFORE = """\
    sums, start = room_sums(), room_start()
    fill({real}(0), start)
    for column in range(0, min(width, {long}), {lanes}):
        fill({real}(0), sums + {size} * column)
"""

BLOCK = (
    PARTS
    + """\
            for column in range(0, columns, {long}):
                count = min(columns - column, {long})
                right = b_at + {size} * (first_k * ldb + column)
                for row in range(0, depth - {rows} + 1, {rows}):
                    add_rows(count, left + {size} * row * left_step, left_step, right + {size} * row * ldb, ldb, sums)
                for row in range(depth // {rows} * {rows}, depth):
                    add_row(count, left + {size} * row * left_step, left_step, right + {size} * row * ldb, ldb, sums)
                out_line, base_line = out_at + {size} * column, base + {size} * column * base_step
                end_row(count, sums, out_line, alpha, base_line, base_step, factor)
"""
)


@functools.cache
def stream_launcher(real: str) -> Compiled:
    """The launcher of products of one row for float32 or float64; it reads the argument block of `products`."""
    own, size = lanes(real), bytes_of(real)
    numbers = {"real": real, "size": size, "lanes": own, "long": LONG, "rows": ROWS, "depth": DEPTH}
    words = {"fill": filler(1, real), "add_rows": adder(ROWS, real), "add_row": adder(1, real), "end_row": ender(real)}
    words |= {"room_sums": room_of(size * LONG), "room_start": room_of(size * own)} | INTRINSICS
    text = launch_text(real, BEFORE.format(**numbers), BLOCK.format(**numbers))
    return build(f"stream-{real}", text, {}, words | TYPES)


@functools.lru_cache(maxsize=4096)
def strips(n: int, k: int, across: bool, real: str) -> tuple[int, int, int, int]:
    """One band, its height, strips and their width: few, since a long line is read faster than a short one.

    A matrix that lies `across` has its lines along k, and its strips may be narrow.
    """
    own, least = lanes(real), {16: WIDE, 8: WIDE, 4: WIDE, 2: NARROW}
    least = dict.fromkeys(least, 1) if across else least
    fits = (c for c, narrow in least.items() if n >= c * narrow * own and 2 * n * k >= c * UNIT_FLOP // FEW)
    count = next(fits, 1)
    width = -(-n // (count * own)) * own
    return 1, 1, -(-n // width), width


def each_vector(builder, columns, width: int, emit) -> None:
    """``emit(column, mask)`` for every whole vector of columns, and once more, with a mask, for those that are left."""
    left = builder.and_(columns, INT64(width - 1))
    whole = builder.sub(columns, left)
    with cgutils.for_range_slice(builder, INT64(0), whole, INT64(width)) as (column, _):
        emit(column, None)
    with cgutils.if_unlikely(builder, builder.icmp_signed(">", left, INT64(0))):
        emit(whole, first_lanes(builder, left, width))


def adder(rows: int, real: str):
    """An intrinsic ``(columns, a, a_step, b, b_row, sums)``: ``sums += a b`` for `rows` numbers of a and rows of b."""
    kind = ir.VectorType(number(real), lanes(real))

    @intrinsic
    def add(typing, columns, a, a_step, b, b_row, sums):
        def build(context, builder, signature, arguments):
            columns, a, a_step, b, b_row, sums = arguments
            a, b, sums = (builder.inttoptr(p, kind.element.as_pointer()) for p in (a, b, sums))
            steps = [INT64(row) for row in range(rows)]
            across = [builder.load(builder.gep(a, [builder.mul(a_step, step)])) for step in steps]
            across = [spread(builder, value, kind.count) for value in across]
            lines = [builder.gep(b, [builder.mul(b_row, step)]) for step in steps]
            coming = [builder.gep(line, [builder.mul(b_row, INT64(ROWS))]) for line in lines]

            def emit(column, mask):
                place = at(builder, sums, column, kind)
                total = load(builder, place)
                for value, line, next_line in zip(across, lines, coming, strict=True):
                    prefetch(builder, builder.gep(next_line, [column]), level=2)
                    total = fused(builder, value, load(builder, at(builder, line, column, kind), mask), total)
                store(builder, total, place)

            each_vector(builder, columns, kind.count, emit)
            return context.get_dummy_value()

        return nt.void(columns, a, a_step, b, b_row, sums), build

    return add


def ender(real: str):
    """An intrinsic ``(columns, sums, out, alpha, base, base_step, scale)``: ``out = alpha sums + scale base``.

    `base_step` is 0 where the same vector stands for all of `base`, and else 1; the sums are 0 afterwards.
    """
    kind = ir.VectorType(number(real), lanes(real))

    @intrinsic
    def end(typing, columns, sums, out, alpha, base, base_step, scale):
        given = (columns, sums, out, alpha, base, base_step, scale)

        def build(context, builder, signature, arguments):
            columns, sums, out, alpha, base, base_step, scale = arguments
            sums, out, base = (builder.inttoptr(p, kind.element.as_pointer()) for p in (sums, out, base))
            alpha, scale = spread(builder, alpha, kind.count), spread(builder, scale, kind.count)

            def emit(column, mask):
                place = at(builder, sums, column, kind)
                below = load(builder, at(builder, base, builder.mul(column, base_step), kind), mask)
                result = combined(builder, load(builder, place), alpha, below, scale)
                store(builder, result, at(builder, out, column, kind), mask)
                store(builder, zeros(kind), place)

            each_vector(builder, columns, kind.count, emit)
            return context.get_dummy_value()

        return nt.void(*given), build

    return end
