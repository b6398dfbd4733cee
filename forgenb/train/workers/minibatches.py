"""The updates of several workers who share each batch evenly, of a model and a loss that are any functions.

Imports programs and twins of modules; streams and descent are not known here.
"""

from collections.abc import Callable, Sequence

from forgenb.errors import ArgumentError, ShapeError
from forgenb.nn import Module
from forgenb.routine import Symbol, capture
from forgenb.tensor import Tensor
from forgenb.train.steps.programs import Update, grad_update
from forgenb.train.workers.parallel import ParallelUpdate
from forgenb.train.workers.twin import Twin

__all__ = ["Minibatches"]


class Minibatches:
    r"""What each worker does on its minibatch of batch number `batch`.

    .. math:: L_w = \frac{1}{B} \sum_{i \in \text{minibatch } w} \ell(m(x_i), y_i)

    so that the sum of all is the loss of the batch.

    Parameters
    ----------
    model, loss_fn : callable
        See `train_loop`.
    x, y : Tensor
        ``(batches * size, ...)``.
    size : int
        B, the samples of a batch.
    batch : Symbol

    Attributes
    ----------
    updates : list of Update
        One a worker; empty until `capture`.
    """

    def __init__(self, model: Callable, loss_fn: Callable, x: Tensor, y: Tensor, size: int, batch: Symbol):
        self.model, self.loss_fn, self.data, self.size, self.batch = model, loss_fn, (x, y), size, batch
        self.updates: list[Update] = []
        self._twins: list[Twin] = []

    def capture(self, workers: int) -> None:
        """Make the updates: one a worker, but a single one where the model changes values of its own.

        Raises
        ------
        ArgumentError
            If the loss is no tensor.
        """
        self._twins, minibatch = [], self.size // workers
        if isinstance(self.model, Module) and workers > 1:
            self._twins = [Twin(self.model, worker * minibatch) for worker in range(workers)]
        models: Sequence[Callable] = [twin.model for twin in self._twins] or [self.model] * workers
        parts = [t.reshape(-1, workers, minibatch, *t.shape[1:]) for t in self.data]
        for worker, model in enumerate(models):
            with capture():
                loss = self._loss(model, *(part[self.batch][worker] for part in parts))
            self.updates.append(grad_update(loss))
            if workers > 1 and self.updates[0].changes():
                self.updates.clear()
                self.capture(1)
                return

    def _loss(self, model: Callable, x: Tensor, y: Tensor) -> Tensor:
        prediction = model(x)
        losses = self.loss_fn(prediction, y)
        if not isinstance(losses, Tensor):
            raise ArgumentError(f"loss_fn must return a tensor of losses, and gave {type(losses).__name__}")
        if losses.size > prediction.size:
            raise ShapeError(
                f"loss_fn made losses of shape {losses.shape} of predictions of shape {prediction.shape} and outputs "
                f"of shape {y.shape}, which broadcast to pairs that do not belong together: give both the same shape"
            )
        loss = losses.sum() / self.size
        loss.name = "loss"
        return loss

    def step(self, update: ParallelUpdate, indices: dict[str, int]) -> float:
        """One round of all workers; returns the loss of the batch."""
        for twin in self._twins:
            twin.follow()
        update.step([()] * len(self.updates), indices)
        for twin in self._twins[:1]:
            twin.lead()
        return update.loss.item()

    def forget_gradients(self) -> None:
        """Leave none in the parameters."""
        for update in self.updates[:1]:
            for p in update.params:
                p.grad = None
