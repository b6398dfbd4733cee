"""Recipes of ops that only move, join or pick elements."""

from __future__ import annotations

import numpy as np

from .build import LARGEST, MOST_AXES, Builder, Rejected
from .recipes import recipe


def vector_or_more(v: np.ndarray) -> bool:
    """Whether a value has an axis."""
    return v.ndim > 0


def matrix_or_more(v: np.ndarray) -> bool:
    """Whether a value has two axes."""
    return v.ndim > 1


def permuted(b: Builder, items) -> list:
    """The items in another order."""
    left, found = list(items), []
    while left:
        found.append(left.pop(b.pick(len(left))))
    return found


def several_axes(b: Builder, axes: int) -> tuple[int, ...]:
    """One axis or more, in any order, counted from either end."""
    chosen = permuted(b, range(axes))[: 1 + b.pick(axes)]
    return tuple(a - axes if b.coin() else a for a in chosen)


@recipe("reshape")
def reshape(b: Builder, name: str) -> None:
    """Into other factors of its size, one of which may be left to be found."""
    x = b.real()
    left, shape = b.values[x].size, [1] * b.pick(2)
    while left > 1 and len(shape) < MOST_AXES - 1:
        factor = b.one_of([f for f in range(2, left + 1) if left % f == 0])
        shape.append(factor)
        left //= factor
    shape.append(left)
    if b.coin():
        shape[b.pick(len(shape))] = -1
    b.apply(name, x, shape=tuple(shape))


@recipe("transpose")
def transpose(b: Builder, name: str) -> None:
    """All axes turned round, or put in an order."""
    x = b.real()
    axes = len(b.shape(x))
    b.apply(name, x, **({"axes": tuple(permuted(b, range(axes)))} if b.coin() else {}))


@recipe("moveaxis")
def moveaxis(b: Builder, name: str) -> None:
    """One axis or several to other places."""
    x = b.real(fits=vector_or_more)
    axes = len(b.shape(x))
    source = several_axes(b, axes)
    destination = tuple(permuted(b, range(axes))[: len(source)])
    single = len(source) == 1 and b.coin()
    b.apply(name, x, source=source[0] if single else source, destination=destination[0] if single else destination)


@recipe("swapaxes")
def swapaxes(b: Builder, name: str) -> None:
    """Two axes, perhaps one and the same."""
    x = b.real(fits=vector_or_more)
    b.apply(name, x, first=b.axis(x), second=b.axis(x))


@recipe("expand_dims")
def expand_dims(b: Builder, name: str) -> None:
    """One new axis, or two."""
    x = b.real(fits=lambda v: v.ndim < MOST_AXES)
    axes = len(b.shape(x))
    if axes < MOST_AXES - 1 and b.coin():
        b.apply(name, x, axis=tuple(permuted(b, range(axes + 2))[:2]))
    else:
        b.apply(name, x, axis=b.pick(2 * axes + 2) - axes - 1)


@recipe("squeeze")
def squeeze(b: Builder, name: str) -> None:
    """All axes of size 1, or some of them."""
    x = b.real(fits=vector_or_more)
    units = [a for a, size in enumerate(b.shape(x)) if size == 1]
    if not units:
        x = b.apply("expand_dims", x, axis=0)
        units = [0]
    b.apply(name, x, axis=b.one_of((None, b.one_of(units), tuple(units))))


@recipe("broadcast_to")
def broadcast_to(b: Builder, name: str) -> None:
    """New axes in front, and larger ones for those of size 1."""
    x = b.real(fits=lambda v: v.size * 2 <= LARGEST)
    kept = tuple(b.one_of((2, 1, 3)) if size == 1 else size for size in b.shape(x))
    new = tuple(b.one_of((2, 1)) for _ in range(b.pick(MOST_AXES - len(kept) + 1)))
    b.apply(name, x, shape=new + kept)


