"""Modules: what holds parameters. Imports tensors, ops and random numbers.

An optimiser or a training loop does not belong here.
"""

from . import init
from .attention import MultiHeadAttention
from .batchnorm import BatchNorm
from .containers import Flatten, ModuleList, Residual, Sequential
from .conv import AvgPool2d, Conv1d, Conv2d, MaxPool2d
from .dropout import Dropout
from .embedding import Embedding
from .functions import (
    ELU,
    GELU,
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    MSELoss,
    NLLLoss,
    ReLU,
    Sigmoid,
    SiLU,
    Softmax,
    Softplus,
    Tanh,
)
from .linear import Linear
from .module import Buffer, Module
from .norm import GroupNorm, LayerNorm, RMSNorm
from .recurrent import GRU, LSTM, RNN

__all__ = [
    "ELU",
    "GELU",
    "GRU",
    "LSTM",
    "RNN",
    "AvgPool2d",
    "BCEWithLogitsLoss",
    "BatchNorm",
    "Buffer",
    "Conv1d",
    "Conv2d",
    "CrossEntropyLoss",
    "Dropout",
    "Embedding",
    "Flatten",
    "GroupNorm",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "LogSigmoid",
    "LogSoftmax",
    "MSELoss",
    "MaxPool2d",
    "Module",
    "ModuleList",
    "MultiHeadAttention",
    "NLLLoss",
    "RMSNorm",
    "ReLU",
    "Residual",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "Tanh",
    "init",
]
