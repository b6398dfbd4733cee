"""The machine that figures belong to, and what it reaches at most. Imports `process`."""

from __future__ import annotations

import platform

from ..backend.host import cores
from .process import WorkerProcess

__all__ = ["measure_limits", "processor"]


def processor() -> str:
    """The processor's name."""
    try:
        with open("/proc/cpuinfo") as file:
            found = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        found = []
    return found[0] if found else platform.processor() or platform.machine()


def measure_limits(threads: int, python: str | None = None) -> dict:
    """The machine as one JSON object: ``workload`` is ``limits``.

    Returns
    -------
    dict
        ``cpu``, ``cores``, ``threads``, ``versions``; ``sgemm_gflops`` through `forgenb.ops.matmul` and ``copy_gb_s``,
        bytes read and written; or ``skipped`` with the reason.
    """
    found = {"workload": "limits", "contender": "forgenb-eager", "threads": threads, "cpu": processor()}
    with WorkerProcess("forgenb-eager", threads, python) as worker:
        return {**found, "cores": cores(), **worker.ask("versions"), **worker.ask("limits")}
