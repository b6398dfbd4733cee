"""The table of the primitives on the CPU: name -> Numba intrinsic, or plain function for the binder to compile.

Imports `arithmetic` and `conversions`, which define what is listed here. A primitive that is missing here is one
that the CPU lacks.
"""

import numpy as np

from . import arithmetic, conversions

ANY_DTYPE = (
    "accumulate lane_sum lane_max put maxnum minnum fma rint floor sqrt absolute copysign maximum minimum select isnan "
    "exponent_scale power_of_two mantissa_exponent mul32 add32 xor32 shr32 lane_barrier"
)
PRIMITIVES = {name: getattr(arithmetic, name) for name in ANY_DTYPE.split()}
PRIMITIVES |= {"lanes": arithmetic.lanes, "real_to_half": conversions.real_to_half}

OF_DTYPE = {
    "real": (conversions.real_float32, conversions.real_float64),
    "infinity": (conversions.infinity_float32, conversions.infinity_float64),
    "not_a_number": (conversions.nan_float32, conversions.nan_float64),
    "unit_from_bits": (conversions.unit_float32, conversions.unit_float64),
    "half_to_real": (conversions.half_to_float32, conversions.half_to_float64),
}


def primitives_for(dtype, adding=False):
    """Every primitive on the CPU for kernels of one dtype.

    Parameters
    ----------
    dtype : dtype-like
        float32 or float64; an integer kernel gets the words of float64, which it does not use.
    adding : bool
        Whether `put` adds to what the array holds, rather than replacing it.

    Returns
    -------
    dict
        Name -> Numba intrinsic, plain function for the binder to compile, or builtin.
    """
    column = 0 if np.dtype(dtype) == np.float32 else 1
    table = PRIMITIVES | {name: pair[column] for name, pair in OF_DTYPE.items()}
    return table | {"put": arithmetic.put_adding} if adding else table


def half_conversions(dtype):
    """How a panel of `dtype` is loaded from float16 storage and stored back."""
    words = primitives_for(dtype)
    return {"to_panel": words["half_to_real"], "to_storage": words["real_to_half"]}
