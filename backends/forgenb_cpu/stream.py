"""One row times a matrix that is read as it lies: sums of some columns, to which a few rows of the matrix are added.

Such a product waits for memory. Each of the rows is read from left to right by an instruction of its own, which is the
pattern that a CPU foresees; the rows that come next are asked for, but into the second cache, since the first one has
too few places for lines on their way. The sums stay in the first cache. Terms are added in the order of the rows, as in
`tile`.

Imports `vectors`. How many columns there are, and which thread has them, is decided in `tiled`.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types as nt
from numba.core import cgutils
from numba.extending import intrinsic

from .vectors import INT64, at, combined, fused, lanes, load, number, prefetch, spread, store, zeros

ROWS = 16
"""Rows of the matrix that are read side by side."""


def adder(rows: int, real: str):
    """An intrinsic ``(columns, a, a_step, b, b_row, sums)``: ``sums += a b`` for `rows` numbers of a and rows of b.

    `columns` is a whole number of vectors.
    """
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
            with cgutils.for_range_slice(builder, INT64(0), columns, INT64(kind.count)) as (column, _):
                place = at(builder, sums, column, kind)
                total = load(builder, place)
                for value, line, next_line in zip(across, lines, coming, strict=True):
                    prefetch(builder, builder.gep(next_line, [column]), level=2)
                    total = fused(builder, value, load(builder, at(builder, line, column, kind)), total)
                store(builder, total, place)
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
            with cgutils.for_range_slice(builder, INT64(0), columns, INT64(kind.count)) as (column, _):
                place = at(builder, sums, column, kind)
                below = load(builder, at(builder, base, builder.mul(column, base_step), kind))
                result = combined(builder, load(builder, place), alpha, below, scale)
                store(builder, result, at(builder, out, column, kind))
                store(builder, zeros(kind), place)
            return context.get_dummy_value()

        return nt.void(*given), build

    return end
