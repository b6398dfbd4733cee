"""The affine layer.

Imports the op, `init` and `module`; a layer has no kernel of its own.
"""

from __future__ import annotations

from typing import Any

from .. import random
from ..errors import ArgumentError
from ..ops.matmul import matmul
from ..tensor import Tensor
from .init import constant, normal
from .module import Module


class Linear(Module):
    r""":math:`y = x W + b`.

    Parameters
    ----------
    n_in, n_out : int
        Sizes of the last axis of `x` and `y`.
    bias : bool
        Whether there is a b.
    seed : int, optional
        Of the initial values; by default the one set with ``fnb.seed``.
    name : str, optional
        The layer's full name in the model, which names its random stream. Without one it is numbered, so
        that two layers differ.
    std : float, optional
        Of the initial weights, drawn from :math:`N(0, std^2)`; by default :math:`1/\sqrt{n_{in}}`. The bias
        starts at zero.
    dtype, backend : optional
        Of the parameters; by default float32, and what creations use.

    Attributes
    ----------
    weight : Parameter, ``(n_in, n_out)``
    bias : Parameter, ``(n_out,)``, or None
    """

    def __init__(
        self,
        n_in: int,
        n_out: int,
        bias: bool = True,
        *,
        seed: int | None = None,
        name: str | None = None,
        std: float | None = None,
        dtype: Any = None,
        backend: str | None = None,
    ):
        if n_in < 1 or n_out < 1:
            raise ArgumentError(f"Linear needs sizes of at least 1, got n_in={n_in} and n_out={n_out}")
        name = random.fresh_name("linear") if name is None else name
        std = n_in**-0.5 if std is None else std
        self.weight = normal(f"{name}.weight", (n_in, n_out), std, seed, dtype, backend)
        self.bias = constant(f"{name}.bias", (n_out,), 0.0, dtype, backend) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """Map ``x[..., n_in]`` to ``[..., n_out]``."""
        return matmul(x, self.weight, self.bias)
