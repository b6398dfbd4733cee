"""Answers to the exercises of chapter 07."""

import numpy as np

from forgenb import ops


def log_sum_exp(x):
    m = x.max(-1, keepdims=True)
    return (m + np.log(np.exp(x - m).sum(-1, keepdims=True)))[..., 0]


def log_softmax_rule(dout, x):
    return dout - ops.softmax(x) * dout.sum(-1, keepdims=True)


def cross_entropy_rule(dout, x, targets):
    return (ops.softmax(x) - np.eye(x.shape[1])[targets]) * (dout / x.shape[0])


RIGHT = {"07-1": log_sum_exp, "07-2": log_softmax_rule, "07-3": cross_entropy_rule}


def one_shift(x):
    return x.max() + np.log(np.exp(x - x.max()).sum(-1))


def never_undone(x):
    return np.log(np.exp(x - x.max(-1, keepdims=True)).sum(-1))


def onehot(x, targets):
    return np.eye(x.shape[1])[targets]


WRONG = [
    ("07-1", "does not shift", lambda x: np.log(np.exp(x).sum(-1)), "the exponentials leave the range"),
    ("07-1", "shifts all rows alike", one_shift, "the largest score of all rows"),
    ("07-1", "forgets to shift back", never_undone, "the shift is not undone"),
    ("07-1", "sums over everything", lambda x: np.log(np.exp(x).sum()), "the sum runs over the whole array"),
    ("07-1", "takes the first axis", lambda x: np.log(np.exp(x).sum(0)), "along the first axis"),
    ("07-1", "keeps the axis", lambda x: log_sum_exp(x)[..., None], "kept with length 1"),
    ("07-2", "hands dout on", lambda dout, x: dout, "one that comes through a sum"),
    ("07-2", "writes the rule of softmax", lambda dout, x: ops.softmax_grad(ops.softmax(x), dout), "exp(-the output)"),
    ("07-2", "does not sum dout", lambda dout, x: dout - ops.softmax(x) * dout, "those by the other entries"),
    (
        "07-2",
        "sums along the columns",
        lambda dout, x: dout - ops.softmax(x) * dout.sum(0, keepdims=True),
        "over the wrong axes",
    ),
    (
        "07-2",
        "takes the mean",
        lambda dout, x: dout - ops.softmax(x) * dout.mean(-1, keepdims=True),
        "a sum inside the rule is a mean",
    ),
    (
        "07-2",
        "takes the wrong sign",
        lambda dout, x: dout + ops.softmax(x) * dout.sum(-1, keepdims=True),
        "the sign of one term is wrong",
    ),
    (
        "07-3",
        "does not take the mean",
        lambda d, x, t: cross_entropy_rule(d, x, t) * x.shape[0],
        "division by 3 is missing",
    ),
    (
        "07-3",
        "divides by the classes",
        lambda d, x, t: cross_entropy_rule(d, x, t) * x.shape[0] / x.shape[1],
        "a factor 4/3 is missing",
    ),
    ("07-3", "forgets the right class", lambda d, x, t: ops.softmax(x) * (d / x.shape[0]), "at one entry of each row"),
    ("07-3", "forgets dout", lambda d, x, t: (ops.softmax(x) - onehot(x, t)) / x.shape[0], "the incoming gradient"),
    ("07-3", "swaps the sign", lambda d, x, t: -cross_entropy_rule(d, x, t), "the sign is wrong"),
    (
        "07-3",
        "takes logits for probabilities",
        lambda d, x, t: (x - onehot(x, t)) * (d / x.shape[0]),
        "where their probabilities must",
    ),
]
"""Exercise, mistake in words, answer, and what the verdict must say."""
