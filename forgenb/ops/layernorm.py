"""Layer normalisation over trailing axes, seen as one, and its gradient in one pass over fixed blocks of rows.

Imports what every family of ops does (see `forgenb.ops`); statistics are recomputed in backward, never saved.
"""

from __future__ import annotations

import numpy as np

from ..errors import ShapeError
from ..kernel import row_kernel
from ..kernel.primitives import accumulate, fma, lane_sum, lanes, put, real, sqrt
from ..layout import count
from ..tape import record
from ..tensor import Tensor, empty
from .apply import narrowed, run_rows, together, widened
from .movement import reshape
from .plans import one_float
from .pointwise import rsqrt, square
from .reduction import mean, sum_, sum_middle
from .settings import number
from .steps import record_steps
from .table import op

ROWS = 32
"""Rows whose part of dgamma and dbeta is summed together: a constant, so that bits never depend on threads."""


def mean_of(x):
    """The mean of one row."""
    s = real(0)
    for j in lanes(x.shape[0]):
        s = accumulate(s, x[j])
    return lane_sum(s) / real(x.shape[0])


def variance_of(x, mean):
    """The (biased) variance of one row around its mean."""
    v = real(0)
    for j in lanes(x.shape[0]):
        d = x[j] - mean
        v = accumulate(v, d * d)
    return lane_sum(v) / real(x.shape[0])


@row_kernel("x[rows,n] gamma[n] beta[n] -> out[rows,n]; eps")
def layernorm_kernel(row, x, gamma, beta, out, eps):
    """One row: mean, then variance around it (two passes), then scale and shift."""
    mean = mean_of(x[row])
    rstd = 1.0 / sqrt(variance_of(x[row], mean) + eps)
    for j in lanes(x.shape[1]):
        put(out, (row, j), fma((x[row, j] - mean) * rstd, gamma[j], beta[j]))


@row_kernel(
    "parts | x[rows/block,n] gamma[n] dout[rows/block,n] -> dx[rows/block,n] dgamma[parts,n] dbeta[parts,n];"
    " eps block:int"
)
def layernorm_grad_kernel(row, x, gamma, dout, dx, dgamma, dbeta, eps, block):
    """One block of rows: dx, and this block's part of dgamma and dbeta."""
    n = real(x.shape[1])
    for j in lanes(x.shape[1]):
        put(dgamma, (row, j), real(0))
        put(dbeta, (row, j), real(0))
    for i in range(row * block, min(row * block + block, x.shape[0])):
        mean = mean_of(x[i])
        v = real(0)
        a = real(0)
        b = real(0)
        for j in lanes(x.shape[1]):
            d = x[i, j] - mean
            g = gamma[j] * dout[i, j]
            v = accumulate(v, d * d)
            a = accumulate(a, g)
            b = accumulate(b, g * d)
        rstd = 1.0 / sqrt(lane_sum(v) / n + eps)
        a = lane_sum(a) / n
        b = lane_sum(b) / n * rstd * rstd
        for j in lanes(x.shape[1]):
            d = x[i, j] - mean
            put(dgamma, (row, j), dgamma[row, j] + dout[i, j] * (d * rstd))
            put(dbeta, (row, j), dbeta[row, j] + dout[i, j])
            put(dx, (i, j), rstd * (gamma[j] * dout[i, j] - a - d * b))


def _samples(rng: np.random.Generator):
    for shape in ((7,), (3, 5), (2, 3, 4), (0, 4), (70, 6), (1, 1)):
        n = shape[-1]
        yield (
            (rng.uniform(-2, 2, shape), rng.uniform(0.5, 2, n), rng.uniform(-1, 1, n)),
            {"eps": 1e-5 if n > 1 else 0.5},
        )


def _trailing_samples(rng: np.random.Generator):
    yield from _samples(rng)
    for shape, trailing in (((2, 3, 4), 2), ((2, 3, 4), 3), ((2, 2, 3, 2), 2)):
        own = shape[-trailing:]
        yield (rng.uniform(-2, 2, shape), rng.uniform(0.5, 2, own), rng.uniform(-1, 1, own)), {}


def layernorm_reference(x, gamma, beta, eps=1e-5):
    """Layer normalisation over the axes of gamma by NumPy."""
    axes = tuple(range(x.ndim - gamma.ndim, x.ndim))
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps) * gamma + beta


def _check(name: str, x: Tensor, vectors: tuple) -> None:
    one_float(name, (x, *vectors))
    own = vectors[0].shape
    if not own or x.shape[-len(own) :] != own or 0 in own or any(v.shape != own for v in vectors):
        listed = " and ".join(str(v.shape) for v in vectors)
        raise ShapeError(
            f"{name} got x of shape {x.shape} and a gain and shift of shape {listed}: they must have the shape of the "
            "trailing axes of x that are normalised, with at least one element"
        )


