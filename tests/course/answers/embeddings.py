"""Answers to the exercises of chapter 10."""

import numpy as np


def embedding_rule(dout, ids, words, places, pos):
    dwte, dwpe = np.zeros((words, dout.shape[-1])), np.zeros((places, dout.shape[-1]))
    np.add.at(dwte, ids, dout)
    dwpe[pos : pos + ids.shape[1]] = dout.sum(0)
    return dwte, dwpe


def blocks(ids, size):
    found = []
    for r in sorted(set(ids.tolist())):
        own = np.flatnonzero(ids == r).tolist()
        found += [own[start : start + size] for start in range(0, len(own), size)]
    return found


def running(numbers):
    total = np.float32(0)
    for number in numbers:
        total += number
    return total


def cut(x, size):
    return [x[start : start + size] for start in range(0, len(x), size)]


def blocked_sum(x, size):
    return running([running(block) for block in cut(x, size)])


RIGHT = {"10-1": embedding_rule, "10-2": blocks, "10-3": blocked_sum}


def last_wins(dout, ids, words, places, pos):
    dwte = np.zeros((words, dout.shape[-1]))
    dwte[ids] += dout
    return dwte, embedding_rule(dout, ids, words, places, pos)[1]


def mean_of_uses(dout, ids, words, places, pos):
    dwte, dwpe = embedding_rule(dout, ids, words, places, pos)
    return dwte / np.maximum(np.bincount(ids.ravel(), minlength=words), 1)[:, None], dwpe


def from_the_start(dout, ids, words, places, pos):
    return embedding_rule(dout, ids, words, places, 0)


def short_table(dout, ids, words, places, pos):
    return embedding_rule(dout, ids, words, places, pos)[0], dout.sum(0)


def mean_of_texts(dout, ids, words, places, pos):
    dwte, dwpe = embedding_rule(dout, ids, words, places, pos)
    return dwte, dwpe / len(ids)


def one_text(dout, ids, words, places, pos):
    dwte, dwpe = embedding_rule(dout, ids, words, places, pos)
    for text in dout:
        dwpe[pos : pos + ids.shape[1]] = text
    return dwte, dwpe


def whole_lists(ids, size):
    return blocks(ids, max(1, len(ids)))


def across(ids, size):
    return cut(np.argsort(ids, kind="stable").tolist(), size)


def of_ids(ids, size):
    return [[ids[i] for i in block] for block in blocks(ids, size)]


def backwards(ids, size):
    return [[*reversed(block)] for block in blocks(ids, size)]


def in_order_of_first_use(ids, size):
    return sorted(blocks(ids, size))


def every_row(ids, size):
    return [block for r in range(ids.max(initial=0) + 1) for block in cut(np.flatnonzero(ids == r), size) or [[]]]


def even(ids, size):
    found = []
    for r in sorted(set(ids.tolist())):
        own = np.flatnonzero(ids == r)
        found += [part.tolist() for part in np.array_split(own, -(-len(own) // size))]
    return found


def full_only(x, size):
    return running([running(block) for block in cut(x, size) if len(block) == size])


WRONG = [
    ("10-3", "returns a Python number", lambda x, size: float(blocked_sum(x, size)), "float32 is asked for"),
    ("10-1", "adds with an index", last_wins, "has the gradient of one of them"),
    ("10-1", "takes the mean of a word", mean_of_uses, "a word has the mean"),
    ("10-1", "ignores pos", from_the_start, "pos is not heeded"),
    ("10-1", "leaves places out", short_table, "need one of zeros"),
    ("10-1", "takes the mean of the texts", mean_of_texts, "a place has the mean"),
    ("10-1", "takes the last text", one_text, "the gradient of one text"),
    ("10-1", "returns one gradient", lambda *given: embedding_rule(*given)[0], "it must return two gradients"),
    ("10-1", "gathers", lambda dout, *given: (dout, embedding_rule(dout, *given)[1]), "they must be added up"),
    ("10-2", "lists a position twice", lambda ids, n: blocks(ids, n) * 2, "a position stands in two places"),
    ("10-2", "does not cut", whole_lists, "a block has more than 2 positions"),
    ("10-2", "cuts across ids", across, "positions of several ids"),
    ("10-2", "lists ids", of_ids, "ids in them, where they must have positions"),
    ("10-2", "goes backwards", backwards, "not in their order"),
    ("10-2", "goes by first use", in_order_of_first_use, "the ids do not come in order"),
    ("10-2", "has a block for each id", every_row, "there is an empty block"),
    ("10-2", "shares out evenly", even, "a block is not full"),
    ("10-2", "leaves rests out", lambda ids, n: [b for b in blocks(ids, n) if len(b) == n], "are missing or too many"),
    ("10-2", "returns one list", lambda ids, n: ids, "a list of lists of positions"),
    ("10-3", "does not cut", lambda x, n: running(x), "in one running total"),
    ("10-3", "leaves the rest out", full_only, "the last block is left out"),
    ("10-3", "sums by NumPy", lambda x, n: running([b.sum() for b in cut(x, n)]), "in an order of its own"),
    ("10-3", "sums in float64", lambda x, n: x.astype("float64").sum(), "in float64"),
    ("10-3", "sums all by NumPy", lambda x, n: x.sum(), "NumPy's sum of everything"),
    ("10-3", "reverses blocks", lambda x, n: running([running(b[::-1]) for b in cut(x, n)]), "from right to left"),
    ("10-3", "goes backwards", lambda x, n: running([running(b) for b in cut(x, n)][::-1]), "from last to first"),
]
"""Exercise, mistake in words, answer, and what the verdict must say."""
