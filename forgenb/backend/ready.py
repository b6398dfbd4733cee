"""Launches that are prepared once and run many times: all of the argument block but scalars and addresses.

The arithmetic of an op on small tensors takes less time than packing its argument block. Here the block is packed when
a launch is seen first. A backend may also have a shorter way to its launchers than `Backend.launch`:
``prepare(launcher, extent, chunk, block, first, step, operands)`` gives a function and a header, or None for the usual
way. The function is called with header and block, whose addresses are 0, and with the addresses one by one; the first
belongs into slot `first`, the others each `step` slots on.

Imports the declarations of `forgenb.kernel`. What a launch means is decided above, how it runs below.
"""

from __future__ import annotations

import struct
from typing import Any

from ..kernel import Kernel, check_scalars

ADDRESS = struct.Struct("=q")


class Ready:
    """A launch of one kernel over one extent that lacks only its scalars and the operands' addresses.

    Parameters
    ----------
    packer : struct.Struct
        Of the whole argument block.
    values : sequence
        What is in it, with 0 in place of each scalar and each address.
    places : tuple of int
        The slot of the first scalar, that of the first address, and the slots from one address to the next.
    """

    __slots__ = (
        "backend", "block", "call", "chunk", "extent", "head", "kernel", "launcher", "places", "scalars", "tail",
    )  # fmt: skip

    def __init__(self, backend, kernel: Kernel, launcher, extent: int, chunk: int, packer, values, places: tuple):
        self.backend, self.kernel, self.launcher, self.extent, self.chunk = backend, kernel, launcher, extent, chunk
        scalar, first, step = places
        begin, end, count = 8 * scalar, 8 * (scalar + len(kernel.scalars)), len(kernel.operands)
        self.scalars = struct.Struct("=" + packer.format[1 + scalar :][: len(kernel.scalars)])
        self.places = [8 * (first + step * number) for number in range(count)]
        whole = packer.pack(*values)
        call: Any = self._launch
        header = b""
        if hasattr(backend, "prepare"):
            call, header = backend.prepare(launcher, extent, chunk, whole, first, step, count) or (call, header)
        self.call = call
        self.block, self.head, self.tail = header + whole, header + whole[:begin], whole[end:]

    def with_scalars(self, scalars: tuple) -> bytes:
        """The block for `call`, whose addresses are still 0.

        Raises
        ------
        ArgumentError
            If a scalar does not fit into its slot.
        """
        if not scalars:
            return self.block
        try:
            return self.head + self.scalars.pack(*scalars) + self.tail
        except (struct.error, OverflowError):
            check_scalars(self.kernel, scalars)
            raise

    def _launch(self, block: bytes, *addresses: int) -> None:
        """The way that every backend has."""
        whole = bytearray(block)
        for place, address in zip(self.places, addresses, strict=True):
            ADDRESS.pack_into(whole, place, address)
        self.backend.launch(self.launcher, self.extent, self.chunk, bytes(whole))
