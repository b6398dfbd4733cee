"""What generated launchers call: slots of the argument block, typed addresses, room on the stack.

Imports llvmlite, Numba and the layout of `forgenb.kernel`. Arithmetic belongs in `arithmetic`.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types as nt
from numba.core import cgutils
from numba.extending import intrinsic

from forgenb.kernel import PANEL

INT64 = ir.IntType(64)


def _element(kind):
    return kind.dtype if isinstance(kind, (nt.NumberClass, nt.DType)) else kind.instance_type


@intrinsic
def load(typing, base, slot, kind):
    """The scalar in 8-byte slot `slot` of the argument block at address `base`."""
    element = _element(kind)

    def build(context, builder, signature, arguments):
        address = builder.add(arguments[0], builder.mul(arguments[1], ir.Constant(INT64, 8)))
        return builder.load(builder.inttoptr(address, context.get_value_type(element).as_pointer()))

    return element(nt.int64, nt.int64, kind), build


@intrinsic
def pointer(typing, address, kind):
    """`address` as a typed pointer for `carray`."""
    result = nt.CPointer(_element(kind))

    def build(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(result))

    return result(nt.int64, kind), build


@intrinsic
def size_of(typing, kind):
    """Bytes of one element of `kind`."""
    element = _element(kind)

    def build(context, builder, signature, arguments):
        return ir.Constant(INT64, context.get_abi_sizeof(context.get_data_type(element)))

    return nt.int64(kind), build


@intrinsic
def room(typing, kind):
    """Address of space for one panel in the function's own stack frame, 64-byte aligned."""
    element = _element(kind)

    def build(context, builder, signature, arguments):
        data = context.get_data_type(element)
        space = cgutils.alloca_once(builder, data, size=ir.Constant(INT64, PANEL))
        space.align = 64
        return builder.ptrtoint(space, INT64)

    return nt.int64(kind), build


def room_of(nbytes: int):
    """An intrinsic for the address of that many bytes in the function's own stack frame, 64-byte aligned."""

    @intrinsic
    def take(typing):
        def build(context, builder, signature, arguments):
            space = cgutils.alloca_once(builder, ir.IntType(8), size=ir.Constant(INT64, nbytes))
            space.align = 64
            return builder.ptrtoint(space, INT64)

        return nt.int64(), build

    return take


def external(symbol: str):
    """A panel function that the linker finds by name, so that each is compiled once for all kernels."""

    @intrinsic
    def call(typing, args, dims, slot, ndim, line, column, n, room):
        signature = nt.int64(*(nt.int64,) * 8)

        def build(context, builder, signature, arguments):
            kind = ir.FunctionType(INT64, [INT64] * 8)
            return builder.call(cgutils.get_or_insert_function(builder.module, kind, symbol), arguments)

        return signature, build

    return call


INTRINSICS = {"load": load, "pointer": pointer, "room": room, "size_of": size_of}
