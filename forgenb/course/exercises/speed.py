"""The exercises of chapter 05: the roof, Amdahl's law, and the bytes of a fused formula.

Imports the parts of judges; a judge has the name of the function that it asks for.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from ..exercise import exercise
from ..judging import expect

STEPS = (
    [("xy", "t"), ("tx", "u"), ("uu", "v"), ("vy", "w")],
    [("xy", "t")],
    [("x", "t"), ("x", "u"), ("tu", "v"), ("vxz", "w")],
)
"""Formulas as steps: the names of what each reads, and the name of what it makes."""


@exercise("05-1", "The highest rate at an intensity")
def roofline(answer: Callable) -> None:
    """It takes an array of intensities, the flop and the bytes of a second, and returns an array of flop per second."""
    intensity = np.array([0.05, 0.5, 3.0, 40.0, 200.0])
    for peak, bandwidth in ((100.0, 20.0), (3e12, 1e11), (8.0, 40.0)):
        slope, flat = intensity * bandwidth, np.full_like(intensity, peak)
        expect(
            answer(intensity.copy(), peak, bandwidth),
            np.minimum(flat, slope),
            f"a peak of {peak:g} and a bandwidth of {bandwidth:g}",
            [
                ("memory is the only limit, and the roof never gets flat.", slope),
                ("the roof is flat everywhere, and memory is no limit.", flat),
                ("the higher of the two limits is taken, and the lower one is what holds.", np.maximum(flat, slope)),
                ("the two limits are added; an op has to keep to both.", flat + slope),
                ("the bandwidth is divided by the intensity.", np.minimum(flat, bandwidth / intensity)),
                ("the bandwidth by itself is no rate of flop.", np.full_like(intensity, min(peak, bandwidth))),
                ("the times are added, though both go on at once.", 1 / (1 / flat + 1 / slope)),
            ],
        )


@exercise("05-2", "How much faster so many threads are")
def speedup(answer: Callable) -> None:
    """It takes the serial part of the time and the number of threads, and returns a factor."""
    for serial, threads in ((0.1, 4), (0.3, 1000), (0.0, 8), (1.0, 16), (0.25, 1)):
        rest = 1 - serial
        expect(
            answer(serial, threads),
            1 / (serial + rest / threads),
            f"a serial part of {serial} and {threads} threads",
            [
                ("that is the time that is left, and how much faster it is was asked.", serial + rest / threads),
                ("all of the time is shared out, the serial part too.", threads),
                ("only the parallel part counts, as if the serial one took no time.", threads / max(rest, 1e-300)),
                ("serial and parallel part have changed places.", 1 / (rest + serial / threads)),
                ("that is a mean of factors; add up times first, and then divide.", serial + rest * threads),
                ("the limit for any number of threads is no answer for these.", 1 / max(serial, 1e-300)),
            ],
        )


@exercise("05-3", "The bytes of a formula, in many launches and in one")
def traffic(answer: Callable) -> None:
    """It takes a list of (names read, name made) and whether all is one launch; it returns bytes for each element."""
    for steps, fused in itertools.product(STEPS, (False, True)):
        made = {name for _, name in steps}
        read = [name for names, _ in steps for name in names]
        outside = [name for name in read if name not in made]
        apart, together = len(steps) + sum(len(set(names)) for names, _ in steps), len(set(outside)) + 1
        right = together if fused else apart
        slips = [
            ("arrays are counted, and a float32 has more than one byte.", right / 4),
            ("writing is left out.", right - (1 if fused else len(steps))),
        ]
        if fused:
            slips += [
                ("that is the traffic of a launch for each step.", apart),
                ("an array is counted for each step that uses it, and one launch reads it once.", len(outside) + 1),
                ("what is between is counted, and it stays in registers.", len(set(read) | made)),
                ("what is between is counted, and it stays in registers.", len(set(read)) + len(made)),
            ]
        else:
            slips += [
                ("that is the traffic of one launch for all.", together),
                ("what a step uses twice is counted twice, and it is read once.", len(read) + len(steps)),
                ("reading is left out.", len(steps)),
            ]
        given = f"the steps {steps}, {'fused' if fused else 'not fused'}"
        expect(answer(list(steps), fused), 4 * right, given, [(text, 4 * arrays) for text, arrays in slips])
