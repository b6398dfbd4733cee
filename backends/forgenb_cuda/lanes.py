"""A lane interpreter: launchers as plain Python, one lane at a time, in a fixed order, up to the next barrier.

It plays the part of ``numba.cuda`` for a launcher text (`threadIdx`, `blockDim`, `shared.array`, `syncthreads`, ...).
Unlike on a GPU or in Numba's simulator the order of lanes is chosen, so every run is the same; a barrier that only
some lanes reach raises; a fresh shared array holds NaN; and `Watch` finds lanes that race for an element.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from forgenb.errors import BackendError

HERE = os.path.dirname(__file__)


class DivergentBarrier(BackendError):
    """Some lanes of a block wait at a barrier that the others never reach."""


class Dim3(NamedTuple):
    """An index or an extent of a block or a grid."""

    x: int
    y: int = 1
    z: int = 1


class _Stopped(BaseException):
    """Ends the threads of a block in which a lane failed."""


def as_dtype(kind) -> np.dtype:
    """The dtype of what a launcher calls ``float32``."""
    found = getattr(kind, "dtype", None)
    return found if isinstance(found, np.dtype) else np.dtype(kind)


class Grid:
    """One launch. Also the object that launchers know as ``cuda``.

    Parameters
    ----------
    blocks, block : tuple of int
        The number of blocks, and the lanes of one as (x, y).
    backwards : bool
        Run the lanes and blocks in the opposite order: what depends on the order is a race.
    """

    def __init__(self, blocks: int, block: tuple[int, int], backwards: bool = False):
        self.gridDim, self.blockDim = Dim3(blocks), Dim3(*block)
        self.blockIdx, self.threadIdx = Dim3(0, 0, 0), Dim3(0, 0, 0)
        self.shared = self
        self.epoch = 0
        self._step = -1 if backwards else 1
        self._cells: dict[tuple, np.ndarray] = {}
        self._lanes: list[_Lane] = []

    def run(self, function: Callable, slots: tuple, together: bool) -> None:
        """Call ``function(*slots)`` once a lane; `together` where lanes meet at barriers."""
        for number in range(self.gridDim.x)[:: self._step]:
            self.blockIdx, self._cells = Dim3(number, 0, 0), {}
            self.epoch += 1
            (self._together if together else self._alone)(function, slots)

    def _places(self) -> list[Dim3]:
        width, height, _ = self.blockDim
        return [Dim3(x, y, 0) for y in range(height) for x in range(width)][:: self._step]

    def _alone(self, function: Callable, slots: tuple) -> None:
        for place in self._places():
            self.threadIdx = place
            function(*slots)

    def _together(self, function: Callable, slots: tuple) -> None:
        self._lanes = [_Lane(place, function, slots) for place in self._places()]
        try:
            while self._advance():
                self.epoch += 1
        finally:
            for lane in self._lanes:
                lane.stop()

    def _advance(self) -> bool:
        """Let every lane run up to its next barrier; whether they wait there."""
        for lane in self._lanes:
            self.threadIdx = lane.place
            lane.resume()
        waiting = [lane for lane in self._lanes if not lane.finished]
        if waiting and len(waiting) < len(self._lanes):
            done = next(lane for lane in self._lanes if lane.finished)
            raise DivergentBarrier(
                f"lane {waiting[0].place[:2]} waits at a barrier that lane {done.place[:2]} never reaches: every lane "
                "of a block must meet the same barriers and reductions, in the same order"
            )
        where = {lane.where for lane in waiting}
        if len(where) > 1:
            lines = ", ".join(f"{name}:{line}" for name, line in sorted(where))
            raise DivergentBarrier(f"the lanes of a block wait at different barriers ({lines}): they must be the same")
        return bool(waiting)

    def syncthreads(self) -> None:
        """Wait until all lanes of the block are here."""
        place = self.threadIdx
        lane = next(lane for lane in self._lanes if lane.place == place)
        frame = sys._getframe(1)
        while os.path.dirname(frame.f_code.co_filename) == HERE and frame.f_back is not None:
            frame = frame.f_back
        lane.where = (frame.f_code.co_name, frame.f_lineno)
        lane.wait()

    def array(self, shape, dtype) -> np.ndarray:
        """The block's array of this line of the program, as ``cuda.shared.array``."""
        frame = sys._getframe(1)
        site = frame.f_code, frame.f_lineno
        if site not in self._cells:
            self._cells[site] = np.full(shape, np.nan, as_dtype(dtype))
        return self._cells[site]


class _Lane:
    """One lane in a thread of its own, of which one at a time runs."""

    def __init__(self, place: Dim3, function: Callable, slots: tuple):
        self.place, self.finished, self.where = place, False, ("", 0)
        self._error: BaseException | None = None
        self._go, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._stopped = False
        self._thread = threading.Thread(target=self._run, args=(function, slots), daemon=True)
        self._thread.start()

    def _run(self, function: Callable, slots: tuple) -> None:
        try:
            self._go.acquire()
            if not self._stopped:
                function(*slots)
        except _Stopped:
            pass
        except BaseException as error:
            self._error = error
        self.finished = True
        self._back.release()

    def resume(self) -> None:
        """Run until the lane waits or ends."""
        self._go.release()
        self._back.acquire()
        if self._error is not None:
            raise self._error

    def wait(self) -> None:
        """Called by the lane itself: let others run."""
        self._back.release()
        self._go.acquire()
        if self._stopped:
            raise _Stopped

    def stop(self) -> None:
        """End the thread, wherever it is."""
        if not self.finished:
            self._stopped = True
            self._go.release()
        self._thread.join()
