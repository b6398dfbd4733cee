"""Stochastic gradient descent.

Imports `optimizer`, kernels and `run_map`; state that a checkpoint does not see must not be kept.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import ArgumentError
from ..kernel import map_kernel
from ..kernel.primitives import select
from ..ops.apply import run_map
from .optimizer import Optimizer, checked


@map_kernel("p g factor -> p; lr l2")
def sgd_kernel(p, g, factor, lr, l2):
    """One step without momentum; a negative factor changes nothing."""
    return select(factor >= 0.0, p - lr * (g * factor + l2 * p), p)


@map_kernel("p g b factor -> p b; lr momentum l2")
def momentum_kernel(p, g, b, factor, lr, momentum, l2):
    """One step; b is the running sum of gradients."""
    next_b = momentum * b + (g * factor + l2 * p)
    go = factor >= 0.0
    return select(go, p - lr * next_b, p), select(go, next_b, b)


@map_kernel("p g b factor -> p b; lr momentum l2")
def nesterov_kernel(p, g, b, factor, lr, momentum, l2):
    """One step from where the momentum would lead."""
    d = g * factor + l2 * p
    next_b = momentum * b + d
    go = factor >= 0.0
    return select(go, p - lr * (d + momentum * next_b), p), select(go, next_b, b)


class SGD(Optimizer):
    r"""Gradient descent, perhaps with momentum.

    .. math::
        b \leftarrow \mu b + g + \lambda p, \qquad p \leftarrow p - \eta b

    Parameters
    ----------
    params, lr
        See `Optimizer`.
    momentum : float
        :math:`\mu`, from 0 up to 1.
    nesterov : bool
        Step by :math:`g + \lambda p + \mu b` in place of b.
    weight_decay : float
        :math:`\lambda`, on parameters whose `decay` is set.

    References
    ----------
    Sutskever et al., "On the importance of initialization and momentum in deep learning", 2013.
    """

    def __init__(
        self,
        params: Iterable,
        lr: float,
        momentum: float = 0.0,
        nesterov: bool = False,
        weight_decay: float = 0.0,
    ):
        super().__init__(params, lr)
        self.momentum = checked("momentum", momentum, 1)
        self.weight_decay = checked("weight_decay", weight_decay)
        if nesterov and not momentum:
            raise ArgumentError("SGD with nesterov=True needs a momentum above 0")
        self.nesterov = nesterov
        self.slots = ("momentum",) if momentum else ()

    def numbers(self, count, lr, decay):
        """See `Optimizer.numbers`."""
        return (lr, self.momentum, decay) if self.slots else (lr, decay)

    def update(self, p, grad, state, factor, numbers):
        """See `Optimizer.update`."""
        kernel = nesterov_kernel if self.nesterov else momentum_kernel if self.slots else sgd_kernel
        run_map(kernel, (p, grad, *state, factor), numbers, into=(p, *state))
