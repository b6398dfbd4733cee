"""Hostile checkpoints, made from the ``last.safetensors`` of a valid run."""

import json
import struct

import numpy as np

from forgenb.train.characters.checkpoint import KEY

from .case import Case, cut, foreign, no_files, of_bytes, sparse

WIDE = 2**40


def parts(valid):
    """The header and the data of a file."""
    (length,) = struct.unpack("<Q", valid[:8])
    return json.loads(valid[8 : 8 + length]), valid[8 + length :]


def joined(header, data):
    """A file of a header, as an object or as bytes, and data."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def of_header(name, change):
    """A case whose header is what `change` makes of a valid one, in place or returned."""

    def made(valid, source):
        header, data = parts(valid)
        changed = change(header)
        return joined(header if changed is None else changed, data)

    return of_bytes(name, made)


def of_entry(name, **changed):
    """A case that describes a tensor of the model in another way."""
    return of_header(f"entry-{name}", lambda header: header["model.ln_f.bias"].update(changed))


def of_about(name, change):
    """A case whose text is what `change` makes of the object, in place or returned."""

    def made(header):
        about = json.loads(header["__metadata__"][KEY])
        changed = change(about)
        header["__metadata__"][KEY] = changed if isinstance(changed, str) else json.dumps(about)

    return of_header(f"about-{name}", made)


def lacking(values, name):
    """Take one away, and return nothing."""
    del values[name]


LENGTHS = {"none": 0, "one": 1, "a-byte-more": None, "large": 2**31, "huge": 2**63, "all-ones": 2**64 - 1}

TEXTS = {
    "nothing": b"",
    "no-object": b"[]",
    "number": b"17",
    "nested-lists": b"[" * 200_000,
    "nested-objects": b'{"a":' * 100_000,
    "nested-in-full": b'{"a":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    "not-a-number": b'{"a": NaN}',
    "infinite": b'{"a": 1e999}',
    "endless-number": b'{"a": ' + b"9" * 10_000 + b"}",
    "twice": b'{"__metadata__": {}, "__metadata__": {}}',
    "not-utf8": b'{"\xff": 1}',
    "utf16": '{"a": 1}'.encode("utf-16"),
    "mark": b"\xef\xbb\xbf{}",
    "two-objects": b"{}{}",
    "long": b" " * (3 << 20) + b"{}",
    "no-tensors": b"{}",
}

ENTRIES = {
    "dtype-unknown": {"dtype": "F128"},
    "dtype-small": {"dtype": "U8"},
    "dtype-number": {"dtype": 32},
    "dtype-list": {"dtype": ["F32"]},
    "dtype-half": {"dtype": "F16"},
    "shape-number": {"shape": 16},
    "shape-text": {"shape": "16"},
    "shape-negative": {"shape": [-16]},
    "shape-bool": {"shape": [True, 16]},
    "shape-real": {"shape": [16.0]},
    "shape-other": {"shape": [15]},
    "shape-column": {"shape": [16, 1]},
    "shape-wide": {"shape": [WIDE]},
    "shape-huge": {"shape": [2**62, 2**62]},
    "shape-of-many-axes": {"shape": [1] * 100 + [16]},
    "bytes-reversed": {"data_offsets": [64, 0]},
    "bytes-negative": {"data_offsets": [-64, 0]},
    "bytes-bool": {"data_offsets": [False, 64]},
    "bytes-three": {"data_offsets": [0, 64, 64]},
    "bytes-none": {"data_offsets": []},
    "bytes-of-others": {"data_offsets": [0, 64]},
    "bytes-behind-the-end": {"data_offsets": [2**40, 2**40 + 64]},
    "more": {"more": 1},
}

HEADERS = {
    "entry-is-a-list": lambda header: header.update({"model.ln_f.bias": []}),
    "entry-lacks-its-shape": lambda header: lacking(header["model.ln_f.bias"], "shape"),
    "metadata-is-a-list": lambda header: header.update(__metadata__=[]),
    "metadata-of-numbers": lambda header: header.update(__metadata__={KEY: 1}),
    "no-metadata": lambda header: lacking(header, "__metadata__"),
    "other-metadata": lambda header: header.update(__metadata__={"format": "pt"}),
    "a-gap": lambda header: lacking(header, "optimizer.step"),
    "unknown-part": lambda header: header.update(extra=header.pop("model.ln_f.bias")),
    "unknown-parameter": lambda header: header.update({"model.x": header.pop("model.ln_f.bias")}),
    "unknown-moment": lambda header: header.update({"optimizer.w/x": header.pop("optimizer.m/ln_f.bias")}),
    "path-as-a-name": lambda header: header.update({"model./etc/x": header.pop("model.ln_f.bias")}),
    "no-model": lambda header: {name.replace("model.", "optimizer."): about for name, about in header.items()},
    "swapped-shapes": lambda header: header["model.wpe.weight"].update(shape=[16, 8]),
}

ABOUT = {
    "nested": lambda about: "[" * 200_000,
    "list": lambda about: "[]",
    "not-a-number": lambda about: json.dumps(about | {"best_val": float("nan")}),
    "infinite": lambda about: json.dumps(about).replace('"step": 4', '"step": Infinity'),
    "endless-number": lambda about: json.dumps(about).replace('"step": 4', '"step": ' + "9" * 5000),
    "a-number-of-401-digits": lambda about: json.dumps(about).replace('"lr": 0.001', '"lr": 1' + "0" * 400),
    "twice": lambda about: json.dumps(about)[:-1] + ', "step": 4}',
    "a-choice-twice": lambda about: json.dumps(about).replace('"lr":', '"lr": 0.5, "lr":'),
    "more": lambda about: about.update(note=1),
    **{
        f"lacks-{name}": lambda about, name=name: lacking(about, name)
        for name in ("config", "characters", "text_sha256", "step", "best_val", "seconds")
    },
}

FIELDS = {
    "format": (None, True, 2, 1.0, "1"),
    "step": (-1, True, 4.0, "4", None, 2**63),
    "best_val": (True, "2", [2.0]),
    "seconds": (-1.0, True, "1", None),
    "text_sha256": (5, None),
    "characters": ("", "aa", "ab\ud800", 5, ["a", "b"], "ab"),
    "config": (None, [], "x", {}),
}

CHOICES = {
    "width": (2**40, 0, -16, True, 16.0, "16", 32, 2**63, 2**62),
    "layers": (2**40, 2, 0, None, 2**62),
    "context": (2**40, 9, -1),
    "heads": (3, 0, False),
    "lr": (-1, 0, "x", True),
    "betas": (3, [0.9], [0.9, "x"], [0.9, 1.0], [True, 0.9]),
    "dropout": (1.0, -0.5, None),
    "steps": (True, 0, 1.5),
    "seed": (-1, 2**63),
    "data": (5, "", []),
    "backend": (None, "", 1),
    "unknown": (1,),
}


def damaged_values():
    """Numbers that are none or make no sense, at a random place of a tensor."""
    places = ("model.wte.weight", "model.ln_f.bias", "optimizer.m/wpe.weight", "optimizer.v/ln_f.weight")
    for name in places:
        for value in (np.nan, np.inf, -np.inf):
            yield of_values(f"{value}-in-{name.replace('/', '-')}", name, "<f4", value)
    for value in (-1, -(2**63)):
        yield of_values(f"step-{value}", "optimizer.step", "<i8", value)
    for value in (0, -1, 5, 2**62):
        yield of_values(f"count-{value}", "optimizer.count/ln_f.bias", "<i8", value)


def of_values(case, name, form, value):
    """A case with another number at a random place of one tensor."""

    def change(valid, source):
        header, data = parts(valid)
        begin, end = header[name]["data_offsets"]
        array = np.frombuffer(data[begin:end], form).copy()
        array[source.randrange(array.size)] = value
        return joined(header, data[:begin] + array.tobytes() + data[end:])

    return of_bytes(case, change)


def sparse_tensor(path, valid, source):
    """A file that has a terabyte for one tensor, which is what its header says."""
    header, data = parts(valid)
    end = len(data) + 2**40
    header["model.more"] = {"dtype": "F32", "shape": [2**38], "data_offsets": [len(data), end]}
    start = joined(header, data)
    sparse(path, start, b"", len(start) + 2**40)


def cases():
    """All of them."""
    for group in (no_files, foreign, cut, damaged_values):
        yield from group()
    for name, length in LENGTHS.items():
        yield of_bytes(f"length-{name}", lambda valid, source, n=length: with_length(valid, n))
    for name, text in TEXTS.items():
        yield of_bytes(f"header-{name}", lambda valid, source, text=text: joined(text, parts(valid)[1]))
    for name, changed in ENTRIES.items():
        yield of_entry(name, **changed)
    for name, change in HEADERS.items():
        yield of_header(name, change)
    for name, change in ABOUT.items():
        yield of_about(name, change)
    for name, values in FIELDS.items():
        for value in values:
            yield of_about(f"{name}-{value!a}", lambda about, n=name, v=value: about.update({n: v}))
    for name, values in CHOICES.items():
        for value in values:
            yield of_about(f"choice-{name}-{value!a}", lambda about, n=name, v=value: about["config"].update({n: v}))
    yield of_bytes("a-byte-more", lambda valid, source: valid + b"\0")
    yield Case("sparse-tensor", sparse_tensor)


def with_length(valid, length):
    """A file that says another length of its header; by default one that is longer than the file."""
    return struct.pack("<Q", len(valid) - 7 if length is None else length) + valid[8:]
