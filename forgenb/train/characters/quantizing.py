"""A run's model in 4 bits a number: a folder to generate from, and what that costs in loss and saves in bytes.

Imports the folder, checkpoints and models of runs, and how they are evaluated; nothing is trained here.
"""

import os
from dataclasses import dataclass, replace

from forgenb.backend import use
from forgenb.errors import ArgumentError
from forgenb.storage.opening import StrPath
from forgenb.storage.quantized.groups import check_group
from forgenb.storage.quantized.reading import is_quantized
from forgenb.train.characters.build import build_model
from forgenb.train.characters.checkpoint import load_checkpoint, save_checkpoint
from forgenb.train.characters.reopening import best_of, learned
from forgenb.train.characters.run_folder import RunFolder
from forgenb.train.loop.evaluate import evaluate

__all__ = ["QuantizedRun", "quantize_run"]


@dataclass(frozen=True)
class QuantizedRun:
    """What `quantize_run` made.

    Parameters
    ----------
    folder
        The folder, whose ``best.safetensors`` is quantised.
    group
        How many numbers share two ends.
    bytes_before, bytes_after
        Of the checkpoint in float32, without an optimiser's state, and of the quantised one.
    loss_before, loss_after
        The validation losses of both, over the same windows.
    windows
        How many these are.
    """

    folder: RunFolder
    group: int
    bytes_before: int
    bytes_after: int
    loss_before: float
    loss_after: float
    windows: int

    @property
    def ratio(self) -> float:
        """How many times smaller the quantised file is."""
        return self.bytes_before / self.bytes_after

    @property
    def cost(self) -> float:
        """By how much the loss is higher."""
        return self.loss_after - self.loss_before


def quantize_run(source: StrPath, out: StrPath, group: int = 64, backend: str | None = None) -> QuantizedRun:
    """Quantise the best model of a run into a new folder, and measure what that does to its validation loss.

    Parameters
    ----------
    source
        The folder of the run, which is only read.
    out
        The new folder. ``forgenb generate`` takes it as it takes any run; training does not go on in it.
    group
        How many numbers share two ends, see `forgenb.storage.quantized.groups.quantize`.
    backend
        Where the losses are computed; that of the run where None.

    Returns
    -------
    QuantizedRun
        The loss after is that of the file, read again.

    Raises
    ------
    ArgumentError
        `group` is no size, `source` or `out` no name, the run is quantised already, its text is missing or has
        changed, or `out` is not empty.
    BackendError
        There is no such backend.
    CheckpointError
        `source` holds no run or no checkpoint, something in it is damaged, or the new folder cannot be written.
        Whatever is raised, nothing is left of `out`.
    """
    check_group(group)
    folder = RunFolder.open(source)
    path, checkpoint = best_of(folder)
    if is_quantized(path):
        raise ArgumentError(f"{str(path)!r} is quantised already: give the run that it was made of.")
    corpus = learned(folder, checkpoint)
    size = os.path.getsize(path) - sum(array.nbytes for array in checkpoint.optimizer.values())
    with use(backend or folder.config.backend):
        made = RunFolder.create(out, folder.config, folder.text_sha256, folder.characters)
        try:
            made.write_vocabulary(checkpoint.tokenizer)
            save_checkpoint(made.best, replace(checkpoint, optimizer={}), group)
            model = build_model(checkpoint.config, len(checkpoint.tokenizer))
            checkpoint.restore(path, model)
            before = evaluate(model, corpus.inputs, corpus.targets)
            load_checkpoint(made.best).restore(made.best, model)
            after = evaluate(model, corpus.inputs, corpus.targets)
        except BaseException:
            made.discard()
            raise
    return QuantizedRun(made, group, size, os.path.getsize(made.best), before, after, len(corpus.inputs))
