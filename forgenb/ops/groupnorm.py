"""Group normalisation: groups of channels of one sample, each by its own mean and variance.

Imports what every family of ops does (see `forgenb.ops`); statistics are recomputed in backward, never saved.
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
from .layernorm import mean_of, variance_of
from .movement import reshape, zeros
from .plans import one_float
from .pointwise import rsqrt, square
from .reduction import mean, sum_, sum_middle
from .settings import number, whole
from .steps import record_steps
from .table import op


@row_kernel("rows | x[rows,n] gamma[c] beta[c] -> out[rows,n]; groups:int s:int eps")
def groupnorm_kernel(row, x, gamma, beta, out, groups, s, eps):
    """One group of one sample, each channel of `s` places with its own scale and shift."""
    mean = mean_of(x[row])
    rstd = 1.0 / sqrt(variance_of(x[row], mean) + eps)
    inside = gamma.shape[0] // groups
    first = row % groups * inside
    for k in range(inside):
        source, target = x[row, k * s : (k + 1) * s], out[row, k * s : (k + 1) * s]
        factor, shift = gamma[first + k] * rstd, beta[first + k]
        for j in lanes(s):
            put(target, j, (source[j] - mean) * factor + shift)


@row_kernel(
    "rows | x[rows,n] gamma[c] dout[rows,n] -> dx[rows,n] dgamma[samples,c] dbeta[samples,c]; groups:int s:int eps"
)
def groupnorm_grad_kernel(row, x, gamma, dout, dx, dgamma, dbeta, groups, s, eps):
    """One group of one sample: dx, and this sample's part of dgamma and dbeta."""
    n = real(x.shape[1])
    mean = mean_of(x[row])
    rstd = 1.0 / sqrt(variance_of(x[row], mean) + eps)
    inside = gamma.shape[0] // groups
    sample = row // groups
    first = (row - sample * groups) * inside
    a = real(0)
    b = real(0)
    for k in range(inside):
        source, slope = x[row, k * s : (k + 1) * s], dout[row, k * s : (k + 1) * s]
        p = real(0)
        q = real(0)
        scale = gamma[first + k]
        for j in lanes(s):
            d, g = source[j] - mean, scale * slope[j]
            p = accumulate(p, slope[j])
            q = accumulate(q, slope[j] * d)
            a = accumulate(a, g)
            b = accumulate(b, g * d)
        put(dbeta, (sample, first + k), lane_sum(p))
        put(dgamma, (sample, first + k), lane_sum(q) * rstd)
    a = lane_sum(a) / n
    b = lane_sum(b) / n * rstd * rstd
    for k in range(inside):
        source, slope = x[row, k * s : (k + 1) * s], dout[row, k * s : (k + 1) * s]
        target, scale = dx[row, k * s : (k + 1) * s], gamma[first + k]
        for j in lanes(s):
            put(target, j, rstd * (scale * slope[j] - a - (source[j] - mean) * b))


def _samples(rng: np.random.Generator):
    for shape, groups in (((2, 6), 2), ((3, 6, 5), 3), ((2, 2, 3, 4), 1), ((0, 2, 3), 2), ((1, 3, 7), 3)):
        c = shape[1]
        yield (rng.uniform(-2, 2, shape), rng.uniform(0.5, 2, c), rng.uniform(-1, 1, c)), {"groups": groups}


