"""Answers to the exercises of chapter 05."""

import numpy as np


def roofline(intensity, peak, bandwidth):
    return np.minimum(peak, intensity * bandwidth)


def speedup(serial, threads):
    return 1 / (serial + (1 - serial) / threads)


def traffic(steps, fused):
    if not fused:
        return sum(4 * (len(set(names)) + 1) for names, _ in steps)
    made = {name for _, name in steps}
    return 4 * (len({name for names, _ in steps for name in names} - made) + 1)


RIGHT = {"05-1": roofline, "05-2": speedup, "05-3": traffic}


def between_too(steps, fused):
    return traffic(steps, fused) + 4 * (len(steps) - 1) * fused


def each_use(steps, fused):
    made = {name for _, name in steps}
    used = sum(name not in made for names, _ in steps for name in names)
    return 4 * (used + 1) if fused else traffic(steps, False)


def without_writing(steps, fused):
    return traffic(steps, fused) - 4 * (1 if fused else len(steps))


def squares_twice(steps, fused):
    return traffic(steps, True) if fused else sum(4 * (len(names) + 1) for names, _ in steps)


WRONG = [
    ("05-1", "takes the higher", lambda i, p, b: np.maximum(p, i * b), "the higher of the two limits"),
    ("05-1", "has no flat part", lambda i, p, b: i * b, "the roof never gets flat"),
    ("05-1", "divides", lambda i, p, b: np.minimum(p, b / i), "divided by the intensity"),
    ("05-1", "adds times", lambda i, p, b: 1 / (1 / p + 1 / (i * b)), "the times are added"),
    ("05-2", "returns the time", lambda s, p: s + (1 - s) / p, "that is the time that is left"),
    ("05-2", "counts threads", lambda s, p: p, "all of the time is shared out"),
    ("05-2", "swaps the parts", lambda s, p: 1 / (1 - s + s / p), "have changed places"),
    ("05-2", "takes a mean of factors", lambda s, p: s + (1 - s) * p, "a mean of factors"),
    ("05-2", "gives the limit", lambda s, p: 1 / max(s, 1e-300), "the limit for any number of threads"),
    ("05-3", "never fuses", lambda steps, fused: traffic(steps, False), "a launch for each step"),
    ("05-3", "always fuses", lambda steps, fused: traffic(steps, True), "that is the traffic of one launch for all"),
    ("05-3", "counts arrays", lambda steps, fused: traffic(steps, fused) // 4, "arrays are counted"),
    ("05-3", "counts what is between", between_too, "what is between is counted"),
    ("05-3", "reads again", each_use, "counted for each step that uses it"),
    ("05-3", "forgets to write", without_writing, "writing is left out"),
    ("05-3", "counts squares twice", squares_twice, "what a step uses twice is counted twice"),
]
"""Exercise, mistake in words, answer, and what the verdict must say."""
