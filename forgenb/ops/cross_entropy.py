"""The cross entropy of classes from logits, which neither saturates nor cancels; rows ignored, labels smoothed.

The plain loss has kernels of its own, which need no count of rows. Otherwise the mean is over the rows that count; how
many do is summed on the device, so nothing is read back.

Imports what every family of ops does (see `forgenb.ops`). A loss works from logits; none may take probabilities.
"""

from __future__ import annotations

import numpy as np

from ..creation import tensor
from ..errors import ArgumentError
from ..kernel import row_kernel
from ..kernel.elementary import exp
from ..kernel.primitives import accumulate, lane_barrier, lane_sum, lanes, put, real, select
from ..tape import record
from ..tensor import Tensor, empty, full
from .apply import as_tensor, copied, narrowed, row_major, run_rows, together, widened
from .arithmetic import div
from .casts import astype
from .class_losses import NONE, class_samples, class_targets
from .comparison import equal, not_equal, where
from .log_softmax import log_softmax_reference, log_sum_of
from .movement import reshape
from .plans import same_backend
from .pointwise import exp as exp_
from .reduction import mean, sum_
from .settings import number, quoted
from .statistics import logsumexp
from .steps import record_steps
from .table import op


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
    own = select(smoothing < 1.0, (1.0 - smoothing) * right, 0.0)  # a share of nothing of -inf is nothing
    shared = select(smoothing > 0.0, smoothing * mean, 0.0)
    put(loss, row, select(kept, total - own - shared, 0.0))
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


def _samples(rng: np.random.Generator):
    yield from class_samples(rng)
    for arrays, keywords in class_samples(rng):
        yield arrays, {**keywords, "label_smoothing": 0.1}


def _wanted(n, targets, label_smoothing):
    onehot = np.arange(n) == np.asarray(targets)[..., None]
    return onehot * (1 - label_smoothing) + label_smoothing / n


def cross_entropy_reference(x, targets, label_smoothing=0.0, ignore_index=NONE):
    """Mean cross entropy by NumPy."""
    wanted, kept = _wanted(x.shape[-1], targets, label_smoothing), np.not_equal(targets, ignore_index)
    terms = np.where(wanted > 0, wanted * log_softmax_reference(x), 0.0)
    return -terms.sum(-1)[kept].sum() / kept.sum()


def _share(name: str, label_smoothing) -> float:
    found = number(name, "label_smoothing", label_smoothing)
    if not 0 <= found <= 1:
        raise ArgumentError(f"{name} got label_smoothing={quoted(label_smoothing)}: it must be in [0, 1]")
    return found


@op(_samples, cross_entropy_reference, dtypes="floats")
def cross_entropy(logits, targets, label_smoothing: float = 0.0, ignore_index: int | None = None) -> Tensor:
    r"""Mean cross entropy of logits over the rows that are not ignored, in nats.

    .. math::
        out = \frac1T \sum_t \Bigl(\log\sum_j e^{x_{tj}} - (1 - s)\,x_{t,y_t} - \frac{s}{n} \sum_j x_{tj}\Bigr)

    with the smoothing s over n classes. Backward: `cross_entropy_grad`,
    :math:`dx = (softmax(x) - s / n - (1 - s)\,onehot(y))\,dout / T`, 0 in ignored rows. Saves the logits, one
    log-sum-exp a row, and T. If no row counts, the loss is NaN.

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
        If `label_smoothing` is not in [0, 1], or `ignore_index` is no whole number of int64.
    IndexRangeError
        If a target is neither a class nor `ignore_index`; it is checked before a kernel runs.

    References
    ----------
    Goodfellow, Bengio and Courville, "Deep Learning", 2016, section 6.2.2.3; for smoothed labels Szegedy et al.,
    "Rethinking the Inception Architecture for Computer Vision", 2016, section 7.
    """
    logits = as_tensor(logits, targets)
    label_smoothing = _share("cross_entropy", label_smoothing)
    targets, rows, classes = class_targets("cross_entropy", logits, targets, ignore_index)
    source = widened(logits.detach())
    loss, lse = (empty((rows,), source.dtype, logits.backend) for _ in range(2))
    if label_smoothing == 0 and ignore_index is None:
        run_rows(cross_entropy_kernel, (rows, classes), (source, targets, loss, lse))
        total, out = None, mean(loss)
    else:
        counts = empty((rows,), source.dtype, logits.backend)
        scalars = label_smoothing, NONE if ignore_index is None else ignore_index
        run_rows(smoothed_kernel, (rows, classes), (source, targets, loss, counts, lse), scalars)
        total = sum_(counts)
        out = div(sum_(loss), total)

    def backward(dout):
        own = record_steps(lse, (logits,), lambda x: reshape(logsumexp(x, -1), (rows,)))
        return (cross_entropy_grad(logits, targets, own, dout, total, label_smoothing, ignore_index),)

    return record(narrowed(out, logits.dtype), (logits,), backward)


