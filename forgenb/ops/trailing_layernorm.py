"""Layer normalisation over several trailing axes, seen as one.

Imports `layernorm` and movement; it has no kernel of its own.
"""

from __future__ import annotations

import numpy as np

from ..errors import ShapeError
from ..layout import count
from ..tensor import Tensor
from .apply import together
from .layernorm import layernorm
from .movement import reshape
from .table import op


def _samples(rng: np.random.Generator):
    for shape, trailing in (((3, 5), 1), ((2, 3, 4), 2), ((2, 3, 4), 3), ((2, 2, 3, 2), 2)):
        own = shape[-trailing:]
        yield (rng.uniform(-2, 2, shape), rng.uniform(0.5, 2, own), rng.uniform(-1, 1, own)), {}


def trailing_layernorm_reference(x, gamma, beta, eps=1e-5):
    """Layer normalisation over the axes of gamma by NumPy."""
    axes = tuple(range(x.ndim - gamma.ndim, x.ndim))
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps) * gamma + beta


@op(_samples, trailing_layernorm_reference, (0, 1, 2))
def trailing_layernorm(x, gamma, beta, eps: float = 1e-5) -> Tensor:
    r"""Layer normalisation over as many trailing axes as gamma has.

    Mean and variance are taken over all elements of these axes; otherwise as `layernorm`.

    Backward: that of `layernorm`. Saves x and gamma.

    Parameters
    ----------
    x : Tensor
        ``[..., *shape]``.
    gamma, beta : Tensor
        Of that `shape`.
    eps : float
        Added to the variance inside the root.

    Raises
    ------
    ShapeError, DTypeError
        If gamma and beta do not fit x.
    """
    x, gamma, beta = together(x, gamma, beta)
    own = gamma.shape
    if not own or x.shape[-len(own) :] != own or beta.shape != own:
        raise ShapeError(
            f"trailing_layernorm got x of shape {x.shape}, gamma {own} and beta {beta.shape}: both must have the shape "
            "of the trailing axes of x that are normalised"
        )
    if len(own) == 1:
        return layernorm(x, gamma, beta, eps)
    n = count(own)
    flat = reshape(x, (*x.shape[: x.ndim - len(own)], n))
    return reshape(layernorm(flat, reshape(gamma, (n,)), reshape(beta, (n,)), eps), x.shape)
