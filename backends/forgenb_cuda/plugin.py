"""The CUDA backend: what `forgenb.backend` asks of a plug-in, on a GPU or on a machine that stands in for one."""

from __future__ import annotations

import inspect
import os
import struct
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from forgenb.errors import BackendError
from forgenb.kernel import read_row_block

from .program import GEMM_BLOCK, Plan, gemm_plan, map_plan, row_plan
from .templates import operand_types

FIRST_WITHOUT_GPU = (8, 0)
"""The compute capability whose PTX is shown where there is no GPU that has one."""


class Launcher:
    """A kernel for one float type and storage: built for each number of dimensions when it first occurs."""

    def __init__(self, machine, kernel, real: str, storage: tuple[str, ...]):
        self.machine, self.kernel, self.real, self.storage = machine, kernel, real, storage
        self.programs: dict[int, object] = {}

    def program(self, block: bytes):
        """The built launcher for the dimensions that an argument block has."""
        ndim = struct.unpack_from("=q", block, 8 * len(self.kernel.scalars))[0] if self.kernel.form == "map" else 0
        found = self.programs.get(ndim)
        if found is None:
            found = self.programs.setdefault(ndim, self.machine.build(self.plan(ndim)))
        return found

    def plan(self, ndim: int) -> Plan:
        """What to build."""
        if self.kernel.form == "map":
            return map_plan(self.kernel, self.real, self.storage, ndim)
        return row_plan(self.kernel, self.real)


class CudaBackend:
    """Kernels on a GPU. See `forgenb.backend.Backend` for what each method promises."""

    name = "cuda"
    host = False
    threads = 1
    dlpack_device = (2, 0)

    def __init__(self, machine):
        self.machine = machine
        self._launchers: list[Launcher] = []
        self._products: dict[str, object] = {}

    def allocate(self, nbytes: int):
        return self.machine.allocate(max(nbytes, 1))

    def upload(self, memory, array: np.ndarray) -> None:
        if array.size:
            self.machine.upload(memory.address, np.ascontiguousarray(array))

    def view(self, memory, dtype: np.dtype, offset: int, shape: tuple, strides: tuple) -> np.ndarray:
        """A copy: the span of memory that the elements lie in is read, and the elements picked from it here."""
        if 0 in shape:
            return np.empty(shape, dtype)
        reaches = [(extent - 1) * step for extent, step in zip(shape, strides, strict=True)]
        first = sum(reach for reach in reaches if reach < 0)
        span = sum(abs(reach) for reach in reaches) + 1
        raw = self.machine.download(memory.address + (offset + first) * dtype.itemsize, span * dtype.itemsize)
        steps = tuple(step * dtype.itemsize for step in strides)
        return np.ndarray(shape, dtype, raw, -first * dtype.itemsize, steps).copy()

    def compile(self, kernel, real: str, storage: tuple[str, ...]) -> Launcher:
        launcher = Launcher(self.machine, kernel, real, storage)
        self._launchers.append(launcher)
        return launcher

    def compiled(self) -> list:
        built = [program for launcher in self._launchers for program in launcher.programs.values()]
        return built + list(self._products.values())

    def source(self, kernel, real: str) -> str:
        storage = tuple(operand_types(kernel, real))
        plan = map_plan(kernel, real, storage, 2) if kernel.form == "map" else row_plan(kernel, real)
        return f"{inspect.getsource(kernel.body)}\n{plan.text}"

    def assembly(self, kernel, real: str, storage: tuple[str, ...], dims: int) -> str:
        """The PTX of a kernel over `dims` dimensions, or of the product where `kernel` is None; needs no GPU."""
        if kernel is None:
            plan = gemm_plan(real, self.machine.tile)
        else:
            plan = map_plan(kernel, real, storage, dims) if kernel.form == "map" else row_plan(kernel, real)
        return f"// {plan.name}\n{code_of(plan, getattr(self.machine, 'cc', FIRST_WITHOUT_GPU))}"

    def launch(self, launcher: Launcher, extent: int, chunk: int, block: bytes) -> None:
        kernel, machine = launcher.kernel, self.machine
        shape = machine.map_shape(extent) if kernel.form == "map" else machine.row_shape(extent, longest(kernel, block))
        machine.run(launcher.program(block), *shape, extent, block)

    def gemm(self, real: str, shape: tuple, flags: tuple, scales: tuple, places: tuple, steps: tuple, batch: tuple):
        m, n, k = shape
        outer, inner = batch
        tile = self.machine.tile
        tiles = outer * inner * -(-m // tile) * -(-n // tile)
        if not tiles:
            return
        if real not in self._products:
            self._products.setdefault(real, self.machine.build(gemm_plan(real, tile)))
        leading, strides = steps
        block = GEMM_BLOCK.pack(m, n, k, *places, *scales, *leading, *flags, inner, *strides)
        self.machine.run(self._products[real], min(tiles, 1 << 20), (tile * tile, 1), tiles, block)

    def suggested_streams(self) -> int:
        """Two on a GPU, so that it computes while Python prepares; one where nothing runs side by side."""
        return getattr(self.machine, "streams", 1)

    def on_stream(self) -> AbstractContextManager[None]:
        """See `Gpu.on_stream`; the machines without a GPU have no streams, and do nothing here."""
        return getattr(self.machine, "on_stream", nullcontext)()

    def synchronize(self) -> None:
        self.machine.synchronize()

    def wait(self, stream: int) -> None:
        """Return when what another library queued on its stream has finished: 1 is CUDA's default one."""
        self.machine.wait(stream)

    def memory(self) -> dict[str, int]:
        """Bytes that the pool holds and nobody uses."""
        return {"cached": getattr(self.machine, "cached_bytes", int)()}

    def release_cached(self) -> None:
        """Give unused blocks back."""
        getattr(self.machine, "release_cached", int)()

    def report(self) -> dict[str, object]:
        """What stands behind the backend."""
        return self.machine.report()


def longest(kernel, block: bytes) -> int:
    """The longest innermost dimension of a row kernel's operands, from its argument block."""
    sizes = read_row_block(kernel, block).sizes
    return max((sizes[o.dims[-1]] for o in kernel.operands if len(o.dims) > 1), default=1)


def code_of(plan: Plan, cc: tuple[int, int]) -> str:
    """The PTX of a plan, from the store or from the compiler.

    Raises
    ------
    BackendError
        If there is no compiler: numba-cuda is not installed, or Numba's simulator has taken its place.
    """
    if os.environ.get("NUMBA_ENABLE_CUDASIM") == "1":
        raise BackendError("Numba's CUDA simulator makes no PTX: unset NUMBA_ENABLE_CUDASIM and start again")
    try:
        from .built import program
    except ImportError as error:
        raise BackendError(f"PTX needs numba-cuda, which cannot be imported: {error}") from None
    return program(plan, cc).code
