"""The argument block: one row of 8-byte slots that carries everything a launch needs.

=======  ===========================================================================================
form     slots
=======  ===========================================================================================
map      scalars, ``ndim``, ``limit``, ``dims[ndim]``, then per operand ``address``, ``strides[ndim]``
row      one size per symbol, scalars, then one address per operand
=======  ===========================================================================================

Scalars of kind ``real`` are float64 in the block, every other slot is int64. Strides count elements.
`limit` bounds a panel of a map: a whole row where every operand is used in place, else `PANEL` elements.

This module imports the standard library and the declarations only.
"""

from __future__ import annotations

import struct
from functools import cache

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
