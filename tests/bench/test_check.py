"""The check of bits: with workers that are made up, and once with real ones."""

import sys

import pytest

from forgenb.bench import check

MODULE = sys.modules["forgenb.bench.check"]


@pytest.fixture
def fake(monkeypatch, tmp_path):
    """Workers that answer what the test puts here, by contender and threads; others lose 2, 1."""
    answers = {}

    class Worker:
        def __init__(self, contender, threads, python):
            self.key = contender, threads

        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def ask(self, do, **fields):
            return answers.get((*self.key, do), {"losses": [2.0, 1.0]} if do == "losses" else {})

    monkeypatch.setattr(MODULE, "WorkerProcess", Worker)
    return answers


def test_every_way_is_held_against_the_first(fake):
    fake["forgenb-routine", 2, "losses"] = {"losses": [2.0, 1.0000001]}
    told = []
    found = list(check("moons", (1, 2), 2, tell=told.append))
    assert [(c.contender, c.threads, c.equal) for c in found] == [
        ("forgenb-eager", 1, True),
        ("forgenb-eager", 2, True),
        ("forgenb-routine", 1, True),
        ("forgenb-routine", 2, False),
    ]
    assert (found[3].loss_first, found[3].loss_last) == (2.0, 1.0000001)
    assert told[3] == "moons: forgenb-routine, 2 threads, 2 steps"
    assert "skipped" not in found[0].as_json()


def test_what_gives_no_losses_is_skipped(fake):
    fake["forgenb-eager", 1, "open"] = {"skipped": "no memory"}
    first, second = check("moons", (1,), 2)
    assert (first.skipped, first.equal) == ("no memory", None)
    assert first.as_json() == {
        "workload": "moons",
        "contender": "forgenb-eager",
        "threads": 1,
        "steps": 2,
        "skipped": "no memory",
    }
    assert second.equal is True


def test_data_that_is_not_installed(fake, monkeypatch):
    def missing(folder, workload):
        raise ImportError("its images are elsewhere")

    monkeypatch.setattr(MODULE, "save", missing)
    assert {c.skipped for c in check("digits", (1,), 2)} == {"its images are elsewhere"}


def test_real_workers():
    found = list(check("moons", (1, 2), 50))
    assert [c.equal for c in found] == [True] * 4
    assert found[0].loss_last < found[0].loss_first
