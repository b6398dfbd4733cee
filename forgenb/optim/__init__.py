"""Optimisers, gradient clipping and learning-rate schedules. Imports tensors, ops and `forgenb.nn`.

A training loop does not belong here.
"""

from .adam import Adam, AdamW
from .clip import clip_grad_norm, clip_grad_value, global_norm
from .groups import Group
from .optimizer import Optimizer
from .rmsprop import RMSprop
from .scaling import LossScaler
from .schedules import constant, cosine, linear, step_decay, warmup, warmup_cosine, warmup_stable_decay
from .sgd import SGD

__all__ = [
    "SGD",
    "Adam",
    "AdamW",
    "Group",
    "LossScaler",
    "Optimizer",
    "RMSprop",
    "clip_grad_norm",
    "clip_grad_value",
    "constant",
    "cosine",
    "global_norm",
    "linear",
    "step_decay",
    "warmup",
    "warmup_cosine",
    "warmup_stable_decay",
]
