r"""The forward derivative against differences: `jvp` along one random direction through all inputs.

The derivative of each output entry, :math:`(J v)_k`, is compared with :math:`(f_k(x + h v) - f_k(x - h v)) / 2h`,
extrapolated as in `slopes`. It is the gradients' rules again, as functions of their cotangents.

Imports `jvp` and the subject; what backward gives is checked before, by `check`.
"""

from __future__ import annotations

import numpy as np

from ..creation import tensor
from ..derivatives import jvp
from ..errors import ArgumentError, GradcheckError
from ..random import generator
from .compare import KINK
from .slopes import SHRINK, STEP
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
    directions = [signed(rng, subject.values[number].shape) for number in subject.floats]
    found = _derivatives(subject, directions)
    for number, (analytic, numeric) in enumerate(zip(found, _differences(subject, directions), strict=True)):
        scale = max(np.abs(analytic).max(initial=0.0), np.abs(numeric).max(initial=0.0))
        apart = np.abs(analytic - numeric)
        if apart.size and not apart.max() <= tolerance * scale:
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


def _differences(subject: Subject, directions: Arrays) -> Arrays:
    """Extrapolated central differences of the outputs, with the first step whose sides agree."""

    def outputs(step: float) -> Arrays:
        moved = list(subject.values)
        for number, direction in zip(subject.floats, directions, strict=True):
            moved[number] = moved[number] + step * direction
        with np.errstate(all="ignore"):
            return subject.evaluate(moved)

    here = outputs(0.0)
    for step in (STEP, *(STEP * factor for factor in SHRINK[:2])):
        rows = zip(*(outputs(t * step) for t in (1, 0.5, -0.5, -1)), here, strict=True)
        parts = [_slope(row, step) for row in rows]
        if all(smooth for _, smooth in parts):
            return [central for central, _ in parts]
    raise ArgumentError(
        "gradcheck: not differentiable here: along a random direction the slopes to the right and to the left differ; "
        "check at another point, away from kinks and from the ends of the domain"
    )


def _slope(row: tuple[np.ndarray, ...], step: float) -> tuple[np.ndarray, bool]:
    """The slope of each entry, and whether the one-sided ones agree."""
    far, near, before, behind, here = row
    central = (4 * (near - before) / step - (far - behind) / (2 * step)) / 3
    right, left = (4 * (near - here) - (far - here)) / step, (4 * (here - before) - (here - behind)) / step
    gap = np.abs(right - left).max(initial=0.0)
    return central, bool(gap <= KINK * max(np.abs(central).max(initial=0.0), 1e-300) or gap == 0)
