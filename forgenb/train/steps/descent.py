"""Gradient descent as a program, for `fnb.train.sequence`.

Imports the kernels of `forgenb.optim.sgd` and captured programs; an optimiser object keeps its own state instead.
"""

from forgenb.errors import ArgumentError, TapeError
from forgenb.ops.apply import run_map
from forgenb.optim.optimizer import checked, zeros_like
from forgenb.optim.sgd import momentum_kernel, nesterov_kernel, sgd_kernel
from forgenb.routine import Program, recording, scope
from forgenb.tensor import Parameter, Tensor, full_like
from forgenb.train.steps.parameters import is_param, parameters
from forgenb.train.steps.programs import Update, sequence
from forgenb.train.steps.rate import Rate, element, host_number, makers, one_number, reading_rate

__all__ = ["sgd_one", "sgd_update"]


def sgd_one(
    p: Parameter, learning_rate: Rate, momentum: float = 0.0, weight_decay: float = 0.0, nesterov: bool = False
) -> Program:
    r"""The program of one step of gradient descent on one parameter, which has its gradient from `grad_update`.

    .. math::
        d = g + \lambda p, \qquad b \leftarrow \mu b + d, \qquad p \leftarrow p - \eta b

    With `nesterov`, :math:`p \leftarrow p - \eta (d + \mu b)`. The buffer b starts at 0 and stays between runs.

    Parameters
    ----------
    p : Parameter
    learning_rate : float, late number, callable or Tensor
        :math:`\eta`: a number, arithmetic with symbols, a function that is called before each run, or a float tensor
        of one element on the backend of `p`, which the device reads in each run. What computes a captured tensor
        becomes part of the program; one with a value may be written between runs.
    momentum, weight_decay : float
        :math:`\mu` and :math:`\lambda`, which applies to every parameter, vectors too.
    nesterov : bool
        Needs a momentum.

    Raises
    ------
    ArgumentError
        If `p` is not a parameter, or a number is none or out of its range.
    TapeError
        If `p` has no gradient yet.
    ShapeError, DTypeError, BackendError
        If the tensor of the rate has several elements, holds no floats, or lives elsewhere than `p`.
    """
    step = _step(p, _gradient(p), learning_rate, momentum, weight_decay, nesterov)
    return sequence([*makers(learning_rate), step], step.name)


def _gradient(p: Parameter) -> Tensor:
    if not is_param(p):
        raise ArgumentError(f"sgd_one: {getattr(p, 'name', None) or 'this tensor'} is not a parameter")
    if p.grad is None:
        raise TapeError(f"sgd_one: parameter {p.name or p.shape} has no gradient: make grad_update first")
    return p.grad


def _step(
    p: Parameter, grad: Tensor, learning_rate: Rate, momentum: float, weight_decay: float, nesterov: bool
) -> Program:
    """`sgd_one` with a gradient of any origin, and without what computes the rate."""
    momentum, weight_decay = checked("momentum", momentum, 1), checked("weight_decay", weight_decay)
    if not isinstance(nesterov, bool):
        raise ArgumentError(f"sgd needs nesterov to be True or False, got {nesterov!r}")
    if nesterov and not momentum:
        raise ArgumentError("sgd with nesterov=True needs a momentum above 0")
    buffer = (zeros_like(p),) if momentum else ()
    name = p.name or "parameter"
    kernel = nesterov_kernel if nesterov else momentum_kernel if momentum else sgd_kernel
    numbers: tuple = (momentum, weight_decay) if momentum else (weight_decay,)
    with recording() as recorder, scope(f"{name} sgd"):
        operands = (p.detach(), grad, *buffer, full_like(p.view((), ()), 1))
        if isinstance(learning_rate, Tensor):
            kernel, operands = reading_rate(kernel), (*operands, element(learning_rate, p))
        else:
            numbers = (host_number(learning_rate), *numbers)
        run_map(kernel, operands, numbers, into=(p.detach(), *buffer))
    return Program(recorder.statements, f"{name} sgd", recorder)


def sgd_update(
    loss: Tensor | Update,
    learning_rate: Rate,
    momentum: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
) -> Program:
    """The programs of `sgd_one` for all parameters of a loss, in the order of their making; one rate serves all.

    ``sequence([grad_update(loss), sgd_update(loss, lr)])`` is a whole training step.

    Raises
    ------
    ArgumentError
        If the loss depends on no parameters; otherwise see `sgd_one`.
    """
    update = loss if isinstance(loss, Update) else None
    value = update.loss if update is not None else loss
    params = update.params if update is not None else parameters(loss)  # type: ignore[arg-type]
    if not params:
        raise ArgumentError("sgd_update: the loss depends on no parameters")
    grads = update.grads if update is not None else map(_gradient, params)
    settings = one_number(learning_rate), momentum, weight_decay, nesterov
    steps = [_step(p, grad, *settings) for p, grad in zip(params, grads, strict=True)]
    return sequence([*makers(learning_rate), *steps], f"{getattr(value, 'name', None) or 'loss'} sgd update")
