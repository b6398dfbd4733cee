r"""The forward derivative against differences: `jvp` along one random direction through all inputs.

The derivative of each output entry, :math:`(J v)_k`, is compared with :math:`(f_k(x + h v) - f_k(x - h v)) / 2h`,
extrapolated as in `slopes`. It is the gradients' rules again, as functions of their cotangents.

Imports `jvp` and the subject; what backward gives is checked before, by `check`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..creation import tensor
from ..derivatives import jvp
from ..errors import ArgumentError, GradcheckError
from ..random import generator
from .compare import KINK
from .slopes import NOISE, SHRINK, STEP, STEPS, extrapolated, first_step, rise, rounding_at
from .subject import Arrays, Subject, outputs_of, signed


def check_forward(subject: Subject, tolerance: float, seed: int) -> None:
    """Compare the derivative along one direction, for each output.

    Raises
    ------
    GradcheckError
        Naming the output, the entry that differs most and both values.
    ArgumentError
        If the function is not differentiable along the direction.
    TapeError
        If an op of the function has no second derivative, of which forward derivatives are made.
    """
    rng = generator(seed, "gradcheck forward")
    directions = [_direction(rng, subject.values[number]) for number in subject.floats]
    found = _derivatives(subject, directions)
    for number, (analytic, slope) in enumerate(zip(found, _differences(subject, directions), strict=True)):
        numeric = slope.central
        scale = np.abs(numeric).max(initial=np.abs(analytic).max(initial=0.0, where=np.isfinite(analytic)))
        apart = np.abs(analytic - numeric)
        if not (apart <= tolerance * scale + slope.noise).all():
            entry = tuple(int(i) for i in np.unravel_index(int(apart.argmax()), apart.shape))
            raise GradcheckError(
                f"gradcheck: at entry {entry} of output {number} forward gives {analytic[entry]:.12g} and differences "
                f"give {numeric[entry]:.12g} along one direction, apart by {apart.max() / scale:.3g} of the largest "
                f"entry; the tolerance is {tolerance:.3g}. The output has shape {analytic.shape}. Gradients are "
                "right, so a rule is wrong as a function of its incoming gradient: look at what it does under "
                "create_graph",
                entry=entry,
                label=f"output {number}",
                analytic=float(analytic[entry]),
                numeric=float(numeric[entry]),
            )


THRICE = 3.0
"""Extrapolation adds up four roundings with factors of 4/3 and 1/6. Each may be that of the largest entry, with which
others share a sum. What does not move at all has the rounding of the derivative itself.
"""


class OutputSlope(NamedTuple):
    """The slope of each entry of an output, what rounding adds, and whether the one-sided slopes agree."""

    central: np.ndarray
    noise: float
    smooth: bool


def _direction(rng: np.random.Generator, value: np.ndarray) -> np.ndarray:
    """A random direction as long beside the input's values as a step must be."""
    drawn = signed(rng, value.shape)
    return drawn * (first_step(value, drawn) / STEP)


def _derivatives(subject: Subject, directions: Arrays) -> Arrays:
    given = subject.tensors(subject.values, tracked=False)

    def of_floats(*moving):
        inputs = list(given)
        for number, t in zip(subject.floats, moving, strict=True):
            inputs[number] = t
        return tuple(outputs_of(subject.step(*inputs)))

    points = [given[number] for number in subject.floats]
    tangents = [tensor(v, backend=t.backend.name) for v, t in zip(directions, points, strict=True)]
    return [np.array(t.numpy()) for t in jvp(of_floats, points, tangents)[1]]


def _differences(subject: Subject, directions: Arrays) -> list[OutputSlope]:
    """Extrapolated central differences of the outputs, with the first step whose sides agree."""

    def outputs(step: float) -> Arrays:
        moved = list(subject.values)
        for number, direction in zip(subject.floats, directions, strict=True):
            moved[number] = moved[number] + step * direction
        with np.errstate(all="ignore"):
            return subject.evaluate(moved)

    here = outputs(0.0)
    for step in (STEP, *(STEP * factor for factor in SHRINK[:2])):
        rows = zip(here, *(outputs(t * step) for t in STEPS), strict=True)
        slopes = [_slope(at, moved, step) for at, *moved in rows]
        if all(slope.smooth for slope in slopes):
            return slopes
    raise ArgumentError(
        "gradcheck: not differentiable here: along a random direction the slopes to the right and to the left differ; "
        "check at another point, away from kinks and from the ends of the domain"
    )


def _slope(here: np.ndarray, moved: list[np.ndarray], step: float) -> OutputSlope:
    with np.errstate(all="ignore"):
        central, right, left, _ = extrapolated(rise, here, moved, step)
        still = NOISE * np.abs(here).max(initial=0.0, where=np.isfinite(here))
        noise = THRICE * float(rounding_at(here, moved).max(initial=0.0)) / step + float(still)
        gap, scale = np.abs(right - left), np.abs(central).max(initial=0.0)
    return OutputSlope(central, noise, bool((gap <= KINK * scale + 4 * noise).all()))
