"""How many bytes of tensors are alive at once, in a piece of code.

Imports the seam, which hands each new block to whoever measures.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager

from . import seam

__all__ = ["PeakMemory", "peak_memory"]


class PeakMemory:
    """Bytes of the blocks that were allocated since it began and that something still refers to.

    Attributes
    ----------
    nbytes : int
        The most that were alive at once.
    now : int
        Alive now.
    """

    def __init__(self):
        self.nbytes = self.now = 0
        self._alive: set[weakref.ref] = set()

    def add(self, memory, nbytes: int) -> None:
        """Count a new block until it is collected."""

        def gone(reference: weakref.ref) -> None:
            self._alive.discard(reference)
            self.now -= nbytes

        self._alive.add(weakref.ref(memory, gone))
        self.now += nbytes
        self.nbytes = max(self.nbytes, self.now)


@contextmanager
def peak_memory() -> Iterator[PeakMemory]:
    """Measure the memory of tensors that are made in a ``with`` block.

    Returns
    -------
    context manager
        It gives a `PeakMemory`, to read inside the block or after it. Tensors that were there before do not count.
        Nor do those of a recorded step, whose ``routine.memory()`` has them.

    Examples
    --------
    >>> import forgenb as fnb
    >>> x = fnb.tensor([1.0] * 1000)
    >>> with fnb.peak_memory() as peak:
    ...     y = ((x + 1.0) * 2.0).sum()
    >>> peak.nbytes >= 8000
    True
    """
    found = PeakMemory()
    seam.METERS.append(found)
    try:
        yield found
    finally:
        seam.METERS.remove(found)
