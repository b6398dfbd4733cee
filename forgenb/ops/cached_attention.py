"""Attention of one new token a sequence to the keys and values of a cache, each sequence at a place of its own.

Imports what every family of ops does (see `forgenb.ops`); whole sequences are `forgenb.ops.attention`, and no gradient
belongs here.
"""

from __future__ import annotations

import numpy as np

from ..errors import ShapeError, TapeError
from ..kernel import row_kernel
from ..kernel.elementary import exp
from ..kernel.primitives import (
    accumulate,
    fma,
    infinity,
    lane_barrier,
    lane_max,
    lane_sum,
    lanes,
    maxnum,
    put,
    real,
    sqrt,
)
from ..tape import is_recording
from ..tensor import Tensor, empty
from .apply import as_tensor, narrowed, row_major, run_rows, together, widened
from .assignment import assign_
from .ids import checked_ids
from .plans import one_float
from .settings import flag, whole
from .softmax import softmax_reference
from .table import op


@row_kernel("cache[groups,cap,hd] packed[b,c3] places[b]:int -> cache[groups,cap,hd]; heads:int third:int")
def kv_put_kernel(row, cache, packed, places, heads, third):
    """One head of one sequence: its part of the packed row goes to the sequence's place."""
    hd = cache.shape[2]
    sample = row // heads
    column = (third * heads + row - sample * heads) * hd
    place = places[sample]
    for j in lanes(hd):
        put(cache, (row, place, j), packed[sample, column + j])


@row_kernel(
    "groups | qkv[b,c3] keys[groups,cap,hd] values[groups,cap,hd] places[b]:int -> out[groups,hd] weights[groups,cap];"
    " heads:int filled:int"
)
def cached_attention_kernel(row, qkv, keys, values, places, out, weights, heads, filled):
    """One head of one sequence: scores of the keys up to its place, their softmax, and the sum of values.

    Weights behind the place become zeros up to the key of number `filled`, and hold anything from there on.
    """
    hd = keys.shape[2]
    sample = row // heads
    query = qkv[sample, (row - sample * heads) * hd : (row - sample * heads + 1) * hd]
    seen = places[sample] + 1
    scale = 1.0 / sqrt(real(hd))
    m = -infinity()
    for s in lanes(seen):
        score = real(0)
        for j in range(hd):
            score = accumulate(score, query[j] * keys[row, s, j])
        put(weights, (row, s), score * scale)
        m = maxnum(m, score * scale)
    m = lane_max(m)
    total = real(0)
    for s in lanes(seen):
        e = exp(weights[row, s] - m)
        put(weights, (row, s), e)
        total = accumulate(total, e)
    scale = 1.0 / lane_sum(total)
    for s in lanes(seen):
        put(weights, (row, s), weights[row, s] * scale)
    unseen = weights[row, min(seen, filled) : filled]
    for s in lanes(unseen.shape[0]):
        put(unseen, s, real(0))
    lane_barrier()
    for j in lanes(hd):
        put(out, (row, j), real(0))
    for s in range(seen):
        weight = weights[row, s]
        for j in lanes(hd):
            put(out, (row, j), fma(weight, values[row, s, j], out[row, j]))


SIZES = ((2, 2, 5, 3), (1, 1, 1, 1), (3, 1, 4, 2), (1, 3, 70, 4))
"""Sequences, heads, capacity and head width of the samples."""


def _put_samples(rng: np.random.Generator):
    for third, (b, heads, cap, hd) in enumerate(SIZES):
        cache, packed = rng.uniform(-2, 2, (b * heads, cap, hd)), rng.uniform(-2, 2, (b, 3 * heads * hd))
        yield (cache, packed, rng.integers(0, cap, b)), {"third": third % 3}


