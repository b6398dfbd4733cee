"""What the commands share."""

import io
import os
import signal
import threading

import pytest

from forgenb.cli.common import as_paragraph, catch_stop, say


def test_say_escapes_what_the_terminal_cannot_show():
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    say("a\u00e9\ud800", end="", stream=stream)
    assert raw.getvalue() == b"a\\xe9\\ud800"


def test_paragraph():
    assert as_paragraph("a\n  b ") == "a b"


def test_the_first_signal_asks_and_the_second_ends():
    before = signal.getsignal(signal.SIGINT)
    with catch_stop() as stop:
        assert not stop.requested
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.requested
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_in_another_thread_nothing_is_caught():
    seen = []

    def use():
        with catch_stop() as stop:
            seen.append(stop.requested)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert seen == [False]
