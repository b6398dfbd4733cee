"""Weights that attention hands out: those that it used, of whole sequences and of a cache."""

from importlib import import_module

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops
from forgenb.errors import ArgumentError, TapeError
from forgenb.random import dropout_keep, dropout_scale


def draw(*shape, dtype="float32"):
    return np.random.default_rng(3).uniform(-2, 2, shape).astype(dtype)


def wanted_of(qkv, heads):
    b, t, _ = qkv.shape
    q, k, _ = qkv.astype(float).reshape(b, t, 3, heads, -1).transpose(2, 0, 3, 1, 4)
    scores = np.where(np.tri(t, dtype=bool), q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]), -np.inf)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize("held", [2**20, 70, 1])
def test_weights_of_whole_sequences_however_many_are_held_at_a_time(held, monkeypatch):
    monkeypatch.setattr(import_module("forgenb.ops.attention"), "SCRATCH", held)
    qkv = draw(2, 70, 18)
    out, weights = ops.attention(qkv, 3, weights=True)
    assert weights.shape == (2, 3, 70, 70)
    np.testing.assert_allclose(weights.numpy(), wanted_of(qkv, 3), atol=1e-6)
    np.testing.assert_allclose(weights.numpy().sum(-1), 1, atol=1e-6)
    assert (weights.numpy()[..., ~np.tri(70, dtype=bool)] == 0).all()
    assert out.numpy().tobytes() == ops.attention(qkv, 3).numpy().tobytes()


def test_dropped_weights_are_those_that_were_used():
    qkv, p = draw(1, 5, 12, dtype="float64"), 0.4
    out, weights = ops.attention(qkv, 2, p, 7, 11, weights=True)
    kept = dropout_keep(50, p, 7, 11).reshape(1, 2, 5, 5)
    np.testing.assert_allclose(weights.numpy(), wanted_of(qkv, 2) * kept * float(dropout_scale(p)), atol=1e-14)
    values = qkv[..., 8:].reshape(1, 5, 2, 2).transpose(0, 2, 1, 3)
    found = (weights.numpy() @ values).transpose(0, 2, 1, 3).reshape(1, 5, 4)
    np.testing.assert_allclose(out.numpy(), found, atol=1e-14)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_weights_to_a_cache_are_those_of_the_whole_sequence(dtype):
    b, heads, t, atol = 2, 3, 5, 1e-3 if dtype == "float16" else 1e-6
    qkv = draw(b, t, 18, dtype=dtype)
    _, k, v = ops.split_heads(qkv.reshape(b * t, 18), heads, b)
    places = np.array([4, 2])
    rows = qkv[np.arange(b), places]
    out, weights = ops.cached_attention(fnb.tensor(rows), k, v, places, weights=True)
    assert (weights.shape, weights.dtype) == ((b, heads, t), np.dtype(dtype))
    np.testing.assert_allclose(weights.numpy(), wanted_of(qkv, heads)[np.arange(b), :, places], atol=atol)
    assert (weights.numpy()[1, :, 3:] == 0).all()
    assert out.numpy().tobytes() == ops.cached_attention(fnb.tensor(rows), k, v, places).numpy().tobytes()


@pytest.mark.usefixtures("each_backend")
def test_weights_on_each_backend():
    qkv = draw(1, 4, 12)
    _, weights = ops.attention(qkv, 2, weights=True)
    _, k, v = ops.split_heads(qkv[0], 2)
    _, last = ops.cached_attention(fnb.tensor(qkv[:, 2]), k, v, [2], weights=True)
    np.testing.assert_allclose(weights.numpy(), wanted_of(qkv, 2), atol=1e-6)
    np.testing.assert_allclose(last.numpy(), wanted_of(qkv, 2)[:, :, 2], atol=1e-6)
    assert (last.numpy()[..., 3:] == 0).all()


def test_weights_of_a_tracked_tensor_and_flags_that_are_none_are_refused():
    qkv = fnb.tensor(draw(1, 2, 6), requires_grad=True)
    with pytest.raises(TapeError, match=r"weights that have no gradient.*no_grad\(\), or call unfused_attention"):
        ops.attention(qkv, 1, weights=True)
    with fnb.no_grad():
        assert ops.attention(qkv, 1, weights=True)[1].shape == (1, 1, 2, 2)
    with pytest.raises(ArgumentError, match="attention got weights=2"):
        ops.attention(qkv.detach(), 1, weights=2)
    cache = fnb.tensor(draw(1, 2, 2))
    with pytest.raises(ArgumentError, match="cached_attention got weights='a'"):
        ops.cached_attention(fnb.tensor(draw(1, 6)), cache, cache, [0], weights="a")
