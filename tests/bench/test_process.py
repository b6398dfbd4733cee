"""Worker processes: what they answer, how they end, and that a library which is missing is only skipped."""

import ctypes
import sys

import pytest

from forgenb.bench import Plan, compare, measure_limits
from forgenb.bench.contenders import memory, worker
from forgenb.bench.measure import save
from forgenb.bench.process import WorkerProcess


def test_both_of_forgenb_end_to_end(monkeypatch):
    monkeypatch.setattr("forgenb.bench.measure.PAUSE", 0.0)
    rows = list(compare(Plan(["moons"], ["forgenb-eager", "forgenb-routine"], 1, 1, 2), "moons"))
    for row in rows:
        assert row.skipped is None
        assert row.versions.keys() >= {"python", "forgenb", "numba"}
        assert row.median_ms == row.min_ms == row.max_ms > 0
        assert row.peak_mb is None or row.peak_mb >= 0
    assert rows[0].loss_first == rows[1].loss_first
    assert rows[0].loss_last == rows[1].loss_last < rows[0].loss_first


@pytest.mark.parametrize(
    ("python", "reason"),
    [
        ("no/such/python", "its interpreter cannot be started: "),
        (None, "cannot be imported: No module named 'micrograd'"),
    ],
)
def test_what_is_not_there_is_skipped(monkeypatch, python, reason):
    monkeypatch.setenv("PYTHONPATH", "")
    with WorkerProcess("micrograd", 1, python) as process:
        answer = process.ask("versions")
    if "skipped" not in answer:
        pytest.skip("micrograd is installed here")
    assert answer["skipped"].startswith(reason)


def test_a_process_that_dies_says_why(tmp_path):
    python = tmp_path / "python"
    python.write_text(f"#!{sys.executable}\nimport sys\nsys.stdin.readline()\nsys.exit('out of everything')\n")
    python.chmod(0o755)
    with WorkerProcess("forgenb-eager", 1, str(python)) as process:
        assert process.ask("versions") == {"skipped": "its process ended in versions with code 1: out of everything"}
        assert "its process ended in open with code 1" in process.ask("open", workload="moons", arrays="x")["skipped"]


def test_a_process_that_does_not_answer(tmp_path, monkeypatch):
    monkeypatch.setattr("forgenb.bench.process.PATIENCE", 0.2)
    python = tmp_path / "python"
    python.write_text(f"#!{sys.executable}\nimport sys\nsys.stdin.read()\n")
    python.chmod(0o755)
    with WorkerProcess("forgenb-eager", 1, str(python)) as process:
        assert process.ask("versions")["skipped"] == "no answer to versions within 0 s"


def test_a_process_ends_when_there_are_no_more_requests(monkeypatch):
    monkeypatch.setattr("forgenb.bench.process.GRACE", 60.0)
    process = WorkerProcess("forgenb-eager", 1)
    process.close()
    assert process._process.returncode == 0


def test_a_process_that_does_not_end_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr("forgenb.bench.process.GRACE", 0.1)
    python = tmp_path / "python"
    python.write_text(f"#!{sys.executable}\nimport time\ntime.sleep(600)\n")
    python.chmod(0o755)
    process = WorkerProcess("forgenb-eager", 1, str(python))
    process.close()
    assert process._process.returncode < 0


def test_a_launcher_stands_before_the_interpreter(tmp_path):
    launcher = tmp_path / "launch"
    launcher.write_text(f"#!{sys.executable}\nimport sys\nsys.stdin.readline()\nsys.exit(' '.join(sys.argv[1:3]))\n")
    launcher.chmod(0o755)
    with WorkerProcess("forgenb-eager", 1, "PYTHON", launcher=[str(launcher), "-n"]) as process:
        assert process.ask("versions")["skipped"].endswith("with code 1: -n PYTHON")


def test_an_error_in_a_step_is_an_answer(tmp_path):
    found = worker.answer(worker.Worker("forgenb-eager", 1), {"do": "open", "workload": "moons", "arrays": "no.npz"})
    assert found["skipped"].startswith("failed in open: FileNotFoundError: ")
    mine = worker.Worker("forgenb-routine", 1)
    refused = worker.answer(mine, {"do": "open", "workload": "chain", "arrays": save(str(tmp_path), "chain")})
    assert refused == {"skipped": "the chain measures what one op costs by itself"}


def test_a_turn_ends_when_its_time_is_over(tmp_path):
    mine = worker.Worker("forgenb-eager", 1)
    mine.open("chain", save(str(tmp_path), "chain"))
    assert mine.run(steps=1000, seconds=0.0)["steps"] == 1
    assert mine.run(steps=3, seconds=60.0)["steps"] == 3
    first, gradient = mine.losses(1)["losses"]
    assert first == mine.run(steps=1, seconds=0.0)["loss"]
    assert gradient != 0


def test_limits_are_positive_or_say_why():
    found = measure_limits(1)
    assert found["workload"] == "limits"
    assert found["sgemm_gflops"] > 0
    assert found["copy_gb_s"] > 0
    assert found["versions"]["forgenb"]
    assert "cannot be started" in measure_limits(1, "no/such/python")["skipped"]


def test_memory_that_the_heap_keeps_is_given_back():
    if memory.resident() is None or not hasattr(ctypes.CDLL(None), "malloc_trim"):
        pytest.skip("this system does not tell, or its C library gives nothing back")
    blocks = [bytearray(b"1") * 60_000 for _ in range(1000)]
    last = blocks.pop()
    before = memory.resident()
    blocks.clear()
    memory.trim()
    assert before - memory.resident() > 40_000_000
    assert len(last) == 60_000


def test_memory_that_was_taken_and_given_back_is_in_the_peak():
    if memory.resident() is None:
        pytest.skip("this system does not tell")
    memory.forget_peak()
    before = memory.resident()
    block = bytearray(b"1") * 50_000_000
    del block
    assert memory.peak() - before > 40_000_000
