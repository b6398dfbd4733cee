"""The validation loss of a text: every window once, each with a cold context.

Imports modes of modules and the world of processes; nothing here changes a parameter.
"""

from typing import Any

import numpy as np

from forgenb.errors import ArgumentError
from forgenb.nn.modes import evaluating
from forgenb.train import checks
from forgenb.train.distributed import World

__all__ = ["evaluate"]

WINDOWS = 64
"""Windows in one forward pass, unless another number is given."""


def evaluate(
    model: Any, inputs: np.ndarray, targets: np.ndarray, world: World | None = None, at_once: int = WINDOWS
) -> float:
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
    at_once
        Windows in one forward pass, whose logits take ``at_once * t * vocabulary`` numbers. The mean depends on it by
        rounding only.

    Raises
    ------
    ArgumentError
        If `at_once` is not a whole number above 0, there are no windows, or not as many targets as inputs.
    """
    at_once = checks.whole("evaluate", "at_once", at_once)
    if not len(inputs) or len(targets) != len(inputs):
        raise ArgumentError(
            f"evaluate needs at least one window and the targets of each, got {len(inputs)} inputs and {len(targets)} "
            "targets"
        )
    total = 0.0
    rank, size = (0, 1) if world is None else (world.rank, world.size)
    with evaluating(model):
        for start in range(at_once * rank, len(inputs), at_once * size):
            part = slice(start, start + at_once)
            count = len(inputs[part])
            total += count * model.loss(inputs[part], targets[part]).item()
    return (total if world is None else world.total(total)) / len(inputs)
