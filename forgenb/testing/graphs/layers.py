"""Recipes of products, convolutions, pooling, normalisations, attention, recurrent cells and losses of classes."""

from __future__ import annotations

import numpy as np

from .build import Builder, Rejected
from .recipes import recipe
from .shapes import matrix_or_more, vector_or_more

SMALL = (2, 3, 1)


@recipe("matmul")
def matmul(b: Builder, name: str) -> None:
    """Of vectors, matrices and batches of them, in any mixture, turned, with a factor and a bias."""
    a = b.real(fits=vector_or_more)
    shape = b.shape(a)
    trans_a, trans_b = (len(shape) > 1 and b.coin()), b.coin()
    inner = shape[-2] if trans_a else shape[-1]
    n = b.one_of(SMALL)
    batch = tuple(1 if b.coin() else size for size in shape[:-2][b.pick(3) :])
    vector = b.pick(4) == 3
    turns: dict = {"trans_a": True} if trans_a else {}
    rows, columns = (n, inner) if trans_b else (inner, n)
    if trans_b and not vector:
        turns["trans_b"] = True
    if not vector and len(shape) > 1 and b.pick(4) == 3:
        turns["b_rows"] = rows
        rows += 1 + b.pick(2)
    other = (inner,) if vector else (*batch, rows, columns)
    operands = [a, b.shaped(other)]
    if not vector and len(shape) > 1 and b.coin():
        operands.append(b.shaped((n,)))
    b.apply(name, *operands, **turns, **b.settings(alpha=(0.5, -2.0)))


@recipe("dot")
def dot(b: Builder, name: str) -> None:
    """Over the last axis of the first and the last but one of the second, or of numbers."""
    a = b.real()
    shape = b.shape(a)
    if not shape:
        b.apply(name, a, b.real())
        return
    other = b.one_of(((shape[-1],), (shape[-1], b.one_of(SMALL)), (2, shape[-1], 2)))
    b.apply(name, a, b.shaped(other))


@recipe("outer")
def outer(b: Builder, name: str) -> None:
    """All pairs of elements."""
    b.apply(name, b.real(), b.real())


EINSUMS = (
    "ij,jk->ik", "ij,jk", "ij->ji", "ij->j", "ij->", "ii->i", "ii", "ij,ij->i", "ij,kj->ik", "i,j->ij", "i,i->",
    "ij,j->i", "ijk,ikl->ijl", "ijk->kij", "ijk,ij->k", "...i->...", "...i,i->...", "...i,...i->...i", "ij,jk,kl->il",
    "ij,ij,ij->", "ij,j,i->", "ijk,k,ij->ji",
)  # fmt: skip


@recipe("einsum")
def einsum(b: Builder, name: str) -> None:
    """One of many notations, with the sizes of a value as its first operand."""
    subscripts = b.one_of(EINSUMS)
    first, *others = subscripts.split("->")[0].split(",")
    dots = "..." in first

    def fits(v):
        letters = first.replace("...", "")
        if v.ndim < len(letters) or (v.ndim > len(letters) and not dots):
            return False
        return len(set(zip(letters[::-1], v.shape[::-1], strict=False))) == len(set(letters))

    x = b.real(fits=fits)
    shape, letters = b.shape(x), first.replace("...", "")
    sizes = dict(zip(letters[::-1], shape[::-1], strict=False))
    operands = [x]
    for term in others:
        leading = shape[: len(shape) - len(letters)] if "..." in term else ()
        wanted = leading + tuple(sizes.setdefault(c, b.one_of(SMALL)) for c in term.replace("...", ""))
        operands.append(b.shaped(wanted))
    b.apply(name, *operands, subscripts=subscripts)


PLANES = ((1, 2, 4, 3), (2, 2, 3, 3), (1, 4, 3, 2), (2, 1, 3, 4))
LINES = ((2, 2, 5), (1, 4, 6), (2, 1, 4))


def _spaced(b: Builder) -> dict:
    return b.settings(stride=(2, (1, 2)), padding=(1, (0, 1)), dilation=((1, 1), (2, 1)))


