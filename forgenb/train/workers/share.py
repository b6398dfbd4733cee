"""A worker's part of a batch: which samples it takes, their gradient update, and the descent on all of them.

Imports programs, modules and optimisers; who the workers are (streams, processes) is not known here.
"""

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from forgenb.errors import ArgumentError
from forgenb.nn import Module
from forgenb.optim import Optimizer
from forgenb.routine import Program, recording
from forgenb.tensor import Tensor, from_array
from forgenb.train.steps.programs import Update, grad_update
from forgenb.train.workers.twin import Twin

__all__ = ["PartialUpdate", "descent", "shares"]


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


class PartialUpdate:
    """The gradient update of some samples of a batch, over a model that shares the parameters of another.

    Parameters
    ----------
    model : Module
    arrays : sequence of ndarray
        Those samples, with a common first axis; `run` takes others of the same shapes and dtypes.
    first, samples : int
        The number of the first of them in the batch, and how many the batch has.

    Attributes
    ----------
    update : Update
        Of the samples' mean loss times their share of the batch.
    """

    def __init__(self, model: Any, arrays: Sequence[np.ndarray], first: int, samples: int):
        _refuse_buffers(model)
        self._twin = Twin(model, first)
        self.inputs = [from_array(a, model.parameters()[0].backend) for a in arrays]
        with recording() as recorder:
            recorder.inputs = self.inputs
            loss = self._twin.model.loss(*self.inputs) * (len(arrays[0]) / samples)
        loss.name = "loss"
        self.update: Update = grad_update(loss)

    def values(self, arrays: Iterable[np.ndarray]) -> list[tuple[Tensor, np.ndarray]]:
        """The inputs with new values, for a run that begins now."""
        self._twin.follow()
        return list(zip(self.inputs, arrays, strict=True))

    def lead(self) -> None:
        """After a run, tell the model how many masks have been drawn."""
        self._twin.lead()


def _refuse_buffers(model: Module) -> None:
    names = [name for name, _ in model.named_buffers()]
    if names:
        raise ArgumentError(
            f"a batch cannot be shared out for a model with running statistics ({', '.join(names)}), since each worker "
            "would have those of its own samples: normalise by LayerNorm, RMSNorm or GroupNorm, or train in one piece"
        )


def descent(update: Update, optimizer: Optimizer, clip_norm: float | None) -> tuple[Any, Program]:
    """The gradient norm of a step of an optimiser on the gradients of `update`, and the program of the step."""
    optimizer.zero_grad()
    for p, grad in zip(update.params, update.grads, strict=True):
        p.grad = grad
    with recording() as recorder:
        norm = optimizer.step(clip_norm=clip_norm)
    return norm, Program(recorder.statements, "update", recorder)
