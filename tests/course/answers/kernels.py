"""Answers to the exercises of chapter 04."""

from types import FunctionType

import numpy as np

from forgenb.kernel import bind
from forgenb.kernel.primitives import absolute, accumulate, lane_sum, lanes, put, real


def softsign_grad(x, dout):
    size = 1.0 + absolute(x)
    return dout / (size * size)


def centre_row(row, x, out):
    n = x.shape[1]
    s = real(0)
    for j in lanes(n):
        s = accumulate(s, x[row, j])
    mean = lane_sum(s) / real(n)
    for j in lanes(n):
        put(out, (row, j), x[row, j] - mean)


def literal(value, dtype):
    if type(value) is tuple:
        return tuple(literal(v, dtype) for v in value)
    return dtype(value) if type(value) is float else value


def rebuilt(body, constants, names):
    return FunctionType(body.__code__.replace(co_consts=tuple(constants)), names, body.__name__)


def with_literals(body, dtype):
    return rebuilt(body, (literal(c, dtype) for c in body.__code__.co_consts), body.__globals__)


RIGHT = {"04-1": softsign_grad, "04-2": centre_row, "04-3": with_literals}


def not_squared(x, dout):
    return dout / (1.0 + absolute(x))


def without_dout(x, dout):
    size = 1.0 + absolute(x)
    return 1.0 / (size * size)


def without_absolute(x, dout):
    return dout / ((1.0 + x) * (1.0 + x))


def slope_of_absolute_is_one(x, dout):
    size = 1.0 + absolute(x)
    return dout * (size - x) / (size * size)


def in_float64(x, dout):
    size = 1.0 + absolute(x)
    return (dout / (size * size)).item()


def no_lane_sum(row, x, out):
    s = real(0)
    for j in lanes(x.shape[1]):
        s = accumulate(s, x[row, j])
    for j in lanes(x.shape[1]):
        put(out, (row, j), x[row, j] - s / real(x.shape[1]))


def each_adds_all(row, x, out):
    s = real(0)
    for j in range(x.shape[1]):
        s = accumulate(s, x[row, j])
    mean = lane_sum(s) / real(x.shape[1])
    for j in lanes(x.shape[1]):
        put(out, (row, j), x[row, j] - mean)


def each_writes_all(row, x, out):
    s = real(0)
    for j in lanes(x.shape[1]):
        s = accumulate(s, x[row, j])
    mean = lane_sum(s) / real(x.shape[1])
    for j in range(x.shape[1]):
        put(out, (row, j), x[row, j] - mean)


def not_divided(row, x, out):
    s = real(0)
    for j in lanes(x.shape[1]):
        s = accumulate(s, x[row, j])
    total = lane_sum(s)
    for j in lanes(x.shape[1]):
        put(out, (row, j), x[row, j] - total)


def by_rows(row, x, out):
    s = real(0)
    for j in lanes(x.shape[1]):
        s = accumulate(s, x[row, j])
    mean = lane_sum(s) / real(x.shape[0])
    for j in lanes(x.shape[1]):
        put(out, (row, j), x[row, j] - mean)


def nothing(row, x, out):
    lane_sum(real(0))


def numbers_too(body, dtype):
    change = [dtype(c) if isinstance(c, int | float) else literal(c, dtype) for c in body.__code__.co_consts]
    return rebuilt(body, change, body.__globals__)


def no_tuples(body, dtype):
    change = [dtype(c) if type(c) is float else c for c in body.__code__.co_consts]
    return rebuilt(body, change, body.__globals__)


def in_place(body, dtype):
    body.__code__ = with_literals(body, dtype).__code__
    return body


def with_numpy(x, dout):
    size = 1.0 + np.abs(x)
    return dout / (size * size)


def with_builtin(x, dout):
    size = 1.0 + abs(x)
    return dout / (size * size)


def with_power(x, dout):
    return dout / (1.0 + absolute(x)) ** 2


def each_sums_all(row, x, out):
    s = real(0)
    for j in range(x.shape[1]):
        s = accumulate(s, x[row, j])
    for j in lanes(x.shape[1]):
        put(out, (row, j), x[row, j] - s / real(x.shape[1]))


def sums_by_numpy(row, x, out):
    mean = x[row].sum() / real(x.shape[1])
    for j in lanes(x.shape[1]):
        put(out, (row, j), x[row, j] - mean)


def means_by_numpy(row, x, out):
    mean = x.mean()
    for j in lanes(x.shape[1]):
        put(out, (row, j), x[row, j] - mean)


def in_one_loop(row, x, out):
    s = real(0)
    for j in lanes(x.shape[1]):
        s = accumulate(s, x[row, j])
        put(out, (row, j), x[row, j] - lane_sum(s) / real(x.shape[1]))


def sum_in_a_loop(row, x, out):
    s = real(0)
    for j in lanes(x.shape[1]):
        s = accumulate(s, x[row, j])
    for j in lanes(x.shape[1]):
        put(out, (row, j), x[row, j] - lane_sum(s) / real(x.shape[1]))


WRONG = [
    ("04-2", "has one loop", in_one_loop, "used before all of the row is in it"),
    ("04-2", "calls lane_sum in a loop", sum_in_a_loop, "each must call it as often as the others"),
    ("04-1", "calls NumPy", with_numpy, "uses the module np"),
    ("04-1", "calls abs", with_builtin, "uses the function abs"),
    ("04-1", "takes a power", with_power, "uses **"),
    ("04-2", "sums the whole row in every lane", each_sums_all, "lanes read numbers that belong to other lanes"),
    ("04-2", "sums a slice", sums_by_numpy, "a kernel reads one number at a time"),
    ("04-2", "calls a method", means_by_numpy, "NumPy's methods are no words"),
    ("04-3", "calls bind", lambda body, dtype: bind(body, {}, dtype), "It calls bind"),
    ("04-1", "does not square", not_squared, "the denominator is not squared"),
    ("04-1", "forgets dout", without_dout, "dout does not count"),
    ("04-1", "forgets the absolute value", without_absolute, "the absolute value is left out"),
    ("04-1", "takes the slope of |x| to be 1", slope_of_absolute_is_one, "the slope of |x| is taken to be 1"),
    ("04-1", "leaves the dtype", in_float64, "x and dout in float32 the result is of type float:"),
    ("04-1", "is no function", np.negative, "A body is a function written with def, and this is ufunc"),
    ("04-2", "forgets lane_sum", no_lane_sum, "what it has added up itself"),
    ("04-2", "adds up in every lane", each_adds_all, "each lane adds up the whole row"),
    ("04-2", "writes in every lane", each_writes_all, "a lane writes numbers that belong to other lanes"),
    ("04-2", "takes the sum away", not_divided, "the sum of the row is taken away"),
    ("04-2", "divides by the rows", by_rows, "divided by the number of rows"),
    ("04-2", "writes nothing", nothing, "nothing is written"),
    ("04-3", "changes whole numbers", numbers_too, "has become np.float32(3.0), and it is no float literal"),
    ("04-3", "forgets tuples", no_tuples, "in the tuple the literal 0.5 is still a Python float"),
    ("04-3", "changes the body", in_place, "the body itself is changed"),
    ("04-3", "returns code", lambda body, dtype: with_literals(body, dtype).__code__, "returns code, which is no"),
    (
        "04-3",
        "forgets the globals",
        lambda body, dtype: rebuilt(body, with_literals(body, dtype).__code__.co_consts, {}),
        "has not the globals of body",
    ),
]
"""Exercise, mistake in words, answer, and what the verdict must say."""
