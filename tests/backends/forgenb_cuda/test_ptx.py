"""Every kernel as PTX and as machine code: what the compiler made of it. Kept between sessions by content."""

import re
from pathlib import Path

import pytest
from forgenb_cuda.table import plan_of
from support.cuda import needs_numba_cuda, plans

from forgenb.kernel import map_kernel
from forgenb.testing.declared import all_kernels

pytestmark = needs_numba_cuda
LEGS = [("float32", (9, 0)), ("float64", (9, 0)), ("float32", (8, 0))]
DOUBLE = re.compile(r"^\s*(?!ld\.param|cvt\.rn\.f32\.f64|mov)\w[\w.]*\.f64", re.MULTILINE)
LOCAL: dict[str, str] = {}
"""Kernels that may keep arrays in local memory, and why."""


def built(plan, cc=(9, 0)):
    from forgenb_cuda.built import program

    return program(plan, cc)


@pytest.fixture(scope="module", params=LEGS, ids=lambda leg: f"{leg[0]}-sm_{leg[1][0]}{leg[1][1]}")
def leg(request):
    real, cc = request.param
    return real, {name: built(plan, cc) for name, plan in plans(real).items()}


def test_every_kernel_compiles_and_assembles(leg):
    _, programs = leg
    assert set(programs) == {*all_kernels(), "gemm"}
    assert all(".visible .entry launch(" in p.code and p.binary[:4] == b"\x7fELF" for p in programs.values())


def test_no_double_precision_arithmetic_in_float32(leg):
    real, programs = leg
    if real == "float32":
        assert {name: DOUBLE.findall(p.code) for name, p in programs.items() if DOUBLE.search(p.code)} == {}


def test_nothing_spills_and_no_array_is_local(leg):
    _, programs = leg
    assert [name for name, p in programs.items() if p.resources.spilled] == []
    assert [name for name, p in programs.items() if ".local" in p.code or p.resources.local] == sorted(LOCAL)


def test_no_atomics(leg):
    _, programs = leg
    assert [name for name, p in programs.items() if re.search(r"\b(atom|red)\.", p.code)] == []


def test_no_calls_are_left(leg):
    """An intrinsic that NVVM does not know becomes a call that only fails when it is loaded."""
    _, programs = leg
    assert [name for name, p in programs.items() if ".extern .func" in p.code] == []


@map_kernel("x y z -> out")
def product_and_sum(x, y, z):
    return x * y + z


@map_kernel("x y -> out")
def quotient_kernel(x, y):
    return x / y


def test_products_and_sums_are_not_contracted():
    code = built(plan_of(product_and_sum, "float32")).code
    assert "mul.f32" in code or "mul.rn.f32" in code
    assert "fma" not in code


def test_divisions_are_rounded_correctly():
    code = built(plan_of(quotient_kernel, "float32")).code
    assert "div.rn.f32" in code
    assert ".ftz" not in code


@pytest.mark.parametrize("storage", ["float16", "bool", "int32", "int64", "float64"])
def test_storage_dtypes_convert(storage):
    from forgenb_cuda.program import map_plan

    copy = all_kernels()["copy_kernel"]
    real = "float64" if storage == "float64" else "float32"
    for places in ((storage, real), (real, storage)):
        code = built(map_plan(copy, real, places, 3)).code
        assert ".extern" not in code
        if storage == "float16":
            assert "cvt.f32.f16" in code or "cvt.rn.f16.f32" in code


def test_results_may_be_added_to_what_is_there():
    from forgenb_cuda import device, ptx
    from forgenb_cuda.program import row_plan

    plan = row_plan(all_kernels()["take_kernel"], "float32")
    codes = []
    for adding in (False, True):
        names = plan.names(device.primitives_for("float32", adding), device.LAUNCHER)
        codes.append(ptx.compile_text(plan.text, names, plan.slots, (9, 0)))
    assert [bool(re.search(r"\badd\.(rn\.)?f32", code)) for code in codes] == [False, True]


def test_a_second_look_compiles_nothing():
    plan = plan_of(all_kernels()["gelu_kernel"], "float32")
    assert built(plan).binary == built(plan).binary
    assert built(plan).cached


def test_the_committed_table_is_complete():
    text = (Path(__file__).parents[3] / "docs" / "ptx.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    assert listed == sorted({*all_kernels(), "gemm"}), "run python docs/make_ptx.py"
