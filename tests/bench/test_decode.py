"""Decoding with a cache: real contenders on a tiny model, and the gate, turns and ratios with made-up ones."""

import importlib.util
from dataclasses import replace

import numpy as np
import pytest
from support import workers

from forgenb.bench import DECODERS, DECODINGS, DecodeRow, Plan, compare_decode, decode, decode_markdown
from forgenb.bench.contenders import decode_forgenb
from forgenb.bench.contenders.decoding import DecodingWorker
from forgenb.bench.contenders.reading import ReadingWorker
from forgenb.bench.contenders.specs import TINY
from forgenb.bench.data import arrays
from forgenb.bench.process import WorkerProcess
from forgenb.errors import ArgumentError
from forgenb.models import GPT, GPTConfig

LIMITS = {"cpu": "Fast 9", "threads": 1, "cores": 2, "sgemm_gflops": 100.0, "copy_gb_s": 10.0, "versions": {"it": "2"}}


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch):
    monkeypatch.setattr(decode, "PAUSE", 0.0)


def by_contender(plan, shape=TINY):
    return {row.contender: row for row in compare_decode(plan, "it", shapes={"it": shape})}


def test_forgenb_beside_the_limit_and_a_peer_that_is_not_there(monkeypatch):
    monkeypatch.setattr(decode, "WorkerProcess", workers.after_the_first(DecodingWorker, WorkerProcess))
    plan = Plan(["it"], ["forgenb-routine", "torch-eager"], 1, 1, pythons={"torch-eager": "no/such/python"})
    rows = by_contender(plan)
    own, peer, limit = rows["forgenb-routine"], rows["torch-eager"], rows["read"]
    assert own.skipped is None
    assert own.median_ms > 0
    assert own.prefill_ms > 0
    assert own.launches > TINY.model.layers
    assert own.ratio is None
    assert own.limit == limit.median_ms / own.median_ms
    assert own.peak_mb is None or own.peak_mb >= 0
    assert own.versions.keys() >= {"forgenb", "numba"}
    assert peer.skipped.startswith("its interpreter cannot be started")
    assert peer.as_json() == {
        "workload": "decode-it",
        "contender": "torch-eager",
        "threads": 1,
        "skipped": peer.skipped,
    }
    assert limit.median_ms > 0
    assert limit.limit is None


def test_ids_are_those_of_whole_passes(tmp_path):
    """Without a cache: the greatest logit of a pass over all ids so far, again and again."""
    worker = DecodingWorker("forgenb-routine", 1)
    worker.open(**decode._saved(str(tmp_path), "it", TINY))
    found = worker.greedy()
    assert len(found["ids"]) == 1 + TINY.ids
    values, spec = arrays("it", TINY.model), TINY.model
    model = GPT(GPTConfig(spec.vocab, spec.context, spec.layers, spec.heads, spec.width)).eval()
    model.load_state_dict({name: value for name, value in values.items() if name not in ("x", "y")})
    ids = values["x"][0, : TINY.prompt].tolist()
    for place, logit in zip(found["ids"], found["logits"], strict=True):
        logits = model(np.array([ids])).numpy()[0, -1]
        assert place == logits.argmax()
        assert logit == pytest.approx(float(logits[place]), rel=1e-4)
        ids.append(place)


class FakeDecoder:
    """Notes what it reads; what follows an id is the next one."""

    def __init__(self):
        self.read = []

    def prefill(self, ids):
        self.read.append(len(ids))
        return 1, 0.5

    def step(self, last):
        self.read.append([last])
        return last + 1, 0.5


def test_a_turn_is_the_steps_and_the_longer_prompt(tmp_path, monkeypatch):
    made = FakeDecoder()
    found = decode_forgenb.Decoder(made.prefill, made.step)
    monkeypatch.setattr(decode_forgenb, "decoder", lambda spec, arrays, threads: found)
    worker = DecodingWorker("forgenb-routine", 1)
    worker.open(**decode._saved(str(tmp_path), "it", replace(TINY, prompt=3, ids=2, prefill=5)))
    assert worker.run().keys() == {"ms", "prefill_ms"}
    assert made.read == [3, [1], [2], 5, 5, 5, 5]
    assert worker.greedy() == {"ids": [1, 2, 3], "logits": [0.5, 0.5, 0.5]}
    assert worker.launches() == {"launches": None}


class FakeWorker(workers.MadeUpWorker):
    """Replies of a contender that agrees with all others."""

    def reply(self, do, fields):
        if do in ("run", "weights"):
            self.turns.append(self.contender)
        return {
            "versions": {"versions": {"it": "1.0"}},
            "open": {},
            "greedy": {"ids": [3, 4], "logits": [0.5, 0.25]},
            "run": {"ms": 4.0 if self.contender == "torch-eager" else 2.0, "prefill_ms": 0.5},
            "weights": {"ms": 1.0},
            "launches": {"launches": 17 if self.contender == "forgenb-routine" else None},
            "memory": {"peak_mb": 3.5},
        }[do]


@pytest.fixture
def fake(monkeypatch):
    made = type("Fake", (FakeWorker,), {"answers": {}, "turns": []})
    monkeypatch.setattr(decode, "WorkerProcess", made)
    return made


