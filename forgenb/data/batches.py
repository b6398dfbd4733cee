"""Windows over a sequence of ids: all of them in order, or a random batch of them.

A window that starts at ``s`` is the input ``ids[s : s + t]`` with the target ``ids[s + 1 : s + t + 1]``, so a
sequence of ``n`` ids has ``n - t`` windows, the last of which starts at ``n - t - 1``.

Imports NumPy and `forgenb.random`; a batch depends on the seed and the step alone, so no state may be kept here.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forgenb import random
from forgenb.data.ids import as_ids
from forgenb.errors import ArgumentError

__all__ = ["batch", "batch_starts", "windows"]

Ids = NDArray[np.int64]


def _window_count(length: int, context: int) -> int:
    """How many windows there are; an ArgumentError where there is none."""
    if context < 1:
        raise ArgumentError(f"A window needs a context of at least 1, got {context!r}.")
    if length <= context:
        raise ArgumentError(
            f"A context of {context} needs at least {context + 1} ids, got {length}; "
            "use a longer text or a smaller context."
        )
    return length - context


def _gather(ids: Ids, starts: Ids, context: int) -> tuple[Ids, Ids]:
    at = starts[:, None] + np.arange(context)
    return ids[at], ids[at + 1]


def windows(ids: ArrayLike, context: int) -> tuple[Ids, Ids]:
    """Return every window that starts at a multiple of `context`, for an evaluation that never varies.

    Parameters
    ----------
    ids
        ``(n,)`` integers.
    context
        Ids in a window, ``t``.

    Returns
    -------
    inputs, targets
        Each ``((n - 1) // t, t)`` int64. Ids after the last full window are left out.

    Raises
    ------
    ArgumentError
        There is no window: `ids` is shorter than ``t + 1``, or `context` below 1.
    """
    array = as_ids(ids)
    count = _window_count(len(array), context)
    return _gather(array, np.arange(0, count, context), context)


def batch_starts(length: int, context: int, batch: int, seed: int, step: int) -> Ids:
    """Return where the windows of one training step's batch start.

    They are drawn uniformly, with replacement, from the stream of (seed, "batch", step), so a run that
    resumes at a step draws what the first run would have drawn, with no state to save.

    Parameters
    ----------
    length
        Ids to choose from, ``n``.
    context, batch
        Ids in a window, ``t``, and windows in the batch, ``b``.
    seed, step
        See `forgenb.random.generator`.

    Returns
    -------
    ``(b,)`` int64 from 0 to ``n - t - 1``.

    Raises
    ------
    ArgumentError
        There is no window, or `batch` is below 1.
    """
    count = _window_count(length, context)
    if batch < 1:
        raise ArgumentError(f"A batch needs at least 1 window, got {batch!r}.")
    return random.integers(random.generator(seed, "batch", step), count, batch)


def batch(ids: ArrayLike, context: int, batch: int, seed: int, step: int) -> tuple[Ids, Ids]:
    """Return the inputs and targets of one training step; see `batch_starts` for how they are chosen.

    Parameters
    ----------
    ids
        ``(n,)`` integers.
    context, batch, seed, step
        As for `batch_starts`.

    Returns
    -------
    inputs, targets
        Each ``(b, t)`` int64.

    Raises
    ------
    ArgumentError
        There is no window, or `batch` is below 1.
    """
    array = as_ids(ids)
    return _gather(array, batch_starts(len(array), context, batch, seed, step), context)
