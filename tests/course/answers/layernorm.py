"""Answers to the exercises of chapter 09."""

import numpy as np

from forgenb import ops


def normalize(x, eps):
    c = x - x.mean(-1, keepdims=True)
    return c / np.sqrt((c * c).mean(-1, keepdims=True) + eps)


def variance_rule(dout, x):
    return dout.reshape(-1, 1) * (x - x.mean(-1, keepdims=True)) * (2 / x.shape[-1])


def root(x):
    return (ops.square(x).mean(-1, keepdims=True) + 1e-5) ** -0.5


def rms_norm_rule(dout, x, gamma):
    r, g = root(x), dout * gamma
    x_hat = x * r
    return r * (g - x_hat * (g * x_hat).mean(-1, keepdims=True)), (dout * x_hat).sum(0)


RIGHT = {"09-1": normalize, "09-2": variance_rule, "09-3": rms_norm_rule}


def mean_and_spread(x, axis=-1):
    return x.mean(axis, keepdims=True), x.std(axis, keepdims=True)


def eps_outside(x, eps):
    mean, spread = mean_and_spread(x)
    return (x - mean) / (spread + eps)


def no_eps(x, eps):
    mean, spread = mean_and_spread(x)
    return (x - mean) / spread


def by_one_less(x, eps):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, ddof=1, keepdims=True) + eps)


def by_variance(x, eps):
    return (x - x.mean(-1, keepdims=True)) / (x.var(-1, keepdims=True) + eps)


def by_sum(x, eps):
    c = x - x.mean(-1, keepdims=True)
    return c / np.sqrt((c * c).sum(-1, keepdims=True) + eps)


def first_axis(x, eps):
    mean, spread = mean_and_spread(x, 0)
    return (x - mean) / np.sqrt(spread**2 + eps)


def whole_array(x, eps):
    return (x - x.mean()) / np.sqrt(x.var() + eps)


def one_pass(x, eps):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) / np.sqrt((x**2).mean(-1, keepdims=True) - mean**2 + eps)


def not_centred(x, eps):
    return x / np.sqrt(x.var(-1, keepdims=True) + eps)


def without_sums(dout, x, gamma):
    r = root(x)
    return r * dout * gamma, (dout * x * r).sum(0)


def as_layernorm(dout, x, gamma):
    dx, dgamma = rms_norm_rule(dout, x, gamma)
    return dx - (dout * gamma).mean(-1, keepdims=True) * root(x), dgamma


def sum_for_mean(dout, x, gamma):
    r, g = root(x), dout * gamma
    x_hat = x * r
    return r * (g - x_hat * (g * x_hat).sum(-1, keepdims=True)), (dout * x_hat).sum(0)


def plus(dout, x, gamma):
    r, g = root(x), dout * gamma
    x_hat = x * r
    return r * (g + x_hat * (g * x_hat).mean(-1, keepdims=True)), (dout * x_hat).sum(0)


def every_row(dout, x, gamma):
    return rms_norm_rule(dout, x, gamma)[0], dout * x * root(x)


def raw_input(dout, x, gamma):
    return rms_norm_rule(dout, x, gamma)[0], (dout * x).sum(0)


WRONG = [
    ("09-1", "adds eps outside", eps_outside, "eps is added to the root"),
    ("09-1", "leaves eps out", no_eps, "eps is left out"),
    ("09-1", "divides by n - 1", by_one_less, "divided by n - 1"),
    ("09-1", "takes no root", by_variance, "divided by the variance"),
    ("09-1", "takes the first axis", first_axis, "along the first axis"),
    ("09-1", "takes the whole array", whole_array, "of the whole array"),
    ("09-1", "subtracts squares", one_pass, "the variance loses its digits"),
    ("09-1", "does not centre", not_centred, "the mean is not taken away"),
    ("09-1", "sums the squares", by_sum, "the sum of the squares stands"),
    ("09-1", "centres alone", lambda x, eps: x - x.mean(-1, keepdims=True), "the spread is left as it was"),
    ("09-2", "forgets the 2", lambda dout, x: variance_rule(dout, x) / 2, "a factor 2 is missing"),
    ("09-2", "forgets 1 / n", lambda dout, x: variance_rule(dout, x) * x.shape[-1], "division by"),
    ("09-2", "takes x", lambda dout, x: dout.reshape(-1, 1) * x * (2 / x.shape[-1]), "its mean along axis 1"),
    ("09-2", "forgets dout", lambda dout, x: (x - x.mean(-1, keepdims=True)) * (2 / x.shape[-1]), "incoming gradient"),
    ("09-2", "turns the sign", lambda dout, x: -variance_rule(dout, x), "the sign is wrong"),
    ("09-3", "leaves the sum out", without_sums, "one that comes through a sum or mean"),
    ("09-3", "takes the mean out too", as_layernorm, "as in layernorm"),
    ("09-3", "sums", sum_for_mean, "a mean inside the rule is a sum"),
    ("09-3", "adds the sum", plus, "the sign of one term is wrong"),
    ("09-3", "does not sum over rows", every_row, "not summed over the broadcast axes"),
    ("09-3", "takes x for x hat", raw_input, "the same along an axis, as a norm"),
]
"""Exercise, mistake in words, answer, and what the verdict must say."""
