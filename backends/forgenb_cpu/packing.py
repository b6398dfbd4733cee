"""Packing for products: copies of rows and of transposed blocks into a room where they lie without gaps.

Imports `vectors`. Where a room is and what goes into it is decided in `tiled`.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types as nt
from numba.extending import intrinsic

from .vectors import INT64, at, first_lanes, lanes, load, number, prefetch, spread, store, transposed


def copier(vectors: int, real: str):
    """An intrinsic ``(source, target, count, ahead)``: copy `count` numbers, and zeros up to whole vectors.

    The place `ahead` numbers further is asked for: a row that is copied soon.
    """
    kind = ir.VectorType(number(real), lanes(real))

    @intrinsic
    def copy(typing, source, target, count, ahead):
        def build(context, builder, signature, arguments):
            source, target = (builder.inttoptr(p, kind.element.as_pointer()) for p in arguments[:2])
            for v in range(vectors):
                offset = INT64(v * kind.count)
                mask = first_lanes(builder, builder.sub(arguments[2], offset), kind.count)
                value = load(builder, at(builder, source, offset, kind), mask)
                prefetch(builder, builder.gep(source, [builder.add(arguments[3], offset)]))
                store(builder, value, at(builder, target, offset, kind))
            return context.get_dummy_value()

        return nt.void(source, target, count, ahead), build

    return copy


def filler(vectors: int, real: str):
    """An intrinsic ``(value, target)``: one number, all over some vectors."""
    kind = ir.VectorType(number(real), lanes(real))

    @intrinsic
    def fill(typing, value, target):
        def build(context, builder, signature, arguments):
            target = builder.inttoptr(arguments[1], kind.element.as_pointer())
            line = spread(builder, arguments[0], kind.count)
            for v in range(vectors):
                store(builder, line, at(builder, target, INT64(v * kind.count), kind))
            return context.get_dummy_value()

        return nt.void(value, target), build

    return fill


def transposer(real: str):
    """An intrinsic ``(source, step, rows, count, target, target_step)`` that transposes one square block.

    Lane j of the target's row i is number i of the source's row j. Of the source, `rows` rows with `count` numbers are
    there; the last row stands in for those that are not, and the target gets zeros past `count`.
    """
    kind = ir.VectorType(number(real), lanes(real))

    @intrinsic
    def transpose(typing, source, step, rows, count, target, target_step):
        def build(context, builder, signature, arguments):
            source, step, rows, count, target, target_step = arguments
            source, target = (builder.inttoptr(p, kind.element.as_pointer()) for p in (source, target))
            mask = first_lanes(builder, count, kind.count)
            last = builder.sub(rows, INT64(1))
            found = []
            for row in range(kind.count):
                inside = builder.select(builder.icmp_signed("<", INT64(row), last), INT64(row), last)
                found.append(load(builder, at(builder, source, builder.mul(inside, step), kind), mask))
            for row, value in enumerate(transposed(builder, found)):
                store(builder, value, at(builder, target, builder.mul(target_step, INT64(row)), kind))
            return context.get_dummy_value()

        return nt.void(source, step, rows, count, target, target_step), build

    return transpose
