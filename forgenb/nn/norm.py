"""Layer normalisation.

Imports the op, `init` and `module`; a layer has no kernel of its own.
"""

from __future__ import annotations

from typing import Any

from .. import random
from ..errors import ArgumentError
from ..ops.layernorm import layernorm
from ..tensor import Tensor
from .init import constant
from .module import Module


class LayerNorm(Module):
    r"""Layer normalisation over the last axis.

    .. math:: y = \gamma (x - \mu) / \sqrt{\sigma^2 + \epsilon} + \beta

    with the row's mean and biased variance.

    Parameters
    ----------
    n : int
        Size of the last axis.
    eps : float
        Added to the variance.
    name : str, optional
        The layer's full name in the model.
    dtype, backend : optional
        Of the parameters.

    Attributes
    ----------
    weight, bias : Parameter, ``(n,)``
        The gain, at first one, and the shift, at first zero.
    """

    def __init__(
        self,
        n: int,
        eps: float = 1e-5,
        *,
        name: str | None = None,
        dtype: Any = None,
        backend: str | None = None,
    ):
        if n < 1 or eps <= 0:
            raise ArgumentError(f"LayerNorm needs a size of at least 1 and eps above 0, got n={n} and eps={eps}")
        name = random.fresh_name("layernorm") if name is None else name
        self.eps = eps
        self.weight = constant(f"{name}.weight", (n,), 1.0, dtype, backend)
        self.bias = constant(f"{name}.bias", (n,), 0.0, dtype, backend)

    def forward(self, x: Tensor) -> Tensor:
        """Normalise ``x[..., n]``."""
        return layernorm(x, self.weight, self.bias, self.eps)
