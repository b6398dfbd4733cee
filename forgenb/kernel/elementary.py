"""The elementary functions of the kernel language: bodies of primitives, one for each dtype.

All are free of branches, so that a loop over them vectorises; NaN gives NaN, and infinities give the limits.

Imports the bodies and defines nothing; import a function from here, not from the file that has its bodies.
"""

from .exponential import exp, expm1, log, log1p, log2, sigmoid, tanh
from .hyperbolic import cosh, sinh
from .power import pow
from .special import erf
from .trigonometric import arctan, cos, near_cos, near_sin, near_tan, sin, tan

__all__ = [
    "arctan",
    "cos",
    "cosh",
    "erf",
    "exp",
    "expm1",
    "log",
    "log1p",
    "log2",
    "near_cos",
    "near_sin",
    "near_tan",
    "pow",
    "sigmoid",
    "sin",
    "sinh",
    "tan",
    "tanh",
]
