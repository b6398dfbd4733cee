"""Comparisons, which give bool tensors, and what chooses by them: maximum, minimum, where.

Operands are compared in the dtype that `forgenb.dtypes` gives them together, so int64 with int64 is exact.
As in NumPy, a comparison with NaN is False, except `not_equal`. Comparisons are not differentiable.

Imports what every family of ops does (see `forgenb.ops`); a comparison is never put on the tape.
"""

from __future__ import annotations

import numpy as np

from ..creation import tensor
from ..dtypes import BOOL
from ..kernel import map_kernel
from ..kernel.primitives import select
from ..tape import record
from ..tensor import Tensor
from .apply import as_tensor, narrowed, pair, run_map
from .pointwise import as_floats
from .reduction import sum_to
from .table import PAIRS, binary, op


def _with_ties(rng: np.random.Generator):
    for first, second in PAIRS:
        yield (np.round(rng.uniform(-2, 2, first)), np.round(rng.uniform(-2, 2, second))), {}
    yield (rng.integers(-2, 2, (3, 4)), rng.integers(-2, 2, (3, 4))), {}


@map_kernel("x y -> out:bool")
def greater_kernel(x, y):
    """Whether x is above y."""
    return x > y


@op(_with_ties, np.greater, (), dtypes="bool")
def greater(x, y) -> Tensor:
    r"""Whether :math:`x > y`, with broadcasting, as a bool tensor. Not differentiable."""
    return run_map(greater_kernel, pair(x, y))


@map_kernel("x y -> out:bool")
def greater_equal_kernel(x, y):
    """Whether x is not below y, nor NaN."""
    return x >= y


@op(_with_ties, np.greater_equal, (), dtypes="bool")
def greater_equal(x, y) -> Tensor:
    r"""Whether :math:`x \ge y`, with broadcasting, as a bool tensor. Not differentiable."""
    return run_map(greater_equal_kernel, pair(x, y))


@op(_with_ties, np.less, (), dtypes="bool")
def less(x, y) -> Tensor:
    r"""Whether :math:`x < y`, with broadcasting, as a bool tensor. Not differentiable."""
    return run_map(greater_kernel, pair(x, y)[::-1])


@op(_with_ties, np.less_equal, (), dtypes="bool")
def less_equal(x, y) -> Tensor:
    r"""Whether :math:`x \le y`, with broadcasting, as a bool tensor. Not differentiable."""
    return run_map(greater_equal_kernel, pair(x, y)[::-1])


@map_kernel("x y -> out:bool")
def equal_kernel(x, y):
    """Whether x is y."""
    return x == y


@op(_with_ties, np.equal, (), dtypes="bool")
def equal(x, y) -> Tensor:
    r"""Whether :math:`x = y`, with broadcasting, as a bool tensor. Not differentiable."""
    return run_map(equal_kernel, pair(x, y))


@map_kernel("x y -> out:bool")
def not_equal_kernel(x, y):
    """Whether x is not y."""
    return x != y


@op(_with_ties, np.not_equal, (), dtypes="bool")
def not_equal(x, y) -> Tensor:
    r"""Whether :math:`x \ne y`, with broadcasting, as a bool tensor. Not differentiable."""
    return run_map(not_equal_kernel, pair(x, y))


@map_kernel("x y -> out")
def maximum_kernel(x, y):
    """The larger of two, or the NaN."""
    return select((x > y) | (x != x), x, y)


@map_kernel("x y -> out")
def minimum_kernel(x, y):
    """The smaller of two, or the NaN."""
    return select((x < y) | (x != x), x, y)


@map_kernel("x y dout -> dx")
def maximum_grad_kernel(x, y, dout):
    """The share of `dout` that the larger of two gets."""
    return select(x == y, 0.5 * dout, select(x < y, 0.0, dout))


def _maximum_grad_samples(rng: np.random.Generator):
    for (x, y), _ in binary(-2, 2, apart=True)(rng):
        yield (x, y, rng.uniform(-2, 2, np.broadcast_shapes(x.shape, y.shape))), {}
    yield (rng.uniform(0, 1, (3, 4)), rng.uniform(-2, -1, (3, 1)), rng.uniform(-2, 2, 4)), {}


