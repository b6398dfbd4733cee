"""Run kernel bodies as plain Python: bind them to the primitives' plain meanings and loop.

A bound body is a clone of the author's code object that keeps its file and line numbers: a debugger stops
on the author's lines, coverage counts them and a traceback shows them. Only two things differ from the
source: float literals have the kernel's dtype, and so has what `real`, `infinity` and their like return.

Imports NumPy and `forgenb.kernel`; nothing here may compile, or know what a kernel is for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import FunctionType

import numpy as np

from forgenb.kernel import Kernel, bind, primitives, read_map_block, read_row_block

from .memory import Space

WORDS = {word.name: word for word in vars(primitives).values() if isinstance(word, primitives.Primitive)}
Call = Callable[[FunctionType, int, tuple], object]


@dataclass(frozen=True, eq=False)
class Interpreted:
    """A kernel bound to one float type."""

    kernel: Kernel
    body: FunctionType
    real: np.dtype
    dtypes: tuple[np.dtype, ...]
    storage: tuple[np.dtype, ...]
    name: str
    key: str
    text: str
    seconds: float = 0.0
    cached: bool = False


def interpreted(kernel: Kernel, real: str, storage: tuple[str, ...], text: str) -> Interpreted:
    """`kernel` for float type `real`; `storage` has a map operand's stored dtypes."""
    dtype = np.dtype(real)
    dtypes = tuple(np.dtype(operand.dtype(real)) for operand in kernel.operands)
    stored = tuple(map(np.dtype, storage)) if storage else dtypes
    name = "-".join([kernel.name, real, *storage])
    body = bind(kernel.body, words_for(dtype), dtype)
    return Interpreted(kernel, body, dtype, dtypes, stored, name, name, text)


def words_for(dtype: np.dtype) -> dict[str, object]:
    """The plain meaning of each primitive, giving `dtype` where it must (float64 for kernels on integers).

    Each is wrapped so that binding does not take it for a helper of the body and clones it.
    """
    kind = dtype.type if dtype.kind == "f" else np.float64
    return {
        name: partial(_of_dtype, word.meaning, kind) if word.of_dtype else partial(word.meaning)
        for name, word in WORDS.items()
    }


def _of_dtype(meaning: Callable, kind: type, *args):
    return kind(meaning(*args))


def run(space: Space, launcher: Interpreted, extent: int, block: bytes, call: Call) -> None:
    """Elements or rows ``0 .. extent`` in order; `call(body, number, arguments)` runs one."""
    loop = _map if launcher.kernel.form == "map" else _rows
    with np.errstate(all="ignore"):  # inside kernels an overflow is a value, as on every other target
        loop(space, launcher, extent, block, call)


def _scalars(launcher: Interpreted, values: tuple) -> tuple:
    """Host scalars as a body sees them: floats of its dtype, uint32, Python ints."""
    kinds = {"real": launcher.real.type, "uint": np.uint32}
    return tuple(kinds.get(s.kind, int)(value) for s, value in zip(launcher.kernel.scalars, values, strict=True))


def _rows(space: Space, launcher: Interpreted, extent: int, block: bytes, call: Call) -> None:
    """A row program: arrays of exactly the declared dims, read-only where the kernel only reads."""
    found = read_row_block(launcher.kernel, block)
    arrays = []
    for operand, dtype, address in zip(launcher.kernel.operands, launcher.dtypes, found.addresses, strict=True):
        shape = tuple(found.sizes[symbol] for symbol in operand.dims)
        strides = tuple(np.cumprod((1, *shape[:0:-1]))[::-1].tolist()) if shape else ()
        array = space.array(address, dtype, shape, strides)
        array.flags.writeable = operand.writes
        arrays.append(array)
    rest = (*arrays, *_scalars(launcher, found.scalars))
    for row in range(extent):
        call(launcher.body, row, (row, *rest))


def _map(space: Space, launcher: Interpreted, extent: int, block: bytes, call: Call) -> None:
    """A scalar function, element by element in row-major order; storage is converted on the way in and out."""
    kernel = launcher.kernel
    found = read_map_block(kernel, block)
    views = [
        space.array(address, stored, found.dims, strides)
        for stored, (address, strides) in zip(launcher.storage, found.operands, strict=True)
    ]
    triples = list(zip(kernel.operands, views, launcher.dtypes, strict=True))
    columns = [view.astype(dtype).ravel() for operand, view, dtype in triples if operand.reads]
    scalars = _scalars(launcher, found.scalars)
    results = []
    for index in range(extent):
        values = [column[index] for column in columns]
        results.append(call(launcher.body, index, (*((index,) if kernel.indexed else ()), *values, *scalars)))
    written = {operand.name: (view, dtype) for operand, view, dtype in triples if operand.writes}
    for name, column in zip(kernel.results, zip(*results) if len(kernel.results) > 1 else (results,), strict=True):
        view, dtype = written[name]
        view[...] = np.array(column).astype(dtype).reshape(found.dims)
