"""How far an op's operands are from where its slope jumps or its result loses its digits.

Two right implementations differ at a kink or a tie (see docs/conventions.md), and a normalisation of nearly equal
numbers multiplies the rounding of both. A random graph keeps away from these places, so that a difference is a fault.

Imports NumPy; an op that has no such place is not named here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

KINK = 1e-3
"""Nearest that an operand may come to a kink or a tie; roundings that add up over a graph are about 1e-13."""

SPREAD = 0.1
"""Least root mean square of what is normalised."""

Distance = Callable[..., np.ndarray]


def _first(x, *rest, **keywords):
    return np.abs(x)


def _difference(x, y, *rest, **keywords):
    return np.abs(np.asarray(x, float) - y)


def _any_real(*operands, **keywords):
    reals = [np.abs(x).ravel() for x in map(np.asarray, operands) if x.dtype.kind == "f"]
    return np.concatenate(reals) if reals else np.ones(1)


def _whole(x, **keywords):
    return np.abs(x - np.rint(x))


def _cast(x, dtype):
    if x.dtype.kind != "f" or np.dtype(dtype).kind == "f":
        return np.ones(1)
    return np.abs(x) if np.dtype(dtype).kind == "b" else _whole(x)


def _bounds(x, *rest, low=-np.inf, high=np.inf):
    return np.minimum(np.abs(x - low), np.abs(x - high))


def _two_largest(x, axis=None, **keywords):
    """The distance of the largest from the second, of each group that is reduced."""
    axes = tuple(range(x.ndim)) if axis is None else tuple(np.atleast_1d(axis) % x.ndim) if x.ndim else ()
    last = np.moveaxis(x, axes, range(-len(axes), 0)).reshape(*np.delete(x.shape, axes).astype(int), -1)
    if last.shape[-1] < 2:
        return np.ones(1)
    ordered = np.sort(last, -1)
    return ordered[..., -1] - ordered[..., -2]


def _two_smallest(x, axis=None, **keywords):
    return _two_largest(-x, axis)


def _planes(x, **keywords):
    """The least distance of any two numbers of one plane."""
    return np.diff(np.sort(x.reshape(*x.shape[:2], -1), -1), axis=-1)


ONE = ("abs", "abs_grad", "elu", "elu_grad", "leaky_relu", "leaky_relu_grad", "relu", "relu_grad", "sign")
TWO = ("equal", "greater", "greater_equal", "l1_loss", "less", "less_equal", "maximum", "maximum_grad",
    "minimum", "not_equal")  # fmt: skip
TRUTHS = ("all", "any", "logical_and", "logical_not", "logical_or", "logical_xor")

KINKS: dict[str, Distance] = {
    **dict.fromkeys(ONE, _first),
    **dict.fromkeys(TWO, _difference),
    **dict.fromkeys(TRUTHS, _any_real),
    "argmax": _two_largest,
    "argmin": _two_smallest,
    "astype": _cast,
    "clip": _bounds,
    "clip_grad": _bounds,
    "floor": _whole,
    "huber": lambda x, delta=1.0: np.abs(np.abs(x) - delta),
    "huber_loss": lambda x, y, delta=1.0: np.abs(np.abs(x - y) - delta),
    "max": _two_largest,
    "max_pool2d": _planes,
    "min": _two_smallest,
    "where": lambda condition, *rest: _any_real(condition),
}
"""Op -> distances of its operands from a kink or a tie."""


def _deviation(x, axis=None, ddof=0, **keywords):
    return x.std(axis)


def _trailing(x, gamma, *rest, **keywords):
    return x.std(tuple(range(x.ndim - gamma.ndim, x.ndim)))


def _channels(x, *rest, **keywords):
    return x.std((0, *range(2, x.ndim)))


def _groups(x, *rest, groups, **keywords):
    return x.reshape(x.shape[0], groups, -1).std(-1)


SPREADS: dict[str, Distance] = {
    "batchnorm": _channels,
    "groupnorm": _groups,
    "layernorm": _trailing,
    "norm": lambda x, axis=None, keepdims=False: np.sqrt(np.square(x).mean(axis)),
    "rmsnorm": lambda x, *rest, **keywords: np.sqrt(np.square(x).mean(-1)),
    "std": _deviation,
}
"""Op -> root mean squares of what it divides by, or takes a root of."""


def clear(name: str, operands, keywords) -> bool:
    """Whether an op's operands are far enough from its kinks, ties and vanishing spreads."""
    where = [(KINKS.get(name), KINK), (SPREADS.get(name), SPREAD)]
    return all(np.min(f(*operands, **keywords), initial=np.inf) >= least for f, least in where if f)
