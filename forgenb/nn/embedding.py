"""A table of rows, looked up by id.

Imports the op, `init` and `module`; a layer has no kernel of its own.
"""

from __future__ import annotations

from typing import Any

from .. import random
from ..errors import ArgumentError
from ..ops.embedding import embedding
from ..tensor import Tensor
from .init import normal
from .module import Module


class Embedding(Module):
    """Row `id` of a table for every id.

    Parameters
    ----------
    n, d : int
        Rows of the table, and their length.
    seed, name, dtype, backend : optional
        As for `Linear`.
    std : float
        Of the initial values.

    Attributes
    ----------
    weight : Parameter, ``(n, d)``
    """

    def __init__(
        self,
        n: int,
        d: int,
        *,
        seed: int | None = None,
        name: str | None = None,
        std: float = 1.0,
        dtype: Any = None,
        backend: str | None = None,
    ):
        if n < 1 or d < 1:
            raise ArgumentError(f"Embedding needs sizes of at least 1, got n={n} and d={d}")
        name = random.fresh_name("embedding") if name is None else name
        self.weight = normal(f"{name}.weight", (n, d), std, seed, dtype, backend)

    def forward(self, ids: Any) -> Tensor:
        """Map int64 ``ids[...]`` to ``[..., d]``; an id outside the table raises IndexRangeError."""
        return embedding(ids, self.weight)