def _grad_samples(rng: np.random.Generator):
    for (x, targets), keywords in _samples(rng):
        if x.shape[-1] == 1:
            continue  # softmax less 1 is 0 but for the rounding of lse, which no bound fits
        total = np.float64(np.not_equal(targets, keywords.get("ignore_index", NONE)).sum())
        plain = not keywords
        dout = rng.uniform(0.5, 2, ()) * rng.choice([-1, 1])
        yield (x, targets, np.logaddexp.reduce(x, -1), dout, *(() if plain else (total,))), keywords


def _grad_reference(x, targets, lse, dout, total=None, label_smoothing=0.0, ignore_index=NONE):
    total = np.size(targets) if total is None else total
    kept = np.not_equal(targets, ignore_index)[..., None]
    wanted = _wanted(x.shape[-1], targets, label_smoothing)
    return np.where(kept, (np.exp(x - lse[..., None]) - wanted) * dout / total, 0.0)


@op(_grad_samples, _grad_reference, (0, 2, 3, 4), dtypes="first float")
def cross_entropy_grad(
    logits, targets, lse, dout, total=None, label_smoothing: float = 0.0, ignore_index: int | None = None
) -> Tensor:
    """Gradient of `cross_entropy` from the log-sum-exp of each row, see there.

    `total` is a tensor of how many rows count, by default all.

    Backward: through the formula of `cross_entropy`, written in ops, with `lse` as an operand of its own. Saves the
    operands.
    """
    logits = as_tensor(logits, targets) if isinstance(targets, Tensor) else logits
    label_smoothing = _share("cross_entropy_grad", label_smoothing)
    operands = together(logits, lse, dout, *(() if total is None else (total,)))
    same_backend("cross_entropy_grad", operands)
    logits, *rest = operands
    targets, rows, classes = class_targets("cross_entropy_grad", logits, targets, ignore_index)
    source, dtype = widened(logits.detach()), logits.dtype
    lse, dout, *counted = (
        row_major(copied(t, source.dtype) if t.dtype is not source.dtype else widened(t), shape)
        for t, shape in zip(rest, ((rows,), (1,), (1,)), strict=False)
    )
    dx = empty(logits.shape, source.dtype, logits.backend)
    sizes = rows, classes, 1
    if total is None and label_smoothing == 0 and ignore_index is None:
        places = source, targets, lse, dout, dx
        run_rows(cross_entropy_grad_kernel, sizes, places, (1.0 / max(rows, 1),), work=classes)
    else:
        total = counted[0] if counted else full((1,), rows, source.dtype, logits.backend)
        scalars = label_smoothing, NONE if ignore_index is None else ignore_index
        run_rows(smoothed_grad_kernel, sizes, (source, targets, lse, total, dout, dx), scalars, work=classes)

    def steps(x, targets, lse, dout, total=float(rows)):
        wanted = _wanted_by(targets, x, label_smoothing)
        dx = (exp_(x - reshape(lse, (*x.shape[:-1], 1))) - wanted) * (reshape(dout, ()) / total)
        if ignore_index is None:
            return dx
        return where(not_equal(reshape(targets, (*x.shape[:-1], 1)), ignore_index), dx, 0.0)

    return record_steps(narrowed(dx, dtype), (operands[0], targets, *operands[1:]), steps)


def _wanted_by(targets: Tensor, x: Tensor, label_smoothing: float) -> Tensor:
    """What softmax is to be, ``[..., n]``: the one-hot targets, smoothed."""
    classes = tensor(np.arange(x.shape[-1]), backend=x.backend.name)
    onehot = astype(equal(reshape(targets, (*x.shape[:-1], 1)), classes), x.dtype)
    return onehot * (1 - label_smoothing) + label_smoothing / x.shape[-1]
