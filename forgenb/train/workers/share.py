"""A worker's part of a batch: which samples it takes, their gradient update, and the descent on all of them.

Imports programs, modules and optimisers; who the workers are (streams, processes) is not known here.
"""

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from forgenb.dtypes import ORDER
from forgenb.errors import ArgumentError, DTypeError
from forgenb.nn import Module
from forgenb.optim import Optimizer
from forgenb.routine import Program, recording
from forgenb.tensor import Tensor, from_array
from forgenb.train import checks
from forgenb.train.steps.programs import Update, grad_update
from forgenb.train.workers.twin import Twin

__all__ = [
    "PartialUpdate",
    "checked_workers",
    "descent",
    "refuse_buffers",
    "samples_of",
    "share_of_loss",
    "shares",
    "variant",
]


def shares(samples: int, workers: int) -> list[slice]:
    """Which samples of a batch each worker takes: neighbours, as evenly as can be, the larger shares first.

    Raises
    ------
    ArgumentError
        If a worker would get none, or there are no such numbers.
    """
    if type(samples) is not int or type(workers) is not int or workers < 1:
        raise ArgumentError(
            f"a batch is shared out over a whole number of workers above 0, got {samples!r} samples and {workers!r} "
            "workers"
        )
    if workers > samples:
        raise ArgumentError(
            f"a batch of {samples} samples cannot be shared out over {workers} workers: use fewer, or a larger batch"
        )
    size, more = divmod(samples, workers)
    ends = [number * size + min(number, more) for number in range(workers + 1)]
    return [slice(begin, end) for begin, end in itertools.pairwise(ends)]


def samples_of(arrays: Sequence[Any], caller: str) -> int:
    """How many samples the arrays of a batch have.

    Raises
    ------
    ArgumentError
        If there are none, one is no array of numbers, or they have different lengths.
    DTypeError
        If forgenb has no such numbers.
    """
    wrong = [type(a).__name__ for a in arrays if not isinstance(a, np.ndarray) or not a.ndim]
    if wrong or not arrays:
        raise ArgumentError(
            f"{caller} takes NumPy arrays with a common first axis, the samples, and got {', '.join(wrong) or 'none'}"
        )
    for array in arrays:
        if array.dtype not in ORDER:
            raise DTypeError(f"{caller} got an array of dtype {array.dtype}: convert it to one of {_names()}")
    lengths = {len(array) for array in arrays}
    if len(lengths) > 1:
        raise ArgumentError(
            f"{caller} got arrays of {', '.join(str(len(a)) for a in arrays)} samples: all need as many"
        )
    return lengths.pop()


def _names() -> str:
    return ", ".join(dtype.name for dtype in ORDER)


class PartialUpdate:
    """The gradient update of some samples of a batch, over a model that shares the parameters of another.

    Parameters
    ----------
    model : Module
    arrays : sequence of ndarray
        Those samples, with a common first axis; `values` takes others of the same shapes and dtypes.
    first, samples : int
        The number of the first of them in the batch, and how many the batch has.

    Attributes
    ----------
    update : Update
        Of the samples' mean loss times their share of the batch.
    """

    def __init__(self, model: Any, arrays: Sequence[np.ndarray], first: int, samples: int):
        refuse_buffers(model)
        self._twin = Twin(model, first)
        self.inputs = [from_array(a, model.parameters()[0].backend) for a in arrays]
        with recording() as recorder:
            recorder.inputs = self.inputs
            loss = share_of_loss(self._twin.model, self.inputs, len(arrays[0]) / samples)
        loss.name = "loss"
        self.update: Update = grad_update(loss)

    def values(self, arrays: Iterable[np.ndarray], first: int | None = None) -> list[tuple[Tensor, np.ndarray]]:
        """The inputs with new values, for a run that begins now; `first` is another number of the first sample."""
        self._twin.follow(first)
        return list(zip(self.inputs, arrays, strict=True))

    def lead(self) -> None:
        """After a run, tell the model how many masks have been drawn."""
        self._twin.lead()


def share_of_loss(model: Any, arrays: Sequence[Any], share: float) -> Tensor:
    """The mean loss of some samples times their share of a batch.

    Raises
    ------
    ArgumentError
        If the model's loss is no tensor without dimensions.
    """
    mean = model.loss(*arrays)
    if not isinstance(mean, Tensor) or mean.shape:
        got = f"a tensor of shape {mean.shape}" if isinstance(mean, Tensor) else type(mean).__name__
        raise ArgumentError(
            f"a batch is shared out by its mean loss, a tensor without dimensions, and {type(model).__name__}.loss "
            f"gave {got}: take the mean over the samples"
        )
    return mean * share


def checked_workers(caller: str, model: Any, optimizer: Any, clip_norm: Any) -> None:
    """Refuse what cannot be shared out.

    Raises
    ------
    ArgumentError
        If the model is no module with a loss, the optimiser is none, or the norm is neither None nor above 0.
    """
    if not isinstance(model, Module) or not callable(getattr(model, "loss", None)):
        raise ArgumentError(f"{caller} needs a module with a method loss, got {type(model).__name__}")
    if not all(callable(getattr(optimizer, name, None)) for name in ("zero_grad", "step")):
        raise ArgumentError(f"{caller} needs an optimiser of fnb.optim, got {type(optimizer).__name__}")
    if clip_norm is not None and not (checks.is_number(clip_norm) and clip_norm > 0):
        raise ArgumentError(f"{caller} clips to a norm above 0, or not at all with None, got clip_norm={clip_norm!r}")


def variant(model: Module, arrays: Sequence[np.ndarray]) -> tuple:
    """What the recordings of a step depend on: another needs another recording."""
    learned = tuple(p.requires_grad for p in model.parameters())
    recomputed = bool(getattr(model, "recompute_blocks", False))
    return model.training, recomputed, learned, *((a.shape, a.dtype) for a in arrays)


def refuse_buffers(model: Module) -> None:
    """Refuse a model with running statistics.

    Raises
    ------
    ArgumentError
        Naming them.
    """
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
