"""The logarithm of softmax over the last axis, from the logits themselves, so that it neither saturates nor cancels.

Imports what every family of ops does (see `forgenb.ops`).
"""

from __future__ import annotations

import numpy as np

from ..kernel import row_kernel
from ..kernel.elementary import exp, log
from ..kernel.primitives import accumulate, lane_max, lane_sum, lanes, maxnum, put, real
from ..layout import count
from ..tape import record
from ..tensor import Tensor, empty
from .apply import as_tensor, narrowed, run_rows, together, widened
from .pointwise import exp as exp_
from .reduction import sum_
from .softmax import check_rows
from .table import op


def log_sum_of(x):
    """(m, log sum exp(x - m)) of one row, the same for every lane, where m is its largest number."""
    m = x[0]
    for j in lanes(x.shape[0]):
        m = maxnum(m, x[j])
    m = lane_max(m)
    s = real(0)
    for j in lanes(x.shape[0]):
        s = accumulate(s, exp(x[j] - m))
    return m, log(lane_sum(s))


@row_kernel("x[rows,n] -> out[rows,n]")
def log_softmax_kernel(row, x, out):
    """One row: its distance from log sum exp."""
    m, total = log_sum_of(x[row])
    for j in lanes(x.shape[1]):
        put(out, (row, j), (x[row, j] - m) - total)


@row_kernel("y[rows,n] dout[rows,n] -> dx[rows,n]")
def log_softmax_grad_kernel(row, y, dout, dx):
    """Dx = dout - exp(y) sum(dout)."""
    s = real(0)
    for j in lanes(y.shape[1]):
        s = accumulate(s, dout[row, j])
    s = lane_sum(s)
    for j in lanes(y.shape[1]):
        put(dx, (row, j), dout[row, j] - exp(y[row, j]) * s)


def _samples(rng: np.random.Generator):
    for shape in ((1,), (7,), (3, 5), (2, 3, 4), (0, 4), (2, 70)):
        yield (rng.uniform(-2, 2, shape),), {}


def log_softmax_reference(x):
    """Log-softmax by NumPy."""
    moved = x - x.max(-1, keepdims=True, initial=-np.inf)
    return moved - np.log(np.exp(moved).sum(-1, keepdims=True))


@op(_samples, log_softmax_reference, dtypes="floats")
def log_softmax(x) -> Tensor:
    r"""Logarithm of softmax over the last axis, :math:`out_j = x_j - \log\sum_k e^{x_k}`.

    Backward: :math:`dx = dout - e^{out} \sum_k dout_k`. Saves the output.

    Raises
    ------
    ShapeError
        If there is no last axis or it is empty.
    DTypeError
        If x is not a float.
    """
    x = as_tensor(x)
    check_rows("log_softmax", x)
    source = widened(x.detach())
    out = empty(x.shape, source.dtype, x.backend)
    run_rows(log_softmax_kernel, (count(x.shape[:-1]), x.shape[-1]), (source, out))

    def backward(dout, out):
        return (log_softmax_grad(out, dout),)

    return record(narrowed(out, x.dtype), (x,), backward, save_output=True)


def _grad_samples(rng: np.random.Generator):
    for (x,), _ in _samples(rng):
        yield (log_softmax_reference(x), rng.uniform(-2, 2, x.shape)), {}


@op(_grad_samples, lambda y, dout: dout - np.exp(y) * dout.sum(-1, keepdims=True), (0, 1), dtypes="alike")
def log_softmax_grad(y, dout) -> Tensor:
    r"""Gradient of `log_softmax` from its output y: :math:`dx = dout - e^y \sum_k dout_k`.

    Backward, with the cotangent :math:`g`: :math:`-g\,e^y \sum_k dout_k` for y and :math:`g - \sum_k g_k\,e^{y_k}`
    for `dout`. Saves both.
    """
    y, dout = together(y, dout)
    check_rows("log_softmax_grad", y)
    operands = widened(y), widened(dout)
    dx = empty(y.shape, operands[0].dtype, y.backend)
    run_rows(log_softmax_grad_kernel, (count(y.shape[:-1]), y.shape[-1]), (*operands, dx))

    def backward(g):
        share = g * exp_(y)
        return -share * sum_(dout, -1, True), g - sum_(share, -1, True)

    return record(narrowed(dx, y.dtype), (y, dout), backward)
