"""Training over several processes, on one machine or on many: each has a share of every batch, gradients are summed.

``mpiexec -n 4 forgenb train`` starts them. Messages go through mpi4py, the extra ``mpi``; nothing of it is imported
before `world` is asked for. Nothing here reads or writes files, and no message holds a pickle.

Imports shares of a batch, programs and modules.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from forgenb.errors import ArgumentError
from forgenb.nn import Module
from forgenb.optim import Optimizer
from forgenb.routine import Arena, Routine
from forgenb.tensor import Tensor
from forgenb.train.steps.programs import to_routine
from forgenb.train.workers.share import PartialUpdate, checked_workers, descent, samples_of, shares, variant

__all__ = ["DistributedStep", "World", "launched", "world"]

LAUNCHERS = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS")
"""What MPICH and its kin, and Open MPI, tell the processes that they start."""
BUCKET = 1 << 20
"""Bytes of gradients that one message has at least: fewer messages cost less, more of them begin earlier."""


def launched() -> int:
    """How many processes an ``mpiexec`` has started together with this one; 1 without any. MPI is not loaded."""
    found = [os.environ.get(name, "") for name in LAUNCHERS]
    return max((int(text) for text in found if text.isdecimal()), default=1)


def world() -> "World":
    """All processes that ``mpiexec`` has started together.

    Raises
    ------
    ArgumentError
        If mpi4py is not installed, or finds no MPI.
    """
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise ArgumentError(
            f"Training over several processes needs mpi4py and an MPI, and they cannot be loaded ({error}): install "
            "both with pip install 'forgenb[mpi]', and start with the mpiexec of that MPI."
        ) from error
    return World(MPI.COMM_WORLD)


class World:
    """The processes that train together, as each of them sees them.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        What connects them.

    Attributes
    ----------
    rank, size : int
        The number of this process, and how many there are.

    Notes
    -----
    But for `abort`, every method has to be called by all processes, in the same order.
    """

    def __init__(self, comm: Any):
        self.comm, self.rank, self.size = comm, comm.Get_rank(), comm.Get_size()

    @property
    def first(self) -> bool:
        """Whether this process is the one that writes and prints."""
        return self.rank == 0

    def neighbours(self) -> int:
        """How many of the processes run on this machine, this one included."""
        from mpi4py import MPI

        part = self.comm.Split_type(MPI.COMM_TYPE_SHARED)
        count = part.Get_size()
        part.Free()
        return count

    def sum(self, array: np.ndarray) -> None:
        """Replace `array`, in place, by the sum over all processes; all of them get the same bits."""
        from mpi4py import MPI

        self.comm.Allreduce(MPI.IN_PLACE, array)

    def begin_sum(self, array: np.ndarray) -> Any:
        """Begin to replace `array`; ``Wait()`` of what is returned ends it."""
        from mpi4py import MPI

        return self.comm.Iallreduce(MPI.IN_PLACE, array)

    def total(self, number: float) -> float:
        """The sum of a number over all processes, in float64."""
        found = np.array([number])
        self.sum(found)
        return float(found[0])

    def any(self, flag: bool) -> bool:
        """Whether it holds in any process."""
        return self.total(float(flag)) > 0

    def text(self, text: str) -> str:
        """The text of the first process."""
        data = np.frombuffer(text.encode(), np.uint8)
        size = np.array([len(data)])
        self.comm.Bcast(size)
        found = data.copy() if self.first else np.empty(int(size[0]), np.uint8)
        self.comm.Bcast(found)
        return found.tobytes().decode()

    def arrays(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The named arrays of the first process; what the others give does not matter."""
        about = {name: (array.dtype.str, array.shape) for name, array in arrays.items()}
        found = {}
        for name, (dtype, shape) in json.loads(self.text(json.dumps(about))).items():
            found[name] = np.array(arrays[name], order="C") if self.first else np.empty(shape, dtype)
            self.comm.Bcast(found[name].reshape(-1).view(np.uint8))
        return found

    def agree(self, what: str, value: str) -> None:
        """Check that all processes have the same value.

        Raises
        ------
        ArgumentError
            In every process, if one differs from the first.
        """
        first = self.text(value)
        if self.any(first != value):
            raise ArgumentError(
                f"The {self.size} processes that train together have different values of {what}, process {self.rank} "
                f"{value!r} and the first one {first!r}: start all of them with the same options, forgenb and data."
            )

    def abort(self, code: int) -> None:
        """End all processes at once, with an exit code that is not 0: those that wait would wait for ever."""
        self.comm.Abort(code)


