"""What a model needs before a step: training mode, the masks of its dropout, and the backend on which it lives.

Imports modules and the seeds of masks; nothing is computed here.
"""

from contextlib import AbstractContextManager, nullcontext

from forgenb.backend import use
from forgenb.nn import Module
from forgenb.train.loop.masks import STEP, Masks

__all__ = ["Prepared"]


class Prepared:
    """A model whose modules were listed once, since a step may take less time than listing them does.

    Parameters
    ----------
    model : Module or None
        Those of its modules that draw masks get a seed at each step, see `Masks`.
    seed_rule : str
        By which that is drawn.
    """

    def __init__(self, model: Module | None, seed_rule: str = STEP):
        self.model, self.seed_rule = model, seed_rule
        self._modules = [] if model is None else list(model.modules())
        self._masks = Masks(model)
        parameters = [] if model is None else model.parameters()
        self._backend = parameters[0].backend.name if parameters else None

    def place(self) -> AbstractContextManager[None]:
        """Make tensors on the backend of the parameters, inside a ``with`` block."""
        return nullcontext() if self._backend is None else use(self._backend)

    def begin(self, seed: int, step: int) -> None:
        """Set training mode, and masks that depend on a seed and the number of the step alone."""
        if self.model is not None and not all(module.training for module in self._modules):
            self.model.train()
        self._masks.begin(seed, step, self.seed_rule)
