"""Adam, and AdamW, whose weight decay is not part of the gradient.

Imports `optimizer`, kernels and `run_map`; state that a checkpoint does not see must not be kept.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..kernel import map_kernel
from ..kernel.primitives import select, sqrt
from ..ops.apply import run_map
from .optimizer import Optimizer, checked


@map_kernel("p g m v factor -> p m v; rate beta1 rest1 beta2 rest2 root eps l2 shrink")
def adam_kernel(p, g, m, v, factor, rate, beta1, rest1, beta2, rest2, root, eps, l2, shrink):
    """One step; `rate` is lr / (1 - beta1^t), `root` is 1 / sqrt(1 - beta2^t). A negative factor changes nothing."""
    g = g * factor + l2 * p
    next_m = beta1 * m + rest1 * g
    next_v = beta2 * v + rest2 * (g * g)
    next_p = p - (rate * (next_m / (sqrt(next_v) * root + eps)) + shrink * p)
    go = factor >= 0.0
    return select(go, next_p, p), select(go, next_m, m), select(go, next_v, v)


class Adam(Optimizer):
    r"""Adam with bias correction; weight decay, if any, is added to the gradient (L2).

    .. math::
        m &\leftarrow \beta_1 m + (1 - \beta_1) g \\
        v &\leftarrow \beta_2 v + (1 - \beta_2) g^2 \\
        p &\leftarrow p - \eta \frac{m / (1 - \beta_1^t)}{\sqrt{v / (1 - \beta_2^t)} + \epsilon}

    Parameters
    ----------
    params, lr
        See `Optimizer`.
    betas : tuple of float
        :math:`\beta_1, \beta_2`, each from 0 up to 1.
    eps : float
        Added to the root.
    weight_decay : float
        :math:`\lambda` of :math:`g + \lambda p`, on parameters whose `decay` is set.

    Notes
    -----
    t counts the steps of each parameter by itself.

    References
    ----------
    Kingma, Ba, "Adam: a method for stochastic optimization", 2015.
    """

    slots = ("m", "v")

    def __init__(
        self,
        params: Iterable,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ):
        super().__init__(params, lr)
        self.betas = checked("beta1", betas[0], 1), checked("beta2", betas[1], 1)
        self.eps = checked("eps", eps)
        self.weight_decay = checked("weight_decay", weight_decay)

    def numbers(self, count, lr, decay):
        """See `Optimizer.numbers`."""
        return self._numbers(count, lr, decay, 0.0)

    def _numbers(self, count, lr, l2, decay):
        beta1, beta2 = self.betas
        rate, root = lr / (1 - beta1**count), (1 - beta2**count) ** -0.5
        return rate, beta1, 1 - beta1, beta2, 1 - beta2, root, self.eps, l2, lr * decay

    def update(self, p, grad, state, factor, numbers):
        """See `Optimizer.update`."""
        run_map(adam_kernel, (p, grad, *state, factor), numbers, into=(p, *state))


class AdamW(Adam):
    r"""Adam with decoupled weight decay: p also shrinks by :math:`\eta \lambda p`.

    Parameters
    ----------
    params, lr, betas, eps
        See `Adam`; the defaults are those customary for language models.
    weight_decay : float
        :math:`\lambda`, on parameters whose `decay` is set: matrices, not biases or gains.

    References
    ----------
    Loshchilov, Hutter, "Decoupled weight decay regularization", 2019.
    """

    def __init__(
        self,
        params: Iterable,
        lr: float = 3e-4,
        betas: tuple[float, float] = (0.9, 0.95),
        eps: float = 1e-8,
        weight_decay: float = 0.1,
    ):
        super().__init__(params, lr, betas, eps, weight_decay)

    def numbers(self, count, lr, decay):
        """See `Optimizer.numbers`."""
        return self._numbers(count, lr, 0.0, decay)
