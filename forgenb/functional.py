"""Functions of functions: `grad`, `value_and_grad`, and `custom_op` for a rule of the user's own.

Imports the tape, tensors, `as_tensor` and `variable`, no op: derivatives are the ops' own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any

from .errors import ArgumentError, DTypeError, TapeError
from .ops.apply import as_tensor
from .ops.steps import variable
from .sweep import gradients
from .tape import is_recording, no_grad, record, recording, refuse_tracked
from .tensor import Tensor, full_like

_DEPTH: ContextVar[int] = ContextVar("forgenb_grad_depth", default=0)


def value_and_grad(f: Callable, argnums: int | tuple[int, ...] = 0) -> Callable:
    r"""Return a function that computes :math:`f(x)` and :math:`\partial f/\partial x`.

    Parameters
    ----------
    f : callable
        Maps tensors to a tensor of one element.
    argnums : int or tuple of int
        Which positional arguments to differentiate by. They hold floats and need not require a gradient;
        no tensor's ``grad`` changes.

    Returns
    -------
    callable
        Takes what `f` takes and returns ``(value, gradient)``; with a tuple of `argnums`, a tuple of
        gradients. The gradient by an argument that `f` does not use is zero. It can be differentiated again
        where it is called inside another `grad`, or on tracked arguments.

    Raises
    ------
    ArgumentError
        If `argnums` does not name positional arguments, or `f` returns anything but one element.
    DTypeError
        If one of those arguments or the result does not hold floats.
    """

    @wraps(f)
    def computed(*args, **keywords):
        with as_variables(args, argnums) as (inputs, variables, nested):
            value = one_element("grad", f(*inputs, **keywords))
            found = _partials(value, variables, nested)
        value = value if nested else value.detach()
        return value, tuple(found) if isinstance(argnums, tuple) else found[0]

    return computed


def grad(f: Callable, argnums: int | tuple[int, ...] = 0) -> Callable:
    r"""Return a function that computes :math:`\partial f/\partial x`. See `value_and_grad`.

    Examples
    --------
    >>> import forgenb as fnb
    >>> cube = lambda x: x * x * x
    >>> fnb.grad(cube)(fnb.tensor(2.0)).item(), fnb.grad(fnb.grad(cube))(fnb.tensor(2.0)).item()
    (12.0, 12.0)
    """
    both = value_and_grad(f, argnums)

    @wraps(f)
    def computed(*args, **keywords):
        return both(*args, **keywords)[1]

    return computed


@contextmanager
def differentiating(points: Iterable[Tensor]) -> Iterator[bool]:
    """Record ops inside a ``with`` block, for derivatives at `points`; gives whether these are differentiated again.

    They are inside another such block, or where one of `points` is tracked.
    """
    nested = is_recording() and (_DEPTH.get() > 0 or any(t.requires_grad for t in points))
    token = _DEPTH.set(_DEPTH.get() + 1)
    try:
        with recording(True):
            yield nested
    finally:
        _DEPTH.reset(token)


@contextmanager
def as_variables(args: tuple, argnums: int | tuple[int, ...]) -> Iterator[tuple[list, list[Tensor], bool]]:
    """Arguments with variables in place of those that `argnums` names, these, and what `differentiating` gives.

    Raises
    ------
    ArgumentError
        If `argnums` does not name positional arguments.
    """
    picked = argnums if isinstance(argnums, tuple) else (argnums,)
    if not all(-len(args) <= i < len(args) for i in picked):
        raise ArgumentError(f"argnums={argnums} does not fit a call with {len(args)} positional arguments")
    chosen = {i % len(args): as_tensor(args[i]) for i in picked}
    with differentiating(chosen.values()) as nested:
        own = {i: variable(t) for i, t in chosen.items()}
        yield [own.get(i, arg) for i, arg in enumerate(args)], [own[i % len(args)] for i in picked], nested


def one_element(name: str, value: Any) -> Tensor:
    """`value`, of which `name` needs a single number.

    Raises
    ------
    ArgumentError
        If it is anything but a tensor of one element.
    DTypeError
        If it does not hold a float.
    """
    if not isinstance(value, Tensor) or value.size != 1:
        got = f"shape {value.shape}" if isinstance(value, Tensor) else type(value).__name__
        raise ArgumentError(f"{name} needs a function that returns a tensor of one element, got {got}: sum it first")
    if value.dtype.kind != "f":
        raise DTypeError(f"{name} got a result of dtype {value.dtype.name}: only floats have derivatives")
    return value


def _partials(value: Tensor, variables: list[Tensor], create_graph: bool) -> list[Tensor]:
    found = gradients([value], [full_like(value, 1)], variables, create_graph)
    return [full_like(v, 0) if g is None else g for v, g in zip(variables, found)]


def custom_op(forward: Callable, backward: Callable, second: bool = True) -> Callable:
    """Make an op from a forward and its backward rule.

    Parameters
    ----------
    forward : callable
        ``forward(*tensors, **options)`` returns a tensor or a tuple of tensors. It runs unrecorded, on
        detached inputs, so it may use any op, or NumPy.
    backward : callable
        ``backward(*douts, *tensors, **options)`` gets the gradient of each output (None where an output was
        not used), then the op's inputs, which are saved for it. It returns one gradient, or None, per input:
        a tuple, or the gradient itself where there is one input. The gradients stay the caller's: they are copied.
    second : bool
        Whether the rule can be differentiated again, as one written in ops can. Say no of a rule that computes with
        NumPy: what it does is not recorded, and second derivatives would be wrong.

    Returns
    -------
    callable
        Takes tensors (or what becomes one) by position and options by keyword.

    Raises
    ------
    ArgumentError
        If `forward` returns anything but tensors.
    TapeError
        In a sweep, if `backward` returns something else than one gradient of the right shape per input. In one that
        is recorded (``create_graph``), if `second` is False, or if `backward` drops a tracked gradient off the tape.

    Examples
    --------
    >>> import forgenb as fnb
    >>> square = fnb.custom_op(lambda x: x * x, lambda dout, x: 2.0 * x * dout)
    >>> x = fnb.tensor(3.0, requires_grad=True)
    >>> square(x).backward()
    >>> x.grad.item()
    6.0
    """
    label = getattr(forward, "__name__", "custom_op").replace("<lambda>", "custom_op")

    def op(*tensors, **options):
        inputs = tuple(as_tensor(t) for t in tensors)
        with no_grad():
            results = forward(*(t.detach() for t in inputs), **options)
        several = results if isinstance(results, tuple) else (results,)
        for result in several:
            if not isinstance(result, Tensor):
                raise ArgumentError(f"the forward of {label} must return tensors, got {type(result).__name__}")
        outputs = tuple(result.detach() for result in several)

        def rule(*douts):
            if not second:
                refuse_tracked(f"the backward of {label}", (*(d for d in douts if d is not None), *inputs))
            found = _owned(label, backward(*douts, *inputs, **options), len(inputs))
            return _still_tracked(label, found, douts)

        rule.__qualname__ = label
        return record(outputs if isinstance(results, tuple) else outputs[0], inputs, rule)

    op.__name__ = op.__qualname__ = label
    op.__doc__ = forward.__doc__
    return op


def _still_tracked(label: str, found: tuple, douts: tuple) -> tuple:
    """`found`, unless a recorded sweep came in tracked and goes out untracked: a gradient is linear in `douts`."""
    tracked = is_recording() and any(d is not None and d.requires_grad for d in douts)
    if tracked and any(g is not None and not g.requires_grad for g in found):
        raise TapeError(
            f"the backward of {label} returned a gradient that is off the tape, so it cannot be differentiated again: "
            "write the rule in ops, with None where nothing flows, or say second=False and leave out create_graph"
        )
    return found


def _owned(label: str, results: Any, inputs: int) -> tuple:
    """Copies of a rule's gradients, which the sweep may add to."""
    several = results if isinstance(results, tuple) else (results,)
    if len(several) != inputs or not all(g is None or isinstance(g, Tensor) for g in several):
        kinds = ", ".join(type(g).__name__ for g in several)
        asked = "1 tensor or None" if inputs == 1 else f"{inputs} tensors or None, one per input"
        raise TapeError(f"the backward of {label} must return {asked}, got {kinds}")
    return tuple(None if g is None else g.copy() for g in several)
