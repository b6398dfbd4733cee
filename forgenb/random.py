"""Random numbers that are the same bits on every machine, backend and thread count.

Two generators, each for one purpose:

- `generator` is NumPy's Philox, keyed by a seed and a name. Initialisers, shuffles and batches draw from it
  on the host, so that parameters with different names are independent.
- `pcg_hash` is a counter hash: the draw for element ``i`` depends on the seed and ``i`` alone. Dropout uses
  it, so that a mask needs no storage and backward draws it again.

Nothing here reads or changes NumPy's global random state.

Imports NumPy and `forgenb.errors` only: no tensor is made here.
"""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forgenb.errors import ArgumentError

__all__ = [
    "default_seed",
    "dropout_keep",
    "dropout_scale",
    "fresh_name",
    "generator",
    "integers",
    "pcg_hash",
    "seed",
    "seeded",
    "site_seed",
]

_MASK32 = 0xFFFFFFFF
_default_seed = 0
_names_given = 0


def _checked(what: str, value: int) -> int:
    """`value` as a Python int in [0, 2**64), or an ArgumentError."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or not 0 <= value < 2**64:
        raise ArgumentError(f"{what} must be an integer from 0 to 2**64 - 1, got {value!r}.")
    return int(value)


def seed(n: int) -> None:
    """Set the seed that is used wherever a call is given none.

    Parameters
    ----------
    n
        From 0 to 2**64 - 1. The seed at start is 0.

    Raises
    ------
    ArgumentError
        `n` is not an integer of that range.
    """
    global _default_seed, _names_given
    _default_seed, _names_given = _checked("A seed", n), 0


def default_seed() -> int:
    """Return the seed last set with `seed`, or 0."""
    return _default_seed


@contextmanager
def seeded(n: int) -> Iterator[None]:
    """Use `n` as the default seed inside a ``with`` block and restore the former one after it."""
    global _default_seed, _names_given
    before = _default_seed, _names_given
    seed(n)
    try:
        yield
    finally:
        _default_seed, _names_given = before


def fresh_name(kind: str) -> str:
    """Return ``kind.0``, ``kind.1`` and so on: a stream's name for what was given none.

    The count starts again with `seed`, so that the same program draws the same numbers.
    """
    global _names_given
    name = f"{kind}.{_names_given}"
    _names_given += 1
    return name


def generator(seed: int, name: str, step: int = 0) -> np.random.Generator:
    """Return the random stream of one seed, name and step.

    The key of the Philox 4x64 counter generator is ``(seed, crc32(name))`` and `step` is the highest word of
    its counter, so the streams of different steps never overlap and none needs the ones before it.

    Parameters
    ----------
    seed, step
        From 0 to 2**64 - 1.
    name
        What the numbers are for, such as a parameter's name.

    Raises
    ------
    ArgumentError
        `seed` or `step` is not an integer of that range.

    References
    ----------
    Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011.
    """
    key = np.array([_checked("A seed", seed), zlib.crc32(name.encode())], dtype=np.uint64)
    counter = np.array([0, 0, 0, _checked("A step", step)], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=counter))


def integers(source: np.random.Generator, high: int, count: int) -> NDArray[np.int64]:
    """Draw integers below `high`, each from one raw 64-bit output r as ``floor((r >> 11) / 2**53 * high)``.

    NumPy promises that a bit generator's raw outputs never change, but not what ``Generator.integers`` makes
    of them; a training run that resumes under another version must see the same batches.

    Parameters
    ----------
    source
        As `generator` returns it; it moves on by `count` outputs.
    high
        From 1 to 2**53.
    count
        How many to draw.

    Returns
    -------
    ``(count,)`` int64.
    """
    if not 1 <= high <= 2**53:
        raise ArgumentError(f"integers draws below a bound from 1 to 2**53, got {high!r}.")
    raw: NDArray[np.uint64] = source.bit_generator.random_raw(count)
    uniform = (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return np.floor(uniform * high).astype(np.int64)


def pcg_hash(x: ArrayLike) -> NDArray[np.uint32]:
    r"""Hash 32-bit integers to 32 well mixed bits.

    .. math::
        s &= 747796405\,x + 2891336453 \\
        w &= 277803737\,\bigl((s \gg ((s \gg 28) + 4)) \oplus s\bigr) \\
        h &= (w \gg 22) \oplus w \qquad \text{all modulo } 2^{32}

    Parameters
    ----------
    x
        Integers of any shape; taken modulo 2**32.

    Returns
    -------
    uint32 of the shape of `x`.

    References
    ----------
    Jarzynski, Olano: "Hash functions for GPU rendering", 2020 (the function ``pcg``).
    """
    x = np.asarray(x)
    word = x.astype(np.uint32).reshape(-1)
    state = word * np.uint32(747796405) + np.uint32(2891336453)
    shift = (state >> np.uint32(28)) + np.uint32(4)
    word = ((state >> shift) ^ state) * np.uint32(277803737)
    return ((word >> np.uint32(22)) ^ word).reshape(x.shape)


def site_seed(seed: int, site: int) -> int:
    """Return the 32-bit seed of one dropout site: ``seed * 0x9E3779B1 + site * 0x85EBCA77`` modulo 2**32.

    Parameters
    ----------
    seed
        The pass's seed.
    site
        Which dropout of the pass; the first is 1.
    """
    return (seed * 0x9E3779B1 + site * 0x85EBCA77) & _MASK32


def _checked_rate(p: float) -> float:
    if not 0 <= p < 1:
        raise ArgumentError(f"A dropout rate p must satisfy 0 <= p < 1, got {p!r}.")
    return p


def dropout_keep(n: int, p: float, seed: int, offset: int = 0) -> NDArray[np.bool_]:
    """Return which of `n` elements dropout keeps; the reference for every backend's kernel.

    Element i is kept where ``u(i) >= float32(p)``, with
    ``u(i) = (pcg_hash(seed ^ (i * 0x9E3779B9)) >> 8) / 2**24``.

    Parameters
    ----------
    n
        How many elements.
    p
        The rate that is dropped, ``0 <= p < 1``.
    seed
        Taken modulo 2**32.
    offset
        The index of the first element, so that a part draws what the whole would have drawn there.

    Returns
    -------
    ``(n,)`` bool.

    Raises
    ------
    ArgumentError
        `p` is not in that range.
    """
    rate = np.float32(_checked_rate(p))
    index = np.arange(offset, offset + n, dtype=np.int64).astype(np.uint32)
    bits = pcg_hash(np.uint32(seed & _MASK32) ^ (index * np.uint32(0x9E3779B9)))
    return (bits >> 8).astype(np.float32) * np.float32(2.0**-24) >= rate


def dropout_scale(p: float) -> np.float32:
    """Return ``float32(1 / (1 - p))``, by which kept elements are multiplied.

    It is computed here once and handed to every backend, since a device's own division may differ in the last
    bit.

    Raises
    ------
    ArgumentError
        `p` is not in ``0 <= p < 1``.
    """
    return np.float32(1 / (1 - _checked_rate(p)))
