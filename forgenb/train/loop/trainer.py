"""The training loop: one step after another, with validations, callbacks and checkpoints between them.

Imports the other general modules of this package. How a step is done, what a batch holds and what is shown stay
outside, and no number of a training may depend on the clock.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from typing import Any

from forgenb.errors import ArgumentError
from forgenb.nn import Module
from forgenb.nn.modes import evaluating
from forgenb.optim import Optimizer
from forgenb.storage.files import StrPath
from forgenb.train import checks
from forgenb.train.distributed import World
from forgenb.train.loop.callback import Callback
from forgenb.train.loop.masks import agreed_rule
from forgenb.train.loop.prepare import Prepared
from forgenb.train.loop.report import DivergedError, StepReport
from forgenb.train.loop.together import agree_on_parameters, begin_together
from forgenb.train.persistence.folder import TrainingFolder

__all__ = ["Trainer"]

WHO = "a Trainer"


class Trainer:
    """Do training steps until all are done; iterate over `steps`, or call `run`.

    Parameters
    ----------
    step : callable
        Maps the arrays of a batch to (loss, gradient norm), and updates the model: a `TrainStep`, or any other.
    batches : callable
        Maps the number of a step, from 0, to a tuple of its arrays, and depends on nothing else; see
        `forgenb.data.Batches`.
    steps : int
        How many in all.
    model : Module, optional
        Is put into training mode before each step and into evaluation mode before `validate`. By default
        ``step.model``, where the step has one.
    optimizer : Optimizer, optional
        Whose rate is set and saved. By default ``step.optimizer``, where the step has one.
    schedule : callable, optional
        Maps the number of a step to the learning rate that it takes, see `forgenb.optim.schedules`.
    validate : callable, optional
        Returns the validation loss; called in evaluation mode, with nothing recorded.
    eval_every : int, optional
        Steps between validations, each of which saves a checkpoint; the last step has one in any case. By default an
        epoch, where it is known, or all steps.
    steps_per_epoch : int, optional
        By default ``batches.steps_per_epoch``, where there is one.
    seed : int
        Of dropout: masks depend on it and on the number of the step alone.
    seed_rule : str, optional
        ``"step"``: each step has a seed of its own, drawn from `seed`. ``"pass"``: it is 1000 times the number of the
        step, from 0, and pass k of the step adds k, whatever `seed` is. By default that of the step, where it has one,
        and else ``"step"``.
    callbacks : iterable of Callback
        Called in this order; see `Callback`.
    folder : path or TrainingFolder, optional
        Where metrics and checkpoints are kept; without one nothing is written.
    world : World, optional
        The processes that train together, each with a trainer of its own whose step is a `DistributedStep`. All go on
        from where the first one is, stop when one of them stops, and must have the same parameters.

    Attributes
    ----------
    step, total : int
        Steps done, and steps in all.
    best_val : float or None
        The lowest validation loss so far.
    seconds : float
        Time spent in training, over all resumptions.
    stopped : str or None
        Why it was stopped before its end.

    Raises
    ------
    ArgumentError
        If an argument cannot be what it is for, or has nothing to act on.

    Notes
    -----
    Batch, rate and masks of a step depend on its number alone, so a training that is resumed from a checkpoint gives
    the bits of one that was not interrupted.
    """

    advice = "try a smaller learning rate, clip the gradients, or let the rate rise for longer"
    """What to do about a loss that is no finite number."""
    model: Any
    optimizer: Any

    def __init__(
        self,
        step: Callable[..., tuple],
        batches: Callable[[int], Sequence],
        *,
        steps: int,
        model: Module | None = None,
        optimizer: Optimizer | None = None,
        schedule: Callable[[int], float] | None = None,
        validate: Callable[[], Any] | None = None,
        eval_every: int | None = None,
        steps_per_epoch: int | None = None,
        seed: int = 0,
        seed_rule: str | None = None,
        callbacks: Iterable[Callback] = (),
        folder: StrPath | TrainingFolder | None = None,
        world: World | None = None,
    ):
        optional = {"schedule": schedule, "validate": validate}
        given = {name: function for name, function in optional.items() if function is not None}
        checks.callables(WHO, step=step, batches=batches, **given)
        self.total = checks.whole(WHO, "steps", steps)
        self.model = checks.model_of(getattr(step, "model", None) if model is None else model)
        self.optimizer = checks.optimizer_of(getattr(step, "optimizer", None) if optimizer is None else optimizer)
        self.schedule, self.validate = schedule, validate
        self.seed = checks.whole(WHO, "seed", seed, least=0)
        self.seed_rule = agreed_rule(seed_rule, getattr(step, "seed_rule", None))
        self.callbacks = checks.callbacks_of(callbacks)
        epoch = getattr(batches, "steps_per_epoch", None) if steps_per_epoch is None else steps_per_epoch
        self.steps_per_epoch = None if epoch is None else checks.whole(WHO, "steps_per_epoch", epoch)
        default = self.steps_per_epoch or self.total
        self.eval_every = default if eval_every is None else checks.whole(WHO, "eval_every", eval_every)
        self.step, self.seconds = 0, 0.0
        self.best_val: float | None = None
        self.stopped: str | None = None
        self._do, self._batches = step, batches
        self._kept = folder if folder is None or isinstance(folder, TrainingFolder) else TrainingFolder(folder)
        if world is not None and not isinstance(world, World):
            raise ArgumentError(f"a Trainer needs world to be a World, such as world() gives, got {world!r}")
        self.world = world
        self._check_pairs(eval_every)
        if self._kept is not None:
            self._kept.begin(self)
        if world is not None:
            begin_together(world, self)
        self._saved = self.step

    def run(self) -> list[StepReport]:
        """Train until all steps are done, or a callback stops; the reports of these steps."""
        return list(self.steps())

    def steps(self) -> Iterator[StepReport]:
        """Train until all steps are done or `stop` is called, and give a report after each.

        What interrupts a step leaves the model between two states and the last checkpoint as it was: a trainer that
        resumes goes on from there.

        Raises
        ------
        DivergedError
            The loss, the gradient norm or the validation loss is no finite number. The last checkpoint is as it was.
        CheckpointError
            Metrics or a checkpoint cannot be written.
        """
        with self._opened(), self._attended():
            ready = Prepared(self.model, self.seed_rule)
            before, began = self.seconds, time.perf_counter()
            while self.step < self.total and not self._ended():
                lr, loss, val_loss, speed = self._advance(ready)
                self.seconds = before + time.perf_counter() - began
                report = StepReport(self.step, loss, val_loss, lr, speed, self.seconds)
                self._tell(report)
                if self._due() or self.stopped is not None:
                    self.save()
                yield report
            if self.stopped is not None and self._saved != self.step:
                self.save()

    def _ended(self) -> bool:
        """Whether this trainer was stopped, or that of another process."""
        if self.world is not None and self.world.any(self.stopped is not None) and self.stopped is None:
            self.stopped = "another process stopped"
        return self.stopped is not None

    def stop(self, reason: str) -> None:
        """End the training after the present step, whose state is saved; for callbacks, and between two steps."""
        if not isinstance(reason, str) or not reason:
            raise ArgumentError(f"stop needs to be told why, in words, got {reason!r}")
        self.stopped = reason

    @property
    def folder(self) -> Any:
        """Where metrics and checkpoints are kept, with its ``path``; None where nothing is written."""
        return self._kept

    def save(self) -> None:
        """Write a checkpoint of what has been done, if there is a folder; between two steps."""
        if self._kept is not None:
            self._kept.save(self)
        self._saved = self.step

    def save_best(self) -> None:
        """Write the model alone as the best so far, if there is a folder."""
        if self._kept is not None:
            self._kept.save_best(self)

    def history(self) -> list[StepReport]:
        """The reports of the steps done so far, as the folder has them; none without one."""
        return [] if self._kept is None else self._kept.history(self.step)

    def close(self) -> None:
        """Let go of the folder, so that another process can go on; `steps` does so at its end."""
        if self._kept is not None:
            self._kept.close()

    def _advance(self, ready: Prepared) -> tuple[float | None, float, float | None, float]:
        """One step: its rate, loss, validation loss and targets a second."""
        with ready.place():
            began = time.perf_counter()
            ready.begin(self.seed, self.step)
            lr = self._rate()
            arrays = checks.batch_of(self._batches(self.step), self.step)
            loss, norm = checks.loss_and_norm(self._do(*arrays))
            value = self._finite("loss", loss, self.step + 1)
            self._finite("gradient norm", norm, self.step + 1)
            elapsed = time.perf_counter() - began
            self.step += 1
            val_loss = self._validated() if self._due() else None
        targets = arrays[-1].size if arrays else 0
        every = targets if self.world is None else self.world.total(targets)
        return lr, value, val_loss, every / elapsed

    def _rate(self) -> float | None:
        """The rate of the step that comes, which the optimiser gets."""
        if self.optimizer is None:
            return None
        if self.schedule is not None:
            self.optimizer.lr = checks.rate_of(self.schedule(self.step), self.step)
        return float(self.optimizer.lr)

    def _due(self) -> bool:
        return self.step % self.eval_every == 0 or self.step == self.total

    def _validated(self) -> float | None:
        if self.validate is None:
            return None
        if self.world is not None:
            agree_on_parameters(self.world, self.model)
        with evaluating(self.model):
            value = checks.number_of("what validate returns", self.validate())
        return self._finite("validation loss", value, self.step)

    def _finite(self, what: str, value: float, step: int) -> float:
        if math.isfinite(value):
            return value
        kept = ": " if self._kept is None else f". {str(self._kept.last)!r} holds the last good checkpoint; "
        raise DivergedError(
            f"The {what} became {value} at step {step} of {self.total}, so training stopped{kept}{self.advice}."
        )

    def _tell(self, report: StepReport) -> None:
        if self._kept is not None:
            self._kept.append(asdict(report))
        validated = report.val_loss is not None
        if validated and (self.best_val is None or report.val_loss < self.best_val):  # type: ignore[operator]
            self.best_val = report.val_loss
        for callback in self.callbacks:
            callback.on_batch(report)
        for callback in self.callbacks if validated else ():
            callback.on_validation(report)
        epoch = self.steps_per_epoch is not None and report.step % self.steps_per_epoch == 0
        for callback in self.callbacks if epoch else ():
            callback.on_epoch(report)

    @contextmanager
    def _opened(self) -> Iterator[None]:
        """The folder is this process's alone."""
        try:
            if self._kept is not None:
                self._kept.open(self.step)
            yield
        finally:
            self.close()

    @contextmanager
    def _attended(self) -> Iterator[None]:
        """Start the callbacks, and end all that were started, whatever happens."""
        self.stopped = None
        started: list[Callback] = []
        try:
            for callback in self.callbacks:
                started.append(callback)
                callback.on_start(self)
            yield
        finally:
            with ExitStack() as stack:
                for callback in reversed(started):
                    stack.callback(callback.on_end)

    def _check_pairs(self, eval_every: int | None) -> None:
        """Refuse what would have no effect."""
        if self.schedule is not None and self.optimizer is None:
            raise ArgumentError("a schedule sets an optimiser's rate: give the trainer optimizer=, or no schedule=")
        if self._kept is not None and (self.model is None or self.optimizer is None):
            raise ArgumentError(
                "a folder keeps the state of a model and an optimiser: give the trainer model= and optimizer=, or no "
                "folder="
            )
        if eval_every is not None and self.validate is None and self._kept is None:
            raise ArgumentError("eval_every= says when to validate and save: give validate= or folder= too")
