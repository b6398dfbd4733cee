"""A training of a character-level GPT: a `Trainer` that a configuration and a text make, and its folder.

Imports the other modules of this package; it prints nothing, and the loop itself is `trainer`.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace

from forgenb.backend import Stream, use
from forgenb.data import Share, batch
from forgenb.errors import ArgumentError
from forgenb.models import GPT
from forgenb.optim import Optimizer
from forgenb.storage.files import StrPath
from forgenb.train.characters.build import build_model, build_optimizer
from forgenb.train.characters.char_folder import CharFolder
from forgenb.train.characters.checkpoint import Checkpoint
from forgenb.train.characters.config import TrainConfig
from forgenb.train.characters.corpus import Corpus, prepare
from forgenb.train.characters.reopening import check_learned, reopen
from forgenb.train.characters.run_folder import RunFolder
from forgenb.train.characters.starting import start_of, vocabulary_from
from forgenb.train.distributed import DistributedStep, World
from forgenb.train.loop.callback import Callback
from forgenb.train.loop.callbacks import BestCheckpoint
from forgenb.train.loop.evaluate import evaluate
from forgenb.train.loop.train_step import TrainStep
from forgenb.train.loop.trainer import Trainer
from forgenb.train.workers.accumulated import AccumulatedStep
from forgenb.train.workers.shards import ShardedStep

__all__ = ["CharRun"]


class CharRun(Trainer):
    """A run of ``forgenb train`` in progress. Make one with `start` or `resume`, then iterate over `steps`.

    Parameters
    ----------
    folder
        Where it is kept.
    corpus
        What it learns.
    config
        The run's choices.
    callbacks
        Called after the one that keeps the best checkpoint.
    streams
        Over how many streams a batch is shared out, see `ShardedStep`; its loss then differs in rounding.
    world
        Processes that train together, see `DistributedStep`. The first one has the folder.
    initial
        The checkpoint whose parameters the model begins with; of several processes the first one has it.

    Attributes
    ----------
    eager : bool
        Run a step op by op instead of as one routine; the bits are the same.

    Notes
    -----
    A step's batch, learning rate and dropout depend on the seed and the step alone, so a run that is
    interrupted and resumed gives the bits of one that was not.
    """

    advice = "try a smaller --lr, a smaller --clip or a longer --warmup"
    model: GPT
    optimizer: Optimizer
    _kept: CharFolder | None

    def __init__(
        self,
        folder: CharFolder | None,
        corpus: Corpus,
        config: TrainConfig,
        callbacks: Iterable[Callback] = (),
        streams: int = 1,
        world: World | None = None,
        initial: Checkpoint | None = None,
    ):
        c, self.corpus, self.config = config, corpus, config
        with use(c.backend):
            model = build_model(c, len(corpus.tokenizer))
            optimizer = build_optimizer(c, model)
        if initial is not None:
            initial.restore(str(c.start), model)
        self._one: TrainStep | AccumulatedStep = TrainStep(model, optimizer, clip_norm=c.clip)
        if c.accumulate > 1:
            self._one = AccumulatedStep(model, optimizer, c.clip, c.accumulate, c.seed_rule)
        self.streams = _streams(c, streams, world)
        step: Callable[..., tuple] = self._one
        batches: Callable[[int], tuple] = self._windows
        if world is not None:
            step = together = DistributedStep(model, optimizer, c.clip, world, c.batch)
            batches = Share(self._windows, together.part)
        elif streams > 1:
            step = ShardedStep(model, optimizer, c.clip, self.streams)
        super().__init__(
            step,
            batches,
            steps=c.steps,
            schedule=lambda step: self.config.rate(step),
            validate=lambda: evaluate(model, corpus.inputs, corpus.targets, world),
            eval_every=c.eval_every,
            seed=c.seed,
            seed_rule=c.seed_rule,
            callbacks=[*([] if folder is None else [BestCheckpoint()]), *callbacks],
            folder=folder,
            world=world,
        )

    @property
    def folder(self) -> RunFolder | None:
        """The folder of the run, which the first of several processes has."""
        return None if self._kept is None else self._kept.run

    def _windows(self, step: int) -> tuple:
        c = self.config
        return batch(self.corpus.train, c.context, c.batch, c.seed, step)

    @property
    def eager(self) -> bool:
        """Whether a step is run op by op; see the class."""
        return self._one.eager

    @eager.setter
    def eager(self, wanted: bool) -> None:
        if wanted and self._do is not self._one:
            raise ArgumentError(
                "A step that is shared out, over streams or processes, runs as routines: leave out --eager, or train "
                "on one stream."
            )
        self._one.eager = wanted

    @classmethod
    def start(
        cls,
        config: TrainConfig,
        out: StrPath,
        callbacks: Iterable[Callback] = (),
        streams: int = 1,
        world: World | None = None,
    ) -> "CharRun":
        """Begin a run in a new folder.

        Parameters
        ----------
        config, callbacks
            See the class.
        out
            The folder, which the first of several processes makes.
        streams, world
            See the class.

        Raises
        ------
        ArgumentError
            The text, the sizes or the folder cannot be used, or processes have different ones.
        CheckpointError
            The folder cannot be written, or the checkpoint to begin with cannot be read. Either way, nothing is left
            behind.
        """
        initial = None if world is not None and not world.first else start_of(config)
        corpus = prepare(config, vocabulary_from(config, initial, world))
        if world is not None:
            world.agree("the text and the options", f"{corpus.sha256} {json.dumps(config.to_dict())}")
            if not world.first:
                return cls(None, corpus, config, callbacks, streams, world)
        folder = RunFolder.create(out, config, corpus.sha256, corpus.characters)
        try:
            return cls(CharFolder(folder, corpus, config), corpus, config, callbacks, streams, world, initial)
        except BaseException:
            folder.discard()
            raise

    @classmethod
    def resume(
        cls,
        path: StrPath,
        steps: int | None = None,
        callbacks: Iterable[Callback] = (),
        streams: int = 1,
        world: World | None = None,
    ) -> "CharRun":
        """Go on with the run in a folder, from its last checkpoint.

        Parameters
        ----------
        path
            The folder; of several processes only the first one needs to see it.
        steps
            Another number of steps in all; the schedule then ends there.
        callbacks
            See `Callback`.
        streams, world
            See the class. They may be others than before: losses are then the same but for the rounding of sums.

        Raises
        ------
        CheckpointError
            The folder holds no run, or its checkpoint is damaged.
        ArgumentError
            The text has changed, the run is at a later step than `steps`, or another process trains it.
        """
        folder, checkpoint = (None, None) if world is not None and not world.first else reopen(path)
        config = _shared(folder, path, world)
        initial = start_of(config) if folder is not None and checkpoint is None else None
        corpus = prepare(config, vocabulary_from(config, checkpoint or initial, world))
        if folder is not None:
            check_learned(folder, corpus)
        config = config if steps is None else replace(config, steps=steps)
        if world is not None:
            world.agree("the text and the options", f"{corpus.sha256} {json.dumps(config.to_dict())}")
        kept = None if folder is None else CharFolder(folder, corpus, config, checkpoint)
        return cls(kept, corpus, config, callbacks, streams, world, initial)


def _shared(folder: RunFolder | None, path: StrPath, world: World | None) -> TrainConfig:
    """The choices of a run, which the first process has read."""
    if world is None and folder is not None:
        return folder.config
    found = "" if folder is None else json.dumps(folder.config.to_dict())
    return TrainConfig.from_dict(json.loads(world.text(found) if world is not None else found), repr(str(path)))


def _streams(config: TrainConfig, count: int, world: World | None) -> list[Stream]:
    """The streams that a step is shared out over, where there are several."""
    if type(count) is not int or not 1 <= count <= config.batch:
        raise ArgumentError(
            f"A batch of {config.batch} windows is shared out over 1 to {config.batch} streams, got streams={count!r}."
        )
    if count > 1 and world is not None:
        raise ArgumentError(
            f"Of several processes each takes one share of a batch, got {count} streams: leave them out, or start more "
            "processes."
        )
    if config.accumulate > 1 and (count > 1 or world is not None):
        raise ArgumentError(
            f"A batch is taken in {config.accumulate} parts one after the other on one stream of one process: leave "
            "out --accumulate to share it out over streams or processes."
        )
    return [Stream(config.backend) for _ in range(count)] if count > 1 else []
