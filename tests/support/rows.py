"""What the tests of the op table share: samples in a dtype, calls, references."""

import functools
import zlib

import numpy as np

import forgenb as fnb
from forgenb.ops import TABLE

NAMES = sorted(TABLE)
FORWARD = [name for name in NAMES if not TABLE[name].in_place]


@functools.cache
def samples(name):
    """All samples of a row, the same in every test."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return [([np.asarray(a) for a in arrays], keywords) for arrays, keywords in TABLE[name].samples(rng)]


def cast(arrays, dtype):
    """Float arrays rounded to `dtype`; others as they are."""
    return [a.astype(dtype) if a.dtype.kind == "f" else a for a in arrays]


def several(result):
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def call(name, tensors, keywords):
    """The op's results as a tuple of tensors."""
    return several(TABLE[name].function(*tensors, **keywords))


def expected(name, arrays, keywords):
    """The reference's results in float64, from inputs that are rounded already."""
    with np.errstate(all="ignore"):
        found = TABLE[name].reference(*cast(arrays, np.float64), **keywords)
    return [np.asarray(r) for r in several(found)]


def tracked(arrays):
    """Tensors of the arrays, each float one a leaf."""
    return [fnb.tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays]


def bits(tensors):
    return [(t.shape, t.dtype.name, np.ascontiguousarray(t.numpy()).tobytes()) for t in tensors]


def cotangent(t):
    """The same numbers for every dtype: multiples of 1/64, which float16 holds exactly."""
    values = np.random.default_rng(0).integers(-64, 64, t.shape) / 64
    return fnb.tensor(np.asarray(values).astype(t.dtype))
