"""The norm of all gradients together, and clipping by it.

Imports tensors and ops; it works on any gradients and knows no optimiser.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from ..backend import Backend
from ..errors import ArgumentError
from ..ops.apply import run_map, widened
from ..ops.arithmetic import scale_kernel
from ..ops.reduction import BLOCK
from ..ops.sumsq import square_sums
from ..tensor import Tensor, empty


def global_norm(tensors: Sequence[Tensor]) -> float:
    r""":math:`\sqrt{\sum x^2}` over the elements of all `tensors` together.

    Blocks are summed on the device in each tensor's dtype, all tensors into one buffer, which is read back
    once and summed in float64.
    """
    buffers: dict[tuple, list[Tensor]] = {}
    for t in tensors:
        buffers.setdefault((t.backend, widened_dtype(t)), []).append(t)
    return math.sqrt(sum(_squares(group, dtype, backend) for (backend, dtype), group in buffers.items()))


def widened_dtype(t: Tensor) -> np.dtype:
    """The dtype in which `t` is summed."""
    return np.dtype("float32") if t.dtype == np.float16 else t.dtype


def _squares(tensors: list[Tensor], dtype: np.dtype, backend: Backend) -> float:
    counts = [-(-t.size // BLOCK) for t in tensors]
    sums = empty((sum(counts),), dtype, backend)
    start = 0
    for t, parts in zip(tensors, counts):
        square_sums(widened(t.detach()), sums.view((parts,), (1,), start))
        start += parts
    return float(sums.numpy().sum(dtype=np.float64))


def clip_factor(norm: float, max_norm: float) -> float:
    """What gradients of that norm are multiplied by: ``max_norm / norm`` where it is greater, else 1."""
    if not max_norm > 0:
        raise ArgumentError(f"clipping needs a norm above 0, got {max_norm!r}")
    return max_norm / norm if norm > max_norm else 1.0


def clip_grad_norm(params: Iterable[Tensor], max_norm: float) -> float:
    """Scale the gradients of `params` in place so that their norm together is at most `max_norm`.

    ``optimizer.step(clip_norm=...)`` does the same inside the update and leaves the gradients as they are.

    Returns
    -------
    float
        The norm before. Where it is not finite, nothing is changed.

    Raises
    ------
    ArgumentError
        If `max_norm` is not above 0.
    """
    gradients = [p.grad for p in params if p.grad is not None]
    norm = global_norm(gradients)
    factor = clip_factor(norm, max_norm)
    if factor != 1.0 and math.isfinite(norm):
        for grad in gradients:
            run_map(scale_kernel, (grad,), (factor,), into=(grad,))
            grad.changed()
    return norm
