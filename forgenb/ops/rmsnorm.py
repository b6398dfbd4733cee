"""Root mean square normalisation over the last axis: no mean is taken off, and there is no shift.

Imports what every family of ops does (see `forgenb.ops`); the root is recomputed in backward, never saved.
"""

from __future__ import annotations

import numpy as np

from ..errors import ShapeError
from ..kernel import row_kernel
from ..kernel.primitives import accumulate, lane_sum, lanes, put, real, sqrt
from ..layout import count
from ..tape import record
from ..tensor import Tensor, empty
from .apply import narrowed, run_rows, together, widened
from .plans import one_float
from .pointwise import rsqrt, square
from .reduction import mean, sum_, sum_middle
from .settings import number
from .steps import record_steps
from .table import op

ROWS = 32
"""Rows whose part of dgamma is summed together: a constant, so that bits never depend on threads."""


@row_kernel("x[rows,n] gamma[n] -> out[rows,n]; eps")
def rmsnorm_kernel(row, x, gamma, out, eps):
    """One row: its mean square, then the scale."""
    v = real(0)
    for j in lanes(x.shape[1]):
        v = accumulate(v, x[row, j] * x[row, j])
    factor = 1.0 / sqrt(lane_sum(v) / real(x.shape[1]) + eps)
    for j in lanes(x.shape[1]):
        put(out, (row, j), x[row, j] * factor * gamma[j])


@row_kernel("parts | x[rows,n] gamma[n] dout[rows,n] -> dx[rows,n] dgamma[parts,n]; eps block:int")
def rmsnorm_grad_kernel(row, x, gamma, dout, dx, dgamma, eps, block):
    """One block of rows: dx, and this block's part of dgamma."""
    n = real(x.shape[1])
    for j in lanes(x.shape[1]):
        put(dgamma, (row, j), real(0))
    for i in range(row * block, min(row * block + block, x.shape[0])):
        v = real(0)
        b = real(0)
        for j in lanes(x.shape[1]):
            v = accumulate(v, x[i, j] * x[i, j])
            b = accumulate(b, gamma[j] * dout[i, j] * x[i, j])
        factor = 1.0 / sqrt(lane_sum(v) / n + eps)
        b = lane_sum(b) / n * factor * factor
        for j in lanes(x.shape[1]):
            put(dgamma, (row, j), dgamma[row, j] + dout[i, j] * (x[i, j] * factor))
            put(dx, (i, j), factor * (gamma[j] * dout[i, j] - x[i, j] * b))


def _samples(rng: np.random.Generator):
    for shape in ((7,), (3, 5), (2, 3, 4), (0, 4), (70, 6), (1, 1)):
        n = shape[-1]
        yield (rng.uniform(-2, 2, shape), rng.uniform(0.5, 2, n)), {"eps": 1e-5 if n > 1 else 0.5}


def rmsnorm_reference(x, gamma, eps=1e-5):
    """Root mean square normalisation by NumPy."""
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * gamma


def _check(name: str, x: Tensor, gamma: Tensor) -> None:
    one_float(name, (x, gamma))
    if x.ndim == 0 or x.shape[-1] == 0 or gamma.shape != x.shape[-1:]:
        raise ShapeError(
            f"{name} got x of shape {x.shape} and gamma of shape {gamma.shape}: it must be the last axis of x"
        )


@op(_samples, rmsnorm_reference, (0, 1), dtypes="one float")
def rmsnorm(x, gamma, eps: float = 1e-5) -> Tensor:
    r"""Root mean square normalisation over the last axis, :math:`out = \hat x\,\gamma`.

    Here :math:`\hat x = x / r` with :math:`r = \sqrt{\frac1n \sum x^2 + \epsilon}`. Backward: with
    :math:`g = \gamma\,dout`, :math:`dx = (g - \hat x\,\overline{g \hat x}) / r`,
    :math:`d\gamma = \sum dout\,\hat x`. Saves x and gamma; r is recomputed.

    Parameters
    ----------
    x : Tensor
        ``[..., n]``.
    gamma : Tensor
        ``[n]``, of x's dtype.
    eps : float
        Added to the mean square inside the root.

    Raises
    ------
    ShapeError, DTypeError
        If gamma does not fit x.

    References
    ----------
    Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019.
    """
    x, gamma = together(x, gamma)
    eps = number("rmsnorm", "eps", eps)
    _check("rmsnorm", x, gamma)
    source = widened(x.detach())
    out = empty(x.shape, source.dtype, x.backend)
    run_rows(rmsnorm_kernel, (count(x.shape[:-1]), x.shape[-1]), (source, widened(gamma.detach()), out), (eps,))

    def backward(dout):
        return rmsnorm_grad(x, gamma, dout, eps)

    return record(narrowed(out, x.dtype), (x, gamma), backward)


def _grad_samples(rng: np.random.Generator):
    for (x, gamma), keywords in _samples(rng):
        if x.size > 24:
            continue  # the larger ones are samples of rmsnorm, whose gradient this is
        yield (x, gamma, rng.uniform(-2, 2, x.shape)), keywords


def rmsnorm_grad_reference(x, gamma, dout, eps=1e-5):
    """Gradients of root mean square normalisation by NumPy."""
    factor = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
    xhat, g = x * factor, gamma * dout
    dx = factor * (g - xhat * (g * xhat).mean(-1, keepdims=True))
    return dx, (dout * xhat).reshape(-1, x.shape[-1]).sum(0)


@op(_grad_samples, rmsnorm_grad_reference, (0, 1, 2), outputs=2, dtypes="one float")
def rmsnorm_grad(x, gamma, dout, eps: float = 1e-5) -> tuple[Tensor, Tensor]:
    """Gradients (dx, dgamma) of `rmsnorm`, see there.

    Backward: through the formulas of `rmsnorm`, written in ops. Saves the operands.
    """
    x, gamma, dout = together(x, gamma, dout)
    eps = number("rmsnorm_grad", "eps", eps)
    _check("rmsnorm_grad", x, gamma)
    one_float("rmsnorm_grad", (x, dout))
    n, rows = x.shape[-1], count(x.shape[:-1])
    operands = source, _, _ = widened(x), widened(gamma), widened(dout)
    parts = max(1, -(-rows // ROWS))
    dx, partial = empty(x.shape, source.dtype, x.backend), empty((parts, n), source.dtype, x.backend)
    run_rows(rmsnorm_grad_kernel, (parts, rows, n), (*operands, dx, partial), (eps, ROWS), work=ROWS * n)
    dgamma = sum_middle(partial, 1, parts, n).view((n,), (1,))

    def steps(x, gamma, dout):
        factor = rsqrt(mean(square(x), -1, True) + eps)
        xhat, g = x * factor, gamma * dout
        dx = factor * (g - xhat * mean(g * xhat, -1, True))
        return dx, sum_(dout * xhat, tuple(range(x.ndim - 1)))

    return record_steps((narrowed(dx, x.dtype), narrowed(dgamma, x.dtype)), (x, gamma, dout), steps)
