"""A core of the suite in Numba's CUDA simulator, in a process of its own: it is chosen before Numba is imported."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.cuda import needs_numba_cuda

pytestmark = needs_numba_cuda
TESTS = Path(__file__).parents[2]


def simulated(*arguments):
    """What a module prints that is run in the simulator."""
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1", "FORGENB_CUDA_SIMULATOR": "numba"}
    environment["PYTHONPATH"] = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    program = [sys.executable, "-W", "error", "-m", *map(str, arguments)]
    done = subprocess.run(program, capture_output=True, text=True, env=environment, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def report():
    return json.loads(simulated("support.simulator_core"))


def test_the_simulator_is_numbas(report):
    assert report["machine"] == "Numba's simulator"


def test_ops_agree(report):
    assert {name: error for name, error in report["ops"].items() if error > 2e-5} == {}


def test_sums_of_any_length(report):
    assert report["sums"] == [0, 1, 31, 32, 33]


def test_the_first_losses_of_a_tiny_gpt_are_those_of_the_cpu(report):
    on_cuda, on_cpu = report["losses"]
    assert max(abs(a - b) for a, b in zip(on_cuda, on_cpu, strict=True)) < 1e-5


def test_what_goes_wrong_elsewhere_does_not_here():
    """The tests of tests/pains that have a backend; those of other backends have their own process."""
    printed = simulated("pytest", TESTS / "pains", "-k", "[cuda", "-q", "-p", "no:cacheprovider")
    assert int(re.search(r"(\d+) passed", printed)[1]) > 80
    assert "skipped" not in printed
