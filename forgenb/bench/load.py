"""Loading a GPT-2 from a folder beside reading its file: all have the same numbers first, then they take turns.

The file is in the system's cache. Imports the model, `process`, `measure` and the specs.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from forgenb.models import GPT, GPTConfig

from .contenders.loading import bits
from .contenders.specs import DECODINGS, LOADERS, OWN, READ, TINY, Transformer
from .measure import PAUSE, Plan, Row, alternating, check_room
from .process import WorkerProcess

__all__ = ["LoadRow", "compare_load"]

KINDS = {"load-new": True, "load-again": False}
"""Into memory that is new to the process, or into what the model before has had or a buffer that was written before."""
FILE = "model.safetensors"


@dataclass
class LoadRow(Row):
    """What one contender reached: its times are those of loading, `ratio` is over the ``read`` of ``load-again``."""

    ratio: float | None = None

    def as_json(self) -> dict:
        """The fields that a script reads."""
        names = ["median_ms", "min_ms", "max_ms", "ratio", "peak_mb"]
        return super().as_json() if self.skipped else self._fields(names)


Rows = Mapping[tuple[str, str], LoadRow]


def compare_load(
    plan: Plan, tell: Callable[[str], None] = lambda text: None, model: Transformer = DECODINGS["gpt2"].model
) -> Iterator[LoadRow]:
    """Compare the contenders on one folder; gives a row for each kind and contender, and those of reading the file.

    Parameters
    ----------
    plan : Plan
        With contenders of `LOADERS`.
    tell : callable
        Is told what is being done.
    model : Transformer
        Sizes of the model in the folder, by default those of the smallest GPT-2: 498 MB, in a temporary folder.

    Raises
    ------
    ArgumentError
        If the disk has no room for the folder.
    """
    names = (*plan.contenders, READ)
    rows = {(kind, who): LoadRow(kind, who, plan.threads) for kind in KINDS for who in names}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        tell("load: the model's folder")
        wanted, _ = (_saved(str(Path(folder, name)), sizes) for name, sizes in (("model", model), ("tiny", TINY.model)))
        workers = {}
        for who in names:
            tell(f"load: {who} begins")
            workers[who] = stack.enter_context(_worker(plan, who))
            _begin([rows[kind, who] for kind in KINDS], workers[who], _place(folder, who), wanted)
        _take_turns(plan, rows, workers, folder, tell)
        stack.close()
        for who in plan.contenders:
            mine = rows["load-new", who]
            if mine.skipped is None:
                tell(f"load: memory of {who}")
                with _worker(plan, who) as worker:
                    answer = worker.ask("memory", folder=str(Path(folder, "model")), base=str(Path(folder, "tiny")))
                mine.peak_mb = answer.get("peak_mb")
    yield from rows.values()


def _worker(plan: Plan, who: str) -> WorkerProcess:
    module = "loading" if who in LOADERS else "reading"
    return WorkerProcess(who, plan.threads, plan.pythons.get(who), module)


def _place(folder: str, who: str) -> dict[str, str]:
    """The field of a request that says what is loaded or read."""
    place = Path(folder, "model")
    return {"folder": str(place)} if who in LOADERS else {"file": str(place / FILE)}


def _saved(folder: str, sizes: Transformer) -> int:
    """Write a model with its first values into a folder that is to be; gives the bits of its numbers."""
    config = GPTConfig(sizes.vocab, sizes.context, sizes.layers, sizes.heads, sizes.width)
    check_room(str(Path(folder).parent), 4 * config.parameters)
    model = GPT(config)
    model.save_pretrained(folder)
    return bits(parameter.numpy() for parameter in model.parameters())


def _begin(rows: Sequence[LoadRow], worker: WorkerProcess, place: dict[str, str], wanted: int) -> None:
    """Import and load once; skip who cannot, and who has other numbers than those that were written."""
    requests: list[tuple[str, dict]] = [("versions", {})] if rows[0].contender in LOADERS else []
    for do, fields in [*requests, ("bits", place)]:
        answer = worker.ask(do, **fields)
        for row in rows:
            row.skipped = row.skipped or answer.get("skipped")
            row.versions = answer.get("versions", row.versions)
    for row in rows:
        if row.skipped is None and answer["bits"] != wanted:
            row.skipped = "not comparable: its numbers are not those of the file"
        elif row.skipped is None and not KINDS[row.workload] and row.contender not in (*OWN, READ):
            row.skipped = "its memory is new each time"


def _take_turns(plan: Plan, rows: Rows, workers: Mapping[str, WorkerProcess], folder: str, tell: Callable) -> None:
    """Time all that were not skipped in alternating turns, and write times and ratios into their rows."""
    times: dict[tuple[str, str], list[float]] = {key: [] for key in rows}
    for turn, key in alternating(list(rows), plan.rounds):
        (kind, who), row = key, rows[key]
        if row.skipped is not None:
            continue
        tell(f"{kind}: round {turn + 1} of {plan.rounds}, {who}")
        time.sleep(PAUSE)
        answer = workers[who].ask("run", anew=KINDS[kind], **_place(folder, who))
        row.skipped = answer.get("skipped")
        if row.skipped is None:
            times[key].append(answer["ms"])
    for key, row in rows.items():
        if row.skipped is None:
            row.set_times(times[key])
    limit = rows["load-again", READ]
    for row in rows.values():
        if row.median_ms and limit.median_ms and row is not limit:
            row.ratio = row.median_ms / limit.median_ms
