"""Batches of any arrays in shuffled epochs, and one process's share of each.

A source of batches is a function of the step alone. Imports NumPy and `forgenb.random`; no state is kept, apart from
the order of the present epoch, which is drawn again where it is not at hand.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forgenb import random
from forgenb.errors import ArgumentError, ShapeError

__all__ = ["Batches", "Share"]


class Batches:
    """Rows of arrays in batches; in an epoch each row comes once, in an order that the seed and the epoch decide.

    Rows that do not fill the last batch of an epoch are left out of it; each epoch leaves out others.

    Parameters
    ----------
    arrays : sequence of array
        ``(n, ...)`` each, such as inputs and targets.
    size : int
        Rows in a batch, from 1 to n.
    seed : int
        Of the orders.

    Attributes
    ----------
    steps_per_epoch : int
        ``n // size``.

    Raises
    ------
    ShapeError
        If the arrays have no axis, or not the same number of rows.
    ArgumentError
        If there are none, or `size` is out of range.

    Examples
    --------
    >>> batches = Batches((np.arange(10), np.arange(10) ** 2), 4, seed=1)
    >>> inputs, targets = batches(0)
    >>> inputs.shape, bool((targets == inputs**2).all()), batches.steps_per_epoch
    ((4,), True, 2)
    """

    def __init__(self, arrays: Sequence[ArrayLike], size: int, seed: int = 0):
        self.arrays = tuple(np.asarray(array) for array in arrays)
        if not self.arrays:
            raise ArgumentError("Batches needs at least one array, got none.")
        shapes = [array.shape for array in self.arrays]
        if not all(shapes) or len({shape[0] for shape in shapes}) > 1:
            raise ShapeError(
                f"Batches needs arrays with the same number of rows, got the shapes {', '.join(map(str, shapes))}."
            )
        rows = len(self.arrays[0])
        if type(size) is not int or not 1 <= size <= rows:
            raise ArgumentError(f"A batch of {rows} rows has a size from 1 to {rows}, got {size!r}.")
        self.size, self.seed, self.steps_per_epoch = size, seed, rows // size
        self._drawn = -1
        self._order = self._order_of(0)

    def __call__(self, step: int) -> tuple[NDArray, ...]:
        """The rows of a step, from 0: one ``(size, ...)`` of each array."""
        if not hasattr(step, "__index__") or isinstance(step, bool) or step < 0:
            raise ArgumentError(f"Batches gives the batch of a step, a whole number from 0, and got {step!r}")
        epoch, place = divmod(step, self.steps_per_epoch)
        rows = self._order_of(epoch)[place * self.size : (place + 1) * self.size]
        return tuple(array[rows] for array in self.arrays)

    def _order_of(self, epoch: int) -> NDArray[np.int64]:
        """The rows in the order of raw random words, which no version of NumPy will change."""
        if epoch != self._drawn:
            source = random.generator(self.seed, "epoch", epoch).bit_generator
            self._order = np.argsort(source.random_raw(len(self.arrays[0])), kind="stable")
            self._drawn = epoch
        return self._order


class Share:
    """The part of each batch that one of several processes works on.

    Parameters
    ----------
    batches : callable
        Maps a step to a tuple of arrays with a common first axis.
    part : slice
        Which samples of a batch, without a step: one of `forgenb.train.shares`.

    Raises
    ------
    ArgumentError
        If `part` is no such slice. When a batch is asked for: if it has fewer samples.
    """

    def __init__(self, batches: Callable[[int], Sequence], part: slice):
        if not isinstance(part, slice) or part.step is not None or not _is_range(part.start, part.stop):
            raise ArgumentError(f"A share of a batch is a slice with a begin and an end after it, got {part!r}.")
        self.batches, self.part = batches, part
        self.steps_per_epoch: int | None = getattr(batches, "steps_per_epoch", None)

    def __call__(self, step: int) -> tuple:
        """The samples of a step that are in this share."""
        arrays = self.batches(step)
        for array in arrays:
            if len(array) < self.part.stop:
                raise ArgumentError(
                    f"The batch of step {step} has {len(array)} samples, so there is no share of it from "
                    f"{self.part.start} to {self.part.stop - 1}."
                )
        return tuple(array[self.part] for array in arrays)


def _is_range(begin: object, end: object) -> bool:
    return type(begin) is int and type(end) is int and 0 <= begin < end
