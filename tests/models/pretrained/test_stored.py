"""The tensors of a folder: one file or shards, and which of them are refused."""

import json
import math
import os
import re
import tracemalloc
from random import Random

import numpy as np
import pytest
from support import hub
from support.hostile.case import cut, foreign, no_files, sparse

from forgenb.errors import CheckpointError
from forgenb.models import GPT, GPTConfig
from forgenb.models.pretrained.stored import BFLOAT16, opened_folder

MOST = 64 << 20
posix = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes and sparse files are a POSIX matter")


def refused(folder, message):
    """Whether a folder is refused with one paragraph, in little memory."""
    tracemalloc.start()
    try:
        with pytest.raises(CheckpointError) as caught:
            GPT.from_pretrained(folder)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    text = str(caught.value)
    assert re.search(message, text), text
    assert "\n" not in text
    assert len(text) < 10_000
    assert peak < MOST


def test_names_and_layouts(tmp_path):
    kept = {"transformer.b": hub.halved(np.zeros((2, 3))), "a": np.zeros(4, "float16"), "c": np.zeros(1, "uint8")}
    with opened_folder(hub.write(tmp_path / "m", kept)) as found:
        assert list(found) == ["b", "a", "c"]
        assert found["b"].name == "transformer.b"
        assert [found[name].layout for name in "bac"] == [((2, 3), BFLOAT16), ((4,), "float16"), ((1,), "uint8")]


def test_one_file_goes_before_an_index(tmp_path):
    folder = hub.write_shards(tmp_path / "m", {"a": np.zeros(1), "b": np.zeros(1)})
    with opened_folder(folder) as found:
        assert [(name, tensor.file.place[-25:]) for name, tensor in found.items()] == [
            ("a", "00001-of-00002.safetensors"[-25:]),
            ("b", "00002-of-00002.safetensors"[-25:]),
        ]
    hub.write(folder, {"c": np.zeros(1)})
    with opened_folder(folder) as found:
        assert list(found) == ["c"]


def test_links_are_followed_as_the_hub_s_cache_has_them(tmp_path):
    (tmp_path / "snapshot").mkdir()
    for name in ("config.json", hub.WHOLE):
        (tmp_path / "snapshot" / name).symlink_to(hub.GOLDEN / name)
    assert GPT.from_pretrained(tmp_path / "snapshot").config.vocab == 61


def test_a_folder_without_weights(tmp_path):
    folder = hub.write(tmp_path / "m", {})
    (folder / hub.WHOLE).unlink()
    refused(folder, "m' has neither model.safetensors nor model.safetensors.index.json: put")
    (folder / "pytorch_model.bin").touch()
    refused(folder, r"m' has neither .* \(pytorch_model.bin is a pickle, which is never read\)")
    (folder / "config.json").unlink()
    refused(folder, "config.json' cannot be read: No such file")


@posix
def test_files_that_are_damaged(tmp_path):
    valid = (hub.GOLDEN / hub.WHOLE).read_bytes()
    for group in (no_files, foreign, cut):
        for number, case in enumerate(group()):
            folder = hub.write(tmp_path / f"{group.__name__} {number}", {})
            (folder / hub.WHOLE).unlink()
            case.make(folder / hub.WHOLE, valid, Random(case.name))
            message = "has neither" if case.name == "missing" else "is not a complete safetensors file|cannot be read"
            refused(folder, f"{folder.name}.*({message})")


@posix
def test_a_file_that_is_a_hole(tmp_path):
    """Its header tells of all tensors of a model of terabytes, which it has, and which take no room on the disk."""
    header, end = {}, 0
    for name, shape in GPTConfig(vocab=2**40, context=1, layers=1, heads=1, width=1).shapes():
        begin, end = end, end + 4 * math.prod(shape)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    folder = hub.write(tmp_path / "m", {}, vocab_size=2**40, n_positions=1, n_layer=1, n_head=1, n_embd=1)
    sparse(folder / hub.WHOLE, len(text).to_bytes(8, "little") + text, b"", 8 + len(text) + end)
    refused(folder, f"The model in .* takes {end} bytes, and this machine has [0-9]+ in all")


@pytest.mark.parametrize(
    "shard",
    [
        "../x.safetensors",
        "/etc/x.safetensors",
        "..",
        "",
        "a/b.safetensors",
        "a\\b.safetensors",
        "C:x.safetensors",
        ".x.safetensors",
        "x.bin",
        "x\0.safetensors",
        "x\n.safetensors",
        5,
        None,
        ["x.safetensors"],
    ],
)
def test_a_shard_that_is_elsewhere(tmp_path, shard):
    folder = hub.write_shards(tmp_path / "m", hub.golden(), {"ln_f.bias": shard})
    named = re.escape(repr(shard))
    refused(folder, f"index.json' is not followed: a shard is a safetensors file in the same folder, .*names {named}")


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ("", "it is no JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("{}", "its weight_map must be an object and is None"),
        ('{"weight_map": {}}', "its weight_map must be an object and is {}"),
        ('{"weight_map": ["a"]}', "its weight_map must be an object and is .'a'."),
        ('{"weight_map": {"a": "b", "a": "b"}}', "the key 'a' stands twice"),
        (" " * (1 << 20) + "{}", "more than 1048576 bytes"),
    ],
)
def test_an_index_that_is_none(tmp_path, index, message):
    refused(hub.write_shards(tmp_path / "m", hub.golden(), index=index), f"index.json' is damaged.*{message}")


def test_a_shard_that_is_missing(tmp_path):
    folder = hub.write_shards(tmp_path / "m", hub.golden())
    (folder / hub.SHARDS[0]).unlink()
    refused(folder, "model-00001-of-00002.safetensors' cannot be read: No such file")


def test_an_index_that_does_not_fit_its_shards(tmp_path):
    tensors = hub.golden()
    first = next(iter(tensors))
    other = hub.write_shards(tmp_path / "a", tensors, {first: hub.SHARDS[1]})
    refused(other, f"'{first}' is not in {hub.SHARDS[1]}; '{first}' of {hub.SHARDS[0]} is said to be in")
    more = hub.write_shards(tmp_path / "b", tensors, {"x": hub.SHARDS[1]})
    refused(more, f"'x' is not in {hub.SHARDS[1]}")
    twice = hub.write_shards(tmp_path / "c", tensors)
    (twice / hub.SHARDS[1]).write_bytes(hub.encoded(tensors))
    refused(twice, f"'{first}' of {hub.SHARDS[1]} is said to be in '{hub.SHARDS[0]}'")
    stray = hub.write_shards(tmp_path / "d", tensors)
    about = json.loads((stray / hub.INDEX).read_text())
    del about["weight_map"][first]
    (stray / hub.INDEX).write_text(json.dumps(about))
    refused(stray, f"'{first}' of {hub.SHARDS[0]} is said to be in 'no file'")


def test_one_tensor_in_two_shards_under_two_names(tmp_path):
    tensors = hub.golden()
    last = list(tensors)[-1]
    twice = {f"transformer.{last}": tensors[last]} | tensors
    refused(hub.write_shards(tmp_path / "m", twice), f"'{last}' stands there twice, with and without")