@op(_trailing_samples, layernorm_reference, (0, 1, 2), dtypes="one float")
def layernorm(x, gamma, beta, eps: float = 1e-5) -> Tensor:
    r"""Layer normalisation over as many trailing axes as gamma has, :math:`out = \hat x\,\gamma + \beta`.

    Here :math:`\hat x = (x - \mu) / \sqrt{\sigma^2 + \epsilon}`. Mean and (biased) variance are over all elements of
    these axes, the variance in a second pass. Backward: with :math:`g = \gamma\,dout`,
    :math:`dx = (g - \overline{g} - \hat x\,\overline{g \hat x}) / \sqrt{\sigma^2 + \epsilon}`,
    :math:`d\gamma = \sum dout\,\hat x`, :math:`d\beta = \sum dout`. Saves x and gamma; the statistics are recomputed.

    Parameters
    ----------
    x : Tensor
        ``[..., n]``, or ``[..., *shape]``.
    gamma, beta : Tensor
        ``[n]``, or of that `shape`; of x's dtype.
    eps : float
        Added to the variance inside the root.

    Raises
    ------
    ShapeError, DTypeError
        If gamma and beta do not fit x.

    References
    ----------
    Ba, Kiros and Hinton, "Layer Normalization", 2016.
    """
    x, gamma, beta = together(x, gamma, beta)
    eps = number("layernorm", "eps", eps)
    _check("layernorm", x, (gamma, beta))
    if gamma.ndim > 1:
        n = gamma.size
        flat = reshape(x, (*x.shape[: x.ndim - gamma.ndim], n))
        return reshape(layernorm(flat, reshape(gamma, (n,)), reshape(beta, (n,)), eps), x.shape)
    source = widened(x.detach())
    out = empty(x.shape, source.dtype, x.backend)
    sizes = count(x.shape[:-1]), x.shape[-1]
    run_rows(layernorm_kernel, sizes, (source, widened(gamma.detach()), widened(beta.detach()), out), (eps,))

    def backward(dout):
        return layernorm_grad(x, gamma, dout, eps)

    return record(narrowed(out, x.dtype), (x, gamma, beta), backward)


def _grad_samples(rng: np.random.Generator):
    for (x, gamma, _), keywords in _samples(rng):
        if x.size > 24:
            continue  # the larger ones are samples of layernorm, whose gradient this is
        yield (x, gamma, rng.uniform(-2, 2, x.shape)), keywords


def layernorm_grad_reference(x, gamma, dout, eps=1e-5):
    """Gradients of layer normalisation by NumPy."""
    rstd = 1 / np.sqrt(x.var(-1, keepdims=True) + eps)
    xhat, g = (x - x.mean(-1, keepdims=True)) * rstd, gamma * dout
    dx = rstd * (g - g.mean(-1, keepdims=True) - xhat * (g * xhat).mean(-1, keepdims=True))
    n = x.shape[-1]
    return dx, (dout * xhat).reshape(-1, n).sum(0), dout.reshape(-1, n).sum(0)


@op(_grad_samples, layernorm_grad_reference, (0, 1, 2), outputs=3, dtypes="one float")
def layernorm_grad(x, gamma, dout, eps: float = 1e-5) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients (dx, dgamma, dbeta) of `layernorm` over the last axis, see there.

    Backward: through the formulas of `layernorm`, written in ops. Saves the operands.
    """
    x, gamma, dout = together(x, gamma, dout)
    eps = number("layernorm_grad", "eps", eps)
    _check("layernorm_grad", x, (gamma,))
    one_float("layernorm_grad", (x, dout))
    if gamma.ndim > 1:
        raise ShapeError(f"layernorm_grad got a gain of shape {gamma.shape}: see the axes as one with reshape")
    n, rows = x.shape[-1], count(x.shape[:-1])
    operands = source, _, _ = widened(x), widened(gamma), widened(dout)
    parts = max(1, -(-rows // ROWS))
    dx = empty(x.shape, source.dtype, x.backend)
    partial = empty((2, parts, n), source.dtype, x.backend)
    halves = (partial.view((parts, n), (n, 1), half * parts * n) for half in (0, 1))
    run_rows(layernorm_grad_kernel, (parts, rows, n), (*operands, dx, *halves), (eps, ROWS), work=ROWS * n)
    sums = sum_middle(partial, 2, parts, n)
    dgamma, dbeta = sums.view((n,), (1,)), sums.view((n,), (1,), n)

    def steps(x, gamma, dout):
        d = x - mean(x, -1, True)
        rstd = rsqrt(mean(square(d), -1, True) + eps)
        xhat, g, along = d * rstd, gamma * dout, tuple(range(x.ndim - 1))
        dx = rstd * (g - mean(g, -1, True) - xhat * mean(g * xhat, -1, True))
        return dx, sum_(dout * xhat, along), sum_(dout, along)

    return record_steps(tuple(narrowed(t, x.dtype) for t in (dx, dgamma, dbeta)), (x, gamma, dout), steps)
