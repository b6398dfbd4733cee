"""The exercises of chapter 22: a tensor out of the bytes of a file, rows of a step, and files that are not whole.

Imports the parts of judges and random streams; a judge has the name of the function that it asks for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...random import generator
from ..exercise import Mistaken, exercise
from ..judging import draw, expect


def _file(arrays: Mapping[str, np.ndarray], spaces: int = 0) -> tuple[bytes, dict[str, Any]]:
    """A safetensors file of float32 arrays and its header; `spaces` stand at the header's end."""
    header: dict[str, Any] = {"__metadata__": {"made": "by an exercise"}}
    body = b""
    for name, array in arrays.items():
        more = array.astype("<f4").tobytes()
        places = [len(body), len(body) + len(more)]
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": places}
        body += more
    return _packed(header, body, spaces), header


def _packed(header: Any, body: bytes, spaces: int = 0) -> bytes:
    text = json.dumps(header).encode() + b" " * spaces
    return len(text).to_bytes(8, "little") + text + body


@exercise("22-1", "A tensor out of the bytes of a safetensors file")
def read_tensor(answer: Callable) -> None:
    """It takes the bytes of a file and a name, and returns an array."""
    arrays = {"b": draw(6), "w": draw(4, 3, seed=1), "one": draw(seed=2), "cube": draw(2, 3, 2, seed=3)}
    for spaces in (0, 37):
        data, header = _file(arrays, spaces)
        length = int.from_bytes(data[:8], "little")
        for name in ("w", "b", "cube", "one"):
            right = arrays[name].astype("float32")
            begin, end = header[name]["data_offsets"]

            size = end - begin
            early = "the places of a header are counted from its end, "
            mistakes = [
                ("the array has one axis, and the shape is not used.", right.ravel()),
                (f"{early}and not from the start of the file.", _numbers(data, begin, size).reshape(right.shape)),
                (f"{early}which is 8 bytes later.", _numbers(data, length + begin, size).reshape(right.shape)),
                ("the bytes of a number stand the other way round.", _reversed(right)),
                ("this is the first tensor of the file.", _numbers(data, 8 + length, size).reshape(right.shape)),
                ("axes are filled from the first on, where the last one runs fastest.", _columns(right)),
            ]
            with np.errstate(all="ignore"):
                got = answer(data, name)
                expect(got, right, f"the tensor {name!r} of shape {right.shape}", mistakes, 0.0, np.float32)


def _numbers(data: bytes, place: int, size: int) -> np.ndarray:
    return np.frombuffer(data[place : place + size].ljust(size, b"\0"), "<f4")


def _reversed(array: np.ndarray) -> np.ndarray:
    return array.byteswap()


def _columns(array: np.ndarray) -> np.ndarray:
    return array.ravel().reshape(array.shape, order="F")


