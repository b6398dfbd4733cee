"""Memory that has no place yet: what a recorded step allocates until its routine is planned.

Imports `forgenb.errors` only; the recorder and the planner know more about it, backends never see it.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from ..errors import MemoryModeError

UNPLANNED = (
    "the value of a tensor was asked for while its step was being recorded, when nothing is computed yet: return it "
    "from the step and read it after a run"
)
SCRATCH = (
    "this tensor is scratch of routine {name!r}: its place is used again by later statements, so it has no value to "
    "read; return it from the step or call retain() on it while recording"
)
INLINED = (
    "this tensor is inlined in a routine: it is computed inside the statement that uses it and never stored; return it "
    "from the step or call retain() on it while recording"
)
NOT_RUN = "this tensor is stored by routine {name!r}, which has not run yet: run it first"


def place_of_call(frames: int) -> str:
    """File and line of a call, for messages; `frames` is how many functions lie between it and whoever asks."""
    caller = sys._getframe(frames + 1)
    return f"{os.path.basename(caller.f_code.co_filename)}:{caller.f_lineno}"


class PlannedMemory:
    """A block of `nbytes` bytes that a routine writes; it can be read once it is stored and has been written.

    `origin` is the recorder that made it, until it is placed; `decisions` what the user asked for, and where; `lent` a
    block that has its value before it is planned.
    """

    __slots__ = (
        "__weakref__", "_address", "decisions", "keep", "lent", "mode", "nbytes", "origin", "owner", "reason",
        "version",
    )  # fmt: skip

    def __init__(self, nbytes: int):
        self.nbytes = nbytes
        self.version = 0
        self.owner: Any = None
        self.lent: Any = None
        self.keep = False
        self.mode = "undecided"
        self.reason = UNPLANNED
        self._address: int | None = None
        self.origin: object = None
        self.decisions: dict[str, str] = {}

    def decide(self, kind: str, where: str) -> None:
        """Take down what the user wants of this value: ``"retain"``, ``"materialize"`` or ``"inline"``.

        Raises
        ------
        MemoryModeError
            If that conflicts with an earlier decision (naming both), or comes after planning.
        """
        if kind in self.decisions:
            return
        for other, place in self.decisions.items():
            if "inline" in (kind, other):
                raise MemoryModeError(
                    f"{kind}() at {where} conflicts with {other}() at {place}: an inlined value has no storage, so "
                    "drop one of the two"
                )
        planned = self.mode not in ("undecided", "constant")
        if planned and not (self.mode == "stored" and kind != "inline"):
            raise MemoryModeError(
                f"{kind}() at {where} comes too late: this value is {self.mode} in a routine that is planned already; "
                "call it while the step is recorded"
            )
        self.decisions[kind] = where
        self.keep = self.keep or kind == "retain"

    @property
    def address(self) -> int:
        """Where the block lies.

        Raises
        ------
        MemoryModeError
            If it has no value to read: while recording, or when it is scratch.
        """
        if self.lent is not None:
            return self.lent.address
        if self.reason or self._address is None:
            raise MemoryModeError(self.reason or UNPLANNED)
        return self._address

    def block(self) -> tuple[Any, int]:
        """The backend's own memory that it lies in, and its place there in bytes; raises like `address`."""
        owner = self.owner if self.lent is None else self.lent
        return owner, self.address - owner.address

    @property
    def placed(self) -> int:
        """The address for the routine itself, whatever can be read there."""
        if self._address is None:
            raise MemoryModeError(UNPLANNED)
        return self._address

    def lend(self, owner: Any) -> None:
        """Give the block a value to read before it is planned, in memory of its own; planning ends that."""
        self.lent, self.reason = owner, ""

    def overwritten(self, recorder: object) -> None:
        """Note that a step writes into this constant of its own: its value is then one that the step computes."""
        self.mode, self.reason, self.origin = "undecided", UNPLANNED, recorder

    def place(self, address: int | None, owner: object, mode: str, reason: str) -> None:
        """Give the block its address; `owner` keeps the memory alive."""
        self._address, self.owner, self.mode, self.reason = address, owner, mode, reason
        self.origin = self.lent = None
