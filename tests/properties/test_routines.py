"""Random graphs in a routine: the bits of the same ops run one by one, values and gradients."""

from hypothesis import given
from support.graphs import examples, graphs

import forgenb as fnb
from forgenb.testing.graphs.run import as_leaf, eager, forward, in_routine, loss_of

MOVES_AND_SUMS = ["add", "sum", "transpose", "getitem", "concat", "reshape", "broadcast_to"]
"""Few kernels to compile, and much for planning to decide: views, sums of gradients, what is repeated."""


def bits(outcome):
    return [{n: a if a is None else (a.shape, a.tobytes()) for n, a in found.items()} for found in outcome]


@examples(25)
@given(graphs(recordable=True))
def test_a_routine_has_the_bits_of_eager_ops(graph):
    with fnb.use("python"):
        assert bits(in_routine(graph)) == bits(eager(graph))


def captured(graph):
    """Leaves, values and loss of a graph, not computed yet."""
    leaves = {leaf.number: as_leaf(leaf) for leaf in graph.leaves}
    with fnb.capture():
        values = forward(graph, lambda leaf: leaves[leaf.number])
        return leaves, values, loss_of(graph, values)


@examples(25)
@given(graphs(recordable=True))
def test_one_pass_has_the_bits_of_eager_ops(graph):
    with fnb.use("python"):
        expected = eager(graph).values
        _, values, _ = captured(graph)
        for number, value in values.items():
            known = getattr(value.memory, "mode", "constant") == "constant"  # a leaf, what an op makes of none, a view
            found = value.numpy() if known else fnb.train.forward_and_forget(value)
            assert found.tobytes() == expected[number].tobytes()


@examples(25)
@given(graphs(recordable=True))
def test_what_is_trained_after_one_pass_has_the_bits_of_eager_ops(graph):
    with fnb.use("python"):
        expected = eager(graph).gradients
        leaves, _, loss = captured(graph)
        fnb.train.forward_once(loss)
        update = fnb.train.retain_all(fnb.train.grad_update(loss))
        fnb.train.to_routine(update).run()
        grads = {number: leaves[number].grad for number in expected}
        assert bits([{n: g if g is None else g.numpy() for n, g in grads.items()}]) == bits([expected])


@examples(3)
@given(graphs(4, 7, MOVES_AND_SUMS, recordable=True))
def test_a_compiled_routine_has_the_bits_of_eager_ops(graph):
    assert bits(in_routine(graph)) == bits(eager(graph))
