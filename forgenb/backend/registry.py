"""Which backends there are and which one creations use. Plug-ins are found by entry point, when asked for.

A plug-in announces itself in the group ``forgenb.backends``. Listing imports none of them; a broken one
is listed with its reason and raises it when it is chosen.

Imports the standard library, `forgenb.errors` and `discovery`; a plug-in is imported when it is chosen, and none is
named here but the default, and cuda in the list.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import os
import threading
from contextvars import ContextVar

from ..errors import BackendError
from .discovery import Slot, announced, cuda_supplier

VARIABLE = "FORGENB_BACKEND"
DEFAULT = "cpu"
_CHOSEN: ContextVar[str | None] = ContextVar("forgenb_backend", default=None)
_SLOTS: dict[str, Slot] = {}
_LOCK = threading.RLock()


def refresh() -> None:
    """Look for plug-ins again: new ones are found, broken ones are tried again, those that work stay loaded.

    Raises
    ------
    ArgumentError
        If ``FORGENB_DISABLE_PLUGINS`` is neither 0 nor 1.
    """
    with _LOCK:
        importlib.invalidate_caches()
        found = announced()
        for name, slot in list(_SLOTS.items()):
            new = found.get(name)
            if slot.backend is None:
                slot.forget()
            elif new is not None and (new.distribution, new.target) == (slot.distribution, slot.target):
                new.backend = slot.backend
        _SLOTS.clear()
        _SLOTS.update(found)


def backends(ask: bool = False) -> list[dict[str, str]]:
    """Every backend that is installed, without importing any plug-in.

    Parameters
    ----------
    ask : bool
        Ask each plug-in whether it can be used here, which imports it but makes no backend and opens no device.

    Returns
    -------
    list of dict
        In order of name: ``name``, ``distribution`` and ``version`` (who announces it), ``state`` (``"not
        loaded"``, ``"ready"`` or ``"broken"``), ``reason`` (why it is broken, else empty) and ``supplier``
        (for cuda, the distribution that ``numba.cuda`` comes from, else empty).
    """
    _ensure()
    for slot in _SLOTS.values() if ask else ():
        slot.ask()
    return [
        {
            "name": slot.name,
            "distribution": slot.distribution,
            "version": slot.version,
            "state": slot.state,
            "reason": slot.reason,
            "supplier": cuda_supplier() if slot.name == "cuda" else "",
        }
        for slot in sorted(_SLOTS.values(), key=lambda slot: slot.name)
    ]


def get_backend(name: str | None = None):
    """The backend object called `name`, or the one that creations use now.

    That is the innermost ``with use(...)``, else what ``FORGENB_BACKEND`` says, else cpu: no hardware is
    looked at, and nothing falls back to another.

    Raises
    ------
    BackendError
        If no installed distribution announces that name, or it is no text.
    BackendBroken
        If its plug-in cannot be used, with the reason.
    """
    if name is not None and not isinstance(name, str):
        raise BackendError(f"a backend is chosen by its name, a text such as 'cpu', and got {name!r}")
    chosen = name or _CHOSEN.get() or os.environ.get(VARIABLE) or DEFAULT
    slot = _SLOTS.get(chosen)
    if slot is not None and slot.backend is not None and not slot.reason:
        return slot.backend
    _ensure()
    with _LOCK:
        if chosen not in _SLOTS:
            from_variable = not name and not _CHOSEN.get() and chosen == os.environ.get(VARIABLE)
            raise BackendError(_unknown(chosen, VARIABLE if from_variable else ""))
        return _SLOTS[chosen].load()


def compiled() -> list:
    """Every launcher that this process loaded or compiled, in order, of all backends in use.

    Each has ``name``, ``key``, ``seconds`` (what it took to get), ``cached`` (whether the store had it) and
    ``text`` (its generated source).
    """
    return [launcher for slot in _SLOTS.values() if slot.backend for launcher in slot.backend.compiled()]


@contextlib.contextmanager
def use(name: str):
    """Create tensors on backend `name` inside a ``with`` block."""
    get_backend(name)
    token = _CHOSEN.set(name)
    try:
        yield
    finally:
        _CHOSEN.reset(token)


def _ensure() -> None:
    if not _SLOTS:
        refresh()


def _unknown(name: str, variable: str) -> str:
    if not _SLOTS:
        return (
            f"no backend is installed, so {name!r} cannot be used: entry points exist only for an installed "
            "package, run `pip install -e .` in the checkout"
        )
    asked = f"{variable}={name!r} names no backend" if variable else f"there is no backend {name!r}"
    near = difflib.get_close_matches(name, _SLOTS, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"{asked}; installed are {', '.join(sorted(_SLOTS))}{hint}"
