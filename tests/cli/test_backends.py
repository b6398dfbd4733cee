"""``forgenb backends``."""

import json

from forgenb.backend import backends
from forgenb.cli import backends as command


def test_json_is_what_the_library_says(forgenb):
    done = forgenb("backends", "--json")
    assert done.code == 0
    assert json.loads(done.out) == {"backends": backends()}
    assert done.out.count("\n") == 1


def test_table(forgenb):
    done = forgenb("backends")
    assert done.code == 0
    assert "cpu" in done.out
    assert "distribution" in done.out


def test_notes_say_why_one_is_broken_and_who_supplies_the_compiler(forgenb, monkeypatch):
    row = {"name": "cuda", "distribution": "forgenb", "version": "1", "state": "broken", "reason": "no [card]"}
    monkeypatch.setattr(command, "backends", lambda: [{**row, "supplier": "numba-cuda 0.30"}])
    monkeypatch.setenv("COLUMNS", "200")
    out = forgenb("backends").out
    assert "no [card]; numba.cuda is that of numba-cuda 0.30" in out


def test_none_is_installed(forgenb, monkeypatch):
    monkeypatch.setattr(command, "backends", list)
    assert "No backend is installed" in forgenb("backends").out