@recipe("pad")
def pad(b: Builder, name: str) -> None:
    """Margins of one width, of a pair, or of a pair for each axis."""
    x = b.real(fits=vector_or_more)
    pairs = tuple((b.pick(3), b.pick(2)) for _ in b.shape(x))
    width = b.one_of((1, pairs[0], pairs, pairs))
    mode = b.one_of(("constant", "edge", "symmetric", "wrap", "reflect"))
    if mode == "constant":
        b.apply(name, x, pad_width=width, **b.settings(constant_values=(-0.5,)))
    elif mode != "reflect" or min(b.shape(x)) > 2:
        b.apply(name, x, pad_width=width, mode=mode)


@recipe("roll")
def roll(b: Builder, name: str) -> None:
    """All elements, or along axes by a shift each."""
    x = b.real(fits=vector_or_more)
    axes = several_axes(b, len(b.shape(x)))
    shifts = tuple(b.pick(7) - 3 for _ in axes)
    choices: tuple[dict, ...] = ({"shift": shifts[0], "axis": axes[0]}, {"shift": shifts[0]})
    b.apply(name, x, **b.one_of((*choices, {"shift": shifts, "axis": axes})))


@recipe("flip")
def flip(b: Builder, name: str) -> None:
    """Along all axes or some."""
    x = b.real()
    b.apply(name, x, axis=b.axes(x))


def _slice(b: Builder, size: int) -> slice:
    """A slice that is not empty, of either direction."""
    places = sorted((b.pick(size), b.pick(size)))
    step = b.one_of((None, 2, -1, -2))
    if step is None or step > 0:
        return slice(b.one_of((places[0], None, places[0] - size)), b.one_of((places[1] + 1, None)), step)
    return slice(b.one_of((places[1], None)), b.one_of((None, places[0] - 1 if places[0] else None)), step)


def basic_key(b: Builder, shape: tuple[int, ...]) -> tuple:
    """Numbers, slices, new axes and ``...``."""
    parts: list = []
    for size in shape:
        parts.append(b.one_of((slice(None), _slice(b, size), _slice(b, size), b.pick(2 * size) - size)))
    parts = parts[: b.pick(len(parts) + 1)] if b.coin() else parts
    if len(parts) < len(shape) and b.coin():
        parts.append(...)
    if b.pick(4) == 3:
        parts.insert(b.pick(len(parts) + 1), None)
    return tuple(parts)


@recipe("getitem")
def getitem(b: Builder, name: str) -> None:
    """By a basic key, by lists of numbers in front, or by a mask."""
    x = b.real(fits=vector_or_more)
    shape = b.shape(x)
    kind = b.pick(6)
    if kind < 4:
        b.apply(name, x, key=basic_key(b, shape))
    elif kind == 4:
        count = 1 + b.pick(4)
        back = b.coin() and not b.recordable
        key = tuple([b.pick(size) - back * size for _ in range(count)] for size in shape[: 1 + b.pick(len(shape))])
        b.apply(name, x, key=key)
    else:
        b.apply(name, x, key=([b.coin() for _ in range(shape[0])],))


@recipe("unslice")
def unslice(b: Builder, name: str) -> None:
    """Into zeros of a shape, at a basic key."""
    shape = b.shape(b.real(fits=vector_or_more))
    key = basic_key(b, shape)
    b.apply(name, b.shaped(np.empty(shape)[key].shape), shape=shape, key=key)


@recipe("concat")
def concat(b: Builder, name: str) -> None:
    """Up to three values, which differ in size along the axis."""
    x = b.real(fits=vector_or_more)
    axis = b.axis(x)
    others = []
    for _ in range(b.pick(3)):
        shape = list(b.shape(x))
        shape[axis] = 1 + b.pick(3)
        others.append(b.shaped(tuple(shape)))
    b.apply(name, *permuted(b, [x, *others]), axis=axis)


