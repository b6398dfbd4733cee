"""Launches of several Python threads, while the number of threads changes and processes fork."""

import gc
import os
import random
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from forgenb_cpu import dispatch, memory, pool
from support.blas import LIBRARIES, WAYS

import forgenb as fnb
from forgenb.errors import ArgumentError, ShapeError


@pytest.fixture
def cpu():
    backend = fnb.tensor(0.0).backend
    before, backend.threads = backend.threads, 2
    yield backend
    backend.threads = before


def in_threads(work, number=4):
    """Run `work(place)` in several threads and raise what any of them raised."""
    failures = []

    def guarded(place):
        try:
            work(place)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(place,)) for place in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


@pytest.mark.parametrize("way", WAYS)
def test_products_of_many_python_threads_have_the_bits_of_one(cpu, way, monkeypatch):
    monkeypatch.setattr(cpu, "blas", way)
    w = fnb.tensor(np.random.default_rng(0).standard_normal((256, 192)).astype("float32"))
    expected = (w @ w.T).numpy().copy()

    def work(_):
        for _ in range(150):
            np.testing.assert_array_equal((w @ w.T).numpy(), expected)

    in_threads(work)


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_library_gets_its_own_number_of_threads_back(cpu, name, monkeypatch):
    monkeypatch.setattr(cpu, "blas", name)
    library = dispatch.LIBRARIES[name]()
    before = library.threads()
    w = fnb.tensor(np.ones((200, 200), "float32"))

    def work(_):
        for _ in range(50):
            with library:
                assert library.threads() == 1
                w @ w

    in_threads(work)
    assert library.users == 0
    assert library.threads() == before


def test_changing_the_number_of_threads_meanwhile_loses_no_worker(cpu):
    x = fnb.tensor(np.arange(100_000, dtype="float32"))
    expected = 2 * np.arange(100_000, dtype="float32")

    def work(place):
        draw, latest = random.Random(place), time.monotonic() + 1.5
        while time.monotonic() < latest:
            if place == 0:
                cpu.threads = draw.choice([1, 2, 3, 8])
                time.sleep(0.001)
            else:
                np.testing.assert_array_equal((x + x).numpy(), expected)

    in_threads(work)
    cpu.threads = 1
    assert [t.name for t in threading.enumerate() if t.name == "forgenb-cpu"] == []


def test_a_system_without_more_threads_is_served_by_those_there_are(cpu, monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    x = fnb.tensor(np.ones(100_000, "float32"))
    cpu.threads = 3
    with monkeypatch.context() as patch:
        patch.setattr(pool.threading.Thread, "start", refuse)
        assert (x + x).sum().item() == 200_000


@pytest.mark.parametrize("size", [64, 8000])
def test_threads_share_prepared_launches(size):
    def work(place):
        x = fnb.tensor(np.full(size, float(place), "float32"))
        for _ in range(300):
            assert (x + x).tolist()[:: size // 2] == [2.0 * place] * 2

    in_threads(work)


def test_freed_blocks_are_handed_out_again(cpu):
    gc.collect()
    memory.release_cached()
    first = memory.allocate(200)
    address = first.address
    assert address % memory.ALIGN == 0
    del first
    assert cpu.memory() == {"cached": 256}
    assert memory.allocate(256).address == address
    cpu.release_cached()
    assert cpu.memory() == {"cached": 0}


@pytest.mark.parametrize("number", [0, -1, 2.5, "2", 10**6])
def test_a_wrong_number_of_threads_is_refused(cpu, number):
    with pytest.raises(ArgumentError, match="1 to 1024"):
        cpu.threads = number


def test_products_that_blas_cannot_count_are_refused(cpu):
    x = fnb.tensor(np.ones((1, 1), "float32")).view((2, 2), (2**31, 1))
    with pytest.raises(ShapeError, match="too large"):
        fnb.ops.matmul(x, fnb.tensor(np.ones((2, 2), "float32")))


def test_memory_that_there_is_not(cpu):
    memory.allocate(4096)
    with pytest.raises(MemoryError, match="does not fit"):
        memory.allocate(2**60)
    with pytest.raises(MemoryError, match="does not fit"):
        memory.allocate(2**70)


FORK = """
import os, sys, threading, time
import numpy as np
import forgenb as fnb

x, w = fnb.tensor(np.arange(90_000, dtype="float32")), fnb.tensor(np.ones((200, 200), "float32"))
expected, product = (x + x).numpy().copy(), (w @ w).numpy().copy()
fnb.tensor(0.0).backend.threads = 2
stop = threading.Event()

def work():
    while not stop.is_set():
        x + x
        w @ w

threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
codes = []
for _ in range(20):
    child = os.fork()
    if child == 0:
        right = np.array_equal((x + x).numpy(), expected) and np.array_equal((w @ w).numpy(), product)
        fnb.ops.tanh(x)
        os._exit(0 if right else 3)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stop.set()
for thread in threads:
    thread.join()
sys.exit(any(codes))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("way", WAYS)
def test_forks_while_other_threads_compute(way):
    command, environment = [sys.executable, "-W", "ignore", "-c", FORK], {**os.environ, "FORGENB_BLAS": way}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr


def test_without_the_compiler_the_backend_says_why():
    code = "import forgenb as fnb; fnb.tensor(1.0)"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert "BackendBroken" in result.stderr
    assert "NUMBA_DISABLE_JIT is set" in result.stderr.splitlines()[-1]
    assert "nopython" not in result.stderr


def test_a_worker_that_is_late_does_not_sleep_through_a_program(monkeypatch):
    """Its last spin may end while the next program begins: it looks once more before it lies down."""
    found, calls = pool.Pool(2), []
    taken = pool.SLOT["TAKEN"] * pool.SPACING
    found._state[taken] = 1
    monkeypatch.setattr(found, "_work", lambda job, seen, spins: calls.append(seen) or seen)
    worker = threading.Thread(target=found._live, daemon=True)
    worker.start()
    patience = time.monotonic() + 10
    while len(calls) < 5 and time.monotonic() < patience:
        time.sleep(0.001)
    assert len(calls) >= 5
    found._state[taken] = 0
    asleep = -1
    while len(calls) != asleep and time.monotonic() < patience:
        asleep = len(calls)
        time.sleep(0.05)
    assert len(calls) == asleep
    found._state[pool.SLOT["STOP"] * pool.SPACING] = 1
    found._wake()
    worker.join(10)
    assert not worker.is_alive()
