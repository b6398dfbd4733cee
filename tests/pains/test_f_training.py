"""Sections F and G: indexing, causal attention, norms with parameters of their own, batches by the seed alone."""

import numpy as np
import pytest
from support.leaves import gradients, leaf

import forgenb as fnb
from forgenb import nn, ops
from forgenb.data import batch_starts

pytestmark = pytest.mark.usefixtures("each_backend")


def draw(*shape, seed=0):
    return fnb.tensor(np.random.default_rng(seed).uniform(-1, 1, shape))


def test_two_index_arrays_pick_pairs_and_repeats_add_up():
    """P57."""
    rows, columns = [1, 1, 0], [1, 1, 0]
    assert gradients(lambda x: x[rows, columns].sum(), leaf([[1.0, 2.0], [3.0, 4.0]])) == [[[1, 0], [0, 2]]]


LOWER = [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [1 / 3, 1 / 3, 1 / 3, 0], [0.25] * 4]


def test_equal_logits_weigh_what_is_visible_equally():
    """P59."""
    logits = fnb.tensor(np.zeros((4, 4)))
    np.testing.assert_allclose(ops.softmax(logits, causal=True).numpy(), LOWER, rtol=1e-15)


def test_a_mask_to_add_holds_only_zeros_and_infinities():
    """P59: a triangle is chosen, not multiplied, so that 0 times infinity does not come up."""
    mask = ops.triu(fnb.tensor(np.full((4, 4), -np.inf)), 1)
    assert {*mask.numpy().ravel()} == {0.0, -np.inf}
    np.testing.assert_allclose(ops.softmax(fnb.tensor(np.zeros((4, 4))) + mask).numpy(), LOWER, rtol=1e-15)


HEADS, WIDTH = 2, 6


def parts_of(qkv):
    """Queries, keys and values as ``(b, h, t, d)``."""
    b, t, _ = qkv.shape
    return [qkv[:, :, WIDTH * i : WIDTH * i + WIDTH].reshape(b, t, HEADS, 3).transpose(0, 2, 1, 3) for i in range(3)]


def joined(y):
    b, _, t, _ = y.shape
    return y.transpose(0, 2, 1, 3).reshape(b, t, WIDTH)


def by_ops(qkv):
    q, k, v = parts_of(qkv)
    scores = ops.matmul(q, k.transpose(0, 1, 3, 2)) * 3**-0.5
    return joined(ops.softmax(scores, causal=True) @ v)


def by_cache(qkv):
    """One token at a time, with keys and values from a cache."""
    b, t, _ = qkv.shape
    q, k, v = (a.reshape(b * HEADS, t, 3) for a in parts_of(qkv))
    keys, values = (fnb.tensor(np.zeros((b * HEADS, t + 2, 3))) for _ in range(2))
    rows = []
    for i in range(t):
        ops.kv_append(keys, k[:, i : i + 1], i)
        ops.kv_append(values, v[:, i : i + 1], i)
        scores = ops.matmul(q[:, i : i + 1], keys, trans_b=True, alpha=3**-0.5, b_rows=i + 1)
        rows.append(ops.matmul(ops.softmax(scores, causal=True, off=i), values, b_rows=i + 1))
    return joined(ops.concat(rows, axis=1).reshape(b, HEADS, t, 3))


ATTENTIONS = {
    "packed": lambda qkv: ops.attention(qkv, HEADS),
    "unfused": lambda qkv: joined(ops.unfused_attention(*parts_of(qkv), causal=True)),
    "by ops": by_ops,
    "by cache": by_cache,
}


@pytest.mark.parametrize("name", [*ATTENTIONS, "layer", "rotary layer"])
def test_a_later_token_changes_nothing_before_it(name):
    """P61: up to the change, the same bits."""
    layer = nn.MultiHeadAttention(4, 2, causal=True, rotary=name == "rotary layer", seed=1, dtype="float64")
    attend = ATTENTIONS.get(name, lambda x: layer(x[:, :, :4]))
    qkv = draw(2, 5, 3 * WIDTH).numpy().copy()
    before = attend(fnb.tensor(qkv)).numpy().copy()
    qkv[:, 3:] = draw(2, 2, 3 * WIDTH, seed=1).numpy()
    after = attend(fnb.tensor(qkv)).numpy()
    assert after[:, :3].tobytes() == before[:, :3].tobytes()
    assert not np.array_equal(after[:, 3:], before[:, 3:])


def test_all_ways_to_attend_agree():
    """P61."""
    qkv = draw(2, 5, 3 * WIDTH)
    packed, *others = (f(qkv).numpy() for f in ATTENTIONS.values())
    for other in others:
        np.testing.assert_allclose(other, packed, rtol=1e-12, atol=1e-14)


NORMS = {
    "layernorm": (lambda x, g, b: ops.layernorm(x, g, b), (2, 3), (3, 3)),
    "rmsnorm": (lambda x, g: ops.rmsnorm(x, g), (2, 3), (3,)),
    "batchnorm": (lambda x, g, b: ops.batchnorm(x, g, b), (3, 2), (2, 2)),
    "groupnorm": (lambda x, g, b: ops.groupnorm(x, g, b, 1), (2, 3), (3, 3)),
}


@pytest.mark.parametrize("name", NORMS)
def test_norms_are_checked_with_scales_that_are_not_1(name):
    """P69: a scale of 1 hides a scale that is left out. Second derivatives are checked as well."""
    norm, shape, sizes = NORMS[name]
    rng = np.random.default_rng(2)
    inputs = [rng.uniform(-1, 1, shape), *(rng.uniform(0.5, 2, n) for n in sizes)]
    fnb.gradcheck(norm, *inputs)
    slopes = fnb.grad(lambda *a: (norm(*a) * norm(*a)).sum(), tuple(range(len(inputs))))
    fnb.gradcheck(slopes, *inputs)


def test_the_first_indices_of_a_seed_are_pinned():
    """P70: they neither depend on the state of NumPy nor change it."""
    kept = np.random.get_state()
    try:
        np.random.seed(1)
        drawn = batch_starts(length=108, context=8, batch=10, seed=0, step=0).tolist()
        after = np.random.randint(1000)
        np.random.seed(1)
        assert np.random.randint(1000) == after
    finally:
        np.random.set_state(kept)
    assert drawn == [67, 39, 31, 40, 96, 58, 63, 8, 26, 86]
