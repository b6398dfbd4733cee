"""A BLAS as this backend sees it: addresses of its products, and one thread while they run.

Two pools that spin on the same cores slow each other down many times over, so a library is held at one thread, and
gets its own number back when no product is left, in any thread. Imports nothing; the libraries are in `openblas` and
`mkl`.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping

_LOCK = threading.RLock()
_LOADED: list[Library] = []


class Library:
    """A BLAS that is loaded.

    Parameters
    ----------
    addresses : mapping
        float32 and float64 -> the address of Fortran ``?gemm``.
    ask, tell : callable
        Its number of threads, and how to change it.
    report : dict
        What ``forgenb doctor`` says of it.
    """

    def __init__(
        self,
        addresses: Mapping[str, int],
        ask: Callable[[], int],
        tell: Callable[[int], object],
        report: dict[str, str],
    ):
        self.addresses, self.report = addresses, report
        self._ask, self._tell = ask, tell
        self.users, self._before = 0, 1
        _LOADED.append(self)

    def threads(self) -> int:
        """Its own number of threads."""
        return self._ask()

    def __enter__(self) -> None:
        with _LOCK:
            if self.users == 0:
                self._before = self._ask()
                if self._before != 1:
                    self._tell(1)
            self.users += 1

    def __exit__(self, *error) -> None:
        with _LOCK:
            self.users -= 1
            if self.users == 0 and self._before != 1:
                self._tell(self._before)


def _before_fork() -> None:
    """Wait for products of other threads: a child would keep the locks that a library holds inside one."""
    _LOCK.acquire()
    latest = time.monotonic() + 10
    while any(library.users for library in _LOADED) and time.monotonic() < latest:
        _LOCK.release()
        time.sleep(0.0002)
        _LOCK.acquire()


def _after_fork() -> None:
    _LOCK.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
