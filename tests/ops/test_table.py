"""Every row of the op table: forward, layouts, gradients, the tape, memory, aliasing. No op is named here."""

import ast
import gc
from pathlib import Path

import numpy as np
import pytest
from support.layouts import LAYOUTS
from support.rows import FORWARD, NAMES, bits, call, cast, cotangent, expected, samples, several

import forgenb as fnb
from forgenb.errors import ForgeError
from forgenb.ops import TABLE
from forgenb.tape import Node

DIFFERENTIABLE = [name for name in FORWARD if TABLE[name].differentiable]
OPS = Path(fnb.ops.__file__).parent


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
def test_forward_agrees_with_the_reference(name, dtype):
    tolerance = TABLE[name].tolerance[dtype]
    for arrays, keywords in samples(name):
        arrays = cast(arrays, dtype)
        wanted = expected(name, arrays, keywords)
        found = call(name, [fnb.tensor(a) for a in arrays], keywords)
        assert len(found) == len(wanted)
        for out, reference in zip(found, wanted, strict=True):
            assert out.shape == reference.shape
            assert out.dtype.kind == reference.dtype.kind
            assert out.dtype.kind != "f" or out.dtype.name == keywords.get("dtype", dtype)
            largest = np.max(np.abs(reference[np.isfinite(reference)]), initial=0)
            np.testing.assert_allclose(out.numpy(), reference, rtol=tolerance, atol=tolerance * largest)


def relaid(arrays, place, layout):
    """Tensors of the arrays with one of them laid out otherwise, and a copy of that one without gaps."""
    tensors = [fnb.tensor(a) for a in arrays]
    straight = list(tensors)
    tensors[place] = layout(arrays[place])
    straight[place] = fnb.tensor(tensors[place])
    return tensors, straight


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
@pytest.mark.parametrize("name", FORWARD)
def test_layout_of_an_input_does_not_change_bits(name, layout):
    for arrays, keywords in samples(name):
        arrays = cast(arrays, "float32")
        for place, array in enumerate(arrays):
            if array.dtype.kind == "f":
                tensors, straight = relaid(arrays, place, layout)
                assert bits(call(name, tensors, keywords)) == bits(call(name, straight, keywords))


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_agree_with_differences(name):
    row = TABLE[name]
    for arrays, keywords in samples(name):
        places = [p for p in row.differentiable if p < len(arrays) and arrays[p].dtype.kind == "f"]
        if not places:
            continue

        def f(*moving, arrays=arrays, keywords=keywords, places=places):
            tensors = [fnb.tensor(a) for a in arrays]
            for place, value in zip(places, moving, strict=True):
                tensors[place] = value
            return call(name, tensors, keywords)

        fnb.gradcheck(f, *(arrays[p] for p in places), tolerance=row.gradient_tolerance)


def slope(name, arrays, keywords, places, directions, cotangents):
    """Derivative of <reference, cotangents> along `directions`, from the reference alone (extrapolated differences)."""

    def at(t):
        moved = list(arrays)
        for place, direction in zip(places, directions, strict=True):
            moved[place] = arrays[place] + t * direction
        return sum(np.vdot(r, c) for r, c in zip(expected(name, moved, keywords), cotangents, strict=True))

    wide, narrow = ((at(h) - at(-h)) / (2 * h) for h in (2e-4, 1e-4))
    return (4 * narrow - wide) / 3


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_agree_with_the_reference(name):
    """The backward against NumPy's forward: a random direction in the inputs, a random cotangent on the outputs."""
    rng = np.random.default_rng(1)
    for arrays, keywords in samples(name):
        places = [p for p in TABLE[name].differentiable if p < len(arrays) and arrays[p].dtype.kind == "f"]
        if not places:
            continue
        directions = [rng.uniform(-1, 1, arrays[p].shape) for p in places]
        cotangents = [rng.uniform(-1, 1, r.shape) for r in expected(name, arrays, keywords)]
        inputs = [fnb.tensor(a, requires_grad=p in places) for p, a in enumerate(arrays)]
        total = sum(
            (out * fnb.tensor(c)).sum() for out, c in zip(call(name, inputs, keywords), cotangents, strict=True)
        )
        total.backward()
        found = sum(np.vdot(inputs[p].grad.numpy(), d) for p, d in zip(places, directions, strict=True))
        size = sum(np.abs(inputs[p].grad.numpy() * d).sum() for p, d in zip(places, directions, strict=True))
        wanted = slope(name, arrays, keywords, places, directions, cotangents)
        assert abs(found - wanted) <= TABLE[name].gradient_tolerance * max(size, 1e-3)


def gradients(name, arrays, keywords, dtype):
    """Gradients of the differentiable inputs in `dtype`, for one fixed cotangent."""
    inputs = [fnb.tensor(a) for a in cast(arrays, dtype)]
    leaves = [inputs[p] for p in TABLE[name].differentiable if p < len(arrays)]
    leaves = [t for t in leaves if t.dtype.kind == "f"]
    for t in leaves:
        t.requires_grad = True
    backward(call(name, inputs, keywords))
    return [t.grad for t in leaves]


