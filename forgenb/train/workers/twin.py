"""A copy of a model for one worker: the same parameters, and masks of dropout for its own place in the batch.

Imports modules; what a worker computes with it is not known here.
"""

import copy
from typing import Any

from forgenb.nn import Dropout, Module

__all__ = ["Twin"]

STATE = {"training", "dropout_seed", "_seed", "calls"}
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
        self.model: Any = copy.deepcopy(model, {id(p): p for p in model.parameters()})
        self._first = first
        self._pairs: list[tuple[Any, Any]] = list(zip(model.modules(), self.model.modules(), strict=True))
        self.follow()

    def follow(self) -> None:
        """Before a run, take over the mode and the state of dropout that the original has now."""
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
