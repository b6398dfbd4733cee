"""Properties that hold whatever the sizes: caches, views, chunks, batches, recycled memory."""

from importlib import import_module

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops
from forgenb.errors import ShapeError


def draw(*shape, seed=0):
    return fnb.tensor(np.random.default_rng(seed).uniform(-1, 1, shape))


def decode(heads, width, tokens, cache_rows):
    """Causal attention one token at a time, keys and values from a cache that is larger than what it holds."""
    q, k, v = (draw(heads, tokens, width, seed=seed) for seed in (1, 2, 3))
    keys, values = (fnb.tensor(np.full((heads, cache_rows, width), np.nan)) for _ in range(2))
    rows = []
    for t in range(tokens):
        ops.kv_append(keys, k[:, t : t + 1], t)
        ops.kv_append(values, v[:, t : t + 1], t)
        scores = ops.matmul(q[:, t : t + 1], keys, trans_b=True, alpha=width**-0.5, b_rows=t + 1)
        weights = ops.softmax(scores, causal=True, off=t)
        rows.append(ops.matmul(weights, values, b_rows=t + 1).numpy())
    whole = ops.softmax(ops.matmul(q, k, trans_b=True, alpha=width**-0.5), causal=True) @ v
    return np.concatenate(rows, 1), whole.numpy()


