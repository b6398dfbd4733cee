"""The learning rate of a program: a number of the host, or one element of a tensor that the device reads.

Imports tensors, kernels' declarations and captured programs; no rule of descent may stand here.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from forgenb.backend.planned import PlannedMemory
from forgenb.dtypes import compute_dtype
from forgenb.errors import ShapeError
from forgenb.kernel import Kernel, Operand
from forgenb.ops.apply import narrowed
from forgenb.ops.plans import floats_only, same_backend
from forgenb.optim.groups import checked
from forgenb.routine import Late, Program, late, needed, recorder_of, recording
from forgenb.tensor import Tensor

__all__ = ["Rate", "element", "host_number", "makers", "one_number", "reading_rate"]

Rate = float | Late | Callable[[], float] | Tensor


def host_number(rate: float | Late | Callable[[], float]) -> float | Late:
    """The rate as a number of the host; one that is late is taken as it comes.

    Raises
    ------
    ArgumentError
        If it is no number, or below 0.
    """
    if callable(rate):
        return late(rate)
    return rate if isinstance(rate, Late) else checked("learning_rate", rate)


def one_number(rate: Rate) -> Rate:
    """A function as one late number: it is called once before each run, however many parameters read it."""
    if not callable(rate):
        return rate
    with recording():
        return late(rate)


def element(rate: Tensor, p: Tensor) -> Tensor:
    """The rate without dimensions, in the dtype that a step of `p` computes in.

    Raises
    ------
    ShapeError, DTypeError, BackendError
        If it has several elements, holds no floats, or lives elsewhere than `p`.
    """
    if rate.size != 1:
        raise ShapeError(
            f"learning_rate got a tensor of shape {rate.shape}: one rate serves the whole step, so give it one element"
        )
    floats_only("learning_rate", rate)
    same_backend("learning_rate", (p, rate))
    return narrowed(rate.view((), ()), compute_dtype(p.dtype))


@cache
def reading_rate(kernel: Kernel) -> Kernel:
    """`kernel` with its rate, the first of its host numbers, as an operand without dimensions: the same body."""
    rate = Operand(kernel.scalars[0].name, (), "real", reads=True, writes=False)
    return replace(kernel, operands=(*kernel.operands, rate), scalars=kernel.scalars[1:])


def makers(rate: Rate) -> list[Program]:
    """The program that computes the rate, where it is a captured tensor that no routine computes yet."""
    if not isinstance(rate, Tensor) or not isinstance(rate.memory, PlannedMemory) or rate.memory.origin is None:
        return []
    part = needed(recorder_of(rate, "learning_rate"), rate)
    return [Program(part.statements, "learning rate", part)]
