"""Attention to a cache: against attention of whole sequences, what it leaves alone, and what it refuses."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops
from forgenb.errors import DTypeError, IndexRangeError, ShapeError, TapeError


@pytest.mark.parametrize(("dtype", "atol"), [("float32", 1e-6), ("float64", 1e-14)])
def test_tokens_one_by_one_equal_the_whole_sequence(dtype, atol):
    b, heads, t, c = 3, 2, 70, 10
    qkv = np.random.default_rng(0).normal(size=(b, t, 3 * c)).astype(dtype)
    keys, values = (fnb.tensor(np.full((b * heads, t, c // heads), np.nan, dtype)) for _ in range(2))
    wanted = ops.attention(qkv, heads).numpy()
    for place in range(t):
        row, places = fnb.tensor(qkv[:, place]), np.full(b, place)
        ops.kv_put(keys, row, places, 1)
        ops.kv_put(values, row, places, 2)
        out = ops.cached_attention(row, keys, values, places)
        np.testing.assert_allclose(out.numpy(), wanted[:, place], atol=atol, rtol=0)


def test_a_row_of_the_batch_has_the_bits_of_its_own():
    rng = np.random.default_rng(1)
    qkv, places = rng.normal(size=(3, 12)), np.array([4, 0, 7])
    keys, values = (rng.normal(size=(6, 9, 2)) for _ in range(2))
    whole = ops.cached_attention(*map(fnb.tensor, (qkv, keys, values)), places).numpy()
    for i in range(3):
        own = (fnb.tensor(a) for a in (qkv[i : i + 1], keys[2 * i : 2 * i + 2], values[2 * i : 2 * i + 2]))
        assert ops.cached_attention(*own, places[i : i + 1]).numpy().tobytes() == whole[i].tobytes()


def test_a_put_writes_one_row_of_each_head_and_bumps_the_version():
    cache, packed = fnb.tensor(np.zeros((4, 3, 2))), np.arange(24.0).reshape(2, 12)
    assert ops.kv_put(cache, fnb.tensor(packed), [2, 0], 1) is cache
    assert cache.memory.version == 1
    wanted = np.zeros((4, 3, 2))
    wanted[:2, 2], wanted[2:, 0] = packed[0, 4:8].reshape(2, 2), packed[1, 4:8].reshape(2, 2)
    np.testing.assert_array_equal(cache.numpy(), wanted)


def given(**changes):
    shapes = {"qkv": (2, 12), "keys": (4, 3, 2), "values": (4, 3, 2)} | changes
    return [fnb.tensor(np.zeros(shape)) for shape in shapes.values()]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"qkv": (3, 12)}, r"cached_attention got a cache of shape \(4, 3, 2\) and rows of shape \(3, 12\)"),
        ({"qkv": (2, 6)}, r"\[b \* heads, capacity, width\] and \[b, 3 \* heads \* width\]"),
        ({"keys": (4, 2)}, r"a cache of shape \(4, 2\)"),
        ({"values": (4, 2, 2)}, r"keys \(4, 3, 2\) and values \(4, 2, 2\)"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(ShapeError, match=message):
        ops.cached_attention(*given(**changes), [0, 0])


def test_a_put_of_other_shapes_places_or_thirds_is_refused():
    packed, cache, _ = given()
    with pytest.raises(ShapeError, match="kv_put got a cache of shape"):
        ops.kv_put(fnb.tensor(np.zeros((3, 3, 2))), packed, [0, 0], 1)
    with pytest.raises(ShapeError, match="third=3"):
        ops.kv_put(cache, packed, [0, 0], 3)
    with pytest.raises(ShapeError, match=r"places of shape \(1,\)"):
        ops.kv_put(cache, packed, [0], 1)
    with pytest.raises(IndexRangeError, match="place 3"):
        ops.kv_put(cache, packed, [0, 3], 1)


def test_mixed_dtypes_and_tracked_operands_are_refused():
    packed, keys, values = given()
    with pytest.raises(DTypeError, match="one float dtype"):
        ops.cached_attention(packed.astype("float32"), keys, values, [0, 0])
    packed.requires_grad = True
    with fnb.Tape():
        with pytest.raises(TapeError, match="cached_attention has no gradient"):
            ops.cached_attention(packed, keys, values, [0, 0])
        with pytest.raises(TapeError, match="kv_put has no gradient"):
            ops.kv_put(keys, packed, [0, 0], 1)
