"""The exercises of chapter 04: the body of a map, a row body for many lanes, and the literals of a function.

Imports the kernel language besides the parts of judges; a judge has the name of the function that it asks for.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from ...kernel import Kernel, bind, primitives
from ..exercise import Mistaken, exercise
from ..judging import draw, expect, only_words

WORDS: dict[str, object] = {w.name: w for w in vars(primitives).values() if isinstance(w, primitives.Primitive)}
"""Every word with its plain meaning."""
ROUNDS = 4
"""How often lanes are asked for their parts: once more than a body can have sums that need each other."""


def _body(answer: Callable) -> FunctionType:
    body = answer.body if isinstance(answer, Kernel) else answer
    if not isinstance(body, FunctionType):
        raise Mistaken(f"A body is a function written with def, and this is {type(body).__name__}.")
    return body


@exercise("04-1", "The body of the backward kernel of softsign")
def softsign_grad(answer: Callable) -> None:
    """It takes x and dout, two numbers of the kernel's dtype, and returns one; the function is ``x / (1 + |x|)``."""
    only_words(_body(answer))
    x = np.array([0.5, 3.0, -0.25, -2.0, 0.0, -1.0, 40.0])
    dout = draw(x.size, low=0.5)
    for dtype in (np.float32, np.float64):
        name, bound = np.dtype(dtype).name, bind(_body(answer), WORDS, dtype)
        with np.errstate(all="ignore"):
            found = [bound(dtype(a), dtype(b)) for a, b in zip(x, dout, strict=True)]
            slips = _slips(x, dout)
        expect(found, dout / (1 + abs(x)) ** 2, f"x and dout in {name}", slips, 1e-6)
        other = next((type(value).__name__ for value in found if type(value) is not dtype), None)
        if other:
            raise Mistaken(f"With x and dout in {name} the result is of type {other}: something in it has that dtype.")


def _slips(x: np.ndarray, dout: np.ndarray) -> list[tuple[str, np.ndarray]]:
    size = 1 + abs(x)
    return [
        ("the denominator is not squared, as the quotient's slope has it.", dout / size),
        ("dout does not count, where the slope is multiplied by it.", 1 / size**2),
        ("the absolute value is left out, and negative numbers go wrong.", dout / (1 + x) ** 2),
        ("the slope has the sign of x, but softsign grows on both sides.", dout * np.sign(x) / size**2),
        ("the slope of |x| is taken to be 1 where x is negative, too.", dout * (size - x) / size**2),
        ("that is the slope of another function: 1 + x * x is not the square of 1 + |x|.", dout / (1 + x * x)),
        ("that is the function times dout, not its slope.", dout * x / size),
    ]


@exercise("04-2", "A row body that takes the mean away")
def centre_row(answer: Callable) -> None:
    """It takes a row number and two arrays, reads row ``row`` of one and writes that of the other, with any lanes."""
    body = _body(answer)
    only_words(body)
    for rows, n, count in ((2, 5, 1), (3, 7, 1), (3, 8, 4), (3, 7, 3)):
        x = draw(rows, n) + 1.0
        out = np.full_like(x, np.nan)
        foreign = sum(_run_lanes(body, count, row, x, out) for row in range(rows))
        lanes = "one lane" if count == 1 else f"{count} lanes"
        given = f"x of shape {(rows, n)} and {lanes}"
        expect(out, x - x.mean(1, keepdims=True), given, _row_slips(x, count))
        if foreign:
            raise Mistaken(f"With {given} the numbers are right, but lanes read numbers that belong to other lanes.")


class _Read:
    """An array that gives one number at a time, and counts those that are not a lane's own."""

    def __init__(self, numbers: np.ndarray, own: np.ndarray):
        self.shape, self.dtype, self.foreign = numbers.shape, numbers.dtype, 0
        self._numbers, self._own = numbers, own

    def __getitem__(self, place: Any) -> Any:
        if not isinstance(place, tuple) or len(place) != 2 or not all(isinstance(i, int | np.integer) for i in place):
            raise Mistaken(f"The body asks x for [{place}], and a kernel reads one number at a time, as x[row, j].")
        self.foreign += not self._own[place]
        return self._numbers[place]

    def __getattr__(self, name: str) -> Any:
        raise Mistaken(f"The body asks for x.{name}; arrays in a kernel have a shape; NumPy's methods are no words.")


