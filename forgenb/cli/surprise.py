"""``forgenb surprise``: how many bits each character of a text has for a trained model.

Imports models, data and checkpoints; the bits themselves are `forgenb.models.surprisal`.
"""

import math
from argparse import Namespace

from forgenb.cli.common import Commands, say, say_json
from forgenb.cli.source import add_source, check_known, chosen
from forgenb.data import CharTokenizer, TextStream, Tokenizer, load_text
from forgenb.errors import ArgumentError
from forgenb.models import Surprisal, surprisal

__all__ = ["add_to"]

MOST = 1 << 22
"""The most bytes of a text."""
BEFORE = 20
"""How many characters before a surprising one are shown with it."""


def add_to(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "surprise",
        help="show which places of a text surprise a trained model",
        description="Read a text with a trained model, and show how many bits each character or token has, given those "
        "before it: in a terminal by colours, then as a sum, and the most surprising places with what was expected "
        "there. The first one has nothing before it, and counts as 0 bits.",
    )
    parser.add_argument("file", metavar="FILE", help=f"the text, in UTF-8, of at most {MOST >> 20} MiB")
    add_source(parser)
    parser.add_argument("--top", type=int, default=5, metavar="K", help="how many expected characters (default 5)")
    parser.add_argument("--places", type=int, default=10, metavar="N", help="how many places are listed (default 10)")
    text = "how far a window moves in a text longer than the context (default half the context)"
    parser.add_argument("--stride", type=int, metavar="N", help=text)
    parser.add_argument("--lossy", action="store_true", help="leave out characters that the model does not know")
    parser.add_argument("--json", action="store_true", help="print one JSON object a character, and one of the sums")
    parser.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    """Print the text with its colours, its bits, and where they are."""
    if arguments.places < 0:
        raise ArgumentError(f"Nothing can be listed: --places must be at least 0, got {arguments.places}.")
    text = load_text(arguments.file, MOST)
    source = chosen(arguments)
    tokenizer = source.tokenizer
    if arguments.lossy and isinstance(tokenizer, CharTokenizer):
        ids = tokenizer.encode_lossy(text)
    else:
        advice = "take another text, or leave such characters out with --lossy"
        check_known(text, tokenizer, "the text", advice)
        ids = tokenizer.encode(text)
    if len(ids) < 2:
        raise ArgumentError(
            f"Nothing can be said of {arguments.file!r}: it has {len(ids)} tokens that the model knows, and bits are "
            "counted from the second one on."
        )
    with source.opened() as model:
        found = surprisal(model, ids, arguments.top, arguments.stride)
    show = _as_json if arguments.json else _as_text
    show(found, tokenizer, len(text) - len(tokenizer.decode(ids)), arguments.places)
    return 0


def _as_json(found: Surprisal, tokenizer: Tokenizer, left_out: int, places: int) -> None:
    for place, (i, bits) in enumerate(zip(found.ids.tolist(), found.bits.tolist())):
        row = {"position": place, "token": tokenizer.decode([i]), "bits": bits}
        say_json(row | {"candidates": _expected(found, tokenizer, place)})
    say_json(
        {
            "tokens": len(found.ids),
            "left_out": left_out,
            "bits": found.total,
            "bits_per_token": found.mean,
            "bits_per_character": found.per_character(tokenizer),
            "bits_per_byte": found.per_byte(tokenizer),
            "perplexity": found.perplexity if math.isfinite(found.perplexity) else None,
        }
    )


def _expected(found: Surprisal, tokenizer: Tokenizer, place: int) -> list[dict]:
    """The candidates of a place, the most probable first; none at the first one."""
    rows = zip(found.candidates[place].tolist(), found.probabilities[place].tolist())
    return [{"token": tokenizer.decode([i]), "probability": p} for i, p in rows if place]


def _as_text(found: Surprisal, tokenizer: Tokenizer, left_out: int, places: int) -> None:
    from forgenb.cli.heat import print_heat

    pieces = _pieces(found, tokenizer)
    print_heat(pieces, found.bits)
    left = f" ({left_out} of others were left out)" if left_out else ""
    count = sum(map(len, pieces))
    joined = f" in {len(pieces)} tokens" if count != len(pieces) else ""
    say(
        f"{count} characters{joined}{left}, {found.total:.1f} bits: {found.per_character(tokenizer):.3f} a character, "
        f"{found.per_byte(tokenizer):.3f} a byte, perplexity {found.perplexity:.2f}"
    )
    for place in found.places(places).tolist() if places else []:
        expected = ", ".join(f"{c['token']!r} {c['probability']:.1%}" for c in _expected(found, tokenizer, place))
        before = "".join(pieces[max(place - BEFORE, 0) : place])[-BEFORE:]
        say(f"{place:>8}  {found.bits[place]:5.1f} bits  {pieces[place]!r} after {before!r}, expected {expected}")


def _pieces(found: Surprisal, tokenizer: Tokenizer) -> list[str]:
    """What each id adds to the text; a character of several ids stands at its last one."""
    stream = TextStream(tokenizer)
    pieces = [stream.push(i) for i in found.ids.tolist()]
    pieces[-1] += stream.finish()
    return pieces
