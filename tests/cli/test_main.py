"""The program as a whole."""

import subprocess
import sys

import pytest

import forgenb
from forgenb import cli
from forgenb.cli import COMMANDS


def test_help_and_version(forgenb):
    done = forgenb("--help")
    assert done.code == 0
    for command in COMMANDS:
        name = command.__name__.rpartition(".")[2].replace("_", "-")
        assert name in done.out
        assert forgenb(name, "--help").code == 0


def test_version(forgenb):
    done = forgenb("--version")
    assert (done.code, done.out) == (0, f"forgenb {__import__('forgenb').__version__}\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["trian"], "invalid choice: 'trian'"),
        (
            ["train", "--step", "4"],
            "forgenb train: unrecognized arguments: --step 4; forgenb train --help lists what there is.",
        ),
        (["train", "--steps", "many"], "argument --steps: invalid int value: 'many'"),
        (["generate", "--greedy", "--temperature", "1"], "not allowed with argument --greedy"),
    ],
)
def test_wrong_arguments_give_one_line(refused, arguments, message):
    assert message in refused(*arguments)


def test_module_and_nothing_heavy_for_help():
    code = (
        "import sys; sys.argv = ['forgenb', '--help']\n"
        "try:\n    import runpy; runpy.run_module('forgenb', run_name='__main__')\n"
        "except SystemExit as end:\n    assert end.code == 0\n"
        "heavy = {'rich', 'numba', 'scipy', 'safetensors'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: forgenb ")


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "forgenb backends: interrupted."),
        (OSError(28, "No space left on device"), 2, "forgenb backends: [Errno 28] No space left on device"),
        (MemoryError(), 2, "forgenb backends: not enough memory"),
        (forgenb.errors.BackendError("no\n  such thing"), 2, "forgenb backends: no such thing\n"),
    ],
)
def test_exit_codes(forgenb, monkeypatch, error, code, message):
    def fail(arguments):
        raise error

    monkeypatch.setattr(cli.backends, "run", fail)
    done = forgenb("backends")
    assert done.code == code
    assert message in done.err


def test_a_reader_that_leaves(tmp_path):
    command = f"{sys.executable} -m forgenb doctor --json | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr == ""
    assert done.returncode in (0, 141)
