"""Ids: one check on the host, with and without counting from the end."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb.errors import DTypeError, IndexRangeError, ShapeError
from forgenb.ops.ids import checked_ids, wrapped_positions


@pytest.mark.parametrize("ids", [[0, 4], [], [[1], [2]], 3, np.array([0, 4], np.uint8), np.arange(5)[::2]])
def test_good_ids_become_int64_of_the_same_shape(ids):
    found = checked_ids("embedding", ids, 5, fnb.tensor(0.0).backend)
    assert (found.dtype.name, found.shape) == ("int64", np.shape(ids))
    assert found.tolist() == np.asarray(ids).tolist()


@pytest.mark.parametrize("wrong", [-1, 5, 2**40])
def test_an_id_out_of_range_is_named(wrong):
    with pytest.raises(IndexRangeError, match=f"embedding got token id {wrong}: it must be in 0 .. 4"):
        checked_ids("embedding", [0, wrong], 5, fnb.tensor(0.0).backend, "token id")


def test_positions_may_count_from_the_end():
    assert wrapped_positions("take", np.array([0, -1, -5]), 5, 0).tolist() == [0, 4, 0]
    with pytest.raises(IndexRangeError, match="take got id -6 at position 1, but axis 2 has size 5"):
        wrapped_positions("take", np.array([0, -6]), 5, 2)


@pytest.mark.parametrize("call", [checked_ids, wrapped_positions])
def test_ids_that_are_no_whole_numbers_are_refused(call):
    with pytest.raises(DTypeError, match="take needs whole numbers as ids, got dtype float64"):
        call("take", np.array([1.0]), 5, None)


@pytest.mark.parametrize("name", ["embedding", "take", "cross_entropy", "nll_loss", "scatter_add"])
def test_ids_in_lists_of_different_lengths_are_refused(name):
    with pytest.raises(ShapeError, match=f"{name} got .*s in lists of different lengths"):
        TAKES_IDS[name]([[0, 1], [0]])


def test_an_embedding_refuses_negative_ids_with_and_without_places():
    table = fnb.tensor(np.eye(4))
    assert fnb.ops.embedding([3, 0], table).tolist() == [[0, 0, 0, 1], [1, 0, 0, 0]]
    for places in (None, table):
        with pytest.raises(IndexRangeError, match="embedding got token id -1"):
            fnb.ops.embedding([0, -1], table, places)


def zeros(*shape):
    return fnb.tensor(np.zeros(shape, np.float32))


TAKES_IDS = {
    "embedding": lambda ids: fnb.ops.embedding(ids, zeros(5, 2), zeros(3, 2)),
    "take": lambda ids: fnb.ops.take(zeros(5, 2), ids),
    "scatter_add": lambda ids: fnb.ops.scatter_add(ids, zeros(2, 3), 5),
    "scatter_add_": lambda ids: fnb.ops.scatter_add_(zeros(5, 3), ids, zeros(2, 3)),
    "cross_entropy": lambda ids: fnb.ops.cross_entropy(zeros(2, 5), ids),
    "cross_entropy_grad": lambda ids: fnb.ops.cross_entropy_grad(zeros(2, 5), ids, zeros(2), zeros()),
    "nll_loss": lambda ids: fnb.ops.nll_loss(zeros(2, 5), ids),
    "kv_put": lambda ids: fnb.ops.kv_put(zeros(2, 5, 2), zeros(2, 6), ids, 1),
    "cached_attention": lambda ids: fnb.ops.cached_attention(zeros(2, 6), zeros(2, 5, 2), zeros(2, 5, 2), ids),
}
SIZE = 5


@pytest.mark.usefixtures("each_backend")
@pytest.mark.parametrize("wrong", [SIZE, -SIZE - 1, 2**31, 2**62], ids=str)
@pytest.mark.parametrize("name", TAKES_IDS)
def test_every_backend_refuses_ids_out_of_range_before_a_launch(name, wrong):
    """Whatever holds them: a list, or a tensor that is on the device already."""
    for ids in ([0, wrong], fnb.tensor(np.array([0, wrong]))):
        TAKES_IDS[name]([0, SIZE - 1])
        before = fnb.stats()
        with pytest.raises(IndexRangeError, match=rf"{name} got .*{wrong}"):
            TAKES_IDS[name](ids)
        assert fnb.stats().since(before).launches == 0
