"""The loss of classes from log probabilities, and what it shares with the cross entropy: targets, some of them ignored.

The mean is over the rows that count; how many do is summed on the device, so nothing is read back.

Imports what every family of ops does (see `forgenb.ops`); ids are checked in `forgenb.ops.ids`, not here.
"""

from __future__ import annotations

import numpy as np

from ..errors import ArgumentError, ShapeError
from ..kernel import row_kernel
from ..kernel.primitives import lane_barrier, lanes, put, real, select
from ..layout import count
from ..tape import record
from ..tensor import Tensor, empty
from .apply import as_tensor, copied, narrowed, row_major, run_rows, widened
from .arithmetic import div
from .ids import as_array, checked_ids
from .plans import floats_only
from .reduction import sum_
from .settings import quoted
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


def class_targets(name: str, x: Tensor, targets, ignored: int | None) -> tuple[Tensor, int, int]:
    """Checked targets of x[..., n], the number of rows, and that of classes.

    Raises
    ------
    ShapeError, DTypeError
        If x holds no floats, or the shapes do not fit.
    IndexRangeError
        If a target is neither a class nor `ignored`.
    ArgumentError
        If `ignored` is no whole number of int64.
    """
    floats_only(name, x)
    targets = targets if isinstance(targets, Tensor) else as_array(name, targets, "target")
    if x.ndim == 0 or x.shape[-1] == 0 or targets.shape != x.shape[:-1]:
        raise ShapeError(
            f"{name} got shape {x.shape} and targets of shape {targets.shape}: targets must have its shape without "
            "the last axis, the classes"
        )
    if ignored is not None and not (isinstance(ignored, (int, np.integer)) and -(2**63) <= ignored < 2**63):
        raise ArgumentError(
            f"{name} got ignore_index={quoted(ignored)}: give a whole number of int64, or None for none"
        )
    classes = x.shape[-1]
    return checked_ids(name, targets, classes, x.backend, "target", ignored), count(x.shape[:-1]), classes


def class_samples(rng: np.random.Generator):
    """Samples of numbers and targets, some of which are ignored."""
    for shape, ignored in (((7,), None), ((3, 5), None), ((2, 3, 4), 1), ((4, 1), None), ((5, 3), 2)):
        targets = rng.integers(0, shape[-1], shape[:-1])
        if ignored is not None:
            targets.flat[0] = 0
        yield (rng.uniform(-2, 2, shape), targets), {} if ignored is None else {"ignore_index": ignored}


def nll_loss_reference(x, targets, ignore_index=NONE):
    """Mean of minus the numbers at the targets by NumPy."""
    picked = -np.take_along_axis(x, np.asarray(targets)[..., None], -1)[..., 0]
    kept = np.not_equal(targets, ignore_index)
    return picked[kept].sum() / kept.sum()


@op(class_samples, nll_loss_reference, dtypes="floats")
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
    ArgumentError
        If `ignore_index` is no whole number of int64.
    IndexRangeError
        If a target is neither a class nor `ignore_index`; it is checked before a kernel runs.
    """
    x = as_tensor(log_probs, targets)
    targets, rows, classes = class_targets("nll_loss", x, targets, ignore_index)
    ignored = NONE if ignore_index is None else ignore_index
    source, shape = widened(x.detach()), x.shape
    loss, counts = (empty((rows,), source.dtype, x.backend) for _ in range(2))
    run_rows(nll_kernel, (rows, classes), (source, targets, loss, counts), (ignored,), work=1)
    total = sum_(counts)
    out = div(sum_(loss), total)

    def backward(dout):
        return (_nll_grad(dout, targets, total, shape, ignored),)

    return record(narrowed(out, x.dtype), (x,), backward)


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
