"""What a kernel is: a plain Python body plus the shapes and kinds of what it reads and writes.

A declaration is one line beside the body, in the order of the body's parameters::

    @map_kernel("x dout -> dx")                                   # scalar function, the launcher loops
    @row_kernel("x[rows,n] gamma[n] -> out[rows,n]; eps")         # one row, `row` is the first parameter

Operands may carry a kind of `KINDS` (``ids[rows]:int``), by default ``real``. After ``;`` come host scalars.
An operand that stands on both sides of the arrow is updated in place. The first symbol of a row
kernel is its number of rows: the extent that is split over lanes and threads. An operand whose first
dimension is the extent is touched at `row` alone, so that rows may run in any order; one of whose
dimensions is cut, as in ``parts | x[rows/block,n] -> out[parts,n]; block:int``, is touched in the
`row`-th stretch of `block` along that dimension.

This module imports the standard library and `forgenb.errors`; it knows no backend and no tensor.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

from ..errors import ArgumentError

KINDS = {"real": "", "int": "int64", "bool": "bool", "uint": "uint32"}
"""Kind of an operand -> its dtype; a real one has the dtype that the kernel is bound to."""
_ITEM = re.compile(r"(?P<name>\w+)(?:\[(?P<dims>[\w,/]*)\])?(?::(?P<kind>\w+))?$")


@dataclass(frozen=True)
class Operand:
    """One array that a kernel reads (`reads`), writes (`writes`), or both; `cuts` names what cuts each dimension."""

    name: str
    dims: tuple[str, ...]
    kind: str
    reads: bool
    writes: bool
    cuts: tuple[str, ...] = ()

    def dtype(self, real: str) -> str:
        """The name of its dtype in a kernel that is bound to the float type `real`."""
        return KINDS[self.kind] or real


@dataclass(frozen=True)
class Scalar:
    """A number from the host, the same for every element."""

    name: str
    kind: str


@dataclass(frozen=True, eq=False)
class Kernel:
    """A body with its declaration. Calling it runs the body itself, as plain Python."""

    body: FunctionType
    form: str
    operands: tuple[Operand, ...]
    scalars: tuple[Scalar, ...]
    symbols: tuple[str, ...] = ()
    indexed: bool = False
    results: tuple[str, ...] = field(default=())

    @property
    def name(self) -> str:
        """The body's own name."""
        return self.body.__name__

    def __call__(self, *args, **kwargs):
        """Run the body once, as plain Python."""
        return self.body(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<{self.form} kernel {self.name}>"

    def source(self, backend: str = "cpu", dtype: str = "float32") -> str:
        """What a backend generates from this kernel for one float type, as text."""
        return _BACKENDS[0](backend).source(self, dtype)


_BACKENDS: list[Callable] = []
"""How `Kernel.source` finds a backend by name; `forgenb.backend` puts its function here."""


def _parse(text: str) -> tuple[str, tuple[str, ...], str, tuple[str, ...]]:
    match = _ITEM.match(text)
    if match is None or (match["kind"] or "real") not in KINDS:
        raise ArgumentError(f"kernel declaration: {text!r} is not name[dims]:kind with a kind of {tuple(KINDS)}")
    parts = [d.partition("/") for d in (match["dims"] or "").split(",") if d]
    dims, cuts = tuple(name for name, _, _ in parts), tuple(cut for _, _, cut in parts)
    return match["name"], dims, match["kind"] or "real", cuts


def _declare(body: Any, form: str, text: str) -> Kernel:
    extent, bar, rest = text.rpartition("|")
    arrays, _, scalar_text = rest.partition(";")
    before, arrow, after = arrays.partition("->")
    if not arrow:
        raise ArgumentError(f"kernel {body.__name__}: the declaration {text!r} has no '->'")
    inputs = {item[0]: item for item in map(_parse, before.split())}
    outputs = {item[0]: item for item in map(_parse, after.split())}
    operands = tuple(
        Operand(name, dims, kind, name in inputs, name in outputs, cuts)
        for name, dims, kind, cuts in {**inputs, **{n: o for n, o in outputs.items() if n not in inputs}}.values()
    )
    scalars = tuple(Scalar(name, kind) for name, _, kind, _ in map(_parse, scalar_text.split()))
    first = (extent.strip(),) if bar else ()
    symbols = tuple(dict.fromkeys((*first, *(d for operand in operands for d in operand.dims))))
    named = body.__code__.co_varnames[: body.__code__.co_argcount]
    kernel = Kernel(body, form, operands, scalars, symbols, "index" in named, tuple(outputs))
    _check_parameters(kernel, named)
    return kernel


def _check_parameters(kernel: Kernel, named: tuple[str, ...]) -> None:
    scalars = tuple(s.name for s in kernel.scalars)
    cuts = {cut for operand in kernel.operands for cut in operand.cuts if cut}
    if not cuts <= set(scalars):
        raise ArgumentError(f"kernel {kernel.name}: {', '.join(sorted(cuts))} cuts a dimension but is no scalar")
    if kernel.form == "row":
        wanted = ("row", *(o.name for o in kernel.operands), *scalars)
    else:
        index = ("index",) if kernel.indexed else ()
        wanted = (*index, *(o.name for o in kernel.operands if o.reads), *scalars)
    if named != wanted:
        raise ArgumentError(f"kernel {kernel.name}: its parameters are {named}, its declaration asks for {wanted}")


def map_kernel(declaration: str) -> Callable[[Callable], Kernel]:
    """Declare a scalar function that is applied to every element of its broadcast operands.

    Parameters
    ----------
    declaration : str
        ``"x y -> out; alpha"``. A body with a first parameter ``index`` also gets the element's flat
        index. Several outputs are returned as a tuple, in the order after the arrow.

    Raises
    ------
    ArgumentError
        If the line cannot be read or differs from the body's parameters.
    """
    return lambda body: _declare(body, "map", declaration)


def row_kernel(declaration: str) -> Callable[[Callable], Kernel]:
    """Declare a row program: a body that works on row ``row`` of contiguous operands.

    Parameters
    ----------
    declaration : str
        ``"x[rows,n] gamma[n] -> out[rows,n]; eps"``. Dimensions are symbols. The first is the extent,
        unless another is named before a bar: ``"parts | x[rows,n] -> out[parts]"``.

    Raises
    ------
    ArgumentError
        If the line cannot be read or differs from the body's parameters.
    """
    return lambda body: _declare(body, "row", declaration)
