"""Models in evaluation, and the validation loss of a text: every window once, each with a cold context.

Imports modules and the tape's `no_grad`; nothing here changes a parameter.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from forgenb.nn import Module
from forgenb.tape import no_grad
from forgenb.train.distributed import World

__all__ = ["evaluate", "evaluating", "in_mode"]

WINDOWS = 64
"""Windows in one forward pass."""


@contextmanager
def in_mode(model: object, training: bool) -> Iterator[None]:
    """Set the mode of a module and of those inside it, and put back what each had; nothing for other models."""
    before = [(m, m.training) for m in model.modules()] if isinstance(model, Module) else []
    try:
        for module, _ in before:
            module.training = training
        yield
    finally:
        for module, mode in before:
            module.training = mode


@contextmanager
def evaluating(model: object) -> Iterator[None]:
    """Record nothing, and let a module do what it does after training, inside a ``with`` block."""
    with no_grad(), in_mode(model, training=False):
        yield


def evaluate(model: Any, inputs: np.ndarray, targets: np.ndarray, world: World | None = None) -> float:
    r"""Mean cross entropy in nats over all windows, with nothing recorded and dropout off.

    .. math:: \frac{1}{w t} \sum_{i, j} -\log p(\text{targets}_{ij} \mid \text{inputs}_{i, 0..j})

    Parameters
    ----------
    model
        A module with ``loss(ids, targets)``, the mean over its batch.
    inputs, targets
        ``(w, t)`` int64, as `forgenb.data.windows` gives them.
    world
        Processes that each take some of the windows; all of them get the mean over all.
    """
    total = 0.0
    rank, size = (0, 1) if world is None else (world.rank, world.size)
    with evaluating(model):
        for start in range(WINDOWS * rank, len(inputs), WINDOWS * size):
            part = slice(start, start + WINDOWS)
            count = len(inputs[part])
            total += count * model.loss(inputs[part], targets[part]).item()
    return (total if world is None else world.total(total)) / len(inputs)
