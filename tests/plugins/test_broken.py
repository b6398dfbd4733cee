"""Wrong plug-ins: the kit fails on each, naming op and shapes; those that do not load say why; nobody else notices."""

import json

import pytest
from support.plugins import PLUGINS, announce, run

LOADED = ("wrong_sign", "wrong_dtype", "short_readback", "aliased", "unordered", "unchecked_id", "unsupported")
MODULES = (*LOADED, "import_error", "old_api")


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    site = announce(tmp_path_factory.mktemp("site"), **{name: name for name in MODULES}, loopback="forgenb_loopback")
    announce(site, twice="first-twin:wrong_sign")
    announce(site, twice="second-twin:unordered")
    return site, PLUGINS / "loopback", PLUGINS / "broken"


def check(name, paths, *ops):
    """Exit code and results of the kit on some ops."""
    result = run("-m", "forgenb", "check-backend", name, "--json", "--op", *ops, paths=paths)
    *rows, last = map(json.loads, result.stdout.splitlines())
    return result.returncode, rows, last


WRONG = {
    "wrong_sign": (["tanh", "neg"], {"tanh": {"gradient"}}, "tanh in float64", "the derivative along a random line is"),
    "wrong_dtype": (
        ["exp", "argmax"],
        {"exp": {"forward", "special values"}},
        "exp in float64",
        " ulp of the",
    ),
    "short_readback": (["neg"], {"neg": {"forward", "inputs"}}, "neg in float64", "reads back as"),
    "aliased": (["neg"], {"neg": {"forward", "aliasing", "inputs"}}, "neg in float32", "was changed"),
    "unordered": (["sumsq", "sum"], {"sumsq": {"determinism"}}, "sumsq in float32", "results differ from run to run"),
    "unchecked_id": (
        ["embedding", "sumsq"],
        {"embedding": {"ids"}},
        "embedding in float32",
        "out of range and was taken",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_kit_fails_and_names_op_and_shapes(name, paths):
    ops, wrong, where, what = WRONG[name]
    code, rows, _ = check(name, paths, *ops)
    failed = [row for row in rows if row["ok"] is False]
    assert code == 1
    assert {row["op"] for row in failed} == set(wrong)
    for op, checks in wrong.items():
        assert {row["check"] for row in failed if row["op"] == op} >= checks
    assert any(where in row["message"] and what in row["message"] for row in failed)
    assert all(row["op"] in row["message"] and f" on {name}, " in row["message"] for row in failed)
    assert all("operands (" in row["message"] for row in failed)


def test_an_op_that_is_declined_is_not_a_failure(paths):
    code, rows, last = check("unsupported", paths, "exp", "neg")
    assert code == 0
    assert last == {"implemented": 1, "total": 2}
    assert {row["ok"] for row in rows if row["op"] == "exp" and row["shape_class"] == "odd"} == {None}
    assert {row["ok"] for row in rows if row["op"] == "neg"} == {True}


UNUSABLE = {
    "import_error": "No module named 'a_module_that_nobody_has'",
    "old_api": "API 0",
    "twice": "first-twin",
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_one_that_cannot_be_used_says_why_in_one_paragraph(name, paths):
    result = run("-m", "forgenb", "check-backend", name, paths=paths)
    assert (result.returncode, result.stdout) == (2, "")
    assert UNUSABLE[name] in result.stderr
    assert name in result.stderr
    assert result.stderr.count("\n") == 1


QUIET = """
import sys
import forgenb as fnb
from forgenb.backend import backends
strangers = {*sys.argv[1:], "forgenb_loopback"}
rows = {row["name"]: row for row in backends()}
assert strangers & set(sys.modules) == set(), "listing imports no plug-in"
assert set(rows) >= {"cpu", "twice", "loopback", *sys.argv[1:]}
x = fnb.tensor([1.0, -2.0], requires_grad=True)
(x * x).sum().backward()
assert x.grad.tolist() == [2.0, -4.0] and x.backend.name == "cpu"
assert strangers & set(sys.modules) == set()
"""


def test_nothing_else_notices_any_of_them(paths):
    result = run("-W", "error", "-c", QUIET, *MODULES, paths=paths)
    assert (result.returncode, result.stderr) == (0, "")
    code, rows, last = check("cpu", paths, "tanh", "sumsq", "embedding")
    assert code == 0
    assert last == {"implemented": 3, "total": 3}
    assert all(row["ok"] is not False for row in rows)
