"""The exercises of chapter 21: how often a window fits, the rule of a convolution along a line, and columns.

Imports the parts of judges; a judge has the name of the function that it asks for.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..exercise import Mistaken, exercise
from ..judging import draw, expect

AXES = (
    (8, 3, 2, 4, 1),
    (8, 3, 1, 0, 1),
    (8, 3, 1, 1, 1),
    (8, 3, 2, 1, 1),
    (9, 2, 3, 0, 1),
    (10, 3, 1, 0, 2),
    (7, 3, 2, 2, 3),
    (3, 3, 1, 0, 1),
)
"""Size, window, stride, padding and dilation."""


@exercise("21-1", "How many places a window has")
def places(answer: Callable) -> None:
    """It takes size, window, stride, padding and dilation and returns a whole number."""
    for size, window, stride, padding, dilation in AXES:
        reach = dilation * (window - 1) + 1
        room = size + 2 * padding - reach
        found = answer(size, window, stride, padding, dilation)
        expect(
            found,
            room // stride + 1,
            f"size {size}, window {window}, stride {stride}, padding {padding} and dilation {dilation}",
            [
                ("padding is at both ends.", (room - padding) // stride + 1),
                ("padding is not counted.", (room - 2 * padding) // stride + 1),
                ("the stride is not looked at.", room + 1),
                ("the dilation is not looked at.", (size + 2 * padding - window) // stride + 1),
                (
                    "a dilated window reaches less far: nothing follows its last weight.",
                    (room + 1 - dilation) // stride + 1,
                ),
                ("it rounds up, where a window that does not fit has no place.", math.ceil(room / stride) + 1),
                ("it is not rounded: a window fits or does not.", room / stride + 1),
                ("1 is added before the division.", (room + 1) // stride),
                ("the first place is missing: even a window that just fits has one.", room // stride),
            ],
            kind=int,
        )


LENGTHS = ((8, 3), (6, 2), (5, 1), (4, 4))
"""Numbers of the signal and of the window."""


@exercise("21-2", "The backward rule of a convolution along a line")
def conv_rule(answer: Callable) -> None:
    """It takes arrays (dout, x, w) of one axis and returns the gradients of x and of w."""
    for n, width in LENGTHS:
        dout, x, w = draw(n - width + 1), draw(n, seed=1), draw(width, seed=2)
        given = f"x of {n} and w of {width} numbers"
        dx, dw = _slide(np.pad(dout, width - 1), w[::-1]), _slide(x, dout)
        found = answer(dout.copy(), x.copy(), w.copy())
        if not isinstance(found, tuple | list) or len(found) != 2:
            raise Mistaken(f"With {given} it returns {type(found).__name__}, where a pair (dx, dw) is asked for.")
        unturned = _slide(np.pad(dout, width - 1), w)
        late, early = (np.pad(dout, (width - 1, 0)), np.pad(dout, (0, width - 1)))
        expect(
            found[0],
            dx,
            f"{given}, dx",
            [
                ("this is dw: the gradients have each other's place.", dw),
                ("the window has to be turned around, since j - k stands where i + k stood.", unturned),
                ("the result is turned around.", dx[::-1]),
                ("the window does not reach over both ends: pad the gradient.", _slide(dout, w[::-1])),
                ("the zeros stand in front only.", _slide(late, w[::-1])),
                ("the zeros stand behind only.", _slide(early, w[::-1])),
                ("each entry meets one weight only, where up to all of them used it.", early * w[0]),
                ("a later place overwrites what an earlier one gave: add up.", _overwritten(dout, w)),
            ],
        )
        expect(
            found[1],
            dw,
            f"{given}, dw",
            [
                ("the result is turned around: the first weight met the first entries.", dw[::-1]),
                ("the gradient is turned around before it slides; for w nothing is turned.", _slide(x, dout[::-1])),
                ("one place is taken, where every place used the weight.", x[:width] * dout[0]),
                ("a mean over places is taken, where all of them add up.", dw / dout.size),
                ("the incoming gradient is left out.", _slide(x, np.ones_like(dout))),
            ],
        )


def _slide(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    return np.array([x[i : i + len(w)] @ w for i in range(len(x) - len(w) + 1)])


def _overwritten(dout: np.ndarray, w: np.ndarray) -> np.ndarray:
    dx = np.zeros(len(dout) + len(w) - 1)
    for i, d in enumerate(dout):
        dx[i : i + len(w)] = d * w
    return dx


PICTURES = (((4, 5), (2, 3)), ((3, 4), (3, 1)), ((5, 3), (2, 2)), ((3, 3), (3, 3)))
"""Shapes of pictures and windows."""


@exercise("21-3", "The columns of a picture")
def unfold(answer: Callable) -> None:
    """It takes a picture and the sizes of a window, and returns a row for each weight and a column for each place."""
    for shape, window in PICTURES:
        x = draw(*shape)
        down, right = shape[0] - window[0] + 1, shape[1] - window[1] + 1
        seen = np.lib.stride_tricks.sliding_window_view(x, window)
        columns = seen.transpose(2, 3, 0, 1)
        taps, spots = window[0] * window[1], down * right
        expect(
            answer(x.copy(), window),
            columns.reshape(taps, spots),
            f"x of shape {shape} and a window of {window}",
            [
                ("rows and columns are exchanged.", seen.reshape(spots, taps)),
                ("the weights are numbered column by column.", columns.transpose(1, 0, 2, 3).reshape(taps, spots)),
                ("the places are numbered column by column.", columns.transpose(0, 1, 3, 2).reshape(taps, spots)),
                ("the weights are numbered from the last.", columns[::-1, ::-1].reshape(taps, spots)),
                ("the places are numbered from the last.", columns[:, :, ::-1, ::-1].reshape(taps, spots)),
                ("the axes are right, and each two of them are to be made one.", columns),
                ("the windows do not overlap: with stride 1 they do.", _apart(x, window)),
                ("numbers are filled in row by row without turning: the right ones in wrong places.", _wrongly(seen)),
            ],
        )


def _apart(x: np.ndarray, window: tuple[int, int]) -> np.ndarray:
    """Columns with strides as large as the window."""
    seen = np.lib.stride_tricks.sliding_window_view(x, window)[:: window[0], :: window[1]]
    return seen.transpose(2, 3, 0, 1).reshape(window[0] * window[1], -1)


def _wrongly(seen: np.ndarray) -> np.ndarray:
    return seen.reshape(seen.shape[2] * seen.shape[3], -1)
