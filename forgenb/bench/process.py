"""Worker processes, seen from the one that compares: start, ask, stop.

Imports the standard library; what a worker does is `contenders.worker`.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["WorkerProcess", "environment", "script"]

PATIENCE = 1200.0
"""Seconds after which a process that does not answer is given up; compiling may take minutes."""
GRACE = 10.0
"""Seconds that a process has to end by itself; what a launcher has started ends with it then."""

FOLDER = str(Path(__file__).parent)


def script(module: str) -> list[str]:
    """Arguments of an interpreter that run the `main` of a module of `contenders`, where forgenb may be missing."""
    code = f"import sys; sys.path.append({FOLDER!r}); from contenders.{module} import main; main()"
    return ["-c", code]


def environment(threads: int) -> dict[str, str]:
    """The environment with every library's number of threads set."""
    names = [f"{name}_NUM_THREADS" for name in ("OMP", "MKL", "OPENBLAS", "NUMBA", "NUMEXPR", "VECLIB")]
    return {**os.environ, **dict.fromkeys([*names, "FORGENB_THREADS"], str(threads))}


class WorkerProcess:
    """One contender in a process of its own.

    Parameters
    ----------
    contender : str
        Its name.
    threads : int
        It may use.
    python : str, optional
        The interpreter of the environment that has it.
    module : str
        Of `contenders`, whose `main` answers.
    launcher : sequence of str
        What starts the interpreter, perhaps several times, of which the first listens: ``mpiexec -n 2``.
    """

    def __init__(
        self,
        contender: str,
        threads: int,
        python: str | None = None,
        module: str = "worker",
        launcher: Sequence[str] = (),
    ):
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed in `close`
        self._lines: queue.Queue[str] = queue.Queue()
        self._process: subprocess.Popen | None = None
        try:
            self._process = subprocess.Popen(
                [*launcher, python or sys.executable, *script(module), contender, str(threads)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=environment(threads),
                text=True,
            )
        except OSError as error:
            self._failure = f"its interpreter cannot be started: {error}"
        else:
            threading.Thread(target=self._listen, daemon=True).start()

    def ask(self, do: str, **fields: Any) -> dict:
        """Send a request and wait for its answer; ``skipped`` in it says why there is no other.

        A process that has died or does not answer gives such an answer, too.
        """
        if self._process is None:
            return {"skipped": self._failure}
        try:
            print(json.dumps({"do": do, **fields}), file=self._process.stdin, flush=True)
            line = self._lines.get(timeout=PATIENCE)
        except queue.Empty:
            self._process.kill()
            return {"skipped": f"no answer to {do} within {PATIENCE:.0f} s"}
        except OSError:
            line = ""
        return json.loads(line) if line else {"skipped": self._last_words(do)}

    def close(self) -> None:
        """End the process: it has no more requests, and some seconds to notice."""
        if self._process is not None:
            _close(self._process.stdin)
            try:
                self._process.wait(GRACE)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            _close(self._process.stdout)
        self._errors.close()

    def __enter__(self) -> WorkerProcess:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _listen(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        try:
            for line in self._process.stdout:
                self._lines.put(line)
        except ValueError:  # closed while we wait
            pass
        self._lines.put("")

    def _last_words(self, do: str) -> str:
        assert self._process is not None
        code = self._process.wait()
        self._errors.seek(0)
        words = [line.strip() for line in self._errors if line.strip()]
        return f"its process ended in {do} with code {code}" + (f": {words[-1][:300]}" if words else "")


def _close(stream: Any) -> None:
    with contextlib.suppress(OSError):  # the process may not have read everything
        stream.close()
