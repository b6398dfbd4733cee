"""Answers to the exercises of chapter 21."""

import numpy as np

windows = np.lib.stride_tricks.sliding_window_view


def reach(window, dilation):
    return dilation * (window - 1) + 1


def places(size, window, stride, padding, dilation):
    return (size + 2 * padding - reach(window, dilation)) // stride + 1


def conv_rule(dout, x, w):
    dx, dw = np.zeros_like(x), np.zeros_like(w)
    for i, d in enumerate(dout):
        dx[i : i + len(w)] += d * w
        dw += d * x[i : i + len(w)]
    return dx, dw


def unfold(x, window):
    seen = windows(x, window)
    return seen.reshape(-1, window[0] * window[1]).T


RIGHT = {"21-1": places, "21-2": conv_rule, "21-3": unfold}


def with_dx(rule):
    return lambda dout, x, w: (rule(dout, x, w), conv_rule(dout, x, w)[1])


def with_dw(rule):
    return lambda dout, x, w: (conv_rule(dout, x, w)[0], rule(dout, x, w))


def overwritten(dout, x, w):
    dx = np.zeros_like(x)
    for i, d in enumerate(dout):
        dx[i : i + len(w)] = d * w
    return dx


def by_loops(x, window):
    return np.array(
        [
            [x[i + k, j + m] for i in range(x.shape[0] - window[0] + 1) for j in range(x.shape[1] - window[1] + 1)]
            for m in range(window[1])
            for k in range(window[0])
        ]
    )


def apart(x, window):
    return windows(x, window)[:: window[0], :: window[1]].reshape(-1, window[0] * window[1]).T


WRONG = [
    ("21-1", "forgets the first", lambda s, k, stride, p, d: places(s, k, stride, p, d) - 1, "even a window that just"),
    ("21-1", "pads one end", lambda s, k, stride, p, d: (s + p - reach(k, d)) // stride + 1, "at both ends"),
    ("21-1", "forgets padding", lambda s, k, stride, p, d: places(s, k, stride, 0, d), "padding is not counted"),
    ("21-1", "forgets the stride", lambda s, k, stride, p, d: places(s, k, 1, p, d), "the stride is not looked at"),
    ("21-1", "forgets the dilation", lambda s, k, stride, p, d: places(s, k, stride, p, 1), "the dilation is not"),
    (
        "21-1",
        "dilates all weights",
        lambda s, k, stride, p, d: (s + 2 * p - d * k) // stride + 1,
        "nothing follows its",
    ),
    ("21-1", "rounds up", lambda s, k, stride, p, d: -(-(s + 2 * p - reach(k, d)) // stride) + 1, "it rounds up"),
    ("21-1", "does not round", lambda s, k, stride, p, d: (s + 2 * p - reach(k, d)) / stride + 1, "it is not rounded"),
    ("21-2", "does not turn", with_dx(lambda dout, x, w: np.convolve(dout, w[::-1])), "has to be turned around"),
    ("21-2", "does not pad", with_dx(lambda dout, x, w: np.correlate(dout, w[::-1], "valid")), "pad the gradient"),
    ("21-2", "overwrites", with_dx(overwritten), "overwrites what an earlier one gave"),
    ("21-2", "swaps the gradients", lambda *given: conv_rule(*given)[::-1], "each other's place"),
    ("21-2", "turns the result", with_dw(lambda *given: conv_rule(*given)[1][::-1]), "the first weight met the first"),
    ("21-2", "turns the gradient", with_dw(lambda dout, x, w: conv_rule(dout[::-1], x, w)[1]), "nothing is turned"),
    ("21-2", "takes one place", with_dw(lambda dout, x, w: dout[0] * x[: len(w)]), "one place is taken"),
    ("21-2", "forgets dout", with_dw(lambda dout, x, w: conv_rule(dout**0, x, w)[1]), "is left out"),
    ("21-2", "returns one gradient", lambda *given: conv_rule(*given)[0], "a pair (dx, dw) is asked for"),
    ("21-3", "exchanges rows and columns", lambda x, window: unfold(x, window).T, "rows and columns are exchanged"),
    ("21-3", "numbers weights by column", by_loops, "the weights are numbered column by column"),
    ("21-3", "turns the window", lambda x, window: unfold(x, window)[::-1], "the weights are numbered from the last"),
    ("21-3", "leaves gaps", apart, "the windows do not overlap"),
    ("21-3", "keeps four axes", lambda x, window: windows(x, window).transpose(2, 3, 0, 1), "are to be made one"),
    (
        "21-3",
        "reshapes without turning",
        lambda x, window: windows(x, window).reshape(window[0] * window[1], -1),
        "without turning",
    ),
]
"""Exercise, mistake in words, answer, and what the verdict must say."""
