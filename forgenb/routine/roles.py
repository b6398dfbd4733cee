"""Roles of tensors from outside of routines: inputs that only the host writes, and values that are read as results.

A value that a routine computes keeps the decisions about it in its own memory (`forgenb.backend.planned`). Imports
statements; a role changes no result, it only refuses what contradicts it.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

from ..errors import MemoryModeError
from .statements import Launch, Product

__all__ = ["INPUT", "RESULT", "check_inputs", "give_role", "note_writer"]

INPUT, RESULT = "an input that the host writes", "a value that is read after runs"

_ROLES: weakref.WeakKeyDictionary[Any, tuple[str, str]] = weakref.WeakKeyDictionary()
_WRITERS: weakref.WeakKeyDictionary[Any, frozenset[int]] = weakref.WeakKeyDictionary()
"""Routine -> ids of the memories outside of it that it writes, and keeps alive."""


def give_role(memory, role: str, where: str) -> None:
    """Say what a block of memory from outside of routines is for; `where` is the call that says so.

    Raises
    ------
    MemoryModeError
        If it has another role already (naming both calls), or is to be an input and a routine writes it.
    """
    known, decided = _ROLES.get(memory, (role, where))
    if known != role:
        raise MemoryModeError(
            f"{where} conflicts with {decided}: the one makes this tensor {role}, the other {known}, so drop one of "
            "the two"
        )
    writers = (routine for reference in _WRITERS.keyrefs() if (routine := reference()) is not None)
    writer = next((routine for routine in writers if id(memory) in _WRITERS[routine]), None)
    if role == INPUT and writer is not None:
        raise MemoryModeError(
            f"{where}: routine {writer.name!r} writes this tensor, and an input is written by the host alone: give "
            "the routine a tensor of its own"
        )
    _ROLES.setdefault(memory, (role, where))


def check_inputs(statements: Iterable[Launch | Product], name: str) -> None:
    """Refuse statements that write an input of the host.

    Raises
    ------
    MemoryModeError
        Naming the statement, and the call that made the tensor an input.
    """
    known = (memory for reference in _ROLES.keyrefs() if (memory := reference()) is not None)
    inputs = {id(memory): _ROLES[memory][1] for memory in known if _ROLES[memory][0] == INPUT}
    for statement in statements:
        for memory in statement.writes:
            if id(memory) in inputs:
                raise MemoryModeError(
                    f"routine {name!r} would write with {statement.name} a tensor that {inputs[id(memory)]} made "
                    f"{INPUT}: drop one of the two, or compute into another tensor"
                )


def note_writer(memories: Iterable, routine) -> None:
    """Remember what a routine writes outside of itself, as long as it lives."""
    _WRITERS[routine] = frozenset(map(id, memories))
