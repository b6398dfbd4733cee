"""A stand-in for the driver that puts work off as a GPU may, so that what nobody waits for shows."""

import ctypes
import threading
from collections import defaultdict

from support.fake_driver import FakeDriver, value_of


class LazyDriver(FakeDriver):
    """A driver that does nothing until somebody waits: a stream then works off its queue, and waits for events.

    `queued` has (name, stream) of every call that goes to a stream, and (name, stream, event) of records and waits.
    """

    def __init__(self, **how):
        super().__init__(**how)
        self.queues, self.finished, self.events, self.queued = defaultdict(list), defaultdict(int), {}, []
        self.lock = threading.RLock()

    def later(self, name, stream, work):
        with self.lock:
            self.queued.append((name, value_of(stream)))
            self.queues[value_of(stream)].append(work)
        return 0

    def work_off(self, stream, most=None):
        """Do what a stream has, or the first `most` things that it ever had."""
        with self.lock:
            queue = self.queues[stream]
            while queue and (most is None or self.finished[stream] < most):
                self.finished[stream] += 1
                queue.pop(0)()

    def do_cuMemsetD8Async(self, address, byte, nbytes, stream):
        return self.later("fill", stream, lambda: ctypes.memset(address.value, byte.value, nbytes.value))

    def do_cuMemcpyHtoDAsync(self, target, source, nbytes, stream):
        taken = ctypes.string_at(source.value, nbytes.value)  # the driver reads pageable memory at once
        return self.later("upload", stream, lambda: ctypes.memmove(target.value, taken, len(taken)))

    def do_cuMemcpyDtoHAsync(self, target, source, nbytes, stream):
        return self.later("download", stream, lambda: ctypes.memmove(target.value, source.value, nbytes.value))

    def do_cuLaunchKernel(self, function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra):
        data = ctypes.string_at(extra[1], ctypes.c_size_t.from_address(extra[3]).value)
        return self.later("launch", stream, lambda: self.run(function.value, gx.value, data))

    def do_cuEventRecord(self, event, stream):
        event, stream = value_of(event), value_of(stream)
        with self.lock:
            self.queued.append(("record", stream, event))
            self.events[event] = stream, self.finished[stream] + len(self.queues[stream])
        return 0

    def do_cuStreamWaitEvent(self, stream, event, flags):
        other, most = self.events[value_of(event)]
        self.later("wait", stream, lambda: self.work_off(other, most))
        self.queued[-1] += (value_of(event),)
        return 0

    def do_cuStreamSynchronize(self, stream):
        self.queued.append(("synchronize", value_of(stream)))
        self.work_off(value_of(stream))
        return 0

    def do_cuCtxSynchronize(self):
        for stream in list(self.queues):
            self.work_off(stream)
        return 0
