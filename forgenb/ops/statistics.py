"""Reductions made of sums: var, std, norm, logsumexp.

float16 is computed in float32, integers and bools become float32. Where a root is 0 its slope is not defined; `norm`
and `std` have the gradient 0 there, the one that makes a step of descent stand still.

Imports what every family of ops does (see `forgenb.ops`); how sums are formed is `forgenb.ops.reduction`.
"""

from __future__ import annotations

import numpy as np

from ..layout import count
from ..tape import record
from ..tensor import Tensor, full
from .apply import narrowed, widened
from .arithmetic import add, div, mul, sub
from .comparison import equal, where
from .extrema import max_
from .movement import reshape, zeros
from .pointwise import as_float, exp, log, sqrt, square
from .reduction import mean, reduced_shape, sum_
from .settings import flag, normalized_axes, number
from .table import op


def _samples(rng: np.random.Generator):
    for shape in ((1,), (7,), (3, 5), (2, 1, 4)):
        yield (rng.uniform(-2, 2, shape),), {}
    for axis in (0, -1, (0, 2), (0, 1)):
        yield (rng.uniform(-2, 2, (3, 4, 5)),), {"axis": axis, "keepdims": axis in (0, (0, 2))}
    yield (rng.uniform(-2, 2, (130, 3)),), {"axis": 0}
    yield (rng.uniform(-2, 2, 300),), {}


def _with_ddof(rng: np.random.Generator):
    for arrays, words in _samples(rng):
        if words or arrays[0].size > 1:
            yield arrays, words
    yield (rng.uniform(-2, 2, (3, 4)),), {"axis": 1, "ddof": 1}
    yield (rng.uniform(-2, 2, (2, 5)),), {"axis": 1, "ddof": 2, "keepdims": True}


def _freedom(name: str, x: Tensor, axes: tuple[int, ...], ddof: float) -> float:
    return float(max(count(tuple(x.shape[a] for a in axes)) - number(name, "ddof", ddof), 0))


def _variance(x: Tensor, axes: tuple[int, ...], keepdims: bool, freedom: float) -> Tensor:
    """The variance in the dtype that it is computed in (off the tape)."""
    x = widened(x.detach())
    squares = square(sub(x, mean(x, axes, True)))
    return div(sum_(squares, axes, keepdims), freedom)


@op(_with_ddof, np.var, dtypes="float")
def var(x, axis=None, keepdims: bool = False, ddof: float = 0) -> Tensor:
    r"""Variance over axes, :math:`out = \frac{1}{n - ddof} \sum_{axis} (x - \bar x)^2`, in two passes.

    The variance of nothing is NaN; so is one with no degree of freedom left, or infinity.

    Backward: :math:`dx = \frac{2}{n - ddof} (x - \bar x)\,dout`, broadcast along the axes. Saves `x`.

    Raises
    ------
    ShapeError
        If an axis does not exist or is repeated.
    """
    x = as_float(x)
    axes, keepdims = normalized_axes("var", x.ndim, axis), flag("var", "keepdims", keepdims)
    kept, freedom = reduced_shape(x.shape, axes, True), _freedom("var", x, axes, ddof)

    def backward(dout):
        share = div(mul(reshape(dout, kept), 2.0), freedom)
        return (mul(sub(x, mean(x, axes, True)), share),)

    return record(narrowed(_variance(x, axes, keepdims, freedom), x.dtype), (x,), backward)


def _per_root(dout: Tensor, root: Tensor) -> Tensor:
    """``dout / root``, and 0 where the root is 0."""
    return where(equal(root, 0.0), 0.0, div(dout, root))


