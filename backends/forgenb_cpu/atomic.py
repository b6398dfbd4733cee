"""Atomic slots for the thread pool, and calls through C function addresses, as Numba intrinsics.

Imports llvmlite and Numba. Nothing here may be used by a kernel: bodies have no atomics, since their order would
show in the bits.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types as nt
from numba.core import cgutils
from numba.extending import intrinsic

INT64 = ir.IntType(64)


def _slot(builder, arguments):
    address = builder.add(arguments[0], builder.mul(arguments[1], ir.Constant(INT64, 8)))
    return builder.inttoptr(address, INT64.as_pointer())


@intrinsic
def atomic_load(typing, base, slot):
    """The int64 in a slot, sequentially consistent."""

    def build(context, builder, signature, arguments):
        return builder.load_atomic(_slot(builder, arguments), "seq_cst", 8)

    return nt.int64(nt.int64, nt.int64), build


@intrinsic
def atomic_store(typing, base, slot, value):
    """Store an int64 into a slot, sequentially consistent."""

    def build(context, builder, signature, arguments):
        builder.store_atomic(arguments[2], _slot(builder, arguments), "seq_cst", 8)
        return context.get_dummy_value()

    return nt.void(nt.int64, nt.int64, nt.int64), build


@intrinsic
def atomic_add(typing, base, slot, value):
    """Add to a slot and return what it held before, sequentially consistent."""

    def build(context, builder, signature, arguments):
        return builder.atomic_rmw("add", _slot(builder, arguments), arguments[2], "seq_cst")

    return nt.int64(nt.int64, nt.int64, nt.int64), build


@intrinsic
def pause(typing):
    """A hint that this thread spins (x86 only; elsewhere nothing)."""

    def build(context, builder, signature, arguments):
        if builder.module.triple.startswith(("x86_64", "i686")):
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.sse2.pause"), [])
        return context.get_dummy_value()

    return nt.void(), build


@intrinsic
def call_launcher(typing, function, begin, end, args):
    """Call the launcher at address `function`."""

    def build(context, builder, signature, arguments):
        kind = ir.FunctionType(ir.VoidType(), [INT64] * 3)
        builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])
        return context.get_dummy_value()

    return nt.void(*(nt.int64,) * 4), build


@intrinsic
def call_plain(typing, function):
    """Call the C function ``int f(void)`` at address `function`."""

    def build(context, builder, signature, arguments):
        kind = ir.FunctionType(ir.IntType(32), [])
        builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), [])
        return context.get_dummy_value()

    return nt.void(nt.int64), build


INTRINSICS = {
    "atomic_load": atomic_load,
    "atomic_store": atomic_store,
    "atomic_add": atomic_add,
    "pause": pause,
    "call_launcher": call_launcher,
    "call_plain": call_plain,
}
