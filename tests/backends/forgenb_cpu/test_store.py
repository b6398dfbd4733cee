"""A store that is damaged mends itself without a word; Numba's own warnings reach nobody."""

import os
import subprocess
import sys

import pytest

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
