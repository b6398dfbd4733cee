"""Loading beside reading: real ones on a tiny model, and the gate, turns and ratios with made-up ones."""

import numpy as np
import pytest
from support import workers

from forgenb.bench import LOADERS, LoadRow, Plan, compare_load, load, load_markdown
from forgenb.bench.contenders import load_forgenb
from forgenb.bench.contenders.loading import LoadingWorker, bits
from forgenb.bench.contenders.reading import ReadingWorker
from forgenb.bench.contenders.specs import TINY
from forgenb.bench.process import WorkerProcess
from forgenb.errors import ArgumentError

LIMITS = {"cpu": "Fast 9", "threads": 1, "cores": 2, "sgemm_gflops": 100.0, "copy_gb_s": 10.0, "versions": {"it": "2"}}


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch):
    monkeypatch.setattr(load, "PAUSE", 0.0)


def by_kind(plan):
    return {(row.workload, row.contender): row for row in compare_load(plan, model=TINY.model)}


def test_forgenb_beside_reading_and_a_peer_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(load, "WorkerProcess", workers.after_the_first(LoadingWorker, WorkerProcess))
    plan = Plan(["load"], ["forgenb-eager", "transformers"], 1, 1, pythons={"transformers": "no/such/python"})
    rows = by_kind(plan)
    limit = rows["load-again", "read"]
    assert limit.ratio is None
    for kind in ("load-new", "load-again"):
        own = rows[kind, "forgenb-eager"]
        assert own.skipped is None
        assert own.ratio == own.median_ms / limit.median_ms
        assert rows[kind, "transformers"].skipped.startswith("its interpreter cannot be started")
    assert rows["load-new", "forgenb-eager"].versions["forgenb"]
    assert list(tmp_path.iterdir()) == []


def test_bits_of_a_folder_are_those_of_its_file(tmp_path):
    folder = tmp_path / "model"
    wanted = load._saved(str(folder), TINY.model)
    assert LoadingWorker("forgenb-eager", 1).bits(str(folder)) == {"bits": wanted}
    file = folder / load.FILE
    reader = ReadingWorker("read", 1)
    assert reader.bits(str(file)) == {"bits": wanted}
    assert reader.run(str(file), anew=True).keys() == reader.run(str(file), anew=False).keys() == {"ms"}
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    assert reader.bits(str(file)) != {"bits": wanted}


def test_a_buffer_is_used_again_unless_memory_is_to_be_new(tmp_path, monkeypatch):
    file, seen = tmp_path / "file", []
    file.write_bytes(b"1234")
    monkeypatch.setattr("forgenb.bench.contenders.reading._read", lambda file, buffer: seen.append(buffer))
    worker = ReadingWorker("read", 1)
    for anew in (False, True, False, True):
        worker.run(str(file), anew)
    assert seen[0] is seen[2]
    assert seen[1] is not seen[0]
    assert seen[3] is not seen[1]
    assert [(len(buffer), buffer.ctypes.data % 64) for buffer in seen] == [(4, 0)] * 4


def test_a_file_that_ends_early(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"1234")
    with pytest.raises(OSError, match="has ended after 4 of 5 bytes"):
        load_read(str(file), np.empty(5, np.uint8))


def load_read(file, buffer):
    from forgenb.bench.contenders.reading import _read

    _read(file, buffer)


def test_memory_is_given_back_before_loading_into_new(monkeypatch):
    done = []
    monkeypatch.setattr(load_forgenb, "forget", lambda: done.append("forget"))
    monkeypatch.setattr(load_forgenb, "load", lambda contender, folder: done.append(folder))
    worker = LoadingWorker("forgenb-eager", 1)
    worker.run("a", anew=True)
    worker.run("b", anew=False)
    assert done == ["forget", "a", "b"]
    done.clear()
    assert worker.memory("a", base="tiny").keys() == {"peak_mb"}
    assert done == ["tiny", "forget", "a"]


def test_what_is_cached_is_given_back(tmp_path):
    from forgenb.backend import get_backend

    load._saved(str(tmp_path / "model"), TINY.model)
    load_forgenb.load("forgenb-eager", str(tmp_path / "model"))
    load_forgenb.forget()
    assert get_backend().memory()["cached"] == 0


