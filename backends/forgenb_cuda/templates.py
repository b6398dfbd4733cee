"""Loop templates: the text of ``launch(extent, ...)`` around a bound body, one per kernel form.

The parameters after `extent` are the slots of the argument block, in its order, so that a launch hands the block to
the device as it is and nothing is uploaded for it. A map visits elements in a grid-stride loop and finds each
operand's place from its strides, one division a collapsed dimension; it is generated once for each number of
dimensions. A row launcher gives every row to one warp or one block, whose threads are the lanes.

The same text is compiled for a GPU and runs under both simulators; `fetch`, `hand`, `array_at`, `quotient`,
`elements_here` and `rows_here` are bound to what does it there.
"""

from __future__ import annotations

from forgenb.kernel import Kernel

NUMBA = {"bool": "bool_"}
"""Dtypes that have another name in Numba."""
RAW = {"bool_": "uint8", "float16": "uint16"}


def operand_types(kernel: Kernel, real: str) -> list[str]:
    """The dtype that the body sees for each operand."""
    return [NUMBA.get(dtype, dtype) for dtype in (operand.dtype(real) for operand in kernel.operands)]


def _scalars(kernel: Kernel, real: str) -> tuple[list[str], list[str]]:
    """Parameters, and the lines that give each scalar its dtype."""
    kinds = {"real": real, "uint": "uint32"}
    names = [s.name for s in kernel.scalars]
    lines = [f"{s.name} = {kinds.get(s.kind, 'int64')}({s.name}_slot)" for s in kernel.scalars]
    return [f"{name}_slot" for name in names], lines


def _function(parameters: list[str], lines: list[str]) -> str:
    return f"def launch({', '.join(parameters)}):\n" + "\n".join("    " + line for line in lines) + "\n"


def row_text(kernel: Kernel, real: str) -> str:
    """Source of the launcher of a row kernel bound to `real`."""
    slots, lines = _scalars(kernel, real)
    places = [f"{operand.name}_address" for operand in kernel.operands]
    for operand, dtype in zip(kernel.operands, operand_types(kernel, real), strict=True):
        shape = f"({', '.join(operand.dims)},)"
        lines.append(f"{operand.name} = array_at({operand.name}_address, {shape}, {dtype})")
    arguments = ["row", *(o.name for o in kernel.operands), *(s.name for s in kernel.scalars)]
    lines += ["for row in rows_here(extent):", f"    body({', '.join(arguments)})"]
    return _function(["extent", *kernel.symbols, *slots, *places], lines)


def map_text(kernel: Kernel, real: str, storage: tuple[str, ...], ndim: int) -> str:
    """Source of the launcher of a map kernel; `storage` has the operands' stored dtypes."""
    slots, lines = _scalars(kernel, real)
    parameters = ["extent", *slots, "ndim", "limit", *(f"dim_{d}" for d in range(ndim))]
    loop = ["rest_0 = position"]
    for back, axis in enumerate(range(ndim - 1, 0, -1)):
        loop.append(f"rest_{back + 1} = quotient(rest_{back}, dim_{axis})")
        loop.append(f"place_{axis} = rest_{back} - rest_{back + 1} * dim_{axis}")
    loop.append(f"place_0 = rest_{ndim - 1}")
    types = operand_types(kernel, real)
    kinds = {o.name: (t, s) for o, t, s in zip(kernel.operands, types, storage, strict=True)}
    for operand in kernel.operands:
        name = operand.name
        parameters += [f"{name}_address", *(f"{name}_step_{d}" for d in range(ndim))]
        places = " + ".join(f"place_{d} * {name}_step_{d}" for d in range(ndim))
        loop.append(f"{name}_place = {places}")
        if operand.reads:
            loop.append(f"{name} = {_read(name, *kinds[name])}")
    inputs = [o.name for o in kernel.operands if o.reads] + [s.name for s in kernel.scalars]
    arguments = (["position"] if kernel.indexed else []) + inputs
    results = ", ".join(f"{name}_result" for name in kernel.results)
    loop.append(f"{results} = body({', '.join(arguments)})")
    loop += [f"hand({n}_address, {n}_place, {_written(n, *kinds[n])})" for n in kernel.results]
    lines += ["for position in elements_here(extent):", *("    " + line for line in loop)]
    return _function(parameters, lines)


