"""Data parallelism on one machine: streams compute gradients of parts of a batch, which are merged for one update.

Imports programs, loops and streams; what is beyond this process is `distributed`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Lock
from typing import Any

import numpy as np

from forgenb.backend import Stream, get_backend
from forgenb.errors import ArgumentError, BackendError, MemoryModeError
from forgenb.ops.apply import run_map
from forgenb.ops.arithmetic import add_kernel
from forgenb.ops.copying import copy_kernel
from forgenb.routine import Bindings, Program, Routine, Symbol, outside_recording, recording, scope
from forgenb.tensor import Tensor, from_array
from forgenb.train import checks
from forgenb.train.steps.programs import Update, to_routine
from forgenb.train.workers.loops import round_robin, round_robin_dry_run, tree_schedule

__all__ = ["ParallelUpdate", "parallel_update", "suggest_streams"]

MERGES = ("stream", "copy")


def suggest_streams(max_streams: int | None = None, backend: str | None = None) -> list[Stream]:
    """New streams on a backend: as many as suit the machine, at least one and never more than `max_streams`.

    On the CPU a stream takes a core, so they are as many as the backend has threads; a backend that does not say
    otherwise gets one.

    Parameters
    ----------
    max_streams : int, optional
    backend : str, optional
        Otherwise what ``use`` or ``FORGENB_BACKEND`` says, else ``"cpu"``.

    Raises
    ------
    ArgumentError
        If `max_streams` is not a whole number above 0.
    """
    target = get_backend(backend)
    count = getattr(target, "suggested_streams", lambda: 1)()
    if max_streams is not None:
        count = min(count, checks.whole("suggest_streams", "max_streams", max_streams))
    return [Stream(target.name) for _ in range(max(1, count))]


class ParallelUpdate:
    """One training step over several streams; call it for one pass over all ranged symbols.

    Make one with `parallel_update`.

    Attributes
    ----------
    bindings : Bindings
        Cells of the symbols without a range; those with one are looped over.
    streams : tuple of Stream
    routines : tuple of Routine
        The gradient routines, one a stream.
    loss : Tensor
        After a round, the sum of the losses of the workers that took part in it.
    """

    def __init__(
        self,
        updates: Sequence[Update],
        descent: Program,
        symbols: tuple[Symbol, ...],
        streams: Sequence[Stream],
        merge: str,
        post_sync: Callable[[int], object] | None,
    ):
        self.bindings = Bindings(symbols, descent.name)
        self.streams, self.loss = tuple(streams), updates[0].loss
        self.routines = tuple(to_routine(update, symbols) for update in updates)
        self._merges: dict[tuple[int, int], Routine] = {}
        for workers in sorted({*round_robin_dry_run(len(updates), symbols), len(updates)}):
            for source, target in tree_schedule(workers):
                if (source, target) not in self._merges:
                    self._merges[source, target] = _merging(updates[source], updates[target], merge)
        self._descent = to_routine(descent, symbols)
        self._post_sync = post_sync
        self._events: dict[int, Future] = {}
        self._lock = Lock()

    def __call__(self) -> None:
        """One pass: every combination of the ranged symbols' values, in turn over the streams.

        Raises
        ------
        ForgeError
            What a worker raised, once the others have ended. The parameters are then those of the last whole round.
        MemoryModeError
            If another thread is in a call of it; that one goes on.
        BackendError
            If a task of one of its streams calls it, or one is closed.
        """
        workers = [self._worker(number) for number in range(len(self.routines))]
        with self._settled():
            round_robin(workers, self.bindings, self._sync)

    def changed(self) -> str | None:
        """What the update froze and has changed since, if anything, see `Routine.changed`."""
        return self._descent.changed()

    def step(self, values: Sequence[Iterable[tuple[Tensor, np.ndarray]]], indices: Mapping[str, int] = {}) -> None:
        """One round: each worker computes on its own new inputs, then one update.

        Parameters
        ----------
        values : sequence
            For each worker that takes part, beginning with the first, its inputs with their new values.
        indices : mapping
            Values of symbols by name, the same for all workers.

        Raises
        ------
        ArgumentError
            If there are no values or more than workers, or something is no mapping or no pair; see `__call__` too.
        """
        rows = _rows(values, indices, len(self.routines))
        with self._settled():
            for number, row in enumerate(rows):
                self._submit(number, row, dict(indices))
            self._sync(len(rows))

    def memory(self) -> int:
        """Bytes that its routines own: scratch, what they store, and constants."""
        routines = (*self.routines, *self._merges.values(), self._descent)
        return sum(r.memory()[kind] or 0 for r in routines for kind in ("scratch", "stored", "constant"))

    @contextmanager
    def _settled(self) -> Iterator[None]:
        """One caller at a time; whatever happens inside, no task of it is left behind."""
        for stream in self.streams:
            stream.refuse_inside("a step over streams")
        if not self._lock.acquire(blocking=False):
            raise MemoryModeError("a step over streams is running in another thread: one call at a time")
        try:
            yield
        finally:
            for stream in self.streams:
                stream.synchronize()
            self._events.clear()
            self._lock.release()

    def _worker(self, number: int) -> Callable[..., None]:
        return lambda **indices: self._submit(number, (), indices)

    def _submit(self, number: int, values: tuple, indices: dict[str, int]) -> None:
        self._indices = {s.name: self.bindings[s] for s in self.bindings} | indices
        self.routines[number].begin(values, self._indices)
        try:
            self._events[number] = self.streams[number].submit(self.routines[number].finish)
        except BaseException:
            self.routines[number].abandon()
            raise

    def _sync(self, workers: int) -> None:
        """Merge what the first `workers` have, update on the first stream, and wait."""
        for source, target in tree_schedule(workers):
            after = self._events[source], self._events[target]
            self._events[target] = self.streams[target].submit(self._merges[source, target].run, after=after)
        self.streams[0].submit(self._descent.run_on, (), self._indices, after=(self._events[0],)).result()
        if self._post_sync is not None:
            self._post_sync(workers)


def _merging(source: Update, target: Update, merge: str) -> Routine:
    """The routine that adds the gradients and the loss of one worker to those of another."""
    pairs = [(a.whole, b.whole) for a, b in zip(target.arenas, source.arenas, strict=True)]
    pairs.append((target.loss.detach(), source.loss.detach()))
    with recording() as recorder, scope("merge"):
        for mine, theirs in pairs:
            run_map(add_kernel, (mine, _received(theirs) if merge == "copy" else theirs), into=(mine,))
    return to_routine(Program(recorder.statements, f"merge into {target.name}", recorder))


def _received(theirs: Tensor) -> Tensor:
    """A copy of what another stream has, in a buffer of this one."""
    with outside_recording():
        buffer = from_array(np.zeros(theirs.shape, theirs.dtype), theirs.backend)
    run_map(copy_kernel, (theirs,), into=(buffer,))
    return buffer


def parallel_update(
    updates: Sequence[Update],
    descent: Program,
    bindings: Iterable[Symbol] = (),
    streams: Sequence[Stream] | None = None,
    merge: str = "stream",
    post_sync: Callable[[int], object] | None = None,
) -> ParallelUpdate:
    r"""Make one step of several gradient updates that run side by side.

    Step number i of the loops over the ranged symbols goes to worker i mod n. After each round the gradients of the
    workers that took part are **summed** in pairs (`tree_schedule`), into those of the first,

    .. math:: g_0 \leftarrow \sum_{i < k} g_i,

    so a loss that is divided by the size of the whole batch has the gradient of the whole batch. Then `descent` runs on
    the first stream, and the next round begins with the new parameters, which all streams share. The order of all sums
    is fixed: the same step on as many streams has the same bits in every run.

    Parameters
    ----------
    updates : sequence of Update
        One a worker, from captures of the same step over inputs of their own or over data at a symbol. They share the
        parameters.
    descent : Program
        The update of the parameters by the gradients of ``updates[0]``: ``sgd_update(updates[0], rate)``.
    bindings : iterable of Symbol
        The symbols, outermost first.
    streams : sequence of Stream, optional
        One a worker; by default new ones.
    merge : {"stream", "copy"}
        Whether a worker reads another's gradients where they are, or from a copy of its own; the bits are the same.
    post_sync : callable, optional
        Called after each round with the number of workers that took part: to read the loss, or to set a symbol.

    Raises
    ------
    ArgumentError
        If there are no updates, they do not belong together, there are not as many streams, or an argument is none of
        what it is for.
    BackendError
        If a stream is closed or of another backend than the updates.

    References
    ----------
    The scheme of OCANNL's ``Train.parallel_update``, version 0.5.1, but that a round of fewer workers merges the losses
    of these alone.
    """
    updates = _listed("updates", updates, Update, "make each with fnb.train.grad_update")
    _check(updates, merge)
    if not isinstance(descent, Program):
        raise ArgumentError(
            f"parallel_update takes a program that updates the parameters, such as sgd_update(updates[0], 0.1), and "
            f"got {type(descent).__name__}"
        )
    symbols = _listed("bindings", bindings, Symbol, "make each with fnb.symbol")
    if post_sync is not None and not callable(post_sync):
        raise ArgumentError(f"parallel_update calls post_sync, and got {type(post_sync).__name__}")
    backend = updates[0].loss.backend.name
    if streams is None:
        streams = [Stream(backend) for _ in updates]
    streams = _listed("streams", streams, Stream, "make each with fnb.backend.Stream")
    if len(streams) != len(updates):
        raise ArgumentError(f"parallel_update got {len(updates)} updates and {len(streams)} streams: give one each")
    for stream in streams:
        stream.refuse_closed()
        if stream.backend.name != backend:
            raise BackendError(f"parallel_update got updates of {backend!r} and a stream of {stream.backend.name!r}")
    return ParallelUpdate(updates, descent, tuple(symbols), streams, merge, post_sync)


def _listed(name: str, given: Any, kind: type, advice: str) -> list:
    """The objects of one kind that `given` holds."""
    found = list(given) if isinstance(given, Iterable) else [given]
    wrong = [type(one).__name__ for one in found if not isinstance(one, kind)]
    if wrong:
        raise ArgumentError(f"parallel_update takes a list of {name}, and got {', '.join(wrong)}: {advice}")
    return found


def _rows(values: Any, indices: Any, workers: int) -> list[tuple[tuple[Tensor, Any], ...]]:
    """What each worker of a round gets, checked."""
    rows = (
        [tuple(row) if isinstance(row, Iterable) else (row,) for row in values]
        if isinstance(values, (list, tuple))
        else []
    )
    if not 1 <= len(rows) <= workers or not all(_is_pair(pair) for row in rows for pair in row):
        raise ArgumentError(
            f"a round of {workers} workers takes a list of (tensor, array) pairs for each of 1 to {workers} of them, "
            f"and got {values!r}"
        )
    if not isinstance(indices, Mapping):
        raise ArgumentError(f"a round takes indices as a mapping of names to numbers, got {type(indices).__name__}")
    return rows


def _is_pair(pair: object) -> bool:
    if not isinstance(pair, tuple) or len(pair) != 2:
        return False
    return isinstance(pair[0], Tensor) and isinstance(pair[1], (Tensor, np.ndarray))


def _check(updates: Sequence[Update], merge: str) -> None:
    if not updates:
        raise ArgumentError("parallel_update needs at least one update: make each with fnb.train.grad_update")
    if not isinstance(merge, str) or merge not in MERGES:
        raise ArgumentError(f"parallel_update got merge={merge!r}: it is one of {', '.join(MERGES)}")
    first = updates[0]
    if len(updates) > 1 and any(update.changes() for update in updates):
        raise ArgumentError(
            f"parallel_update got {len(updates)} updates that change values from outside, such as running statistics, "
            "which several workers would do at once: give one update, or capture them in eval mode"
        )
    for number, other in enumerate(updates[1:], 1):
        same = len(first.params) == len(other.params) and all(p is q for p, q in zip(first.params, other.params))
        if not same:
            raise ArgumentError(
                f"parallel_update: update {number} has other parameters than update 0: capture the same loss for each "
                "worker, over data of its own"
            )
        fits = len(first.arenas) == len(other.arenas) and all(a.alike(b) for a, b in zip(first.arenas, other.arenas))
        if not fits or first.loss.shape != other.loss.shape:
            raise ArgumentError(
                f"parallel_update: update {number} computes its gradients or its loss in another order or shape than "
                "update 0: capture the same step for each worker"
            )
        if other.loss.memory is first.loss.memory:
            raise ArgumentError(
                f"parallel_update: update {number} is update 0 again: capture the step anew for each worker, since "
                "each needs gradients of its own"
            )
