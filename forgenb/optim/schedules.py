"""Learning rates as functions of the step, which counts from 0: set ``optimizer.lr`` before each step.

Imports the standard library and `forgenb.errors`; a schedule knows no optimiser and keeps no state.
"""

from __future__ import annotations

import math

from ..errors import ArgumentError


def _check(step: int, steps: int, warmup: int = 0) -> None:
    if step < 0 or steps < 1 or warmup < 0:
        raise ArgumentError(f"a schedule needs step >= 0, warmup >= 0 and steps >= 1, got {step}, {warmup} and {steps}")


def _risen(step: int, rise: int, lr: float) -> float:
    return lr * (step + 1) / rise


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


def warmup(step: int, rise: int, lr: float) -> float:
    """Rise in a line to `lr` in `rise` steps, the first of which is not 0, and stay there."""
    _check(step, 1, rise)
    return _risen(step, rise, lr) if step < rise else lr


def cosine(step: int, steps: int, lr: float, min_lr: float = 0.0) -> float:
    """Fall along half a cosine from `lr` at step 0 towards `min_lr`, where it stays from step `steps` on."""
    return warmup_cosine(step, steps, 0, lr, min_lr)


def warmup_stable_decay(
    step: int, steps: int, rise: int, fall: int, lr: float, min_lr: float = 0.0, power: float = 1.0
) -> float:
    r"""Rise in a line to `lr` in `rise` steps, stay, and fall to `min_lr` in the last `fall` of `steps`.

    .. math::
        \eta_s = \eta\,\frac{s + 1}{r} \quad (s < r), \qquad
        \eta_s = \eta - (\eta - \eta_{min}) \max\Bigl(0, \frac{s - (T - f)}{f}\Bigr)^{q}

    with the peak :math:`\eta`, r and f for `rise` and `fall`, q for `power`, and T = `steps`. It falls in a line with
    q = 1, and fast at first with q = 1/2, which the second reference found better. From step T on it stays at `min_lr`.

    Raises
    ------
    ArgumentError
        If a number is negative, `power` is not above 0, or the rise and the fall are longer than all steps.

    References
    ----------
    Hu et al., "MiniCPM: unveiling the potential of small language models", 2024. Hägele et al., "Scaling laws and
    compute-optimal training beyond fixed training durations", 2024.
    """
    _check(step, steps, rise)
    if fall < 0 or rise + fall > steps:
        raise ArgumentError(f"a rise of {rise} and a fall of {fall} steps must fit into {steps} steps")
    if not power > 0:
        raise ArgumentError(f"a fall of power {power} goes nowhere: it must be above 0")
    if step < rise:
        return _risen(step, rise, lr)
    done = min(max((step - (steps - fall)) / max(fall, 1), 0.0), 1.0)
    return lr + (min_lr - lr) * (done if fall else float(step >= steps)) ** power


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
        return _risen(step, warmup, lr)
    done = min((step - warmup) / max(steps - warmup, 1), 1.0)
    return min_lr + 0.5 * (lr - min_lr) * (1 + math.cos(math.pi * done))
