"""forgenb: an autograd library whose kernels are plain Python, compiled for the target they run on."""

from . import errors, ops
from .backend import backends, stats, use
from .functional import custom_op, grad, value_and_grad
from .tape import no_grad
from .tape_table import Tape
from .tensor import Parameter, Tensor, tensor

__version__ = "0.1.0"
__all__ = [
    "Parameter",
    "Tape",
    "Tensor",
    "backends",
    "custom_op",
    "errors",
    "grad",
    "no_grad",
    "ops",
    "stats",
    "tensor",
    "use",
    "value_and_grad",
]
