r"""The complex step: a derivative without differences, of a function of NumPy arrays that takes complex numbers.

For an analytic function :math:`f(x + i h) = f(x) + i h f'(x) - \ldots`, so :math:`\mathrm{Im} f(x + i h) / h` is the
derivative to the last digits, with any tiny :math:`h`: nothing is subtracted. Tensors hold no complex numbers, so it is
the derivative of a reference that is given beside the function. NumPy drops imaginary parts in places, `abs` for one;
then the complex step says too little, which one difference along a random direction reveals, and it is not used.

Imports NumPy, slopes and comparisons; the gradient that it is compared with comes from elsewhere.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from ..errors import ArgumentError
from .compare import Disagreement
from .slopes import Slopes
from .subject import Arrays, signed

TINY = 1e-30
SAME = 1e-9
"""How far the values of the reference may be from those of the function, relative to the largest."""
ALIKE = 1e-5
"""How far the complex step may be from a difference."""


def complex_gradient(reference: Callable, slopes: Slopes, number: int, rng: np.random.Generator) -> np.ndarray | None:
    """The gradient by one input of the contracted reference, or None where the complex step does not give it.

    Raises
    ------
    ArgumentError
        If the reference has other values than the function.
    """
    _refuse_other_values(reference, slopes)
    values = slopes.subject.values
    found = np.zeros(values[number].shape)
    for entry in np.ndindex(found.shape):
        moved = list(values)
        moved[number] = values[number].astype(complex)
        moved[number][entry] += 1j * TINY
        outputs = _complex_outputs(reference, moved)
        if outputs is None:
            return None
        terms = (np.sum(np.imag(y) * w) for y, w in zip(outputs, slopes.cotangents, strict=True))
        found[entry] = sum(terms) / TINY
    return found if _along_a_direction(found, slopes, number, rng) else None


def furthest(number: int, gradient: np.ndarray, exact: np.ndarray, tolerance: float) -> Disagreement | None:
    """The entry of a gradient that differs most from the exact one, if by more than the tolerance."""
    scale = max(float(np.abs(gradient).max(initial=0.0)), float(np.abs(exact).max(initial=0.0)))
    off = np.abs(gradient - exact)
    if (off <= tolerance * scale).all():
        return None
    entry = tuple(int(i) for i in np.unravel_index(int(off.argmax()), off.shape))
    return Disagreement(number, entry, float(gradient[entry]), float(exact[entry]), float(off[entry] / scale))


def _copies(values: Arrays) -> Arrays:
    """For a reference that writes into its arguments."""
    return [value.copy() for value in values]


def _apart(y: np.ndarray, z: np.ndarray) -> float:
    """The largest distance; what is infinite or no number in both alike is not apart."""
    with np.errstate(all="ignore"):
        alike = (y == z) | (np.isnan(y) & np.isnan(z))
        return float(np.abs(np.where(alike, 0.0, y - z)).max(initial=0.0))


def _several(result) -> Arrays:
    return [np.asarray(y) for y in (result if isinstance(result, (tuple, list)) else (result,))]


def _refuse_other_values(reference: Callable, slopes: Slopes) -> None:
    with np.errstate(all="ignore"):
        found = _several(reference(*_copies(slopes.subject.values)))
    shapes = [y.shape for y in found], [y.shape for y in slopes.here]
    if shapes[0] == shapes[1] and all(y.dtype.kind in "biuf" for y in found):
        scale = max(float(np.abs(y).max(initial=0.0, where=np.isfinite(y))) for y in slopes.here)
        off = max(_apart(y, z) for y, z in zip(found, slopes.here, strict=True))
        if off <= SAME * scale:
            return
    raise ArgumentError(
        f"gradcheck got a reference that is another function: it gives outputs of shapes {shapes[0]} where the "
        f"function gives {shapes[1]}, or other values; pass the same function of NumPy arrays, or none"
    )


def _complex_outputs(reference: Callable, values: Arrays) -> Arrays | None:
    """The outputs, or None where the reference does not compute with complex numbers, for whatever reason."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        try:
            return _several(reference(*_copies(values)))
        except Exception:
            return None


def _along_a_direction(found: np.ndarray, slopes: Slopes, number: int, rng: np.random.Generator) -> bool:
    direction = signed(rng, found.shape)
    slope = slopes.along(number, direction, slopes.step(number, direction))
    scale = float(np.abs(found).max(initial=0.0))
    return bool(abs(np.sum(found * direction) - slope.central) <= ALIKE * scale + slope.noise)
