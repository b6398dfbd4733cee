"""Products by the register tile: the work of a launch is cut into panels of columns and blocks of rows.

A unit packs its panel of b, at most `DEPTH` rows at a time, into room on the stack and runs down its rows of a, which
are read in place. Units depend on the shape alone, and every element is summed in one order, so bits never depend on
threads.
"""

from __future__ import annotations

import functools
import types

from .blas import FIELDS
from .blocks import INTRINSICS, room_of
from .compile import TYPES, Compiled, build
from .tile import panel_width, row_counts, tile

DEPTH = 256
FEWEST, MOST = 32, 192
"""Rows of a band."""
BANDS = 8
"""As many bands there are, where they can be equal and are not too low: each is a share of a batch."""

TEXT = """\
def launch(begin, end, args):
{loads}
    panels = (n + {width} - 1) // {width}
    bands, rows = blocks, width
    a_row, a_step = (int64(1), lda) if trans_a else (lda, int64(1))
    room = panel_room()
    for unit in range(begin, end):
        matrix = unit // (panels * bands)
        rest = unit - matrix * (panels * bands)
        band = rest // panels
        column = (rest - band * panels) * {width}
        columns = min(n - column, {width})
        first = band * rows
        stop = min(first + rows, m)
        outer = matrix // inner
        within = matrix - outer * inner
        a_at = a + {size} * (outer * a_outer + within * a_inner + first * a_row)
        b_at = b + {size} * (outer * b_outer + within * b_inner + (column * ldb if trans_b else column))
        out_at = out + {size} * (outer * out_outer + within * out_inner + first * ldo + column)
        bias_at = bias + {size} * column if bias else int64(0)
        for start in range(0, max(k, 1), {depth}):
            depth = min(k - start, {depth})
            if trans_b:
                pack_transposed(b_at + {size} * start, ldb, room, depth, columns)
            else:
                pack(b_at + {size} * start * ldb, ldb, room, depth, columns)
            adds = int64(1) if start > 0 or (beta != 0 and not bias) else int64(0)
            row = first
            while row < stop:
                left = stop - row
                a_here = a_at + {size} * ((row - first) * a_row + start * a_step)
                out_here = out_at + {size} * (row - first) * ldo
                row += run_tile(depth, a_here, a_row, a_step, room, out_here, ldo, left, columns, alpha, bias_at, adds)
"""

HELPERS = """\
def pack(b, ldb, room, depth, columns):
    for i in range(depth):
        source = pointer(b + {size} * i * ldb, {real})
        target = pointer(room + {size} * i * {width}, {real})
        for j in range(columns):
            target[j] = source[j]
        for j in range(columns, {width}):
            target[j] = 0


def pack_transposed(b, ldb, room, depth, columns):
    target = pointer(room, {real})
    for j in range(columns, {width}):
        for i in range(depth):
            target[i * {width} + j] = 0
    for j in range(columns):
        source = pointer(b + {size} * j * ldb, {real})
        for i in range(depth):
            target[i * {width} + j] = source[i]


def run_tile(depth, a, a_row, a_step, room, out, ldo, left, columns, alpha, bias, adds):
    if left > {middle}:
        tile_large(depth, a, a_row, a_step, room, out, ldo, min(left, {large}), columns, alpha, bias, adds)
        return min(left, {large})
    if left > {small}:
        tile_middle(depth, a, a_row, a_step, room, out, ldo, left, columns, alpha, bias, adds)
        return left
    tile_small(depth, a, a_row, a_step, room, out, ldo, left, columns, alpha, bias, adds)
    return left
"""


@functools.cache
def bands_for(m: int) -> tuple[int, int]:
    """Bands of rows, and how high each is; the last may be lower."""
    fewest = -(-m // MOST)
    for bands in range(max(2 * fewest, min(BANDS, m // FEWEST)), fewest - 1, -1):
        if m % bands == 0:
            return bands, m // bands
    return fewest, MOST


def units(batch: int, m: int, n: int, real: str) -> int:
    """How many pieces of work a product has."""
    return batch * -(-n // panel_width(real)) * bands_for(m)[0]


@functools.cache
def tiled_launcher(real: str) -> Compiled:
    """The launcher of tiled products for float32 or float64; it reads the argument block of `blas`."""
    size, width = 8 if real == "float64" else 4, panel_width(real)
    loads = []
    for slot, name in enumerate(FIELDS):
        kind = "float64" if name in ("alpha", "beta") else "int64"
        value = f"load(args, {slot}, {kind})"
        loads.append(f"    {name} = {real}({value})" if kind == "float64" else f"    {name} = {value}")
    large, middle, small = row_counts()
    text = TEXT.format(loads="\n".join(loads), size=size, width=width, depth=DEPTH)
    helpers = HELPERS.format(size=size, real=real, width=width, large=large, middle=middle, small=small)
    tiles = {"tile_large": tile(large, real), "tile_middle": tile(middle, real), "tile_small": tile(small, real)}
    shared = {**INTRINSICS, **TYPES, **tiles}
    bodies = {}
    for helper in helpers.split("\n\n\n"):
        namespace = dict(shared)
        exec(helper, namespace)
        name = helper.strip().removeprefix("def ").partition("(")[0]
        bodies[name] = types.FunctionType(namespace[name].__code__, dict(shared), name)
    extras = {**INTRINSICS, "panel_room": room_of(size * width * DEPTH)}
    return build(f"tiled-{real}", text, bodies, extras)
