"""The curve of a run."""

import errno
import os

import pytest

from forgenb.errors import ArgumentError, CheckpointError
from forgenb.train import read_metrics
from forgenb.train.persistence.metrics import Metrics


@pytest.fixture
def path(tmp_path):
    return tmp_path / "metrics.jsonl"


def write(path, *steps):
    metrics = Metrics(path, 10**9)
    for step in steps:
        metrics.append({"step": step})
    metrics.sync()
    metrics.close()


def steps_in(path):
    return [row["step"] for row in read_metrics(path)]


def test_lines_are_appended(path):
    write(path, 1, 2)
    write(path, 3)
    assert path.read_text() == '{"step": 1}\n{"step": 2}\n{"step": 3}\n'
    assert steps_in(path) == [1, 2, 3]


TAILS = [
    '{"step": 4',
    '{"step": 4}',
    "\x00\x00\n",
    "7\n",
    "{}\n",
    '{"step": 9}\n',
    '{"step": "4"}\n',
    '{"step": true}\n',
]


@pytest.mark.parametrize("tail", [*TAILS, pytest.param("[" * 50_000 + "\n", id="nested")])
def test_later_and_half_written_lines_are_dropped(path, tail):
    write(path, 1, 2, 3)
    with open(path, "a") as file:
        file.write(tail)
    Metrics(path, 3).close()
    assert steps_in(path) == [1, 2, 3]
    Metrics(path, 2).close()
    assert steps_in(path) == [1, 2]
    Metrics(path, 0).close()
    assert path.read_bytes() == b""


def test_a_half_written_line_is_not_read(path):
    write(path, 1)
    with open(path, "a") as file:
        file.write('{"step"')
    assert steps_in(path) == [1]


def test_one_process_at_a_time(path):
    pytest.importorskip("fcntl", reason="this system has no such locks")
    first = Metrics(path)
    with pytest.raises(ArgumentError, match="is being trained by another process"):
        Metrics(path)
    first.append({"step": 1})
    first.close()
    first.close()
    assert steps_in(path) == [1]
    Metrics(path, 1).close()


def test_a_line_that_does_not_fit_is_taken_back(path):
    resource = pytest.importorskip("resource", reason="file size limits are a POSIX matter")
    metrics = Metrics(path)
    metrics.append({"step": 1})
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, before[1]))
    try:
        with pytest.raises(CheckpointError, match="metrics.jsonl' cannot be written: File too large"):
            metrics.append({"step": 2})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_text() == '{"step": 1}\n'
    metrics.append({"step": 2})
    metrics.close()
    assert steps_in(path) == [1, 2]


def test_errors_of_the_disk(path, tmp_path, monkeypatch):
    with pytest.raises(CheckpointError, match="cannot be written: Is a directory"):
        Metrics(tmp_path)
    metrics = Metrics(path)

    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CheckpointError, match="No space left on device. The last checkpoint is whole"):
        metrics.sync()
    metrics.close()
