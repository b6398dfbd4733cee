"""What ``forgenb generate`` writes beside the text: records of the ids as JSON lines, and a picture of attention.

Imports models and storage; the command itself is `generate`.
"""

import json
import os
from argparse import Namespace

from forgenb.cli.common import Parser
from forgenb.data import CharTokenizer
from forgenb.errors import ArgumentError
from forgenb.models import StepTrace, Tracer, attention_matrix, plot_attention
from forgenb.models.trace_json import trace_object
from forgenb.routine.figures import check_figure_file
from forgenb.storage.files import write_whole

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
        self._records: list[StepTrace] = []
        self._trace, self._picture = arguments.trace, arguments.attention
        if arguments.trace_top < 1 or arguments.trace_layers < 0:
            raise ArgumentError(
                "Nothing can be generated: --trace-top must be at least 1 and --trace-layers at least 0, got "
                f"{arguments.trace_top} and {arguments.trace_layers}."
            )
        if self._trace is not None:
            _check_file(self._trace)
        if self._picture is not None:
            check_figure_file(self._picture)
            if arguments.tokens == 0:
                raise ArgumentError("There is no attention to draw with --tokens 0; ask for at least one.")
        wanted = self._trace is not None or self._picture is not None
        top, layers = arguments.trace_top, arguments.trace_layers
        self.tracer = Tracer(self._records.append, top, layers) if wanted else None

    def write(self, tokenizer: CharTokenizer, prompt: list[int], context: int) -> None:
        """Write the files.

        Parameters
        ----------
        tokenizer
            Gives the text of an id.
        prompt
            Its ids.
        context
            Of the model: the picture ends where the window begins to slide.
        """

        def text_of(i: int) -> str:
            return str(tokenizer.decode([i]))

        if self._trace is not None:
            lines = (json.dumps(trace_object(record, text_of), ensure_ascii=False) for record in self._records)
            write_whole(self._trace, "".join(f"{line}\n" for line in lines).encode())
        if self._picture is not None and self._records:
            read = prompt[-context:]
            records = self._records[: context - len(read) + 1]
            labels = [text_of(i) for i in (*read, *(record.chosen for record in records[:-1]))]
            plot_attention(attention_matrix(records), self._picture, labels)


def _check_file(name: str) -> None:
    if not name or "\0" in name or os.path.isdir(name) or not os.path.isdir(os.path.dirname(name) or "."):
        raise ArgumentError(f"The trace {name!r} is not a file in a folder that is there; name one for --trace.")
