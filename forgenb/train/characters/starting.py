"""A run that begins with the parameters of another: fine-tuning.

Imports `reopening`, `checkpoint` and `config`; no model is made here.
"""

import os
from pathlib import Path
from typing import Any

from forgenb.data import CharTokenizer
from forgenb.errors import ArgumentError, CheckpointError
from forgenb.storage.opening import StrPath
from forgenb.train import checks
from forgenb.train.characters.checkpoint import Checkpoint, load_checkpoint
from forgenb.train.characters.config import TrainConfig
from forgenb.train.characters.reopening import SIZES, best_of, other_sizes
from forgenb.train.characters.run_folder import RunFolder
from forgenb.train.distributed import World

__all__ = ["config_from", "start_of", "vocabulary_from"]


def config_from(path: StrPath, choices: dict[str, Any]) -> TrainConfig:
    """The choices of a run that begins where another one ended.

    Parameters
    ----------
    path
        The folder of a run, whose best checkpoint is taken, or a checkpoint.
    choices
        Of the new run, by the names of `TrainConfig`. The sizes of the model are those of the other run.

    Raises
    ------
    ArgumentError
        `choices` has other sizes, or `path` is no name.
    CheckpointError
        There is no such run or checkpoint, or it is damaged.
    """
    place, checkpoint = _found(path)
    sizes = {name: getattr(checkpoint.config, name) for name in SIZES}
    config = TrainConfig(**{**sizes, **choices, "start": str(place.absolute())})
    _check_sizes(config, checkpoint)
    return config


def start_of(config: TrainConfig) -> Checkpoint | None:
    """The checkpoint whose parameters a run begins with, where it names one.

    Raises
    ------
    ArgumentError
        Its model has other sizes than the run says.
    CheckpointError
        It is missing or damaged.
    """
    if config.start is None:
        return None
    checkpoint = load_checkpoint(config.start)
    _check_sizes(config, checkpoint)
    return checkpoint


def vocabulary_from(config: TrainConfig, known: Checkpoint | None, world: World | None) -> CharTokenizer | None:
    """The characters of a run that begins with the parameters of another, which the first process knows; else None."""
    if config.start is None:
        return None
    found = "" if known is None else known.tokenizer.characters
    return CharTokenizer(found if world is None else world.text(found))


def _found(path: StrPath) -> tuple[Path, Checkpoint]:
    if not os.path.isdir(checks.place_of("a run that begins with another", path)):
        return Path(path), load_checkpoint(path)
    try:
        return best_of(RunFolder.open(path))
    except CheckpointError as error:
        if not os.path.exists(Path(path) / "model.safetensors"):
            raise
        raise CheckpointError(
            f"{os.fspath(path)!r} is no run of characters but a model of the Hugging Face hub: read it by "
            "forgenb.models.GPT.from_pretrained and train it by forgenb.train.Trainer, as docs/finetune.md shows."
        ) from error


def _check_sizes(config: TrainConfig, checkpoint: Checkpoint) -> None:
    wrong = other_sizes(config, checkpoint.config, "it has")
    if wrong:
        raise ArgumentError(
            f"A run that begins with the model in {config.start!r} has its sizes, which contradict {', '.join(wrong)}: "
            "leave these out, or train anew without --from."
        )
