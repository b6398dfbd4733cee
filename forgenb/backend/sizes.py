"""How large a block of memory is made: whole units of alignment, and classes of sizes that a pool keeps apart.

Imports nothing; a plug-in with a pool of its own may use it.
"""

from __future__ import annotations

EXACT = 4096
"""Bytes up to which every unit of alignment is a class of its own."""


def aligned(nbytes: int, align: int) -> int:
    """`nbytes` rounded up to a multiple of `align`, and at least one."""
    return max(align, -(-nbytes // align) * align)


def size_class(nbytes: int, align: int) -> int:
    """Multiples of `align` up to `EXACT`, then eight classes to a doubling."""
    if nbytes <= EXACT:
        return aligned(nbytes, align)
    step = 1 << ((nbytes - 1).bit_length() - 4)
    return -(-nbytes // step) * step
