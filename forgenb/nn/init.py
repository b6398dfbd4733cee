"""Initial values of parameters: drawn on the host, from the stream of a seed and a parameter's name.

Imports random numbers, dtypes and tensors; a device never draws an initial value, so that all backends begin with
the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import random
from ..creation import tensor
from ..dtypes import as_dtype
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


def constant(name: str, shape: tuple[int, ...], value: float, dtype: Any, backend: str | None) -> Parameter:
    """A parameter of one value, to which weight decay does not apply: a bias, or the gain of a norm."""
    return _parameter(np.full(shape, value), name, False, dtype, backend)


def _parameter(values: np.ndarray, name: str, decay: bool | None, dtype: Any, backend: str | None) -> Parameter:
    made = tensor(values, dtype=as_dtype(float if dtype is None else dtype), name=name, backend=backend)
    return Parameter(made, decay)
