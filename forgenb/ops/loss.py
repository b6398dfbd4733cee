"""Cross entropies from logits, of classes and of yes or no: forms that neither saturate nor cancel.

Imports what every family of ops does (see `forgenb.ops`). A loss works from logits; none may take probabilities.
"""

from __future__ import annotations

import numpy as np

from ..dtypes import compute_dtype
from ..errors import DTypeError, ShapeError
from ..kernel import map_kernel, row_kernel
from ..kernel.elementary import exp, log1p
from ..kernel.primitives import (
    absolute,
    lane_barrier,
    lanes,
    put,
    select,
)
from ..layout import count
from ..tape import record, refuse_tracked
from ..tensor import Tensor, empty
from .apply import as_tensor, copied, pair, row_major, run_map, run_rows, together, widened
from .ids import checked_ids
from .log_softmax import log_sum_of
from .plans import same_backend
from .reduction import mean
from .table import SHAPES, op


@row_kernel("x[rows,n] targets[rows]:int -> loss[rows] lse[rows]")
def cross_entropy_kernel(row, x, targets, loss, lse):
    """One row: log sum exp, and its distance from the target's logit."""
    m, total = log_sum_of(x[row])
    put(lse, row, m + total)
    put(loss, row, total - (x[row, targets[row]] - m))


@row_kernel("x[rows,n] targets[rows]:int lse[rows] dout[one] -> dx[rows,n]; scale")
def cross_entropy_grad_kernel(row, x, targets, lse, dout, dx, scale):
    """Dx = (softmax(x) - onehot(target)) dout scale."""
    factor = dout[0] * scale
    for j in lanes(x.shape[1]):
        put(dx, (row, j), exp(x[row, j] - lse[row]) * factor)
    lane_barrier()
    target = targets[row]
    put(dx, (row, target), (exp(x[row, target] - lse[row]) - 1.0) * factor)


def _samples(rng: np.random.Generator):
    for shape in ((7,), (3, 5), (2, 3, 4), (4, 1)):
        yield (rng.uniform(-2, 2, shape), rng.integers(0, shape[-1], shape[:-1])), {}


def _lse(x):
    m = x.max(-1, keepdims=True)
    return (m + np.log(np.exp(x - m).sum(-1, keepdims=True)))[..., 0]


def cross_entropy_reference(logits, targets):
    """Mean cross entropy by NumPy."""
    picked = np.take_along_axis(logits, np.asarray(targets)[..., None], -1)[..., 0]
    return np.mean(_lse(logits) - picked)


def _check(name: str, logits: Tensor, targets) -> tuple[Tensor, int, int]:
    if logits.dtype.kind != "f":
        raise DTypeError(f"{name} got logits of dtype {logits.dtype.name}: convert them to a float dtype with astype")
    if logits.ndim == 0 or logits.shape[-1] == 0 or np.shape(targets) != logits.shape[:-1]:
        raise ShapeError(
            f"{name} got logits of shape {logits.shape} and targets of shape {np.shape(targets)}: targets must have "
            "the logits' shape without its last axis, the classes"
        )
    classes = logits.shape[-1]
    return checked_ids(name, targets, classes, logits.backend, "target"), count(logits.shape[:-1]), classes


@op(_samples, cross_entropy_reference)
def cross_entropy(logits, targets) -> Tensor:
    r"""Mean cross entropy of logits, :math:`out = \frac1T \sum_t (\log\sum_j e^{x_{tj}} - x_{t,y_t})`, in nats.

    Backward: `cross_entropy_grad`, :math:`dx = (softmax(x) - onehot(y))\,dout / T`. Saves the logits and one
    log-sum-exp a row. No rows give NaN.

    Parameters
    ----------
    logits : Tensor
        ``[..., n]``, one score per class.
    targets : integer Tensor or array_like
        ``[...]``, the right class of each row.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    IndexRangeError
        If a target is not a class; it is checked before a kernel runs.

    References
    ----------
    Goodfellow, Bengio and Courville, "Deep Learning", 2016, section 6.2.2.3.
    """
    logits = as_tensor(logits, targets)
    targets, rows, classes = _check("cross_entropy", logits, targets)
    source = widened(logits.detach())
    loss, lse = (empty((rows,), source.dtype, logits.backend) for _ in range(2))
    run_rows(cross_entropy_kernel, (rows, classes), (source, targets, loss, lse))
    out = mean(loss)

    def backward(dout):
        return (cross_entropy_grad(logits, targets, lse, dout),)

    return record(out if out.dtype is logits.dtype else copied(out, logits.dtype), (logits,), backward)


def _grad_samples(rng: np.random.Generator):
    for (x, targets), keywords in _samples(rng):
        yield (x, targets, _lse(x), rng.uniform(0.5, 2, ())), keywords


def _grad_reference(x, targets, lse, dout):
    onehot = np.arange(x.shape[-1]) == np.asarray(targets)[..., None]
    return (np.exp(x - lse[..., None]) - onehot) * dout / max(1, np.size(targets))


