"""Steps over streams and processes: ways, gate, parts; and a whole measurement of one step of the smallest model."""

import json
import sys

import numpy as np
import pytest
from support import ranks

from forgenb.bench import Plan, Row, compare_scaling, projection_rows, scalable, scaling, scaling_markdown
from forgenb.bench.contenders.scaled import ScaledWorker
from forgenb.bench.measure import save
from forgenb.bench.projection import Cost, Link
from forgenb.bench.scaling import ShareTimes, SumTimes, launcher, variants
from forgenb.errors import ArgumentError

PLAN = Plan(["micro"], (), 2, 1, 1)
NO_MPI = "mpi4py is not installed: pip install 'forgenb[mpi]'"


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch):
    monkeypatch.setattr("forgenb.bench.measure.PAUSE", 0.0)


def test_ways_to_share_a_step_out():
    assert variants(1) == [("streams", 1), ("processes", 1)]
    assert variants(2)[:3] == [("threads", 2), ("streams", 1), ("streams", 2)]
    assert [count for how, count in variants(3) if how == "processes"] == [1, 2, 3]
    assert [count for how, count in variants(64) if how == "streams"] == [1, 2, 4]
    assert variants(64)[0] == ("threads", 64)


def test_workloads_that_can_be_shared_out():
    assert scalable(["moons", "nanocpu", "cold", "gpt2_mini"]) == ["nanocpu"]
    with pytest.raises(ArgumentError, match="shared out for micro, nanocpu, charsix, and got moons, chain: name one"):
        scalable(["moons", "chain"])


