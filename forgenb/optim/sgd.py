"""Stochastic gradient descent.

Imports `optimizer`, kernels and `run_map`; state that a checkpoint does not see must not be kept.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import ArgumentError
from ..kernel import map_kernel
from ..ops.apply import run_map
from .optimizer import Optimizer, checked


@map_kernel("p g -> p; lr l2 factor")
def sgd_kernel(p, g, lr, l2, factor):
    """One step without momentum."""
    return p - lr * (g * factor + l2 * p)


@map_kernel("p g b -> p b; lr momentum l2 factor")
def momentum_kernel(p, g, b, lr, momentum, l2, factor):
    """One step; b is the running sum of gradients."""
    b = momentum * b + (g * factor + l2 * p)
    return p - lr * b, b


@map_kernel("p g b -> p b; lr momentum l2 factor")
def nesterov_kernel(p, g, b, lr, momentum, l2, factor):
    """One step from where the momentum would lead."""
    d = g * factor + l2 * p
    b = momentum * b + d
    return p - lr * (d + momentum * b), b


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

    def update(self, p, grad, state, count, factor):
        """See `Optimizer.update`."""
        l2 = self.weight_decay if p.decay else 0.0
        if not self.slots:
            run_map(sgd_kernel, (p, grad), (self.lr, l2, factor), into=(p,))
            return
        kernel = nesterov_kernel if self.nesterov else momentum_kernel
        run_map(kernel, (p, grad, *state), (self.lr, self.momentum, l2, factor), into=(p, *state))