@op(_grad_samples, _grad_reference, ())
def cross_entropy_grad(logits, targets, lse, dout) -> Tensor:
    """Gradient of `cross_entropy` from the log-sum-exp of each row, see there.

    Raises
    ------
    TapeError
        If an operand is tracked: it has no derivative of its own.
    """
    logits = as_tensor(logits, targets) if isinstance(targets, Tensor) else logits
    logits, lse, dout = together(logits, lse, dout)
    refuse_tracked("cross_entropy_grad", (logits, lse, dout))
    same_backend("cross_entropy_grad", (logits, lse, dout))
    targets, rows, classes = _check("cross_entropy_grad", logits, targets)
    source, dtype = widened(logits.detach()), logits.dtype
    lse, dout = (copied(t, source.dtype) if t.dtype is not source.dtype else widened(t) for t in (lse, dout))
    dx = empty(logits.shape, source.dtype, logits.backend)
    operands = source, targets, row_major(lse, (rows,)), row_major(dout, (1,)), dx
    run_rows(cross_entropy_grad_kernel, (rows, classes, 1), operands, (1.0 / max(rows, 1),), work=classes)
    return dx if dtype is dx.dtype else copied(dx, dtype)


@map_kernel("z y -> loss")
def bce_with_logits_kernel(z, y):
    """What a logit z costs where y is the truth: max(z, 0) - z y + log(1 + e^-abs(z)), without inf - inf."""
    size = absolute(z)
    return select(z < 0.0, y, 1.0 - y) * size + log1p(exp(-size))


@map_kernel("z y dout -> dz; scale")
def bce_with_logits_grad_kernel(z, y, dout, scale):
    """(sigmoid(z) - y) dout scale, as the share of each answer: the difference itself cancels where sigmoid(z) ~ y."""
    e = exp(-absolute(z))
    near = 1.0 / (1.0 + e)
    far = e * near
    return select(z < 0.0, (1.0 - y) * far - y * near, (1.0 - y) * near - y * far) * (dout * scale)


def _bce_samples(rng: np.random.Generator):
    for shape in (shape for shape in SHAPES if 0 not in shape):
        yield (rng.uniform(-5, 5, shape), rng.uniform(0, 1, shape)), {}
    yield (rng.uniform(-5, 5, (130, 9)), np.round(rng.uniform(0, 1, (130, 9)))), {}


def bce_with_logits_reference(logits, targets):
    """Mean binary cross entropy by NumPy."""
    wrong = np.where(logits < 0, targets, 1 - targets)
    return np.mean(wrong * np.abs(logits) + np.logaddexp(0, -np.abs(logits)))


def _bce_operands(name: str, logits, targets) -> tuple[Tensor, Tensor]:
    logits, targets = pair(logits, targets)
    same_backend(name, (logits, targets))
    if logits.dtype.kind != "f":
        raise DTypeError(f"{name} got logits of dtype {logits.dtype.name}: convert them to a float dtype with astype")
    if logits.shape != targets.shape:
        raise ShapeError(
            f"{name} got logits of shape {logits.shape} and targets of shape {targets.shape}: there must be one "
            "target for each logit, so reshape one of them"
        )
    return logits, targets


@op(_bce_samples, bce_with_logits_reference, (0, 1))
def bce_with_logits(logits, targets) -> Tensor:
    r"""Mean binary cross entropy of logits, :math:`out = \frac1n \sum_i \max(z_i, 0) - z_i y_i + \log(1 + e^{-|z_i|})`.

    That is :math:`-y \log\sigma(z) - (1 - y) \log(1 - \sigma(z))`, in nats, without overflow for any finite z.

    Backward: `bce_with_logits_grad`, :math:`dz = (\sigma(z) - y)\,dout / n`; for the targets
    :math:`dy = -z\,dout / n`. Saves both. No elements give NaN.

    Parameters
    ----------
    logits : Tensor
        Any shape.
    targets : Tensor or array_like
        Of the same shape, numbers from 0 to 1; integers and bools may stand for the classes 0 and 1.

    Raises
    ------
    ShapeError
        If the shapes differ.
    DTypeError
        If the logits are not floats.

    References
    ----------
    Goodfellow, Bengio and Courville, "Deep Learning", 2016, section 6.2.2.2.
    """
    logits, targets = _bce_operands("bce_with_logits", logits, targets)
    out = mean(run_map(bce_with_logits_kernel, (logits, targets), dtype=compute_dtype(logits.dtype)))

    def backward(dout):
        dz = bce_with_logits_grad(logits, targets, dout)
        return dz, logits * (dout * (-1.0 / max(logits.size, 1))) if targets.requires_grad else None

    return record(out if out.dtype is logits.dtype else copied(out, logits.dtype), (logits, targets), backward)


def _bce_grad_samples(rng: np.random.Generator):
    for arrays, keywords in _bce_samples(rng):
        yield (*arrays, rng.uniform(0.5, 2, ())), keywords


@op(_bce_grad_samples, lambda z, y, dout: (np.exp(-np.logaddexp(0, -z)) - y) * dout / z.size, ())
def bce_with_logits_grad(logits, targets, dout) -> Tensor:
    """Gradient of `bce_with_logits` for the logits, see there; `dout` is one number.

    Raises
    ------
    TapeError
        If an operand is tracked: it has no derivative of its own.
    """
    logits, targets, dout = together(logits, targets, dout)
    logits, targets = _bce_operands("bce_with_logits_grad", logits, targets)
    refuse_tracked("bce_with_logits_grad", (logits, targets, dout))
    scale = 1.0 / max(logits.size, 1)
    operands = logits.detach(), targets.detach(), row_major(dout, ())
    return run_map(bce_with_logits_grad_kernel, operands, (scale,), dtype=logits.dtype)
