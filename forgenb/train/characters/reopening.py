"""A run that is taken up again: its folder, its text, and a checkpoint that describes the same model.

All of it is compared before a model is made, so what a folder claims costs no memory. Imports `run_folder`, `corpus`,
`checkpoint` and the sizes of a model; no model and no optimiser.
"""

import os
from pathlib import Path

from forgenb.backend.host import memory
from forgenb.errors import ArgumentError, CheckpointError
from forgenb.storage.opening import StrPath
from forgenb.storage.quantized.reading import is_quantized
from forgenb.train.characters.build import gpt_config
from forgenb.train.characters.checkpoint import Checkpoint, load_checkpoint
from forgenb.train.characters.config import TrainConfig
from forgenb.train.characters.corpus import Corpus, prepare
from forgenb.train.characters.run_folder import RunFolder

__all__ = ["SIZES", "best_of", "check_learned", "checkpoint_of", "learned", "other_sizes", "reopen"]

SIZES = ("layers", "heads", "width", "context")
BYTES = 16
"""Of a number that is trained: its value, its gradient and AdamW's two moments, in float32."""


def reopen(path: StrPath) -> tuple[RunFolder, Checkpoint | None]:
    """Open a run's folder, and read its last checkpoint where there is one.

    Raises
    ------
    CheckpointError
        The folder holds no run, something in it is damaged, config.json and the checkpoint describe different models,
        there is no checkpoint and the model would not fit into this machine, there is only a quantised one, or
        config.json names a text that cannot be the one of the run.
    """
    folder = RunFolder.open(path)
    _check_text(folder)
    if os.path.lexists(folder.last):
        return folder, checkpoint_of(folder, folder.last)
    if os.path.lexists(folder.best) and is_quantized(folder.best):
        raise CheckpointError(
            f"The run in {str(path)!r} cannot go on: it has nothing but a quantised model. Resume the run that "
            "this was made of."
        )
    _check_memory(folder)
    return folder, None


def checkpoint_of(folder: RunFolder, path: Path) -> Checkpoint:
    """Read a checkpoint of a run.

    Raises
    ------
    CheckpointError
        See `load_checkpoint`; or it is of a model of other sizes than config.json says.
    """
    checkpoint = load_checkpoint(path)
    wrong = other_sizes(checkpoint.config, folder.config, "config.json says")
    if wrong:
        raise CheckpointError(
            f"{str(path)!r} does not belong to the config.json beside it: it holds a model of {', '.join(wrong)}. Put "
            "the file back that the run wrote."
        )
    return checkpoint


def other_sizes(config: TrainConfig, known: TrainConfig, said: str) -> list[str]:
    """Which sizes of a model differ from those of `known`, in words; none where it is the same model."""
    pairs = [(name, getattr(config, name), getattr(known, name)) for name in SIZES]
    return [f"{name} {own} ({said} {other})" for name, own, other in pairs if own != other]


def best_of(folder: RunFolder) -> tuple[Path, Checkpoint]:
    """Read the best checkpoint of a run, or its last one where it has not been evaluated yet.

    Returns
    -------
    tuple
        The file and the checkpoint.

    Raises
    ------
    CheckpointError
        There is none, or see `checkpoint_of`.
    """
    for path in (folder.best, folder.last):
        if path.exists():
            return path, checkpoint_of(folder, path)
    raise CheckpointError(
        f"The run in {str(folder.path)!r} has no checkpoint yet; go on with forgenb train --resume {folder.path}."
    )


def learned(folder: RunFolder, checkpoint: Checkpoint) -> Corpus:
    """Read the text that a run learned, with the characters that its checkpoint knows.

    Raises
    ------
    CheckpointError
        config.json names a text that cannot be the one of the run.
    ArgumentError
        It cannot be read, or has changed.
    """
    _check_text(folder)
    corpus = prepare(folder.config, None if folder.config.start is None else checkpoint.tokenizer)
    check_learned(folder, corpus)
    return corpus


def check_learned(folder: RunFolder, corpus: Corpus) -> None:
    """Refuse another text than that of the run.

    Raises
    ------
    ArgumentError
        Its hash is not the one that the folder has.
    """
    if corpus.sha256 == folder.text_sha256:
        return
    name = "that this Python carries" if folder.config.data is None else repr(folder.config.data)
    raise ArgumentError(
        f"The text {name} has changed since the run in {str(folder.path)!r} began: it has "
        f"{corpus.characters} characters and hash {corpus.sha256[:12]}, and had {folder.characters} and "
        f"{folder.text_sha256[:12]}. Resume with the same text, or train anew."
    )


def _check_text(folder: RunFolder) -> None:
    """Refuse to read what never ends, or much more than the run's text."""
    data = folder.config.data
    if data is None or not os.path.exists(data):
        return  # whoever reads it says that it is missing
    where = f"{str(folder.path / 'config.json')!r} names {data!r} as the text of its run, which"
    if not os.path.isfile(data):
        raise CheckpointError(f"{where} is no regular file; a run that read another kind cannot be resumed.")
    size, most = os.path.getsize(data), 4 * folder.characters
    if size > most:
        raise CheckpointError(
            f"{where} has {size} bytes: the {folder.characters} characters that were learned had at most {most}. "
            "Resume with the same text, or train anew."
        )


def _check_memory(folder: RunFolder) -> None:
    """Refuse a model that nothing shows to have ever been made, and that this machine cannot hold."""
    count = gpt_config(folder.config, 1).parameters
    installed = memory()
    if installed is not None and BYTES * count > installed:
        raise CheckpointError(
            f"{str(folder.path / 'config.json')!r} describes a model of {count} numbers, and training it takes "
            f"{BYTES * count} bytes: this machine has {installed}. There is no checkpoint of it either."
        )
