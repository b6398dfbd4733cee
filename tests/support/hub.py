"""Folders as the Hugging Face hub has them: the golden one, and others made from it."""

import json
import shutil
import struct
from pathlib import Path

import numpy as np
import safetensors.numpy

GOLDEN = Path(__file__).parents[1] / "golden" / "gpt2"
WHOLE, INDEX = "model.safetensors", "model.safetensors.index.json"
SHARDS = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
STORED = {"float64": "F64", "float32": "F32", "float16": "F16", "int64": "I64", "bool": "BOOL", "uint8": "U8"}


def golden():
    """The tensors of the golden file, without the prefix."""
    stored = safetensors.numpy.load_file(GOLDEN / WHOLE)
    return {name.removeprefix("transformer."): array for name, array in stored.items()}


def expected():
    """What another library computes with it."""
    return np.load(GOLDEN / "expected.npz")


def halved(array):
    """float32 rounded to bfloat16: to the nearest, ties to even; the upper 16 bits as uint16."""
    bits = np.ascontiguousarray(array, "float32").view("uint32")
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("uint16")


def encoded(tensors):
    """A safetensors file; an array of uint16 is bfloat16."""
    header, data = {"__metadata__": {"format": "pt"}}, []
    end = 0
    for name, array in tensors.items():
        label = "BF16" if array.dtype == np.uint16 else STORED[array.dtype.name]
        header[name] = {"dtype": label, "shape": array.shape, "data_offsets": [end, end + array.nbytes]}
        data.append(array.tobytes())
        end += array.nbytes
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + b"".join(data)


def write(folder, tensors=None, **changed):
    """A folder with the golden config but for what is `changed`, and a file of `tensors`."""
    folder.mkdir(exist_ok=True)
    about = json.loads((GOLDEN / "config.json").read_text()) | changed
    (folder / "config.json").write_text(json.dumps(about))
    if tensors is None:
        shutil.copyfile(GOLDEN / WHOLE, folder / WHOLE)
    else:
        (folder / WHOLE).write_bytes(encoded(tensors))
    return folder


def write_shards(folder, tensors, places=None, index=None):
    """A folder with its tensors in two shards, the first half in the first; `places` and `index` change the index."""
    write(folder, {})
    (folder / WHOLE).unlink()
    names = list(tensors)
    parts = names[: len(names) // 2], names[len(names) // 2 :]
    found = {name: shard for shard, part in zip(SHARDS, parts, strict=True) for name in part}
    for shard, part in zip(SHARDS, parts, strict=True):
        (folder / shard).write_bytes(encoded({name: tensors[name] for name in part}))
    about = {"metadata": {"total_size": 1}, "weight_map": found | (places or {})}
    (folder / INDEX).write_text(json.dumps(about) if index is None else index)
    return folder
