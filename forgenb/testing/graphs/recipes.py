"""How each op of the table is drawn into a random graph: the list, which the families' files fill.

Imports nothing of the package; a recipe stands in the file of its family.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .build import Builder

Recipe = Callable[["Builder", str], None]
"""Draws operands and keywords of the op of that name, and applies it."""

RECIPES: dict[str, Recipe] = {}


def recipe(names: str) -> Callable[[Recipe], Recipe]:
    """Enter the decorated function as the recipe of each of the ops `names`, parted by blanks."""

    def enter(function: Recipe) -> Recipe:
        for name in names.split():
            if name in RECIPES:
                raise ValueError(f"op {name} has two recipes")
            RECIPES[name] = function
        return function

    return enter
