"""What a hostile file is: a name, and how it is made from a valid one; and mutations that every kind of file has."""

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

SPARSE = 1 << 40
PRECIOUS = "what is not the run's own\n"


class Case(NamedTuple):
    """`make(path, valid, source)` puts the file at `path`; `source` is a seeded generator of random numbers."""

    name: str
    make: Callable[[Path, bytes, Random], None]

    def put(self, path, valid):
        """Make the file: the same bytes every time."""
        self.make(path, valid, Random(self.name))


def of_bytes(name, change):
    """A case whose file is ``change(valid, source)``."""
    return Case(name, lambda path, valid, source: path.write_bytes(change(valid, source)))


def plain(name, data):
    """A case whose file is always the same."""
    return of_bytes(name, lambda valid, source: data)


def no_files():
    """What stands in place of a file and is none."""
    yield Case("folder", lambda path, valid, source: path.mkdir())
    yield Case("missing", lambda path, valid, source: None)
    yield Case("pipe", lambda path, valid, source: os.mkfifo(path))
    yield Case("link-to-nothing", lambda path, valid, source: path.symlink_to(path.with_name("nothing")))
    yield Case("link-to-itself", lambda path, valid, source: path.symlink_to(path))
    yield Case("link-to-a-device", lambda path, valid, source: path.symlink_to("/dev/zero"))


def foreign():
    """Files of another kind."""
    yield plain("empty", b"")
    yield plain("text", b"once upon a time there was no header at all\n" * 9)
    yield plain("zeros", bytes(4096))
    yield plain("pickle", pickle.dumps({"w": [1.0, 2.0]}))
    yield plain("picture", b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    yield of_bytes("noise", lambda valid, source: source.randbytes(5000))
    yield of_bytes("backwards", lambda valid, source: valid[::-1])
    yield Case("sparse", lambda path, valid, source: sparse(path, b"", b""))


def cut():
    """The start of a valid file."""
    for count in (1, 7, 8, 30, 100):
        yield of_bytes(f"first-{count}-bytes", lambda valid, source, count=count: valid[:count])
    for percent in (25, 50, 75):
        yield of_bytes(f"first-{percent}-percent", lambda valid, source, p=percent: valid[: len(valid) * p // 100])
    for count in (1, 22, 40):
        yield of_bytes(f"without-the-last-{count}", lambda valid, source, count=count: valid[:-count])


def sparse(path, start, end, size=SPARSE):
    """A file of `size` bytes that takes no room: `start`, a hole and `end`."""
    with open(path, "wb") as file:
        file.write(start)
        file.truncate(size)
        file.seek(size - len(end))
        file.write(end)
