"""The CUDA backend without a GPU: on the lane interpreter, and as plans to compile."""

import contextlib
import importlib.util
from types import SimpleNamespace

import pytest
from forgenb_cuda.plugin import CudaBackend
from forgenb_cuda.program import gemm_plan
from forgenb_cuda.simulator import Simulator
from forgenb_cuda.table import plan_of

from forgenb.backend import registry
from forgenb.testing.declared import all_kernels

needs_numba_cuda = pytest.mark.skipif(
    importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed: pip install 'forgenb[cuda]'"
)


def lane_backend(width=4, numba=False):
    """A backend of its own on the lane interpreter, or on Numba's simulator."""
    return CudaBackend(Simulator(numba, width))


@contextlib.contextmanager
def installed(backend):
    """Let the name ``cuda`` stand for `backend`."""
    registry.backends()
    before = registry._SLOTS.get("cuda")
    slot = SimpleNamespace(name="cuda", distribution="", version="", target="", backend=backend, reason="", error=None)
    registry._SLOTS["cuda"] = slot
    try:
        yield backend
    finally:
        registry._SLOTS.pop("cuda")
        if before is not None:
            registry._SLOTS["cuda"] = before


def plans(real):
    """Every kernel of the package, and the product, by name."""
    return {name: plan_of(kernel, real) for name, kernel in all_kernels().items()} | {"gemm": gemm_plan(real, 16)}