def _put_reference(cache, packed, places, third):
    out, b = cache.copy(), len(places)
    parts = packed.reshape(b, 3, len(cache) // b, cache.shape[2])[:, third]
    for group in range(len(cache)):
        sample, head = divmod(group, len(cache) // b)
        out[group, places[sample]] = parts[sample, head]
    return out


def _heads(name: str, cache: Tensor, packed: Tensor) -> int:
    """How many heads a sequence has in a cache."""
    one_float(name, (cache, packed))
    fits = cache.ndim == 3 and packed.ndim == 2 and packed.shape[0] and cache.shape[0] % packed.shape[0] == 0
    if not fits or 3 * cache.shape[0] * cache.shape[2] != packed.size or packed.size == 0:
        raise ShapeError(
            f"{name} got a cache of shape {cache.shape} and rows of shape {packed.shape}: they must be "
            "[b * heads, capacity, width] and [b, 3 * heads * width]"
        )
    return cache.shape[0] // packed.shape[0]


def _checked_places(name: str, places, cache: Tensor, packed: Tensor) -> Tensor:
    places = checked_ids(name, places, cache.shape[1], cache.backend, "place")
    if places.shape != packed.shape[:1]:
        raise ShapeError(f"{name} got places of shape {places.shape}: it needs one for each of {packed.shape[0]} rows")
    return places


def _refuse_tracked(name: str, *given: Tensor) -> None:
    if is_recording() and any(t.requires_grad for t in given):
        raise TapeError(f"{name} has no gradient: generate inside no_grad(), or train with attention")


@op(_put_samples, _put_reference, (), in_place=True, dtypes="one float")
def kv_put(cache: Tensor, packed, places, third: int) -> Tensor:
    r"""Write one token of each sequence into a cache, :math:`cache_{i h + j,\,places_i} = packed_{i,\,third,\,j}`.

    Parameters
    ----------
    cache : Tensor
        ``[b * heads, capacity, width]``; written in place and returned.
    packed : Tensor
        ``[b, 3 * heads * width]``, the thirds q, k and v, each head by head.
    places : integer Tensor or array_like
        ``[b]``, from 0 to capacity - 1.
    third : int
        1 for keys, 2 for values.

    Raises
    ------
    IndexRangeError
        If a place lies outside the cache; checked before anything is written.
    ShapeError
        If the shapes do not fit, or there is no such third.
    TapeError
        If an operand is tracked and ops are recorded.
    """
    cache, packed = together(cache, packed)
    third = whole("kv_put", "third", third)
    heads = _heads("kv_put", cache, packed)
    if not 0 <= third <= 2:
        raise ShapeError(f"kv_put got third={third}: 0 is q, 1 is k and 2 is v")
    _refuse_tracked("kv_put", cache, packed)
    places = _checked_places("kv_put", places, cache, packed)
    target, rows = widened(cache.detach()), widened(packed.detach())
    sizes = (*target.shape, *rows.shape)
    run_rows(kv_put_kernel, sizes, (target, rows, places), (heads, third), work=target.shape[2])
    if target.memory is cache.memory:
        cache.changed()
        return cache
    return assign_(cache, target)


def _samples(rng: np.random.Generator):
    for b, heads, cap, hd in SIZES:
        caches = (rng.uniform(-2, 2, (b * heads, cap, hd)) for _ in range(2))
        yield (rng.uniform(-2, 2, (b, 3 * heads * hd)), *caches, rng.integers(0, cap, b)), {}


def _reference(qkv, keys, values, places):
    b, groups, hd = len(places), len(keys), keys.shape[2]
    q, out = qkv[:, : qkv.shape[1] // 3].reshape(groups, hd), np.empty((groups, hd))
    for group in range(groups):
        seen = slice(0, places[group // (groups // b)] + 1)
        out[group] = softmax_reference(keys[group, seen] @ q[group] / np.sqrt(hd)) @ values[group, seen]
    return out.reshape(b, -1)


@op(_samples, _reference, (), dtypes="one float")
def cached_attention(
    qkv, keys: Tensor, values: Tensor, places, weights: bool = False
) -> Tensor | tuple[Tensor, Tensor]:
    r"""Attention of one query a sequence to its cache: :math:`out = softmax(q K^T / \sqrt{d})\,V` for each head, where
    :math:`K` and :math:`V` are the rows of the cache up to the sequence's place.

    Work grows with the places and not with the capacity, and what lies behind a place is not read. The thirds k and v
    of `qkv` are not read either: `kv_put` writes them into the caches first. It has no gradient.

    Parameters
    ----------
    qkv : Tensor
        ``[b, 3 c]``, as for `kv_put`.
    keys, values : Tensor
        ``[b * heads, capacity, c / heads]``.
    places : integer Tensor or array_like
        ``[b]``: each sequence's last row that is seen, that of the query itself.
    weights : bool
        Whether to return the weights as well, those that the values were summed with.

    Returns
    -------
    Tensor, or two
        ``[b, c]``, and with `weights` what the query takes from each row, ``[b, heads, capacity]``; rows that are not
        seen have exact zeros.

    Raises
    ------
    IndexRangeError
        If a place lies outside the caches.
    ShapeError, DTypeError
        If the shapes or dtypes do not fit.
    TapeError
        If an operand is tracked and ops are recorded.
    """
    like = next((t for t in (qkv, keys, values, places) if isinstance(t, Tensor)), None)
    qkv, keys, values = (as_tensor(t, like) for t in (qkv, keys, values))
    one_float("cached_attention", (qkv, keys, values))
    heads = _heads("cached_attention", keys, qkv)
    if values.shape != keys.shape:
        raise ShapeError(f"cached_attention got keys {keys.shape} and values {values.shape}: they must be equal")
    _refuse_tracked("cached_attention", qkv, keys, values)
    places = _checked_places("cached_attention", places, keys, qkv)
    given = [widened(t.detach()) for t in (qkv, keys, values)]
    groups, cap, hd = keys.shape
    out, shares = (empty((groups, size), given[0].dtype, qkv.backend) for size in (hd, cap))
    sizes = (groups, *qkv.shape, cap, hd)
    filled = cap if flag("cached_attention", "weights", weights) else 0
    run_rows(cached_attention_kernel, sizes, (*given, places, out, shares), (heads, filled), work=2 * cap * hd)
    b = qkv.shape[0]
    y = narrowed(row_major(out, (b, heads * hd)), qkv.dtype)
    return (y, narrowed(row_major(shares, (b, heads, cap)), qkv.dtype)) if weights else y
