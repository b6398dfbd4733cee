"""Causal self-attention on a packed projection: two products and a softmax on views, nothing is copied or split.

Imports what every family of ops does (see `forgenb.ops`). Scores are never kept for backward, only weights.
"""

from __future__ import annotations

import numpy as np

from ..errors import ArgumentError, DTypeError, ShapeError
from ..tape import record, refuse_tracked
from ..tensor import Tensor, empty
from .apply import as_tensor, copied, run_rows, together, widened
from .dropout import dropout
from .matmul import product
from .softmax import softmax_grad_kernel, softmax_grad_reference, softmax_kernel, softmax_reference
from .table import op


def heads_of(packed: Tensor, heads: int, third: int, thirds: int = 3) -> Tensor:
    """View of q, k or v (`third` 0, 1, 2) of ``packed[b, t, 3c]`` as ``[b, heads, t, c / heads]``."""
    b, t, columns = packed.shape
    c = columns // thirds
    return packed.view((b, heads, t, c // heads), (t * columns, c // heads, columns, 1), third * c)


def _samples(rng: np.random.Generator):
    for (b, t, c), heads in (((2, 5, 4), 2), ((1, 1, 3), 1), ((3, 4, 6), 3), ((0, 2, 4), 2)):
        yield (rng.uniform(-2, 2, (b, t, 3 * c)),), {"heads": heads}


def _split(qkv, heads):
    b, t, columns = qkv.shape
    return qkv.reshape(b, t, 3, heads, columns // 3 // heads).transpose(2, 0, 3, 1, 4)


def attention_reference(qkv, heads):
    """Causal self-attention by NumPy."""
    q, k, v = _split(qkv, heads)
    y = softmax_reference(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]), causal=True) @ v
    return y.transpose(0, 2, 1, 3).reshape(*qkv.shape[:2], qkv.shape[2] // 3)


def _check(qkv: Tensor, heads: int) -> None:
    if qkv.dtype.kind != "f":
        raise DTypeError(f"attention got dtype {qkv.dtype.name}: convert to a float dtype with astype")
    if qkv.ndim != 3 or heads < 1 or qkv.shape[2] % (3 * heads) or qkv.shape[2] == 0:
        raise ShapeError(
            f"attention got shape {qkv.shape} and heads={heads}: it needs [batch, time, 3 width] with heads dividing "
            "width"
        )


@op(_samples, attention_reference)
def attention(qkv, heads: int, p: float = 0.0, seed: int = 0, offset: int = 0) -> Tensor:
    r"""Causal self-attention: for each head :math:`out = softmax(q k^T / \sqrt{d})\,v`, where a query sees itself and
    earlier keys.

    Backward: `attention_grad`. Saves qkv and the attention weights, ``[b, heads, t, t]``.

    Parameters
    ----------
    qkv : Tensor
        ``[b, t, 3 c]``, columns in the order q, k, v and within each head by head.
    heads : int
        Divides c; :math:`d = c / heads`.
    p, seed, offset : float, int, int
        Dropout of the attention weights, see `dropout`.

    Returns
    -------
    Tensor
        ``[b, t, c]``.

    Raises
    ------
    ShapeError
        If the shape and the number of heads do not fit.

    References
    ----------
    Vaswani et al., "Attention Is All You Need", 2017, section 3.2.
    """
    qkv = as_tensor(qkv)
    _check(qkv, heads)
    if not 0 <= p < 1:
        raise ArgumentError(f"attention got p={p}: the probability of dropping must be in [0, 1)")
    packed = widened(qkv.detach())
    q, k, v = (heads_of(packed, heads, third) for third in range(3))
    scores = product(q, k, None, False, True, float(q.shape[-1] ** -0.5))
    weights, time = empty(scores.shape, scores.dtype, scores.backend), qkv.shape[1]
    run_rows(softmax_kernel, (weights.size // max(time, 1), time), (scores, weights), (time, 0))
    out = empty((*qkv.shape[:2], qkv.shape[2] // 3), packed.dtype, packed.backend)
    product(dropout(weights, p, seed, offset), v, out=heads_of(out, heads, 0, 1))

    def backward(dout):
        return (attention_grad(qkv, weights, dout, heads, p, seed, offset),)

    return record(out if out.dtype is qkv.dtype else copied(out, qkv.dtype), (qkv,), backward)


def _grad_samples(rng: np.random.Generator):
    for (qkv,), keywords in _samples(rng):
        q, k, _ = _split(qkv, keywords["heads"])
        weights = softmax_reference(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]), causal=True)
        yield (qkv, weights, rng.uniform(-2, 2, (*qkv.shape[:2], qkv.shape[2] // 3))), keywords


def attention_grad_reference(qkv, weights, dout, heads):
    """Gradient of causal self-attention by NumPy."""
    q, k, v = _split(qkv, heads)
    b, t, c = dout.shape
    dy = dout.reshape(b, t, heads, c // heads).transpose(0, 2, 1, 3)
    dweights = dy @ v.swapaxes(-1, -2)
    dscores = softmax_grad_reference(weights, dweights, causal=True) / np.sqrt(c // heads)
    parts = np.stack([dscores @ k, dscores.swapaxes(-1, -2) @ q, weights.swapaxes(-1, -2) @ dy])
    return parts.transpose(1, 3, 0, 2, 4).reshape(qkv.shape)


@op(_grad_samples, attention_grad_reference, ())
def attention_grad(qkv, weights, dout, heads: int, p: float = 0.0, seed: int = 0, offset: int = 0) -> Tensor:
    r"""Gradient of `attention`, written into one packed tensor.

    With :math:`w` the weights and :math:`dw = dout\,v^T`: :math:`ds = w (dw - \sum w\,dw) / \sqrt d`,
    :math:`dq = ds\,k`, :math:`dk = ds^T q`, :math:`dv = w^T dout`.

    Raises
    ------
    TapeError
        If an operand is tracked: it has no derivative of its own.
    """
    qkv, weights, dout = together(qkv, weights, dout)
    refuse_tracked("attention_grad", (qkv, weights, dout))
    _check(qkv, heads)
    packed, weights, dout, dtype = widened(qkv.detach()), widened(weights), widened(dout), qkv.dtype
    q, k, v = (heads_of(packed, heads, third) for third in range(3))
    dy = heads_of(dout, heads, 0, 1)
    time, scale = qkv.shape[1], float(q.shape[-1] ** -0.5)
    dscores = dropout(product(dy, v, None, False, True), p, seed, offset)
    run_rows(softmax_grad_kernel, (weights.size // max(time, 1), time), (weights, dscores, dscores), (time, 0))
    dqkv = empty(qkv.shape, packed.dtype, packed.backend)
    dq, dk, dv = (heads_of(dqkv, heads, third) for third in range(3))
    product(dscores, k, None, False, False, scale, out=dq)
    product(dscores, q, None, True, False, scale, out=dk)
    product(dropout(weights, p, seed, offset), dy, None, True, False, out=dv)
    return dqkv if dqkv.dtype is dtype else copied(dqkv, dtype)
