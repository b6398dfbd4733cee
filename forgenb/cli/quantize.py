"""``forgenb quantize``: the model of a run in 4 bits a number, and what that costs.

Imports `forgenb.train` when it runs; how it is done and measured is decided there.
"""

from argparse import Namespace

from forgenb.cli.common import Commands, say, say_json

__all__ = ["add_to"]


def add_to(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "quantize",
        aliases=["quantise"],
        help="store the model of a run in 4 bits a number",
        description="Store the best model of a run in 4 bits a number, norms and biases as they are, in a new folder "
        "for forgenb generate. The validation loss is measured before and after.",
    )
    parser.add_argument("folder", metavar="RUN", help="the folder of the run, which is only read")
    parser.add_argument("--out", required=True, metavar="DIR", help="a new folder")
    parser.add_argument("--group", type=int, default=64, metavar="N", help="numbers that share a scale (default 64)")
    parser.add_argument("--backend", metavar="NAME", help="where the loss is measured (default that of the run)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    """Print sizes and losses before and after."""
    from forgenb.train import quantize_run

    found = quantize_run(arguments.folder, arguments.out, arguments.group, arguments.backend)
    if arguments.json:
        names = ("group", "bytes_before", "bytes_after", "ratio", "loss_before", "loss_after", "cost", "windows")
        say_json({"out": str(found.folder.path)} | {name: getattr(found, name) for name in names})
        return 0
    for name, size, loss in (
        ("float32", found.bytes_before, found.loss_before),
        ("4 bits", found.bytes_after, found.loss_after),
    ):
        say(f"{name:8} {size:>13,} bytes   validation loss {loss:.4f}")
    say(f"The file is {found.ratio:.2f} times smaller, and the loss over {found.windows} windows {found.cost:+.4f}.")
    say(f"The quantised model is in {found.folder.path}")
    return 0
