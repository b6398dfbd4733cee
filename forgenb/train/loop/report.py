"""What a step of training tells, and the error of one that cannot be gone on from.

Imports `forgenb.errors`; nothing that computes.
"""

from dataclasses import dataclass

from forgenb.errors import ForgeError

__all__ = ["DivergedError", "StepReport"]


class DivergedError(ForgeError, ArithmeticError):
    """A loss or a gradient norm that is no finite number; training cannot go on from it."""


@dataclass(frozen=True, slots=True)
class StepReport:
    """What one step gave; the fields are those of a line of ``metrics.jsonl``.

    Parameters
    ----------
    step
        Steps done, this one included.
    train_loss
        The batch's mean loss, before its update; for a text the cross entropy in nats.
    val_loss
        What `validate` gave; None between evaluations.
    lr
        The rate of this step; None where the trainer knows no optimiser.
    tokens_per_s
        Targets of the batch (elements of its last array; for a text its characters) over the time of the step,
        evaluation not included.
    seconds
        Time since training began, over all resumptions.
    """

    step: int
    train_loss: float
    val_loss: float | None
    lr: float | None
    tokens_per_s: float
    seconds: float
