"""Answers to the exercises of chapter 03."""

from forgenb import ops, tensor


def sum_to(dout, shape):
    dout = dout.sum(tuple(range(dout.ndim - len(shape))))
    return dout.sum(tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True).reshape(shape)


def without_axes(dout, shape):
    dout = dout.sum(tuple(range(dout.ndim - len(shape))))
    return dout.sum(tuple(i for i, n in enumerate(shape) if n == 1))


def outer_rule(dout, x, y):
    return (dout * y.reshape((1, -1))).sum(1), (dout * x.reshape((-1, 1))).sum(0)


def mean_rule(dout, x):
    return ops.broadcast_to(dout, x.shape) / x.shape[0]


RIGHT = {"03-1": sum_to, "03-2": outer_rule, "03-3": mean_rule}

WRONG = [
    ("03-1", "loses axes of length 1", without_axes, "an axis of length 1 is lost"),
    ("03-1", "returns a tensor", lambda dout, shape: tensor(sum_to(dout, shape)), "a NumPy array is asked for"),
    ("03-1", "returns the cotangent", lambda dout, shape: dout, "comes back as it was"),
    (
        "03-1",
        "forgets axes of length 1",
        lambda dout, shape: dout.sum(tuple(range(dout.ndim - len(shape)))),
        "an axis of length 1 was repeated too",
    ),
    (
        "03-1",
        "takes the mean",
        lambda dout, shape: sum_to(dout, shape) * (sum_to(dout, shape).size / dout.size),
        "a mean is taken",
    ),
    ("03-1", "takes the first", lambda dout, shape: dout[(0,) * (dout.ndim - len(shape))], "one of the repetitions"),
    ("03-1", "returns nothing", lambda dout, shape: None, "returns None"),
    (
        "03-2",
        "sums over the other axis",
        lambda dout, x, y: ((dout * y.reshape((1, -1))).sum(0), (dout * x.reshape((-1, 1))).sum(1)),
        "sum runs over the wrong axes",
    ),
    (
        "03-2",
        "forgets to sum",
        lambda dout, x, y: (dout * y.reshape((1, -1)), dout * x.reshape((-1, 1))),
        "not summed over",
    ),
    (
        "03-2",
        "swaps the gradients",
        lambda dout, x, y: outer_rule(dout, x, y)[::-1],
        "usual mistake",
    ),
    ("03-3", "forgets to divide", lambda dout, x: ops.broadcast_to(dout, x.shape), "a division by 4 is missing"),
    (
        "03-3",
        "divides by the columns",
        lambda dout, x: mean_rule(dout, x) * x.shape[0] / x.shape[1],
        "the other axis",
    ),
    (
        "03-3",
        "divides by all numbers",
        lambda dout, x: ops.broadcast_to(dout, x.shape) / x.size,
        "a factor 1/3",
    ),
    (
        "03-2",
        "returns one",
        lambda dout, x, y: outer_rule(dout, x, y)[0],
        "it returns 1 gradient",
    ),
    (
        "03-3",
        "returns an array",
        lambda dout, x: mean_rule(dout, x).numpy(),
        "it returns an ndarray",
    ),
]
"""Exercise, mistake in words, answer, and what the verdict must say."""
