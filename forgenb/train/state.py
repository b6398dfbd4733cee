"""The state of a model and its optimiser as the arrays of one file.

Imports modules and optimisers; which file it is, and what else is in it, is not known here.
"""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from forgenb.errors import CheckpointError, ForgeError
from forgenb.nn import Module
from forgenb.optim import Optimizer
from forgenb.optim.optimizer import state_layouts
from forgenb.tensor import host_values
from forgenb.train.files import StrPath

__all__ = ["MODEL", "OPTIMIZER", "put_back", "state_arrays", "stored_layouts", "under"]

Arrays = dict[str, np.ndarray]
MODEL, OPTIMIZER = "model.", "optimizer."


def state_arrays(model: Mapping, optimizer: Mapping) -> Arrays:
    """Two ``state_dict`` in one, with names that say whose an array is."""
    arrays = {f"{MODEL}{name}": host_values(value) for name, value in model.items()}
    return arrays | {f"{OPTIMIZER}{name}": host_values(value) for name, value in optimizer.items()}


def under(prefix: str, arrays: Arrays) -> Arrays:
    """The arrays whose names begin with `prefix`, without it."""
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}


def stored_layouts(model: Module, optimizer: Any, stored: Mapping[str, tuple]) -> dict[str, tuple]:
    """The layouts of `state_arrays`: name -> (shape, dtype); of an optimiser of another kind, those `stored`."""
    needed = {f"{MODEL}{name}": (array.shape, array.dtype) for name, array in model.state_dict().items()}
    if not isinstance(optimizer, Optimizer):
        return needed | {name: layout for name, layout in stored.items() if name.startswith(OPTIMIZER)}
    params = {name: (p.shape, p.dtype) for name, p in optimizer.params.items()}
    own = state_layouts(params, optimizer.slots, {name.removeprefix(OPTIMIZER) for name in stored})
    return needed | {f"{OPTIMIZER}{name}": layout for name, layout in own.items()}


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
    except BaseException as error:
        model.load_state_dict(before)
        if not isinstance(error, (ForgeError, KeyError, ValueError)):
            raise
        raise CheckpointError(
            f"The checkpoint {os.fspath(path)!r} does not fit the model that it describes: {error}"
        ) from error