def _window(x, kernel, stride=1, padding=0, dilation=1) -> tuple[int, int]:
    """Places of a window over planes; rejects one that does not fit."""
    pairs = (np.broadcast_to(v, 2) for v in (kernel, stride, padding, dilation))
    sizes = [int((s + 2 * p - d * (k - 1) - 1) // t + 1) for s, k, t, p, d in zip(x, *pairs, strict=True)]
    if min(sizes) < 1:
        raise Rejected("the window does not fit")
    return sizes[0], sizes[1]


def _convolution(b: Builder) -> tuple:
    """Planes, the shape of a weight, and settings."""
    x = b.shaped(b.one_of(PLANES))
    channels = b.shape(x)[1]
    groups = b.one_of([g for g in (1, 2) if channels % g == 0])
    kernel = b.one_of(((2, 2), (1, 2), (3, 2), (1, 1)))
    weight = (groups * b.one_of((1, 2)), channels // groups, *kernel)
    return x, weight, {**_spaced(b), **({"groups": groups} if groups > 1 else {})}


@recipe("conv2d")
def conv2d(b: Builder, name: str) -> None:
    """With and without bias, stride, padding, dilation and groups."""
    x, weight, settings = _convolution(b)
    _window(b.shape(x)[2:], weight[2:], **{k: v for k, v in settings.items() if k != "groups"})
    b.apply(name, x, b.shaped(weight), *([b.shaped(weight[:1])] if b.coin() else []), **settings)


@recipe("conv2d_input_grad conv2d_weight_grad")
def conv2d_grad(b: Builder, name: str) -> None:
    """The two gradients of a convolution, as functions of a cotangent."""
    x, weight, settings = _convolution(b)
    shape = b.shape(x)
    places = _window(shape[2:], weight[2:], **{k: v for k, v in settings.items() if k != "groups"})
    dout = b.shaped((shape[0], weight[0], *places))
    if name == "conv2d_input_grad":
        b.apply(name, dout, b.shaped(weight), size=shape[2:], **settings)
    else:
        b.apply(name, x, dout, kernel=weight[2:], **settings)


@recipe("conv1d")
def conv1d(b: Builder, name: str) -> None:
    """Over lines."""
    x = b.shaped(b.one_of(LINES))
    channels = b.shape(x)[1]
    groups = b.one_of([g for g in (1, 2) if channels % g == 0])
    weight = (groups * b.one_of((1, 2)), channels // groups, b.one_of((2, 1, 3)))
    settings = b.settings(stride=(2,), padding=(1,), dilation=(2,))
    _window((1, b.shape(x)[2]), (1, weight[2]), **{k: (0 if k == "padding" else 1, v) for k, v in settings.items()})
    operands = [x, b.shaped(weight), *([b.shaped(weight[:1])] if b.coin() else [])]
    b.apply(name, *operands, **settings, **({"groups": groups} if groups > 1 else {}))


def _pooling(b: Builder) -> dict:
    kernel = b.one_of((2, (2, 1), (3, 2)))
    return {"kernel": kernel, **b.settings(stride=(1, (2, 1)), padding=((0, 0), (1, 0)))}


def _pooled(shape: tuple[int, ...], settings: dict) -> tuple[int, int]:
    return _window(shape[2:], **{"stride": settings["kernel"], **settings})


@recipe("max_pool2d avg_pool2d")
def pooling(b: Builder, name: str) -> None:
    """With windows that overlap or reach over the edge, and without."""
    x, settings = b.shaped(b.one_of(PLANES)), _pooling(b)
    _pooled(b.shape(x), settings)
    b.apply(name, x, **settings)


@recipe("avg_pool2d_grad")
def avg_pool2d_grad(b: Builder, name: str) -> None:
    """The gradient of a mean under windows."""
    shape, settings = b.one_of(PLANES), _pooling(b)
    b.apply(name, b.shaped((*shape[:2], *_pooled(shape, settings))), size=shape[2:], **settings)


EPS = (1e-3, 0.1)


@recipe("layernorm")
def layernorm(b: Builder, name: str) -> None:
    """Over one axis or more at the end."""
    x = b.real(fits=vector_or_more)
    shape = b.shape(x)
    inner = shape[-1 - b.pick(len(shape)) :]
    b.apply(name, x, b.shaped(inner), b.shaped(inner), **b.settings(eps=EPS))


@recipe("rmsnorm")
def rmsnorm(b: Builder, name: str) -> None:
    """Over the last axis."""
    x = b.real(fits=vector_or_more)
    b.apply(name, x, b.shaped(b.shape(x)[-1:]), **b.settings(eps=EPS))


@recipe("groupnorm")
def groupnorm(b: Builder, name: str) -> None:
    """Over groups of channels."""
    x = b.real(fits=matrix_or_more)
    channels = b.shape(x)[1]
    groups = b.one_of([g for g in (1, 2, 3, 4) if channels % g == 0])
    b.apply(name, x, b.shaped((channels,)), b.shaped((channels,)), groups=groups, **b.settings(eps=EPS))


@recipe("batchnorm")
def batchnorm(b: Builder, name: str) -> None:
    """By the statistics of the batch."""
    x = b.real(fits=matrix_or_more)
    if b.values[x].size < 2 * b.shape(x)[1]:
        raise Rejected("one element a channel")
    channels = b.shape(x)[1:2]
    b.apply(name, x, b.shaped(channels), b.shaped(channels), **b.settings(eps=EPS))


@recipe("batchnorm_inference")
def batchnorm_inference(b: Builder, name: str) -> None:
    """By given statistics, which are constants."""
    x = b.real(fits=matrix_or_more)
    channels = b.shape(x)[1:2]
    mean, var = b.leaf(channels, "mild", tracked=False), b.leaf(channels, "positive", tracked=False)
    b.apply(name, x, b.shaped(channels), b.shaped(channels), mean, var, **b.settings(eps=EPS))


@recipe("attention")
def attention(b: Builder, name: str) -> None:
    """Of packed queries, keys and values."""
    heads = b.one_of((1, 2))
    b.apply(name, b.shaped((b.one_of((1, 2)), b.one_of((3, 2)), 3 * heads * b.one_of((1, 2)))), heads=heads)


@recipe("unfused_attention")
def unfused_attention(b: Builder, name: str) -> None:
    """Of a value as queries; keys and values may be broadcast along its leading axes."""
    q = b.real(fits=matrix_or_more)
    *batch, time, width = b.shape(q)
    leading = tuple(batch[b.pick(len(batch) + 1) :])
    keys = time + b.pick(3)
    k, v = b.shaped((*leading, keys, width)), b.shaped((*leading, keys, b.one_of(SMALL)))
    b.apply(name, q, k, v, **b.settings(causal=(True, False)))


@recipe("rope")
def rope(b: Builder, name: str) -> None:
    """Pairs of the last axis, turned by their place."""
    x = b.real(fits=lambda v: v.ndim > 1 and v.shape[-1] % 2 == 0)
    b.apply(name, x, **b.settings(base=(100.0,), offset=(3, 0), inverse=(True, False)))


@recipe("embedding")
def embedding(b: Builder, name: str) -> None:
    """Rows of two tables."""
    width, rows, pos = b.one_of(SMALL), b.one_of((4, 5)), b.pick(2)
    ids = b.ids(b.one_of(((3,), (2, 3))), rows)
    b.apply(name, ids, b.shaped((rows, width)), b.shaped((4 + b.pick(2), width)), pos=pos)


@recipe("cross_entropy nll_loss")
def classes(b: Builder, name: str) -> None:
    """A mean over rows, some of which may not count."""
    x = b.real(fits=vector_or_more)
    *rows, count = b.shape(x)
    targets = b.ids(tuple(rows), count)
    settings = b.settings(ignore_index=(0, 1), label_smoothing=(0.2, 0.0))
    if name == "nll_loss":
        settings.pop("label_smoothing", None)
    b.apply(name, x, targets, **settings)


@recipe("lstm_cell")
def lstm_cell(b: Builder, name: str) -> None:
    """A new hidden state and a new cell state."""
    batch, n = b.one_of((2, 1, 3)), b.one_of((2, 1, 3))
    b.apply(name, b.shaped((batch, 4 * n)), b.shaped((batch, n)))


@recipe("gru_cell")
def gru_cell(b: Builder, name: str) -> None:
    """A new hidden state."""
    batch, n = b.one_of((2, 1, 3)), b.one_of((2, 1, 3))
    b.apply(name, b.shaped((batch, 3 * n)), b.shaped((batch, 3 * n)), b.shaped((batch, n)))


@recipe("split_heads unsplit_heads unsplit_head merge_heads unmerge_heads")
def heads(b: Builder, name: str) -> None:
    """Packed rows as a matrix a head, or the other way."""
    batch, count, time, width = b.one_of((1, 2)), b.one_of((1, 2)), b.one_of((2, 3)), b.one_of((1, 2))
    settings = {"batch": batch} if batch > 1 else {}
    apart = (batch * count, time, width)
    if name == "split_heads":
        b.apply(name, b.shaped((batch * time, 3 * count * width)), heads=count, **settings)
    elif name == "unsplit_heads":
        b.apply(name, *(b.shaped(apart) for _ in range(3)), **settings)
    elif name == "unsplit_head":
        b.apply(name, b.shaped(apart), which=b.pick(3), **settings)
    elif name == "merge_heads":
        b.apply(name, b.shaped(apart), **settings)
    else:
        b.apply(name, b.shaped((batch * time, count * width)), heads=count, **settings)
