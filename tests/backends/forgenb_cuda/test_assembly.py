"""The PTX of a routine, which needs a compiler but no GPU."""

import sys

import numpy as np
import pytest
from forgenb_cuda.plugin import code_of
from forgenb_cuda.program import gemm_plan
from support.cuda import installed, lane_backend, needs_numba_cuda

import forgenb as fnb
from forgenb.errors import BackendError


@needs_numba_cuda
def test_a_routine_shows_its_ptx():
    with installed(lane_backend()), fnb.use("cuda"):
        run = fnb.compile(lambda x: fnb.ops.softmax(x @ x) + x)
        run(np.ones((4, 4), "float32"))
        text = run.routine.assembly
    assert text.count(".entry launch") == 3
    for name in ("gemm-float32", "softmax_kernel-float32", "add_kernel-float32-float32-float32-float32-1d"):
        assert f"// {name}" in text


def test_without_a_compiler(monkeypatch):
    monkeypatch.setitem(sys.modules, "forgenb_cuda.built", None)
    with pytest.raises(BackendError, match="PTX needs numba-cuda, which cannot be imported"):
        code_of(gemm_plan("float32", 4), (8, 0))
    monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", "1")
    with pytest.raises(BackendError, match="simulator makes no PTX: unset NUMBA_ENABLE_CUDASIM"):
        code_of(gemm_plan("float32", 4), (8, 0))
