"""Softmax over the last axis, with an optional causal mask, and its gradient.

Imports what every family of ops does (see `forgenb.ops`); masks other than the causal one are added to `x` by the
caller.
"""

from __future__ import annotations

import numpy as np

from ..errors import ArgumentError, ShapeError
from ..kernel import row_kernel
from ..kernel.elementary import exp
from ..kernel.primitives import (
    accumulate,
    add32,
    infinity,
    lane_barrier,
    lane_max,
    lane_sum,
    lanes,
    maxnum,
    mul32,
    put,
    real,
    select,
    shr32,
)
from ..layout import count
from ..tape import record
from ..tensor import Tensor, empty
from .apply import as_tensor, narrowed, run_rows, together, widened
from .diagonals import tril
from .movement import reshape
from .plans import floats_only
from .reduction import sum_
from .settings import flag, whole
from .table import op

STRETCH = 64
"""What the visible part of a row is filled up to, so that the length of every loop suits vectors."""


def before(j, end):
    """Whether j < end, for numbers less than 2^31 apart: in 32 bits, as wide as the numbers that it chooses from."""
    return shr32(add32(j, mul32(end, 0xFFFFFFFF)), 31) > 0


@row_kernel("x[rows,n] -> out[rows,n]; queries:int off:int stretch:int")
def softmax_kernel(row, x, out, queries, off, stretch):
    """One row; with queries > 0, key j is visible iff j <= row % queries + off. A NaN makes what is visible NaN."""
    n = x.shape[1]
    seen = min(n, row % queries + off + 1) if queries > 0 else n
    wide = min(n, (seen + stretch - 1) // stretch * stretch)
    for j in lanes(wide):
        put(out, (row, j), select(before(j, seen), x[row, j], -infinity()))
    lane_barrier()
    m = -infinity()
    for j in lanes(wide):
        m = maxnum(m, out[row, j])
    m = lane_max(m)
    s = real(0)
    for j in lanes(wide):
        e = exp(out[row, j] - m)
        put(out, (row, j), e)
        s = accumulate(s, e)
    scale = 1.0 / lane_sum(s)
    for j in lanes(wide):
        put(out, (row, j), select(before(j, seen), out[row, j] * scale, 0.0))
    unseen = out[row, wide:n]
    for j in lanes(n - wide):
        put(unseen, j, real(0))


@row_kernel("y[rows,n] dout[rows,n] -> dx[rows,n]; queries:int off:int stretch:int")
def softmax_grad_kernel(row, y, dout, dx, queries, off, stretch):
    """Dx = y (dout - sum(y dout)); masked places, where y is 0, get an exact 0."""
    n = y.shape[1]
    seen = min(n, row % queries + off + 1) if queries > 0 else n
    wide = min(n, (seen + stretch - 1) // stretch * stretch)
    s = real(0)
    for j in lanes(wide):
        s = accumulate(s, y[row, j] * dout[row, j])
    s = lane_sum(s)
    for j in lanes(wide):
        put(dx, (row, j), y[row, j] * (dout[row, j] - s))
    lane_barrier()
    unseen = dx[row, seen:n]
    for j in lanes(n - seen):
        put(unseen, j, real(0))


def _samples(rng: np.random.Generator):
    for shape in ((1,), (7,), (3, 5), (2, 3, 4), (0, 4), (1, 1)):
        yield (rng.uniform(-2, 2, shape),), {}
    yield (rng.uniform(-2, 2, (5, 5)),), {"causal": True}
    yield (rng.uniform(-2, 2, (2, 2, 4)),), {"causal": True, "off": 2}
    yield (rng.uniform(-2, 2, (2, 70)),), {"causal": True}
    yield (rng.uniform(-2, 2, (2, 1, 6)),), {"causal": True, "off": 3}
    yield (rng.uniform(-2, 2, 5),), {"causal": True, "off": 2}


def _visible(shape, off):
    queries = shape[-2] if len(shape) > 1 else 1
    seen = np.arange(shape[-1]) <= np.arange(queries)[:, None] + off
    return seen if len(shape) > 1 else seen[0]


def softmax_reference(x, causal=False, off=0):
    """Softmax by NumPy; masked places are exact zeros."""
    seen = _visible(x.shape, off) if causal else True
    x = np.where(seen, x, -np.inf)
    e = np.exp(x - x.max(-1, keepdims=True, initial=-np.inf))
    return np.where(seen, e / e.sum(-1, keepdims=True), 0.0)


def check_rows(name: str, x: Tensor) -> None:
    """Refuse what has no rows of floats along its last axis.

    Raises
    ------
    ShapeError, DTypeError
        Naming what it is.
    """
    if x.ndim == 0 or x.shape[-1] == 0:
        raise ShapeError(f"{name} got shape {x.shape}: it needs a last axis with at least one element")
    floats_only(name, x)


def _rows(name: str, x: Tensor, causal: bool, off: int) -> tuple[int, int, int]:
    check_rows(name, x)
    causal, off = flag(name, "causal", causal), whole(name, "off", off)
    if causal and off < 0:
        raise ArgumentError(f"{name} got off={off}: every query must see at least its first key, so off >= 0")
    queries = (x.shape[-2] if x.ndim > 1 else 1) if causal else 0
    return count(x.shape[:-1]), x.shape[-1], queries


@op(_samples, softmax_reference, dtypes="floats")
def softmax(x, causal: bool = False, off: int = 0) -> Tensor:
    r"""Softmax over the last axis, :math:`out_j = e^{x_j - m} / \sum_k e^{x_k - m}`, :math:`m = \max_k x_k`.

    With `causal`, the axis before the last counts queries, and key j is visible to query i iff :math:`j \le i + off`
    (``off = keys - queries`` when earlier keys come from a cache); masked outputs are exact zeros.

    Backward: :math:`dx = out\,(dout - \sum_k out_k\,dout_k)`. Saves the output. A row of -inf gives NaN.

    Raises
    ------
    ShapeError
        If there is no last axis or it is empty.
    ArgumentError
        If `off` is negative.
    """
    x = as_tensor(x)
    rows, n, queries = _rows("softmax", x, causal, off)
    source = widened(x.detach())
    out = empty(x.shape, source.dtype, x.backend)
    run_rows(softmax_kernel, (rows, n), (source, out), (queries, off, STRETCH))

    def backward(dout, out):
        return (softmax_grad(out, dout, causal, off),)

    return record(narrowed(out, x.dtype), (x,), backward, save_output=True)


def _grad_samples(rng: np.random.Generator):
    for (x,), keywords in _samples(rng):
        if keywords and x.shape[-1] > STRETCH:
            continue  # the kernel never reads the masked end of y, so 0s there cannot be moved: softmax has this sample
        yield (softmax_reference(x, **keywords), rng.uniform(-2, 2, x.shape)), keywords


def softmax_grad_reference(y, dout, causal=False, off=0):
    """Gradient of softmax by NumPy; masked places get an exact 0."""
    dx = y * (dout - (y * dout).sum(-1, keepdims=True))
    return np.where(_visible(y.shape, off), dx, 0.0) if causal else dx


@op(_grad_samples, softmax_grad_reference, (0, 1), dtypes="alike")
def softmax_grad(y, dout, causal: bool = False, off: int = 0) -> Tensor:
    r"""Gradient of `softmax` from its output y: :math:`dx = y\,(dout - \sum_k y_k\,dout_k)`.

    Masked places of y are 0. Backward, with the cotangent :math:`g`: ``softmax_grad(y, g)`` for `dout`, and
    :math:`g\,(dout - \sum_k y_k\,dout_k) - dout \sum_k y_k\,g_k` for y, with 0 for a masked g. Saves both.
    """
    y, dout = together(y, dout)
    rows, n, queries = _rows("softmax_grad", y, causal, off)
    operands = widened(y), widened(dout)
    dx = empty(y.shape, operands[0].dtype, y.backend)
    run_rows(softmax_grad_kernel, (rows, n), (*operands, dx), (queries, off, STRETCH))

    def backward(g):
        g = _unmasked(g, off) if causal else g
        slope = g * (dout - sum_(y * dout, -1, True)) - dout * sum_(y * g, -1, True)
        return slope, softmax_grad(y, g, causal, off)

    return record(narrowed(dx, y.dtype), (y, dout), backward)


def _unmasked(g: Tensor, off: int) -> Tensor:
    """`g` with 0 where a query does not see a key."""
    return tril(g, off) if g.ndim > 1 else reshape(tril(reshape(g, (1, g.size)), off), g.shape)