def test_a_launcher_or_the_reason(monkeypatch):
    monkeypatch.setattr(scaling.importlib.util, "find_spec", lambda name: None)
    assert launcher() == ("", NO_MPI)
    monkeypatch.setattr(scaling.importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    monkeypatch.setattr(scaling.shutil, "which", lambda name: f"/here/{name}")
    assert launcher() == ("/here/mpiexec", None)
    monkeypatch.setattr(scaling.shutil, "which", lambda name: None)
    assert launcher() == ("", "there is no mpiexec: pip install mpich")


def test_without_mpi_processes_are_left_out(monkeypatch):
    monkeypatch.setattr(scaling, "launcher", lambda: ("", NO_MPI))
    sums, *rows, shares = compare_scaling(PLAN)
    assert sums.as_json() == {"workload": "allreduce", "contender": "processes", "threads": 2, "skipped": NO_MPI}
    assert [row.skipped for row in rows] == [None] * 3 + [NO_MPI] * 2
    for row in rows[:3]:
        assert row.median_ms > 0
        assert row.loss_first == pytest.approx(rows[0].loss_first, rel=1e-5)
        assert row.loss_last < row.loss_first
    assert (shares.samples, shares.cost.batch, len(shares.ms)) == ((1, 2, 4, 8), 8, 4)
    assert min(shares.ms) > 0
    assert shares.cost.nbytes == shares.cost.last > 28_000 * 4
    assert json.loads(json.dumps(shares.as_json())).keys() > {"workload", "fixed_ms", "sample_ms", "samples", "ms"}
    text = scaling_markdown([sums, *rows, shares], "here")
    assert f"- sums over processes; micro, processes 1; micro, processes 2: {NO_MPI}\n" in text
    assert text.count(NO_MPI) == 1
    assert "shared memory" not in text


def test_sums_over_processes():
    ranks.mpiexec()
    found = scaling._sums(PLAN)
    assert found.skipped is None
    assert len(found.us) == len(found.nbytes) == 11
    assert min(found.us) > 0
    assert found.link.gb_s > 0
    assert found.as_json()["nbytes"] == found.nbytes


def test_steps_over_processes(monkeypatch, tmp_path):
    ranks.mpiexec()
    monkeypatch.setattr(scaling, "variants", lambda threads: [("streams", 1), ("processes", 1), ("processes", 2)])
    alone, one, two = scaling._rows(PLAN, "micro", save(str(tmp_path), "micro"), lambda text: None)
    assert [row.skipped for row in (alone, one, two)] == [None] * 3
    assert (one.loss_first, one.loss_last) == (alone.loss_first, alone.loss_last)
    assert two.loss_last == pytest.approx(alone.loss_last, rel=1e-4)
    assert two.loss_first != alone.loss_first, "the sums have another order"
    assert two.median_ms > 0


def test_sums_need_two_cores():
    ranks.mpiexec()
    assert scaling._sums(Plan([], (), 1, 1, 1)).skipped == "there is one core only"


def test_one_that_cannot_be_measured_says_why(tmp_path):
    with pytest.raises(ArgumentError, match="the cost of a step cannot be measured: failed in open: FileNotFoundError"):
        scaling._shares(PLAN, "micro", str(tmp_path / "none.npz"))


@pytest.fixture
def worker(tmp_path):
    made = ScaledWorker("streams", 2)
    made.open("micro", save(str(tmp_path), "micro"))
    streams = made._whole.streams
    yield made
    [stream.close() for stream in streams]


def test_a_share_takes_the_first_samples(worker):
    whole = worker.losses(1)["losses"][0]
    worker.share(2)
    seen = []
    worker._whole = lambda *batch: (seen.append([len(array) for array in batch]) or np.float32(1.0), None)
    worker.losses(1)
    assert seen == [[2, 2]]
    assert whole == pytest.approx(4.195, abs=1e-3)


def test_gradients_go_in_messages(worker, monkeypatch):
    (one,) = worker.gradients()["messages"]
    monkeypatch.setattr("forgenb.bench.contenders.scaled.BUCKET", 40_000)
    several = worker.gradients()["messages"]
    assert sum(several) == one
    assert min(several[:-1]) >= 40_000


class FakeWorld:
    """Notes what is summed."""

    def __init__(self):
        self.summed = []

    def begin_sum(self, array):
        self.summed.append(array.nbytes)
        return self

    def Wait(self):
        self.summed.append("waited")


def test_processes_make_all_their_steps_however_long_they_take():
    world = FakeWorld()
    worker = ScaledWorker("processes", 1, world)
    worker.message(64)
    assert worker.run(steps=3, seconds=0.0)["steps"] == 3
    assert world.summed == [64, "waited"] * 4
    worker.world = None
    assert worker.run(steps=3, seconds=0.0)["steps"] == 1


COST = Cost("micro", 8, 2.0, 3.0, 10_000_000, 2, 4_000_000)
LINK = Link("shared memory", 100.0, 1.0)
FOUND = [
    SumTimes(LINK, (4, 2048, 1 << 20), (200.0, 210.0, 1300.0), 0.07),
    Row("micro", "streams", 1, 26.0, 25.0, 27.0),
    Row("micro", "processes", 2, 13.0, 12.0, 14.5),
    ShareTimes(COST, (1, 8), (5.0, 26.0), 0.02),
]


def test_a_page():
    text = scaling_markdown(FOUND, "Fast 9, 2 of 2 cores")
    assert text.startswith("Fast 9, 2 of 2 cores.\n\n| workload | shared out over |")
    assert "| micro | streams | 1 | 26 | 25 to 27 | 1.00 | - |" in text
    # 2 + 3 * 4; a sweep of 8 ms whose first message goes after 4.8 and takes 6.2, the last one 4.2; 0.2 of the loss
    assert "| micro | processes | 2 | 13 | 12 to 14.5 | 2.00 | 21.4 |" in text
    assert "4 B in 200 µs, 2 KiB in 210 µs, 1 MiB in 1,300 µs; the line misses by 7% at most." in text
    assert "Samples of micro on one core: 1 in 5 ms, 8 in 26 ms; the line misses by 2% at most." in text
    assert "| micro | 8 | 2.0 | 3.0 | 10000000 | 2 | 4000000 |" in text
    assert "| shared memory | 100.0 | 1.0 |" in text
    assert "Not measured" not in text
    lines = [line for line in text.split("\n") if line.startswith("| micro | shared memory |")]
    assert lines[0].startswith("| micro | shared memory | strong, 1,024 in all | 3,074 (100%) |")
    assert lines[1].startswith("| micro | shared memory | weak, 12 in each | 38 (100%) |")
    assert " | from 149 nodes | bandwidth, " in lines[0]
    assert " | not up to 1,024 | bandwidth, " in lines[1]


def test_the_projection_as_rows():
    rows = list(projection_rows(FOUND))
    assert [row["nodes"] for row in rows[:6]] == [1, 2, 8, 64, 256, 1024]
    assert {row["link"] for row in rows} == {"shared memory", "25 Gbit/s", "1 Gbit/s"}
    # 3074 / 149 = 20.63 of 41.31 ms: 2 + 20.62, then 31.0 - 13.75 of the messages, and 1.44 of the loss
    assert rows[0]["below_half"] == 149
    assert rows[6]["below_half"] is None
    assert json.loads(json.dumps(rows[0]))["lost_ms"] == {"fixed cost": 0.0, "latency": 0.0, "bandwidth": 0.0}
