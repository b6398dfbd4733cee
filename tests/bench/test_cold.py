"""Cold starts: which process is timed with which cache, and who does not take part."""

import sys

import pytest

from forgenb.bench import Plan, cold, compare_cold


def by_kind(plan):
    return {(row.workload, row.contender): row for row in compare_cold(plan)}


def test_a_real_first_gradient(monkeypatch):
    monkeypatch.setattr(cold, "KINDS", ("cold-import", "cold-full"))
    monkeypatch.setattr(cold, "CACHES", ())
    plan = Plan(["cold"], ["forgenb-eager", "forgenb-routine"], 1, 1, pythons={"forgenb-routine": "no/such/python"})
    rows = by_kind(plan)
    assert rows["cold-full", "forgenb-eager"].skipped is None
    assert rows["cold-import", "forgenb-eager"].median_ms > 0
    assert rows["cold-full", "forgenb-eager"].loss_first == pytest.approx(0.75729, rel=1e-4)
    assert rows["cold-import", "forgenb-routine"].skipped == "imports what forgenb-eager does"
    assert "its process failed" in rows["cold-full", "forgenb-routine"].skipped


@pytest.fixture
def timed(monkeypatch):
    """No process: each takes one second longer than the one before, and all get the same loss."""
    calls = []

    def fake(command, threads, variables):
        calls.append((command, variables))
        return float(len(calls)), {"losses": [0.5], "call_s": 0.07} if "-c" in command else {}

    monkeypatch.setattr(cold, "_timed", fake)
    return calls


def test_a_full_cache_is_what_the_empty_one_has_become(timed):
    rows = by_kind(Plan(["cold"], ["torch-compile"], 2, 2))
    small = [variables for command, variables in timed if "moons" in command]
    large = [variables for command, variables in timed if "nanocpu" in command]
    first, again, second, _ = small
    assert first == again != second
    assert large[0] == large[1] != large[2]
    assert large[0] != first
    assert {"FORGENB_CACHE", "TORCHINDUCTOR_CACHE_DIR"} <= first.keys()
    row = rows["cold-empty", "torch-compile"]
    assert (row.min_ms, row.median_ms, row.max_ms) == (1000, 3000, 5000)
    assert (row.loss_first, row.loss_last) == (0.5, 0.5)
    assert rows["cold-import", "torch-compile"].skipped == "imports what torch-eager does"
    assert rows["cold-call-full", "torch-compile"].median_ms == 70.0
    assert rows["cold-command", "torch-compile"].skipped == "the command is forgenb's own"


def test_a_command_is_timed_after_one_that_fills_the_cache(timed):
    rows = by_kind(Plan(["cold"], ["forgenb-eager", "forgenb-routine"], 1, 1))
    commands = [command for command, variables in timed if "train" in command]
    assert [("--eager" in command) for command in commands] == [True, True, False, False]
    assert len({command[-1] for command in commands}) == 4
    assert rows["cold-command", "forgenb-eager"].median_ms == 7000


def test_a_process_that_fails(tmp_path):
    seconds, found = cold._timed([sys.executable, "-c", "raise SystemExit('no memory')"], 1, {})
    assert seconds > 0
    assert found == {"skipped": "its process ended with code 1: no memory"}
