"""Losses of classes beside the plain cross entropy: from log probabilities, with ignored rows, with smoothed labels.

The mean is over the rows that count; how many do is summed on the device, so nothing is read back.

Imports what every family of ops does (see `forgenb.ops`); ids are checked in `forgenb.ops.ids`, not here.
"""

from __future__ import annotations

import numpy as np

from ..errors import ArgumentError, DTypeError, ShapeError
from ..kernel import row_kernel
from ..kernel.elementary import exp
from ..kernel.primitives import accumulate, lane_barrier, lane_sum, lanes, put, real, select
from ..layout import count
from ..tape import record, refuse_tracked
from ..tensor import Tensor, empty
from .apply import as_tensor, copied, row_major, run_rows, together, widened
from .arithmetic import div
from .ids import checked_ids
from .log_softmax import log_sum_of
from .movement import narrowed
from .plans import same_backend
from .reduction import sum_
from .table import op

NONE = -1
"""What kernels take for "no class is ignored": an id that a checked target never is."""


@row_kernel("x[rows,n] targets[rows]:int -> loss[rows] counts[rows]; ignored:int")
def nll_kernel(row, x, targets, loss, counts, ignored):
    """One row: minus the number at its target, or nothing where that is ignored."""
    target = targets[row]
    kept = target != ignored
    put(loss, row, select(kept, -x[row, target if kept else 0], 0.0))
    put(counts, row, select(kept, real(1), real(0)))


@row_kernel("targets[rows]:int total[one] dout[one] -> dx[rows,n]; ignored:int")
def nll_grad_kernel(row, targets, total, dout, dx, ignored):
    """One row: 0 but at its target."""
    for j in lanes(dx.shape[1]):
        put(dx, (row, j), real(0))
    lane_barrier()
    target = targets[row]
    if target != ignored:
        put(dx, (row, target), -dout[0] / total[0])


@row_kernel("x[rows,n] targets[rows]:int -> loss[rows] counts[rows] lse[rows]; smoothing ignored:int")
def smoothed_kernel(row, x, targets, loss, counts, lse, smoothing, ignored):
    """One row: log sum exp, and its distance from the target's logit and from the mean logit."""
    m, total = log_sum_of(x[row])
    moved = real(0)
    for j in lanes(x.shape[1]):
        moved = accumulate(moved, x[row, j] - m)
    mean = lane_sum(moved) / real(x.shape[1])
    target = targets[row]
    kept = target != ignored
    right = x[row, target if kept else 0] - m
    put(lse, row, m + total)
    put(loss, row, select(kept, total - (1.0 - smoothing) * right - smoothing * mean, 0.0))
    put(counts, row, select(kept, real(1), real(0)))


@row_kernel("x[rows,n] targets[rows]:int lse[rows] total[one] dout[one] -> dx[rows,n]; smoothing ignored:int")
def smoothed_grad_kernel(row, x, targets, lse, total, dout, dx, smoothing, ignored):
    """Dx = (softmax(x) - smoothing / n - (1 - smoothing) onehot(target)) dout / total, or 0 where ignored."""
    target = targets[row]
    kept = target != ignored
    factor = select(kept, dout[0] / total[0], 0.0)
    share = smoothing / real(x.shape[1])
    for j in lanes(x.shape[1]):
        put(dx, (row, j), select(kept, (exp(x[row, j] - lse[row]) - share) * factor, 0.0))
    lane_barrier()
    if kept:
        p = exp(x[row, target] - lse[row]) - 1.0
        put(dx, (row, target), (p + smoothing - share) * factor)


def _check(name: str, x: Tensor, targets, ignored: int | None) -> tuple[Tensor, int, int]:
    if x.dtype.kind != "f":
        raise DTypeError(f"{name} got dtype {x.dtype.name}: convert to a float dtype with astype")
    if x.ndim == 0 or x.shape[-1] == 0 or np.shape(targets) != x.shape[:-1]:
        raise ShapeError(
            f"{name} got shape {x.shape} and targets of shape {np.shape(targets)}: targets must have its shape without "
            "the last axis, the classes"
        )
    classes = x.shape[-1]
    return checked_ids(name, targets, classes, x.backend, "target", ignored), count(x.shape[:-1]), classes