def test_cached_attention_equals_uncached_for_64_tokens():
    step_by_step, at_once = decode(heads=2, width=8, tokens=64, cache_rows=80)
    np.testing.assert_allclose(step_by_step, at_once, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("trans_b", [True, False])
def test_rows_of_a_cache_equal_a_compact_copy(trans_b):
    a, cache = draw(4, 3, 16 if trans_b else 5), draw(4, 8, 16, seed=1)
    compact = fnb.tensor(cache.numpy()[:, :5].copy())
    found = ops.matmul(a, cache, trans_b=trans_b, b_rows=5)
    np.testing.assert_array_equal(found.numpy(), ops.matmul(a, compact, trans_b=trans_b).numpy())


@pytest.mark.parametrize("b", [1.0, [1.0]])
def test_rows_of_what_has_none_are_refused(b):
    with pytest.raises(ShapeError, match=r"matmul got b_rows=1 for b of shape \(1?,?\), which has 0 rows"):
        ops.matmul(draw(1, 1), np.array(b), b_rows=1)


def test_a_number_is_no_factor_of_a_matrix_product():
    for a, b in ((np.array(1.0), draw(1, 1)), (draw(1, 1), np.array(1.0)), (np.array(1.0), np.array(1.0))):
        with pytest.raises(ShapeError, match="matmul got shapes .*: it needs at least one axis, use \\* for numbers"):
            ops.matmul(a, b)


def test_chunked_head_equals_whole_head():
    a, table = draw(6, 16), draw(100, 16, seed=1)
    chunks = [ops.matmul(a, table[start : start + 32], trans_b=True, alpha=0.5) for start in range(0, 100, 32)]
    whole = ops.matmul(a, table, trans_b=True, alpha=0.5)
    np.testing.assert_allclose(ops.concat(chunks, axis=1).numpy(), whole.numpy(), rtol=1e-13)


@pytest.mark.parametrize("time", [5, 64, 150])
def test_attention_agrees_with_its_parts(time):
    """The fused op against products, softmax and the heads ops, forward and backward, in one and several blocks."""
    batch, heads, width = 2, 3, 12
    qkv = draw(batch, time, 3 * width)
    dout = draw(batch, time, width, seed=1)

    def fused(x):
        return ops.attention(x, heads)

    def unfused(x):
        q, k, v = ops.split_heads(x.reshape(batch * time, 3 * width), heads, batch)
        weights = ops.softmax(ops.matmul(q, k, trans_b=True, alpha=(width // heads) ** -0.5), causal=True)
        return ops.merge_heads(weights @ v, batch).reshape(batch, time, width)

    found = []
    for f in (fused, unfused):
        x = fnb.tensor(qkv, requires_grad=True)
        out = f(x)
        out.backward(dout)
        found.append((out.numpy(), x.grad.numpy()))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


def attention_step(time: int, p: float, compiled: bool = False):
    def step(x, dout):
        return fnb.value_and_grad(lambda x: (ops.attention(x, 3, p, seed=5, offset=11) * dout).sum())(x)

    step = fnb.compile(step) if compiled else step
    return [t.numpy() for t in step(draw(3, time, 3 * 12), draw(3, time, 12, seed=1))]


@pytest.mark.parametrize("p", [0.0, 0.3])
@pytest.mark.parametrize("held", [70**2, 2 * 70**2, 7 * 70**2])
def test_attention_is_the_same_however_many_heads_are_held_at_a_time(held, p, monkeypatch):
    at_once = attention_step(70, p)
    monkeypatch.setattr(import_module("forgenb.ops.attention"), "SCRATCH", held)
    monkeypatch.setattr("forgenb_cpu.memory.Poison.on", True)
    for one, other in zip(at_once, attention_step(70, p), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("p", [0.0, 0.3])
@pytest.mark.parametrize("held", [1, 128 * 200])
def test_attention_in_panels_of_queries_is_the_same(held, p, monkeypatch):
    """Sums over queries are added panel by panel, so dk and dv may round in another way; all else keeps its bits."""
    (value, grad), dq = attention_step(200, p), np.s_[..., :12]
    monkeypatch.setattr(import_module("forgenb.ops.attention"), "SCRATCH", held)
    monkeypatch.setattr("forgenb_cpu.memory.Poison.on", True)
    found, cut = attention_step(200, p)
    np.testing.assert_array_equal(found, value)
    np.testing.assert_array_equal(cut[dq], grad[dq])
    np.testing.assert_allclose(cut, grad, rtol=1e-11, atol=1e-13)
    np.testing.assert_array_equal(attention_step(200, p, compiled=True)[1], cut)


def test_memory_of_attention_grows_with_time_and_not_with_its_square():
    """Beside its scratch it needs what it returns: out and the packed gradient, of 4 c floats a token."""
    scratch, width = 4 * 4 * import_module("forgenb.ops.attention").SCRATCH, 16
    for time in (256, 1024, 4096):
        x, dout = (fnb.tensor(draw(1, time, n * width).astype("float32"), requires_grad=n == 3) for n in (3, 1))
        with fnb.peak_memory() as peak:
            ops.attention(x, 1).backward(dout)
        assert peak.nbytes <= scratch + 4 * 6 * time * width


def test_attention_keeps_nothing_of_time_by_time():
    out = ops.attention(fnb.tensor(draw(1, 200, 36), requires_grad=True), 2)
    assert [t.shape for t, _ in out.node.saved] == [(1, 200, 36)]


def test_a_recorded_sweep_of_attention_keeps_nothing_of_time_by_time():
    x = fnb.tensor(draw(1, 200, 36), requires_grad=True)
    ops.attention(x, 2).backward(draw(1, 200, 12), create_graph=True)
    assert [t.shape for t, _ in x.grad.node.saved] == [(1, 200, 36), (1, 200, 12)]


IDS = np.array([1, 0])
SAVED = {
    "gelu": (lambda x: ops.gelu(x), ["x"]),
    "layernorm": (lambda x: ops.layernorm(x, draw(4), draw(4)), [(4,), "x"]),
    "softmax": (lambda x: ops.softmax(x), ["out"]),
    "dropout": (lambda x: ops.dropout(x, 0.5, 1), []),
    "split_heads": (lambda x: ops.split_heads(ops.concat([x] * 3, axis=1), 2)[0], []),
    "sum_rows": (lambda x: ops.sum_rows(x), []),
    "embedding": (lambda x: ops.embedding(IDS, x, draw(2, 4)), [(2,)]),
}


@pytest.mark.parametrize("name", SAVED)
def test_little_is_saved_for_backward(name):
    """Neither statistics of rows, nor masks, nor what can be computed from the output."""
    call, wanted = SAVED[name]
    x = fnb.tensor(draw(2, 4), requires_grad=True)
    out = call(x)
    own = {id(x.memory): "x", id(out.memory): "out"}
    assert [own.get(id(t.memory), t.shape) for t, _ in out.node.saved] == wanted


def test_a_rate_of_0_records_nothing():
    x = fnb.tensor(draw(2, 4), requires_grad=True)
    assert ops.dropout(x, 0.0, 1) is x


@pytest.mark.parametrize("eager", [True, False])
def test_results_do_not_depend_on_what_memory_held(eager, monkeypatch):
    config = fnb.models.GPTConfig(vocab=11, context=8, layers=2, heads=2, width=16)
    ids = np.random.default_rng(0).integers(0, 11, (3, 9))

    def step():
        model = fnb.models.GPT(config, seed=1)
        optimizer = fnb.optim.AdamW(model.named_parameters(), lr=1e-2)
        train = fnb.train.TrainStep(model, optimizer, clip_norm=1.0, eager=eager)
        for _ in range(2):
            train(ids[:, :-1], ids[:, 1:])
        return [p.numpy().copy() for p in model.parameters()]

    clean = step()
    monkeypatch.setattr("forgenb_cpu.memory.Poison.on", True)
    for one, other in zip(clean, step(), strict=True):
        np.testing.assert_array_equal(one, other)
