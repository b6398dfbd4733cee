"""What one waits for at the start: an import, the first gradient with an empty and a full cache, a whole command.

Each is a process of its own, timed from outside, from its start to its end; the first call of a larger step is timed
from inside. Imports `process`, `data` and `measure`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from .contenders.specs import CONTENDERS, OWN
from .measure import Plan, Row, alternating, check_losses, save
from .process import PATIENCE, environment, script

__all__ = ["compare_cold"]

FIRST = "moons"
"""The workload whose first step is taken."""
LARGE = "nanocpu"
"""The workload whose first call is taken by itself."""
KINDS = ("cold-import", "cold-empty", "cold-full", "cold-call-empty", "cold-call-full", "cold-command")
CACHES = ("FORGENB_CACHE", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "JAX_COMPILATION_CACHE_DIR", "XDG_CACHE_HOME")


def compare_cold(plan: Plan, tell: Callable[[str], None] = lambda text: None) -> Iterator[Row]:
    """Compare the contenders on all kinds; gives a row for each kind and contender.

    ``cold-import`` imports the library; ``cold-empty`` and ``cold-full`` import it and take the first step of `moons`,
    without compiled kernels and with those that another process has left; ``cold-call-empty`` and ``cold-call-full``
    are the first call of `nanocpu` alone, where what it imports is there already; ``cold-command`` is ``forgenb train
    --steps 1``, with the user's own cache after a first run.
    """
    rows = {(kind, name): Row(kind, name, plan.threads) for kind in KINDS for name in plan.contenders}
    turns: dict[tuple[str, str], list[float]] = {key: [] for key in rows}
    with tempfile.TemporaryDirectory() as folder:
        files = {workload: save(folder, workload) for workload in (FIRST, LARGE)}
        for turn, name in alternating(list(plan.contenders), plan.rounds):
            tell(f"cold: round {turn + 1} of {plan.rounds}, {name}")
            for kind, seconds in _turn(plan, name, rows, files, folder, turn):
                turns[kind, name].append(seconds * 1e3)
    for kind in KINDS:
        mine = {name: rows[kind, name] for name in plan.contenders}
        check_losses(mine, {n: [row.loss_first] for n, row in mine.items() if row.loss_first is not None})
    for key, row in rows.items():
        if row.skipped is None:
            row.set_times(turns[key])
        yield row


def _turn(
    plan: Plan, name: str, rows: Mapping[tuple[str, str], Row], files: Mapping, folder: str, turn: int
) -> Iterator[tuple[str, float]]:
    """One contender once: kinds and seconds of what it takes part in."""
    python = plan.pythons.get(name, sys.executable)
    for kind in KINDS:
        row = rows[kind, name]
        row.skipped = row.skipped or _not_for(kind, name)
        if row.skipped is not None:
            continue
        if kind == "cold-command":
            command = [python, "-m", "forgenb", "train", "--steps", "1", "--json"]
            command += ["--eager"] if name == "forgenb-eager" else []
            if turn == 0:
                _timed([*command, "--out", str(Path(folder, f"fill-{name}"))], plan.threads, {})
            seconds, found = _timed([*command, "--out", str(Path(folder, f"run-{name}-{turn}"))], plan.threads, {})
        else:
            workload = LARGE if kind.startswith("cold-call") else FIRST
            what = "import" if kind == "cold-import" else workload
            command = [python, *script("cold"), name, str(plan.threads), what, files[workload]]
            cache = {variable: str(Path(folder, f"{name}-{workload}-{turn}")) for variable in CACHES}
            seconds, found = _timed(command, plan.threads, cache)
            seconds = found.get("call_s", seconds) if workload == LARGE else seconds
            if found.get("losses"):
                row.loss_first = row.loss_last = found["losses"][0]
        row.skipped = found.get("skipped")
        if row.skipped is None:
            yield kind, seconds


def _not_for(kind: str, name: str) -> str | None:
    if kind == "cold-command" and name not in OWN:
        return "the command is forgenb's own"
    first = next(other for other, module in CONTENDERS.items() if module == CONTENDERS[name])
    return f"imports what {first} does" if kind == "cold-import" and first != name else None


def _timed(command: list[str], threads: int, variables: Mapping[str, str]) -> tuple[float, dict]:
    """Seconds of a process, and the last line that it printed, or why there is none."""
    began = time.perf_counter()
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **environment(threads), **variables},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return 0.0, {"skipped": f"its process failed: {error}"}
    seconds = time.perf_counter() - began
    lines = done.stdout.split("\n")
    words = done.stderr.strip().split("\n")[-1][:300]
    if done.returncode != 0 or len(lines) < 2:
        return seconds, {"skipped": f"its process ended with code {done.returncode}: {words}"}
    return seconds, json.loads(lines[-2])
