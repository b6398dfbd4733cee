"""Every row of the op table: the conformance kit on the CPU, then what holds above any backend. No op is named here."""

import ast
from pathlib import Path

import pytest
from support.leaves import live, only_counting
from support.small import small

import forgenb as fnb
from forgenb.errors import ForgeError
from forgenb.ops import TABLE
from forgenb.tape import Node
from forgenb.testing.conformance import BackendTests
from forgenb.testing.samples import backward, bits, call, differentiable, expected, leaves, samples, several

NAMES = sorted(TABLE)
FORWARD = [name for name in NAMES if not TABLE[name].in_place]
DIFFERENTIABLE = [name for name in FORWARD if TABLE[name].differentiable]
OPS = Path(fnb.ops.__file__).parent


class TestCpu(BackendTests):
    backend_name = "cpu"


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_agree_with_differences(name):
    for sample in samples(name):
        places = differentiable(name, sample)
        if not places:
            continue

        def f(*moving, sample=sample, places=places):
            tensors = [fnb.tensor(a) for a in sample.arrays]
            for place, value in zip(places, moving, strict=True):
                tensors[place] = value
            return call(name, tensors, sample)

        fnb.gradcheck(f, *(sample.arrays[p] for p in places), tolerance=TABLE[name].gradient_tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_recording_changes_no_bits_and_tracks_float_outputs(name, each_backend):
    """P12: an op may also refuse a tracked input that has no gradient, but never drop it in silence."""
    found = samples(name) if each_backend == "cpu" else small(name)[:2]
    for sample in (s.cast("float32") for s in found):
        plain = call(name, [fnb.tensor(a) for a in sample.arrays], sample)
        for place in sample.reals:
            tensors = [fnb.tensor(a, requires_grad=p == place) for p, a in enumerate(sample.arrays)]
            try:
                outputs = call(name, tensors, sample)
            except ForgeError:
                assert place not in TABLE[name].differentiable
                continue
            assert bits(outputs) == bits(plain)
            assert all(t.requires_grad for t in outputs if t.dtype.kind == "f")


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_nothing_stays_alive_without_the_cyclic_collector(name):
    def once():
        for sample in samples(name)[:3]:
            backward(call(name, leaves(name, sample), sample))

    once()
    with only_counting():
        once()
        assert live(fnb.Tensor, Node) == 0


def functions_that_record():
    """(file, function) for each public function that puts a node on the tape."""
    for path in sorted(OPS.glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                calls = (n for n in ast.walk(node) if isinstance(n, ast.Call))
                if any(isinstance(c.func, ast.Name) and c.func.id == "record" for c in calls):
                    yield path.name, node.name


NO_ROW = {
    "to": "needs a second backend",
    "record_steps": "records for other ops",
    "variable": "a place to stop a sweep",
}


def test_every_op_that_records_has_a_row():
    functions = {row.function.__name__ for row in TABLE.values()}
    missing = [f for f in functions_that_record() if f[1] not in functions | NO_ROW.keys()]
    assert missing == []


@pytest.mark.parametrize("name", NAMES)
def test_a_row_is_complete(name):
    row = TABLE[name]
    assert getattr(fnb.ops, name) is row.function
    assert samples(name)
    assert row.gradient_tolerance <= 1e-4
    assert row.function.__doc__
    assert not row.differentiable or "Backward" in row.function.__doc__
    assert len(several(expected(name, samples(name)[0]))) == row.outputs or row.outputs == 0
