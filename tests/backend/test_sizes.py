"""Classes of sizes, the cores of this process, and the memory of this machine."""

import os

import pytest

from forgenb.backend import host
from forgenb.backend.host import cores
from forgenb.backend.sizes import aligned, size_class


@pytest.mark.parametrize(
    ("nbytes", "align", "size"),
    [
        (0, 64, 64),
        (65, 64, 128),
        (4096, 64, 4096),
        (4097, 64, 4608),
        (1, 256, 256),
        (256, 256, 256),
        (257, 256, 512),
        (4097, 256, 4608),
        (1 << 20, 256, 1 << 20),
    ],
)
def test_size_classes(nbytes, align, size):
    assert size_class(nbytes, align) == size


def test_eight_classes_to_a_doubling():
    found = {size_class(nbytes, 64) for nbytes in range((1 << 14) + 1, (1 << 15) + 1)}
    assert len(found) == 8
    assert all(size % 2048 == 0 for size in found)


def test_whole_units_of_alignment():
    assert [aligned(nbytes, 64) for nbytes in (0, 1, 64, 65, 10**6)] == [64, 64, 64, 128, 1000000]


def test_cores_where_the_system_tells_and_where_not(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 2, 5}, raising=False)
    assert cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert cores() == 1


@pytest.mark.skipif(not hasattr(os, "sysconf"), reason="the system does not say")
def test_the_memory_of_this_machine(monkeypatch):
    assert host.memory() > 1 << 28
    monkeypatch.delattr(os, "sysconf")
    assert host.memory() is None
