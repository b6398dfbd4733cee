"""Answers to the exercises of chapter 18."""

import numpy as np


def looks_back(attention, far):
    n = attention.shape[-1]
    return attention[:, :, np.arange(far, n), np.arange(n - far)].mean(axis=-1)


def logs(logits):
    logits = logits - logits.max(axis=-1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def bits(logits, ids):
    return np.append(0.0, -logs(logits)[np.arange(len(ids) - 1), ids[1:]] / np.log(2))


def by_head(mixed, weight):
    heads, _, d = mixed.shape
    return np.stack([mixed[h] @ weight[h * d : (h + 1) * d] for h in range(heads)])


RIGHT = {"18-1": looks_back, "18-2": bits, "18-3": by_head}


def unshifted(logits, ids):
    found = -logs(logits)[np.arange(len(ids)), ids] / np.log(2)
    found[0] = 0.0
    return found


def left_the_logarithm(logits, ids):
    p = np.exp(logs(logits))
    with np.errstate(divide="ignore"):
        return np.append(0.0, -np.log2(p[np.arange(len(ids) - 1), ids[1:]]))


def overflowing(logits, ids):
    with np.errstate(all="ignore"):
        p = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
        return np.append(0.0, -np.log2(p[np.arange(len(ids) - 1), ids[1:]]))


WRONG = [
    (
        "18-1",
        "looks ahead",
        lambda a, far: a[:, :, np.arange(a.shape[-1] - far), np.arange(far, a.shape[-1])].mean(axis=-1),
        "it looks ahead",
    ),
    (
        "18-1",
        "divides by all places",
        lambda a, far: np.trace(a, -far, 2, 3) / a.shape[-1],
        "the first have nobody so far before",
    ),
    ("18-1", "adds up", lambda a, far: np.trace(a, -far, 2, 3), "this is a sum"),
    ("18-1", "takes the last place", lambda a, far: a[:, :, -1, -1 - far], "only the last place"),
    ("18-1", "averages over heads", lambda a, far: looks_back(a, far).mean(axis=1), "over the heads too"),
    ("18-2", "returns nats", lambda logits, ids: bits(logits, ids) * np.log(2), "these are nats"),
    ("18-2", "forgets the sign", lambda logits, ids: -bits(logits, ids), "the sign is wrong"),
    ("18-2", "judges what was read", unshifted, "a row judges the id that it has read"),
    ("18-2", "leaves the first out", lambda logits, ids: bits(logits, ids)[1:], "the first id is missing"),
    ("18-2", "rounds to 0", left_the_logarithm, "small probabilities become 0"),
    ("18-2", "overflows", overflowing, "exponentials overflow"),
    (
        "18-2",
        "takes logits for logarithms",
        lambda logits, ids: np.append(0.0, -logits[np.arange(len(ids) - 1), ids[1:]]),
        "before they are normalised",
    ),
    ("18-3", "adds up", lambda mixed, weight: by_head(mixed, weight).sum(axis=0), "each should be by itself"),
    ("18-3", "gives all to all", lambda mixed, weight: mixed @ weight[: mixed.shape[2]], "the rows of the first"),
    (
        "18-3",
        "alternates",
        lambda mixed, weight: np.stack([m @ weight[h :: len(mixed)] for h, m in enumerate(mixed)]),
        "they do not alternate",
    ),
    ("18-3", "transposes", lambda mixed, weight: by_head(mixed, weight.T), "the matrix is transposed"),
]
"""Exercise, mistake in words, answer, and what the verdict must say."""
