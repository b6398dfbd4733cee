"""The line that says what is being compiled: only on a terminal, only where it takes long, and gone afterwards."""

import io
import sys

import pytest

import forgenb as fnb
from forgenb.backend import progress
from forgenb.backend.progress import compiling, told


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test moves, and a state of its own."""

    class Clock:
        now = 100.0

        def perf_counter(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    monkeypatch.setattr(progress, "STATE", progress.State())
    return clock


def take(clock, *kernels):
    for name, seconds in kernels:
        with compiling(name):
            clock.now += seconds


def test_texts_come_after_a_second_and_end_with_each_kernel(clock):
    texts = []
    with told(texts.append):
        take(clock, ("a", 0.7), ("b", 0.7), ("c", 0.1), ("d", 0.1))
    assert texts == ["forgenb: compiling kernel 3: c", "", "forgenb: compiling kernel 4: d", ""]


def test_a_pause_begins_anew(clock):
    texts = []
    with told(texts.append):
        take(clock, ("a", 0.9))
        clock.now += 1.5
        take(clock, ("b", 0.9), ("c", 0.1))
    assert texts == []


def test_kernels_from_the_store_say_nothing(clock):
    texts = []
    with told(texts.append):
        take(clock, *[("quick", 0.004)] * 200)
    assert texts == []


def test_a_terminal_shows_and_removes_it(clock, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    take(clock, ("a", 1.5), ("b", 0.1))
    assert sys.stderr.getvalue() == "\rforgenb: compiling kernel 2: b\x1b[K\r\x1b[K"


@pytest.mark.parametrize("stream", [io.StringIO(), None])
def test_elsewhere_there_is_nothing(clock, monkeypatch, stream):
    monkeypatch.setattr(sys, "stderr", stream)
    take(clock, ("a", 1.5), ("b", 0.1))
    assert stream is None or stream.getvalue() == ""


def test_it_can_be_turned_off(clock, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr("forgenb.backend.options.STATE", progress.STATE)
    assert fnb.settings.progress is True
    fnb.settings.progress = False
    assert fnb.settings.progress is False
    take(clock, ("a", 1.5), ("b", 0.1))
    assert sys.stderr.getvalue() == ""


def test_it_is_removed_after_an_error(clock, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    take(clock, ("a", 1.5))
    with pytest.raises(ValueError, match="no"), compiling("b"):
        raise ValueError("no")
    assert sys.stderr.getvalue().endswith("\r\x1b[K")


def test_every_kernel_passes_there(monkeypatch):
    from forgenb.backend import seam

    names = []
    monkeypatch.setattr(seam, "compiling", lambda name: names.append(name) or told(print))
    monkeypatch.setattr(seam, "_LAUNCHERS", {})
    _ = fnb.tensor([1.0] * 1237) + 1.0  # of a length that no other test has prepared a launch for
    assert names == ["add_kernel"]