def _samples(rng: np.random.Generator):
    for shape, ignored in (((7,), None), ((3, 5), None), ((2, 3, 4), 1), ((4, 1), None), ((5, 3), 2)):
        targets = rng.integers(0, shape[-1], shape[:-1])
        if ignored is not None:
            targets.flat[0] = 0
        yield (rng.uniform(-2, 2, shape), targets), {} if ignored is None else {"ignore_index": ignored}


def nll_loss_reference(x, targets, ignore_index=None):
    """Mean of minus the numbers at the targets by NumPy."""
    picked = -np.take_along_axis(x, np.asarray(targets)[..., None], -1)[..., 0]
    kept = np.ones(np.shape(targets), bool) if ignore_index is None else np.not_equal(targets, ignore_index)
    return picked[kept].sum() / kept.sum()


@op(_samples, nll_loss_reference)
def nll_loss(log_probs, targets, ignore_index: int | None = None) -> Tensor:
    r"""Mean negative log likelihood, :math:`out = -\frac1T \sum_t x_{t, y_t}`, over the rows that are not ignored.

    Backward: :math:`dx_{t, y_t} = -dout / T`, else 0. Saves the targets. If no row counts, the loss is NaN.

    Parameters
    ----------
    log_probs : Tensor
        ``[..., n]``, as `log_softmax` gives them.
    targets : integer Tensor or array_like
        ``[...]``, the right class of each row.
    ignore_index : int, optional
        A target that does not count; it may be no class at all.

    Raises
    ------
    ShapeError, DTypeError
        If the shapes do not fit, or the dtypes are not floats and integers.
    IndexRangeError
        If a target is neither a class nor `ignore_index`; it is checked before a kernel runs.
    """
    x = as_tensor(log_probs, targets)
    targets, rows, classes = _check("nll_loss", x, targets, ignore_index)
    ignored = NONE if ignore_index is None else ignore_index
    source, shape = widened(x.detach()), x.shape
    loss, counts = (empty((rows,), source.dtype, x.backend) for _ in range(2))
    run_rows(nll_kernel, (rows, classes), (source, targets, loss, counts), (ignored,), work=1)
    total, dtype = sum_(counts), source.dtype
    out = div(sum_(loss), total)

    def backward(dout):
        return (_nll_grad(dout, targets, total, shape, ignored),)

    return record(narrowed(out, x.dtype) if dtype is not x.dtype else out, (x,), backward)


def _nll_grad(dout: Tensor, targets: Tensor, total: Tensor, shape: tuple[int, ...], ignored: int) -> Tensor:
    """`dout` shared out to the targets. Backward: minus the mean of the cotangent at the targets."""
    rows, classes = count(shape[:-1]), shape[-1]
    slope = copied(dout.detach(), total.dtype)
    dx = empty(shape, total.dtype, total.backend)
    operands = targets, row_major(total, (1,)), row_major(slope, (1,)), dx
    run_rows(nll_grad_kernel, (rows, 1, classes), operands, (ignored,), work=classes)

    def backward(g):
        return (nll_loss(g, targets, None if ignored == NONE else ignored),)

    return record(narrowed(dx, dout.dtype), (dout,), backward)


def _smoothed_samples(rng: np.random.Generator):
    for arrays, keywords in _samples(rng):
        yield arrays, {**keywords, "label_smoothing": 0.1}


def _lse(x):
    m = x.max(-1, keepdims=True)
    return (m + np.log(np.exp(x - m).sum(-1, keepdims=True)))[..., 0]


def smoothed_cross_entropy_reference(x, targets, label_smoothing=0.0, ignore_index=None):
    """Mean cross entropy with smoothed labels by NumPy."""
    logs = x - _lse(x)[..., None]
    n = x.shape[-1]
    wanted = (np.arange(n) == np.asarray(targets)[..., None]) * (1 - label_smoothing) + label_smoothing / n
    kept = np.ones(np.shape(targets), bool) if ignore_index is None else np.not_equal(targets, ignore_index)
    return -(wanted * logs).sum(-1)[kept].sum() / kept.sum()


