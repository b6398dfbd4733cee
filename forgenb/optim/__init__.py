"""Optimisers, gradient clipping and learning-rate schedules. Imports tensors, ops and `forgenb.nn`.

A training loop does not belong here.
"""

from .adam import Adam, AdamW
from .clip import clip_grad_norm, global_norm
from .optimizer import Optimizer
from .rmsprop import RMSprop
from .schedules import constant, linear, step_decay, warmup_cosine
from .sgd import SGD

__all__ = [
    "SGD",
    "Adam",
    "AdamW",
    "Optimizer",
    "RMSprop",
    "clip_grad_norm",
    "constant",
    "global_norm",
    "linear",
    "step_decay",
    "warmup_cosine",
]
