"""Wrong rules of functions that move, pick, join and repeat entries."""

import numpy as np

from forgenb import ops

from .case import (
    CHAIN,
    DROPPED,
    FACTOR,
    MASK,
    MEAN,
    OVERWRITTEN,
    SHIFT,
    SIGN,
    SWAPPED,
    TRANSPOSE,
    UNSUMMED,
    Problem,
    Wrong,
)

IDS = np.array([2, 0, 2, 2, 1])


def square(r):
    return (r.normal(size=(3, 3)),)


def placed(dout, shape, where):
    out = np.zeros(shape)
    out[where] = dout
    return out


def gathered(dout, rows):
    out = np.zeros((rows, dout.shape[1]))
    np.add.at(out, IDS, dout)
    return out


def joined(*halves):
    """One after the other, zeros for one that was not used."""
    return np.concatenate([np.zeros(3) if half is None else half for half in halves])


PROBLEMS = [
    Problem(
        "transpose",
        lambda x: ops.transpose(x),
        square,
        right=lambda dout, x: dout.T,
        wrong=[Wrong("not turned back", {TRANSPOSE}, lambda dout, x: dout)],
    ),
    Problem(
        "permuted axes",
        lambda x: ops.transpose(x, (2, 0, 1)),
        lambda r: (r.normal(size=(2, 2, 2)),),
        right=lambda dout, x: dout.transpose(1, 2, 0),
        wrong=[Wrong("the same permutation again", {TRANSPOSE}, lambda dout, x: dout.transpose(2, 0, 1))],
    ),
    Problem(
        "reshape",
        lambda x: ops.reshape(x, (4, 3)),
        lambda r: (r.normal(size=(3, 4)),),
        right=lambda dout, x: dout.reshape(3, 4),
        wrong=[Wrong("transposed, the shape fits", {TRANSPOSE}, lambda dout, x: dout.T)],
    ),
    Problem(
        "concat",
        lambda x, y: ops.concat([x, y]),
        lambda r: (r.normal(size=3), r.normal(size=3)),
        right=lambda dout, x, y: (dout[:3], dout[3:]),
        wrong=[
            Wrong("pieces changed places", {SWAPPED}, lambda dout, x, y: (dout[3:], dout[:3])),
            Wrong("cut one later", {SHIFT}, lambda dout, x, y: (dout[1:4], dout[3:])),
        ],
    ),
    Problem(
        "roll",
        lambda x: ops.roll(x, 2),
        lambda r: (r.normal(size=7),),
        right=lambda dout, x: np.roll(dout, -2),
        wrong=[
            Wrong("rolled on", {SIGN, TRANSPOSE}, lambda dout, x: np.roll(dout, 2)),
            Wrong("one short", {SHIFT}, lambda dout, x: np.roll(dout, -1)),
        ],
    ),
    Problem(
        "pad",
        lambda x: ops.pad(x, ((1, 1),)),
        lambda r: (r.normal(size=5),),
        right=lambda dout, x: dout[1:-1],
        wrong=[Wrong("starts at 0", {SHIFT}, lambda dout, x: dout[:5])],
    ),
    Problem(
        "slice",
        lambda x: x[1:4],
        lambda r: (r.normal(size=6),),
        right=lambda dout, x: placed(dout, 6, slice(1, 4)),
        wrong=[Wrong("one too early", {SHIFT}, lambda dout, x: placed(dout, 6, slice(3)))],
    ),
    Problem(
        "every second",
        lambda x: x[::2],
        lambda r: (r.normal(size=6),),
        right=lambda dout, x: placed(dout, 6, slice(0, None, 2)),
        wrong=[Wrong("the others", {SHIFT, MASK}, lambda dout, x: placed(dout, 6, slice(1, None, 2)))],
    ),
    Problem(
        "embedding",
        lambda table: ops.embedding(IDS, table),
        lambda r: (r.normal(size=(4, 3)),),
        right=lambda dout, table: gathered(dout, 4),
        wrong=[
            Wrong("= where += belongs", {OVERWRITTEN}, lambda dout, table: placed(dout, (4, 3), IDS)),
            Wrong("the row after it", {SHIFT}, lambda dout, table: np.roll(gathered(dout, 4), 1, axis=0)),
            Wrong(
                "repeats averaged",
                {MEAN},
                lambda dout, table: gathered(dout, 4) / np.maximum(np.bincount(IDS, minlength=4), 1)[:, None],
            ),
        ],
    ),
    Problem(
        "repeated",
        lambda x: ops.concat([x, x, x]),
        lambda r: (r.normal(size=4),),
        right=lambda dout, x: dout.reshape(3, 4).sum(axis=0),
        wrong=[
            Wrong("the last copy only", {OVERWRITTEN, DROPPED, UNSUMMED}, lambda dout, x: dout[8:]),
            Wrong("copies averaged", {MEAN, FACTOR}, lambda dout, x: dout.reshape(3, 4).mean(axis=0)),
        ],
    ),
    Problem(
        "lower triangle",
        ops.tril,
        lambda r: (r.normal(size=(4, 4)),),
        right=lambda dout, x: np.tril(dout),
        wrong=[
            Wrong("the upper one", {MASK, TRANSPOSE}, lambda dout, x: np.triu(dout)),
            Wrong("without the diagonal", {SHIFT}, lambda dout, x: np.tril(dout, -1)),
            Wrong("all of it", {MASK, CHAIN, FACTOR}, lambda dout, x: dout),
        ],
    ),
    Problem(
        "x + x.T",
        lambda x: x + ops.transpose(x),
        square,
        right=lambda dout, x: dout + dout.T,
        wrong=[
            Wrong("the second way overwrites the first", {OVERWRITTEN, DROPPED}, lambda dout, x: dout.T),
            Wrong("twice, not turned back", {TRANSPOSE}, lambda dout, x: dout + dout),
        ],
    ),
    Problem(
        "halves",
        lambda x: ops.split(x, 2),
        lambda r: (r.normal(size=6),),
        right=lambda da, db, x: joined(da, db),
        wrong=[Wrong("joined in the other order", {SWAPPED}, lambda da, db, x: joined(db, da))],
    ),
]
