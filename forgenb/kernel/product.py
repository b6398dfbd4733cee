"""The matrix product as a kernel: what a backend's `gemm` computes, in the language of all other bodies.

A target with a library for products uses that; one without launches this kernel with the block that
`product_block` packs. It is the reference that faster products are compared with.

Imports the declarations, blocks and primitives beside it.
"""

from __future__ import annotations

from .arguments import row_block
from .declare import row_kernel
from .primitives import accumulate, lanes, put, real


def dot(a, a_at, a_step, b, b_at, b_step, k):
    """The sum of k products, in blocks of at most 1024 whose sums are added in order."""
    total = real(0)
    for start in range(0, k, 1024):
        part = real(0)
        for p in range(start, min(start + 1024, k)):
            part = accumulate(part, a[a_at + p * a_step] * b[b_at + p * b_step])
        total = total + part
    return total


@row_kernel(
    "rows | a[a_size] b[b_size] bias[bias_size] out[out_size] -> out[out_size];"
    " alpha beta m:int n:int k:int inner:int"
    " a_first:int a_outer:int a_inner:int a_row:int a_column:int"
    " b_first:int b_outer:int b_inner:int b_row:int b_column:int"
    " out_first:int out_outer:int out_inner:int out_row:int"
)
def product_kernel(
    row, a, b, bias, out, alpha, beta, m, n, k, inner,
    a_first, a_outer, a_inner, a_row, a_column,
    b_first, b_outer, b_inner, b_row, b_column,
    out_first, out_outer, out_inner, out_row,
):  # fmt: skip
    """Row i of one matrix of the batch: ``out[i, j] = alpha sum_p a[i, p] b[p, j] + bias[j]``, or ``+ beta out[i, j]``.

    The operands are flat; the last lines of scalars say where each starts and how far its next matrix, row and
    column are. Lanes share the columns of the row.
    """
    matrix = row // m
    i = row - matrix * m
    outer = matrix // inner
    place = matrix - outer * inner
    a_at = a_first + outer * a_outer + place * a_inner + i * a_row
    b_at = b_first + outer * b_outer + place * b_inner
    out_at = out_first + outer * out_outer + place * out_inner + i * out_row
    for j in lanes(n):
        value = alpha * dot(a, a_at, a_column, b, b_at + j * b_column, b_row, k)
        if bias.shape[0] > 0:
            value = value + bias[j]
        elif beta != 0.0:
            value = value + beta * out[out_at + j]
        put(out, out_at + j, value)


def product_block(
    real: str, shape: tuple, flags: tuple, scales: tuple, places: tuple, steps: tuple, batch: tuple
) -> tuple[int, bytes]:
    """Rows to launch and the argument block of `product_kernel` for the arguments of `Backend.gemm`."""
    m, n, k = shape
    (lda, ldb, ldo), strides = steps
    a, b, out, bias = places
    a_steps = (*strides[0:2], *((1, lda) if flags[0] else (lda, 1)))
    b_steps = (*strides[2:4], *((1, ldb) if flags[1] else (ldb, 1)))
    out_steps = (*strides[4:6], ldo, 1)
    spans = [
        _span((*batch, *extents), along)
        for extents, along in (((m, k), a_steps), ((k, n), b_steps), ((m, n), out_steps))
    ]
    itemsize = {"float32": 4, "float64": 8}[real]
    (a_first, a_size), (b_first, b_size), (out_first, out_size) = spans
    rows = m * batch[0] * batch[1]
    block = row_block(product_kernel).pack(
        rows, a_size, b_size, n if bias else 0, out_size, *scales, m, n, k, batch[1],
        a_first, *a_steps, b_first, *b_steps, out_first, *out_steps[:3],
        a - a_first * itemsize, b - b_first * itemsize, bias, out - out_first * itemsize,
    )  # fmt: skip
    return rows, block


def _span(extents: tuple, steps: tuple) -> tuple[int, int]:
    """How far before its first element an operand reaches, and how many elements lie between its ends."""
    if 0 in extents:
        return 0, 0
    reach = [(extent - 1) * step for extent, step in zip(extents, steps, strict=True)]
    before = -sum(r for r in reach if r < 0)
    return before, before + sum(r for r in reach if r > 0) + 1
