"""Answers to the exercises of chapter 12."""

import numpy as np

from forgenb import ops


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def causal_weights(scores):
    return softmax(np.where(np.tri(len(scores)) > 0, scores, -np.inf))


def linear_attention_rule(dout, q, k, v):
    ds = ops.tril(ops.matmul(dout, v, trans_b=True))
    scores = ops.tril(ops.matmul(q, k, trans_b=True))
    return ops.matmul(ds, k), ops.matmul(ds, q, trans_a=True), ops.matmul(scores, dout, trans_a=True)


def with_new(qkv, keys, values):
    q, k, v = qkv.reshape(3, len(keys), -1)
    return q, np.concatenate([keys, k[:, None]], 1), np.concatenate([values, v[:, None]], 1)


def attend(q, keys, values, root):
    weights = softmax((keys @ q[:, :, None])[:, :, 0] / root)
    return (weights[:, None] @ values)[:, 0]


def next_row(qkv, keys, values):
    return attend(*with_new(qkv, keys, values), np.sqrt(keys.shape[2])).reshape(-1)


RIGHT = {"12-1": causal_weights, "12-2": linear_attention_rule, "12-3": next_row}


def no_shift(scores):
    e = np.exp(scores) * np.tri(len(scores))
    return e / e.sum(-1, keepdims=True)


def strictly(scores):
    return softmax(np.where(np.tri(len(scores), k=-1) > 0, scores, -np.inf))


def no_mask(dout, q, k, v):
    ds, scores = ops.matmul(dout, v, trans_b=True), ops.tril(ops.matmul(q, k, trans_b=True))
    return ops.matmul(ds, k), ops.matmul(ds, q, trans_a=True), ops.matmul(scores, dout, trans_a=True)


def no_mask_for_v(dout, q, k, v):
    dq, dk, _ = linear_attention_rule(dout, q, k, v)
    return dq, dk, ops.matmul(ops.matmul(q, k, trans_b=True), dout, trans_a=True)


def not_turned(dout, q, k, v):
    dq, _, dv = linear_attention_rule(dout, q, k, v)
    return dq, ops.matmul(ops.tril(ops.matmul(dout, v, trans_b=True)), q), dv


def turned_too_early(dout, q, k, v):
    dq, _, dv = linear_attention_rule(dout, q, k, v)
    return dq, ops.matmul(ops.tril(ops.matmul(v, dout, trans_b=True)), q), dv


def swapped(dout, q, k, v):
    dq, dk, dv = linear_attention_rule(dout, q, k, v)
    return dk, dq, dv


def not_itself(qkv, keys, values):
    if not keys.shape[1]:
        return np.zeros(keys.shape[0] * keys.shape[2])
    return attend(qkv.reshape(3, len(keys), -1)[0], keys, values, np.sqrt(keys.shape[2])).reshape(-1)


def heads_first(qkv, keys, values):
    return next_row(qkv.reshape(len(keys), 3, -1).swapaxes(0, 1).reshape(-1), keys, values)


def taking_turns(qkv, keys, values):
    return attend(*with_new(qkv, keys, values), np.sqrt(keys.shape[2])).T.reshape(-1)


def by_all_rows(scores):
    e = np.exp(scores - scores.max()) * np.tri(len(scores))
    return e / e.sum(-1, keepdims=True)


def by_hidden_scores(scores):
    e = np.exp(scores - scores.max(-1, keepdims=True)) * np.tri(len(scores))
    return e / e.sum(-1, keepdims=True)


WRONG = [
    ("12-1", "subtracts the largest of all", by_all_rows, "where each row has its own"),
    ("12-1", "subtracts a hidden score", by_hidden_scores, "may be one that is hidden"),
    ("12-1", "forgets the mask", softmax, "there is no mask"),
    ("12-1", "masks too late", lambda s: softmax(s) * np.tri(len(s)), "the mask comes after the softmax"),
    ("12-1", "masks with 0", lambda s: softmax(s * np.tri(len(s))), "a score of 0 has a weight"),
    ("12-1", "hides the diagonal", strictly, "a row does not see itself"),
    (
        "12-1",
        "turns the mask",
        lambda s: softmax(np.where(np.tri(len(s)).T > 0, s, -np.inf)),
        "and not what came before",
    ),
    ("12-1", "does not shift", no_shift, "leave the range"),
    ("12-1", "forgets softmax", lambda s: np.where(np.tri(len(s)) > 0, s, -np.inf), "the softmax is missing"),
    ("12-2", "forgets the mask", no_mask, "comes through the mask as well"),
    ("12-2", "forgets the mask of the weights", no_mask_for_v, "v was multiplied by scores that had been masked"),
    ("12-2", "does not transpose", not_turned, "lacks a transpose"),
    ("12-2", "masks the wrong side", turned_too_early, "hides the wrong side"),
    ("12-2", "swaps q and k", swapped, "q has the gradient of k"),
    (
        "12-2",
        "turns the sign of dv",
        lambda *x: (*linear_attention_rule(*x)[:2], -linear_attention_rule(*x)[2]),
        "sign",
    ),
    ("12-3", "does not see itself", not_itself, "does not see itself"),
    ("12-3", "does not divide", lambda *x: attend(*with_new(*x), 1.0).reshape(-1), "are not divided"),
    ("12-3", "divides by d", lambda *x: attend(*with_new(*x), x[1].shape[2]).reshape(-1), "divided by d"),
    (
        "12-3",
        "divides by the root of c",
        lambda *x: attend(*with_new(*x), (len(x[0]) / 3) ** 0.5).reshape(-1),
        "root of c",
    ),
    ("12-3", "cuts into heads first", heads_first, "cut into heads first"),
    ("12-3", "mixes heads", taking_turns, "take turns"),
    ("12-3", "keeps a row a head", lambda *x: next_row(*x).reshape(len(x[1]), -1), "a row for each head"),
]
"""Exercise, mistake in words, answer, and what the verdict must say."""
