"""A whole step recorded once, planned, and replayed as one call.

Imports kernels, backends, tensors and ops; nothing of nn, optim or train may be named here.
"""

from .arena import Arena, fills_its_memory
from .compile import Compiled, compile
from .debug import debug
from .intents import retain_undecided
from .late import Late, after_each_run, frozen, late, on_each_run, value_of
from .program import Program
from .recorder import outside_recording, recording, scope
from .roles import INPUT, RESULT, give_role
from .routine import Routine
from .sequence import apart, capture, joined, needed, recorder_of
from .symbol import Bindings, Symbol, symbol

__all__ = [
    "INPUT",
    "RESULT",
    "Arena",
    "Bindings",
    "Compiled",
    "Late",
    "Program",
    "Routine",
    "Symbol",
    "after_each_run",
    "apart",
    "capture",
    "compile",
    "debug",
    "fills_its_memory",
    "frozen",
    "give_role",
    "joined",
    "late",
    "needed",
    "on_each_run",
    "outside_recording",
    "recorder_of",
    "recording",
    "retain_undecided",
    "scope",
    "symbol",
    "value_of",
]
