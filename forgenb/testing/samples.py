"""Inputs of the kit, from the rows of the op table: samples in a dtype, their shape class, calls, references.

Everything here runs on the backend that creations use, see `forgenb.use`.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..creation import tensor
from ..ops import TABLE
from ..tensor import Tensor

FLOATS = ("float16", "float32", "float64")
INTEGERS = ("int32", "int64", "bool")
SHAPE_CLASSES = ("0-d", "one", "empty", "odd", "broadcast", "non-contiguous")


class Sample(NamedTuple):
    """The array operands of one call, its keywords, and the places of operands that are real numbers, not ids."""

    arrays: list[np.ndarray]
    keywords: dict[str, Any]
    reals: tuple[int, ...]

    def cast(self, dtype) -> Sample:
        """The same sample in another dtype: rounded to floats, or integers or bools of about the same values."""
        convert = _CONVERT[np.dtype(dtype).kind]
        arrays = [np.asarray(convert(a, dtype)) if p in self.reals else a for p, a in enumerate(self.arrays)]
        return Sample(arrays, self.keywords, self.reals)

    def changed(self, place: int, array: np.ndarray) -> Sample:
        """The same sample with another operand at one place."""
        arrays = [array if p == place else a for p, a in enumerate(self.arrays)]
        return Sample(arrays, self.keywords, self.reals)

    @property
    def shapes(self) -> str:
        """The operands' shapes and the keywords, for messages."""
        listed = ", ".join(str(a.shape) for a in self.arrays)
        return listed + "".join(f", {name}={value!r}" for name, value in self.keywords.items())


@functools.cache
def samples(name: str) -> list[Sample]:
    """All samples of a row, the same every time."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    found = []
    for given, keywords in TABLE[name].samples(rng):
        arrays = [np.asarray(a) for a in given]
        found.append(Sample(arrays, keywords, tuple(p for p, a in enumerate(arrays) if a.dtype.kind == "f")))
    return found


_CONVERT: dict[str, Callable] = {
    "f": lambda a, dtype: a.astype(dtype),
    "i": lambda a, dtype: np.rint(3 * np.nan_to_num(a, posinf=9, neginf=-9)).astype(dtype),
    "b": lambda a, dtype: a > 0.25,
}


@functools.cache
def samples_in(name: str, dtype: str, shape_class: str) -> tuple[Sample, ...]:
    """Samples of a row in one dtype and shape class.

    Those for a float dtype have a float operand. "non-contiguous" are all those that can be laid out otherwise.
    """
    floats = np.dtype(dtype).kind == "f"
    found = [s for s in samples(name) if not floats or s.reals]
    if shape_class == "non-contiguous":
        found = [s for s in found if any(s.arrays[p].size > 1 for p in s.reals)]
        found = [] if TABLE[name].in_place or not floats else found
    else:
        found = [s for s in found if class_of(s.arrays) == shape_class]
    return tuple(s.cast(dtype) for s in found)


def class_of(arrays) -> str:
    """The shape class of the operands of one call."""
    shapes = [a.shape for a in arrays]
    if any(a.size == 0 for a in arrays):
        return "empty"
    if all(s == () for s in shapes):
        return "0-d"
    if all(a.size == 1 for a in arrays):
        return "one"
    return "broadcast" if len(set(shapes)) > 1 and _broadcast(shapes) else "odd"


def _broadcast(shapes) -> bool:
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        return False
    return True


def several(result) -> tuple:
    """A result, or results, as a tuple."""
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def ruled_dtype(name: str, sample: Sample) -> np.dtype | None:
    """The dtype that the table of result dtypes gives the results; None where it says that the op refuses."""
    return TABLE[name].rule.result([sample.arrays[p].dtype for p in sample.reals], sample.keywords)


def call(name: str, tensors, sample: Sample) -> tuple[Tensor, ...]:
    """The op's results as a tuple of tensors."""
    return several(TABLE[name].function(*tensors, **sample.keywords))


def expected(name: str, sample: Sample) -> list[np.ndarray]:
    """The reference's results in float64, from inputs that are rounded already."""
    arrays = [a.astype(np.float64) if p in sample.reals else a for p, a in enumerate(sample.arrays)]
    with np.errstate(all="ignore"):
        found = TABLE[name].reference(*arrays, **sample.keywords)
    return [np.asarray(r) for r in several(found)]


def differentiable(name: str, sample: Sample) -> list[int]:
    """Places of the operands that get a gradient."""
    inside = (p for p in TABLE[name].differentiable if p < len(sample.arrays))
    return [p for p in inside if sample.arrays[p].dtype.kind == "f"]


def leaves(name: str, sample: Sample) -> list[Tensor]:
    """Tensors of the operands; those that get a gradient are leaves."""
    places = differentiable(name, sample)
    return [tensor(a, requires_grad=p in places) for p, a in enumerate(sample.arrays)]


def cotangent(t: Tensor, number: int = 0) -> Tensor:
    """The same numbers for every dtype, others for each `number`: multiples of 1/64, which float16 holds exactly."""
    values = np.random.default_rng(number).integers(-64, 64, t.shape) / 64
    return tensor(np.asarray(values).astype(t.dtype), backend=t.backend.name)


def backward(outputs) -> None:
    """A sweep from each tracked output, with the `cotangent` of its number as its seed."""
    for number, t in enumerate(outputs):
        if t.requires_grad:
            t.backward(cotangent(t, number), retain_graph=True)


def bits(tensors) -> list[tuple | None]:
    """Shape, dtype and bytes of each tensor, None of None."""
    return [None if t is None else (t.shape, t.dtype.name, np.ascontiguousarray(t.numpy()).tobytes()) for t in tensors]
