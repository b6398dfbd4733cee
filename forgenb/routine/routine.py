"""A planned and linked step: one call runs it, as often as wanted, on new inputs."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np

from ..backend import seam
from ..backend.planned import PlannedMemory
from ..errors import MemoryModeError
from ..tensor import Tensor
from .link import link
from .plan import Plan, place
from .program import Program
from .recorder import Recorder


class Routine:
    """One recorded step on one backend.

    Parameters
    ----------
    recorder : Recorder
        What was taken down.
    outputs : sequence of Tensor
        Values that can be read after a run.
    name : str
        For printing and messages.

    Attributes
    ----------
    name : str
    program : Program
        The statements, printable.
    runs : int
        How often it has run.
    """

    def __init__(self, recorder: Recorder, outputs, name: str):
        self.name, self.runs = name, 0
        recorder.finish()
        for output in outputs:
            if isinstance(output.memory, PlannedMemory):
                output.memory.keep = True
        self.program = Program(recorder.statements, name)
        self._recorder, self._outputs = recorder, tuple(outputs)
        self._plan, self._arena = place(recorder.statements, recorder.backend, name)
        self._runner = link(recorder.statements, recorder.backend)
        self._lock = threading.Lock()
        self._fresh = [m for m in recorder.memories if m.mode == "stored"]

    def run(self) -> None:
        """Check the inputs, compute the late numbers, and run every statement.

        Raises
        ------
        MemoryModeError
            If another thread is running this routine.
        """
        if not self._lock.acquire(blocking=False):
            raise MemoryModeError(f"routine {self.name!r} is running in another thread: one run at a time")
        try:
            for guard in self._recorder.guards:
                guard()
            for before in self._recorder.before:
                before()
            self._runner.run()
            self.runs += 1
            for memory in self._fresh:
                memory.reason = ""
                memory.version += 1
            self._fresh = [] if self.runs > 1 else self._fresh
            for after in self._recorder.after:
                after()
        finally:
            self._lock.release()

    @property
    def source(self) -> str:
        """The generated code of every kernel in it, as text."""
        return self._runner.source()

    def memory(self) -> dict[str, int]:
        """Bytes of scratch, of stored values, and of all values had none shared its place."""
        plan: Plan = self._plan
        return {"scratch": plan.scratch, "stored": plan.stored, "unshared": plan.unshared}

    def __str__(self) -> str:
        return str(self.program)


def load_input(target: Tensor, value) -> None:
    """Copy a new value into the memory of an input.

    Raises
    ------
    ShapeError, DTypeError
        If it does not fit what was recorded.
    """
    seam.upload(target.backend, target.memory, np.ascontiguousarray(value, target.dtype))


Step = Callable[..., object]
