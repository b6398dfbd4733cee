"""A whole training run of any model by gradient descent, on as many streams as suit, in one call.

Imports parallel updates, programs and modules. What a run leaves on a disk is `Trainer`; no optimiser stands here.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from forgenb.backend import Stream, peak_memory
from forgenb.creation import tensor
from forgenb.errors import ArgumentError
from forgenb.nn.modes import in_mode
from forgenb.optim.groups import checked
from forgenb.routine import Late, Symbol, capture, symbol, value_of
from forgenb.tensor import Tensor
from forgenb.train import checks
from forgenb.train.loop.report import DivergedError
from forgenb.train.steps.descent import sgd_update
from forgenb.train.steps.rate import Rate
from forgenb.train.workers.minibatches import Minibatches
from forgenb.train.workers.parallel import ParallelUpdate, parallel_update, suggest_streams
from forgenb.train.workers.train_result import BatchReport, EpochReport, TrainResult

__all__ = ["train_loop"]


def train_loop(
    model: Callable,
    loss_fn: Callable,
    inputs: Any,
    outputs: Any,
    *,
    epochs: int,
    batch_size: int,
    init_lr: float | None = None,
    weight_decay: float = 0.0,
    momentum: float = 0.0,
    lr_schedule: Callable[[Late, Symbol], Rate] | None = None,
    max_streams: int | None = None,
    streams: Sequence[Stream] | None = None,
    merge: str = "stream",
    drop_last: bool = False,
    per_batch_callback: Callable[[BatchReport], object] | None = None,
    per_epoch_callback: Callable[[EpochReport], object] | None = None,
) -> TrainResult:
    r"""Train a model by gradient descent on batches in the order of the data, each shared out over streams.

    .. math:: L = \frac{1}{B} \sum_{i \in \text{batch}} \ell(m(x_i), y_i)

    is the loss of a batch of B samples. With n streams each computes the gradient of a minibatch of B / n of them, and
    the sum of these is the gradient of L: the curve does not depend on n but for rounding, and on n alone.

    Parameters
    ----------
    model : callable
        Of a tensor, ``(m, ...)``: a module, which is in training mode meanwhile, or a function over parameters. One
        that changes values of its own in training, as batch normalisation does, gets one stream. Masks of `Dropout`
        in a module are those of the whole batch; in a function that calls one they depend on the number of streams.
    loss_fn : callable
        ``loss_fn(prediction, expectation)``: a tensor of losses of the samples, or the sum of them; not their mean.
        `forgenb.ops.cross_entropy` is a mean, so with it: ``lambda p, y: fnb.ops.cross_entropy(p, y) * y.shape[0]``.
    inputs, outputs : array_like
        ``(n, ...)`` each: the samples, and what is expected of them.
    epochs : int
        How often all batches are gone through.
    batch_size : int
        B.
    init_lr : float, optional
        The rate of step s of S is ``init_lr * (2 * S - s) / S``. Needed unless there is a schedule.
    weight_decay, momentum : float
        See `sgd_update`.
    lr_schedule : callable, optional
        ``lr_schedule(batch_n, step_n)`` gets two symbols, the numbers of the batch in its epoch and of the step in the
        whole run, is called once, and returns any rate that `sgd_update` takes. It stands in for `init_lr`.
    max_streams : int, optional
        At most so many streams.
    streams : sequence of Stream, optional
        By default new ones (`suggest_streams`), which are closed in the end. As many of them are used as the largest
        divisor of `batch_size` allows.
    merge : {"stream", "copy"}
        See `parallel_update`.
    drop_last : bool
        Whether samples at the end that are no whole batch may be left out. Otherwise there must be none.
    per_batch_callback, per_epoch_callback : callable, optional
        Get a `BatchReport` after each update (``at_batch``, ``at_step``, ``learning_rate``, ``batch_loss``,
        ``epoch_loss``), an `EpochReport` after each epoch (``at_epoch``, ``at_step``, ``learning_rate``,
        ``epoch_loss``, ``mean_loss``). What they raise ends the training.

    Returns
    -------
    TrainResult

    Raises
    ------
    ArgumentError
        If a number is out of its range, something cannot be called, or the data are too little or no whole batches.
    TapeError
        If the loss does not depend on any parameter.
    ShapeError
        If the losses have more elements than the predictions.
    DivergedError
        If the loss of a batch is no finite number.

    Notes
    -----
    Whatever ends it, streams that it made are closed, modes of modules are restored, parameters are those of the last
    whole batch, and have no gradients.

    References
    ----------
    The scheme of OCANNL's ``Train.example_train_loop``, version 0.5.1. Differs because results must not depend on the
    machine: batches and steps, not minibatches, are counted, and left out is what is no whole batch. Random parameters
    are the caller's.
    """
    epochs = checks.whole("train_loop", "epochs", epochs)
    batch_size = checks.whole("train_loop", "batch_size", batch_size)
    max_streams = None if max_streams is None else checks.whole("train_loop", "max_streams", max_streams)
    on_batch = _ignore if per_batch_callback is None else per_batch_callback
    on_epoch = _ignore if per_epoch_callback is None else per_epoch_callback
    functions = {"model": model, "loss_fn": loss_fn, "per_batch_callback": on_batch, "per_epoch_callback": on_epoch}
    checks.callables("train_loop", **functions)
    if not isinstance(drop_last, bool):
        raise ArgumentError(f"train_loop got drop_last={drop_last!r}: it is True or False")
    given = None if streams is None else _streams(streams)
    with ExitStack() as stack:
        stack.enter_context(in_mode(model, training=True))
        with peak_memory() as meter:
            x, y = _data(inputs, outputs)
            if given is None:
                given = [stack.enter_context(made) for made in suggest_streams(max_streams, x.backend.name)]
            workers = _workers(batch_size, given[:max_streams])
            x, y = (_whole_batches(t, batch_size, workers, drop_last) for t in (x, y))
            batches = len(x) // batch_size
            batch, step = symbol("batch_n", batches), symbol("step_n")
            shared = Minibatches(model, loss_fn, x, y, batch_size, batch)
            stack.callback(shared.forget_gradients)
            shared.capture(workers)
            rate = _Rate(_falling(init_lr, epochs * batches) if lr_schedule is None else lr_schedule, batch, step)
            taken = given[: len(shared.updates)]
            descent = sgd_update(shared.updates[0], rate.taken, momentum, weight_decay)
            update = parallel_update(shared.updates, descent, (batch, step), taken, merge)
            memory = meter.now + update.memory()
        losses, sums, rates = map(np.array, _run(shared, update, rate, epochs, batches, on_batch, on_epoch))
    return TrainResult(model, x, y, losses, sums, rates, memory)


def _ignore(report: object) -> None:
    """What a callback does that nobody gave."""


def _data(inputs: Any, outputs: Any) -> tuple[Tensor, Tensor]:
    """Both on one backend, untracked; a tensor stays where it is."""
    given = inputs, outputs
    backend = next((t.backend.name for t in given if isinstance(t, Tensor)), None)
    x, y = (t.detach() if isinstance(t, Tensor) else tensor(t, backend=backend) for t in given)
    if not x.ndim or not y.ndim or len(x) != len(y):
        raise ArgumentError(
            f"train_loop got inputs of shape {x.shape} and outputs of shape {y.shape}: the first axis of both counts "
            "the samples"
        )
    return x, y


def _streams(given: Any) -> list[Stream]:
    """The streams that a caller gave."""
    streams = list(given) if isinstance(given, Iterable) else [given]
    if not streams or not all(isinstance(stream, Stream) for stream in streams):
        raise ArgumentError(
            f"train_loop needs at least one stream, and got streams={given!r}: make them with fnb.train.suggest_streams"
        )
    return streams


def _workers(batch_size: int, streams: Sequence[Stream]) -> int:
    """How many streams share a batch: the most that get equally many samples."""
    return max(n for n in range(1, min(batch_size, len(streams)) + 1) if batch_size % n == 0)


def _whole_batches(t: Tensor, batch_size: int, workers: int, drop_last: bool) -> Tensor:
    """The samples up to the last whole batch."""
    rest = len(t) % batch_size
    if len(t) < batch_size:
        raise ArgumentError(
            f"train_loop got too little data: {len(t)} samples make no batch of {batch_size}, whose minibatches of "
            f"{batch_size // workers} go to {workers} streams: give more samples, or a smaller batch_size"
        )
    if rest and not drop_last:
        raise ArgumentError(
            f"train_loop got {len(t)} samples, and batches of {batch_size} leave out the last {rest}: choose a "
            "batch_size that divides their number, or say drop_last=True"
        )
    return t[: len(t) - rest] if rest else t


def _falling(init_lr: float | None, steps: int) -> Callable[[Late, Symbol], Rate]:
    """The schedule from twice the rate down to it."""
    if init_lr is None:
        raise ArgumentError("train_loop needs init_lr, or an lr_schedule")
    rate = checked("init_lr", init_lr)

    def schedule(batch: Any, step: Any) -> Rate:
        return rate * (2 * steps - step) / steps

    return schedule


class _Rate:
    """A schedule's rate: `taken` by the descent, which leaves here what it was."""

    def __init__(self, schedule: Callable[[Late, Symbol], Rate], batch: Symbol, step: Symbol):
        checks.callables("train_loop", lr_schedule=schedule)
        with capture("learning rate"):
            rate: Any = schedule(batch, step)
            if isinstance(rate, Tensor):
                rate.retain()
        self._now = self.taken = rate
        if not isinstance(rate, Tensor) and callable(rate):
            self.taken = Late(lambda: value_of(rate())).map(self._keep)
        elif isinstance(rate, Late):
            self.taken = rate.map(self._keep)

    def _keep(self, value: float) -> float:
        self._now = value
        return value

    def used(self) -> float:
        """The rate of the last update."""
        return float(self._now.item() if isinstance(self._now, Tensor) else self._now)


def _run(
    shared: Minibatches,
    update: ParallelUpdate,
    rate: _Rate,
    epochs: int,
    batches: int,
    on_batch: Callable[[BatchReport], object],
    on_epoch: Callable[[EpochReport], object],
) -> tuple[list[float], list[float], list[float]]:
    """Train; returns the losses of batches and epochs, and the rates in which epochs ended."""
    losses: list[float] = []
    sums: list[float] = []
    rates: list[float] = []
    for epoch in range(epochs):
        sums.append(0.0)
        for batch in range(batches):
            losses.append(_finite(shared.step(update, {"batch_n": batch, "step_n": len(losses)}), batch, epoch))
            sums[-1] += losses[-1]
            on_batch(BatchReport(batch, len(losses), rate.used(), losses[-1], sums[-1]))
        rates.append(rate.used())
        on_epoch(EpochReport(epoch, len(losses), rates[-1], sums[-1], sums[-1] / batches))
    return losses, sums, rates


def _finite(loss: float, batch: int, epoch: int) -> float:
    if math.isfinite(loss):
        return loss
    raise DivergedError(
        f"The loss became {loss} in batch {batch} of epoch {epoch}, so training stopped: try a smaller init_lr, or one "
        "that rises from 0."
    )
