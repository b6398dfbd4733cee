"""Attention heads: between rows of tokens ``[b*t, c]`` and one matrix a head ``[b*h, t, c/h]``.

Batch and heads share the leading axis (index ``b*heads + head``), so attention needs no fourth dimension.
Packed rows hold the thirds q, k and v, each head after head.

Imports what every family of ops does (see `forgenb.ops`); elements are moved here, never computed with.
"""

from __future__ import annotations

import numpy as np

from ..errors import ArgumentError, DTypeError, ShapeError
from ..kernel import row_kernel
from ..kernel.primitives import lanes, put, real
from ..tape import record
from ..tensor import Tensor, empty
from .apply import as_tensor, narrowed, run_rows, together
from .movement import movable
from .plans import same_backend
from .settings import quoted, whole
from .table import op

SIZES = ((1, 3, 1, 4), (2, 2, 3, 2), (1, 1, 1, 1), (2, 0, 2, 3), (3, 1, 2, 5))
"""Batch, tokens, heads and head width of the samples."""


def _check_counts(name: str, heads: int, batch: int) -> None:
    heads, batch = whole(name, "heads", heads), whole(name, "batch", batch)
    if heads < 1 or batch < 1:
        raise ArgumentError(f"{name} got heads={heads} and batch={batch}: both must be at least 1")


def _split_rows(name: str, shape: tuple, heads: int, batch: int, parts: int) -> tuple[int, int]:
    """Tokens a batch element and width of a head, of rows with `parts` times `heads` heads."""
    _check_counts(name, heads, batch)
    if len(shape) != 2:
        raise ShapeError(f"{name} got shape {shape}: it needs rows of tokens, [batch*t, columns]")
    if shape[0] % batch:
        raise ShapeError(
            f"{name} got {shape[0]} rows (shape {shape}) for batch={batch}: the batch must divide the rows"
        )
    if shape[1] % (parts * heads):
        thirds = "3 (q, k and v) times " if parts == 3 else ""
        raise ShapeError(
            f"{name} got {shape[1]} columns (shape {shape}): {thirds}heads={heads} must divide the columns"
        )
    return shape[0] // batch, shape[1] // (parts * heads)


def _heads_of(name: str, shape: tuple, batch: int) -> int:
    """How many heads ``[b*h, t, hd]`` has."""
    _check_counts(name, 1, batch)
    if len(shape) != 3:
        raise ShapeError(f"{name} got shape {shape}: it needs one matrix a head, [batch*heads, t, width]")
    if shape[0] == 0 or shape[0] % batch:
        raise ShapeError(
            f"{name} got {shape[0]} matrices (shape {shape}) for batch={batch}: the batch must divide them"
        )
    return shape[0] // batch


@row_kernel("rows | qkv[rows,c3] -> q[groups,t,hd] k[groups,t,hd] v[groups,t,hd]; heads:int")
def split_heads_kernel(row, qkv, q, k, v, heads):
    """One token: its three times `heads` pieces go to their matrices."""
    t, hd = q.shape[1], q.shape[2]
    element = row // t
    token = row - element * t
    for head in range(heads):
        group = element * heads + head
        copy_piece(qkv[row, head * hd : (head + 1) * hd], q[group, token])
        copy_piece(qkv[row, (heads + head) * hd : (heads + head + 1) * hd], k[group, token])
        copy_piece(qkv[row, (2 * heads + head) * hd : (2 * heads + head + 1) * hd], v[group, token])


def copy_piece(x, out):
    """One head's part of a token."""
    for j in lanes(out.shape[0]):
        put(out, j, x[j])


def _split_samples(rng: np.random.Generator):
    for b, t, h, hd in SIZES:
        yield (rng.uniform(-2, 2, (b * t, 3 * h * hd)),), {"heads": h, "batch": b}


def _split_reference(qkv, heads, batch=1):
    rows, columns = qkv.shape
    t, hd = rows // batch, columns // (3 * heads)
    thirds = qkv.reshape(batch, t, 3, heads, hd).transpose(2, 0, 3, 1, 4)
    return tuple(third.reshape(batch * heads, t, hd) for third in thirds)


