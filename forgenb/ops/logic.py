"""Logic: logical_and, logical_or, logical_xor, logical_not, the operators ``& | ^ ~``, and over axes any and all.

Operands of another dtype than bool count as True where they are not 0, NaN included, as in NumPy; the operators take
bool tensors only, since on integers NumPy's work on bits. Nothing here is differentiable.

Imports what every family of ops does (see `forgenb.ops`); a result here is bool and never on the tape.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..dtypes import BOOL, FLOAT32
from ..errors import DTypeError
from ..kernel import map_kernel
from ..tensor import Tensor, full
from .apply import as_tensor, copied, narrowed, run_map, together
from .extrema import extreme
from .reduction import reduced_shape
from .settings import flag, normalized_axes
from .table import PAIRS, SHAPES, op


def truth(x: Tensor) -> Tensor:
    """`x` as a bool tensor, off the tape: whether it is not 0."""
    return narrowed(x, BOOL)


def _truths(*values) -> tuple[Tensor, ...]:
    return tuple(truth(t) for t in together(*values))


def _pairs(rng: np.random.Generator):
    for first, second in PAIRS:
        yield (np.round(rng.uniform(-1, 1, first)), rng.uniform(size=second) < 0.5), {}
    yield (np.array([0.0, -0.0, 0.25, np.nan]), np.array([[0.0], [-3.0]])), {}
    yield (np.array([0, 2]), np.array([[0], [-3]])), {}


@map_kernel("x:bool y:bool -> out:bool")
def logical_and_kernel(x, y):
    """Whether both hold."""
    return x & y


@op(_pairs, np.logical_and, (), dtypes="bool")
def logical_and(x, y) -> Tensor:
    r"""Whether both operands are true, with broadcasting, as a bool tensor. Not differentiable."""
    return run_map(logical_and_kernel, _truths(x, y))


@map_kernel("x:bool y:bool -> out:bool")
def logical_or_kernel(x, y):
    """Whether one holds."""
    return x | y


@op(_pairs, np.logical_or, (), dtypes="bool")
def logical_or(x, y) -> Tensor:
    r"""Whether one of the operands is true, or both, with broadcasting, as a bool tensor. Not differentiable."""
    return run_map(logical_or_kernel, _truths(x, y))


@map_kernel("x:bool y:bool -> out:bool")
def logical_xor_kernel(x, y):
    """Whether one holds and the other does not."""
    return x != y


@op(_pairs, np.logical_xor, (), dtypes="bool")
def logical_xor(x, y) -> Tensor:
    r"""Whether just one of the operands is true, with broadcasting, as a bool tensor. Not differentiable."""
    return run_map(logical_xor_kernel, _truths(x, y))


@map_kernel("x:bool -> out:bool")
def logical_not_kernel(x):
    """Whether it does not hold."""
    return x == False  # noqa: E712, `not` would be a branch


def _not_samples(rng: np.random.Generator):
    for shape in SHAPES:
        yield (np.round(rng.uniform(-1, 1, shape)),), {}
    yield (rng.uniform(size=(3, 4)) < 0.5,), {}


@op(_not_samples, np.logical_not, (), dtypes="bool")
def logical_not(x) -> Tensor:
    r"""Whether the operand is false, as a bool tensor. Not differentiable."""
    return run_map(logical_not_kernel, (truth(as_tensor(x)),))


def _axis_samples(rng: np.random.Generator):
    for shape in SHAPES:
        yield (np.round(rng.uniform(-0.7, 0.7, shape)),), {}
    for axis in (0, -1, (0, 2)):
        yield (np.round(rng.uniform(-0.7, 0.7, (3, 4, 5))),), {"axis": axis, "keepdims": axis == 0}
    yield (rng.uniform(size=(3, 4)) < 0.5,), {"axis": 1}
    yield (np.zeros((3, 0)),), {"axis": 1}
    yield (np.zeros((3, 0)),), {"axis": 0}


def _over_axes(name: str, x, axis, keepdims: bool) -> Tensor:
    """Whether one is true, or none is false: the largest of 0 and 1 or the smallest; False and True for nothing."""
    x, every = truth(as_tensor(x)), name == "all"
    axes, keepdims = normalized_axes(name, x.ndim, axis), flag(name, "keepdims", keepdims)
    if x.size == 0:
        return full(reduced_shape(x.shape, axes, keepdims), every, BOOL, x.backend)
    return truth(extreme(copied(x, FLOAT32), axes, keepdims, every))


@op(_axis_samples, np.any, (), name="any", dtypes="bool")
def any_(x, axis=None, keepdims: bool = False) -> Tensor:
    r"""Whether one element along axes is true (not 0), as a bool tensor; False for none. Not differentiable.

    Raises
    ------
    ShapeError
        If an axis does not exist or is repeated.
    """
    return _over_axes("any", x, axis, keepdims)


@op(_axis_samples, np.all, (), name="all", dtypes="bool")
def all_(x, axis=None, keepdims: bool = False) -> Tensor:
    r"""Whether every element along axes is true (not 0), as a bool tensor; True for none. Not differentiable.

    Raises
    ------
    ShapeError
        If an axis does not exist or is repeated.
    """
    return _over_axes("all", x, axis, keepdims)


def of_bools(symbol: str, function: Callable) -> Callable:
    """The operator `symbol` for bool tensors."""

    def operator(*operands):
        found = together(*operands)
        for t in found:
            if t.dtype is not BOOL:
                raise DTypeError(
                    f"{symbol} got a tensor of dtype {t.dtype.name}: it works on bool tensors, compare first as in "
                    f"(x > 0), or use fnb.ops.{function.__name__}"
                )
        return function(*found)

    operator.__doc__ = function.__doc__
    return operator


AND, OR, XOR, NOT = (
    of_bools(symbol, function)
    for symbol, function in (("&", logical_and), ("|", logical_or), ("^", logical_xor), ("~", logical_not))
)
