"""The driver's side on a stand-in for the driver: what is called, in which order, and what happens when it fails."""

import multiprocessing
import os

import numpy as np
import pytest
from forgenb_cuda.plugin import CudaBackend
from forgenb_cuda.pool import Poison
from support.cuda import installed, needs_numba_cuda
from support.fake_driver import FakeDriver, FakeGpu

import forgenb as fnb
from forgenb.errors import BackendError

pytestmark = needs_numba_cuda


@pytest.fixture
def driver():
    return FakeDriver()


@pytest.fixture
def gpu(driver):
    with installed(CudaBackend(FakeGpu(driver))) as backend:
        yield backend


def test_a_step_on_the_device_is_that_of_the_cpu(gpu, driver):
    """Compiled, assembled, loaded and launched; only the lanes are the interpreter's."""
    x = np.random.default_rng(0).uniform(-1, 1, (3, 5)).astype(np.float32)
    results = []
    for place in ("cuda", "cpu"):
        t = fnb.tensor(x, requires_grad=True, backend=place)
        out = fnb.ops.softmax(fnb.ops.gelu(t) @ fnb.tensor(x.T, backend=place))
        (out * out).sum().backward()
        results.append((out.numpy(), t.grad.numpy()))
    for found, wanted in zip(*results, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    assert driver.calls.count("cuDevicePrimaryCtxRetain") == driver.calls.count("cuStreamCreate") == 1
    assert all(gx <= gpu.machine.grid and x * y <= 256 for gx, (x, y) in driver.launches)


def test_a_launch_copies_nothing_and_waits_for_nothing(gpu, driver):
    x = fnb.tensor(np.ones((2, 3), np.float32), backend="cuda")
    fnb.ops.exp(x)
    driver.calls.clear()
    out = fnb.ops.exp(x)
    assert [name for name in driver.calls if name != "cuMemAlloc_v2"] == ["cuLaunchKernel"]
    driver.calls.clear()
    out.numpy()
    assert driver.calls[-2:] == ["cuMemcpyDtoHAsync_v2", "cuStreamSynchronize"]


def test_large_launches_stride_over_the_grid(gpu):
    machine = gpu.machine
    assert machine.map_shape(10**9) == (machine.grid, (256, 1))
    assert machine.map_shape(1) == (1, (256, 1))
    assert machine.row_shape(10**6, 8) == (machine.grid, (32, 4))
    assert machine.row_shape(3, 512) == (3, (128, 1))
    assert machine.row_shape(3, 10**6) == (3, (256, 1))


def test_rows_beyond_the_grid_are_computed(gpu, driver):
    """As many rows as batched attention has are more than a grid could once hold; here the grid has two blocks."""
    gpu.machine.grid = 2
    x = np.random.default_rng(0).uniform(-1, 1, (23, 3)).astype(np.float32)
    t = fnb.tensor(x, backend="cuda")
    np.testing.assert_allclose(fnb.ops.softmax(t).numpy(), fnb.ops.softmax(x).numpy(), rtol=1e-6)
    np.testing.assert_allclose(fnb.ops.sum(t, 1).numpy(), x.sum(1), rtol=1e-6, atol=1e-6)
    assert {gx for gx, _ in driver.launches} <= {1, 2}
    assert gpu.machine.row_shape(64 * 6 * 256, 3)[0] == 2


def test_memory_is_used_again_and_poisoned(gpu, driver, monkeypatch):
    block = gpu.allocate(1000)
    address = block.address
    gpu.upload(block, np.ones(250, np.float32))
    del block
    assert gpu.memory() == {"cached": 1024}
    monkeypatch.setattr(Poison, "on", True)
    again = gpu.allocate(900)
    assert again.address == address
    assert np.isnan(gpu.view(again, np.dtype("float32"), 0, (225,), (1,))).all()
    del again
    gpu.release_cached()
    assert gpu.memory() == {"cached": 0}
    assert driver.blocks == {}


def test_a_full_device_gives_back_its_cache_before_it_fails(gpu, driver):
    driver.left = 8192
    del_me = gpu.allocate(8192)
    del del_me
    kept = gpu.allocate(4096)
    assert kept.nbytes == 4096
    with pytest.raises(BackendError, match="cuMemAlloc_v2 of 16384 bytes failed with CUDA_ERROR_OUT_OF_MEMORY"):
        gpu.allocate(16000)


def test_an_error_of_a_launch_comes_out_when_waiting(gpu, driver):
    driver.do_cuStreamSynchronize = lambda stream: 700
    with pytest.raises(BackendError, match="cuStreamSynchronize failed with CUDA_ERROR_ILLEGAL_ADDRESS"):
        gpu.synchronize()


def test_the_stream_of_another_library_is_waited_for(gpu, driver):
    seen = []
    driver.do_cuStreamSynchronize = lambda stream: seen.append(stream.value) or 0
    gpu.wait(12345)
    gpu.wait(1)
    assert seen == [12345, 1]


def test_events_measure_seconds(gpu):
    first, second = gpu.machine.event(), gpu.machine.event()
    assert second.since(first) == 0.0025


def test_the_report_names_machine_and_versions(gpu):
    assert gpu.report()["machine"] == "GPU sm_90"
    assert gpu.report()["driver"] == (13, 5)


def _use(queue, backend):
    try:
        backend.synchronize()
    except BackendError as error:
        queue.put(str(error))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_is_refused(gpu):
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=_use, args=(queue, gpu))
    child.start()
    child.join(30)
    assert "CUDA does not work in a forked child" in queue.get()
