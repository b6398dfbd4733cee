"""A copy of a model for one worker: the same parameters, and masks of dropout for its own place in the batch.

Imports modules; what a worker computes with it is not known here.
"""

import copy
from typing import Any

from forgenb.errors import ArgumentError
from forgenb.nn import Dropout, Module
from forgenb.nn.module import Buffer
from forgenb.tensor import Tensor

__all__ = ["Twin"]

STATE = {"training", "recompute_blocks", "dropout_seed", "_seed", "calls"}
"""Attributes that a module may change between two steps."""


class Twin:
    """A model that shares the parameters of another and has all else for itself.

    Parameters
    ----------
    model : Module
    first : int
        The number in the batch of the first sample that it sees: its masks are those of the whole batch there.

    Attributes
    ----------
    model : Module
        The copy.
    """

    def __init__(self, model: Module, first: int):
        self.model: Any = _copied(model)
        self._first = first
        self._pairs: list[tuple[Any, Any]] = list(zip(model.modules(), self.model.modules(), strict=True))
        self.follow()

    def follow(self, first: int | None = None) -> None:
        """Before a run, take over the mode and the state of dropout that the original has now; perhaps move on.

        Parameters
        ----------
        first : int, optional
            Another number of the first sample, from now on.
        """
        self._first = self._first if first is None else first
        for whole, mine in self._pairs:
            for name in STATE & vars(whole).keys():
                setattr(mine, name, getattr(whole, name))
            if isinstance(whole, Dropout):
                mine.first = whole.first + self._first
            elif hasattr(whole, "dropout_first"):
                mine.dropout_first = whole.dropout_first + self._first

    def lead(self) -> None:
        """After a run, tell the original how many masks have been drawn."""
        for whole, mine in self._pairs:
            if isinstance(whole, Dropout):
                whole.calls = mine.calls


def _copied(model: Module) -> Module:
    """A copy of a model with the same tensors but for buffers: what is written into one is seen by both.

    Raises
    ------
    ArgumentError
        If the model holds what cannot be copied, such as a lock or an open file.
    """
    shared: dict[int, Any] = {id(p): p for p in model.parameters()}
    for module in model.modules():
        tensors = (value for value in vars(module).values() if isinstance(value, Tensor))
        shared.update((id(t), t) for t in tensors if not isinstance(t, Buffer))
    try:
        return copy.deepcopy(model, shared)
    except (TypeError, ValueError, RuntimeError, AttributeError) as error:
        raise ArgumentError(
            f"each worker needs a copy of {type(model).__name__}, and it holds what cannot be copied ({error}): keep "
            "locks, files and the like outside of the model, or give it a method __deepcopy__"
        ) from error
