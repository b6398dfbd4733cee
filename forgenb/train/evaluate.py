"""The validation loss: every window once, each with a cold context.

Imports the model and the tape's `no_grad`; nothing here changes a parameter.
"""

import numpy as np

from forgenb.models import GPT
from forgenb.tape import no_grad

__all__ = ["evaluate"]

WINDOWS = 64
"""Windows in one forward pass."""


def evaluate(model: GPT, inputs: np.ndarray, targets: np.ndarray) -> float:
    r"""Mean cross entropy in nats over all windows, with nothing recorded and dropout off.

    .. math:: \frac{1}{w t} \sum_{i, j} -\log p(\text{targets}_{ij} \mid \text{inputs}_{i, 0..j})

    Parameters
    ----------
    model
        A module with ``loss(ids, targets)``, the mean over its batch.
    inputs, targets
        ``(w, t)`` int64, as `forgenb.data.windows` gives them.
    """
    total, before = 0.0, model.training
    model.eval()
    try:
        with no_grad():
            for start in range(0, len(inputs), WINDOWS):
                part = slice(start, start + WINDOWS)
                count = len(inputs[part])
                total += count * model.loss(inputs[part], targets[part]).item()
    finally:
        if before:
            model.train()
    return total / len(inputs)
