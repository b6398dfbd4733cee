"""The elementary functions of the kernel language: bodies of primitives, one for each dtype.

All are free of branches, so that a loop over them vectorises; NaN gives NaN, and infinities give the limits.

Imports the bodies and defines nothing; import a function from here, not from the file that has its bodies.
"""

from .exponential import exp, expm1, log, log1p, sigmoid, tanh
from .power import pow
from .special import cos, erf, sin

__all__ = ["cos", "erf", "exp", "expm1", "log", "log1p", "pow", "sigmoid", "sin", "tanh"]
