"""Streams: queues of work on one backend, each in order, side by side with the others.

A stream is a thread of its own, `concurrent.futures` keeps its queue. What runs there stays on that thread, so that
several streams share the cores instead of a pool. A backend may say what else a stream is, by a method ``on_stream()``
that gives a context manager: on a GPU its launches then go to a stream of the device, which is waited for at its end.

Imports the standard library and the registry; what the tasks do is not known here.
"""

from __future__ import annotations

import contextvars
import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext

from ..errors import ArgumentError, BackendError
from .registry import get_backend

__all__ = ["Stream"]


class Stream:
    """A queue of tasks that run one after the other, on a thread of their own.

    Parameters
    ----------
    backend : str, optional
        Where they compute; otherwise what ``use`` or ``FORGENB_BACKEND`` says, else ``"cpu"``.

    Notes
    -----
    A task sees the context variables (`use`, `no_grad`, `debug`) of the place that submitted it. What it computes has
    the bits that it would have there.
    """

    def __init__(self, backend: str | None = None):
        self.backend = get_backend(backend)
        self._scope: Callable[[], AbstractContextManager] = getattr(self.backend, "on_stream", nullcontext)
        self._closed = False
        self._start()

    def _start(self) -> None:
        self._process = os.getpid()
        self._queue = ThreadPoolExecutor(1, thread_name_prefix="forgenb-stream")
        self._last: Future | None = None
        self._thread: int | None = None

    def submit(self, task: Callable, *arguments: object, after: Iterable[Future] = ()) -> Future:
        """Queue ``task(*arguments)``; the call returns at once.

        Parameters
        ----------
        task : callable
        *arguments : object
            Evaluated now: what a caller changes later does not matter.
        after : iterable of Future
            Tasks of other streams, submitted before, that must have ended first. Where one of them has failed, this
            task does not run, and fails with the same error.

        Returns
        -------
        Future
            ``result()`` waits, and gives what the task returned or raises what it raised.

        Raises
        ------
        ArgumentError
            If the task cannot be called, or `after` holds anything else than tasks.
        BackendError
            If the stream is closed.
        """
        if not callable(task):
            raise ArgumentError(f"a stream runs functions, and got {type(task).__name__}")
        earlier = tuple(after) if isinstance(after, Iterable) else (after,)
        if not all(isinstance(task, Future) for task in earlier):
            raise ArgumentError(
                f"a stream's task waits for what submit of other streams returned, and got after={after!r}: give a "
                "list of these"
            )
        self.refuse_closed()
        if self._process != os.getpid():  # a forked child has the queue, and nobody who works on it
            self._start()
        context = contextvars.copy_context()
        self._last = self._queue.submit(context.run, self._run, task, arguments, earlier)
        return self._last

    def _run(self, task: Callable, arguments: tuple, after: tuple[Future, ...]) -> object:
        for earlier in after:
            earlier.result()
        self._thread = threading.get_ident()
        with self._scope():
            return task(*arguments)

    def refuse_closed(self) -> None:
        """Refuse a stream that takes no more tasks.

        Raises
        ------
        BackendError
            If it is closed.
        """
        if self._closed:
            raise BackendError("the stream is closed and takes no more work: make another one")

    def refuse_inside(self, what: str) -> None:
        """Refuse what waits for this stream, where a task of it asks for that.

        Raises
        ------
        BackendError
            If the call comes from a task of this stream, which would wait for itself.
        """
        if self._thread == threading.get_ident() and self._process == os.getpid():
            raise BackendError(f"{what} by a task of the stream that it waits for would never end: call it outside")

    def synchronize(self) -> None:
        """Wait until every task so far has ended, whether it failed, was cancelled or not: its future has the error.

        Raises
        ------
        BackendError
            If a task of this stream calls it.
        """
        self.refuse_inside("synchronize()")
        if self._last is not None and self._process == os.getpid():
            wait([self._last])

    def close(self) -> None:
        """Finish what is queued, and let go of the thread; a second call does nothing.

        Raises
        ------
        BackendError
            If a task of this stream calls it.
        """
        self.refuse_inside("close()")
        if not self._closed and self._process == os.getpid():
            self._queue.shutdown()
        self._closed = True

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
