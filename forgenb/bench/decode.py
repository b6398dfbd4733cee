"""Decoding one sequence with a cache: every contender finds the same ids first, then they take turns with the limit.

The limit is reading as many bytes as a step's weights have. Imports `process`, `data`, `measure` and the specs.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from .contenders.specs import DECODERS, DECODINGS, OWN, READ, TINY, Decoding
from .data import arrays
from .measure import PAUSE, Plan, Row, agree, alternating, check_room
from .process import WorkerProcess

__all__ = ["DecodeRow", "compare_decode"]

MEMORY_IDS = 4
"""Steps that show how much memory a model takes: the cache has all its places from the start."""


@dataclass
class DecodeRow(Row):
    """What one contender reached on one shape: its times are those of an id.

    `prefill_ms` is an id of a longer prompt. `ratio` is over `torch-eager`. `limit` is the part of the rate of reading
    that a step's weights are read at. `launches` are the kernels and products of a step. The row ``read`` has the
    limit itself.
    """

    prefill_ms: float | None = None
    ratio: float | None = None
    limit: float | None = None
    launches: int | None = None

    def as_json(self) -> dict:
        """The fields that a script reads."""
        names = ["median_ms", "min_ms", "max_ms", "prefill_ms", "ratio", "limit", "launches", "peak_mb"]
        return super().as_json() if self.skipped else self._fields(names)


def compare_decode(
    plan: Plan,
    name: str,
    tell: Callable[[str], None] = lambda text: None,
    shapes: Mapping[str, Decoding] = DECODINGS,
) -> Iterator[DecodeRow]:
    """Compare the contenders on one shape; gives a row for each, and that of the limit.

    Parameters
    ----------
    plan : Plan
        With contenders of `DECODERS`.
    name : str
        One of `shapes`.
    tell : callable
        Is told what is being done.
    shapes : mapping
        What is decoded.

    Raises
    ------
    ArgumentError
        If the disk has no room for the file of the weights.
    """
    shape = shapes[name]
    rows = {who: DecodeRow(f"decode-{name}", who, plan.threads) for who in (*plan.contenders, READ)}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        tell(f"{name}: weights")
        opened, workers = _saved(folder, "weights", shape), {}
        found: dict[str, dict] = {}
        for who in plan.contenders:
            tell(f"{name}: {who} begins")
            workers[who] = stack.enter_context(_worker(plan, who))
            found[who] = _begin(rows[who], workers[who], opened)
        _check_ids(rows, {who: answer for who, answer in found.items() if answer})
        workers[READ] = stack.enter_context(WorkerProcess(READ, plan.threads, module="reading"))
        _take_turns(plan, shape, rows, workers, tell)
        stack.close()
        for who in plan.contenders:
            if rows[who].skipped is None:
                tell(f"{name}: memory of {who}")
                tiny, few = _saved(folder, "tiny", TINY), asdict(replace(shape, ids=min(shape.ids, MEMORY_IDS)))
                with _worker(plan, who) as worker:
                    fields = {**opened, "spec": few, "base": tiny["spec"], "base_arrays": tiny["arrays"]}
                    answer = worker.ask("memory", **fields)
                rows[who].peak_mb = answer.get("peak_mb")
    yield from rows.values()


def _worker(plan: Plan, who: str) -> WorkerProcess:
    return WorkerProcess(who, plan.threads, plan.pythons.get(who), "decoding")


def _saved(folder: str, name: str, shape: Decoding) -> dict[str, Any]:
    """Fields of a request: a shape, and the file of its arrays."""
    check_room(folder, shape.nbytes + 4 * shape.model.context * shape.model.width)
    file = str(Path(folder, f"{name}.npz"))
    np.savez(file, **arrays(name, shape.model))  # type: ignore[arg-type]
    return {"spec": asdict(shape), "arrays": file}


def _begin(row: DecodeRow, worker: WorkerProcess, opened: dict[str, Any]) -> dict:
    """Import, build and decode once; nothing where one of these is not possible."""
    requests: list[tuple[str, dict]] = [("versions", {}), ("open", opened), ("greedy", {})]
    for do, fields in requests:
        answer = worker.ask(do, **fields)
        row.skipped = answer.get("skipped")
        if row.skipped is not None:
            return {}
        row.versions = answer.get("versions", row.versions)
    return answer


def _check_ids(rows: Mapping[str, Row], found: Mapping[str, dict]) -> None:
    """Skip the contenders whose ids or logits are not those of forgenb, or without it of the first."""
    reference = next((who for who in found if who in OWN), next(iter(found), ""))
    for who, answer in found.items():
        mine, theirs = answer["ids"], found[reference]["ids"]
        if mine != theirs:
            place = next(i for i, (a, b) in enumerate(zip_longest(mine, theirs)) if a != b)
            a, b = (ids[place] if place < len(ids) else "none" for ids in (mine, theirs))
            rows[who].skipped = f"not comparable: id {place + 1} after the prompt is {a}, that of {reference} {b}"
        elif not agree(answer["logits"], found[reference]["logits"]):
            rows[who].skipped = f"not comparable: it has the ids of {reference}, and other logits"


def _take_turns(
    plan: Plan, shape: Decoding, rows: Mapping[str, DecodeRow], workers: Mapping[str, WorkerProcess], tell: Callable
) -> None:
    """Time all that were not skipped in alternating turns, and write what follows from that into their rows."""
    times: dict[str, list[float]] = {who: [] for who in workers}
    prefills: dict[str, list[float]] = {who: [] for who in workers}
    for turn, who in alternating(list(workers), plan.rounds):
        row = rows[who]
        if row.skipped is not None:
            continue
        tell(f"{row.workload}: round {turn + 1} of {plan.rounds}, {who}")
        time.sleep(PAUSE)
        answer = workers[who].ask("run") if who in DECODERS else workers[who].ask("weights", nbytes=shape.nbytes)
        row.skipped = answer.get("skipped")
        if row.skipped is None:
            times[who].append(answer["ms"])
            prefills[who] += [answer["prefill_ms"]] if "prefill_ms" in answer else []
    for who, row in rows.items():
        if row.skipped is None:
            row.set_times(times[who])
            row.prefill_ms = statistics.median(prefills[who]) if prefills[who] else None
            row.launches = workers[who].ask("launches").get("launches") if who in DECODERS else None
    _relate(rows)


def _relate(rows: Mapping[str, DecodeRow]) -> None:
    """Ratios to PyTorch, and parts of the limit."""
    peer, limit = (rows[who].median_ms if who in rows else None for who in ("torch-eager", READ))
    for who, row in rows.items():
        if row.median_ms and who != READ:
            row.ratio = row.median_ms / peer if peer else None
            row.limit = limit / row.median_ms if limit else None
