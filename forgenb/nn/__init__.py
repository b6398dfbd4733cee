"""Modules: what holds parameters. Imports tensors, ops and random numbers.

An optimiser or a training loop does not belong here.
"""

from .dropout import Dropout
from .embedding import Embedding
from .linear import Linear
from .module import Module, ModuleList, Sequential
from .norm import LayerNorm

__all__ = ["Dropout", "Embedding", "LayerNorm", "Linear", "Module", "ModuleList", "Sequential"]
