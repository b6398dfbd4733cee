"""Batch normalisation: each channel over samples and places, by the batch's own statistics or by running ones.

Means and variances are taken in blocks of a fixed size and combined by the formula of Chan, Golub and LeVeque,
"Updating formulae and a pairwise algorithm for computing sample variances", 1979: one pass over memory, without
cancellation.

Imports what every family of ops does (see `forgenb.ops`); what averages within one sample belongs elsewhere.
"""

from __future__ import annotations

import numpy as np

from ..errors import ArgumentError, ShapeError
from ..kernel import map_kernel, row_kernel
from ..kernel.primitives import accumulate, lane_sum, lanes, put, real, sqrt
from ..layout import count
from ..tape import record, refuse_tracked
from ..tensor import Tensor, empty
from .apply import copied, narrowed, row_major, run_map, run_rows, together, widened
from .movement import reshape
from .plans import one_float
from .pointwise import rsqrt
from .reduction import mean as mean_
from .reduction import sum_, sum_middle
from .settings import flag, number, quoted
from .statistics import var as var_
from .steps import record_steps
from .table import op

BLOCK = 1024
"""About how many elements of a channel are summed together: a constant, so that bits never depend on threads."""


@row_kernel("parts | x[n,c,s] -> mean[parts] spread[parts]; block:int")
def moments_kernel(row, x, mean, spread, block):
    """One block of samples of one channel: its mean, and the sum of squares around that."""
    c = x.shape[1]
    part = row // c
    channel = row - part * c
    start, stop = part * block, min(part * block + block, x.shape[0])
    elements = real((stop - start) * x.shape[2])
    total = real(0)
    for i in range(start, stop):
        plane = x[i, channel]
        for j in lanes(plane.shape[0]):
            total = accumulate(total, plane[j])
    middle = lane_sum(total) / elements
    v = real(0)
    for i in range(start, stop):
        plane = x[i, channel]
        for j in lanes(plane.shape[0]):
            d = plane[j] - middle
            v = accumulate(v, d * d)
    put(mean, row, middle)
    put(spread, row, lane_sum(v))


@row_kernel("c | means[parts,c] spreads[parts,c] -> mean[c] var[c]; n:int s:int block:int")
def combine_kernel(row, means, spreads, mean, var, n, s, block):
    """The mean and (biased) variance of one channel from those of its blocks."""
    parts = means.shape[0]
    total = real(0)
    for part in range(parts):
        total = total + real(min(n - part * block, block) * s) * means[part, row]
    middle = total / real(n * s)
    v = real(0)
    for part in range(parts):
        d = means[part, row] - middle
        v = v + (spreads[part, row] + real(min(n - part * block, block) * s) * (d * d))
    put(mean, row, middle)
    put(var, row, v / real(n * s))


@row_kernel("parts | x[n,c,s] mean[c] var[c] gamma[c] beta[c] -> out[n,c,s]; eps block:int")
def normalise_kernel(row, x, mean, var, gamma, beta, out, eps, block):
    """One block of samples of one channel, shifted and scaled."""
    c = x.shape[1]
    part = row // c
    channel = row - part * c
    middle, factor, shift = mean[channel], gamma[channel] / sqrt(var[channel] + eps), beta[channel]
    for i in range(part * block, min(part * block + block, x.shape[0])):
        source, target = x[i, channel], out[i, channel]
        for j in lanes(source.shape[0]):
            put(target, j, (source[j] - middle) * factor + shift)


@row_kernel("parts | x[n,c,s] mean[c] var[c] dout[n,c,s] -> dgamma[parts] dbeta[parts]; eps block:int")
def norm_sums_kernel(row, x, mean, var, dout, dgamma, dbeta, eps, block):
    """One block of samples of one channel: its part of dgamma and dbeta."""
    c = x.shape[1]
    part = row // c
    channel = row - part * c
    middle = mean[channel]
    a = real(0)
    b = real(0)
    for i in range(part * block, min(part * block + block, x.shape[0])):
        source, slope = x[i, channel], dout[i, channel]
        for j in lanes(source.shape[0]):
            a = accumulate(a, slope[j] * (source[j] - middle))
            b = accumulate(b, slope[j])
    put(dgamma, row, lane_sum(a) / sqrt(var[channel] + eps))
    put(dbeta, row, lane_sum(b))


