"""What a process does: import without side effects, compile once on a machine, threads and forks with the same bits."""

import json
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import forgenb as fnb

COUNT = """
import json, sys
from numba.core import event

class Lowered(event.Listener):
    def __init__(self):
        self.names = []
        event.register("numba:run_pass", self)
    def on_start(self, e):
        if e.data["name"].startswith("native_lowering"):
            self.names.append(e.data["qualname"])
    def on_end(self, e):
        pass

lowered = Lowered()
"""

IMPORT = """
import os, sys, threading
before = dict(os.environ)
import forgenb
changed = dict(os.environ) != before
heavy = [name for name in ("scipy.linalg", "numba.cuda", "rich", "torch") if name in sys.modules]
import json
print(json.dumps({"heavy": heavy, "threads": threading.active_count(), "lowered": lowered.names, "changed": changed}))
"""

TRAIN = """
from forgenb.cli import main
code = main(["train", "--steps", "3", "--layers", "1", "--heads", "2", "--width", "16", "--context", "8",
             "--batch", "2", "--eval-every", "3", "--json", "--data", sys.argv[1], "--out", sys.argv[2]])
print("LOWERED", json.dumps(lowered.names))
sys.exit(code)
"""


def run(code, *arguments, cwd=None, **environment):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *map(str, arguments)],
        env={**os.environ, **environment},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_import_does_nothing(tmp_path):
    """P116: it prints nothing, changes no variable of the environment, and writes nothing, in no home folder either."""
    result = run(COUNT + IMPORT, cwd=tmp_path, HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == {"heavy": [], "threads": 1, "lowered": [], "changed": False}
    assert result.stderr == ""
    assert list(tmp_path.iterdir()) == []


def test_a_second_process_compiles_nothing(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("to be or not to be, that is the question. " * 20)
    store = tmp_path / "store"
    lowered, files = [], []
    for number in range(3):
        result = run(COUNT + TRAIN, text, tmp_path / f"run{number}", FORGENB_CACHE=str(store))
        assert result.returncode == 0, result.stderr
        lowered.append(json.loads(result.stdout.rpartition("LOWERED ")[2]))
        files.append(sum(len(names) for _, _, names in os.walk(store)))
    assert len(lowered[0]) > 20
    assert lowered[1:] == [[], []]
    assert files[0] == files[1] == files[2]


def step(threads):
    """Loss and gradients of a model large enough for several chunks."""
    backend = fnb.tensor(0.0).backend
    before, backend.threads = backend.threads, threads
    try:
        config = fnb.models.GPTConfig(vocab=31, context=32, layers=1, heads=2, width=96)
        model = fnb.models.GPT(config, seed=5)
        ids = np.random.default_rng(0).integers(0, 31, (16, 33))
        loss = model.loss(ids[:, :-1], ids[:, 1:])
        loss.backward()
        return [loss.numpy().copy(), *(p.grad.numpy().copy() for p in model.parameters())]
    finally:
        backend.threads = before


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_bits_do_not_depend_on_threads(threads):
    for one, many in zip(step(1), step(threads), strict=True):
        np.testing.assert_array_equal(one, many)


def test_python_threads_launch_at_once():
    expected = step(2)
    results = [None] * 4

    def work(place):
        x = fnb.tensor(np.arange(200_000, dtype="float32"))
        results[place] = [((x + x) * 0.5).numpy().copy() for _ in range(30)]

    workers = [threading.Thread(target=work, args=(place,)) for place in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for found in results:
        for array in found:
            np.testing.assert_array_equal(array, np.arange(200_000, dtype="float32"))
    for one, other in zip(expected, step(2), strict=True):
        np.testing.assert_array_equal(one, other)


FORK = """
import os, sys
import numpy as np
import forgenb as fnb

x = fnb.tensor(np.arange(300_000, dtype="float32"))
w = fnb.tensor(np.ones((300, 400), "float32"))
expected = (x + x).numpy().copy(), (w @ w.T).numpy().copy()
run = fnb.compile(lambda x: x + x)
run(x)
run.routine._lock.acquire()  # as a thread that is in the middle of a run, which the child does not have
child = os.fork()
if child == 0:
    right = np.array_equal(run(x).numpy(), expected[0])
    right &= np.array_equal((x + x).numpy(), expected[0]) and np.array_equal((w @ w.T).numpy(), expected[1])
    os._exit(0 if right else 3)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
assert np.array_equal((x + x).numpy(), expected[0])
sys.exit(code)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_computes():
    result = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
