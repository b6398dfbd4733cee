"""The two machines without a GPU: the lane interpreter, and Numba's CUDA simulator.

Both run the launchers that a GPU gets, as plain Python over simulated memory, with few lanes and small tiles. The lane
interpreter is the faster one and finds divergent barriers and races; Numba's is somebody else's idea of CUDA.
"""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import dataclass
from types import FunctionType

import numpy as np

from .lanes import Grid, as_dtype
from .program import Plan
from .races import Watch
from .simulated import TOGETHER, TYPES, Memory, Table, Words

QUIET = """
def quiet(*slots):
    share(cuda)
    with errstate(all="ignore"):
        launch(*slots)
"""

SWITCH_SECONDS = 1e-4
"""How long a thread of Numba's simulator keeps the interpreter: its manager polls, and would else keep it for 5 ms."""


class LockedShared:
    """Shared arrays for one launch in Numba's simulator, whose own gets or creates an array without a lock."""

    def __init__(self):
        self._lock, self._cells = threading.Lock(), {}

    def array(self, shape, dtype) -> np.ndarray:
        """The array of this line of the program, as ``cuda.shared.array``."""
        frame = sys._getframe(1)
        with self._lock:
            site = frame.f_code, frame.f_lineno
            if site not in self._cells:
                self._cells[site] = np.full(shape, np.nan, as_dtype(dtype))
            return self._cells[site]


_SHARING = threading.Lock()


def share(cuda) -> None:
    """Give a launch of Numba's simulator locked shared arrays; the lane interpreter needs none."""
    with _SHARING:
        if not isinstance(cuda, Grid) and "array" not in vars(cuda.shared):
            cuda.shared.array = LockedShared().array


@dataclass(frozen=True)
class Simulated:
    """A launcher as Python functions in one namespace."""

    name: str
    key: str
    text: str
    seconds: float
    cached: bool
    plan: Plan
    scope: dict
    words: Words
    together: bool


class Simulator:
    """A machine of few lanes, all of them on the host.

    Parameters
    ----------
    numba : bool
        Whether Numba's simulator runs the kernels, rather than the lane interpreter.
    width : int
        Lanes of a block, a power of two.
    """

    tile = 2
    grid = 2

    def __init__(self, numba: bool, width: int = 4):
        self.numba, self.width = numba, width
        self.table = Table()
        self.backwards = self.watching = False
        self._lock = threading.RLock()

    def allocate(self, nbytes: int) -> Memory:
        return self.table.allocate(nbytes)

    def upload(self, address: int, array: np.ndarray) -> None:
        self.table.bytes_at(address, array.nbytes)[...] = array.reshape(-1).view(np.uint8)

    def download(self, address: int, nbytes: int) -> np.ndarray:
        return self.table.bytes_at(address, nbytes).copy()

    def synchronize(self) -> None:
        """Launches have finished when they return."""

    def wait(self, stream: int) -> None:
        """There are no streams."""

    def row_shape(self, rows: int, longest: int) -> tuple[int, tuple[int, int]]:
        """Blocks, and the lanes of one, for rows of at most `longest` elements."""
        return min(self.grid, rows), (self.width, 1)

    def map_shape(self, extent: int) -> tuple[int, tuple[int, int]]:
        return min(self.grid, -(-extent // self.width)), (self.width, 1)

    def build(self, plan: Plan) -> Simulated:
        started = time.perf_counter()
        scope: dict = {**TYPES, "errstate": np.errstate, "cuda": None, "share": share}
        scope["real_kind"] = TYPES["float32" if plan.real == "float32" else "float64"]
        if self.numba:
            from numba import cuda

            scope["cuda"] = cuda
        words = Words(self.table, scope)
        scope |= plan.names(words.primitives_for(plan.real), words.launcher())
        exec(compile(plan.text, f"<launcher {plan.name}>", "exec"), scope)
        exec(QUIET, scope)
        together = plan.kernel is None or _meets(scope["body"], words, set())
        seconds = time.perf_counter() - started
        return Simulated(plan.name, plan.name, plan.text, seconds, False, plan, scope, words, together)

    def run(self, program: Simulated, blocks: int, block: tuple[int, int], extent: int, data: bytes) -> None:
        slots = (extent, *program.plan.packer.unpack(data))
        with self._lock:
            if self.numba:
                from numba import cuda

                before = sys.getswitchinterval()
                sys.setswitchinterval(SWITCH_SECONDS)
                try:
                    cuda.jit(program.scope["quiet"])[blocks, block](*slots)
                finally:
                    sys.setswitchinterval(before)
                return
            grid = program.scope["cuda"] = Grid(blocks, block, self.backwards)
            program.words.watch = Watch(program.name, grid) if self.watching and program.plan.kernel else None
            grid.run(program.scope["quiet"], slots, program.together)

    def report(self) -> dict[str, object]:
        kind = "Numba's simulator" if self.numba else "lane interpreter"
        return {"machine": kind, "lanes": self.width}


def _meets(function: FunctionType, words: Words, seen: set) -> bool:
    """Whether a bound body, or a function that it calls, lets lanes meet."""
    seen.add(function)
    meeting = [getattr(words, name) for name in TOGETHER]
    for value in function.__globals__.values():
        if value in meeting if not isinstance(value, (dict, list)) else False:
            return True
        if isinstance(value, FunctionType) and value not in seen and _meets(value, words, seen):
            return True
    return False
