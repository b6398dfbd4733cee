"""Batch normalisation with running statistics.

Imports the ops, `init` and `module`; a layer has no kernel of its own.
"""

from __future__ import annotations

from typing import Any

from .. import random
from ..errors import ArgumentError
from ..ops.batchnorm import batchnorm, batchnorm_inference
from ..routine import frozen
from ..tensor import Tensor
from .init import constant
from .module import Buffer, Module


class BatchNorm(Module):
    r"""Normalisation of each channel over samples and places: ``[n, c]``, ``[n, c, l]``, ``[n, c, h, w]`` and so on.

    .. math:: y = \gamma (x - \mu) / \sqrt{\sigma^2 + \epsilon} + \beta

    In training with the batch's mean and biased variance, which also move the running ones; otherwise with those.

    Parameters
    ----------
    c : int
        Channels.
    eps : float
        Added to the variance.
    momentum : float
        How far the running statistics move towards those of a batch, from 0 to 1.
    name : str, optional
        The layer's full name in the model.
    dtype, backend : optional
        Of the parameters.

    Attributes
    ----------
    weight, bias : Parameter, ``(c,)``
        The gain, at first one, and the shift, at first zero.
    running_mean, running_var : Buffer, ``(c,)``
        At first zero and one; the variance is the unbiased one.
    """

    def __init__(
        self,
        c: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        *,
        name: str | None = None,
        dtype: Any = None,
        backend: str | None = None,
    ):
        if c < 1 or eps <= 0 or not 0 <= momentum <= 1:
            raise ArgumentError(
                f"BatchNorm needs at least one channel, eps above 0 and a momentum from 0 to 1, got c={c}, eps={eps} "
                f"and momentum={momentum}"
            )
        name = random.fresh_name("batchnorm") if name is None else name
        self.eps, self.momentum = eps, momentum
        self.weight = constant(f"{name}.weight", (c,), 1.0, dtype, backend)
        self.bias = constant(f"{name}.bias", (c,), 0.0, dtype, backend)
        self.running_mean = Buffer(self.bias.detach())
        self.running_var = Buffer(self.weight.detach())

    def forward(self, x: Tensor) -> Tensor:
        """Normalise ``x[n, c, ...]``."""
        if frozen("the mode of a BatchNorm", lambda: self.training):
            running = self.running_mean, self.running_var
            return batchnorm(x, self.weight, self.bias, self.eps, running, self.momentum)
        return batchnorm_inference(x, self.weight, self.bias, self.running_mean, self.running_var, self.eps)
