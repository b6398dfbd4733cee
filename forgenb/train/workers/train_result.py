"""What a training run gives: reports for callbacks, and the result with its curves and its predictions.

Imports modules and tensors; how the numbers come about is `train_loop`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from forgenb.creation import tensor
from forgenb.errors import ShapeError
from forgenb.nn.modes import evaluating
from forgenb.tensor import Tensor

__all__ = ["BatchReport", "EpochReport", "TrainResult"]


@dataclass(frozen=True)
class BatchReport:
    """What one batch gave, after its update.

    Attributes
    ----------
    at_batch : int
        Its number in the epoch, from 0 on.
    at_step : int
        Batches done in all epochs, this one included.
    learning_rate : float
        The rate of its update.
    batch_loss : float
        Before its update.
    epoch_loss : float
        The sum of the losses of this epoch up to this one.
    """

    at_batch: int
    at_step: int
    learning_rate: float
    batch_loss: float
    epoch_loss: float


@dataclass(frozen=True)
class EpochReport:
    """What one epoch gave.

    Attributes
    ----------
    at_epoch : int
        Its number, from 0 on.
    at_step : int
        Batches done in all epochs.
    learning_rate : float
        The rate of its last update.
    epoch_loss, mean_loss : float
        The sum of the losses of its batches, and their mean.
    """

    at_epoch: int
    at_step: int
    learning_rate: float
    epoch_loss: float
    mean_loss: float


@dataclass(frozen=True, eq=False)
class TrainResult:
    """What `train_loop` gives back; everything stands in the order in which it happened.

    Attributes
    ----------
    model : callable
        The one that was trained.
    inputs, outputs : Tensor
        The samples that it was trained on.
    batch_losses : ndarray
        One a batch, before its update.
    epoch_losses : ndarray
        One an epoch: the sum of the losses of its batches.
    learning_rates : ndarray
        One an epoch: the rate of its last update.
    used_memory : int
        Bytes of what was made for training: the data on the backend, the buffers of a momentum, and what the routines
        own. Parameters, and tensors that the caller made, do not count.
    """

    model: Callable
    inputs: Tensor = field(repr=False)
    outputs: Tensor = field(repr=False)
    batch_losses: np.ndarray
    epoch_losses: np.ndarray
    learning_rates: np.ndarray
    used_memory: int

    def predict(self, batch: Any) -> Any:
        """What the model says of other inputs: untracked, and in eval mode where the model is a module.

        Parameters
        ----------
        batch : array_like
            Any number of rows, each of the shape of a training input. Floats become those of the training inputs.

        Raises
        ------
        ShapeError
            If the rows have another shape.
        """
        floats = self.inputs.dtype.kind == "f"
        given = tensor(batch, self.inputs.dtype if floats else None, backend=self.inputs.backend.name)
        if given.shape[1:] != self.inputs.shape[1:] or not given.ndim:
            raise ShapeError(
                f"predict takes rows of shape {self.inputs.shape[1:]}, any number of them, and got an array of shape "
                f"{given.shape}"
            )
        with evaluating(self.model):
            return self.model(given)