@op(_smoothed_samples, smoothed_cross_entropy_reference)
def smoothed_cross_entropy(logits, targets, label_smoothing: float = 0.0, ignore_index: int | None = None) -> Tensor:
    r"""Mean cross entropy of logits with smoothed labels, over the rows that are not ignored.

    .. math::
        out = \frac1T \sum_t \Bigl(\log\sum_j e^{x_{tj}} - (1 - s)\,x_{t,y_t} - \frac{s}{n} \sum_j x_{tj}\Bigr)

    with the smoothing s over n classes. Backward: `smoothed_cross_entropy_grad`,
    :math:`dx = (softmax(x) - s / n - (1 - s)\,onehot(y))\,dout / T`. Saves the logits, one log-sum-exp a row, and T.

    Parameters
    ----------
    logits : Tensor
        ``[..., n]``, one score per class.
    targets : integer Tensor or array_like
        ``[...]``, the right class of each row.
    label_smoothing : float
        s, from 0 to 1: how much of each label is shared out to all classes.
    ignore_index : int, optional
        A target that does not count; it may be no class at all.

    Raises
    ------
    ShapeError, DTypeError
        If the shapes do not fit, or the dtypes are not floats and integers.
    ArgumentError
        If `label_smoothing` is not in [0, 1].
    IndexRangeError
        If a target is neither a class nor `ignore_index`; it is checked before a kernel runs.

    References
    ----------
    Szegedy et al., "Rethinking the Inception Architecture for Computer Vision", 2016, section 7.
    """
    logits = as_tensor(logits, targets)
    if not 0 <= label_smoothing <= 1:
        raise ArgumentError(f"smoothed_cross_entropy got label_smoothing={label_smoothing}: it must be in [0, 1]")
    targets, rows, classes = _check("smoothed_cross_entropy", logits, targets, ignore_index)
    ignored, source = NONE if ignore_index is None else ignore_index, widened(logits.detach())
    loss, counts, lse = (empty((rows,), source.dtype, logits.backend) for _ in range(3))
    run_rows(smoothed_kernel, (rows, classes), (source, targets, loss, counts, lse), (label_smoothing, ignored))
    total = sum_(counts)
    out = div(sum_(loss), total)

    def backward(dout):
        return (smoothed_cross_entropy_grad(logits, targets, lse, total, dout, label_smoothing, ignore_index),)

    return record(narrowed(out, logits.dtype), (logits,), backward)


def _grad_samples(rng: np.random.Generator):
    for (x, targets), keywords in _smoothed_samples(rng):
        kept = np.not_equal(targets, keywords.get("ignore_index", NONE)).sum()
        yield (x, targets, _lse(x), np.float64(kept), rng.uniform(0.5, 2, ())), keywords


def _grad_reference(x, targets, lse, total, dout, label_smoothing=0.0, ignore_index=NONE):
    n = x.shape[-1]
    wanted = (np.arange(n) == np.asarray(targets)[..., None]) * (1 - label_smoothing) + label_smoothing / n
    kept = np.not_equal(targets, ignore_index)[..., None]
    return np.where(kept, (np.exp(x - lse[..., None]) - wanted) * dout / total, 0.0)


@op(_grad_samples, _grad_reference, ())
def smoothed_cross_entropy_grad(
    logits, targets, lse, total, dout, label_smoothing: float = 0.0, ignore_index: int | None = None
) -> Tensor:
    """Gradient of `smoothed_cross_entropy` from the log-sum-exp of each row and the number of rows, see there.

    Raises
    ------
    TapeError
        If an operand is tracked: it has no derivative of its own.
    """
    logits = as_tensor(logits, targets) if isinstance(targets, Tensor) else logits
    logits, lse, total, dout = together(logits, lse, total, dout)
    refuse_tracked("smoothed_cross_entropy_grad", (logits, lse, total, dout))
    same_backend("smoothed_cross_entropy_grad", (logits, lse, total, dout))
    targets, rows, classes = _check("smoothed_cross_entropy_grad", logits, targets, ignore_index)
    source, dtype = widened(logits.detach()), logits.dtype
    lse, total, dout = (
        copied(t, source.dtype) if t.dtype is not source.dtype else widened(t) for t in (lse, total, dout)
    )
    dx = empty(logits.shape, source.dtype, logits.backend)
    operands = source, targets, row_major(lse, (rows,)), row_major(total, (1,)), row_major(dout, (1,)), dx
    scalars = label_smoothing, NONE if ignore_index is None else ignore_index
    run_rows(smoothed_grad_kernel, (rows, classes, 1), operands, scalars, work=classes)
    return narrowed(dx, dtype)
