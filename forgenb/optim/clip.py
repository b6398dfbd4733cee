"""The norm of all gradients together, and clipping by it or by the size of each number.

Imports tensors and ops; it works on any gradients and knows no optimiser.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from ..dtypes import compute_dtype
from ..errors import ArgumentError
from ..kernel import map_kernel
from ..kernel.primitives import infinity, select, sqrt
from ..ops.activations import clip_kernel as clip_value_kernel
from ..ops.apply import copied, row_major, run_map, widened
from ..ops.arithmetic import add_kernel, mul_kernel
from ..ops.reduction import sum_middle
from ..ops.sumsq import blocks_of, square_sums
from ..tensor import Tensor, empty


@map_kernel("total -> norm factor; max_norm unit")
def clip_norm_kernel(total, max_norm, unit):
    """The norm of a sum of squares in a `unit`, and what gradients are multiplied by: -1 where it is not finite."""
    norm = sqrt(total) * unit
    factor = select(norm > max_norm, max_norm / norm, 1.0) * unit
    return norm, select(norm < infinity(), factor, -1.0)


def clipping(tensors: Sequence[Tensor], max_norm: float, unit: float = 1.0) -> tuple[Tensor, Tensor]:
    r"""The norm :math:`\sqrt{\sum x^2}` of all `tensors` together and the factor that clips it, without dimensions.

    Nothing is read back: blocks are summed on the device, all tensors of a dtype into one buffer. Both are for
    gradients that are `unit` times the `tensors`.

    Raises
    ------
    ArgumentError
        If `max_norm` is not above 0.
    """
    if not max_norm > 0:
        raise ArgumentError(f"clipping needs a norm above 0, got {max_norm!r}")
    groups: dict[np.dtype, list[Tensor]] = {}
    for t in tensors:
        groups.setdefault(compute_dtype(t.dtype), []).append(t)
    totals = [_squares(group, dtype) for dtype, group in groups.items()]
    total = totals[0]
    for other in totals[1:]:
        total = run_map(add_kernel, (total, other))
    norm, factor = run_map(clip_norm_kernel, (total,), (max_norm, unit))
    return norm, factor


def global_norm(tensors: Sequence[Tensor]) -> float:
    r""":math:`\sqrt{\sum x^2}` over the elements of all `tensors` together."""
    return float(clipping(tensors, math.inf)[0].item()) if tensors else 0.0


def _squares(tensors: list[Tensor], dtype: np.dtype) -> Tensor:
    counts = [blocks_of(t) for t in tensors]
    sums = empty((sum(counts),), dtype, tensors[0].backend)
    start = 0
    for t, parts in zip(tensors, counts, strict=True):
        square_sums(widened(t.detach()), sums.view((parts,), (1,), start))
        start += parts
    return row_major(sum_middle(sums, 1, start, 1), ())


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
    norm, factor = clipping(gradients, max_norm)
    value = float(norm.item())
    if value > max_norm and math.isfinite(value):
        for grad in gradients:
            run_map(mul_kernel, (grad, copied(factor, grad.dtype)), into=(grad,))
            grad.changed()
    return value


def clip_grad_value(params: Iterable[Tensor], limit: float) -> None:
    """Bring every number of the gradients of `params` into ``[-limit, limit]``, in place; NaN stays NaN.

    Raises
    ------
    ArgumentError
        If `limit` is not above 0.
    """
    if not limit > 0:
        raise ArgumentError(f"clipping needs a limit above 0, got {limit!r}")
    for p in params:
        if p.grad is not None:
            run_map(clip_value_kernel, (p.grad,), (-limit, limit), into=(p.grad,))
            p.grad.changed()
