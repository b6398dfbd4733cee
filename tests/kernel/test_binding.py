"""What is compiled is what the source says now: edited helpers, functions from a factory, values that change."""

import os
import subprocess
import sys

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops
from forgenb.errors import ArgumentError
from forgenb.kernel import bind, map_kernel
from forgenb.ops.apply import run_map

HELPER = "def bend(x):\n    return x * {factor}\n"

USER = """
import numpy as np
import forgenb as fnb
from forgenb.kernel import map_kernel
from forgenb.ops.apply import run_map
from helper import bend

@map_kernel("x -> out")
def bent(x):
    return bend(x) + 1.0

def raised(power):
    scope = {}
    exec(f"def raised(x):\\n    return x * {power}.0", scope)
    return map_kernel("x -> out")(scope["raised"])

x = fnb.tensor([1.0, 2.0])
print(*(run_map(kernel, (x,)).tolist() for kernel in (bent, raised(2), raised(3))))
"""


def run(folder, **environment):
    result = subprocess.run(
        [sys.executable, "-B", "-c", USER],
        env={**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}", **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_an_edited_helper_and_a_factorys_functions_are_told_apart_by_the_store(tmp_path):
    helper = tmp_path / "helper.py"
    store = str(tmp_path / "store")
    for factor, shown in ((3.0, "[4.0, 7.0]"), (5.0, "[6.0, 11.0]"), (3.0, "[4.0, 7.0]")):
        helper.write_text(HELPER.format(factor=factor))
        os.utime(helper, (1_000_000_000, 1_000_000_000))
        assert run(tmp_path, FORGENB_CACHE=store) == f"{shown} [2.0, 4.0] [3.0, 6.0]\n"


def test_a_changed_eps_seed_or_dtype_takes_effect():
    x = fnb.tensor(np.random.default_rng(0).uniform(-1, 1, (4, 8)))
    one = fnb.tensor(np.ones(8))
    close, far = (ops.layernorm(x, one, one, eps).numpy() for eps in (1e-5, 10.0))
    assert np.abs(close).max() > 1.5 > np.abs(far - 1).max() + 1
    masks = [ops.dropout(x, 0.5, seed).numpy() == 0 for seed in (1, 2, 1)]
    assert (masks[0] == masks[2]).all()
    assert (masks[0] != masks[1]).any()
    assert [ops.exp(x.astype(d)).dtype.name for d in ("float32", "float64")] == ["float32", "float64"]


NUMBER = 2.5


def frozen(x):
    return x * NUMBER


def test_a_kernel_may_not_read_a_global_number():
    with pytest.raises(ArgumentError, match="kernel body frozen reads the global number 'NUMBER'"):
        bind(frozen, {}, np.float32)
    with pytest.raises(ArgumentError, match="would be frozen when it is compiled"):
        run_map(map_kernel("x -> out")(frozen), (fnb.tensor([1.0]),))


def make(factor):
    def scaled(x):
        return x * factor

    return scaled


def test_a_closure_is_refused_by_name():
    with pytest.raises(ArgumentError, match="kernel body scaled uses .'factor'.*: pass such values as host scalars"):
        bind(make(2.0), {}, np.float32)
