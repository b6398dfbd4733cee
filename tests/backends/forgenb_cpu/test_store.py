"""A store that is damaged mends itself without a word; Numba's own warnings reach nobody."""

import os
import subprocess
import sys

import forgenb_cpu.compile as compiling
import llvmlite
import numba
import numpy as np
import pytest

from forgenb.ops.pointwise import exp_kernel

CODE = """
import numpy as np
import forgenb as fnb
x = fnb.ops.square(fnb.tensor(np.arange(5.0)))
assert x.tolist() == [0, 1, 4, 9, 16]
print(sum(not launcher.cached for launcher in fnb.backend.compiled()))
"""
DAMAGE = {
    "half": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "zeros": lambda data: bytes(len(data)),
}


def compiled_anew(store, **environment):
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", CODE],
        env={**os.environ, "FORGENB_CACHE": str(store), **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return int(result.stdout)


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_entry_is_made_anew(tmp_path, ending, damage):
    first = compiled_anew(tmp_path)
    files = list(tmp_path.glob(f"*/*.{ending}"))
    assert len(files) == first > 0
    for path in files:
        path.write_bytes(DAMAGE[damage](path.read_bytes()))
    compiled_anew(tmp_path)
    assert compiled_anew(tmp_path) == 0


def test_without_optimisation_nothing_is_said(tmp_path):
    compiled_anew(tmp_path, NUMBA_OPT="0")


def test_a_key_tells_dtypes_versions_and_switches_apart(monkeypatch):
    """What differs in any of them is not found under the other's key."""
    keys = []
    monkeypatch.setattr(compiling, "_build", lambda name, key, *_: keys.append(key))
    monkeypatch.setattr(compiling, "_panel", lambda *_: None)
    monkeypatch.setattr(compiling, "machine", compiling.machine.__wrapped__)  # which keeps what it was first

    def compile_three():
        for real, stored in (("float32", "float32"), ("float64", "float64"), ("float32", "float16")):
            monkeypatch.setattr(compiling, "_LIVE", {})
            compiling.compile_kernel(exp_kernel, real, (stored, real))

    compile_three()
    said = compiling.machine()
    assert {numba.__version__, llvmlite.__version__, np.__version__, sys.version} <= set(said)
    for switch in compiling.SWITCHES:
        with monkeypatch.context() as patch:
            patch.setattr(compiling.config, switch, "another")
            compile_three()
    assert len(set(keys)) == len(keys) == 3 * (1 + len(compiling.SWITCHES))
