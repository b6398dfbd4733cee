"""Learning rates as functions of the step, which counts from 1: set ``optimizer.lr`` before each step."""

from __future__ import annotations

import math

from ..errors import ArgumentError


def _check(step: int, steps: int, warmup: int = 0) -> None:
    if step < 1 or steps < 1 or not 0 <= warmup <= steps:
        raise ArgumentError(
            f"a schedule needs step >= 1 and 0 <= warmup <= steps >= 1, got {step}, {warmup} and {steps}"
        )


def constant(step: int, lr: float) -> float:
    """`lr` at every step."""
    _check(step, step)
    return lr


def linear(step: int, steps: int, lr: float, end: float = 0.0) -> float:
    """From `lr` at step 1 in a straight line to `end` at step `steps` and after."""
    _check(step, steps)
    done = min((step - 1) / max(steps - 1, 1), 1.0)
    return lr + (end - lr) * done


def step_decay(step: int, every: int, lr: float, factor: float = 0.1) -> float:
    """`lr` times `factor` once for each `every` steps that are complete."""
    _check(step, every)
    return lr * factor ** ((step - 1) // every)


def warmup_cosine(step: int, steps: int, warmup: int, lr: float, min_lr: float = 0.0) -> float:
    r"""Rise in a line to `lr` at step `warmup`, then fall along a cosine to `min_lr` at step `steps`.

    .. math::
        \eta_t = \eta\,\frac{t}{w} \quad (t \le w), \qquad
        \eta_t = \eta_{min} + \frac{\eta - \eta_{min}}{2} \Bigl(1 + \cos \pi \frac{t - w}{T - w}\Bigr)

    After `steps` it stays at `min_lr`.

    Raises
    ------
    ArgumentError
        If `step` or `steps` is below 1, or `warmup` is outside 0 to `steps`.

    References
    ----------
    Loshchilov, Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017.
    """
    _check(step, steps, warmup)
    if step <= warmup:
        return lr * step / warmup
    done = min((step - warmup) / max(steps - warmup, 1), 1.0)
    return min_lr + 0.5 * (lr - min_lr) * (1 + math.cos(math.pi * done))
