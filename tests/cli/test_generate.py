"""``forgenb generate``."""

import json
import os
import shutil
import signal
import weakref

import numpy as np
import pytest

from forgenb.cli import generate, tracing
from forgenb.models import Tracer
from forgenb.train import RunFolder


@pytest.fixture
def trained(forgenb, tiny):
    assert forgenb(*tiny, "--out", "a", "--json").code == 0
    return RunFolder.open("a")


def test_the_same_seed_gives_the_same_text(forgenb, trained):
    first = forgenb("generate", "--run", "a", "--prompt", "abc", "--tokens", 30)
    assert (first.code, first.err) == (0, "")
    assert first.out.startswith("abc")
    assert len(first.out) == 3 + 30 + 1
    assert set(first.out) <= set("abcdefghij \n")
    assert forgenb("generate", "--run", "a", "--prompt", "abc", "--tokens", 30).out == first.out
    other = forgenb("generate", "--run", "a", "--prompt", "abc", "--tokens", 30, "--seed", 2)
    assert other.out != first.out


def test_greedy_is_the_limit_of_top_k(forgenb, trained):
    greedy = forgenb("generate", "--run", "a", "--greedy", "--tokens", 12).out
    assert greedy.startswith("\n")
    assert forgenb("generate", "--run", "a", "--top-k", 1, "--temperature", 5, "--tokens", 12).out == greedy
    assert forgenb("generate", "--run", "a", "--prompt", "ab", "--tokens", 0).out == "ab\n"


def test_the_smallest_top_p_is_greedy(forgenb, trained):
    greedy = forgenb("generate", "--run", "a", "--greedy", "--tokens", 12).out
    assert forgenb("generate", "--run", "a", "--top-p", 1e-9, "--temperature", 5, "--tokens", 12).out == greedy


def test_a_checkpoint_alone_is_enough(forgenb, trained, tmp_path):
    wanted = forgenb("generate", "--run", "a", "--tokens", 9).out
    assert forgenb("generate", "--checkpoint", trained.best, "--tokens", 9).out == wanted
    shutil.move(trained.best, tmp_path / "mine.safetensors")
    assert forgenb("generate", "--checkpoint", "mine.safetensors", "--tokens", 9).out == wanted
    assert forgenb("generate", "--run", "a", "--tokens", 9).code == 0


def test_the_last_run_is_the_default(forgenb, tiny, refused):
    assert "There is no run in 'runs'" in refused("generate")
    forgenb(*tiny)
    assert forgenb("generate", "--tokens", 3).code == 0


def test_a_trace_and_a_picture_leave_the_text_as_it_is(forgenb, trained, tmp_path):
    call = ["generate", "--run", "a", "--prompt", "abc", "--tokens", 9]
    plain = forgenb(*call)
    files = ["--trace", "t.jsonl", "--trace-top", 3, "--trace-layers", 1, "--attention", "a.svg"]
    traced = forgenb(*call, *files)
    assert (traced.code, traced.out, traced.err) == (0, plain.out, "")
    rows = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text(encoding="utf-8").splitlines()]
    assert "".join(row["text"] for row in rows) == plain.out[3:-1]
    assert [row["position"] for row in rows] == list(range(3, 12))
    assert all(len(row["shortlist"]) == 3 and len(row["layers"]) == 1 for row in rows)
    assert np.shape(rows[0]["attention"]) == (1, 2, 3, 3)
    np.testing.assert_allclose(np.sum(rows[1]["attention"], -1), 1, atol=1e-6)
    assert np.shape(rows[1]["layers"][0]["mlp_hidden"]) == (64,)
    svg = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert svg.count("<image") == 2
    assert svg.count(">b</text>") >= 3
    assert forgenb(*call, *files).code == 0
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == svg
    assert forgenb(*call[:-1], 0, "--trace", "none.jsonl").code == 0
    assert (tmp_path / "none.jsonl").read_bytes() == b""


