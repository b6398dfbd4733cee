r"""Check a gradient against differences: `gradcheck`.

For outputs :math:`y_k = f_k(x)` and random cotangents :math:`w_k`, backward gives the gradient of
:math:`s(x) = \sum_k \langle w_k, y_k \rangle`. Every entry of it is compared with the central difference
:math:`D(h) = (s(x + h) - s(x - h)) / 2h`, extrapolated from two steps, :math:`(4 D(h/2) - D(h)) / 3`, whose
error falls with :math:`h^4`. The slopes to the right and to the left, extrapolated as well, show a kink.

Imports tensors, dtypes, random numbers and the tape, no op: it checks any function of tensors.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .creation import tensor
from .dtypes import FLOAT64
from .errors import ArgumentError, DTypeError, TapeError
from .random import generator
from .tape import no_grad
from .tensor import Tensor

STEP = 2e-3
LARGE = 2e-6
KINK = 1e-3
MOST = 200
LEAST = 1e-4


def gradcheck(f: Callable, *inputs, tolerance: float = 1e-6, seed: int = 0) -> bool:
    """Whether backward through `f` agrees with differences of `f`, or an error that says where it does not.

    Parameters
    ----------
    f : callable
        Takes the inputs as tensors and returns a tensor or a tuple of tensors. It must be a function of them
        alone, so a random op in it needs a fixed seed.
    *inputs : Tensor or array_like
        Every float input is checked and must be float64; others are handed on as they are. Of an input
        with more than 200 entries, 200 are drawn.
    tolerance : float
        Largest error, relative to the largest entry of the input's gradient.
    seed : int
        Of the cotangents and of the choice of entries.

    Returns
    -------
    bool
        True. A disagreement is an error, so that its place is known.

    Raises
    ------
    TapeError
        If an entry disagrees, naming the input, the entry and both values, or if `f` returns nothing tracked.
    ArgumentError
        If `f` is not differentiable at these inputs: the slopes to the left and to the right differ, or are
        not finite. Also if there is no float input.
    DTypeError
        If an input is float32 or float16.
    """
    check = _Check(f, [_as_input(number, value) for number, value in enumerate(inputs)], seed)
    if not check.floats:
        raise ArgumentError("gradcheck got no float input, so there is no gradient to check: pass float64 tensors")
    for number, gradient in zip(check.floats, check.gradients(), strict=True):
        check.compare(number, gradient, tolerance)
    return True


def _as_input(number: int, value) -> Tensor:
    made = value if isinstance(value, Tensor) else tensor(np.asarray(value))
    if made.dtype.kind == "f" and made.dtype is not FLOAT64:
        raise DTypeError(
            f"gradcheck got input {number} of dtype {made.dtype.name}: differences need float64, in a "
            "shorter dtype rounding hides what they should show; convert the inputs with astype('float64')"
        )
    return made


def _outputs(result) -> tuple[Tensor, ...]:
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


class _Check:
    """One function at one point, with fixed cotangents."""

    def __init__(self, f: Callable, inputs: list[Tensor], seed: int):
        self.f = f
        self.backends = [t.backend.name for t in inputs]
        self.values = [np.array(t.numpy()) for t in inputs]
        self.floats = [n for n, value in enumerate(self.values) if value.dtype.kind == "f"]
        self.rng = generator(seed, "gradcheck")
        self.cotangents: list[np.ndarray] = []

    def gradients(self) -> list[np.ndarray]:
        """What backward gives for each float input; draws the cotangents."""
        tensors = self.tensors(self.values, tracked=True)
        outputs = [t for t in _outputs(self.f(*tensors)) if t.dtype.kind == "f"]
        self.cotangents = [self.cotangent(t.shape) for t in outputs]
        pairs = [(t, w) for t, w in zip(outputs, self.cotangents, strict=True) if t.requires_grad]
        if not pairs:
            raise TapeError(
                "gradcheck: no output of the function is tracked, although its inputs are: an op in it "
                "leaves the tape, or it ignores its inputs"
            )
        for t, w in pairs:
            t.backward(tensor(w.astype(t.dtype), backend=t.backend.name), retain_graph=True)
        found = (tensors[number].grad for number in self.floats)
        shapes = (self.values[number].shape for number in self.floats)
        return [np.zeros(s) if g is None else np.array(g.numpy()) for g, s in zip(found, shapes, strict=True)]

    def cotangent(self, shape: tuple[int, ...]) -> np.ndarray:
        """Numbers of either sign and none near 0, so that no error is weighted away."""
        return self.rng.uniform(0.5, 1.5, shape) * self.rng.choice([-1, 1], shape)

    def tensors(self, values: list[np.ndarray], tracked: bool) -> list[Tensor]:
        """The inputs as fresh tensors, the float ones leaves if `tracked`."""
        return [
            tensor(value, requires_grad=tracked and value.dtype.kind == "f", backend=backend)
            for value, backend in zip(values, self.backends, strict=True)
        ]

    def evaluate(self, number: int, entry: tuple[int, ...], step: float) -> list[np.ndarray]:
        """The outputs where one entry of one input is moved by `step`."""
        moved = list(self.values)
        moved[number] = moved[number].copy()
        moved[number][entry] += step
        with no_grad():
            found = _outputs(self.f(*self.tensors(moved, tracked=False)))
        return [np.array(t.numpy(), np.float64) for t in found if t.dtype.kind == "f"]

    def slope(self, high: list[np.ndarray], low: list[np.ndarray], step: float) -> float:
        """Difference first, then the sum: outputs that do not move cost no digits."""
        with np.errstate(all="ignore"):
            moves = (np.where(a == b, 0.0, a - b) for a, b in zip(high, low, strict=True))
            terms = (np.sum(move * w) for move, w in zip(moves, self.cotangents, strict=True))
            return float(sum(terms)) / step

    def differences(self, number: int, entry: tuple[int, ...]) -> tuple[float, float, float]:
        """The extrapolated central, right and left slopes at one entry."""
        h = max(STEP, LARGE * abs(float(self.values[number][entry])))
        far, near, here, before, behind = (self.evaluate(number, entry, s) for s in (h, h / 2, 0, -h / 2, -h))
        central = (4 * self.slope(near, before, h) - self.slope(far, behind, 2 * h)) / 3
        right = 2 * self.slope(near, here, h / 2) - self.slope(far, here, h)
        left = 2 * self.slope(here, before, h / 2) - self.slope(here, behind, h)
        return central, right, left

    def compare(self, number: int, gradient: np.ndarray, tolerance: float) -> None:
        """Compare one input's gradient, first looking for kinks, since both values would be wrong there."""
        entries = list(np.ndindex(gradient.shape))
        if len(entries) > MOST:
            entries = [entries[i] for i in self.rng.choice(len(entries), MOST, replace=False)]
        found = {entry: self.differences(number, entry) for entry in entries}
        values = (*gradient.flat, *(central for central, _, _ in found.values()))
        scale = max((abs(v) for v in values if np.isfinite(v) and abs(v) > LEAST), default=LEAST)
        for entry, (_, right, left) in found.items():
            if not abs(right - left) <= KINK * scale:
                raise ArgumentError(
                    f"gradcheck: not differentiable here: at entry {entry} of input {number} the slope to "
                    f"the right is {right:.9g} and to the left {left:.9g}; check at another point, away from "
                    "kinks and from the ends of the domain"
                )
        for entry, (central, _, _) in found.items():
            apart = abs(gradient[entry] - central) / scale
            if not apart <= tolerance:
                raise TapeError(
                    f"gradcheck: at entry {entry} of input {number} backward gives {gradient[entry]:.12g} "
                    f"and differences give {central:.12g}, apart by {apart:.3g} of the largest entry; the "
                    f"tolerance is {tolerance:.3g}"
                )
