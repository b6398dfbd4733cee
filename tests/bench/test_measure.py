"""The comparison itself, with workers that are made up: gate, turns, memory, and what is skipped."""

import math
from typing import ClassVar

import pytest
from support.workers import MadeUpWorker

from forgenb.bench import OWN, Plan, Row, compare, measure
from forgenb.bench.measure import agree, check_losses

RESULT = ["workload", "contender", "threads", "median_ms", "min_ms", "max_ms", "loss_first", "loss_last", "peak_mb"]


class FakeWorker(MadeUpWorker):
    """Replies of a contender that agrees with all others."""

    losses: ClassVar[dict] = {}

    def reply(self, do, fields):
        if do == "losses":
            return {"losses": self.losses.get(self.contender, [2.0, 1.0, 0.5])}
        if do == "run":
            self.turns.append(self.contender)
            return {"ms": float(len(self.turns)), "loss": 0.25, "steps": fields["steps"]}
        return {
            "versions": {"versions": {"it": "1.0"}},
            "open": {},
            "memory": {"peak_mb": 3.5},
            "work": {"work": {"bytes": 4_000_000, "flop": 5} if self.contender == "forgenb-routine" else {}},
        }[do]


@pytest.fixture
def fake(monkeypatch):
    """A class of workers for `compare`, without pauses."""
    made = type("Fake", (FakeWorker,), {"losses": {}, "answers": {}, "turns": []})
    monkeypatch.setattr(measure, "WorkerProcess", made)
    monkeypatch.setattr(measure, "PAUSE", 0.0)
    return made


def compared(contenders, rounds=3, workload="moons"):
    return {row.contender: row for row in compare(Plan([workload], contenders, 1, rounds), workload)}


def test_turns_alternate_and_are_summed_up(fake):
    rows = compared(["forgenb-eager", "torch-eager"])
    assert fake.turns == [
        "forgenb-eager",
        "torch-eager",
        "torch-eager",
        "forgenb-eager",
        "forgenb-eager",
        "torch-eager",
    ]
    eager, torch = rows.values()
    assert (eager.min_ms, eager.median_ms, eager.max_ms) == (1, 4, 5)
    assert (torch.min_ms, torch.median_ms, torch.max_ms) == (2, 3, 6)
    assert (eager.loss_first, eager.loss_last, eager.peak_mb) == (2.0, 0.25, 3.5)
    assert list(eager.as_json()) == RESULT
    assert eager.versions == {"it": "1.0"}
    assert eager.nbytes is None


def test_bytes_of_a_routine_s_statements(fake):
    assert compared(["forgenb-routine"])["forgenb-routine"].nbytes == 4_000_000


def test_one_with_other_losses_is_not_timed(fake):
    fake.losses["jax-jit"] = [2.0, 1.0, 0.5002]
    rows = compared(["forgenb-eager", "torch-eager", "jax-jit"])
    assert rows["jax-jit"].skipped == (
        "not comparable: its first losses are 2, 1, 0.5002, those of forgenb-eager 2, 1, 0.5"
    )
    assert list(rows["jax-jit"].as_json()) == ["workload", "contender", "threads", "skipped"]
    assert "jax-jit" not in fake.turns


def test_forgenb_is_the_one_that_is_wrong():
    found = {"forgenb-eager": [1.0], "torch-eager": [2.0], "jax-jit": [2.0]}
    rows = {name: Row("moons", name, 1) for name in found}
    check_losses(rows, found)
    assert [name for name, row in rows.items() if row.skipped] == ["forgenb-eager"]


def test_forgenb_counts_where_it_is_a_draw():
    found = {"torch-eager": [2.0], "forgenb-eager": [1.0]}
    rows = {name: Row("moons", name, 1) for name in found}
    check_losses(rows, found)
    assert [name for name, row in rows.items() if row.skipped] == ["torch-eager"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ([1.0, 2.0], [1.00009, 2.0], True),
        ([1.0, 2.0], [1.00011, 2.0], False),
        ([1.0], [1.0, 2.0], False),
        ([math.nan], [math.nan], False),
        ([math.inf], [math.inf], False),
    ],
)
def test_equal_up_to_the_tolerance(one, other, same):
    assert agree(one, other) is same


@pytest.mark.parametrize("do", ["versions", "open", "losses", "run"])
def test_one_that_fails_is_skipped_and_the_others_go_on(fake, do):
    fake.answers["torch-eager", do] = {"skipped": f"no {do}"}
    rows = compared(["forgenb-eager", "torch-eager"])
    assert rows["torch-eager"].skipped == f"no {do}"
    assert rows["forgenb-eager"].median_ms is not None


def test_all_fail(fake):
    for name in OWN:
        fake.answers[name, "versions"] = {"skipped": "no"}
    assert {row.skipped for row in compared(OWN).values()} == {"no"}


def test_memory_over_another_workload_where_there_is_no_transformer(fake):
    bases = []

    def memory(base, **fields):
        bases.append(base)
        return {"skipped": "no such workload"} if base == "micro" else {"peak_mb": 1.0}

    fake.answers["autograd", "memory"] = memory
    assert compared(["autograd"])["autograd"].peak_mb == 1.0
    assert bases == ["micro", "moons"]


def test_data_that_is_not_installed(fake, monkeypatch):
    def missing(name, spec):
        raise ImportError("its images are elsewhere")

    monkeypatch.setattr(measure, "arrays", missing)
    assert compared(["forgenb-eager"], workload="digits")["forgenb-eager"].skipped == "its images are elsewhere"
