"""Judge a file in processes of their own, each with limits, and ended with all that it has started.

Imports the standard library; what happens inside is `examiner`. A file that fails is a verdict and never an error here.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import queue
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ..backend.host import cores
from ..errors import ArgumentError
from .check import Verdict

STARTING = 120.0
"""Seconds until the judges must be loaded, which is not the submission's time."""
THREADS = 2
POLL = 0.05
GRACE = 5.0
MOST = 1 << 20
"""Bytes that a process may say."""
START = "from forgenb.course.examiner import main; main()"


@dataclass(frozen=True)
class Limits:
    """What a submission may take.

    Attributes
    ----------
    seconds : float
        For its file to run, and again for each of its exercises.
    memory : float
        GiB of address space, where the system can bound it; what is loaded and compiled takes about half of one.
    """

    seconds: float = 120.0
    memory: float = 4.0

    def __post_init__(self) -> None:
        for name, value, unit in (("seconds", self.seconds, "s"), ("memory", self.memory, "GiB")):
            if not (isinstance(value, (int, float)) and math.isfinite(value) and 0 < value <= 1e6):
                raise ArgumentError(f"{name} must be above 0 and at most a million {unit}, got {value!r}")


def examine(files: Mapping[str, bytes], name: str, numbers: Sequence[str], limits: Limits) -> tuple[Verdict, ...]:
    """Run a file and judge its functions.

    Parameters
    ----------
    files
        Name -> content of what the file finds in its working folder, itself included; they are copied.
    name
        Of the file.
    numbers
        The exercises.
    limits
        Of one process. An exercise that ends a process costs only itself: those behind it get another.

    Returns
    -------
    tuple of Verdict
        One an exercise, in order.
    """
    verdicts: list[Verdict] = []
    while len(verdicts) < len(numbers):
        left = numbers[len(verdicts) :]
        with _started(files, name, left, limits) as process:
            found, ran, status, reason = process.listen()
        verdicts += found
        left = left[len(found) :]
        lost = left[:1] if ran else left
        verdicts += [Verdict(number, status, reason) for number in lost]
    return tuple(verdicts)


@contextlib.contextmanager
def _started(files: Mapping[str, bytes], name: str, numbers: Sequence[str], limits: Limits) -> Iterator[_Process]:
    with tempfile.TemporaryDirectory(prefix="forgenb-", ignore_cleanup_errors=True) as folder:
        for each, content in files.items():
            Path(folder, each).write_bytes(content)
        process = _Process(os.path.realpath(folder), name, numbers, limits)
        try:
            yield process
        finally:
            process.end()


class _Process:
    """One process, from its start to its end."""

    def __init__(self, folder: str, name: str, numbers: Sequence[str], limits: Limits):
        self._limits, self._numbers = limits, list(numbers)
        self._key = secrets.token_hex(16)
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=_environment(),
            start_new_session=True,
        )
        assert self._process.stdout is not None
        self._listener = threading.Thread(target=_listen, args=(self._process.stdout, self._lines), daemon=True)
        self._listener.start()
        request = {"key": self._key, "file": os.path.join(folder, name), "numbers": self._numbers}
        self._ask(request | {"memory": int(limits.memory * (1 << 30)), "parent": os.getpid()})

    def _ask(self, request: dict[str, object]) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError), self._process.stdin as stream:
            stream.write(json.dumps(request).encode())

    def listen(self) -> tuple[list[Verdict], bool, str, str]:
        """Verdicts, whether the file ran to its end, and status and explanation of what ended the process early."""
        found: list[Verdict] = []
        ran, deadline = False, time.monotonic() + STARTING
        while len(found) < len(self._numbers):
            line = self._next(deadline)
            if line is None:
                what = "it" if ran else "the file itself"
                return found, ran, "timeout", f"{what} takes more than {self._limits.seconds:g} s."
            if not line:
                return found, ran, "error", self._ending()
            words = self._understood(line)
            if words is None:
                return found, ran, "error", "something else than a verdict was written where verdicts are told."
            if "number" in words:
                found.append(Verdict(words["number"], words["status"], words["explanation"], words["printed"]))
            ran = ran or words.get("state") == "ran"
            deadline = time.monotonic() + self._limits.seconds
        return found, ran, "", ""

    def _next(self, deadline: float) -> bytes | None:
        """The next line; an empty one where there is none to come, None where it takes too long."""
        while True:
            try:
                return self._lines.get(timeout=POLL)
            except queue.Empty:
                pass
            if time.monotonic() > deadline:
                return None
            if self._over():  # a child of it may hold the stream open
                self._kill()
                deadline = time.monotonic() + GRACE

    def _understood(self, line: bytes) -> dict[str, str] | None:
        try:
            words = json.loads(line)
            good = words.pop("key") == self._key
        except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
            return None
        return words if good else None

    def _over(self) -> bool:
        """Whether it has ended; it is not yet buried, so that its number stays that of its group."""
        if hasattr(os, "waitid"):
            return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        return self._process.poll() is not None

    def _ending(self) -> str:
        """Why there is nothing more to hear."""
        deadline = time.monotonic() + GRACE
        while not self._over():
            if time.monotonic() > deadline:
                return "its process stopped talking."
            time.sleep(POLL)
        code = self._bury()
        if code < 0:
            return f"its process was ended by signal {-code}, {signal.strsignal(-code)}."
        return f"its process ended by itself, with code {code}."

    def _kill(self) -> None:
        """Kill it, and all processes that it has started and not set apart."""
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()

    def _bury(self) -> int:
        if self._process.returncode is None:
            self._kill()
        return self._process.wait()

    def end(self) -> None:
        """End it with all that it has started."""
        self._bury()
        self._listener.join(GRACE)
        if not self._listener.is_alive():
            assert self._process.stdout is not None
            self._process.stdout.close()


def _listen(stream: IO[bytes], lines: queue.SimpleQueue[bytes]) -> None:
    """Put the lines of a stream into a queue, and an empty one at the end or where they are too many."""
    left = MOST
    while left > 0 and (line := stream.readline(left)):
        left -= len(line)
        lines.put(line)
    lines.put(b"")


def _environment() -> dict[str, str]:
    """What decides no grade: the same modules, the default backend, no window for pictures, equal hashes, few threads.

    Each thread takes address space, and a machine may have many.
    """
    from ..bench.process import environment

    found = environment(min(THREADS, cores()))
    found.pop("FORGENB_BACKEND", None)
    path = os.pathsep.join(os.path.abspath(folder) for folder in sys.path)
    return found | {"PYTHONPATH": path, "PYTHONHASHSEED": "0", "MPLBACKEND": "Agg"}
