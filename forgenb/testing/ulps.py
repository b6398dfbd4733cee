"""How far a result is from its reference, in units in the last place of the result's dtype.

The unit is `numpy.spacing` of the reference: of each element of its own, or of the largest one in the array, where
elements are sums in which larger terms cancel.
"""

from __future__ import annotations

import numpy as np


class Mismatch(Exception):
    """Two results that no bound can bring together: shape, kind, or where NaN and infinities are."""


def ulps(found: np.ndarray, reference: np.ndarray, of: str = "element", scale: float = 0.0) -> float:
    """The largest distance of any element.

    Parameters
    ----------
    found : ndarray
        The result. Integers and bools must agree exactly; floats are measured in their own dtype.
    reference : ndarray
        Of the same shape, in float64 (or what `found` is, where that is no float).
    of : str
        "element": ulps of each element; "largest": ulps of the largest finite element, or of `scale`.
    scale : float
        The largest number among the operands.

    Returns
    -------
    float
        0 for equal results and for integers.

    Raises
    ------
    Mismatch
        If shapes, integers, NaN or infinities differ.
    """
    if found.shape != reference.shape:
        raise Mismatch(f"its shape is {found.shape}, the reference's {reference.shape}")
    if found.dtype.kind != "f":
        with np.errstate(invalid="ignore"):
            _equal(found, reference.astype(found.dtype), "value")
        return 0.0
    with np.errstate(over="ignore"):
        rounded = reference.astype(found.dtype)
    _equal(np.isnan(found), np.isnan(rounded), "NaN")
    infinite = np.isinf(rounded) | np.isinf(found)
    _equal(np.where(infinite, found, 0), np.where(infinite, rounded, 0), "infinity", ignore=np.isnan(found))
    finite = np.isfinite(rounded)
    if not finite.any():
        return 0.0
    wanted, got = (np.asarray(a, np.float64)[finite] for a in (reference, found))
    size = np.abs(rounded[finite])
    size = np.maximum(size, np.finfo(found.dtype).tiny)
    unit = np.spacing(np.maximum(size.max(), found.dtype.type(scale)) if of == "largest" else size).astype(np.float64)
    return float(np.max(np.abs(got - wanted) / unit))


def _equal(found: np.ndarray, wanted: np.ndarray, what: str, ignore=False) -> None:
    differ = np.argwhere((found != wanted) & ~np.asarray(ignore))
    if len(differ):
        place = tuple(int(i) for i in differ[0])
        raise Mismatch(f"{what} at {place}: got {found[place]}, the reference has {wanted[place]}")
