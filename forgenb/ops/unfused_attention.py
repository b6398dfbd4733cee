"""Attention step by step, each step an op of its own: to read, to compare with, and for queries of another sequence.

Imports what every family of ops does (see `forgenb.ops`); the fused form is `forgenb.ops.attention`.
"""

from __future__ import annotations

import numpy as np

from ..errors import DTypeError, ShapeError
from ..tensor import Tensor
from .apply import together
from .matmul import matmul
from .plans import same_backend
from .settings import flag
from .softmax import softmax, softmax_reference
from .table import op


def _samples(rng: np.random.Generator):
    def draw(*shapes):
        return tuple(rng.uniform(-2, 2, shape) for shape in shapes)

    yield draw((5, 4), (5, 4), (5, 4)), {"causal": True}
    yield draw((2, 3, 5, 2), (2, 3, 5, 2), (2, 3, 5, 2)), {"causal": True}
    yield draw((2, 3, 4), (2, 6, 4), (2, 6, 5)), {}
    yield draw((2, 2, 3), (2, 5, 3), (2, 5, 1)), {"causal": True}


def unfused_attention_reference(q, k, v, causal=False):
    """Attention by NumPy."""
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    return softmax_reference(scores, causal, k.shape[-2] - q.shape[-2] if causal else 0) @ v


@op(_samples, unfused_attention_reference, (0, 1, 2), dtypes="floats")
def unfused_attention(q, k, v, causal: bool = False, weights: bool = False) -> Tensor | tuple[Tensor, Tensor]:
    r"""Scaled dot product attention, :math:`out = softmax(q k^T / \sqrt{d})\,v`.

    A product, `softmax` and another product. With `causal`, the last query sees all keys, and each one before it one
    key less. Backward: that of the three ops. Saves q, k, v and the weights, ``[..., tq, tk]``.

    Parameters
    ----------
    q, k, v : Tensor
        ``[..., tq, d]``, ``[..., tk, d]`` and ``[..., tk, dv]``; leading axes, such as heads, broadcast.
    causal : bool
        Whether a query sees itself and what came before, only.
    weights : bool
        Whether to return the weights as well.

    Returns
    -------
    Tensor, or two
        ``[..., tq, dv]``, and with `weights` what each query takes from each key, ``[..., tq, tk]``.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or there are more queries than keys under a causal mask.
    DTypeError
        If an operand is not a float.

    References
    ----------
    Vaswani et al., "Attention Is All You Need", 2017, section 3.2.
    """
    q, k, v = together(q, k, v)
    causal, weights = flag("unfused_attention", "causal", causal), flag("unfused_attention", "weights", weights)
    same_backend("unfused_attention", (q, k, v))
    if any(t.dtype.kind != "f" for t in (q, k, v)):
        found = ", ".join(t.dtype.name for t in (q, k, v))
        raise DTypeError(f"unfused_attention works on float tensors, got {found}: convert integers with astype")
    shapes = q.shape, k.shape, v.shape
    if (
        min(map(len, shapes)) < 2
        or q.shape[-1] != k.shape[-1]
        or k.shape[-2] != v.shape[-2]
        or 0 in (*q.shape[-1:], *k.shape[-2:])
    ):
        raise ShapeError(f"unfused_attention got shapes {shapes}: it needs [.., tq, d], [.., tk, d] and [.., tk, dv]")
    if causal and q.shape[-2] > k.shape[-2]:
        raise ShapeError(
            f"unfused_attention got {q.shape[-2]} queries for {k.shape[-2]} keys: a causal one needs a key each"
        )
    scores = matmul(q, k, trans_b=True, alpha=float(q.shape[-1]) ** -0.5)
    shares = softmax(scores, causal, k.shape[-2] - q.shape[-2] if causal else 0)
    return (matmul(shares, v), shares) if weights else matmul(shares, v)