@recipe("stack")
def stack(b: Builder, name: str) -> None:
    """Up to three values of one shape, perhaps one of them twice."""
    x = b.real(fits=lambda v: v.ndim < MOST_AXES)
    axes = len(b.shape(x)) + 1
    others = [b.shaped(b.shape(x)) if b.pick(3) else x for _ in range(b.pick(3))]
    b.apply(name, x, *others, axis=b.pick(2 * axes) - axes)


@recipe("split")
def split(b: Builder, name: str) -> None:
    """Into equal parts, or before given places."""
    x = b.real(fits=lambda v: v.ndim > 0 and max(v.shape) > 1)
    axis = b.axis(x)
    size = b.shape(x)[axis]
    if size < 2:
        raise Rejected("nothing to split")
    equal = [n for n in (2, 3, 4) if size % n == 0]
    cuts = sorted({1 + b.pick(size - 1), 1 + b.pick(size - 1)})
    b.apply(name, x, sections=b.one_of(equal) if equal and b.coin() else cuts, axis=axis)


@recipe("tril triu")
def triangle(b: Builder, name: str) -> None:
    """Of the last two axes."""
    b.apply(name, b.real(fits=vector_or_more), **b.settings(k=(0, 1, -1, 2)))


def _two_axes(b: Builder, axes: int) -> dict:
    first, second = permuted(b, range(axes))[:2]
    return {"axis1": first, "axis2": second - axes} if axes > 2 or b.coin() else {}


@recipe("diagonal")
def diagonal(b: Builder, name: str) -> None:
    """Of two axes."""
    x = b.real(fits=matrix_or_more)
    b.apply(name, x, **b.settings(offset=(1, -1)), **_two_axes(b, len(b.shape(x))))


@recipe("undiagonal")
def undiagonal(b: Builder, name: str) -> None:
    """Into zeros of a shape."""
    shape = b.shape(b.real(fits=matrix_or_more))
    where = {**b.settings(offset=(1, -1)), **_two_axes(b, len(shape))}
    wanted = np.diagonal(np.empty(shape), **where).shape
    if 0 in wanted:
        raise Rejected("no diagonal")
    b.apply(name, b.shaped(wanted), shape=shape, **where)


def numbers(b: Builder, size: int) -> int:
    """Places on an axis of a size: indices that another op found, or new ones."""
    found = b.having(lambda v: v.ndim < 2 and bool(np.all((v >= -size) & (v < size))), "i")
    if found and b.coin() and not b.recordable:
        return b.recent(found)
    return b.places(b.one_of(((3,), (2,), (2, 2), ())), size)


@recipe("take")
def take(b: Builder, name: str) -> None:
    """Along one axis, with ids that may come again."""
    x = b.real(fits=vector_or_more)
    axis = b.axis(x)
    b.apply(name, x, numbers(b, b.shape(x)[axis]), axis=axis)


@recipe("take_along_axis")
def take_along_axis(b: Builder, name: str) -> None:
    """At each place by its own number; some axes broadcast."""
    x = b.real(fits=vector_or_more)
    axis = b.axis(x)
    shape = [1 if b.pick(4) == 3 else size for size in b.shape(x)]
    shape[axis] = 1 + b.pick(3)
    b.apply(name, x, b.places(tuple(shape), b.shape(x)[axis]), axis=axis)


@recipe("scatter_add")
def scatter_add(b: Builder, name: str) -> None:
    """Rows by number."""
    src = b.real(fits=vector_or_more)
    leading = b.shape(src)[: 1 + b.pick(len(b.shape(src)))]
    rows = 1 + b.pick(4)
    b.apply(name, b.ids(leading, rows), src, rows=rows)


@recipe("scatter_add_along_axis")
def scatter_add_along_axis(b: Builder, name: str) -> None:
    """Elements by their own number."""
    src = b.real(fits=vector_or_more)
    size = 1 + b.pick(4)
    b.apply(name, b.ids(b.shape(src), size), src, size=size, axis=b.axis(src))
