"""What a model needs before a step: training mode, the masks of its dropout, and the backend on which it lives.

Imports modules and random numbers; nothing is computed here.
"""

from contextlib import AbstractContextManager, nullcontext

from forgenb import random
from forgenb.backend import use
from forgenb.nn import Dropout, Module

__all__ = ["Prepared"]


class Prepared:
    """A model whose modules were listed once, since a step may take less time than listing them does.

    Parameters
    ----------
    model : Module or None
        Its `forgenb.nn.Dropout`, and each module with an attribute ``dropout_seed``, gets a seed at each step.
    """

    def __init__(self, model: Module | None):
        self.model = model
        self._modules = [] if model is None else list(model.modules())
        self._drops = [module for module in self._modules if isinstance(module, Dropout)]
        self._sites = [module for module in self._modules if hasattr(module, "dropout_seed")]
        parameters = [] if model is None else model.parameters()
        self._backend = parameters[0].backend.name if parameters else None

    def place(self) -> AbstractContextManager[None]:
        """Make tensors on the backend of the parameters, inside a ``with`` block."""
        return nullcontext() if self._backend is None else use(self._backend)

    def begin(self, seed: int, step: int) -> None:
        """Set training mode, and masks that depend on a seed and the number of the step alone.

        The seed of all masks has 32 bits and is drawn from the stream (seed, "dropout", step).
        """
        if self.model is not None and not all(module.training for module in self._modules):
            self.model.train()
        if not self._drops and not self._sites:
            return
        drawn = int(random.integers(random.generator(seed, "dropout", step), 2**32, 1)[0])
        for module in self._drops:
            module.seed = drawn
        for site in self._sites:
            site.dropout_seed = drawn
