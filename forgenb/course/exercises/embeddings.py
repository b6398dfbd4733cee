"""The exercises of chapter 10: the gradients of two tables, the plan of a scatter-add, and a sum in blocks.

Imports the parts of judges; a judge has the name of the function that it asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from ..exercise import Mistaken, exercise
from ..judging import draw, expect

TEXTS = (([[2, 0, 2], [1, 2, 0]], 4, 5, 2), ([[0, 0]], 2, 2, 0), ([[3, 1, 0], [1, 1, 3], [0, 2, 1]], 6, 4, 1))
"""Ids, words, places and the first place."""


@exercise("10-1", "The gradients of a table of words and a table of places")
def embedding_rule(answer: Callable) -> None:
    """It takes (dout, ids, words, places, pos) and returns the gradients of both tables."""
    for numbers, words, places, pos in TEXTS:
        ids = np.array(numbers)
        dout, length = draw(*ids.shape, 3), ids.shape[1]
        given = f"ids {numbers}, words={words}, places={places} and pos={pos}"
        found = answer(dout.copy(), ids.copy(), words, places, pos)
        if not isinstance(found, tuple | list) or len(found) != 2:
            raise Mistaken(f"With {given} it must return two gradients, of the words and of the places.")
        dwte, last, dwpe = np.zeros((words, 3)), np.zeros((words, 3)), np.zeros((places, 3))
        np.add.at(dwte, ids, dout)
        last[ids] = dout
        used = np.bincount(ids.ravel(), minlength=words)[:, None]
        dwpe[pos : pos + length] = dout.sum(0)
        first = np.zeros_like(dwpe)
        first[:length] = dout.sum(0)
        expect(
            found[0],
            dwte,
            f"{given}, in the gradient of the words",
            [
                ("a word that stands at several places has the gradient of one of them.", last),
                ("a word has the mean over its positions, where each adds its own part.", dwte / np.maximum(used, 1)),
                ("rows are gathered, where they must be added up.", dout),
            ],
        )
        expect(
            found[1],
            dwpe,
            f"{given}, in the gradient of the places",
            [
                ("the rows begin at the first place; pos is not heeded.", first),
                ("a place has the mean over the texts, where each adds its own part.", dwpe / ids.shape[0]),
                ("places that no text reaches have no row; they need one of zeros.", dout.sum(0)),
                ("a place has the gradient of one text, where all add up.", _placed(dout[0], places, pos)),
                ("a place has the gradient of one text, where all add up.", _placed(dout[-1], places, pos)),
            ],
        )


def _placed(rows: np.ndarray, places: int, pos: int) -> np.ndarray:
    out = np.zeros((places, rows.shape[1]))
    out[pos : pos + len(rows)] = rows
    return out


@exercise("10-2", "The plan of a scatter-add, as blocks of positions")
def blocks(answer: Callable) -> None:
    """It takes ids and a size and returns lists of positions; see `_complaints` for what they must be."""
    for ids, size in (([4, 1, 3, 4, 2, 4, 4, 1], 2), ([0] * 5, 2), ([3, 1, 1, 1, 1, 1], 4), ([], 3), ([7, 2, 7], 5)):
        given = f"ids {ids} and size={size}"
        try:
            found = [[int(i) for i in block] for block in answer(np.array(ids, np.int64), size)]
        except TypeError as error:
            raise Mistaken(f"With {given} it must return a list of lists of positions: {error}") from error
        for text in _complaints(found, ids, size):
            raise Mistaken(f"With {given}: {text}")


def _complaints(found: list[list[int]], ids: list[int], size: int) -> Iterator[str]:
    flat = [i for block in found for i in block]
    owners = [{ids[i] for i in block} for block in found if all(0 <= i < len(ids) for i in block)]
    if flat != list(range(len(ids))) and flat in (sorted(ids), ids):
        yield "the blocks have ids in them, where they must have positions."
    if sorted(set(flat)) != sorted(flat):
        yield "a position stands in two places, so it would be added twice."
    if sorted(flat) != list(range(len(ids))):
        yield f"the positions {sorted(set(range(len(ids))) ^ set(flat))} are missing or too many."
    if [] in found:
        yield "there is an empty block."
    if any(len(ids_of) > 1 for ids_of in owners):
        yield "a block has positions of several ids, but its sum goes to one row."
    if max(map(len, found), default=0) > size:
        yield f"a block has more than {size} positions."
    if any(len(block) < size and a == b for block, (a, b) in zip(found, pairwise(owners), strict=False)):
        yield "a block is not full, though its id goes on in the next one."
    firsts = [ids[block[0]] for block in found]
    if firsts != sorted(firsts):
        yield "the ids do not come in order, the smallest first."
    if flat != sorted(flat, key=lambda i: ids[i]) or flat != [int(i) for i in np.argsort(ids, kind="stable")]:
        yield "the positions of one id are not in their order, so the sum has other bits."


@exercise("10-3", "A sum in blocks, to the last bit")
def blocked_sum(answer: Callable) -> None:
    """It takes a float32 array and the size of a block, and returns a float32 number; every bit is compared."""
    for n, size in ((320, 24), (240, 32), (10, 16), (100, 7), (66, 64), (2, 4)):
        half = np.ldexp(draw(n // 2), draw(n // 2, seed=1, low=0.0, high=14.0).astype(int))
        x = np.concatenate([half, -half])[np.argsort(draw(n, seed=2))].astype(np.float32)  # little is left but rounding
        parts = [_running(x[start : start + size]) for start in range(0, n, size)]
        full = parts[: n // size] or [np.float32(0)]
        expect(
            answer(x.copy(), size),
            _running(parts),
            f"{n} numbers and size={size}",
            [
                ("all numbers are in one running total, without blocks.", _running(x)),
                ("the last block is left out, where it is not full.", _running(full)),
                ("the sums are in float64, so other bits are rounded.", x.astype(np.float64).sum()),
                ("the blocks are added up from last to first.", _running(parts[::-1])),
                ("each block is added up from right to left.", _running(_reversed(x, size))),
                ("NumPy's sum adds the numbers of a block in an order of its own.", _summed(x, size)),
                ("NumPy's sum of everything has an order of its own.", x.sum()),
            ],
            tolerance=0,
            kind=np.float32,
        )


def _running(numbers: Any) -> np.float32:
    total = np.float32(0)
    for number in numbers:
        total = np.float32(total + number)
    return total


def _summed(x: np.ndarray, size: int) -> np.float32:
    return _running([x[start : start + size].sum() for start in range(0, len(x), size)])


def _reversed(x: np.ndarray, size: int) -> list[np.float32]:
    return [_running(x[start : start + size][::-1]) for start in range(0, len(x), size)]
