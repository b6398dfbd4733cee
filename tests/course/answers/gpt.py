"""Answers to the exercises of chapter 17."""

import numpy as np


def windows_at(ids, starts, context):
    inputs = np.stack([ids[s : s + context] for s in starts])
    return inputs, np.stack([ids[s + 1 : s + context + 1] for s in starts])


def count_parameters(vocab, context, layers, width, *, norms=2, biases=1, tied=True):
    def linear(n, m):
        return n * m + biases * m

    c = width
    block = linear(c, 3 * c) + linear(c, c) + linear(c, 4 * c) + linear(4 * c, c) + 2 * norms * c
    return (vocab + context) * c + layers * block + norms * c + (0 if tied else vocab * c)


def pick(logits, temperature, k, u):
    logits = np.where(logits >= np.sort(logits)[-k], logits, -np.inf) / temperature
    powers = np.exp(logits - logits.max())
    return int(np.argmax(np.cumsum(powers / powers.sum()) > u))


RIGHT = {"17-1": windows_at, "17-2": count_parameters, "17-3": pick}


def no_second_sum(logits, temperature, k, u):
    powers = np.exp((logits - logits.max()) / temperature)
    p = np.where(logits >= np.sort(logits)[-k], powers / powers.sum(), 0.0)
    return int(np.argmax(np.cumsum(p) > u))


def likeliest_first(logits, temperature, k, u, *, own=True):
    order = np.argsort(-logits)[:k]
    powers = np.exp((logits[order] - logits.max()) / temperature)
    place = int(np.argmax(np.cumsum(powers / powers.sum()) > u))
    return order[place] if own else place


def overflows(logits, temperature, k, u):
    powers = np.exp(np.where(logits >= np.sort(logits)[-k], logits, -np.inf) / temperature)
    return int(np.argmax(np.cumsum(powers / powers.sum()) > u))


def at_least(logits, temperature, k, u):
    kept = np.where(logits >= np.sort(logits)[-k], logits / temperature, -np.inf)
    powers = np.exp(kept - kept.max())
    return int(np.searchsorted(np.cumsum(powers / powers.sum()), u))


WRONG = [
    ("17-3", "stops at u itself", at_least, "with u = 0 it takes an id that was not kept"),
    ("17-2", "returns a float", lambda *a: float(count_parameters(*a)), "whole numbers are asked for"),
    ("17-3", "returns a float", lambda *a: float(pick(*a)), "whole numbers are asked for"),
    ("17-1", "repeats the inputs", lambda ids, starts, t: (windows_at(ids, starts, t)[0],) * 2, "inputs again"),
    (
        "17-1",
        "looks back",
        lambda ids, starts, t: (windows_at(ids, starts, t)[0], ids[np.array(starts)[:, None] + np.arange(-1, t - 1)]),
        "context=5, in the targets: they are one place before",
    ),
    (
        "17-1",
        "rolls the rows",
        lambda ids, starts, t: (windows_at(ids, starts, t)[0], np.roll(windows_at(ids, starts, t)[0], -1, axis=1)),
        "its last target is its own first id",
    ),
    (
        "17-1",
        "has one target a window",
        lambda ids, starts, t: (windows_at(ids, starts, t)[0], ids[np.array(starts) + t]),
        "each place has its own",
    ),
    ("17-1", "returns one array", lambda ids, starts, t: windows_at(ids, starts, t)[0], "must return two arrays"),
    ("17-2", "counts the head", lambda v, t, n, c: count_parameters(v, t, n, c, tied=False), "the head is counted too"),
    (
        "17-2",
        "forgets biases",
        lambda v, t, n, c: count_parameters(v, t, n, c, biases=0),
        "biases of the linear layers",
    ),
    ("17-2", "forgets shifts", lambda v, t, n, c: count_parameters(v, t, n, c, norms=1), "a shift besides its gain"),
    ("17-2", "forgets the last norm", lambda v, t, n, c: count_parameters(v, t, n, c) - 2 * c, "after the last block"),
    ("17-2", "forgets places", lambda v, t, n, c: count_parameters(v, 0, n, c), "table of places"),
    ("17-3", "takes the greatest", lambda logits, temperature, k, u: np.argmax(logits), "always takes the greatest"),
    ("17-3", "multiplies", lambda logits, temperature, k, u: pick(logits, 1 / temperature, k, u), "multiplies"),
    ("17-3", "ignores k", lambda logits, temperature, k, u: pick(logits, temperature, len(logits), u), "no effect"),
    ("17-3", "forgets to add up to 1", no_second_sum, "must add up to 1 again"),
    ("17-3", "sorts", likeliest_first, "their own order counts"),
    ("17-3", "returns a place", lambda *given: likeliest_first(*given, own=False), "no id"),
    ("17-3", "overflows", overflows, "exponentials overflow"),
]
"""Exercise, mistake in words, answer, and what the verdict must say."""
