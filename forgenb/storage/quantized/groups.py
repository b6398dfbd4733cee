"""Numbers in groups, each number a code of 4 bits between the lowest and the highest of its group.

Imports NumPy and `forgenb.errors`; which arrays are quantised, and files, are not known here.
"""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forgenb.errors import ArgumentError

__all__ = ["BITS", "CODES", "ENDS", "check_group", "code_layouts", "dequantize", "is_group", "pieces", "quantize"]

BITS = 4
LEVELS = 2**BITS - 1
"""The code of a group's highest number; that of its lowest is 0."""

CODES, ENDS = np.dtype("uint8"), np.dtype("float32")
PIECE = 1 << 16
"""Numbers that are computed at once, in float64."""

MOST = 1 << 30


def check_group(group: object) -> None:
    """Refuse what is no size of a group.

    Raises
    ------
    ArgumentError
        It is no whole number from 1 to 2**30.
    """
    if not is_group(group):
        raise ArgumentError(f"A group that is quantised has from 1 to {MOST} numbers, got {group!r}: 64 is usual")


def is_group(group: object) -> bool:
    """Whether it is one."""
    return type(group) is int and 1 <= group <= MOST


def code_layouts(shape: tuple[int, ...], group: int) -> tuple[tuple, tuple]:
    """Shape and dtype of the codes and of the ends of an array; nothing is allocated."""
    size = math.prod(shape)
    return ((-(-size // 2),), CODES), ((-(-size // group), 2), ENDS)


def quantize(values: ArrayLike, group: int) -> tuple[NDArray, NDArray]:
    r"""Replace numbers by codes.

    Every `group` numbers that follow each other in row-major order, the last group perhaps fewer, have two ends,
    their lowest and their highest. A number x between the ends a and b has the code

    .. math:: q = \operatorname{round}\left(15 \frac{x - a}{b - a}\right)

    (0 where a = b), so that `dequantize` gives it with an error of at most (b - a) / 30 and a rounding to float32. The
    ends themselves, and so all numbers of a group that has at most two different ones, are exact.

    Parameters
    ----------
    values
        Numbers of any shape, which are rounded to float32 first.
    group
        How many numbers share two ends, from 1 on.

    Returns
    -------
    codes : array
        ``(ceil(n / 2),)`` uint8: the code of number 2i is in the low half of byte i, that of 2i + 1 in the high half.
    ends : array
        ``(ceil(n / group), 2)`` float32: the lowest and the highest number of each group.

    Raises
    ------
    ArgumentError
        `group` is no size, or `values` are no numbers or not all finite in float32.

    References
    ----------
    Asymmetric round-to-nearest; Dettmers and Zettlemoyer, "The case for 4-bit precision", 2023, on its group sizes.
    """
    check_group(group)
    given = np.asarray(values)
    if given.dtype.kind not in "fiu":
        raise ArgumentError(f"quantize needs real numbers, got an array of dtype {given.dtype}")
    with np.errstate(over="ignore"):  # what does not fit becomes infinite, which is refused
        flat = given.astype(ENDS).reshape(-1)
    starts = np.arange(0, flat.size, group)
    ends = np.stack([np.minimum.reduceat(flat, starts), np.maximum.reduceat(flat, starts)], axis=1)
    if not np.isfinite(ends).all():
        raise ArgumentError("quantize needs numbers that are finite in float32, and some are not; look for NaN first")
    codes = np.zeros(flat.size + flat.size % 2, CODES)
    for start in range(0, flat.size, PIECE):
        part = flat[start : start + PIECE]
        low, high = _ends_at(ends, group, start, part.size)
        width = np.where(high > low, high - low, 1)
        codes[start : start + PIECE][: part.size] = np.rint(LEVELS * ((part - low) / width))
    return codes[::2] | codes[1::2] << BITS, ends


def dequantize(codes: NDArray, ends: NDArray, group: int, shape: tuple[int, ...]) -> NDArray:
    r"""The numbers that `quantize` made codes of, in float32.

    .. math:: x = \frac{(15 - q) a + q b}{15}

    is computed in float64 and rounded once.

    Parameters
    ----------
    codes, ends, group
        What `quantize` gave, and was given.
    shape
        That of the numbers.

    Raises
    ------
    ArgumentError
        `group` is no size, or codes and ends are not those of so many numbers.
    """
    check_group(group)
    found = (codes.shape, codes.dtype), (ends.shape, ends.dtype)
    if found != code_layouts(shape, group):
        raise ArgumentError(
            f"dequantize got codes and ends of (shape, dtype) {found}: numbers of shape {shape} in groups of {group} "
            f"have {code_layouts(shape, group)}"
        )
    values = np.empty(math.prod(shape), ENDS)
    for start, part in pieces(codes, ends, group, 0, values.size):
        values[start : start + part.size] = part
    return values.reshape(shape)


def pieces(codes: NDArray, ends: NDArray, group: int, start: int, stop: int) -> Iterator[tuple[int, NDArray]]:
    """`dequantize` a few numbers at a time.

    Parameters
    ----------
    codes
        Those of the numbers from position `start`, whose code begins a byte, to `stop`.
    ends
        Those of the groups from position 0 on.

    Yields
    ------
    int, array
        The position of the first number, and float32 numbers.
    """
    for position in range(start, stop, PIECE):
        count = min(PIECE, stop - position)
        packed = codes[(position - start) // 2 :][: -(-count // 2)]
        code = np.stack([packed & LEVELS, packed >> BITS], axis=1).reshape(-1)[:count].astype(np.float64)
        with np.errstate(invalid="ignore"):  # of ends that are not finite, which whoever reads a file looks for
            low, high = _ends_at(ends, group, position, count)
            values = (((LEVELS - code) * low + code * high) / LEVELS).astype(ENDS)
        yield position, values


def _ends_at(ends: NDArray, group: int, start: int, count: int) -> tuple[NDArray, NDArray]:
    """The ends of the groups of so many numbers from `start` on, in float64."""
    places = np.arange(start, start + count) // group
    return ends[places, 0].astype(np.float64), ends[places, 1].astype(np.float64)
