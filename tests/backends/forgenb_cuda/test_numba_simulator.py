"""A core of the suite in Numba's CUDA simulator, in a process of its own: it is chosen before Numba is imported."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.cuda import needs_numba_cuda

pytestmark = needs_numba_cuda
TESTS = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def report():
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1", "FORGENB_CUDA_SIMULATOR": "numba"}
    environment["PYTHONPATH"] = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    program = [sys.executable, "-W", "error", "-m", "support.simulator_core"]
    done = subprocess.run(program, capture_output=True, text=True, env=environment, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_the_simulator_is_numbas(report):
    assert report["machine"] == "Numba's simulator"


def test_ops_agree(report):
    assert {name: error for name, error in report["ops"].items() if error > 2e-5} == {}


def test_sums_of_any_length(report):
    assert report["sums"] == [0, 1, 31, 32, 33]


def test_the_first_losses_of_a_tiny_gpt_are_those_of_the_cpu(report):
    on_cuda, on_cpu = report["losses"]
    assert max(abs(a - b) for a, b in zip(on_cuda, on_cpu, strict=True)) < 1e-5