@op(_split_samples, _split_reference, outputs=3)
def split_heads(qkv, heads: int, batch: int = 1) -> tuple[Tensor, Tensor, Tensor]:
    r"""Packed rows ``[b*t, 3c]`` as q, k and v, each ``[b*h, t, c/h]``.

    :math:`q_{bh+i,\,s,\,j} = qkv_{bt+s,\,i\,hd+j}`, and k and v from the
    next thirds. One node with three outputs.

    Backward: the three gradients packed in one pass, an absent one as zeros (`unsplit_heads`). Saves nothing.

    Raises
    ------
    ShapeError
        If `batch` does not divide the rows, or 3 times `heads` the columns.
    ArgumentError
        If `heads` or `batch` is below 1.
    """
    qkv = as_tensor(qkv)
    t, hd = _split_rows("split_heads", qkv.shape, heads, batch, 3)
    rows, groups = qkv.shape[0], batch * heads
    source = movable(qkv.detach())
    outs = tuple(empty((groups, t, hd), source.dtype, qkv.backend) for _ in range(3))
    run_rows(split_heads_kernel, (rows, qkv.shape[1], groups, t, hd), (source, *outs), (heads,), work=qkv.shape[1])

    def backward(dq, dk, dv):
        return (unsplit_heads(dq, dk, dv, batch),)

    return record(tuple(narrowed(out, qkv.dtype) for out in outs), (qkv,), backward)


@row_kernel(
    "rows | dq[groups,t,hd] dk[groups,t,hd] dv[groups,t,hd] -> dqkv[rows,c3];heads:int has_q:int has_k:int has_v:int"
)
def unsplit_heads_kernel(row, dq, dk, dv, dqkv, heads, has_q, has_k, has_v):
    """One token's packed gradient; a third that is not there is zeros."""
    t, hd = dq.shape[1], dq.shape[2]
    element = row // t
    token = row - element * t
    for head in range(heads):
        group = element * heads + head
        pack_piece(dq[group, token], dqkv[row, head * hd : (head + 1) * hd], has_q)
        pack_piece(dk[group, token], dqkv[row, (heads + head) * hd : (heads + head + 1) * hd], has_k)
        pack_piece(dv[group, token], dqkv[row, (2 * heads + head) * hd : (2 * heads + head + 1) * hd], has_v)


def pack_piece(x, out, there):
    """One head's part of a token, or zeros."""
    if there:
        copy_piece(x, out)
    else:
        for j in lanes(out.shape[0]):
            put(out, j, real(0))


def _unsplit_samples(rng: np.random.Generator):
    for b, t, h, hd in SIZES:
        yield tuple(rng.uniform(-2, 2, (b * h, t, hd)) for _ in range(3)), {"batch": b}


