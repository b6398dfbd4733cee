"""Compile primitives and elementary functions alone, for their tests."""

import types

import numpy as np
from forgenb_cpu.intrinsics import primitives_for
from numba import njit

from forgenb.kernel.binding import bind
from forgenb.kernel.primitives import ByDtype, Primitive


def jit(body):
    scope = body.__globals__
    scope.update({name: jit(value) for name, value in scope.items() if isinstance(value, types.FunctionType)})
    return njit(error_model="numpy", forceinline=True)(body)


def compiled(function, dtype, adding=False):
    """A body, a `Primitive` or a `ByDtype`, compiled for the CPU."""
    if isinstance(function, Primitive):
        target = primitives_for(dtype)[function.name]
        return jit(bind(target, {}, dtype)) if isinstance(target, types.FunctionType) else target
    body = function.variants[np.dtype(dtype).name] if isinstance(function, ByDtype) else function
    return jit(bind(body, primitives_for(dtype, adding), dtype))


def mapped(function, dtype, arity=1):
    """A compiled loop of `function` over `arity` arrays into the last argument."""
    scalar = compiled(function, dtype)

    def map1(x, out):
        for i in range(len(out)):
            out[i] = scalar(x[i])

    def map2(x, y, out):
        for i in range(len(out)):
            out[i] = scalar(x[i], y[i])

    def map3(x, y, z, out):
        for i in range(len(out)):
            out[i] = scalar(x[i], y[i], z[i])

    return njit(error_model="numpy")((map1, map2, map3)[arity - 1])


def machine(function, dtype, *columns, out_dtype=None):
    """The compiled function, element by element."""
    out = np.empty(len(columns[0]), out_dtype or dtype)
    mapped(function, dtype, len(columns))(*columns, out)
    return out


def plainly(function, dtype, *columns):
    """The plain meaning, element by element; every result must have the dtype already."""
    results = [function(*row) for row in zip(*columns, strict=True)]
    assert {type(result) for result in results} == {dtype}
    return np.array(results, dtype)


def same_bits(got, want):
    """Equal bit for bit, NaN payloads apart."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype
    nan = np.isnan(want)
    np.testing.assert_array_equal(np.isnan(got), nan)
    bits = f"u{got.dtype.itemsize}"
    np.testing.assert_array_equal(got[~nan].view(bits), want[~nan].view(bits))
