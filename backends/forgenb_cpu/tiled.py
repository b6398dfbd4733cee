"""Products by the register tile: blocks of the result, each computed panel by panel of b, at most `DEPTH` of k at once.

A panel of b is packed where many rows use it or where it lies across; a block of a that lies across is packed for
several panels. Every element is summed in one order whatever is packed, so bits depend neither on blocks nor threads.

Imports the tile, packing, and the layout of `products`.
"""

from __future__ import annotations

import functools
import types

from .blocks import INTRINSICS, room_of
from .compile import TYPES, Compiled, build
from .packing import copier, filler, transposer
from .products import Costs, blocks, launch_text
from .tile import VECTORS, panel_width, row_counts, tile
from .vectors import bytes_of, lanes

DEPTH = 256
"""Most steps of k at once: a panel of 32 KB, which the first cache holds."""
ROWS, ROWS_ACROSS = 384, 192
"""Most rows of a block, and where a lies across; their part of a stays in the second cache."""
IN_PLACE = 100
"""Most rows for which a panel of b is read where it lies."""
NEAR = 256
"""Largest step between the columns of an a that lies across and is read where it lies."""
AHEAD = 8
"""Rows between the one that is packed and the one that is asked for."""
LINE = 4
"""Vectors of columns for a row at a time where rows are few and wait for memory: enough of it for one that is asked
for to come while others are used, and blocks for many threads."""
UNIT_FLOP = 1_000_000
"""Least work of a block: a few microseconds."""
FEW = 12
"""Rows below which a block takes as long as it takes to read its part of b, whatever its work."""
CACHE = 1 << 20
"""Bytes of an operand that the second cache holds beside the others."""
GAP = 16
"""Numbers between packed rows of a, so that rows do not compete for the same lines of the cache."""

BEFORE = """\
    left_room, right_room, start = room_left(), room_right(), room_start()
    fill({real}(0), start)
"""

PARTS = """\
        parts = max((k + {depth} - 1) // {depth}, 1)
        part = max((k + parts - 1) // parts, 1)
        for first_k in range(0, max(k, 1), part):
            depth = min(k - first_k, part)
            base, base_row, base_step, factor = start, int64(0), int64(0), {real}(1)
            if first_k > 0:
                base, base_row, base_step = out_at, ldo, int64(1)
            elif bias and turned:
                fill(load(bias_at, 0, {real}), start)
            elif bias:
                base, base_step = bias_at, int64(1)
            elif beta != 0:
                base, base_row, base_step, factor = out_at, ldo, int64(1), beta
            left, left_step = a_at + {size} * first_k * a_step, a_step
"""
"""Text that goes through k part by part: what a part starts from, and where a begins in it."""

BLOCK = (
    """\
        packs = trans_a and lda > {near} and rows >= {large} and columns > {width}
"""
    + PARTS
    + """\
            if packs:
                pack_left(left, lda, left_room, depth, rows)
                left, left_step = left_room, int64({room_step})
            column = int64(0)
            while rows <= {small} and not trans_b and columns - column >= {line}:
                for row in range(rows):
                    out_tile = out_at + {size} * (row * ldo + column)
                    base_tile = base + {size} * (row * base_row + column * base_step)
                    tile_line(
                        depth, left + {size} * row * a_row, a_row, left_step,
                        b_at + {size} * (first_k * ldb + column), ldb, out_tile, ldo, 0, {line}, alpha, base_tile,
                        base_row, factor
                    )
                column += {line}
            for column in range(column, columns, {width}):
                wide = min(columns - column, {width})
                right, right_step = b_at + {size} * (first_k * b_row + column * b_step), ldb
                if trans_b:
                    pack_across(right, ldb, right_room, depth, wide)
                    right, right_step = right_room, int64({width})
                elif rows > {in_place} or wide % {lanes}:
                    pack_along(right, ldb, right_room, depth, wide)
                    right, right_step = right_room, int64({width})
                row = int64(0)
                while row < rows:
                    count = tile_rows(rows, row)
                    done = min(rows - row, count)
                    skip = count - done
                    first = row - skip
                    a_tile = left + {size} * first * a_row
                    out_tile = out_at + {size} * (first * ldo + column)
                    base_tile = base + {size} * (first * base_row + column * base_step)
{calls}                    row += done
"""
)

CALL = """\
                    {word} count == {count}:
                        if wide > {lanes}:
                            tile_{count}_2({arguments})
                        else:
                            tile_{count}_1({arguments})
"""
ARGUMENTS = (
    "depth, a_tile, a_row, left_step, right, right_step, out_tile, ldo, skip, wide, alpha, base_tile, base_row, factor"
)

