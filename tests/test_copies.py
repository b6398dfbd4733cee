"""Copies and pickles of tensors own their memory; wrong gradients, numbers and views are refused."""

import copy
import pickle

import numpy as np
import pytest

import forgenb as fnb
from forgenb.errors import ArgumentError, TapeError

WAYS = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": lambda t: pickle.loads(pickle.dumps(t))}


@pytest.fixture(params=WAYS)
def way(request):
    return WAYS[request.param]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "int64", "bool"])
def test_a_copy_owns_its_memory(way, dtype):
    t = fnb.tensor(np.arange(12).reshape(3, 4).astype(dtype), name="t")
    for source in (t, t[::2, ::-1], t.T, t[0, 0]):
        made = way(source)
        np.testing.assert_array_equal(made.numpy(), source.numpy())
        assert (made.dtype, made.shape, made.backend, made.name) == (t.dtype, source.shape, t.backend, source.name)
        assert not np.shares_memory(made.numpy(), source.numpy())


def test_a_copied_leaf_is_a_leaf_of_its_own(way):
    x = fnb.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    made = way(x)
    (made * 3.0).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2, 4])
    np.testing.assert_array_equal(made.grad.numpy(), [3, 3])


def test_gradients_stay_behind(way):
    x = fnb.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    assert way(x).grad is None
    layer = fnb.nn.Linear(2, 1)
    layer(x).backward(fnb.tensor([1.0]))
    copies = way(layer).parameters()
    if way is not copy.copy:
        assert [p.grad for p in copies] == [None, None]
    assert all(p.grad is not None for p in layer.parameters())


def test_a_copied_module_has_its_own_parameters(way):
    if way is copy.copy:
        return  # it shares the parameters, as Python says of shallow copies
    layer = fnb.nn.Linear(3, 2)
    made = way(layer)
    before = layer.weight.numpy().copy()
    assert [p.decay for p in made.parameters()] == [p.decay for p in layer.parameters()]
    with fnb.no_grad():
        made.weight.assign_(0.0)
    np.testing.assert_array_equal(layer.weight.numpy(), before)


def test_buffers_stay_buffers(way):
    norm = fnb.nn.BatchNorm(2)
    norm(fnb.tensor(np.arange(16.0, dtype="float32").reshape(2, 2, 2, 2)))
    made = way(norm)
    assert [name for name, _ in made.named_buffers()] == [name for name, _ in norm.named_buffers()]
    for name, array in norm.state_dict().items():
        np.testing.assert_array_equal(made.state_dict()[name], array)


def test_a_frozen_parameter_stays_frozen(way):
    made = way(fnb.nn.Linear(3, 2).freeze())
    assert [p.requires_grad for p in made.parameters()] == [False, False]
    assert [p.requires_grad for p in made.unfreeze().parameters()] == [True, True]


def test_what_stands_twice_is_copied_once(way):
    if way is copy.copy:
        return
    layer = fnb.nn.Linear(2, 2)
    layer.tied = layer.weight
    made = way([layer, layer.weight])
    assert made[0].weight is made[0].tied is made[1]
    assert len(made[0].parameters()) == 2


class Labelled(fnb.Tensor):
    """A subclass with an attribute."""


class Slotted(Labelled):
    """One with a slot besides."""

    __slots__ = ("place",)


def test_attributes_of_a_subclass_are_copied(way):
    plain = fnb.tensor([1.0, 2.0], name="t", backend="python")
    source = Slotted(plain.memory, 0, plain.layout)
    source.name, source.label, source.place = "s", "a label", [3]
    made = way(source)
    assert (type(made), made.name, made.label, made.place) == (Slotted, "s", "a label", [3])
    assert made.backend.name == "python"
    assert made.tolist() == [1, 2]


def test_an_inner_tensor_refuses(way):
    x = fnb.tensor([1.0], requires_grad=True)
    with pytest.raises(
        TapeError, match=r"the result of mul cannot be copied or pickled with its graph: use detach\(\)"
    ):
        way(x * 2.0)
    assert way((x * 2.0).detach()).tolist() == [2]


def test_memory_itself_is_never_copied():
    with pytest.raises(TypeError, match="cannot be copied"):
        copy.deepcopy(fnb.tensor([1.0]).memory)


@pytest.mark.parametrize("value", [np.ones(2, "float32"), 1.0, [1.0, 1.0]])
def test_a_gradient_must_be_a_tensor(value):
    x = fnb.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(ArgumentError, match=r"fnb\.tensor"):
        x.grad = value


@pytest.mark.parametrize(("x", "number"), [([1], 2**70), ([1.0], 10**400), ([1], -(2**63) - 1)])
def test_a_number_that_does_not_fit_is_refused(x, number):
    with pytest.raises(ArgumentError, match="does not fit"):
        fnb.tensor(x) + number


def test_matmul_takes_an_array_as_bias():
    found = fnb.ops.matmul(np.eye(2), np.ones((2, 3)), np.arange(3.0))
    np.testing.assert_array_equal(found.numpy(), [[1, 2, 3], [1, 2, 3]])


def test_scatter_add_refuses_a_broadcast_view():
    dst = fnb.ops.broadcast_to(fnb.tensor(np.zeros(3, "float32")), (4, 3))
    with pytest.raises(ArgumentError, match="share memory"):
        fnb.ops.scatter_add_(dst, [0], fnb.tensor(np.ones((1, 3), "float32")))


WRITES = {
    "assign_": lambda t: t.assign_(0.0),
    "t[...] =": lambda t: t.__setitem__(Ellipsis, 0.0),
    "scatter_add_": lambda t: fnb.ops.scatter_add_(t, [0], t[:1] * -1.0),
    "kv_append": lambda t: fnb.ops.kv_append(t, t * 0.0, 0),
    "kv_put": lambda t: fnb.ops.kv_put(t, fnb.tensor(np.zeros((1, 6), np.float32)), [0], 1),
}


@pytest.mark.usefixtures("each_backend")
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_write_reaches_views_and_no_copies_on_any_backend(write):
    t = fnb.tensor(np.full((1, 1, 2), 3.0, np.float32))
    copies = [t.copy(), copy.deepcopy(t), fnb.tensor(t), t.to("python").to(t.backend.name)]
    views = [t.detach(), t[0], t.reshape(2)]
    copies = [c for c in copies if c.memory is not t.memory]
    assert len(copies) >= 2
    write(t)
    assert [v.numpy().any() for v in (t, *views)] == [False] * 4
    assert all((c.numpy() == 3).all() for c in copies)


@pytest.mark.usefixtures("each_backend")
def test_a_step_of_an_optimiser_reaches_views_and_no_copies_on_any_backend():
    p = fnb.Parameter(fnb.tensor(np.full(2, 3.0, np.float32)))
    made, view = copy.deepcopy(p), p.detach()
    optimizer = fnb.optim.AdamW([p], 0.1)
    (p * 2.0).sum().backward()
    state = optimizer.state_dict()
    optimizer.step()
    assert view.tolist() == p.tolist() != [3, 3]
    assert made.tolist() == [3, 3]
    assert list(state) == ["step"]
