"""Random graphs: values and gradients are those of the references, in any order of making and any layout of leaves."""

import dataclasses

import numpy as np
import pytest
from hypothesis import find, given
from hypothesis import strategies as st
from support.graphs import examples, graphs, slopes

import forgenb as fnb
from forgenb.ops import TABLE
from forgenb.testing.graphs.compare import difference, relative
from forgenb.testing.graphs.run import eager, forward, in_torch
from forgenb.testing.layouts import reversed_, sliced, transposed

ROUNDING = 1e-11
"""Of a tensor's scale; what roundings add up to over a few ops in float64."""


@pytest.fixture(autouse=True, scope="module")
def _interpreted():
    """Small graphs of many ops: interpreting their kernels takes less time than compiling them."""
    with fnb.use("python"):
        yield


def agrees(graph):
    """Whether values and the slope along a line are those of the references."""
    found = eager(graph)
    values = all(relative(value, graph.values[number]) < ROUNDING for number, value in found.values.items())
    slope, wanted, scale = slopes(graph, found.gradients)
    return values and abs(slope - wanted) <= 1e-6 * scale


@examples(50)
@given(graphs())
def test_values_and_gradients_are_those_of_the_references(graph):
    assert agrees(graph)


def test_a_wrong_rule_is_found_and_shrunk(monkeypatch):
    def wrong(x):
        """A sine whose gradient has another sign."""
        return fnb.ops.sin(-x.detach()) * 0.0 - fnb.ops.sin(x) + 2.0 * fnb.ops.sin(x).detach()

    monkeypatch.setitem(TABLE, "sin", dataclasses.replace(TABLE["sin"], function=wrong))
    graph = find(graphs(names=["sin", "mul", "sum"]), lambda graph: not agrees(graph), settings=examples(40))
    assert "sin" in [step.op for step in graph.steps]
    assert len(graph.steps) <= 2


def same(found, wanted):
    """Values in bits; gradients but for the order in which they are added."""
    assert {n: v.tobytes() for n, v in found.values.items()} == {n: v.tobytes() for n, v in wanted.values.items()}
    assert found.gradients.keys() == wanted.gradients.keys()
    for number, grad in found.gradients.items():
        other = wanted.gradients[number]
        assert (grad is None) == (other is None)
        assert grad is None or relative(grad, other) < ROUNDING


def shuffled(graph, pick):
    """The entries in another order in which each comes after those that it needs."""
    left, made, order = list(graph.entries), set(), []
    while left:
        ready = [e for e in left if made.issuperset(e.reads)]
        entry = ready[pick(len(ready))]
        left.remove(entry)
        order.append(entry)
        made.update(entry.made)
    return order


@examples(25)
@given(graphs(), st.data())
def test_the_order_of_making_changes_no_value(graph, data):
    """Leaves made late or early, and operands that do not need each other recorded in either order."""
    wanted = eager(graph)
    leaves_first = sorted(graph.entries, key=lambda e: e in graph.steps)
    same(eager(graph.reordered(leaves_first)), wanted)
    other = shuffled(graph, lambda below: data.draw(st.integers(0, below - 1)))
    same(eager(graph.reordered(other)), wanted)


@examples(25)
@given(graphs(), st.data())
def test_the_layout_of_leaves_changes_no_value(graph, data):
    def relaid(leaf):
        layout = data.draw(st.sampled_from([sliced, transposed, reversed_]))
        made = layout(leaf.array).detach()
        made.requires_grad = leaf.tracked
        return made

    same(eager(graph, relaid), eager(graph))


@examples(25)
@given(graphs())
def test_nothing_is_written_that_was_handed_in_or_out(graph):
    """Leaves from read-only arrays with negative strides; results that backward leaves as they were."""
    arrays = {leaf.number: leaf.array for leaf in graph.leaves}
    sources = {n: np.flip(np.flip(a).copy()) if a.ndim else a.copy() for n, a in arrays.items()}
    made = {}

    def read_only(leaf):
        made[leaf.number] = fnb.tensor(sources[leaf.number], requires_grad=leaf.tracked)
        return made[leaf.number]

    for source in sources.values():
        source.flags.writeable = False
    found = eager(graph, read_only)
    for leaf in graph.leaves:
        assert sources[leaf.number].tobytes() == leaf.array.tobytes() == found.values[leaf.number].tobytes()
    assert not any(value.flags.writeable for value in found.values.values())
    grads = [made[leaf.number].grad for leaf in graph.tracked]
    memories = [t.memory for t in (*made.values(), *(g for g in grads if g is not None))]
    assert len({id(m) for m in memories}) == len(memories)
    assert not any(m.version for m in memories[: len(made)])
    before = forward(graph)
    assert all(value.tobytes() == before[number].numpy().tobytes() for number, value in found.values.items())


@examples(40)
@given(graphs(most=12))
def test_pytorch_agrees(graph):
    pytest.importorskip("torch", reason="PyTorch is in the extra bench")
    assert difference(graph, eager(graph), in_torch(graph)).size <= 1e-9
