"""Which trained model a command uses: options, the checkpoint that they name, and text that its model knows.

Imports runs and checkpoints; what is done with the model belongs to the command.
"""

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from forgenb.backend import use
from forgenb.cli.common import Parser
from forgenb.data import CharTokenizer
from forgenb.errors import ArgumentError
from forgenb.models import GPT
from forgenb.train import Checkpoint, RunFolder, build_model, latest_run, load_checkpoint
from forgenb.train.characters.reopening import best_of

__all__ = ["add_source", "check_known", "chosen", "restored"]

MOST_NAMED = 20


def add_source(parser: Parser) -> None:
    """Add the options that name a model, and where it runs."""
    source = parser.add_mutually_exclusive_group()
    text = "a run; its best checkpoint is used (default the last of runs/)"
    source.add_argument("--run", dest="folder", metavar="DIR", help=text)
    source.add_argument("--checkpoint", metavar="FILE", help="a checkpoint of a run")
    parser.add_argument("--backend", metavar="NAME", help="where it runs (default that of the run)")


def chosen(arguments: Namespace) -> tuple[Path, Checkpoint]:
    """The checkpoint that the options name, read, with its path.

    Raises
    ------
    ArgumentError, CheckpointError
        There is none, or it is damaged.
    """
    if arguments.checkpoint:
        return Path(arguments.checkpoint), load_checkpoint(arguments.checkpoint)
    return best_of(RunFolder.open(latest_run() if arguments.folder is None else arguments.folder))


@contextmanager
def restored(arguments: Namespace, path: Path, checkpoint: Checkpoint) -> Iterator[GPT]:
    """Give the model of a checkpoint, and use the backend that it is on, inside a ``with`` block."""
    with use(arguments.backend or checkpoint.config.backend):
        model = build_model(checkpoint.config, len(checkpoint.tokenizer))
        checkpoint.restore(path, model)
        yield model


def check_known(text: str, tokenizer: CharTokenizer, what: str, advice: str) -> None:
    """Refuse characters that a model did not learn.

    Raises
    ------
    ArgumentError
        Naming the first of them.
    """
    unknown = tokenizer.unknown_chars(text)
    if unknown:
        named = ", ".join(f"{character!r} (U+{ord(character):04X})" for character in islice(unknown, MOST_NAMED))
        more = f" and {len(unknown) - MOST_NAMED} more" if len(unknown) > MOST_NAMED else ""
        raise ArgumentError(
            f"The model does not know these characters of {what}: {named}{more}. It learned {len(tokenizer)} "
            f"characters; {advice}."
        )
