"""One step of training: loss, gradients, clipping and the update, as one routine or op by op.

Imports routines, models and optimisers. It is the one piece of a training that knows how a step is done; schedules,
modes, files and the clock stay outside.
"""

import math
from collections.abc import Callable
from typing import Any

from forgenb.errors import ArgumentError
from forgenb.nn import Module
from forgenb.optim import Optimizer
from forgenb.routine import compile
from forgenb.tensor import Tensor
from forgenb.train import checks

__all__ = ["TrainStep"]


class TrainStep:
    r"""A callable ``(*arrays) -> (loss, norm)`` that updates a model once.

    .. math:: g = \nabla_\theta L(\theta), \qquad n = \lVert g \rVert_2, \qquad g' = g \min(1, c / n)

    and the optimiser steps with :math:`g'`. Where n is not finite, nothing is updated.

    Parameters
    ----------
    model : Module
        What is trained.
    optimizer : Optimizer
        Of its parameters.
    loss : callable, optional
        Maps the arrays of a batch to a loss without dimensions; by default ``model.loss``.
    clip_norm : float, optional
        :math:`c`, the gradient norm above which gradients are scaled down. Without one they are left as they are.
    eager : bool
        Run op by op. By default a step is recorded once for each set of shapes, and run as one routine
        (`fnb.compile`); the bits are the same. May be set at any time.

    Raises
    ------
    ArgumentError
        If `clip_norm` is not above 0, there is no loss to call, or `model` and `optimizer` are no such objects.

    Examples
    --------
    >>> import numpy as np, forgenb as fnb
    >>> model = fnb.nn.Linear(2, 1)
    >>> step = fnb.train.TrainStep(
    ...     model, fnb.optim.SGD(model.parameters(), lr=0.1), loss=lambda x, y: ((model(x) - y) ** 2.0).mean()
    ... )
    >>> loss, norm = step(np.ones((4, 2), "float32"), np.zeros((4, 1), "float32"))
    >>> step(np.ones((4, 2), "float32"), np.zeros((4, 1), "float32"))[0].item() < 1
    True
    """

    def __init__(
        self,
        model: Module,
        optimizer: Optimizer,
        *,
        loss: Callable[..., Tensor] | None = None,
        clip_norm: float | None = None,
        eager: bool = False,
    ):
        if not callable(getattr(model, "loss", None) if loss is None else loss):
            raise ArgumentError(
                f"a TrainStep needs a loss to call, and {type(model).__name__} has no method loss: give "
                "loss=, a function of the arrays of a batch"
            )
        if clip_norm is not None and not (checks.is_number(clip_norm) and clip_norm > 0):
            raise ArgumentError(
                f"a TrainStep clips to a norm above 0, got clip_norm={clip_norm!r}; leave it out to clip nothing"
            )
        if model is None or optimizer is None:
            raise ArgumentError("a TrainStep needs a model and an optimiser, got None: what shall it train, and how?")
        if not isinstance(eager, bool):
            raise ArgumentError(f"a TrainStep needs eager to be True or False, got {eager!r}")
        self.model, self.optimizer, self.loss = checks.model_of(model), checks.optimizer_of(optimizer), loss
        self.clip_norm = math.inf if clip_norm is None else clip_norm
        self.eager = eager
        self._compiled = compile(self._once, "train")

    def __call__(self, *arrays: Any) -> tuple:
        """Loss before the update, and gradient norm before clipping, each a tensor or a number."""
        return self._once(*arrays) if self.eager else self._compiled(*arrays)

    def _once(self, *arrays: Any) -> tuple:
        self.optimizer.zero_grad()
        loss = (self.model.loss if self.loss is None else self.loss)(*arrays)
        if not callable(getattr(loss, "backward", None)):
            raise ArgumentError(f"the loss of a TrainStep must return a tensor, and gave {type(loss).__name__}")
        loss.backward()
        params = getattr(self.optimizer, "params", {})
        if params and all(p.grad is None for p in params.values()):
            raise ArgumentError(
                "the loss of a TrainStep depends on none of its optimiser's parameters, so nothing would be trained: "
                "give the optimiser the parameters of the model that the loss calls"
            )
        return loss, self.optimizer.step(clip_norm=self.clip_norm)
