"""The guide for authors of backends: its plug-in works as printed, and it has every member and every error."""

import re
import sys
import tomllib
from pathlib import Path

import pytest
from support import distributions
from support.pages import examples, page
from support.plugins import run

import forgenb as fnb
from forgenb.backend import API, Backend, discovery, registry
from forgenb.backend.interface import Memory
from forgenb.errors import BackendBroken

TEXT = page("backends.md")
MODULE, PLUGIN, USE, SUITE = examples(TEXT)
PACKAGE = Path(fnb.__file__).parent


@pytest.fixture
def site(tmp_path):
    """A folder in which the plug-in of the page is installed."""
    project = tomllib.loads(re.search(r"```toml\n(.*?)```", TEXT, re.DOTALL)[1])["project"]
    entries = project["entry-points"][discovery.GROUP]
    (module,) = entries.values()
    (tmp_path / module).mkdir()
    (tmp_path / module / "__init__.py").write_text(MODULE)
    (tmp_path / module / "plugin.py").write_text(PLUGIN)
    return distributions.announce(tmp_path, project["name"], entries, project["version"])


KIT = """
TestCounting().test_conforms(TestCounting.backend_name, "neg", "float32", "forward")
print(BackendTests in TestCounting.__mro__)

from forgenb.cli import main

assert main(ARGUMENTS + ["--op", "neg", "--dtype", "float32", "--largest", "100"]) == 0
"""


def test_the_plugin_counts_and_is_checked_as_the_page_says(site):
    (command,) = re.findall(r"`forgenb (check-backend \w+)`", TEXT)
    done = run("-W", "error", "-c", USE + SUITE + KIT.replace("ARGUMENTS", repr(command.split())), paths=[site])
    assert (done.returncode, done.stderr) == (0, "")
    counted, tested, checked = done.stdout.splitlines()
    assert counted == re.search(r"print\(.*\)  # (.*)", USE)[1]
    assert tested == "True"
    assert checked.startswith("backend counting: implemented 1 of 1 ops, 0 of ")


def members(protocol):
    """Attributes and methods that a protocol names."""
    return {*protocol.__annotations__, *(name for name in vars(protocol) if not name.startswith("_"))}


def test_every_member_has_a_row():
    first, optional = (part.partition("\n\n")[0] for part in TEXT.split("\n|---|---|\n")[1:3])
    assert set(re.findall(r"^\| `(\w+)", first, re.MULTILINE)) == members(Backend)
    assert all(f"`{name}`" in TEXT for name in members(Memory))
    source = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    asked = set(re.findall(r'(?:getattr|hasattr)\((?:self\.)?(?:backend|target|get_backend\(\)), "(\w+)"', source))
    rows = re.findall(r"^\| (.*?) \|", optional, re.MULTILINE)
    told = {name for row in rows for name in re.findall(r"`(\w+)", row)}
    assert told - {"gemm_launch", "row_bands", "wait"} == asked - members(Backend)


WRONG = {
    "speaks API 0": "API = 0",
    "is not available": f"API = {API}\n\ndef available():\n    return 'no card is plugged in'",
    "cannot be loaded": "raise ImportError('no driver')",
}


@pytest.mark.parametrize("row", re.findall(r"^\| .*? \| `(.*)` \|$", TEXT.partition("the error says")[2], re.MULTILINE))
def test_the_errors_say_what_is_printed(row, tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "_SLOTS", {})
    monkeypatch.syspath_prepend(tmp_path)
    name = "Counting" if "a name" in row else "counting"
    module = f"guide_{tmp_path.name}"
    distributions.announce(tmp_path, "forgenb-counting", {name: module})
    if "two distributions" in row:
        distributions.announce(tmp_path, "another", {name: module})
    text = next((text for start, text in WRONG.items() if row.startswith(start)), "")
    distributions.plugin(tmp_path, module, text)
    with pytest.raises(BackendBroken, match=re.escape(row)):
        fnb.backend.get_backend(name)
    sys.modules.pop(module, None)
