"""Threads, forks, spawned processes, bounds checks: right values or one of our errors, never a signal or a hang."""

import importlib.metadata
import os
import subprocess
import sys

import pytest

import forgenb as fnb
from forgenb import ops

NEEDS_FORK = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

COMMON = """
import os, sys, threading, time
import numpy as np
import forgenb as fnb

SIZE = 200_000
rng = np.random.default_rng(0)
x = fnb.tensor(rng.uniform(-1, 1, SIZE).astype("float32"))
a, b = (fnb.tensor(rng.uniform(-1, 1, s).astype("float32")) for s in ((130, 1000), (1000, 140)))

def values():
    return [fnb.ops.gelu(x).numpy().tobytes(), (x + x).sum().numpy().tobytes(), (a @ b).numpy().tobytes()]

expected = values()
"""

LAYER = """
import numba
from numba import njit, prange

@njit(parallel=True)
def users_own(v, out):
    for i in prange(len(v)):
        out[i] = v[i] * 2.0 + 1.0

v = np.arange(100_000.0)
users_own(v, np.empty_like(v))
"""

LAYERS = """
stop, wrong = time.monotonic() + 2, []

def launch():
    while time.monotonic() < stop:
        if values() != expected:
            wrong.append("a launch")

def users():
    out = np.empty_like(v)
    while time.monotonic() < stop:
        out[:] = 0
        users_own(v, out)
        if not np.array_equal(out, v * 2 + 1):
            wrong.append("the user's code")

workers = [threading.Thread(target=f) for f in (launch, launch, users)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
print(numba.threading_layer(), wrong)
"""

FORKS = """
def in_child(depth):
    "Exit code of a child: 0 right, 4 one of our errors, 3 wrong."
    child = os.fork()
    if child == 0:
        try:
            code = 0 if values() == expected else 3
            if code == 0 and depth:
                code = in_child(depth - 1)
        except fnb.errors.ForgeError:
            code = 4
        os._exit(code)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return "hangs"

stop, wrong = threading.Event(), []

def busy():
    while not stop.is_set():
        if values() != expected:
            wrong.append("in the parent")

workers = [threading.Thread(target=busy) for _ in range({workers})]
for worker in workers:
    worker.start()
codes = [in_child({depth}) for _ in range({times})]
stop.set()
for worker in workers:
    worker.join()
wrong += [code for code in codes if code not in (0, 4)]
wrong += ["after the forks"] * (values() != expected)
print(wrong)
"""

COMPILING = """
from forgenb.kernel import map_kernel
from forgenb.ops.apply import run_map

def compile_many():
    for number in range(6):
        scope = {}
        exec(f"def fresh{number}(x):\\n    return x * {number + 2.5} + {os.getpid()}.5", scope)
        run_map(map_kernel("x -> out")(scope[f"fresh{number}"]), (x,))

def values():
    scope = {}
    exec(f"def other(x):\\n    return x * 3.0 + {os.getpid()}.25", scope)
    found = run_map(map_kernel("x -> out")(scope["other"]), (x,)).numpy()
    return np.array_equal(found, x.numpy() * np.float32(3) + np.float32(os.getpid() + 0.25))

expected = True
"""

SPAWN = """
import multiprocessing, sys
import numpy as np
import forgenb as fnb

def work(seed):
    x = fnb.tensor(np.random.default_rng(seed).uniform(-1, 1, 100_000).astype("float32"), requires_grad=True)
    (fnb.ops.gelu(x) * x).sum().backward()
    return x.grad.numpy().tobytes()

if __name__ == "__main__":
    expected = [work(seed) for seed in range(3)]
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        print(pool.map(work, range(3)) == expected)
"""

OUT_OF_BOUNDS = """
import numpy as np
import forgenb as fnb
from forgenb.kernel import row_kernel
from forgenb.kernel.primitives import lanes, put
from forgenb.ops.apply import run_rows

@row_kernel("x[rows,n] -> out[rows,n]")
def beyond(row, x, out):
    for j in lanes(x.shape[1]):
        put(out, (row, j), x[row, j + 1])

run_rows(beyond, (2, 3), (fnb.tensor(np.zeros((2, 3))), fnb.tensor(np.zeros((2, 3)))))
"""

