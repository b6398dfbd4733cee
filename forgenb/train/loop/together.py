"""Trainers of several processes: they begin with the same state, and keep it the same.

Imports `distributed` and the state of models and optimisers; the loop is not known here.
"""

import hashlib
import json
from typing import TYPE_CHECKING, Any

from forgenb.train.distributed import World
from forgenb.train.persistence.state import put_back, state_arrays

if TYPE_CHECKING:
    from forgenb.train.loop.trainer import Trainer

__all__ = ["agree_on_parameters", "begin_together"]


def begin_together(world: World, trainer: "Trainer") -> None:
    """Bring a trainer to where that of the first process is, which may have read a checkpoint.

    Parameters
    ----------
    world : World
    trainer : Trainer
        With a model and an optimiser.
    """
    counts = json.loads(world.text(json.dumps([trainer.step, trainer.best_val, trainer.seconds])))
    state = world.arrays(state_arrays(trainer.model.state_dict(), trainer.optimizer.state_dict()))
    if not world.first:
        put_back("of the first process", state, trainer.model, trainer.optimizer)
        trainer.step, trainer.best_val, trainer.seconds = counts


def agree_on_parameters(world: World, model: Any) -> None:
    """Check that the parameters have the same bits in every process.

    Raises
    ------
    ArgumentError
        In every process, if those of one differ: it had another start, or other arithmetic.
    """
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.numpy().tobytes())
    world.agree("the parameters", digest.hexdigest())
