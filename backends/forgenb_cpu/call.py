"""Short calls of launchers: a compiled function that takes the argument block and the addresses that it lacks.

Numba's own entry point of a function reads its arguments in a fifth of the time that ctypes takes. Here it gets a
block with a header, and copies the rest to its stack before it writes the operands' addresses into it, so that one
block serves any number of launches at once:

====  ================================================================
slot  content
====  ================================================================
0     address of the launcher
1     extent
2     slots of the launcher's own block, which follow the header
3     slot of the first operand's address there
4     slots from one operand's address to the next
====  ================================================================

Imports Numba, llvmlite and this plug-in's `compile`, `blocks` and `atomic`. Nothing here knows what a kernel does.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable

from llvmlite import ir
from numba import types as nt
from numba.core import cgutils
from numba.extending import intrinsic

from .atomic import call_launcher
from .blocks import INT64, load, room_of
from .compile import OPTIONS, build, entry_point

SLOTS = 64
"""Slots of the longest block that fits on the stack of a short call."""
MOST_OPERANDS = 12
BLOCK = nt.Bytes(nt.uint8, 1, "C")
HEADER = struct.Struct("=5q")

CALL = """\
def launch(block, {addresses}):
    start = address_of(block)
    place = room()
    for slot in range(load(start, 2, int64)):
        store(place, slot, load(start, 5 + slot, int64))
    slot, step = load(start, 3, int64), load(start, 4, int64)
    {stores}
    call_launcher(load(start, 0, int64), 0, load(start, 1, int64), place)
"""


@intrinsic
def address_of(typing, block):
    """Where the bytes of `block` lie."""

    def build(context, builder, signature, arguments):
        found = cgutils.create_struct_proxy(signature.args[0])(context, builder, value=arguments[0])
        return builder.ptrtoint(found.data, INT64)

    return nt.int64(block), build


@intrinsic
def store(typing, base, slot, value):
    """Write an int64 into 8-byte slot `slot` of the block at address `base`."""

    def build(context, builder, signature, arguments):
        address = builder.add(arguments[0], builder.mul(arguments[1], ir.Constant(INT64, 8)))
        builder.store(arguments[2], builder.inttoptr(address, INT64.as_pointer()))
        return context.get_dummy_value()

    return nt.void(nt.int64, nt.int64, nt.int64), build


@functools.cache
def short_call(operands: int, nogil: bool) -> Callable:
    """The function ``(block, *addresses)`` for that many operands; `nogil` lets other Python threads run meanwhile."""
    names = [f"a{number}" for number in range(operands)]
    stores = "\n    ".join(f"store(place, slot + {number} * step, {name})" for number, name in enumerate(names))
    text = CALL.format(addresses=", ".join(names), stores=stores)
    extras = {"address_of": address_of, "store": store, "load": load, "room": room_of(8 * SLOTS)}
    signature = nt.void(BLOCK, *(nt.int64,) * operands)
    extras["call_launcher"] = call_launcher
    return entry_point(build(f"call-{operands}", text, {}, extras, signature, {**OPTIONS, "nogil": nogil}))
