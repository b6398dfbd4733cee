"""Answers to the exercises of chapter 19."""

import numpy as np

import forgenb as fnb
from forgenb.kernel.elementary import cosh, exp, log, log1p
from forgenb.kernel.primitives import absolute, select


def half(x, y):
    return 0.5 * (x - y) / fnb.ops.sqrt((x - y) * (x - y) + 4.0)


def smooth_max_rule(dout, x, y):
    return dout * (0.5 + half(x, y)), dout * (0.5 - half(x, y))


def logcosh(x):
    a = absolute(x)
    return a + log1p(exp(-2.0 * a)) - 0.6931471805599453


def nearest(x, step):
    return fnb.tensor(np.rint(x.numpy() / step) * step)


def quantize(x, step):
    return fnb.custom_op(lambda x: nearest(x, step), lambda dout, x: dout)(x)


def with_rule(rule):
    return lambda x, step: fnb.custom_op(lambda x: nearest(x, step), lambda dout, x: rule(dout, x, step))(x)


def with_forward(f):
    return lambda x, step: fnb.custom_op(lambda x: fnb.tensor(f(x.numpy(), step)), lambda dout, x: dout)(x)


RIGHT = {"19-1": smooth_max_rule, "19-2": logcosh, "19-3": quantize}


def by_numpy(x):
    return np.log(np.cosh(x))


def as_written(x):
    return log(cosh(x))


def without_log_two(x):
    return absolute(x) + log1p(exp(-2.0 * absolute(x)))


def without_size(x):
    return x + log1p(exp(-2.0 * x)) - 0.6931471805599453


def one_exponential(x):
    return absolute(x) + log1p(exp(-absolute(x))) - 0.6931471805599453


def far_only(x):
    return absolute(x) - 0.6931471805599453


def short_constant(x):
    return absolute(x) + log1p(exp(-2.0 * absolute(x))) - 0.6931


def loses_infinity(x):
    return select(absolute(x) < 1e38, logcosh(x), absolute(x) * 0.0)


def two_arguments(x, y):
    return logcosh(x)


def cut(x):
    a = absolute(x)
    return select(a > 9.0, a - 0.6931471805599453, a + log1p(exp(-2.0 * a)) - 0.6931471805599453)


WRONG = [
    ("19-2", "leaves a part out above 9", cut, "which is right far away only"),
    ("19-1", "gives both the same", lambda dout, x, y: (dout * (0.5 + half(x, y)),) * 2, "both gradients are the same"),
    ("19-1", "swaps the gradients", lambda dout, x, y: smooth_max_rule(dout, x, y)[::-1], "usual mistake"),
    (
        "19-1",
        "forgets the half",
        lambda dout, x, y: (dout * (1.0 + 2.0 * half(x, y)), dout * (1.0 - 2.0 * half(x, y))),
        "every number is 2 times the right one",
    ),
    (
        "19-1",
        "forgets dout",
        lambda dout, x, y: (0.5 + half(x, y), 0.5 - half(x, y)),
        "incoming gradient",
    ),
    (
        "19-1",
        "leaves x + y out",
        lambda dout, x, y: (dout * half(x, y), dout * -half(x, y)),
        "only the root is differentiated",
    ),
    (
        "19-1",
        "gives one gradient",
        lambda dout, x, y: smooth_max_rule(dout, x, y)[0],
        "it returns 1 gradient",
    ),
    ("19-2", "uses NumPy", by_numpy, "uses the module np"),
    ("19-2", "writes the formula", as_written, "the result is inf at (0,), where it should be finite"),
    ("19-2", "forgets log 2", without_log_two, "a log 2 is missing"),
    ("19-2", "forgets negative x", without_size, "the result is inf at (1,), where it should be finite"),
    ("19-2", "has another exponent", one_exponential, "-2|x| is what is left"),
    ("19-2", "is right far away", far_only, "right far away only"),
    ("19-2", "rounds log 2", short_constant, "the numbers differ, most at"),
    ("19-2", "loses infinity", loses_infinity, "With inf the result is nan, which is not where"),
    ("19-2", "takes two numbers", two_arguments, "its parameters are ('x', 'y')"),
    ("19-3", "is not on the tape", nearest, "not on the tape"),
    ("19-3", "is the true derivative", with_rule(lambda dout, x, step: dout * 0.0), "this is the true slope, 0"),
    ("19-3", "returns None", with_rule(lambda dout, x, step: None), "the rule returns None"),
    ("19-3", "returns ones", with_rule(lambda dout, x, step: dout * 0.0 + 1.0), "1 whatever comes in"),
    ("19-3", "scales the gradient", with_rule(lambda dout, x, step: dout * step), "multiplied by the step"),
    ("19-3", "rounds the gradient", with_rule(lambda dout, x, step: nearest(dout, step)), "is rounded too"),
    ("19-3", "rounds to whole numbers", with_forward(lambda x, step: np.rint(x)), "divide by the step first"),
    ("19-3", "rounds down", with_forward(lambda x, step: np.floor(x / step) * step), "it rounds down"),
    ("19-3", "forgets to go back", with_forward(lambda x, step: np.rint(x / step)), "multiply by the step again"),
]
"""Exercise, mistake in words, answer, and what the verdict must say."""
