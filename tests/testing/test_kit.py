"""The kit itself: it covers the table, and each check sees the fault that it is there for."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import forgenb as fnb
from forgenb.errors import ArgumentError, OpUnsupported
from forgenb.ops import TABLE
from forgenb.testing import Summary, check_backend
from forgenb.testing.bounds import ELEMENT, GRADIENTS, RESULTS
from forgenb.testing.samples import SHAPE_CLASSES, class_of, samples_in

PAGE = Path(__file__).resolve().parents[2] / "docs" / "support.md"


def failed(op, *dtypes):
    """Check -> messages of those that fail on the CPU."""
    found = {}
    for result in check_backend("cpu", [op], dtypes or ["float32"]):
        if result.ok is False:
            found.setdefault(result.check, []).append(result.message)
    return found


def with_function(monkeypatch, name, function):
    monkeypatch.setitem(TABLE, name, replace(TABLE[name], function=function))


def plus_nothing(x):
    """The negative, with a fault."""
    return fnb.ops.neg(x)


FAULTS = {
    "forward": lambda x: fnb.ops.scale(x, -1.0 - 1e-6),
    "gradient": lambda x: fnb.ops.neg(x) + (x.detach() - x) * 0.5,
    "special values": lambda x: fnb.ops.where(fnb.ops.equal(x, x), -x, 0.0),
    "aliasing": lambda x: fnb.ops.assign_(x.detach(), -x),
}


@pytest.mark.parametrize("check", FAULTS)
def test_a_check_sees_its_fault(monkeypatch, check):
    fault = FAULTS[check]
    monkeypatch.setattr(plus_nothing, "__code__", fault.__code__)
    with_function(monkeypatch, "neg", plus_nothing)
    found = failed("neg", "float32", "float64")
    assert check in found
    assert re.match(r"neg in float\d\d on cpu, .* of .* operands \(", found[check][0])


def test_an_op_that_keeps_state_is_not_deterministic(monkeypatch):
    calls = []

    def drifting(x):
        """The negative."""
        calls.append(x)
        return fnb.ops.neg(x) + 1e-3 * len(calls)

    with_function(monkeypatch, "neg", drifting)
    assert failed("neg")["determinism"][0].endswith("results differ from run to run")


def test_a_gradient_that_is_kept_twice_is_seen(monkeypatch):
    def twice(x):
        """The negative."""
        out, sweeps = fnb.ops.neg(x), []

        def backward(dout):
            sweeps.append(1)
            return (fnb.ops.scale(dout, -float(len(sweeps))),)

        return fnb.tape.record(out.detach(), (x,), backward)

    with_function(monkeypatch, "neg", twice)
    assert failed("neg")["accumulation"][0].endswith("the gradient is not twice that of one")


def test_ids_that_are_taken_unchecked_are_seen(monkeypatch):
    def careless(x, ids, axis=0):
        """Rows."""
        return fnb.ops.take(x, np.clip(ids.numpy(), 0, x.shape[axis] - 1), axis=axis)

    with_function(monkeypatch, "take", careless)
    assert "out of range and was taken" in failed("take")["ids"][0]


def test_an_op_in_place_must_return_and_mark_its_operand(monkeypatch):
    def elsewhere(x, v):
        """A copy."""
        return fnb.ops.broadcast_to(v, x.shape).copy()

    with_function(monkeypatch, "assign_", elsewhere)
    assert "is not its first operand" in failed("assign_")["in place"][0]


def test_an_op_that_is_declined_counts_as_not_implemented(monkeypatch):
    def declined(x):
        raise OpUnsupported("not here")

    with_function(monkeypatch, "neg", declined)
    summary = Summary()
    for result in check_backend("cpu", ["neg", "abs"], ["float32"]):
        summary.add(result)
        assert (result.ok, result.unsupported) == ((None, True) if result.op == "neg" else (True, False))
    assert str(summary).startswith("implemented 1 of 2 ops, 0 of ")


def test_only_small_operands():
    rows = list(check_backend("cpu", ["neg"], ["float32"], ["forward"], largest=1))
    assert [row.shape_class for row in rows] == ["0-d", "one", "empty"]
    assert all(row.ok for row in rows)


def test_a_wrong_name_is_refused_at_once():
    with pytest.raises(ArgumentError, match="there is no op 'sigmiod' in the table of .* did you mean 'sigmoid'?"):
        check_backend("cpu", ["sigmiod"])


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        ([(), ()], "0-d"),
        ([(1,), (1, 1)], "one"),
        ([(3, 0), (3, 1)], "empty"),
        ([(3, 5), (5,)], "broadcast"),
        ([(3, 5), (5, 4)], "odd"),
        ([(7,), (7,)], "odd"),
    ],
)
def test_shape_classes(shapes, expected):
    assert class_of([np.zeros(s) for s in shapes]) == expected


@pytest.mark.parametrize("name", TABLE)
def test_every_op_has_samples_of_every_float_dtype(name):
    for dtype in ("float16", "float32", "float64"):
        found = [c for c in SHAPE_CLASSES if samples_in(name, dtype, c)]
        assert len(found) >= 2


def test_bounds_are_of_ops_and_have_reasons_where_loosened():
    assert set(RESULTS) | set(GRADIENTS) <= set(TABLE)
    assert all(b.reason for b in RESULTS.values() if b.ulps > ELEMENT.ulps)
    assert all(b.reason for b in GRADIENTS.values())


def test_the_page_of_what_is_supported_has_every_op():
    rows = re.findall(r"^\| `(\w+)` \| ([^|]*) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [name for name, _ in rows] == list(TABLE)
    assert all({"f16", "f32", "f64"} <= set(cell.split()) for _, cell in rows)


def test_the_page_says_what_can_be_differentiated_twice():
    cells = dict(re.findall(r"^\| `(\w+)` \|(?:[^|]*\|){2} (\S+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert cells == {n: "-" if not r.differentiable else "yes" if r.second else "no" for n, r in TABLE.items()}
