"""The python backend: what `forgenb.backend` asks of a plug-in, by interpretation.

Imports the other modules of this plug-in and `forgenb.kernel`. No op is named here.
"""

from __future__ import annotations

import contextlib
import inspect
from types import FunctionType

import numpy as np

from forgenb.kernel import Kernel
from forgenb.kernel.product import product_block, product_kernel

from .interpret import Interpreted, interpreted, run
from .memory import Memory, Space, cut
from .trace import Recorder


class PythonBackend:
    """Kernel bodies as plain Python on one thread. See `forgenb.backend.Backend` for what each method promises.

    Products run `forgenb.kernel.product.product_kernel` at every size: one meaning and one order of sums, at
    about a microsecond for a multiplication and an addition.
    """

    name = "python"
    host = True
    threads = 1

    def __init__(self):
        self._space = Space()
        self._made: dict[tuple, Interpreted] = {}
        self._recorders: list[Recorder] = []

    def allocate(self, nbytes: int) -> Memory:
        """A block of NaN bytes."""
        return self._space.allocate(nbytes)

    def upload(self, memory: Memory, array: np.ndarray) -> None:
        """Copy a host array into the start of a block."""
        cut(memory, 0, array.dtype, (array.size,), (1,))[...] = array.ravel()

    def view(self, memory: Memory, dtype: np.dtype, offset: int, shape: tuple, strides: tuple) -> np.ndarray:
        """The elements themselves; outside the block is an error."""
        return cut(memory, offset * dtype.itemsize, dtype, shape, strides)

    def compile(self, kernel: Kernel, real: str, storage: tuple[str, ...]) -> Interpreted:
        """Bind the body; nothing is compiled."""
        key = (kernel, real, storage)
        if key not in self._made:
            self._made[key] = interpreted(kernel, real, storage, self.source(kernel, real))
        return self._made[key]

    def compiled(self) -> list[Interpreted]:
        """What was bound so far."""
        return list(self._made.values())

    def source(self, kernel: Kernel, real: str) -> str:
        """The body as its author wrote it: that is what runs."""
        try:
            return inspect.getsource(kernel.body)
        except OSError:
            return f"# {kernel.name} was not written in a file that can be read\n"

    def launch(self, launcher: Interpreted, extent: int, chunk: int, block: bytes) -> None:
        """Run elements or rows one after the other; the chunk does not matter."""
        recorders = [recorder for recorder in self._recorders if recorder.wants(launcher.kernel.name)]
        run(self._space, launcher, extent, block, recorders[-1].call if recorders else _plain)

    def gemm(self, real: str, shape: tuple, flags: tuple, scales: tuple, places: tuple, steps: tuple, batch: tuple):
        """Run the reference product."""
        rows, block = product_block(real, shape, flags, scales, places, steps, batch)
        self.launch(self.compile(product_kernel, real, ()), rows, rows, block)

    def synchronize(self) -> None:
        """Launches have finished when they return."""

    def report(self) -> dict[str, object]:
        """What ``forgenb doctor`` says."""
        return {"threads": self.threads, "products": "interpreted"}

    @contextlib.contextmanager
    def trace(self, kernel: str, row: int, launch: int, depth: int | None):
        """Write down row `row` of launch number `launch` of a kernel; `forgenb.backend.trace` is the door."""
        recorder = Recorder(kernel, row, launch, depth)
        self._recorders.append(recorder)
        try:
            yield recorder.table
        finally:
            self._recorders.remove(recorder)
        recorder.check()


def _plain(body: FunctionType, number: int, arguments: tuple) -> object:
    return body(*arguments)
