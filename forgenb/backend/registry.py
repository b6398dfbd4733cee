"""Which backends there are and which one creations use. Plug-ins are found by entry point, when asked for.

A plug-in announces itself in the group ``forgenb.backends``. Listing imports none of them; a broken one
is listed with its reason and raises it when it is chosen.

Imports the standard library, `forgenb.errors` and the interface; a plug-in is imported when it is chosen, and none
is named here but the default.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import importlib.metadata
import os
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from ..errors import BackendBroken, BackendError
from .interface import API

GROUP = "forgenb.backends"
_CHOSEN: ContextVar[str | None] = ContextVar("forgenb_backend", default=None)


@dataclass
class Slot:
    """One announced backend: where it comes from, and its object or why there is none."""

    name: str
    distribution: str
    version: str
    target: str
    state: str = "not loaded"
    backend: Any = None
    error: BackendBroken | None = None


_SLOTS: dict[str, Slot] = {}


def refresh() -> None:
    """Look for plug-ins again; those that work stay loaded."""
    for name in [n for n, slot in _SLOTS.items() if slot.backend is None]:
        del _SLOTS[name]
    for entry in importlib.metadata.entry_points(group=GROUP):
        source = (entry.dist.name, entry.dist.version) if entry.dist else ("unknown", "unknown")
        slot = Slot(entry.name, *source, entry.value)
        known = _SLOTS.setdefault(entry.name, slot)
        if known is not slot and known.target != slot.target:
            known.backend = None
            known.error = BackendBroken(
                f"two distributions announce the backend {entry.name!r}: {known.distribution} ({known.target}) "
                f"and {slot.distribution} ({slot.target}); uninstall one of them"
            )


def backends() -> list[dict[str, str]]:
    """Name, distribution, version, and state of each backend, without importing any plug-in."""
    _ensure()
    rows = []
    for slot in sorted(_SLOTS.values(), key=lambda s: s.name):
        state = f"broken: {slot.error}" if slot.error else "ready" if slot.backend else "not loaded"
        rows.append({"name": slot.name, "distribution": slot.distribution, "version": slot.version, "state": state})
    return rows


def get_backend(name: str | None = None):
    """The backend object called `name`, or the one that creations use now.

    Raises
    ------
    BackendError
        If no installed distribution announces that name.
    BackendBroken
        If its plug-in cannot be used, with the reason.
    """
    name = name or _CHOSEN.get() or os.environ.get("FORGENB_BACKEND") or "cpu"
    slot = _SLOTS.get(name)
    if slot is not None and slot.backend is not None:
        return slot.backend
    _ensure()
    if name not in _SLOTS:
        raise BackendError(_unknown(name))
    return _load(_SLOTS[name])


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


def _unknown(name: str) -> str:
    if not _SLOTS:
        return (
            f"no backend is installed, so {name!r} cannot be used: entry points exist only for an installed "
            "package, run `pip install -e .` in the checkout"
        )
    near = difflib.get_close_matches(name, _SLOTS, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"there is no backend {name!r}; installed are {', '.join(sorted(_SLOTS))}{hint}"


def _load(slot: Slot):
    if slot.error is None and slot.backend is None:
        try:
            module = importlib.import_module(slot.target)
            slot.error = _refusal(slot, module)
            if slot.error is None:
                slot.backend = module.create()
        except Exception as cause:
            slot.error = BackendBroken(f"{_origin(slot)} cannot be loaded: {type(cause).__name__}: {cause}")
            raise slot.error from cause
    if slot.error is not None:
        raise slot.error
    return slot.backend


def _refusal(slot: Slot, module) -> BackendBroken | None:
    api = getattr(module, "API", None)
    if api != API:
        return BackendBroken(f"{_origin(slot)} speaks API {api}, this forgenb speaks {API}: update one of them")
    reason = module.available()
    return BackendBroken(f"{_origin(slot)} is not available here: {reason}") if reason else None


def _origin(slot: Slot) -> str:
    return f"backend {slot.name!r} of {slot.distribution} {slot.version} ({slot.target})"