def _packed(x, batch):
    groups, t, hd = x.shape
    return x.reshape(batch, groups // batch, t, hd).transpose(0, 2, 1, 3).reshape(batch * t, groups // batch * hd)


@op(
    _unsplit_samples,
    lambda q, k, v, batch=1: np.concatenate([_packed(x, batch) for x in (q, k, v)], 1),
    (0, 1, 2),
    dtypes="one",
)
def unsplit_heads(q, k, v, batch: int = 1) -> Tensor:
    """q, k and v, each ``[b*h, t, hd]`` or None for zeros, as packed rows ``[b*t, 3*h*hd]``.

    Undoes `split_heads`. Backward: `dout` split again. Saves nothing.

    Raises
    ------
    ShapeError, DTypeError
        If the shapes or dtypes differ or `batch` does not divide the matrices.
    ArgumentError
        If all three are None, or `batch` is below 1.
    """
    given = together(*(x for x in (q, k, v) if x is not None))
    if not given:
        raise ArgumentError("unsplit_heads got None for q, k and v: at least one must be a tensor")
    same_backend("unsplit_heads", given)
    first = given[0]
    heads = _heads_of("unsplit_heads", first.shape, batch)
    for other in given[1:]:
        if (other.shape, other.dtype) != (first.shape, first.dtype):
            raise (DTypeError if other.shape == first.shape else ShapeError)(
                f"unsplit_heads got shapes {first.shape} and {other.shape}, dtypes {first.dtype} and "
                f"{other.dtype}: they must be equal"
            )
    flags = tuple(int(x is not None) for x in (q, k, v))
    sources = iter([movable(x.detach()) for x in given])
    thirds = [next(sources) if flag else None for flag in flags]
    filler = next(x for x in thirds if x is not None)
    groups, t, hd = first.shape
    rows, columns = batch * t, 3 * heads * hd
    out = empty((rows, columns), filler.dtype, first.backend)
    operands = (*(filler if x is None else x for x in thirds), out)
    run_rows(unsplit_heads_kernel, (rows, groups, t, hd, columns), operands, (heads, *flags), work=columns)
    places = tuple(i for i, flag in enumerate(flags) if flag)

    def backward(dout):
        pieces = split_heads(dout, heads, batch)
        return tuple(pieces[i] for i in places)

    return record(narrowed(out, first.dtype), given, backward)


def _unsplit_head_samples(rng: np.random.Generator):
    for which, (b, t, h, hd) in enumerate(SIZES):
        yield (rng.uniform(-2, 2, (b * h, t, hd)),), {"which": which % 3, "batch": b}


def _unsplit_head_reference(d, which, batch=1):
    piece = _packed(d, batch)
    return np.concatenate([piece if i == which else np.zeros_like(piece) for i in range(3)], 1)


@op(_unsplit_head_samples, _unsplit_head_reference)
def unsplit_head(d, which: int, batch: int = 1) -> Tensor:
    """``d[b*h, t, hd]`` in third `which` (0 q, 1 k, 2 v) of zeros ``[b*t, 3*h*hd]``; see `unsplit_heads`.

    Backward: that third of the gradient, as in `unsplit_heads`. Saves nothing.

    Raises
    ------
    ArgumentError
        If `which` is not 0, 1 or 2.
    """
    if whole("unsplit_head", "which", which) not in (0, 1, 2):
        raise ArgumentError(f"unsplit_head got which={quoted(which)}: it is 0 for q, 1 for k or 2 for v")
    batch = whole("unsplit_head", "batch", batch)
    q, k, v = (d if which == i else None for i in range(3))
    return unsplit_heads(q, k, v, batch)


@row_kernel("rows | x[groups,t,hd] -> out[rows,c]; heads:int")
def merge_heads_kernel(row, x, out, heads):
    """One token: its pieces of all heads, side by side."""
    t, hd = x.shape[1], x.shape[2]
    element = row // t
    token = row - element * t
    for head in range(heads):
        copy_piece(x[element * heads + head, token], out[row, head * hd : (head + 1) * hd])


def _merge_samples(rng: np.random.Generator):
    for b, t, h, hd in SIZES:
        yield (rng.uniform(-2, 2, (b * h, t, hd)),), {"batch": b}


@op(_merge_samples, lambda x, batch=1: _packed(x, batch))
def merge_heads(x, batch: int = 1) -> Tensor:
    r"""One matrix a head, ``[b*h, t, hd]``, as rows of tokens ``[b*t, h*hd]``.

    :math:`out_{bt+s,\,i\,hd+j} = x_{bh+i,\,s,\,j}`. Backward: `unmerge_heads` of `dout`. Saves nothing.

    Raises
    ------
    ShapeError
        If `x` is not ``[b*h, t, hd]`` or `batch` does not divide the matrices.
    ArgumentError
        If `batch` is below 1.
    """
    x = as_tensor(x)
    heads = _heads_of("merge_heads", x.shape, batch)
    groups, t, hd = x.shape
    source = movable(x.detach())
    out = empty((batch * t, heads * hd), source.dtype, x.backend)
    run_rows(merge_heads_kernel, (batch * t, groups, t, hd, heads * hd), (source, out), (heads,), work=heads * hd)

    def backward(dout):
        return (unmerge_heads(dout, heads, batch),)

    return record(narrowed(out, x.dtype), (x,), backward)


@row_kernel("rows | dout[rows,c] -> dx[groups,t,hd]; heads:int")
def unmerge_heads_kernel(row, dout, dx, heads):
    """One token: each head's piece goes to its matrix."""
    t, hd = dx.shape[1], dx.shape[2]
    element = row // t
    token = row - element * t
    for head in range(heads):
        copy_piece(dout[row, head * hd : (head + 1) * hd], dx[element * heads + head, token])


def _unmerge_samples(rng: np.random.Generator):
    for b, t, h, hd in SIZES:
        yield (rng.uniform(-2, 2, (b * t, h * hd)),), {"heads": h, "batch": b}


def _unmerge_reference(dy, heads, batch=1):
    rows, columns = dy.shape
    split = dy.reshape(batch, rows // batch, heads, columns // heads).transpose(0, 2, 1, 3)
    return split.reshape(batch * heads, rows // batch, columns // heads)


@op(_unmerge_samples, _unmerge_reference)
def unmerge_heads(dy, heads: int, batch: int = 1) -> Tensor:
    """Rows of tokens ``[b*t, h*hd]`` as one matrix a head, ``[b*h, t, hd]``.

    Undoes `merge_heads`, and is its backward. Backward: `merge_heads` of `dout`. Saves nothing.

    Raises
    ------
    ShapeError
        If `batch` does not divide the rows or `heads` the columns.
    ArgumentError
        If `heads` or `batch` is below 1.
    """
    dy = as_tensor(dy)
    t, hd = _split_rows("unmerge_heads", dy.shape, heads, batch, 1)
    groups = batch * heads
    source = movable(dy.detach())
    out = empty((groups, t, hd), source.dtype, dy.backend)
    run_rows(
        unmerge_heads_kernel,
        (dy.shape[0], dy.shape[1], groups, t, hd),
        (source, out),
        (heads,),
        work=dy.shape[1],
    )

    def backward(dout):
        return (merge_heads(dout, batch),)

    return record(narrowed(out, dy.dtype), (dy,), backward)
