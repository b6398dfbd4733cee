"""Where tensors live: ops follow their operands, mixing is refused, `to` is on the tape."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb.errors import BackendError, ForgeError, TapeError
from forgenb.ops import TABLE
from forgenb.testing.samples import call, samples

NAMES = sorted(TABLE)
FORWARD = [name for name in NAMES if not TABLE[name].in_place]

CPU = fnb.backend.get_backend("cpu")


@pytest.fixture
def idle_cpu(monkeypatch):
    """The default backend stays cpu, and nothing may happen there."""

    def refuse(*arguments):
        raise AssertionError("something was created on the default backend")

    monkeypatch.setattr(CPU, "allocate", refuse, raising=True)


@pytest.mark.usefixtures("idle_cpu")
@pytest.mark.parametrize("name", NAMES)
def test_an_op_stays_on_the_backend_of_its_operands(name):
    for sample in (s.cast("float32") for s in samples(name)[:3]):
        inputs = [fnb.tensor(a, backend="python") for a in sample.arrays]
        for place in TABLE[name].differentiable:
            if place < len(inputs) and inputs[place].dtype.kind == "f":
                inputs[place].requires_grad = True
        outputs = call(name, inputs, sample)
        assert {t.backend.name for t in outputs} <= {"python"}
        for t in outputs:
            if t.requires_grad:
                t.backward(fnb.tensor(cotangent_values(t), backend="python"), retain_graph=True)
        assert {t.grad.backend.name for t in inputs if t.grad is not None} <= {"python"}


def cotangent_values(t):
    return np.ones(t.shape, t.dtype)


def other_operands(arrays, kept):
    """All operands as plain arrays but one, a tensor of the python backend."""
    return [fnb.tensor(a, backend="python") if i == kept else a for i, a in enumerate(arrays)]


@pytest.mark.usefixtures("idle_cpu")
@pytest.mark.parametrize("name", [n for n in FORWARD if len(samples(n)[0].arrays) > 1])
def test_plain_operands_go_where_the_tensor_is(name):
    for sample in (s.cast("float32") for s in samples(name)[:2]):
        arrays = sample.arrays
        for kept in range(len(arrays)):
            outputs = call(name, other_operands(arrays, kept), sample)
            assert {t.backend.name for t in outputs} == {"python"}


@pytest.mark.parametrize("home", ["cpu", "python"])
def test_to_is_on_the_tape(home):
    away = {"cpu": "python", "python": "cpu"}[home]
    x = fnb.tensor([1.0, -2.0], requires_grad=True, backend=home)
    moved = x.to(away)
    assert (moved.backend.name, moved.dtype, moved.shape) == (away, x.dtype, x.shape)
    (moved * moved).to(home).sum().backward()
    assert x.grad.backend.name == home
    assert x.grad.tolist() == [2.0, -4.0]


def test_to_can_be_differentiated_twice():
    x = fnb.tensor(3.0, requires_grad=True, backend="cpu")
    (x.to("python") ** 3.0).backward(create_graph=True)
    first = x.grad
    x.grad = None
    first.backward()
    assert (first.item(), x.grad.item()) == (27.0, 18.0)


def test_to_copies_and_keeps_every_dtype_and_layout():
    for dtype in ("bool", "int32", "int64", "float16", "float32", "float64"):
        x = fnb.tensor(np.arange(6).reshape(2, 3).astype(dtype), backend="cpu")
        moved = x.T.to("python")
        np.testing.assert_array_equal(moved.numpy(), x.numpy().T)
        assert moved.dtype is x.dtype
    assert fnb.tensor(np.zeros((0, 3)), backend="cpu").to("python").shape == (0, 3)
    x = fnb.tensor([1.0], backend="cpu")
    moved = x.to("python")
    x[0] = 5.0
    assert moved.tolist() == [1.0]


MIXED = {
    "add": lambda x, y: x + y,
    "matmul": lambda x, y: x @ y,
    "bias": lambda x, y: fnb.ops.matmul(x, x, y[0]),
    "concat": lambda x, y: fnb.ops.concat([x, y]),
    "where": lambda x, y: fnb.ops.where(x > 0, x, y),
    "condition": lambda x, y: fnb.ops.where(y > 0, x, x),
    "layernorm": lambda x, y: fnb.ops.layernorm(x, y[0], y[1]),
    "assign": lambda x, y: x.__setitem__(slice(None), y),
    "take": lambda x, y: fnb.ops.take(x, y.astype("int64")[0]),
    "embedding": lambda x, y: fnb.ops.embedding(y.astype("int64"), x, x),
    "cross_entropy": lambda x, y: fnb.ops.cross_entropy(x, y.astype("int64")[0]),
    "bce_with_logits": lambda x, y: fnb.ops.bce_with_logits(x, y),
    "grad": lambda x, y: fnb.ops.gelu_grad(x, y),
}


@pytest.mark.parametrize("kind", MIXED)
def test_mixing_backends_raises_and_names_the_call_that_fixes_it(kind):
    values = [[1.0, 0.0], [0.0, 1.0]]
    x, y = fnb.tensor(values, backend="cpu"), fnb.tensor(values, backend="python")
    with pytest.raises(BackendError, match=r"'cpu'.*\.to\('\w+'\)") as caught:
        MIXED[kind](x, y)
    assert "'python'" in str(caught.value)
    with fnb.no_grad():
        MIXED[kind](x, y.to("cpu"))


def test_a_seed_of_another_backend_is_refused():
    x = fnb.tensor([1.0, 2.0], requires_grad=True, backend="cpu")
    with pytest.raises(TapeError, match="python"):
        (x * x).backward(fnb.tensor([1.0, 1.0], backend="python"))


def line():
    model = fnb.nn.Linear(3, 2, name="line", backend="cpu")
    return model, list(model.named_parameters())


def test_a_module_moves_in_place():
    model, before = line()
    values = model.state_dict()
    (model(fnb.tensor(np.ones((1, 3), "float32"), backend="cpu"))).sum().backward()
    gradients = {name: p.grad.numpy().copy() for name, p in before}
    assert model.to("python") is model
    after = list(model.named_parameters())
    assert [(n, id(p)) for n, p in after] == [(n, id(p)) for n, p in before]
    for name, p in after:
        assert p.backend.name == p.grad.backend.name == "python"
        assert p.requires_grad
        np.testing.assert_array_equal(p.numpy(), values[name])
        np.testing.assert_array_equal(p.grad.numpy(), gradients[name])
    assert model.to("python") is model


def test_an_optimiser_follows_a_module_that_moves_before_its_first_step():
    results = []
    for moves in (False, True):
        model, parameters = line()
        optimizer = fnb.optim.Adam(parameters, lr=0.1)
        if moves:
            model.to("python")
        home = "python" if moves else "cpu"
        for _ in range(3):
            optimizer.zero_grad()
            out = model(fnb.tensor(np.ones((2, 3), "float32"), backend=home))
            (out * out).sum().backward()
            optimizer.step()
        results.append(model.state_dict())
    for name, value in results[0].items():
        np.testing.assert_allclose(results[1][name], value, rtol=1e-5, atol=1e-6)


def test_a_frozen_parameter_moves_too():
    model, ((_, weight), _) = line()
    weight.requires_grad = False
    model.to("python")
    assert weight.backend.name == "python"
    assert not weight.requires_grad


def test_an_unknown_backend_moves_nothing():
    model, ((_, weight), _) = line()
    with pytest.raises(BackendError, match="no backend 'pythn'"):
        model.to("pythn")
    assert weight.backend.name == "cpu"


def test_a_graph_from_before_the_move_is_refused():
    model, _ = line()
    out = model(fnb.tensor(np.ones((1, 3), "float32"), backend="cpu")).sum()
    model.to("python")
    with pytest.raises(ForgeError, match="python"):
        out.backward()