HELPERS = """\
def pack_left(a, lda, room, depth, rows):
    for i in range(depth):
        for row in range(0, rows, {lanes}):
            source, target = a + {size} * (i * lda + row), room + {size} * (i * {room_step} + row)
            copy_narrow(source, target, rows - row, {ahead} * lda)


def pack_along(b, ldb, room, depth, columns):
    if columns > {lanes}:
        for i in range(depth):
            copy_wide(b + {size} * i * ldb, room + {size} * i * {width}, columns, {ahead} * ldb)
    else:
        for i in range(depth):
            copy_narrow(b + {size} * i * ldb, room + {size} * i * {width}, columns, {ahead} * ldb)


def pack_across(b, ldb, room, depth, columns):
    for j in range(0, columns, {lanes}):
        for i in range(0, depth, {lanes}):
            target = room + {size} * (i * {width} + j)
            turned_over(b + {size} * (j * ldb + i), ldb, columns - j, depth - i, target, {width})


def tile_rows(rows, row):
    left = rows - row
    if left > {middle} and rows >= {large}:
        return {large}
    if left > {small} and rows >= {middle}:
        return {middle}
    if left > 1 and rows >= {small}:
        return {small}
    return 1
"""


@functools.lru_cache(maxsize=4096)
def tile_blocks(batch: int, m: int, n: int, k: int, flags: tuple, real: str) -> tuple[int, int, int, int]:
    """Bands, their height, strips and their width, by what packing and reading a and b again costs."""
    across_a = flags[0]
    size, width = bytes_of(real), panel_width(real)
    rows, far_a = _row_cost(n, k, flags, real), size * k * m > CACHE
    columns = (24.0 if far_a else 8.0) if across_a else (10.0 if far_a else 2.0)
    least = UNIT_FLOP * min(m, FEW) // FEW
    step = LINE * lanes(real) if m <= row_counts()[2] and not flags[1] else width
    costs = Costs(rows, columns, least, row_counts()[2], step, ROWS_ACROSS if across_a else ROWS)
    return blocks(batch, m, n, k, costs)


def _row_cost(n: int, k: int, flags: tuple, real: str) -> float:
    """What a band costs besides its products, in rows: b is packed and read once more."""
    return 25.0 if bytes_of(real) * k * n > CACHE else 10.0 if flags[1] else 4.0


def lowest_band(n: int, k: int, flags: tuple, real: str) -> int:
    """Rows from which a band costs at most a sixth more than its part of one high band."""
    return int(6 * _row_cost(n, k, flags, real))


def share_height(rows: int, flags: tuple) -> int:
    """Rows of a block, at most as many as there is room for, of which a whole number makes `rows`."""
    most = ROWS_ACROSS if flags[0] else ROWS
    return next(height for height in range(min(rows, most), 0, -1) if rows % height == 0)


@functools.cache
def tiled_launcher(real: str) -> Compiled:
    """The launcher of tiled products for float32 or float64; it reads the argument block of `products`."""
    size, width, own = bytes_of(real), panel_width(real), lanes(real)
    large, middle, small, _ = row_counts()
    numbers = {"large": large, "middle": middle, "small": small, "lanes": own, "width": width, "size": size}
    numbers |= {"depth": DEPTH, "in_place": IN_PLACE, "near": NEAR, "ahead": AHEAD}
    numbers |= {"room_step": ROWS_ACROSS + GAP, "line": LINE * own}
    calls = "".join(
        CALL.format(word="elif" if place else "if", count=count, lanes=own, arguments=ARGUMENTS)
        for place, count in enumerate(row_counts())
    )
    text = launch_text(real, BEFORE.format(real=real), BLOCK.format(real=real, calls=calls, **numbers))
    words = {"turned_over": transposer(real), "copy_wide": copier(VECTORS, real), "copy_narrow": copier(1, real)}
    words |= {"fill": filler(LINE, real), "tile_line": tile(1, LINE, real)}
    words |= {f"tile_{count}_{vectors}": tile(count, vectors, real) for count in row_counts() for vectors in (1, 2)}
    rooms = {"left": (ROWS_ACROSS + GAP) * DEPTH, "right": width * (DEPTH + own), "start": LINE * own}
    words |= {f"room_{name}": room_of(size * length) for name, length in rooms.items()} | INTRINSICS
    bodies = helpers(HELPERS.format(real=real, **numbers), words | TYPES)
    return build(f"tiled-{real}", text, bodies, words)


def helpers(text: str, words: dict) -> dict:
    """The functions of `text` by name, each with globals of its own."""
    found = {}
    for part in text.split("\n\n\n"):
        namespace = dict(words)
        exec(part, namespace)
        name = part.removeprefix("def ").partition("(")[0]
        found[name] = types.FunctionType(namespace[name].__code__, dict(words), name)
    return found