def test_bits_do_not_depend_on_order_or_orientation():
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.full(4, -1.5, np.float32)
    assert bits([a, b]) == bits([b, np.ascontiguousarray(a.T)])
    assert bits([a, b]) != bits([a, -b])
    assert bits([a]) == sum(map(int, a.view(np.uint32).flat))


class FakeWorker(workers.MadeUpWorker):
    """Replies of a contender that agrees with all others."""

    def reply(self, do, fields):
        if do == "run":
            self.turns.append((self.contender, fields["anew"]))
            return {"ms": {"read": 2.0, "forgenb-eager": 3.0}.get(self.contender, 8.0)}
        return {"versions": {"versions": {"it": "1.0"}}, "bits": {"bits": 7}, "memory": {"peak_mb": 3.5}}[do]


@pytest.fixture
def fake(monkeypatch):
    made = type("Fake", (FakeWorker,), {"answers": {}, "turns": []})
    monkeypatch.setattr(load, "WorkerProcess", made)
    monkeypatch.setattr(load, "_saved", lambda folder, sizes: 7)
    return made


def test_turns_and_ratios(fake):
    rows = by_kind(Plan(["load"], list(LOADERS), 1, 2))
    first = [(who, True) for who in (*LOADERS, "read")] + [("forgenb-eager", False), ("read", False)]
    assert fake.turns == first + first[::-1]
    assert rows["load-new", "forgenb-eager"].as_json() == {
        "workload": "load-new",
        "contender": "forgenb-eager",
        "threads": 1,
        "median_ms": 3.0,
        "min_ms": 3.0,
        "max_ms": 3.0,
        "ratio": 1.5,
        "peak_mb": 3.5,
    }
    assert rows["load-new", "transformers"].ratio == 4.0
    assert rows["load-again", "torch-eager"].as_json() == {
        "workload": "load-again",
        "contender": "torch-eager",
        "threads": 1,
        "skipped": "its memory is new each time",
    }
    assert rows["load-again", "forgenb-eager"].peak_mb is None
    assert (rows["load-new", "read"].ratio, rows["load-again", "read"].ratio) == (1.0, None)


def test_one_with_other_numbers_is_not_timed(fake):
    fake.answers["torch-eager", "bits"] = {"bits": 8}
    fake.answers["transformers", "versions"] = {"skipped": "cannot be imported"}
    rows = by_kind(Plan(["load"], list(LOADERS), 1, 1))
    for kind in load.KINDS:
        assert rows[kind, "torch-eager"].skipped == "not comparable: its numbers are not those of the file"
        assert rows[kind, "transformers"].skipped == "cannot be imported"
    assert {who for who, _ in fake.turns} == {"forgenb-eager", "read"}


def test_without_reading_there_are_no_ratios(fake):
    fake.answers["read", "run"] = {"skipped": "no file"}
    rows = by_kind(Plan(["load"], ["forgenb-eager"], 1, 1))
    assert rows["load-new", "read"].skipped == "no file"
    assert rows["load-new", "forgenb-eager"].ratio is None
    assert rows["load-new", "forgenb-eager"].median_ms == 3.0


def test_a_disk_that_is_full(monkeypatch):
    monkeypatch.setattr("forgenb.bench.measure.SPARE", 1 << 60)
    with pytest.raises(ArgumentError, match="bytes into a temporary folder, and the disk of .* has .*: make room"):
        by_kind(Plan(["load"], ["forgenb-eager"], 1, 1))


def test_a_table():
    rows = [
        LoadRow("load-new", "forgenb-eager", 1, 120.0, 110.0, 130.0, peak_mb=501.0, ratio=1.1),
        LoadRow("load-new", "transformers", 1, skipped="not here"),
    ]
    text = load_markdown(rows, LIMITS)
    assert text.startswith("Fast 9, 1 of 2 cores; sgemm 100 GFLOP/s, copy 10.0 GB/s.\n\nit 2.\n\nms: ")
    assert "| load-new | forgenb-eager | 120 | 110 to 130 | 1.10 | 501 |" in text
    assert text.endswith("\nNot measured:\n\n- load-new, transformers: not here\n")