class Reduction:
    """Sums of gradients over all processes, begun while the backward sweep goes on.

    Arenas hold gradients in the order in which they are complete, so a message takes a stretch of one as soon as its
    last gradient is there. On a GPU, and for float16, which MPI does not know, the sums are made on the host at the
    end.

    Parameters
    ----------
    world : World
    arenas : sequence of Arena
    bucket : int
        Bytes that a message has at least.
    """

    def __init__(self, world: World, arenas: Sequence[Arena], bucket: int = BUCKET):
        self.world = world
        self._late = [arena for arena in arenas if not _direct(arena)]
        self._buckets = [part for arena in arenas if _direct(arena) for part in buckets(arena, bucket)]
        self._requests: list[Any] = []

    def pauses(self) -> list[tuple[Sequence[Tensor], Callable[[], None]]]:
        """When each message can go, for `to_routine`."""
        return [(part[1], lambda part=part: self._begin(*part)) for part in self._buckets]  # type: ignore[misc]

    def _begin(self, arena: Arena, parts: Sequence[Tensor], begin: int, end: int) -> None:
        block = arena.memory.owner
        view = arena.whole.backend.view(block, arena.whole.dtype, begin, (end - begin,), (1,))
        for request in self._requests:
            request.Test()  # MPI goes on with messages only when it is called
        self._requests.append(self.world.begin_sum(view))

    def finish(self) -> None:
        """Wait until all sums are there."""
        for request in self._requests:
            request.Wait()
        self._requests.clear()
        for arena in self._late:
            found = np.array(arena.whole.numpy(), np.result_type(arena.whole.dtype, np.float32))
            self.world.sum(found)
            arena.whole[...] = found.astype(arena.whole.dtype)


def _direct(arena: Arena) -> bool:
    return arena.whole.backend.host and arena.whole.dtype != np.float16


def buckets(arena: Arena, least: int) -> list[tuple[Arena, list[Tensor], int, int]]:
    """(arena, its parts, begin, end) of stretches of at least `least` bytes, in elements; the last may have fewer."""
    size, found, parts, start = arena.whole.size, [], [], 0
    ends = [*arena.begins[1:], size]
    for part, end in zip(arena.parts, ends, strict=True):
        parts.append(part)
        if (end - start) * arena.whole.dtype.itemsize >= least or end == size:
            found.append((arena, parts, start, end))
            parts, start = [], end
    return found


class DistributedStep:
    r"""A step of an optimiser on a batch of which each process has a share.

    The gradients are summed over the processes, stretch by stretch while the sweep computes the next ones, and every
    process makes the same update. With :math:`n_i` of the n samples in process i,

    .. math:: g = \sum_i \frac{n_i}{n} \nabla L_i

    Call it with the process's samples; the result is (loss of the whole batch, gradient norm before clipping), the same
    in every process.

    Parameters
    ----------
    model, optimizer, clip_norm
        See `ShardedStep`. All processes begin with the same values.
    world : World
    samples : int
        Of the whole batch; `part` says which of them this process takes.
    bucket : int
        Bytes of gradients that one message has at least.

    Raises
    ------
    ArgumentError
        If there are more processes than samples, an argument is none of that, or a call gets another number of
        samples.
    """

    def __init__(
        self,
        model: Module,
        optimizer: Optimizer,
        clip_norm: float | None,
        world: World,
        samples: int,
        bucket: int = BUCKET,
    ):
        checked_workers("DistributedStep", model, optimizer, clip_norm)
        if not isinstance(world, World):
            raise ArgumentError(f"DistributedStep needs a World, such as world() gives, got {type(world).__name__}")
        if type(bucket) is not int or bucket < 1:
            raise ArgumentError(f"DistributedStep needs a bucket of at least 1 byte, got {bucket!r}")
        self.model, self.optimizer, self.clip_norm, self.world = model, optimizer, clip_norm, world
        self.samples, self.part = samples, shares(samples, world.size)[world.rank]
        self.bucket = bucket
        self._made: dict[tuple, tuple[PartialUpdate, Routine, Reduction, Routine, Any]] = {}

    def __call__(self, *arrays: np.ndarray) -> tuple[float, Any]:
        """One step; the arrays have a common first axis."""
        if samples_of(arrays, "DistributedStep") != self.part.stop - self.part.start:
            raise ArgumentError(
                f"process {self.world.rank} of {self.world.size} takes samples {self.part.start} to "
                f"{self.part.stop - 1} of a batch of {self.samples}, and got {len(arrays[0])} samples"
            )
        key = variant(self.model, arrays)
        if key not in self._made or self._made[key][3].changed():
            self._made[key] = self._record(arrays)
        share, gradients, reduction, update, norm = self._made[key]
        gradients.run_on(share.values(arrays), {})
        share.lead()
        reduction.finish()
        update.run()
        return self.world.total(share.update.loss.item()), norm

    def _record(self, arrays: Sequence[np.ndarray]) -> tuple[PartialUpdate, Routine, Reduction, Routine, Any]:
        share = PartialUpdate(self.model, arrays, self.part.start, self.samples)
        norm, program = descent(share.update, self.optimizer, self.clip_norm)
        reduction = Reduction(self.world, share.update.arenas, self.bucket)
        gradients = to_routine(share.update, pauses=reduction.pauses())
        return share, gradients, reduction, to_routine(program), norm
