"""Learning rates as functions of the step, which counts from 0: set ``optimizer.lr`` before each step.

Imports the standard library and `forgenb.errors`; a schedule knows no optimiser and keeps no state.
"""

from __future__ import annotations

import math

from ..errors import ArgumentError


def _check(step: int, steps: int, warmup: int = 0) -> None:
    if step < 0 or steps < 1 or warmup < 0:
        raise ArgumentError(f"a schedule needs step >= 0, warmup >= 0 and steps >= 1, got {step}, {warmup} and {steps}")


def constant(step: int, lr: float) -> float:
    """`lr` at every step."""
    _check(step, 1)
    return lr


def linear(step: int, steps: int, lr: float, end: float = 0.0) -> float:
    """From `lr` at step 0 in a straight line to `end` at the last of `steps` steps, and after."""
    _check(step, steps)
    done = min(step / max(steps - 1, 1), 1.0)
    return lr + (end - lr) * done


def step_decay(step: int, every: int, lr: float, factor: float = 0.1) -> float:
    """`lr` times `factor` once for each `every` steps that are complete."""
    _check(step, every)
    return lr * factor ** (step // every)


def warmup_cosine(step: int, steps: int, warmup: int, lr: float, min_lr: float = 0.0) -> float:
    r"""Rise in a line to `lr` in `warmup` steps, then fall along a cosine towards `min_lr`.

    .. math::
        \eta_s = \eta\,\frac{s + 1}{w} \quad (s < w), \qquad
        \eta_s = \eta_{min} + \frac{\eta - \eta_{min}}{2} \Bigl(1 + \cos \pi \frac{s - w}{T - w}\Bigr)

    with the peak :math:`\eta`, the warmup w and T = `steps`. From step T on it stays at `min_lr`.

    Raises
    ------
    ArgumentError
        If `step` or `warmup` is negative, or `steps` is below 1.

    References
    ----------
    Loshchilov, Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017.
    """
    _check(step, steps, warmup)
    if step < warmup:
        return lr * (step + 1) / warmup
    done = min((step - warmup) / max(steps - warmup, 1), 1.0)
    return min_lr + 0.5 * (lr - min_lr) * (1 + math.cos(math.pi * done))
