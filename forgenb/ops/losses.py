"""Losses of numbers against numbers: squared, absolute and Huber's, and the divergence of distributions.

Operands must have one shape: a loss that broadcasts ``(n,)`` against ``(n, 1)`` hides a mistake.

Imports what every family of ops does (see `forgenb.ops`); losses of classes are in files of their own.
"""

from __future__ import annotations

import numpy as np

from ..errors import ArgumentError, ShapeError
from ..kernel import map_kernel
from ..kernel.elementary import log as log_of
from ..kernel.primitives import absolute, select
from ..tape import record
from ..tensor import Tensor
from .activations import clip
from .apply import pair, run_map
from .arithmetic import mul, neg
from .comparison import where
from .pointwise import abs_, as_float, as_floats, log, square
from .reduction import mean, sum_
from .settings import number, quoted
from .table import op, unary


def _alike(name: str, x, y) -> tuple[Tensor, Tensor]:
    """Two float operands of one shape.

    Raises
    ------
    ShapeError
        If their shapes differ.
    """
    x, y = pair(x, y)
    if x.shape != y.shape:
        raise ShapeError(f"{name} got shapes {x.shape} and {y.shape}: they must be equal, nothing is broadcast")
    x, y = as_floats(x, y)
    return x, y


def _samples(low: float, high: float, apart: float = 0.0):
    """Pairs of one shape; differences lie at least 0.06 from the kinks at multiples of `apart`, where that is given."""

    def samples(rng: np.random.Generator):
        for shape in ((), (7,), (3, 5), (2, 1, 4)):
            x, y = rng.uniform(low, high, shape), rng.uniform(low, high, shape)
            if apart:
                x, y = np.round(x * 8) / 8, np.round(y * 8) / 8 + 0.06
            yield (x, y), {}

    return samples


@op(_samples(-2, 2), lambda x, y: np.mean((x - y) ** 2), (0, 1), dtypes="float")
def mse_loss(x, y) -> Tensor:
    r"""Mean squared error, :math:`out = \frac1n \sum (x - y)^2`.

    Backward: :math:`dx = \frac2n (x - y)\,dout`, and its negative for y. Saves the difference.

    Raises
    ------
    ShapeError
        If the shapes differ.
    """
    x, y = _alike("mse_loss", x, y)
    return mean(square(x - y))


@op(_samples(-2, 2, 0.125), lambda x, y: np.mean(np.abs(x - y)), (0, 1), dtypes="float")
def l1_loss(x, y) -> Tensor:
    r"""Mean absolute error, :math:`out = \frac1n \sum |x - y|`.

    Backward: :math:`dx = \frac1n \operatorname{sign}(x - y)\,dout`, 0 where they are equal, and its negative for y.
    Saves the difference.

    Raises
    ------
    ShapeError
        If the shapes differ.
    """
    x, y = _alike("l1_loss", x, y)
    return mean(abs_(x - y))


def _positive(name: str, delta) -> float:
    found = number(name, "delta", delta)
    if not found > 0:
        raise ArgumentError(f"{name} got delta={quoted(delta)}: it must be above 0")
    return found


@map_kernel("x -> out; delta")
def huber_kernel(x, delta):
    """Half the square near 0, a line beyond `delta`."""
    a = absolute(x)
    return select(a > delta, delta * (a - 0.5 * delta), 0.5 * x * x)


def huber_reference(x, delta=1.0):
    """Huber's function by NumPy."""
    return np.where(np.abs(x) <= delta, x * x / 2, delta * (np.abs(x) - delta / 2))


@op(unary(-3, 3, apart=(-1.0, 1.0)), huber_reference, dtypes="float")
def huber(x, delta: float = 1.0) -> Tensor:
    r"""Huber's function, :math:`\frac12 x^2` where :math:`|x| \le \delta`, else :math:`\delta\,(|x| - \frac12 \delta)`.

    Backward: ``clip(x, -delta, delta)`` times `dout`. Saves `x`.

    Raises
    ------
    ArgumentError
        If `delta` is not above 0.
    """
    x, delta = as_float(x), _positive("huber", delta)

    def backward(dout):
        return (mul(clip(x, -delta, delta), dout),)

    return record(run_map(huber_kernel, (x,), (delta,)), (x,), backward)


@op(_samples(-2, 2, 0.125), lambda x, y, delta=1.0: np.mean(huber_reference(x - y, delta)), (0, 1), dtypes="float")
def huber_loss(x, y, delta: float = 1.0) -> Tensor:
    r"""Mean of `huber` of the difference: squares of small errors, sizes of large ones.

    Backward: :math:`dx = \frac1n \operatorname{clip}(x - y, -\delta, \delta)\,dout`, and its negative for y.
    Saves the difference.

    Raises
    ------
    ShapeError
        If the shapes differ.
    ArgumentError
        If `delta` is not above 0.

    References
    ----------
    Huber, "Robust estimation of a location parameter", 1964.
    """
    x, y = _alike("huber_loss", x, y)
    delta = _positive("huber_loss", delta)
    return mean(huber(x - y, delta))


@map_kernel("x y -> out")
def kl_kernel(x, y):
    """One term, y (log y - x); 0 where y is."""
    return select(y == 0.0, 0.0, y * (log_of(y) - x))


def _kl_samples(rng: np.random.Generator):
    for shape in ((7,), (3, 5), (2, 3, 4)):
        yield (np.log(rng.uniform(0.1, 1, shape)), rng.uniform(0.1, 1, shape)), {}


def kl_reference(x, y):
    """Terms of the divergence by SciPy."""
    from scipy.special import xlogy

    return xlogy(y, y) - y * x


@op(_kl_samples, kl_reference, (0, 1), dtypes="float")
def kl_terms(log_probs, targets) -> Tensor:
    r"""Terms of the Kullback-Leibler divergence, :math:`out = y\,(\log y - x)`, and 0 where y is 0.

    Backward: :math:`dx = -y\,dout`, :math:`dy = (\log y + 1 - x)\,dout`, 0 where y is 0. Saves both.

    Raises
    ------
    ShapeError
        If the shapes differ.
    """
    x, y = _alike("kl_terms", log_probs, targets)

    def backward(dout):
        dx = neg(mul(y, dout)) if x.requires_grad else None
        return dx, where(y == 0.0, 0.0, (log(y) + 1.0 - x) * dout) if y.requires_grad else None

    return record(run_map(kl_kernel, (x, y)), (x, y), backward)


@op(_kl_samples, lambda x, y: np.mean(kl_reference(x, y).sum(-1)), (0, 1), dtypes="float")
def kl_div(log_probs, targets) -> Tensor:
    r"""Kullback-Leibler divergence of distributions along the last axis, and its mean over the others.

    .. math::
        out = \frac1T \sum_t \sum_j y_{tj}\,(\log y_{tj} - x_{tj})

    Backward: see `kl_terms`.

    Parameters
    ----------
    log_probs : Tensor
        ``[..., n]``: x, as `log_softmax` gives it.
    targets : Tensor
        ``[..., n]``: y, probabilities.

    Raises
    ------
    ShapeError
        If the shapes differ or there is no axis.

    References
    ----------
    Kullback and Leibler, "On information and sufficiency", 1951.
    """
    x, y = _alike("kl_div", log_probs, targets)
    if x.ndim == 0:
        raise ShapeError(f"kl_div got shape {x.shape}: it needs an axis of outcomes")
    return mean(sum_(kl_terms(x, y), axis=-1))
