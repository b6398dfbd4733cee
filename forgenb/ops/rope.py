"""Rotary position embedding: pairs of numbers turned by an angle that grows with the place in the sequence.

Angles are worked out on the host in float64 and kept as a table of cosines and sines.

Imports what every family of ops does (see `forgenb.ops`).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..errors import ArgumentError, ShapeError
from ..kernel import row_kernel
from ..kernel.primitives import lanes, put
from ..layout import count
from ..tape import record
from ..tensor import Tensor, empty, from_array
from .apply import as_tensor, narrowed, run_rows, widened
from .plans import floats_only
from .settings import flag, number, quoted, whole
from .table import op


@row_kernel("x[rows,d] cosine[t,pairs] sine[t,pairs] -> out[rows,d]; direction")
def rope_kernel(row, x, cosine, sine, out, direction):
    """One place of one sequence: each pair turned by its angle."""
    place = row % cosine.shape[0]
    for j in lanes(cosine.shape[1]):
        a, b = x[row, 2 * j], x[row, 2 * j + 1]
        c, s = cosine[place, j], sine[place, j] * direction
        put(out, (row, 2 * j), a * c - b * s)
        put(out, (row, 2 * j + 1), b * c + a * s)


FURTHEST = 2**53
"""The last place that float64 tells from the next."""


@lru_cache(maxsize=64)
def _angles(t: int, d: int, base: float, offset: int) -> tuple[np.ndarray, np.ndarray]:
    """Cosines and sines of ``(place + offset) base**(-2 j / d)``, each ``[t, d / 2]`` in float64."""
    angles = np.arange(offset, offset + t)[:, None] * base ** (np.arange(0, d, 2) / -d)
    return np.cos(angles), np.sin(angles)


def _samples(rng: np.random.Generator):
    yield (rng.uniform(-2, 2, (5, 4)),), {}
    yield (rng.uniform(-2, 2, (2, 3, 6)),), {"base": 100.0, "offset": 7}
    yield (rng.uniform(-2, 2, (2, 1, 3, 2)),), {"inverse": True}
    yield (rng.uniform(-2, 2, (0, 3, 2)),), {}


def rope_reference(x, base=10000.0, offset=0, inverse=False):
    """Rotary embedding by NumPy, on complex numbers."""
    t, d = x.shape[-2:]
    angles = np.arange(offset, offset + t)[:, None] * base ** (-np.arange(0, d, 2) / d)
    turned = (x[..., ::2] + 1j * x[..., 1::2]) * np.exp((-1j if inverse else 1j) * angles)
    return np.stack([turned.real, turned.imag], -1).reshape(x.shape)


@op(_samples, rope_reference, dtypes="floats")
def rope(x, base: float = 10000.0, offset: int = 0, inverse: bool = False) -> Tensor:
    r"""Rotary position embedding: the pair :math:`(x_{2j}, x_{2j+1})` at place p is turned by :math:`\theta`.

    .. math::
        \theta = p\,b^{-2j/d}, \qquad out_{2j} = x_{2j} \cos\theta - x_{2j+1} \sin\theta, \qquad
        out_{2j+1} = x_{2j+1} \cos\theta + x_{2j} \sin\theta

    So the product of a query and a key depends on the distance of their places. Backward: `dout` turned the other
    way. Saves nothing but the table of angles.

    Parameters
    ----------
    x : Tensor
        ``[..., t, d]``, d even: queries or keys.
    base : float
        b.
    offset : int
        Place of the first row.
    inverse : bool
        Turn the other way.

    Raises
    ------
    ShapeError
        If there are no two axes, or the last is odd.
    DTypeError
        If x is not a float.
    ArgumentError
        If the base is not above 0 or the offset is negative.

    References
    ----------
    Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", 2021.
    """
    x = as_tensor(x)
    floats_only("rope", x)
    if x.ndim < 2 or x.shape[-1] % 2 or 0 in x.shape[-2:]:
        raise ShapeError(f"rope got shape {x.shape}: it needs [..., places, width] with an even width")
    b, first = number("rope", "base", base), whole("rope", "offset", offset)
    direction = -1.0 if flag("rope", "inverse", inverse) else 1.0
    if not b > 0 or not 0 <= first <= FURTHEST:
        raise ArgumentError(
            f"rope got base={quoted(base)} and offset={quoted(offset)}: it needs base > 0 and offset >= 0, of places "
            "that float64 can count"
        )
    source, (t, d) = widened(x.detach()), x.shape[-2:]
    table = (from_array(a.astype(source.dtype), x.backend) for a in _angles(t, d, b, first))
    out = empty(x.shape, source.dtype, x.backend)
    run_rows(rope_kernel, (count(x.shape[:-1]), d, t, d // 2), (source, *table, out), (direction,))

    def backward(dout):
        return (rope(dout, base, offset, not inverse),)

    return record(narrowed(out, x.dtype), (x,), backward)
