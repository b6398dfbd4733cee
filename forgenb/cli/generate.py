"""``forgenb generate``: text from a trained model.

Imports models, data and checkpoints; sampling itself is `forgenb.models`.
"""

import sys
from argparse import Namespace

from forgenb.cli.common import Commands, say
from forgenb.cli.source import add_source, check_known, chosen
from forgenb.cli.tracing import Tracing, add_options
from forgenb.data import CharTokenizer, TextStream, Tokenizer
from forgenb.errors import ArgumentError
from forgenb.models import stream

__all__ = ["add_to"]


def add_to(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "generate",
        help="write text with a trained model",
        description="Continue a prompt with a trained model, character by character or token by token.",
    )
    add_source(parser)
    parser.add_argument("--prompt", metavar="TEXT", help="what to continue (default: a text begins)")
    parser.add_argument(
        "--tokens", type=int, default=200, metavar="N", help="how many characters, or tokens (default 200)"
    )
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--greedy", action="store_true", help="always the most likely character")
    choice.add_argument("--temperature", type=float, default=0.8, metavar="T", help="wilder above 1 (default 0.8)")
    parser.add_argument("--top-k", type=int, metavar="K", help="draw among the K most likely characters")
    parser.add_argument("--top-p", type=float, metavar="P", help="of these, among the fewest that make up P of all")
    parser.add_argument("--seed", type=int, default=1337, metavar="N", help="of the draws (default 1337)")
    add_options(parser)
    parser.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    """Print the prompt and what follows as it is found."""
    choice, tracing = _choice(arguments), Tracing(arguments)
    source = chosen(arguments)
    tokenizer = source.tokenizer
    prompt, ids = _start(arguments.prompt, tokenizer)
    with source.opened() as model, tracing.opened(tokenizer, ids, model.config.context) as tracer:
        added = stream(model, ids, arguments.tokens, **choice, tracer=tracer)
        say(prompt, end="")
        text = TextStream(tokenizer)
        for found in added:
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


def _start(text: str | None, tokenizer: Tokenizer) -> tuple[str, list[int]]:
    """What to continue, and its ids; where nothing is given, a text begins: behind the end of one, or in a new line."""
    if text is None and tokenizer.end is not None:
        return "", [tokenizer.end]
    if text is None:
        unlearned = isinstance(tokenizer, CharTokenizer) and "\n" not in tokenizer.characters
        text = tokenizer.decode([0]) if unlearned else "\n"
    if not text:
        raise ArgumentError("The prompt is empty; give at least one character to go on from.")
    check_known(text, tokenizer, "the prompt", "leave the others out")
    return text, tokenizer.encode(text).tolist()
