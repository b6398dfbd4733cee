"""Every kernel's hot loop is packed: a look at the code that the compiler made, never at a cached copy."""

import re

import pytest
from forgenb_cpu.compile import compile_kernel, library
from forgenb_cpu.templates import operand_types
from support.assembly import features, packed_and_scalar

from forgenb.testing.declared import all_kernels

pytestmark = pytest.mark.skipif("avx2" not in features(), reason="this CPU has no AVX2")

NOT_ARITHMETIC = {
    "pow_whole_kernel",  # never bound to floats; its loop runs as long as the exponent is
    "first_index_kernel",  # a search that stops where it finds
}
IN_ORDER = {
    "combine_kernel",  # the few blocks of one channel, in their order
    "cumsum_carry_row_kernel",  # each sum needs the one before it
    "cumsum_row_kernel",
    "scatter_along_kernel",  # what is added goes where the ids say
}
WINDOWS = {"avg_pool_grad_kernel", "avg_pool_kernel", "max_pool_grad_kernel", "max_pool_kernel"}
"""A few neighbours each, with borders to look at: their loops are short and jump."""
KERNELS = {name: kernel for name, kernel in all_kernels().items() if name not in NOT_ARITHMETIC | IN_ORDER | WINDOWS}


FAST_MATH = re.compile(r"\bf(?:add|sub|mul|div|cmp|neg)\b[^\n]*?\b(?:nnan|ninf|nsz|arcp|contract|afn|fast)\b")


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_hot_loop_is_packed(name):
    kernel = KERNELS[name]
    storage = tuple(operand_types(kernel, "float32")) if kernel.form == "map" else ()
    made = library(compile_kernel(kernel, "float32", storage))
    assert not FAST_MATH.search(made.get_llvm_str()), "a flag that hides NaN or changes rounding"
    packed, scalar = packed_and_scalar(made.get_asm_str())
    assert packed > scalar or packed == scalar == 0, f"{packed} packed and {scalar} scalar in the hottest loop"
