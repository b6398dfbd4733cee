"""Files that were damaged or made to harm: each is refused by name, and nothing changes, on the disk or in a model."""

import os
import re
import subprocess
import sys
import tracemalloc
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.hostile import npz, runs, tensors
from support.hostile.case import PRECIOUS
from support.training import bits

import forgenb as fnb
from forgenb.errors import CheckpointError
from forgenb.train import CharRun, build_model, build_optimizer, load_checkpoint, load_params, read_metrics

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes and sparse files are a POSIX matter")
MOST = 64 << 20
KINDS = {"npz": npz, "tensors": tensors, "runs": runs}


class Model(fnb.nn.Module):
    """Parameters of several dtypes and shapes, with the values of `npz.ARRAYS`."""

    def __init__(self):
        self.inner = fnb.nn.Module()
        for name, array in npz.ARRAYS.items():
            owner = self.inner if name.startswith("inner.") else self
            setattr(owner, name.removeprefix("inner."), fnb.Parameter(fnb.tensor(array)))


MESSAGES = {
    "npz": {
        "pipe": "it is no regular file",
        "encrypted": "'w.npy' in it is encrypted",
        "method-12": "'w.npy' in it is compressed by method 12, not by deflate",
        "size-249": "'w.npy' in it is not compressed and has two sizes",
        "bit-of-b-stored": "'b.npy' in it cannot be read: .*Bad CRC-32",
        "header-object": "'w' holds Python objects, and no pickle is ever read",
        "header-big-endian": "w has dtype float32 of another byte order, needed is float32",
        "header-claims-four-gigabytes": "'w' has no header of an array that is read here",
        "header-a-byte-more": r"'w' has 249 bytes, and its shape \(6, 5\) and dtype float32 make 248",
        "header-shape-of-bools": r"'w' has the shape \(True, 5\)",
        "name-parent": "'../w.npy' in it has a name that is a path",
        "twice-b": "'b' stands in it twice",
        "lacks-b": "b is missing",
        "w-transposed": r"w has shape \(5, 6\), needed is \(6, 5\)",
        "nan-in-inner.w": r"'inner.w' has nan at position \(\d, \d\)",
        "bomb-behind-the-values": "'w.npy' in it cannot be read: .*Bad CRC-32",
        "bomb-with-a-checksum": "'w' has more bytes than the archive says",
        "forty-thousand-members": "its list of members has more than",
    },
    "tensors": {
        "header-long": "its header has .* bytes, at most 1048576 are read",
        "header-nested-lists": "nested too deeply",
        "header-twice": "the key '__metadata__' stands twice",
        "entry-shape-bool": r"'model.ln_f.bias' has the shape \[True, 16\]",
        "entry-bytes-of-others": "'model.ln_f.bias' begins at byte 0 of its data, and 8 were told of before",
        "a-gap": "begins at byte 136 of its data, and 128 were told of before",
        "no-metadata": "no checkpoint of a training run: it lacks the metadata",
        "-inf-in-optimizer.m-wpe.weight": "'optimizer.m/wpe.weight' has -inf at position",
        "count-5": "count/ln_f.bias is 5",
        "about-step-True": "step must be a whole number from 0 and is True",
        "about-choice-width-1099511627776": r"model.wte.weight has shape \(12, 16\), needed is \(12, 1099511627776\)",
        "about-choice-layers-4611686018427387904": "model.h.1.ln_1.weight is missing",
        "sparse-tensor": "model.more is unknown here",
    },
    "runs": {
        "metrics.jsonl-is-a-link": "metrics.jsonl' is no regular file of its own",
        "config-not-utf8": "config.json' is damaged: .*can't decode byte 0xff",
        "vocabulary-half-a-character": "vocab.json' is damaged. .* half of a surrogate pair",
        "data-is-a-folder": "names '/' as the text of its run, which is no regular file",
        "width-without-checkpoint": "config.json' describes a model of .* numbers",
        "context-32": "last.safetensors' does not belong to the config.json beside it: .* context 8",
    },
}


@pytest.fixture
def trained(tmp_path, tiny):
    """The folder of a run of four steps."""
    trainer = CharRun.start(replace(tiny, dropout=0.1), tmp_path / "run")
    list(trainer.steps())
    trainer.close()
    return trainer.folder


def complaint(case, path, valid, load, message):
    """What is wrong with how a hostile file is taken; empty where it is refused as it should be, with `message`."""
    case.put(path, valid)
    before = picture(path)
    tracemalloc.start()
    try:
        load(path)
        found = "it was loaded"
    except CheckpointError as error:
        text, wanted = str(error), f"{re.escape(str(path))}.*{message}"
        found = "" if re.search(wanted, text) and "\n" not in text and len(text) < 10_000 else f"it says {text:.300}"
    except Exception as error:
        found = f"it raised {type(error).__name__}: {error}"
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    if peak > MOST:
        found += f" it took {peak} bytes"
    return found + ("" if picture(path) == before else " the disk changed")


def picture(path):
    """What lies at a path: kinds, times and the content of what is small."""
    places = [path, *sorted(path.rglob("*"))] if path.is_dir() and not path.is_symlink() else [path]
    return [(str(place), *seen(place)) for place in places]


def seen(place):
    if not os.path.lexists(place):
        return ("nothing",)
    about = os.lstat(place)
    small = place.is_file() and about.st_size < 1 << 20 and not place.is_symlink()
    return about.st_mode, about.st_size, about.st_mtime_ns, place.read_bytes() if small else b""