@op(_with_ddof, np.std, dtypes="float")
def std(x, axis=None, keepdims: bool = False, ddof: float = 0) -> Tensor:
    r"""Standard deviation over axes, :math:`out = \sqrt{\operatorname{var}(x)}`; see `var`.

    Backward: :math:`dx = \frac{x - \bar x}{(n - ddof)\,out}\,dout`, and 0 where `out` is 0. Saves `x` and its output.

    Raises
    ------
    ShapeError
        If an axis does not exist or is repeated.
    """
    x = as_float(x)
    axes, keepdims = normalized_axes("std", x.ndim, axis), flag("std", "keepdims", keepdims)
    kept, freedom = reduced_shape(x.shape, axes, True), _freedom("std", x, axes, ddof)

    def backward(dout, out):
        share = reshape(div(_per_root(dout, out), freedom), kept)
        return (mul(sub(x, mean(x, axes, True)), share),)

    out = narrowed(sqrt(_variance(x, axes, keepdims, freedom)), x.dtype)
    return record(out, (x,), backward, save_output=True)


@op(_samples, lambda x, axis=None, keepdims=False: np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims)), dtypes="float")
def norm(x, axis=None, keepdims: bool = False) -> Tensor:
    r"""Euclidean length over axes, :math:`out = \sqrt{\sum_{axis} x^2}`; that of nothing is 0.

    Over all axes, or two, it is the Frobenius norm. `sumsq` is its square.

    Backward: :math:`dx = dout\,x / out`, and 0 where `out` is 0. Saves `x` and its output.

    Raises
    ------
    ShapeError
        If an axis does not exist or is repeated.
    """
    x = as_float(x)
    axes, keepdims = normalized_axes("norm", x.ndim, axis), flag("norm", "keepdims", keepdims)
    kept = reduced_shape(x.shape, axes, True)

    def backward(dout, out):
        return (mul(x, reshape(_per_root(dout, out), kept)),)

    out = sqrt(sum_(square(widened(x.detach())), axes, keepdims))
    return record(narrowed(out, x.dtype), (x,), backward, save_output=True)


def _logsumexp_reference(x, axis=None, keepdims=False):
    top = np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0)
    out = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top
    return out if keepdims else np.squeeze(out, axis)


def _logsumexp_samples(rng: np.random.Generator):
    yield from _samples(rng)
    for shape in ((), (1,), (7,), (3, 5)):
        yield (rng.uniform(-20, 20, shape),), {}


@op(_logsumexp_samples, _logsumexp_reference, dtypes="float")
def logsumexp(x, axis=None, keepdims: bool = False) -> Tensor:
    r"""Logarithm of a sum of exponentials over axes, :math:`out = \log \sum_{axis} e^x`, without overflow.

    That of nothing is -infinity, the logarithm of 0.

    Backward: :math:`dx = e^{x - out}\,dout`, the softmax, and 0 where `out` is -infinity. Saves `x` and its output.

    Raises
    ------
    ShapeError
        If an axis does not exist or is repeated.
    """
    x = as_float(x)
    axes, keepdims = normalized_axes("logsumexp", x.ndim, axis), flag("logsumexp", "keepdims", keepdims)
    kept = reduced_shape(x.shape, axes, True)

    def backward(dout, out):
        anchor = reshape(_unless_infinite(out), kept)
        return (mul(exp(sub(x, anchor)), reshape(dout, kept)),)

    out = _log_of_sum(widened(x.detach()), axes, reduced_shape(x.shape, axes, keepdims))
    return record(narrowed(out, x.dtype), (x,), backward, save_output=True)


def _unless_infinite(x: Tensor) -> Tensor:
    """`x`, and 0 where it is -infinity: what can be taken from numbers that are -infinity too."""
    return where(equal(x, -np.inf), 0.0, x)


def _log_of_sum(x: Tensor, axes: tuple[int, ...], shape: tuple[int, ...]) -> Tensor:
    if x.size == 0:
        return full(shape, -np.inf, x.dtype, x.backend) if count(shape) else zeros(shape, x.dtype, x.backend)
    top = max_(x, axes, True)
    anchor = where(equal(top, np.inf), 0.0, _unless_infinite(top))
    return reshape(add(log(sum_(exp(sub(x, anchor)), axes, True)), anchor), shape)
