"""What every way to compute a product shares: the argument block, and blocks of the result as units of a launch.

A unit is one block of rows and columns of one matrix of the batch. Blocks depend on the shape alone, never on threads.
A product with one column is turned, that is, computed as the row that lies the same; its bias is one number.
"""

from __future__ import annotations

import itertools
import struct
from typing import NamedTuple

from .vectors import bytes_of

_NAMES = "m n k a b out bias alpha beta lda ldb ldo trans_a trans_b inner a_outer a_inner b_outer b_inner"
FIELDS = (_NAMES + " out_outer out_inner bands height strips width turned function").split()
PACK = struct.Struct("=" + "".join("d" if f in ("alpha", "beta") else "q" for f in FIELDS))

TEXT = """\
def launch(begin, end, args):
{loads}
    a_row, a_step = (int64(1), lda) if trans_a else (lda, int64(1))
    b_row, b_step = (int64(1), ldb) if trans_b else (ldb, int64(1))
{before}
    for unit in range(begin, end):
        matrix = unit // (bands * strips)
        block = unit - matrix * (bands * strips)
        band = block // strips
        top, side = band * height, (block - band * strips) * width
        rows, columns = min(height, m - top), min(width, n - side)
        outer = matrix // inner
        within = matrix - outer * inner
        a_at = a + {size} * (outer * a_outer + within * a_inner + top * a_row)
        b_at = b + {size} * (outer * b_outer + within * b_inner + side * b_step)
        out_at = out + {size} * (outer * out_outer + within * out_inner + top * ldo + side)
        bias_at = bias if turned else bias + {size} * side
"""


def launch_text(real: str, before: str, block: str) -> str:
    """The text of a launcher that runs `block` for each unit, after `before`."""
    loads = []
    for slot, name in enumerate(FIELDS):
        kind = "float64" if name in ("alpha", "beta") else "int64"
        value = f"load(args, {slot}, {kind})"
        loads.append(f"    {name} = {real}({value})" if kind == "float64" else f"    {name} = {value}")
    return TEXT.format(loads="\n".join(loads), size=bytes_of(real), before=before) + block


class Costs(NamedTuple):
    """What a block costs besides the multiplications.

    Each block costs as much as `rows` more rows would and as `columns` more columns would: it packs, and reads what the
    second cache does not hold. No block does less than `least` flop; its sides are multiples of `row_step` and
    `column_step`, and it has at most `most_rows`.
    """

    rows: float
    columns: float
    least: int
    row_step: int
    column_step: int
    most_rows: int


WAITING = 1.0
"""A thread that is done waits for others about this part of a block."""
MOST_CUTS = 16


def blocks(batch: int, m: int, n: int, k: int, costs: Costs) -> tuple[int, int, int, int]:
    """Bands, their height, strips and their width, such that blocks cost little and are enough for many threads."""
    lowest = -(-m // costs.most_rows)
    found = []
    doubled = 1 << (lowest - 1).bit_length()
    counts = [doubled << power for power in range(MOST_CUTS.bit_length())]
    for bands, strips in itertools.product(counts, range(1, MOST_CUTS + 1)):
        height = -(-m // (bands * costs.row_step)) * costs.row_step
        width = -(-n // (strips * costs.column_step)) * costs.column_step
        area = min(height, m) * min(width, n)
        if 2 * area * k >= costs.least or bands * strips == doubled:
            cut = -(-m // height), height, -(-n // width), width
            more = costs.rows * cut[0] / m + costs.columns * cut[2] / n
            found.append((more + WAITING * area / (batch * m * n), cut))
    return min(found)[1]
