"""forgenb: an autograd library whose kernels are plain Python, compiled for the target they run on.

It lists the public names and defines nothing. Importing it compiles nothing, starts no thread and touches no
device.
"""

from . import course, data, errors, models, nn, ops, optim, random, train
from .backend import backends, compiled, peak_memory, settings, stats, trace, use
from .creation import tensor
from .derivatives import hessian, hvp, jacobian, jvp
from .functional import custom_op, grad, value_and_grad
from .gradcheck import gradcheck
from .interop import from_dlpack
from .random import seed
from .routine import Program, Routine, capture, compile, debug, scope, symbol
from .storage.files import load, save
from .tape import no_grad
from .tape_table import Tape
from .tensor import Parameter, Tensor

__version__ = "0.1.0"
__all__ = [
    "Parameter",
    "Program",
    "Routine",
    "Tape",
    "Tensor",
    "backends",
    "capture",
    "compile",
    "compiled",
    "course",
    "custom_op",
    "data",
    "debug",
    "errors",
    "from_dlpack",
    "grad",
    "gradcheck",
    "hessian",
    "hvp",
    "jacobian",
    "jvp",
    "load",
    "models",
    "nn",
    "no_grad",
    "ops",
    "optim",
    "peak_memory",
    "random",
    "save",
    "scope",
    "seed",
    "settings",
    "stats",
    "symbol",
    "tensor",
    "trace",
    "train",
    "use",
    "value_and_grad",
]