def refuse_all(kind, folder, valid, load):
    """Load all files of a kind; returns how many there were."""
    names, wrong, messages = Counter(), {}, MESSAGES[kind]
    for number, case in enumerate(KINDS[kind].cases()):
        names[case.name] += 1
        found = complaint(case, folder / f"hostile {number}", valid, load, messages.get(case.name, ""))
        if found:
            wrong[case.name] = found
    assert wrong == {}
    assert max(names.values()) == 1
    assert messages.keys() <= names.keys()
    return len(names)


def test_parameters(tmp_path):
    model = Model()
    (tmp_path / "valid.npz").write_bytes(npz.valid())
    assert load_params(model, tmp_path / "valid.npz").names == ("inner.w", "w", "b", "scale", "half")
    before, versions = bits(model.state_dict()), [p.memory.version for p in model.parameters()]
    assert refuse_all("npz", tmp_path, npz.valid(), lambda path: load_params(model, path)) >= 100
    assert bits(model.state_dict()) == before
    assert [p.memory.version for p in model.parameters()] == versions


def test_checkpoints(tmp_path, trained, tiny):
    model = build_model(tiny, 12)
    optimizer = build_optimizer(tiny, model)
    load_checkpoint(trained.last).restore(trained.last, model, optimizer)
    before = bits(model.state_dict()), bits(optimizer.state_dict())

    def load(path):
        load_checkpoint(path).restore(path, model, optimizer)

    assert refuse_all("tensors", tmp_path, trained.last.read_bytes(), load) >= 100
    assert (bits(model.state_dict()), bits(optimizer.state_dict())) == before


def test_run_folders(tmp_path, trained):
    assert refuse_all("runs", tmp_path, trained.path, lambda path: CharRun.resume(path).close()) >= 50
    precious = list(tmp_path.glob("*.precious"))
    assert precious
    assert {path.read_text() for path in precious} == {PRECIOUS}


def test_the_cases_are_distinct_and_the_same_every_time(tmp_path, trained):
    """Two names never mean the same file, except where both are no files at all."""
    for cases, valid in ((npz.cases, npz.valid()), (tensors.cases, trained.last.read_bytes())):
        found = []
        for number, case in enumerate(cases()):
            pair = [tmp_path / f"{number} {time}" for time in "ab"]
            for path in pair:
                case.put(path, valid)
            if pair[0].is_file() and pair[0].stat().st_size < 1 << 20:
                found.append(pair[0].read_bytes())
                assert pair[1].read_bytes() == found[-1], case.name
            for path in pair:
                path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)
        assert len(set(found)) == len(found)


@pytest.mark.parametrize("name", ["config-nested", "last.safetensors-is-a-folder", "width-32", "last-about-step-True"])
def test_the_program_leaves_with_exit_code_2(tmp_path, trained, name, capsys):
    from forgenb.cli import main

    next(case for case in runs.cases() if case.name == name).put(tmp_path / "bad", trained.path)
    (tmp_path / "bad" / "best.safetensors").unlink()
    for command in (["train", "--resume"], ["generate", "--run"]):
        assert main([*command, str(tmp_path / "bad")]) == 2
        assert "bad" in capsys.readouterr().err


LINES = [b"[" * 60_000, b'{"step": NaN}', b'{"step": 1, "step": 2}', b"7", b"\xff", b" " * 70_000]


@pytest.mark.parametrize("line", LINES, ids=range(len(LINES)))
def test_damaged_lines_of_a_curve(trained, line):
    whole = trained.metrics.read_bytes()
    trained.metrics.write_bytes(whole + line + b"\n")
    with pytest.raises(CheckpointError, match="metrics.jsonl' is damaged: line 5 is no JSON"):
        read_metrics(trained.metrics)
    CharRun.resume(trained.path).close()
    assert trained.metrics.read_bytes() == whole


LIMITED = """\
import resource, sys
from pathlib import Path
from support.hostile import npz, runs, tensors
from forgenb.errors import CheckpointError
from forgenb.train import CharRun, load_checkpoint, load_params
from test_hostile import Model
folder, model = Path(sys.argv[1]), Model()
load_params(model, folder / "valid.npz")
pages = int(Path("/proc/self/statm").read_text().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (64 << 20),) * 2)
loads = {"npz": lambda path: load_params(model, path), "tensors": load_checkpoint, "runs": CharRun.resume}
for path in sorted(folder.glob("hostile *")):
    try:
        loads[path.name.split()[1]](path)
    except CheckpointError:
        print(path.name)
"""
LARGE = ["bomb", "terabyte", "sparse", "nested", "endless", "long", "lists", "huge", "thousand", "width", "claims"]


@pytest.mark.skipif(sys.platform != "linux", reason="/proc/self/statm is Linux's")
def test_a_process_of_little_memory_refuses_them_too(tmp_path, trained):
    (tmp_path / "valid.npz").write_bytes(npz.valid())
    kinds = {"npz": (npz, npz.valid()), "tensors": (tensors, trained.last.read_bytes()), "runs": (runs, trained.path)}
    made = []
    for kind, (module, valid) in kinds.items():
        for case in (case for case in module.cases() if any(word in case.name for word in LARGE)):
            made.append(f"hostile {kind} {len(made)}")
            case.put(tmp_path / made[-1], valid)
    tests = Path(__file__).resolve().parents[1]
    paths = [str(tests), str(tests / "train"), *sys.path]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.splitlines()) == sorted(made)
    assert len(made) > 40
    assert np.isfinite(load_checkpoint(trained.last).model["ln_f.bias"]).all()
