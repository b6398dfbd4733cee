"""The tests of one op, in the order in which they find faults soonest: what a planted fault has to get past.

They are those that run for every op of the table: its gradients along a line, its conventions, all of the conformance
kit in float types, and differences of every entry (`gradcheck`). All run on the backend that interprets kernels.

Imports the kit, the conventions and gradcheck; a test that no suite runs must not be added here.
"""

from __future__ import annotations

import functools
import importlib
import signal
import threading
from collections.abc import Callable, Iterator

import numpy as np

from ...backend import use
from ...creation import tensor
from ...gradcheck import gradcheck
from ...ops import TABLE
from ..bounds import bound, gradient_bound
from ..checks import Setting, forward, gradient
from ..conventions import Convention, conventions, differences, results, seed_of
from ..kit import check_backend
from ..samples import FLOATS, Sample, call, differentiable, samples, samples_in
from .rules import BACKEND, rule_of

SMALL = 24
"""Elements of the largest sample whose entries are moved one by one."""
LARGEST = 300
"""Elements of an operand that the kit takes here; gradients along a line see all sizes."""
SECONDS = 120
"""Of processor time, after which a fault counts as found: it keeps the program from ending."""
_PANELS, _BLOCKS = (("forgenb.ops.attention", "SCRATCH", scratch) for scratch in (600, 5000))
_CONV = ("forgenb.ops.conv", "SCRATCH", 1)
LARGE: dict[str, list[tuple[tuple, dict, tuple[str, str, int]]]] = {
    "attention": [
        (((1, 66, 3),), {"heads": 1}, _PANELS),
        (((1, 66, 3),), {"heads": 1}, _BLOCKS),
        (((2, 66, 6),), {"heads": 2, "p": 0.4}, _PANELS),
    ],
    "conv2d": [(((3, 2, 3, 3), (4, 1, 2, 2)), {"groups": 2}, _CONV)],
    "conv2d_input_grad": [(((3, 4, 2, 2), (4, 1, 2, 2)), {"size": (3, 3), "groups": 2}, _CONV)],
    "conv2d_weight_grad": [(((3, 2, 3, 3), (3, 4, 2, 2)), {"kernel": (2, 2), "groups": 2}, _CONV)],
}
"""Operands that take the ways of large ones once a constant of a module is smaller, as in the tests of the op."""
OF_RULE = ("gradient", "accumulation", "aliasing", "inputs")
OF_KERNEL = ("forward", "special values", "aliasing", "inputs")
"""Checks of the kit that can see the rule of an op, and those that can see what the rule launches."""


class TooLong(Exception):
    """A fault that keeps a test from ending."""


def rejected(name: str, gradients: tuple[str, ...] = ()) -> str | None:
    """Which test of an op, or of the `gradients` that its rule launches, fails; None where all pass."""
    for label, test in tests(name, gradients):
        try:
            with use(BACKEND), np.errstate(all="ignore"), _limit(SECONDS):
                test()
        except Exception as error:
            return f"{label}: {type(error).__name__}: {error}"
    return None


def tests(name: str, gradients: tuple[str, ...]) -> Iterator[tuple[str, Callable[[], object]]]:
    """(label, test) for each test."""
    setting = Setting(name, "float64", bound(name, BACKEND), gradient_bound(name))
    for sample in _by_size(name):
        if differentiable(name, sample):
            yield f"gradient along a line at {sample.shapes}", functools.partial(gradient, setting, sample)
    for shapes, keywords, constant in LARGE.get(name, ()):
        rng = np.random.default_rng(0)
        sample = Sample([rng.uniform(-2, 2, shape) for shape in shapes], keywords, tuple(range(len(shapes))))
        line = functools.partial(gradient, setting, sample)
        yield f"gradient along a line at {sample.shapes}", functools.partial(_with, constant, line)
    for row in _conventions(name):
        yield f"convention {row.call}", functools.partial(_convention, row)
    for other in gradients:
        exact = Setting(other, "float64", bound(other, BACKEND), gradient_bound(other))
        for sample in _by_size(other):
            yield f"forward of {other} at {sample.shapes}", functools.partial(forward, exact, sample)
    yield f"conformance of {name}", functools.partial(_kit, (name,), OF_RULE)
    yield f"conformance of {', '.join(gradients)}", functools.partial(_kit, gradients, OF_KERNEL)
    for sample in _by_size(name):
        if differentiable(name, sample) and sum(a.size for a in sample.arrays) <= SMALL:
            yield f"differences at {sample.shapes}", functools.partial(_differences, name, sample)


@functools.cache
def _by_size(name: str) -> list[Sample]:
    return sorted(samples(name), key=lambda sample: (sum(a.size for a in sample.arrays) == 0, _size(sample)))


def _size(sample: Sample) -> int:
    return sum(a.size for a in sample.arrays)


@functools.cache
def _conventions(name: str) -> list[Convention]:
    return [row for row in conventions() if row.op == name and not row.refused]


def _convention(row: Convention) -> None:
    found = results(row, seed_of(row, 2.0), [tensor(a) for a in row.arrays()])
    wrong = differences(row, found, 2.0)
    assert not wrong, wrong[0]


def _with(constant: tuple[str, str, int], test: Callable[[], object]) -> None:
    module, name, value = constant
    holder = importlib.import_module(module)
    before = getattr(holder, name)
    setattr(holder, name, value)
    try:
        test()
    finally:
        setattr(holder, name, before)


def _kit(names: tuple[str, ...], checks: tuple[str, ...]) -> None:
    for result in check_backend(BACKEND, names, FLOATS, checks, LARGEST):
        assert result.ok is not False, result.message


def _differences(name: str, sample: Sample) -> None:
    places = differentiable(name, sample)

    def f(*moving):
        tensors = [tensor(a) for a in sample.arrays]
        for place, value in zip(places, moving, strict=True):
            tensors[place] = value
        return call(name, tensors, sample)

    gradcheck(f, *(sample.arrays[p] for p in places), tolerance=TABLE[name].gradient_tolerance)


CACHES = (samples, samples_in, rule_of, _by_size)
"""What is kept of a row of the table, for those who change one."""


class _limit:
    """Raise `TooLong` after some seconds, where that is possible: in the main thread."""

    def __init__(self, seconds: float):
        self.seconds = seconds
        self.possible = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")

    def __enter__(self) -> None:
        if self.possible:
            self.before = signal.signal(signal.SIGPROF, self.end)
            signal.setitimer(signal.ITIMER_PROF, self.seconds)

    def __exit__(self, *error) -> None:
        if self.possible:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, self.before)

    def end(self, number, frame):
        raise TooLong(f"no result after {self.seconds} s")