@row_kernel("parts | x[n,c,s] mean[c] var[c] gamma[c] dout[n,c,s] dgamma[c] dbeta[c] -> dx[n,c,s]; eps share block:int")
def norm_grad_kernel(row, x, mean, var, gamma, dout, dgamma, dbeta, dx, eps, share, block):
    """One block of samples of one channel: dx. `share` is one over the elements of a channel, or 0."""
    c = x.shape[1]
    part = row // c
    channel = row - part * c
    rstd = 1.0 / sqrt(var[channel] + eps)
    middle, factor = mean[channel], gamma[channel] * rstd
    a, b = dgamma[channel] * share * rstd, dbeta[channel] * share
    for i in range(part * block, min(part * block + block, x.shape[0])):
        source, slope, target = x[i, channel], dout[i, channel], dx[i, channel]
        for j in lanes(source.shape[0]):
            put(target, j, factor * (slope[j] - b - (source[j] - middle) * a))


@map_kernel("mean var running_mean running_var -> running_mean running_var; momentum unbiased")
def running_kernel(mean, var, running_mean, running_var, momentum, unbiased):
    """Both statistics move towards those of the batch."""
    moved = running_mean + momentum * (mean - running_mean)
    return moved, running_var + momentum * (var * unbiased - running_var)


def _sizes(x: Tensor) -> tuple[int, int, int, int, int]:
    """Samples, channels, places, samples of a block, and blocks times channels."""
    n, c, s = x.shape[0], x.shape[1], count(x.shape[2:])
    block = max(1, BLOCK // max(1, s))
    return n, c, s, block, max(1, -(-n // block)) * c


def _check(name: str, x: Tensor, vectors: tuple[Tensor, ...]) -> None:
    one_float(name, (x, *vectors))
    if x.ndim < 2 or any(v.shape != x.shape[1:2] for v in vectors):
        listed = ", ".join(str(v.shape) for v in vectors)
        raise ShapeError(f"{name} got x of shape {x.shape} and {listed}: x must be [n, c, ...] and each other [c]")


def moments(x: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and (biased) variance of each channel of contiguous ``x[n, c, ...]`` (off the tape)."""
    n, c, s, block, parts = _sizes(x)
    means, spreads = (empty((parts,), x.dtype, x.backend) for _ in range(2))
    run_rows(moments_kernel, (parts, n, c, s), (x, means, spreads), (block,), work=block * s)
    mean, var = (empty((c,), x.dtype, x.backend) for _ in range(2))
    blocks = parts // c
    shaped = row_major(means, (blocks, c)), row_major(spreads, (blocks, c))
    run_rows(combine_kernel, (c, blocks), (*shaped, mean, var), (n, s, block), work=blocks)
    return mean, var


def _samples(rng: np.random.Generator):
    for shape in ((4, 3), (2, 3, 5), (3, 2, 4, 3), (5, 2, 400)):
        c = shape[1]
        yield (rng.uniform(-2, 2, shape), rng.uniform(0.5, 2, c), rng.uniform(-1, 1, c)), {}


def _along(v, x):
    return v.reshape(-1, *(1,) * (x.ndim - 2))


def batchnorm_reference(x, gamma, beta, eps=1e-5):
    """Batch normalisation by NumPy."""
    axes = (0, *range(2, x.ndim))
    return batchnorm_inference_reference(x, gamma, beta, x.mean(axes), x.var(axes), eps)


def batchnorm_inference_reference(x, gamma, beta, mean, var, eps=1e-5):
    """Normalisation by given statistics by NumPy."""
    return (x - _along(mean, x)) / np.sqrt(_along(var, x) + eps) * _along(gamma, x) + _along(beta, x)


@op(_samples, batchnorm_reference, (0, 1, 2), dtypes="one float")
def batchnorm(x, gamma, beta, eps: float = 1e-5, running=None, momentum: float = 0.1) -> Tensor:
    r"""Batch normalisation of each channel, :math:`out = \hat x\,\gamma + \beta`.

    Here :math:`\hat x = (x - \mu) / \sqrt{\sigma^2 + \epsilon}`, with the mean and the (biased) variance of the
    channel over samples and places. Backward: with m elements in a channel,
    :math:`d\gamma = \sum dout\,\hat x`, :math:`d\beta = \sum dout`,
    :math:`dx = \gamma\,(dout - d\beta / m - \hat x\,d\gamma / m) / \sqrt{\sigma^2 + \epsilon}`.
    Saves x, gamma, and the two statistics.

    Parameters
    ----------
    x : Tensor
        ``[n, c, ...]``.
    gamma, beta : Tensor
        ``[c]``, of x's dtype.
    eps : float
        Added to the variance inside the root.
    running : (Tensor, Tensor), optional
        A running mean and variance, each ``[c]``, which are moved in place:
        :math:`r \leftarrow r + momentum\,(batch - r)`, by the unbiased variance
        :math:`\sigma^2 m / (m - 1)`. For `batchnorm_inference`.
    momentum : float
        How far they move.

    Raises
    ------
    ShapeError, DTypeError
        If the vectors do not fit x.
    ArgumentError
        If a channel has fewer than two elements, whose variance says nothing.

    References
    ----------
    Ioffe and Szegedy, "Batch Normalization", 2015.
    """
    momentum = number("batchnorm", "momentum", momentum)
    x, gamma, beta, *moved = together(x, gamma, beta, *_statistics(running))
    eps = number("batchnorm", "eps", eps)
    _check("batchnorm", x, (gamma, beta, *moved))
    elements = x.shape[0] * count(x.shape[2:])
    if elements < 2:
        raise ArgumentError(f"batchnorm got shape {x.shape}: each channel needs at least two elements")
    source = widened(x.detach())
    mean, var = moments(source)
    if running is not None:
        unbiased = elements / (elements - 1)
        run_map(running_kernel, (mean, var, *running), (momentum, unbiased), into=tuple(running))
        for t in running:
            t.changed()
    out = _normalised(source, mean, var, gamma, beta, eps)

    def backward(dout):
        def statistics(x):
            axes = (0, *range(2, x.ndim))
            return mean_(x, axes), var_(x, axes)

        own = record_steps((mean, var), (x,), statistics)
        return batchnorm_grad(x, gamma, *own, dout, eps)

    return record(narrowed(out, x.dtype), (x, gamma, beta), backward)


def _statistics(running) -> tuple[Tensor, ...]:
    """The tensors that are moved in place, two or none."""
    if running is None:
        return ()
    if isinstance(running, (tuple, list)) and len(running) == 2 and all(isinstance(t, Tensor) for t in running):
        return tuple(running)
    raise ArgumentError(f"batchnorm got running={quoted(running)}: it must be two tensors, a mean and a variance")


def _normalised(x: Tensor, mean: Tensor, var: Tensor, gamma: Tensor, beta: Tensor, eps: float) -> Tensor:
    n, c, s, block, parts = _sizes(x)
    out = empty(x.shape, x.dtype, x.backend)
    vectors = mean, var, *(widened(v.detach()) for v in (gamma, beta))
    run_rows(normalise_kernel, (parts, n, c, s), (x, *vectors, out), (eps, block), work=block * s)
    return out


def _gradients(operands: tuple[Tensor, ...], eps: float, share: float) -> tuple[Tensor, ...]:
    """(dx, dgamma, dbeta) from x, gamma, mean, var and dout; see `norm_grad_kernel` for `share`."""
    dtype = operands[0].dtype
    x, gamma, mean, var, dout = (widened(t.detach()) for t in operands)
    mean, var = (copied(t, x.dtype) if t.dtype is not x.dtype else t for t in (mean, var))
    n, c, s, block, parts = _sizes(x)
    partial = empty((2, parts), x.dtype, x.backend)
    halves = (partial.view((parts,), (1,), half * parts) for half in (0, 1))
    run_rows(norm_sums_kernel, (parts, n, c, s), (x, mean, var, dout, *halves), (eps, block), work=block * s)
    sums = sum_middle(partial, 2, parts // c, c)
    dgamma, dbeta = sums.view((c,), (1,)), sums.view((c,), (1,), c)
    dx = empty(x.shape, x.dtype, x.backend)
    places = x, mean, var, gamma, dout, dgamma, dbeta, dx
    run_rows(norm_grad_kernel, (parts, n, c, s), places, (eps, share, block), work=block * s)
    return tuple(narrowed(t, dtype) for t in (dx, dgamma, dbeta))


def _grad_samples(rng: np.random.Generator):
    for place, ((x, gamma, _), keywords) in enumerate(_samples(rng)):
        if x.size > 30:
            continue  # the larger ones are samples of batchnorm, whose gradient this is
        axes = (0, *range(2, x.ndim))
        fixed = {"fixed": True} if place == 1 else {}
        yield (x, gamma, x.mean(axes), x.var(axes), rng.uniform(-2, 2, x.shape)), {**keywords, **fixed}


def _grad_reference(x, gamma, mean, var, dout, eps=1e-5, fixed=False):
    axes = (0, *range(2, x.ndim))
    rstd = 1 / np.sqrt(_along(var, x) + eps)
    xhat = (x - _along(mean, x)) * rstd
    dgamma, dbeta = (dout * xhat).sum(axes), dout.sum(axes)
    m = np.inf if fixed else x.size / x.shape[1]
    return _along(gamma, x) * rstd * (dout - _along(dbeta, x) / m - xhat * _along(dgamma, x) / m), dgamma, dbeta


@op(_grad_samples, _grad_reference, (0, 1, 2, 3, 4), outputs=3, dtypes="one float")
def batchnorm_grad(x, gamma, mean, var, dout, eps: float = 1e-5, fixed: bool = False) -> tuple[Tensor, ...]:
    """Gradients (dx, dgamma, dbeta) of `batchnorm` from the batch's statistics, see there.

    With `fixed` those of `batchnorm_inference`, whose statistics do not move with x. Backward: through these formulas,
    written in ops, with the statistics as operands of their own. Saves the operands.
    """
    operands = x, gamma, mean, var, dout = together(x, gamma, mean, var, dout)
    eps, fixed = number("batchnorm_grad", "eps", eps), flag("batchnorm_grad", "fixed", fixed)
    _check("batchnorm_grad", x, (gamma,))
    one_float("batchnorm_grad", (x, dout))
    share = 0.0 if fixed else 1.0 / max(1, x.shape[0] * count(x.shape[2:]))

    def steps(x, gamma, mean, var, dout):
        axes, along = (0, *range(2, x.ndim)), (-1, *(1,) * (x.ndim - 2))
        rstd = reshape(rsqrt(var + eps), along)
        xhat = (x - reshape(mean, along)) * rstd
        dgamma, dbeta = sum_(dout * xhat, axes), sum_(dout, axes)
        shared = (reshape(dbeta, along) + xhat * reshape(dgamma, along)) * share
        return reshape(gamma, along) * rstd * (dout - shared), dgamma, dbeta

    return record_steps(_gradients(operands, eps, share), operands, steps)


def _inference_samples(rng: np.random.Generator):
    for (x, gamma, beta), keywords in _samples(rng):
        c = x.shape[1]
        yield (x, gamma, beta, rng.uniform(-1, 1, c), rng.uniform(0.5, 2, c)), keywords


@op(_inference_samples, batchnorm_inference_reference, (0, 1, 2), dtypes="one float")
def batchnorm_inference(x, gamma, beta, mean, var, eps: float = 1e-5) -> Tensor:
    r"""Normalisation of each channel by given statistics, as `batchnorm` leaves them behind for use after training.

    .. math::
        out = \frac{x - mean}{\sqrt{var + \epsilon}}\,\gamma + \beta

    Backward: :math:`dx = \gamma\,dout / \sqrt{var + \epsilon}`, and dgamma and dbeta as in `batchnorm`; the
    statistics are constants. Saves x, gamma, mean and var.

    Parameters
    ----------
    x : Tensor
        ``[n, c, ...]``.
    gamma, beta, mean, var : Tensor
        ``[c]``, of x's dtype.
    eps : float
        Added to the variance inside the root.

    Raises
    ------
    ShapeError, DTypeError
        If the vectors do not fit x.
    TapeError
        If mean or var is tracked: they have no gradient.
    """
    x, gamma, beta, mean, var = together(x, gamma, beta, mean, var)
    refuse_tracked("batchnorm_inference", (mean, var))
    eps = number("batchnorm_inference", "eps", eps)
    _check("batchnorm_inference", x, (gamma, beta, mean, var))
    out = _normalised(widened(x.detach()), widened(mean), widened(var), gamma, beta, eps)

    def backward(dout):
        return (*batchnorm_grad(x, gamma, mean, var, dout, eps, fixed=True), None, None)

    return record(narrowed(out, x.dtype), (x, gamma, beta, mean, var), backward)
