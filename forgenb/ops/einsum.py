"""Sums of products in NumPy's notation: einsum, and the products that it generalises, dot and outer.

Operands are contracted two at a time. What both have and is summed becomes the inner axis of a matrix product, what
both have and stays becomes its batch; so a contraction is one `gemm`, and its gradients are such products too. Axes in
an order that BLAS can read are not copied.

Imports what every family of ops does (see `forgenb.ops`); the notation is `forgenb.ops.subscripts`.
"""

from __future__ import annotations

import numpy as np

from ..dtypes import result_dtype
from ..errors import ArgumentError, ShapeError
from ..layout import count
from ..tensor import Tensor
from .apply import narrowed, together
from .arithmetic import mul
from .diagonals import diagonal
from .matmul import matmul
from .movement import broadcast_to, moveaxis, reshape, transpose
from .reduction import sum_
from .subscripts import contraction, contraction_order
from .table import op

CATALOGUE: tuple[tuple[str, tuple], ...] = (
    ("boi->oib", ((2, 3, 4),)),
    ("abefcd->cfdbae", ((2, 1, 3, 2, 1, 2),)),
    ("boi->bi", ((2, 3, 4),)),
    ("abefcd->cda", ((2, 1, 3, 2, 1, 2),)),
    ("i,j->ji", ((2,), (3,))),
    ("ikj,lnm->ilknjm", ((2, 2, 1), (1, 2, 2))),
    ("boi,boi->boi", ((2, 3, 4), (2, 3, 4))),
    ("boh,bhi->boi", ((2, 5, 4), (2, 4, 3))),
    ("ahi,boh->aboi", ((2, 3, 2), (2, 2, 3))),
    ("bhi,boh->oi", ((2, 3, 2), (2, 4, 3))),
    ("ahi,boh->oi", ((2, 3, 2), (3, 4, 3))),
    ("...oi->...io", ((2, 3, 4),)),
    ("...o->...", ((3, 2),)),
    ("ij->ji", ((3, 2),)),
    ("ii->i", ((3, 3),)),
    ("ii", ((3, 3),)),
    ("iji->j", ((3, 2, 3),)),
    ("ij,jk", ((2, 3), (3, 4))),
    ("ij,kj->ik", ((2, 3), (4, 3))),
    ("ji,jk->ik", ((3, 2), (3, 4))),
    ("i,i", ((4,), (4,))),
    ("i,i->i", ((4,), (1,))),
    ("ij,j->", ((2, 3), (3,))),
    ("...ij,...jk->...ik", ((2, 1, 2, 3), (4, 3, 2))),
    ("...i,...i", ((2, 3), (3,))),
    ("bhqd,bhkd->bhqk", ((2, 2, 3, 4), (2, 2, 5, 4))),
    ("ij,jk,kl->il", ((2, 3), (3, 4), (4, 2))),
    ("bqd,bkd,bkv,q->bqv", ((2, 3, 2), (2, 4, 2), (2, 4, 3), (3,))),
    ("ii,ij->j", ((3, 3), (3, 2))),
    ("ij,j->i", ((0, 3), (3,))),
    ("ij,jk->ik", ((2, 0), (0, 3))),
    (",i->i", ((), (3,))),
)
"""Subscripts and shapes of the samples."""


def _samples(rng: np.random.Generator):
    for subscripts, shapes in CATALOGUE:
        yield tuple(rng.uniform(0.25, 2, shape) for shape in shapes), {"subscripts": subscripts}