@pytest.mark.parametrize(("dtype", "tolerance"), [("float16", 2e-2), ("float32", 2e-5)])
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_in_short_dtypes_agree_with_float64(name, dtype, tolerance):
    for arrays, keywords in samples(name):
        arrays = cast(arrays, dtype)
        found, wanted = (gradients(name, arrays, keywords, d) for d in (dtype, "float64"))
        for short, long in zip(found, wanted, strict=True):
            if short is None or long is None:
                assert short is long
                continue
            assert short.dtype.name == dtype
            largest = np.max(np.abs(long.numpy()), initial=0)
            np.testing.assert_allclose(short.numpy(), long.numpy(), rtol=0, atol=tolerance * largest)


@pytest.mark.parametrize("name", FORWARD)
def test_recording_changes_no_bits_and_tracks_float_outputs(name):
    """An op may also refuse a tracked input that has no gradient, but never drop it in silence."""
    for arrays, keywords in samples(name):
        arrays = cast(arrays, "float32")
        plain = call(name, [fnb.tensor(a) for a in arrays], keywords)
        for place, array in enumerate(arrays):
            if array.dtype.kind != "f":
                continue
            tensors = [fnb.tensor(a) for a in arrays]
            tensors[place] = fnb.tensor(array, requires_grad=True)
            try:
                outputs = call(name, tensors, keywords)
            except ForgeError:
                assert place not in TABLE[name].differentiable
                continue
            assert bits(outputs) == bits(plain)
            assert all(t.requires_grad for t in outputs if t.dtype.kind == "f")


def backward(outputs):
    for t in outputs:
        if t.requires_grad:
            t.backward(cotangent(t), retain_graph=True)


def alive():
    return sum(issubclass(type(o), (fnb.Tensor, Node)) for o in gc.get_objects())


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_nothing_stays_alive_without_the_cyclic_collector(name):
    def once():
        for arrays, keywords in samples(name)[:3]:
            inputs = [fnb.tensor(a) for a in arrays]
            for place in TABLE[name].differentiable:
                if place < len(arrays) and arrays[place].dtype.kind == "f":
                    inputs[place].requires_grad = True
            backward(call(name, inputs, keywords))

    once()
    gc.collect()
    gc.disable()
    try:
        before = alive()
        once()
        assert alive() == before
    finally:
        gc.enable()


@pytest.mark.parametrize("name", FORWARD)
def test_inputs_are_neither_changed_nor_handed_out(name):
    row = TABLE[name]
    may_alias = any(word in row.function.__doc__.lower() for word in ("view", "itself"))
    for arrays, keywords in samples(name):
        arrays = cast(arrays, "float64")
        inputs = [fnb.tensor(a) for a in arrays]
        for place in row.differentiable:
            if place < len(arrays) and arrays[place].dtype.kind == "f":
                inputs[place].requires_grad = True
        outputs = call(name, inputs, keywords)
        backward(outputs)
        for given, array in zip(inputs, arrays, strict=True):
            assert given.memory.version == 0
            np.testing.assert_array_equal(given.numpy(), array)
            assert may_alias or all(t.memory is not given.memory for t in outputs)
        grads = [t.grad.memory for t in inputs if t.grad is not None]
        assert len(set(map(id, grads))) == len(grads)


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(FORWARD)))
def test_an_op_in_place_writes_its_first_input_and_says_so(name):
    for arrays, keywords in samples(name):
        inputs = [fnb.tensor(a) for a in cast(arrays, "float64")]
        (out,) = call(name, inputs, keywords)
        assert out is inputs[0]
        assert out.memory.version > 0
        for given, array in zip(inputs[1:], arrays[1:], strict=True):
            assert given.memory.version == 0
            np.testing.assert_array_equal(given.numpy(), array)


def functions_that_record():
    """(file, function) for each public function that puts a node on the tape."""
    for path in sorted(OPS.glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                calls = (n for n in ast.walk(node) if isinstance(n, ast.Call))
                if any(isinstance(c.func, ast.Name) and c.func.id == "record" for c in calls):
                    yield path.name, node.name


METHODS_WITHOUT_ROW = {"to"}  # needs a second backend


def test_every_op_that_records_has_a_row():
    functions = {row.function.__name__ for row in TABLE.values()}
    missing = [f for f in functions_that_record() if f[1] not in functions | METHODS_WITHOUT_ROW]
    assert missing == []


@pytest.mark.parametrize("name", NAMES)
def test_a_row_is_complete(name):
    row = TABLE[name]
    assert getattr(fnb.ops, name) is row.function
    assert samples(name)
    assert set(row.tolerance) >= {"float16", "float32", "float64"}
    assert row.gradient_tolerance <= 1e-4
    assert row.function.__doc__
    assert not row.differentiable or "Backward" in row.function.__doc__
    assert len(several(expected(name, *samples(name)[0]))) == row.outputs or row.outputs == 0
