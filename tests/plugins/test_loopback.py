"""A stranger's plug-in works unchanged: it passes the kit, trains a model, and is installed as any package is."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from support.plugins import PLUGINS, announce, run

import forgenb as fnb
from forgenb.ops import TABLE

SOURCE = PLUGINS / "loopback"

TRAIN = """
import json
import numpy as np
import forgenb as fnb
from forgenb.backend import get_backend
from forgenb.optim import AdamW

with fnb.use("loopback"):
    model = fnb.models.GPT(fnb.models.GPTConfig(vocab=11, context=4, layers=1, heads=2, width=8, dropout=0.1), seed=3)
    optimizer = AdamW(model.named_parameters(), lr=1e-2)
    ids = np.random.default_rng(0).integers(0, 11, (2, 5))
    losses, transfers = [], []
    for _ in range(3):
        before = get_backend().uploads, get_backend().downloads
        loss = model.loss(ids[:, :-1], ids[:, 1:])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        transfers.append((get_backend().uploads - before[0], get_backend().downloads - before[1]))
    blocks = len(get_backend().space.buffers)
    parameters = len(list(model.parameters()))
print(json.dumps([losses, transfers, blocks, parameters]))
"""

LEAK = """
import ctypes
import forgenb as fnb

t = fnb.tensor([1.0, 2.0], backend="loopback")
copy = fnb.ops.neg(t).numpy()
assert copy.tolist() == [-1.0, -2.0] and not copy.flags.writeable
{line}
"""


@pytest.fixture
def announced(tmp_path):
    return announce(tmp_path / "site", loopback="forgenb-loopback:forgenb_loopback"), SOURCE


def test_it_passes_the_kit(announced):
    command = "-m", "forgenb", "check-backend", "loopback", "--largest", "150", "--json"
    result = run("-W", "error", *command, paths=announced)
    *rows, last = map(json.loads, result.stdout.splitlines())
    assert [row for row in rows if row["ok"] is False] == []
    assert (result.returncode, result.stderr) == (0, "")
    assert last == {"implemented": len(TABLE), "total": len(TABLE)}
    assert {row["op"] for row in rows} == set(TABLE)


def test_three_lines_in_its_own_suite_are_enough(announced, tmp_path):
    suite = tmp_path / "test_mine.py"
    suite.write_text(
        "from forgenb.testing.conformance import BackendTests\n"
        "class TestMine(BackendTests):\n"
        "    backend_name = 'loopback'\n"
    )
    options = "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "-k", "tanh or argmax"
    result = run("-m", "pytest", *options, suite, paths=announced)
    assert result.returncode == 0, result.stdout + result.stderr
    assert " passed" in result.stdout


def test_pytest_runs_the_kit_without_a_file(announced, tmp_path):
    names = "--forgenb-backend", "loopback", "--forgenb-backend", "cpu"
    options = "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "-k", "tanh-float32"
    kit = "-p", "forgenb.testing.plugin", "--pyargs", "forgenb.testing.conformance"
    result = run("-m", "pytest", *options, *kit, *names, paths=announced)
    assert result.returncode == 0, result.stdout + result.stderr
    for name in ("loopback", "cpu"):
        assert f"backend {name}: implemented 1 of 1 ops, 0 of " in result.stdout


def losses_on_cpu():
    model = fnb.models.GPT(fnb.models.GPTConfig(vocab=11, context=4, layers=1, heads=2, width=8, dropout=0.1), seed=3)
    optimizer = fnb.optim.AdamW(model.named_parameters(), lr=1e-2)
    ids = np.random.default_rng(0).integers(0, 11, (2, 5))
    for _ in range(3):
        loss = model.loss(ids[:, :-1], ids[:, 1:])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        yield loss.item()


def test_a_model_trains_with_the_same_losses_and_few_transfers(announced):
    result = run("-W", "error", "-c", TRAIN, paths=announced)
    assert result.returncode == 0, result.stderr
    losses, transfers, blocks, parameters = json.loads(result.stdout)
    assert losses == list(losses_on_cpu())
    assert transfers[1] == transfers[2]
    assert transfers[2][1] <= 3, "a step reads back its loss and what it checks of ids and targets"
    assert blocks < 8 * parameters


@pytest.mark.parametrize(
    "line",
    ["ctypes.c_float.from_address(t.address).value", "ctypes.memset(t.address, 0, 4)"],
)
def test_its_addresses_are_not_the_hosts(announced, line):
    assert run("-c", LEAK.format(line="print('ready', flush=True)"), paths=announced).stdout == "ready\n"
    assert run("-c", LEAK.format(line=line), paths=announced).returncode < 0


def test_installed_by_pip_it_is_there(tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    shutil.copytree(SOURCE, source)
    options = "--quiet", "--no-build-isolation", "--no-deps", "--no-index", "--disable-pip-version-check"
    command = sys.executable, "-m", "pip", "install", *options, "--target", target, source
    installed = subprocess.run([*map(str, command)], capture_output=True, text=True)
    assert installed.returncode == 0, installed.stderr
    result = run("-m", "forgenb", "backends", "--json", paths=[target])
    rows = {row["name"]: row for row in json.loads(result.stdout)["backends"]}
    assert (rows["loopback"]["distribution"], rows["loopback"]["version"]) == ("forgenb-loopback", "1.0")
    use = "import forgenb as fnb\nwith fnb.use('loopback'):\n    print((fnb.tensor([1.0, 2.0]) * 3).tolist())"
    assert run("-c", use, paths=[target]).stdout == "[3.0, 6.0]\n"