CORE = """
from forgenb.testing import check_backend

names = ["embedding", "scatter_add_", "layernorm", "softmax", "cross_entropy", "concat", "take"]
failed = [r.message for r in check_backend("cpu", names, ["float32"], ["determinism"]) if r.ok is False]
assert not failed, failed
"""


def run(*arguments, **environment):
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )


def is_installed(name):
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def with_layer(layer):
    """What makes Numba use that layer, on two threads whatever the machine; tbb's wheel needs its library loaded."""
    if layer == "tbb" and not is_installed("tbb"):
        pytest.skip("tbb is not installed")
    load = """
import ctypes, importlib.metadata
for file in importlib.metadata.files("tbb") or ():
    if file.name == "libtbb.so.12":
        ctypes.CDLL(str(file.locate()), ctypes.RTLD_GLOBAL)
"""
    environment = {"NUMBA_THREADING_LAYER": layer, "NUMBA_NUM_THREADS": "2", "FORGENB_THREADS": "2"}
    return load if layer == "tbb" else "", environment


@pytest.mark.parametrize("layer", ["omp", "tbb", "workqueue"])
def test_two_threads_launch_while_a_users_parallel_code_runs(layer):
    load, environment = with_layer(layer)
    result = run("-W", "error", "-c", load + COMMON + LAYER + LAYERS, **environment)
    if "No threading layer could be loaded" in result.stderr:
        pytest.skip(f"this system has no {layer}")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == f"{layer} []\n"


@NEEDS_FORK
@pytest.mark.parametrize("layer", ["omp", "tbb", "workqueue"])
def test_a_child_computes_though_the_parent_ran_a_users_parallel_code(layer):
    load, environment = with_layer(layer)
    forks = FORKS.format(workers=0, depth=1, times=2)
    result = run("-c", load + COMMON + LAYER + forks, **environment)
    if "No threading layer could be loaded" in result.stderr:
        pytest.skip(f"this system has no {layer}")
    assert (result.returncode, result.stdout) == (0, "[]\n"), result.stderr


@NEEDS_FORK
@pytest.mark.parametrize(("workers", "depth", "times"), [(0, 2, 2), (1, 0, 10), (2, 1, 5)])
def test_a_child_computes_though_threads_of_the_parent_were_inside_launches_and_products(workers, depth, times):
    forks = FORKS.format(workers=workers, depth=depth, times=times)
    result = run("-c", COMMON + forks, FORGENB_THREADS="2")
    assert (result.returncode, result.stdout) == (0, "[]\n"), result.stderr


@NEEDS_FORK
def test_a_child_compiles_though_a_thread_of_the_parent_was_compiling(tmp_path):
    forks = FORKS.format(workers=0, depth=0, times=4)
    begin = "compiler = threading.Thread(target=compile_many)\ncompiler.start()\ntime.sleep(0.05)\n"
    result = run("-c", COMMON + COMPILING + begin + forks + "compiler.join()\n", FORGENB_CACHE=str(tmp_path))
    assert (result.returncode, result.stdout) == (0, "[]\n"), result.stderr


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_spawned_process_computes_the_same_bits(method, tmp_path):
    if method not in __import__("multiprocessing").get_all_start_methods():
        pytest.skip(f"this system has no {method}")
    program = tmp_path / "program.py"
    program.write_text(SPAWN)
    result = run("-W", "error", program, method)
    assert (result.returncode, result.stdout, result.stderr) == (0, "True\n", "")


def test_no_kernel_reads_or_writes_out_of_bounds(tmp_path):
    checked = {"NUMBA_BOUNDSCHECK": "1", "FORGENB_CACHE": str(tmp_path)}
    seen = run("-c", OUT_OF_BOUNDS, **checked)
    assert "out of bounds" in seen.stderr, "the check itself must work"
    result = run("-c", CORE, **checked)
    assert (result.returncode, result.stderr) == (0, ""), result.stdout


def test_a_million_copies_of_one_id_add_up_exactly_on_any_number_of_threads():
    backend = fnb.tensor(0.0).backend
    before = backend.threads
    ids = fnb.tensor([0] * 1_000_000)
    table = fnb.tensor([[0.0], [0.0]], requires_grad=True)
    try:
        for number in (1, 2, 3, 4, 5, 6, 7, 8, *[2, 8] * 6):
            backend.threads = number
            table.grad = None
            ops.embedding(ids, table).sum().backward()
            assert table.grad.tolist() == [[1e6], [0.0]]
    finally:
        backend.threads = before
