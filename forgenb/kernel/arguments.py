"""The argument block: one row of 8-byte slots that carries everything a launch needs.

=======  ===========================================================================================
form     slots
=======  ===========================================================================================
map      scalars, ``ndim``, ``limit``, ``dims[ndim]``, then per operand ``address``, ``strides[ndim]``
row      one size per symbol, scalars, then one address per operand
=======  ===========================================================================================

Scalars of kind ``real`` are float64 in the block, every other slot is int64. Strides count elements.
`limit` bounds a panel of a map: a whole row where every operand is used in place, else `PANEL` elements.

This module imports the standard library, errors and the declarations only.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from ..errors import ArgumentError
from .declare import Kernel

PANEL = 512


@cache
def map_block(kernel: Kernel, ndim: int) -> struct.Struct:
    """The packer of a map kernel's block for operands of `ndim` collapsed dimensions."""
    return struct.Struct("=" + _scalars(kernel) + "q" * (2 + ndim + len(kernel.operands) * (1 + ndim)))


@cache
def row_block(kernel: Kernel) -> struct.Struct:
    """The packer of a row kernel's block."""
    return struct.Struct("=" + "q" * len(kernel.symbols) + _scalars(kernel) + "q" * len(kernel.operands))


def _scalars(kernel: Kernel) -> str:
    return "".join("d" if s.kind == "real" else "q" for s in kernel.scalars)


def check_scalars(kernel: Kernel, scalars: Sequence) -> None:
    """Refuse settings of an op that do not fit into the argument block.

    Raises
    ------
    ArgumentError
        Naming the op's kernel, the scalar and its value.
    """
    for scalar, form, value in zip(kernel.scalars, _scalars(kernel), scalars, strict=True):
        try:
            struct.pack(form, value)
        except (struct.error, OverflowError):
            wanted = "number that float64 holds" if form == "d" else "whole number of int64"
            name = kernel.name.removesuffix("_kernel")
            raise ArgumentError(f"{name} got {scalar.name}={value!r}: it must be a {wanted}") from None


class MapArguments(NamedTuple):
    """A map kernel's block, taken apart: what a backend needs that does not run on addresses alone."""

    scalars: tuple
    limit: int
    dims: tuple[int, ...]
    operands: tuple[tuple[Any, tuple[int, ...]], ...]
    """Address (where it is not known yet, what stands for it) and strides of each."""

    def values(self) -> list:
        """The slots of the block, in order."""
        found = [*self.scalars, len(self.dims), self.limit, *self.dims]
        for place, strides in self.operands:
            found += [place, *strides]
        return found


def map_arguments(kernel: Kernel, values: Sequence) -> MapArguments:
    """The scalars, the collapsed dims, and the place and strides of each operand, from the slots of a map's block."""
    count = len(kernel.scalars)
    ndim = values[count]
    rest = tuple(values[count + 2 + ndim :])
    operands = tuple((rest[i], rest[i + 1 : i + 1 + ndim]) for i in range(0, len(rest), 1 + ndim))
    return MapArguments(tuple(values[:count]), values[count + 1], tuple(values[count + 2 : count + 2 + ndim]), operands)


def read_map_block(kernel: Kernel, block: bytes) -> MapArguments:
    """See `map_arguments`."""
    (ndim,) = struct.unpack_from("=q", block, 8 * len(kernel.scalars))
    return map_arguments(kernel, map_block(kernel, ndim).unpack(block))


class RowArguments(NamedTuple):
    """A row kernel's block, taken apart."""

    sizes: dict[str, int]
    scalars: tuple
    addresses: tuple


def row_arguments(kernel: Kernel, values: Sequence) -> RowArguments:
    """The size of each symbol, the scalars, and the place of each operand, from the slots of a row kernel's block."""
    sizes, scalars = len(kernel.symbols), len(kernel.scalars)
    named = dict(zip(kernel.symbols, values, strict=False))
    return RowArguments(named, tuple(values[sizes : sizes + scalars]), tuple(values[sizes + scalars :]))


def read_row_block(kernel: Kernel, block: bytes) -> RowArguments:
    """See `row_arguments`."""
    return row_arguments(kernel, row_block(kernel).unpack(block))
