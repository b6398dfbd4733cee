"""The exercises of chapter 06: the rules of a layer and of a shared matrix, and a product in tiles.

Imports the parts of judges and tensors; a judge has the name of the function that it asks for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...creation import tensor
from ..exercise import Mistaken, exercise
from ..judging import agrees, draw, expect, expect_rule

SIZES = (((4, 3, 6), (2, 3)), ((5, 4, 7), (2, 3)), ((7, 2, 5), (3, 4)), ((2, 3, 2), (8, 8)))
"""Sizes (m, k, n) of products, each with rows and columns of a tile; all but the first are ragged."""


@exercise("06-1", "The backward rule of a layer whose weights have a row for each output")
def linear_rule(answer: Callable) -> None:
    """The function is ``x @ w.T + b``; the rule takes (dout, x, w, b) and returns three gradients."""
    for m, k, n in ((3, 3, 3), (4, 2, 3), (1, 5, 2)):
        given = f"x of shape {(m, k)} and w of shape {(n, k)}"
        dout, inputs = draw(m, n, seed=2), (draw(m, k), draw(n, k, seed=1), draw(n))
        found = answer(tensor(dout), *map(tensor, inputs))
        last = found[-1] if isinstance(found, tuple | list) and found else None
        if m == n and agrees(last, dout.sum(1)):
            raise Mistaken(f"With {given} the gradient of b is summed along the rows, and b is used once in every row.")
        expect_rule(lambda x, w, b: x @ w.T + b, answer, *inputs, given=given)


@exercise("06-2", "The backward rule of a product whose second matrix is shared by a batch")
def shared_rule(answer: Callable) -> None:
    """The function is ``x @ w`` of shapes (c, m, k) and (k, n); the rule takes (dout, x, w)."""
    for c, m, k, n in ((2, 3, 3, 3), (3, 2, 4, 3), (1, 3, 2, 4)):
        given = f"x of shape {(c, m, k)} and w of shape {(k, n)}"
        expect_rule(lambda x, w: x @ w, answer, draw(c, m, k), draw(k, n), given=given)


class Counted:
    """A matrix that gives one number at a time, and counts."""

    def __init__(self, numbers: np.ndarray):
        self.shape, self.loads = numbers.shape, 0
        self._numbers = numbers

    def __getitem__(self, place: Any) -> float:
        if not (isinstance(place, tuple) and len(place) == 2 and all(isinstance(i, int | np.integer) for i in place)):
            raise Mistaken(f"It asks a matrix for [{place}], and a counted one gives one number at a time, as x[i, p].")
        if not all(0 <= i < length for i, length in zip(place, self.shape, strict=True)):
            raise Mistaken(f"It asks a matrix of shape {self.shape} for {list(place)}: at an edge a tile is smaller.")
        self.loads += 1
        return float(self._numbers[place])


@exercise("06-3", "A product in tiles, with smaller ones at the edges")
def ragged(answer: Callable) -> None:
    """It takes two counted matrices and the sides of a tile, and returns the product."""
    for (m, k, n), (rows, columns) in SIZES:
        numbers = draw(m, k), draw(k, n, seed=1)
        x, w = (Counted(array) for array in numbers)
        given = f"sizes {m} x {k} and {k} x {n}, and tiles of {rows} x {columns}"
        right, whole = numbers[0] @ numbers[1], np.zeros((m, n))
        whole[: m - m % rows, : n - n % columns] = 1.0
        slips = [
            ("the edges are left out, where a tile is smaller.", right * whole),
            ("only the last products are kept, where they are added up.", np.outer(numbers[0][:, -1], numbers[1][-1])),
            ("nothing is written.", np.zeros_like(right)),
        ]
        expect(answer(x, w, rows, columns), right, given, slips, kind=np.ndarray)
        _check_loads(x.loads, w.loads, k * m * -(-n // columns), k * n * -(-m // rows), m * k * n, given)


def _check_loads(x: int, w: int, from_x: int, from_w: int, naive: int, given: str) -> None:
    if (x, w) == (from_x, from_w):
        return
    if (x, w) == (naive, naive):
        reason = "as many as without tiles: what is loaded for one result is not used for its neighbours"
    elif (w, x) == (from_w, naive) or (x, w) == (from_x, naive):
        name, other = ("w", "x") if w == from_w else ("x", "w")
        reason = f"the numbers of {name} are used for a whole tile, and those of {other} are loaded for each result"
    elif x + w < from_x + from_w:
        reason = "fewer than such tiles need: it keeps more than a tile works with, and that place is small"
    else:
        reason = f"and {from_x} and {from_w} are enough"
    raise Mistaken(f"With {given} the product is right, but it loads {x} numbers of x and {w} of w, {reason}.")
