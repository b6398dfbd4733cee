"""Calling a command as a user does, in a folder of its own."""

from types import SimpleNamespace

import pytest

from forgenb.cli import main

TINY = "--steps 4 --layers 1 --heads 2 --width 16 --context 8 --batch 2 --eval-every 2"


@pytest.fixture
def forgenb(tmp_path, monkeypatch, capsys):
    """Run a command in an empty folder; gives its exit code and what it printed."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return SimpleNamespace(code=code, out=out, err=err)

    return call


@pytest.fixture
def refused(forgenb):
    """Run a command that must fail with code 2 and one paragraph, and return that paragraph."""

    def call(*arguments):
        done = forgenb(*arguments)
        assert (done.code, done.out) == (2, "")
        assert done.err.count("\n") == 1
        return done.err

    return call


@pytest.fixture
def tiny(text):
    """Options of a run that takes milliseconds."""
    return ["train", *TINY.split(), "--data", text.name]
