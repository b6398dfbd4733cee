"""RMSprop.

Imports `optimizer`, kernels and `run_map`; state that a checkpoint does not see must not be kept.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..kernel import map_kernel
from ..kernel.primitives import select, sqrt
from ..ops.apply import run_map
from .optimizer import Optimizer, checked


@map_kernel("p g v factor -> p v; lr alpha rest eps l2")
def rmsprop_kernel(p, g, v, factor, lr, alpha, rest, eps, l2):
    """One step; a negative factor changes nothing."""
    g = g * factor + l2 * p
    next_v = alpha * v + rest * (g * g)
    go = factor >= 0.0
    return select(go, p - lr * (g / (sqrt(next_v) + eps)), p), select(go, next_v, v)


class RMSprop(Optimizer):
    r"""Steps scaled by a running mean square: :math:`v \leftarrow \alpha v + (1 - \alpha) g^2`,
    :math:`p \leftarrow p - \eta g / (\sqrt v + \epsilon)`.

    Parameters
    ----------
    params, lr
        See `Optimizer`.
    alpha : float
        From 0 up to 1.
    eps : float
        Added to the root.
    weight_decay : float
        :math:`\lambda` of :math:`g + \lambda p`, on parameters whose `decay` is set.

    References
    ----------
    Tieleman, Hinton, "Lecture 6.5: rmsprop", 2012.
    """

    slots = ("v",)

    def __init__(
        self,
        params: Iterable,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ):
        super().__init__(params, lr)
        self.alpha = checked("alpha", alpha, 1)
        self.eps = checked("eps", eps)
        self.weight_decay = checked("weight_decay", weight_decay)

    def numbers(self, count, lr, decay):
        """See `Optimizer.numbers`."""
        return lr, self.alpha, 1 - self.alpha, self.eps, decay

    def update(self, p, grad, state, factor, numbers):
        """See `Optimizer.update`."""
        run_map(rmsprop_kernel, (p, grad, *state, factor), numbers, into=(p, *state))