def _run_lanes(body: FunctionType, count: int, row: int, x: np.ndarray, out: np.ndarray) -> int:
    """Run a row with the lanes one after another, again and again until each has heard all sums of all.

    It returns how often a lane has read what belongs to another.
    """
    foreign = 0
    parts: list[list[float]] = [[] for _ in range(count)]
    for _ in range(ROUNDS):
        told, parts = parts, [[] for _ in range(count)]
        for lane in range(count):
            written = np.full_like(x, np.nan)
            own = np.zeros(x.shape, bool)
            own[row, lane::count] = True
            read = _Read(x, own)
            bind(body, _words(lane, count, told, parts[lane]), x.dtype)(row, read, written)
            foreign += read.foreign
            if count > 1 and not np.isnan(written[~own]).all():
                raise Mistaken(
                    f"With x of shape {x.shape} and {count} lanes, a lane writes numbers that belong to other lanes."
                )
            out[own] = written[own]
        if len({len(part) for part in parts}) > 1:
            raise Mistaken(
                f"With x of shape {x.shape} and {count} lanes, lanes call lane_sum {min(map(len, parts))} to "
                f"{max(map(len, parts))} times: they wait for each other, and each must call it as often as the others."
            )
    return foreign


def _words(lane: int, count: int, told: list[list[float]], mine: list[float]) -> dict[str, object]:
    def lane_sum(s: Any) -> Any:
        mine.append(s)
        same = [part[len(mine) - 1] for part in told if len(part) >= len(mine)]
        return sum(same) if len(same) == count else s

    return WORDS | {"lanes": _Word(lambda n: range(lane, n, count)), "lane_sum": _Word(lane_sum)}


class _Word:
    """A function that binding leaves as it is."""

    def __init__(self, meaning: Callable):
        self.meaning = meaning

    def __call__(self, value: Any) -> Any:
        return self.meaning(value)


def _row_slips(x: np.ndarray, count: int) -> list[tuple[str, np.ndarray]]:
    n, mean = x.shape[1], x.mean(1, keepdims=True)
    own = np.concatenate([x[:, lane::count].sum(1, keepdims=True) for lane in range(count)], 1)
    own = own[:, np.arange(n) % count]
    return [
        ("nothing is written.", np.full_like(x, np.nan)),
        ("the sum of the row is taken away, where the mean is asked for.", x - n * mean),
        ("the sum is divided by the number of rows.", x - n * mean / x.shape[0]),
        ("the mean itself is written.", np.broadcast_to(mean, x.shape)),
        ("the sum is used before all of the row is in it.", x - np.cumsum(x, 1) / n),
        ("all rows have the mean of the first one.", x - mean[:1]),
        ("each lane takes away what it has added up itself, where the row's sum is that of all.", x - own / n),
        ("each lane adds up the whole row, and so every number counts once a lane.", x - count * mean),
        ("a lane divides by how many lanes there are, as if a mean of parts were asked for.", x - mean / count),
    ]


def _halved(x):
    return x / 2


def _sample(x):
    scales = (0.5, 2, True)
    return (_halved(x) * 0.75 + 3) * scales[0] + scales[1] - 7


@exercise("04-3", "A function whose float literals have another dtype")
def with_literals(answer: Callable) -> None:
    """It takes a function and a NumPy type and returns a new function; the old one stays as it was."""
    if "bind" in getattr(getattr(answer, "__code__", None), "co_names", ()):
        raise Mistaken("It calls bind, and the exercise is to write what bind does there.")
    body = FunctionType(_sample.__code__, dict(_sample.__globals__), "sample")
    for dtype in (np.float32, np.float16):
        given = f"a body of whole numbers and floats, also in a tuple, and {dtype.__name__}"
        made = answer(body, dtype)
        if body.__code__ is not _sample.__code__:
            raise Mistaken(f"With {given} the body itself is changed, and a new function is asked for.")
        if made is None:
            raise Mistaken(f"With {given} it returns None: is a return statement missing?")
        if not isinstance(made, FunctionType):
            raise Mistaken(f"With {given} it returns {type(made).__name__}, which is no function.")
        _compare(made.__code__.co_consts, body.__code__.co_consts, dtype, given)
        if "_halved" not in made.__globals__:
            raise Mistaken(f"With {given} the new function has not the globals of body, and cannot call what it calls.")
        expect(made(dtype(3.0)), body(3.0), given, tolerance=1e-2)


def _compare(found: tuple, wanted: tuple, dtype: type, given: str) -> None:
    if len(found) != len(wanted):
        raise Mistaken(f"With {given} there are {len(found)} constants, where the body has {len(wanted)}.")
    for new, old in zip(found, wanted, strict=True):
        if isinstance(old, tuple) and isinstance(new, tuple):
            _compare(new, old, dtype, f"{given}, in the tuple")
        elif isinstance(old, float):
            if type(new) is float:
                raise Mistaken(f"With {given} the literal {old} is still a Python float.")
            if type(new) is not dtype or new != dtype(old):
                raise Mistaken(f"With {given} the literal {old} has become {new!r}.")
        elif type(new) is not type(old) or new != old:
            raise Mistaken(f"With {given} the constant {old!r} has become {new!r}, and it is no float literal.")
