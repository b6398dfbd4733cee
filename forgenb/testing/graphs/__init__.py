"""Random graphs of ops: drawn as data, run here and in PyTorch, and compared.

`build` draws one from any source of choices, so that Hypothesis can shrink what fails; ``python -m
forgenb.testing.graphs`` runs thousands against PyTorch. Recipes are entered by the families' files.
"""

from . import elementwise, layers, reductions, shapes  # noqa: F401, each enters its recipes
from .build import Pick, build
from .graph import Entry, Graph, Leaf, Step
from .left_out import LEFT_OUT
from .recipes import RECIPES

__all__ = ["LEFT_OUT", "RECIPES", "Entry", "Graph", "Leaf", "Pick", "Step", "build"]