@pytest.fixture
def _interruptible():
    """Python's own handler, which a process that was started in the background lacks."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_interruptible")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_trace_that_is_interrupted_leaves_the_old_file(forgenb, trained, tmp_path, monkeypatch, number):
    (tmp_path / "t.jsonl").write_text("old")
    before, seen = sorted(os.listdir(tmp_path)), []

    def stream(model, ids, count, *, tracer, **choice):
        seen.extend(os.listdir(tmp_path))
        signal.raise_signal(number)
        yield 0

    monkeypatch.setattr(generate, "stream", stream)
    handler = signal.getsignal(signal.SIGTERM)
    assert forgenb("generate", "--run", "a", "--trace", "t.jsonl").code == 130
    assert len(seen) == len(before) + 1
    assert sorted(os.listdir(tmp_path)) == before
    assert (tmp_path / "t.jsonl").read_text() == "old"
    assert signal.getsignal(signal.SIGTERM) == handler


def test_only_the_records_of_the_picture_are_kept(forgenb, trained, monkeypatch):
    alive, met = [], []

    class Watched(Tracer):
        def __init__(self, receive, *options):
            super().__init__(lambda record: self.watch(receive, record), *options)

        def watch(self, receive, record):
            receive(record)
            met.append(weakref.ref(record))
            alive.append(sum(old() is not None for old in met[:-1]))

    call = ["generate", "--run", "a", "--prompt", "abc", "--tokens", 12]
    monkeypatch.setattr(tracing, "Tracer", Watched)
    assert forgenb(*call, "--attention", "a.svg").code == 0
    assert alive == [0, 1, 2, 3, 4, 5, *[6] * 6]
    alive.clear()
    met.clear()
    assert forgenb(*call, "--trace", "t.jsonl").code == 0
    assert alive == [0] * 12


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--prompt", "aZ\u00e9"],
            "does not know these characters of the prompt: 'Z' (U+005A), 'é' (U+00E9)",
        ),
        (["--prompt", ""], "The prompt is empty"),
        (["--tokens", "-1"], "--tokens must be at least 0, got -1"),
        (["--temperature", "0"], "--temperature must be finite and above 0, got 0.0"),
        (["--temperature", "nan"], "--temperature must be finite and above 0, got nan"),
        (["--top-k", "0"], "--top-k must be at least 1, got 0"),
        (["--top-p", "1.5"], "--top-p must be above 0 and at most 1, got 1.5"),
        (["--trace", "none/t.jsonl"], "--trace 'none/t.jsonl' is not a file in a folder that is there"),
        (["--trace", "."], "--trace '.' is not a file"),
        (["--trace", os.devnull], f"--trace {os.devnull!r} is not a file"),
        (["--trace", "a.svg", "--attention", "./a.svg"], "--trace and --attention name one file, 'a.svg'; name two"),
        (["--attention", "a.txt"], "a picture is written as .svg, .png, .pdf, got 'a.txt'"),
        (["--attention", "a.svg", "--tokens", "0"], "no attention to draw with --tokens 0"),
        (["--trace-top", "0"], "--trace-top must be at least 1 and --trace-layers at least 0, got 0 and 0"),
        (["--trace-layers", "-1"], "got 10 and -1"),
        (["--seed", "-1"], "--seed must be from 0"),
        (["--backend", "cup"], "there is no backend 'cup'"),
    ],
)
def test_refusals(refused, trained, options, message):
    assert message in refused("generate", "--run", "a", *options)


def test_damaged_files(refused, trained, tmp_path):
    assert "'none' cannot be read" in refused("generate", "--checkpoint", "none")
    assert "'none' holds no run" in refused("generate", "--run", "none")
    cut = tmp_path / "cut"
    cut.write_bytes(trained.last.read_bytes()[:-1])
    assert "cut' is not a complete safetensors file" in refused("generate", "--checkpoint", cut)
    trained.best.unlink()
    trained.last.unlink()
    assert "has no checkpoint yet" in refused("generate", "--run", "a")
