"""Loop templates: the text of ``launch(begin, end, args)`` around a bound body, one per kernel form.

A map runs panel by panel. `enter` hands out the address of an operand's panel: in place where it is
contiguous and stored in the dtype that the body works in, else a copy in a small room on the stack, so
that one vectorised loop serves every layout; `leave` copies such a room back. A row launcher calls the
body row by row. The text is what runs, what is hashed for the cache, and what a reader sees. Positions
are unsigned because Numba then leaves out the wrap-around of negative indices, which stops vectorising.

Imports the declarations of `forgenb.kernel`, no compiler: it makes text.
"""

from __future__ import annotations

from forgenb.kernel import PANEL, Kernel

BYTES = {"bool_": "uint8"}  # Numba cannot store a bool through a pointer
NUMBA = {"bool": "bool_"}
"""Dtypes that have another name in Numba."""


def operand_types(kernel: Kernel, real: str) -> list[str]:
    """The dtype that the body sees for each operand."""
    return [NUMBA.get(dtype, dtype) for dtype in (operand.dtype(real) for operand in kernel.operands)]


def launcher_text(kernel: Kernel, real: str, storage: tuple[str, ...]) -> str:
    """Source of the launcher of `kernel` bound to `real`; `storage` has a map operand's stored dtypes."""
    lines = _map(kernel, real, storage) if kernel.form == "map" else _row(kernel, real)
    return "def launch(begin, end, args):\n" + "\n".join("    " + line for line in lines) + "\n"


def _scalars(kernel: Kernel, real: str, first: int) -> list[str]:
    lines = []
    for slot, scalar in enumerate(kernel.scalars, first):
        stored = "float64" if scalar.kind == "real" else "int64"
        cast = {"real": real, "uint": "uint32"}.get(scalar.kind, "int64")
        lines.append(f"{scalar.name} = {cast}(load(args, {slot}, {stored}))")
    return lines


def _row(kernel: Kernel, real: str) -> list[str]:
    lines = [f"{symbol} = load(args, {slot}, int64)" for slot, symbol in enumerate(kernel.symbols)]
    lines += _scalars(kernel, real, len(kernel.symbols))
    first = len(kernel.symbols) + len(kernel.scalars)
    for slot, (operand, dtype) in enumerate(zip(kernel.operands, operand_types(kernel, real), strict=True), first):
        shape = f"({', '.join(operand.dims)},)"
        lines.append(f"{operand.name} = carray(pointer(load(args, {slot}, int64), {dtype}), {shape})")
    arguments = ["row", *(o.name for o in kernel.operands), *(s.name for s in kernel.scalars)]
    return [*lines, "for row in range(uint64(begin), uint64(end)):", f"    body({', '.join(arguments)})"]


def _map(kernel: Kernel, real: str, storage: tuple[str, ...]) -> list[str]:
    base = len(kernel.scalars)
    types = operand_types(kernel, real)
    lines = _scalars(kernel, real, 0)
    lines += [f"ndim = load(args, {base}, int64)", f"limit = load(args, {base + 1}, int64)", f"dims = {base + 2}"]
    lines += ["width = load(args, dims + ndim - 1, int64)"]
    for number, (operand, dtype) in enumerate(zip(kernel.operands, types, strict=True)):
        lines += _operand_lines(operand.name, number, dtype)
    lines += _over_lines(kernel)
    loop = ["line = position // width", "column = position - line * width"]
    loop += ["n = min(min(limit, end - position), width - column)"]
    leaving = []
    over = _written_over(kernel)
    for operand, dtype, stored in zip(kernel.operands, types, storage, strict=True):
        name = operand.name
        place = f"args, dims, {name}_slot, ndim, line, column, n, {name}_room"
        enter, here = (
            f"enter_{stored}_{dtype}({place})",
            f"{name}_base + (line * {name}_line + column) * size_of({dtype})",
        )
        near = f"{here} if ndim <= 2 and {name}_step == 1 else {enter}" if stored == dtype else enter
        if name in over:
            near = f"{name}_room if {name}_over else {near}"
        loop.append(f"{name}_panel = {near}")
        loop.append(f"{name} = carray(pointer({name}_panel, {dtype}), (n,))")
        if operand.writes:
            leaving += [f"if {name}_panel == {name}_room:", f"    leave_{stored}_{dtype}({place})"]
    loop += _body_loop(kernel, types) + leaving + ["position += n"]
    return [*lines, "position = begin", "while position < end:", *("    " + line for line in loop)]


