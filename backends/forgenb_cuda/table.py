"""The page of what each kernel takes on a GPU; ``docs/make_ptx.py`` writes it."""

from __future__ import annotations

from collections.abc import Iterable

from forgenb.kernel import Kernel

from .program import Plan, gemm_plan, map_plan, row_plan
from .templates import operand_types

HEAD = """\
# What each kernel takes on a GPU

Every kernel of the library, compiled to PTX by numba-cuda and assembled by nvJitLink for compute capability 9.0,
without a GPU. Registers are a thread's; shared bytes are a block's, of which the hardware keeps 1,024 for itself where
there are any. Each figure is given for float32 / float64. Maps are those over two dimensions, stored as they compute;
`gemm` works in tiles of 16 x 16. No kernel keeps an array in local memory. **No kernel has run on a GPU yet**: figures
of time will stand here when one has. This page is made by `python docs/make_ptx.py`.

| kernel | form | registers | shared bytes | spilled bytes |
|---|---|---:|---:|---:|
"""


def plan_of(kernel: Kernel, real: str) -> Plan:
    """What to compile of one kernel; map kernels of whole numbers run with int64 where others have a float."""
    if kernel.form == "row":
        return row_plan(kernel, real)
    real = "int64" if "_whole_" in kernel.name else real
    return map_plan(kernel, real, tuple(operand_types(kernel, real)), 2)


def row(name: str, form: str, plans: tuple[Plan, Plan]) -> str:
    """One line of the table."""
    from .built import program

    short, long = (program(plan, (9, 0)).resources for plan in plans)
    pairs = [f"{getattr(short, what)} / {getattr(long, what)}" for what in ("registers", "shared", "spilled")]
    return f"| `{name}` | {form} | {' | '.join(pairs)} |"


def page(kernels: Iterable[Kernel]) -> str:
    """The whole page."""
    lines = {k.name: row(k.name, k.form, (plan_of(k, "float32"), plan_of(k, "float64"))) for k in kernels}
    lines["gemm"] = row("gemm", "product", (gemm_plan("float32", 16), gemm_plan("float64", 16)))
    return HEAD + "\n".join(lines[name] for name in sorted(lines)) + "\n"
