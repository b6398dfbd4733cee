"""Finding plug-ins: what the entry points of the group ``forgenb.backends`` announce, without importing any.

A fault in what one distribution announces stays in its own slot: nothing else notices it.

Imports the standard library, `forgenb.errors` and the interface's number. A plug-in is imported in `Slot.load` only.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..errors import ArgumentError, BackendBroken
from .interface import API

GROUP = "forgenb.backends"
HOME = "forgenb"
"""The distribution whose backends stay when plug-ins are switched off."""
SWITCH = "FORGENB_DISABLE_PLUGINS"
_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")


@dataclass
class Slot:
    """One announced backend: where it comes from, and its object or why there is none.

    Attributes
    ----------
    target : str
        The module that the entry point names.
    backend : object or None
        What its ``create()`` gave.
    reason : str
        Why it cannot be used; empty where nothing is known against it.
    cause : BaseException or None
        What was raised meanwhile.
    faulty : bool
        Whether the reason lies in the plug-in's code, not in the machine.
    """

    name: str
    distribution: str
    version: str
    target: str
    backend: Any = None
    reason: str = ""
    cause: BaseException | None = None
    faulty: bool = False

    @property
    def state(self) -> str:
        """``"ready"``, ``"broken"`` or ``"not loaded"``."""
        return "broken" if self.reason else "ready" if self.backend is not None else "not loaded"

    @property
    def origin(self) -> str:
        """Name, distribution, version and entry point, for messages."""
        return f"backend {self.name!r} of {self.distribution} {self.version} ({self.target})"

    def load(self) -> Any:
        """The backend object.

        Raises
        ------
        BackendBroken
            With the reason, which is kept: asking again is quick and gives the same words.
        """
        if self.backend is None and not self.reason:
            self._try()
        if self.reason:
            raise BackendBroken(self.reason) from self.cause
        return self.backend

    def ask(self) -> str:
        """Why the backend cannot be used here, or nothing; its code is read, but no backend is made."""
        if self.backend is None and not self.reason:
            self._try(create=False)
        return self.reason

    def _try(self, create: bool = True) -> None:
        try:
            module = importlib.import_module(self.target)
            api = getattr(module, "API", None)
            if api != API:
                self.faulty = True
                self.reason = f"{self.origin} speaks API {api}, this forgenb speaks API {API}: update one of them"
                return
            unavailable = module.available()
            if unavailable:
                self.reason = f"{self.origin} is not available here: {unavailable}"
            elif create:
                self.backend = module.create()
        except ArgumentError:
            raise
        except (Exception, SystemExit) as cause:
            self.cause, self.faulty = cause, True
            self.reason = (
                f"{self.origin} cannot be loaded: {type(cause).__name__}: {cause}. Mend, update or uninstall "
                f"{self.distribution}; forgenb.backend.refresh() then tries again"
            )

    def forget(self) -> None:
        """Drop the modules of a faulty plug-in, so that the next attempt reads them anew."""
        if self.faulty:
            for name in [n for n in sys.modules if n == self.target or n.startswith(f"{self.target}.")]:
                del sys.modules[name]


def announced() -> dict[str, Slot]:
    """A fresh slot for every backend that an installed distribution announces.

    Raises
    ------
    ArgumentError
        If ``FORGENB_DISABLE_PLUGINS`` is neither 0 nor 1.
    """
    only_home = plugins_disabled()
    slots: dict[str, Slot] = {}
    for slot in _slots():
        if only_home and slot.distribution != HOME:
            continue
        other = slots.setdefault(slot.name, slot)
        if other is not slot:
            _double(other, slot)
        elif not slot.reason and not _NAME.match(slot.name):
            slot.reason = (
                f"{slot.origin} has a name that no backend may have: a lower-case letter, then lower-case letters, "
                "digits and underscores"
            )
    return slots


def plugins_disabled() -> bool:
    """Whether ``FORGENB_DISABLE_PLUGINS`` is 1."""
    text = os.environ.get(SWITCH, "")
    if text not in ("", "0", "1"):
        raise ArgumentError(f"{SWITCH} must be 0 or 1, got {text!r}: with 1 only forgenb's own backends are listed")
    return text == "1"


def _double(slot: Slot, other: Slot) -> None:
    slot.reason = (
        f"two distributions announce the backend {slot.name!r}: {slot.distribution} {slot.version} ({slot.target}) "
        f"and {other.distribution} {other.version} ({other.target}); uninstall one of them, or set {SWITCH}=1 to see "
        "forgenb's own alone"
    )


def _slots() -> Iterator[Slot]:
    try:
        entries = importlib.metadata.entry_points(group=GROUP)
    except Exception:  # some distribution's file cannot be read: take them one by one
        yield from _slots_one_by_one()
        return
    for entry in entries:
        yield _slot(entry, entry.dist)


def _slots_one_by_one() -> Iterator[Slot]:
    seen = set()
    for distribution in importlib.metadata.distributions():
        name = distribution.metadata["Name"]
        if name in seen:
            continue
        seen.add(name)
        with contextlib.suppress(Exception):
            for entry in distribution.entry_points.select(group=GROUP):
                yield _slot(entry, distribution)


def _slot(entry, distribution) -> Slot:
    if distribution is None:
        return Slot(entry.name, "an unknown distribution", "", entry.value)
    return Slot(entry.name, distribution.name, distribution.version, entry.value)


def cuda_supplier() -> str:
    """Which distribution ``import numba.cuda`` would load, by its metadata alone; nothing is imported.

    numba-cuda takes the place of the package inside numba through an import hook that it installs when
    Python starts.
    """
    hooked = "_numba_cuda_redirector" in sys.modules
    for name in ("numba-cuda", "numba") if hooked else ("numba",):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            return f"{name} {importlib.metadata.version(name)}"
    return ""
