"""What a primitive is, how a function has one body for each dtype, and the dtype rules of plain-Python meanings.

Imports NumPy; the words themselves are in `primitives`.
"""

import math
from typing import Any

import numpy as np

# The integer type of the bits, the stored mantissa bits, and the power of two that lifts any subnormal number.
BITS: dict[type, tuple[Any, int, int]] = {np.float32: (np.uint32, 23, 24), np.float64: (np.uint64, 52, 54)}


class Primitive:
    """A named operation of the kernel language.

    Parameters
    ----------
    meaning : callable
        What it computes, in plain Python; its name is the primitive's name.
    of_dtype : bool
        True if the result has the kernel's dtype whatever the arguments are (`real`, `infinity`, ...). The plain
        meaning then returns a Python float, which takes the dtype of what it meets.
    """

    def __init__(self, meaning, of_dtype=False):
        self.name, self.meaning, self.of_dtype = meaning.__name__, meaning, of_dtype
        self.__name__, self.__doc__ = meaning.__name__, meaning.__doc__

    def __call__(self, *args):
        """What the word means, in plain Python."""
        return self.meaning(*args)

    def __repr__(self):
        return f"<primitive {self.name}>"


def primitive(meaning):
    """Make a plain function the meaning of the primitive of its name."""
    return Primitive(meaning)


def dtype_primitive(meaning):
    """Like `primitive`, for one whose result has the kernel's dtype whatever its arguments are."""
    return Primitive(meaning, of_dtype=True)


class ByDtype:
    """A function with one plain body for each dtype; binding takes the kernel's.

    Parameters
    ----------
    name : str
    variants : dict
        ``{"float32": function, "float64": function}``.
    """

    def __init__(self, name, variants):
        self.name, self.variants = name, dict(variants)
        self.__name__ = name
        self.__doc__ = "\n\n".join(f"{dtype}: {body.__doc__}" for dtype, body in self.variants.items())

    def __call__(self, *args):
        """Run the variant of the arguments' dtype (Python numbers count as float64)."""
        return self.variants["float32" if kind_of(*args) is np.float32 else "float64"](*args)

    def __repr__(self):
        return f"<{self.name} by dtype: {', '.join(self.variants)}>"


def kind_of(*values):
    """The dtype that the values share: np.float32, np.float64, or float if all are Python numbers."""
    kinds = {type(value) for value in values}
    return np.float64 if np.float64 in kinds else np.float32 if np.float32 in kinds else float


def rounded(kind, value):
    """A Python float rounded to `kind`, to infinity beyond its range, without NumPy's warning."""
    if kind is np.float32 and 3.4028235677973366e38 <= abs(value) < math.inf:
        value = math.copysign(math.inf, value)
    return kind(value)


def numpy_kind(kind):
    """The NumPy type that stands for `kind`: float64 for Python floats."""
    return np.float64 if kind is float else kind
