"""Bind a body to a target: the same code object, with other primitives and another float type.

A bound body is still plain Python. What a body may refer to is closed on purpose: primitives,
helpers that are plain functions, dtype-dependent helpers (`ByDtype`), and literals.

This module imports the standard library, NumPy, `forgenb.errors` and the primitives' classes.
"""

from __future__ import annotations

import dis
from types import CodeType, FunctionType

import numpy as np

from ..errors import ArgumentError
from .primitives import ByDtype, Primitive


def global_names(code: CodeType) -> list[str]:
    """Names that `code` reads as globals: attributes and locals of the same name do not count."""
    reads = {i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            reads.update(global_names(constant))
    return sorted(reads)


def bind(body: FunctionType, primitives: dict[str, object], dtype) -> FunctionType:
    """A private clone of `body` for one target and one float type.

    Parameters
    ----------
    body : function
        Plain Python. Its globals may be primitives, plain functions, `ByDtype` objects and builtins.
    primitives : dict
        The target's implementation of each primitive by name. A plain function is bound as well.
    dtype : dtype_like
        What the body's float literals become.

    Raises
    ------
    ArgumentError
        If the body has free variables, default values, or a global that is none of the above.
    """
    return _Binder(primitives, np.dtype(dtype)).function(body)


class _Binder:
    def __init__(self, primitives: dict[str, object], dtype: np.dtype):
        self.primitives = primitives
        self.dtype = dtype
        self.bound: dict[FunctionType, FunctionType] = {}

    def function(self, body: FunctionType) -> FunctionType:
        if body in self.bound:
            return self.bound[body]
        if body.__closure__ or body.__defaults__ or body.__kwdefaults__:
            names = body.__code__.co_freevars or "default values"
            raise ArgumentError(f"kernel body {body.__name__} uses {names}: pass such values as host scalars")
        code = body.__code__.replace(co_consts=tuple(self.literal(c) for c in body.__code__.co_consts))
        clone = self.bound[body] = FunctionType(code, {}, body.__name__)
        for name in global_names(body.__code__):
            if name in body.__globals__:
                clone.__globals__[name] = self.value(body, name, body.__globals__[name])
        return clone

    def literal(self, value):
        if type(value) is float and self.dtype.kind == "f":
            return self.dtype.type(value)
        if type(value) is tuple:
            return tuple(self.literal(v) for v in value)
        return value

    def value(self, body: FunctionType, name: str, value):
        if isinstance(value, Primitive):
            if value.name not in self.primitives:
                raise ArgumentError(f"kernel body {body.__name__}: this backend has no primitive {value.name!r}")
            value = self.primitives[value.name]
        if isinstance(value, ByDtype):
            value = value.variants[self.dtype.name if self.dtype.kind == "f" else "float64"]
        if isinstance(value, FunctionType):
            return self.function(value)
        if isinstance(value, (float, int)) and not isinstance(value, bool):
            raise ArgumentError(
                f"kernel body {body.__name__} reads the global number {name!r}, which would be frozen when it "
                "is compiled: write the literal, or pass it as a host scalar"
            )
        return value
