"""Streams on a stand-in for the driver: where calls go, who waits for whom, and which memory is used again when."""

import threading

import numpy as np
import pytest
from forgenb_cuda.plugin import CudaBackend
from forgenb_cuda.pool import Poison, Pool
from support.cuda import installed, lane_backend, needs_numba_cuda
from support.fake_driver import FakeGpu
from support.lazy_driver import LazyDriver

import forgenb as fnb
from forgenb import train
from forgenb.backend import Stream
from forgenb.errors import BackendError, IndexRangeError

pytestmark = needs_numba_cuda


@pytest.fixture
def driver():
    return LazyDriver()


@pytest.fixture
def gpu(driver):
    with installed(CudaBackend(FakeGpu(driver))) as backend, fnb.use("cuda"):
        yield backend


def main_stream(gpu):
    return gpu.machine._main.value


def test_work_of_a_task_goes_to_a_stream_of_its_own_after_all_that_was_queued_before(gpu, driver):
    """Nothing has been computed when the task begins; its stream waits for the main one, and the host for its."""
    with Stream() as stream:
        x = fnb.tensor(np.arange(4, dtype="float32"))
        y = fnb.ops.neg(x)
        driver.queued.clear()
        out = stream.submit(fnb.ops.neg, y).result()
        queued = list(driver.queued)
        main, own = main_stream(gpu), queued[-1][1]
        event = queued[0][2]
        assert own != main
        assert queued == [
            ("record", main, event),
            ("wait", own, event),
            ("launch", own),
            ("synchronize", own),
        ]
        np.testing.assert_array_equal(out.numpy(), [0, 1, 2, 3])
        assert driver.queued[len(queued) :] == [("synchronize", main), ("download", main), ("synchronize", main)]


def test_what_the_host_writes_into_a_block_that_is_used_again_waits_for_its_readers(gpu, driver):
    """The kernel that reads the block has not run when the next tensor is put there."""
    x = fnb.tensor(np.full(100, 3.0, "float32"))
    y = x + 1.0
    address = x.memory.address
    del x
    z = fnb.tensor(np.full(100, 9.0, "float32"))
    assert z.memory.address == address
    assert [name for name, *_ in driver.queued[-2:]] == ["launch", "upload"]
    assert driver.queues[main_stream(gpu)]
    np.testing.assert_array_equal(y.numpy(), np.full(100, 4.0))
    np.testing.assert_array_equal(z.numpy(), np.full(100, 9.0))


def test_copies_fills_and_downloads_of_a_task_go_there_too(gpu, driver, monkeypatch):
    monkeypatch.setattr(Poison, "on", True)
    with Stream() as stream:
        driver.queued.clear()
        found = stream.submit(lambda: (fnb.tensor(np.ones(3, "float32")) + 1.0).numpy()).result()
        np.testing.assert_array_equal(found, [2, 2, 2])
        own = {entry[1] for entry in driver.queued if entry[0] != "record"}
        assert len(own) == 1
        assert own != {main_stream(gpu)}
        assert {entry[0] for entry in driver.queued} == {
            "record", "wait", "fill", "upload", "launch", "download", "synchronize",
        }  # fmt: skip


def test_each_thread_has_one_stream_which_goes_with_it(gpu, driver):
    def own():
        return gpu.machine._stream.value

    with Stream() as one, Stream() as two:
        handles = [stream.submit(own).result() for stream in (one, two, one, two)]
        assert handles[:2] == handles[2:]
        assert len({*handles, main_stream(gpu), own()}) == 3
        assert driver.calls.count("cuStreamCreate") == 3
        assert "cuStreamDestroy_v2" not in driver.calls
    assert driver.calls.count("cuStreamDestroy_v2") == driver.calls.count("cuEventDestroy_v2") == 2


def test_a_scope_within_another_is_the_same_one(gpu, driver):
    with gpu.on_stream():
        outer = gpu.machine._stream.value
        with gpu.on_stream():
            assert gpu.machine._stream.value == outer
        assert gpu.machine._stream.value == outer != main_stream(gpu)
    assert gpu.machine._stream.value == main_stream(gpu)


def test_what_is_freed_in_a_task_is_not_handed_out_before_it_ends(gpu, driver):
    """The main thread asks for a block of the size of one that the task has dropped with work still queued on it."""
    dropped, go = threading.Event(), threading.Event()
    seen = []

    def task():
        gone = fnb.tensor(np.full(100, 3.0, "float32")) * 2.0
        result = gone + 1.0
        seen.append(gone.memory.address)
        del gone
        seen.append((result - 1.0).memory.address)
        dropped.set()
        assert go.wait(20)
        return result

    with Stream() as stream:
        running = stream.submit(task)
        assert dropped.wait(20)
        block = fnb.tensor(np.zeros(100, "float32"))
        gpu.synchronize()
        go.set()
        np.testing.assert_array_equal(running.result().numpy(), np.full(100, 7.0))
    assert len({block.memory.address, *seen}) == 3
    free = {address for blocks in gpu.machine.pool._free.values() for address in blocks}
    assert set(seen) <= free
    assert gpu.memory()["cached"] >= 2 * 512


