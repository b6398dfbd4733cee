"""The exercises of chapter 13: running means, AdamW and an optimiser that the package lacks.

Imports the parts of judges; a judge has the name of the function that it asks for. A mistake is the right walk with
one of its numbers or steps otherwise.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..exercise import Mistaken, exercise
from ..judging import draw, expect

BEND = np.array([0.5, 3.0, 8.0, 1.0, 5.0, 0.2])
START = np.array([1.5, -2.0, 0.7, 0.4, 0.6, -1.3])


def _gradient(p: np.ndarray) -> np.ndarray:
    return BEND * p - 1.0


@exercise("13-1", "The running mean of gradients, with bias correction")
def running_mean(answer: Callable) -> None:
    """It takes a list of arrays, oldest first, and beta, and returns an array."""
    for steps, beta in ((4, 0.9), (1, 0.8), (7, 0.5)):
        several = [draw(2, 3, seed=k) for k in range(steps)]
        plain = _mean(several, beta)
        expect(
            answer([g.copy() for g in several], beta),
            plain / (1 - beta**steps),
            f"{steps} gradients and beta={beta}",
            [
                ("the mean starts at 0, and is not corrected for that.", plain),
                ("it is a constant too large: how many gradients there were must matter.", plain / (1 - beta)),
                ("it is multiplied by the correction, where it must be divided.", plain * (1 - beta**steps)),
                ("the correction counts one step too many.", plain / (1 - beta ** (steps + 1))),
                ("the newest gradient has the smallest weight.", _mean(several[::-1], beta) / (1 - beta**steps)),
                (
                    "the weights of the old mean and the new gradient are swapped.",
                    _mean(several, 1 - beta) / (1 - beta**steps),
                ),
                ("the weights have all changed places.", _mean(several, 1 - beta) / (1 - (1 - beta) ** steps)),
                ("all gradients have the same weight, where older ones count less.", np.mean(several, axis=0)),
                ("the mean starts at the first gradient and not at 0.", _mean(several[1:], beta, several[0])),
            ],
        )


def _mean(several: list[np.ndarray], beta: float, start: np.ndarray | float = 0.0) -> np.ndarray:
    found = np.zeros((2, 3)) + start
    for g in several:
        found = beta * found + (1 - beta) * g
    return found


@exercise("13-2", "Steps of AdamW")
def train_adamw(answer: Callable) -> None:
    """It takes a start, a function that gives the gradient, how many steps, and the numbers of AdamW."""
    for steps, decay in ((6, 0.3), (1, 0.3), (4, 0.0)):
        start, given = START.copy(), f"steps={steps} and decay={decay}"
        numbers = (0.1, 0.8, 0.95, 1e-3, decay)
        found = answer(start, _gradient, steps, *numbers)
        expect(
            found,
            _adamw(steps, *numbers),
            given,
            [
                ("it stays where it starts.", START),
                ("decay is part of the gradient here; that is Adam, and not AdamW.", _adamw(steps, *numbers, l2=decay)),
                ("parameters grow by the decay, where they must shrink.", _adamw(steps, *numbers[:4], -decay)),
                ("decay is left out.", _adamw(steps, *numbers[:4], 0.0)),
                ("decay is not multiplied by the learning rate.", _adamw(steps, *numbers[:4], decay / 0.1)),
                (
                    "decay shrinks what the step has left, where it takes the p before the step.",
                    _adamw(steps, *numbers, late=True),
                ),
                ("neither mean is corrected.", _adamw(steps, *numbers, first=False, second=False)),
                ("the mean of the gradients is not corrected.", _adamw(steps, *numbers, first=False)),
                ("the mean of the squares is not corrected.", _adamw(steps, *numbers, second=False)),
                ("epsilon stands inside the root.", _adamw(steps, *numbers, inside=True)),
                ("the root is missing.", _adamw(steps, *numbers, power=1.0)),
                ("it walks uphill.", _adamw(steps, *numbers, sign=-1.0)),
                ("every step has the correction of the first one.", _adamw(steps, *numbers, counts=False)),
                ("the two betas have each other's place.", _adamw(steps, 0.1, 0.95, 0.8, 1e-3, decay)),
                ("there is a step too many.", _adamw(steps + 1, *numbers)),
                ("one step is missing.", _adamw(steps - 1, *numbers)),
            ],
        )
        _untouched(start, given)


def _adamw(
    steps: int,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    decay: float,
    *,
    l2: float | None = None,
    first: bool = True,
    second: bool = True,
    counts: bool = True,
    inside: bool = False,
    late: bool = False,
    power: float = 0.5,
    sign: float = 1.0,
) -> np.ndarray:
    """The end of a walk; with `l2` that of Adam, whose decay is in the gradient."""
    p, m, v = START, np.zeros(START.size), np.zeros(START.size)
    for t in range(1, steps + 1):
        g = _gradient(p) + (l2 or 0.0) * p
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
        count = t if counts else 1
        mean = m / (1 - beta1**count) if first else m
        square = v / (1 - beta2**count) if second else v
        size = np.sqrt(square + eps) if inside else square**power + eps
        moved = p - lr * sign * mean / size
        p = moved - (lr * decay * (moved if late else p) if l2 is None else 0.0)
    return p


@exercise("13-3", "Steps of Lion")
def train_lion(answer: Callable) -> None:
    """It takes a start, a function that gives the gradient, how many steps, and the numbers of Lion."""
    for steps, decay in ((25, 0.4), (1, 0.4), (20, 0.0)):
        start, given = START.copy(), f"steps={steps} and decay={decay}"
        numbers = (0.1, 0.6, 0.9, decay)
        expect(
            answer(start, _gradient, steps, *numbers),
            _lion(steps, *numbers),
            given,
            [
                ("it stays where it starts.", START),
                ("the sign is not taken, so that steps differ in size.", _lion(steps, *numbers, bent=False)),
                ("the memory keeps c, where it has a beta of its own.", _lion(steps, 0.1, 0.6, 0.6, decay)),
                ("c is the new memory here, where it has a beta of its own.", _lion(steps, 0.1, 0.9, 0.9, decay)),
                ("the two betas have each other's place.", _lion(steps, 0.1, 0.9, 0.6, decay)),
                ("the memory moves first, and c is made of the new one.", _lion(steps, *numbers, early=True)),
                ("decay stands inside the sign.", _lion(steps, *numbers, inside=True)),
                ("parameters grow by the decay, where they must shrink.", _lion(steps, *numbers[:3], -decay)),
                ("decay is left out.", _lion(steps, *numbers[:3], 0.0)),
                ("decay is not multiplied by the learning rate.", _lion(steps, *numbers[:3], decay / 0.1)),
                ("it walks uphill.", _lion(steps, *numbers, sign=-1.0)),
            ],
        )
        _untouched(start, given)


def _lion(
    steps: int,
    lr: float,
    beta1: float,
    beta2: float,
    decay: float,
    *,
    bent: bool = True,
    early: bool = False,
    inside: bool = False,
    sign: float = 1.0,
) -> np.ndarray:
    p, m = START, np.zeros(START.size)
    for _ in range(steps):
        g = _gradient(p)
        after = beta2 * m + (1 - beta2) * g
        c = beta1 * (after if early else m) + (1 - beta1) * g
        c = c + decay * p if inside else c
        p = p - lr * (sign * (np.sign(c) if bent else c) + (0.0 if inside else decay * p))
        m = after
    return p


def _untouched(start: np.ndarray, given: str) -> None:
    if not np.array_equal(start, START):
        raise Mistaken(f"With {given} the result is right, but the array it started from is no longer what it was.")
