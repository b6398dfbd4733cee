"""Random graphs in a routine: the bits of the same ops run one by one, values and gradients."""

from hypothesis import given
from support.graphs import examples, graphs

import forgenb as fnb
from forgenb.testing.graphs.run import eager, in_routine

MOVES_AND_SUMS = ["add", "sum", "transpose", "getitem", "concat", "reshape", "broadcast_to"]
"""Few kernels to compile, and much for planning to decide: views, sums of gradients, what is repeated."""


def bits(outcome):
    return [{n: a if a is None else (a.shape, a.tobytes()) for n, a in found.items()} for found in outcome]


@examples(25)
@given(graphs(recordable=True))
def test_a_routine_has_the_bits_of_eager_ops(graph):
    with fnb.use("python"):
        assert bits(in_routine(graph)) == bits(eager(graph))


@examples(3)
@given(graphs(4, 7, MOVES_AND_SUMS, recordable=True))
def test_a_compiled_routine_has_the_bits_of_eager_ops(graph):
    assert bits(in_routine(graph)) == bits(eager(graph))