def _written_over(kernel: Kernel) -> dict[str, list[str]]:
    """Operands that are only written, each with those that are only read and may lie in the same place."""
    read = [o.name for o in kernel.operands if not o.writes]
    return {o.name: read for o in kernel.operands if not o.reads} if read else {}


def _over_lines(kernel: Kernel) -> list[str]:
    """Where a result lies over an operand, its panel is a room: a loop in place would not be vectorised."""
    lines = []
    for name, read in _written_over(kernel).items():
        lines.append(f"{name}_over = {' or '.join(f'{name}_base == {other}_base' for other in read)}")
        lines.append(f"limit = min(limit, {PANEL}) if {name}_over else limit")
    return lines


def _operand_lines(name: str, number: int, dtype: str) -> list[str]:
    return [
        f"{name}_slot = dims + ndim + {number} * (1 + ndim)",
        f"{name}_base = load(args, {name}_slot, int64)",
        f"{name}_step = load(args, {name}_slot + ndim, int64)",
        f"{name}_line = load(args, {name}_slot + 1, int64) if ndim == 2 else int64(0)",
        f"{name}_room = room({dtype})",
    ]


def _body_loop(kernel: Kernel, types: list[str]) -> list[str]:
    arguments = ["position + int64(k)"] if kernel.indexed else []
    arguments += [f"{o.name}[k]" for o in kernel.operands if o.reads] + [s.name for s in kernel.scalars]
    kinds = {o.name: t for o, t in zip(kernel.operands, types, strict=True)}
    call = f"body({', '.join(arguments)})"
    if len(kernel.results) == 1:
        name = kernel.results[0]
        return ["for k in lanes(n):", f"    {name}[k] = {kinds[name]}({call})"]
    values = ", ".join(f"{name}_value" for name in kernel.results)
    stores = [f"    {name}[k] = {kinds[name]}({name}_value)" for name in kernel.results]
    return ["for k in lanes(n):", f"    {values} = {call}", *stores]


PANEL_TEXT = """\
def launch(args, dims, slot, ndim, line, column, n, room):
    stride = load(args, slot + ndim, int64)
    offset = column * stride
    for back in range(2, ndim):
        extent = load(args, dims + ndim - back, int64)
        quotient = line // extent
        offset += (line - quotient * extent) * load(args, slot + 1 + ndim - back, int64)
        line = quotient
    if ndim > 1:
        offset += line * load(args, slot + 1, int64)
    start = load(args, slot, int64) + offset * {size}
    {in_place}stored = pointer(start, {stored})
    panel = pointer(room, {dtype})
    {copies}
    return room
"""

ENTER = """\
if stride == 0:
        value = to_panel(stored[0])
        for k in range(n):
            panel[k] = value
    elif stride == 1:
        for k in range(n):
            panel[k] = to_panel(stored[k])
    else:
        for k in range(n):
            panel[k] = to_panel(stored[k * stride])"""

LEAVE = """\
for k in range(n):
        stored[k * stride] = to_storage(panel[k])"""


def panel_text(action: str, stored: str, dtype: str, size: int) -> str:
    """Source of ``enter`` (find or gather a panel) or ``leave`` (scatter it) for one pair of dtypes.

    `line` counts the rows of the innermost dimension and `column` the place in one, so that two
    dimensions, the common case, need no division here.
    """
    copies = ENTER if action == "enter" else LEAVE
    if dtype == "bool_":
        copies = copies.replace("to_panel(", "uint8(0 != ")
    if stored == "bool_":
        copies = copies.replace("to_storage(", "uint8(0 != ")
    place = {"float16": "uint16"} | BYTES
    names = {"stored": place.get(stored, stored), "dtype": BYTES.get(dtype, dtype)}
    in_place = "if stride == 1:\n        return start\n    " if action == "enter" and stored == dtype else ""
    return PANEL_TEXT.format(size=size, in_place=in_place, copies=copies, **names)
