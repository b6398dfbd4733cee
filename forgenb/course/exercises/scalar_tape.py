"""The exercises of chapter 02: backward rules of numbers, and the sweep over a tape.

Imports the parts of judges; a judge has the name of the function that it asks for.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ..exercise import Mistaken, exercise
from ..judging import expect, lone

Entry = tuple["_Number", tuple["_Number", ...], Callable]


@exercise("02-1", "The backward rule of a quotient")
def div_rule(answer: Callable) -> None:
    """It takes the gradient of the result and both operands, and returns two numbers."""
    for dout, x, y in ((1.0, 0.7, -1.3), (-0.6, 2.1, 0.8), (1.7, -0.9, 2.6)):
        dx, dy = dout / y, -dout * x / (y * y)
        expect(
            answer(dout, x, y),
            (dx, dy),
            f"dout = {dout}, x = {x} and y = {y}",
            [
                ("the gradients are right, and in the wrong order.", (dy, dx)),
                ("the sign of the second gradient is wrong.", (dx, -dy)),
                ("dout is left out; everything is multiplied by it.", (dx / dout, dy / dout)),
                ("dout is left out of the second gradient.", (dx, dy / dout)),
                ("the second gradient is divided by y once; what is the derivative of 1 / y?", (dx, dy * y)),
                ("in the second gradient x is missing.", (dx, dy / x)),
                ("this is the rule of a product.", (dout * y, dout * x)),
            ],
        )


@exercise("02-2", "The backward rule of the logistic function")
def sigmoid_rule(answer: Callable) -> None:
    """It takes the gradient of the result, and the result."""
    for dout, x in ((1.0, 0.4), (-0.7, -1.5), (2.3, 2.2)):
        out = _sigmoid(x)
        right = dout * out * (1 - out)
        again = _sigmoid(out)
        expect(
            lone(answer(dout, out)),
            right,
            f"dout = {dout} and out = {out:.4f}",
            [
                ("dout is left out.", right / dout),
                ("out is taken for x: the function has been applied already.", dout * again * (1 - again)),
                ("the sign is wrong.", -right),
                ("this is the rule of tanh.", dout * (1 - out * out)),
                ("this is out itself times dout, as for exp.", dout * out),
                ("one of two factors is missing.", dout * (1 - out)),
                ("the square is too much.", right * out),
            ],
        )


@exercise("02-3", "The gradients of one number on a tape by others")
def gradients(answer: Callable) -> None:
    """It takes a tape, a root and a list of numbers; entries before and after the root's belong to others."""
    for first, second in ((0.6, 0.6), (-1.1, 0.4)):
        tape, root, inputs = _recorded(first, second)
        right, given = _swept(tape[::-1], root, inputs), "a tape of six entries whose root is the fifth"
        handed, asked = list(tape), list(inputs)
        found = answer(handed, root, asked)
        if isinstance(found, dict):
            raise Mistaken(f"With {given} it returns a dictionary, where a list in the inputs' order is asked for.")
        expect(
            found,
            right,
            given,
            [
                (
                    "a number that is used several times has the gradient of one use.",
                    _swept(tape[::-1], root, inputs, 0),
                ),
                ("the tape is walked from its beginning.", _swept(tape, root, inputs)),
                ("everything is 0: what is the gradient of the root by itself?", [0.0] * len(inputs)),
                (
                    "the walk starts from the last entry, which is not the root.",
                    _swept(tape[::-1], tape[-1][0], inputs),
                ),
                (
                    "a number that the tape has made loses its gradient when its own entry is used.",
                    [0.0 if any(x is out for out, *_ in tape) else dx for x, dx in zip(inputs, right, strict=True)],
                ),
                ("only the root's own entry is used.", _swept([_entry_of(root, tape)], root, inputs)),
            ],
        )
        if handed != tape or asked != inputs:
            name = "tape" if handed != tape else "list of inputs"
            raise Mistaken(f"With {given} the gradients are right, but the {name} is no longer what it was.")


class _Number:
    """A value without a place for a gradient; it is a key by what it is, not by its value."""

    __slots__ = ("value",)

    def __init__(self, value: float):
        self.value = value

    def __repr__(self) -> str:
        return f"the number {self.value:.4g}"


def _recorded(first: float, second: float) -> tuple[list[Entry], _Number, list[_Number]]:
    """A tape, its root, and numbers to differentiate by: leaves, one that is not used, an inner one and the root."""
    tape: list[Entry] = []
    a, b, unused = _Number(first), _Number(second), _Number(first)
    u = _product(tape, a, b)
    v = _sum(tape, u, a)
    _product(tape, v, b)
    t = _tanh(tape, v)
    root = _product(tape, t, u)
    _sum(tape, t, b)
    return tape, root, [a, b, unused, u, root]


def _product(tape: list[Entry], x: _Number, y: _Number) -> _Number:
    return _enter(tape, x.value * y.value, (x, y), lambda dout: (dout * y.value, dout * x.value))


def _sum(tape: list[Entry], x: _Number, y: _Number) -> _Number:
    return _enter(tape, x.value + y.value, (x, y), lambda dout: (dout, dout))


def _tanh(tape: list[Entry], x: _Number) -> _Number:
    out = math.tanh(x.value)
    return _enter(tape, out, (x,), lambda dout: (dout * (1 - out * out),))


def _enter(tape: list[Entry], value: float, inputs: tuple[_Number, ...], rule: Callable) -> _Number:
    out = _Number(value)
    tape.append((out, inputs, rule))
    return out


def _entry_of(root: _Number, tape: list[Entry]) -> Entry:
    return next(entry for entry in tape if entry[0] is root)


def _swept(entries: list[Entry], root: _Number, wanted: list[_Number], kept: float = 1.0) -> list[float]:
    """Gradients by a walk over entries in the order given; `kept` is how much of what was there stays."""
    found = {root: 1.0}
    for out, inputs, rule in entries:
        for x, dx in zip(inputs, rule(found.get(out, 0.0)), strict=True):
            found[x] = kept * found.get(x, 0.0) + dx
    return [found.get(number, 0.0) for number in wanted]


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))
