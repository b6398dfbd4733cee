"""Mistakes that put right numbers in wrong places, or only some of them: `=` for `+=`, off by one, transposes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from ..evidence import Evidence
from .mistake import Found, Mistake

MOST_AXES = 4


def _output_left_out(e: Evidence) -> Found:
    """Of several outputs, one contributes nothing."""
    owner = np.repeat(np.arange(len(e.outputs)), [y.size for y in e.outputs])
    for number in range(len(e.outputs)) if len(e.outputs) > 1 else ():
        if e.agrees(e.true * (owner != number)[:, None]):
            return {"number": number}
    return None


def _overwritten(e: Evidence) -> Found:
    """Of several contributions to an entry one arrives."""
    used, left = np.abs(e.true) > e.close, np.abs(e.rule) > e.close
    several = used.sum(0) > 1
    kept = np.where(left, e.true, 0.0)
    if not several.any() or not e.agrees(kept) or not (left.sum(0) == used.any(0)).all():
        return None
    entry = tuple(int(i) for i in np.unravel_index(int(np.flatnonzero(several)[0]), e.x.shape))
    return {"entry": entry, "count": int(used.sum(0)[several][0])}


def _ends(shape: tuple[int, ...]) -> Iterator[tuple[str, np.ndarray]]:
    """Masks that are False at the first or last index of one axis."""
    for axis, length in enumerate(shape):
        for name, index in (("first", 0), ("last", length - 1)):
            inside = np.ones(shape, bool)
            inside[(slice(None),) * axis + (index,)] = False
            if length > 1:
                yield f"the {name} index along axis {axis}", inside.ravel()


def _end_left_out(e: Evidence) -> Found:
    for what, inside in _ends(e.x.shape):
        if e.agrees(e.true * inside):
            return {"what": f"{what} of the gradient is left out"}
    for what, inside in _ends(e.y.shape):
        if e.agrees(e.true * inside[:, None]):
            return {"what": f"{what} of the incoming gradient is left out"}
    return None


def displacements(shape: tuple[int, ...]) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """(what, where each entry comes from, whether it comes from anywhere) of shifts by one."""
    places = np.arange(int(np.prod(shape))).reshape(shape)
    for axis, length in enumerate(shape):
        if length < 2:
            continue
        for step in (1, -1):
            rolled = np.roll(places, step, axis)
            inside = np.ones(shape, bool)
            inside[(slice(None),) * axis + (0 if step == 1 else length - 1,)] = False
            yield f"by one along axis {axis}", rolled.ravel(), inside.ravel()
            yield f"by one along axis {axis}, and wrapped around", rolled.ravel(), np.ones(places.size, bool)


def _shifted(e: Evidence) -> Found:
    for what, source, inside in displacements(e.x.shape):
        if e.agrees(e.true[:, source] * inside):
            return {"what": f"the gradient is shifted {what}"}
    for what, source, inside in displacements(e.y.shape):
        if e.agrees(e.true[source] * inside[:, None]):
            return {"what": f"the incoming gradient is shifted {what}"}
    return None


def _reversed(e: Evidence) -> Found:
    for which, shape, side in (("gradient", e.x.shape, 1), ("incoming gradient", e.y.shape, 0)):
        places = np.arange(int(np.prod(shape))).reshape(shape)
        for axis, length in enumerate(shape):
            if length > 1 and e.agrees(np.take(e.true, np.flip(places, axis).ravel(), axis=side)):
                return {"what": f"the {which} runs backwards along axis {axis}"}
    return None


def _wrong_index(e: Evidence) -> Found:
    """Each output entry's gradient goes to one entry, with the right number, and some to another entry than it must."""
    goes, must = np.abs(e.rule) > e.close, np.abs(e.true) > e.close
    if e.w.size < 2 or not ((goes.sum(1) == 1).all() and (must.sum(1) == 1).all()):
        return None
    places = goes.argmax(1), must.argmax(1)
    rows = np.arange(e.w.size)
    moved = np.flatnonzero(places[0] != places[1])
    if not moved.size or not e.near(e.true[rows, places[1]], e.rule[rows, places[0]]):
        return None
    entry, here, there = moved[0], places[0][moved[0]], places[1][moved[0]]
    named = [
        tuple(int(i) for i in np.unravel_index(n, shape))
        for n, shape in ((entry, e.y.shape), (here, e.x.shape), (there, e.x.shape))
    ]
    return {"what": f"the gradient of output entry {named[0]} goes to entry {named[1]}, not to {named[2]}"}


def _operand_reversed(e: Evidence) -> Found:
    for number in e.others:
        value = e.subject.values[number]
        for axis in range(value.ndim):
            if value.shape[axis] > 1 and e.agrees(e.at(number, np.flip(value, axis))):
                return {"what": f"{e.subject.labels[number]} along axis {axis}"}
    return None


def _axes(shape: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    """Every order of the axes, with the place from which each entry of the reordered array comes."""
    places = np.arange(int(np.prod(shape))).reshape(shape)
    for axes in itertools.permutations(range(len(shape))) if len(shape) <= MOST_AXES else ():
        yield axes, places.transpose(axes).ravel()


def _transposed(e: Evidence) -> Found:
    """Entries stand in the order of other axes: of the gradient, of the incoming one, or of both."""
    for axes, source in _axes(e.x.shape):
        if e.agrees(e.true[:, source]):
            return {"what": f"the gradient has its axes in the order {axes} where it must have them as the input does"}
    for axes, source in _axes(e.y.shape):
        if e.agrees(e.true[source]):
            return {"what": f"the incoming gradient is used with its axes in the order {axes}"}
    for axes, source in _axes(e.x.shape):
        back = np.argsort(source)
        if e.agrees(e.true[:, back]):
            return {"what": f"the gradient is transposed by {axes} where the inverse order is needed"}
    return None


def _jacobian_transposed(e: Evidence) -> Found:
    if e.true.shape[0] == e.true.shape[1] and e.agrees(e.true.T):
        return {"what": "the rule applies the function itself where its transpose is needed"}
    return None


def _operand_transposed(e: Evidence) -> Found:
    for number in e.others:
        value = e.subject.values[number]
        if value.ndim < 2 or value.shape[-1] != value.shape[-2]:
            continue
        turned = e.at(number, np.swapaxes(value, -1, -2))
        if e.agrees(turned):
            return {"what": f"{e.subject.labels[number]} is used without its transpose"}
    if e.x.ndim >= 2 and e.x.shape[-1] == e.x.shape[-2] and e.agrees(e.at(e.number, np.swapaxes(e.x, -1, -2))):
        return {"what": f"{e.label} is used without its transpose"}
    return None


OFF = "an index is off by one: {what}."
TURNED = "a transpose is forgotten: {what}."
MISTAKES = (
    Mistake("output-left-out", "the gradient that arrives at output {number} is left out.", _output_left_out),
    Mistake(
        "overwritten",
        "`=` stands where `+=` is needed: of the {count} contributions to entry {entry} one arrives, as when a value "
        "is used several times or a broadcast axis is not summed.",
        _overwritten,
    ),
    Mistake("off-by-one", OFF, _end_left_out),
    Mistake("transpose", TURNED, _jacobian_transposed),
    Mistake("transpose", TURNED, _transposed),
    Mistake("off-by-one", OFF, _shifted),
    Mistake("reversed", "an index runs the wrong way: {what}.", _reversed),
    Mistake("transpose", TURNED, _operand_transposed),
)
INDEXED = (
    Mistake("wrong-index", "an index is wrong: {what}.", _wrong_index),
    Mistake("reversed", "an index runs the wrong way: {what}.", _operand_reversed),
)
