"""``forgenb check-backend``."""

import json

import pytest

from forgenb.ops import TABLE

KEYS = ["op", "dtype", "shape_class", "check", "ok", "max_ulp"]


def test_one_object_a_check_and_a_last_one_with_the_count(forgenb):
    done = forgenb("check-backend", "cpu", "--json", "--op", "gelu", "take")
    assert (done.code, done.err) == (0, "")
    *rows, last = map(json.loads, done.out.splitlines())
    assert last == {"implemented": 2, "total": 2}
    assert {tuple(row)[:6] for row in rows} == {tuple(KEYS)}
    assert {row["op"] for row in rows} == {"gelu", "take"}
    assert {row["dtype"] for row in rows} == {"float16", "float32", "float64", "int32", "int64", "bool"}
    assert {row["shape_class"] for row in rows} >= {"0-d", "one", "empty", "odd", "non-contiguous"}
    assert {"forward", "gradient", "accumulation", "determinism", "special values", "aliasing", "inputs", "ids"} == {
        row["check"] for row in rows
    }
    assert all(row["ok"] is True for row in rows)
    assert any(row["max_ulp"] for row in rows)


def test_text_says_how_many_are_implemented(forgenb):
    done = forgenb("check-backend", "cpu", "--op", "neg", "--dtype", "float32")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("backend cpu: implemented 1 of 1 ops, 0 of ")


def test_a_wrong_kernel_gives_code_1_and_a_message(forgenb, monkeypatch):
    wrong = TABLE["neg"].__class__(**{**vars(TABLE["neg"]), "reference": lambda x: x + 1})
    monkeypatch.setitem(TABLE, "neg", wrong)
    done = forgenb("check-backend", "cpu", "--op", "neg", "--json")
    rows = [json.loads(line) for line in done.out.splitlines()[:-1]]
    failed = [row for row in rows if not row["ok"]]
    assert done.code == 1
    assert {row["check"] for row in failed} == {"forward", "gradient", "special values"}
    assert all("neg in " in row["message"] and "operands (" in row["message"] for row in failed)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cup"], "did you mean 'cpu'?"),
        (["cpu", "--op", "gelo"], "did you mean 'gelu'?"),
        (["cpu", "--dtype", "float8"], "invalid choice"),
        ([], "required"),
    ],
)
def test_wrong_arguments(refused, arguments, message):
    assert message in refused("check-backend", *arguments)
