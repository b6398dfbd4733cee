"""The process that runs one submission: its file first, then the judges on its functions.

`processes` starts it, and reads one JSON object a line of what was its standard output. The file prints to nowhere, and
what its functions print while they are judged is told with the verdict. The submission sees a copy of the course whose
`check` waits, and cannot reach the judges by importing them. It is no sandbox: code that searches this process finds
all that is in it.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import random
import re
import shutil
import signal
import sys
import threading
import time
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import ArgumentError
from . import watch
from .check import LONGEST, Verdict, check, kind, told, unwritten
from .exercise import EXERCISES, Exercise

ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}")


def main() -> None:
    """Answer the request on the standard input, and end without what the submission left to be done at the end."""
    channel = os.dup(1)
    request = json.loads(sys.stdin.buffer.read())
    folder = os.path.dirname(request["file"])
    _silence()
    say = _speaker(channel, request["key"])
    _set_apart()
    before = watch.snapshot()
    random.seed(0)
    np.random.seed(0)
    _follow(request["parent"], folder)
    _limit(request["memory"])
    say(state="ready")
    names, ended = _run(request["file"])
    replaced = watch.put_back(before)
    say(state="ran")
    for number in request["numbers"]:
        heard = _Heard()
        with contextlib.redirect_stdout(_stream(heard)):
            verdict = _judged(EXERCISES[number], names, ended, request["file"])
        found = replaced + watch.put_back(before)
        if found:
            text = f"the submission replaces {', '.join(found[:5])}, which judges rely on: it is not judged."
            verdict = Verdict(number, "error", text)
        text = verdict.explanation
        if ended is not None and number == request["numbers"][-1] and EXERCISES[number].function in names:
            text = f"{text} The file itself {_end(ended, request['file'])}."
        say(
            number=number,
            status=verdict.status,
            explanation=_settled(text, folder),
            printed=_settled(heard.text, folder),
        )
    say(state="end")
    os._exit(0)


class _Heard(io.RawIOBase):
    """Keeps the beginning of what is written."""

    name = "<stdout>"
    mode = "wb"

    def __init__(self) -> None:
        self._begin = bytearray()

    @property
    def text(self) -> str:
        return self._begin.decode("utf-8", "replace")

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        data = bytes(data)
        self._begin += data[: 4 * (LONGEST + 1) - len(self._begin)]
        return len(data)

    def fileno(self) -> int:
        return 1


def _stream(heard: _Heard) -> io.TextIOWrapper:
    """A standard output that has all that one has."""
    return io.TextIOWrapper(heard, "utf-8", "backslashreplace", write_through=True)


def _silence() -> None:
    """Nothing to read, and nobody who listens; the streams themselves stay open."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    sys.breakpointhook = _nobody


def _nobody(*args: object, **keywords: object) -> None:
    raise RuntimeError("nobody can answer a breakpoint while a file is judged: run the file itself, with python")


def _speaker(channel: int, key: str) -> Callable[..., None]:
    own = os.getpid()

    def say(**words: str) -> None:
        if os.getpid() != own:  # the submission forked, and this is the copy
            os._exit(1)
        data = json.dumps({"key": key, **words}).encode() + b"\n"
        while data:
            data = data[os.write(channel, data) :]

    return say


def _set_apart() -> None:
    """Take this course out of sight; the submission gets another one, whose verdicts are for later."""
    for name in [name for name in sys.modules if name.startswith("forgenb.course")]:
        del sys.modules[name]
    importlib.import_module("forgenb.course")
    for name in ("forgenb.course", "forgenb.course.check"):
        sys.modules[name].check = _later  # type: ignore[attr-defined]


def _later(number: str, answer: object) -> Verdict:
    return Verdict(number, "not written", "it is judged when the file has run.")


def _follow(parent: int, folder: str) -> None:
    """Once the process that judges is gone, remove the folder and end all that runs there; else nobody would."""
    if os.name != "posix":
        return
    own, ask, wait, remove, end = os.getpid(), os.getppid, time.sleep, shutil.rmtree, os.killpg

    def watch_parent() -> None:
        while ask() == parent:
            wait(1.0)
        remove(folder, ignore_errors=True)
        end(own, signal.SIGKILL)

    threading.Thread(target=watch_parent, daemon=True).start()


def _limit(memory: int) -> None:
    """Bound the address space by `memory` bytes and each file too, where the system can do that."""
    try:
        import resource
    except ImportError:
        return
    for name, size in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_FSIZE, memory), (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(name)[1]
        size = size if hard == resource.RLIM_INFINITY else min(size, hard)
        resource.setrlimit(name, (size, size))


def _run(file: str) -> tuple[dict[str, Any], BaseException | None]:
    """The names of a file that was run as a program, and what ended it early."""
    module = types.ModuleType("__main__")
    module.__file__ = file
    sys.modules["__main__"] = module
    sys.argv[:] = [file]
    sys.path.insert(0, os.getcwd())
    try:
        with open(file, "rb") as source:
            exec(compile(source.read(), file, "exec"), module.__dict__)
    except BaseException as error:
        return module.__dict__, error
    return module.__dict__, None


def _judged(asked: Exercise, names: dict[str, Any], ended: BaseException | None, file: str) -> Verdict:
    if asked.function not in names:
        if ended is None:
            return unwritten(asked)
        own = isinstance(ended, SyntaxError) and ended.filename == file
        text = f"the file {_end(ended, file)}{'' if own else ', before this function is made'}."
        return Verdict(asked.number, kind(ended), text)
    try:
        return check(asked.number, names[asked.function])
    except ArgumentError as error:
        return Verdict(asked.number, "error", str(error))
    except BaseException as error:  # such as sys.exit() in an answer
        return Verdict(asked.number, "error", f"{asked.function} raises {told(error, file)}")


def _end(ended: BaseException, file: str) -> str:
    """What ended a file early, as the verb of a sentence."""
    if isinstance(ended, SyntaxError) and ended.filename == file:
        return f"has an error in line {ended.lineno}: {ended.msg}"
    return f"ends with {told(ended, file)}"


def _settled(text: str, folder: str) -> str:
    """An explanation without what differs from run to run, of a length that can be read."""
    text = ADDRESS.sub("0x...", text.replace(os.path.join(folder, ""), ""))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
