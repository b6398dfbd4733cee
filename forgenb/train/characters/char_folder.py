"""The folder of a character run as a trainer uses it: its checkpoints can generate text by themselves.

Imports `folder`, `run_folder` and `checkpoint`; the loop is not known here.
"""

from typing import TYPE_CHECKING

from forgenb.errors import CheckpointError
from forgenb.train.characters.checkpoint import Checkpoint, save_checkpoint
from forgenb.train.characters.config import TrainConfig
from forgenb.train.characters.corpus import Corpus
from forgenb.train.characters.run_folder import RunFolder
from forgenb.train.persistence.folder import TrainingFolder

if TYPE_CHECKING:
    from forgenb.train.loop.trainer import Trainer

__all__ = ["CharFolder"]


class CharFolder(TrainingFolder):
    """A `TrainingFolder` in the format of ``forgenb train``: see `RunFolder`, which made it, and `Checkpoint`.

    Parameters
    ----------
    run
        The folder that was created or opened.
    corpus
        The text that is learned.
    config
        The choices of the run; its number of steps may differ from the one that is written down, and then takes its
        place.
    checkpoint
        Where the run goes on; None at its beginning.
    """

    more = "--steps"

    def __init__(self, run: RunFolder, corpus: Corpus, config: TrainConfig, checkpoint: Checkpoint | None = None):
        super().__init__(run.path, resume=checkpoint is not None)
        self.run, self._corpus, self._config, self._checkpoint = run, corpus, config, checkpoint

    def _make(self) -> None:
        """The run made it."""

    def _prepare(self) -> None:
        super()._prepare()
        self.run.write_vocabulary(self._corpus.tokenizer)
        if self._config != self.run.config:
            self.run = self.run.with_steps(self._config.steps)

    def _save_last(self, trainer: "Trainer") -> None:
        save_checkpoint(self.last, self._state(trainer, trainer.optimizer.state_dict()))

    def _save_best(self, trainer: "Trainer") -> None:
        save_checkpoint(self.best, self._state(trainer, {}))

    def _state(self, trainer: "Trainer", optimizer: dict) -> Checkpoint:
        return Checkpoint(
            self._config,
            self._corpus.tokenizer,
            self._corpus.sha256,
            trainer.step,
            trainer.best_val,
            trainer.seconds,
            trainer.model.state_dict(),
            optimizer,
        )

    def _restore(self, trainer: "Trainer") -> None:
        checkpoint, self._checkpoint = self._checkpoint, None
        if checkpoint is None:
            return
        if checkpoint.text_sha256 != self.run.text_sha256:
            raise CheckpointError(
                f"{str(self.last)!r} belongs to another run: it learned another text than the one "
                "that config.json names."
            )
        checkpoint.restore(self.last, trainer.model, trainer.optimizer)
        trainer.step, trainer.best_val, trainer.seconds = checkpoint.step, checkpoint.best_val, checkpoint.seconds