def _read(name: str, dtype: str, stored: str) -> str:
    value = f"fetch({name}_address, {name}_place, {RAW.get(stored, stored)})"
    if stored == "float16":
        value = f"half_to_real({value})"
        return value if dtype.startswith("float") else f"{dtype}({value})"
    if dtype == "bool_":
        return f"{value} != 0"
    return value if dtype == stored else f"{dtype}({value})"


def _written(name: str, dtype: str, stored: str) -> str:
    value = f"{dtype}({name}_result)"
    if stored == "float16":
        return f"real_to_half({value if dtype.startswith('float') else f'real({value})'})"
    if stored == "bool_":
        return f"uint8({value} != 0)"
    return value if dtype == stored else f"{stored}({value})"


TILE_SLOTS = ["m", "n", "k", "a", "b", "out", "bias", "alpha", "beta", "lda", "ldb", "ldo", "trans_a", "trans_b"]
TILE_SLOTS += ["inner", "a_outer", "a_inner", "b_outer", "b_inner", "out_outer", "out_inner"]
"""The parameters of a product after the number of tiles; alpha and beta are float64, the others int64."""


def gemm_text(real: str, tile: int) -> str:
    """Source of the tiled product: one block a tile of `tile` x `tile` results, one lane a result."""
    return GEMM.format(real=real, tile=tile, lead=tile + 1, slots=", ".join(TILE_SLOTS))


GEMM = """\
def launch(extent, {slots}):
    left = cuda.shared.array(({tile}, {lead}), {real})
    right = cuda.shared.array(({tile}, {lead}), {real})
    y = quotient(lane_number(), {tile})
    x = lane_number() - y * {tile}
    wide = quotient(n + {tile} - 1, {tile})
    per_matrix = quotient(m + {tile} - 1, {tile}) * wide
    for block in rows_here(extent):
        matrix = quotient(block, per_matrix)
        part = block - matrix * per_matrix
        band = quotient(part, wide)
        outer = quotient(matrix, inner)
        nested = matrix - outer * inner
        a_start = outer * a_outer + nested * a_inner
        b_start = outer * b_outer + nested * b_inner
        top = band * {tile}
        side = (part - band * wide) * {tile}
        row = top + y
        column = side + x
        total = {real}(0)
        for start in range(0, k, {tile}):
            # Neighbouring lanes read neighbouring elements, whichever way a matrix lies in memory.
            value = {real}(0)
            if trans_a:
                if start + y < k and top + x < m:
                    value = fetch(a, a_start + (start + y) * lda + top + x, {real})
                left[x, y] = value
            else:
                if row < m and start + x < k:
                    value = fetch(a, a_start + row * lda + start + x, {real})
                left[y, x] = value
            value = {real}(0)
            if trans_b:
                if side + y < n and start + x < k:
                    value = fetch(b, b_start + (side + y) * ldb + start + x, {real})
                right[x, y] = value
            else:
                if start + y < k and column < n:
                    value = fetch(b, b_start + (start + y) * ldb + column, {real})
                right[y, x] = value
            cuda.syncthreads()
            for p in range({tile}):
                total = fma(left[y, p], right[p, x], total)
            cuda.syncthreads()
        if row < m and column < n:
            place = outer * out_outer + nested * out_inner + row * ldo + column
            result = {real}(alpha) * total
            kept = {real}(beta)
            if bias != 0:
                result = result + fetch(bias, column, {real})
            elif kept != {real}(0):
                result = fma(kept, fetch(out, place, {real}), result)
            hand(out, place, result)
"""
