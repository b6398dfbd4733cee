"""Functions of the inputs and the output that rules are made of, for telling which one is too much or missing.

Imports NumPy and the evidence; it holds candidates and tests nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ..evidence import Evidence
from .mistake import LARGE, written

_erf = np.vectorize(math.erf, otypes=[float])


def _sigmoid(v):
    return 1 / (1 + np.exp(-v))


FUNCTIONS: dict[str, Callable] = {
    "{}": lambda v: v,
    "{}**2": np.square,
    "sqrt({})": np.sqrt,
    "{}**3": lambda v: v**3,
    "exp({})": np.exp,
    "log({})": np.log,
    "sin({})": np.sin,
    "cos({})": np.cos,
    "cos({})**2": lambda v: np.cos(v) ** 2,
    "tanh({})": np.tanh,
    "sigmoid({})": _sigmoid,
    "(1 - {})": lambda v: 1 - v,
    "(1 + {})": lambda v: 1 + v,
    "(1 - {}**2)": lambda v: 1 - v * v,
    "(1 + {}**2)": lambda v: 1 + v * v,
    "sqrt(1 - {}**2)": lambda v: np.sqrt(1 - v * v),
    "sqrt(1 + {}**2)": lambda v: np.sqrt(1 + v * v),
    "{0} (1 - {0})": lambda v: v * (1 - v),
    "sigmoid(-{})": lambda v: _sigmoid(-v),
    "sigmoid'({})": lambda v: _sigmoid(v) * _sigmoid(-v),
    "tanh'({})": lambda v: 1 - np.tanh(v) ** 2,
    "exp(-{})": lambda v: np.exp(-v),
    "exp({}**2)": lambda v: np.exp(v * v),
    "exp({}**2 / 2)": lambda v: np.exp(v * v / 2),
    "the normal density of {}": lambda v: np.exp(-v * v / 2),
    "the normal distribution of {}": lambda v: (1 + _erf(v / math.sqrt(2))) / 2,
    "sinh({})": np.sinh,
    "cosh({})": np.cosh,
    "sign({})": np.sign,
    "abs({})": np.abs,
    "({} > 0)": lambda v: (v > 0).astype(float),
    "({} < 0)": lambda v: (v < 0).astype(float),
    "log1p({})": np.log1p,
    "expm1({})": np.expm1,
    "{}**4": lambda v: v**4,
}

MANY = 4
"""Different entries with which any number in front of a function is no chance."""

Candidate = tuple[str, np.ndarray]


class Family(NamedTuple):
    """Candidates, one in each row, with how a message calls them."""

    labels: Callable[[int], str]
    rows: np.ndarray

    def named(
        self, target: np.ndarray, close: float, used: np.ndarray | None = None, most: int = LARGE, free: int = 0
    ) -> str | None:
        """How a row is written as a known number times a candidate: of those that agree, the first.

        `used` says which places count, and `most` how large the parts of a known fraction may be. If the row has as
        many different entries as `free` says, which is not 0, it may be any number.
        """
        rows = self.rows if used is None else self.rows[:, used]
        if not target.any() or not np.isfinite(target).all():
            return None
        place = int(np.abs(target).argmax())
        with np.errstate(all="ignore"):
            c = target[place] / rows[:, place]
            off = np.abs(c[:, None] * rows - target).max(1)
        for index in np.flatnonzero(off <= close * np.abs(target[place])):
            front = written(float(c[index]), close, most)
            if front is None and free and len(np.unique(np.round(target, 9))) >= free:
                front = f"{c[index]:.6g}"
            if front is not None:
                label = self.labels(int(index))
                return label if front == "1" else front if label == "1" else f"{front} times {label}"
        return None


def singles(e: Evidence, shape: tuple[int, ...]) -> Family:
    """1, and functions of the output and of each float input that can be broadcast to a shape."""
    found = [("1", np.ones(shape).ravel())]
    with np.errstate(all="ignore"):
        for label, value in bases(e, shape):
            found += [(form.format(label), function(value).ravel()) for form, function in FUNCTIONS.items()]
        if shape == e.x.shape:
            found += [*_along_axes(e), *_products(e)]
    found = [(label, row) for label, row in found if np.isfinite(row).all()]
    return Family([label for label, _ in found].__getitem__, np.array([row for _, row in found]))


def reciprocals(e: Evidence, shape: tuple[int, ...]) -> Family:
    """Those, and 1 divided by each."""
    one = singles(e, shape)
    count = len(one.rows)
    with np.errstate(all="ignore"):
        rows = np.concatenate([one.rows, 1 / one.rows])
    return Family(lambda n: one.labels(n) if n < count else f"1 / {one.labels(n - count)}", rows)


def totals(e: Evidence) -> Family:
    """1, and means, totals and norms of the input, which may be the same for every entry."""
    found = [("1", np.ones(e.x.size))] + [(label, row) for label, row in _along_axes(e) if label.startswith("the ")]
    return Family([label for label, _ in found].__getitem__, np.array([row for _, row in found]))


def pairs(e: Evidence, shape: tuple[int, ...]) -> Family:
    """Candidates, then their products and quotients."""
    one = singles(e, shape)
    count = len(one.rows)
    with np.errstate(all="ignore"):
        products = (one.rows[:, None] * one.rows).reshape(count * count, -1)
        quotients = (one.rows[:, None] / one.rows).reshape(count * count, -1)

    def label(index: int) -> str:
        if index < count:
            return one.labels(index)
        divided, rest = divmod(index - count, count * count)
        first, second = (one.labels(n) for n in divmod(rest, count))
        if divided:
            return f"{first} / {second}"
        return second if first == "1" else first if second == "1" else f"{first} {second}"

    return Family(label, np.concatenate([one.rows, products, quotients]))


def bases(e: Evidence, shape: tuple[int, ...]) -> Iterator[Candidate]:
    """The float inputs and the output, as far as they can be broadcast to a shape."""
    own = [(e.label, e.x)] + [(e.subject.labels[n], e.subject.values[n]) for n in e.others]
    for label, value in [*own, ("the output", e.y)]:
        if value.size == 1 or _spreads(value.shape, shape):
            yield label, np.broadcast_to(value.reshape(()) if value.size == 1 else value, shape)


def _spreads(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, wanted) == wanted
    except ValueError:
        return False


def _along_axes(e: Evidence) -> Iterator[Candidate]:
    """Functions of whole rows of the input: its softmax, its deviation, its neighbours, and ids as ones and zeros."""
    for axis in range(e.x.ndim):
        powers = np.exp(e.x - e.x.max(axis, keepdims=True)) if e.x.size else e.x
        yield f"softmax({e.label}) along axis {axis}", (powers / powers.sum(axis, keepdims=True)).ravel()
        mean = e.x.mean(axis, keepdims=True)
        yield f"({e.label} - its mean along axis {axis})", (e.x - mean).ravel()
        yield f"the mean of {e.label} along axis {axis}", np.broadcast_to(mean, e.x.shape).ravel()
        total = e.x.sum(axis, keepdims=True)
        yield f"the sum of {e.label} along axis {axis}", np.broadcast_to(total, e.x.shape).ravel()
        norm = np.sqrt(np.square(e.x).sum(axis, keepdims=True))
        yield f"the norm of {e.label} along axis {axis}", np.broadcast_to(norm, e.x.shape).ravel()
    for number, ids in enumerate(e.subject.values):
        if ids.dtype.kind == "i" and e.x.shape[:-1] == ids.shape and e.x.ndim:
            hot = (np.arange(e.x.shape[-1]) == ids[..., None]).astype(float)
            yield f"the ones at the ids of {e.subject.labels[number]}", hot.ravel()


def _products(e: Evidence) -> Iterator[Candidate]:
    """Matrices among the inputs times this input."""
    for number in e.others:
        matrix = e.subject.values[number]
        if matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] == (e.x.shape or (0,))[0]:
            yield f"{e.subject.labels[number]} @ {e.label}", (matrix @ e.x).ravel()
            yield f"{e.subject.labels[number]}.T @ {e.label}", (matrix.T @ e.x).ravel()
