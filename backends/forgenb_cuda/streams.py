"""Streams of the device beside the main one, and events: marks in a stream.

Imports the standard library only; who queues what there is `driver`.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable

NON_BLOCKING, NO_TIMING = 1, 2
"""CU_STREAM_NON_BLOCKING, CU_EVENT_DISABLE_TIMING."""


class Side:
    """A stream and an event of the driver, which are destroyed with this object.

    Parameters
    ----------
    library
        The driver.
    call : callable
        ``call(name, *arguments)`` of a function of the driver; raises what it reports.

    Attributes
    ----------
    stream : ctypes.c_void_p
    """

    def __init__(self, library, call: Callable[..., None]):
        self._library, self._process = library, os.getpid()
        self.stream, self._event = ctypes.c_void_p(), ctypes.c_void_p()
        call("cuStreamCreate", ctypes.byref(self.stream), NON_BLOCKING)
        call("cuEventCreate", ctypes.byref(self._event), NO_TIMING)

    def follow(self, other: ctypes.c_void_p, call: Callable[..., None]) -> None:
        """Let what is queued here from now on begin after all that `other` has now."""
        call("cuEventRecord", self._event, other)
        call("cuStreamWaitEvent", self.stream, self._event, 0)

    def __del__(self):
        if self._process != os.getpid():  # a forked child has the numbers, and no driver
            return
        if self._event:
            self._library.cuEventDestroy_v2(self._event)
        if self.stream:
            self._library.cuStreamDestroy_v2(self.stream)


class Event:
    """A moment in the stream: when everything queued before it has finished."""

    def __init__(self, gpu):
        self._gpu, self._handle = gpu, ctypes.c_void_p()
        gpu._call("cuEventCreate", ctypes.byref(self._handle), 0)
        gpu._call("cuEventRecord", self._handle, gpu._stream)

    def since(self, earlier: Event) -> float:
        """Seconds from an earlier event to this one; waits for this one."""
        milliseconds = ctypes.c_float(0)
        self._gpu._call("cuEventSynchronize", self._handle)
        self._gpu._call("cuEventElapsedTime", ctypes.byref(milliseconds), earlier._handle, self._handle)
        return milliseconds.value / 1000

    def __del__(self):
        if self._handle:
            self._gpu._library.cuEventDestroy_v2(self._handle)
