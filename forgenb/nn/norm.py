"""Layer, group and root mean square normalisation; that of batches keeps statistics and has its own file.

Imports the ops, `init` and `module`; a layer has no kernel of its own.
"""

from __future__ import annotations

from typing import Any

from .. import random
from ..errors import ArgumentError
from ..ops.groupnorm import groupnorm
from ..ops.layernorm import layernorm
from ..ops.rmsnorm import rmsnorm
from ..tensor import Tensor
from .init import constant
from .module import Module


class LayerNorm(Module):
    r"""Layer normalisation over the last axis, or several.

    .. math:: y = \gamma (x - \mu) / \sqrt{\sigma^2 + \epsilon} + \beta

    with the mean and biased variance over these axes.

    Parameters
    ----------
    n : int or tuple of int
        Size of the last axis, or of the last axes.
    eps : float
        Added to the variance.
    name : str, optional
        The layer's full name in the model.
    dtype, backend : optional
        Of the parameters.

    Attributes
    ----------
    weight, bias : Parameter, ``(n,)`` or of shape n
        The gain, at first one, and the shift, at first zero.
    """

    def __init__(
        self,
        n: int | tuple[int, ...],
        eps: float = 1e-5,
        *,
        name: str | None = None,
        dtype: Any = None,
        backend: str | None = None,
    ):
        shape = n if isinstance(n, tuple) else (n,)
        if not shape or min(shape) < 1 or eps <= 0:
            raise ArgumentError(f"LayerNorm needs a size of at least 1 and eps above 0, got n={n} and eps={eps}")
        name = random.fresh_name("layernorm") if name is None else name
        self.eps = eps
        self.weight = constant(f"{name}.weight", shape, 1.0, dtype, backend)
        self.bias = constant(f"{name}.bias", shape, 0.0, dtype, backend)

    def forward(self, x: Tensor) -> Tensor:
        """Normalise ``x[..., n]``."""
        return layernorm(x, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    r"""Root mean square normalisation over the last axis, :math:`y = \gamma x / \sqrt{\frac1n \sum x^2 + \epsilon}`.

    Parameters
    ----------
    n : int
        Size of the last axis.
    eps : float
        Added to the mean square.
    name, dtype, backend : optional
        As for `LayerNorm`.

    Attributes
    ----------
    weight : Parameter, ``(n,)``
        The gain, at first one.
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
            raise ArgumentError(f"RMSNorm needs a size of at least 1 and eps above 0, got n={n} and eps={eps}")
        name = random.fresh_name("rmsnorm") if name is None else name
        self.eps = eps
        self.weight = constant(f"{name}.weight", (n,), 1.0, dtype, backend)

    def forward(self, x: Tensor) -> Tensor:
        """Normalise ``x[..., n]``."""
        return rmsnorm(x, self.weight, self.eps)


class GroupNorm(Module):
    r"""Normalisation of each group of channels of each sample, with a gain and a shift for each channel.

    Parameters
    ----------
    groups, c : int
        Groups, and channels, which they divide.
    eps : float
        Added to the variance.
    name, dtype, backend : optional
        As for `LayerNorm`.

    Attributes
    ----------
    weight, bias : Parameter, ``(c,)``
        The gain, at first one, and the shift, at first zero.
    """

    def __init__(
        self,
        groups: int,
        c: int,
        eps: float = 1e-5,
        *,
        name: str | None = None,
        dtype: Any = None,
        backend: str | None = None,
    ):
        if groups < 1 or c < 1 or c % groups or eps <= 0:
            raise ArgumentError(
                f"GroupNorm needs groups that divide the channels and eps above 0, got groups={groups}, c={c} and "
                f"eps={eps}"
            )
        name = random.fresh_name("groupnorm") if name is None else name
        self.groups, self.eps = groups, eps
        self.weight = constant(f"{name}.weight", (c,), 1.0, dtype, backend)
        self.bias = constant(f"{name}.bias", (c,), 0.0, dtype, backend)

    def forward(self, x: Tensor) -> Tensor:
        """Normalise ``x[n, c, ...]``."""
        return groupnorm(x, self.weight, self.bias, self.groups, self.eps)
