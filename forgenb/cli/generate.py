"""``forgenb generate``: text from a trained model.

Imports models, data and checkpoints; sampling itself is `forgenb.models`.
"""

import sys
from argparse import Namespace
from pathlib import Path

from forgenb.backend import use
from forgenb.cli.common import Commands, say
from forgenb.data import CharTokenizer, TextStream
from forgenb.errors import ArgumentError, CheckpointError
from forgenb.models import stream
from forgenb.train import Checkpoint, RunFolder, build_model, latest_run, load_checkpoint
from forgenb.train.characters.reopening import checkpoint_of

__all__ = ["add_to"]


def add_to(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "generate",
        help="write text with a trained model",
        description="Continue a prompt with a trained model, character by character.",
    )
    source = parser.add_mutually_exclusive_group()
    text = "a run; its best checkpoint is used (default the last of runs/)"
    source.add_argument("--run", dest="folder", metavar="DIR", help=text)
    source.add_argument("--checkpoint", metavar="FILE", help="a checkpoint of a run")
    parser.add_argument("--prompt", metavar="TEXT", help="what to continue (default a new line)")
    parser.add_argument("--tokens", type=int, default=200, metavar="N", help="how many characters (default 200)")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--greedy", action="store_true", help="always the most likely character")
    choice.add_argument("--temperature", type=float, default=0.8, metavar="T", help="wilder above 1 (default 0.8)")
    parser.add_argument("--top-k", type=int, metavar="K", help="draw among the K most likely characters")
    parser.add_argument("--top-p", type=float, metavar="P", help="of these, among the fewest that make up P of all")
    parser.add_argument("--seed", type=int, default=1337, metavar="N", help="of the draws (default 1337)")
    parser.add_argument("--backend", metavar="NAME", help="where it runs (default that of the run)")
    parser.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    """Print the prompt and what follows as it is found."""
    choice = _choice(arguments)
    if arguments.checkpoint:
        path = Path(arguments.checkpoint)
        checkpoint = load_checkpoint(path)
    else:
        path, checkpoint = _checkpoint_of(arguments.folder)
    tokenizer, config = checkpoint.tokenizer, checkpoint.config
    prompt = _prompt(arguments.prompt, tokenizer)
    with use(arguments.backend or config.backend):
        model = build_model(config, len(tokenizer))
        checkpoint.restore(path, model)
        ids = stream(model, tokenizer.encode(prompt).tolist(), arguments.tokens, **choice)
        say(prompt, end="")
        text = TextStream(tokenizer)
        for found in ids:
            say(text.push(found), end="")
    say(text.finish(), stream=sys.stdout)
    return 0


def _choice(arguments: Namespace) -> dict:
    """How ids are chosen, checked before anything is read."""
    wrong = []
    if arguments.tokens < 0:
        wrong.append(f"--tokens must be at least 0, got {arguments.tokens}")
    if not 0 < arguments.temperature < float("inf"):
        wrong.append(f"--temperature must be finite and above 0, got {arguments.temperature}")
    if arguments.top_k is not None and arguments.top_k < 1:
        wrong.append(f"--top-k must be at least 1, got {arguments.top_k}")
    if arguments.top_p is not None and not 0 < arguments.top_p <= 1:
        wrong.append(f"--top-p must be above 0 and at most 1, got {arguments.top_p}")
    if not 0 <= arguments.seed < 2**63:
        wrong.append(f"--seed must be from 0 to 2**63 - 1, got {arguments.seed}")
    if wrong:
        raise ArgumentError(f"Nothing can be generated: {'; '.join(wrong)}.")
    names = ("greedy", "temperature", "top_k", "top_p", "seed")
    return {name: getattr(arguments, name) for name in names}


def _checkpoint_of(folder: str | None) -> tuple[Path, Checkpoint]:
    run_folder = RunFolder.open(latest_run() if folder is None else folder)
    for path in (run_folder.best, run_folder.last):
        if path.exists():
            return path, checkpoint_of(run_folder, path)
    raise CheckpointError(
        f"The run in {str(run_folder.path)!r} has no checkpoint yet; go on with forgenb train --resume "
        f"{run_folder.path}."
    )


def _prompt(text: str | None, tokenizer: CharTokenizer) -> str:
    if text is None:
        return "\n" if "\n" in tokenizer.characters else tokenizer.characters[0]
    if not text:
        raise ArgumentError("The prompt is empty; give at least one character to go on from.")
    unknown = tokenizer.unknown_chars(text)
    if unknown:
        named = ", ".join(f"{character!r} (U+{ord(character):04X})" for character in unknown)
        raise ArgumentError(
            f"The model does not know these characters of the prompt: {named}. It learned {len(tokenizer)} "
            "characters; leave the others out."
        )
    return text
