"""Hostile run folders, made from a copy of a valid one."""

import json
import os
import shutil

from . import tensors
from .case import PRECIOUS, Case, sparse

CONFIG, VOCABULARY, LAST = "config.json", "vocab.json", "last.safetensors"
FILES = (CONFIG, VOCABULARY, "metrics.jsonl", LAST, "best.safetensors")


def of_folder(name, change):
    """A case whose folder is a copy of the valid one in which ``change(folder)`` was done."""

    def make(path, valid, source):
        shutil.copytree(valid, path)
        change(path)

    return Case(name, make)


def with_bytes(name, file, data):
    """A case one of whose files is always the same."""
    return of_folder(name, lambda folder: (folder / file).write_bytes(data))


def of_config(name, change, *without):
    """A case whose config.json is what `change` makes of it, and that lacks some files."""

    def made(folder):
        about = json.loads((folder / CONFIG).read_text())
        changed = change(about)
        (folder / CONFIG).write_text(changed if isinstance(changed, str) else json.dumps(about))
        for file in without:
            (folder / file).unlink()

    return of_folder(name, made)


def replaced(file, put):
    """What `put(path)` leaves in place of a file."""

    def change(folder):
        (folder / file).unlink()
        put(folder / file)

    return change


def link_to_precious(path):
    """A link to a file that is not the run's."""
    precious = path.parent.with_suffix(".precious")
    precious.write_text(PRECIOUS)
    path.symlink_to(precious)


def link_to_own(path):
    """A link to a valid file of the run itself, elsewhere."""
    other = path.with_name("moved")
    other.write_bytes(b"{}")
    path.symlink_to(other)


OBJECTS = {
    "folder": lambda path: path.mkdir(),
    "link": link_to_precious,
    "own-link": link_to_own,
    "dead-link": lambda path: path.symlink_to("nothing"),
    "pipe": lambda path: os.mkfifo(path),
}

TEXTS = {
    "nothing": b"",
    "cut": b'{"format": 1, ',
    "nested": b"[" * 200_000,
    "nested-in-full": b'{"config":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    "list": b"[]",
    "not-utf8": b'{"format": 1, "text_sha256": "\xff"}',
    "utf16": '{"format": 1}'.encode("utf-16"),
    "long": b" " * (2 << 20) + b"{}",
    "lists": b'{"a": [' + b"[]," * 300_000 + b"[]]}",
    "not-a-number": b'{"format": NaN}',
    "twice": b'{"format": 1, "format": 1}',
}

FIELDS = {
    "format": (None, 2, True, "1", 1.0),
    "text_sha256": (None, 1, []),
    "characters": (None, True, -1, 0, 1.0, "400", 10**30),
    "config": (None, [], {}, 1),
}

VOCABULARIES = {
    "duplicate": b'{"a": 0, "a": 1}',
    "two-of-an-id": b'{"a": 0, "b": 0}',
    "half-a-character": b'{"\\ud800": 0}',
    "bool": b'{"a": false}',
    "negative": b'{"a": -1}',
    "word": b'{"ab": 0}',
    "none": b"{}",
    "list": b'["a"]',
    "nested": b"[" * 200_000,
    "endless-number": b'{"a": ' + b"9" * 5000 + b"}",
    "not-utf8": b'{"\xff": 0}',
    "late-duplicate": b"{" + b"".join(b'"%d": 0, ' % i for i in range(50_000)) + b'"49999": 0}',
    "long": b" " * (2 << 20) + b"{}",
}


LASTS = ("sparse-tensor", "inf-in-model.ln_f.bias", "about-step-True", "first-50-percent")


def texts():
    """A text of the run that is none, which nobody may try to read."""
    yield of_config("data-is-a-device", lambda about: about["config"].update(data="/dev/zero"))
    yield of_config("data-is-a-folder", lambda about: about["config"].update(data="/"))

    def huge(folder):
        sparse(folder / "text", b"", b"")
        about = json.loads((folder / CONFIG).read_text())
        about["config"]["data"] = str(folder / "text")
        (folder / CONFIG).write_text(json.dumps(about))

    yield of_folder("data-is-a-terabyte", huge)


def sizes():
    """Sizes that are not those of the checkpoint, or of no machine."""
    for name in ("width", "layers", "context"):
        for value in (2**40, 2**62, 32):
            change = {name: value}
            yield of_config(f"{name}-{value}", lambda about, change=change: about["config"].update(change))
        lacking = {name: 2**42}
        yield of_config(f"{name}-without-checkpoint", lambda about, c=lacking: about["config"].update(c), LAST)
    yield of_config("heads-1", lambda about: about["config"].update(heads=1))


def cases():
    """All of them."""
    for file in FILES:
        for name, put in OBJECTS.items():
            yield of_folder(f"{file}-is-a-{name}", replaced(file, put))
    for name, data in TEXTS.items():
        yield with_bytes(f"config-{name}", CONFIG, data)
    for name, values in FIELDS.items():
        for value in values:
            yield of_config(f"config-{name}-{value!a}", lambda about, n=name, v=value: about.update({n: v}))
    for name, data in VOCABULARIES.items():
        yield with_bytes(f"vocabulary-{name}", VOCABULARY, data)
    yield from texts()
    yield from sizes()
    yield of_folder("no-config", lambda folder: (folder / CONFIG).unlink())
    yield Case("no-folder", lambda path, valid, source: None)
    yield Case("file-for-a-folder", lambda path, valid, source: path.write_bytes(b""))
    for case in tensors.cases():
        if case.name in LASTS:
            yield of_folder(f"last-{case.name}", lambda folder, case=case: put_last(folder, case))


def put_last(folder, case):
    """Make the last checkpoint of a folder a hostile one."""
    case.put(folder / LAST, (folder / LAST).read_bytes())