def groupnorm_reference(x, gamma, beta, groups, eps=1e-5):
    """Group normalisation by NumPy."""
    parted = x.reshape(x.shape[0], groups, int(np.prod(x.shape[1:])) // groups)
    xhat = (parted - parted.mean(-1, keepdims=True)) / np.sqrt(parted.var(-1, keepdims=True) + eps)
    along = (-1, *(1,) * (x.ndim - 2))
    return xhat.reshape(x.shape) * gamma.reshape(along) + beta.reshape(along)


def _check(name: str, x: Tensor, vectors: tuple[Tensor, ...], groups: int) -> None:
    one_float(name, (x, *vectors))
    whole(name, "groups", groups, 1)
    if x.ndim < 2 or 0 in x.shape[1:] or x.shape[1] % groups or any(v.shape != x.shape[1:2] for v in vectors):
        listed = ", ".join(str(v.shape) for v in vectors)
        raise ShapeError(
            f"{name} got x of shape {x.shape}, groups={groups} and {listed}: x must be [n, c, ...], groups divide c, "
            "and each other be (c,)"
        )


@op(_samples, groupnorm_reference, (0, 1, 2), dtypes="one float")
def groupnorm(x, gamma, beta, groups: int, eps: float = 1e-5) -> Tensor:
    r"""Group normalisation, :math:`out = \hat x\,\gamma + \beta`.

    Here :math:`\hat x = (x - \mu) / \sqrt{\sigma^2 + \epsilon}`, with the mean and (biased) variance of a
    group of neighbouring channels of one sample. Backward: with :math:`g = \gamma\,dout`,
    :math:`dx = (g - \overline{g} - \hat x\,\overline{g \hat x}) / \sqrt{\sigma^2 + \epsilon}`,
    :math:`d\gamma = \sum dout\,\hat x`, :math:`d\beta = \sum dout`. Saves x and gamma; the statistics are recomputed.

    Parameters
    ----------
    x : Tensor
        ``[n, c, ...]``.
    gamma, beta : Tensor
        ``[c]``, of x's dtype.
    groups : int
        Divides c.
    eps : float
        Added to the variance inside the root.

    Raises
    ------
    ShapeError, DTypeError, ArgumentError
        If the vectors do not fit x, or the groups do not divide its channels.

    References
    ----------
    Wu and He, "Group Normalization", 2018.
    """
    x, gamma, beta = together(x, gamma, beta)
    eps = number("groupnorm", "eps", eps)
    _check("groupnorm", x, (gamma, beta), groups)
    source, (n, c), s = widened(x.detach()), x.shape[:2], count(x.shape[2:])
    out = empty(x.shape, source.dtype, x.backend)
    sizes = n * groups, c // groups * s, c
    operands = source, widened(gamma.detach()), widened(beta.detach()), out
    run_rows(groupnorm_kernel, sizes, operands, (groups, s, eps), work=sizes[1])

    def backward(dout):
        return groupnorm_grad(x, gamma, dout, groups, eps)

    return record(narrowed(out, x.dtype), (x, gamma, beta), backward)


def _grad_samples(rng: np.random.Generator):
    for (x, gamma, _), keywords in _samples(rng):
        if x.size > 24:
            continue  # the larger ones are samples of groupnorm, whose gradient this is
        yield (x, gamma, rng.uniform(-2, 2, x.shape)), keywords


def groupnorm_grad_reference(x, gamma, dout, groups, eps=1e-5):
    """Gradients of group normalisation by NumPy."""
    along = (-1, *(1,) * (x.ndim - 2))
    shape = x.shape[0], groups, int(np.prod(x.shape[1:])) // groups
    parted, g = x.reshape(shape), (dout * gamma.reshape(along)).reshape(shape)
    rstd = 1 / np.sqrt(parted.var(-1, keepdims=True) + eps)
    xhat = (parted - parted.mean(-1, keepdims=True)) * rstd
    dx = rstd * (g - g.mean(-1, keepdims=True) - xhat * (g * xhat).mean(-1, keepdims=True))
    axes = (0, *range(2, x.ndim))
    return dx.reshape(x.shape), (dout * xhat.reshape(x.shape)).sum(axes), dout.sum(axes)


@op(_grad_samples, groupnorm_grad_reference, (0, 1, 2), outputs=3, dtypes="one float")
def groupnorm_grad(x, gamma, dout, groups: int, eps: float = 1e-5) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients (dx, dgamma, dbeta) of `groupnorm`, see there.

    Backward: through the formulas of `groupnorm`, written in ops. Saves the operands.
    """
    x, gamma, dout = together(x, gamma, dout)
    eps = number("groupnorm_grad", "eps", eps)
    _check("groupnorm_grad", x, (gamma,), groups)
    one_float("groupnorm_grad", (x, dout))
    (n, c), s = x.shape[:2], count(x.shape[2:])
    operands = source, _, _ = widened(x), widened(gamma), widened(dout)
    dx, partial = empty(x.shape, source.dtype, x.backend), empty((2, n, c), source.dtype, x.backend)
    halves = (partial.view((n, c), (c, 1), half * n * c) for half in (0, 1))
    sizes = n * groups, c // groups * s, c, n
    run_rows(groupnorm_grad_kernel, sizes, (*operands, dx, *halves), (groups, s, eps), work=sizes[1])
    sums = sum_middle(partial, 2, n, c) if n else zeros((2, c), source.dtype, x.backend)
    dgamma, dbeta = sums.view((c,), (1,)), sums.view((c,), (1,), c)

    def steps(x, gamma, dout):
        channels, groupwise, along = (n, c, s), (n, groups, c // groups * s), reshape(gamma, (c, 1))
        d = reshape(x, groupwise) - mean(reshape(x, groupwise), -1, True)
        rstd = rsqrt(mean(square(d), -1, True) + eps)
        xhat, slope = d * rstd, reshape(dout, channels)
        g = reshape(slope * along, groupwise)
        dx = rstd * (g - mean(g, -1, True) - xhat * mean(g * xhat, -1, True))
        return reshape(dx, x.shape), sum_(slope * reshape(xhat, channels), (0, 2)), sum_(slope, (0, 2))

    return record_steps(tuple(narrowed(t, x.dtype) for t in (dx, dgamma, dbeta)), (x, gamma, dout), steps)
