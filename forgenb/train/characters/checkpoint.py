"""One file from which training goes on or text is generated.

A file is read in the order of trust: its header, its text, whether the tensors that the header tells of are those of
the model that the text tells of, and only then a tensor. So no file makes this module allocate what it does not hold.

Imports `files`, `fitting`, `config`, modules, optimisers and the tokenizer; never pickle, and nothing that needs the
run's folder.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from forgenb.data import CharTokenizer
from forgenb.errors import ArgumentError, CheckpointError
from forgenb.nn import Module
from forgenb.optim import Optimizer
from forgenb.storage.documents import encoded
from forgenb.storage.files import write_arrays
from forgenb.storage.finite import check_finite, finite
from forgenb.storage.metadata import Fields, read_metadata
from forgenb.storage.opening import StrPath
from forgenb.storage.quantized.reading import opened_arrays
from forgenb.storage.quantized.writing import STORED, packed
from forgenb.train.characters.config import TrainConfig
from forgenb.train.characters.vocabulary import check_vocabulary, vocabulary_of
from forgenb.train.persistence.fitting import check_layouts, needed_layouts
from forgenb.train.persistence.progress import PROGRESS
from forgenb.train.persistence.state import MODEL, OPTIMIZER, put_back, state_arrays, under

__all__ = ["Checkpoint", "load_checkpoint", "save_checkpoint"]

Arrays = dict[str, np.ndarray]
FORMAT = 1
KEY = "forgenb.train"
FIELDS: Fields = {
    "config": ("an object", lambda x: isinstance(x, dict)),
    "characters": ("a text", lambda x: isinstance(x, str)),
    "text_sha256": ("a text", lambda x: isinstance(x, str)),
    **PROGRESS,
}


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
        """Put the state into a model and an optimiser of the same shapes: into both, or into none.

        Raises
        ------
        CheckpointError
            Names or shapes differ; the message names `path` and says which.
        """
        put_back(path, state_arrays(self.model, self.optimizer), model, optimizer)


def save_checkpoint(path: StrPath, checkpoint: Checkpoint, group: int | None = None) -> None:
    """Write a checkpoint, whole or not at all.

    Parameters
    ----------
    path
        The file.
    checkpoint
        What it holds.
    group
        Quantise the matrices to 4 bits a number, in groups of so many. Training cannot go on from such a file.

    Raises
    ------
    ArgumentError
        `group` is no size, or is given with the state of an optimiser.
    CheckpointError
        The file cannot be written, or could not be read again: a value is not finite, or the vocabulary has half of
        a character. An old file stays as it was.
    """
    place = os.fspath(path)
    about = {
        "format": FORMAT,
        "config": checkpoint.config.to_dict(),
        "characters": checkpoint.tokenizer.characters,
        "text_sha256": checkpoint.text_sha256,
        "step": checkpoint.step,
        "best_val": checkpoint.best_val,
        "seconds": checkpoint.seconds,
    }
    check_vocabulary(checkpoint.tokenizer, f"The checkpoint {place!r} was not written.")
    arrays = state_arrays(checkpoint.model, checkpoint.optimizer)
    texts = {KEY: encoded(about, f"The checkpoint {place!r}")}
    if group is None:
        check_finite(place, arrays)
        write_arrays(path, arrays, texts)
        return
    if checkpoint.optimizer:
        raise ArgumentError(f"{place!r} was not written: a quantised checkpoint has no optimizer, leave its state out.")
    arrays, more = packed(place, arrays, group)
    write_arrays(path, arrays, texts | more, STORED)


def load_checkpoint(path: StrPath) -> Checkpoint:
    """Read what `save_checkpoint` wrote; matrices that it quantised become float32.

    Raises
    ------
    CheckpointError
        The file is missing, truncated, damaged, or not a checkpoint of a training run; or its tensors are not those
        of the model that it describes, or are not finite. The message says what is wrong and where. Nothing that
        the file merely claims was allocated.
    """
    place = os.fspath(path)
    with opened_arrays(path) as file:
        if KEY not in file.metadata:
            raise CheckpointError(
                f"{place!r} is a safetensors file but no checkpoint of a training run: it lacks the "
                f"metadata {KEY!r}. forgenb.load reads its tensors."
            )
        about = read_metadata(place, file.metadata[KEY], FORMAT, FIELDS)
        config = TrainConfig.from_dict(about["config"], f"The checkpoint {place!r}")
        tokenizer = vocabulary_of(about["characters"], f"The checkpoint {place!r} is damaged.")
        if not any(name.startswith(MODEL) for name in file.layouts):
            raise CheckpointError(f"The checkpoint {place!r} is incomplete: it lacks every tensor of the model.")
        needed = needed_layouts(config, len(tokenizer), file.layouts)
        check_layouts(place, needed, file.layouts, "the model that it describes")
        arrays = {name: finite(file, name) for name in file.layouts}
    return Checkpoint(
        config,
        tokenizer,
        about["text_sha256"],
        about["step"],
        about["best_val"],
        about["seconds"],
        under(MODEL, arrays),
        under(OPTIMIZER, arrays),
    )
