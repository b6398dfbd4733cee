"""The CUDA backend of these tests: the lane interpreter, watched for races, and a GPU where there is one."""

import importlib.util

import pytest
from forgenb_cuda.choice import gpu_reason
from forgenb_cuda.plugin import CudaBackend
from support.cuda import installed, lane_backend

GPU = importlib.util.find_spec("numba_cuda") is not None and gpu_reason() is None


@pytest.fixture(scope="session", params=["lanes", "gpu"] if GPU else ["lanes"])
def machine(request):
    if request.param == "gpu":
        from forgenb_cuda.driver import Gpu

        return CudaBackend(Gpu())
    backend = lane_backend()
    backend.machine.watching = True
    return backend


@pytest.fixture
def cuda(machine):
    with installed(machine) as backend:
        yield backend
