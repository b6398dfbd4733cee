"""A write into a value of a random graph: backward refuses, or gives what it would have given without the write."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.graphs import examples, graphs

import forgenb as fnb
from forgenb.errors import ArgumentError, TapeError
from forgenb.testing.graphs.run import eager, forward, loss_of


def assign(target):
    target.assign_(target + 1.0)


def scatter(target):
    fnb.ops.scatter_add_(target, fnb.tensor(np.zeros(1, "int64")), fnb.tensor(np.ones((1, *target.shape[1:]))))


def append(target):
    fnb.ops.kv_append(target, target[:, :1] + 1.0, length=0)


WRITERS = {0: (assign,), 3: (assign, scatter, append)}
"""Number of axes -> what can write there; others have the first two."""


@pytest.fixture(scope="module")
def outcomes():
    """What became of the writes of this module."""
    return set()


@examples(50)
@given(graphs(1, 6), st.data())
def test_backward_refuses_or_is_right(outcomes, graph, data):
    with fnb.use("python"):
        wanted = eager(graph).gradients
        values = forward(graph)
        loss = loss_of(graph, values)
        target = values[data.draw(st.sampled_from([n for n, t in values.items() if t.dtype.kind == "f"]))]
        write = data.draw(st.sampled_from(WRITERS.get(target.ndim, (assign, scatter))))
        if target.requires_grad:
            with pytest.raises(TapeError, match="tracked tensor"):
                write(target)
        try:
            with fnb.no_grad():
                write(target.detach())
        except ArgumentError:
            assume(False)  # a broadcast view, see test_assignment.py
        try:
            loss.backward()
        except TapeError:
            outcomes.add("refused")
            return
        outcomes.add("right")
        for leaf in graph.tracked:
            found, grad = values[leaf.number].grad, wanted[leaf.number]
            assert (found is None) == (grad is None)
            assert grad is None or found.numpy().tobytes() == grad.tobytes()


def test_both_have_happened(outcomes):
    assert outcomes == {"refused", "right"}
