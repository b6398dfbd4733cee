"""A text, ready to be learned: its vocabulary, training ids and validation windows.

Imports `forgenb.data` and `config`; no tensor.
"""

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forgenb.data import CharTokenizer, default_text, load_text, split, windows
from forgenb.errors import ArgumentError
from forgenb.train.characters.config import TrainConfig

__all__ = ["Corpus", "prepare"]

Ids = NDArray[np.int64]
TRAIN_FRACTION = 0.9


@dataclass(frozen=True)
class Corpus:
    """What a run reads.

    Parameters
    ----------
    tokenizer
        The characters of the whole text, or those of a model that goes on with another.
    train
        ``(n,)`` ids of the first nine tenths.
    inputs, targets
        ``(windows, t)`` ids: every window of the last tenth that starts at a multiple of the context.
    sha256, characters
        Hash (of its UTF-8) and length of the text.
    """

    tokenizer: CharTokenizer
    train: Ids
    inputs: Ids
    targets: Ids
    sha256: str
    characters: int


def prepare(config: TrainConfig, tokenizer: CharTokenizer | None = None) -> Corpus:
    """Read the text of a run.

    Parameters
    ----------
    config
        The run's choices.
    tokenizer
        The vocabulary, where that is known; by default the characters of the text.

    Raises
    ------
    ArgumentError
        It cannot be read, is empty, is not UTF-8, is too short for one window in each part, or has a character that
        the vocabulary lacks.
    """
    text = default_text() if config.data is None else load_text(config.data)
    name = "The text" if config.data is None else f"The text {config.data!r}"
    tokenizer = CharTokenizer.from_text(text) if tokenizer is None else tokenizer
    unknown = tokenizer.unknown_chars(text)
    if unknown:
        raise ArgumentError(
            f"{name} has characters that the model of {config.start!r} does not know: {unknown[:20]!a}"
            f"{' and others' if len(unknown) > 20 else ''}. It learned {len(tokenizer)}; leave the others out of the "
            "text, or train anew without --from."
        )
    cut = int(TRAIN_FRACTION * len(text))
    if min(cut, len(text) - cut) <= config.context:
        raise ArgumentError(
            f"{name} is shorter than a window: of its {len(text)} characters {cut} are for training and "
            f"{len(text) - cut} for validation, and a context of {config.context} needs at least "
            f"{config.context + 1} in each; use a longer text or a smaller --context."
        )
    train, validation = split(tokenizer.encode(text), TRAIN_FRACTION)
    inputs, targets = windows(validation, config.context)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return Corpus(tokenizer, train, inputs, targets, digest, len(text))