@op(_samples, lambda *operands, subscripts: np.einsum(subscripts, *operands), (0, 1, 2, 3))
def einsum(*operands, subscripts: str = "") -> Tensor:
    r"""Sum of products by Einstein's notation, ``einsum("ij,jk->ik", a, b)``: :math:`out_{ik} = \sum_j a_{ij} b_{jk}`.

    Each operand has a letter for each axis. Letters that the result does not name are summed; one that an operand
    names twice takes its diagonal; ``...`` stands for axes that broadcast. Without ``->`` the result has the letters
    that stand once, in alphabetical order. An axis of size 1 broadcasts. Integers keep their dtype, in which
    sums wrap around as in NumPy. Without a sum or
    a product the result is a view.

    Backward: the gradient of each operand is an einsum of `dout` and the other operands, through the ops that this one
    is made of (`matmul`, `mul`, `sum`, `transpose`, `diagonal`). Saves the operands of each product.

    Raises
    ------
    ArgumentError
        If the notation is wrong.
    ShapeError
        If operands do not have the axes that it names, or sizes of a letter differ.
    """
    if operands and isinstance(operands[0], str):
        subscripts, operands = operands[0], operands[1:]
    if not operands or not isinstance(subscripts, str):
        raise ArgumentError("einsum takes subscripts and operands, as in einsum('ij,jk->ik', a, b)")
    tensors = together(*operands)
    plan = contraction(subscripts, tuple(t.shape for t in tensors))
    parts = [_without_repeats(subscripts, t, term) for t, term in zip(tensors, plan.terms, strict=True)]
    labels, shapes = tuple(part[1] for part in parts), tuple(part[0].shape for part in parts)
    for step in contraction_order(labels, plan.output, shapes):
        chosen = [parts.pop(place) for place in sorted(step, reverse=True)][::-1]
        keep = set(plan.output).union(*(part[1] for part in parts))
        result = chosen[0]
        for place, other in enumerate(chosen[1:], 2):
            result = _contracted(result, other, keep.union(*(c[1] for c in chosen[place:])), plan.sizes)
        parts.append(result)
    out = _arranged(*parts[0], plan.output, plan.sizes)
    return narrowed(out, result_dtype(*(t.dtype for t in tensors)))


