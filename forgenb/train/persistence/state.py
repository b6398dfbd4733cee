"""The state of a model and its optimiser as the arrays of one file.

Imports modules and optimisers; which file it is, and what else is in it, is not known here.
"""

import os
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from forgenb.errors import CheckpointError, ForgeError
from forgenb.nn import Module
from forgenb.optim import Optimizer
from forgenb.optim.optimizer import state_layouts
from forgenb.storage.files import StrPath
from forgenb.tensor import host_values

__all__ = ["MODEL", "OPTIMIZER", "both", "put_back", "state_arrays", "stored_layouts", "under"]

Arrays = dict[str, np.ndarray]
T = TypeVar("T")
MODEL, OPTIMIZER = "model.", "optimizer."


def state_arrays(model: Mapping, optimizer: Mapping) -> Arrays:
    """Two ``state_dict`` in one, with names that say whose an array is."""
    return {name: host_values(value) for name, value in both(model, optimizer).items()}


def both(model: Mapping[str, T], optimizer: Mapping[str, T]) -> dict[str, T]:
    """What a model and an optimiser have by name, as one mapping that `under` takes apart again."""
    pairs = ((MODEL, model), (OPTIMIZER, optimizer))
    return {f"{prefix}{name}": value for prefix, part in pairs for name, value in part.items()}


def under(prefix: str, named: Mapping[str, T]) -> dict[str, T]:
    """What has a name that begins with `prefix`, by the rest of it."""
    return {name.removeprefix(prefix): value for name, value in named.items() if name.startswith(prefix)}


def stored_layouts(model: Module, optimizer: Any, stored: Mapping[str, tuple]) -> dict[str, tuple]:
    """The layouts of `state_arrays`: name -> (shape, dtype); of an optimiser of another kind, those `stored`."""
    needed = {name: (array.shape, array.dtype) for name, array in model.state_dict().items()}
    kept = under(OPTIMIZER, stored)
    if isinstance(optimizer, Optimizer):
        params = {name: (p.shape, p.dtype) for name, p in optimizer.params.items()}
        kept = state_layouts(params, optimizer.slots, kept)
    return both(needed, kept)


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
        raise CheckpointError(f"The checkpoint {os.fspath(path)!r} does not fit this model: {error}") from error
