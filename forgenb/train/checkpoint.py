"""One file from which training goes on or text is generated.

Imports `files`, `config`, modules, optimisers and the tokenizer; never pickle, and nothing that needs the run's
folder.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from forgenb.data import CharTokenizer
from forgenb.errors import ArgumentError, CheckpointError, ForgeError
from forgenb.nn import Module
from forgenb.optim import Optimizer
from forgenb.tensor import host_values
from forgenb.train.config import TrainConfig
from forgenb.train.files import StrPath, read_arrays, write_arrays

__all__ = ["Checkpoint", "load_checkpoint", "save_checkpoint"]

Arrays = dict[str, np.ndarray]
FORMAT = 1
KEY = "forgenb.train"


@dataclass(frozen=True)
class Checkpoint:
    """The state of a run after some steps.

    Parameters
    ----------
    config
        The run's choices.
    tokenizer
        Its vocabulary, so that the file alone can generate text.
    text_sha256
        The hash of the text that it learns.
    step
        Steps done.
    best_val
        The lowest validation loss so far, or None before the first evaluation.
    seconds
        Time spent in training.
    model, optimizer
        Their ``state_dict``; a checkpoint to generate from has no optimiser state.
    """

    config: TrainConfig
    tokenizer: CharTokenizer
    text_sha256: str
    step: int
    best_val: float | None
    seconds: float
    model: Mapping[str, np.ndarray]
    optimizer: Mapping[str, np.ndarray] = field(default_factory=dict)

    def restore(self, path: StrPath, model: Module, optimizer: Optimizer | None = None) -> None:
        """Put the state into a model and an optimiser of the same shapes.

        Raises
        ------
        CheckpointError
            Names or shapes differ; the message names `path` and says which.
        """
        try:
            model.load_state_dict(dict(self.model))
            if optimizer is not None:
                optimizer.load_state_dict(dict(self.optimizer))
        except (ForgeError, KeyError, ValueError) as error:
            raise CheckpointError(
                f"The checkpoint {os.fspath(path)!r} does not fit the model that it describes: {error}"
            ) from error


def save_checkpoint(path: StrPath, checkpoint: Checkpoint) -> None:
    """Write a checkpoint, whole or not at all.

    Raises
    ------
    CheckpointError
        The file cannot be written; an old one stays as it was.
    """
    about = {
        "format": FORMAT,
        "config": checkpoint.config.to_dict(),
        "characters": checkpoint.tokenizer.characters,
        "text_sha256": checkpoint.text_sha256,
        "step": checkpoint.step,
        "best_val": checkpoint.best_val,
        "seconds": checkpoint.seconds,
    }
    arrays = {f"model.{name}": host_values(value) for name, value in checkpoint.model.items()}
    arrays |= {f"optimizer.{name}": host_values(value) for name, value in checkpoint.optimizer.items()}
    write_arrays(path, arrays, {KEY: json.dumps(about)})


def load_checkpoint(path: StrPath) -> Checkpoint:
    """Read what `save_checkpoint` wrote.

    Raises
    ------
    CheckpointError
        The file is missing, truncated, or not a checkpoint of a training run; the message says what it lacks.
    """
    arrays, metadata = read_arrays(path)
    place = os.fspath(path)
    if KEY not in metadata:
        raise CheckpointError(
            f"{place!r} is a safetensors file but no checkpoint of a training run: it lacks the "
            f"metadata {KEY!r}. forgenb.load reads its tensors."
        )
    about = _parsed(place, metadata[KEY])
    model = _under("model.", arrays)
    if not model:
        raise CheckpointError(f"The checkpoint {place!r} is incomplete: it lacks every tensor of the model.")
    try:
        tokenizer = CharTokenizer(about["characters"])
    except ArgumentError as error:
        raise CheckpointError(f"The checkpoint {place!r} is damaged. {error}") from error
    return Checkpoint(
        TrainConfig.from_dict(about["config"], f"The checkpoint {place!r}"),
        tokenizer,
        about["text_sha256"],
        about["step"],
        about["best_val"],
        about["seconds"],
        model,
        _under("optimizer.", arrays),
    )


def _parsed(place: str, text: str) -> dict:
    kinds: dict[str, type | tuple[type, ...]] = {
        "config": dict,
        "characters": str,
        "text_sha256": str,
        "step": int,
        "best_val": (float, type(None)),
        "seconds": float,
    }
    try:
        about = json.loads(text)
    except json.JSONDecodeError as error:
        raise CheckpointError(f"The checkpoint {place!r} is damaged: its metadata: {error}.") from error
    version = about.get("format") if isinstance(about, dict) else None
    if version != FORMAT:
        raise CheckpointError(
            f"The checkpoint {place!r} has format {version!r}, this forgenb reads {FORMAT}; use the version "
            "of forgenb that wrote it."
        )
    wrong = [name for name, kind in kinds.items() if not isinstance(about.get(name, ...), kind)]
    if wrong:
        lacking = ", ".join(wrong)
        raise CheckpointError(f"The checkpoint {place!r} is incomplete: its metadata lacks {lacking}.")
    return about


def _under(prefix: str, arrays: Arrays) -> Arrays:
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}
