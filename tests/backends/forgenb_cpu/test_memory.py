"""Blocks of memory: large ones have pages of their own, and results may be written over operands."""

import os

import numpy as np
import pytest
from forgenb_cpu import pages

import forgenb as fnb
from forgenb.ops.apply import run_map
from forgenb.ops.arithmetic import mul_kernel
from forgenb.ops.gelu import gelu_grad_kernel


@pytest.mark.parametrize("nbytes", [64, pages.OWN, pages.LARGE + 1])
def test_fresh_bytes_can_be_written(nbytes):
    block = pages.fresh(nbytes)
    assert block.nbytes == nbytes
    block[:] = 7
    assert block.min() == 7


@pytest.mark.parametrize("nbytes", [2**62, 2**70])
def test_more_than_there_is_raises(nbytes):
    with pytest.raises((MemoryError, ValueError)):
        pages.fresh(nbytes)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_writes_into_its_own():
    block = pages.fresh(pages.OWN)
    block[:] = 1
    child = os.fork()
    if child == 0:
        block[:] = 2
        os._exit(0)
    os.waitpid(child, 0)
    assert block.max() == 1


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("shape", [(5,), (3, 700), (70, 3, 500)])
@pytest.mark.parametrize("over", [0, 1])
def test_a_result_over_an_operand_has_the_same_bits(shape, dtype, over):
    rng = np.random.default_rng(0)
    arrays = [rng.normal(0, 1, shape).astype(dtype) for _ in range(2)]
    for kernel in (mul_kernel, gelu_grad_kernel):
        operands = [fnb.tensor(a) for a in arrays]
        wanted = run_map(kernel, tuple(operands)).numpy().copy()
        run_map(kernel, tuple(operands), into=(operands[over],))
        np.testing.assert_array_equal(operands[over].numpy(), wanted)


def test_a_result_over_a_transposed_operand_and_a_broadcast_one():
    rng = np.random.default_rng(0)
    x, row = rng.normal(0, 1, (70, 90)).astype("float32"), rng.normal(0, 1, 70).astype("float32")
    t = fnb.tensor(x).T
    run_map(mul_kernel, (t, fnb.tensor(row)), into=(t,))
    np.testing.assert_array_equal(t.numpy(), x.T * row)


def test_both_operands_are_the_result():
    x = np.random.default_rng(0).normal(0, 1, (3, 600)).astype("float32")
    t = fnb.tensor(x)
    run_map(mul_kernel, (t, t), into=(t,))
    np.testing.assert_array_equal(t.numpy(), x * x)
