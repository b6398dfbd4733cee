"""Causal self-attention on a packed projection: two products and a softmax on views, nothing is copied or split.

Scores and weights live a few heads at a time, in scratch, and where one head's are too many, a panel of its queries at
a time: memory grows with t and not with its square. Nothing of them is kept for backward, which computes the weights
again. Products run over blocks of queries and stop at the last key that a block sees.

Imports what every family of ops does (see `forgenb.ops`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from ..errors import DTypeError, ShapeError, TapeError
from ..random import dropout_keep, dropout_scale
from ..tape import is_recording, record
from ..tensor import Tensor, empty
from .apply import as_tensor, narrowed, run_map, run_rows, together, widened
from .copying import copy_kernel
from .dropout import dropout
from .joining import stack
from .matmul import matmul, product
from .movement import reshape, transpose
from .plans import floats_only
from .settings import flag, probability
from .settings import whole as whole_number
from .softmax import (
    STRETCH,
    softmax,
    softmax_grad,
    softmax_grad_kernel,
    softmax_grad_reference,
    softmax_kernel,
    softmax_reference,
)
from .steps import record_steps
from .table import op

SCRATCH = 2**20
"""Attention weights that are held at a time, or those of one block: a constant, of the size of a core's cache. Half of
it makes twice as many products, which cost an eager step a quarter of its time."""

MOST_SAMPLES = 4
"""How often that for one head, since a thread works on some of the samples at a time."""

QUERIES = STRETCH
"""Queries of a block, whose last row softmax does not fill up; a panel is made of whole blocks."""


def heads_of(packed: Tensor, heads: int, third: int, thirds: int = 3) -> Tensor:
    """View of q, k or v (`third` 0, 1, 2) of ``packed[b, t, 3c]`` as ``[b, heads, t, c / heads]``."""
    b, t, columns = packed.shape
    c = columns // thirds
    return packed.view((b, heads, t, c // heads), (t * columns, c // heads, columns, 1), third * c)


def groups(b: int, heads: int, time: int, p: float) -> Iterator[tuple[tuple[slice, slice], int]]:
    """Samples and heads whose weights are held together, and the number of the first weight among all.

    With dropout a group's weights are neighbours among all, since each draws by its number. Without, it has a head of
    many samples, so that a routine can share the samples out.
    """
    fits = max(1, SCRATCH // max(time * time, 1))
    samples, part = max(1, fits // heads), min(fits, heads)
    if p == 0:
        samples = max(1, min(b, MOST_SAMPLES * fits))
        part = min(heads, max(1, fits // samples))
    for sample in range(0, b if time else 0, samples):
        for head in range(0, heads, part):
            place = slice(sample, min(sample + samples, b)), slice(head, min(head + part, heads))
            yield place, (sample * heads + head) * time * time


def blocks(time: int, size: int = QUERIES) -> list[slice]:
    """Queries (or keys) of one sequence, a block of `size` at a time."""
    return [slice(start, min(start + size, time)) for start in range(0, time, size)]


def panels(time: int) -> list[slice]:
    """Queries whose weights are held together: all of a sequence, or as many blocks as fit."""
    if time * time <= SCRATCH:
        return blocks(time, max(time, 1))
    return blocks(time, QUERIES * max(1, SCRATCH // (QUERIES * time)))


def whole(t: Tensor) -> list[slice]:
    """All samples and heads of a group."""
    return [slice(0, n) for n in t.shape[:2]]


def cut(t: Tensor, *slices: slice) -> Tensor:
    """View of the part of `t` that one slice for each of its first axes leaves."""
    shape = tuple(s.stop - s.start for s in slices) + t.shape[len(slices) :]
    return t.view(shape, t.strides, sum(s.start * step for s, step in zip(slices, t.strides, strict=False)))


def seen_products(queries: Tensor, keys: Tensor, alpha: float, start: int) -> Tensor:
    """Products of each query with the keys up to the end of its block; what is beyond holds anything.

    `queries` are a panel, from the query of number `start` on.
    """
    (*batch, rows, _), both = queries.shape, whole(queries)
    out = empty((*batch, rows, keys.shape[2]), queries.dtype, queries.backend)
    for block in blocks(rows):
        seen = slice(0, start + block.stop)
        place = cut(out, *both, block, seen)
        product(cut(queries, *both, block), cut(keys, *both, seen), None, False, True, alpha, place)
    return out


def attention_weights(q: Tensor, k: Tensor, start: int) -> Tensor:
    """The causal softmax of scaled scores of a panel of queries."""
    scores = seen_products(q, k, float(q.shape[-1] ** -0.5), start)
    weights = empty(scores.shape, q.dtype, q.backend)
    run_rows(softmax_kernel, _rows(scores), (scores, weights), (q.shape[2], start, STRETCH))
    return weights


def _rows(weights: Tensor) -> tuple[int, int]:
    return weights.size // weights.shape[-1], weights.shape[-1]


def _samples(rng: np.random.Generator):
    for (b, t, c), heads in (((2, 5, 4), 2), ((1, 1, 3), 1), ((3, 4, 6), 3), ((0, 2, 4), 2)):
        yield (rng.uniform(-2, 2, (b, t, 3 * c)),), {"heads": heads}
    yield (rng.uniform(-2, 2, (2, 3, 12)),), {"heads": 2, "p": 0.4, "seed": 5, "offset": 11}


def _split(qkv, heads):
    b, t, columns = qkv.shape
    return qkv.reshape(b, t, 3, heads, columns // 3 // heads).transpose(2, 0, 3, 1, 4)


def _dropped(weights, p, seed, offset):
    """Weights or their gradients after dropout."""
    kept = dropout_keep(weights.size, p, seed, offset).reshape(weights.shape)
    return np.where(kept, weights * float(dropout_scale(p)), 0.0)


def attention_reference(qkv, heads, p=0.0, seed=0, offset=0):
    """Causal self-attention by NumPy."""
    q, k, v = _split(qkv, heads)
    weights = softmax_reference(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]), causal=True)
    y = _dropped(weights, p, seed, offset) @ v
    return y.transpose(0, 2, 1, 3).reshape(*qkv.shape[:2], qkv.shape[2] // 3)


def _check(qkv: Tensor, heads: int) -> None:
    floats_only("attention", qkv)
    if qkv.ndim != 3 or heads < 1 or qkv.shape[2] % (3 * heads) or qkv.shape[2] == 0:
        raise ShapeError(
            f"attention got shape {qkv.shape} and heads={heads}: it needs [batch, time, 3 width] with heads dividing "
            "width"
        )


def _settings(name: str, heads: int, p: float, seed: int, offset: int) -> tuple[int, float, int, int]:
    heads, seed = whole_number(name, "heads", heads), whole_number(name, "seed", seed)
    return heads, probability(name, p), seed, whole_number(name, "offset", offset)


@op(_samples, attention_reference, dtypes="floats")
def attention(
    qkv, heads: int, p: float = 0.0, seed: int = 0, offset: int = 0, weights: bool = False
) -> Tensor | tuple[Tensor, Tensor]:
    r"""Causal self-attention: for each head :math:`out = softmax(q k^T / \sqrt{d})\,v`, where a query sees itself and
    earlier keys.

    Backward: `attention_grad`. Saves qkv; the attention weights are computed again.

    Parameters
    ----------
    qkv : Tensor
        ``[b, t, 3 c]``, columns in the order q, k, v and within each head by head.
    heads : int
        Divides c; :math:`d = c / heads`.
    p, seed, offset : float, int, int
        Dropout of the attention weights, see `dropout`.
    weights : bool
        Whether to return the weights as well, a copy of those that the values were summed with.

    Returns
    -------
    Tensor, or two
        ``[b, t, c]``, and with `weights` what each query takes from each key, ``[b, heads, t, t]``; later keys have
        exact zeros.

    Raises
    ------
    ShapeError
        If the shape and the number of heads do not fit.
    TapeError
        If the weights of a tracked tensor are asked for while ops are recorded: they have no gradient.

    References
    ----------
    Vaswani et al., "Attention Is All You Need", 2017, section 3.2.
    """
    qkv = as_tensor(qkv)
    heads, p, seed, offset = _settings("attention", heads, p, seed, offset)
    _check(qkv, heads)
    if flag("attention", "weights", weights) and qkv.requires_grad and is_recording():
        raise TapeError(
            "attention hands out weights that have no gradient, and got a tensor that needs one: ask for them inside "
            "no_grad(), or call unfused_attention"
        )
    packed = widened(qkv.detach())
    (b, time, columns), dtype = qkv.shape, packed.dtype
    out = empty((b, time, columns // 3), dtype, packed.backend)
    shares = empty((b, heads, time, time), dtype, packed.backend) if weights else None
    for place, first in groups(b, heads, time, p):
        parts = [cut(heads_of(packed, heads, third), *place) for third in range(3)]
        y = cut(heads_of(out, heads, 0, 1), *place)
        for panel in panels(time):
            drop = partial(dropout, p=p, seed=seed, offset=offset + first + panel.start * time)
            held = _attend(parts, y, panel, drop)
            if shares is not None:
                run_map(copy_kernel, (held,), into=(cut(shares, *place, panel),))

    def backward(dout):
        return (attention_grad(qkv, dout, heads, p, seed, offset),)

    y = record(narrowed(out, qkv.dtype), (qkv,), backward)
    return y if shares is None else (y, narrowed(shares, qkv.dtype))


def _attend(parts: list[Tensor], y: Tensor, panel: slice, drop: Callable) -> Tensor:
    """Write the outputs `y` of a panel of queries of some heads; returns the weights."""
    (q, k, v), both, start = parts, whole(y), panel.start
    weights = drop(attention_weights(cut(q, *both, panel), k, start))
    for block in blocks(panel.stop - start):
        seen, queries = slice(0, start + block.stop), slice(start + block.start, start + block.stop)
        product(cut(weights, *both, block, seen), cut(v, *both, seen), out=cut(y, *both, queries))
    return weights


def _grad_samples(rng: np.random.Generator):
    for (qkv,), keywords in _samples(rng):
        if qkv.size > 120:
            continue  # the larger one is a sample of attention, whose gradient this is
        yield (qkv, rng.uniform(-2, 2, (*qkv.shape[:2], qkv.shape[2] // 3))), keywords


def attention_grad_reference(qkv, dout, heads, p=0.0, seed=0, offset=0):
    """Gradient of causal self-attention by NumPy."""
    q, k, v = _split(qkv, heads)
    b, t, c = dout.shape
    dy = dout.reshape(b, t, heads, c // heads).transpose(0, 2, 1, 3)
    weights = softmax_reference(q @ k.swapaxes(-1, -2) / np.sqrt(c // heads), causal=True)
    dweights, dropped = (_dropped(w, p, seed, offset) for w in (dy @ v.swapaxes(-1, -2), weights))
    dscores = softmax_grad_reference(weights, dweights, causal=True) / np.sqrt(c // heads)
    parts = np.stack([dscores @ k, dscores.swapaxes(-1, -2) @ q, dropped.swapaxes(-1, -2) @ dy])
    return parts.transpose(1, 3, 0, 2, 4).reshape(qkv.shape)


@op(_grad_samples, attention_grad_reference, (0, 1), dtypes="alike")
def attention_grad(qkv, dout, heads: int, p: float = 0.0, seed: int = 0, offset: int = 0) -> Tensor:
    r"""Gradient of `attention`, written into one packed tensor.

    With the weights :math:`w`, computed again, and :math:`dw = dout\,v^T`:
    :math:`ds = w (dw - \sum w\,dw) / \sqrt d`, :math:`dq = ds\,k`, :math:`dk = ds^T q`, :math:`dv = w^T dout`.
    Backward: through these formulas, written in ops, which hold all weights, ``[b, heads, t, t]``, at once. Saves both.

    Raises
    ------
    DTypeError
        If `dout` has another dtype.
    """
    qkv, dout = together(qkv, dout)
    heads, p, seed, offset = _settings("attention_grad", heads, p, seed, offset)
    _check(qkv, heads)
    packed, slope, dtype = widened(qkv), widened(dout), qkv.dtype
    if slope.dtype is not packed.dtype:
        raise DTypeError(f"attention_grad got dtypes {dtype.name} and {dout.dtype.name}: convert one with astype")
    dqkv = empty(qkv.shape, packed.dtype, packed.backend)
    time = qkv.shape[1]
    for place, first in groups(qkv.shape[0], heads, time, p):
        parts = [cut(heads_of(packed, heads, third), *place) for third in range(3)]
        gradients = [cut(heads_of(dqkv, heads, third), *place) for third in range(3)]
        dy = cut(heads_of(slope, heads, 0, 1), *place)
        for panel in panels(time):
            drop = partial(dropout, p=p, seed=seed, offset=offset + first + panel.start * time)
            _panel_grad(parts, dy, gradients, panel, drop if p else None)

    def steps(qkv, dout):
        return _grad_steps(qkv, dout, heads, partial(dropout, p=p, seed=seed, offset=offset))

    return record_steps(narrowed(dqkv, dtype), (qkv, dout), steps)


def _grad_steps(qkv: Tensor, dout: Tensor, heads: int, drop: Callable) -> Tensor:
    """The formulas of `attention_grad`, each step an op."""
    (b, t, c), scale = dout.shape, float((dout.shape[2] // heads) ** -0.5)
    q, k, v = transpose(reshape(qkv, (b, t, 3, heads, c // heads)), (2, 0, 3, 1, 4))
    dy = transpose(reshape(dout, (b, t, heads, c // heads)), (0, 2, 1, 3))
    weights = softmax(matmul(q, k, trans_b=True, alpha=scale), causal=True)
    dscores = softmax_grad(weights, drop(matmul(dy, v, trans_b=True)), causal=True)
    dq, dk = matmul(dscores, k, alpha=scale), matmul(dscores, q, trans_a=True, alpha=scale)
    dv = matmul(drop(weights), dy, trans_a=True)
    return reshape(transpose(stack(dq, dk, dv), (1, 3, 0, 2, 4)), qkv.shape)


def _panel_grad(parts: list[Tensor], dy: Tensor, gradients: list[Tensor], panel: slice, drop: Callable | None) -> None:
    """The gradient dq of a panel of queries of some heads, and what these add to dk and dv."""
    (q, k, v), (dq, dk, dv), both = parts, gradients, whole(dy)
    q, dy, dq = (cut(t, *both, panel) for t in (q, dy, dq))
    start, rows, scale = panel.start, q.shape[2], float(q.shape[-1] ** -0.5)
    weights = attention_weights(q, k, start)
    dweights = drop(product(dy, v, None, False, True)) if drop else seen_products(dy, v, 1.0, start)
    dscores = empty(weights.shape, q.dtype, q.backend)
    run_rows(softmax_grad_kernel, _rows(weights), (weights, dweights, dscores), (rows, start, STRETCH))
    weights = drop(weights) if drop else weights
    for block in blocks(rows):
        seen = slice(0, start + block.stop)
        product(cut(dscores, *both, block, seen), cut(k, *both, seen), None, False, False, scale, cut(dq, *both, block))
    for keys in blocks(panel.stop):
        later = slice(max(keys.start - start, 0), rows)
        beta = 1.0 if keys.start < start else 0.0
        for factor, queries, alpha, out in ((dscores, q, scale, dk), (weights, dy, 1.0, dv)):
            column, queries = cut(factor, *both, later, keys), cut(queries, *both, later)
            product(column, queries, None, True, False, alpha, cut(out, *both, keys), beta)
