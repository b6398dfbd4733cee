"""A process that lives for one thing: an import, or the first step. Whoever starts it looks at the clock; how long the
first call took is said, too.

Imports the worker, and NumPy with it.
"""

from __future__ import annotations

import json
import os
import sys
import time

from .worker import Worker, answer, use_cores

__all__ = ["main"]


def main() -> None:
    """Do what the last four arguments say: contender, threads, ``import`` or a workload, and its file of arrays."""
    contender, threads, what, arrays = sys.argv[-4:]
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    use_cores(int(threads))
    worker = Worker(contender, int(threads))
    found = answer(worker, {"do": "load"})
    if what != "import" and "skipped" not in found:
        found = answer(worker, {"do": "open", "workload": what, "arrays": arrays})
        if "skipped" not in found:
            began = time.perf_counter()
            found = answer(worker, {"do": "losses", "steps": 1})
            found["call_s"] = time.perf_counter() - began
    print(json.dumps(found), file=channel, flush=True)
