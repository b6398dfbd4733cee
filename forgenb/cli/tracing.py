"""What ``forgenb generate`` writes beside the text: records of the ids as JSON lines, and a picture of attention.

Imports models and storage; the command itself is `generate`.
"""

import json
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from forgenb.cli.common import Parser, check_file, termination_interrupts
from forgenb.data import Tokenizer
from forgenb.errors import ArgumentError
from forgenb.models import StepTrace, Tracer, attention_matrix, plot_attention
from forgenb.models.trace_json import trace_object
from forgenb.routine.figures import check_figure_file
from forgenb.storage.files import replacing

__all__ = ["Tracing", "add_options"]


def add_options(parser: Parser) -> None:
    """Add the options of traces."""
    parser.add_argument(
        "--trace", metavar="FILE", help="write a record of each character there, one JSON object a line"
    )
    parser.add_argument("--trace-top", type=int, default=10, metavar="N", help="how many characters a record lists")
    parser.add_argument("--trace-layers", type=int, default=0, metavar="N", help="of how many layers it has everything")
    parser.add_argument("--attention", metavar="FILE", help="draw attention there (.svg, .png or .pdf)")


class Tracing:
    """The files that were asked for, checked before anything is generated.

    Raises
    ------
    ArgumentError
        If one cannot be written, or an option is out of range.
    """

    def __init__(self, arguments: Namespace):
        self._trace, self._picture = arguments.trace, arguments.attention
        self._top, self._layers = arguments.trace_top, arguments.trace_layers
        if self._top < 1 or self._layers < 0:
            raise ArgumentError(
                "Nothing can be generated: --trace-top must be at least 1 and --trace-layers at least 0, got "
                f"{self._top} and {self._layers}."
            )
        check_file("--trace", self._trace)
        if self._picture is not None:
            check_figure_file(self._picture)
            if arguments.tokens == 0:
                raise ArgumentError("There is no attention to draw with --tokens 0; ask for at least one.")
        if None not in (self._trace, self._picture) and Path(self._trace).resolve() == Path(self._picture).resolve():
            raise ArgumentError(f"--trace and --attention name one file, {self._trace!r}; name two.")

    @contextmanager
    def opened(self, tokenizer: Tokenizer, prompt: list[int], context: int) -> Iterator[Tracer | None]:
        """Give what traces, inside a ``with`` block; the files are there after it, unless that raises.

        A record is written as soon as it is there, and kept where the picture needs it.

        Parameters
        ----------
        tokenizer
            Gives the text of an id.
        prompt
            Its ids.
        context
            Of the model: the picture ends where the window begins to slide.
        """
        read, records = prompt[-context:], list[StepTrace]()
        drawn = context - len(read) + 1 if self._picture is not None else 0

        def text_of(i: int) -> str:
            return str(tokenizer.decode([i]))

        with termination_interrupts(), nullcontext() if self._trace is None else replacing(self._trace) as file:

            def receive(record: StepTrace) -> None:
                if file is not None:
                    file.write(json.dumps(trace_object(record, text_of)).encode() + b"\n")
                if len(records) < drawn:
                    records.append(record)

            yield Tracer(receive, self._top, self._layers) if file is not None or drawn else None
        if records:
            labels = [text_of(i) for i in (*read, *(record.chosen for record in records[:-1]))]
            plot_attention(attention_matrix(records), self._picture, labels)
