"""A training of a character-level GPT: a `Trainer` that a configuration and a text make, and its folder.

Imports the other modules of this package; it prints nothing, and the loop itself is `trainer`.
"""

from collections.abc import Iterable
from dataclasses import replace

from forgenb.backend import use
from forgenb.data import batch
from forgenb.errors import ArgumentError
from forgenb.models import GPT
from forgenb.optim import Optimizer
from forgenb.train.build import build_model, build_optimizer
from forgenb.train.callback import Callback
from forgenb.train.callbacks import BestCheckpoint
from forgenb.train.char_folder import CharFolder
from forgenb.train.checkpoint import load_checkpoint
from forgenb.train.config import TrainConfig
from forgenb.train.corpus import Corpus, prepare
from forgenb.train.evaluate import evaluate
from forgenb.train.files import StrPath
from forgenb.train.run_folder import RunFolder
from forgenb.train.train_step import TrainStep
from forgenb.train.trainer import Trainer

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
    _kept: CharFolder

    def __init__(self, folder: CharFolder, corpus: Corpus, config: TrainConfig, callbacks: Iterable[Callback] = ()):
        c, self.corpus, self.config = config, corpus, config
        with use(c.backend):
            model = build_model(c, len(corpus.tokenizer))
            optimizer = build_optimizer(c, model)
        self._one = TrainStep(model, optimizer, clip_norm=c.clip)
        super().__init__(
            self._one,
            self._windows,
            steps=c.steps,
            schedule=lambda step: self.config.rate(step),
            validate=lambda: evaluate(model, corpus.inputs, corpus.targets),
            eval_every=c.eval_every,
            seed=c.seed,
            callbacks=[BestCheckpoint(), *callbacks],
            folder=folder,
        )

    @property
    def folder(self) -> RunFolder:
        """The folder of the run."""
        return self._kept.run

    def _windows(self, step: int) -> tuple:
        c = self.config
        return batch(self.corpus.train, c.context, c.batch, c.seed, step)

    @property
    def eager(self) -> bool:
        """Whether a step is run op by op; see the class."""
        return self._one.eager

    @eager.setter
    def eager(self, wanted: bool) -> None:
        self._one.eager = wanted

    @classmethod
    def start(cls, config: TrainConfig, out: StrPath, callbacks: Iterable[Callback] = ()) -> "CharRun":
        """Begin a run in a new folder.

        Raises
        ------
        ArgumentError
            The text, the sizes or the folder cannot be used.
        CheckpointError
            The folder cannot be written. Either way, nothing is left behind.
        """
        corpus = prepare(config)
        folder = RunFolder.create(out, config, corpus.sha256, corpus.characters)
        try:
            return cls(CharFolder(folder, corpus, config), corpus, config, callbacks)
        except BaseException:
            folder.discard()
            raise

    @classmethod
    def resume(cls, path: StrPath, steps: int | None = None, callbacks: Iterable[Callback] = ()) -> "CharRun":
        """Go on with the run in a folder, from its last checkpoint.

        Parameters
        ----------
        path
            The folder.
        steps
            Another number of steps in all; the schedule then ends there.
        callbacks
            See `Callback`.

        Raises
        ------
        CheckpointError
            The folder holds no run, or its checkpoint is damaged.
        ArgumentError
            The text has changed, the run is at a later step than `steps`, or another process trains it.
        """
        folder = RunFolder.open(path)
        corpus = prepare(folder.config)
        if corpus.sha256 != folder.text_sha256:
            raise ArgumentError(_changed_text(folder, corpus))
        config = folder.config if steps is None else replace(folder.config, steps=steps)
        checkpoint = load_checkpoint(folder.last) if folder.last.exists() else None
        return cls(CharFolder(folder, corpus, config, checkpoint), corpus, config, callbacks)


def _changed_text(folder: RunFolder, corpus: Corpus) -> str:
    name = "that this Python carries" if folder.config.data is None else repr(folder.config.data)
    return (
        f"The text {name} has changed since the run in {str(folder.path)!r} began: it has "
        f"{corpus.characters} characters and hash {corpus.sha256[:12]}, and had {folder.characters} and "
        f"{folder.text_sha256[:12]}. Resume with the same text, or train anew."
    )
