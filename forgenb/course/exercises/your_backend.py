"""The exercises of chapter 20: a window on bytes, the argument block, and the contract of a product.

Imports the parts of judges; a judge has the name of the function that it asks for.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from itertools import product

import numpy as np

from ..exercise import Mistaken, exercise
from ..judging import draw, expect, untouched

WINDOWS = (
    ("a whole block", "float32", 0, (2, 6), (6, 1)),
    ("an offset", "float64", 2, (4,), (1,)),
    ("rows with a gap", "float32", 1, (2, 3), (5, 1)),
    ("axes turned", "float64", 0, (3, 2), (1, 3)),
    ("a negative stride", "int64", 5, (6,), (-1,)),
    ("a repeated row", "float32", 3, (3, 4), (0, 1)),
    ("no axis", "float64", 4, (), ()),
    ("no element", "float32", 0, (0, 3), (3, 1)),
)
"""What it is, dtype, offset, shape and strides."""


@exercise("20-1", "A copy of a window on bytes")
def view(answer: Callable) -> None:
    """It takes bytes, a dtype, and offset, shape and strides in elements, and returns an array of its own."""
    for given, name, offset, shape, strides in WINDOWS:
        dtype = np.dtype(name)
        flat = np.arange(1.0, 13.0).astype(dtype)
        data, size = bytearray(flat.tobytes()), int(np.prod(shape))
        right = np.array(_window(flat, offset, shape, strides))
        found = answer(data, dtype, offset, shape, strides)
        followed = flat[offset:][:size].reshape(shape) if len(flat[offset:]) >= size else flat
        mistakes = [
            ("the strides are not looked at: entries that follow each other are taken.", followed),
            ("the offset is not looked at.", _window(flat, 0, shape, strides)),
            ("the offset is taken as bytes, and counts elements.", _of_bytes(data, dtype, offset, shape, strides)),
            ("the strides go with the wrong axes.", _window(flat, offset, shape, strides[::-1])),
            ("the axes of the result are in the wrong order.", right.T),
        ]
        expect(found, right, given, mistakes)
        if np.asarray(found).dtype != dtype:
            raise Mistaken(f"With {given} the result has dtype {np.asarray(found).dtype}, and the window has {name}.")
        data[:] = bytes(len(data))
        if not np.array_equal(found, right):
            raise Mistaken(f"With {given} the result changes when the block does: it is no copy.")


def _window(flat: np.ndarray, offset: int, shape: tuple, strides: tuple) -> np.ndarray:
    """The elements, by their numbers; those outside the block are 0."""
    places = offset + sum((np.indices(shape)[axis] * step for axis, step in enumerate(strides)), np.zeros(shape, int))
    return np.where((places >= 0) & (places < len(flat)), flat[np.clip(places, 0, len(flat) - 1)], 0)


def _of_bytes(data: bytearray, dtype: np.dtype, offset: int, shape: tuple, strides: tuple) -> np.ndarray:
    """The same, with the offset in bytes."""
    shifted = bytes(data[offset:]) + bytes(offset)
    return _window(np.frombuffer(shifted, dtype), 0, shape, strides)


BLOCKS: tuple[tuple[list[str], list[tuple[str, str]], list[str], tuple], ...] = (
    (["rows", "n"], [("eps", "real")], ["x", "out"], (3, 5, 1e-5, 2**33, 2**34 + 64)),
    (["n"], [("seed", "uint"), ("p", "real"), ("offset", "int")], ["x"], (7, 2**32 - 1, 0.25, -3, 2**33 + 8)),
    (["rows"], [], ["x", "y", "z"], (1, 2**33, 2**34, 2**35)),
)
"""Symbols, scalars and operands of a declaration, and the numbers of a block in their order."""


@exercise("20-2", "The argument block of a row kernel")
def read_block(answer: Callable) -> None:
    """It takes names of sizes, scalars with their kinds, and operands, and the bytes of a block."""
    for symbols, scalars, operands, values in BLOCKS:
        names = [*symbols, *(name for name, _ in scalars), *operands]
        form = [
            *("q" for _ in symbols),
            *("d" if kind == "real" else "q" for _, kind in scalars),
            *("q" for _ in operands),
        ]
        block, right = struct.pack("=" + "".join(form), *values), dict(zip(names, values, strict=True))
        given = f"sizes {symbols}, scalars {scalars} and operands {operands}"
        found = answer(symbols, scalars, operands, block)
        if not isinstance(found, dict):
            raise Mistaken(f"With {given} it returns {type(found).__name__}, where a dictionary is asked for.")
        if set(found) != set(right):
            raise Mistaken(f"With {given} the names are {sorted(found)}, where they should be {sorted(right)}.")
        for name, value in right.items():
            _expect_slot(found[name], value, name, dict(zip(names, form, strict=True))[name], given, block)


def _expect_slot(found: object, right: float, name: str, form: str, given: str, block: bytes) -> None:
    """Compare one number, and say how its bytes may have been read."""
    if found == right and isinstance(found, float if form == "d" else int | np.integer):
        return
    raw = struct.pack("=" + form, right)
    mistakes = (
        (struct.unpack("=q", raw)[0], "its bytes were read as an integer, and it is a float64"),
        (struct.unpack("=d", raw)[0], "its bytes were read as a float64, and it is an integer"),
        (struct.unpack(">" + form, raw)[0], "its bytes were read with the highest first"),
        (struct.unpack("=i", raw[:4])[0], "four of its eight bytes were read"),
        (struct.unpack("=f", raw[:4])[0], "four of its eight bytes were read"),
    )
    for wrong, text in mistakes:
        if found == wrong != right:
            raise Mistaken(f"With {given}, {name} is {found!r}: {text}.")
    others = {struct.unpack_from("=q", block, at)[0] for at in range(0, len(block), 8)}
    if found in others:
        raise Mistaken(f"With {given}, {name} is {found!r}, which stands in another place of the block.")
    raise Mistaken(f"With {given}, {name} is {found!r}, which is not what its eight bytes say.")


@exercise("20-3", "A product, as the contract has it")
def gemm(answer: Callable) -> None:
    """It takes matrices, flags and scales, and writes into ``out``."""
    m, n, k = 3, 4, 2
    for flags in ((False, False), (True, False), (False, True), (True, True)):
        for kind, (alpha, beta) in product(("no bias", "a bias"), ((0.5, 2.0), (2.0, 0.0))):
            left, right = draw(m, k), draw(k, n, seed=1)
            bias = draw(n, seed=2) if kind == "a bias" else None
            old = draw(m, n, seed=3) if beta else np.full((m, n), np.nan)
            out, turned = old.copy(), (left.T if flags[0] else left, right.T if flags[1] else right)
            given = f"{kind}, trans_a={flags[0]}, trans_b={flags[1]}, alpha={alpha} and beta={beta}"
            handed = turned[0].copy(), turned[1].copy(), None if bias is None else bias.copy()
            answer(*handed[:2], out, handed[2], *flags, alpha, beta)
            made, kept = left @ right, 0.0 if beta == 0.0 else beta * old
            shift = 0.0 if bias is None else bias
            expect(
                out,
                alpha * made + (kept if bias is None else shift),
                given,
                [
                    ("beta times NaN is NaN: with beta 0 nothing of out may be read.", np.full((m, n), np.nan)),
                    ("out is as it was: write into it, since its memory is what the caller has.", old),
                    ("the product alone is there; something is to be added.", alpha * made),
                    ("what is in out is added although there is a bias.", alpha * made + shift + kept),
                    ("alpha scales the bias too; it belongs to the product.", alpha * (made + shift)),
                    ("alpha scales what was in out too; it belongs to the product.", alpha * (made + kept)),
                    ("alpha is left out.", made + (kept if bias is None else shift)),
                    ("beta is left out: what was in out is added as it is.", alpha * made + old),
                ],
            )
            for name, before, after in zip(("a", "b", "bias"), (*turned, bias), handed, strict=True):
                if after is not None:
                    untouched(before, after, given, name)
