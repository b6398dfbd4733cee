"""Which machine is chosen, why none can be had, and that asking creates nothing."""

import json
import os
import subprocess
import sys

import forgenb_cuda
import pytest
from forgenb_cuda import choice
from support.fake_driver import FakeDriver

from forgenb.backend import registry
from forgenb.errors import BackendBroken


@pytest.fixture
def environment(monkeypatch):
    monkeypatch.delenv("FORGENB_CUDA_SIMULATOR", raising=False)
    monkeypatch.delenv("NUMBA_ENABLE_CUDASIM", raising=False)
    return monkeypatch


@pytest.mark.parametrize(
    ("word", "flag", "machine"),
    [("", "", None), ("lanes", "", "lanes"), ("lanes", "1", "lanes"), ("", "1", "numba"), ("numba", "1", "numba")],
)
def test_what_the_environment_chooses(environment, word, flag, machine):
    environment.setenv("FORGENB_CUDA_SIMULATOR", word)
    environment.setenv("NUMBA_ENABLE_CUDASIM", flag)
    assert choice.simulator() == machine


def test_another_word_is_refused(environment):
    environment.setenv("FORGENB_CUDA_SIMULATOR", "lane")
    assert choice.reason() == "FORGENB_CUDA_SIMULATOR must be lanes or numba, got 'lane'"


def test_numbas_simulator_needs_its_switch(environment):
    environment.setenv("FORGENB_CUDA_SIMULATOR", "numba")
    assert "NUMBA_ENABLE_CUDASIM=1 must be set before" in choice.reason()


def test_the_lane_interpreter_needs_nothing(environment):
    environment.setenv("FORGENB_CUDA_SIMULATOR", "lanes")
    environment.setattr(choice.importlib.util, "find_spec", lambda name: None)
    assert choice.reason() is None


def test_without_numba_cuda(environment):
    environment.setattr(choice.importlib.util, "find_spec", lambda name: None)
    assert "pip install 'forgenb[cuda]'" in choice.reason()


def test_without_a_driver(environment):
    environment.setattr(choice, "driver_library", lambda: None)
    assert "there is no NVIDIA driver" in choice.gpu_reason()


@pytest.mark.parametrize(
    ("driver", "message"),
    [
        (FakeDriver(devices=0), "cuInit returned 100"),
        (FakeDriver(capability=(7, 0)), "compute capability is 7.0, below 7.5"),
        (FakeDriver(version=12080), "supports CUDA 12.8, which is older than the installed toolkit, CUDA 13.5"),
        (FakeDriver(version=13000), None),
        (FakeDriver(version=14010), None),
    ],
)
def test_what_the_driver_says(environment, driver, message):
    environment.setattr(choice, "driver_library", lambda: driver)
    environment.setattr(choice, "toolkit_version", lambda: (13, 5))
    found = choice.gpu_reason()
    assert found is None if message is None else message in found
    assert not any("Ctx" in call for call in driver.calls)


def test_an_old_driver_is_a_broken_backend_that_names_both_versions(environment):
    environment.setattr(choice, "driver_library", lambda: FakeDriver(version=12080))
    environment.setattr(choice, "toolkit_version", lambda: (13, 5))
    environment.setattr(choice.importlib.util, "find_spec", lambda name: object())
    environment.setattr(registry, "_SLOTS", {})
    registry.refresh()
    if "cuda" not in registry._SLOTS:
        pytest.fail("no distribution announces cuda: run pip install -e . again")
    with pytest.raises(BackendBroken, match=r"CUDA 12\.8.*CUDA 13\.5"):
        registry.get_backend("cuda")
    assert registry.get_backend().name == "cpu"


def test_asking_imports_no_compiler_and_makes_no_context():
    program = (
        "import json, sys, forgenb as fnb, forgenb_cuda\n"
        "fnb.backends()\n"
        "reason = forgenb_cuda.available()\n"
        "print(json.dumps([reason, [m for m in sys.modules if m.startswith(('numba.cuda', 'cuda'))]]))"
    )
    names = ("FORGENB_CUDA_SIMULATOR", "NUMBA_ENABLE_CUDASIM")
    environment = {name: value for name, value in os.environ.items() if name not in names}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    _, modules = json.loads(done.stdout)
    assert modules == []


def test_the_plug_in_speaks_the_api():
    from forgenb.backend import API

    assert forgenb_cuda.API == API