def test_turns_ratios_and_parts_of_the_limit(fake):
    rows = by_contender(Plan(["it"], list(DECODERS), 1, 2))
    assert fake.turns == ["forgenb-routine", "torch-eager", "read", "read", "torch-eager", "forgenb-routine"]
    assert rows["forgenb-routine"].as_json() == {
        "workload": "decode-it",
        "contender": "forgenb-routine",
        "threads": 1,
        "median_ms": 2.0,
        "min_ms": 2.0,
        "max_ms": 2.0,
        "prefill_ms": 0.5,
        "ratio": 0.5,
        "limit": 0.5,
        "launches": 17,
        "peak_mb": 3.5,
    }
    assert (rows["torch-eager"].ratio, rows["torch-eager"].limit) == (1.0, 0.25)
    assert (rows["read"].median_ms, rows["read"].ratio) == (1.0, None)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"ids": [3, 5], "logits": [0.5, 0.25]}, "id 2 after the prompt is 5, that of forgenb-routine 4"),
        ({"ids": [3], "logits": [0.5]}, "id 2 after the prompt is none, that of forgenb-routine 4"),
        ({"ids": [3, 4], "logits": [0.5, 0.3]}, "it has the ids of forgenb-routine, and other logits"),
    ],
)
def test_one_with_other_ids_is_not_timed(fake, answer, reason):
    fake.answers["torch-eager", "greedy"] = answer
    rows = by_contender(Plan(["it"], ["torch-eager", "forgenb-routine"], 1, 1))
    assert rows["torch-eager"].skipped == f"not comparable: {reason}"
    assert "torch-eager" not in fake.turns
    assert rows["forgenb-routine"].ratio is None
    assert rows["forgenb-routine"].limit == 0.5


def test_one_that_fails_in_decoding_says_so(fake):
    fake.answers["forgenb-routine", "greedy"] = {"skipped": "failed in greedy"}
    rows = by_contender(Plan(["it"], list(DECODERS), 1, 1))
    assert rows["forgenb-routine"].skipped == "failed in greedy"
    assert rows["torch-eager"].ratio == 1.0


def test_a_limit_that_cannot_be_measured(fake):
    fake.answers["read", "weights"] = {"skipped": "no memory"}
    rows = by_contender(Plan(["it"], list(DECODERS), 1, 1))
    assert rows["read"].skipped == "no memory"
    assert rows["forgenb-routine"].limit is None
    assert rows["forgenb-routine"].ratio == 0.5


def test_a_disk_that_is_full(monkeypatch):
    monkeypatch.setattr("forgenb.bench.measure.SPARE", 1 << 60)
    with pytest.raises(ArgumentError, match="bytes into a temporary folder, and the disk of .* has .*: make room"):
        by_contender(Plan(["it"], ["forgenb-routine"], 1, 1))


def test_bytes_of_a_step_are_those_of_all_weights_but_the_positions():
    for shape in DECODINGS.values():
        spec = shape.model
        config = GPTConfig(spec.vocab, spec.context, spec.layers, spec.heads, spec.width)
        assert shape.nbytes == 4 * (config.parameters - spec.context * spec.width)
        assert shape.prompt + shape.ids <= spec.context
        assert shape.prefill <= spec.context
    assert DECODINGS["charsix"].prompt + DECODINGS["charsix"].ids == 256


def test_all_threads_read_the_whole_buffer(monkeypatch):
    monkeypatch.setattr("forgenb.bench.contenders.reading.LEAST", 3000)
    monkeypatch.setattr("forgenb.bench.contenders.reading.TIMES", 2)
    parts = []

    class Part(np.ndarray):
        def max(self):
            parts.append(len(self))
            return super().max()

    worker = ReadingWorker("read", 2)
    monkeypatch.setattr(worker, "_touched", lambda nbytes: np.ones(nbytes, np.uint8).view(Part))
    assert worker.weights(1001)["ms"] > 0
    assert sorted(parts) == [500] * 6 + [501] * 6


def test_a_table():
    rows = [
        DecodeRow("decode-it", "forgenb-routine", 1, 2.0, 1.5, 3.0, peak_mb=40.2, prefill_ms=0.25, ratio=0.5),
        DecodeRow("decode-it", "torch-eager", 1, skipped="not here"),
        DecodeRow("decode-it", "read", 1, 0.8, 0.7, 0.9),
    ]
    rows[0].launches, rows[0].limit = 17, 0.4
    text = decode_markdown(rows, LIMITS)
    assert text.startswith("Fast 9, 1 of 2 cores; sgemm 100 GFLOP/s, copy 10.0 GB/s.\n\nit 2.\n\nms an id: ")
    assert "| decode-it | forgenb-routine | 2 | 1.5 to 3 | 0.50 | 40% | 0.25 | 17 | 40 |" in text
    assert "| decode-it | read | 0.8 | 0.7 to 0.9 | - | - | - | - | - |" in text
    assert text.endswith("\nNot measured:\n\n- decode-it, torch-eager: not here\n")


def test_without_pytorch_its_row_says_so(fake):
    if importlib.util.find_spec("torch") is not None:
        pytest.skip("PyTorch is installed here")
    peer = workers.WorkerHere(DecodingWorker("torch-eager", 1))
    fake.answers["torch-eager", "versions"] = peer.ask("versions")
    rows = by_contender(Plan(["it"], ["torch-eager"], 1, 1))
    assert rows["torch-eager"].skipped == "cannot be imported: No module named 'torch'"