def test_what_the_host_frees_while_a_task_runs_is_not_handed_to_the_task(gpu, driver):
    """The main stream has yet to read the block when the host drops it."""
    started, go = threading.Event(), threading.Event()

    def task():
        started.set()
        assert go.wait(20)
        return fnb.tensor(np.full(100, 9.0, "float32"))

    with Stream() as stream:
        x = fnb.tensor(np.full(100, 5.0, "float32"))
        running = stream.submit(task)
        assert started.wait(20)
        y = x + 1.0
        del x
        go.set()
        running.result()
        np.testing.assert_array_equal(y.numpy(), np.full(100, 6.0))


def pool_of(size=64):
    """A pool whose blocks are numbered from 1, what it gave back, and how often it waited."""
    taken, given, waits = [], [], []

    def take(nbytes):
        taken.append(nbytes)
        return len(taken)

    return Pool(take, given.append, None, lambda: waits.append(len(given))), given, waits


def test_a_block_is_held_back_until_all_tasks_end_that_ran_when_it_was_freed():
    pool, given, waits = pool_of()
    blocks = [pool.get(64) for _ in range(3)]
    first = pool.begin()
    pool.put(64, blocks[0])
    second = pool.begin()
    pool.put(64, blocks[1])
    assert pool.get(64) == 4
    pool.end(first)
    assert pool.get(64) == blocks[0]
    assert pool.get(64) == 5
    third = pool.begin()
    pool.put(64, blocks[2])
    pool.end(second)
    assert pool.get(64) == blocks[1]
    assert pool.cached_bytes() == 64
    assert pool.get(64) == 6
    pool.release()
    assert (given, waits) == ([blocks[2]], [0])
    pool.end(third)
    pool.put(64, blocks[0])
    assert pool.get(64) == blocks[0]


def test_a_full_device_waits_for_every_stream_and_gives_back_what_tasks_hold(gpu, driver):
    def task():
        first = gpu.allocate(8192)
        del first
        return gpu.allocate(4096).nbytes

    driver.left = 8192
    with Stream() as stream:
        assert stream.submit(task).result() == 4096
    assert "cuCtxSynchronize" in driver.calls


def test_an_error_of_a_launch_comes_out_of_its_task_and_the_next_one_works(gpu, driver):
    synchronize = driver.do_cuStreamSynchronize
    with Stream() as stream:
        driver.do_cuStreamSynchronize = lambda handle: 700
        with pytest.raises(BackendError, match="cuStreamSynchronize failed with CUDA_ERROR_ILLEGAL_ADDRESS"):
            stream.submit(int).result()
        driver.do_cuStreamSynchronize = synchronize
        with pytest.raises(IndexRangeError, match="5"):
            stream.submit(fnb.ops.embedding, np.array([5]), fnb.tensor(np.ones((2, 2), "float32"))).result()
        assert gpu.machine.pool._running == set()
        assert stream.submit(lambda: fnb.tensor([1.0]) + 1.0).result().item() == 2.0


@pytest.mark.parametrize("function", ["cuStreamCreate", "cuEventCreate", "cuEventRecord", "cuStreamWaitEvent"])
def test_a_stream_that_cannot_be_had_is_an_error_of_the_task(gpu, driver, function):
    setattr(driver, f"do_{function}", lambda *_: 2)
    with Stream() as stream, pytest.raises(BackendError, match=f"{function} failed with CUDA_ERROR_OUT_OF_MEMORY"):
        stream.submit(int).result()
    assert gpu.machine.pool._running == set()


def trained(backend, streams):
    """Losses and weights of a few steps of a linear model."""
    rng = np.random.default_rng(0)
    x, wanted = rng.uniform(-1, 1, (8, 3)).astype("float32"), rng.uniform(-1, 1, (8, 2)).astype("float32")
    w = fnb.Parameter(fnb.tensor(rng.uniform(-1, 1, (3, 2)).astype("float32"), name="w", backend=backend))
    result = train.train_loop(
        lambda x: x @ w,
        lambda prediction, wanted: (prediction - wanted) ** 2,
        fnb.tensor(x, backend=backend),
        fnb.tensor(wanted, backend=backend),
        epochs=2,
        batch_size=4,
        init_lr=0.1,
        max_streams=streams,
    )
    return result.batch_losses, w.numpy()


def test_training_on_two_streams_of_the_device_gives_the_numbers_of_the_cpu(gpu, driver):
    for found, wanted in zip(trained("cuda", None), trained("cpu", 1), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    assert len({entry[1] for entry in driver.queued if entry[0] == "launch"} - {main_stream(gpu)}) == 2


def test_a_gpu_suggests_two_streams(gpu):
    streams = train.suggest_streams()
    assert [stream.backend for stream in streams] == [gpu, gpu]
    [stream.close() for stream in streams]


def test_a_machine_without_streams_suggests_one_and_does_nothing_on_it():
    lanes = lane_backend()
    assert lanes.suggested_streams() == 1
    with lanes.on_stream() as nothing:
        assert nothing is None
