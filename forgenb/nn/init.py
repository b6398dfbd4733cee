"""Initial values of parameters: drawn on the host, from the stream of a seed and a parameter's name.

Imports random numbers, dtypes and tensors; a device never draws an initial value, so that all backends begin with
the same bits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import random
from ..creation import tensor
from ..dtypes import as_dtype
from ..errors import ArgumentError
from ..layout import count
from ..tensor import Parameter


def normal(
    name: str, shape: tuple[int, ...], std: float, seed: int | None, dtype: Any, backend: str | None
) -> Parameter:
    r"""A parameter drawn from :math:`N(0, std^2)`.

    The numbers depend on `name`, `seed` (by default the one set with ``fnb.seed``) and `shape` alone, and are
    the same bits on every backend. They are drawn in float64 and rounded to `dtype`.
    """
    source = random.generator(random.default_seed() if seed is None else seed, name)
    return _parameter(source.standard_normal(shape) * std, name, None, dtype, backend)


def uniform(
    name: str, shape: tuple[int, ...], bound: float, seed: int | None, dtype: Any, backend: str | None
) -> Parameter:
    """A parameter drawn evenly from ``[-bound, bound)``; otherwise as `normal`."""
    source = random.generator(random.default_seed() if seed is None else seed, name)
    return _parameter((2.0 * source.random(shape) - 1.0) * bound, name, None, dtype, backend)


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
    source = random.generator(random.default_seed() if seed is None else seed, name)
    rows, columns = shape[0], count(shape[1:])
    q, r = np.linalg.qr(source.standard_normal((max(rows, columns), min(rows, columns))))
    q = q * np.where(np.diagonal(r) < 0, -1.0, 1.0)
    return _parameter(gain * (q if rows >= columns else q.T).reshape(shape), name, None, dtype, backend)


def constant(name: str, shape: tuple[int, ...], value: float, dtype: Any, backend: str | None) -> Parameter:
    """A parameter of one value, to which weight decay does not apply: a bias, or the gain of a norm."""
    return _parameter(np.full(shape, value), name, False, dtype, backend)


def _parameter(values: np.ndarray, name: str, decay: bool | None, dtype: Any, backend: str | None) -> Parameter:
    made = tensor(values, dtype=as_dtype(float if dtype is None else dtype), name=name, backend=backend)
    return Parameter(made, decay)