@exercise("22-2", "Which rows the batch of a step has")
def rows_of(answer: Callable) -> None:
    """It takes (step, n, size, seed) and returns the numbers of the rows."""
    for step, n, size, seed in ((2, 13, 4, 0), (2, 10, 4, 0), (7, 10, 4, 3), (5, 6, 3, 1), (4, 7, 7, 2), (11, 9, 2, 5)):
        epoch, place = divmod(step, n // size)

        def order(number: int, seed: int = seed, n: int = n) -> np.ndarray:
            return generator(seed, "rows", number).permutation(n)

        def batch(number: int, place: int, size: int = size) -> np.ndarray:
            return order(number)[place * size : (place + 1) * size]

        rounded = -(-n // size)
        expect(
            answer(step, n, size, seed),
            batch(epoch, place),
            f"step={step}, n={n}, size={size} and seed={seed}",
            [
                ("each step shuffles anew: the step is taken for the epoch.", batch(step, place)),
                ("each step shuffles anew: the step is taken for the epoch.", batch(step, 0)),
                ("every epoch has the order of the first.", batch(0, place)),
                ("it is always the first batch of the epoch.", batch(epoch, 0)),
                ("rows that do not fill a batch belong to none.", batch(step // rounded, step % rounded)),
                ("the place in the epoch is forgotten: this begins at the step's own number.", batch(epoch, step)),
                ("epochs are counted from 1 here.", batch(epoch + 1, place)),
                ("steps are counted from 1 here.", batch(*divmod(max(step - 1, 0), n // size))),
                ("steps of one row are taken, where a batch has several.", order(epoch)[place : place + size]),
                ("nothing is shuffled.", np.arange(n)[place * size : (place + 1) * size]),
                ("this is the order of the whole epoch.", order(epoch)),
                ("the seed has no effect.", generator(0, "rows", epoch).permutation(n)[place * size :][:size]),
            ],
            tolerance=0.0,
            kind=int,
        )


@exercise("22-3", "Whether a file is whole")
def is_whole(answer: Callable) -> None:
    """It takes bytes, and returns True or False."""
    for wanted, given, told, data in _cases():
        try:
            found = answer(data)
        except NotImplementedError:
            raise
        except Exception as error:
            raise Mistaken(
                f"With {given} it raises {type(error).__name__}: {error}. A file that cannot be read is not whole."
            ) from error
        if not isinstance(found, bool | np.bool_):
            raise Mistaken(f"With {given} it returns {found!r}, where it must be True or False.")
        if bool(found) != wanted:
            raise Mistaken(f"With {given} it says {bool(found)}: {told}")


def _cases() -> list[tuple[bool, str, str, bytes]]:
    """What should be said, the file in words, what is wrong with another answer, and the file."""
    arrays = {"w": draw(4, 3), "b": draw(3, seed=1)}
    data, header = _file(arrays)
    body = data[8 + int.from_bytes(data[:8], "little") :]
    turned, empty = dict(reversed(header.items())), {"w": draw(4, 3), "nothing": draw(0, 5)}
    fits = "nothing is wrong with it."

    def changed(name: str, **entries: Any) -> bytes:
        return _packed({**header, name: {**header[name], **entries}}, body)

    lacking = {**header, "b": {"dtype": "F32", "shape": [3]}}
    return [
        (True, "a file of two tensors", fits, data),
        (True, "spaces at the end of the header", "JSON allows them.", _file(arrays, 20)[0]),
        (True, "tensors in another order in the header", "only their places count.", _packed(turned, body)),
        (True, "a tensor without numbers", "it takes 0 bytes, and that is what it has.", _file(empty)[0]),
        (True, "a number without axes", "a shape of no axes has one number.", _file({"one": draw()})[0]),
        (True, "no tensor at all", fits, _packed({}, b"")),
        (False, "a file whose last byte is missing", "the numbers do not reach the end that is told.", data[:-1]),
        (False, "a byte too many at the end", "the tensors must fill all of the rest.", data + b"\0"),
        (False, "a file that ends within the header", "the header has fewer bytes than it says.", data[:60]),
        (False, "no bytes at all", "not even the length of a header is there.", b""),
        (False, "five bytes", "not even the length of a header is there.", data[:5]),
        (False, "a header that is no JSON", "nobody can read it.", data[:8] + b"#" + data[9:]),
        (False, "a header that is a list", "it has no names.", _packed([1, 2], b"")),
        (False, "a header that is no UTF-8", "nobody can read it.", data[:9] + b"\xff" + data[10:]),
        (False, "a tensor without places", "nobody knows where it is.", _packed(lacking, body)),
        (False, "a shape that needs more bytes", "shape and places contradict each other.", changed("w", shape=[4, 4])),
        (False, "two tensors in one place", "the second begins before the first ends.", _overlapping(arrays)),
        (False, "a gap between two tensors", "bytes that belong to nobody may hide something.", _gaping(header, body)),
    ]


def _overlapping(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Two tensors of the same 12 bytes, and 12 more: their sizes add up to the right sum."""
    text = {name: {"dtype": "F32", "shape": [3], "data_offsets": [0, 12]} for name in arrays}
    return _packed(text, bytes(24))


def _gaping(header: dict[str, Any], body: bytes) -> bytes:
    moved = [place + 4 for place in header["b"]["data_offsets"]]
    return _packed({**header, "b": {**header["b"], "data_offsets": moved}}, body[:48] + bytes(4) + body[48:])
