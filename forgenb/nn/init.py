"""Initial values of parameters: drawn on the host, from the stream of a seed and a parameter's name.

Imports random numbers, dtypes and tensors; a device never draws an initial value, so that all backends begin with
the same bits. Who has all values elsewhere makes a model inside of `unwritten`, which draws none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from .. import random
from ..backend import get_backend
from ..creation import tensor
from ..dtypes import as_dtype
from ..errors import ArgumentError
from ..layout import count
from ..tensor import Parameter, empty

_DRAWS: ContextVar[bool] = ContextVar("forgenb_draws", default=True)


@contextmanager
def unwritten() -> Iterator[None]:
    """Inside of it parameters are made whose memory holds anything, since the caller writes every one of them."""
    before = _DRAWS.set(False)
    try:
        yield
    finally:
        _DRAWS.reset(before)


def normal(
    name: str, shape: tuple[int, ...], std: float, seed: int | None, dtype: Any, backend: str | None
) -> Parameter:
    r"""A parameter drawn from :math:`N(0, std^2)`.

    The numbers depend on `name`, `seed` (by default the one set with ``fnb.seed``) and `shape` alone, and are
    the same bits on every backend. They are drawn in float64 and rounded to `dtype`.
    """
    return _parameter(lambda: _source(name, seed).standard_normal(shape) * std, name, shape, None, dtype, backend)


def uniform(
    name: str, shape: tuple[int, ...], bound: float, seed: int | None, dtype: Any, backend: str | None
) -> Parameter:
    """A parameter drawn evenly from ``[-bound, bound)``; otherwise as `normal`."""
    return _parameter(
        lambda: (2.0 * _source(name, seed).random(shape) - 1.0) * bound, name, shape, None, dtype, backend
    )


def fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """How many inputs one output of a layer has, and how many outputs one input.

    A matrix is ``[in, out]``, as in `Linear`; with more axes it is ``[out, in, ...]``, as in `Conv2d`.

    Raises
    ------
    ArgumentError
        If there are fewer than two axes.
    """
    if len(shape) < 2:
        raise ArgumentError(f"a parameter of shape {shape} has no fans: it needs at least two axes")
    if len(shape) == 2:
        return shape[0], shape[1]
    taps = count(shape[2:])
    return shape[1] * taps, shape[0] * taps


def xavier_normal(
    name: str, shape: tuple[int, ...], seed: int | None, dtype: Any, backend: str | None, gain: float = 1.0
) -> Parameter:
    r"""As `normal`, with :math:`std = gain \sqrt{2 / (fan_{in} + fan_{out})}`: for layers around tanh.

    References
    ----------
    Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010.
    """
    return normal(name, shape, gain * math.sqrt(2.0 / sum(fans(shape))), seed, dtype, backend)


def xavier_uniform(
    name: str, shape: tuple[int, ...], seed: int | None, dtype: Any, backend: str | None, gain: float = 1.0
) -> Parameter:
    r"""As `uniform`, with :math:`bound = gain \sqrt{6 / (fan_{in} + fan_{out})}`; see `xavier_normal`."""
    return uniform(name, shape, gain * math.sqrt(6.0 / sum(fans(shape))), seed, dtype, backend)


def kaiming_normal(
    name: str, shape: tuple[int, ...], seed: int | None, dtype: Any, backend: str | None, gain: float = math.sqrt(2.0)
) -> Parameter:
    r"""As `normal`, with :math:`std = gain / \sqrt{fan_{in}}`: for layers before a rectifier.

    References
    ----------
    He et al., "Delving deep into rectifiers", 2015.
    """
    return normal(name, shape, gain / math.sqrt(fans(shape)[0]), seed, dtype, backend)


def kaiming_uniform(
    name: str, shape: tuple[int, ...], seed: int | None, dtype: Any, backend: str | None, gain: float = math.sqrt(2.0)
) -> Parameter:
    r"""As `uniform`, with :math:`bound = gain \sqrt{3 / fan_{in}}`; see `kaiming_normal`."""
    return uniform(name, shape, gain * math.sqrt(3.0 / fans(shape)[0]), seed, dtype, backend)


def orthogonal(
    name: str, shape: tuple[int, ...], seed: int | None, dtype: Any, backend: str | None, gain: float = 1.0
) -> Parameter:
    """A parameter whose rows, or columns where those are fewer, are orthogonal and of length `gain`.

    Axes past the first count as one. The matrix is Q of a random matrix's QR decomposition, with the signs that
    make it evenly distributed.

    Raises
    ------
    ArgumentError
        If there are fewer than two axes.

    References
    ----------
    Saxe, McClelland and Ganguli, "Exact solutions to the nonlinear dynamics of learning in deep linear neural
    networks", 2014; Mezzadri, "How to generate random matrices from the classical compact groups", 2007.
    """
    fans(shape)
    return _parameter(lambda: gain * _orthogonal(shape, _source(name, seed)), name, shape, None, dtype, backend)


def constant(name: str, shape: tuple[int, ...], value: float, dtype: Any, backend: str | None) -> Parameter:
    """A parameter of one value, to which weight decay does not apply: a bias, or the gain of a norm."""
    return _parameter(lambda: np.full(shape, value), name, shape, False, dtype, backend)


def _orthogonal(shape: tuple[int, ...], source: np.random.Generator) -> np.ndarray:
    rows, columns = shape[0], count(shape[1:])
    q, r = np.linalg.qr(source.standard_normal((max(rows, columns), min(rows, columns))))
    q = q * np.where(np.diagonal(r) < 0, -1.0, 1.0)
    return (q if rows >= columns else q.T).reshape(shape)


def _source(name: str, seed: int | None) -> np.random.Generator:
    return random.generator(random.default_seed() if seed is None else seed, name)


def _parameter(
    values: Callable[[], np.ndarray],
    name: str,
    shape: tuple[int, ...],
    decay: bool | None,
    dtype: Any,
    backend: str | None,
) -> Parameter:
    """A parameter with the result of `values`, which is not asked for inside of `unwritten`."""
    kind = as_dtype(float if dtype is None else dtype)
    if _DRAWS.get():
        return Parameter(tensor(values(), dtype=kind, name=name, backend=backend), decay)
    made = empty(shape, kind, get_backend(backend))
    made.name = name
    return Parameter(made, decay)
