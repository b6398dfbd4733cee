"""The value of a captured tensor, computed once by a routine that is dropped afterwards; the graph stays as it was.

Imports routines. A tensor whose value is wanted again and again gets a routine of its own: `forward` and `to_routine`.
"""

import numpy as np

from forgenb.backend import seam
from forgenb.backend.planned import PlannedMemory
from forgenb.routine import Routine, apart, recorder_of
from forgenb.tensor import Tensor

__all__ = ["forward_and_forget", "forward_once"]


def forward_once(t: Tensor, **indices: int) -> Tensor:
    """Compute a captured tensor once; it can be read then, and its graph can be trained afterwards.

    The value is that of the parameters and data of this moment. It can be read until a routine is made that computes
    the tensor (`to_routine`), or until the next call. Nothing else of the run stays in memory.

    Parameters
    ----------
    t : Tensor
        Captured, and not computed by a routine yet.
    **indices : int
        Values of static symbols, by name; the others are 0.

    Returns
    -------
    Tensor
        `t` itself.

    Raises
    ------
    MemoryModeError
        If `t` has a value already that was not computed here, a routine computes it, or a step is being recorded.
    BindingError
        For a symbol that it does not depend on.
    IndexRangeError
        If a symbol, or an id of an input, is out of its range.
    """
    result = _computed(t, "forward_once", indices)
    kept = seam.allocate(t.backend, result.nbytes)
    seam.transfer(t.backend, kept, result, 0)
    t.memory.lend(kept)
    return t


def forward_and_forget(t: Tensor, **indices: int) -> np.ndarray:
    """The value of a captured tensor as an array on the host; every buffer that was used is free when it returns.

    The tensor stays one that is not computed yet. Parameters and errors are those of `forward_once`.

    Returns
    -------
    ndarray
        A copy, of the shape and dtype of `t`.
    """
    result = _computed(t, "forward_and_forget", indices)
    return np.array(Tensor(result, t.offset, t.layout).numpy())


def _computed(t: Tensor, caller: str, indices: dict[str, int]) -> PlannedMemory:
    """The value of `t` in memory apart from that of its graph, which lives as long as what is returned."""
    part, result = apart(recorder_of(t, caller), t)
    Routine(part, (), f"{t.name or 'tensor'} fwd").run(**indices)
    return result
