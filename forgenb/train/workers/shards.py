"""A training step whose batch is shared out over streams.

Imports shares and parallel updates; a step on one stream is `forgenb.compile`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from forgenb.backend import Stream
from forgenb.errors import ArgumentError
from forgenb.nn import Module
from forgenb.optim import Optimizer
from forgenb.tensor import Tensor
from forgenb.train.workers.parallel import ParallelUpdate, parallel_update
from forgenb.train.workers.share import PartialUpdate, checked_workers, descent, samples_of, shares, variant

__all__ = ["ShardedStep"]


class ShardedStep:
    r"""A step of an optimiser on a batch of which each stream computes the gradient of a share.

    .. math:: L = \sum_i \frac{n_i}{n} L_i

    is the loss of the batch, for shares of :math:`n_i` of its n samples whose mean losses are :math:`L_i`. Call it with
    the batch; the result is (loss, gradient norm before clipping).

    Parameters
    ----------
    model : Module
        With ``loss(*arrays)``, the mean over the samples of its batch, and perhaps ``dropout_first``, the number of the
        first sample for its masks (`forgenb.models.GPT`): masks are then those of the whole batch.
    optimizer : Optimizer
        Of the model's parameters.
    clip_norm : float or None
        See `Optimizer.step`.
    streams : sequence of Stream
        At most one a sample.

    Raises
    ------
    ArgumentError
        If an argument is none of that; in a call, if the arrays have different lengths or fewer samples than there are
        streams, the loss has dimensions, or the model cannot be copied.

    Notes
    -----
    The gradients are summed in a fixed order (`tree_schedule`), so the bits of a step depend on the number of streams,
    and on nothing else.
    """

    def __init__(self, model: Module, optimizer: Optimizer, clip_norm: float | None, streams: Sequence[Stream]):
        checked_workers("ShardedStep", model, optimizer, clip_norm)
        if not isinstance(streams, Sequence) or not streams or not all(isinstance(s, Stream) for s in streams):
            raise ArgumentError(
                f"ShardedStep needs a list of at least one stream (fnb.backend.Stream), got {streams!r}"
            )
        self.model, self.optimizer, self.clip_norm, self.streams = model, optimizer, clip_norm, tuple(streams)
        self._made: dict[tuple, tuple[list[PartialUpdate], ParallelUpdate, Any]] = {}

    def __call__(self, *arrays: np.ndarray) -> tuple[Tensor, Tensor | float]:
        """One step on a batch of arrays with a common first axis."""
        samples = samples_of(arrays, "ShardedStep")
        key = variant(self.model, arrays)
        if key not in self._made or self._made[key][1].changed():
            self._made[key] = self._record(arrays)
        parts, update, norm = self._made[key]
        cut = shares(samples, len(parts))
        update.step([part.values(a[where] for a in arrays) for part, where in zip(parts, cut, strict=True)])
        parts[0].lead()
        return update.loss, norm

    def _record(self, arrays: Sequence[np.ndarray]) -> tuple[list[PartialUpdate], ParallelUpdate, Any]:
        samples = len(arrays[0])
        cut = shares(samples, len(self.streams))
        parts = [PartialUpdate(self.model, [a[where] for a in arrays], where.start, samples) for where in cut]
        norm, program = descent(parts[0].update, self.optimizer, self.clip_norm)
        return parts, parallel_update([part.update for part in parts], program, streams=self.streams), norm