def _without_repeats(subscripts: str, t: Tensor, labels: str) -> tuple[Tensor, str]:
    """The operand's diagonals, so that it has each label once."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            if t.shape[first] != t.shape[second]:
                raise ShapeError(
                    f"einsum({subscripts!r}) got sizes {t.shape[first]} and {t.shape[second]} for {label!r} in one "
                    "operand: a diagonal needs equal ones"
                )
            t = diagonal(t, 0, first, second)
            labels = labels[:first] + labels[first + 1 : second] + labels[second + 1 :] + label
    return t, labels


def _summed(t: Tensor, labels: str, keep: set[str]) -> tuple[Tensor, str]:
    """The operand without the labels that nothing else needs."""
    gone = tuple(a for a, label in enumerate(labels) if label not in keep)
    return (sum_(t, axis=gone), "".join(c for c in labels if c in keep)) if gone else (t, labels)


def _spread(t: Tensor, labels: str, sizes: dict[str, int]) -> Tensor:
    return broadcast_to(t, tuple(sizes[c] for c in labels))


def _ordered(t: Tensor, labels: str, wanted: str) -> Tensor:
    return t if labels == wanted else transpose(t, tuple(labels.index(c) for c in wanted))


def _arranged(t: Tensor, labels: str, output: str, sizes: dict[str, int]) -> Tensor:
    t, labels = _summed(_spread(t, labels, sizes), labels, set(output))
    return _ordered(t, labels, output)


def _contracted(
    one: tuple[Tensor, str], other: tuple[Tensor, str], keep: set[str], sizes: dict[str, int]
) -> tuple[Tensor, str]:
    """Two operands in one: the labels in `keep` stay, all others are summed."""
    a, first = _summed(_spread(*one, sizes), one[1], keep | set(other[1]))
    b, second = _summed(_spread(*other, sizes), other[1], keep | set(one[1]))
    shared = [c for c in first if c in second]
    batch, inner = ("".join(c for c in shared if (c in keep) is kept) for kept in (True, False))
    left, right = ("".join(c for c in labels if c not in shared) for labels in (first, second))
    if not inner or a.dtype.kind != "f" or b.dtype.kind != "f":
        labels = batch + left + right + inner
        return _summed(mul(_aligned(a, first, labels), _aligned(b, second, labels)), labels, keep)
    a, trans_a = _matrices(a, first, batch, left, inner)
    b, trans_b = _matrices(b, second, batch, right, inner)
    out = matmul(a, b, None, trans_a, not trans_b)
    return reshape(out, tuple(sizes[c] for c in batch + left + right)), batch + left + right


def _aligned(t: Tensor, labels: str, wanted: str) -> Tensor:
    """The operand with axes in the order `wanted`, of size 1 for labels that it does not have."""
    t = _ordered(t, labels, "".join(c for c in wanted if c in labels))
    shape = iter(t.shape)
    return reshape(t, tuple(next(shape) if c in labels else 1 for c in wanted))


def _matrices(t: Tensor, labels: str, batch: str, outer: str, inner: str) -> tuple[Tensor, bool]:
    """The operand as ``[batch..., outer, inner]``, or with the last two swapped where it lies so in memory already."""
    swapped = labels == batch + inner + outer
    t = t if swapped else _ordered(t, labels, batch + outer + inner)
    sizes = dict(zip(batch + inner + outer if swapped else batch + outer + inner, t.shape, strict=True))
    groups = (inner, outer) if swapped else (outer, inner)
    shape = tuple(sizes[c] for c in batch) + tuple(count(tuple(sizes[c] for c in group)) for group in groups)
    return reshape(t, shape), swapped


def _dot_samples(rng: np.random.Generator):
    for first, second in (
        ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 2)), ((3, 4), (4, 2)), ((), (3,)), ((2,), ()),
        ((2, 3, 4), (4, 2)), ((3, 4), (2, 4, 3)), ((2, 2, 3), (2, 1, 3, 2)), ((0,), (0,)),
    ):  # fmt: skip
        yield (rng.uniform(-2, 2, first), rng.uniform(-2, 2, second)), {}


@op(_dot_samples, np.dot, (0, 1))
def dot(a, b) -> Tensor:
    r"""Dot product: the sum over the last axis of `a` and the last but one of `b`, or its only one.

    Numbers without dimensions multiply. `matmul` differs beyond two dimensions, where it sees a batch.

    Backward: that of `matmul` or `mul`. Saves both.

    Raises
    ------
    ShapeError
        If the two axes differ in size.
    """
    a, b = together(a, b)
    if a.ndim == 0 or b.ndim == 0:
        return mul(a, b)
    if a.dtype.kind != "f" or b.dtype.kind != "f":
        return _whole_dot(a, b)
    if b.ndim <= 2:
        return matmul(a, b)
    front = moveaxis(b, -2, 0)
    out = matmul(a, reshape(front, (front.shape[0], count(front.shape[1:]))))
    return reshape(out, (*a.shape[:-1], *front.shape[1:]))


def _whole_dot(a: Tensor, b: Tensor) -> Tensor:
    """`dot` where an operand holds integers, which `matmul` does not take."""
    first = [chr(ord("a") + i) for i in range(a.ndim)]
    second = [chr(ord("A") + i) for i in range(b.ndim)]
    axis = max(b.ndim - 2, 0)
    second[axis] = first[-1]
    result = first[:-1] + second[:axis] + second[axis + 1 :]
    return einsum(a, b, subscripts=f"{''.join(first)},{''.join(second)}->{''.join(result)}")


def _outer_samples(rng: np.random.Generator):
    for first, second in (((2,), (3,)), ((2, 2), (3,)), ((), (2,)), ((0,), (3,))):
        yield (rng.uniform(-2, 2, first), rng.uniform(-2, 2, second)), {}


@op(_outer_samples, np.outer, (0, 1))
def outer(a, b) -> Tensor:
    r"""Each element of `a` times each of `b`, :math:`out_{ij} = a_i b_j`, both flattened.

    Backward: :math:`da_i = \sum_j b_j\,dout_{ij}`, and likewise for `b` (see `mul`). Saves both.
    """
    a, b = together(a, b)
    return mul(reshape(a, (a.size, 1)), reshape(b, (1, b.size)))
