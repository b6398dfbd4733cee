"""Dropout from a counter: the same mask on every backend, in backward, and for any number of threads.

Imports what every family of ops does (see `forgenb.ops`) and `forgenb.random`; no mask and no random state is kept.
"""

from __future__ import annotations

import numpy as np

from ..kernel import map_kernel
from ..kernel.primitives import add32, mul32, select, shr32, unit_from_bits, xor32
from ..random import dropout_keep, dropout_scale
from ..tape import record
from ..tensor import Tensor
from .apply import as_tensor, run_map
from .plans import floats_only
from .settings import probability, whole
from .table import op


def uniform(seed, counter):
    """A number in [0, 1) from a 32-bit seed and counter: the PCG RXS-M-XS output hash of their mix."""
    s = add32(mul32(xor32(seed, mul32(counter, 2654435769)), 747796405), 2891336453)
    w = mul32(xor32(shr32(s, add32(shr32(s, 28), 4)), s), 277803737)
    return unit_from_bits(xor32(shr32(w, 22), w))


@map_kernel("x -> out; p scale seed:uint offset:uint")
def dropout_kernel(index, x, p, scale, seed, offset):
    """The element times `scale` where its random number reaches p, else 0."""
    return select(uniform(seed, add32(index, offset)) >= p, x * scale, 0.0)


def _samples(rng: np.random.Generator):
    for shape, p, offset in (((), 0.5, 0), ((7,), 0.3, 0), ((0,), 0.3, 0), ((3, 5), 0.2, 11), ((5, 4), 0.0, 0)):
        yield (rng.uniform(0.5, 2, shape),), {"p": p, "seed": 1234, "offset": offset}


def _reference(x, p, seed, offset=0):
    return np.where(dropout_keep(x.size, p, seed, offset).reshape(x.shape), x * float(dropout_scale(p)), 0.0)


@op(_samples, _reference, dtypes="floats")
def dropout(x, p: float, seed: int, offset: int = 0) -> Tensor:
    r"""Inverted dropout: each element is kept with probability 1 - p and then divided by it, else 0.

    Element i is kept iff :math:`u_i \ge p`, :math:`u_i` from the hash of (seed, i + offset). Backward: the same op on
    `dout`. Saves nothing. With p = 0 it returns x itself.

    Parameters
    ----------
    x : Tensor
        Any shape.
    p : float
        In [0, 1).
    seed : int
        Taken modulo 2**32.
    offset : int
        Index of the first element, for parts of a larger draw.

    Raises
    ------
    ArgumentError
        If p is outside [0, 1).
    DTypeError
        If x is not a float.

    References
    ----------
    Srivastava et al., "Dropout", 2014. The hash: Jarzynski and Olano, "Hash Functions for GPU Rendering", 2020.
    """
    x, p = as_tensor(x), probability("dropout", p)
    seed, offset = whole("dropout", "seed", seed), whole("dropout", "offset", offset)
    floats_only("dropout", x)
    if p == 0:
        return x

    def backward(dout):
        return (dropout(dout, p, seed, offset),)

    scalars = (float(np.float32(p)), float(dropout_scale(p)), seed % 2**32, offset % 2**32)
    return record(run_map(dropout_kernel, (x,), scalars), (x,), backward)
