"""Answers to the exercises of chapter 11."""

import numpy as np

import forgenb as fnb
from forgenb import ops

ALL = 2**32 - 1


def dropout_rule(dout, x, p, seed):
    return ops.dropout(dout, p, seed)


def pcg(x):
    s = (747796405 * x + 2891336453) & ALL
    w = (277803737 * ((s >> ((s >> 28) + 4)) ^ s)) & ALL
    return (w >> 22) ^ w


def drop_rows(x, p, seed):
    return x * ops.dropout(np.ones((x.shape[0], 1)), p, seed)


RIGHT = {"11-1": dropout_rule, "11-2": pcg, "11-3": drop_rows}


def by_zeros(dout, x, p, seed):
    return dout * (ops.dropout(x, p, seed).numpy() != 0) / (1 - p)


def without_scale(dout, x, p, seed):
    return ops.dropout(dout, p, seed) * (1 - p)


def never_cut(x):
    s = 747796405 * x + 2891336453
    w = 277803737 * ((s >> ((s >> 28) + 4)) ^ s)
    return (w >> 22) ^ w


def cut_at_the_end(x):
    return never_cut(x) & ALL


def s_alone_cut(x):
    s = (747796405 * x + 2891336453) & ALL
    w = 277803737 * ((s >> ((s >> 28) + 4)) ^ s)
    return (w >> 22) ^ w


def unbraced(x):
    s = (747796405 * x + 2891336453) & ALL
    w = (277803737 * ((s >> (s >> 28 + 4)) ^ s)) & ALL
    return (w >> 22) ^ w


def without_the_last(x):
    s = (747796405 * x + 2891336453) & ALL
    return (277803737 * ((s >> ((s >> 28) + 4)) ^ s)) & ALL


def fixed_shift(x):
    s = (747796405 * x + 2891336453) & ALL
    w = (277803737 * ((s >> 4) ^ s)) & ALL
    return (w >> 22) ^ w


def state(x):
    return (747796405 * x + 2891336453) & ALL


def ended(mixed):
    w = (277803737 * mixed) & ALL
    return (w >> 22) ^ w


def inverted(dout, x, p, seed):
    return dout * (ops.dropout(np.ones(x.shape), p, seed).numpy() == 0) / (1 - p)


def unscaled_rows(x, p, seed):
    return x * fnb.random.dropout_keep(x.shape[0], p, seed)[:, None]


def first_of_row(x, p, seed):
    return x * ops.dropout(np.ones(x.shape), p, seed)[:, :1]


WRONG = [
    ("11-1", "returns an array", lambda *a: dropout_rule(*a).numpy(), "a tensor is asked for, and this is an ndarray"),
    ("11-3", "returns an array", lambda *a: drop_rows(*a).numpy(), "a tensor is asked for, and this is an ndarray"),
    ("11-1", "asks where y is zero", by_zeros, "a zero of x that was kept has no gradient"),
    ("11-1", "does not scale", without_scale, "the scale is missing"),
    ("11-1", "hands dout on", lambda dout, x, p, seed: dout, "without a mask"),
    ("11-1", "scales alone", lambda dout, x, p, seed: dout / (1 - p), "there is no mask, but a scale"),
    ("11-1", "drops x", lambda dout, x, p, seed: ops.dropout(x, p, seed), "x was dropped"),
    ("11-1", "takes the next seed", lambda dout, x, p, seed: ops.dropout(dout, p, seed + 1), "of another seed"),
    ("11-1", "multiplies by x", lambda dout, x, p, seed: ops.dropout(dout * x, p, seed), "x is a factor"),
    ("11-1", "scales twice", lambda dout, x, p, seed: ops.dropout(dout, p, seed) / (1 - p), "the scale twice"),
    ("11-1", "divides by p", lambda dout, x, p, seed: dropout_rule(dout, x, p, seed) * (1 - p) / p, "1 / p"),
    ("11-1", "scales down", lambda dout, x, p, seed: without_scale(dout, x, p, seed) * (1 - p), "multiplied by 1 - p"),
    ("11-1", "inverts the mask", inverted, "the mask is inverted"),
    ("11-2", "never takes the modulus", never_cut, "s must be taken modulo"),
    ("11-2", "takes the modulus at the end", cut_at_the_end, "s must be taken modulo"),
    ("11-2", "takes the modulus of s alone", s_alone_cut, "the product of w must be taken modulo"),
    ("11-2", "leaves braces out", unbraced, "binds more tightly"),
    ("11-2", "leaves the last line out", without_the_last, "the last formula is missing"),
    ("11-2", "shifts by 4", fixed_shift, "the shift of s is always by 4"),
    ("11-2", "stops at s", state, "this is s"),
    ("11-2", "forgets the 4", lambda x: ended(state(x) >> (state(x) >> 28) ^ state(x)), "by s >> 28 alone"),
    ("11-2", "shifts s alone", lambda x: ended(state(x) >> ((state(x) >> 28) + 4)), "s is not combined with itself"),
    ("11-2", "shifts w alone", lambda x: without_the_last(x) >> 22, "w is shifted, and not combined"),
    ("11-2", "takes or", lambda x: without_the_last(x) >> 22 | without_the_last(x), "one of them is an or"),
    ("11-2", "adds", lambda x: (without_the_last(x) >> 22) + without_the_last(x) & ALL, "one of them is a sum"),
    ("11-2", "returns another number", lambda x: x, "of whose 32 bits"),
    ("11-2", "divides", lambda x: x / 2, "where it must be an integer"),
    ("11-3", "drops entries", ops.dropout, "single numbers are dropped"),
    ("11-3", "drops columns", lambda x, p, seed: x * ops.dropout(np.ones(x.shape[1]), p, seed), "columns are dropped"),
    ("11-3", "does not scale", unscaled_rows, "what is kept is not scaled"),
    ("11-3", "takes the first entry's", first_of_row, "its first number's place"),
    ("11-3", "inverts the mask", lambda x, p, seed: inverted(x, x[:, :1], p, seed), "the mask is inverted"),
    ("11-3", "scales twice", lambda x, p, seed: drop_rows(x, p, seed) / (1 - p), "the scale is applied twice"),
]
"""Exercise, mistake in words, answer, and what the verdict must say."""
