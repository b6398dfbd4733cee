"""Which lanes race for an element: every access of a launch, checked as it happens (lane interpreter only).

The rule for kernels: between two barriers an element that one lane writes belongs to that lane. Others may neither read
it nor write another value to it; that every lane writes the same value is allowed. Between rows of different blocks no
barrier helps.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from forgenb.errors import BackendError

from .lanes import Grid


class Race(BackendError):
    """Two lanes touch one element, at least one writes, and nothing orders them."""


@dataclass
class _Element:
    reads: list[tuple] = field(default_factory=list)
    writes: list[tuple] = field(default_factory=list)


class Watch:
    """The accesses of one launch of one kernel."""

    def __init__(self, name: str, grid: Grid):
        self.name, self.grid = name, grid
        self._elements: dict[int, _Element] = {}

    def _now(self) -> tuple:
        return self.grid.blockIdx.x, (self.grid.threadIdx.x, self.grid.threadIdx.y), self.grid.epoch

    def read(self, place: int) -> None:
        """The lane that runs reads the element at address `place`."""
        now, element = self._now(), self._elements.setdefault(place, _Element())
        own = {value for who, value in element.writes if who == now}
        for who, value in element.writes:
            if _unordered(who, now) and value not in own:
                self._refuse(place, "reads", now, "writes", who)
        if not own:
            element.reads.append(now)

    def write(self, place: int, value) -> None:
        """The lane that runs writes `value`."""
        now, element = self._now(), self._elements.setdefault(place, _Element())
        bits = np.asarray(value).tobytes()
        for who, other in element.writes:
            if _unordered(who, now) and other != bits:
                self._refuse(place, "writes", now, "writes another value", who)
        for who in element.reads:
            if _unordered(who, now):
                self._refuse(place, "writes", now, "reads", who)
        if (now, bits) not in element.writes:
            element.writes.append((now, bits))

    def _refuse(self, place: int, action: str, now: tuple, other: str, who: tuple) -> None:
        raise Race(
            f"kernel {self.name}: lane {now[1]} of block {now[0]} {action} the element at {place:#x}, which lane "
            f"{who[1]} of block {who[0]} {other}, with no barrier between: give the element one owner, "
            "or call lane_barrier()"
        )


def _unordered(a: tuple, b: tuple) -> bool:
    return a[0] != b[0] or (a[1] != b[1] and a[2] == b[2])


class Watched:
    """An array whose elements tell a `Watch` who touches them."""

    __slots__ = ("_places", "_values", "_watch")

    def __init__(self, values: np.ndarray, places: np.ndarray, watch: Watch):
        self._values, self._places, self._watch = values, places, watch

    @property
    def shape(self) -> tuple[int, ...]:
        """As of an array."""
        return self._values.shape

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index):
        found, places = self._values[index], self._places[index]
        if isinstance(found, np.ndarray):
            return Watched(found, places, self._watch)
        self._watch.read(int(places))
        return found

    def __setitem__(self, index, value) -> None:
        self._values[index] = value
        self._watch.write(int(self._places[index]), self._values[index])


def watched(values: np.ndarray, address: int, watch: Watch) -> Watched:
    """A row-major array at `address`, watched."""
    places = address + np.arange(values.size, dtype=np.int64).reshape(values.shape) * values.itemsize
    return Watched(values, places, watch)
