"""A whole step recorded once, planned, and replayed as one call.

Imports kernels, backends, tensors and ops; nothing of nn, optim or train may be named here.
"""

from .compile import Compiled, compile
from .late import Late, after_each_run, late, on_each_run, value_of
from .program import Program
from .recorder import outside_recording, recording, scope
from .routine import Routine

__all__ = [
    "Compiled",
    "Late",
    "Program",
    "Routine",
    "after_each_run",
    "compile",
    "late",
    "on_each_run",
    "outside_recording",
    "recording",
    "scope",
    "value_of",
]
