"""Which trained model a command uses: options, the files that they name, and text that its model knows.

Imports runs and checkpoints; what is done with the model belongs to the command.
"""

import functools
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from forgenb.backend import use
from forgenb.cli.common import Parser
from forgenb.data import CharTokenizer, GPT2Tokenizer, Tokenizer
from forgenb.errors import ArgumentError, CheckpointError
from forgenb.models import GPT
from forgenb.train import Checkpoint, RunFolder, build_model, latest_run, load_checkpoint
from forgenb.train.characters.reopening import best_of

__all__ = ["Source", "add_source", "check_known", "chosen"]

MOST_NAMED = 20


def add_source(parser: Parser) -> None:
    """Add the options that name a model, and where it runs."""
    source = parser.add_mutually_exclusive_group()
    text = "a run; its best checkpoint is used (default the last of runs/)"
    source.add_argument("--run", dest="folder", metavar="DIR", help=text)
    source.add_argument("--checkpoint", metavar="FILE", help="a checkpoint of a run")
    text = "a GPT-2 and its tokenizer, in the files of the Hugging Face hub"
    source.add_argument("--pretrained", metavar="DIR", help=text)
    parser.add_argument("--backend", metavar="NAME", help="where it runs (default that of the run)")


@dataclass(frozen=True)
class Source:
    """A model that is there, but not made yet.

    Attributes
    ----------
    tokenizer
        Its ids.
    backend
        Where it runs.
    model
        Makes it there.
    """

    tokenizer: Tokenizer
    backend: str | None
    model: Callable[[], GPT]

    @contextmanager
    def opened(self) -> Iterator[GPT]:
        """Give the model, and use the backend that it is on, inside a ``with`` block.

        Raises
        ------
        CheckpointError
            It is damaged, or has fewer ids than its tokenizer.
        """
        with use(self.backend) if self.backend is not None else nullcontext():
            model = self.model()
            if len(self.tokenizer) > model.config.vocab:
                raise CheckpointError(
                    f"The tokenizer has {len(self.tokenizer)} tokens and the model {model.config.vocab} ids: they are "
                    "of different models."
                )
            yield model


def chosen(arguments: Namespace) -> Source:
    """The model that the options name.

    Raises
    ------
    ArgumentError, CheckpointError
        There is none, or what is read of it is damaged.
    """
    if arguments.pretrained:
        model = functools.partial(GPT.from_pretrained, arguments.pretrained)
        return Source(GPT2Tokenizer.load(arguments.pretrained), arguments.backend, model)
    if arguments.checkpoint:
        path, checkpoint = Path(arguments.checkpoint), load_checkpoint(arguments.checkpoint)
    else:
        path, checkpoint = best_of(RunFolder.open(latest_run() if arguments.folder is None else arguments.folder))
    restored = functools.partial(_restored, path, checkpoint)
    return Source(checkpoint.tokenizer, arguments.backend or checkpoint.config.backend, restored)


def _restored(path: Path, checkpoint: Checkpoint) -> GPT:
    model = build_model(checkpoint.config, len(checkpoint.tokenizer))
    checkpoint.restore(path, model)
    return model


def check_known(text: str, tokenizer: Tokenizer, what: str, advice: str) -> None:
    """Refuse characters that a model of characters did not learn.

    Raises
    ------
    ArgumentError
        Naming the first of them.
    """
    unknown = tokenizer.unknown_chars(text) if isinstance(tokenizer, CharTokenizer) else ""
    if unknown:
        named = ", ".join(f"{character!r} (U+{ord(character):04X})" for character in islice(unknown, MOST_NAMED))
        more = f" and {len(unknown) - MOST_NAMED} more" if len(unknown) > MOST_NAMED else ""
        raise ArgumentError(
            f"The model does not know these characters of {what}: {named}{more}. It learned {len(tokenizer)} "
            f"characters; {advice}."
        )
