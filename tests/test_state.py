"""The guard of tests/conftest.py sees each kind of change, and undoes it."""

import os

import numpy as np
import pytest
from support.state import cpu, differences, restore, snapshot

import forgenb as fnb
from forgenb import random, tape
from forgenb.backend import progress, registry, seam
from forgenb.backend.metering import PeakMemory
from forgenb.nn import init

CHANGES = {
    "default backend": lambda: registry._CHOSEN.set("other"),
    "FORGENB_ variables": lambda: os.environ.update(FORGENB_THREADS="3"),
    "default seed": lambda: random.seed(random.default_seed() + 1),
    "recording": lambda: tape._RECORDING.set(False),
    "initial values are drawn": lambda: init._DRAWS.set(False),
    "tapes": lambda: tape._LISTENERS.set((object(),)),
    "NumPy's random state": lambda: np.random.random(3),
    "NumPy's error handling": lambda: np.seterr(all="raise"),
    "meters of memory": lambda: seam.METERS.append(PeakMemory()),
    "line that says what is compiled": lambda: setattr(progress.STATE, "shown", not progress.STATE.shown),
    "threads of the cpu backend": lambda: setattr(cpu(), "threads", cpu().threads + 1),
}


@pytest.mark.parametrize("name", CHANGES)
def test_each_kind_of_change_is_seen_and_undone(name):
    fnb.tensor(1.0)
    before = snapshot()
    CHANGES[name]()
    assert differences(before, snapshot()) == [name]
    restore(before)
    assert differences(before, snapshot()) == []


def test_everything_watched_is_tried():
    assert set(CHANGES) == set(snapshot())
