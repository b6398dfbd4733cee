"""A training step whose batch is shared out: each stream takes some of its samples.

Imports programs, parallel updates, modules and optimisers; a step on one stream is `forgenb.compile`.
"""

import copy
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from forgenb.backend import Stream
from forgenb.errors import ArgumentError
from forgenb.nn import Module
from forgenb.optim import Optimizer
from forgenb.routine import Program, recording
from forgenb.tensor import Tensor, from_array
from forgenb.train.parallel import ParallelUpdate, parallel_update
from forgenb.train.programs import Update, grad_update

__all__ = ["ShardedStep", "shares"]


def shares(samples: int, workers: int) -> list[slice]:
    """Which samples of a batch each worker takes: neighbours, as evenly as can be, the larger shares first.

    Raises
    ------
    ArgumentError
        If a worker would get none.
    """
    if workers > samples:
        raise ArgumentError(
            f"a batch of {samples} samples cannot be shared out over {workers} workers: use fewer, or a larger batch"
        )
    size, more = divmod(samples, workers)
    ends = [number * size + min(number, more) for number in range(workers + 1)]
    return [slice(begin, end) for begin, end in itertools.pairwise(ends)]


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

    Notes
    -----
    The gradients are summed in a fixed order (`tree_schedule`), so the bits of a step depend on the number of streams,
    and on nothing else.
    """

    def __init__(self, model: Module, optimizer: Optimizer, clip_norm: float | None, streams: Sequence[Stream]):
        self.model, self.optimizer, self.clip_norm, self.streams = model, optimizer, clip_norm, tuple(streams)
        self._made: dict[tuple, _Recorded] = {}

    def __call__(self, *arrays: np.ndarray) -> tuple[Tensor, Tensor | float]:
        """One step on a batch of arrays with a common first axis."""
        key = (self.model.training, *((a.shape, a.dtype) for a in arrays))
        if key not in self._made:
            self._made[key] = _Recorded(self, arrays)
        return self._made[key].run(arrays)


class _Recorded:
    """The parallel update for one shape of batches."""

    def __init__(self, step: ShardedStep, arrays: Sequence[np.ndarray]):
        self.step, self.parts = step, shares(len(arrays[0]), len(step.streams))
        self.models = [_share(step.model, part) for part in self.parts]
        self.inputs: list[list[Tensor]] = []
        updates = [self._update(model, part, arrays) for model, part in zip(self.models, self.parts)]
        self.norm, descent = self._descent(updates[0])
        self.update: ParallelUpdate = parallel_update(updates, descent, streams=step.streams)

    def _update(self, model: Any, part: slice, arrays: Sequence[np.ndarray]) -> Update:
        backend = next(iter(self.step.optimizer.params.values())).backend
        inputs = [from_array(a[part], backend) for a in arrays]
        self.inputs.append(inputs)
        with recording() as recorder:
            recorder.inputs = inputs
            loss = model.loss(*inputs) * ((part.stop - part.start) / len(arrays[0]))
        loss.name = "loss"
        return grad_update(loss)

    def _descent(self, update: Update) -> tuple[Any, Program]:
        self.step.optimizer.zero_grad()
        for p, grad in zip(update.params, update.grads):
            p.grad = grad
        with recording() as recorder:
            norm = self.step.optimizer.step(clip_norm=self.step.clip_norm)
        return norm, Program(recorder.statements, "update", recorder)

    def run(self, arrays: Sequence[np.ndarray]) -> tuple[Tensor, Any]:
        for model, part in zip(self.models, self.parts):
            _follow(model, self.step.model, part)
        self.update.step([list(zip(i, (a[part] for a in arrays))) for i, part in zip(self.inputs, self.parts)])
        return self.update.loss, self.norm


def _share(model: Module, part: slice) -> Module:
    """A model over the same parameters that counts its samples from another number on."""
    found = copy.copy(model)
    _follow(found, model, part)
    return found


def _follow(share: Any, model: Any, part: slice) -> None:
    """Give a share of a model the state of dropout that the model has now."""
    if hasattr(model, "dropout_first"):
        share.dropout_seed, share.dropout_first = model.dropout_seed, model.dropout_first + part.start
