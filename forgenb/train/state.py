"""The state of a model and its optimiser as the arrays of one file.

Imports modules and optimisers; which file it is, and what else is in it, is not known here.
"""

import os
from collections.abc import Mapping

import numpy as np

from forgenb.errors import CheckpointError, ForgeError
from forgenb.nn import Module
from forgenb.optim import Optimizer
from forgenb.tensor import host_values
from forgenb.train.files import StrPath

__all__ = ["MODEL", "OPTIMIZER", "put_back", "state_arrays", "under"]

Arrays = dict[str, np.ndarray]
MODEL, OPTIMIZER = "model.", "optimizer."


def state_arrays(model: Mapping, optimizer: Mapping) -> Arrays:
    """Two ``state_dict`` in one, with names that say whose an array is."""
    arrays = {f"{MODEL}{name}": host_values(value) for name, value in model.items()}
    return arrays | {f"{OPTIMIZER}{name}": host_values(value) for name, value in optimizer.items()}


def under(prefix: str, arrays: Arrays) -> Arrays:
    """The arrays whose names begin with `prefix`, without it."""
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}


def put_back(path: StrPath, arrays: Arrays, model: Module, optimizer: Optimizer | None = None) -> None:
    """Put what `state_arrays` gave into a model and an optimiser of the same shapes: into both, or into none.

    Raises
    ------
    CheckpointError
        Names or shapes differ; the message names `path` and says which.
    """
    before = model.state_dict()
    try:
        model.load_state_dict(under(MODEL, arrays))
        if optimizer is not None:
            optimizer.load_state_dict(under(OPTIMIZER, arrays))
    except (ForgeError, KeyError, ValueError) as error:
        model.load_state_dict(before)
        raise CheckpointError(
            f"The checkpoint {os.fspath(path)!r} does not fit the model that it describes: {error}"
        ) from error