def maximum_grad_reference(x, y, dout):
    """The share of `dout` by NumPy; comparisons with NaN fail."""
    return np.where(x == y, 0.5 * dout, np.where(x < y, 0.0, dout))


@op(_maximum_grad_samples, maximum_grad_reference, (2,), dtypes="float")
def maximum_grad(x, y, dout) -> Tensor:
    r"""What `maximum` hands to `x`: `dout` where :math:`x > y`, half of it at ties, else 0.

    `minimum` hands ``maximum_grad(y, x, dout)`` to `x`. Where an operand is NaN, both get `dout`.

    Backward, with the cotangent :math:`g`: ``maximum_grad(x, y, g)`` for `dout`. Saves `x` and `y`.
    """
    x, y, dout = as_floats(x, y, dout)

    def backward(g):
        return None, None, sum_to(maximum_grad(x, y, g), dout.shape)

    return record(run_map(maximum_grad_kernel, (x, y, dout)), (x, y, dout), backward)


@op(binary(-2, 2, apart=True), np.maximum, (0, 1))
def maximum(x, y) -> Tensor:
    r"""The larger of two operands with broadcasting, :math:`out = \max(x, y)`; NaN if either is NaN.

    Backward: `dout` goes to the larger operand; at a tie each gets half of it, whatever their order.
    Saves both.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast.
    """
    x, y = pair(x, y)

    def backward(dout):
        dx = sum_to(maximum_grad(x, y, dout), x.shape) if x.requires_grad else None
        dy = sum_to(maximum_grad(y, x, dout), y.shape) if y.requires_grad else None
        return dx, dy

    return record(run_map(maximum_kernel, (x, y)), (x, y), backward)


@op(binary(-2, 2, apart=True), np.minimum, (0, 1))
def minimum(x, y) -> Tensor:
    r"""The smaller of two operands with broadcasting, :math:`out = \min(x, y)`; NaN if either is NaN.

    Backward: `dout` goes to the smaller operand; at a tie each gets half of it, whatever their order.
    Saves both.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast.
    """
    x, y = pair(x, y)

    def backward(dout):
        dx = sum_to(maximum_grad(y, x, dout), x.shape) if x.requires_grad else None
        dy = sum_to(maximum_grad(x, y, dout), y.shape) if y.requires_grad else None
        return dx, dy

    return record(run_map(minimum_kernel, (x, y)), (x, y), backward)


@map_kernel("condition:bool x y -> out")
def where_kernel(condition, x, y):
    """A choice between two."""
    return select(condition, x, y)


def _where_samples(rng: np.random.Generator):
    for (x, y), _ in binary(-2, 2)(rng):
        yield (rng.uniform(size=np.broadcast_shapes(x.shape, y.shape)) < 0.5, x, y), {}
    yield (np.array([[True], [False]]), rng.uniform(-2, 2, 3), rng.uniform(-2, 2, (2, 1))), {}


@op(_where_samples, np.where, (1, 2))
def where(condition, x, y) -> Tensor:
    r"""`x` where `condition` holds, else `y`, with broadcasting of all three.

    A condition of another dtype than bool holds where it is not 0.

    Backward: `dout` where the operand was chosen, else 0, summed to its shape. Saves the condition.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast.
    """
    if isinstance(condition, Tensor) and not isinstance(x, Tensor) and not isinstance(y, Tensor):
        x = tensor(x, backend=condition.backend.name)
    x, y = pair(x, y)
    condition = narrowed(as_tensor(condition, x), BOOL)
    x_shape, y_shape = x.shape, y.shape

    def backward(dout):
        chosen, other = where(condition, dout, 0.0), where(condition, 0.0, dout)
        return sum_to(chosen, x_shape), sum_to(other, y_shape)

    return record(run_map(where_kernel, (condition, x, y)), (x, y), backward)
