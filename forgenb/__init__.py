"""forgenb: an autograd library whose kernels are plain Python, compiled for the target they run on."""

from . import errors, ops
from .backend import backends, compiled, stats, use
from .tape import no_grad
from .tensor import Parameter, Tensor, tensor

__version__ = "0.1.0"
__all__ = ["Parameter", "Tensor", "backends", "compiled", "errors", "no_grad", "ops", "stats", "tensor", "use"]
